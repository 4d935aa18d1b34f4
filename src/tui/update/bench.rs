//! Changes of the Bench: opening kernels, editing, saving, choosing shapes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossterm::event::MouseEvent;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::CursorMove;

use super::{step, worker};
use crate::kernel::Language;
use crate::tui::command::Command;
use crate::tui::editor::Editor;
use crate::tui::effect::Effect;
use crate::tui::layout;
use crate::tui::model::overlay::{AfterSaving, Choice, Prompt, PromptKind};
use crate::tui::model::{DeviceState, HistoryState, KernelText, MessageKind, Model, Origin, Overlay, Pane, Screen};

pub(super) fn run_command(model: &mut Model, command: Command) -> Vec<Effect> {
    match command {
        Command::Run => return worker::start(model, false),
        Command::RunAll => return worker::start(model, true),
        Command::Save => return save(model),
        Command::SaveCopy => return save_copy(model),
        Command::Reload => return reload(model),
        Command::EditExternally => return edit_externally(model),
        Command::PickKernel => return list_kernels(model),
        Command::Edit => edit(model),
        Command::LeaveEditing => model.bench.typing = false,
        Command::Undo => model.bench.editor.undo(),
        Command::Redo => model.bench.editor.redo(),
        Command::DeleteLine => model.bench.editor.delete_to_line_end(),
        Command::NextPane => focus(model, model.bench.pane.moved(1)),
        Command::PreviousPane => focus(model, model.bench.pane.moved(-1)),
        Command::Zoom => model.bench.zoomed = !model.bench.zoomed,
        Command::NextShape => shift_shape(model, 1),
        Command::PreviousShape => shift_shape(model, -1),
        Command::PickShape => super::overlay::pick_shape(model),
        Command::NextFailing => next_failing(model),
        Command::NextDiagnostic => next_diagnostic(model),
        Command::GoToLine => ask(model, PromptKind::Line),
        Command::Find => ask(model, PromptKind::Find),
        Command::FindNext => find_next(model),
        Command::RunOnSave => {
            model.bench.run_on_save = !model.bench.run_on_save;
            let state = if model.bench.run_on_save {
                "runs on every save"
            } else {
                "no longer runs on save"
            };
            model.say(MessageKind::Info, state);
        }
        _ => {}
    }
    Vec::new()
}

/// Opens something chosen from a list; unsaved changes are asked about first.
pub(super) fn open(model: &mut Model, choice: Choice) -> Vec<Effect> {
    if model.bench.editor.is_dirty() && !stays_in_place(model, &choice) {
        model.overlay = Some(Overlay::OfferSave(AfterSaving::Open(choice)));
        return Vec::new();
    }
    match choice {
        Choice::Operator(name) => {
            let same = model
                .bench
                .operator
                .as_ref()
                .is_some_and(|operator| operator.name == name);
            model.screen = Screen::Bench;
            if same && model.bench.kernel.is_some() {
                return Vec::new();
            }
            adopt_operator(model, &name)
                .into_iter()
                .chain([Effect::OpenLast { operator: name }])
                .collect()
        }
        Choice::BuiltIn { operator, name } => built_in(model, &operator, &name),
        Choice::File(path) => {
            let operator = model.bench.operator.as_ref().map(|operator| operator.name.clone());
            vec![Effect::OpenFile { path, operator }]
        }
        Choice::Version(index) => version(model, index),
        Choice::Command(_) | Choice::Shape(_) | Choice::Theme(_) => Vec::new(),
    }
}

/// Going back to the operator that is open already changes nothing.
fn stays_in_place(model: &Model, choice: &Choice) -> bool {
    matches!(choice, Choice::Operator(name) if model.bench.operator.as_ref().is_some_and(|known| known.name == *name))
}

