//! A launch plan with every expression worked out: what a device executes.

use serde::{Deserialize, Serialize};

use crate::dtype::DType;

/// All launches of one kernel file for one shape, with their buffers by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Tunables in force, passed to the compiler as definitions.
    pub defines: Vec<(String, i64)>,
    pub scratch: Vec<Scratch>,
    pub launches: Vec<Launch>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratch {
    pub name: String,
    pub dtype: DType,
    pub elements: u64,
    pub zeroed: bool,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    pub cooperative: bool,
    pub args: Vec<Arg>,
    /// Line of the `[[launch]]` in the kernel file, for messages.
    pub line: usize,
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arg {
    /// A tensor or scratch buffer, by name.
    Buffer(String),
    /// A value's little-endian bytes: 4 or 8 of them.
    Scalar(Vec<u8>),
    TensorMap(TensorMap),
}

/// A tensor map's parameters, resolved; sizes innermost first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    pub buffer: String,
    pub dtype: DType,
    pub dims: Vec<u64>,
    /// Bytes between consecutive indices of dims 1.., so one fewer than `dims`.
    pub strides: Vec<u64>,
    pub tile: Vec<u32>,
    pub swizzle: u32,
    pub interleave: u32,
    pub l2_promotion: u32,
    pub fill_nan: bool,
}
