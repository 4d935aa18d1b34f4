//! Lowering of one function body: declarations, labels, guards, and one instruction after the other.

use std::collections::HashMap;

use super::scope::{Binding, Scopes};
use super::{GAP, Linker, Lowered, Refusal};
use crate::emulator::code::{Action, Fill, FunctionCode, LocalVariable, Note, Op, Place};
use crate::emulator::fault::{Fault, FaultKind};
use crate::emulator::isa;
use crate::emulator::layout::{variable_align, variable_size};
use crate::emulator::regs::{AnyReg, Pred, R32, R64};
use crate::ptx::ast::{Function, Instruction, Operand, Pos, Space, Statement, Type, Variable};

/// The state of lowering one function. Instruction families use its operand methods (see `operand.rs`).
pub(crate) struct Lowering<'l, 'm> {
    pub(super) linker: &'l mut Linker<'m>,
    pub(super) function: &'m Function,
    pub(super) code: FunctionCode,
    pub(super) scopes: Scopes,
    pub(super) fills: HashMap<(bool, Fill), u32>,
    /// The carry of `add.cc` and its kin, once an instruction uses it.
    carry: Option<Pred>,
    /// Positions of labels, by label number.
    labels: Vec<Option<u32>>,
    /// The `.loc` in force.
    loc: Option<(u32, u32, u32)>,
    index: u32,
}

impl std::fmt::Debug for Lowering<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lowering({})", self.function.name)
    }
}

impl<'l, 'm> Lowering<'l, 'm> {
    /// Lowers a function into the linker's code.
    pub(super) fn function(
        linker: &'l mut Linker<'m>,
        function: &'m Function,
        index: u32,
    ) -> Result<FunctionCode, Box<Fault>> {
        let start = linker.ops.len() as u32;
        let mut this = Self {
            linker,
            function,
            code: FunctionCode {
                name: function.name.clone(),
                start,
                ..FunctionCode::default()
            },
            scopes: Scopes::default(),
            fills: HashMap::new(),
            carry: None,
            labels: Vec::new(),
            loc: None,
            index,
        };
        this.code.ast_index = this
            .linker
            .ast
            .functions
            .iter()
            .position(|f| std::ptr::eq(f, function))
            .unwrap_or(0) as u32;
        this.scopes.push();
        this.bind_module();
        this.bind_params()?;
        let body = function.body.as_deref().unwrap_or_default();
        this.block(body)?;
        // Running off the end returns.
        this.emit(
            Lowered::action(crate::emulator::code::Class::Control, Action::Return),
            None,
            function.pos,
            "ret",
        );
        this.patch(start)?;
        this.code.local = this.code.local.next_multiple_of(16);
        let mut fills: Vec<_> = this
            .fills
            .into_iter()
            .map(|((wide, fill), slot)| (wide, slot, fill))
            .collect();
        fills.sort_unstable_by_key(|&(wide, slot, _)| (wide, slot));
        this.code.fills = fills;
        Ok(this.code)
    }

    /// Module variables are visible in every function.
    fn bind_module(&mut self) {
        for (index, variable) in self.linker.ast.variables.iter().enumerate() {
            let binding = match variable.space {
                Space::Global | Space::Const => Binding::Variable(index as u32),
                Space::Shared => Binding::ModuleShared(index as u32),
                Space::Reg | Space::Param | Space::Local => continue,
            };
            self.scopes.bind(variable.name.clone(), binding);
        }
    }

    pub(super) fn shared(&mut self, variable: &Variable, key: String) -> Binding {
        let bytes = variable_size(variable);
        if bytes == 0
            || variable
                .linkage
                .as_deref()
                .is_some_and(|linkage| linkage.contains("extern"))
        {
            self.linker.shared.dynamic_name = Some(variable.name.clone());
            return Binding::DynamicShared;
        }
        let align = variable_align(variable) as u32;
        Binding::Shared(self.linker.place_shared(key, &variable.name, bytes as u32, align))
    }

    fn bind_params(&mut self) -> Result<(), Box<Fault>> {
        let mut at = 0;
        for param in &self.function.params {
            if self.function.entry {
                at = u64::from(at).next_multiple_of(variable_align(param)) as u32;
                self.scopes.bind(param.name.clone(), Binding::KernelParam(at));
                at += variable_size(param) as u32;
            } else {
                let place = self.formal(param)?;
                self.code.params.push(place);
            }
        }
        for param in &self.function.returns {
            let place = self.formal(param)?;
            self.code.returns.push(place);
        }
        Ok(())
    }

