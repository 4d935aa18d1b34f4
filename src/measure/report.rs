//! The document of a run: what `run --json` prints, history keeps and the screens show.

use serde::{Deserialize, Serialize};

use crate::device::Counters;
use crate::kernel::Language;
use crate::shape::Params;
pub use crate::toolchain::Resources;
use crate::verdict::{Class, Evidence, OutputEvidence};

/// The version of the document's layout.
pub const SCHEMA: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    pub schema: u32,
    pub operator: Option<String>,
    pub kernel: KernelReport,
    pub device: DeviceReport,
    /// The worst shape's class, or what ended the run before any shape.
    pub status: Class,
    pub reason: String,
    pub evidence: Vec<Evidence>,
    pub next: Vec<String>,
    pub shapes: Vec<ShapeReport>,
    /// Seconds since 1970 when the run began.
    pub started_unix_s: f64,
    pub wall_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    pub path: String,
    pub language: Option<Language>,
    /// Of the text that ran, lower-case hex.
    pub sha256: String,
    pub defines: Vec<(String, i64)>,
    pub compile: Option<CompileReport>,
}

/// What the compilers said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompileReport {
    /// "nvrtc 13.0.88", "shipped PTX".
    pub compiler: String,
    pub arch: String,
    pub milliseconds: f64,
    pub cached: bool,
    /// By kernel; empty where ptxas is not there.
    pub resources: Vec<Resources>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceReport {
    pub name: String,
    pub kind: String,
    pub profile: String,
    /// The driver's version, clocks and the like.
    pub details: Vec<(String, String)>,
}

/// One shape of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeReport {
    pub id: String,
    pub params: Params,
    pub status: Class,
    pub reason: String,
    pub evidence: Vec<Evidence>,
    pub next: Vec<String>,
    pub compile_ms: f64,
    pub verify: Option<VerifyReport>,
    pub timing: Option<TimingReport>,
    pub roofline: Option<RooflineReport>,
    pub counters: Option<Counters>,
}

/// What was compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyReport {
    pub seeds: u32,
    pub distributions: Vec<String>,
    /// Runs of the same inputs compared bit for bit.
    pub repeats: u32,
    /// Outputs were compared again after timing.
    pub checked_after_timing: bool,
    /// The worst comparison of each output.
    pub outputs: Vec<OutputEvidence>,
    /// What was not checked here, and why.
    pub skipped: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimingKind {
    Measured,
    Modelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheState {
    Cold,
    Warm,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingReport {
    pub median_us: f64,
    pub min_us: f64,
    pub samples: u32,
    pub ci95_us: [f64; 2],
    pub kind: TimingKind,
    pub cache: CacheState,
    pub throttled_samples: u32,
    pub launch_floor_us: Option<f64>,
    pub sm_mhz: Option<u32>,
    pub all_us: Vec<f64>,
}

/// Where the shape stands against the roof of the device's profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RooflineReport {
    pub t_sol_us: f64,
    /// "memory", or the path that bounds: "bf16".
    pub bound: String,
    /// FLOPs per byte.
    pub intensity: f64,
    pub flops: f64,
    pub bytes: f64,
    /// T_SOL over the measured median; absent where nothing was measured.
    pub fraction: Option<f64>,
}

/// Which of two kernels is faster, on one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Comparison {
    Faster,
    Slower,
    Same,
    Unclear,
}

/// B against A, from interleaved samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    pub schema: u32,
    pub a: RunReport,
    pub b: RunReport,
    pub shapes: Vec<CompareShape>,
}

/// One shape of a comparison: the ratio is A's time over B's, so above 1 B is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareShape {
    pub id: String,
    pub result: Comparison,
    pub ratio: f64,
    pub ci95: [f64; 2],
    pub samples: u32,
}
