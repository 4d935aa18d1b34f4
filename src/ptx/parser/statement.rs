//! Statements of a function body.

use super::{Kind, Parsed, Parser, variable};
use crate::ptx::ast::{Guard, Instruction, Pos, Statement};

/// What a `.loc` says: file, line, column, and the same of the place that it was inlined at.
type Place = (u32, u32, u32);

impl Parser<'_> {
    /// `{ ... }`
    pub(super) fn body(&mut self) -> Parsed<Vec<Statement>> {
        self.nested(|parser| {
            parser.expect(b'{', "to open the body")?;
            let mut statements = Vec::new();
            while !parser.eat(b'}')? {
                parser.statement(&mut statements)?;
            }
            Ok(statements)
        })
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        match self.token.kind {
            Kind::Punct(b'{') => out.push(Statement::Block(self.body()?)),
            Kind::Punct(b'@') => out.push(Statement::Instruction(self.guarded()?)),
            Kind::Word(_) if self.following.kind == Kind::Punct(b':') => out.push(self.label()?),
            Kind::Word(_) => out.push(Statement::Instruction(self.instruction(None)?)),
            Kind::Dotted("loc") => {
                let ((file, line, column), inlined_at) = self.loc()?;
                out.push(Statement::Loc {
                    file,
                    line,
                    column,
                    inlined_at,
                });
            }
            Kind::Dotted("pragma") => {
                let pos = self.token.pos;
                self.advance()?;
                let texts = self.list(|parser| parser.string("a string after `.pragma`"))?;
                self.expect(b';', "after `.pragma`")?;
                let text = format!(".pragma {}", texts.join(", "));
                out.push(Statement::Directive { text, pos });
            }
            Kind::Dotted(word) if variable::space(word).is_some() || word == "align" || word == "attribute" => {
                out.extend(self.variables()?.into_iter().map(Statement::Variable));
            }
            Kind::Dotted(_) => out.push(self.bare_directive()?),
            Kind::End => return self.expected("`}` to close the body"),
            _ => return self.expected("an instruction, a label or a declaration"),
        }
        Ok(())
    }

    /// A directive that the parser does not know, with plain arguments, kept as written: `.maxnreg 32;` and the like.
    fn bare_directive(&mut self) -> Parsed<Statement> {
        let pos = self.token.pos;
        let mut text = self.advance()?.text.to_owned();
        while !self.eat(b';')? {
            match self.token.kind {
                Kind::Int(_) | Kind::Str(_) | Kind::Word(_) | Kind::Dotted(_) | Kind::Punct(b',') => {
                    text.push(' ');
                    text.push_str(self.token.text);
                    self.advance()?;
                }
                _ => return self.expected("`;` after the directive"),
            }
        }
        Ok(Statement::Directive { text, pos })
    }

    /// `name:`, or the lists and prototypes that a label can name.
    fn label(&mut self) -> Parsed<Statement> {
        let pos = self.token.pos;
        let name = self.word("a label")?.to_owned();
        self.expect(b':', "after the label")?;
        match self.token.kind {
            Kind::Dotted("branchtargets" | "calltargets") => {
                self.advance()?;
                let targets = self.list(|parser| Ok(parser.word("a label or function")?.to_owned()))?;
                self.expect(b';', "after the targets")?;
                Ok(Statement::BranchTargets { name, targets, pos })
            }
            Kind::Dotted("callprototype") => self.prototype(name, pos),
            _ => Ok(Statement::Label { name, pos }),
        }
    }

    /// `.callprototype (ret) _ (params) .noreturn;`
    fn prototype(&mut self, name: String, pos: Pos) -> Parsed<Statement> {
        self.advance()?;
        let returns = self.parameters()?;
        self.word("`_` in place of a function's name")?;
        let params = self.parameters()?;
        let mut noreturn = false;
        while let Kind::Dotted(word) = self.token.kind {
            noreturn |= word == "noreturn";
            self.advance()?;
            while matches!(self.token.kind, Kind::Int(_)) {
                self.advance()?;
            }
        }
        self.expect(b';', "after the prototype")?;
        Ok(Statement::CallPrototype {
            name,
            returns,
            params,
            noreturn,
            pos,
        })
    }

    /// `.loc file line column [, function_name label[+offset], inlined_at file line column]`
    pub(super) fn loc(&mut self) -> Parsed<(Place, Option<Place>)> {
        self.advance()?;
        let place = self.place()?;
        let mut inlined = None;
        while self.eat(b',')? {
            match self.word("`function_name` or `inlined_at`")? {
                "function_name" => {
                    if !matches!(self.token.kind, Kind::Word(_) | Kind::Dotted(_)) {
                        return self.expected("the label of the function's name");
                    }
                    self.advance()?;
                    if self.eat(b'+')? {
                        self.number("an offset")?;
                    }
                }
                "inlined_at" => inlined = Some(self.place()?),
                _ => return self.expected("`function_name` or `inlined_at` before this"),
            }
        }
        Ok((place, inlined))
    }

    fn place(&mut self) -> Parsed<Place> {
        Ok((
            self.number("the number of a file")?,
            self.number("a line")?,
            self.number("a column")?,
        ))
    }

    fn guarded(&mut self) -> Parsed<Instruction> {
        let pos = self.token.pos;
        self.advance()?;
        let negated = self.eat(b'!')?;
        let register = self.word("a predicate register after `@`")?.to_owned();
        let mut instruction = self.instruction(Some(Guard { register, negated }))?;
        instruction.pos = pos;
        Ok(instruction)
    }

    fn instruction(&mut self, guard: Option<Guard>) -> Parsed<Instruction> {
        let pos = self.token.pos;
        let opcode = self.word("an instruction")?.to_owned();
        let mut modifiers = Vec::new();
        while let Kind::Dotted(modifier) = self.token.kind {
            modifiers.push(modifier.to_owned());
            self.advance()?;
        }
        let mut operands = Vec::new();
        if !self.at_punct(b';') {
            operands = if opcode == "call" {
                self.list(Self::call_operand)?
            } else {
                self.list(Self::operand)?
            };
        }
        self.expect(b';', "after the instruction")?;
        Ok(Instruction {
            guard,
            opcode,
            modifiers,
            operands,
            pos,
        })
    }
}
