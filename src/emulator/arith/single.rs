//! `f32` in every rounding mode, through doubles rounded to odd: a double has more than twice the bits of a single, so
//! that rounding such a double once more gives the right single in any mode.

use super::float::{Format, Rounding};

/// The NaN that every `f32` instruction produces.
pub const NAN: u32 = 0x7fff_ffff;

/// A result as bits, with NVIDIA's NaN.
#[inline]
pub fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// `.ftz`
#[inline]
pub fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// `.sat`: clamps to [0, 1]; NaN becomes +0, and so does -0.
#[inline]
pub fn saturate(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    // NaN fails the first comparison too.
    if value > 0.0 { value.min(1.0).to_bits() } else { 0 }
}

/// Moves a double that is not exact to the odd one of its two neighbours; `error` has the sign of (true value - value).
#[inline]
fn to_odd(value: f64, error: f64) -> f64 {
    let bits = value.to_bits();
    if error == 0.0 || bits & 1 == 1 || !value.is_finite() || error.is_nan() {
        return value;
    }
    let away = (error > 0.0) == (value > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// The sum rounded to odd. Holds while no intermediate overflows or underflows, as for values of narrower formats.
#[inline]
pub fn sum_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let rest = sum - a;
    to_odd(sum, (a - (sum - rest)) + (b - rest))
}

/// The quotient rounded to odd.
#[inline]
pub fn quotient_odd(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if quotient == 0.0 || !quotient.is_finite() || b.is_infinite() {
        return quotient;
    }
    let rest = (-quotient).mul_add(b, a);
    to_odd(quotient, if b < 0.0 { -rest } else { rest })
}

/// The square root rounded to odd.
#[inline]
pub fn root_odd(a: f64) -> f64 {
    let root = a.sqrt();
    if root == 0.0 || !root.is_finite() {
        return root;
    }
    to_odd(root, (-root).mul_add(root, a))
}

/// An exact zero from addends of different signs is negative when rounding down.
#[inline]
fn zero_sign(sum: f64, a: f64, b: f64, rounding: Rounding) -> f64 {
    if sum == 0.0 && rounding == Rounding::Down && (a.is_sign_negative() || b.is_sign_negative()) {
        -0.0
    } else {
        sum
    }
}

fn wide(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

fn round(value: f64, rounding: Rounding) -> u32 {
    Format::F32.from_f64(value, rounding) as u32
}

pub fn add(a: u32, b: u32, rounding: Rounding) -> u32 {
    let (a, b) = (wide(a), wide(b));
    round(zero_sign(sum_odd(a, b), a, b, rounding), rounding)
}

pub fn mul(a: u32, b: u32, rounding: Rounding) -> u32 {
    round(wide(a) * wide(b), rounding)
}

pub fn fma(a: u32, b: u32, c: u32, rounding: Rounding) -> u32 {
    let (product, c) = (wide(a) * wide(b), wide(c));
    round(zero_sign(sum_odd(product, c), product, c, rounding), rounding)
}

pub fn div(a: u32, b: u32, rounding: Rounding) -> u32 {
    round(quotient_odd(wide(a), wide(b)), rounding)
}

pub fn sqrt(a: u32, rounding: Rounding) -> u32 {
    round(root_odd(wide(a)), rounding)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::emulator::arith::exact;

    fn single() -> impl Strategy<Value = u32> {
        prop_oneof![
            any::<u32>(),
            (any::<u32>(), 110_u32..140).prop_map(|(bits, exponent)| bits & 0x807f_ffff | exponent << 23),
            (any::<u32>(), 0_u32..40).prop_map(|(bits, exponent)| bits & 0x807f_ffff | exponent << 23),
            prop::sample::select(vec![
                0,
                1,
                1 << 31,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0001,
                0x3f80_0000,
                0x7f7f_ffff
            ]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn every_mode_agrees_with_exact_arithmetic(a in single(), b in single(), c in single(), mode in 0_usize..4) {
            let mode = [Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up][mode];
            let f = Format::F32;
            let (x, y, z) = (u64::from(a), u64::from(b), u64::from(c));
            prop_assert_eq!(u64::from(add(a, b, mode)), exact::add(f, x, y, mode));
            prop_assert_eq!(u64::from(mul(a, b, mode)), exact::mul(f, x, y, mode));
            prop_assert_eq!(u64::from(fma(a, b, c, mode)), exact::fma(f, x, y, z, mode));
            prop_assert_eq!(u64::from(div(a, b, mode)), exact::div(f, x, y, mode));
            prop_assert_eq!(u64::from(sqrt(a, mode)), exact::sqrt(f, x, mode));
        }
    }

    #[test]
    fn saturation_clamps_and_drops_nan() {
        let sat = |value: f32| f32::from_bits(saturate(value.to_bits()));
        assert_eq!(
            [sat(-1.0), sat(0.25), sat(7.0), sat(f32::INFINITY)],
            [0.0, 0.25, 1.0, 1.0]
        );
        assert_eq!(saturate(NAN), 0);
        assert_eq!(saturate(0x8000_0000), 0);
    }
}
