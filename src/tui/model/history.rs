//! The history of one operator's kernels, as the screens show it.

use std::sync::Arc;

use crate::kernel::Language;
use crate::measure::report::ShapeReport;
use crate::verdict::Class;

/// One kept run.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// From 1, in order.
    pub version: u32,
    pub unix_s: f64,
    /// `you`, or whatever wrote the kernel.
    pub author: String,
    pub note: String,
    /// The kernel's name, such as `rms_norm/vec8.cu`.
    pub kernel: String,
    pub language: Language,
    pub source: Arc<str>,
    /// `cuda:0`, `emulator:h200`.
    pub device: String,
    pub status: Class,
    pub reason: String,
    pub shapes: Vec<ShapeReport>,
}

/// One version on the chart of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionPoint {
    pub version: u32,
    pub class: Class,
    /// Measured median and its 95 % interval, microseconds.
    pub median_us: Option<(f64, f64, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryState {
    /// Whose history this is.
    pub operator: String,
    /// Oldest first; `None` until it is loaded.
    pub iterations: Option<Vec<Arc<Iteration>>>,
    /// Index into `iterations`.
    pub selected: usize,
    /// The version that the selected one is compared with; the one before where none is marked.
    pub marked: Option<usize>,
    pub scroll: usize,
}

impl HistoryState {
    pub fn iterations(&self) -> &[Arc<Iteration>] {
        self.iterations.as_deref().unwrap_or_default()
    }

    pub fn selected(&self) -> Option<&Iteration> {
        self.iterations().get(self.selected).map(Arc::as_ref)
    }

    /// The two versions whose sources are compared, older first.
    pub fn compared(&self) -> Option<(&Iteration, &Iteration)> {
        let all = self.iterations();
        let other = self.marked.or_else(|| self.selected.checked_sub(1))?;
        let (a, b) = (other.min(self.selected), other.max(self.selected));
        (a != b).then_some(())?;
        Some((all.get(a)?, all.get(b)?))
    }

    /// The versions that ran a shape, on any device or on one.
    pub fn of_shape(&self, shape: &str) -> Vec<VersionPoint> {
        self.iterations()
            .iter()
            .filter_map(|iteration| {
                let report = iteration.shapes.iter().find(|report| report.id == shape);
                let class = match report {
                    Some(report) => report.status,
                    // Nothing ran: the run ended before any shape.
                    None if iteration.shapes.is_empty() => iteration.status,
                    None => return None,
                };
                let timing = report.and_then(|report| report.timing.as_ref());
                Some(VersionPoint {
                    version: iteration.version,
                    class,
                    median_us: timing.map(|timing| (timing.median_us, timing.ci95_us[0], timing.ci95_us[1])),
                })
            })
            .collect()
    }
}
