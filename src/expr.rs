//! Arithmetic expressions over named integers and floats, as problem files and kernel headers use them.
//!
//! Grammar, loosest first: comparisons (`== != < <= > >=`, giving 0 or 1), `+ -`, `* / %`, unary `-`, numbers, names,
//! calls and parentheses. Integer arithmetic is checked: overflow and division by zero are errors, not wrapped values.
//! `/` of two integers truncates toward zero; an operation with a float operand is done in f64.

mod parse;

use std::fmt;

/// A number in an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
}

impl Value {
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The value as an integer, if it is one (a float with no fraction counts).
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(value as i64),
            Self::Float(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
        }
    }
}

/// Where names get their values.
pub trait Scope {
    fn lookup(&self, name: &str) -> Option<Value>;
}

impl<F: Fn(&str) -> Option<Value>> Scope for F {
    fn lookup(&self, name: &str) -> Option<Value> {
        self(name)
    }
}

/// Looks in the first scope, then in the second.
pub struct Layered<'a>(pub &'a dyn Scope, pub &'a dyn Scope);

impl Scope for Layered<'_> {
    fn lookup(&self, name: &str) -> Option<Value> {
        self.0.lookup(name).or_else(|| self.1.lookup(name))
    }
}

/// What is wrong with an expression, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// Characters from the start of the expression, from 0.
    pub offset: usize,
    pub message: String,
}

/// A parsed expression, which remembers its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    offset: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Number(Value),
    Name(String),
    Negate(Box<Node>),
    Binary(BinaryOp, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    CeilDiv,
    Min,
    Max,
    Align,
    NextPow2,
    Log2,
    Sqrt,
    If,
}

