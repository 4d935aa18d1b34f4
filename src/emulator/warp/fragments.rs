//! How the fragments of a warp part, meet, take turns and end.

use super::{Fragment, State, Warp};

impl Warp {
    /// Joins fragments that are at one place with the same calls behind them.
    pub(super) fn merge(&mut self) {
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
    pub(super) fn choose(&self, give_way: bool) -> Option<usize> {
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
    pub(super) fn next_meeting(&self, index: usize) -> u32 {
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

    pub(super) fn split(&mut self, index: usize, lanes: u32, to: u32) {
        let mut other = self.fragments[index].clone();
        other.mask = lanes;
        other.pc = to;
        self.fragments[index].mask &= !lanes;
        self.fragments.push(other);
    }

    pub(super) fn exit(&mut self, index: usize, lanes: u32) {
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
}
