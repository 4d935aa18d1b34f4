//! Keys of what lies over a screen, and the lists that are put there.

use std::path::PathBuf;

use crossterm::event::KeyCode;

use super::{bench, choose, operators};
use crate::tui::command::Key;
use crate::tui::effect::Effect;
use crate::tui::model::overlay::{AfterSaving, Item, Prompt};
use crate::tui::model::{Choice, Model, Overlay, Picker, PickerKind, PromptKind};

pub(super) fn key(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(overlay) = &mut model.overlay else {
        return Vec::new();
    };
    match (key.code, &mut *overlay) {
        (KeyCode::Esc, _) => return cancel(model),
        (_, Overlay::OfferCopy) => return offered_copy(model, key),
        (_, Overlay::OfferSave(_)) => return offered_save(model, key),
        (_, Overlay::Help(_)) => help(model, key),
        (KeyCode::Enter, _) => return accept(model),
        (KeyCode::Backspace, _) => {
            if let Some(text) = text_of(overlay) {
                text.pop();
            }
            return typed(model);
        }
        (KeyCode::Char(character), _) if key.types_a_character() => {
            type_character(overlay, character);
            return typed(model);
        }
        (KeyCode::Char('u'), _) => {
            if let Some(text) = text_of(overlay) {
                text.clear();
            }
            return typed(model);
        }
        (code, Overlay::Picker(picker)) => picker.move_by(picker_step(code)),
        _ => {}
    }
    Vec::new()
}

/// How far a key moves in a list; letters come here only with ctrl.
fn picker_step(code: KeyCode) -> isize {
    match code {
        KeyCode::Down | KeyCode::Tab | KeyCode::Char('n') => 1,
        KeyCode::Up | KeyCode::BackTab | KeyCode::Char('p') => -1,
        KeyCode::PageDown => 10,
        KeyCode::PageUp => -10,
        _ => 0,
    }
}

fn help(model: &mut Model, key: Key) {
    let rows = crate::tui::widgets::overlay::help_rows(model.screen).len() as u16;
    let Some(Overlay::Help(scroll)) = &mut model.overlay else {
        return;
    };
    *scroll = match key.code {
        KeyCode::Down | KeyCode::Char('j') => scroll.saturating_add(1),
        KeyCode::Up | KeyCode::Char('k') => scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => scroll.saturating_add(10),
        KeyCode::PageUp => scroll.saturating_sub(10),
        KeyCode::Home => 0,
        _ => return model.overlay = None,
    }
    .min(rows);
}

fn text_of(overlay: &mut Overlay) -> Option<&mut String> {
    match overlay {
        Overlay::Picker(picker) => Some(&mut picker.query),
        Overlay::Prompt(prompt) => Some(&mut prompt.text),
        _ => None,
    }
}

pub(super) fn type_character(overlay: &mut Overlay, character: char) {
    if let Some(text) = text_of(overlay) {
        text.push(character);
    }
}

/// The text of an overlay changed: lists narrow, the filter applies at once.
pub(super) fn typed(model: &mut Model) -> Vec<Effect> {
    match &mut model.overlay {
        Some(Overlay::Picker(picker)) => picker.refresh(),
        Some(Overlay::Prompt(prompt)) if prompt.kind == PromptKind::Filter => {
            model.operators.filter.clone_from(&prompt.text);
            operators::refresh(model);
        }
        _ => {}
    }
    Vec::new()
}

fn cancel(model: &mut Model) -> Vec<Effect> {
    if let Some(Overlay::Prompt(prompt)) = model.overlay.take()
        && prompt.kind == PromptKind::Filter
    {
        model.operators.filter.clear();
        operators::refresh(model);
    }
    Vec::new()
}

