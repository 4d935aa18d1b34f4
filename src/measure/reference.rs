//! Right answers: the operator's reference kernel, run on the same device with the same inputs, kept while they fit.

use std::collections::BTreeMap;

use super::build::Compiled;
use super::inputs::{Case, generate, reset_scratch};
use super::memory::Needs;
use super::workspace::{Workspace, scratch_needs};
use crate::device::{Bound, BufferId, Buffers, Device, ModuleId};
use crate::kernel::plan::Plan;
use crate::problem::{ConcreteTensor, Operator, Role};
use crate::shape::Shape;
use crate::verdict::{Class, Evidence, Outcome, Verdict};

/// Share of the device's memory that kept answers may take.
const CACHE_SHARE: u64 = 4;

/// What identifies a right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    operator: String,
    /// Content of the reference kernel.
    sha256: String,
    shape: String,
    case: Case,
}

#[derive(Debug)]
struct Kept {
    key: Key,
    outputs: Buffers,
    bytes: u64,
}

/// What a worker keeps warm between runs: reference modules and right answers.
#[derive(Debug, Default)]
pub struct Warm {
    modules: BTreeMap<String, ModuleId>,
    /// Least recently used first.
    answers: Vec<Kept>,
}

/// The reference of one operator on one shape.
#[derive(Debug)]
pub struct Reference {
    pub plan: Plan,
    pub module: ModuleId,
    pub sha256: String,
}

impl Warm {
    /// The module of a compiled reference, loaded once.
    pub fn module(&mut self, device: &mut dyn Device, compiled: &Compiled) -> Outcome<ModuleId> {
        if let Some(id) = self.modules.get(&compiled.key) {
            return Ok(*id);
        }
        let id = device.load(&compiled.image)?;
        self.modules.insert(compiled.key.clone(), id);
        Ok(id)
    }

    /// Bytes that kept answers hold.
    fn bytes(&self) -> u64 {
        self.answers.iter().map(|kept| kept.bytes).sum()
    }

    /// Frees the least recently used answers until `needed` bytes are free or none is left.
    pub fn make_room(&mut self, device: &mut dyn Device, needed: u64) -> Outcome<()> {
        while device.free_memory()? < needed && !self.answers.is_empty() {
            let kept = self.answers.remove(0);
            release(device, &kept.outputs);
        }
        Ok(())
    }

    /// Frees everything.
    pub fn clear(&mut self, device: &mut dyn Device) {
        for kept in self.answers.drain(..) {
            release(device, &kept.outputs);
        }
        for module in std::mem::take(&mut self.modules).into_values() {
            device.unload(module);
        }
    }

    /// The right outputs of a case by tensor name. The inputs must be in `workspace` already.
    pub fn answer(
        &mut self,
        device: &mut dyn Device,
        operator: &Operator,
        shape: &Shape,
        reference: &Reference,
        case: &Case,
        workspace: &Workspace,
    ) -> Outcome<Buffers> {
        let key = Key {
            operator: operator.name.clone(),
            sha256: reference.sha256.clone(),
            shape: format!("{} {}", shape.id, shape.params),
            case: case.clone(),
        };
        if let Some(index) = self.answers.iter().position(|kept| kept.key == key) {
            let kept = self.answers.remove(index);
            let outputs = kept.outputs.clone();
            self.answers.push(kept);
            return Ok(outputs);
        }
        let bytes = workspace.outputs().map(|(tensor, _)| tensor.bytes()).sum();
        let mut needs = Needs::default();
        answer_needs(&workspace.tensors, &reference.plan, &mut needs);
        let budget = device.info().memory_bytes / CACHE_SHARE;
        while self.bytes() + bytes > budget && !self.answers.is_empty() {
            let kept = self.answers.remove(0);
            release(device, &kept.outputs);
        }
        self.make_room(device, needs.total())?;
        needs.check(device.free_memory()?)?;
        let mut run = ReferenceRun::default();
        let result = run.execute(device, operator, shape, reference, case, workspace);
        release(device, &run.scratch);
        if let Err(verdict) = result {
            release(device, &run.outputs);
            return blame(*verdict, operator).fail();
        }
        self.answers.push(Kept {
            key,
            outputs: run.outputs.clone(),
            bytes,
        });
        Ok(run.outputs)
    }
}

/// What running the reference needs besides the workspace.
pub(super) fn answer_needs(tensors: &[ConcreteTensor], plan: &Plan, needs: &mut Needs) {
    for tensor in tensors.iter().filter(|tensor| tensor.role != Role::In) {
        needs.add(&tensor.name, "reference output", tensor.bytes());
    }
    scratch_needs(plan, "reference scratch", needs);
}

#[derive(Debug, Default)]
struct ReferenceRun {
    outputs: Buffers,
    scratch: Buffers,
}

impl ReferenceRun {
    fn execute(
        &mut self,
        device: &mut dyn Device,
        operator: &Operator,
        shape: &Shape,
        reference: &Reference,
        case: &Case,
        workspace: &Workspace,
    ) -> Outcome<()> {
        for (tensor, _) in workspace.outputs() {
            let buffer = device.alloc(&format!("reference {}", tensor.name), tensor.bytes())?;
            self.outputs.insert(tensor.name.clone(), buffer);
            if tensor.role == Role::InOut {
                generate(device, operator, shape, case, tensor, buffer)?;
            }
        }
        for scratch in &reference.plan.scratch {
            let bytes = scratch.elements * scratch.dtype.size() as u64;
            let buffer = device.alloc(&format!("reference {}", scratch.name), bytes)?;
            self.scratch.insert(scratch.name.clone(), buffer);
        }
        reset_scratch(device, &reference.plan, &self.scratch, 0)?;
        let mut buffers: Buffers = workspace
            .inputs()
            .map(|(tensor, buffer)| (tensor.name.clone(), buffer))
            .collect();
        buffers.extend(self.outputs.clone());
        buffers.extend(self.scratch.clone());
        for launch in &reference.plan.launches {
            device.launch(&Bound {
                module: reference.module,
                launch,
                buffers: &buffers,
            })?;
        }
        Ok(())
    }
}

fn release(device: &mut dyn Device, buffers: &BTreeMap<String, BufferId>) {
    for buffer in buffers.values() {
        device.free(*buffer);
    }
}

/// A failure of the reference is no failure of the kernel: it becomes `environment`, except where the device itself gave up.
pub(super) fn blame(verdict: Verdict, operator: &Operator) -> Verdict {
    if matches!(verdict.class, Class::OutOfMemory | Class::Cancelled) {
        return verdict;
    }
    let mut blamed = Verdict::new(
        Class::Environment,
        format!(
            "the reference of `{}` did not run: {}: {}",
            operator.name, verdict.class, verdict.reason
        ),
    );
    blamed.evidence = verdict.evidence;
    blamed.evidence.push(Evidence::Note {
        text: "without a right answer to compare with, nothing is said about the kernel".to_owned(),
    });
    blamed.next = verdict.next;
    blamed
}
