//! JSON for floats that may be infinite or NaN, which JSON itself cannot hold: those are written as strings.

use serde::{Deserialize, Deserializer, Serializer};

/// For `#[serde(with = "crate::number")]`.
///
/// # Errors
/// As the serializer's.
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        serializer.serialize_str(&value.to_string())
    }
}

/// The other way.
///
/// # Errors
/// Where it is neither a number nor `NaN`, `inf`, `-inf`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(f64),
        Text(String),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(value) => Ok(value),
        Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}
