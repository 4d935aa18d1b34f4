//! Who waits where, and for whom: faults of lanes that can never meet.

use super::run::{Located, Surroundings};
use super::{Fragment, State, Warp};
use crate::emulator::code::{Action, Stop};
use crate::emulator::fault::FaultKind;
use crate::emulator::regs::LANES;

impl Warp {
    /// If lanes wait for lanes of their own warp that can never come, the fault that says so.
    pub(super) fn stuck(&self, env: &Surroundings<'_>) -> Option<Box<Located>> {
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
fn threads(base: u32, mask: u32) -> String {
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