/// Makes an operator the one that Bench, Roofline and History show.
pub(super) fn adopt_operator(model: &mut Model, name: &str) -> Vec<Effect> {
    let Some(operator) = super::operator_named(model, name) else {
        return Vec::new();
    };
    if model
        .bench
        .operator
        .as_ref()
        .is_some_and(|known| known.name == operator.name)
    {
        return Vec::new();
    }
    model.bench.operator = Some(operator);
    model.bench.shape = 0;
    model.history = HistoryState {
        operator: name.to_owned(),
        ..HistoryState::default()
    };
    choose_affordable_shape(model);
    vec![Effect::LoadHistory {
        operator: name.to_owned(),
    }]
}

/// On the emulator the small twins are what one wants to look at first.
pub(super) fn choose_affordable_shape(model: &mut Model) {
    let Some(operator) = &model.bench.operator else { return };
    let emulated = matches!(&model.device, DeviceState::Ready(_)) && !model.device.measures_time();
    model.bench.shape = if emulated && !operator.twins.is_empty() {
        operator.shapes.len()
    } else {
        0
    };
}

fn built_in(model: &mut Model, operator: &str, name: &str) -> Vec<Effect> {
    let Some(found) = super::operator_named(model, operator) else {
        return Vec::new();
    };
    let Some(source) = found.kernels.iter().find(|source| source.name == name) else {
        return Vec::new();
    };
    let kernel = KernelText {
        name: format!("{operator}/{}", name.trim_start_matches("kernels/")),
        operator: Some(operator.to_owned()),
        language: language_of(Path::new(name)),
        origin: Origin::BuiltIn,
        text: source.text.clone(),
    };
    opened(model, kernel)
}

fn version(model: &mut Model, index: usize) -> Vec<Effect> {
    let Some(iteration) = model.history.iterations().get(index).cloned() else {
        return Vec::new();
    };
    let kernel = KernelText {
        name: format!("{} · v{}", iteration.kernel, iteration.version),
        operator: Some(model.history.operator.clone()),
        language: iteration.language,
        origin: Origin::Version(iteration.version),
        text: iteration.source.clone(),
    };
    model.screen = Screen::Bench;
    opened(model, kernel)
}

/// By the file's ending; CUDA C++ where it says nothing.
pub fn language_of(path: &Path) -> Language {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ptx") => Language::Ptx,
        Some("py") => Language::Python,
        _ => Language::Cuda,
    }
}

/// A kernel was read: it takes the place of the one before.
pub(super) fn opened(model: &mut Model, kernel: KernelText) -> Vec<Effect> {
    let mut effects = Vec::new();
    if let Some(operator) = kernel.operator.clone() {
        effects.extend(adopt_operator(model, &operator));
    }
    let bench = &mut model.bench;
    bench.editor = Editor::new(&kernel.text, Some(kernel.language));
    bench.editor.go_to(0, 0);
    bench.typing = std::mem::take(&mut bench.edit_when_opened) && matches!(kernel.origin, Origin::File(_));
    bench.pane = Pane::Code;
    bench.scroll = 0;
    bench.report = None;
    bench.reports.clear();
    bench.ran_revision = 0;
    bench.changed_outside = None;
    bench.kernel = Some(kernel);
    model.screen = Screen::Bench;
    let bench = &model.bench;
    effects.push(Effect::Watch(bench.path().cloned()));
    effects
}

fn edit(model: &mut Model) {
    match &model.bench.kernel {
        None => {}
        Some(_) if model.bench.read_only() => model.overlay = Some(Overlay::OfferCopy),
        Some(_) => {
            model.bench.pane = Pane::Code;
            model.bench.typing = true;
        }
    }
}

pub(super) fn save(model: &mut Model) -> Vec<Effect> {
    match (model.bench.path().cloned(), &model.bench.kernel) {
        (Some(path), _) => vec![Effect::Save {
            path,
            text: model.bench.editor.text(),
        }],
        (None, Some(_)) => save_copy(model),
        (None, None) => Vec::new(),
    }
}