impl Function {
    const ALL: [(&'static str, Self, usize); 8] = [
        ("ceil_div", Self::CeilDiv, 2),
        ("min", Self::Min, 2),
        ("max", Self::Max, 2),
        ("align", Self::Align, 2),
        ("next_pow2", Self::NextPow2, 1),
        ("log2", Self::Log2, 1),
        ("sqrt", Self::Sqrt, 1),
        ("if", Self::If, 3),
    ];
}

impl Expr {
    /// # Errors
    /// Where the text is not an expression: the offset and what was expected there.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        Ok(Self {
            text: text.to_owned(),
            root: parse::parse(text)?,
        })
    }

    /// A constant.
    pub fn int(value: i64) -> Self {
        Self {
            text: value.to_string(),
            root: Node {
                offset: 0,
                kind: Kind::Number(Value::Int(value)),
            },
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// # Errors
    /// For a name that the scope lacks, an overflow, or a division by zero.
    pub fn eval(&self, scope: &dyn Scope) -> Result<Value, ExprError> {
        self.root.eval(scope)
    }

    /// As [`eval`](Self::eval), for counts: the result must be an integer.
    ///
    /// # Errors
    /// As `eval`, and where the result has a fraction.
    pub fn eval_int(&self, scope: &dyn Scope) -> Result<i64, ExprError> {
        let value = self.eval(scope)?;
        value
            .as_int()
            .ok_or_else(|| self.root.error(format!("expected an integer, got {value}")))
    }

    /// Every name the expression refers to, in order of appearance, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.collect_names(&mut names);
        names
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Node {
    fn error(&self, message: impl Into<String>) -> ExprError {
        ExprError {
            offset: self.offset,
            message: message.into(),
        }
    }

    fn collect_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match &self.kind {
            Kind::Number(_) => {}
            Kind::Name(name) => {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            Kind::Negate(inner) => inner.collect_names(names),
            Kind::Binary(_, left, right) => {
                left.collect_names(names);
                right.collect_names(names);
            }
            Kind::Call(_, args) => args.iter().for_each(|arg| arg.collect_names(names)),
        }
    }

    fn eval(&self, scope: &dyn Scope) -> Result<Value, ExprError> {
        match &self.kind {
            Kind::Number(value) => Ok(*value),
            Kind::Name(name) => scope
                .lookup(name)
                .ok_or_else(|| self.error(format!("unknown name `{name}`"))),
            Kind::Negate(inner) => match inner.eval(scope)? {
                Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(|| self.overflow()),
                Value::Float(value) => Ok(Value::Float(-value)),
            },
            Kind::Binary(op, left, right) => self.binary(*op, left.eval(scope)?, right.eval(scope)?),
            Kind::Call(Function::If, args) => {
                let taken = if args[0].eval(scope)?.as_f64() == 0.0 {
                    &args[2]
                } else {
                    &args[1]
                };
                taken.eval(scope)
            }
            Kind::Call(function, args) => {
                let values = args.iter().map(|arg| arg.eval(scope)).collect::<Result<Vec<_>, _>>()?;
                self.call(*function, &values)
            }
        }
    }

    fn overflow(&self) -> ExprError {
        self.error("the result does not fit in 64 bits")
    }

    fn binary(&self, op: BinaryOp, left: Value, right: Value) -> Result<Value, ExprError> {
        use BinaryOp::{Add, Div, Eq, Ge, Gt, Le, Lt, Mul, Ne, Rem, Sub};
        if let (Value::Int(a), Value::Int(b)) = (left, right) {
            if matches!(op, Div | Rem) && b == 0 {
                return Err(self.error("division by zero"));
            }
            let result = match op {
                Add => a.checked_add(b),
                Sub => a.checked_sub(b),
                Mul => a.checked_mul(b),
                Div => a.checked_div(b),
                Rem => a.checked_rem(b),
                Eq => Some(i64::from(a == b)),
                Ne => Some(i64::from(a != b)),
                Lt => Some(i64::from(a < b)),
                Le => Some(i64::from(a <= b)),
                Gt => Some(i64::from(a > b)),
                Ge => Some(i64::from(a >= b)),
            };
            return result.map(Value::Int).ok_or_else(|| self.overflow());
        }
        let (a, b) = (left.as_f64(), right.as_f64());
        let truth = |holds: bool| Value::Int(i64::from(holds));
        Ok(match op {
            Add => Value::Float(a + b),
            Sub => Value::Float(a - b),
            Mul => Value::Float(a * b),
            Div => Value::Float(a / b),
            Rem => Value::Float(a % b),
            Eq => truth(a == b),
            Ne => truth(a != b),
            Lt => truth(a < b),
            Le => truth(a <= b),
            Gt => truth(a > b),
            Ge => truth(a >= b),
        })
    }

    fn call(&self, function: Function, values: &[Value]) -> Result<Value, ExprError> {
        if matches!(function, Function::Min | Function::Max) {
            let right_is_less = values[1].as_f64() < values[0].as_f64();
            let pick_right = right_is_less == (function == Function::Min);
            return Ok(if pick_right { values[1] } else { values[0] });
        }
        if function == Function::Sqrt {
            let operand = values[0].as_f64();
            return if operand < 0.0 {
                Err(self.error(format!("the square root of {operand} is not real")))
            } else {
                Ok(Value::Float(operand.sqrt()))
            };
        }
        let int = |index: usize| {
            values[index]
                .as_int()
                .ok_or_else(|| self.error(format!("expected an integer, got {}", values[index])))
        };
        let positive = |index: usize| {
            int(index).and_then(|value| {
                if value > 0 {
                    Ok(value)
                } else {
                    Err(self.error(format!("expected a positive number, got {value}")))
                }
            })
        };
        let result = match function {
            Function::CeilDiv => int(0)?
                .checked_add(positive(1)? - 1)
                .map(|sum| sum.div_euclid(values[1].as_int().unwrap_or(1))),
            Function::Align => int(0)?
                .checked_add(positive(1)? - 1)
                .map(|sum| sum - sum.rem_euclid(values[1].as_int().unwrap_or(1))),
            Function::NextPow2 => positive(0)?
                .cast_unsigned()
                .checked_next_power_of_two()
                .and_then(|power| i64::try_from(power).ok()),
            Function::Log2 => Some(i64::from(positive(0)?.ilog2())),
            Function::Min | Function::Max | Function::Sqrt | Function::If => unreachable!("evaluated above"),
        };
        result.map(Value::Int).ok_or_else(|| self.overflow())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(name: &str) -> Option<Value> {
        match name {
            "T" => Some(Value::Int(24752)),
            "H" => Some(Value::Int(1280)),
            "eps" => Some(Value::Float(1e-6)),
            _ => None,
        }
    }

    fn eval(text: &str) -> Result<Value, ExprError> {
        Expr::parse(text)?.eval(&scope)
    }

    #[test]
    fn arithmetic_and_precedence() {
        for (text, expected) in [
            ("T*(3*H+1)", 24752 * 3841),
            ("1 + 2 * 3 - 4", 3),
            ("-7 / 2", -3),
            ("7 % 4", 3),
            ("ceil_div(T, 64)", 387),
            ("align(T, 64)", 387 * 64),
            ("next_pow2(1280)", 2048),
            ("log2(1280)", 10),
            ("min(T, H) + max(T, H)", 26032),
            ("if(H % 8 == 0, 8, 1)", 8),
            ("1 < 2 == 1", 1),
            ("0x10 + 1", 17),
        ] {
            assert_eq!(eval(text), Ok(Value::Int(expected)), "{text}");
        }
        assert_eq!(eval("eps * 2"), Ok(Value::Float(2e-6)));
        assert_eq!(eval("1.5e3"), Ok(Value::Float(1500.0)));
    }

    #[test]
    fn errors_name_the_place() {
        for (text, offset, message) in [
            ("T * * 2", 4, "expected a number, a name or `(`, found `*`"),
            ("T +", 3, "expected a number, a name or `(`, found the end"),
            (
                "foo(1)",
                0,
                "unknown function `foo`; known are ceil_div min max align next_pow2 log2 sqrt if",
            ),
            ("min(1)", 0, "`min` takes 2 arguments, got 1"),
            ("1 + nope", 4, "unknown name `nope`"),
            ("4 / (H - H)", 2, "division by zero"),
            ("9223372036854775807 + 1", 20, "the result does not fit in 64 bits"),
            ("T 4", 2, "expected an operator or the end, found `4`"),
            ("T $", 2, "unexpected character `$`"),
            ("(T", 2, "expected `)`, found the end"),
        ] {
            assert_eq!(
                eval(text),
                Err(ExprError {
                    offset,
                    message: message.to_owned()
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let text = "(".repeat(100_000) + "1" + &")".repeat(100_000);
        assert!(Expr::parse(&text).unwrap_err().message.contains("nested too deeply"));
    }
}
