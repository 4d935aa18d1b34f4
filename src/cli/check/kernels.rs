//! Kernel files: their header, and their launch plan for every shape of the operator.

use std::path::{Path, PathBuf};

use super::Finding;
use crate::kernel::{self, ErrorKind, KernelError, KernelFile};
use crate::problem::{Catalogue, Operator, Source};
use crate::roofline::machine;

/// Checks a source of an operator.
pub(super) fn source(source: &Source, operator: &Operator) -> Vec<Finding> {
    let builtin = || PathBuf::from(format!("problems/{}/{}/{}", operator.suite, operator.name, source.name));
    let path = source.path.clone().unwrap_or_else(builtin);
    let file = match kernel::load(&path, Some(&source.text)) {
        Ok(file) => file,
        Err(error) => return of_error(&error).into_iter().collect(),
    };
    match &file.header.operator {
        Some(named) if *named != operator.name => vec![Finding {
            file: path.display().to_string(),
            line: None,
            message: format!(
                "the header says `{named}`, but the file is a kernel of `{}`",
                operator.name
            ),
            advice: Some("correct the header, or move the file".to_owned()),
        }],
        _ => plans(&file, operator),
    }
}

/// Checks a kernel file by itself, for the operator that its header names.
pub(super) fn file(path: &Path, catalogue: &Catalogue) -> Vec<Finding> {
    let file = match kernel::load(path, None) {
        Ok(file) => file,
        Err(error) => return of_error(&error).into_iter().collect(),
    };
    let wrong = |message: String, advice: &str| {
        vec![Finding {
            file: path.display().to_string(),
            line: None,
            message,
            advice: Some(advice.to_owned()),
        }]
    };
    match &file.header.operator {
        None => wrong(
            "the header names no operator".to_owned(),
            "add `operator = \"...\"` to it",
        ),
        Some(name) => match catalogue.operator(name) {
            Ok(operator) => plans(&file, operator),
            Err(error) => wrong(error.to_string(), "correct `operator` in the header"),
        },
    }
}

/// The first shape for which the plan does not work out says what is wrong with the header.
fn plans(file: &KernelFile, operator: &Operator) -> Vec<Finding> {
    let properties = machine::profile(machine::DEFAULT)
        .map(machine::MachineProfile::properties)
        .unwrap_or_default();
    let mut shapes = operator.shapes.iter().chain(&operator.twins);
    let first = shapes.find_map(|shape| file.plan(operator, shape, &properties, &[]).err());
    first.as_ref().and_then(of_error).into_iter().collect()
}

/// A language that cannot be run yet is no mistake of the file.
fn of_error(error: &KernelError) -> Option<Finding> {
    if error.kind == ErrorKind::Unsupported {
        return None;
    }
    Some(Finding {
        file: error.path.display().to_string(),
        line: error.line(),
        message: error.message.clone(),
        advice: error.advice.clone(),
    })
}
