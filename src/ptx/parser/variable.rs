//! Declarations of variables, registers and parameters, with their initialisers.

use super::{Kind, Parsed, Parser, SyntaxError};
use crate::ptx::ast::{Init, Space, Type, Variable};

/// The most elements that inner braces may be filled up to: a guard against a dimension that would fill memory with zeros.
const MAX_INITIALISED: usize = 1 << 20;

/// A state space by its name; texture and sampler spaces are global memory to a parser.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        "reg" | "sreg" => Space::Reg,
        "param" => Space::Param,
        "global" | "tex" => Space::Global,
        "const" => Space::Const,
        "shared" => Space::Shared,
        "local" => Space::Local,
        _ => return None,
    })
}

/// A fundamental type by its name.
fn ty(word: &str) -> Option<Type> {
    Some(match word {
        "pred" => Type::Pred,
        "b8" => Type::B8,
        "b16" => Type::B16,
        "b32" => Type::B32,
        "b64" => Type::B64,
        "b128" => Type::B128,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "f16" => Type::F16,
        "f16x2" => Type::F16x2,
        "bf16" => Type::Bf16,
        "bf16x2" => Type::Bf16x2,
        "f32" => Type::F32,
        "f64" => Type::F64,
        "texref" | "samplerref" | "surfref" => Type::Opaque,
        _ => return None,
    })
}

