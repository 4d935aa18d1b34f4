//! Holds the launches of a header against the entry points of the source: a wrong argument list is undefined behaviour on
//! a device, so it is refused here.

use std::path::Path;

use super::entries::{Entry, Parameter, ParameterKind};
use super::error::{ErrorKind, KernelError};
use super::place::{Place, Placed};
use super::{ArgSpec, Header, LaunchSpec};
use crate::suggest;

/// `header_end` is the byte offset behind the header's TOML in `text`.
pub(super) fn check(
    path: &Path,
    header: &Header,
    text: &str,
    header_end: usize,
    entries: &[Entry],
) -> Result<(), KernelError> {
    let wrong = |place: Place, message: String| KernelError::new(ErrorKind::Header, path, message).at(place);
    for launch in &header.launches {
        let name = launch.kernel.as_str();
        let Some(entry) = entries.iter().find(|entry| entry.name == name) else {
            // A macro may make the function: then only the compiler knows, and loading will tell.
            if has_word(&text[header_end..], name) {
                continue;
            }
            return Err(wrong(launch.kernel.place, unknown(name, entries)));
        };
        if !entry.by_name {
            let message = format!(
                "`{name}` in line {} is not `extern \"C\"` (or is a template), so it cannot be found by its name",
                entry.line
            );
            return Err(wrong(launch.kernel.place, message)
                .advise(format!("declare it as `extern \"C\" __global__ void {name}(...)`")));
        }
        arguments(launch, entry).map_err(|(place, message)| wrong(place, message))?;
    }
    Ok(())
}

fn unknown(name: &str, entries: &[Entry]) -> String {
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    if names.is_empty() {
        return format!("no kernel `{name}` in this file, which defines none");
    }
    format!(
        "no kernel `{name}` in this file{} (defined: {})",
        suggest::hint(name, names.iter().copied()),
        names.join(" ")
    )
}

fn arguments(launch: &LaunchSpec, entry: &Entry) -> Result<(), (Place, String)> {
    let (given, wanted) = (launch.args.len(), entry.parameters.len());
    if given != wanted {
        let message = format!(
            "`{}` in line {} has {wanted} parameters, but `args` holds {given}",
            entry.name, entry.line
        );
        return Err((launch.kernel.place, message));
    }
    for (arg, parameter) in launch.args.iter().zip(&entry.parameters) {
        if !fits(arg, parameter.kind) {
            return Err((arg.place, mismatch(arg, parameter)));
        }
    }
    Ok(())
}

fn fits(arg: &ArgSpec, kind: ParameterKind) -> bool {
    use super::ScalarType::{F32, F64, I32, I64, U32, U64};
    match (arg, kind) {
        (_, ParameterKind::Unknown) => true,
        (ArgSpec::Buffer(_), kind) => matches!(kind, ParameterKind::Pointer(_) | ParameterKind::Integer(8)),
        (ArgSpec::TensorMap(_), kind) => kind == ParameterKind::TensorMap,
        (ArgSpec::Scalar { ty: I32 | U32, .. }, kind) => matches!(kind, ParameterKind::Integer(1..=4)),
        (ArgSpec::Scalar { ty: I64 | U64, .. }, kind) => {
            matches!(kind, ParameterKind::Integer(8) | ParameterKind::Pointer(_))
        }
        (ArgSpec::Scalar { ty: F32, .. }, kind) => kind == ParameterKind::Float(4),
        (ArgSpec::Scalar { ty: F64, .. }, kind) => kind == ParameterKind::Float(8),
    }
}

fn mismatch(arg: &Placed<ArgSpec>, parameter: &Parameter) -> String {
    let given = match &arg.value {
        ArgSpec::Buffer(name) => format!("the address of `{name}`"),
        ArgSpec::TensorMap(name) => format!("the tensor map `{name}`"),
        ArgSpec::Scalar { ty, .. } => format!("a value of type {}", ty.name()),
    };
    let expected = match parameter.kind {
        ParameterKind::Pointer(_) => "a buffer's name",
        ParameterKind::Integer(8) => "`i64:` or `u64:`",
        ParameterKind::Integer(_) => "`i32:` or `u32:`",
        ParameterKind::Float(8) => "`f64:`",
        ParameterKind::Float(_) => "`f32:`",
        ParameterKind::TensorMap => "the name of a [[tensormap]]",
        ParameterKind::Unknown => "anything",
    };
    format!(
        "{given} for the parameter `{} {}`: expected {expected}",
        parameter.ty, parameter.name
    )
}

fn has_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$');
    text.match_indices(word)
        .any(|(at, _)| edge(text[..at].chars().next_back()) && edge(text[at + word.len()..].chars().next()))
}
