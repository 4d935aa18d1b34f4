//! Memory accesses of a warp: every lane's address checked, then the data moved.
//!
//! Data travels as words: `out[n][lane]` is word `n` of what the lane reads or writes. Accesses of 1 and 2 bytes use the
//! low bits of word 0.

mod atomic;
mod global;
mod narrow;

use super::code::{Step, Stop};
use super::exec::Ctx;
use super::fault::{Access, FaultKind};
use super::regs::LANES;
use super::space::{MemSpace, RANK_SHIFT, resolve};

/// Per-lane addresses.
pub(super) type Addresses = [u64; LANES];
/// Per-lane data of `N` words.
pub(super) type Words<const N: usize> = [[u32; LANES]; N];

/// Size and manner of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width {
    /// Bytes per lane: 1, 2, or 4 times the number of words. Addresses are multiples of it.
    pub bytes: u32,
    /// Volatile, relaxed, acquire or release: wide accesses are single-copy atomic, and reads count as polls.
    pub strong: bool,
}

impl Width {
    pub(super) const fn weak(bytes: u32) -> Self {
        Self { bytes, strong: false }
    }
}

/// The lanes of a mask, lowest first.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

impl Ctx<'_> {
    /// Reads `width.bytes` bytes at each lane's address.
    #[inline]
    pub(super) fn load<const N: usize>(
        &mut self,
        space: MemSpace,
        at: &Addresses,
        mask: u32,
        width: Width,
        out: &mut Words<N>,
    ) -> Step {
        match space {
            MemSpace::Global | MemSpace::Const => global::load(self, at, mask, width, out),
            MemSpace::Shared => self.load_shared(at, mask, width, out),
            MemSpace::Generic => self.by_window(at, mask, |ctx, space, at, mask| ctx.load(space, at, mask, width, out)),
            MemSpace::Local => self.load_local(at, mask, width, out),
            MemSpace::Param => self.load_param(at, mask, width, out),
        }
    }

    /// Writes `width.bytes` bytes at each lane's address. Where lanes write to one place, the highest lane wins.
    #[inline]
    pub(super) fn store<const N: usize>(
        &mut self,
        space: MemSpace,
        at: &Addresses,
        mask: u32,
        width: Width,
        data: &Words<N>,
    ) -> Step {
        match space {
            MemSpace::Global | MemSpace::Const => global::store(self, at, mask, width, data),
            MemSpace::Shared => self.store_shared(at, mask, width, data),
            MemSpace::Generic => {
                self.by_window(at, mask, |ctx, space, at, mask| ctx.store(space, at, mask, width, data))
            }
            MemSpace::Local => self.store_local(at, mask, width, data),
            MemSpace::Param => {
                let lane = mask.trailing_zeros();
                let access = self.param_access("write", at[lane as usize], width.bytes);
                Err(Stop::new(FaultKind::ReadOnly(access), lane))
            }
        }
    }

    /// Splits generic addresses into their spaces, and runs each group of lanes.
    fn by_window(
        &mut self,
        at: &Addresses,
        mask: u32,
        mut run: impl FnMut(&mut Self, MemSpace, &Addresses, u32) -> Step,
    ) -> Step {
        let mut rest = mask;
        while rest != 0 {
            let (space, _) = resolve(at[rest.trailing_zeros() as usize]);
            let mut group = 0;
            let mut inner = [0; LANES];
            for lane in lanes(rest) {
                let (own, address) = resolve(at[lane]);
                if own == space {
                    group |= 1 << lane;
                    inner[lane] = address;
                }
            }
            rest &= !group;
            run(self, space, &inner, group)?;
        }
        Ok(())
    }

    /// The CTA (by rank) and the offset that a shared address names.
    #[inline]
    pub(super) fn shared_place(&self, address: u64) -> (usize, usize) {
        let top = (address >> RANK_SHIFT) as usize;
        if top == 0 {
            (self.rank, address as usize)
        } else {
            (top - 1, (address & ((1 << RANK_SHIFT) - 1)) as usize)
        }
    }

    pub(super) fn shared_access(&self, what: &'static str, address: u64, bytes: u32) -> Access {
        let (rank, offset) = self.shared_place(address);
        let size = self.shared.get(rank).map_or(0, super::shared::Shared::size);
        let mut access = super::shared::access(
            &self.job.program.shared,
            size.max(self.job.program.shared.dynamic),
            what,
            offset as u64,
            bytes,
        );
        access.address = address;
        access
    }

    pub(super) fn param_access(&self, what: &'static str, address: u64, bytes: u32) -> Access {
        let size = self.job.params.len() as u64;
        Access {
            what,
            space: "param",
            bytes,
            address,
            buffer: Some(("parameters".to_owned(), size, address as i64)),
        }
    }

    pub(super) fn local_access(&self, what: &'static str, address: u64, bytes: u32) -> Access {
        let at = address as i64 - i64::from(self.local_base);
        let variables = self.job.program.functions.iter().flat_map(|function| &function.locals);
        let distance = |v: &&super::code::LocalVariable| {
            let (start, end) = (i64::from(v.offset), i64::from(v.offset + v.bytes));
            if at < start { start - at } else { (at - end + 1).max(0) }
        };
        let buffer = variables
            .min_by_key(distance)
            .map(|v| (v.name.clone(), u64::from(v.bytes), at - i64::from(v.offset)));
        Access {
            what,
            space: "local",
            bytes,
            address,
            buffer,
        }
    }

    /// Notes that the warp did something that others can see, so it is not just polling.
    #[inline]
    pub(super) fn progress(&mut self) {
        self.state.polls = 0;
    }
}
