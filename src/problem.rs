//! Problems: operators with their tensors, cost model, tolerance contract and shapes; suites of them; where they come from.

pub mod catalogue;
pub mod embedded;
mod files;
pub mod per_shape;
pub mod read;
pub mod recipe;
mod schema;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dtype::DType;
use crate::expr::{Expr, Value};
use crate::shape::{Params, Scalar, Shape};
pub use catalogue::{Catalogue, Suite};
pub use per_shape::PerShape;
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

impl Path {
    pub const ALL: [Self; 7] = [
        Self::Fp8,
        Self::Bf16,
        Self::Fp16,
        Self::Tf32,
        Self::Fp32,
        Self::Fp64,
        Self::Int8,
    ];

    /// The name in problem files, machine profiles, JSON and on screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp8 => "fp8",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Tf32 => "tf32",
            Self::Fp32 => "fp32",
            Self::Fp64 => "fp64",
            Self::Int8 => "int8",
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
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
    /// Where the suite meets it: `prefill`, `decode`, or both.
    pub phase: String,
    /// The maths in words, a few lines.
    pub maths: String,
    /// Remarks worth knowing: traps of the published definition, exceptions of the cost model.
    pub notes: Vec<String>,
    /// Parameters with their meaning, in display order.
    pub params: Vec<Param>,
    /// Named constants, visible in expressions and kernel headers beside the parameters (`eps`, `top_k`).
    pub constants: Params,
    /// Named values worked out from parameters and constants, each visible to the ones after it (`total_tokens`, `scale`).
    pub derived: Vec<(String, Expr)>,
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

/// How far an operator's definition has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    Complete,
    /// It can be looked at, but no kernel can be judged.
    NoReference,
    /// The output that has no contract yet.
    NoContract(String),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.pad("complete"),
            Self::NoReference => f.pad("no reference yet"),
            Self::NoContract(output) => f.pad(&format!("no contract for `{output}` yet")),
        }
    }
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
    pub recipes: BTreeMap<String, PerShape<Recipe>>,
    /// For outputs: what counts as right, by distribution name; one missing here falls back to `published`. Empty where
    /// no contract is stated yet.
    pub contracts: BTreeMap<String, PerShape<Contract>>,
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

/// The cost of one shape: counts, no longer expressions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShapeCost {
    pub flops: Vec<(Path, u64)>,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

impl ShapeCost {
    /// Compulsory traffic: every byte once.
    pub const fn bytes(&self) -> u64 {
        self.bytes_read + self.bytes_written
    }

    pub fn total_flops(&self) -> u64 {
        self.flops.iter().map(|(_, count)| count).sum()
    }
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

/// The name of the distribution that every operator has: the suite's own.
pub const PUBLISHED: &str = "published";

/// Every name a distribution may have; an operator has those that make sense for it.
pub const DISTRIBUTIONS: [&str; 9] = [
    PUBLISHED, "wide", "tiny", "offset", "outliers", "ties", "zeros", "ragged", "permuted",
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

/// `problems/atrex/rms_norm/problem.toml:12: the reason`
impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.reason)
    }
}

impl Operator {
    /// Parameters of a shape, then the operator's constants, then the derived values.
    ///
    /// A derived value that cannot be worked out for a hand-made shape is left out; whatever needs it then says so.
    pub fn scope(&self, shape: &Shape) -> Params {
        let mut all = shape.params.clone();
        for (name, value) in &self.constants.0 {
            if all.get(name).is_none() {
                all.set(name, value.clone());
            }
        }
        for (name, expr) in &self.derived {
            match expr.eval(&all) {
                Ok(Value::Int(value)) => all.set(name, Scalar::Int(value)),
                Ok(Value::Float(value)) => all.set(name, Scalar::Float(value)),
                Err(_) => {}
            }
        }
        all
    }

    /// The names of all distributions that some input has a recipe for, in the order of [`DISTRIBUTIONS`].
    pub fn distributions(&self) -> Vec<&'static str> {
        DISTRIBUTIONS
            .into_iter()
            .filter(|name| self.tensors.iter().any(|tensor| tensor.recipes.contains_key(*name)))
            .collect()
    }

    /// Whether kernels can be judged, and if not, what is missing.
    pub fn status(&self) -> Status {
        let unjudged = |tensor: &&Tensor| tensor.role != Role::In && tensor.contracts.is_empty();
        if self.reference.is_none() {
            Status::NoReference
        } else if let Some(tensor) = self.tensors.iter().find(unjudged) {
            Status::NoContract(tensor.name.clone())
        } else {
            Status::Complete
        }
    }

    /// Whether the operator has a reference, and a contract for each output.
    pub fn is_complete(&self) -> bool {
        self.status() == Status::Complete
    }

    /// FLOPs by path, and bytes, of one shape.
    ///
    /// # Errors
    /// Names the expression that does not work out.
    pub fn cost_of(&self, shape: &Shape) -> Result<ShapeCost, String> {
        let scope = self.scope(shape);
        let count = |what: &str, expr: &Expr| {
            let value = expr
                .eval_int(&scope)
                .map_err(|error| format!("{what} `{expr}`: {error}"))?;
            u64::try_from(value).map_err(|_| format!("{what} `{expr}` is {value}"))
        };
        let mut flops = Vec::with_capacity(self.cost.flops.len());
        for (path, expr) in &self.cost.flops {
            flops.push((*path, count("FLOP count", expr)?));
        }
        Ok(ShapeCost {
            flops,
            bytes_read: count("bytes read", &self.cost.bytes_read)?,
            bytes_written: count("bytes written", &self.cost.bytes_written)?,
        })
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
    /// The recipe for a distribution at one shape; a distribution that this tensor does not name is `published` for it.
    ///
    /// # Errors
    /// For an output, and where an expression in the recipe does not work out.
    pub fn recipe(&self, distribution: &str, scope: &Params) -> Result<Recipe, String> {
        self.recipes
            .get(distribution)
            .or_else(|| self.recipes.get(PUBLISHED))
            .ok_or_else(|| format!("tensor `{}` has no recipe: it is not an input", self.name))?
            .at(scope)
            .map_err(|error| format!("tensor `{}`, distribution `{distribution}`: {error}", self.name))
    }

    /// The contract for a distribution at one shape; `None` where the operator states none yet.
    ///
    /// # Errors
    /// Where an expression in the contract does not work out.
    pub fn contract(&self, distribution: &str, scope: &Params) -> Result<Option<Contract>, String> {
        self.contracts
            .get(distribution)
            .or_else(|| self.contracts.get(PUBLISHED))
            .map(|contract| contract.at(scope))
            .transpose()
            .map_err(|error| format!("contract of `{}`, distribution `{distribution}`: {error}", self.name))
    }

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
