//! Devices: one trait for whatever can hold buffers and run kernels. The CUDA device, the emulator and a mock implement it.

pub mod compare;
pub mod cuda;
pub mod element;
pub mod emulator;
pub mod evidence;
pub mod generate;
pub mod mock;
pub mod pattern;
mod trouble;
#[cfg(test)]
mod twin_tests;

use serde::{Deserialize, Serialize};

pub mod goldens;

pub use crate::emulator::Counters;

use crate::dtype::DType;
use crate::kernel::plan::Launch;
use crate::problem::Recipe;
use crate::verdict::{Outcome, OutputEvidence};

/// What a device is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// `cuda:0`, `emulator:h200`: what `--device` takes.
    pub id: String,
    /// `NVIDIA H200`, `PTX emulator (as H200)`.
    pub name: String,
    pub kind: DeviceKind,
    /// The machine profile whose roofs apply, such as `h200`.
    pub profile: String,
    /// Names and values usable in kernel headers: `sm_count`, `max_threads_per_block`, `max_shared_per_block`, `l2_bytes`, `warp_size`, `cc_major`, `cc_minor`.
    pub properties: Vec<(String, i64)>,
    pub memory_bytes: u64,
    /// Driver and runtime versions, clocks at start; what a record needs to be read later.
    pub details: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    Cuda,
    Emulator,
    Mock,
}

/// Seconds that a launch may take where nobody sets a limit.
pub const DEFAULT_LIMIT_S: f64 = 30.0;

/// A device that is here, found without opening it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// What `--device` takes.
    pub id: String,
    pub name: String,
    pub kind: DeviceKind,
    pub profile: String,
    pub memory_bytes: u64,
    /// Compute capability, driver, and the like.
    pub note: String,
}

/// A buffer on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u64);

/// A loaded module on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleId(pub u64);

/// A launch with its buffers bound: every `Arg::Buffer(name)` of `launch` is in `buffers`.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    pub module: ModuleId,
    pub launch: &'a Launch,
    pub buffers: &'a Buffers,
}

/// Buffers by the names that launch plans use.
pub type Buffers = std::collections::BTreeMap<String, BufferId>;

/// Machine code or PTX with what is known of its origin.
#[derive(Clone, Debug)]
pub struct Image {
    /// PTX text, NUL-free. Kept even where `cubin` is there: it is what the emulator runs and the assembly screen shows.
    pub ptx: std::sync::Arc<str>,
    pub cubin: Option<std::sync::Arc<[u8]>>,
}

/// How outputs are compared; see `problem::Contract` for what the numbers mean.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareSpec {
    pub dtype: DType,
    pub dims: Vec<u64>,
    pub contract: crate::problem::Contract,
    /// Elements with exactly these bits count as never written.
    pub poison: u64,
}

/// What the caller says to a device between samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Stop,
}

/// One timed execution of a plan's launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub microseconds: f64,
    /// SM clock during the sample, where it could be read.
    pub sm_mhz: Option<u32>,
    /// The clock was throttled: the sample is counted but not used.
    pub throttled: bool,
}

/// A device. All calls are synchronous, and an `Err` is the verdict that ends the run.
///
/// After an `Err` of class `memory_fault`, `timeout` or `crashed` a CUDA device is unusable: the worker ends.
pub trait Device {
    fn info(&self) -> &DeviceInfo;

    /// Wall-clock seconds that one launch, or one timed sample, may take before it is called hung.
    /// [`DEFAULT_LIMIT_S`] until this is called.
    fn set_limit(&mut self, seconds: f64);

    /// Whether the device still takes work. `false` after a fault that poisoned its context: the worker must end.
    fn is_usable(&self) -> bool;

    /// Bytes that can still be allocated.
    fn free_memory(&mut self) -> Outcome<u64>;

