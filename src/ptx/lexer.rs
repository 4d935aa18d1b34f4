//! PTX text to tokens, one at a time.

use super::SyntaxError;
use super::ast::Pos;

/// One token with the place it starts at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) pos: Pos,
    /// The token as written.
    pub(super) text: &'a str,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// An identifier: `ld`, `%r1`, `$L__BB0_2`, `_`.
    Word(&'a str),
    /// A dotted word without its dot: `global`, `L1::no_allocate`, `2d`.
    Dotted(&'a str),
    Int(u64),
    /// A float; `bits` with their width for the `0f` and `0d` forms.
    Float {
        value: f64,
        bits: Option<(u64, u32)>,
    },
    /// A string without its quotes, escapes not yet decoded.
    Str(&'a str),
    /// A punctuation character; the two-character operators of constant expressions are joined by the parser.
    Punct(u8),
    End,
}

/// Splits PTX text into tokens.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Byte offset at which the current line starts.
    line_start: usize,
    /// A byte offset on the current line and its column: data arrays make lines of a megabyte, so columns are counted on.
    counted: (usize, u32),
}

const fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'%')
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            line_start: 0,
            counted: (0, 1),
        }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Columns count characters, as editors do.
    fn pos(&mut self) -> Pos {
        let (from, column) = self.counted;
        let passed = &self.text.as_bytes()[from..self.at];
        let characters = passed.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.counted = (self.at, column + characters as u32);
        Pos {
            line: self.line,
            column: self.counted.1,
        }
    }

    fn new_line(&mut self, start: usize) {
        self.line += 1;
        self.line_start = start;
        self.counted = (start, 1);
    }

    fn take_while(&mut self, accept: impl Fn(u8) -> bool) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|byte| !accept(*byte)).unwrap_or(rest.len());
    }

    /// Skips blanks, comments and lines that start with `#` (left by a preprocessor).
    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.at += 1;
                    self.new_line(self.at);
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(1) == b'/' => self.take_while(|byte| byte != b'\n'),
                b'/' if self.byte(1) == b'*' => self.skip_block_comment()?,
                b'#' if self.text[self.line_start..self.at].trim().is_empty() => self.take_while(|byte| byte != b'\n'),
                _ => return Ok(()),
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), SyntaxError> {
        let pos = self.pos();
        self.at += 2;
        while self.at < self.text.len() {
            match self.byte(0) {
                b'*' if self.byte(1) == b'/' => {
                    self.at += 2;
                    return Ok(());
                }
                b'\n' => self.new_line(self.at + 1),
                _ => {}
            }
            self.at += 1;
        }
        Err(SyntaxError::new(pos, "this comment has no end: expected `*/`"))
    }

    /// The next token; `End` for ever once the text is used up.
    pub(super) fn next(&mut self) -> Result<Token<'a>, SyntaxError> {
        self.skip_blanks()?;
        let start = self.at;
        let pos = self.pos();
        let kind = self.kind(pos)?;
        Ok(Token {
            kind,
            pos,
            text: &self.text[start..self.at],
        })
    }

    fn kind(&mut self, pos: Pos) -> Result<Kind<'a>, SyntaxError> {
        if self.at >= self.text.len() {
            return Ok(Kind::End);
        }
        let start = self.at;
        match self.byte(0) {
            b'.' if self.byte(1).is_ascii_digit() && !self.follows_word() => self.number(pos),
            b'.' => self.dotted(pos),
            byte if is_word_start(byte) && (byte != b'%' || is_word(self.byte(1))) => {
                self.at += 1;
                self.take_while(is_word);
                Ok(Kind::Word(&self.text[start..self.at]))
            }
            byte if byte.is_ascii_digit() => self.number(pos),
            b'"' => self.string(pos),
            byte @ (b',' | b';' | b':' | b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b'=' | b'+' | b'-'
            | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'~' | b'!' | b'?' | b'@') => {
                self.at += 1;
                Ok(Kind::Punct(byte))
            }
            _ => {
                let found = self.text[start..].chars().next().unwrap_or('?');
                Err(SyntaxError::new(
                    pos,
                    format!("`{}` has no meaning in PTX", found.escape_default()),
                ))
            }
        }
    }

    /// Whether the character just before is part of a word, so that `.2d` continues a modifier list.
    fn follows_word(&self) -> bool {
        self.at > 0 && is_word(self.text.as_bytes()[self.at - 1])
    }

    fn dotted(&mut self, pos: Pos) -> Result<Kind<'a>, SyntaxError> {
        self.at += 1;
        let start = self.at;
        self.take_while(is_word);
        while self.at > start && self.byte(0) == b':' && self.byte(1) == b':' && is_word(self.byte(2)) {
            self.at += 2;
            self.take_while(is_word);
        }
        if self.at == start {
            return Err(SyntaxError::new(pos, "expected a word after `.`"));
        }
        Ok(Kind::Dotted(&self.text[start..self.at]))
    }

    fn string(&mut self, pos: Pos) -> Result<Kind<'a>, SyntaxError> {
        self.at += 1;
        let start = self.at;
        loop {
            if self.at >= self.text.len() {
                return Err(SyntaxError::new(pos, "this string has no end: expected `\"`"));
            }
            match self.byte(0) {
                b'"' => break,
                b'\n' => {
                    return Err(SyntaxError::new(
                        pos,
                        "this string does not end on its line: expected `\"`",
                    ));
                }
                // A backslash guards the next character, of whatever length.
                b'\\' => {
                    self.at += 1;
                    if self.byte(0) != b'\n' {
                        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
                    }
                }
                _ => self.at += 1,
            }
        }
        let body = &self.text[start..self.at];
        self.at += 1;
        Ok(Kind::Str(body))
    }

    fn number(&mut self, pos: Pos) -> Result<Kind<'a>, SyntaxError> {
        let start = self.at;
        let digit = |byte: u8| byte.is_ascii_digit();
        if self.byte(0) == b'0' {
            match self.byte(1) {
                b'f' | b'F' => return self.float_bits(pos, 8),
                b'd' | b'D' => return self.float_bits(pos, 16),
                b'x' | b'X' => return self.radix(pos, 16, 2),
                b'b' | b'B' => return self.radix(pos, 2, 2),
                _ => {}
            }
        }
        self.take_while(digit);
        let mut float = false;
        if self.byte(0) == b'.' {
            float = true;
            self.at += 1;
            self.take_while(digit);
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if matches!(self.byte(0), b'e' | b'E') && self.byte(1 + sign).is_ascii_digit() {
            float = true;
            self.at += 1 + sign;
            self.take_while(digit);
        }
        if float {
            let text = &self.text[start..self.at];
            self.end_of_number(pos)?;
            let value = text
                .parse()
                .map_err(|_| SyntaxError::new(pos, format!("`{text}` is not a number")))?;
            return Ok(Kind::Float { value, bits: None });
        }
        self.at = start;
        let octal = self.byte(0) == b'0' && self.byte(1).is_ascii_digit();
        self.radix(pos, if octal { 8 } else { 10 }, usize::from(octal))
    }

    /// An integer whose digits start `prefix` bytes on, with an optional `U`.
    fn radix(&mut self, pos: Pos, radix: u32, prefix: usize) -> Result<Kind<'a>, SyntaxError> {
        let start = self.at;
        self.at += prefix;
        let digits = self.at;
        self.take_while(|byte| (byte as char).is_digit(radix));
        let digits = &self.text[digits..self.at];
        if matches!(self.byte(0), b'U' | b'u') {
            self.at += 1;
        }
        self.end_of_number(pos)?;
        let value = u64::from_str_radix(digits, radix).map_err(|_| {
            let text = &self.text[start..self.at];
            let why = if digits.is_empty() {
                "has no digits"
            } else {
                "does not fit in 64 bits"
            };
            SyntaxError::new(pos, format!("the integer `{text}` {why}"))
        })?;
        Ok(Kind::Int(value))
    }

    fn float_bits(&mut self, pos: Pos, digits: usize) -> Result<Kind<'a>, SyntaxError> {
        self.at += 2;
        let start = self.at;
        self.take_while(|byte| byte.is_ascii_hexdigit());
        let text = &self.text[start..self.at];
        self.end_of_number(pos)?;
        if text.len() != digits {
            return Err(SyntaxError::new(
                pos,
                format!(
                    "expected {digits} hexadecimal digits in this float, found {}",
                    text.len()
                ),
            ));
        }
        let bits = u64::from_str_radix(text, 16).map_err(|_| SyntaxError::new(pos, "not a hexadecimal float"))?;
        let value = if digits == 8 {
            f64::from(f32::from_bits(bits as u32))
        } else {
            f64::from_bits(bits)
        };
        Ok(Kind::Float {
            value,
            bits: Some((bits, digits as u32 * 4)),
        })
    }

    fn end_of_number(&self, pos: Pos) -> Result<(), SyntaxError> {
        if is_word(self.byte(0)) {
            let found = self.byte(0) as char;
            return Err(SyntaxError::new(pos, format!("`{found}` cannot follow this number")));
        }
        Ok(())
    }
}

/// Decodes `\n`, `\t`, `\\`, `\"`, `\ooo` and `\xhh`; any other escaped character stands for itself.
pub(super) fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('x') => out.push(code(&mut rest, 16, 2, 0)),
            Some(digit) if digit.is_digit(8) => out.push(code(&mut rest, 8, 2, digit.to_digit(8).unwrap_or(0))),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// Up to `most` further digits of a character code below 256.
fn code(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: u32, mut value: u32) -> char {
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value * radix + digit;
        rest.next();
    }
    char::from(value as u8)
}
