//! NVIDIA GPUs through the CUDA driver.
//!
//! Text that kernels print goes to the process's standard output when the device is waited for, as CUDA does it: a process whose
//! standard output is a protocol must have moved it elsewhere before.

mod arguments;
mod buffers;
mod clock;
mod driver;
mod error;
mod judge;
mod list;
pub mod selftest;
mod sensors;
mod stdio;
mod timing;

use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    Bound, BufferId, CompareSpec, Counters, DType, Device, DeviceInfo, DeviceKind, Flow, GenerateSpec, Image, ModuleId,
    Sample, TimePlan, trouble,
};
use crate::kernel::plan::{Arg, Launch};
use crate::verdict::{Class, Outcome, OutputEvidence, Verdict};
use arguments::{Kernel, Limits};
use buffers::Block;
use clock::{Clock, Ready, Trouble};
use driver::{Context, DeviceAttribute, Gpu, Slot, Stream};
use judge::Judge;
pub use list::devices;
use sensors::Sensors;

struct Loaded {
    module: driver::Module,
    kernels: BTreeMap<String, Kernel>,
}

/// One CUDA device with a context of this process.
pub struct CudaDevice {
    info: DeviceInfo,
    gpu: Gpu,
    context: Context,
    stream: Stream,
    judge_module: driver::Module,
    judge: Judge,
    clock: Clock,
    sensors: Option<Sensors>,
    limits: Limits,
    target: String,
    /// A small device buffer for results of the judge.
    scratch: u64,
    buffers: BTreeMap<BufferId, Block>,
    modules: BTreeMap<u64, Loaded>,
    next: u64,
    limit: Duration,
    /// What made the context useless.
    dead: Option<Verdict>,
}

/// Bytes of `CudaDevice::scratch`.
const SCRATCH: u64 = 64 * 1024;

fn environment(reason: String) -> Verdict {
    Verdict::new(Class::Environment, reason)
        .try_next("run `ridgepoint doctor` to see what is here")
        .try_next("use `--device emulator`, which needs no GPU")
}

impl CudaDevice {
    /// Opens the device of that number and creates a context on it.
    ///
    /// # Errors
    /// `environment` where there is no driver or no such device, naming the call that failed.
    pub fn open(ordinal: u32) -> Outcome<Self> {
        driver::present().or_else(|reason| environment(reason).fail())?;
        let during = format!("opening cuda:{ordinal}");
        Self::create(ordinal as i32, &during)
    }

    fn create(ordinal: i32, during: &str) -> Outcome<Self> {
        let ok = |failure: driver::Failure| Box::new(error::verdict(&failure, during));
        driver::init().map_err(ok)?;
        let count = driver::device_count().map_err(ok)?;
        if ordinal >= count {
            return environment(format!("there is no cuda:{ordinal}: the driver has {count} devices")).fail();
        }
        let gpu = Gpu::get(ordinal).map_err(ok)?;
        let context = gpu.retain().map_err(ok)?;
        let stream = Stream::new().map_err(ok)?;
        let sensors = Sensors::new(&gpu.bus_id().map_err(ok)?);
        let info = describe(gpu, ordinal, sensors.as_ref()).map_err(ok)?;
        let property = |name: &str| {
            info.properties
                .iter()
                .find(|(key, _)| key == name)
                .map_or(0, |(_, value)| *value)
        };
        let limits = Limits {
            sm_count: property("sm_count") as i32,
            max_shared: property("max_shared_per_block") as i32,
            clusters: property("cc_major") >= 9,
        };
        let target = format!("sm_{}{}", property("cc_major"), property("cc_minor"));
        let judge_module = driver::Module::load(judge::PTX.as_bytes(), true).map_err(|failure| {
            Box::new(error::load_verdict(
                &failure,
                &format!("the judge's own kernels, {target}"),
            ))
        })?;
        let judge = Judge::new(judge_module, stream, limits.sm_count as u64).map_err(ok)?;
        let clock = Clock::new(property("l2_bytes") as u64).map_err(ok)?;
        Ok(Self {
            gpu,
            context,
            stream,
            judge_module,
            judge,
            clock,
            sensors,
            limits,
            target,
            scratch: driver::alloc(SCRATCH).map_err(ok)?,
            buffers: BTreeMap::new(),
            modules: BTreeMap::new(),
            next: 1,
            limit: Duration::from_secs_f64(super::DEFAULT_LIMIT_S),
            dead: None,
            info,
        })
    }