/// Asks for a new file in the user's folder with the text as it is.
pub(super) fn save_copy(model: &mut Model) -> Vec<Effect> {
    let (Some(kernel), Some(operator)) = (&model.bench.kernel, &model.bench.operator) else {
        return Vec::new();
    };
    let file = kernel.name.rsplit('/').next().unwrap_or("kernel.cu");
    vec![Effect::SaveCopy {
        operator: operator.name.clone(),
        name: file.split(" · ").next().unwrap_or(file).to_owned(),
        text: model.bench.editor.text(),
    }]
}

pub(super) fn saved(model: &mut Model, path: &Path, text: &Arc<str>) -> Vec<Effect> {
    if model.bench.path().is_none_or(|open| open != path) {
        return Vec::new();
    }
    model.bench.changed_outside = None;
    if model.bench.editor.text() == *text {
        model.bench.editor.mark_saved();
        if let Some(after) = model.after_saving.take() {
            return super::overlay::go_on(model, after);
        }
    }
    model.say(MessageKind::Good, format!("saved {}", path.display()));
    if model.bench.run_on_save && model.run.is_none() {
        return worker::start(model, false);
    }
    Vec::new()
}

/// Another program wrote the file: an unchanged text follows it, a changed one asks.
pub(super) fn changed_outside(model: &mut Model, path: &Path, text: Arc<str>) -> Vec<Effect> {
    if model.bench.path().is_none_or(|open| open != path) || model.bench.editor.text() == text {
        return Vec::new();
    }
    if model.bench.editor.is_dirty() {
        model.bench.changed_outside = Some(text);
        model.say(
            MessageKind::Problem,
            "the file changed on disk, and so did the text here: L takes the file, ctrl-s keeps this",
        );
        return Vec::new();
    }
    model.bench.editor.replace(&text);
    model.say(MessageKind::Info, "the file changed on disk and was read again");
    if model.bench.run_on_save && model.run.is_none() {
        return worker::start(model, false);
    }
    Vec::new()
}

pub(super) fn editor_closed(model: &mut Model, path: &Path, text: &Arc<str>) -> Vec<Effect> {
    if model.bench.path().is_none_or(|open| open != path) || model.bench.editor.text() == *text {
        return Vec::new();
    }
    model.bench.changed_outside = None;
    model.bench.editor.replace(text);
    if model.bench.run_on_save {
        worker::start(model, false)
    } else {
        Vec::new()
    }
}

fn reload(model: &mut Model) -> Vec<Effect> {
    let Some(path) = model.bench.path().cloned() else {
        return Vec::new();
    };
    if let Some(text) = model.bench.changed_outside.take() {
        model.bench.editor.replace(&text);
        return Vec::new();
    }
    if model.bench.editor.is_dirty() {
        model.overlay = Some(Overlay::OfferSave(AfterSaving::Reload));
        return Vec::new();
    }
    reread(model, path)
}

/// Reads a file again for the operator that is open.
pub(super) fn reread(model: &Model, path: PathBuf) -> Vec<Effect> {
    let operator = model.bench.operator.as_ref().map(|operator| operator.name.clone());
    vec![Effect::OpenFile { path, operator }]
}

fn edit_externally(model: &mut Model) -> Vec<Effect> {
    let Some(path) = model.bench.path().cloned() else {
        edit(model);
        return Vec::new();
    };
    let mut effects = Vec::new();
    if model.bench.editor.is_dirty() {
        effects.extend(save(model));
    }
    let line = model.bench.editor.cursor().0 + 1;
    effects.push(Effect::EditExternally { path, line });
    effects
}

fn list_kernels(model: &mut Model) -> Vec<Effect> {
    match &model.bench.operator {
        Some(operator) => vec![Effect::ListKernels {
            operator: operator.name.clone(),
        }],
        None => Vec::new(),
    }
}

