//! How the elements of an input are made: closed, exact, and the same bits on every device.
//!
//! Every recipe is a pure function of (seed, tensor index, element index) that uses only integer arithmetic and single
//! correctly rounded floating-point operations, so that a GPU and a CPU agree bit for bit.

use serde::{Deserialize, Serialize};

use crate::expr::{Scope, Value};
use crate::shape::Params;

/// One way to make the elements of a tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Recipe {
    /// Near-normal: the centred sum of twelve 16-bit uniforms (Irwin-Hall, standard deviation 1, tails to 6), times `std`, plus `mean`.
    Normal {
        #[serde(default)]
        mean: f64,
        std: f64,
    },
    /// Uniform in [lo, hi).
    Uniform {
        lo: f64,
        hi: f64,
    },
    /// Sign and mantissa uniform, binary exponent uniform in [lo_exp, hi_exp].
    Wide {
        lo_exp: i32,
        hi_exp: i32,
    },
    /// `Normal` with mean 0, but about one element in `every` is multiplied by `factor`.
    Outliers {
        std: f64,
        every: u64,
        factor: f64,
    },
    /// `Normal` rounded to multiples of `step`, so that many elements are equal.
    Ties {
        std: f64,
        step: f64,
    },
    Constant {
        value: f64,
    },
    /// `start + step * index`, exact.
    Ramp {
        start: f64,
        step: f64,
    },
    /// Uniform integers in [lo, hi).
    Integers {
        lo: i64,
        hi: i64,
    },
    /// A pseudo-random permutation of 0..n, n being the tensor's element count.
    Permutation,
    /// Cumulative offsets 0 = o_0 < o_1 < ... < o_{n-1} = total of uneven parts, n being the element count; `total` names
    /// a parameter, constant or derived value.
    Offsets {
        total: String,
    },
}

impl Recipe {
    /// What [`Recipe::Offsets`] adds up to, and 0 for every other recipe.
    ///
    /// # Errors
    /// Where the name that it gives is not a count in `scope`.
    pub fn total(&self, scope: &Params) -> Result<u64, String> {
        let Self::Offsets { total } = self else { return Ok(0) };
        scope
            .lookup(total)
            .and_then(Value::as_int)
            .and_then(|value| u64::try_from(value).ok())
            .ok_or_else(|| {
                format!("`total = \"{total}\"` names no count among parameters, constants and derived values")
            })
    }

    /// What is wrong with the numbers, if anything.
    pub fn complaint(&self, scope: &Params) -> Option<String> {
        match self {
            Self::Uniform { lo, hi } if lo >= hi => Some(format!("the range from {lo} to {hi} is empty")),
            Self::Wide { lo_exp, hi_exp } if lo_exp > hi_exp => {
                Some(format!("the exponents from {lo_exp} to {hi_exp} are none"))
            }
            Self::Integers { lo, hi } if lo >= hi => Some(format!("the range from {lo} to {hi} is empty")),
            Self::Outliers { every: 0, .. } => Some("`every` must be 1 or more".to_owned()),
            Self::Ties { step, .. } if *step <= 0.0 => Some("`step` must be above 0".to_owned()),
            Self::Offsets { .. } => self.total(scope).err(),
            _ => None,
        }
    }
}
