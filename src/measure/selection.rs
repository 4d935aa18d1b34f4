//! Which shapes a run covers: those asked for, or by default what the device can afford.

use crate::device::DeviceKind;
use crate::problem::Operator;
use crate::shape::Shape;
use crate::verdict::{Class, Outcome, Verdict};

/// FLOPs plus bytes of compulsory traffic that one shape may need to be in the emulator's default set.
/// The emulator does some 10^7 to 10^8 of these per second, and a run executes kernel and reference about eight times.
pub const EMULATOR_WORK_BUDGET: f64 = 4e6;

/// The shapes of a run, and what was left out and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    pub shapes: Vec<Shape>,
    /// One line for the log, where something was left out.
    pub left_out: Option<String>,
}

/// FLOPs plus bytes of one shape by the operator's cost model; infinite where it does not work out.
pub fn work(operator: &Operator, shape: &Shape) -> f64 {
    operator
        .cost_of(shape)
        .map_or(f64::INFINITY, |cost| cost.total_flops() as f64 + cost.bytes() as f64)
}

/// Picks the shapes for `ids`: empty means the device's default set, `all` every published shape.
///
/// # Errors
/// Names an id that the operator does not have, with the ones it has.
pub fn select(operator: &Operator, ids: &[String], kind: DeviceKind) -> Outcome<Selection> {
    if ids.is_empty() {
        return Ok(default_set(operator, kind));
    }
    let mut shapes: Vec<Shape> = Vec::new();
    for id in ids {
        let found: Vec<&Shape> = if id == "all" {
            operator.shapes.iter().collect()
        } else {
            operator.shape(id).into_iter().collect()
        };
        if found.is_empty() {
            return unknown(operator, id).fail();
        }
        for shape in found {
            if !shapes.iter().any(|known| known.id == shape.id) {
                shapes.push(shape.clone());
            }
        }
    }
    Ok(Selection { shapes, left_out: None })
}

/// Ids to show in a message.
const IDS_SHOWN: usize = 12;

fn unknown(operator: &Operator, id: &str) -> Verdict {
    let ids: Vec<&str> = operator
        .twins
        .iter()
        .chain(&operator.shapes)
        .map(|shape| shape.id.as_str())
        .collect();
    let shown = ids.iter().take(IDS_SHOWN).copied().collect::<Vec<_>>().join(", ");
    let more = if ids.len() > IDS_SHOWN { ", ..." } else { "" };
    Verdict::new(Class::InvalidKernel, format!("`{}` has no shape `{id}`", operator.name))
        .try_next(format!("choose from: {shown}{more}"))
        .try_next(format!(
            "`ridgepoint list shapes --op {}` lists them with their parameters",
            operator.name
        ))
}

fn default_set(operator: &Operator, kind: DeviceKind) -> Selection {
    if kind != DeviceKind::Emulator {
        return Selection {
            shapes: operator.shapes.clone(),
            left_out: None,
        };
    }
    let (affordable, heavy): (Vec<&Shape>, Vec<&Shape>) = operator
        .shapes
        .iter()
        .partition(|shape| work(operator, shape) <= EMULATOR_WORK_BUDGET);
    let left_out = (!heavy.is_empty()).then(|| {
        format!(
            "left out {} of {} published shapes: each needs more than {:.0e} FLOPs and bytes, too much for the emulator; name one with --shape to run it all the same",
            heavy.len(),
            operator.shapes.len(),
            EMULATOR_WORK_BUDGET
        )
    });
    Selection {
        shapes: operator.twins.iter().chain(affordable).cloned().collect(),
        left_out,
    }
}
