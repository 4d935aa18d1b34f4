//! Changes of the Roofline screen: walking the points, which are shapes by intensity.

use crate::tui::command::Command;
use crate::tui::effect::Effect;
use crate::tui::model::{Model, Screen, place};

pub(super) fn run_command(model: &mut Model, command: Command) -> Vec<Effect> {
    match command {
        Command::OpenShape => model.screen = Screen::Bench,
        Command::ZoomChart => model.roofline.zoomed = !model.roofline.zoomed,
        _ => {}
    }
    Vec::new()
}

pub(super) fn walk(model: &mut Model, command: Command) {
    let order = order(model);
    let Some(at) = order.iter().position(|&index| index == model.bench.shape) else {
        return;
    };
    let next = match command {
        Command::Left | Command::Up => at.saturating_sub(1),
        Command::Right | Command::Down => at + 1,
        Command::PageUp => at.saturating_sub(10),
        Command::PageDown => at + 10,
        Command::First => 0,
        Command::Last => order.len(),
        _ => at,
    };
    model.bench.shape = order[next.min(order.len() - 1)];
}

/// The shapes of the current operator by intensity, then by work.
fn order(model: &Model) -> Vec<usize> {
    let (Some(operator), Some(machine)) = (&model.bench.operator, model.machine()) else {
        return (0..model.bench.shapes().count()).collect();
    };
    let key = |shape| place(machine, operator, shape).map_or((0.0, 0.0), |place| (place.intensity, place.flops));
    let mut order: Vec<(usize, (f64, f64))> = model.bench.shapes().map(key).enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    order.into_iter().map(|(index, _)| index).collect()
}
