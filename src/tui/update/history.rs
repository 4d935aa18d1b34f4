//! Changes of the History screen.

use std::sync::Arc;

use super::step;
use crate::tui::command::Command;
use crate::tui::effect::Effect;
use crate::tui::model::overlay::{Choice, moved};
use crate::tui::model::{Iteration, Model};

pub(super) fn loaded(model: &mut Model, operator: String, iterations: Vec<Arc<Iteration>>) -> Vec<Effect> {
    if model
        .bench
        .operator
        .as_ref()
        .is_none_or(|current| current.name != operator)
    {
        return Vec::new();
    }
    let history = &mut model.history;
    let was_last = history.operator != operator || history.selected + 1 >= history.iterations().len();
    if history.operator != operator {
        history.marked = None;
        history.scroll = 0;
    }
    history.operator = operator;
    if was_last {
        history.selected = iterations.len().saturating_sub(1);
    }
    history.selected = history.selected.min(iterations.len().saturating_sub(1));
    history.iterations = Some(iterations);
    Vec::new()
}

pub(super) fn run_command(model: &mut Model, command: Command) -> Vec<Effect> {
    let history = &mut model.history;
    match command {
        Command::MarkVersion if history.selected().is_some() => {
            let selected = Some(history.selected);
            history.marked = if history.marked == selected { None } else { selected };
            history.scroll = 0;
        }
        Command::OpenVersion if history.selected().is_some() => {
            return super::bench::open(model, Choice::Version(model.history.selected));
        }
        Command::DiffDown => history.scroll += 1,
        Command::DiffUp => history.scroll = history.scroll.saturating_sub(1),
        _ => {}
    }
    Vec::new()
}

/// The newest version is on top of the table, so down means older.
pub(super) fn move_selection(model: &mut Model, command: Command) {
    let page = usize::from(model.size.1 / 3);
    let history = &mut model.history;
    history.selected = moved(history.selected, -step(command, page), history.iterations().len());
    history.scroll = 0;
}
