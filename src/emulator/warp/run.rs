//! Running a warp: choosing a fragment, executing its instructions, and what each pause means.

use super::{State, Warp};
use crate::emulator::cluster::ClusterState;
use crate::emulator::code::{Action, BarrierOp, Stop};
use crate::emulator::count::Counts;
use crate::emulator::exec::{Ctx, Job};
use crate::emulator::fault::FaultKind;
use crate::emulator::regs::{LANES, R32, Regs};
use crate::emulator::shared::Shared;

/// Polls without progress after which a fragment lets others go on.
const POLLS: u32 = 8;
/// Instructions that the fragment furthest behind may run while others of its warp wait.
const DIVERGED_SLICE: u64 = 20_000;
/// Instructions that a fragment may run ahead of one that polls.
const AHEAD_SLICE: u64 = 2_000;

/// What surrounds a warp while it runs.
pub(in crate::emulator) struct Surroundings<'a> {
    pub(in crate::emulator) job: &'a Job<'a>,
    pub(in crate::emulator) shared: &'a mut [Shared],
    pub(in crate::emulator) rank: usize,
    pub(in crate::emulator) cluster: &'a mut ClusterState,
    pub(in crate::emulator) counts: &'a mut Counts,
    pub(in crate::emulator) printed: &'a mut String,
}

/// A fragment that reached a barrier of its CTA.
#[derive(Clone, Copy, Debug)]
pub(in crate::emulator) struct Arrival {
    pub(in crate::emulator) fragment: usize,
    pub(in crate::emulator) barrier: u32,
    /// Threads expected, where the instruction says so.
    pub(in crate::emulator) count: Option<u32>,
}

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug)]
pub(in crate::emulator) enum Pause {
    /// Its turn is over.
    Quantum,
    /// All it does is to wait for others.
    Polling,
    /// No lane can go on until a barrier lets it.
    Blocked,
    /// At a barrier; the CTA decides what happens.
    Barrier(Arrival),
    Done,
}

/// A fault with its position.
#[derive(Debug)]
pub(in crate::emulator) struct Located {
    pub(in crate::emulator) stop: Box<Stop>,
    pub(in crate::emulator) pc: u32,
    pub(in crate::emulator) mask: u32,
}

/// How a stretch of instructions ended.
enum End {
    Quantum,
    /// Reached the position of another fragment, or went past it.
    Meet,
    Polling,
    /// Lanes took a branch that the others did not.
    Split {
        lanes: u32,
        to: u32,
    },
    /// Lanes skip the instruction that the others are at.
    Skip {
        lanes: u32,
    },
    Gather,
    Retry,
    Exit(u32),
    Call,
    Return,
    Barrier(Arrival),
}

/// Runs a warp for about `quantum` instructions, or until it cannot go on.
pub(in crate::emulator) fn run_warp(
    warp: &mut Warp,
    env: &mut Surroundings<'_>,
    quantum: u64,
) -> Result<Pause, Box<Located>> {
    let end = warp.state.steps + quantum;
    let mut give_way = false;
    let mut polled = 0;
    loop {
        if warp.done() {
            return Ok(Pause::Done);
        }
        if warp.state.steps >= end {
            return Ok(Pause::Quantum);
        }
        if warp.fragments.len() > 1 {
            warp.merge();
        }
        let Some(index) = warp.choose(give_way) else {
            return warp.stuck(env).map_or(Ok(Pause::Blocked), Err);
        };
        let limit = if warp.fragments.len() == 1 {
            end
        } else {
            end.min(warp.state.steps + if give_way { AHEAD_SLICE } else { DIVERGED_SLICE })
        };
        give_way = false;
        warp.turns += 1;
        warp.fragments[index].turn = warp.turns;
        warp.fragments[index].state = State::Ready;
        match stretch(warp, index, env, limit)? {
            End::Quantum => give_way = true,
            End::Meet => {}
            end @ (End::Polling | End::Retry) => {
                if matches!(end, End::Retry) {
                    warp.fragments[index].state = State::Retry;
                }
                give_way = true;
                polled += 1;
                if polled > warp.fragments.len() {
                    return Ok(Pause::Polling);
                }
                continue;
            }
            End::Split { lanes, to } => {
                env.counts.divergent_branches += 1;
                warp.split(index, lanes, to);
            }
            End::Skip { lanes } => {
                let to = warp.fragments[index].pc + 1;
                warp.split(index, lanes, to);
            }
            End::Gather => warp.fragments[index].state = State::Gather,
            End::Exit(lanes) => warp.exit(index, lanes),
            End::Call => warp.call(index, env)?,
            End::Return => warp.ret(index, env.job),
            End::Barrier(arrival) => return Ok(Pause::Barrier(arrival)),
        }
        polled = 0;
    }
}

