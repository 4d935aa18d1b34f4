//! Operands of instructions.

use super::{Kind, Parsed, Parser};
use crate::ptx::ast::Operand;

impl Parser<'_> {
    pub(super) fn operand(&mut self) -> Parsed<Operand> {
        self.nested(Self::operand_here)
    }

    fn operand_here(&mut self) -> Parsed<Operand> {
        match self.token.kind {
            Kind::Word("_") if self.following.kind != Kind::Punct(b'|') => {
                self.advance()?;
                Ok(Operand::Sink)
            }
            Kind::Word(_) => self.named(),
            Kind::Float { value, bits } => {
                self.advance()?;
                Ok(Operand::Float { value, bits })
            }
            Kind::Punct(b'!') if matches!(self.following.kind, Kind::Word(_)) => {
                self.advance()?;
                Ok(Operand::Not(self.name()?))
            }
            Kind::Punct(b'-') if matches!(self.following.kind, Kind::Word(_)) => {
                self.advance()?;
                Ok(Operand::Negated(Box::new(self.operand()?)))
            }
            Kind::Punct(sign @ (b'-' | b'+')) if matches!(self.following.kind, Kind::Float { .. }) => {
                self.advance()?;
                self.signed_float(sign == b'-')
            }
            Kind::Punct(b'{') => {
                self.advance()?;
                let parts = self.list(Self::operand)?;
                self.expect(b'}', "to close the vector")?;
                Ok(Operand::Vector(parts))
            }
            Kind::Punct(b'[') => self.address(),
            _ if self.at_constant() => Ok(Operand::Int(self.constant()?)),
            _ => self.expected("an operand"),
        }
    }

    fn signed_float(&mut self, negative: bool) -> Parsed<Operand> {
        let Kind::Float { value, bits } = self.token.kind else {
            return self.expected("a number");
        };
        self.advance()?;
        if !negative {
            return Ok(Operand::Float { value, bits });
        }
        let bits = bits.map(|(pattern, width)| (pattern ^ (1 << (width - 1)), width));
        Ok(Operand::Float { value: -value, bits })
    }

    /// A name with its component: `%tid.x`, `%v.r`.
    fn name(&mut self) -> Parsed<String> {
        let mut name = self.word("a name")?.to_owned();
        while let Kind::Dotted(component) = self.token.kind {
            name.push('.');
            name.push_str(component);
            self.advance()?;
        }
        Ok(name)
    }

    fn named(&mut self) -> Parsed<Operand> {
        let name = self.name()?;
        match self.token.kind {
            Kind::Punct(b'|') => {
                self.advance()?;
                let first = if name == "_" {
                    Operand::Sink
                } else {
                    Operand::Name(name)
                };
                let second @ (Operand::Name(_) | Operand::Sink) = self.operand()? else {
                    return self.expected("a register after `|`");
                };
                Ok(Operand::Pair(Box::new(first), Box::new(second)))
            }
            Kind::Punct(b'+' | b'-') => Ok(Operand::Symbol {
                name,
                offset: self.offset()?,
            }),
            Kind::Punct(b'[') => {
                self.advance()?;
                let index = Box::new(self.operand()?);
                self.expect(b']', "after the index")?;
                Ok(Operand::Element { name, index })
            }
            _ => Ok(Operand::Name(name)),
        }
    }

    fn address(&mut self) -> Parsed<Operand> {
        self.advance()?;
        let base = match self.token.kind {
            Kind::Word(_) => Some(self.name()?),
            _ => None,
        };
        let offset = if self.at_constant() {
            self.offset()?
        } else if base.is_some() {
            0
        } else {
            return self.expected("a register, a variable or an address");
        };
        let address = Operand::Address { base, offset };
        if self.eat(b']')? {
            return Ok(address);
        }
        if !self.eat(b',')? {
            return self.expected("`]`, `,` or `+` and an integer in the address");
        }
        let parts = self.list(Self::operand)?;
        self.expect(b']', "to close the address")?;
        Ok(Operand::AddressList {
            base: Box::new(address),
            parts,
        })
    }

    /// The operands of `call`: the lists in parentheses are [`Operand::CallList`].
    pub(super) fn call_operand(&mut self) -> Parsed<Operand> {
        if !self.eat(b'(')? {
            return self.operand();
        }
        if self.eat(b')')? {
            return Ok(Operand::CallList(Vec::new()));
        }
        let parts = self.list(Self::operand)?;
        self.expect(b')', "to close the list")?;
        Ok(Operand::CallList(parts))
    }
}