    /// Makes room for a parameter of a `.func`.
    fn formal(&mut self, param: &Variable) -> Result<Place, Box<Fault>> {
        if param.space != Space::Reg {
            let offset = self.local(param);
            return Ok(Place::Local {
                offset,
                bytes: variable_size(param) as u32,
            });
        }
        self.declare_register(param)?;
        match self.scopes.find(&param.name) {
            Some(&Binding::Register(AnyReg::W32(reg), _)) => Ok(Place::R32(reg)),
            Some(&Binding::Register(AnyReg::W64(reg), _)) => Ok(Place::R64(reg)),
            Some(&Binding::Register(AnyReg::Pred(reg), _)) => Ok(Place::Pred(reg)),
            _ => Err(self.refuse(param.pos, "a 128-bit register as a parameter")),
        }
    }

    /// Gives a variable its place in the local frame.
    fn local(&mut self, variable: &Variable) -> u32 {
        let align = (variable_align(variable) as u32).max(4);
        let offset = (self.code.local + GAP).next_multiple_of(align);
        let bytes = variable_size(variable) as u32;
        self.code.local = offset + bytes.next_multiple_of(4) + GAP;
        self.code.local_align = self.code.local_align.max(align);
        self.code.locals.push(LocalVariable {
            name: variable.name.clone(),
            offset,
            bytes,
        });
        self.scopes.bind(variable.name.clone(), Binding::Local(offset));
        offset
    }

    /// Binds register declarations, `%r<14>` as 14 names.
    fn declare_register(&mut self, variable: &Variable) -> Result<(), Box<Fault>> {
        if variable.vector > 1 {
            return Err(self.refuse(variable.pos, "vector registers"));
        }
        if let Some(count) = variable.count {
            for i in 0..count {
                let binding = self.new_register(variable.ty);
                self.scopes.bind(format!("{}{i}", variable.name), binding);
            }
        } else {
            let binding = self.new_register(variable.ty);
            self.scopes.bind(variable.name.clone(), binding);
        }
        Ok(())
    }

    fn new_register(&mut self, ty: Type) -> Binding {
        match ty {
            Type::Pred => Binding::Register(AnyReg::Pred(self.temp_pred()), ty),
            Type::B128 => Binding::Wide(self.temp64(), self.temp64()),
            Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::Opaque => {
                Binding::Register(AnyReg::W64(self.temp64()), ty)
            }
            _ => Binding::Register(AnyReg::W32(self.temp32()), ty),
        }
    }

    /// A fresh register.
    pub(crate) fn temp32(&mut self) -> R32 {
        self.code.r32 += 1;
        R32(self.code.r32 - 1)
    }

    /// A fresh register.
    pub(crate) fn temp64(&mut self) -> R64 {
        self.code.r64 += 1;
        R64(self.code.r64 - 1)
    }

    /// A fresh predicate.
    pub(crate) fn temp_pred(&mut self) -> Pred {
        self.code.preds += 1;
        Pred(self.code.preds - 1)
    }

    /// The carry flag of extended-precision instructions: one bit per lane, as wide as the function.
    pub fn carry(&mut self) -> Pred {
        if let Some(carry) = self.carry {
            return carry;
        }
        let carry = self.temp_pred();
        self.carry = Some(carry);
        carry
    }

    fn block(&mut self, statements: &'m [Statement]) -> Result<(), Box<Fault>> {
        self.scopes.push();
        // Labels and target lists may be used before they are written.
        for statement in statements {
            match statement {
                Statement::Label { name, .. } => {
                    let label = self.labels.len() as u32;
                    self.labels.push(None);
                    self.scopes.bind(name.clone(), Binding::Label(label));
                }
                Statement::BranchTargets { name, targets, .. } => {
                    self.scopes.bind(name.clone(), Binding::Targets(targets.clone()));
                }
                Statement::CallPrototype { name, .. } => self.scopes.bind(name.clone(), Binding::Prototype),
                _ => {}
            }
        }
        for statement in statements {
            self.statement(statement)?;
        }
        self.scopes.pop();
        Ok(())
    }

    fn statement(&mut self, statement: &'m Statement) -> Result<(), Box<Fault>> {
        match statement {
            Statement::Label { name, .. } => {
                if let Some(&Binding::Label(label)) = self.scopes.find(name) {
                    self.labels[label as usize] = Some(self.linker.ops.len() as u32);
                }
            }
            Statement::Variable(variable) => self.declare(variable)?,
            Statement::Instruction(instruction) => self.instruction(instruction)?,
            Statement::Block(inner) => self.block(inner)?,
            Statement::Loc {
                file,
                line,
                column,
                inlined_at,
            } => {
                // Code inlined from elsewhere is reported where the kernel calls it. Line 0 stands for no line at all.
                let place = inlined_at.unwrap_or((*file, *line, *column));
                if place.1 > 0 {
                    self.loc = Some(place);
                }
            }
            Statement::BranchTargets { .. } | Statement::CallPrototype { .. } | Statement::Directive { .. } => {}
        }
        Ok(())
    }

