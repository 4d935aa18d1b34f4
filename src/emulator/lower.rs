//! Lowering: the syntax tree of an entry, and of all it can reach, to code with every name resolved.

mod body;
mod operand;
mod scope;

use std::collections::HashMap;

pub(super) use body::Lowering;
pub(super) use operand::{Address, Base};

use super::code::{Action, Class, Flops, FunctionCode, Note, Op, Program, SharedLayout};
use super::fault::{Fault, FaultKind};
use crate::ptx::ast::{self, Pos};

/// Bytes between shared variables, and between local ones, so that running off one does not land in the next.
const GAP: u32 = 16;

/// The lowered form of one instruction, as an instruction family returns it.
#[derive(Debug)]
pub(super) struct Lowered {
    pub action: Action,
    pub class: Class,
    pub flops: Flops,
}

impl Lowered {
    /// A straight-line instruction.
    pub(super) fn run(
        class: Class,
        run: impl Fn(&mut super::exec::Ctx<'_>, u32) -> super::code::Step + Send + Sync + 'static,
    ) -> Self {
        Self {
            action: Action::Run(Box::new(run)),
            class,
            flops: None,
        }
    }

    pub(super) fn action(class: Class, action: Action) -> Self {
        Self {
            action,
            class,
            flops: None,
        }
    }

    /// Adds the floating-point operations that each active lane performs, and the path they count for.
    pub(super) fn flops(mut self, path: &'static str, per_lane: u32) -> Self {
        self.flops = Some((path, per_lane));
        self
    }
}

/// Why an instruction cannot be lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not implemented. The caller adds the instruction as written; the text says which part, where it is not the opcode.
    Unsupported(String),
    /// Not valid PTX.
    Invalid(String),
}

impl Refusal {
    /// The whole instruction is not implemented.
    pub(super) const fn opcode() -> Self {
        Self::Unsupported(String::new())
    }

    /// One modifier is not implemented.
    pub(super) fn modifier(modifier: &str) -> Self {
        Self::Unsupported(format!("modifier .{modifier}"))
    }
}

/// Puts an entry and the functions it reaches together.
pub(super) struct Linker<'m> {
    pub(super) ast: &'m ast::Module,
    /// Function name to index in the program, in order of discovery; index 0 is the entry.
    pub(super) known: HashMap<String, u32>,
    pub(super) order: Vec<&'m ast::Function>,
    pub(super) shared: SharedLayout,
    /// Offsets of shared variables: module ones by name, those of functions by `function\0name`.
    pub(super) shared_offsets: HashMap<String, u32>,
    pub(super) ops: Vec<Op>,
    pub(super) notes: Vec<Note>,
}

impl<'m> Linker<'m> {
    pub(super) fn new(ast: &'m ast::Module) -> Self {
        Self {
            ast,
            known: HashMap::new(),
            order: Vec::new(),
            shared: SharedLayout::default(),
            shared_offsets: HashMap::new(),
            ops: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Lowers everything that `kernel` reaches.
    pub(super) fn link(mut self, kernel: &str) -> Result<Program, Box<Fault>> {
        let entry = self
            .ast
            .functions
            .iter()
            .find(|function| function.name == kernel && function.body.is_some());
        let Some(entry) = entry else {
            return Err(self.fault(
                kernel,
                Pos::default(),
                None,
                FaultKind::Launch {
                    message: format!("the module has no kernel `{kernel}`"),
                },
            ));
        };
        self.known.insert(entry.name.clone(), 0);
        self.order.push(entry);
        let mut functions: Vec<FunctionCode> = Vec::new();
        while functions.len() < self.order.len() {
            let function = self.order[functions.len()];
            functions.push(Lowering::function(&mut self, function, functions.len() as u32)?);
        }
        // Dynamic shared memory starts behind the static variables.
        self.shared.dynamic = self.shared.dynamic.next_multiple_of(128);
        if self.shared.variables.is_empty() {
            self.shared.dynamic = 0;
        }
        Ok(Program {
            ops: self.ops,
            notes: self.notes,
            functions,
            shared: self.shared,
        })
    }

    /// The index of a function with a body, discovering it if it is new.
    pub(super) fn function_index(&mut self, name: &str) -> Option<u32> {
        if let Some(&index) = self.known.get(name) {
            return Some(index);
        }
        let function = self
            .ast
            .functions
            .iter()
            .find(|function| function.name == name && function.body.is_some())?;
        let index = self.order.len() as u32;
        self.order.push(function);
        self.known.insert(name.to_owned(), index);
        Some(index)
    }

    /// The offset of a shared variable in the CTA's memory; placed at its first use.
    pub(super) fn place_shared(&mut self, key: String, name: &str, bytes: u32, align: u32) -> u32 {
        if let Some(&offset) = self.shared_offsets.get(&key) {
            return offset;
        }
        let gap = if self.shared.variables.is_empty() { 0 } else { GAP };
        let offset = (self.shared.dynamic + gap).next_multiple_of(align.max(1));
        self.shared.variables.push((name.to_owned(), offset, bytes));
        self.shared.packed = self.shared.packed.next_multiple_of(align.max(1)) + bytes;
        self.shared.dynamic = offset + bytes;
        self.shared_offsets.insert(key, offset);
        offset
    }

    pub(super) fn fault(&self, function: &str, pos: Pos, loc: Option<(u32, u32, u32)>, kind: FaultKind) -> Box<Fault> {
        Box::new(Fault {
            kind,
            function: function.to_owned(),
            ptx_line: (pos.line > 0).then_some(pos.line),
            source: loc.map(|loc| source(self.ast, loc)),
            thread: None,
            cta: None,
        })
    }
}

/// A `.loc` with its file's name.
pub(super) fn source(ast: &ast::Module, (file, line, column): (u32, u32, u32)) -> (String, u32, u32) {
    let name = ast
        .files
        .iter()
        .find(|(index, _)| *index == file)
        .map_or("?", |(_, name)| name);
    (name.to_owned(), line, column)
}
