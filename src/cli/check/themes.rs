//! Themes: what their reader warns of.

use std::path::Path;

use super::{Finding, Report};
use crate::tui::theme::{self, Warning};

/// Checks the built-in themes and the user's.
pub(super) fn all(report: &mut Report) {
    let folder = theme::user_folder();
    for name in theme::names(folder.as_deref()) {
        let (_, warnings) = theme::by_name(&name, folder.as_deref());
        add(warnings, report);
    }
}

/// Checks one file.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn file(path: &Path, report: &mut Report) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (_, warnings) = theme::parse(&path.display().to_string(), &text);
    add(warnings, report);
    Ok(())
}

fn add(warnings: Vec<Warning>, report: &mut Report) {
    report.themes += 1;
    report.findings.extend(warnings.into_iter().map(|warning| Finding {
        file: warning.file,
        line: None,
        message: warning.message,
        advice: Some("a theme that is wrong falls back to the default's colours".to_owned()),
    }));
}
