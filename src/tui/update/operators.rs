//! Changes of the Operators screen.

use std::sync::Arc;

use super::step;
use crate::tui::command::Command;
use crate::tui::effect::Effect;
use crate::tui::model::overlay::{Choice, Prompt, PromptKind, moved};
use crate::tui::model::{CatalogueData, Model, Overlay};

pub(super) fn loaded(model: &mut Model, catalogue: Arc<CatalogueData>) -> Vec<Effect> {
    model.operators.refresh(&catalogue);
    model.catalogue = Some(catalogue);
    // A kernel opened before the catalogue was there finds its operator now.
    if model.bench.operator.is_none()
        && let Some(name) = model.bench.kernel.as_ref().and_then(|kernel| kernel.operator.clone())
    {
        return super::bench::adopt_operator(model, &name);
    }
    Vec::new()
}

pub(super) fn run_command(model: &mut Model, command: Command) -> Vec<Effect> {
    match command {
        Command::OpenOperator => {
            let name = model.selected_operator().map(|operator| operator.name.clone());
            return name.map_or_else(Vec::new, |name| super::bench::open(model, Choice::Operator(name)));
        }
        Command::Filter => {
            model.overlay = Some(Overlay::Prompt(Prompt {
                kind: PromptKind::Filter,
                text: model.operators.filter.clone(),
            }));
        }
        Command::Sort => {
            model.operators.sorting = model.operators.sorting.next();
            refresh(model);
        }
        _ => {}
    }
    Vec::new()
}

pub(super) fn refresh(model: &mut Model) {
    if let Some(catalogue) = model.catalogue.clone() {
        model.operators.refresh(&catalogue);
    }
}

pub(super) fn move_selection(model: &mut Model, command: Command) {
    let page = usize::from(model.size.1.saturating_sub(6));
    let count = model.operators.visible.len();
    model.operators.selected = moved(model.operators.selected, step(command, page), count);
}