    /// Before every use: the context must be alive and the thread's own.
    fn enter(&mut self) -> Outcome<()> {
        if let Some(cause) = &self.dead {
            return Verdict::new(
                cause.class,
                format!("{} is no longer usable: {}", self.info.id, cause.reason),
            )
            .try_next("this worker must end; a new one starts with a new context")
            .fail();
        }
        let entered = self.context.enter();
        self.check(entered, "making the context current")
    }

    /// A driver result as an outcome; an error that poisons the context is remembered.
    fn check<T>(&mut self, result: driver::Result<T>, during: &str) -> Outcome<T> {
        result.map_err(|failure| {
            let verdict = Box::new(error::verdict(&failure, during));
            if error::is_sticky(failure.code) {
                self.dead = Some((*verdict).clone());
            }
            verdict
        })
    }

    fn resolve<T>(&mut self, result: Result<T, Trouble>, during: &str) -> Outcome<T> {
        match result {
            Ok(value) => Ok(value),
            Err(Trouble::Driver(failure)) => self.check(Err(failure), during),
            Err(Trouble::Late) => Verdict::new(
                Class::Environment,
                format!("{during}: the host needed too long to queue the launches, several times in a row"),
            )
            .try_next("free the machine's cores: something else uses them all")
            .fail(),
            Err(Trouble::Hung) => {
                let seconds = self.limit.as_secs_f64();
                let verdict = Verdict::new(Class::Timeout, format!("{during}: not finished after {seconds:.1} s"))
                    .try_next("look for a loop or a wait that cannot end: a barrier that some threads skip, a flag that nobody sets")
                    .try_next("run it on `--device emulator` with a small shape, which names barriers that cannot complete")
                    .try_next("raise the limit if the kernel is merely slow");
                self.dead = Some(verdict.clone());
                verdict.fail()
            }
        }
    }

    /// Waits for everything queued so far.
    fn finish(&mut self, during: &str) -> Outcome<()> {
        let stream = self.stream;
        self.resolve(clock::wait(self.limit, || stream.idle()), during)?;
        self.check(stream.synchronize(), during)
    }

    fn kernel(&mut self, bound: &Bound<'_>) -> Outcome<Kernel> {
        let launch = bound.launch;
        let Some(loaded) = self.modules.get(&bound.module.0) else {
            return environment(format!("there is no module {} on {}", bound.module.0, self.info.id)).fail();
        };
        if let Some(kernel) = loaded.kernels.get(&launch.kernel) {
            return Ok(kernel.clone());
        }
        let names = loaded.module.names();
        let names = self.check(names, "listing the module's kernels")?;
        if !names.contains(&launch.kernel) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return trouble::no_kernel(&launch.kernel, launch.line, &names);
        }
        let module = self.modules[&bound.module.0].module;
        let kernel = module.function(&launch.kernel).and_then(Kernel::new);
        let kernel = self.check(kernel, &format!("looking up `{}`", launch.kernel))?;
        if let Some(loaded) = self.modules.get_mut(&bound.module.0) {
            loaded.kernels.insert(launch.kernel.clone(), kernel.clone());
        }
        Ok(kernel)
    }

    fn slot(&self, arg: &Arg, bound: &Bound<'_>) -> Outcome<Result<Slot, driver::Failure>> {
        let launch = bound.launch;
        let block = |name: &str| match bound.buffers.get(name) {
            Some(id) => self.block(*id),
            None => trouble::unbound(&launch.kernel, name, launch.line),
        };
        match arg {
            Arg::Buffer(name) => Ok(Ok(Slot::new(&block(name)?.data.to_le_bytes()))),
            Arg::Scalar(bytes) => Ok(Ok(Slot::new(&bytes[..bytes.len().min(8)]))),
            Arg::TensorMap(map) => {
                let block = block(&map.buffer)?;
                Ok(driver::tensor_map(&arguments::tensor_map(
                    map,
                    block.data,
                    block.bytes,
                    launch,
                )?))
            }
        }
    }

    /// Checks a launch and makes it ready to queue.
    fn ready(&mut self, bound: &Bound<'_>) -> Outcome<Ready> {
        let launch = bound.launch;
        let kernel = self.kernel(bound)?;
        let mut slots = Vec::with_capacity(launch.args.len());
        for arg in &launch.args {
            let slot = self.slot(arg, bound)?;
            slots.push(self.check(slot, &format!("encoding a tensor map for `{}`", launch.kernel))?);
        }
        kernel.check_arguments(launch, &slots)?;
        let geometry = kernel.check_geometry(launch, &self.limits)?;
        self.check(kernel.opt_in(&geometry), &format!("preparing `{}`", launch.kernel))?;
        let too_large = self.check(
            kernel.too_large(&geometry, &self.limits),
            &format!("preparing `{}`", launch.kernel),
        )?;
        if let Some(most) = too_large {
            return grid_too_large(launch, most);
        }
        Ok(Ready {
            function: kernel.function,
            geometry,
            slots,
        })
    }
}