    /// Allocates with guard bands around; contents undefined (the emulator marks them uninitialised).
    fn alloc(&mut self, name: &str, bytes: u64) -> Outcome<BufferId>;
    fn free(&mut self, buffer: BufferId);
    fn size(&self, buffer: BufferId) -> u64;
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Outcome<()>;
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: u64) -> Outcome<Vec<u8>>;
    fn copy(&mut self, from: BufferId, to: BufferId) -> Outcome<()>;

    /// Fills the whole buffer with an element pattern and, for `initialised: false`, marks it as unwritten where the device can.
    fn poison(&mut self, buffer: BufferId, dtype: DType, bits: u64, initialised: bool) -> Outcome<()>;

    /// Makes a tensor's elements from a recipe; `total` is the value that `Recipe::Offsets` names.
    fn generate(&mut self, buffer: BufferId, spec: &GenerateSpec) -> Outcome<()>;

    /// Half of every element of `from`, rounded to `dtype`, into `to`: for the proof that a contract notices it.
    fn halve(&mut self, from: BufferId, to: BufferId, dtype: DType) -> Outcome<()>;

    /// Order-dependent 64-bit checksum of a buffer's bytes.
    fn checksum(&mut self, buffer: BufferId) -> Outcome<u64>;

    /// Whether the guard bands around a buffer still hold their pattern: the byte offset (negative before) of the first that does not.
    fn guards(&mut self, buffer: BufferId) -> Outcome<Option<i64>>;

    /// Compares `got` with `want` element by element, where they are. The contract is broken where `violation` says so.
    /// `output`, `seed` and `distribution` are left for the caller to fill in.
    fn compare(&mut self, got: BufferId, want: BufferId, spec: &CompareSpec) -> Outcome<OutputEvidence>;

    /// Loads a module. PTX that the device cannot run is `unsupported`, naming what and where.
    fn load(&mut self, image: &Image) -> Outcome<ModuleId>;
    fn unload(&mut self, module: ModuleId);

    /// Runs one launch to its end.
    fn launch(&mut self, bound: &Bound<'_>) -> Outcome<()>;

    /// Text that kernels printed since the last call.
    fn take_output(&mut self) -> String;

    /// Counters since the last call, where the device counts.
    fn take_counters(&mut self) -> Option<Counters>;

    /// Whether times measured here mean anything. Where not, `time` is never called.
    fn can_time(&self) -> bool;

    /// Times the launches as one unit, again and again, until `sink` says stop. `before` (poisoning of scratch that must be
    /// zero) runs untimed before each sample.
    fn time(&mut self, plan: &TimePlan<'_>, sink: &mut dyn FnMut(Sample) -> Flow) -> Outcome<()>;

    /// The shortest time that this device shows for an empty launch under the same method, microseconds.
    fn launch_floor(&mut self) -> Outcome<Option<f64>>;
}

/// What to generate.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateSpec {
    pub recipe: Recipe,
    pub dtype: DType,
    pub elements: u64,
    pub seed: u64,
    /// Position of the tensor in the operator, so that two tensors of one seed differ.
    pub tensor: u64,
    /// For `Recipe::Offsets`.
    pub total: u64,
}

/// What to time.
#[derive(Debug)]
pub struct TimePlan<'a> {
    pub launches: Vec<Bound<'a>>,
    /// Scratch buffers to zero before each sample, outside the clock.
    pub zero: Vec<BufferId>,
    /// Flush the L2 cache before each sample, outside the clock.
    pub cold: bool,
}

/// Opens a device by its id: `auto`, `cuda:N`, `emulator`, `emulator:PROFILE`, `mock`.
///
/// `auto` is the first CUDA device where there is one, else the emulator.
///
/// # Errors
/// `environment`, with what there is instead.
pub fn open(id: &str) -> Outcome<Box<dyn Device>> {
    match id.split_once(':').unwrap_or((id, "")) {
        ("auto", "") if cuda::devices().is_ok_and(|devices| !devices.is_empty()) => open("cuda:0"),
        ("auto" | "emulator", "") => open(&format!("emulator:{}", emulator::DEFAULT_PROFILE)),
        ("emulator", profile) => Ok(Box::new(emulator::EmulatorDevice::new(profile)?)),
        ("cuda", number) => match number.parse() {
            Ok(ordinal) => Ok(Box::new(cuda::CudaDevice::open(ordinal)?)),
            Err(_) => trouble::no_device(id),
        },
        ("mock", "") => Ok(Box::new(mock::MockDevice::new())),
        _ => trouble::no_device(id),
    }
}

/// Every device that is here, CUDA devices first, without opening any; and why there are no CUDA devices, where there are none.
pub fn enumerate() -> (Vec<Listing>, Option<String>) {
    let (mut devices, reason) = match cuda::devices() {
        Ok(devices) if devices.is_empty() => (devices, Some("the CUDA driver is there and sees no device".to_owned())),
        Ok(devices) => (devices, None),
        Err(reason) => (Vec::new(), Some(reason)),
    };
    devices.extend(emulator::listings());
    (devices, reason)
}