impl Parser<'_> {
    /// A whole declaration, up to and with its `;`: `.reg .b32 %r<14>, %x;`
    pub(super) fn variables(&mut self) -> Parsed<Vec<Variable>> {
        let head = self.variable_head()?;
        let variables = self.list(|parser| parser.declarator(&head))?;
        self.expect(b';', "after the declaration")?;
        Ok(variables)
    }

    /// One parameter: a declaration of a single name.
    pub(super) fn parameter(&mut self) -> Parsed<Variable> {
        let head = self.variable_head()?;
        self.declarator(&head)
    }

    /// Everything before the name: space, alignment, vector, type, pointer attributes.
    fn variable_head(&mut self) -> Parsed<Variable> {
        let pos = self.token.pos;
        let mut found_space = None;
        let mut found_type = None;
        let mut head = Variable {
            name: String::new(),
            space: Space::Reg,
            ty: Type::Opaque,
            vector: 1,
            align: None,
            dims: Vec::new(),
            count: None,
            init: Vec::new(),
            linkage: None,
            pointer: None,
            pos,
        };
        while let Kind::Dotted(word) = self.token.kind {
            if let Some(pointer) = head.pointer.as_mut() {
                pointer.push_str(if pointer.is_empty() { "." } else { " ." });
                pointer.push_str(word);
                self.advance()?;
                if word == "align" {
                    let align = self.number("the alignment in bytes")?.to_string();
                    if let Some(pointer) = head.pointer.as_mut() {
                        pointer.push(' ');
                        pointer.push_str(&align);
                    }
                }
                continue;
            }
            if found_space.is_none()
                && let Some(space) = space(word)
            {
                found_space = Some(space);
            } else if found_type.is_none()
                && let Some(ty) = ty(word)
            {
                found_type = Some(ty);
            } else {
                match word {
                    "v2" | "v4" | "v8" => head.vector = u32::from(word.as_bytes()[1] - b'0'),
                    "align" => {
                        self.advance()?;
                        head.align = Some(self.number("the alignment in bytes")?);
                        continue;
                    }
                    "attribute" => {
                        self.attribute()?;
                        continue;
                    }
                    "ptr" => head.pointer = Some(String::new()),
                    _ => return self.expected("a state space, a type, `.align` or a name"),
                }
            }
            self.advance()?;
        }
        let Some(space) = found_space else {
            return self.expected("a directive or a state space such as `.global`");
        };
        let Some(ty) = found_type else {
            return self.expected("a type such as `.b32`");
        };
        head.space = space;
        head.ty = ty;
        Ok(head)
    }

    /// `.attribute(.managed, .unified(1, 2))`: where memory lives, which changes no value; passed over.
    pub(super) fn attribute(&mut self) -> Parsed<()> {
        self.advance()?;
        self.expect(b'(', "after `.attribute`")?;
        let mut open = 1_u64;
        while open > 0 {
            match self.token.kind {
                Kind::Punct(b'(') => open += 1,
                Kind::Punct(b')') => open -= 1,
                Kind::Punct(b',') | Kind::Dotted(_) | Kind::Int(_) => {}
                _ => return self.expected("an attribute such as `.managed`"),
            }
            self.advance()?;
        }
        Ok(())
    }

    fn declarator(&mut self, head: &Variable) -> Parsed<Variable> {
        let mut variable = head.clone();
        variable.pos = self.token.pos;
        self.word("a name")?.clone_into(&mut variable.name);
        if self.eat(b'<')? {
            variable.count = Some(self.number("how many registers")?);
            self.expect(b'>', "after the number of registers")?;
        }
        while self.eat(b'[')? {
            let size = if self.at_punct(b']') { 0 } else { self.dimension()? };
            variable.dims.push(size);
            self.expect(b']', "after the array's size")?;
        }
        if self.at_punct(b'=') {
            let pos = self.token.pos;
            self.advance()?;
            variable.init = self.initialiser(&variable, pos)?;
        }
        Ok(variable)
    }

    fn dimension(&mut self) -> Parsed<u64> {
        let pos = self.token.pos;
        let value = self.constant()?;
        u64::try_from(value).map_err(|_| SyntaxError::new(pos, format!("{value} cannot be the size of an array")))
    }

    /// Reads what follows `=`, flattened; inner braces are filled up with zeros to their dimension.
    fn initialiser(&mut self, variable: &Variable, pos: super::super::ast::Pos) -> Parsed<Vec<Init>> {
        if !self.at_punct(b'{') {
            return Ok(vec![self.init_value()?]);
        }
        let mut sizes = variable.dims.clone();
        if variable.vector > 1 {
            sizes.push(u64::from(variable.vector));
        }
        let inner = sizes
            .iter()
            .skip(1)
            .try_fold(1_u64, |product, size| product.checked_mul(*size));
        if inner.is_none_or(|inner| inner > MAX_INITIALISED as u64) {
            return Err(SyntaxError::new(pos, "this array is too large to have an initialiser"));
        }
        let mut out = Vec::new();
        self.braces(&sizes, &mut out)?;
        Ok(out)
    }

    fn braces(&mut self, sizes: &[u64], out: &mut Vec<Init>) -> Parsed<()> {
        self.nested(|parser| {
            parser.expect(b'{', "to open the initialiser")?;
            let rest = sizes.get(1..).unwrap_or_default();
            let width = rest.iter().product::<u64>() as usize;
            while !parser.at_punct(b'}') {
                if parser.at_punct(b'{') {
                    let wanted = out.len() + width;
                    parser.braces(rest, out)?;
                    if out.len() > wanted || wanted > MAX_INITIALISED {
                        return parser.expected("fewer initial values before this");
                    }
                    out.resize(wanted, Init::Int(0));
                } else {
                    out.push(parser.init_value()?);
                }
                if !parser.eat(b',')? {
                    break;
                }
            }
            parser.expect(b'}', "to close the initialiser")
        })
    }

    fn init_value(&mut self) -> Parsed<Init> {
        match self.token.kind {
            Kind::Float { value, .. } => {
                self.advance()?;
                Ok(Init::Float(value))
            }
            Kind::Punct(b'-') if matches!(self.following.kind, Kind::Float { .. }) => {
                self.advance()?;
                let Kind::Float { value, .. } = self.token.kind else {
                    return self.expected("a number");
                };
                self.advance()?;
                Ok(Init::Float(-value))
            }
            Kind::Word("generic") if self.following.kind == Kind::Punct(b'(') => {
                self.advance()?;
                let (name, inner) = self.init_symbol()?;
                Ok(Init::Symbol {
                    name,
                    offset: inner.wrapping_add(self.init_offset()?),
                    generic: true,
                })
            }
            Kind::Word(name) => {
                self.advance()?;
                Ok(Init::Symbol {
                    name: name.to_owned(),
                    offset: self.init_offset()?,
                    generic: false,
                })
            }
            Kind::Int(mask) if self.following.kind == Kind::Punct(b'(') => {
                self.advance()?;
                let (name, offset) = self.init_symbol()?;
                Ok(Init::Masked { mask, name, offset })
            }
            _ if self.at_constant() => Ok(Init::Int(self.constant()?)),
            _ => self.expected("an initial value"),
        }
    }

    /// `(sym + 4)`
    fn init_symbol(&mut self) -> Parsed<(String, i64)> {
        self.expect(b'(', "before the name of a variable")?;
        let name = self.word("the name of a variable or function")?.to_owned();
        let offset = self.init_offset()?;
        self.expect(b')', "after the name of a variable")?;
        Ok((name, offset))
    }

    fn init_offset(&mut self) -> Parsed<i64> {
        if self.at_punct(b'+') || self.at_punct(b'-') {
            self.offset()
        } else {
            Ok(0)
        }
    }
}
