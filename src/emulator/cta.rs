//! A CTA: its warps in turn, and its barriers. It can be left and taken up again.

use super::barrier::{BARRIERS, Barrier, name_threads};
use super::code::{Action, BarrierKind, BarrierOp};
use super::exec::Job;
use super::fault::{Fault, FaultKind};
use super::warp::{Arrival, Located, Pause, State, Surroundings, Warp, run_warp, thread_index};

/// Instructions that a warp runs before the next has its turn.
const QUANTUM: u64 = 4096;

/// A CTA in some state of execution.
#[derive(Debug, Default)]
pub(super) struct Cta {
    pub(super) id: [u32; 3],
    warps: Vec<Warp>,
    barriers: Vec<Barrier>,
    /// Warp instructions executed so far.
    steps: u64,
}

/// How a round of a CTA's warps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Done,
    /// Some warp got on with its work.
    Busy,
    /// Every warp that could run was polling.
    Polling,
    /// Every warp waits at a barrier that only another CTA, or nobody, completes.
    Blocked,
}

impl Cta {
    /// Makes it ready to run as CTA `id`. Memory of an earlier life is used again.
    pub(super) fn start(&mut self, job: &Job<'_>, id: [u32; 3], index: u64) {
        self.id = id;
        self.steps = 0;
        self.warps
            .resize_with(job.threads().div_ceil(32) as usize, Warp::default);
        for (number, warp) in self.warps.iter_mut().enumerate() {
            warp.start(job, number as u32, id, index);
        }
        self.barriers.clear();
        self.barriers.resize_with(BARRIERS, Barrier::default);
    }

    pub(super) fn warps(&self) -> usize {
        self.warps.len()
    }

    /// Threads that have not exited.
    pub(super) fn live(&self) -> u32 {
        self.warps.iter().map(|warp| warp.state.live.count_ones()).sum()
    }

    /// Lets every warp run for a while. Adds the instructions executed to `steps`.
    pub(super) fn round(&mut self, env: &mut Surroundings<'_>, steps: &mut u64) -> Result<Round, Box<Fault>> {
        let (mut busy, mut polling) = (false, false);
        for index in 0..self.warps.len() {
            if !self.warps[index].runnable() {
                continue;
            }
            let before = self.warps[index].state.steps;
            let mut left = QUANTUM;
            loop {
                let pause = run_warp(&mut self.warps[index], env, left)
                    .map_err(|located| self.fault(env.job, index, *located))?;
                match pause {
                    Pause::Barrier(arrival) => {
                        busy = true;
                        self.arrive(env, index, arrival)
                            .map_err(|located| self.fault(env.job, index, *located))?;
                    }
                    Pause::Quantum => busy = true,
                    Pause::Polling => polling = true,
                    Pause::Blocked => {}
                    Pause::Done => {
                        busy = true;
                        self.settle(env);
                    }
                }
                let used = self.warps[index].state.steps - before;
                left = QUANTUM.saturating_sub(used);
                let again = matches!(pause, Pause::Barrier(_)) && left > 0 && self.warps[index].runnable();
                if !again {
                    break;
                }
            }
            *steps += self.warps[index].state.steps - before;
            if self.warps[index].state.exited {
                // Lanes that exited may have been the last that a barrier waited for.
                self.warps[index].state.exited = false;
                self.settle(env);
            }
        }
        if self.warps.iter().all(Warp::done) {
            return Ok(Round::Done);
        }
        if busy || self.warps.iter().any(Warp::runnable) && !polling {
            return Ok(Round::Busy);
        }
        Ok(if polling { Round::Polling } else { Round::Blocked })
    }

    fn live_masks(&self) -> Vec<u32> {
        self.warps.iter().map(|warp| warp.state.live).collect()
    }

