//! The operators as the screens need them, and the place of every shape under the roofs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::measure::report::ShapeReport;
use crate::problem::{Broken, Operator};
use crate::roofline::{MachineProfile, Roof, bound};
use crate::shape::Shape;
use crate::verdict::Class;

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct CatalogueData {
    pub operators: Vec<Arc<Operator>>,
    pub broken: Vec<Broken>,
}

/// The last outcomes that the history knows: by operator, then shape.
pub type SeenByOperator = BTreeMap<String, BTreeMap<String, Seen>>;

/// The last outcome of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub class: Class,
    /// Of the roof, where it was measured.
    pub fraction: Option<f64>,
    pub median_us: Option<f64>,
}

impl Seen {
    pub fn of(report: &ShapeReport) -> Self {
        Self {
            class: report.status,
            fraction: report.roofline.as_ref().and_then(|roofline| roofline.fraction),
            median_us: report.timing.as_ref().map(|timing| timing.median_us),
        }
    }
}

impl CatalogueData {
    pub fn operator(&self, name: &str) -> Option<&Arc<Operator>> {
        self.operators.iter().find(|operator| operator.name == name)
    }
}

/// Where a shape stands under a machine's roofs, whatever kernel runs it; `None` where its cost cannot be worked out.
pub fn place(machine: &MachineProfile, operator: &Operator, shape: &Shape) -> Option<Roof> {
    Some(bound(&operator.cost_of(shape).ok()?, machine))
}
