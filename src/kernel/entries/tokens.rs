//! A light tokenizer for C-like text: enough to read signatures. Comments and preprocessor lines are left out.

/// A token and the line it starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identifiers; with `dotted`, also PTX directives such as `.entry`.
    Word,
    /// String and character literals, quotes included.
    Text,
    /// Anything else, one character each; numbers come as words.
    Symbol,
}

/// Splits C++ (`dotted: false`) or PTX (`dotted: true`) into tokens.
pub(super) fn tokenize(text: &str, dotted: bool) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    let mut line_start = true;
    while let Some(first) = rest.chars().next() {
        let (length, kind) = next(rest, first, dotted, line_start);
        let token = &rest[..length];
        if let Some(kind) = kind {
            tokens.push(Token {
                kind,
                text: token,
                line,
            });
        }
        line += token.matches('\n').count() as u32;
        line_start = token.ends_with('\n') || (line_start && kind.is_none());
        rest = &rest[length..];
    }
    tokens
}

/// The length of the next piece, and its kind unless it is to be left out.
fn next(rest: &str, first: char, dotted: bool, line_start: bool) -> (usize, Option<Kind>) {
    let to = |end: Option<usize>| end.unwrap_or(rest.len());
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if first.is_whitespace() {
        return (first.len_utf8(), None);
    }
    if rest.starts_with("//") {
        return (to(rest.find('\n')), None);
    }
    if let Some(inside) = rest.strip_prefix("/*") {
        return (to(inside.find("*/").map(|end| end + 4)), None);
    }
    if first == '#' && line_start && !dotted {
        return (directive(rest), None);
    }
    if first == '"' || first == '\'' {
        return (literal(rest, first), Some(Kind::Text));
    }
    if is_word(first) || first == '%' {
        let behind = first.len_utf8();
        return (
            to(rest[behind..].find(|c| !is_word(c)).map(|end| end + behind)),
            Some(Kind::Word),
        );
    }
    if dotted && first == '.' {
        return (to(rest[1..].find(|c| !is_word(c)).map(|end| end + 1)), Some(Kind::Word));
    }
    (first.len_utf8(), Some(Kind::Symbol))
}

/// A preprocessor line with its continuations, without the last line break.
fn directive(rest: &str) -> usize {
    let mut from = 0;
    while let Some(end) = rest[from..].find('\n').map(|end| from + end) {
        if !rest[..end].trim_end_matches('\r').ends_with('\\') {
            return end;
        }
        from = end + 1;
    }
    rest.len()
}

fn literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // An unterminated literal ends with its line: the compiler will say so.
            '\n' => return at,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}
