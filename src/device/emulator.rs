//! The PTX emulator as a device: buffers in host memory, every access checked, no times.

mod fault;
mod profile;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{
    Bound, BufferId, CompareSpec, Counters, DType, Device, DeviceInfo, DeviceKind, Flow, GenerateSpec, Image, Listing,
    ModuleId, Sample, TimePlan, element, evidence, generate, trouble,
};
use crate::emulator::{self, LaunchConfig, Memory, MemoryError, Module, Options};
use crate::kernel::plan::Arg;
use crate::verdict::{Class, Outcome, OutputEvidence, Verdict};

/// Warp instructions after which a launch counts as hung, should the wall clock not end it first: hours of emulation.
const STEP_BUDGET: u64 = 1 << 40;
/// Host memory that the emulator uses at most, where the machine's own memory is not known.
const DEFAULT_MEMORY: u64 = 2 << 30;
/// Share of the host's available memory that the emulator may use.
const MEMORY_SHARE: u64 = 2;

/// The profile used where none is named.
pub const DEFAULT_PROFILE: &str = "h200";

/// The emulator in each of its forms.
pub fn listings() -> Vec<Listing> {
    let memory_bytes = host_memory();
    let listing = |profile: &profile::Profile| Listing {
        id: format!("emulator:{}", profile.name),
        name: title(profile),
        kind: DeviceKind::Emulator,
        profile: profile.name.to_owned(),
        memory_bytes,
        note: "runs PTX on the CPU with every access checked; no times".to_owned(),
    };
    profile::all().iter().map(listing).collect()
}

fn title(profile: &profile::Profile) -> String {
    format!("PTX emulator (as {})", profile.title)
}

struct Buffer {
    name: String,
    address: u64,
    bytes: u64,
}

/// See the module's documentation.
pub struct EmulatorDevice {
    info: DeviceInfo,
    properties: emulator::DeviceProperties,
    memory: Memory,
    buffers: BTreeMap<BufferId, Buffer>,
    modules: BTreeMap<u64, Module>,
    next: u64,
    output: String,
    counters: Option<Counters>,
    limit: Duration,
}

impl EmulatorDevice {
    /// An emulator that takes the properties of a machine profile, such as `h200`.
    ///
    /// # Errors
    /// `environment` where the profile is not known.
    pub fn new(name: &str) -> Outcome<Self> {
        Self::with_memory(name, host_memory())
    }

