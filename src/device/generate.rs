//! The counter-based generator of inputs: (recipe, seed, tensor, index) -> element, the same bits on every device.

use super::element::{self, GOLDEN, encode, encode_integer, mix, scale};
use super::{DType, GenerateSpec};
use crate::problem::Recipe;

/// Random words per element: `Normal` needs twelve 16-bit uniforms, the fourth word is for one more decision.
const WORDS: u64 = 4;

/// A recipe in the form that the judge kernel takes: a code, two reals and two integers, all worked out on the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Program {
    pub code: Code,
    pub key: u64,
    pub elements: u64,
    /// Meaning by code: see [`Code`].
    pub a: f64,
    pub b: f64,
    pub m: u64,
    pub n: u64,
}

/// What a [`Program`] does; the numbers are the ones in `judge.cu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// z * a + b, times `f64::from_bits(n)` for about one element in m (0: never).
    Normal = 0,
    /// a + u * b
    Uniform = 1,
    /// exponent from m (as i64), n of them
    Wide = 2,
    /// round(z * a / b) * b
    Ties = 3,
    /// a + b * index
    Ramp = 4,
    /// m (as i64) + 0..n
    Integers = 5,
    /// A permutation of 0..elements; m is half the bits of its Feistel network.
    Permutation = 6,
    /// m = total / (elements - 1), n = total % (elements - 1)
    Offsets = 7,
}

/// Works a recipe out for one tensor.
///
/// # Errors
/// Says which number of the recipe makes no sense.
pub fn program(spec: &GenerateSpec) -> Result<Program, String> {
    let base = Program {
        code: Code::Ramp,
        key: mix(spec.seed.wrapping_mul(GOLDEN) ^ mix(spec.tensor.wrapping_add(GOLDEN))),
        elements: spec.elements,
        a: 0.0,
        b: 0.0,
        m: 0,
        n: 0,
    };
    let program = match &spec.recipe {
        Recipe::Normal { mean, std } => Program {
            code: Code::Normal,
            a: *std,
            b: *mean,
            ..base
        },
        Recipe::Uniform { lo, hi } => Program {
            code: Code::Uniform,
            a: *lo,
            b: hi - lo,
            ..base
        },
        Recipe::Wide { lo_exp, hi_exp } => wide(base, i64::from(*lo_exp), i64::from(*hi_exp))?,
        Recipe::Outliers { std, every, factor } => {
            finite(&[*factor])?;
            Program {
                code: Code::Normal,
                a: *std,
                m: (*every).max(1),
                n: factor.to_bits(),
                ..base
            }
        }
        Recipe::Ties { std, step } if *step > 0.0 => Program {
            code: Code::Ties,
            a: *std,
            b: *step,
            ..base
        },
        Recipe::Ties { step, .. } => return Err(format!("ties need a step above 0, not {step}")),
        Recipe::Constant { value } => Program { a: *value, ..base },
        Recipe::Ramp { start, step } => Program {
            a: *start,
            b: *step,
            ..base
        },
        Recipe::Integers { lo, hi } => {
            let range = hi.checked_sub(*lo).filter(|range| *range > 0);
            let range = range.ok_or_else(|| format!("integers in [{lo}, {hi}): the range is empty or too large"))?;
            Program {
                code: Code::Integers,
                m: *lo as u64,
                n: range as u64,
                ..base
            }
        }
        Recipe::Permutation => Program {
            code: Code::Permutation,
            m: u64::from(half_bits(spec.elements)),
            ..base
        },
        Recipe::Offsets { .. } => offsets(base, spec.total)?,
    };
    finite(&[program.a, program.b])?;
    Ok(program)
}

fn finite(numbers: &[f64]) -> Result<(), String> {
    match numbers.iter().find(|number| !number.is_finite()) {
        Some(number) => Err(format!("a recipe's numbers must be finite, and {number} is not")),
        None => Ok(()),
    }
}

/// Exponents are kept within the normal range of f64, where a value is built from its bits.
fn wide(base: Program, lo: i64, hi: i64) -> Result<Program, String> {
    if lo > hi || lo < -1022 || hi > 1023 {
        return Err(format!("exponents {lo}..={hi} must rise and lie within -1022..=1023"));
    }
    Ok(Program {
        code: Code::Wide,
        m: lo as u64,
        n: (hi - lo + 1) as u64,
        ..base
    })
}

