//! Accesses to the memories that only a CTA, a warp or the launch sees: shared, local, parameters.

use super::{Addresses, Width, Words, lanes};
use crate::emulator::code::{Step, Stop};
use crate::emulator::exec::{Ctx, misaligned};
use crate::emulator::fault::FaultKind;
use crate::emulator::regs::{FULL, LANES};
use crate::emulator::shared::{Readable, refused};
use crate::emulator::space::RANK_SHIFT;

/// Reads word `n` of an access of `bytes` bytes at `offset` of a byte slice; the range was checked.
#[inline]
fn word_of(memory: &[u8], offset: usize, bytes: usize) -> u32 {
    let mut value = [0; 4];
    value[..bytes].copy_from_slice(&memory[offset..offset + bytes]);
    u32::from_le_bytes(value)
}

impl Ctx<'_> {
    #[inline]
    pub(super) fn load_shared<const N: usize>(
        &mut self,
        at: &Addresses,
        mask: u32,
        width: Width,
        out: &mut Words<N>,
    ) -> Step {
        self.counts.shared_read_bytes += u64::from(mask.count_ones() * width.bytes);
        if width.strong {
            self.state.polls += 1;
        }
        if mask == FULL && self.load_shared_quickly(at, width, out) {
            return Ok(());
        }
        for lane in lanes(mask) {
            let (rank, offset) = self.shared_place(at[lane]);
            if !offset.is_multiple_of(width.bytes as usize) {
                return Err(misaligned(
                    self.shared_access("read", at[lane], width.bytes),
                    lane as u32,
                ));
            }
            let Some(shared) = self.shared.get(rank) else {
                let access = self.shared_access("read", at[lane], width.bytes);
                return Err(Stop::new(FaultKind::OutOfBounds(access), lane as u32));
            };
            if N == 1 && width.bytes == 4 && shared.word_readable(offset) {
                out[0][lane] = shared.word(offset);
                continue;
            }
            let readable = shared.readable(offset, width.bytes as usize);
            if readable != Readable::Yes {
                return Err(Stop::new(
                    refused(readable, self.shared_access("read", at[lane], width.bytes)),
                    lane as u32,
                ));
            }
            if width.bytes < 4 {
                out[0][lane] = word_of(shared.bytes(), offset, width.bytes as usize);
            } else {
                for (n, word) in out.iter_mut().enumerate() {
                    word[lane] = shared.word(offset + n * 4);
                }
            }
        }
        Ok(())
    }

    /// Reads whole words for a whole warp from its own CTA, where nothing is wrong with them; otherwise returns `false`.
    #[inline]
    fn load_shared_quickly<const N: usize>(&self, at: &Addresses, width: Width, out: &mut Words<N>) -> bool {
        let any = at.iter().fold(0, |any, address| any | address);
        if width.bytes < 4 || any >> RANK_SHIFT != 0 || !any.is_multiple_of(u64::from(width.bytes)) {
            return false;
        }
        let shared = &self.shared[self.rank];
        for lane in 0..LANES {
            for (n, word) in out.iter_mut().enumerate() {
                let offset = at[lane] as usize + n * 4;
                if !shared.word_readable(offset) {
                    return false;
                }
                word[lane] = shared.word(offset);
            }
        }
        true
    }

    /// Writes whole words for a whole warp into its own CTA, where nothing is wrong with them; otherwise returns `false`.
    #[inline]
    fn store_shared_quickly<const N: usize>(&mut self, at: &Addresses, width: Width, data: &Words<N>) -> bool {
        let any = at.iter().fold(0, |any, address| any | address);
        if width.bytes < 4 || any >> RANK_SHIFT != 0 || !any.is_multiple_of(u64::from(width.bytes)) {
            return false;
        }
        let shared = &mut self.shared[self.rank];
        for lane in 0..LANES {
            for (n, word) in data.iter().enumerate() {
                let offset = at[lane] as usize + n * 4;
                if !shared.word_writable(offset) {
                    return false;
                }
                shared.set_word(offset, word[lane]);
            }
        }
        true
    }

    #[inline]
    pub(super) fn store_shared<const N: usize>(
        &mut self,
        at: &Addresses,
        mask: u32,
        width: Width,
        data: &Words<N>,
    ) -> Step {
        self.counts.shared_write_bytes += u64::from(mask.count_ones() * width.bytes);
        self.progress();
        if mask == FULL && self.store_shared_quickly(at, width, data) {
            return Ok(());
        }
        for lane in lanes(mask) {
            let (rank, offset) = self.shared_place(at[lane]);
            if !offset.is_multiple_of(width.bytes as usize) {
                return Err(misaligned(
                    self.shared_access("write", at[lane], width.bytes),
                    lane as u32,
                ));
            }
            let bytes = width.bytes as usize;
            let allowed = self.shared.get_mut(rank).is_some_and(|shared| {
                if N == 1 && bytes == 4 {
                    shared.word_writable(offset)
                } else {
                    shared.writable(offset, bytes)
                }
            });
            if !allowed {
                let access = self.shared_access("write", at[lane], width.bytes);
                return Err(Stop::new(FaultKind::OutOfBounds(access), lane as u32));
            }
            let shared = &mut self.shared[rank];
            if bytes < 4 {
                let value = data[0][lane].to_le_bytes();
                shared.bytes_mut()[offset..offset + bytes].copy_from_slice(&value[..bytes]);
            } else {
                for (n, word) in data.iter().enumerate() {
                    shared.set_word(offset + n * 4, word[lane]);
                }
            }
        }
        Ok(())
    }

    pub(super) fn load_local<const N: usize>(
        &mut self,
        at: &Addresses,
        mask: u32,
        width: Width,
        out: &mut Words<N>,
    ) -> Step {
        for lane in lanes(mask) {
            let address = at[lane];
            self.check_local(lane, address, width.bytes, "read")?;
            if !self.local.written(lane, address, width.bytes) {
                let access = self.local_access("read", address, width.bytes);
                return Err(Stop::new(FaultKind::Uninitialized(access), lane as u32));
            }
            if width.bytes < 4 {
                let word = self.local.word(lane, address);
                out[0][lane] = word >> (address % 4 * 8) & ((1 << (width.bytes * 8)) - 1);
            } else {
                for (n, word) in out.iter_mut().enumerate() {
                    word[lane] = self.local.word(lane, address + n as u64 * 4);
                }
            }
        }
        Ok(())
    }

    pub(super) fn store_local<const N: usize>(
        &mut self,
        at: &Addresses,
        mask: u32,
        width: Width,
        data: &Words<N>,
    ) -> Step {
        for lane in lanes(mask) {
            let address = at[lane];
            self.check_local(lane, address, width.bytes, "write")?;
            self.local.set_written(lane, address, width.bytes);
            if width.bytes < 4 {
                let shift = address % 4 * 8;
                let bits = ((1_u32 << (width.bytes * 8)) - 1) << shift;
                let old = self.local.word(lane, address);
                self.local
                    .set_word(lane, address, (old & !bits) | (data[0][lane] << shift & bits));
            } else {
                for (n, word) in data.iter().enumerate() {
                    self.local.set_word(lane, address + n as u64 * 4, word[lane]);
                }
            }
        }
        Ok(())
    }

    fn check_local(&self, lane: usize, address: u64, bytes: u32, what: &'static str) -> Step {
        if !address.is_multiple_of(u64::from(bytes)) {
            return Err(misaligned(self.local_access(what, address, bytes), lane as u32));
        }
        if !self.local.inside(lane, address, bytes) {
            let access = self.local_access(what, address, bytes);
            return Err(Stop::new(FaultKind::OutOfBounds(access), lane as u32));
        }
        Ok(())
    }

    pub(super) fn load_param<const N: usize>(
        &mut self,
        at: &Addresses,
        mask: u32,
        width: Width,
        out: &mut Words<N>,
    ) -> Step {
        let params = self.job.params;
        for lane in lanes(mask) {
            let (address, bytes) = (at[lane], width.bytes as usize);
            if !address.is_multiple_of(u64::from(width.bytes)) {
                return Err(misaligned(self.param_access("read", address, width.bytes), lane as u32));
            }
            let Some(value) = params.get(address as usize..(address as usize).saturating_add(bytes)) else {
                let access = self.param_access("read", address, width.bytes);
                return Err(Stop::new(FaultKind::OutOfBounds(access), lane as u32));
            };
            for (n, word) in out.iter_mut().enumerate() {
                word[lane] = word_of(value, n * 4, (bytes - n * 4).min(4));
            }
        }
        Ok(())
    }
}
