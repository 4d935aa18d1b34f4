//! Writing to standard output and standard error. A closed pipe (`| head`) ends the output, not the program.

use std::io::Write;

use serde::Serialize;

/// A line on standard output.
pub(super) fn line(text: impl AsRef<str>) {
    // Whoever reads has stopped reading: there is nobody to tell.
    let _ = writeln!(std::io::stdout().lock(), "{}", text.as_ref());
}

/// A line on standard error.
pub(super) fn note(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
}

/// One JSON document on standard output.
pub(super) fn json(document: &impl Serialize) {
    match serde_json::to_string_pretty(document) {
        Ok(text) => line(text),
        Err(error) => note(format!("the document cannot be written as JSON: {error}")),
    }
}