    /// The same with a limit of its own on memory.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_memory(name: &str, bytes: u64) -> Outcome<Self> {
        let profile = profile::find(name)?;
        Ok(Self {
            info: DeviceInfo {
                id: format!("emulator:{}", profile.name),
                name: title(profile),
                kind: DeviceKind::Emulator,
                profile: profile.name.to_owned(),
                properties: profile.named(),
                memory_bytes: bytes,
                details: vec![("host threads".to_owned(), element::threads().to_string())],
            },
            properties: profile.properties,
            memory: Memory::new(bytes),
            buffers: BTreeMap::new(),
            modules: BTreeMap::new(),
            next: 1,
            output: String::new(),
            counters: None,
            limit: Duration::from_secs_f64(super::DEFAULT_LIMIT_S),
        })
    }

    fn buffer(&self, id: BufferId) -> Outcome<&Buffer> {
        self.buffers.get(&id).map_or_else(|| trouble::no_buffer(id), Ok)
    }

    fn bytes(&self, id: BufferId) -> Outcome<Vec<u8>> {
        let buffer = self.buffer(id)?;
        host(self.memory.read(buffer.address, buffer.bytes))
    }

    fn replace(&mut self, id: BufferId, bytes: &[u8]) -> Outcome<()> {
        let address = self.buffer(id)?.address;
        host(self.memory.write(address, bytes))
    }

    fn parameters(&self, bound: &Bound<'_>) -> Outcome<Vec<Vec<u8>>> {
        let launch = bound.launch;
        let address = |name: &str| match bound.buffers.get(name) {
            Some(id) => Ok(self.buffer(*id)?.address.to_le_bytes().to_vec()),
            None => trouble::unbound(&launch.kernel, name, launch.line),
        };
        let parameter = |arg: &Arg| match arg {
            Arg::Buffer(name) => address(name),
            Arg::Scalar(bytes) => Ok(bytes.clone()),
            Arg::TensorMap(map) => Verdict::new(
                Class::Unsupported,
                format!(
                    "`{}` takes a tensor map over `{}`, which the emulator does not have yet",
                    launch.kernel, map.buffer
                ),
            )
            .try_next("run this kernel on a CUDA device of compute capability 9.0 or later")
            .fail(),
        };
        launch.args.iter().map(parameter).collect()
    }

    /// Runs a launch and stops it at the wall-clock limit.
    fn run(&mut self, module: &Module, config: &LaunchConfig) -> Result<emulator::LaunchReport, Box<emulator::Fault>> {
        let (cancel, finished, bell) = (AtomicBool::new(false), Mutex::new(false), Condvar::new());
        let (limit, memory) = (self.limit, &mut self.memory);
        let options = Options {
            threads: 0,
            step_budget: STEP_BUDGET,
            cancel: &cancel,
            properties: self.properties,
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let guard = finished.lock().unwrap_or_else(PoisonError::into_inner);
                let (_guard, wait) = bell
                    .wait_timeout_while(guard, limit, |finished| !*finished)
                    .unwrap_or_else(PoisonError::into_inner);
                if wait.timed_out() {
                    cancel.store(true, Ordering::Relaxed);
                }
            });
            let result = emulator::launch(module, memory, config, &options);
            *finished.lock().unwrap_or_else(PoisonError::into_inner) = true;
            bell.notify_all();
            result
        })
    }
}

/// Half of what the host has available, so that the emulator cannot make it swap.
fn host_memory() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(DEFAULT_MEMORY, |kib| kib * 1024 / MEMORY_SHARE)
}

fn host<T>(result: Result<T, MemoryError>) -> Outcome<T> {
    match result {
        Ok(value) => Ok(value),
        Err(MemoryError::OutOfMemory { name, bytes, free }) => trouble::out_of_memory(&name, bytes, free),
        Err(error) => Verdict::new(Class::Environment, error.to_string())
            .try_next("this is a fault of the workbench: please report it with the command that led here")
            .fail(),
    }
}