fn focus(model: &mut Model, pane: Pane) {
    model.bench.pane = pane;
    model.bench.typing = false;
}

fn shift_shape(model: &mut Model, by: isize) {
    let count = model.bench.shapes().count();
    if count > 0 {
        model.bench.shape = (model.bench.shape as isize + by).rem_euclid(count as isize) as usize;
        model.bench.scroll = 0;
    }
}

pub(super) fn choose_shape(model: &mut Model, id: &str) {
    let index = model.bench.shapes().position(|shape| shape.id == id);
    if let Some(index) = index {
        model.bench.shape = index;
        model.bench.scroll = 0;
    }
}

fn next_failing(model: &mut Model) {
    match model.bench.next_failing() {
        Some(index) => {
            model.bench.shape = index;
            model.bench.scroll = 0;
        }
        None => model.say(MessageKind::Info, "no shape of this kernel has failed"),
    }
}

fn next_diagnostic(model: &mut Model) {
    let lines: Vec<usize> = model
        .bench
        .diagnostics()
        .iter()
        .map(|diagnostic| diagnostic.line - 1)
        .collect();
    let row = model.bench.editor.cursor().0;
    let next = lines.iter().find(|&&line| line > row).or(lines.first());
    match next {
        Some(&line) => {
            model.bench.pane = Pane::Code;
            model.bench.editor.go_to(line, 0);
        }
        None => model.say(MessageKind::Info, "the verdict names no line of the code"),
    }
}

fn ask(model: &mut Model, kind: PromptKind) {
    model.bench.pane = Pane::Code;
    model.overlay = Some(Overlay::Prompt(Prompt {
        kind,
        text: String::new(),
    }));
}

pub(super) fn find_next(model: &mut Model) {
    if !model.bench.editor.find_next() {
        let text = format!("`{}` is nowhere in the text", model.bench.editor.search);
        model.say(MessageKind::Info, text);
    }
}

pub(super) fn move_in_pane(model: &mut Model, command: Command) {
    let (rows, _) = layout::code_text(model);
    if model.bench.pane == Pane::Verdict {
        let scrolled = model.bench.scroll.saturating_add_signed(step(command, 5));
        let lines = crate::tui::widgets::verdict::lines(model, 80).len();
        model.bench.scroll = scrolled.min(lines.saturating_sub(1));
        return;
    }
    let editor = &mut model.bench.editor;
    match command {
        Command::Left => editor.move_cursor(CursorMove::Back),
        Command::Right => editor.move_cursor(CursorMove::Forward),
        Command::Up => editor.move_cursor(CursorMove::Up),
        Command::Down => editor.move_cursor(CursorMove::Down),
        Command::PageUp => editor.move_lines(-(rows as isize)),
        Command::PageDown => editor.move_lines(rows as isize),
        Command::First => editor.go_to(0, 0),
        Command::Last => editor.go_to(usize::MAX, 0),
        _ => {}
    }
}

pub(super) fn clicked(model: &mut Model, mouse: MouseEvent) {
    let body = layout::bands(Rect::new(0, 0, model.size.0, model.size.1)).body;
    let lines = crate::tui::screens::bench::verdict_height(model, body.width);
    let panes = layout::bench(body, model.bench.pane, model.bench.zoomed, lines);
    let at = Position::new(mouse.column, mouse.row);
    let Some(&(pane, place)) = panes.iter().find(|(_, place)| place.contains(at)) else {
        return;
    };
    if pane != model.bench.pane {
        focus(model, pane);
    }
    if pane == Pane::Code && model.bench.kernel.is_some() {
        let editor = &mut model.bench.editor;
        let gutter = layout::gutter(editor.lines().len());
        let row = editor.top + usize::from(mouse.row.saturating_sub(place.y + 1));
        let column = editor.left + usize::from(mouse.column.saturating_sub(place.x + 1 + gutter));
        editor.go_to(row, column);
    }
}
