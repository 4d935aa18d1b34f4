//! The only place where the state changes: an event in, the changed state and the wishes to the world out. No I/O, no clock.

mod bench;
mod history;
mod operators;
mod overlay;
mod roofline;
mod worker;

pub use bench::language_of;

use std::sync::Arc;

use super::command::{self, Command, Key};
use super::effect::Effect;
use super::event::Event;
use super::layout;
use super::model::overlay::{AfterSaving, Item};
use super::model::{Choice, MessageKind, Model, Overlay, Picker, PickerKind, Screen};

/// Takes in one event.
pub fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    let mut effects = react(model, event);
    prepare(model, &mut effects);
    effects
}

fn react(model: &mut Model, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(key) => {
            model.message = None;
            self::key(model, key)
        }
        Event::Mouse(mouse) => mouse_moved(model, mouse),
        Event::Paste(text) => paste(model, &text),
        Event::Resize(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        Event::Tick(now_ms) => {
            model.now_ms = now_ms;
            if let Some(run) = &mut model.run {
                run.started_ms.get_or_insert(now_ms);
            }
            Vec::new()
        }
        Event::Idle => Vec::new(),
        Event::Catalogue(catalogue) => operators::loaded(model, catalogue),
        Event::Seen(seen) => {
            model.seen = seen;
            Vec::new()
        }
        Event::Syntaxes(syntaxes) => {
            model.syntaxes = Some(syntaxes);
            Vec::new()
        }
        Event::Themes(themes) => overlay::pick_theme(model, themes),
        Event::Theme(name) => {
            model.theme = name;
            Vec::new()
        }
        Event::Opened(kernel) => bench::opened(model, *kernel),
        Event::Kernels { operator, files } => overlay::pick_kernel(model, &operator, files),
        Event::Saved { path, text } => bench::saved(model, &path, &text),
        Event::FileChanged { path, text } => bench::changed_outside(model, &path, text),
        Event::EditorClosed { path, text } => bench::editor_closed(model, &path, &text),
        Event::FileFailed(message) => {
            model.after_saving = None;
            model.say(MessageKind::Problem, message);
            Vec::new()
        }
        Event::Worker(message) => worker::message(model, message),
        Event::WorkerLost(reason) => worker::lost(model, reason),
        Event::History { operator, iterations } => history::loaded(model, operator, iterations),
        Event::Terminate => vec![Effect::Quit],
        Event::Notice(text) => {
            model.say(MessageKind::Problem, text);
            Vec::new()
        }
    }
}

/// What every drawing needs: the cursor in view, colours for what is in view.
fn prepare(model: &mut Model, effects: &mut Vec<Effect>) {
    if model.screen != Screen::Bench || model.bench.kernel.is_none() {
        return;
    }
    let (rows, columns) = layout::code_text(model);
    model.bench.editor.follow(rows, columns);
    match model.syntaxes.clone() {
        Some(syntaxes) => model.unfinished = model.bench.editor.highlight(&syntaxes, rows),
        None if !model.syntaxes_asked => {
            model.syntaxes_asked = true;
            effects.push(Effect::LoadSyntaxes);
        }
        None => {}
    }
}

fn key(model: &mut Model, event: crossterm::event::KeyEvent) -> Vec<Effect> {
    if event.kind == crossterm::event::KeyEventKind::Release {
        return Vec::new();
    }
    let key = Key::from(event);
    if key == Key::ctrl('c') && model.overlay.is_some() {
        model.overlay = None;
        return Vec::new();
    }
    if model.overlay.is_some() {
        return overlay::key(model, key);
    }
    let typing = model.screen == Screen::Bench && model.bench.typing;
    let known = command::by_key(&model.scopes(), key).filter(|_| !(typing && key.types_a_character()));
    // With text selected while typing, ctrl-c copies, as everywhere.
    let copies = typing && key == Key::ctrl('c') && model.bench.editor.selection().is_some();
    match known.filter(|_| !copies) {
        Some(command) => run_command(model, command),
        None if typing => {
            model.bench.editor.key(event);
            Vec::new()
        }
        None => Vec::new(),
    }
}

