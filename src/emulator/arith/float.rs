//! Floating-point formats, and the one rounding of an exact value to them.

/// Rounding modes of PTX: `.rn .rz .rm .rp`, and `.rna` of the tf32 conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    NearestEven,
    NearestAway,
    Zero,
    Down,
    Up,
}

/// A binary format laid out as in IEEE 754: sign, biased exponent, mantissa.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    pub exponent_bits: u32,
    pub mantissa_bits: u32,
}

/// What a bit pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Nan,
    Infinite { negative: bool },
    Zero { negative: bool },
    Finite(Exact),
}

/// `±significand · 2^exponent`. With `sticky`, the magnitude is larger by less than one unit of the significand, which
/// must then have at least two bits more than the format it is rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    pub negative: bool,
    pub significand: u128,
    pub exponent: i32,
    pub sticky: bool,
}

impl Format {
    pub const F16: Self = Self {
        exponent_bits: 5,
        mantissa_bits: 10,
    };
    pub const BF16: Self = Self {
        exponent_bits: 8,
        mantissa_bits: 7,
    };
    pub const TF32: Self = Self {
        exponent_bits: 8,
        mantissa_bits: 10,
    };
    pub const F32: Self = Self {
        exponent_bits: 8,
        mantissa_bits: 23,
    };
    pub const F64: Self = Self {
        exponent_bits: 11,
        mantissa_bits: 52,
    };

    pub const fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The code of positive infinity.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The largest finite code.
    pub const fn max_finite(self) -> u64 {
        self.infinity() - 1
    }

    /// The NaN that NVIDIA's units produce: all bits below the sign set; in f64, CUDA's `CUDART_NAN`.
    pub const fn nan(self) -> u64 {
        if self.mantissa_bits == 52 {
            0xfff8_0000_0000_0000
        } else {
            self.sign_bit() - 1
        }
    }

