//! Kernels: source files, the launch plan in their header, and its resolution for one shape and device.

mod comment;
mod entries;
mod error;
mod header;
mod load;
mod offer;
mod place;
pub mod plan;
mod reader;
mod resolve;
mod signature;
mod tensormap;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dtype::DType;
use crate::expr::Expr;
pub use entries::{Entry, Parameter, ParameterKind, entries};
pub use error::{ErrorKind, KernelError};
pub use load::{MAX_FILE_BYTES, load, load_as};
pub use offer::offer_header;
pub use place::{Place, Placed};

/// The language of a kernel file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    Cuda,
    Ptx,
    Python,
}

/// A kernel file with its header understood.
#[derive(Clone, Debug)]
pub struct KernelFile {
    pub path: PathBuf,
    pub language: Language,
    /// The whole text, header comment included: compiler line numbers are editor line numbers.
    pub text: Arc<str>,
    pub header: Header,
}

/// The launch plan of a kernel file, as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The operator this kernel implements, where the header says.
    pub operator: Option<String>,
    pub operator_place: Option<Place>,
    pub note: Option<String>,
    pub tune: Vec<Tunable>,
    pub launches: Vec<LaunchSpec>,
    pub scratch: Vec<ScratchSpec>,
    pub tensormaps: Vec<TensorMapSpec>,
    pub compile: CompileSpec,
}

/// A compile-time constant with the values worth trying; the first is the default. Passed as `-DNAME=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub name: String,
    pub values: Vec<i64>,
    pub place: Place,
}

/// One launch, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSpec {
    pub kernel: Placed<String>,
    /// One to three expressions each.
    pub grid: Vec<Placed<Expr>>,
    pub block: Vec<Placed<Expr>>,
    pub cluster: Option<Vec<Placed<Expr>>>,
    /// Dynamic shared memory, bytes.
    pub shared: Option<Placed<Expr>>,
    pub cooperative: bool,
    /// The launch is left out where this is 0.
    pub when: Option<Placed<Expr>>,
    pub args: Vec<Placed<ArgSpec>>,
    /// Line of the `[[launch]]` in the file.
    pub line: usize,
}

/// One kernel argument, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    /// `x`: the address of a tensor or scratch buffer.
    Buffer(String),
    /// `i32:hidden_size`, `f32:eps`: a value. Types: i32 u32 i64 u64 f32 f64.
    Scalar { ty: ScalarType, expr: Placed<Expr> },
    /// A tensor map by name, passed by value.
    TensorMap(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl ScalarType {
    pub const ALL: [Self; 6] = [Self::I32, Self::U32, Self::I64, Self::U64, Self::F32, Self::F64];

    /// The name before the colon of an argument.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Bytes of the argument.
    pub const fn size(self) -> usize {
        match self {
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// A buffer of the kernel's own.
#[derive(Clone, Debug, PartialEq)]
pub struct ScratchSpec {
    pub name: Placed<String>,
    pub dtype: DType,
    pub elements: Placed<Expr>,
    /// Zeroed before every run; otherwise poisoned.
    pub zeroed: bool,
}

/// A TMA descriptor over a tensor or scratch buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMapSpec {
    pub name: String,
    /// The buffer it covers.
    pub tensor: Placed<String>,
    /// Overrides of the tensor's dims, innermost first as in the driver's call; by default the tensor's own, reversed.
    pub dims: Option<Vec<Placed<Expr>>>,
    /// Innermost first.
    pub tile: Vec<Placed<Expr>>,
    /// Bytes: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Bytes: 0, 16 or 32.
    pub interleave: u32,
    /// Bytes: 0, 64, 128 or 256.
    pub l2_promotion: u32,
    /// Fill out-of-bounds elements with NaN instead of zero.
    pub fill_nan: bool,
    /// Of the `[[tensormap]]`.
    pub place: Place,
}

/// `[compile]`: extra options and a target other than the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompileSpec {
    pub options: Vec<String>,
    /// `sm_90a`
    pub arch: Option<String>,
}
