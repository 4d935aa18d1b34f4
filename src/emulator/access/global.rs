//! Accesses to global memory, with short cuts for the two patterns that fast kernels have: a whole warp reading one
//! address, and a whole warp touching consecutive elements.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::fence;

use super::{Addresses, Width, Words, lanes};
use crate::emulator::code::{Step, Stop};
use crate::emulator::exec::{Ctx, misaligned};
use crate::emulator::fault::FaultKind;
use crate::emulator::memory::{Buffer, Memory};
use crate::emulator::regs::{FULL, LANES, R32, R64};

/// DRAM and L2 move this many bytes at a time.
pub(super) const SECTOR: u64 = 32;

/// How the addresses of a warp lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Uniform,
    Consecutive,
    Other,
}

#[cfg_attr(
    not(debug_assertions),
    multiversion::multiversion(targets("x86_64+avx+avx2+fma+bmi1+bmi2+popcnt+lzcnt"))
)]
fn pattern(at: &Addresses, stride: u64) -> Pattern {
    let (first, span) = (at[0], at[LANES - 1].wrapping_sub(at[0]));
    let step = match span {
        0 => 0,
        _ if span == stride * (LANES as u64 - 1) => stride,
        _ => return Pattern::Other,
    };
    let mut differ = 0;
    for (lane, address) in at.iter().enumerate() {
        differ |= address ^ first.wrapping_add(lane as u64 * step);
    }
    match (differ, step) {
        (0, 0) => Pattern::Uniform,
        (0, _) => Pattern::Consecutive,
        _ => Pattern::Other,
    }
}

impl Ctx<'_> {
    /// Reads a word for every lane of a whole warp straight into a register, where all lanes read one address or
    /// consecutive ones and nothing is wrong with them; otherwise does nothing and returns `false`.
    #[inline]
    pub(crate) fn load_word_quickly(&mut self, base: R64, offset: i64, d: R32) -> bool {
        let at = &self.regs.r64[base.0 as usize];
        let pattern = pattern(at, 4);
        let start = at[0].wrapping_add_signed(offset);
        let bytes = match pattern {
            Pattern::Uniform => 4,
            Pattern::Consecutive => 4 * LANES,
            Pattern::Other => return false,
        };
        let Some((buffer, at)) = self.job.memory.locate(start, bytes as u64) else {
            return false;
        };
        if !at.is_multiple_of(4) || !(buffer.complete() || buffer.run_initialized(at, bytes)) {
            return false;
        }
        let out = &mut self.regs.r32[d.0 as usize];
        if pattern == Pattern::Uniform {
            **out = [buffer.words()[at / 4].load(Relaxed); LANES];
            self.counts.global_sectors += 1;
        } else {
            for (out, word) in out.iter_mut().zip(&buffer.words()[at / 4..][..LANES]) {
                *out = word.load(Relaxed);
            }
            self.counts.global_sectors += (start + 4 * LANES as u64 - 1) / SECTOR - start / SECTOR + 1;
        }
        self.counts.global_read_bytes += 4 * LANES as u64;
        true
    }
}

/// Distinct sectors among the lanes.
fn sectors(at: &Addresses, mask: u32, bytes: u32) -> u64 {
    let mut seen = [0_u64; LANES * 2];
    let mut count = 0;
    let mut sorted = true;
    for lane in lanes(mask) {
        let (first, last) = (at[lane] / SECTOR, (at[lane] + u64::from(bytes) - 1) / SECTOR);
        for sector in first..=last {
            if count > 0 && seen[count - 1] == sector {
                continue;
            }
            sorted &= count == 0 || seen[count - 1] < sector;
            if count < seen.len() {
                seen[count] = sector;
                count += 1;
            }
        }
    }
    if !sorted {
        let seen = &mut seen[..count];
        seen.sort_unstable();
        return 1 + seen.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    }
    count as u64
}

/// One buffer that holds the accesses of all lanes, all of them aligned; `None` sends the lanes the slow way.
#[inline]
fn common<'m>(memory: &'m Memory, at: &Addresses, mask: u32, bytes: u32) -> Option<(&'m Buffer, u64)> {
    let (mut low, mut high, mut or) = (u64::MAX, 0, 0);
    for (lane, &address) in at.iter().enumerate() {
        if mask >> lane & 1 == 1 {
            low = low.min(address);
            high = high.max(address);
            or |= address;
        }
    }
    if !or.is_multiple_of(u64::from(bytes)) {
        return None;
    }
    let (buffer, _) = memory.locate(low, (high - low).checked_add(u64::from(bytes))?)?;
    Some((buffer, buffer.base()))
}