fn accept(model: &mut Model) -> Vec<Effect> {
    match model.overlay.take() {
        Some(Overlay::Picker(picker)) => match picker.chosen() {
            Some(item) => choose(model, item.choice.clone()),
            None => Vec::new(),
        },
        Some(Overlay::Prompt(prompt)) => {
            entered(model, &prompt);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn entered(model: &mut Model, prompt: &Prompt) {
    match prompt.kind {
        PromptKind::Filter => {}
        PromptKind::Find => {
            if !prompt.text.is_empty() {
                model.bench.editor.search.clone_from(&prompt.text);
            }
            bench::find_next(model);
        }
        PromptKind::Line => {
            if let Ok(line) = prompt.text.trim().parse::<usize>() {
                model.bench.editor.go_to(line.saturating_sub(1), 0);
            }
        }
    }
}

fn offered_copy(model: &mut Model, key: Key) -> Vec<Effect> {
    match key.code {
        KeyCode::Enter | KeyCode::Char('y' | 's' | 'S') => {
            model.overlay = None;
            // Typing starts in the copy, once it is there.
            model.bench.edit_when_opened = true;
            bench::save_copy(model)
        }
        KeyCode::Char('n') => {
            model.overlay = None;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn offered_save(model: &mut Model, key: Key) -> Vec<Effect> {
    let Some(Overlay::OfferSave(after)) = model.overlay.clone() else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Char('s' | 'y') | KeyCode::Enter => {
            model.overlay = None;
            // What was on its way goes on only once the text is really on disk.
            model.after_saving = Some(after);
            bench::save(model)
        }
        KeyCode::Char('d' | 'n') => {
            model.overlay = None;
            model.bench.editor.mark_saved();
            go_on(model, after)
        }
        _ => Vec::new(),
    }
}

/// Does what unsaved changes stood in the way of.
pub(super) fn go_on(model: &mut Model, after: AfterSaving) -> Vec<Effect> {
    match after {
        AfterSaving::Quit => vec![Effect::Quit],
        AfterSaving::Open(choice) => bench::open(model, choice),
        AfterSaving::Reload => match model.bench.path().cloned() {
            Some(path) => bench::reread(model, path),
            None => Vec::new(),
        },
    }
}

pub(super) fn pick_shape(model: &mut Model) {
    let reports = &model.bench.reports;
    let items: Vec<Item> = model
        .bench
        .shapes()
        .map(|shape| Item {
            text: format!("{}  {}", shape.id, shape.params),
            aside: reports
                .get(&shape.id)
                .map_or("", |report| report.status.name())
                .to_owned(),
            choice: Choice::Shape(shape.id.clone()),
        })
        .collect();
    if !items.is_empty() {
        let mut picker = Picker::new(PickerKind::Shapes, items);
        picker.selected = model.bench.shape;
        model.overlay = Some(Overlay::Picker(picker));
    }
}

pub(super) fn pick_kernel(model: &mut Model, operator: &str, files: Vec<PathBuf>) -> Vec<Effect> {
    let Some(known) = super::operator_named(model, operator) else {
        return Vec::new();
    };
    let mine = files.into_iter().map(|path| Item {
        text: path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        aside: "yours".to_owned(),
        choice: Choice::File(path),
    });
    let built_in = known.kernels.iter().map(|source| Item {
        text: source.name.trim_start_matches("kernels/").to_owned(),
        aside: "built in".to_owned(),
        choice: Choice::BuiltIn {
            operator: operator.to_owned(),
            name: source.name.clone(),
        },
    });
    let items = mine.chain(built_in).collect();
    model.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Kernels, items)));
    Vec::new()
}

pub(super) fn pick_theme(model: &mut Model, themes: Vec<String>) -> Vec<Effect> {
    let items = themes
        .iter()
        .map(|name| Item {
            text: name.clone(),
            aside: if *name == model.theme { "in use" } else { "" }.to_owned(),
            choice: Choice::Theme(name.clone()),
        })
        .collect();
    model.themes = themes;
    model.overlay = Some(Overlay::Picker(Picker::new(PickerKind::Themes, items)));
    Vec::new()
}