    /// A fragment arrives at a barrier: it waits there (or, having only announced itself, goes on).
    fn arrive(&mut self, env: &mut Surroundings<'_>, index: usize, arrival: Arrival) -> Result<(), Box<Located>> {
        let warps = self.warps.len();
        let warp = &mut self.warps[index];
        let fragment = &mut warp.fragments[arrival.fragment];
        let (pc, mask) = (fragment.pc, fragment.mask);
        let Action::Barrier(op) = &env.job.program.ops[pc as usize].action else {
            return Ok(());
        };
        let refuse = |message: String| {
            let stop = super::code::Stop::new(FaultKind::Trap { message }, mask.trailing_zeros());
            Err(Box::new(Located { stop, pc, mask }))
        };
        if arrival.barrier as usize >= BARRIERS {
            return refuse(format!("barrier {}, where a CTA has {BARRIERS}", arrival.barrier));
        }
        if arrival
            .count
            .is_some_and(|count| count == 0 || !count.is_multiple_of(32))
        {
            let count = arrival.count.unwrap_or(0);
            return refuse(format!(
                "barrier with {count} threads, which is no multiple of the warp size"
            ));
        }
        let barrier = &mut self.barriers[arrival.barrier as usize];
        // Without a count it means the whole CTA.
        let expected = |count: Option<u32>| count.unwrap_or(warps as u32 * 32);
        if !barrier.empty() && expected(barrier.count) != expected(arrival.count) {
            let text = |count: Option<u32>| count.map_or("all".to_owned(), |count| count.to_string());
            return refuse(format!(
                "barrier {} is waited for by {} threads here, and by {} elsewhere",
                arrival.barrier,
                text(arrival.count),
                text(barrier.count)
            ));
        }
        env.counts.barriers += 1;
        barrier.arrive(warps, index, mask, arrival.count);
        let vote = match op.kind {
            BarrierKind::RedAnd(_, source, negated)
            | BarrierKind::RedOr(_, source, negated)
            | BarrierKind::RedPopc(_, source, negated) => {
                let bits = warp.preds[(fragment.frame.preds + source.0) as usize];
                Some(if negated { !bits } else { bits } & mask)
            }
            BarrierKind::Sync | BarrierKind::Arrive => None,
        };
        if let Some(votes) = vote {
            barrier.voted += mask.count_ones();
            barrier.votes += votes.count_ones();
        }
        if op.kind == BarrierKind::Arrive {
            fragment.pc += 1;
        } else {
            fragment.state = State::Barrier(arrival.barrier);
        }
        warp.state.polls = 0;
        self.settle(env);
        Ok(())
    }

    /// Completes every barrier whose last thread has arrived (or has exited).
    fn settle(&mut self, env: &Surroundings<'_>) {
        let live = self.live_masks();
        for number in 0..self.barriers.len() {
            let barrier = &self.barriers[number];
            if barrier.empty() || !barrier.complete(&live) {
                continue;
            }
            let (voted, votes) = (barrier.voted, barrier.votes);
            self.barriers[number].clear();
            for warp in &mut self.warps {
                release(env.job, warp, number as u32, voted, votes);
            }
        }
    }

    /// The fault of a CTA whose warps all wait.
    pub(super) fn deadlock(&self, job: &Job<'_>) -> Box<Fault> {
        let live = self.live_masks();
        let waiting_at = |barrier: u32| {
            name_threads(self.warps.iter().map(|warp| {
                let at = warp
                    .fragments
                    .iter()
                    .filter(|fragment| fragment.state == State::Barrier(barrier));
                at.fold(0, |mask, fragment| mask | fragment.mask)
            }))
        };
        let first = self.warps.iter().enumerate().find_map(|(index, warp)| {
            warp.fragments.iter().find_map(|fragment| match fragment.state {
                State::Barrier(barrier) => Some((index, fragment, barrier)),
                _ => None,
            })
        });
        let Some((index, fragment, number)) = first else {
            let kind = FaultKind::Trap {
                message: "no warp of the CTA can go on".to_owned(),
            };
            return self.locate(job, 0, 0, 1, kind);
        };
        let barrier = &self.barriers[number as usize];
        let note = |pc: u32| &job.program.notes[pc as usize];
        let expected = barrier.count.map_or(String::new(), |count| {
            format!(", {} of {count} threads counted", barrier.units(&live))
        });
        let waiting = format!(
            "{} at {} (PTX line {}){expected}",
            waiting_at(number),
            note(fragment.pc).text,
            note(fragment.pc).pos.line
        );
        let missing = self.missing(job, number);
        let kind = FaultKind::Barrier {
            barrier: number,
            waiting,
            missing,
        };
        self.locate(job, index, fragment.pc, fragment.mask, kind)
    }