/// Carries out a command, wherever it came from: a key, the palette.
pub fn run_command(model: &mut Model, command: Command) -> Vec<Effect> {
    match command {
        Command::Quit => return quit(model),
        Command::Redraw => return vec![Effect::Redraw],
        Command::Help => model.overlay = Some(Overlay::Help(0)),
        Command::Palette => model.overlay = Some(Overlay::Picker(palette(model))),
        Command::ShowOperators => model.screen = Screen::Operators,
        Command::ShowBench => model.screen = Screen::Bench,
        Command::ShowRoofline => model.screen = Screen::Roofline,
        Command::ShowHistory => model.screen = Screen::History,
        Command::Mouse => {
            model.mouse = !model.mouse;
            return vec![Effect::Mouse(model.mouse)];
        }
        Command::PickTheme => return vec![Effect::ListThemes],
        Command::StopRun => return worker::stop(model),
        Command::OpenOperator | Command::Filter | Command::Sort => return operators::run_command(model, command),
        Command::OpenShape | Command::ZoomChart => return roofline::run_command(model, command),
        Command::MarkVersion | Command::OpenVersion | Command::DiffUp | Command::DiffDown => {
            return history::run_command(model, command);
        }
        Command::Up
        | Command::Down
        | Command::Left
        | Command::Right
        | Command::PageUp
        | Command::PageDown
        | Command::First
        | Command::Last => move_on_screen(model, command),
        _ => return bench::run_command(model, command),
    }
    Vec::new()
}

fn move_on_screen(model: &mut Model, command: Command) {
    match model.screen {
        Screen::Operators => operators::move_selection(model, command),
        Screen::Bench => bench::move_in_pane(model, command),
        Screen::Roofline => roofline::walk(model, command),
        Screen::History => history::move_selection(model, command),
    }
}

/// How far a moving command goes in a list whose page has so many rows; up and down only.
fn step(command: Command, page: usize) -> isize {
    let page = page.max(1) as isize;
    match command {
        Command::Up => -1,
        Command::Down => 1,
        Command::PageUp => -page,
        Command::PageDown => page,
        Command::First => isize::MIN / 2,
        Command::Last => isize::MAX / 2,
        _ => 0,
    }
}

fn palette(model: &Model) -> Picker {
    let scopes = model.scopes();
    let mut items: Vec<Item> = command::in_scopes(&scopes)
        .filter(|spec| spec.command != Command::Palette)
        .map(|spec| Item {
            text: spec.name.to_owned(),
            aside: spec.keys.first().map(ToString::to_string).unwrap_or_default(),
            choice: Choice::Command(spec.command),
        })
        .collect();
    let operators = model.catalogue.iter().flat_map(|catalogue| &catalogue.operators);
    items.extend(operators.map(|operator| Item {
        text: format!("open {}", operator.name),
        aside: operator.suite.clone(),
        choice: Choice::Operator(operator.name.clone()),
    }));
    Picker::new(PickerKind::Commands, items)
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if model.bench.editor.is_dirty() {
        model.overlay = Some(Overlay::OfferSave(AfterSaving::Quit));
        return Vec::new();
    }
    vec![Effect::Quit]
}

fn paste(model: &mut Model, text: &str) -> Vec<Effect> {
    if let Some(overlay) = &mut model.overlay {
        let line = text.lines().next().unwrap_or_default();
        for character in line.chars().filter(|character| !character.is_control()) {
            overlay::type_character(overlay, character);
        }
        return overlay::typed(model);
    }
    if model.screen == Screen::Bench && model.bench.typing {
        model.bench.editor.insert(text);
    }
    Vec::new()
}

/// The mouse: the wheel moves, a click on the header chooses a screen, a click on a pane of the Bench focuses it.
fn mouse_moved(model: &mut Model, mouse: crossterm::event::MouseEvent) -> Vec<Effect> {
    use crossterm::event::{MouseButton, MouseEventKind};
    if model.overlay.is_some() {
        return Vec::new();
    }
    match mouse.kind {
        MouseEventKind::ScrollDown => (0..3).for_each(|_| move_on_screen(model, Command::Down)),
        MouseEventKind::ScrollUp => (0..3).for_each(|_| move_on_screen(model, Command::Up)),
        MouseEventKind::Down(MouseButton::Left) if mouse.row == 0 => {
            if let Some(screen) = super::screens::header::tab_at(mouse.column) {
                model.screen = screen;
            }
        }
        MouseEventKind::Down(MouseButton::Left) if model.screen == Screen::Bench => bench::clicked(model, mouse),
        _ => {}
    }
    Vec::new()
}

/// A finished choice from a list.
fn choose(model: &mut Model, choice: Choice) -> Vec<Effect> {
    match choice {
        Choice::Command(command) => run_command(model, command),
        Choice::Theme(name) => vec![Effect::LoadTheme(name)],
        Choice::Shape(id) => {
            bench::choose_shape(model, &id);
            Vec::new()
        }
        other => bench::open(model, other),
    }
}

/// The shared pointer to an operator of the catalogue.
fn operator_named(model: &Model, name: &str) -> Option<Arc<crate::problem::Operator>> {
    model.catalogue.as_deref()?.operator(name).cloned()
}
