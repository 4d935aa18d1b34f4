//! `ridgepoint check`: everything wrong with problems, kernels and themes, each with its place and what to do.

mod kernels;
mod place;
mod themes;

use std::path::Path;

use serde::Serialize;

use super::args::CheckArgs;
use super::{Exit, print};
use crate::problem::{Broken, Catalogue, Operator, Role};
use place::Place;

/// The version of the JSON document's layout.
const SCHEMA: u32 = 1;

/// Something wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub file: String,
    /// From 1.
    pub line: Option<u32>,
    pub message: String,
    pub advice: Option<String>,
}

impl Finding {
    /// `file:line: message`, and the advice on a line of its own.
    fn text(&self) -> String {
        let line = self.line.map_or_else(String::new, |line| format!("{line}:"));
        let advice = self
            .advice
            .as_ref()
            .map_or_else(String::new, |advice| format!("\n    next: {advice}"));
        format!("{}:{line} {}{advice}", self.file, self.message)
    }
}

/// What was looked at and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub problems: usize,
    pub kernels: usize,
    pub themes: usize,
    pub findings: Vec<Finding>,
}

/// Runs the command.
pub fn run(args: &CheckArgs, problems: Option<&Path>) -> Exit {
    let report = match report(args.path.as_deref(), problems) {
        Ok(report) => report,
        Err(reason) => {
            print::note(format!("error: {reason}"));
            return Exit::Usage;
        }
    };
    if args.json {
        print::json(&serde_json::json!({
            "schema": SCHEMA,
            "problems": report.problems,
            "kernels": report.kernels,
            "themes": report.themes,
            "findings": report.findings,
        }));
    } else {
        for finding in &report.findings {
            print::line(finding.text());
        }
        print::line(summary(&report));
    }
    if report.findings.is_empty() {
        Exit::Passed
    } else {
        Exit::Failed
    }
}

fn summary(report: &Report) -> String {
    let found = match report.findings.len() {
        0 => "nothing wrong".to_owned(),
        1 => "1 finding".to_owned(),
        several => format!("{several} findings"),
    };
    format!(
        "{} problems, {} kernels, {} themes: {found}",
        report.problems, report.kernels, report.themes
    )
}

/// Checks what a path is, or everything there is.
///
/// # Errors
/// For a path that is not there, or is nothing that can be checked.
pub fn report(path: Option<&Path>, problems: Option<&Path>) -> Result<Report, String> {
    let mut report = Report::default();
    let place = path.map(Place::of).transpose()?;
    match place {
        None => {
            check_catalogue(&Catalogue::load(problems), None, &mut report);
            themes::all(&mut report);
        }
        Some(Place::Problems { root, prefix }) => {
            check_catalogue(&Catalogue::with_folder(&root, &prefix)?, Some(&root), &mut report);
            if report.problems + report.kernels == 0 && report.findings.is_empty() {
                return Err(format!(
                    "{}: no problem and no kernel below this folder",
                    root.display()
                ));
            }
        }
        Some(Place::Kernel(file)) => {
            report.kernels = 1;
            report.findings.extend(kernels::file(&file, &Catalogue::load(problems)));
        }
        Some(Place::Theme(file)) => themes::file(&file, &mut report)?,
    }
    Ok(report)
}

/// Checks every problem, or those with a file below `root`.
fn check_catalogue(catalogue: &Catalogue, root: Option<&Path>, report: &mut Report) {
    let is_below = |file: &Path| root.is_none_or(|root| file.starts_with(root));
    let broken: Vec<&Broken> = catalogue
        .broken
        .iter()
        .filter(|broken| is_below(&broken.file))
        .collect();
    let mut names: Vec<_> = broken.iter().map(|broken| (&broken.suite, &broken.name)).collect();
    names.dedup();
    report.problems += names.len();
    report.findings.extend(broken.into_iter().map(of_broken));
    for operator in &catalogue.operators {
        let all = operator.kernels.iter().chain(&operator.reference);
        let sources: Vec<_> = all
            .filter(|source| root.is_none() || source.path.as_deref().is_some_and(is_below))
            .collect();
        let file = catalogue.problem_file(operator);
        if file.map_or(root.is_none(), is_below) {
            report.problems += 1;
            report.findings.extend(unfinished(operator, file));
        }
        report.kernels += sources.len();
        for source in sources {
            report.findings.extend(kernels::source(source, operator));
        }
    }
}

