//! Floating-point formats narrower than 32 bits, decoded and encoded exactly.

/// How a format spends its largest exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Specials {
    /// Infinity and NaNs, as IEEE 754 has them.
    Ieee,
    /// No infinity; only the all-ones magnitude is NaN (OCP e4m3).
    NanOnly,
    /// No infinity, no negative zero; the sign bit alone is NaN ("fnuz").
    NegativeZeroIsNan,
}

/// A format of one sign bit, an exponent and a mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiniFloat {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

impl MiniFloat {
    pub const F16: Self = Self::new(5, 10, 15, Specials::Ieee);
    pub const BF16: Self = Self::new(8, 7, 127, Specials::Ieee);
    pub const E4M3FN: Self = Self::new(4, 3, 7, Specials::NanOnly);
    pub const E4M3FNUZ: Self = Self::new(4, 3, 8, Specials::NegativeZeroIsNan);
    pub const E5M2: Self = Self::new(5, 2, 15, Specials::Ieee);

    const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> Self {
        Self {
            exponent_bits,
            mantissa_bits,
            bias,
            specials,
        }
    }

    const fn sign_bit(self) -> u32 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The magnitude code of the largest finite value.
    pub const fn max_code(self) -> u32 {
        match self.specials {
            Specials::Ieee => (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1,
            Specials::NanOnly => self.sign_bit() - 2,
            Specials::NegativeZeroIsNan => self.sign_bit() - 1,
        }
    }

    /// The largest finite value.
    pub fn max(self) -> f64 {
        self.decode(self.max_code())
    }

    /// The canonical NaN.
    pub const fn nan(self) -> u32 {
        match self.specials {
            Specials::Ieee => self.max_code() + 1 + (1 << (self.mantissa_bits - 1)),
            Specials::NanOnly => self.sign_bit() - 1,
            Specials::NegativeZeroIsNan => self.sign_bit(),
        }
    }

    /// The value of a code; bits above the format's width are ignored.
    pub fn decode(self, bits: u32) -> f64 {
        let magnitude = bits & (self.sign_bit() - 1);
        let negative = bits & self.sign_bit() != 0;
        let value = match self.specials {
            Specials::NegativeZeroIsNan if negative && magnitude == 0 => return f64::NAN,
            Specials::Ieee if magnitude == self.max_code() + 1 => f64::INFINITY,
            _ if magnitude > self.max_code() => return f64::NAN,
            _ => self.decode_finite(magnitude),
        };
        if negative { -value } else { value }
    }

    fn decode_finite(self, magnitude: u32) -> f64 {
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = (magnitude >> self.mantissa_bits).cast_signed();
        let scale = exponent.max(1) - self.bias - self.mantissa_bits.cast_signed();
        let hidden = if exponent == 0 { 0 } else { 1 << self.mantissa_bits };
        f64::from(mantissa + hidden) * 2_f64.powi(scale)
    }

    /// The code nearest to a value, ties to even. Overflow gives infinity, or NaN where there is none.
    pub fn encode(self, value: f64) -> u32 {
        self.encode_with(value, false)
    }

    /// As [`encode`](Self::encode), but overflow and infinity give the largest finite value of the same sign.
    pub fn encode_saturating(self, value: f64) -> u32 {
        self.encode_with(value, true)
    }

    fn encode_with(self, value: f64, saturate: bool) -> u32 {
        if value.is_nan() {
            return self.nan();
        }
        let magnitude = self.round_magnitude(value.abs());
        let finite = magnitude <= self.max_code();
        let code = match (finite, saturate) {
            (true, _) => magnitude,
            (false, true) => self.max_code(),
            (false, false) if self.specials == Specials::Ieee => self.max_code() + 1,
            (false, false) => {
                return if self.specials == Specials::NanOnly {
                    self.nan() | self.sign_of(value)
                } else {
                    self.nan()
                };
            }
        };
        if code == 0 && self.specials == Specials::NegativeZeroIsNan {
            return 0;
        }
        code | self.sign_of(value)
    }

    fn sign_of(self, value: f64) -> u32 {
        if value.is_sign_negative() { self.sign_bit() } else { 0 }
    }

    /// The nearest magnitude code as if the exponent had no upper limit (clamped one above the largest code).
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the quotient is bounded by the clamp before it"
    )]
    fn round_magnitude(self, magnitude: f64) -> u32 {
        let overflow = self.max_code() + 1;
        if magnitude >= self.max() * 2.0 {
            return overflow;
        }
        let lowest = 1 - self.bias;
        let exponent = if magnitude == 0.0 {
            lowest
        } else {
            libm::ilogb(magnitude).max(lowest)
        };
        let steps = (magnitude * 2_f64.powi(self.mantissa_bits.cast_signed() - exponent)).round_ties_even();
        // `steps` counts mantissa units within the binade: adding the binade's base lets a carry move to the next one.
        let binade = ((exponent - lowest) as u32) << self.mantissa_bits;
        (steps as u32 + binade).min(overflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [MiniFloat; 5] = [
        MiniFloat::F16,
        MiniFloat::BF16,
        MiniFloat::E4M3FN,
        MiniFloat::E4M3FNUZ,
        MiniFloat::E5M2,
    ];

    #[test]
    fn every_code_round_trips() {
        for format in ALL {
            for code in 0..format.sign_bit() * 2 {
                let value = format.decode(code);
                if value.is_nan() {
                    assert!(format.decode(format.encode(value)).is_nan(), "{format:?} {code:#x}");
                } else {
                    assert_eq!(format.encode(value), code, "{format:?} {code:#x} = {value}");
                }
            }
        }
    }

    #[test]
    fn half_agrees_with_the_half_crate() {
        let mut state = 1_u32;
        for _ in 0..200_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(state);
            if value.is_nan() {
                continue;
            }
            assert_eq!(
                MiniFloat::F16.encode(f64::from(value)),
                u32::from(half::f16::from_f32(value).to_bits()),
                "{value}"
            );
            assert_eq!(
                MiniFloat::BF16.encode(f64::from(value)),
                u32::from(half::bf16::from_f32(value).to_bits()),
                "{value}"
            );
        }
    }

    #[test]
    fn largest_values_are_the_published_ones() {
        assert_eq!(MiniFloat::E4M3FN.max(), 448.0);
        assert_eq!(MiniFloat::E4M3FNUZ.max(), 240.0);
        assert_eq!(MiniFloat::E5M2.max(), 57344.0);
        assert_eq!(MiniFloat::F16.max(), 65504.0);
    }

    #[test]
    fn overflow_saturates_on_request() {
        assert_eq!(MiniFloat::E4M3FN.encode_saturating(1e9), 0x7e);
        assert!(MiniFloat::E4M3FN.decode(MiniFloat::E4M3FN.encode(465.0)).is_nan());
        assert_eq!(MiniFloat::E4M3FN.decode(MiniFloat::E4M3FN.encode(463.0)), 448.0);
        assert!(MiniFloat::E4M3FNUZ.decode(MiniFloat::E4M3FNUZ.encode(248.0)).is_nan());
        assert_eq!(MiniFloat::E4M3FNUZ.encode(-1e-9), 0);
    }
}
