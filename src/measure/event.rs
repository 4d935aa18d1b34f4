//! What a run tells while it goes: the stream that the worker sends, the TUI draws and the CLI prints.

use serde::{Deserialize, Serialize};

use super::report::{RunReport, ShapeReport};
use crate::device::{DeviceInfo, Sample};

/// The steps of a run, in order. `Load` and `Compile` happen once, the others for every shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Load,
    Compile,
    Launch,
    Verify,
    Time,
}

impl Stage {
    pub const ALL: [Self; 5] = [Self::Load, Self::Compile, Self::Launch, Self::Verify, Self::Time];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Compile => "compile",
            Self::Launch => "launch",
            Self::Verify => "verify",
            Self::Time => "time",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    Running,
    Passed,
    Failed,
    /// Not done here, with the reason in the detail: never silently.
    Skipped,
}

/// One message of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began: on what, with which shapes.
    Started {
        operator: Option<String>,
        device: DeviceInfo,
        shapes: Vec<String>,
    },
    /// A stage changed. `shape` is empty for stages of the whole run. `detail` is short: "48 ms", "5x3".
    Stage {
        shape: Option<String>,
        stage: Stage,
        state: StageState,
        detail: String,
    },
    /// How far the stage is, 0 to 1.
    Progress {
        shape: Option<String>,
        stage: Stage,
        done: f64,
    },
    /// One timed sample.
    Sample {
        shape: String,
        sample: Sample,
    },
    /// Something worth a line in the log: compiler warnings, kernel output.
    Log {
        text: String,
    },
    ShapeFinished(Box<ShapeReport>),
    Finished(Box<RunReport>),
}
