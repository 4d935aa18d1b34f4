//! The register files of a warp: every register is an array with one value per lane.
//!
//! The loops over lanes are compiled twice, for any x86-64 and for AVX2 with FMA (without it, a fused multiply-add is a
//! library call); debug builds, where compile time counts for more, have only the first.

#![expect(
    clippy::inline_always,
    reason = "these must land inside the loops over lanes, in both versions of them"
)]

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// The mask of a whole warp.
pub(super) const FULL: u32 = u32::MAX;

/// A 32-bit register of the current frame. Registers of 8 and 16 bits live here too, zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct R32(pub u32);

/// A 64-bit register of the current frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct R64(pub u32);

/// A predicate register of the current frame: a mask with one bit per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pred(pub u32);

/// A register of either width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AnyReg {
    W32(R32),
    W64(R64),
    Pred(Pred),
}

/// One value per lane, at the beginning of a cache line: vector loads that cross lines cost up to twice the time.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Lanes<T>(pub [T; LANES]);

impl<T> Deref for Lanes<T> {
    type Target = [T; LANES];

    #[inline(always)]
    fn deref(&self) -> &[T; LANES] {
        &self.0
    }
}

impl<T> DerefMut for Lanes<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; LANES] {
        &mut self.0
    }
}

/// The registers of one frame.
pub(super) struct Regs<'a> {
    pub r32: &'a mut [Lanes<u32>],
    pub r64: &'a mut [Lanes<u64>],
    pub preds: &'a mut [u32],
}

impl fmt::Debug for Regs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regs({}, {}, {})", self.r32.len(), self.r64.len(), self.preds.len())
    }
}

/// A register index with the width of its lanes known to the compiler.
pub(super) trait Reg: Copy + Send + Sync + fmt::Debug + 'static {
    type Value: Copy + Default + PartialEq + Send + Sync + fmt::Debug + 'static;

    fn get<'r>(self, regs: &'r Regs<'_>) -> &'r [Self::Value; LANES];
    fn get_mut<'r>(self, regs: &'r mut Regs<'_>) -> &'r mut [Self::Value; LANES];
}

impl Reg for R32 {
    type Value = u32;

    #[inline(always)]
    fn get<'r>(self, regs: &'r Regs<'_>) -> &'r [u32; LANES] {
        &regs.r32[self.0 as usize]
    }

    #[inline(always)]
    fn get_mut<'r>(self, regs: &'r mut Regs<'_>) -> &'r mut [u32; LANES] {
        &mut regs.r32[self.0 as usize]
    }
}

impl Reg for R64 {
    type Value = u64;

    #[inline(always)]
    fn get<'r>(self, regs: &'r Regs<'_>) -> &'r [u64; LANES] {
        &regs.r64[self.0 as usize]
    }

    #[inline(always)]
    fn get_mut<'r>(self, regs: &'r mut Regs<'_>) -> &'r mut [u64; LANES] {
        &mut regs.r64[self.0 as usize]
    }
}

impl Regs<'_> {
    #[inline(always)]
    pub(super) fn pred(&self, p: Pred) -> u32 {
        self.preds[p.0 as usize]
    }

    /// Writes the bits of `value` that are in `mask`.
    #[inline(always)]
    pub(super) fn set_pred(&mut self, p: Pred, value: u32, mask: u32) {
        let slot = &mut self.preds[p.0 as usize];
        *slot = (*slot & !mask) | (value & mask);
    }

    /// Writes the lanes of `value` that are in `mask`.
    #[inline(always)]
    pub(super) fn set<D: Reg>(&mut self, d: D, value: &[D::Value; LANES], mask: u32) {
        let slot = d.get_mut(self);
        if mask == FULL {
            *slot = *value;
        } else {
            for lane in 0..LANES {
                if mask >> lane & 1 == 1 {
                    slot[lane] = value[lane];
                }
            }
        }
    }
}

/// `d = f(a)` in every lane of `mask`. `f` is evaluated for the other lanes too, so it must not panic on any value.
#[cfg_attr(
    not(debug_assertions),
    multiversion::multiversion(targets("x86_64+avx+avx2+fma+bmi1+bmi2+popcnt+lzcnt"))
)]
pub(crate) fn map1<D: Reg, A: Reg, F: Fn(A::Value) -> D::Value>(regs: &mut Regs<'_>, mask: u32, d: D, a: A, f: F) {
    let x = a.get(regs);
    let mut out = [D::Value::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane]);
    }
    regs.set(d, &out, mask);
}

/// `d = f(a, b)` in every lane of `mask`; see [`map1`].
#[cfg_attr(
    not(debug_assertions),
    multiversion::multiversion(targets("x86_64+avx+avx2+fma+bmi1+bmi2+popcnt+lzcnt"))
)]
pub(crate) fn map2<D: Reg, A: Reg, B: Reg, F: Fn(A::Value, B::Value) -> D::Value>(
    regs: &mut Regs<'_>,
    mask: u32,
    d: D,
    a: A,
    b: B,
    f: F,
) {
    let (x, y) = (a.get(regs), b.get(regs));
    let mut out = [D::Value::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane]);
    }
    regs.set(d, &out, mask);
}

/// `d = f(a, b, c)` in every lane of `mask`; see [`map1`].
#[cfg_attr(
    not(debug_assertions),
    multiversion::multiversion(targets("x86_64+avx+avx2+fma+bmi1+bmi2+popcnt+lzcnt"))
)]
pub(crate) fn map3<D: Reg, A: Reg, B: Reg, C: Reg, F: Fn(A::Value, B::Value, C::Value) -> D::Value>(
    regs: &mut Regs<'_>,
    mask: u32,
    d: D,
    a: A,
    b: B,
    c: C,
    f: F,
) {
    let (x, y, z) = (a.get(regs), b.get(regs), c.get(regs));
    let mut out = [D::Value::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(x[lane], y[lane], z[lane]);
    }
    regs.set(d, &out, mask);
}

/// The mask of the lanes for which `f(a, b)` holds, inactive lanes included.
#[cfg_attr(
    not(debug_assertions),
    multiversion::multiversion(targets("x86_64+avx+avx2+fma+bmi1+bmi2+popcnt+lzcnt"))
)]
pub(crate) fn test2<A: Reg, B: Reg, F: Fn(A::Value, B::Value) -> bool>(regs: &Regs<'_>, a: A, b: B, f: F) -> u32 {
    let (x, y) = (a.get(regs), b.get(regs));
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(f(x[lane], y[lane])) << lane;
    }
    bits
}
