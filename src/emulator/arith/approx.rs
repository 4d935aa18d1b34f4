//! The approximate functions of PTX (`ex2.approx`, `rcp.approx`, ...), each better than the error that PTX allows it.
//!
//! A GPU's own table look-ups are not published, so results agree with hardware to the stated bound, not bit for bit.

use super::single::{NAN, canonical};

/// The approximate functions of one `f32` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    Reciprocal,
    SquareRoot,
    ReciprocalRoot,
    Sine,
    Cosine,
    /// Base 2.
    Logarithm,
    /// Base 2.
    Exponential,
    Tangent,
}

impl Function {
    /// The function's value, rounded to single.
    #[inline]
    pub fn eval(self, x: f32) -> u32 {
        let value = match self {
            Self::Reciprocal => 1.0 / x,
            Self::SquareRoot => x.sqrt(),
            // -0 gives -inf, as 1/sqrt(-0) does.
            Self::ReciprocalRoot => (1.0 / f64::from(x).sqrt()) as f32,
            Self::Sine | Self::Cosine if x.is_infinite() => f32::NAN,
            Self::Sine => libm::sinf(x),
            Self::Cosine => libm::cosf(x),
            Self::Logarithm => libm::log2f(x),
            Self::Exponential => libm::exp2f(x),
            Self::Tangent => libm::tanhf(x),
        };
        canonical(value)
    }
}

/// `div.approx.f32`: for divisors above 2^126 in magnitude the reciprocal is 0 on the device.
#[inline]
pub fn div(a: f32, b: f32) -> u32 {
    /// 2^126
    const LARGE: f32 = f32::from_bits(0x7e80_0000);
    if b.abs() > LARGE && b.is_finite() {
        if a.is_nan() || a.is_infinite() {
            return NAN;
        }
        let negative = a.is_sign_negative() != b.is_sign_negative();
        return if negative { 0x8000_0000 } else { 0 };
    }
    canonical(a / b)
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: from the upper half of the argument to the upper half of the result.
#[inline]
pub fn upper_half(bits: u64, function: impl Fn(f64) -> f64) -> u64 {
    let mut high = bits & 0xffff_ffff_0000_0000;
    if high & 0x7ff0_0000_0000_0000 == 0 {
        high &= 1 << 63;
    }
    let value = f64::from_bits(high);
    // The lower half is not looked at: a NaN that has its bits only there passes for an infinity, on an H200 too.
    if value.is_nan() {
        return 0x7fff_ffff_0000_0000;
    }
    let result = function(value);
    if result.is_nan() {
        return 0x7fff_ffff_0000_0000;
    }
    // Round to the 20 bits that are kept; the carry moves into the exponent as it should.
    let rounded = if result.is_finite() {
        result.to_bits().wrapping_add(0x8000_0000)
    } else {
        result.to_bits()
    };
    let kept = rounded & 0xffff_ffff_0000_0000;
    if kept & 0x7ff0_0000_0000_0000 == 0 {
        kept & 1 << 63
    } else {
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_arguments() {
        let bits = |function: Function, x: f32| function.eval(x);
        assert_eq!(bits(Function::Reciprocal, -0.0), f32::NEG_INFINITY.to_bits());
        assert_eq!(bits(Function::ReciprocalRoot, -0.0), f32::NEG_INFINITY.to_bits());
        assert_eq!(bits(Function::ReciprocalRoot, -1.0), NAN);
        assert_eq!(bits(Function::Logarithm, 0.0), f32::NEG_INFINITY.to_bits());
        assert_eq!(bits(Function::Logarithm, -1.0), NAN);
        assert_eq!(bits(Function::Exponential, f32::NEG_INFINITY), 0);
        assert_eq!(bits(Function::Exponential, 3.0), 8_f32.to_bits());
        assert_eq!(bits(Function::Sine, f32::INFINITY), NAN);
        assert_eq!(bits(Function::Tangent, f32::NEG_INFINITY), (-1_f32).to_bits());
    }

    #[test]
    fn huge_divisors_give_zero() {
        let huge = 2_f32.powi(127);
        assert_eq!(div(3.0, -huge), 0x8000_0000);
        assert_eq!(div(f32::INFINITY, huge), NAN);
        assert_eq!(div(6.0, 3.0), 2_f32.to_bits());
        assert_eq!(div(1.0, f32::INFINITY), 0);
    }

    #[test]
    fn double_reciprocals_keep_the_upper_half() {
        let third = f64::from_bits(upper_half(3_f64.to_bits(), |x| 1.0 / x));
        assert!((third * 3.0 - 1.0).abs() < 2_f64.powi(-20));
        assert_eq!(third.to_bits() & 0xffff_ffff, 0);
        assert_eq!(f64::from_bits(upper_half(4_f64.to_bits(), |x| 1.0 / x.sqrt())), 0.5);
    }
}