/// Runs one fragment until something other than straight-line work comes up.
fn stretch(warp: &mut Warp, index: usize, env: &mut Surroundings<'_>, limit: u64) -> Result<End, Box<Located>> {
    let meet = warp.next_meeting(index);
    let Warp {
        fragments,
        r32,
        r64,
        preds,
        local,
        state,
        ..
    } = warp;
    let fragment = &mut fragments[index];
    let frame = fragment.frame;
    let program = env.job.program;
    let function = &program.functions[frame.function as usize];
    let mask = fragment.mask;
    let all = u64::from(mask.count_ones());
    let mut pc = fragment.pc;
    let mut ctx = Ctx {
        regs: Regs {
            r32: &mut r32[frame.r32 as usize..][..function.r32 as usize],
            r64: &mut r64[frame.r64 as usize..][..function.r64 as usize],
            preds: &mut preds[frame.preds as usize..][..function.preds as usize],
        },
        job: env.job,
        shared: env.shared,
        rank: env.rank,
        cluster: env.cluster,
        local,
        local_base: frame.local,
        counts: env.counts,
        state,
        printed: env.printed,
    };
    let result = loop {
        let op = &program.ops[pc as usize];
        let active = match op.guard {
            None => mask,
            Some((pred, negated)) => mask & (ctx.regs.pred(pred) ^ if negated { u32::MAX } else { 0 }),
        };
        ctx.state.steps += 1;
        let count = &mut ctx.counts.ops[pc as usize];
        count.0 += 1;
        count.1 += if active == mask {
            all
        } else {
            u64::from(active.count_ones())
        };
        match &op.action {
            Action::Run(run) => {
                if active != 0
                    && let Err(stop) = run(&mut ctx, active)
                {
                    break Err(Box::new(Located { stop, pc, mask: active }));
                }
                pc += 1;
            }
            Action::Branch(target) => {
                if active == mask {
                    let back = *target <= pc;
                    pc = *target;
                    if back && ctx.state.polls >= POLLS {
                        ctx.state.polls = 0;
                        break Ok(End::Polling);
                    }
                } else {
                    pc += 1;
                    if active != 0 {
                        break Ok(End::Split {
                            lanes: active,
                            to: *target,
                        });
                    }
                }
            }
            _ if active == 0 => pc += 1,
            Action::Exit => break Ok(End::Exit(active)),
            // The other actions are for all lanes of the fragment: those switched off part from it first.
            _ if active != mask => break Ok(End::Skip { lanes: mask & !active }),
            Action::Collective { members, run } => match collective(&mut ctx, mask, *members, run) {
                Ok(true) => pc += 1,
                Ok(false) => break Ok(End::Gather),
                Err(stop) => break Err(Box::new(Located { stop, pc, mask })),
            },
            Action::Wait(attempt) => match attempt(&mut ctx, mask) {
                Ok(true) => pc += 1,
                Ok(false) => break Ok(End::Retry),
                Err(stop) => break Err(Box::new(Located { stop, pc, mask })),
            },
            Action::BranchIndexed(selector, targets) => {
                match indexed(&ctx, mask, *selector, targets) {
                    Ok((lanes, to)) if lanes == mask => pc = to,
                    // The lanes that agree go; the rest come back here.
                    Ok((lanes, to)) => break Ok(End::Split { lanes, to }),
                    Err(stop) => break Err(Box::new(Located { stop, pc, mask })),
                }
            }
            Action::Call(_) => break Ok(End::Call),
            Action::Return => break Ok(End::Return),
            Action::Barrier(barrier) => {
                break Ok(if barrier.aligned && mask != ctx.state.live {
                    End::Gather
                } else {
                    End::Barrier(arrival(&ctx, index, mask, barrier))
                });
            }
        }
        if pc >= meet {
            break Ok(End::Meet);
        }
        if ctx.state.steps >= limit {
            break Ok(End::Quantum);
        }
    };
    fragment.pc = pc;
    result
}

/// The lanes that agree with the first on where an indexed branch goes, and where that is.
fn indexed(ctx: &Ctx<'_>, mask: u32, selector: R32, targets: &[u32]) -> Result<(u32, u32), Box<Stop>> {
    let selector = ctx.regs.r32[selector.0 as usize];
    let lane = mask.trailing_zeros();
    let first = selector[lane as usize];
    let same = (0..LANES)
        .filter(|&lane| selector[lane] == first)
        .fold(0, |m, lane| m | 1 << lane);
    match targets.get(first as usize) {
        Some(&target) => Ok((same & mask, target)),
        None => {
            let message = format!("brx.idx with index {first}, beyond its {} targets", targets.len());
            Err(Stop::new(FaultKind::Trap { message }, lane))
        }
    }
}

fn arrival(ctx: &Ctx<'_>, fragment: usize, mask: u32, op: &BarrierOp) -> Arrival {
    let lane = mask.trailing_zeros() as usize;
    let value = |reg: R32| ctx.regs.r32[reg.0 as usize][lane];
    Arrival {
        fragment,
        barrier: value(op.barrier),
        count: op.count.map(value),
    }
}

/// Runs an instruction for each group of lanes that agree on its members; `false` if some members are not here.
fn collective(ctx: &mut Ctx<'_>, mask: u32, members: R32, run: &crate::emulator::code::Run) -> Result<bool, Box<Stop>> {
    let members = ctx.regs.r32[members.0 as usize];
    let live = ctx.state.live;
    let mut rest = mask;
    while rest != 0 {
        let lane = rest.trailing_zeros();
        let named = members[lane as usize];
        if named >> lane & 1 == 0 {
            let message = format!("lane {lane} executes an instruction whose member mask 0x{named:08x} leaves it out");
            return Err(Stop::new(FaultKind::Trap { message }, lane));
        }
        if named & live & !mask != 0 {
            return Ok(false);
        }
        rest &= !named;
    }
    let mut rest = mask;
    while rest != 0 {
        let named = members[rest.trailing_zeros() as usize];
        run(ctx, mask & named)?;
        rest &= !named;
    }
    Ok(true)
}
