//! Shapes: one assignment of an operator's parameters, with an id.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expr::{Scope, Value};

/// The value of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl Scalar {
    /// The value as expressions see it; text has none.
    pub fn value(&self) -> Option<Value> {
        match self {
            Self::Bool(value) => Some(Value::Int(i64::from(*value))),
            Self::Int(value) => Some(Value::Int(*value)),
            Self::Float(value) => Some(Value::Float(*value)),
            Self::Text(_) => None,
        }
    }
}

/// Named parameters in the operator's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Params(pub Vec<(String, Scalar)>);

impl Params {
    pub fn get(&self, name: &str) -> Option<&Scalar> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Replaces a parameter's value, or adds it at the end.
    pub fn set(&mut self, name: &str, value: Scalar) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

impl Scope for Params {
    fn lookup(&self, name: &str) -> Option<Value> {
        self.get(name).and_then(Scalar::value)
    }
}

/// `token_count=24752 hidden_size=1280`
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{name}={value}")?;
        }
        Ok(())
    }
}

/// One shape of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Unique within the operator; the published suites number theirs.
    pub id: String,
    pub params: Params,
}
