//! Launching a kernel: checks of the configuration, then the grid on all host threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::counters::Counters;
use super::exec::Job;
use super::fault::{Fault, FaultKind};
use super::grid::{self, Limits};
use super::memory::Memory;
use super::module::{Kernel, Module};

/// What the emulated device is like. The default is an H200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceProperties {
    pub sm_count: u32,
    pub max_threads_per_block: u32,
    /// Static and dynamic shared memory of one CTA, bytes, opt-in included.
    pub max_shared_per_block: u32,
    pub max_shared_per_sm: u32,
    pub max_threads_per_sm: u32,
    pub max_blocks_per_sm: u32,
    pub max_cluster: u32,
    /// SM clock, for `%clock` and `%globaltimer`.
    pub clock_mhz: u32,
}

impl Default for DeviceProperties {
    /// NVIDIA H200 (compute capability 9.0), CUDA C++ Programming Guide, table of compute capabilities.
    fn default() -> Self {
        Self {
            sm_count: 132,
            max_threads_per_block: 1024,
            max_shared_per_block: 227 * 1024,
            max_shared_per_sm: 228 * 1024,
            max_threads_per_sm: 2048,
            max_blocks_per_sm: 32,
            max_cluster: 16,
            clock_mhz: 1980,
        }
    }
}

/// One launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchConfig {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// CTAs per cluster; `None` or all ones for none.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Little-endian bytes of each parameter, in order: an address of [`Memory`], a number, a struct.
    pub params: Vec<Vec<u8>>,
}

/// How to run a launch.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Host threads; 0 for all cores.
    pub threads: usize,
    /// Warp instructions after which the launch counts as hung.
    pub step_budget: u64,
    /// Set from outside to end the launch soon.
    pub cancel: &'a AtomicBool,
    pub properties: DeviceProperties,
}

/// What a launch leaves behind besides memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchReport {
    pub counters: Counters,
    /// What the kernel printed, in the order of the CTAs.
    pub printed: String,
}

/// Numbers launches, for `%gridid`.
static GRID: AtomicU64 = AtomicU64::new(1);

/// Runs a kernel to its end.
pub fn launch(
    module: &Module,
    memory: &mut Memory,
    config: &LaunchConfig,
    options: &Options<'_>,
) -> Result<LaunchReport, Box<Fault>> {
    let refuse = |message: String| refused(&config.kernel, message);
    let Some(kernel) = module.kernel(&config.kernel) else {
        let names: Vec<&str> = module.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
        return Err(refuse(format!(
            "the module has no kernel `{}`; it has {}",
            config.kernel,
            names.join(", ")
        )));
    };
    let cluster = config.cluster.or(kernel.required_cluster).unwrap_or([1, 1, 1]);
    check(kernel, config, cluster, &options.properties).map_err(refuse)?;
    let params = parameters(kernel, &config.params).map_err(refuse)?;
    let program = module.program(&config.kernel)?;
    let shared = program.shared.packed + config.dynamic_shared;
    if shared > options.properties.max_shared_per_block {
        let most = options.properties.max_shared_per_block;
        return Err(refuse(format!(
            "{shared} bytes of shared memory per CTA; the device has {most}"
        )));
    }
    let variables = module.place(memory).map_err(|error| refuse(error.to_string()))?;
    let job = Job {
        program: &program,
        ast: module.ast(),
        memory,
        params: &params,
        variables: &variables,
        grid: config.grid,
        block: config.block,
        cluster,
        dynamic_shared: config.dynamic_shared,
        properties: options.properties,
        grid_id: GRID.fetch_add(1, Ordering::Relaxed),
        start: std::time::Instant::now(),
    };
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        some => some,
    };
    let limits = Limits {
        steps: options.step_budget,
        cancel: options.cancel,
        resident: resident(&job, shared),
    };
    grid::run(&job, threads, &limits)
}

/// CTAs that the device would hold at once.
fn resident(job: &Job<'_>, shared: u32) -> u64 {
    let properties = &job.properties;
    let threads = job.threads().next_multiple_of(32);
    let per_sm = (properties.max_threads_per_sm / threads)
        .min(properties.max_blocks_per_sm)
        .min(properties.max_shared_per_sm.checked_div(shared).unwrap_or(u32::MAX));
    u64::from(per_sm.max(1)) * u64::from(properties.sm_count)
}

fn refused(kernel: &str, message: String) -> Box<Fault> {
    Box::new(Fault {
        kind: FaultKind::Launch { message },
        function: kernel.to_owned(),
        ptx_line: None,
        source: None,
        thread: None,
        cta: None,
    })
}

/// Grid dimensions that CUDA allows, x y z.
const MAX_GRID: [u32; 3] = [2_147_483_647, 65_535, 65_535];
/// Block dimensions that CUDA allows, x y z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

fn check(
    kernel: &Kernel,
    config: &LaunchConfig,
    cluster: [u32; 3],
    properties: &DeviceProperties,
) -> Result<(), String> {
    let [grid, block] = [config.grid, config.block];
    for (what, dims, most) in [("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)] {
        if let Some(axis) = (0..3).find(|&axis| dims[axis] == 0 || dims[axis] > most[axis]) {
            let name = ["x", "y", "z"][axis];
            return Err(format!(
                "{what} dimension {name} is {}; it must be 1 to {}",
                dims[axis], most[axis]
            ));
        }
    }
    let threads: u32 = block.iter().product();
    if threads > properties.max_threads_per_block {
        return Err(format!(
            "{threads} threads per block; the device allows {}",
            properties.max_threads_per_block
        ));
    }
    if let Some(most) = kernel.max_threads
        && threads > most.iter().product()
    {
        return Err(format!(
            "{threads} threads per block; the kernel was compiled for at most {}",
            most.iter().product::<u32>()
        ));
    }
    if let Some(required) = kernel.required_threads
        && required != block
    {
        return Err(format!(
            "block {block:?}; the kernel was compiled for exactly {required:?}"
        ));
    }
    if let Some(required) = kernel.required_cluster
        && required != cluster
    {
        return Err(format!(
            "cluster {cluster:?}; the kernel was compiled for exactly {required:?}"
        ));
    }
    if let Some(axis) = (0..3).find(|&axis| cluster[axis] == 0 || !grid[axis].is_multiple_of(cluster[axis])) {
        return Err(format!(
            "grid {grid:?} is not a multiple of cluster {cluster:?} (axis {axis})"
        ));
    }
    let ctas: u32 = cluster.iter().product();
    if ctas > properties.max_cluster {
        return Err(format!(
            "{ctas} CTAs per cluster; the device allows {}",
            properties.max_cluster
        ));
    }
    Ok(())
}

/// The parameter block.
fn parameters(kernel: &Kernel, given: &[Vec<u8>]) -> Result<Vec<u8>, String> {
    if given.len() != kernel.params.len() {
        return Err(format!(
            "{} arguments for {} parameters",
            given.len(),
            kernel.params.len()
        ));
    }
    let mut block = vec![0; kernel.param_bytes as usize];
    for (index, (param, bytes)) in kernel.params.iter().zip(given).enumerate() {
        if bytes.len() != param.bytes as usize {
            return Err(format!(
                "argument {index} has {} bytes; parameter `{}` has {}",
                bytes.len(),
                param.name,
                param.bytes
            ));
        }
        block[param.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    Ok(block)
}
