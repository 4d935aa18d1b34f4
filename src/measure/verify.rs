//! Verification: run, then look at outputs, inputs and guard bands; the same steps on every device.

use super::bench::Bench;
use super::inputs::{Case, generate_all, reset_outputs, reset_scratch};
use super::reference::Reference;
use super::workspace::{Workspace, poison_bits};
use crate::device::{Bound, BufferId, Buffers, CompareSpec, Device, ModuleId};
use crate::kernel::plan::Plan;
use crate::problem::{ConcreteTensor, Contract, Operator};
use crate::shape::Shape;
use crate::verdict::{Class, Evidence, Outcome, OutputEvidence, Verdict};

/// A kernel on one shape with its buffers: what gets verified and timed.
pub(super) struct Subject<'a> {
    pub operator: &'a Operator,
    pub shape: &'a Shape,
    pub plan: &'a Plan,
    pub module: ModuleId,
    pub reference: &'a Reference,
    pub workspace: &'a Workspace,
}

impl Subject<'_> {
    /// The launches with their buffers.
    pub(super) fn launches(&self) -> Vec<Bound<'_>> {
        self.plan
            .launches
            .iter()
            .map(|launch| Bound {
                module: self.module,
                launch,
                buffers: &self.workspace.buffers,
            })
            .collect()
    }

    /// Scratch buffers that must be zero before every execution.
    pub(super) fn zeroed(&self) -> Vec<BufferId> {
        let zeroed = self.plan.scratch.iter().filter(|scratch| scratch.zeroed);
        zeroed
            .filter_map(|scratch| self.workspace.buffers.get(&scratch.name).copied())
            .collect()
    }

    /// Makes the case's inputs and right answers.
    pub(super) fn prepare(&self, bench: &mut Bench<'_>, case: &Case) -> Outcome<Buffers> {
        bench.cancel.check()?;
        generate_all(bench.device, self.operator, self.shape, case, self.workspace)?;
        bench.warm.answer(
            bench.device,
            self.operator,
            self.shape,
            self.reference,
            case,
            self.workspace,
        )
    }

    /// Poisons outputs and scratch, and runs the kernel once.
    pub(super) fn execute(&self, bench: &mut Bench<'_>, case: &Case, round: u64) -> Outcome<()> {
        reset_outputs(bench.device, self.operator, self.shape, case, self.workspace, round)?;
        reset_scratch(bench.device, self.plan, &self.workspace.buffers, round)?;
        for bound in self.launches() {
            bench.cancel.check()?;
            bench.device.launch(&bound)?;
        }
        Ok(())
    }

    /// Checksums of the inputs, in the tensors' order.
    pub(super) fn input_sums(&self, device: &mut dyn Device) -> Outcome<Vec<u64>> {
        self.workspace
            .inputs()
            .map(|(_, buffer)| device.checksum(buffer))
            .collect()
    }

    pub(super) fn output_sums(&self, device: &mut dyn Device) -> Outcome<Vec<u64>> {
        self.workspace
            .outputs()
            .map(|(_, buffer)| device.checksum(buffer))
            .collect()
    }

    /// # Errors
    /// `mutated_input`, naming the tensors whose checksum changed.
    pub(super) fn check_inputs(&self, device: &mut dyn Device, before: &[u64]) -> Outcome<()> {
        let after = self.input_sums(device)?;
        let changed: Vec<&str> = self
            .workspace
            .inputs()
            .zip(before.iter().zip(&after))
            .filter(|(_, (before, after))| before != after)
            .map(|((tensor, _), _)| tensor.name.as_str())
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        Verdict::new(
            Class::MutatedInput,
            format!(
                "the kernel changed its input{} `{}`",
                plural(changed.len()),
                changed.join("`, `")
            ),
        )
        .fail()
    }

    /// # Errors
    /// `memory_fault`, naming the buffer whose guard band was written and where.
    pub(super) fn check_guards(&self, device: &mut dyn Device) -> Outcome<()> {
        for (name, buffer) in &self.workspace.buffers {
            if let Some(offset) = device.guards(*buffer)? {
                return guard_fault(name, offset, device.size(*buffer)).fail();
            }
        }
        Ok(())
    }

    /// Compares every output with its right answer.
    pub(super) fn compare(
        &self,
        device: &mut dyn Device,
        want: &Buffers,
        case: &Case,
        round: u64,
    ) -> Outcome<Vec<OutputEvidence>> {
        let mut all = Vec::new();
        for (tensor, got) in self.workspace.outputs() {
            let Some(want) = want.get(&tensor.name) else {
                continue;
            };
            let spec = compare_spec(self.operator, self.shape, tensor, case, round)?;
            let mut evidence = device.compare(got, *want, &spec)?;
            label(&mut evidence, tensor, case);
            all.push(evidence);
        }
        Ok(all)
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Writes down what the comparison does not know: which output, of which inputs.
fn label(evidence: &mut OutputEvidence, tensor: &ConcreteTensor, case: &Case) {
    evidence.output.clone_from(&tensor.name);
    tensor.dtype.name().clone_into(&mut evidence.dtype);
    evidence.dims.clone_from(&tensor.dims);
    evidence.seed = case.seed;
    evidence.distribution.clone_from(&case.distribution);
}

/// How an output is compared. `round` is that of the poison it was filled with.
pub(super) fn compare_spec(
    operator: &Operator,
    shape: &Shape,
    tensor: &ConcreteTensor,
    case: &Case,
    round: u64,
) -> Outcome<CompareSpec> {
    let broken = |reason: String| {
        Verdict::new(Class::Environment, format!("problem `{}`: {reason}", operator.name))
            .try_next("`ridgepoint check` validates the problem files")
    };
    let described = operator.tensors.iter().find(|candidate| candidate.name == tensor.name);
    let contract = match described.map(|tensor| tensor.contract(&case.distribution, &operator.scope(shape))) {
        Some(Ok(Some(contract))) => contract,
        Some(Err(reason)) => return broken(reason).fail(),
        _ => return broken(format!("output `{}` has no tolerance contract", tensor.name)).fail(),
    };
    Ok(CompareSpec {
        dtype: tensor.dtype,
        dims: tensor.dims.clone(),
        contract,
        poison: poison_bits(tensor.dtype, round),
    })
}

fn guard_fault(name: &str, offset: i64, size: u64) -> Verdict {
    let place = if offset < 0 {
        format!("{} bytes before its start", offset.unsigned_abs())
    } else {
        format!("{} bytes past its end", (offset as u64).saturating_sub(size))
    };
    Verdict::new(
        Class::MemoryFault,
        format!("the kernel wrote outside `{name}`: {place}"),
    )
    .with(Evidence::Access {
        access: "write".to_owned(),
        space: "global".to_owned(),
        buffer: Some(name.to_owned()),
        offset: Some(offset),
        size: Some(size),
        thread: None,
        cta: None,
        at: None,
        ptx_line: None,
    })
}

/// The verdict on compared outputs: `Ok` where every one keeps its contract.
///
/// # Errors
/// `wrong_numbers`, with the evidence of every output that does not.
pub(super) fn judge(outputs: &[OutputEvidence]) -> Outcome<()> {
    let failing: Vec<&OutputEvidence> = outputs.iter().filter(|output| output.violation.is_some()).collect();
    let Some(first) = failing.first() else {
        return Ok(());
    };
    let why = first.violation.as_deref().unwrap_or_default();
    let reason = if first.unwritten > 0 && first.unwritten == first.elements {
        format!("output `{}` was not written at all", first.output)
    } else {
        format!("output `{}`: {why}", first.output)
    };
    let mut verdict = Verdict::new(Class::WrongNumbers, reason);
    verdict.evidence = failing
        .into_iter()
        .map(|output| Evidence::Output(Box::new(output.clone())))
        .collect();
    verdict.fail()
}

/// One repeat of the same inputs that must give the same bits.
///
/// # Errors
/// `nondeterministic`, with the difference between two executions where there is room to keep one.
pub(super) fn repeat(bench: &mut Bench<'_>, subject: &Subject<'_>, case: &Case, first: &[u64]) -> Outcome<()> {
    subject.execute(bench, case, 0)?;
    let second = subject.output_sums(bench.device)?;
    if first == second {
        return Ok(());
    }
    let names: Vec<&ConcreteTensor> = subject
        .workspace
        .outputs()
        .zip(first.iter().zip(&second))
        .filter(|(_, (a, b))| a != b)
        .map(|((tensor, _), _)| tensor)
        .collect();
    let list = names
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect::<Vec<_>>()
        .join("`, `");
    let mut verdict = Verdict::new(
        Class::Nondeterministic,
        format!("two executions with the same inputs gave different bits in `{list}`"),
    );
    if let Some(tensor) = names.first()
        && let Some(evidence) = difference(bench, subject, case, tensor)?
    {
        verdict.evidence.push(Evidence::Output(Box::new(evidence)));
    }
    verdict.fail()
}

/// Executions to try when looking for two that differ.
const DIFFERENCE_ATTEMPTS: u32 = 4;

/// Where two executions differ: the output as it is now against that of another execution.
fn difference(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    case: &Case,
    tensor: &ConcreteTensor,
) -> Outcome<Option<OutputEvidence>> {
    let Some(got) = subject.workspace.buffers.get(&tensor.name).copied() else {
        return Ok(None);
    };
    if bench.device.free_memory()? < tensor.bytes() * 2 {
        return Ok(None);
    }
    let kept = bench.device.alloc("earlier output", tensor.bytes())?;
    let found = difference_with(bench, subject, case, tensor, got, kept);
    bench.device.free(kept);
    found
}

fn difference_with(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    case: &Case,
    tensor: &ConcreteTensor,
    got: BufferId,
    kept: BufferId,
) -> Outcome<Option<OutputEvidence>> {
    bench.device.copy(got, kept)?;
    let spec = CompareSpec {
        dtype: tensor.dtype,
        dims: tensor.dims.clone(),
        contract: Contract::Exact,
        poison: poison_bits(tensor.dtype, 0),
    };
    for _ in 0..DIFFERENCE_ATTEMPTS {
        subject.execute(bench, case, 0)?;
        let mut evidence = bench.device.compare(got, kept, &spec)?;
        if evidence.mismatches > 0 {
            label(&mut evidence, tensor, case);
            return Ok(Some(evidence));
        }
    }
    Ok(None)
}

/// Keeps the worst comparison of each output.
pub(super) fn keep_worst(kept: &mut Vec<OutputEvidence>, fresh: Vec<OutputEvidence>) {
    for evidence in fresh {
        match kept.iter_mut().find(|old| old.output == evidence.output) {
            Some(old) => {
                let worse = (evidence.mismatches, evidence.rel_l2) > (old.mismatches, old.rel_l2);
                if worse || evidence.rel_l2.is_nan() {
                    *old = evidence;
                }
            }
            None => kept.push(evidence),
        }
    }
}
