//! What an instruction sees while it runs: its warp's registers, and all memories.

use super::code::{Program, Stop};
use super::count::Counts;
use super::fault::{Access, FaultKind};
use super::launch::DeviceProperties;
use super::local::Local;
use super::memory::Memory;
use super::regs::Regs;
use super::shared::Shared;

/// What stays the same for a whole launch.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub program: &'a Program,
    pub ast: &'a crate::ptx::ast::Module,
    pub memory: &'a Memory,
    /// Kernel parameters, laid out as the entry declares them.
    pub params: &'a [u8],
    /// Addresses of the module's variables.
    pub variables: &'a [u64],
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// CTAs per cluster.
    pub cluster: [u32; 3],
    pub dynamic_shared: u32,
    pub properties: DeviceProperties,
    pub grid_id: u64,
    pub start: std::time::Instant,
}

impl Job<'_> {
    pub(super) fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

/// The machine as one warp sees it.
#[derive(Debug)]
pub(super) struct Ctx<'a> {
    /// Registers of the current frame.
    pub regs: Regs<'a>,
    pub job: &'a Job<'a>,
    /// Shared memories of the cluster, by CTA rank.
    pub shared: &'a mut [Shared],
    /// Rank of this CTA in its cluster.
    pub rank: usize,
    pub local: &'a mut Local,
    /// Where the current frame starts in local memory.
    pub local_base: u32,
    /// What the CTAs of the cluster share.
    pub cluster: &'a mut super::cluster::ClusterState,
    pub counts: &'a mut Counts,
    pub state: &'a mut WarpState,
    /// What the kernel printed.
    pub printed: &'a mut String,
}

/// The part of a warp that instructions may look at and change, besides registers and memory.
#[derive(Debug, Default)]
pub(super) struct WarpState {
    /// Index in the CTA.
    pub index: u32,
    /// Lanes that exist and have not exited.
    pub live: u32,
    pub ctaid: [u32; 3],
    /// Linear index of the CTA in the grid.
    pub cta_index: u64,
    /// Some lanes exited since the CTA last looked.
    pub exited: bool,
    /// Warp instructions executed by this warp: stands in for the cycle counter.
    pub steps: u64,
    /// Consecutive polls: strong reads and atomics that changed nothing. Cleared by anything that makes progress.
    pub polls: u32,
    /// The phase in which each lane last arrived at the cluster barrier.
    pub cluster_phase: [u64; super::regs::LANES],
}

/// The fault of a misaligned access.
#[expect(clippy::unnecessary_box_returns, reason = "steps carry their faults in a box")]
pub(super) fn misaligned(access: Access, lane: u32) -> Box<Stop> {
    Stop::new(FaultKind::Misaligned(access), lane)
}
