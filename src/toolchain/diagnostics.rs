//! The compilers' messages, taken apart: severity, text, line, column, and the source line they point at.

use serde::{Deserialize, Serialize};

/// How bad a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
    Info,
}

/// One message of a compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: Severity,
    pub message: String,
    /// The header the message is about; `None` for the kernel file itself.
    pub file: Option<String>,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in characters.
    pub column: Option<u32>,
    /// The source line, trimmed.
    pub excerpt: Option<String>,
}

/// Reads NVRTC's log for a source that was given the name `name`.
pub(super) fn parse_nvrtc(log: &str, name: &str, source: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(mut diagnostic) = head(line, name) else {
            continue;
        };
        let mut body: Vec<&str> = Vec::new();
        while let Some(next) = lines.next_if(|next| !next.trim().is_empty() && head(next, name).is_none()) {
            if next.trim() == "^" {
                point(&mut diagnostic, body.pop(), next, source);
            } else {
                body.push(next);
            }
        }
        for more in body {
            diagnostic.message.push_str("; ");
            diagnostic.message.push_str(more.trim());
        }
        found.push(diagnostic);
    }
    found
}

/// `k.cu(4): error: ...`, `k.cu(3): warning #177-D: ...`, or the same without a place: `nvrtc: error: ...`.
fn head(line: &str, name: &str) -> Option<Diagnostic> {
    if line.starts_with(char::is_whitespace) {
        return None;
    }
    let (place, rest) = line.split_once(": ")?;
    let (label, message) = rest.split_once(": ")?;
    let label = label.split(" #").next()?;
    let severity = match label {
        "error" | "catastrophic error" | "internal error" => Severity::Error,
        "warning" => Severity::Warning,
        "remark" | "note" => Severity::Info,
        _ => return None,
    };
    let (file, number) = match place.strip_suffix(')').and_then(|place| place.rsplit_once('(')) {
        Some((file, number)) => (file, number.parse().ok()),
        None => (name, None),
    };
    Some(Diagnostic {
        severity,
        message: message.to_owned(),
        file: (file != name).then(|| file.to_owned()),
        line: number,
        column: None,
        excerpt: None,
    })
}

/// Takes the source line and the caret below it. The log indents the line, so the column is counted from its first
/// character and put back into the source's own line.
fn point(diagnostic: &mut Diagnostic, shown: Option<&str>, caret: &str, source: &str) {
    let Some(shown) = shown else { return };
    let indent = |line: &str| line.chars().take_while(|c| c.is_whitespace()).count();
    let into = indent(caret).saturating_sub(indent(shown));
    diagnostic.excerpt = Some(shown.trim().to_owned());
    let own = match (diagnostic.line, &diagnostic.file) {
        (Some(line), None) => source.lines().nth(line as usize - 1),
        _ => None,
    };
    if let Some(own) = own {
        diagnostic.column = Some((indent(own) + into + 1) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "#include <x>\nvoid f() {\n\tint unused = 3;\n    out[0] = undefined_name;\n}\n";

    #[test]
    fn a_log_becomes_diagnostics_in_editor_coordinates() {
        let log = "k.cu(4): error: identifier \"undefined_name\" is undefined\n      out[0] = undefined_name;\n               ^\n\n\
                   k.cu(3): warning #177-D: variable \"unused\" was declared but never referenced\n   \tint unused = 3;\n   \t    ^\n\n\
                   Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n\
                   inc/y.h(12): error: no instance of overloaded function\n            argument types are: (int)\n\n\
                   1 error detected in the compilation of \"k.cu\".\n";
        let found = parse_nvrtc(log, "k.cu", SOURCE);
        assert_eq!(found.len(), 3);
        assert_eq!(
            (found[0].severity, found[0].line, found[0].column),
            (Severity::Error, Some(4), Some(14))
        );
        assert_eq!(found[0].excerpt.as_deref(), Some("out[0] = undefined_name;"));
        assert_eq!(
            (found[1].severity, found[1].line, found[1].column),
            (Severity::Warning, Some(3), Some(6))
        );
        assert_eq!(found[2].file.as_deref(), Some("inc/y.h"));
        assert_eq!(
            found[2].message,
            "no instance of overloaded function; argument types are: (int)"
        );
    }

    #[test]
    fn messages_without_a_place_are_kept() {
        let found = parse_nvrtc(
            "nvrtc: error: invalid value for --gpu-architecture (-arch)\n",
            "k.cu",
            "",
        );
        assert_eq!(found[0].message, "invalid value for --gpu-architecture (-arch)");
        assert_eq!((found[0].line, &found[0].file), (None, &None));
    }
}
