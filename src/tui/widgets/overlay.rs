//! What lies over a screen: help, lists to choose from, questions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::widgets::Clear;
use unicode_width::UnicodeWidthStr;

use super::pane::Pane;
use super::row::Row;
use super::text::{fit, wrap};
use crate::tui::command::{COMMANDS, Scope};
use crate::tui::layout::centered;
use crate::tui::model::overlay::{AfterSaving, Overlay, Picker};
use crate::tui::model::{Model, Screen};
use crate::tui::theme::{Slot, Theme};

pub fn draw(frame: &mut Frame<'_>, body: Rect, model: &Model, theme: &Theme) {
    match &model.overlay {
        Some(Overlay::Help(scroll)) => help(frame, body, model, *scroll, theme),
        Some(Overlay::Picker(picker)) => pick(frame, body, picker, theme),
        Some(Overlay::OfferCopy) => question(
            frame,
            body,
            "Read-only",
            "This kernel comes with Ridgepoint. A copy of your own can be edited; it is saved in your kernels folder.",
            &[("enter", "make a copy and edit it"), ("esc", "leave it")],
            theme,
        ),
        Some(Overlay::OfferSave(after)) => {
            let what = match after {
                AfterSaving::Quit => "quitting",
                AfterSaving::Open(_) => "opening another",
                AfterSaving::Reload => "reading the file again",
            };
            let text = format!("The kernel has changes that are not saved. Save them before {what}?");
            let keys = [("s", "save"), ("d", "drop the changes"), ("esc", "stay")];
            question(frame, body, "Unsaved changes", &text, &keys, theme);
        }
        Some(Overlay::Prompt(_)) | None => {}
    }
}

/// A frame over the screen, everything under it cleared.
fn window(frame: &mut Frame<'_>, area: Rect, pane: &Pane<'_>, theme: &Theme) -> Rect {
    frame.render_widget(Clear, area);
    frame.buffer_mut().set_style(area, theme.base());
    pane.draw(frame, area, theme)
}

fn print(frame: &mut Frame<'_>, area: Rect, rows: &[Row], theme: &Theme) {
    for (offset, row) in rows.iter().take(usize::from(area.height)).enumerate() {
        let place = Rect::new(area.x, area.y + offset as u16, area.width, 1);
        frame.render_widget(row.line(theme), place);
    }
}

fn question(frame: &mut Frame<'_>, body: Rect, title: &str, text: &str, keys: &[(&str, &str)], theme: &Theme) {
    let width = 60.min(body.width.saturating_sub(4));
    let mut rows: Vec<Row> = wrap(text, usize::from(width.saturating_sub(4)))
        .into_iter()
        .map(|line| Row::new().text(format!(" {line}")))
        .collect();
    rows.push(Row::new());
    for (key, does) in keys {
        rows.push(
            Row::new()
                .add(Slot::Accent, format!(" {key:>5}"))
                .text(format!("  {does}")),
        );
    }
    let area = centered(body, width, rows.len() as u16 + 2);
    let pane = Pane {
        title,
        focused: true,
        ..Pane::default()
    };
    let inner = window(frame, area, &pane, theme);
    print(frame, inner, &rows, theme);
}

fn pick(frame: &mut Frame<'_>, body: Rect, picker: &Picker, theme: &Theme) {
    let widest = picker
        .items
        .iter()
        .map(|item| item.text.width() + item.aside.width() + 6)
        .max()
        .unwrap_or(0);
    let width = (widest as u16).clamp(44, 76).min(body.width.saturating_sub(4));
    let wanted = picker.items.len() as u16 + 4;
    let height = wanted.min(body.height.saturating_sub(4)).max(6).min(body.height);
    let mut area = centered(body, width, height);
    area.y = body.y + (body.height - area.height) / 3;
    let about = format!("{} of {}", picker.visible.len(), picker.items.len());
    let pane = Pane {
        title: picker.kind.title(),
        about: &about,
        focused: true,
        ..Pane::default()
    };
    let inner = window(frame, area, &pane, theme);
    let room = usize::from(inner.width);
    let query = Row::new()
        .add(Slot::Accent, " › ")
        .text(fit(&picker.query, room.saturating_sub(4)));
    let cursor = inner.x + query.width() as u16;
    print(frame, Rect { height: 1, ..inner }, &[query], theme);
    frame.set_cursor_position((cursor.min(inner.right().saturating_sub(1)), inner.y));
    let list = Rect {
        y: inner.y + 1,
        height: inner.height.saturating_sub(1),
        ..inner
    };
    let rows = usize::from(list.height);
    let top = picker.selected.saturating_sub(rows.saturating_sub(1));
    for (offset, &index) in picker.visible.iter().skip(top).take(rows).enumerate() {
        let item = &picker.items[index];
        let place = Rect::new(list.x, list.y + offset as u16, list.width, 1);
        let text = fit(&item.text, room.saturating_sub(item.aside.width() + 4));
        let aside = Row::new().muted(format!("{} ", item.aside));
        let row = Row::new()
            .text(format!(" {text}"))
            .to(room.saturating_sub(aside.width()))
            .join(aside);
        frame.render_widget(row.line(theme), place);
        if top + offset == picker.selected {
            frame.buffer_mut().set_style(place, theme.selected());
        }
    }
    if picker.visible.is_empty() {
        print(frame, list, &[Row::new().muted(" nothing matches")], theme);
    }
}

/// Scopes whose keys count on a screen, for the help's order.
fn scopes_of(screen: Screen) -> &'static [Scope] {
    match screen {
        Screen::Operators => &[Scope::Operators],
        Screen::Bench => &[Scope::Bench, Scope::Code, Scope::Typing, Scope::Verdict],
        Screen::Roofline => &[Scope::Roofline],
        Screen::History => &[Scope::History],
    }
}

/// All keys, those of the screen in view first.
pub fn help_rows(screen: Screen) -> Vec<Row> {
    let mut scopes: Vec<Scope> = scopes_of(screen).to_vec();
    scopes.push(Scope::Everywhere);
    scopes.extend(
        Scope::ALL
            .into_iter()
            .filter(|scope| !scopes_of(screen).contains(scope) && *scope != Scope::Everywhere),
    );
    let mut rows = Vec::new();
    for scope in scopes {
        if !rows.is_empty() {
            rows.push(Row::new());
        }
        rows.push(Row::new().bold(Slot::Accent, format!(" {}", scope.title())));
        for spec in COMMANDS.iter().filter(|spec| spec.scopes.contains(&scope)) {
            let keys: Vec<String> = spec.keys.iter().map(ToString::to_string).collect();
            rows.push(Row::new().text(format!("   {}", keys.join(" "))).to(18).muted(spec.doc));
        }
    }
    rows
}

fn help(frame: &mut Frame<'_>, body: Rect, model: &Model, scroll: u16, theme: &Theme) {
    let rows = help_rows(model.screen);
    let widest = rows.iter().map(Row::width).max().unwrap_or(0) as u16 + 4;
    let area = centered(body, widest, body.height.saturating_sub(2).max(6));
    let pane = Pane {
        title: "Keys",
        about: "any other key closes",
        focused: true,
        foot: if rows.len() as u16 + 2 > area.height {
            "↑↓ scrolls"
        } else {
            ""
        },
    };
    let inner = window(frame, area, &pane, theme);
    let most = rows.len().saturating_sub(usize::from(inner.height));
    let top = usize::from(scroll).min(most);
    print(frame, inner, &rows[top..], theme);
}