    /// Where the threads are that have not arrived at a barrier.
    fn missing(&self, job: &Job<'_>, number: u32) -> String {
        let mut places: Vec<(u32, String, Vec<u32>)> = Vec::new();
        for (index, warp) in self.warps.iter().enumerate() {
            for fragment in &warp.fragments {
                let what = match fragment.state {
                    State::Barrier(barrier) if barrier == number => continue,
                    State::Barrier(barrier) => format!("at barrier {barrier}"),
                    _ => "waiting for lanes of their warp".to_owned(),
                };
                let known = places
                    .iter()
                    .position(|(pc, state, _)| *pc == fragment.pc && *state == what);
                let place = known.unwrap_or(places.len());
                if known.is_none() {
                    places.push((fragment.pc, what, vec![0; self.warps.len()]));
                }
                places[place].2[index] |= fragment.mask;
            }
        }
        let mut parts: Vec<String> = places
            .into_iter()
            .map(|(pc, what, masks)| {
                let note = &job.program.notes[pc as usize];
                format!(
                    "{} {what}, at {} (PTX line {})",
                    name_threads(masks.into_iter()),
                    note.text,
                    note.pos.line
                )
            })
            .collect();
        let full = |index: usize| {
            let threads = job.threads() - index as u32 * 32;
            if threads >= 32 { u32::MAX } else { (1 << threads) - 1 }
        };
        let exited = name_threads(
            self.warps
                .iter()
                .enumerate()
                .map(|(i, warp)| full(i) & !warp.state.live),
        );
        if exited != "no threads" {
            parts.push(format!("{exited} exited"));
        }
        if parts.is_empty() {
            "no other thread is left".to_owned()
        } else {
            parts.join("; ")
        }
    }

    /// Where the CTA's first waiting lanes are: for the report of a launch that got nowhere.
    pub(super) fn stand(&self, job: &Job<'_>, kind: FaultKind) -> Box<Fault> {
        let place = self
            .warps
            .iter()
            .enumerate()
            .find_map(|(index, warp)| Some((index, warp.fragments.first()?)));
        match place {
            Some((index, fragment)) => self.locate(job, index, fragment.pc, fragment.mask, kind),
            None => self.locate(job, 0, 0, 1, kind),
        }
    }

    fn fault(&self, job: &Job<'_>, warp: usize, located: Located) -> Box<Fault> {
        let mask = located.stop.lane.map_or(located.mask, |lane| 1 << lane);
        self.locate(job, warp, located.pc, mask, located.stop.kind)
    }

    fn locate(&self, job: &Job<'_>, warp: usize, pc: u32, mask: u32, kind: FaultKind) -> Box<Fault> {
        let note = &job.program.notes[pc as usize];
        let lane = if mask == 0 { 0 } else { mask.trailing_zeros() };
        Box::new(Fault {
            kind,
            function: job.program.functions[note.function as usize].name.clone(),
            ptx_line: (note.pos.line > 0).then_some(note.pos.line),
            source: note.loc.map(|loc| super::lower::source(job.ast, loc)),
            thread: Some(thread_index(job.block, warp as u32 * 32 + lane)),
            cta: Some(self.id),
        })
    }
}

/// Lets a warp's fragments that wait at a barrier go on, with the result of a vote where they asked for one.
fn release(job: &Job<'_>, warp: &mut Warp, number: u32, voted: u32, votes: u32) {
    let Warp {
        fragments, r32, preds, ..
    } = warp;
    for fragment in fragments
        .iter_mut()
        .filter(|fragment| fragment.state == State::Barrier(number))
    {
        fragment.state = State::Ready;
        let Action::Barrier(op) = &job.program.ops[fragment.pc as usize].action else {
            continue;
        };
        let BarrierOp { kind, .. } = **op;
        let (frame, mask) = (fragment.frame, fragment.mask);
        let mut set = |pred: super::regs::Pred, value: bool| {
            let slot = &mut preds[(frame.preds + pred.0) as usize];
            *slot = (*slot & !mask) | if value { mask } else { 0 };
        };
        match kind {
            BarrierKind::RedAnd(dst, ..) => set(dst, voted == votes),
            BarrierKind::RedOr(dst, ..) => set(dst, votes > 0),
            BarrierKind::RedPopc(dst, ..) => {
                let slot = &mut r32[(frame.r32 + dst.0) as usize];
                (0..32)
                    .filter(|lane| mask >> lane & 1 == 1)
                    .for_each(|lane| slot[lane] = votes);
            }
            BarrierKind::Sync | BarrierKind::Arrive => {}
        }
        fragment.pc += 1;
    }
}
