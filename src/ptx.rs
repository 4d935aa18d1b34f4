//! The PTX front end: text to syntax tree, with the position of everything. Imports nothing of ours.
//!
//! The tree is deliberately generic: an instruction is an opcode, its modifiers and its operands. Which of them exist,
//! and what they mean, is the business of whoever lowers the tree (the emulator); so an unknown instruction is never a
//! parse error, and can be reported by name and line.

pub mod ast;
mod lexer;
mod parser;

use ast::{Module, Pos};

/// Text that is not PTX: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", pos.line, pos.column)]
pub struct SyntaxError {
    pub pos: Pos,
    pub message: String,
}

impl SyntaxError {
    fn new(pos: Pos, message: impl Into<String>) -> Self {
        Self {
            pos,
            message: message.into(),
        }
    }
}

/// Parses one PTX module.
///
/// # Errors
/// The first place where the text is not PTX, with what was expected there.
pub fn parse(text: &str) -> Result<Module, SyntaxError> {
    parser::module(text)
}

#[cfg(test)]
mod tests;
