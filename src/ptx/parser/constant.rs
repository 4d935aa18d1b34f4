//! Constant expressions: 64-bit integer arithmetic in C's precedence, worked out while parsing.

use super::{Kind, Parsed, Parser, SyntaxError};

/// The binary operators, loosest first: (text, precedence).
const BINARY: [(&str, u8); 18] = [
    ("||", 1),
    ("&&", 2),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("==", 6),
    ("!=", 6),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

impl Parser<'_> {
    /// Whether a constant expression starts here.
    pub(super) fn at_constant(&self) -> bool {
        matches!(
            self.token.kind,
            Kind::Int(_) | Kind::Punct(b'-' | b'+' | b'~' | b'(' | b'!')
        )
    }

    /// A whole constant expression, with `condition ? a : b`.
    pub(super) fn constant(&mut self) -> Parsed<i128> {
        self.nested(|parser| {
            let value = parser.binary(0)?;
            if !parser.eat(b'?')? {
                return Ok(value);
            }
            let yes = parser.constant()?;
            parser.expect(b':', "between the two sides of `?`")?;
            let no = parser.constant()?;
            Ok(if value == 0 { no } else { yes })
        })
    }

    /// The operator at the cursor and how many tokens it takes.
    fn operator(&self) -> Option<(&'static str, u8, usize)> {
        let Kind::Punct(first) = self.token.kind else {
            return None;
        };
        let second = match self.following.kind {
            Kind::Punct(second) => second,
            _ => 0,
        };
        let two = [first, second];
        BINARY.iter().find_map(|(text, precedence)| {
            let bytes = text.as_bytes();
            (two.starts_with(bytes)).then_some((*text, *precedence, bytes.len()))
        })
    }

    fn binary(&mut self, lowest: u8) -> Parsed<i128> {
        let mut left = self.unary()?;
        while let Some((text, precedence, tokens)) = self.operator() {
            if precedence <= lowest {
                break;
            }
            let pos = self.token.pos;
            for _ in 0..tokens {
                self.advance()?;
            }
            let right = self.nested(|parser| parser.binary(precedence))?;
            left = apply(text, left, right)
                .ok_or_else(|| SyntaxError::new(pos, format!("`{left} {text} {right}` has no value")))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<i128> {
        match self.token.kind {
            Kind::Int(value) => {
                self.advance()?;
                Ok(i128::from(value))
            }
            Kind::Punct(sign @ (b'-' | b'+' | b'~' | b'!')) => {
                self.advance()?;
                let value = self.nested(Self::unary)?;
                Ok(match sign {
                    b'-' => -value,
                    b'~' => !value,
                    b'!' => i128::from(value == 0),
                    _ => value,
                })
            }
            Kind::Punct(b'(') => {
                self.advance()?;
                if let Kind::Dotted(cast @ ("s64" | "u64")) = self.token.kind {
                    self.advance()?;
                    self.expect(b')', "after the type of a cast")?;
                    let value = self.nested(Self::unary)?;
                    return Ok(if cast == "s64" {
                        i128::from(value as i64)
                    } else {
                        i128::from(value as u64)
                    });
                }
                let value = self.constant()?;
                self.expect(b')', "to close the expression")?;
                Ok(value)
            }
            _ => self.expected("an integer"),
        }
    }

    /// A constant expression that fits in a signed 64-bit offset.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let pos = self.token.pos;
        let value = self.constant()?;
        i64::try_from(value)
            .or_else(|_| u64::try_from(value).map(|value| value as i64))
            .map_err(|_| SyntaxError::new(pos, format!("the offset {value} does not fit in 64 bits")))
    }
}

/// Results wrap to 64 bits, signed where they went below zero.
fn apply(operator: &str, left: i128, right: i128) -> Option<i128> {
    let wide = match operator {
        "||" => i128::from(left != 0 || right != 0),
        "&&" => i128::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i128::from(left == right),
        "!=" => i128::from(left != right),
        "<=" => i128::from(left <= right),
        ">=" => i128::from(left >= right),
        "<" => i128::from(left < right),
        ">" => i128::from(left > right),
        "<<" => left.checked_shl(u32::try_from(right).ok()?.min(64))?,
        ">>" => left.checked_shr(u32::try_from(right).ok()?.min(64))?,
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "/" => left.checked_div(right)?,
        "%" => left.checked_rem(right)?,
        _ => return None,
    };
    Some(if wide < 0 {
        i128::from(wide as i64)
    } else {
        i128::from(wide as u64)
    })
}
