//! `__global__` functions of CUDA C++.

use super::tokens::{Kind, Token, tokenize};
use super::{Entry, Parameter, ParameterKind};
use crate::dtype::DType;

/// Attributes with arguments that may stand between `__global__` and the function's name.
const ATTRIBUTES: [&str; 7] = [
    "__launch_bounds__",
    "__cluster_dims__",
    "__maxnreg__",
    "__block_size__",
    "__attribute__",
    "alignas",
    "__align__",
];

/// Words of a parameter that say nothing about its type.
const QUALIFIERS: [&str; 7] = [
    "const",
    "volatile",
    "__restrict__",
    "__restrict",
    "restrict",
    "__grid_constant__",
    "struct",
];

pub(super) fn entries(text: &str) -> Vec<Entry> {
    let tokens = tokenize(text, false);
    let mut found = Vec::new();
    // For every open brace, whether it is that of an `extern "C"` block.
    let mut braces: Vec<bool> = Vec::new();
    let mut declaration = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => {
                let head = &tokens[declaration..at];
                braces.push(head.len() == 2 && is_extern_c(head));
                declaration = at + 1;
            }
            "}" => {
                braces.pop();
                declaration = at + 1;
            }
            ";" if token.kind == Kind::Symbol => declaration = at + 1,
            "__global__" => {
                let head = &tokens[declaration..at];
                let template = head.iter().any(|token| token.text == "template");
                let by_name = is_extern_c(head) || is_extern_c(&tokens[at..]) || braces.contains(&true);
                if let Some(mut entry) = function(&tokens[at + 1..]) {
                    entry.by_name = by_name && !template;
                    found.push(entry);
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a declaration's words, up to its parameters, hold `extern "C"`.
fn is_extern_c(tokens: &[Token<'_>]) -> bool {
    tokens
        .iter()
        .take_while(|token| token.text != "(")
        .zip(tokens.iter().skip(1))
        .any(|(word, linkage)| word.text == "extern" && linkage.text == "\"C\"")
}

/// Reads what follows `__global__` up to the end of the parameters.
fn function(tokens: &[Token<'_>]) -> Option<Entry> {
    let mut at = 0;
    let mut name = None;
    loop {
        let token = tokens.get(at)?;
        match token.text {
            "(" => break,
            ";" | "{" | "}" => return None,
            word if ATTRIBUTES.contains(&word) && tokens.get(at + 1)?.text == "(" => {
                at = matching(tokens, at + 1)? + 1;
                continue;
            }
            "[" => {
                at = matching(tokens, at)? + 1;
                continue;
            }
            _ if token.kind == Kind::Word => name = Some(*token),
            _ => {}
        }
        at += 1;
    }
    let name = name?;
    let end = matching(tokens, at)?;
    Some(Entry {
        name: name.text.to_owned(),
        parameters: split(&tokens[at + 1..end])
            .iter()
            .filter_map(|part| parameter(part))
            .collect(),
        line: name.line,
        by_name: false,
    })
}

/// The index of the bracket that closes the one at `open`.
fn matching(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits parameters at the commas that are not inside brackets of any kind.
fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "<" | "{" => depth += 1,
            ")" | "]" | ">" | "}" => depth -= 1,
            "," if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

fn parameter(tokens: &[Token<'_>]) -> Option<Parameter> {
    let end = tokens
        .iter()
        .position(|token| token.text == "=")
        .unwrap_or(tokens.len());
    let array = tokens[..end].iter().position(|token| token.text == "[");
    let words: Vec<_> = tokens[..array.unwrap_or(end)]
        .iter()
        .filter(|token| !QUALIFIERS.contains(&token.text))
        .collect();
    let (last, ty) = words.split_last()?;
    // `void`, or a parameter without a name.
    let named = last.kind == Kind::Word && !ty.is_empty() && kind_of(&join(&words)) == ParameterKind::Unknown;
    let (name, ty) = if named {
        (last.text, join(ty))
    } else {
        ("", join(&words))
    };
    if ty == "void" && name.is_empty() {
        return None;
    }
    let ty = if array.is_some() { format!("{ty}*") } else { ty };
    Some(Parameter {
        name: name.to_owned(),
        kind: kind_of(&ty),
        ty,
    })
}

fn join(tokens: &[&Token<'_>]) -> String {
    let mut text = String::new();
    for token in tokens {
        let glue = token.kind == Kind::Symbol || text.ends_with([':', '<']) || text.is_empty();
        if !glue {
            text.push(' ');
        }
        text.push_str(token.text);
    }
    text
}

fn kind_of(ty: &str) -> ParameterKind {
    if let Some(element) = ty.strip_suffix('*') {
        return ParameterKind::Pointer(element_type(element.trim_end_matches('*')));
    }
    match ty.trim_start_matches("std::").trim_start_matches("::") {
        "bool" | "char" | "signed char" | "unsigned char" | "int8_t" | "uint8_t" => ParameterKind::Integer(1),
        "short" | "unsigned short" | "int16_t" | "uint16_t" => ParameterKind::Integer(2),
        "int" | "unsigned" | "unsigned int" | "signed int" | "int32_t" | "uint32_t" | "uint" => {
            ParameterKind::Integer(4)
        }
        "long" | "unsigned long" | "long int" | "long long" | "unsigned long long" | "long long int" | "int64_t"
        | "uint64_t" | "size_t" | "ptrdiff_t" => ParameterKind::Integer(8),
        "float" => ParameterKind::Float(4),
        "double" => ParameterKind::Float(8),
        "CUtensorMap" => ParameterKind::TensorMap,
        _ => ParameterKind::Unknown,
    }
}

/// The dtype that a C++ element type stands for. fp8 comes as `__nv_fp8_e4m3` or as bytes, which could be anything.
fn element_type(ty: &str) -> Option<DType> {
    Some(match ty.trim_start_matches("std::") {
        "double" => DType::F64,
        "float" => DType::F32,
        "half" | "__half" => DType::F16,
        "__nv_bfloat16" | "nv_bfloat16" => DType::Bf16,
        "__nv_fp8_e4m3" => DType::E4m3fn,
        "__nv_fp8_e5m2" => DType::E5m2,
        "long long" | "int64_t" => DType::I64,
        "int" | "int32_t" => DType::I32,
        "signed char" | "int8_t" => DType::I8,
        "unsigned" | "unsigned int" | "uint32_t" => DType::U32,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures() {
        let source = r#"
// extern "C" __global__ void commented(int x);
#define MAKE(name) extern "C" __global__ \
    void name(int x)
extern "C" __global__ void __launch_bounds__(256, 2)
rows(const __nv_bfloat16* __restrict__ x, float *out, int n, unsigned long long big, float eps = 1e-6f, double d[4]) {
    __shared__ float s[256];
}
template <typename T> __global__ void generic(T* x) {}
extern "C" {
__global__ void inside(const __grid_constant__ CUtensorMap map, std::pair<int, int> p, void) {}
}
__global__ void mangled(unsigned) { }
extern "C" __global__ void none(void) {}
"#;
        let found = entries(source);
        let brief: Vec<_> = found
            .iter()
            .map(|entry| (entry.name.as_str(), entry.parameters.len(), entry.line, entry.by_name))
            .collect();
        assert_eq!(
            brief,
            [
                ("rows", 6, 6, true),
                ("generic", 1, 9, false),
                ("inside", 2, 11, true),
                ("mangled", 1, 13, false),
                ("none", 0, 14, true),
            ]
        );
        let kinds: Vec<_> = found[0]
            .parameters
            .iter()
            .map(|parameter| (parameter.name.as_str(), parameter.kind))
            .collect();
        assert_eq!(
            kinds,
            [
                ("x", ParameterKind::Pointer(Some(DType::Bf16))),
                ("out", ParameterKind::Pointer(Some(DType::F32))),
                ("n", ParameterKind::Integer(4)),
                ("big", ParameterKind::Integer(8)),
                ("eps", ParameterKind::Float(4)),
                ("d", ParameterKind::Pointer(Some(DType::F64))),
            ]
        );
        assert_eq!(found[2].parameters[0].kind, ParameterKind::TensorMap);
        assert_eq!(
            found[3].parameters[0],
            Parameter {
                name: String::new(),
                ty: "unsigned".to_owned(),
                kind: ParameterKind::Integer(4),
            }
        );
    }

    #[test]
    fn broken_text_does_not_crash() {
        for text in [
            "__global__",
            "__global__ void f(",
            "__global__ void (",
            "extern \"C",
            "__global__ void f)]",
            "}}}{",
        ] {
            assert!(entries(text).is_empty(), "{text}");
        }
    }
}
