//! Read-modify-write accesses, lane by lane in lane order.

use std::sync::atomic::Ordering::SeqCst;

use super::global::writable;
use super::{Addresses, lanes};
use crate::emulator::code::Stop;
use crate::emulator::exec::{Ctx, misaligned};
use crate::emulator::fault::FaultKind;
use crate::emulator::regs::LANES;
use crate::emulator::shared::Readable;
use crate::emulator::space::{MemSpace, resolve};

/// What each lane read before its update.
type Old = Result<[u64; LANES], Box<Stop>>;

impl Ctx<'_> {
    /// Replaces the value of `bytes` (2, 4 or 8) bytes at each lane's address by `update(lane, value)`, and returns the
    /// values before. Values are zero-extended.
    pub(crate) fn atomic(
        &mut self,
        space: MemSpace,
        at: &Addresses,
        mask: u32,
        bytes: u32,
        update: impl Fn(usize, u64) -> u64,
    ) -> Old {
        let mut old = [0; LANES];
        let mut changed = false;
        self.counts.atomics += u64::from(mask.count_ones());
        for lane in lanes(mask) {
            let (space, address) = match space {
                MemSpace::Generic => resolve(at[lane]),
                _ => (space, at[lane]),
            };
            let update = |value| update(lane, value);
            let (before, after) = match space {
                MemSpace::Shared => self.atomic_shared(lane, address, bytes, update)?,
                MemSpace::Global => self.atomic_global(lane, address, bytes, update)?,
                _ => {
                    let access = match space {
                        MemSpace::Local => self.local_access("atomic", address, bytes),
                        MemSpace::Param => self.param_access("atomic", address, bytes),
                        _ => self.job.memory.access("atomic", address, bytes),
                    };
                    return Err(Stop::new(FaultKind::ReadOnly(access), lane as u32));
                }
            };
            old[lane] = before;
            changed |= before != after;
        }
        if changed {
            self.progress();
        } else {
            self.state.polls += 1;
        }
        Ok(old)
    }

    fn atomic_shared(
        &mut self,
        lane: usize,
        address: u64,
        bytes: u32,
        update: impl Fn(u64) -> u64,
    ) -> Result<(u64, u64), Box<Stop>> {
        let (rank, offset) = self.shared_place(address);
        let size = bytes as usize;
        if !offset.is_multiple_of(size) {
            return Err(misaligned(self.shared_access("atomic", address, bytes), lane as u32));
        }
        let readable = self
            .shared
            .get(rank)
            .map_or(Readable::Outside, |shared| shared.readable(offset, size));
        if readable != Readable::Yes {
            let access = self.shared_access("atomic", address, bytes);
            return Err(Stop::new(
                crate::emulator::shared::refused(readable, access),
                lane as u32,
            ));
        }
        let place = &mut self.shared[rank].bytes_mut()[offset..offset + size];
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(place);
        let before = u64::from_le_bytes(wide);
        let after = update(before);
        place.copy_from_slice(&after.to_le_bytes()[..size]);
        Ok((before, after))
    }

    fn atomic_global(
        &mut self,
        lane: usize,
        address: u64,
        bytes: u32,
        update: impl Fn(u64) -> u64,
    ) -> Result<(u64, u64), Box<Stop>> {
        let memory = self.job.memory;
        let (buffer, offset) = writable(memory, "atomic", address, bytes, lane)?;
        if !buffer.is_initialized(offset, bytes as usize) {
            return Err(Stop::new(
                FaultKind::Uninitialized(memory.access("atomic", address, bytes)),
                lane as u32,
            ));
        }
        self.counts.global_sectors += 1;
        let word = &buffer.words()[offset / 4];
        if bytes == 8 {
            let _guard = memory.lock(address);
            let high = &buffer.words()[offset / 4 + 1];
            let before = u64::from(word.load(SeqCst)) | u64::from(high.load(SeqCst)) << 32;
            let after = update(before);
            word.store(after as u32, SeqCst);
            high.store((after >> 32) as u32, SeqCst);
            return Ok((before, after));
        }
        let shift = offset % 4 * 8;
        let bits = if bytes == 4 {
            u32::MAX
        } else {
            ((1 << (bytes * 8)) - 1) << shift
        };
        let mut current = word.load(SeqCst);
        loop {
            let before = u64::from((current & bits) >> shift);
            let after = update(before);
            let next = (current & !bits) | ((after as u32) << shift & bits);
            match word.compare_exchange(current, next, SeqCst, SeqCst) {
                Ok(_) => return Ok((before, after)),
                Err(now) => current = now,
            }
        }
    }
}
