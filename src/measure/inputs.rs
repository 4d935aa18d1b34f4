//! Inputs made on the device, and everything else put into the state that a launch must find.

use super::workspace::{Workspace, poison_bits};
use crate::device::{BufferId, Buffers, Device, GenerateSpec};
use crate::kernel::plan::Plan;
use crate::problem::{ConcreteTensor, Operator, PUBLISHED, Recipe, Role};
use crate::shape::Shape;
use crate::verdict::{Class, Outcome, Verdict};

/// One set of inputs: a seed and a distribution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    pub seed: u64,
    pub distribution: String,
}

/// The cases of a request, in order: every seed of the first distribution, then one seed of each other.
///
/// # Errors
/// Names a distribution that the operator does not have.
pub fn cases(operator: &Operator, seed: u64, seeds: u32, wanted: &[String]) -> Outcome<Vec<Case>> {
    let known = operator.distributions();
    let names: Vec<String> = if wanted.iter().any(|name| name == "all") {
        known.iter().map(|name| (*name).to_owned()).collect()
    } else if wanted.is_empty() {
        vec![PUBLISHED.to_owned()]
    } else {
        wanted.to_vec()
    };
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Verdict::new(
            Class::InvalidKernel,
            format!("`{}` has no distribution `{unknown}`", operator.name),
        )
        .try_next(format!("choose one of: {}, or `all`", known.join(", ")))
        .fail();
    }
    let mut cases = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let count = if index == 0 { seeds.max(1) } else { 1 };
        cases.extend((0..count).map(|step| Case {
            seed: seed.wrapping_add(u64::from(step)),
            distribution: name.clone(),
        }));
    }
    Ok(cases)
}

/// Generates one tensor's elements for a case into a buffer.
pub fn generate(
    device: &mut dyn Device,
    operator: &Operator,
    shape: &Shape,
    case: &Case,
    tensor: &ConcreteTensor,
    buffer: BufferId,
) -> Outcome<()> {
    let spec = generate_spec(operator, shape, case, tensor)?;
    device.generate(buffer, &spec)
}

fn generate_spec(operator: &Operator, shape: &Shape, case: &Case, tensor: &ConcreteTensor) -> Outcome<GenerateSpec> {
    let broken = |reason: String| {
        Verdict::new(Class::Environment, format!("problem `{}`: {reason}", operator.name))
            .try_next("`ridgepoint check` validates the problem files")
    };
    let Some(index) = operator
        .tensors
        .iter()
        .position(|candidate| candidate.name == tensor.name)
    else {
        return broken(format!("no tensor `{}`", tensor.name)).fail();
    };
    let scope = operator.scope(shape);
    let recipe = operator.tensors[index]
        .recipe(&case.distribution, &scope)
        .map_err(|reason| Box::new(broken(reason)))?;
    let total = match &recipe {
        Recipe::Offsets { total } => match scope.get(total).and_then(|value| value.value()?.as_int()) {
            Some(value) if value >= 0 => value as u64,
            _ => return broken(format!("tensor `{}`: no total `{total}`", tensor.name)).fail(),
        },
        _ => 0,
    };
    Ok(GenerateSpec {
        recipe,
        dtype: tensor.dtype,
        elements: tensor.elements(),
        seed: case.seed,
        tensor: index as u64,
        total,
    })
}

/// Generates all inputs of a case, tensors that are changed in place included.
pub fn generate_all(
    device: &mut dyn Device,
    operator: &Operator,
    shape: &Shape,
    case: &Case,
    workspace: &Workspace,
) -> Outcome<()> {
    for tensor in &workspace.tensors {
        if tensor.role != Role::Out
            && let Some(buffer) = workspace.buffers.get(&tensor.name)
        {
            generate(device, operator, shape, case, tensor, *buffer)?;
        }
    }
    Ok(())
}

/// Fills every pure output with poison, and restores what is changed in place.
pub fn reset_outputs(
    device: &mut dyn Device,
    operator: &Operator,
    shape: &Shape,
    case: &Case,
    workspace: &Workspace,
    round: u64,
) -> Outcome<()> {
    for (tensor, buffer) in workspace.outputs() {
        if tensor.role == Role::InOut {
            generate(device, operator, shape, case, tensor, buffer)?;
        } else {
            device.poison(buffer, tensor.dtype, poison_bits(tensor.dtype, round), false)?;
        }
    }
    Ok(())
}

/// Scratch to zero where the plan says so, to poison elsewhere.
pub fn reset_scratch(device: &mut dyn Device, plan: &Plan, buffers: &Buffers, round: u64) -> Outcome<()> {
    for scratch in &plan.scratch {
        let Some(buffer) = buffers.get(&scratch.name) else {
            continue;
        };
        if scratch.zeroed {
            device.poison(*buffer, scratch.dtype, 0, true)?;
        } else {
            device.poison(*buffer, scratch.dtype, poison_bits(scratch.dtype, round), false)?;
        }
    }
    Ok(())
}