impl Device for EmulatorDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn set_limit(&mut self, seconds: f64) {
        self.limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    }

    fn is_usable(&self) -> bool {
        true
    }

    fn free_memory(&mut self) -> Outcome<u64> {
        Ok(self.memory.available())
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Outcome<BufferId> {
        let address = host(self.memory.alloc(name, bytes))?;
        let id = BufferId(self.next);
        self.next += 1;
        let name = name.to_owned();
        self.buffers.insert(id, Buffer { name, address, bytes });
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        if let Some(buffer) = self.buffers.remove(&buffer) {
            self.memory.free(buffer.address);
        }
    }

    fn size(&self, buffer: BufferId) -> u64 {
        self.buffers.get(&buffer).map_or(0, |buffer| buffer.bytes)
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Outcome<()> {
        let target = self.buffer(buffer)?;
        if offset.saturating_add(bytes.len() as u64) > target.bytes {
            return trouble::no_range(&target.name, offset, bytes.len() as u64, target.bytes);
        }
        host(self.memory.write(target.address + offset, bytes))
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: u64) -> Outcome<Vec<u8>> {
        let source = self.buffer(buffer)?;
        if offset.saturating_add(bytes) > source.bytes {
            return trouble::no_range(&source.name, offset, bytes, source.bytes);
        }
        host(self.memory.read(source.address + offset, bytes))
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Outcome<()> {
        let mut bytes = self.bytes(from)?;
        bytes.truncate(self.buffer(to)?.bytes as usize);
        self.replace(to, &bytes)
    }

    fn poison(&mut self, buffer: BufferId, dtype: DType, bits: u64, initialised: bool) -> Outcome<()> {
        let target = self.buffer(buffer)?;
        let address = target.address;
        let mut bytes = vec![0; target.bytes as usize];
        element::fill(dtype, &mut bytes, |_| bits);
        host(self.memory.write(address, &bytes))?;
        if !initialised {
            host(self.memory.mark_uninitialized(address))?;
        }
        Ok(())
    }

    fn generate(&mut self, buffer: BufferId, spec: &GenerateSpec) -> Outcome<()> {
        let mut bytes = vec![0; self.buffer(buffer)?.bytes as usize];
        if let Err(reason) = generate::generate(&mut bytes, spec) {
            return trouble::bad_recipe(&reason);
        }
        self.replace(buffer, &bytes)
    }

    fn halve(&mut self, from: BufferId, to: BufferId, dtype: DType) -> Outcome<()> {
        let source = self.bytes(from)?;
        let common = source.len().min(self.buffer(to)?.bytes as usize);
        let mut bytes = vec![0; common];
        element::fill(dtype, &mut bytes, |index| {
            element::half(dtype, element::at(dtype, &source, index as usize))
        });
        self.replace(to, &bytes)
    }

    fn checksum(&mut self, buffer: BufferId) -> Outcome<u64> {
        Ok(element::checksum(&self.bytes(buffer)?))
    }

    /// Always intact: the emulator refuses the access that would have changed them.
    fn guards(&mut self, buffer: BufferId) -> Outcome<Option<i64>> {
        self.buffer(buffer).map(|_| None)
    }

    fn compare(&mut self, got: BufferId, want: BufferId, spec: &CompareSpec) -> Outcome<OutputEvidence> {
        evidence::compare(&self.bytes(got)?, &self.bytes(want)?, spec)
    }

    fn load(&mut self, image: &Image) -> Outcome<ModuleId> {
        let module = Module::load(&image.ptx).map_err(|fault| Box::new(fault::verdict(&fault, self.limit)))?;
        self.next += 1;
        self.modules.insert(self.next, module);
        Ok(ModuleId(self.next))
    }

    fn unload(&mut self, module: ModuleId) {
        if let Some(module) = self.modules.remove(&module.0) {
            self.memory.unload(&module);
        }
    }

    fn launch(&mut self, bound: &Bound<'_>) -> Outcome<()> {
        let launch = bound.launch;
        let Some(module) = self.modules.get(&bound.module.0).cloned() else {
            return Verdict::new(Class::Environment, format!("there is no module {}", bound.module.0)).fail();
        };
        if module.kernel(&launch.kernel).is_none() {
            let names: Vec<&str> = module.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
            return trouble::no_kernel(&launch.kernel, launch.line, &names);
        }
        let config = LaunchConfig {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            dynamic_shared: launch.shared,
            params: self.parameters(bound)?,
        };
        let report = self
            .run(&module, &config)
            .map_err(|fault| Box::new(fault::verdict(&fault, self.limit)))?;
        self.output.push_str(&report.printed);
        self.counters.get_or_insert_default().add(&report.counters);
        Ok(())
    }

    fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }

    fn take_counters(&mut self) -> Option<Counters> {
        self.counters.take()
    }

    fn can_time(&self) -> bool {
        false
    }

    fn time(&mut self, _plan: &TimePlan<'_>, _sink: &mut dyn FnMut(Sample) -> Flow) -> Outcome<()> {
        Verdict::new(
            Class::Environment,
            "the emulator has no times: only a GPU can be measured",
        )
        .try_next("choose a CUDA device to time this kernel")
        .fail()
    }

    fn launch_floor(&mut self) -> Outcome<Option<f64>> {
        Ok(None)
    }
}

#[cfg(test)]
#[path = "emulator_tests.rs"]
mod tests;
