//! A recipe or a contract as problem files write it: its numbers may be expressions, worked out for each shape.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value as Json};

use crate::expr::{Expr, Value};
use crate::shape::Params;

/// A `T` (an internally tagged enum) of which numbers may depend on the shape: `atol = "0.05 / sqrt(seq_len)"`.
#[derive(Clone, Debug, PartialEq)]
pub struct PerShape<T> {
    /// The field that says which variant it is, and its value.
    tag: (&'static str, String),
    fields: Vec<(String, Field)>,
    of: PhantomData<T>,
}

/// One field of the variant.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Number(Expr),
    /// Text that stays text, such as the name of a parameter.
    Text(String),
}

impl<T: DeserializeOwned + Serialize> PerShape<T> {
    pub fn new(tag: (&'static str, String), fields: Vec<(String, Field)>) -> Self {
        Self {
            tag,
            fields,
            of: PhantomData,
        }
    }

    /// The variant's name in problem files, such as `normal` or `close`.
    pub fn variant(&self) -> &str {
        &self.tag.1
    }

    pub fn fields(&self) -> &[(String, Field)] {
        &self.fields
    }

    /// The value at one shape; `scope` is [`super::Operator::scope`].
    ///
    /// # Errors
    /// Where an expression does not work out, or the fields are not those of the variant.
    pub fn at(&self, scope: &Params) -> Result<T, String> {
        let mut object = Map::new();
        object.insert(self.tag.0.to_owned(), Json::String(self.tag.1.clone()));
        for (name, field) in &self.fields {
            let value = match field {
                Field::Text(text) => Json::String(text.clone()),
                Field::Number(expr) => {
                    let value = expr
                        .eval(scope)
                        .map_err(|error| format!("`{name} = \"{expr}\"`: {error}"))?;
                    json_number(value).ok_or_else(|| format!("`{name} = \"{expr}\"` is {value}"))?
                }
            };
            object.insert(name.clone(), value);
        }
        let value: T = serde_json::from_value(Json::Object(object)).map_err(|error| error.to_string())?;
        self.refuse_unused(&value)?;
        Ok(value)
    }
}

impl<T: Serialize> PerShape<T> {
    /// Serde lets unknown fields pass beside a variant that has none, so compare with what the value writes itself as.
    fn refuse_unused(&self, value: &T) -> Result<(), String> {
        let written = serde_json::to_value(value).map_err(|error| error.to_string())?;
        match self.fields.iter().find(|(name, _)| written.get(name).is_none()) {
            Some((name, _)) => Err(format!("`{}` has no field `{name}`", self.tag.1)),
            None => Ok(()),
        }
    }
}

fn json_number(value: Value) -> Option<Json> {
    match value {
        Value::Int(value) => Some(Json::Number(value.into())),
        Value::Float(value) => Number::from_f64(value).map(Json::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Contract, Recipe};
    use crate::shape::Scalar;

    fn number(text: &str) -> Field {
        Field::Number(Expr::parse(text).unwrap())
    }

    #[test]
    fn numbers_follow_the_shape() {
        let scope = Params(vec![("seq_len".to_owned(), Scalar::Int(400))]);
        let recipe: PerShape<Recipe> = PerShape::new(
            ("kind", "normal".to_owned()),
            vec![("std".to_owned(), number("1 / sqrt(seq_len)"))],
        );
        assert_eq!(recipe.at(&scope).unwrap(), Recipe::Normal { mean: 0.0, std: 0.05 });
        let error = recipe.at(&Params::default()).unwrap_err();
        assert_eq!(error, "`std = \"1 / sqrt(seq_len)\"`: unknown name `seq_len`");
    }

    #[test]
    fn a_wrong_field_is_named() {
        let contract: PerShape<Contract> =
            PerShape::new(("rule", "exact".to_owned()), vec![("atol".to_owned(), number("1"))]);
        assert!(contract.at(&Params::default()).unwrap_err().contains("atol"));
    }

    #[test]
    fn names_stay_text() {
        let recipe: PerShape<Recipe> = PerShape::new(
            ("kind", "offsets".to_owned()),
            vec![("total".to_owned(), Field::Text("total_tokens".to_owned()))],
        );
        let total = "total_tokens".to_owned();
        assert_eq!(recipe.at(&Params::default()).unwrap(), Recipe::Offsets { total });
    }
}