/// The buffer and offset of one lane's access, or the fault.
fn place<'m>(
    memory: &'m Memory,
    what: &'static str,
    address: u64,
    bytes: u32,
    lane: usize,
) -> Result<(&'m Buffer, usize), Box<Stop>> {
    if !address.is_multiple_of(u64::from(bytes)) {
        return Err(misaligned(memory.access(what, address, bytes), lane as u32));
    }
    memory
        .locate(address, u64::from(bytes))
        .ok_or_else(|| Stop::new(memory.out_of_bounds(what, address, bytes), lane as u32))
}

#[expect(clippy::unnecessary_box_returns, reason = "steps carry their faults in a box")]
fn unwritten(memory: &Memory, address: u64, bytes: u32, lane: usize) -> Box<Stop> {
    Stop::new(
        FaultKind::Uninitialized(memory.access("read", address, bytes)),
        lane as u32,
    )
}

pub(super) fn writable<'m>(
    memory: &'m Memory,
    what: &'static str,
    address: u64,
    bytes: u32,
    lane: usize,
) -> Result<(&'m Buffer, usize), Box<Stop>> {
    let (buffer, offset) = place(memory, what, address, bytes, lane)?;
    if buffer.read_only() {
        return Err(Stop::new(
            FaultKind::ReadOnly(memory.access(what, address, bytes)),
            lane as u32,
        ));
    }
    Ok((buffer, offset))
}

#[inline]
fn read_lane<const N: usize>(buffer: &Buffer, offset: usize, bytes: u32, lane: usize, out: &mut Words<N>) {
    let words = buffer.words();
    if bytes < 4 {
        let word = words[offset / 4].load(Relaxed);
        out[0][lane] = word >> (offset % 4 * 8) & ((1 << (bytes * 8)) - 1);
    } else {
        for (n, word) in out.iter_mut().enumerate() {
            word[lane] = words[offset / 4 + n].load(Relaxed);
        }
    }
}

#[inline]
pub(super) fn load<const N: usize>(
    ctx: &mut Ctx<'_>,
    at: &Addresses,
    mask: u32,
    width: Width,
    out: &mut Words<N>,
) -> Step {
    let memory = ctx.job.memory;
    let bytes = width.bytes;
    ctx.counts.global_read_bytes += u64::from(mask.count_ones() * bytes);
    if width.strong {
        ctx.state.polls += 1;
        // What the writer of a flag did before is to be seen after it.
        fence(SeqCst);
    }
    if mask == FULL && bytes >= 4 {
        match pattern(at, u64::from(bytes)) {
            Pattern::Uniform if !width.strong => {
                let (buffer, offset) = place(memory, "read", at[0], bytes, 0)?;
                if !buffer.is_initialized(offset, bytes as usize) {
                    return Err(unwritten(memory, at[0], bytes, 0));
                }
                for (n, word) in out.iter_mut().enumerate() {
                    *word = [buffer.words()[offset / 4 + n].load(Relaxed); LANES];
                }
                ctx.counts.global_sectors += 1;
                return Ok(());
            }
            Pattern::Consecutive if !width.strong && consecutive_load(memory, at[0], bytes, out) => {
                let last = at[LANES - 1] + u64::from(bytes) - 1;
                ctx.counts.global_sectors += last / SECTOR - at[0] / SECTOR + 1;
                return Ok(());
            }
            _ => {}
        }
    }
    ctx.counts.global_sectors += sectors(at, mask, bytes);
    if let Some((buffer, base)) = common(memory, at, mask, bytes).filter(|_| !width.strong || bytes <= 4) {
        for lane in lanes(mask) {
            let offset = (at[lane] - base) as usize;
            if !buffer.is_initialized(offset, bytes as usize) {
                return Err(unwritten(memory, at[lane], bytes, lane));
            }
            read_lane(buffer, offset, bytes, lane, out);
        }
        return Ok(());
    }
    for lane in lanes(mask) {
        let (buffer, offset) = place(memory, "read", at[lane], bytes, lane)?;
        if !buffer.is_initialized(offset, bytes as usize) {
            return Err(unwritten(memory, at[lane], bytes, lane));
        }
        let _guard = (width.strong && bytes > 4).then(|| memory.lock(at[lane]));
        read_lane(buffer, offset, bytes, lane, out);
    }
    Ok(())
}

