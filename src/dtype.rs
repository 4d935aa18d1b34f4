//! Element types of tensors: their size, their name, and exact conversion of single values.

mod minifloat;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use minifloat::MiniFloat;

/// The type of a tensor's elements.
///
/// `E4m3Fn` is the OCP format (bias 7, largest value 448, no infinity); `E4m3Fnuz` is the variant
/// with bias 8, largest value 240, no negative zero and a single NaN, `0x80`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DType {
    F64,
    F32,
    F16,
    Bf16,
    E4m3fn,
    E4m3fnuz,
    E5m2,
    I64,
    I32,
    I8,
    U32,
    U8,
}

impl DType {
    /// Every element type, in the order in which they are listed to users.
    pub const ALL: [Self; 12] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::E4m3fn,
        Self::E4m3fnuz,
        Self::E5m2,
        Self::I64,
        Self::I32,
        Self::I8,
        Self::U32,
        Self::U8,
    ];

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::E4m3fn | Self::E4m3fnuz | Self::E5m2 | Self::I8 | Self::U8 => 1,
        }
    }

    /// The name used in problem files, in JSON and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::E4m3fn => "e4m3fn",
            Self::E4m3fnuz => "e4m3fnuz",
            Self::E5m2 => "e5m2",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::I8 => "i8",
            Self::U32 => "u32",
            Self::U8 => "u8",
        }
    }

    /// Whether values are floating-point numbers.
    pub const fn is_float(self) -> bool {
        self.mini().is_some() || matches!(self, Self::F64 | Self::F32)
    }

    /// The bit layout of the floating-point types narrower than 32 bits.
    pub const fn mini(self) -> Option<MiniFloat> {
        match self {
            Self::F16 => Some(MiniFloat::F16),
            Self::Bf16 => Some(MiniFloat::BF16),
            Self::E4m3fn => Some(MiniFloat::E4M3FN),
            Self::E4m3fnuz => Some(MiniFloat::E4M3FNUZ),
            Self::E5m2 => Some(MiniFloat::E5M2),
            _ => None,
        }
    }

    /// The value of an element's bits. Integers beyond 2^53 lose their low bits.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the bits above the element's size are not part of it"
    )]
    #[expect(
        clippy::cast_possible_wrap,
        reason = "the bits are reinterpreted as signed on purpose"
    )]
    pub fn decode(self, bits: u64) -> f64 {
        if let Some(mini) = self.mini() {
            return mini.decode(bits as u32);
        }
        match self {
            Self::F64 => f64::from_bits(bits),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::I64 => bits as i64 as f64,
            Self::I32 => f64::from(bits as i32),
            Self::I8 => f64::from(bits as i8),
            Self::U32 => f64::from(bits as u32),
            _ => f64::from(bits as u8),
        }
    }

    /// The bits nearest to a value: round to nearest, ties to even.
    ///
    /// Floats that overflow become infinity, or NaN in the formats without infinity; integers saturate and NaN becomes 0.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Rust's float casts saturate, as documented"
    )]
    pub fn encode(self, value: f64) -> u64 {
        if let Some(mini) = self.mini() {
            return u64::from(mini.encode(value));
        }
        let nearest = value.round_ties_even();
        match self {
            Self::F64 => value.to_bits(),
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::I64 => nearest as i64 as u64,
            Self::I32 => u64::from(nearest as i32 as u32),
            Self::I8 => u64::from(nearest as i8 as u8),
            Self::U32 => u64::from(nearest as u32),
            _ => u64::from(nearest as u8),
        }
    }

    /// The bits of element `index` of a little-endian buffer, or `None` past its end.
    pub fn read(self, bytes: &[u8], index: usize) -> Option<u64> {
        let at = index.checked_mul(self.size())?;
        let element = bytes.get(at..at.checked_add(self.size())?)?;
        let mut wide = [0_u8; 8];
        wide[..element.len()].copy_from_slice(element);
        Some(u64::from_le_bytes(wide))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A dtype name that is not known.
#[derive(Debug, thiserror::Error)]
#[error("unknown dtype `{0}`; known are f64 f32 f16 bf16 e4m3fn e4m3fnuz e5m2 i64 i32 i8 u32 u8")]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|dtype| dtype.name() == text)
            .ok_or_else(|| UnknownDType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
        }
        assert!("fp12".parse::<DType>().is_err());
    }

    #[test]
    fn integers_saturate() {
        assert_eq!(DType::I8.decode(DType::I8.encode(-200.0)), -128.0);
        assert_eq!(DType::U8.decode(DType::U8.encode(300.0)), 255.0);
        assert_eq!(DType::I32.encode(f64::NAN), 0);
    }
}
