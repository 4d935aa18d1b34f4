//! The entry points of a source: what can be launched, and with which parameters.

mod cuda;
mod ptx;
mod tokens;

use super::Language;
use crate::dtype::DType;

/// A kernel that a source defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub parameters: Vec<Parameter>,
    /// Where its name stands, from 1.
    pub line: u32,
    /// Whether it can be launched by this name: without `extern "C"` a CUDA C++ name is mangled.
    pub by_name: bool,
}

/// One parameter of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// As written.
    pub ty: String,
    pub kind: ParameterKind,
}

/// What kind of argument a parameter takes, as far as its text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// An address; the element type where it is a known one.
    Pointer(Option<DType>),
    /// An integer of so many bytes.
    Integer(u32),
    /// A float of so many bytes.
    Float(u32),
    /// A `CUtensorMap`, or 128 bytes with its alignment.
    TensorMap,
    /// A type that the text alone does not tell: a typedef, a struct, a macro.
    Unknown,
}

/// The entry points of a source, in its order, each name once. Python sources have none.
pub fn entries(text: &str, language: Language) -> Vec<Entry> {
    let mut found = match language {
        Language::Cuda => cuda::entries(text),
        Language::Ptx => ptx::entries(text),
        Language::Python => Vec::new(),
    };
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|entry| seen.insert(entry.name.clone()));
    found
}
