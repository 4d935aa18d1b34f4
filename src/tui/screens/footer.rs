//! The last line: what the keys do here, or a message, or a line to type into; the worker's state on the right.

use ratatui::Frame;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::tui::command;
use crate::tui::model::{DeviceState, MessageKind, Model, Overlay, Screen};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::fit;

pub fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let width = usize::from(area.width);
    let right = worker(model);
    let room = width.saturating_sub(right.width() + 3);
    let left = left(model, room);
    if let Some(Overlay::Prompt(_)) = &model.overlay {
        let column = (left.width() as u16).min(area.width.saturating_sub(1));
        frame.set_cursor_position((area.x + column, area.y));
    }
    let line = left.to(width.saturating_sub(right.width() + 1)).join(right);
    frame.render_widget(line.line(theme), area);
}

fn left(model: &Model, room: usize) -> Row {
    if let Some(Overlay::Prompt(prompt)) = &model.overlay {
        let label = format!(" {} › ", prompt.kind.label());
        let text = fit(&prompt.text, room.saturating_sub(label.width()));
        return Row::new().add(Slot::Accent, label).text(text);
    }
    if let Some(message) = &model.message {
        let slot = match message.kind {
            MessageKind::Info => Slot::Text,
            MessageKind::Good => Slot::Good,
            MessageKind::Problem => Slot::Warning,
        };
        return Row::new().add(slot, format!(" {}", fit(&message.text, room.saturating_sub(1))));
    }
    match &model.overlay {
        Some(Overlay::Help(_)) => keys(&[("↑↓", "scroll"), ("esc", "close")]),
        Some(Overlay::Picker(_)) => keys(&[("↑↓", "move"), ("enter", "choose"), ("esc", "close")]),
        Some(_) => Row::new(),
        None => hints(model, room),
    }
}

fn keys(keys: &[(&str, &str)]) -> Row {
    keys.iter().fold(Row::new(), |row, (key, hint)| {
        row.text(format!(" {key}")).muted(format!(" {hint} "))
    })
}

/// Keys with what they do, as many as fit; the last two always say where the others are.
fn hints(model: &Model, room: usize) -> Row {
    let scopes = model.scopes();
    let all: Vec<Row> = command::in_scopes(&scopes)
        .filter(|spec| !spec.hint.is_empty() && applies(model, spec.command))
        .filter_map(|spec| {
            let typing = model.screen == Screen::Bench && model.bench.typing;
            let key = spec.keys.iter().find(|key| !(typing && key.types_a_character()))?;
            Some(Row::new().text(format!(" {key}")).muted(format!(" {} ", spec.hint)))
        })
        .collect();
    let is_general = |row: &&Row| ["palette", "help"].iter().any(|word| row.plain().contains(word));
    let tail: usize = all.iter().filter(is_general).map(Row::width).sum();
    let mut row = Row::new();
    for hint in &all {
        let general = is_general(&hint);
        if general || row.width() + hint.width() + tail <= room {
            row = row.join(hint.clone());
        }
    }
    row
}

/// Hints that would do nothing now are left out.
fn applies(model: &Model, command: command::Command) -> bool {
    use command::Command;
    match command {
        Command::StopRun => model.run.is_some(),
        Command::Run | Command::RunAll => model.run.is_none(),
        Command::NextFailing => model
            .bench
            .next_failing()
            .is_some_and(|index| index != model.bench.shape),
        Command::Right => model.screen == Screen::Roofline,
        Command::NextDiagnostic => !model.bench.diagnostics().is_empty(),
        Command::Save => model.bench.typing || model.bench.editor.is_dirty(),
        Command::Undo => model.bench.typing,
        _ => true,
    }
}

fn worker(model: &Model) -> Row {
    match (&model.run, &model.device) {
        (Some(run), _) if run.cancelling => Row::new().add(Slot::Warning, "◌ stopping"),
        (Some(_), _) => Row::new().add(Slot::Accent, "● running"),
        (None, DeviceState::Starting) => Row::new().muted("◌ starting"),
        (None, DeviceState::Unavailable { .. }) => Row::new().add(Slot::Bad, "✕ no device"),
        (None, DeviceState::Ready(_)) => Row::new().muted("○ idle"),
    }
}
