//! Running a warp: choosing a fragment, executing its instructions, and what each pause means.

use super::{Caller, Fragment, State, Warp, function_at, next_frame};
use crate::emulator::cluster::ClusterState;
use crate::emulator::code::{Action, BarrierOp, CallSite, Callee, Place, Stop};
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
/// Frames of a call stack: recursion beyond it is a fault.
const DEPTH: usize = 512;

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
            End::Polling | End::Retry => {
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
                let selector = ctx.regs.r32[selector.0 as usize];
                let first = selector[mask.trailing_zeros() as usize];
                let same = (0..LANES)
                    .filter(|&lane| selector[lane] == first)
                    .fold(0, |m, lane| m | 1 << lane)
                    & mask;
                let Some(&target) = targets.get(first as usize) else {
                    let message = format!("brx.idx with index {first}, beyond its {} targets", targets.len());
                    let stop = Stop::new(FaultKind::Trap { message }, mask.trailing_zeros());
                    break Err(Box::new(Located { stop, pc, mask }));
                };
                if same != mask {
                    // The lanes that agree go; the rest come back here.
                    break Ok(End::Split {
                        lanes: same,
                        to: target,
                    });
                }
                pc = target;
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

impl Warp {
    /// Joins fragments that are at one place with the same calls behind them.
    fn merge(&mut self) {
        let mut i = 0;
        while i < self.fragments.len() {
            let mut j = i + 1;
            while j < self.fragments.len() {
                let (a, b) = (&self.fragments[i], &self.fragments[j]);
                let waits = |fragment: &Fragment| matches!(fragment.state, State::Barrier(_));
                if a.pc == b.pc && a.frame == b.frame && a.stack == b.stack && !waits(a) && !waits(b) {
                    let other = self.fragments.swap_remove(j);
                    self.fragments[i].mask |= other.mask;
                    self.fragments[i].state = State::Ready;
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// The fragment to run: the one furthest behind in the deepest call, or, to give way, the one that waited longest.
    fn choose(&self, give_way: bool) -> Option<usize> {
        let able = |fragment: &&(usize, &Fragment)| matches!(fragment.1.state, State::Ready | State::Retry);
        let all: Vec<_>;
        let fragments = match self.fragments.as_slice() {
            [only] => return matches!(only.state, State::Ready | State::Retry).then_some(0),
            several => {
                all = several.iter().enumerate().collect();
                &all
            }
        };
        let chosen = if give_way {
            fragments.iter().filter(able).min_by_key(|(_, fragment)| fragment.turn)
        } else {
            fragments
                .iter()
                .filter(able)
                .min_by_key(|(_, f)| (f.state == State::Retry, std::cmp::Reverse(f.stack.len()), f.pc))
        };
        chosen.map(|(index, _)| *index)
    }

    /// The lowest position ahead of a fragment at which it would meet another.
    fn next_meeting(&self, index: usize) -> u32 {
        if self.fragments.len() == 1 {
            return u32::MAX;
        }
        let own = &self.fragments[index];
        self.fragments
            .iter()
            .enumerate()
            .filter(|&(i, f)| {
                i != index && f.frame == own.frame && f.pc > own.pc && !matches!(f.state, State::Barrier(_))
            })
            .map(|(_, f)| f.pc)
            .min()
            .unwrap_or(u32::MAX)
    }

    fn split(&mut self, index: usize, lanes: u32, to: u32) {
        let mut other = self.fragments[index].clone();
        other.mask = lanes;
        other.pc = to;
        self.fragments[index].mask &= !lanes;
        self.fragments.push(other);
    }

    fn exit(&mut self, index: usize, lanes: u32) {
        self.state.live &= !lanes;
        self.state.exited = true;
        let fragment = &mut self.fragments[index];
        fragment.mask &= !lanes;
        fragment.pc += 1;
        if fragment.mask == 0 {
            self.fragments.swap_remove(index);
        }
        // Fewer lanes are missing now: whoever gathers looks again.
        for fragment in &mut self.fragments {
            if fragment.state == State::Gather {
                fragment.state = State::Ready;
            }
        }
    }

    /// Enters a function: a new frame, arguments copied into it.
    fn call(&mut self, mut index: usize, env: &Surroundings<'_>) -> Result<(), Box<Located>> {
        let functions = &env.job.program.functions;
        let fragment = &self.fragments[index];
        let (pc, whole, frame) = (fragment.pc, fragment.mask, fragment.frame);
        let mut mask = whole;
        let located = |message: String| {
            let stop = Stop::new(FaultKind::Trap { message }, whole.trailing_zeros());
            Err(Box::new(Located { stop, pc, mask: whole }))
        };
        let Action::Call(site) = &env.job.program.ops[pc as usize].action else {
            return Ok(());
        };
        if fragment.stack.len() >= DEPTH {
            return located(format!("calls nested deeper than {DEPTH}"));
        }
        let callee = match site.callee {
            Callee::Direct(callee) => callee,
            Callee::Indirect(reg) => {
                let addresses = self.r64[(frame.r64 + reg.0) as usize];
                let address = addresses[mask.trailing_zeros() as usize];
                let same = (0..LANES)
                    .filter(|&l| addresses[l] == address)
                    .fold(0, |m, lane| m | 1 << lane)
                    & mask;
                if same != mask {
                    // Lanes that call another function stay behind and make their own call afterwards.
                    self.split(index, same, pc);
                    index = self.fragments.len() - 1;
                    mask = same;
                }
                match function_at(functions, address) {
                    Some(callee) => callee,
                    None => return located(format!("call of 0x{address:x}, which is no function")),
                }
            }
        };
        let inner = next_frame(functions, frame, callee);
        let code = &functions[callee as usize];
        if inner.local + code.local > crate::emulator::local::LOCAL_LIMIT {
            return located("the local memory of a thread is exhausted (recursion without end?)".to_owned());
        }
        if !same_kind(site, &code.params, &code.returns) {
            return located(format!(
                "call of `{}` with other arguments or results than it has",
                code.name
            ));
        }
        self.enter(env.job, inner, mask);
        for (&from, &to) in site.args.iter().zip(&code.params) {
            self.copy_place(mask, (frame, from), (inner, to));
        }
        let fragment = &mut self.fragments[index];
        fragment.stack.push(Caller { frame, call: pc });
        fragment.frame = inner;
        fragment.pc = code.start;
        Ok(())
    }

    /// Leaves a function: results copied back. At the bottom of the stack, the lanes exit.
    fn ret(&mut self, index: usize, job: &Job<'_>) {
        let mask = self.fragments[index].mask;
        let inner = self.fragments[index].frame;
        let Some(caller) = self.fragments[index].stack.pop() else {
            self.exit(index, mask);
            return;
        };
        if let Action::Call(site) = &job.program.ops[caller.call as usize].action {
            let code = &job.program.functions[inner.function as usize];
            for (&from, &to) in code.returns.iter().zip(&site.returns) {
                self.copy_place(mask, (inner, from), (caller.frame, to));
            }
        }
        let fragment = &mut self.fragments[index];
        fragment.frame = caller.frame;
        fragment.pc = caller.call + 1;
    }

    fn copy_place(&mut self, mask: u32, from: (super::Frame, Place), to: (super::Frame, Place)) {
        let lanes = (0..LANES).filter(|lane| mask >> lane & 1 == 1);
        match (from.1, to.1) {
            (
                Place::Local { offset: a, bytes },
                Place::Local {
                    offset: b,
                    bytes: other,
                },
            ) => {
                self.local
                    .copy(mask, from.0.local + a, to.0.local + b, bytes.min(other));
            }
            (Place::R32(a), Place::R32(b)) => {
                let value = self.r32[(from.0.r32 + a.0) as usize];
                lanes.for_each(|lane| self.r32[(to.0.r32 + b.0) as usize][lane] = value[lane]);
            }
            (Place::R64(a), Place::R64(b)) => {
                let value = self.r64[(from.0.r64 + a.0) as usize];
                lanes.for_each(|lane| self.r64[(to.0.r64 + b.0) as usize][lane] = value[lane]);
            }
            (Place::Pred(a), Place::Pred(b)) => {
                let value = self.preds[(from.0.preds + a.0) as usize];
                let slot = &mut self.preds[(to.0.preds + b.0) as usize];
                *slot = (*slot & !mask) | (value & mask);
            }
            // `call` has seen that both sides are of one kind.
            _ => {}
        }
    }

    /// If lanes wait for lanes of their own warp that can never come, the fault that says so.
    fn stuck(&self, env: &Surroundings<'_>) -> Option<Box<Located>> {
        if self.fragments.iter().any(|fragment| fragment.state != State::Gather) {
            return None;
        }
        let first = self.fragments.iter().min_by_key(|fragment| fragment.pc)?;
        let place = |fragment: &Fragment| {
            let note = &env.job.program.notes[fragment.pc as usize];
            let base = self.state.index * LANES as u32;
            format!(
                "{} at {} (PTX line {})",
                threads(base, fragment.mask),
                note.text,
                note.pos.line
            )
        };
        let others: Vec<String> = self
            .fragments
            .iter()
            .filter(|fragment| fragment.pc != first.pc)
            .map(place)
            .collect();
        let barrier = match &env.job.program.ops[first.pc as usize].action {
            Action::Barrier(op) => {
                self.r32[(first.frame.r32 + op.barrier.0) as usize][first.mask.trailing_zeros() as usize]
            }
            _ => 0,
        };
        let missing = if others.is_empty() {
            let absent = self.absent(env, first);
            format!("{absent}: exited, or named though they do not exist")
        } else {
            others.join("; ")
        };
        let kind = FaultKind::Barrier {
            barrier,
            waiting: place(first),
            missing,
        };
        let stop = Stop::new(kind, first.mask.trailing_zeros());
        Some(Box::new(Located {
            stop,
            pc: first.pc,
            mask: first.mask,
        }))
    }

    fn absent(&self, env: &Surroundings<'_>, fragment: &Fragment) -> String {
        let base = self.state.index * LANES as u32;
        match &env.job.program.ops[fragment.pc as usize].action {
            Action::Collective { members, .. } => {
                let lane = fragment.mask.trailing_zeros() as usize;
                let named = self.r32[(fragment.frame.r32 + members.0) as usize][lane];
                threads(base, named & !fragment.mask)
            }
            _ => threads(base, self.state.live & !fragment.mask),
        }
    }
}

/// Lanes as thread numbers in their CTA: `threads 0-15, 20`.
pub(in crate::emulator) fn threads(base: u32, mask: u32) -> String {
    let all = (0..LANES as u32)
        .filter(|lane| mask >> lane & 1 == 1)
        .map(|lane| base + lane);
    ranges(all)
}

/// Numbers in ascending order, as ranges.
pub(in crate::emulator) fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let single = matches!(runs.as_slice(), [(a, b)] if a == b);
    let text: Vec<String> = runs
        .iter()
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    if text.is_empty() {
        return "no threads".to_owned();
    }
    format!("{} {}", if single { "thread" } else { "threads" }, text.join(", "))
}

/// Whether a call passes as many values, and in the same kinds of place, as the function takes and gives.
fn same_kind(site: &CallSite, params: &[Place], returns: &[Place]) -> bool {
    let same = |a: &Place, b: &Place| std::mem::discriminant(a) == std::mem::discriminant(b);
    site.args.len() == params.len()
        && site.returns.len() == returns.len()
        && site.args.iter().zip(params).all(|(a, b)| same(a, b))
        && site.returns.iter().zip(returns).all(|(a, b)| same(a, b))
}
