//! What names mean inside a function.

use std::collections::HashMap;

use crate::emulator::regs::AnyReg;
use crate::ptx::ast::Type;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Binding {
    Register(AnyReg, Type),
    /// The low and high halves of a 128-bit register.
    Wide(crate::emulator::regs::R64, crate::emulator::regs::R64),
    /// Offset in the function's local frame: local variables, and parameters of called functions.
    Local(u32),
    /// Offset in the kernel's parameter block.
    KernelParam(u32),
    /// Offset in shared memory.
    Shared(u32),
    /// A module variable in shared memory, by index: placed when it is first used.
    ModuleShared(u32),
    /// The dynamic part of shared memory.
    DynamicShared,
    /// A module variable in global or constant memory, by index.
    Variable(u32),
    Label(u32),
    Targets(Vec<String>),
    /// A `.callprototype`, whose content the call does not need.
    Prototype,
}

/// Scopes of a function body, innermost last.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    stack: Vec<HashMap<String, Binding>>,
}

impl Scopes {
    pub(super) fn push(&mut self) {
        self.stack.push(HashMap::new());
    }

    pub(super) fn pop(&mut self) {
        self.stack.pop();
    }

    pub(super) fn bind(&mut self, name: String, binding: Binding) {
        if let Some(scope) = self.stack.last_mut() {
            scope.insert(name, binding);
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Binding> {
        self.stack.iter().rev().find_map(|scope| scope.get(name))
    }
}
