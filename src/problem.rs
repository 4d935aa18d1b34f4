//! Problems: operators with their tensors, cost model, tolerance contract and shapes; suites of them; where they come from.

pub mod recipe;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dtype::DType;
use crate::expr::Expr;
use crate::shape::{Params, Scalar, Shape};
pub use recipe::Recipe;

/// The arithmetic unit that a FLOP count is billed to; a roof has a peak for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// fp8 tensor cores, e4m3 and e5m2 alike.
    Fp8,
    Bf16,
    Fp16,
    Tf32,
    /// Plain f32 multiply-adds.
    Fp32,
    Fp64,
    Int8,
}

/// What is computed: everything the workbench knows of one operator.
#[derive(Clone, Debug)]
pub struct Operator {
    pub name: String,
    pub suite: String,
    /// The name in the published suite, such as `atrex_027`.
    pub id: String,
    /// Share of the suite's importance; the weights of a suite sum to 1.
    pub weight: f64,
    /// The operator's main element type, as the suite states it.
    pub dtype: String,
    /// The maths in words, a few lines.
    pub maths: String,
    /// Remarks worth knowing: traps of the published definition, exceptions of the cost model.
    pub notes: Vec<String>,
    /// Parameters with their meaning, in display order.
    pub params: Vec<Param>,
    /// Named constants, visible in expressions and kernel headers beside the parameters (`eps`, `top_k`).
    pub constants: Params,
    pub tensors: Vec<Tensor>,
    pub cost: Cost,
    pub shapes: Vec<Shape>,
    /// Small shapes with the same structure, which the emulator can afford; ids start with `small-`.
    pub twins: Vec<Shape>,
    /// A CUDA C++ kernel file that defines the right answer, or `None`: "no reference yet".
    pub reference: Option<Source>,
    /// Built-in kernels; the first is the starter.
    pub kernels: Vec<Source>,
}

/// One parameter of an operator.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    pub meaning: String,
}

/// Which way a tensor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    In,
    Out,
    InOut,
}

/// One tensor of an operator.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    pub dtype: TensorType,
    /// Row-major, outermost first; over parameters and constants.
    pub dims: Vec<Expr>,
    pub role: Role,
    /// For inputs: recipe by distribution name. `published` is always there; a distribution missing here falls back to it.
    pub recipes: BTreeMap<String, Recipe>,
    /// For outputs: what counts as right.
    pub contract: Option<Contract>,
}

/// A fixed element type, or the name of a text parameter that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensorType {
    Fixed(DType),
    Param(String),
}

/// FLOPs by path and compulsory bytes, as expressions over parameters and constants.
#[derive(Clone, Debug)]
pub struct Cost {
    pub flops: Vec<(Path, Expr)>,
    pub bytes_read: Expr,
    pub bytes_written: Expr,
}

/// What counts as a right answer for one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum Contract {
    /// |got - want| <= atol + rtol * |want| for all but `allowed_share` of the elements, and never over `cap` times that;
    /// and the relative L2 error of the whole tensor stays under `rel_l2`.
    Close {
        atol: f64,
        rtol: f64,
        #[serde(default)]
        allowed_share: f64,
        #[serde(default = "default_cap")]
        cap: f64,
        rel_l2: f64,
    },
    /// Bit-identical (integers, masks); NaN equals NaN, and infinities must match.
    Exact,
    /// For fp8: codes at most `max_distance` apart in value order, and at most `allowed_share` of them different at all.
    Codes { max_distance: u32, allowed_share: f64 },
}

const fn default_cap() -> f64 {
    4.0
}

/// A source file that belongs to a problem, embedded or on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name within the problem: `reference.cu`, `kernels/starter.cu`.
    pub name: String,
    pub text: Arc<str>,
    /// On disk, when it is there.
    pub path: Option<PathBuf>,
    /// Shipped PTX of this exact text, when it is embedded; see `toolchain`.
    pub ptx: Option<Arc<str>>,
}

/// The smallest published seed-to-seed difference is irrelevant here: any of these names may be absent for an operator.
pub const DISTRIBUTIONS: [&str; 8] = [
    "published",
    "wide",
    "offset",
    "outliers",
    "ties",
    "zeros",
    "ragged",
    "permuted",
];

/// A tensor with its dimensions worked out for one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct ConcreteTensor {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<u64>,
    pub role: Role,
}

impl ConcreteTensor {
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    pub fn bytes(&self) -> u64 {
        self.elements() * self.dtype.size() as u64
    }
}

/// A problem file that could not be loaded: listed, greyed, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    pub name: String,
    pub suite: String,
    pub file: PathBuf,
    pub line: Option<usize>,
    pub reason: String,
}

impl Operator {
    /// Parameters of a shape, with the operator's constants behind them.
    pub fn scope(&self, shape: &Shape) -> Params {
        let mut all = shape.params.clone();
        for (name, value) in &self.constants.0 {
            if all.get(name).is_none() {
                all.set(name, value.clone());
            }
        }
        all
    }

    /// The tensors of one shape, in order.
    ///
    /// # Errors
    /// Names the tensor whose dimension or type does not work out.
    pub fn tensors_of(&self, shape: &Shape) -> Result<Vec<ConcreteTensor>, String> {
        let scope = self.scope(shape);
        self.tensors.iter().map(|tensor| tensor.concrete(&scope)).collect()
    }

    /// A shape or a small twin, by id.
    pub fn shape(&self, id: &str) -> Option<&Shape> {
        self.shapes.iter().chain(&self.twins).find(|shape| shape.id == id)
    }
}

impl Tensor {
    fn concrete(&self, scope: &Params) -> Result<ConcreteTensor, String> {
        let dtype = match &self.dtype {
            TensorType::Fixed(dtype) => *dtype,
            TensorType::Param(name) => match scope.get(name) {
                Some(Scalar::Text(text)) => text
                    .parse()
                    .map_err(|error| format!("tensor `{}`: {error}", self.name))?,
                _ => {
                    return Err(format!(
                        "tensor `{}`: its dtype parameter `{name}` is not a text",
                        self.name
                    ));
                }
            },
        };
        let mut dims = Vec::with_capacity(self.dims.len());
        for dim in &self.dims {
            let value = dim
                .eval_int(scope)
                .map_err(|error| format!("tensor `{}`: dimension `{dim}`: {error}", self.name))?;
            dims.push(
                u64::try_from(value).map_err(|_| format!("tensor `{}`: dimension `{dim}` is {value}", self.name))?,
            );
        }
        let bytes = dims
            .iter()
            .try_fold(dtype.size() as u64, |product, dim| product.checked_mul(*dim));
        if bytes.is_none() {
            return Err(format!("tensor `{}`: its size does not fit in 64 bits", self.name));
        }
        Ok(ConcreteTensor {
            name: self.name.clone(),
            dtype,
            dims,
            role: self.role,
        })
    }
}
