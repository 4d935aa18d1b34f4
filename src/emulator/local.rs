//! The local memory of one warp: a stack per lane, kept word by word across the lanes.

use super::regs::LANES;

/// Local memory per thread that a launch may use, bytes: what CUDA allows on every device.
pub(super) const LOCAL_LIMIT: u32 = 512 * 1024;

const WRITTEN: u8 = 0xf;
const GUARD: u8 = 0x80;

/// Local memory of a warp.
#[derive(Debug, Default)]
pub(super) struct Local {
    words: Vec<[u32; LANES]>,
    /// Per word and lane: four bits of written bytes, and a bit for words that belong to no variable.
    state: Vec<[u8; LANES]>,
}

impl Local {
    /// Makes room for a frame: `variables` are (offset, bytes) from `base`; the rest of `bytes` is guard.
    pub(super) fn enter(&mut self, mask: u32, base: u32, bytes: u32, variables: impl Iterator<Item = (u32, u32)>) {
        let (first, end) = ((base / 4) as usize, (base + bytes).div_ceil(4) as usize);
        if self.words.len() < end {
            self.words.resize(end, [0; LANES]);
            self.state.resize(end, [GUARD; LANES]);
        }
        for state in &mut self.state[first..end] {
            fill(state, mask, GUARD);
        }
        for (offset, bytes) in variables {
            let start = ((base + offset) / 4) as usize;
            for word in 0..bytes.div_ceil(4) as usize {
                // The tail of a variable that is no whole number of words stays accessible: frames are padded to words.
                fill(&mut self.state[start + word], mask, 0);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.state.clear();
    }

    /// Whether the bytes can be accessed at all.
    #[inline]
    pub(super) fn inside(&self, lane: usize, offset: u64, bytes: u32) -> bool {
        let (first, last) = ((offset / 4) as usize, ((offset + u64::from(bytes) - 1) / 4) as usize);
        self.state
            .get(first..=last)
            .is_some_and(|state| state.iter().all(|s| s[lane] & GUARD == 0))
    }

    /// Whether all of the bytes (inside) were written.
    #[inline]
    pub(super) fn written(&self, lane: usize, offset: u64, bytes: u32) -> bool {
        parts(offset, bytes).all(|(word, bits)| self.state[word][lane] & bits == bits)
    }

    #[inline]
    pub(super) fn set_written(&mut self, lane: usize, offset: u64, bytes: u32) {
        for (word, bits) in parts(offset, bytes) {
            self.state[word][lane] |= bits;
        }
    }

    #[inline]
    pub(super) fn word(&self, lane: usize, offset: u64) -> u32 {
        self.words[(offset / 4) as usize][lane]
    }

    #[inline]
    pub(super) fn set_word(&mut self, lane: usize, offset: u64, value: u32) {
        self.words[(offset / 4) as usize][lane] = value;
    }

    /// Copies bytes between frames with their state, in the lanes of `mask`. Offsets are multiples of 4.
    pub(super) fn copy(&mut self, mask: u32, from: u32, to: u32, bytes: u32) {
        for word in 0..bytes.div_ceil(4) as usize {
            let (from, to) = (from as usize / 4 + word, to as usize / 4 + word);
            let (values, states) = (self.words[from], self.state[from]);
            for lane in 0..LANES {
                if mask >> lane & 1 == 1 {
                    self.words[to][lane] = values[lane];
                    self.state[to][lane] = states[lane] & WRITTEN;
                }
            }
        }
    }
}

fn fill(state: &mut [u8; LANES], mask: u32, value: u8) {
    for (lane, slot) in state.iter_mut().enumerate() {
        if mask >> lane & 1 == 1 {
            *slot = value;
        }
    }
}

/// The words that `bytes` bytes at `offset` touch, with the bits of the touched bytes.
#[inline]
fn parts(offset: u64, bytes: u32) -> impl Iterator<Item = (usize, u8)> {
    let end = offset + u64::from(bytes);
    (offset / 4..end.div_ceil(4)).map(move |word| {
        let (first, last) = ((word * 4).max(offset) - word * 4, (word * 4 + 4).min(end) - word * 4);
        let bits = ((1_u32 << last) - (1 << first)) as u8;
        (word as usize, bits)
    })
}
