//! The buffers of one shape on the device: inputs, outputs, the reference's outputs and scratch, all freed together.

use super::memory::Needs;
use crate::device::{BufferId, Buffers, Device};
use crate::dtype::DType;
use crate::kernel::plan::Plan;
use crate::problem::{ConcreteTensor, Role};
use crate::verdict::Outcome;

/// The buffers of one kernel on one shape.
#[derive(Debug, Default)]
pub struct Workspace {
    pub tensors: Vec<ConcreteTensor>,
    /// What the kernel's launches are given: tensors and its own scratch, by name.
    pub buffers: Buffers,
    owned: Vec<BufferId>,
}

/// Element bits that no output starts with by chance: a NaN with a payload, or an unlikely integer. `round` gives another
/// pattern, so that a right answer which happens to equal the poison is not mistaken twice.
pub(super) const fn poison_bits(dtype: DType, round: u64) -> u64 {
    let odd = round % 2 == 1;
    match dtype {
        DType::F64 => 0x7ff8_dead_beef_0001 + (odd as u64),
        DType::F32 => 0x7fc0_dead + (odd as u64),
        DType::F16 => 0x7e5a + (odd as u64),
        DType::Bf16 => 0x7fda + (odd as u64),
        // The 8-bit formats have one or few NaN codes.
        DType::E4m3fn => {
            if odd {
                0xff
            } else {
                0x7f
            }
        }
        DType::E4m3fnuz => 0x80,
        DType::E5m2 => {
            if odd {
                0x7d
            } else {
                0x7e
            }
        }
        DType::I64 => {
            if odd {
                0x5a5a_5a5a_5a5a_5a5a
            } else {
                0xa5a5_a5a5_a5a5_a5a5
            }
        }
        DType::I32 | DType::U32 => {
            if odd {
                0x5a5a_5a5a
            } else {
                0xa5a5_a5a5
            }
        }
        DType::I8 | DType::U8 => {
            if odd {
                0x5a
            } else {
                0xa5
            }
        }
    }
}

/// Adds a shape's tensors and a kernel's scratch to what is needed.
pub(super) fn needs_of(tensors: &[ConcreteTensor], plan: &Plan, needs: &mut Needs) {
    for tensor in tensors {
        let purpose = match tensor.role {
            Role::In => "input",
            Role::Out => "output",
            Role::InOut => "input and output",
        };
        needs.add(&tensor.name, purpose, tensor.bytes());
    }
    scratch_needs(plan, "scratch", needs);
}

pub(super) fn scratch_needs(plan: &Plan, purpose: &'static str, needs: &mut Needs) {
    for scratch in &plan.scratch {
        let bytes = scratch.elements.saturating_mul(scratch.dtype.size() as u64);
        needs.add(&scratch.name, purpose, bytes);
    }
}

impl Workspace {
    /// Allocates every tensor and the plan's scratch; what was allocated before a failure is freed again.
    pub fn allocate(device: &mut dyn Device, tensors: Vec<ConcreteTensor>, plan: &Plan) -> Outcome<Self> {
        let mut workspace = Self {
            tensors,
            ..Self::default()
        };
        match workspace.fill(device, plan) {
            Ok(()) => Ok(workspace),
            Err(verdict) => {
                workspace.free(device);
                Err(verdict)
            }
        }
    }

    fn fill(&mut self, device: &mut dyn Device, plan: &Plan) -> Outcome<()> {
        for index in 0..self.tensors.len() {
            let (name, bytes) = (self.tensors[index].name.clone(), self.tensors[index].bytes());
            self.add(device, &name, bytes)?;
        }
        for scratch in &plan.scratch {
            self.add(device, &scratch.name, scratch.elements * scratch.dtype.size() as u64)?;
        }
        Ok(())
    }

    /// Allocates one more buffer under a name of its own.
    fn add(&mut self, device: &mut dyn Device, name: &str, bytes: u64) -> Outcome<BufferId> {
        let id = device.alloc(name, bytes)?;
        self.owned.push(id);
        self.buffers.insert(name.to_owned(), id);
        Ok(id)
    }

    /// Frees everything; safe to call twice.
    pub fn free(&mut self, device: &mut dyn Device) {
        for id in self.owned.drain(..) {
            device.free(id);
        }
        self.buffers.clear();
    }

    /// The tensors that the kernel must leave alone, with their buffers.
    pub fn inputs(&self) -> impl Iterator<Item = (&ConcreteTensor, BufferId)> {
        self.by_role(|role| role == Role::In)
    }

    /// The tensors that the kernel writes, with their buffers.
    pub fn outputs(&self) -> impl Iterator<Item = (&ConcreteTensor, BufferId)> {
        self.by_role(|role| role != Role::In)
    }

    fn by_role(&self, wanted: impl Fn(Role) -> bool) -> impl Iterator<Item = (&ConcreteTensor, BufferId)> {
        self.tensors
            .iter()
            .filter(move |tensor| wanted(tensor.role))
            .filter_map(|tensor| Some((tensor, *self.buffers.get(&tensor.name)?)))
    }

    /// Whether any tensor is read and written in place.
    pub fn in_place(&self) -> bool {
        self.tensors.iter().any(|tensor| tensor.role == Role::InOut)
    }
}