    fn declare(&mut self, variable: &Variable) -> Result<(), Box<Fault>> {
        match variable.space {
            Space::Reg => self.declare_register(variable)?,
            Space::Local | Space::Param => {
                self.local(variable);
            }
            Space::Shared => {
                let key = format!("{}\0{}\0{}", self.function.name, variable.name, variable.pos.line);
                let binding = self.shared(variable, key);
                self.scopes.bind(variable.name.clone(), binding);
            }
            Space::Global | Space::Const => {
                return Err(self.refuse(variable.pos, "global variables inside functions"));
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Box<Fault>> {
        let guard = match &instruction.guard {
            None => None,
            Some(guard) => {
                let Some(&Binding::Register(AnyReg::Pred(pred), _)) = self.scopes.find(&guard.register) else {
                    let message = format!("guard `{}` is not a predicate register", guard.register);
                    return Err(self.fault(instruction.pos, FaultKind::Syntax { message }));
                };
                Some((pred, guard.negated))
            }
        };
        let lowered = isa::lower(instruction, self).map_err(|refusal| {
            let written = written(instruction);
            let kind = match refusal {
                Refusal::Unsupported(part) if part.is_empty() => FaultKind::Unsupported { what: written },
                Refusal::Unsupported(part) => FaultKind::Unsupported {
                    what: format!("{written} ({part})"),
                },
                Refusal::Invalid(message) => FaultKind::Syntax {
                    message: format!("{written}: {message}"),
                },
            };
            self.fault(instruction.pos, kind)
        })?;
        self.emit(lowered, guard, instruction.pos, &written(instruction));
        Ok(())
    }

    fn emit(&mut self, lowered: Lowered, guard: Option<(Pred, bool)>, pos: Pos, text: &str) {
        self.linker.ops.push(Op {
            action: lowered.action,
            guard,
        });
        self.linker.notes.push(Note {
            class: lowered.class,
            flops: lowered.flops,
            pos,
            loc: self.loc,
            function: self.index,
            text: text.to_owned(),
        });
    }

    /// The number of a label, for [`Action::Branch`]: it becomes a position once the function is complete.
    pub(crate) fn label(&self, operand: &Operand) -> Result<u32, Refusal> {
        let Operand::Name(name) = operand else {
            return Err(Refusal::Invalid("the target is not a label".to_owned()));
        };
        self.label_named(name)
    }

    pub(super) fn label_named(&self, name: &str) -> Result<u32, Refusal> {
        match self.scopes.find(name) {
            Some(&Binding::Label(label)) => Ok(label),
            _ => Err(Refusal::Invalid(format!("there is no label `{name}`"))),
        }
    }

    /// The label numbers of a `.branchtargets` list.
    pub(crate) fn targets(&self, operand: &Operand) -> Result<Vec<u32>, Refusal> {
        let Operand::Name(name) = operand else {
            return Err(Refusal::Invalid("the branch targets are not a name".to_owned()));
        };
        match self.scopes.find(name) {
            Some(Binding::Targets(targets)) => targets.iter().map(|target| self.label_named(target)).collect(),
            _ => Err(Refusal::Invalid(format!("there is no .branchtargets `{name}`"))),
        }
    }

    /// Turns label numbers into positions.
    fn patch(&mut self, start: u32) -> Result<(), Box<Fault>> {
        let labels = std::mem::take(&mut self.labels);
        let resolve = |label: &mut u32| match labels.get(*label as usize) {
            Some(Some(position)) => {
                *label = *position;
                true
            }
            _ => false,
        };
        let mut missing = None;
        for (index, op) in self.linker.ops.iter_mut().enumerate().skip(start as usize) {
            let found = match &mut op.action {
                Action::Branch(target) => resolve(target),
                Action::BranchIndexed(_, targets) => targets.iter_mut().all(resolve),
                _ => true,
            };
            if !found {
                missing = Some(index);
            }
        }
        match missing {
            Some(index) => {
                let pos = self.linker.notes[index].pos;
                Err(self.fault(
                    pos,
                    FaultKind::Syntax {
                        message: "a branch to a label without a position".to_owned(),
                    },
                ))
            }
            None => Ok(()),
        }
    }

    pub(super) fn fault(&self, pos: Pos, kind: FaultKind) -> Box<Fault> {
        self.linker.fault(&self.function.name, pos, self.loc, kind)
    }

    fn refuse(&self, pos: Pos, what: &str) -> Box<Fault> {
        self.fault(pos, FaultKind::Unsupported { what: what.to_owned() })
    }
}

/// Opcode and modifiers as written.
fn written(instruction: &Instruction) -> String {
    let mut text = instruction.opcode.clone();
    for modifier in &instruction.modifiers {
        text.push('.');
        text.push_str(modifier);
    }
    text
}