/// Reads a whole warp's consecutive elements; `false` if anything about them needs a closer look.
#[inline]
fn consecutive_load<const N: usize>(memory: &Memory, start: u64, bytes: u32, out: &mut Words<N>) -> bool {
    let total = bytes as usize * LANES;
    let Some((buffer, offset)) = memory.locate(start, total as u64) else {
        return false;
    };
    if !offset.is_multiple_of(bytes as usize) {
        return false;
    }
    if !buffer.complete() && !buffer.run_initialized(offset, total) {
        return false;
    }
    let words = &buffer.words()[offset / 4..offset / 4 + N * LANES];
    for lane in 0..LANES {
        for n in 0..N {
            out[n][lane] = words[lane * N + n].load(Relaxed);
        }
    }
    true
}

#[inline]
fn write_lane<const N: usize>(buffer: &Buffer, offset: usize, bytes: u32, lane: usize, data: &Words<N>) {
    if bytes < 4 {
        buffer.store_part(offset, bytes as usize, data[0][lane]);
    } else {
        for (n, word) in data.iter().enumerate() {
            buffer.words()[offset / 4 + n].store(word[lane], Relaxed);
        }
    }
    buffer.set_initialized(offset, bytes as usize);
}

#[inline]
pub(super) fn store<const N: usize>(
    ctx: &mut Ctx<'_>,
    at: &Addresses,
    mask: u32,
    width: Width,
    data: &Words<N>,
) -> Step {
    let memory = ctx.job.memory;
    let bytes = width.bytes;
    ctx.counts.global_write_bytes += u64::from(mask.count_ones() * bytes);
    ctx.progress();
    if width.strong {
        fence(SeqCst);
    }
    if mask == FULL
        && !(width.strong && bytes > 4)
        && pattern(at, u64::from(bytes)) == Pattern::Consecutive
        && consecutive_store(memory, at[0], bytes, data)
    {
        let last = at[LANES - 1] + u64::from(bytes) - 1;
        ctx.counts.global_sectors += last / SECTOR - at[0] / SECTOR + 1;
        return Ok(());
    }
    ctx.counts.global_sectors += sectors(at, mask, bytes);
    if let Some((buffer, base)) = common(memory, at, mask, bytes)
        && !buffer.read_only()
        && !(width.strong && bytes > 4)
    {
        for lane in lanes(mask) {
            write_lane(buffer, (at[lane] - base) as usize, bytes, lane, data);
        }
        return Ok(());
    }
    for lane in lanes(mask) {
        let (buffer, offset) = writable(memory, "write", at[lane], bytes, lane)?;
        let _guard = (width.strong && bytes > 4).then(|| memory.lock(at[lane]));
        write_lane(buffer, offset, bytes, lane, data);
    }
    Ok(())
}

/// Writes a whole warp's consecutive elements; `false` if anything about them needs a closer look.
#[inline]
fn consecutive_store<const N: usize>(memory: &Memory, start: u64, bytes: u32, data: &Words<N>) -> bool {
    let total = bytes as usize * LANES;
    let Some((buffer, offset)) = memory.locate(start, total as u64) else {
        return false;
    };
    if buffer.read_only() || !offset.is_multiple_of(bytes.max(4) as usize) {
        return false;
    }
    let words = &buffer.words()[offset / 4..(offset + total) / 4];
    match bytes {
        1 => {
            for (i, word) in words.iter().enumerate() {
                let b = |k: usize| data[0][i * 4 + k] & 0xff;
                word.store(b(0) | b(1) << 8 | b(2) << 16 | b(3) << 24, Relaxed);
            }
        }
        2 => {
            for (i, word) in words.iter().enumerate() {
                word.store(data[0][i * 2] & 0xffff | data[0][i * 2 + 1] << 16, Relaxed);
            }
        }
        _ => {
            for lane in 0..LANES {
                for n in 0..N {
                    words[lane * N + n].store(data[n][lane], Relaxed);
                }
            }
        }
    }
    buffer.set_initialized_run(offset, total);
    true
}
