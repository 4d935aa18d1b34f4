//! Kernels, functions and their headers.

use super::{Kind, Parsed, Parser, SyntaxError};
use crate::ptx::ast::{Function, Variable};

impl Parser<'_> {
    /// `.entry name (...) ... { ... }` or `.func (...) name (...) ...;`
    pub(super) fn function(&mut self, linkage: Option<String>) -> Parsed<Function> {
        let entry = self.at_dotted("entry");
        self.advance()?;
        if self.at_dotted("attribute") {
            self.attribute()?;
        }
        let returns = self.parameters()?;
        let pos = self.token.pos;
        let name = self.word("the name of the function")?.to_owned();
        let params = self.parameters()?;
        let directives = self.header_directives()?;
        let body = if self.eat(b';')? {
            None
        } else if self.at_punct(b'{') {
            Some(self.body()?)
        } else {
            return self.expected("`{` to open the body, or `;`");
        };
        Ok(Function {
            name,
            entry,
            linkage,
            returns,
            params,
            directives,
            body,
            pos,
        })
    }

    /// A list of parameters in parentheses; empty where there are no parentheses.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable>> {
        if !self.eat(b'(')? || self.eat(b')')? {
            return Ok(Vec::new());
        }
        let params = self.list(Self::parameter)?;
        self.expect(b')', "after the parameters")?;
        Ok(params)
    }

    /// `.maxntid 256, 1, 1 .minnctapersm 2 .noreturn`, in any order.
    fn header_directives(&mut self) -> Parsed<Vec<(String, Vec<i64>)>> {
        let mut directives = Vec::new();
        while let Kind::Dotted(word) = self.token.kind {
            if word == "attribute" {
                self.attribute()?;
                continue;
            }
            self.advance()?;
            if word == "pragma" {
                self.list(|parser| parser.string("a string after `.pragma`"))?;
                self.expect(b';', "after `.pragma`")?;
                continue;
            }
            let mut values = Vec::new();
            if matches!(self.token.kind, Kind::Int(_)) {
                values = self.list(Self::small)?;
            }
            directives.push((format!(".{word}"), values));
        }
        Ok(directives)
    }

    fn small(&mut self) -> Parsed<i64> {
        let Kind::Int(value) = self.token.kind else {
            return self.expected("an integer");
        };
        let pos = self.token.pos;
        self.advance()?;
        i64::try_from(value).map_err(|_| SyntaxError::new(pos, format!("{value} is too large here")))
    }
}
