//! The shared memory of one CTA: bytes, and the state of each byte.

use super::code::SharedLayout;
use super::fault::{Access, FaultKind};

const UNWRITTEN: u8 = 0;
const WRITTEN: u8 = 1;
/// Between variables and beyond the end: no access is right here.
const GUARD: u8 = 2;

/// Shared memory of a CTA.
#[derive(Debug, Default)]
pub(super) struct Shared {
    bytes: Vec<u8>,
    state: Vec<u8>,
}

impl Shared {
    /// Memory for a layout and a dynamic part, all of it unwritten.
    pub(super) fn reset(&mut self, layout: &SharedLayout, dynamic: u32) {
        let size = (layout.dynamic + dynamic) as usize;
        self.bytes.clear();
        self.bytes.resize(size, 0);
        self.state.clear();
        self.state.resize(size, GUARD);
        for &(_, offset, bytes) in &layout.variables {
            self.state[offset as usize..(offset + bytes) as usize].fill(UNWRITTEN);
        }
        self.state[layout.dynamic as usize..].fill(UNWRITTEN);
    }

    pub(super) fn size(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Checks a read of `bytes` bytes at `offset`: in bounds, and all written.
    #[inline]
    pub(super) fn readable(&self, offset: usize, bytes: usize) -> Readable {
        match self.state.get(offset..offset.saturating_add(bytes)) {
            Some(state) if state.iter().all(|&s| s == WRITTEN) => Readable::Yes,
            Some(state) if !state.contains(&GUARD) => Readable::Unwritten,
            _ => Readable::Outside,
        }
    }

    /// Checks a write, and notes the bytes as written.
    #[inline]
    pub(super) fn writable(&mut self, offset: usize, bytes: usize) -> bool {
        match self.state.get_mut(offset..offset.saturating_add(bytes)) {
            Some(state) if !state.contains(&GUARD) => {
                state.fill(WRITTEN);
                true
            }
            _ => false,
        }
    }

    /// The contents, for accesses that [`Self::readable`] or [`Self::writable`] has allowed.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The word at a 4-aligned offset.
    #[inline]
    pub(super) fn word(&self, offset: usize) -> u32 {
        self.bytes[offset..]
            .first_chunk()
            .map_or(0, |chunk| u32::from_le_bytes(*chunk))
    }

    #[inline]
    pub(super) fn set_word(&mut self, offset: usize, value: u32) {
        if let Some(chunk) = self.bytes[offset..].first_chunk_mut() {
            *chunk = value.to_le_bytes();
        }
    }

    /// Whether `bytes` bytes at `offset` are written, with all states read at once for the usual sizes.
    #[inline]
    pub(super) fn word_readable(&self, offset: usize) -> bool {
        self.state
            .get(offset..)
            .and_then(|s| s.first_chunk::<4>())
            .is_some_and(|s| *s == [WRITTEN; 4])
    }

    #[inline]
    pub(super) fn word_writable(&mut self, offset: usize) -> bool {
        match self.state.get_mut(offset..).and_then(|s| s.first_chunk_mut::<4>()) {
            Some(state) if u32::from_le_bytes(*state) & 0x0202_0202 == 0 => {
                *state = [WRITTEN; 4];
                true
            }
            _ => false,
        }
    }
}

/// The outcome of [`Shared::readable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readable {
    Yes,
    Unwritten,
    Outside,
}

/// Describes a refused access to shared memory with the nearest variable.
pub(super) fn access(layout: &SharedLayout, size: u32, what: &'static str, address: u64, bytes: u32) -> Access {
    let dynamic = (
        layout
            .dynamic_name
            .clone()
            .unwrap_or_else(|| "dynamic shared memory".to_owned()),
        layout.dynamic,
        size - layout.dynamic,
    );
    let at = address as i64;
    let distance = |&(_, offset, bytes): &(String, u32, u32)| {
        let (start, end) = (i64::from(offset), i64::from(offset + bytes));
        if at < start { start - at } else { (at - end + 1).max(0) }
    };
    let nearest = layout
        .variables
        .iter()
        .chain((dynamic.2 > 0 || layout.dynamic_name.is_some()).then_some(&dynamic))
        .min_by_key(|variable| distance(variable));
    let buffer = nearest.map(|(name, offset, bytes)| (name.clone(), u64::from(*bytes), at - i64::from(*offset)));
    Access {
        what,
        space: "shared",
        bytes,
        address,
        buffer,
    }
}

/// The fault of a refused read.
pub(super) fn refused(readable: Readable, access: Access) -> FaultKind {
    if readable == Readable::Unwritten {
        FaultKind::Uninitialized(access)
    } else {
        FaultKind::OutOfBounds(access)
    }
}
