//! Running, verifying and timing one kernel on one device: the same code for every device.

pub mod bench;
pub mod build;
pub mod cancel;
pub mod compare;
pub mod event;
mod floor;
pub mod inputs;
pub mod memory;
pub mod pipeline;
pub mod probe;
mod reference;
pub mod report;
pub mod selection;
mod shape_run;
#[cfg(test)]
mod tests;
mod timing;
mod verify;
mod workspace;

pub use event::{Event, Stage, StageState};
pub use reference::Warm;
pub use report::RunReport;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where a run's events go.
pub type Sink<'a> = dyn FnMut(Event) + 'a;

/// What to run and how hard to look.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    pub kernel_path: PathBuf,
    /// The text to run, where it is not what the file holds (an unsaved editor buffer).
    pub kernel_text: Option<String>,
    /// Overrides or replaces the header's operator.
    pub operator: Option<String>,
    /// Shape ids; empty asks for the device's default set (`auto`): all on a GPU, the affordable ones on the emulator.
    pub shapes: Vec<String>,
    pub problems: Option<PathBuf>,
    pub seed: u64,
    /// Seeds to verify with: `seed`, `seed + 1`, ...
    pub seeds: u32,
    /// Distribution names; `all` for every one that the operator has.
    pub distributions: Vec<String>,
    pub verify_only: bool,
    /// Tunables forced to a value.
    pub tune: Vec<(String, i64)>,
    pub cold: bool,
    /// Limits per shape, seconds.
    pub time_limit_s: f64,
    pub kernel_limit_s: f64,
}

/// Seeds verified by default.
pub const DEFAULT_SEEDS: u32 = 2;
/// Wall-clock seconds that one kernel execution may take before it is called hung.
pub const DEFAULT_KERNEL_LIMIT_S: f64 = 30.0;
/// Wall-clock seconds that the samples of one shape may take together.
pub const DEFAULT_TIME_LIMIT_S: f64 = 2.0;

impl RunRequest {
    pub fn new(kernel_path: impl Into<PathBuf>) -> Self {
        Self {
            kernel_path: kernel_path.into(),
            kernel_text: None,
            operator: None,
            shapes: Vec::new(),
            problems: None,
            seed: 1,
            seeds: DEFAULT_SEEDS,
            distributions: vec!["published".to_owned()],
            verify_only: false,
            tune: Vec::new(),
            cold: true,
            time_limit_s: DEFAULT_TIME_LIMIT_S,
            kernel_limit_s: DEFAULT_KERNEL_LIMIT_S,
        }
    }
}
