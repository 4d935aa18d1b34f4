//! The operators as the screens need them, with roofs and the place of every shape under them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::measure::report::ShapeReport;
use crate::problem::{Broken, Operator};
use crate::shape::Shape;
use crate::verdict::Class;

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct CatalogueData {
    pub operators: Vec<Arc<Operator>>,
    pub broken: Vec<Broken>,
    /// One for every machine profile.
    pub roofs: Vec<Roofs>,
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

/// A machine's ceilings.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofs {
    /// `h200`
    pub profile: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// FLOP/s by path name.
    pub peaks: Vec<(String, f64)>,
}

/// Where a shape stands under the roofs, whatever kernel runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub flops: f64,
    pub bytes: f64,
    /// FLOPs per byte.
    pub intensity: f64,
    pub t_sol_us: f64,
    /// `memory` or the path that bounds.
    pub bound: String,
}

impl CatalogueData {
    pub fn roofs_of(&self, profile: &str) -> Option<&Roofs> {
        self.roofs.iter().find(|roofs| roofs.profile == profile)
    }

    pub fn operator(&self, name: &str) -> Option<&Arc<Operator>> {
        self.operators.iter().find(|operator| operator.name == name)
    }
}

impl Roofs {
    /// The place of a shape; `None` where its cost cannot be worked out.
    pub fn place(&self, operator: &Operator, shape: &Shape) -> Option<Place> {
        let scope = operator.scope(shape);
        let bytes = operator.cost.bytes_read.eval(&scope).ok()?.as_f64()
            + operator.cost.bytes_written.eval(&scope).ok()?.as_f64();
        let mut bound = "memory".to_owned();
        let mut seconds = bytes / self.bandwidth;
        let mut flops = 0.0;
        for (path, expr) in &operator.cost.flops {
            let count = expr.eval(&scope).ok()?.as_f64();
            flops += count;
            let name = path_name(*path);
            if let Some((_, peak)) = self.peaks.iter().find(|(known, _)| known == name)
                && count / peak > seconds
            {
                seconds = count / peak;
                name.clone_into(&mut bound);
            }
        }
        Some(Place {
            flops,
            bytes,
            intensity: flops / bytes,
            t_sol_us: seconds * 1e6,
            bound,
        })
    }
}

/// The name of a path in reports.
pub const fn path_name(path: crate::problem::Path) -> &'static str {
    use crate::problem::Path;
    match path {
        Path::Fp8 => "fp8",
        Path::Bf16 => "bf16",
        Path::Fp16 => "fp16",
        Path::Tf32 => "tf32",
        Path::Fp32 => "fp32",
        Path::Fp64 => "fp64",
        Path::Int8 => "int8",
    }
}

/// The roofs of every machine profile that is known.
pub fn roofs() -> Vec<Roofs> {
    vec![Roofs {
        profile: "h200".to_owned(),
        bandwidth: 4.8e12,
        peaks: [
            ("fp8", 1979e12),
            ("bf16", 989e12),
            ("fp16", 989e12),
            ("tf32", 494.5e12),
            ("fp32", 66.9e12),
            ("fp64", 33.5e12),
            ("int8", 1979e12),
        ]
        .map(|(name, peak)| (name.to_owned(), peak))
        .to_vec(),
    }]
}
