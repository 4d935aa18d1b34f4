//! `f16` and `bf16`: arithmetic through doubles with one rounding, comparison of codes, and the two values of a word.

use super::float::{Format, Rounding};
use super::single::sum_odd;

/// What instructions add to the plain result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Finish {
    /// Subnormal inputs and results become zeros.
    pub ftz: bool,
    /// Clamp to [0, 1], NaN to +0.
    pub sat: bool,
    /// Clamp negative results to +0, NaN to the canonical one.
    pub relu: bool,
}

impl Finish {
    /// The input, flushed where that is asked for, as a double.
    #[inline]
    fn input(self, format: Format, code: u64) -> f64 {
        format.to_f64(if self.ftz { format.flush(code) } else { code })
    }

    /// Rounds and finishes a result that is exact or rounded to odd.
    #[inline]
    fn output(self, format: Format, value: f64) -> u64 {
        let code = format.from_f64(value, Rounding::NearestEven);
        self.apply(format, code)
    }

    #[inline]
    pub fn apply(self, format: Format, code: u64) -> u64 {
        let mut code = if self.ftz { format.flush(code) } else { code };
        let negative = code & format.sign_bit() != 0;
        let nan = format.is_nan(code);
        if self.sat {
            let one = format.from_f64(1.0, Rounding::NearestEven);
            code = if nan || negative { 0 } else { code.min(one) };
        }
        if self.relu && negative && !nan {
            code = 0;
        }
        code
    }
}

#[inline]
pub fn add(format: Format, finish: Finish, a: u64, b: u64) -> u64 {
    finish.output(format, sum_odd(finish.input(format, a), finish.input(format, b)))
}

#[inline]
pub fn sub(format: Format, finish: Finish, a: u64, b: u64) -> u64 {
    finish.output(format, sum_odd(finish.input(format, a), -finish.input(format, b)))
}

#[inline]
pub fn mul(format: Format, finish: Finish, a: u64, b: u64) -> u64 {
    finish.output(format, finish.input(format, a) * finish.input(format, b))
}

/// `a · b + c` with one rounding.
#[inline]
pub fn fma(format: Format, finish: Finish, a: u64, b: u64, c: u64) -> u64 {
    let product = finish.input(format, a) * finish.input(format, b);
    finish.output(format, sum_odd(product, finish.input(format, c)))
}

/// How `min` and `max` treat what numbers alone do not settle.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a modifier that the instruction has or has not"
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extremum {
    /// Take the larger.
    pub max: bool,
    pub ftz: bool,
    /// A NaN operand gives NaN; otherwise the other operand wins.
    pub nan: bool,
    /// Compare magnitudes, and give the result the exclusive or of the signs.
    pub xorsign_abs: bool,
}

/// Codes in an order where negatives come before positives and -0 before +0.
#[inline]
pub fn rank(format: Format, code: u64) -> i64 {
    let magnitude = (code & (format.sign_bit() - 1)) as i64;
    if code & format.sign_bit() == 0 {
        magnitude
    } else {
        -1 - magnitude
    }
}

/// `min` and `max` of any format.
#[inline]
pub fn extremum(format: Format, how: Extremum, a: u64, b: u64) -> u64 {
    let sign = format.sign_bit();
    let (mut a, mut b) = if how.ftz {
        (format.flush(a), format.flush(b))
    } else {
        (a, b)
    };
    let signs = (a ^ b) & sign;
    match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => return format.nan(),
        (true, false) | (false, true) if how.nan => return format.nan(),
        _ => {}
    }
    if how.xorsign_abs {
        a &= sign - 1;
        b &= sign - 1;
    }
    let first = if format.is_nan(a) {
        false
    } else if format.is_nan(b) {
        true
    } else {
        (rank(format, a) < rank(format, b)) != how.max
    };
    let code = if first { a } else { b };
    if how.xorsign_abs { code | signs } else { code }
}

/// Applies an operation to both halves of a word.
#[inline]
pub fn both1(a: u32, f: impl Fn(u64) -> u64) -> u32 {
    let low = f(u64::from(a & 0xffff));
    let high = f(u64::from(a >> 16));
    low as u32 | (high as u32) << 16
}

#[inline]
pub fn both2(a: u32, b: u32, f: impl Fn(u64, u64) -> u64) -> u32 {
    let low = f(u64::from(a & 0xffff), u64::from(b & 0xffff));
    let high = f(u64::from(a >> 16), u64::from(b >> 16));
    low as u32 | (high as u32) << 16
}

#[inline]
pub fn both3(a: u32, b: u32, c: u32, f: impl Fn(u64, u64, u64) -> u64) -> u32 {
    let low = f(u64::from(a & 0xffff), u64::from(b & 0xffff), u64::from(c & 0xffff));
    let high = f(u64::from(a >> 16), u64::from(b >> 16), u64::from(c >> 16));
    low as u32 | (high as u32) << 16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::emulator::arith::exact;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn one_rounding_only(a in any::<u16>(), b in any::<u16>(), c in any::<u16>()) {
            let (a, b, c) = (u64::from(a), u64::from(b), u64::from(c));
            for format in [Format::F16, Format::BF16] {
                let (none, near) = (Finish::default(), Rounding::NearestEven);
                prop_assert_eq!(add(format, none, a, b), exact::add(format, a, b, near));
                prop_assert_eq!(sub(format, none, a, b), exact::add(format, a, b ^ 0x8000, near));
                prop_assert_eq!(mul(format, none, a, b), exact::mul(format, a, b, near));
                prop_assert_eq!(fma(format, none, a, b, c), exact::fma(format, a, b, c, near));
            }
        }
    }

    #[test]
    fn a_fused_bf16_multiply_add_keeps_the_last_straw() {
        let (one_up, tiny) = (0x3f81, 0x0080);
        let format = Format::BF16;
        let plain = fma(format, Finish::default(), one_up, one_up, 0);
        // 1.5 · (1 + 2^-7) lies half way between two codes: a tiny addend must still decide.
        let midpoint = fma(format, Finish::default(), 0x3fc0, one_up, 0);
        assert_eq!((plain, midpoint), (0x3f82, 0x3fc2));
        assert_eq!(fma(format, Finish::default(), 0x3fc0, one_up, 0x8000 | tiny), 0x3fc1);
    }

    #[test]
    fn extrema_follow_the_rules_for_nan_and_zero() {
        let f = Format::F32;
        let (nan, one, zero, minus) = (0x7fc0_1234, 0x3f80_0000, 0, 0x8000_0000);
        let min = Extremum::default();
        let max = Extremum { max: true, ..min };
        assert_eq!(extremum(f, min, nan, one), one);
        assert_eq!(extremum(f, min, nan, nan), 0x7fff_ffff);
        assert_eq!(extremum(f, Extremum { nan: true, ..min }, nan, one), 0x7fff_ffff);
        assert_eq!(extremum(f, min, zero, minus), minus);
        assert_eq!(extremum(f, max, minus, zero), zero);
        let xor = Extremum {
            xorsign_abs: true,
            ..max
        };
        assert_eq!(extremum(f, xor, 0xc000_0000, one), 0xc000_0000);
        assert_eq!(extremum(f, xor, 0xc000_0000, 0xbf80_0000), 0x4000_0000);
    }
}
