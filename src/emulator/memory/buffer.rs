//! One buffer of global memory: words, and one bit per byte that says whether it was written.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// A named range of global memory.
#[derive(Debug)]
pub struct Buffer {
    name: String,
    base: u64,
    bytes: u64,
    words: Box<[AtomicU32]>,
    /// Bit `i % 32` of element `i / 32`: byte `i` was written. Empty once all of it was written by the host.
    written: Box<[AtomicU32]>,
    complete: AtomicBool,
    read_only: bool,
}

fn zeros(count: u64) -> Box<[AtomicU32]> {
    (0..count).map(|_| AtomicU32::new(0)).collect()
}

impl Buffer {
    pub(super) fn new(name: &str, base: u64, bytes: u64) -> Self {
        Self {
            name: name.to_owned(),
            base,
            bytes,
            words: zeros(bytes.div_ceil(4)),
            written: zeros(bytes.div_ceil(32)),
            complete: AtomicBool::new(false),
            read_only: false,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub const fn base(&self) -> u64 {
        self.base
    }

    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub const fn read_only(&self) -> bool {
        self.read_only
    }

    pub(super) fn set_read_only(&mut self) {
        self.read_only = true;
    }

    /// Whether every byte was written.
    #[inline]
    pub fn complete(&self) -> bool {
        self.complete.load(Relaxed)
    }

    #[inline]
    pub fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    pub(super) fn mark(&mut self, written: bool) {
        let bits = if written { u32::MAX } else { 0 };
        for word in &self.written {
            word.store(bits, Relaxed);
        }
        self.complete.store(written, Relaxed);
    }

    /// Whether `bytes` bytes (at most 32, not crossing a multiple of 32) at `offset` were all written.
    #[inline]
    pub fn is_initialized(&self, offset: usize, bytes: usize) -> bool {
        let want = bits(offset, bytes);
        self.complete() || self.written[offset / 32].load(Relaxed) & want == want
    }

    /// Whether a run of any length was written.
    pub(crate) fn run_initialized(&self, offset: usize, bytes: usize) -> bool {
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let next = (at / 32 * 32 + 32).min(end);
            if !self.is_initialized(at, next - at) {
                return false;
            }
            at = next;
        }
        true
    }

    /// Notes that `bytes` bytes (at most 32, not crossing a multiple of 32) at `offset` are written.
    #[inline]
    pub fn set_initialized(&self, offset: usize, bytes: usize) {
        if self.complete() {
            return;
        }
        let want = bits(offset, bytes);
        let slot = &self.written[offset / 32];
        if want == u32::MAX {
            slot.store(want, Relaxed);
        } else if slot.load(Relaxed) & want != want {
            slot.fetch_or(want, Relaxed);
        }
    }

    /// Notes a run of any length as written.
    pub fn set_initialized_run(&self, offset: usize, bytes: usize) {
        if self.complete() {
            return;
        }
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let next = (at / 32 * 32 + 32).min(end);
            self.set_initialized(at, next - at);
            at = next;
        }
    }

    /// Stores the low `bytes` (1 or 2) bytes of `value` inside one word.
    #[inline]
    pub fn store_part(&self, offset: usize, bytes: usize, value: u32) {
        let shift = offset % 4 * 8;
        let mask = ((1_u32 << (bytes * 8)) - 1) << shift;
        let word = &self.words[offset / 4];
        let mut old = word.load(Relaxed);
        loop {
            let new = (old & !mask) | (value << shift & mask);
            match word.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    pub(super) fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !at.is_multiple_of(4) && !rest.is_empty() {
            self.store_part(at, 1, u32::from(rest[0]));
            (at, rest) = (at + 1, &rest[1..]);
        }
        let (chunks, tail) = rest.as_chunks::<4>();
        for (word, chunk) in self.words[at / 4..].iter().zip(chunks) {
            word.store(u32::from_le_bytes(*chunk), Relaxed);
        }
        at += chunks.len() * 4;
        for (i, byte) in tail.iter().enumerate() {
            self.store_part(at + i, 1, u32::from(*byte));
        }
        self.set_initialized_run(offset, bytes.len());
        if bytes.len() as u64 == self.bytes {
            self.complete.store(true, Relaxed);
        }
    }

    pub(super) fn read_bytes(&self, offset: usize, bytes: &mut [u8]) {
        let mut at = offset;
        let lead = ((4 - offset % 4) % 4).min(bytes.len());
        let (head, rest) = bytes.split_at_mut(lead);
        for byte in head {
            *byte = self.byte(at);
            at += 1;
        }
        let (chunks, tail) = rest.as_chunks_mut::<4>();
        for (word, chunk) in self.words[at / 4..].iter().zip(chunks.iter_mut()) {
            *chunk = word.load(Relaxed).to_le_bytes();
        }
        at += chunks.len() * 4;
        for byte in tail {
            *byte = self.byte(at);
            at += 1;
        }
    }

    fn byte(&self, offset: usize) -> u8 {
        (self.words[offset / 4].load(Relaxed) >> (offset % 4 * 8)) as u8
    }
}

/// The bits of `bytes` bytes at `offset` in their group of 32.
#[inline]
fn bits(offset: usize, bytes: usize) -> u32 {
    let ones = if bytes >= 32 { u32::MAX } else { (1 << bytes) - 1 };
    ones << (offset % 32)
}
