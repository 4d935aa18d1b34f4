//! From command-line arguments to a run request, and the mistakes in a call that need no device to be seen.

use std::path::{Path, PathBuf};

use super::args::TargetArgs;
use crate::kernel;
use crate::measure::{DEFAULT_KERNEL_LIMIT_S, DEFAULT_SEEDS, RunRequest, build};
use crate::problem::{Catalogue, Operator};
use crate::verdict::{Class, Verdict};

/// A kernel as the command line names it, with what the history needs.
pub struct Named {
    pub request: RunRequest,
    /// What identifies the file between runs: its absolute path, or a built-in kernel's name.
    pub file: String,
    /// The text, where it could be read.
    pub text: Option<String>,
}

/// Makes the request for one kernel.
///
/// # Errors
/// For a call that is wrong whatever the kernel does: exit status 2.
pub fn named(
    kernel: &str,
    target: &TargetArgs,
    catalogue: &Catalogue,
    problems: Option<&Path>,
) -> Result<Named, Box<Verdict>> {
    let path = PathBuf::from(kernel);
    let builtin = (!path.exists()).then(|| build::builtin(catalogue, &path)).flatten();
    if builtin.is_none() && !path.exists() {
        return Err(Box::new(no_kernel(kernel, catalogue)));
    }
    // Read here, so that the text kept in the history is the one that ran. What cannot be read is the worker's to explain.
    let text = match &builtin {
        Some(source) => Some(source.text.to_string()),
        None => read(&path),
    };
    let request = RunRequest {
        kernel_text: if builtin.is_some() { None } else { text.clone() },
        operator: target.op.clone(),
        shapes: list(target.shape.as_deref()),
        problems: problems.map(Path::to_owned),
        seed: target.seed,
        seeds: target.seeds.unwrap_or(DEFAULT_SEEDS),
        distributions: list(Some(&target.dist)),
        tune: tunables(&target.tune)?,
        cold: !target.warm,
        kernel_limit_s: limit(target.kernel_limit)?,
        ..RunRequest::new(&path)
    };
    let file = match &builtin {
        Some(_) => kernel.to_owned(),
        None => path
            .canonicalize()
            .unwrap_or_else(|_| path.clone())
            .display()
            .to_string(),
    };
    // A built-in kernel's language is in its file's name, not in the name it goes by.
    let named_path = builtin
        .as_ref()
        .map_or_else(|| path.clone(), |source| PathBuf::from(&source.name));
    check(&request, &named_path, text.as_deref(), catalogue)?;
    Ok(Named { request, file, text })
}

fn read(path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > kernel::MAX_FILE_BYTES {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

fn list(text: Option<&str>) -> Vec<String> {
    let items = text.unwrap_or_default().split(',').map(str::trim);
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

fn tunables(given: &[String]) -> Result<Vec<(String, i64)>, Box<Verdict>> {
    given
        .iter()
        .map(|text| {
            let parsed = text
                .split_once('=')
                .and_then(|(name, value)| Some((name.trim().to_owned(), value.trim().parse().ok()?)));
            parsed.ok_or_else(|| {
                Box::new(wrong(format!(
                    "`--tune {text}`: expected NAME=VALUE with a whole number, as in `--tune BLOCK=256`"
                )))
            })
        })
        .collect()
}

/// Seconds beyond which a limit is no limit.
const MAX_LIMIT_S: f64 = 86_400.0;

fn limit(given: Option<f64>) -> Result<f64, Box<Verdict>> {
    match given {
        None => Ok(DEFAULT_KERNEL_LIMIT_S),
        Some(seconds) if seconds > 0.0 && seconds <= MAX_LIMIT_S => Ok(seconds),
        Some(seconds) => Err(Box::new(wrong(format!(
            "`--kernel-limit {seconds}`: expected seconds over 0, up to {MAX_LIMIT_S}"
        )))),
    }
}

fn wrong(reason: impl Into<String>) -> Verdict {
    Verdict::new(Class::InvalidKernel, reason)
}

fn no_kernel(kernel: &str, catalogue: &Catalogue) -> Verdict {
    let verdict = wrong(format!("no file `{kernel}`, and no built-in kernel of that name"));
    let Some(operator) = kernel.split('/').next().and_then(|name| catalogue.operator(name).ok()) else {
        return verdict.try_next("check the path; `ridgepoint list kernels` shows the built-in kernels");
    };
    let names: Vec<String> = operator
        .kernels
        .iter()
        .map(|source| format!("{}/{}", operator.name, stem(&source.name)))
        .collect();
    verdict.try_next(format!("built-in kernels of `{}`: {}", operator.name, names.join(", ")))
}

/// `starter` of `kernels/starter.cu`.
pub fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// Names given in the call that do not exist. What is wrong in the kernel file itself is left to the run.
fn check(request: &RunRequest, path: &Path, text: Option<&str>, catalogue: &Catalogue) -> Result<(), Box<Verdict>> {
    let operator = match &request.operator {
        Some(name) => Some(catalogue.operator(name).map_err(|unknown| {
            Box::new(wrong(unknown.reason).try_next("`ridgepoint list operators` shows the names"))
        })?),
        None => text
            .and_then(|text| kernel::load(path, Some(text)).ok())
            .and_then(|file| catalogue.operator(file.header.operator.as_deref()?).ok()),
    };
    let Some(operator) = operator else {
        return Ok(());
    };
    check_shapes(request, operator)?;
    check_distributions(request, operator)
}

fn check_shapes(request: &RunRequest, operator: &Operator) -> Result<(), Box<Verdict>> {
    // The kind of device matters only for the default set.
    crate::measure::selection::select(operator, &request.shapes, crate::device::DeviceKind::Cuda).map(|_| ())
}

fn check_distributions(request: &RunRequest, operator: &Operator) -> Result<(), Box<Verdict>> {
    crate::measure::inputs::cases(operator, request.seed, request.seeds, &request.distributions).map(|_| ())
}
