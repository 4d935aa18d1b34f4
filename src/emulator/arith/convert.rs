//! Conversions between numbers of different types.

use super::float::{Exact, Format, Rounding};
use crate::dtype::MiniFloat;

/// Rounds to an integral value: `.rni .rzi .rmi .rpi`.
#[inline]
pub fn to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Integer {
    /// 8, 16, 32 or 64.
    pub bits: u32,
    pub signed: bool,
}

impl Integer {
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The value of a register's bits, sign- or zero-extended.
    #[inline]
    pub const fn value(self, bits: u64) -> i128 {
        let bits = bits & self.mask();
        if self.signed && bits >> (self.bits - 1) == 1 {
            bits as i128 - (1 << self.bits)
        } else {
            bits as i128
        }
    }

    /// The low bits of a value.
    #[inline]
    pub const fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    pub const fn min(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    pub const fn max(self) -> i128 {
        (1 << (self.bits - self.signed as u32)) - 1
    }

    /// The nearest value of this type.
    #[inline]
    pub fn clamp(self, value: i128) -> u64 {
        self.wrap(value.clamp(self.min(), self.max()))
    }

    /// A float of the given source format as this type. Out of range values clamp; NaN gives 0, but the value with only
    /// the top bit set where either type has 64 bits.
    #[inline]
    pub fn from_float(self, value: f64, from: Format, rounding: Rounding) -> u64 {
        if value.is_nan() {
            return if from == Format::F64 || self.bits == 64 {
                1 << (self.bits - 1)
            } else {
                0
            };
        }
        let value = to_integral(value, rounding);
        // The casts saturate.
        match (self.bits, self.signed) {
            (64, true) => value as i64 as u64,
            (64, false) => value as u64,
            (_, true) => (value as i64).clamp(self.min() as i64, self.max() as i64) as u64 & self.mask(),
            (_, false) => (value as u64).min(self.max() as u64),
        }
    }
}

/// An integer as a float, rounded once.
#[inline]
pub fn from_integer(format: Format, value: i128, rounding: Rounding) -> u64 {
    let exact = Exact {
        negative: value < 0,
        significand: value.unsigned_abs(),
        exponent: 0,
        sticky: false,
    };
    format.round(exact, rounding)
}

/// One value to an 8-bit float, round to nearest even, as `cvt.rn.satfinite` does: what is too large, infinities
/// included, becomes the largest finite value; NaN becomes the format's.
#[inline]
pub fn to_fp8(format: MiniFloat, value: f64, relu: bool) -> u32 {
    if value.is_nan() {
        return 0x7f;
    }
    let value = if relu && value.is_sign_negative() { 0.0 } else { value };
    format.encode_saturating(value)
}

/// `cvt.rna.tf32.f32` and its kin: a single with 10 bits of mantissa left, the other 13 zero.
///
/// Of NaN, an H200 (December 2026) keeps the upper bits with `rna`, and makes its own NaN with the other modes.
#[inline]
pub fn to_tf32(value: u32, rounding: Rounding) -> u32 {
    const KEPT: u32 = !0x1fff;
    if f32::from_bits(value).is_nan() {
        return if rounding == Rounding::NearestAway {
            value & KEPT
        } else {
            super::single::NAN & KEPT
        };
    }
    (Format::TF32.from_f64(f64::from(f32::from_bits(value)), rounding) as u32) << 13
}

#[cfg(test)]
mod tests {
    use super::*;

    const S32: Integer = Integer { bits: 32, signed: true };
    const U8: Integer = Integer { bits: 8, signed: false };

    #[test]
    fn floats_clamp_to_integers() {
        let s32 = |value, mode| S32.from_float(value, Format::F32, mode) as u32 as i32;
        assert_eq!(s32(2.5, Rounding::NearestEven), 2);
        assert_eq!(s32(-2.5, Rounding::Zero), -2);
        assert_eq!(s32(-2.5, Rounding::Down), -3);
        assert_eq!(s32(2.1, Rounding::Up), 3);
        assert_eq!(s32(1e20, Rounding::Zero), i32::MAX);
        assert_eq!(s32(f64::NEG_INFINITY, Rounding::Zero), i32::MIN);
        assert_eq!(s32(f64::NAN, Rounding::Zero), 0);
        assert_eq!(S32.from_float(f64::NAN, Format::F64, Rounding::Zero), 0x8000_0000);
        assert_eq!(U8.from_float(-3.0, Format::F32, Rounding::Zero), 0);
        assert_eq!(U8.from_float(300.0, Format::F32, Rounding::Zero), 255);
        let s64 = Integer { bits: 64, signed: true };
        assert_eq!(s64.from_float(f64::NAN, Format::F32, Rounding::Zero), 1 << 63);
    }

    #[test]
    fn integers_round_once_to_floats() {
        let value = 0x7fff_ffbf_ffff_ffff_i128;
        assert_eq!(
            from_integer(Format::F32, value, Rounding::NearestEven),
            u64::from((value as i64 as f32).to_bits())
        );
        assert_eq!(
            f32::from_bits(from_integer(Format::F32, 16_777_217, Rounding::Up) as u32),
            16_777_218.0
        );
        assert_eq!(
            f32::from_bits(from_integer(Format::F32, -16_777_217, Rounding::Up) as u32),
            -16_777_216.0
        );
        assert_eq!(from_integer(Format::F16, 70_000, Rounding::NearestEven), 0x7c00);
        assert_eq!(
            from_integer(Format::F64, i128::from(u64::MAX), Rounding::Zero),
            (u64::MAX as f64).next_down().to_bits()
        );
    }

    #[test]
    fn integers_wrap_and_clamp() {
        assert_eq!(S32.value(0xffff_ffff), -1);
        assert_eq!(U8.clamp(-5), 0);
        assert_eq!(U8.clamp(999), 255);
        assert_eq!(Integer { bits: 8, signed: true }.clamp(-999), 0x80);
    }

    #[test]
    fn eight_bit_floats_saturate() {
        assert_eq!(to_fp8(MiniFloat::E4M3FN, f64::INFINITY, false), 0x7e);
        assert_eq!(to_fp8(MiniFloat::E4M3FN, -1e9, false), 0xfe);
        assert_eq!(to_fp8(MiniFloat::E5M2, f64::INFINITY, false), 0x7b);
        assert_eq!(to_fp8(MiniFloat::E4M3FN, f64::NAN, true), 0x7f);
        assert_eq!(to_fp8(MiniFloat::E5M2, -2.0, true), 0);
    }

    #[test]
    fn tf32_keeps_ten_bits() {
        assert_eq!(to_tf32(0x3f80_1000, Rounding::NearestAway), 0x3f80_2000);
        assert_eq!(to_tf32(0x3f80_1000, Rounding::NearestEven), 0x3f80_0000);
        assert_eq!(to_tf32(0x3f80_1fff, Rounding::Zero), 0x3f80_0000);
    }
}
