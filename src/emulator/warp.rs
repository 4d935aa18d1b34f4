//! A warp: fragments of lanes that run together, and how they part and meet again.
//!
//! Lanes that branch apart become fragments with their own position and call stack. The fragment furthest behind (lowest
//! position) runs first, so that the others wait where paths join, and fragments at one place merge. A fragment that
//! only polls, or runs very long, lets the others go on: lanes of a warp may wait for each other.

mod calls;
mod fragments;
mod report;
mod run;

use super::code::{Fill, FunctionCode, Special};
use super::exec::{Job, WarpState};
use super::local::Local;
use super::regs::{LANES, Lanes};
use super::space;

pub(super) use report::ranges;
pub(super) use run::{Arrival, Located, Pause, Surroundings, run_warp};

/// Where a call came from, and the frame it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) frame: Frame,
    /// Position of the call.
    pub(super) call: u32,
}

/// Where the registers and the local memory of a running function are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) function: u32,
    pub(super) r32: u32,
    pub(super) r64: u32,
    pub(super) preds: u32,
    pub(super) local: u32,
}

/// Why a fragment is not running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At an instruction that needs lanes of the same warp which are elsewhere.
    Gather,
    /// Arrived at a barrier of the CTA.
    Barrier(u32),
    /// At an instruction that said "not yet".
    Retry,
}

/// Lanes of a warp at one position.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) pc: u32,
    pub(super) mask: u32,
    pub(super) frame: Frame,
    pub(super) stack: Vec<Caller>,
    pub(super) state: State,
    /// When it last ran, in turns of the warp.
    pub(super) turn: u64,
}

/// One warp of a CTA.
#[derive(Debug, Default)]
pub(super) struct Warp {
    pub(super) fragments: Vec<Fragment>,
    pub(super) r32: Vec<Lanes<u32>>,
    pub(super) r64: Vec<Lanes<u64>>,
    pub(super) preds: Vec<u32>,
    pub(super) local: Local,
    pub(super) state: WarpState,
    pub(super) turns: u64,
}

impl Warp {
    /// Makes the warp ready to run the entry: registers with fixed content filled, all lanes at the start.
    pub(super) fn start(&mut self, job: &Job<'_>, index: u32, ctaid: [u32; 3], cta_index: u64) {
        let threads = job.threads() - index * LANES as u32;
        let live = if threads >= 32 { u32::MAX } else { (1 << threads) - 1 };
        self.state = WarpState {
            index,
            live,
            ctaid,
            cta_index,
            ..WarpState::default()
        };
        self.local.clear();
        self.turns = 0;
        self.fragments.clear();
        let frame = Frame::default();
        self.enter(job, frame, u32::MAX);
        let pc = job.program.functions[0].start;
        self.fragments.push(Fragment {
            pc,
            mask: live,
            frame,
            stack: Vec::new(),
            state: State::Ready,
            turn: 0,
        });
    }

    /// Prepares a frame: room, fixed registers, local memory.
    pub(super) fn enter(&mut self, job: &Job<'_>, frame: Frame, mask: u32) {
        let function = &job.program.functions[frame.function as usize];
        let grow = |len: usize, base: u32, count: u32| len.max((base + count) as usize);
        self.r32
            .resize(grow(self.r32.len(), frame.r32, function.r32), Lanes([0; LANES]));
        self.r64
            .resize(grow(self.r64.len(), frame.r64, function.r64), Lanes([0; LANES]));
        self.preds
            .resize(grow(self.preds.len(), frame.preds, function.preds), 0);
        for &(wide, slot, fill) in &function.fills {
            if wide {
                let value = fill64(job, fill);
                let slot = &mut self.r64[(frame.r64 + slot) as usize];
                each(mask, |lane| slot[lane] = value);
            } else {
                let values = fill32(job, &self.state, fill);
                let slot = &mut self.r32[(frame.r32 + slot) as usize];
                each(mask, |lane| slot[lane] = values[lane]);
            }
        }
        if function.local > 0 {
            let variables = function.locals.iter().map(|variable| (variable.offset, variable.bytes));
            self.local.enter(mask, frame.local, function.local, variables);
        }
    }

