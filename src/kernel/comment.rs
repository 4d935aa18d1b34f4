//! Finding the header: the TOML inside a leading comment of a `.cu` or `.ptx` file.

use std::ops::Range;

/// What opens the header; it stands alone on its line.
pub(super) const OPEN: &str = "/*---ridgepoint";
/// What closes it.
pub(super) const CLOSE: &str = "---*/";

/// Where the header is, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Byte range of the TOML text.
    Toml(Range<usize>),
    Missing,
    Broken {
        offset: usize,
        message: String,
    },
}

/// Looks for the header behind nothing but white space and other comments.
pub(super) fn find(text: &str) -> Found {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        at += rest.len() - trimmed.len();
        if trimmed.starts_with(OPEN) {
            return header(text, at);
        }
        let end = if trimmed.starts_with("//") {
            trimmed.find('\n').map(|end| end + 1)
        } else if let Some(inside) = trimmed.strip_prefix("/*") {
            inside.find("*/").map(|end| end + 4)
        } else {
            return behind_code(text, at);
        };
        match end {
            Some(end) => at += end,
            None => return Found::Missing,
        }
    }
}

fn header(text: &str, open: usize) -> Found {
    let broken = |offset: usize, message: &str| Found::Broken {
        offset,
        message: message.to_owned(),
    };
    let behind = open + OPEN.len();
    let line_end = text[behind..].find('\n').map_or(text.len(), |end| behind + end);
    let Some(end) = text[behind..].find("*/").map(|end| behind + end) else {
        return broken(open, "the header comment is never closed; expected `---*/` behind it");
    };
    if !text[behind..line_end.min(end)].trim().is_empty() {
        return broken(behind, "expected the end of the line behind `/*---ridgepoint`");
    }
    if !text[..end].ends_with("---") || end < line_end {
        return broken(end, "`*/` ends the header comment early; expected `---*/`");
    }
    Found::Toml(line_end + 1..end - 3)
}

/// A header that comes too late is an error of its own: silently ignoring it would be a riddle.
fn behind_code(text: &str, code: usize) -> Found {
    let late = text[code..]
        .match_indices(OPEN)
        .map(|(at, _)| code + at)
        .find(|at| *at == 0 || text[..*at].ends_with('\n'));
    match late {
        Some(offset) => Found::Broken {
            offset,
            message: "the header must come before the first line of code".to_owned(),
        },
        None => Found::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str) -> Option<&str> {
        match find(text) {
            Found::Toml(range) => Some(&text[range]),
            _ => None,
        }
    }

    #[test]
    fn found_behind_comments_only() {
        assert_eq!(toml("/*---ridgepoint\na = 1\n---*/\nint x;"), Some("a = 1\n"));
        assert_eq!(
            toml("// licence\n/* more */\r\n/*---ridgepoint\r\na = 1\r\n---*/"),
            Some("a = 1\r\n")
        );
        assert_eq!(toml("\u{feff}/*---ridgepoint\n---*/"), Some(""));
        for none in ["", "int x;", "// only a comment", "/* open", "/*---ridge"] {
            assert_eq!(find(none), Found::Missing, "{none}");
        }
    }

    #[test]
    fn broken_ones_are_named() {
        for (text, at) in [
            ("int x;\n/*---ridgepoint\n---*/", 7),
            ("/*---ridgepoint\na = 1", 0),
            ("/*---ridgepoint a = 1\n---*/", 15),
            ("/*---ridgepoint\na = 1 */", 22),
            ("/*---ridgepoint ---*/", 15),
        ] {
            assert!(
                matches!(find(text), Found::Broken { offset, .. } if offset == at),
                "{text}: {:?}",
                find(text)
            );
        }
    }
}
