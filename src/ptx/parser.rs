//! The parser: a cursor over tokens, and the directives of module scope. The parts of a module are in the files below.

mod constant;
mod function;
mod operand;
mod statement;
mod variable;

use super::SyntaxError;
use super::ast::Module;
use super::lexer::{Kind, Lexer, Token, unescape};

type Parsed<T> = Result<T, SyntaxError>;

/// How deep scopes, operands and constant expressions may nest: far beyond what compilers write, and safe for the stack.
const MAX_DEPTH: u32 = 64;

/// Parses a whole module.
pub(super) fn module(text: &str) -> Parsed<Module> {
    Parser::new(text)?.module()
}

/// A cursor with two tokens of lookahead.
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    following: Token<'a>,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        let following = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            following,
            depth: 0,
        })
    }

    /// Moves on, returning the token passed.
    fn advance(&mut self) -> Parsed<Token<'a>> {
        let next = self.lexer.next()?;
        let passed = std::mem::replace(&mut self.token, self.following);
        self.following = next;
        Ok(passed)
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.token.text),
        };
        Err(SyntaxError::new(
            self.token.pos,
            format!("expected {what}, found {found}"),
        ))
    }

    fn at_punct(&self, punct: u8) -> bool {
        self.token.kind == Kind::Punct(punct)
    }

    fn at_dotted(&self, word: &str) -> bool {
        self.token.kind == Kind::Dotted(word)
    }

    /// Passes a punctuation character if it is next.
    fn eat(&mut self, punct: u8) -> Parsed<bool> {
        let here = self.at_punct(punct);
        if here {
            self.advance()?;
        }
        Ok(here)
    }

    fn expect(&mut self, punct: u8, after: &str) -> Parsed<()> {
        if self.eat(punct)? {
            Ok(())
        } else {
            self.expected(&format!("`{}` {after}", punct as char))
        }
    }

    fn word(&mut self, what: &str) -> Parsed<&'a str> {
        match self.token.kind {
            Kind::Word(word) => {
                self.advance()?;
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn string(&mut self, what: &str) -> Parsed<String> {
        match self.token.kind {
            Kind::Str(raw) => {
                self.advance()?;
                Ok(unescape(raw))
            }
            _ => self.expected(what),
        }
    }

    /// A plain non-negative integer that fits in 32 bits.
    fn number(&mut self, what: &str) -> Parsed<u32> {
        match self.token.kind {
            Kind::Int(value) if u32::try_from(value).is_ok() => {
                self.advance()?;
                Ok(value as u32)
            }
            _ => self.expected(what),
        }
    }

    /// Runs `inner` one nesting level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(SyntaxError::new(
                self.token.pos,
                format!("nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// One or more of what `item` reads, separated by commas.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(b',')? {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn module(mut self) -> Parsed<Module> {
        let mut module = Module {
            address_size: 64,
            ..Module::default()
        };
        let mut seen_version = false;
        while self.token.kind != Kind::End {
            let Kind::Dotted(word) = self.token.kind else {
                return self.expected("a directive such as `.visible .entry`");
            };
            match word {
                "version" => {
                    module.version = self.version()?;
                    seen_version = true;
                }
                _ if !seen_version => return self.expected("`.version` as the first directive"),
                "target" => module.target = self.target()?,
                "address_size" => {
                    self.advance()?;
                    module.address_size = self.number("32 or 64 after `.address_size`")?;
                }
                "file" => module.files.push(self.file()?),
                "alias" => module.aliases.push(self.alias()?),
                "section" => self.section()?,
                "pragma" => {
                    self.advance()?;
                    self.list(|parser| parser.string("a string after `.pragma`"))?;
                    self.expect(b';', "after `.pragma`")?;
                }
                // Line information between functions belongs to nothing.
                "loc" => {
                    self.loc()?;
                }
                _ => self.linked(&mut module)?,
            }
        }
        if seen_version {
            Ok(module)
        } else {
            self.expected("`.version` as the first directive")
        }
    }

    fn version(&mut self) -> Parsed<(u32, u32)> {
        self.advance()?;
        let parts = self.token.text.split_once('.');
        let version = parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some(version) = version else {
            return self.expected("a version such as `9.0`");
        };
        self.advance()?;
        Ok(version)
    }

    fn target(&mut self) -> Parsed<Vec<String>> {
        self.advance()?;
        self.list(|parser| Ok(parser.word("a target such as `sm_90a`")?.to_owned()))
    }

    /// `.file 1 "name" [, timestamp, size]`
    fn file(&mut self) -> Parsed<(u32, String)> {
        self.advance()?;
        let index = self.number("the number of the file")?;
        let name = self.string("the name of the file in quotes")?;
        while self.eat(b',')? {
            match self.token.kind {
                Kind::Int(_) => self.advance()?,
                _ => return self.expected("the timestamp or size of the file"),
            };
        }
        Ok((index, name))
    }

    fn alias(&mut self) -> Parsed<(String, String)> {
        self.advance()?;
        let name = self.word("the new name of the function")?.to_owned();
        self.expect(b',', "between the names of `.alias`")?;
        let aliasee = self.word("the name of a function")?.to_owned();
        self.expect(b';', "after `.alias`")?;
        Ok((name, aliasee))
    }

    /// `.section .debug_info { ... }`: debug information, passed over.
    fn section(&mut self) -> Parsed<()> {
        self.advance()?;
        let Kind::Dotted(_) = self.token.kind else {
            return self.expected("the name of the section, such as `.debug_info`");
        };
        self.advance()?;
        self.expect(b'{', "to open the section")?;
        let mut open = 1_u64;
        while open > 0 {
            match self.token.kind {
                Kind::Punct(b'{') => open += 1,
                Kind::Punct(b'}') => open -= 1,
                Kind::End => return self.expected("`}` to close the section"),
                _ => {}
            }
            self.advance()?;
        }
        Ok(())
    }

    /// A variable or function, with the linkage in front of it.
    fn linked(&mut self, module: &mut Module) -> Parsed<()> {
        let mut linkage = None;
        while let Kind::Dotted(word @ ("extern" | "visible" | "weak" | "common")) = self.token.kind {
            linkage = Some(format!(".{word}"));
            self.advance()?;
        }
        if self.at_dotted("entry") || self.at_dotted("func") {
            let function = self.function(linkage)?;
            module.functions.push(function);
            return Ok(());
        }
        let mut variables = self.variables()?;
        for variable in &mut variables {
            variable.linkage.clone_from(&linkage);
        }
        module.variables.append(&mut variables);
        Ok(())
    }
}
