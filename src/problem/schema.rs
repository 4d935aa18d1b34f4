//! The TOML of a problem and of a suite, as serde reads it; every value that can be wrong keeps its place in the file.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::Role;
use crate::shape::Scalar;

/// `problem.toml`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProblem {
    pub(super) id: Option<String>,
    pub(super) weight: Option<Spanned<f64>>,
    pub(super) dtype: String,
    #[serde(default)]
    pub(super) phase: String,
    pub(super) maths: String,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    pub(super) params: Table<String>,
    #[serde(default)]
    pub(super) constants: Table<Scalar>,
    #[serde(default)]
    pub(super) derived: Table<String>,
    #[serde(rename = "tensor")]
    pub(super) tensors: Vec<RawTensor>,
    pub(super) cost: RawCost,
    pub(super) shapes: RawShapes,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawShapes {
    /// The suite's shapes.
    pub(super) table: Spanned<String>,
    /// Small ones of the same structure.
    pub(super) twins: Option<Spanned<String>>,
}

/// A table whose order is that of its values' places.
pub(super) type Table<T> = BTreeMap<String, Spanned<T>>;

/// The entries of a table in the order of the file.
pub(super) fn in_order<T>(table: &Table<T>) -> Vec<(&str, &Spanned<T>)> {
    let mut entries: Vec<_> = table.iter().map(|(name, value)| (name.as_str(), value)).collect();
    entries.sort_by_key(|(_, value)| value.span().start);
    entries
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTensor {
    pub(super) name: Spanned<String>,
    pub(super) role: Role,
    pub(super) dtype: Spanned<String>,
    pub(super) dims: Vec<Spanned<RawNumber>>,
    #[serde(default)]
    pub(super) recipes: Table<Table<RawNumber>>,
    /// The contract for every distribution that `contracts` does not name.
    pub(super) contract: Option<Spanned<Table<RawNumber>>>,
    #[serde(default)]
    pub(super) contracts: Table<Table<RawNumber>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCost {
    #[serde(default)]
    pub(super) flops: Table<String>,
    pub(super) bytes_read: Spanned<RawNumber>,
    pub(super) bytes_written: Spanned<RawNumber>,
}

/// A number, or an expression (or plain text) in quotes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum RawNumber {
    Int(i64),
    Float(f64),
    Text(String),
}

impl RawNumber {
    /// The number as an expression would write it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            // Debug keeps the point or the exponent, so that the expression is a float again.
            Self::Float(value) => format!("{value:?}"),
            Self::Text(text) => text.clone(),
        }
    }
}

/// `suite.toml`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSuite {
    pub(super) title: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) source: String,
}