fn of_broken(broken: &Broken) -> Finding {
    Finding {
        file: broken.file.display().to_string(),
        line: broken.line.and_then(|line| u32::try_from(line).ok()),
        message: broken.reason.clone(),
        advice: Some("problems/README.md in the source tree explains the format".to_owned()),
    }
}

/// A reference without what belongs to it. An operator without a reference is merely not there yet.
fn unfinished(operator: &Operator, file: Option<&Path>) -> Vec<Finding> {
    let builtin = || format!("problems/{}/{}/problem.toml", operator.suite, operator.name);
    let file = file.map_or_else(builtin, |file| file.display().to_string());
    let mut findings = Vec::new();
    if operator.reference.is_none() {
        return findings;
    }
    let mut add = |message: String, advice: &str| {
        findings.push(Finding {
            file: file.clone(),
            line: None,
            message,
            advice: Some(advice.to_owned()),
        });
    };
    for tensor in &operator.tensors {
        if tensor.role != Role::In && tensor.contracts.is_empty() {
            add(
                format!(
                    "`{}` has a reference, but its output `{}` has no contract",
                    operator.name, tensor.name
                ),
                "add `contract = { rule = ... }` to the tensor",
            );
        }
    }
    if operator.kernels.is_empty() {
        add(
            format!("`{}` has a reference, but no kernel to start from", operator.name),
            "add kernels/starter.cu beside it",
        );
    }
    if operator.twins.is_empty() {
        add(
            format!(
                "`{}` has a reference, but no small shapes for the emulator",
                operator.name
            ),
            "add `twins` to [shapes]",
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_built_in_has_no_mistake() {
        let empty = tempfile::tempdir().unwrap();
        let report = report(None, Some(empty.path())).unwrap();
        let texts: Vec<String> = report.findings.iter().map(Finding::text).collect();
        assert!(texts.is_empty(), "{}", texts.join("\n"));
        assert_eq!(
            (report.problems, report.themes),
            (
                30,
                crate::tui::theme::names(crate::tui::theme::user_folder().as_deref()).len()
            )
        );
        assert!(report.kernels >= 20, "{}", report.kernels);
    }

    #[test]
    fn one_operator_of_a_folder_is_checked_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let operator = folder.path().join("mine/twice");
        fs::create_dir_all(&operator).unwrap();
        fs::write(operator.join("problem.toml"), "dtype = \"f32\"\nmaths = 3\n").unwrap();
        for path in [
            folder.path(),
            &folder.path().join("mine"),
            &operator,
            &operator.join("problem.toml"),
        ] {
            let report = report(Some(path), None).unwrap();
            assert_eq!(report.problems, 1, "{}", path.display());
            let text = report.findings[0].text();
            assert!(
                text.contains("twice/problem.toml:2: invalid type: integer `3`"),
                "{text}"
            );
        }
    }

    #[test]
    fn kernels_of_a_builtin_operator_are_checked_against_it() {
        let folder = tempfile::tempdir().unwrap();
        let kernels = folder.path().join("atrex/rms_norm/kernels");
        fs::create_dir_all(&kernels).unwrap();
        let source = "/*---ridgepoint\noperator = \"rms_norm\"\n[[launch]]\nkernel = \"f\"\ngrid = [\"tokens\"]\nblock = [32]\nargs = [\"x\"]\n---*/\nextern \"C\" __global__ void f(void* x) {}\n";
        fs::write(kernels.join("bad.cu"), source).unwrap();
        for path in [folder.path().to_owned(), kernels.join("bad.cu")] {
            let report = report(Some(&path), None).unwrap();
            assert_eq!((report.kernels, report.findings.len()), (1, 1), "{:?}", report.findings);
            let finding = &report.findings[0];
            assert_eq!(finding.line, Some(5), "{finding:?}");
            assert!(finding.message.contains("tokens"), "{finding:?}");
        }
    }

    #[test]
    fn a_theme_is_checked_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let theme = folder.path().join("dusk.toml");
        fs::write(&theme, "text = 1").unwrap();
        let report = report(Some(&theme), None).unwrap();
        assert_eq!((report.problems, report.themes), (0, 1));
        assert!(
            report
                .findings
                .iter()
                .all(|finding| finding.file.ends_with("dusk.toml"))
        );
        assert!(!report.findings.is_empty());
    }

    #[test]
    fn a_path_that_is_nothing_is_a_wrong_call() {
        assert!(
            report(Some(Path::new("/no/such")), None)
                .unwrap_err()
                .contains("/no/such")
        );
        let empty = tempfile::tempdir().unwrap();
        assert!(
            report(Some(empty.path()), None)
                .unwrap_err()
                .contains("no problem and no kernel")
        );
    }
}
