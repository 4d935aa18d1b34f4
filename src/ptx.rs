//! The PTX front end: text to syntax tree, with the position of everything. Imports nothing of ours.
//!
//! The tree is deliberately generic: an instruction is an opcode, its modifiers and its operands. Which of them exist,
//! and what they mean, is the business of whoever lowers the tree (the emulator); so an unknown instruction is never a
//! parse error, and can be reported by name and line.

pub mod ast;
