//! `.entry` functions of PTX.

use super::tokens::{Token, tokenize};
use super::{Entry, Parameter, ParameterKind};

/// A `CUtensorMap` in parameter space: its size in bytes (CUDA driver API).
const TENSOR_MAP_BYTES: &str = "128";

pub(super) fn entries(text: &str) -> Vec<Entry> {
    let tokens = tokenize(text, true);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text != ".entry" {
            continue;
        }
        let Some(name) = tokens.get(at + 1) else { break };
        let parameters = match tokens.get(at + 2) {
            Some(open) if open.text == "(" => list(&tokens[at + 3..]),
            _ => Vec::new(),
        };
        found.push(Entry {
            name: name.text.to_owned(),
            parameters,
            line: name.line,
            by_name: true,
        });
    }
    found
}

fn list(tokens: &[Token<'_>]) -> Vec<Parameter> {
    let end = tokens.iter().position(|token| token.text == ")").unwrap_or(0);
    tokens[..end]
        .split(|token| token.text == ",")
        .filter_map(parameter)
        .collect()
}

/// `.param .u64 .ptr .global .align 16 name` or `.param .align 64 .b8 name[128]`.
fn parameter(tokens: &[Token<'_>]) -> Option<Parameter> {
    let array = tokens.iter().position(|token| token.text == "[");
    let name = tokens[..array.unwrap_or(tokens.len())].last()?;
    let has = |directive: &str| tokens.iter().any(|token| token.text == directive);
    let ty = tokens.iter().map(|token| token.text).find(
        |text| matches!(text.as_bytes(), [b'.', b'u' | b's' | b'f' | b'b', digit, ..] if digit.is_ascii_digit()),
    )?;
    let bytes = ty[2..].parse::<u32>().map_or(0, |bits| bits / 8);
    let kind = match array.and_then(|at| tokens.get(at + 1)) {
        Some(length) if length.text == TENSOR_MAP_BYTES && has("64") => ParameterKind::TensorMap,
        Some(_) => ParameterKind::Unknown,
        None if has(".ptr") => ParameterKind::Pointer(None),
        None if ty.starts_with(".f") => ParameterKind::Float(bytes),
        // Untyped bits may hold either, and 64 of them an address too.
        None if ty.starts_with(".b") || bytes == 8 => ParameterKind::Unknown,
        None => ParameterKind::Integer(bytes),
    };
    Some(Parameter {
        name: name.text.to_owned(),
        ty: ty.to_owned(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures() {
        let source = "
.version 9.0
.target sm_80
// .entry commented()
.visible .entry rows(
\t.param .u64 .ptr .global .align 1 rows_param_0,
\t.param .u64 rows_param_1,
\t.param .u32 rows_param_2,
\t.param .f32 rows_param_3,
\t.param .align 64 .b8 rows_param_4[128]
)
.maxntid 128
{ ret; }
.visible .entry none() { ret; }
.entry bare { ret; }
";
        let found = entries(source);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].name.as_str(), found[0].line), ("rows", 5));
        let kinds: Vec<_> = found[0].parameters.iter().map(|parameter| parameter.kind).collect();
        assert_eq!(
            kinds,
            [
                ParameterKind::Pointer(None),
                ParameterKind::Unknown,
                ParameterKind::Integer(4),
                ParameterKind::Float(4),
                ParameterKind::TensorMap,
            ]
        );
        assert_eq!(found[0].parameters[4].name, "rows_param_4");
        assert!(found[1].parameters.is_empty() && found[2].parameters.is_empty());
    }
}
