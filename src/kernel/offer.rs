//! A header for a file that has none: the operator's tensors and parameters matched to the kernels' parameters.

use std::fmt::Write;

use super::comment::{CLOSE, OPEN};
use super::entries::{Entry, Parameter, ParameterKind};
use crate::dtype::DType;
use crate::problem::{Operator, Role, TensorType};

/// Threads per block in an offered header; a kernel that needs another number says so in its source.
const BLOCK: u32 = 256;

/// A header comment, ready to be put on top of the file. Every match says how it was made; guesses say so.
///
/// Without an operator the parameters' own names are used, and the operator is left for the user to fill in.
pub fn offer_header(operator: Option<&Operator>, entries: &[Entry]) -> String {
    let mut text = format!("{OPEN}\n");
    // Writing to a string cannot fail.
    let _ = match operator {
        Some(operator) => writeln!(text, "operator = \"{}\"", operator.name),
        None => writeln!(
            text,
            "operator = \"?\"    # one of `ridgepoint list operators`; then name its tensors below"
        ),
    };
    let launchable = entries.iter().any(|entry| entry.by_name);
    for entry in entries.iter().filter(|entry| entry.by_name || !launchable) {
        launch(&mut text, operator, entry);
    }
    text + CLOSE + "\n"
}

fn launch(text: &mut String, operator: Option<&Operator>, entry: &Entry) {
    let grid = operator
        .and_then(|operator| operator.tensors.iter().find(|tensor| tensor.role != Role::In))
        .map_or_else(|| "1".to_owned(), |output| format!("{}.0", output.name));
    let _ = writeln!(text, "[[launch]]\nkernel = \"{}\"", entry.name);
    if !entry.by_name {
        text.push_str("# the function must be declared `extern \"C\"` to be found by this name\n");
    }
    let _ = writeln!(text, "grid = [\"{grid}\"]    # a guess: check");
    let _ = writeln!(text, "block = [{BLOCK}]    # a guess: check");
    text.push_str("args = [\n");
    for (arg, how) in arguments(operator, &entry.parameters).iter().zip(&entry.parameters) {
        let ty = if how.name.is_empty() {
            how.ty.clone()
        } else {
            format!("{} {}", how.ty, how.name)
        };
        let _ = writeln!(text, "  \"{}\",    # {ty}: {}", arg.0, arg.1);
    }
    text.push_str("]\n");
}

/// The argument for each parameter and how it was found.
fn arguments(operator: Option<&Operator>, parameters: &[Parameter]) -> Vec<(String, &'static str)> {
    let Some(operator) = operator else {
        return parameters
            .iter()
            .map(|parameter| (unmatched(parameter), "name the operator's tensor or parameter"))
            .collect();
    };
    let mut found: Vec<Option<(String, &'static str)>> = parameters
        .iter()
        .map(|parameter| by_name(operator, parameter))
        .collect();
    let used = |found: &[Option<(String, &str)>], name: &str| found.iter().flatten().any(|(arg, _)| arg == name);
    for (index, parameter) in parameters.iter().enumerate() {
        if found[index].is_some() || !may_point(parameter) {
            continue;
        }
        let element = match parameter.kind {
            ParameterKind::Pointer(element) => element,
            _ => None,
        };
        let free = || operator.tensors.iter().filter(|tensor| !used(&found, &tensor.name));
        let same = free().find(|tensor| element.is_some() && fixed(&tensor.dtype) == element);
        let any = free().find(|tensor| element.is_none() || fixed(&tensor.dtype).is_none());
        found[index] = match (same, any) {
            (Some(tensor), _) => Some((tensor.name.clone(), "by type and order: check")),
            (None, Some(tensor)) => Some((tensor.name.clone(), "by order: check")),
            (None, None) => None,
        };
    }
    found
        .into_iter()
        .zip(parameters)
        .map(|(arg, parameter)| arg.unwrap_or_else(|| (unmatched(parameter), "nothing matches: fill in")))
        .collect()
}

const fn may_point(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterKind::Pointer(_) | ParameterKind::Unknown)
}

fn fixed(dtype: &TensorType) -> Option<DType> {
    match dtype {
        TensorType::Fixed(dtype) => Some(*dtype),
        TensorType::Param(_) => None,
    }
}

fn by_name(operator: &Operator, parameter: &Parameter) -> Option<(String, &'static str)> {
    let wanted = plain(&parameter.name);
    if may_point(parameter)
        && let Some(tensor) = operator.tensors.iter().find(|tensor| plain(&tensor.name) == wanted)
    {
        return Some((tensor.name.clone(), "by name"));
    }
    let names = operator.params.iter().map(|param| &param.name);
    let constants = operator.constants.0.iter().map(|(name, _)| name);
    let name = names.chain(constants).find(|name| plain(name) == wanted)?;
    (!matches!(parameter.kind, ParameterKind::Pointer(_) | ParameterKind::TensorMap))
        .then(|| (format!("{}:{name}", scalar(parameter)), "by name"))
}

/// A name without case and the decorations that pointers get: `d_x`, `p_x`, `x_ptr`.
fn plain(name: &str) -> String {
    let name = name.to_lowercase();
    let name = name
        .strip_prefix("d_")
        .or_else(|| name.strip_prefix("p_"))
        .unwrap_or(&name);
    name.strip_suffix("_ptr").unwrap_or(name).to_owned()
}

const fn scalar(parameter: &Parameter) -> &'static str {
    match parameter.kind {
        ParameterKind::Integer(8) => "i64",
        ParameterKind::Float(8) => "f64",
        ParameterKind::Float(_) => "f32",
        _ => "i32",
    }
}

fn unmatched(parameter: &Parameter) -> String {
    let name = if parameter.name.is_empty() {
        "?"
    } else {
        &parameter.name
    };
    match parameter.kind {
        ParameterKind::Integer(_) | ParameterKind::Float(_) => format!("{}:{name}", scalar(parameter)),
        _ => name.to_owned(),
    }
}