    /// Whether every lane has exited.
    pub(super) fn done(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Whether some fragment can run now.
    pub(super) fn runnable(&self) -> bool {
        self.fragments
            .iter()
            .any(|fragment| matches!(fragment.state, State::Ready | State::Retry))
    }
}

/// The frame that a function called from `frame` gets.
pub(super) fn next_frame(functions: &[FunctionCode], frame: Frame, callee: u32) -> Frame {
    let caller = &functions[frame.function as usize];
    let align = functions[callee as usize].local_align.max(16);
    Frame {
        function: callee,
        r32: frame.r32 + caller.r32,
        r64: frame.r64 + caller.r64,
        preds: frame.preds + caller.preds,
        local: (frame.local + caller.local).next_multiple_of(align),
    }
}

fn each(mask: u32, mut f: impl FnMut(usize)) {
    for lane in 0..LANES {
        if mask >> lane & 1 == 1 {
            f(lane);
        }
    }
}

fn fill64(job: &Job<'_>, fill: Fill) -> u64 {
    match fill {
        Fill::Wide(value) => value,
        Fill::Word(value) => u64::from(value),
        Fill::Variable(index, offset) => job.variables[index as usize].wrapping_add_signed(offset),
        Fill::DynamicShared(offset) => u64::from(job.program.shared.dynamic).wrapping_add_signed(offset),
        Fill::Special32(_) => 0,
    }
}

fn fill32(job: &Job<'_>, warp: &WarpState, fill: Fill) -> [u32; LANES] {
    match fill {
        Fill::Special32(special) => special_lanes(job, warp, special),
        other => [fill64(job, other) as u32; LANES],
    }
}

/// The thread index of a lane within its CTA.
pub(super) fn thread_index(block: [u32; 3], linear: u32) -> [u32; 3] {
    let [x, y, _] = block;
    [linear % x, linear / x % y, linear / (x * y)]
}

fn special_lanes(job: &Job<'_>, warp: &WarpState, special: Special) -> [u32; LANES] {
    let all = |value: u32| [value; LANES];
    let by_lane = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
    let axis = |values: [u32; 3], axis: u8| all(values[axis as usize]);
    let clusters: [u32; 3] = std::array::from_fn(|i| job.grid[i].div_ceil(job.cluster[i]));
    let in_cluster: [u32; 3] = std::array::from_fn(|i| warp.ctaid[i] % job.cluster[i]);
    match special {
        Special::Tid(i) => by_lane(&|lane| thread_index(job.block, warp.index * LANES as u32 + lane)[i as usize]),
        Special::Ntid(i) => axis(job.block, i),
        Special::Ctaid(i) => axis(warp.ctaid, i),
        Special::Nctaid(i) => axis(job.grid, i),
        Special::LaneId => by_lane(&|lane| lane),
        Special::WarpId => all(warp.index),
        Special::NWarpId => all(job.threads().div_ceil(LANES as u32)),
        Special::SmId => all((warp.cta_index % u64::from(job.properties.sm_count)) as u32),
        Special::NSmId => all(job.properties.sm_count),
        Special::LanemaskEq => by_lane(&|lane| 1 << lane),
        Special::LanemaskLe => by_lane(&|lane| u32::MAX >> (31 - lane)),
        Special::LanemaskLt => by_lane(&|lane| (1 << lane) - 1),
        Special::LanemaskGe => by_lane(&|lane| u32::MAX << lane),
        Special::LanemaskGt => by_lane(&|lane| !(u32::MAX >> (31 - lane))),
        Special::DynamicShared => all(job.dynamic_shared),
        Special::TotalShared => all(job.program.shared.packed + job.dynamic_shared),
        Special::ClusterId(i) => all(warp.ctaid[i as usize] / job.cluster[i as usize]),
        Special::NClusterId(i) => axis(clusters, i),
        Special::ClusterCtaid(i) => axis(in_cluster, i),
        Special::ClusterNctaid(i) => axis(job.cluster, i),
        Special::ClusterCtarank => {
            all(in_cluster[0] + job.cluster[0] * (in_cluster[1] + job.cluster[1] * in_cluster[2]))
        }
        Special::ClusterNctarank => all(job.cluster.iter().product()),
    }
}

/// The function (by index in the program) that an address names.
pub(super) fn function_at(functions: &[FunctionCode], address: u64) -> Option<u32> {
    let index = address.checked_sub(space::FUNCTION_WINDOW)?;
    functions
        .iter()
        .position(|function| u64::from(function.ast_index) == index)
        .map(|index| index as u32)
}