fn offsets(base: Program, total: u64) -> Result<Program, String> {
    let parts = base.elements.saturating_sub(1);
    if parts >= 1 << 32 || total >= 1 << 62 {
        return Err(format!(
            "offsets over {parts} parts of {total} are too many for exact 64-bit arithmetic"
        ));
    }
    Ok(Program {
        code: Code::Offsets,
        m: total.checked_div(parts).unwrap_or(0),
        n: total.checked_rem(parts).unwrap_or(0),
        ..base
    })
}

/// Half the bits of the smallest even-width network that covers `0..elements`.
fn half_bits(elements: u64) -> u32 {
    let bits = 64 - elements.saturating_sub(1).leading_zeros();
    bits.div_ceil(2).max(1)
}

impl Program {
    fn word(&self, index: u64, word: u64) -> u64 {
        mix(self
            .key
            .wrapping_add((index.wrapping_mul(WORDS).wrapping_add(word + 1)).wrapping_mul(GOLDEN)))
    }

    /// The centred sum of twelve 16-bit uniforms, in units of 2^-16: standard deviation 1, exact.
    fn normal(&self, index: u64) -> f64 {
        /// Twelve times the mean of a 16-bit uniform, 65535 / 2.
        const CENTRE: i64 = 12 * 65535 / 2;
        let mut sum = -CENTRE;
        for word in 0..3 {
            let random = self.word(index, word);
            sum += (0..4)
                .map(|part| ((random >> (16 * part)) & 0xffff) as i64)
                .sum::<i64>();
        }
        sum as f64 * (1.0 / 65536.0)
    }

    fn real(&self, index: u64) -> f64 {
        match self.code {
            Code::Normal => {
                let value = self.normal(index) * self.a + self.b;
                let outlier = self.m != 0 && scale(self.word(index, 3), self.m) == 0;
                if outlier { value * f64::from_bits(self.n) } else { value }
            }
            Code::Uniform => {
                let unit = (self.word(index, 0) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0);
                self.a + unit * self.b
            }
            Code::Wide => {
                let random = self.word(index, 0);
                let exponent = (self.m as i64 + scale(self.word(index, 1), self.n) as i64 + 1023) as u64;
                f64::from_bits((random & (1 << 63)) | (exponent << 52) | (random & ((1 << 52) - 1)))
            }
            Code::Ties => (self.normal(index) * self.a / self.b).round_ties_even() * self.b,
            _ => self.a + self.b * index as f64,
        }
    }

    /// A Feistel network of four rounds, walked until it lands inside (Black and Rogaway, "Ciphers with arbitrary finite
    /// domains", 2002).
    fn permuted(&self, index: u64) -> u64 {
        let mask = (1_u64 << self.m) - 1;
        let mut value = index;
        loop {
            let (mut left, mut right) = (value >> self.m, value & mask);
            for round in 0..4 {
                let mixed = mix(self.key ^ mix(right.wrapping_add((round + 1_u64).wrapping_mul(GOLDEN)))) & mask;
                (left, right) = (right, left ^ mixed);
            }
            value = (left << self.m) | right;
            if value < self.elements {
                return value;
            }
        }
    }

    /// The start of an even part, moved forward by less than the part.
    fn offset(&self, index: u64) -> u64 {
        let parts = self.elements.saturating_sub(1);
        let start = |index: u64| index * self.m + (index * self.n).checked_div(parts).unwrap_or(0);
        if index == 0 || index >= parts {
            return start(index);
        }
        start(index) + scale(self.word(index, 0), start(index + 1) - start(index))
    }

    /// The bits of one element.
    pub fn element(&self, dtype: DType, index: u64) -> u64 {
        match self.code {
            Code::Integers => encode_integer(
                dtype,
                (self.m as i64).wrapping_add(scale(self.word(index, 0), self.n) as i64),
            ),
            Code::Permutation => encode_integer(dtype, self.permuted(index) as i64),
            Code::Offsets => encode_integer(dtype, self.offset(index) as i64),
            _ => encode(dtype, self.real(index)),
        }
    }
}

/// Fills `bytes` with the tensor's elements, on all cores.
///
/// # Errors
/// As [`program`].
pub fn generate(bytes: &mut [u8], spec: &GenerateSpec) -> Result<(), String> {
    let program = program(spec)?;
    element::fill(spec.dtype, bytes, |index| program.element(spec.dtype, index));
    Ok(())
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
