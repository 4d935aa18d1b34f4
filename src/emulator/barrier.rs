//! The named barriers of one CTA.

use super::warp::ranges;

/// Barriers per CTA.
pub(super) const BARRIERS: usize = 16;

/// One barrier: who has arrived since it was last complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// Threads that arrived, by warp.
    pub(super) arrived: Vec<u32>,
    /// The thread count that the first arrival gave, where it gave one.
    pub(super) count: Option<u32>,
    /// Votes of `bar.red`: how many threads voted, and how many of them for.
    pub(super) voted: u32,
    pub(super) votes: u32,
}

impl Barrier {
    pub(super) fn empty(&self) -> bool {
        self.arrived.iter().all(|&mask| mask == 0)
    }

    /// Notes an arrival.
    pub(super) fn arrive(&mut self, warps: usize, warp: usize, mask: u32, count: Option<u32>) {
        self.arrived.resize(warps, 0);
        self.arrived[warp] |= mask;
        self.count = self.count.or(count);
    }

    /// Whether all that are expected have arrived. Without a count these are all live threads of the CTA; with one, a
    /// warp all of whose live lanes have arrived counts as a whole warp, as on the device.
    pub(super) fn complete(&self, live: &[u32]) -> bool {
        match self.count {
            None => self
                .arrived
                .iter()
                .zip(live)
                .all(|(arrived, live)| arrived & live == *live),
            Some(count) => self.units(live) >= count,
        }
    }

    /// Arrivals as the device counts them.
    pub(super) fn units(&self, live: &[u32]) -> u32 {
        self.arrived
            .iter()
            .zip(live)
            .filter(|(arrived, _)| **arrived != 0)
            .map(|(&arrived, &live)| if live & !arrived == 0 { 32 } else { arrived.count_ones() })
            .sum()
    }

    pub(super) fn clear(&mut self) {
        self.arrived.fill(0);
        self.count = None;
        (self.voted, self.votes) = (0, 0);
    }
}

/// Threads of a CTA, by warp masks, as text.
pub(super) fn name_threads(masks: impl Iterator<Item = u32>) -> String {
    ranges(masks.enumerate().flat_map(|(warp, mask)| {
        (0..32)
            .filter(move |lane| mask >> lane & 1 == 1)
            .map(move |lane| warp as u32 * 32 + lane)
    }))
}