fn grid_too_large<T>(launch: &Launch, most: u64) -> Outcome<T> {
    Verdict::new(
        Class::LaunchError,
        format!(
            "`{}` (line {}): a cooperative grid must be resident as a whole: at most {most} CTAs of this size, and it has {:?}",
            launch.kernel, launch.line, launch.grid
        ),
    )
    .try_next("use `sm_count` in the grid's expression, and loop over the work in the kernel")
    .fail()
}

fn describe(gpu: Gpu, ordinal: i32, sensors: Option<&Sensors>) -> driver::Result<DeviceInfo> {
    use DeviceAttribute as A;
    let attributes = [
        ("sm_count", A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        ("max_threads_per_block", A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        (
            "max_shared_per_block",
            A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        ),
        ("l2_bytes", A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE),
        ("warp_size", A::CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        ("cc_major", A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
        ("cc_minor", A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
    ];
    let mut properties = Vec::with_capacity(attributes.len());
    for (name, attribute) in attributes {
        properties.push((name.to_owned(), i64::from(gpu.attribute(attribute)?)));
    }
    let name = gpu.name()?;
    let mut details = vec![
        ("cuda of the driver".to_owned(), list::version()?),
        ("pci".to_owned(), gpu.bus_id()?),
    ];
    details.extend(sensors.map(Sensors::details).unwrap_or_default());
    Ok(DeviceInfo {
        id: format!("cuda:{ordinal}"),
        profile: list::profile(&name, list::capability(gpu)?),
        name,
        kind: DeviceKind::Cuda,
        properties,
        memory_bytes: gpu.memory()?,
        details,
    })
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn set_limit(&mut self, seconds: f64) {
        self.limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    }

    fn is_usable(&self) -> bool {
        self.dead.is_none()
    }

    fn free_memory(&mut self) -> Outcome<u64> {
        self.enter()?;
        self.available()
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Outcome<BufferId> {
        self.enter()?;
        self.alloc_block(name, bytes)
    }

    fn free(&mut self, buffer: BufferId) {
        if let Some(block) = self.buffers.remove(&buffer)
            && self.enter().is_ok()
        {
            // An error here means a dead context, which the next call reports.
            let freed = driver::free(block.base);
            drop(self.check(freed, "freeing a buffer"));
        }
    }

    fn size(&self, buffer: BufferId) -> u64 {
        self.buffers.get(&buffer).map_or(0, |block| block.bytes)
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Outcome<()> {
        self.enter()?;
        let at = self.range(buffer, offset, bytes.len() as u64)?;
        let sent = driver::upload(at, bytes, self.stream);
        self.check(sent, "writing to a buffer")?;
        self.finish("writing to a buffer")
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: u64) -> Outcome<Vec<u8>> {
        self.enter()?;
        let at = self.range(buffer, offset, bytes)?;
        self.fetch(at, bytes)
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Outcome<()> {
        self.enter()?;
        let (source, target) = (self.block(from)?, self.block(to)?);
        let copied = driver::copy(source.data, target.data, source.bytes.min(target.bytes), self.stream);
        self.check(copied, "copying a buffer")?;
        self.finish("copying a buffer")
    }

    fn poison(&mut self, buffer: BufferId, dtype: DType, bits: u64, _initialised: bool) -> Outcome<()> {
        self.enter()?;
        let block = self.block(buffer)?;
        let filled = self.judge.fill(block.data, block.bytes, dtype.size(), bits);
        self.check(filled, "filling a buffer")?;
        self.finish("filling a buffer")
    }

    fn generate(&mut self, buffer: BufferId, spec: &GenerateSpec) -> Outcome<()> {
        self.enter()?;
        self.generate_into(buffer, spec)
    }

    fn halve(&mut self, from: BufferId, to: BufferId, dtype: DType) -> Outcome<()> {
        self.enter()?;
        let (source, target) = (self.block(from)?, self.block(to)?);
        let elements = source.bytes.min(target.bytes) / dtype.size() as u64;
        let halved = self.judge.halve(source.data, target.data, dtype, elements);
        self.check(halved, "halving a buffer")?;
        self.finish("halving a buffer")
    }

    fn checksum(&mut self, buffer: BufferId) -> Outcome<u64> {
        self.enter()?;
        self.checksum_of(buffer)
    }

    fn guards(&mut self, buffer: BufferId) -> Outcome<Option<i64>> {
        self.enter()?;
        self.check_guards(buffer)
    }

    fn compare(&mut self, got: BufferId, want: BufferId, spec: &CompareSpec) -> Outcome<OutputEvidence> {
        self.enter()?;
        self.compare_buffers(got, want, spec)
    }

    fn load(&mut self, image: &Image) -> Outcome<ModuleId> {
        self.enter()?;
        let cubin = image.cubin.as_ref().map(|cubin| driver::Module::load(cubin, false));
        let module = match cubin {
            Some(Ok(module)) => module,
            // Machine code of another GPU: the PTX may still do.
            Some(Err(_)) | None => driver::Module::load(image.ptx.as_bytes(), true)
                .map_err(|failure| Box::new(error::load_verdict(&failure, &self.target)))?,
        };
        self.next += 1;
        self.modules.insert(
            self.next,
            Loaded {
                module,
                kernels: BTreeMap::new(),
            },
        );
        Ok(ModuleId(self.next))
    }

    fn unload(&mut self, module: ModuleId) {
        if let Some(loaded) = self.modules.remove(&module.0)
            && self.enter().is_ok()
        {
            // An error here means a dead context, which the next call reports.
            drop(self.check(loaded.module.unload(), "unloading a module"));
        }
    }

    fn launch(&mut self, bound: &Bound<'_>) -> Outcome<()> {
        self.enter()?;
        let during = format!("running `{}`", bound.launch.kernel);
        let queued = self.ready(bound)?.queue(self.stream);
        self.check(queued, &format!("launching `{}`", bound.launch.kernel))?;
        self.finish(&during)
    }

    fn take_output(&mut self) -> String {
        stdio::flush();
        String::new()
    }

    fn take_counters(&mut self) -> Option<Counters> {
        None
    }

    fn can_time(&self) -> bool {
        true
    }

    fn time(&mut self, plan: &TimePlan<'_>, sink: &mut dyn FnMut(Sample) -> Flow) -> Outcome<()> {
        self.enter()?;
        self.time_launches(plan, sink)
    }

    fn launch_floor(&mut self) -> Outcome<Option<f64>> {
        self.enter()?;
        self.floor().map(Some)
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // A dead context is left to the end of the process: every call on it would fail or wait for ever.
        if self.enter().is_err() {
            return;
        }
        let blocks: Vec<u64> = self.buffers.values().map(|block| block.base).collect();
        let freed = blocks.into_iter().try_for_each(driver::free);
        let unloaded = self.modules.values().try_for_each(|loaded| loaded.module.unload());
        let rest = freed
            .and(unloaded)
            .and_then(|()| driver::free(self.scratch))
            .and_then(|()| self.clock.destroy())
            .and_then(|()| self.judge_module.unload())
            .and_then(|()| self.stream.destroy())
            .and_then(|()| self.gpu.release());
        drop(rest);
    }
}