    /// Exponent of the last bit of a subnormal.
    const fn lowest(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.mantissa_bits as i32
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign_bit() - 1) > self.infinity()
    }

    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign_bit() - 1);
        magnitude != 0 && magnitude >> self.mantissa_bits == 0
    }

    /// `.ftz`: a subnormal becomes a zero of its sign.
    pub const fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) {
            bits & self.sign_bit()
        } else {
            bits
        }
    }

    pub const fn decode(self, bits: u64) -> Value {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        if magnitude > self.infinity() {
            return Value::Nan;
        }
        if magnitude == self.infinity() {
            return Value::Infinite { negative };
        }
        if magnitude == 0 {
            return Value::Zero { negative };
        }
        let biased = (magnitude >> self.mantissa_bits) as i32;
        let fraction = magnitude & ((1 << self.mantissa_bits) - 1);
        let (significand, above) = if biased == 0 {
            (fraction, 0)
        } else {
            (fraction | 1 << self.mantissa_bits, biased - 1)
        };
        Value::Finite(Exact {
            negative,
            significand: significand as u128,
            exponent: self.lowest() + above,
            sticky: false,
        })
    }

    /// The code of an infinity or of the largest finite value, as the rounding mode wants it on overflow.
    const fn overflow(self, negative: bool, rounding: Rounding) -> u64 {
        let to_infinity = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        if to_infinity {
            self.infinity()
        } else {
            self.max_finite()
        }
    }

    /// Rounds once, with the format's own overflow and gradual underflow.
    #[inline]
    pub fn round(self, value: Exact, rounding: Rounding) -> u64 {
        let sign = if value.negative { self.sign_bit() } else { 0 };
        if value.significand == 0 {
            return sign;
        }
        let bits = 128 - value.significand.leading_zeros() as i32;
        let last = (value.exponent + bits - self.mantissa_bits as i32 - 1).max(self.lowest());
        let shift = last - value.exponent;
        let (quotient, half, rest) = if shift <= 0 {
            (value.significand << -shift, false, value.sticky)
        } else if shift > 127 {
            (0, false, true)
        } else {
            let below = value.significand & ((1_u128 << shift) - 1);
            let middle = 1_u128 << (shift - 1);
            (
                value.significand >> shift,
                below & middle != 0,
                below & (middle - 1) != 0 || value.sticky,
            )
        };
        let up = match rounding {
            Rounding::NearestEven => half && (rest || quotient & 1 == 1),
            Rounding::NearestAway => half,
            Rounding::Zero => false,
            Rounding::Down => value.negative && (half || rest),
            Rounding::Up => !value.negative && (half || rest),
        };
        // The hidden bit of the quotient adds one to the exponent field, and so does a carry.
        let binade = i128::from(last - self.lowest()) << self.mantissa_bits;
        let code = binade as u128 + quotient + u128::from(up);
        let magnitude = if code >= u128::from(self.infinity()) {
            self.overflow(value.negative, rounding)
        } else {
            code as u64
        };
        sign | magnitude
    }

    /// Rounds a double to this format; a NaN becomes the format's own.
    #[inline]
    pub fn from_f64(self, value: f64, rounding: Rounding) -> u64 {
        let bits = value.to_bits();
        let magnitude = bits & (u64::MAX >> 1);
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        if magnitude >= Self::F64.infinity() {
            return if value.is_nan() {
                self.nan()
            } else {
                sign | self.infinity()
            };
        }
        if self.mantissa_bits == 52 {
            return bits;
        }
        if magnitude == 0 {
            return sign;
        }
        // As `round`, in 64 bits: this is the hot path of every narrow format. Subnormal doubles are far below all of
        // them, so their wrong exponent does not matter.
        let significand = magnitude & ((1 << 52) - 1) | 1 << 52;
        let exponent = (magnitude >> 52) as i32 - 1075;
        let last = (exponent + 52 - self.mantissa_bits as i32).max(self.lowest());
        let shift = (last - exponent).min(63);
        let below = significand & ((1_u64 << shift) - 1);
        let middle = 1_u64 << (shift - 1);
        let quotient = significand >> shift;
        let up = match rounding {
            Rounding::NearestEven => below > middle || (below == middle && quotient & 1 == 1),
            Rounding::NearestAway => below >= middle,
            Rounding::Zero => false,
            Rounding::Down => sign != 0 && below != 0,
            Rounding::Up => sign == 0 && below != 0,
        };
        let code = (((last - self.lowest()) as u64) << self.mantissa_bits) + quotient + u64::from(up);
        let magnitude = if code >= self.infinity() {
            self.overflow(sign != 0, rounding)
        } else {
            code
        };
        sign | magnitude
    }

    /// The value as a double: exact for every format here.
    #[inline]
    pub fn to_f64(self, bits: u64) -> f64 {
        if self.mantissa_bits == 52 {
            return f64::from_bits(bits);
        }
        if self.mantissa_bits == 23 {
            return f64::from(f32::from_bits(bits as u32));
        }
        if self.exponent_bits == 8 {
            return f64::from(f32::from_bits((bits as u32) << (23 - self.mantissa_bits)));
        }
        f64::from(::half::f16::from_bits(bits as u16).to_f32())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MODES: [Rounding; 5] = [
        Rounding::NearestEven,
        Rounding::NearestAway,
        Rounding::Zero,
        Rounding::Down,
        Rounding::Up,
    ];

    /// The two neighbours of a double in a format, found by walking codes, and the one the mode wants.
    fn by_neighbours(format: Format, value: f64, rounding: Rounding) -> u64 {
        let magnitude = value.abs();
        let mut below = 0;
        let mut step = format.infinity().next_power_of_two();
        while step > 0 {
            if below + step <= format.max_finite() && format.to_f64(below + step) <= magnitude {
                below += step;
            }
            step /= 2;
        }
        let low = format.to_f64(below);
        // The gap above the largest value is as wide as the one below it.
        let high = if below == format.max_finite() {
            low + (low - format.to_f64(below - 1))
        } else {
            format.to_f64(below + 1)
        };
        let negative = value.is_sign_negative();
        let up = if low == magnitude {
            false
        } else {
            match rounding {
                Rounding::NearestEven => {
                    magnitude - low > high - magnitude || (magnitude - low == high - magnitude && below & 1 == 1)
                }
                Rounding::NearestAway => magnitude - low >= high - magnitude,
                Rounding::Zero => false,
                Rounding::Down => negative,
                Rounding::Up => !negative,
            }
        };
        let beyond = below == format.max_finite() && (up || magnitude >= high);
        let code = if beyond {
            format.overflow(negative, rounding)
        } else {
            below + u64::from(up)
        };
        code | if negative { format.sign_bit() } else { 0 }
    }

    proptest! {
        #[test]
        fn rounding_picks_the_right_neighbour(mantissa in any::<u64>(), exponent in -30_i32..20, mode in 0_usize..5) {
            let scale = 2_f64.powi(exponent);
            let value = f64::from_bits(mantissa & 0x800f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000) * scale;
            for (format, spread) in [(Format::F16, 1.0), (Format::BF16, 2_f64.powi(exponent * 5)), (Format::F32, 2_f64.powi(exponent * 5))] {
                let value = value * spread;
                let rounding = MODES[mode];
                prop_assert_eq!(format.from_f64(value, rounding), by_neighbours(format, value, rounding), "{:?} {} {:?}", format, value, rounding);
                let Value::Finite(exact) = Format::F64.decode(value.to_bits()) else { continue };
                prop_assert_eq!(format.round(exact, rounding), format.from_f64(value, rounding));
            }
        }

        #[test]
        fn nearest_single_is_the_hardware_cast(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            let got = Format::F32.from_f64(value, Rounding::NearestEven) as u32;
            if value.is_nan() {
                prop_assert_eq!(got, 0x7fff_ffff);
            } else {
                prop_assert_eq!(got, (value as f32).to_bits());
            }
        }
    }

    #[test]
    fn every_half_code_survives_the_round_trip() {
        for format in [Format::F16, Format::BF16] {
            for code in 0..=0xffff_u64 {
                let value = format.to_f64(code);
                if format.is_nan(code) {
                    assert!(value.is_nan());
                } else {
                    assert_eq!(format.from_f64(value, Rounding::Up), code);
                }
            }
        }
    }

    #[test]
    fn overflow_obeys_the_mode() {
        let round = |value, mode| Format::F16.from_f64(value, mode);
        assert_eq!(round(65520.0, Rounding::NearestEven), 0x7c00);
        assert_eq!(round(65519.0, Rounding::NearestEven), 0x7bff);
        assert_eq!(round(1e9, Rounding::Zero), 0x7bff);
        assert_eq!(round(1e9, Rounding::Down), 0x7bff);
        assert_eq!(round(-1e9, Rounding::Down), 0xfc00);
        assert_eq!(round(f64::INFINITY, Rounding::Zero), 0x7c00);
        assert_eq!(round(f64::NAN, Rounding::Zero), 0x7fff);
    }
}
