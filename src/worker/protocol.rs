//! What goes through a worker's pipes: length-prefixed JSON, a job in, a stream of events out.

use serde::{Deserialize, Serialize};

use crate::device::DeviceInfo;
use crate::measure::{Event, RunRequest};

/// From the front end to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    Run {
        job: u64,
        request: Box<RunRequest>,
    },
    /// A B B A, interleaved in this worker.
    Compare {
        job: u64,
        a: Box<RunRequest>,
        b: Box<RunRequest>,
    },
    /// Ends the job as soon as it can be ended politely; the front end kills the worker where that takes too long.
    Cancel {
        job: u64,
    },
    Shutdown,
}

/// From the worker to the front end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorker {
    /// The device is open.
    Ready {
        device: DeviceInfo,
    },
    /// The device cannot be opened; the worker ends.
    Unavailable {
        verdict: Box<crate::verdict::Verdict>,
    },
    Event {
        job: u64,
        event: Event,
    },
    Compared {
        job: u64,
        report: Box<crate::measure::report::CompareReport>,
    },
}
