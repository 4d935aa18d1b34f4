//! Text to expression tree.

use super::{BinaryOp, ExprError, Function, Kind, Node, Value};

/// Parentheses, calls and signs inside one another; far above any honest expression, far below the stack's limit.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(Value),
    Name(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn describe(&self) -> String {
        match self {
            Self::Number(value) => format!("`{value}`"),
            Self::Name(name) => format!("`{name}`"),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

const SYMBOLS: [&str; 14] = ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

/// Binary operators by binding strength, loosest first.
const LEVELS: [&[(&str, BinaryOp)]; 3] = [
    &[
        ("==", BinaryOp::Eq),
        ("!=", BinaryOp::Ne),
        ("<=", BinaryOp::Le),
        (">=", BinaryOp::Ge),
        ("<", BinaryOp::Lt),
        (">", BinaryOp::Gt),
    ],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Sub)],
    &[("*", BinaryOp::Mul), ("/", BinaryOp::Div), ("%", BinaryOp::Rem)],
];

pub(super) fn parse(text: &str) -> Result<Node, ExprError> {
    let mut parser = Parser {
        tokens: tokenize(text)?,
        at: 0,
    };
    let node = parser.level(0, 0)?;
    match parser.peek() {
        Token::End => Ok(node),
        other => Err(parser.error(format!("expected an operator or the end, found {}", other.describe()))),
    }
}

fn tokenize(text: &str) -> Result<Vec<(usize, Token)>, ExprError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let offset = text[..text.len() - rest.len()].chars().count();
        let Some(first) = rest.chars().next() else {
            tokens.push((text.chars().count(), Token::End));
            return Ok(tokens);
        };
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            number(rest, offset)?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
                .unwrap_or(rest.len());
            (Token::Name(rest[..length].to_owned()), length)
        } else if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return Err(ExprError {
                offset,
                message: format!("unexpected character `{first}`"),
            });
        };
        tokens.push((offset, token));
        rest = &rest[length..];
    }
}

fn number(rest: &str, offset: usize) -> Result<(Token, usize), ExprError> {
    let bad = |text: &str| ExprError {
        offset,
        message: format!("`{text}` is not a number this program can hold"),
    };
    if let Some(digits) = rest.strip_prefix("0x") {
        let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let value = i64::from_str_radix(&digits[..length], 16).map_err(|_| bad(&rest[..length + 2]))?;
        return Ok((Token::Number(Value::Int(value)), length + 2));
    }
    let mut length = 0;
    let bytes = rest.as_bytes();
    while length < bytes.len() {
        let exponent_sign =
            matches!(bytes[length], b'+' | b'-') && length > 0 && matches!(bytes[length - 1], b'e' | b'E');
        if !(bytes[length].is_ascii_digit() || matches!(bytes[length], b'.' | b'e' | b'E') || exponent_sign) {
            break;
        }
        length += 1;
    }
    let text = &rest[..length];
    let value = if text.contains(['.', 'e', 'E']) {
        Value::Float(text.parse().map_err(|_| bad(text))?)
    } else {
        Value::Int(text.parse().map_err(|_| bad(text))?)
    };
    Ok((Token::Number(value), length))
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].1
    }

    fn offset(&self) -> usize {
        self.tokens[self.at].0
    }

    fn error(&self, message: String) -> ExprError {
        ExprError {
            offset: self.offset(),
            message,
        }
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Token::Symbol(here) if *here == symbol);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), ExprError> {
        if self.take(symbol) {
            return Ok(());
        }
        Err(self.error(format!("expected `{symbol}`, found {}", self.peek().describe())))
    }

    fn level(&mut self, level: usize, depth: usize) -> Result<Node, ExprError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary(depth);
        };
        let mut left = self.level(level + 1, depth)?;
        while let Some((_, op)) = operators
            .iter()
            .find(|(symbol, _)| matches!(self.peek(), Token::Symbol(here) if here == symbol))
        {
            let offset = self.offset();
            self.at += 1;
            let right = self.level(level + 1, depth)?;
            left = Node {
                offset,
                kind: Kind::Binary(*op, Box::new(left), Box::new(right)),
            };
        }
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<Node, ExprError> {
        if depth > MAX_DEPTH {
            return Err(self.error("the expression is nested too deeply".to_owned()));
        }
        let offset = self.offset();
        if self.take("-") {
            return Ok(Node {
                offset,
                kind: Kind::Negate(Box::new(self.unary(depth + 1)?)),
            });
        }
        if self.take("(") {
            let inner = self.level(0, depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let kind = match self.peek().clone() {
            Token::Number(value) => Kind::Number(value),
            Token::Name(name) => {
                self.at += 1;
                if self.take("(") {
                    return self.call(&name, offset, depth);
                }
                return Ok(Node {
                    offset,
                    kind: Kind::Name(name),
                });
            }
            other => return Err(self.error(format!("expected a number, a name or `(`, found {}", other.describe()))),
        };
        self.at += 1;
        Ok(Node { offset, kind })
    }

    fn call(&mut self, name: &str, offset: usize, depth: usize) -> Result<Node, ExprError> {
        let Some((_, function, arity)) = Function::ALL.into_iter().find(|(known, ..)| *known == name) else {
            let known = Function::ALL.map(|(known, ..)| known).join(" ");
            return Err(ExprError {
                offset,
                message: format!("unknown function `{name}`; known are {known}"),
            });
        };
        let mut args = Vec::new();
        while !self.take(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.level(0, depth + 1)?);
        }
        if args.len() != arity {
            let plural = if arity == 1 { "" } else { "s" };
            return Err(ExprError {
                offset,
                message: format!("`{name}` takes {arity} argument{plural}, got {}", args.len()),
            });
        }
        Ok(Node {
            offset,
            kind: Kind::Call(function, args),
        })
    }
}
