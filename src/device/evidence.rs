//! A comparison in words: the evidence that a verdict carries.

use super::CompareSpec;
use super::compare::{Layout, MAP_COLS, NONE, Part, Totals, totals};
use super::element::at;
use super::pattern::{self, Facts, Sampler};
use crate::problem::Contract;
use crate::verdict::{ElementEvidence, Outcome, OutputEvidence};

/// Puts a comparison in words. `sampler` reads single elements, for the patterns that need them.
///
/// # Errors
/// As the sampler's.
pub fn evidence(totals: &Totals, spec: &CompareSpec, sampler: &mut Sampler<'_>) -> Outcome<OutputEvidence> {
    let (part, layout) = (&totals.part, Layout::new(&spec.dims));
    let mut element = |index: u64| -> Outcome<Option<ElementEvidence>> {
        if index == NONE {
            return Ok(None);
        }
        let (got, want) = sampler(&[index], &[index])?;
        Ok(Some(ElementEvidence {
            index: unravel(index, &spec.dims),
            expected: spec.dtype.decode(want[0]),
            got: spec.dtype.decode(got[0]),
        }))
    };
    let (first, worst) = (element(part.first)?, element(part.worst)?);
    let pattern = if part.mismatches == 0 {
        None
    } else {
        pattern::name(&Facts { totals, layout, spec }, sampler)?
    };
    let rel_l2 = if part.sum_diff == 0.0 {
        0.0
    } else {
        (part.sum_diff / part.sum_want).sqrt()
    };
    Ok(OutputEvidence {
        dtype: spec.dtype.name().to_owned(),
        dims: spec.dims.clone(),
        elements: layout.elements,
        mismatches: part.mismatches,
        violation: violation(part, rel_l2, layout.elements, &spec.contract),
        max_abs: part.max_abs,
        max_rel: part.max_rel,
        rms: if layout.elements == 0 {
            0.0
        } else {
            (part.sum_diff / layout.elements as f64).sqrt()
        },
        rel_l2,
        max_ulp: part.max_ulp,
        nan: part.nan,
        inf: part.inf,
        unwritten: part.unwritten,
        first,
        worst,
        map: map(&totals.counts, &layout, part.mismatches),
        pattern,
        ..OutputEvidence::default()
    })
}

/// Compares two tensors in host memory and puts the result in words.
///
/// # Errors
/// None of its own; the type is the device trait's.
pub fn compare(got: &[u8], want: &[u8], spec: &CompareSpec) -> Outcome<OutputEvidence> {
    let totals = totals(got, want, spec);
    let read = |bytes: &[u8], indices: &[u64]| {
        indices
            .iter()
            .map(|index| at(spec.dtype, bytes, *index as usize))
            .collect::<Vec<u64>>()
    };
    evidence(&totals, spec, &mut |in_got, in_want| {
        Ok((read(got, in_got), read(want, in_want)))
    })
}

fn unravel(mut index: u64, dims: &[u64]) -> Vec<u64> {
    let mut position = vec![0; dims.len()];
    for (slot, dim) in position.iter_mut().zip(dims).rev() {
        *slot = index % dim.max(&1);
        index /= dim.max(&1);
    }
    position
}

fn map(counts: &[u64], layout: &Layout, mismatches: u64) -> Vec<Vec<f32>> {
    if mismatches == 0 {
        return Vec::new();
    }
    let cell = |row: u64, col: u64| {
        let count = counts[(row * MAP_COLS + col) as usize];
        (count as f64 / layout.cell_elements(row, col) as f64) as f32
    };
    (0..layout.map_rows)
        .map(|row| (0..layout.map_cols).map(|col| cell(row, col)).collect())
        .collect()
}

/// Why a contract is broken, the clearest reason first.
fn violation(part: &Part, rel_l2: f64, elements: u64, contract: &Contract) -> Option<String> {
    let share = part.mismatches as f64 / elements.max(1) as f64;
    let count = |number: u64| format!("{number} of {elements} elements");
    match contract {
        Contract::Exact if part.mismatches > 0 => Some(format!(
            "{} differ, and this output must be bit-identical",
            count(part.mismatches)
        )),
        Contract::Codes { max_distance, .. } if part.over > 0 => Some(format!(
            "{} are more than {max_distance} codes away (up to {})",
            count(part.over),
            part.max_ulp
        )),
        Contract::Codes { allowed_share, .. } if share > *allowed_share => Some(format!(
            "{} have another code: {:.3} %, and {:.3} % may",
            count(part.mismatches),
            share * 100.0,
            allowed_share * 100.0
        )),
        Contract::Close { cap, .. } if part.over > 0 && *cap > 1.0 && share <= allowed(contract) => {
            Some(format!("{} exceed {cap} times the tolerance", count(part.over)))
        }
        Contract::Close { atol, rtol, .. } if share > allowed(contract) || part.over > 0 => Some(format!(
            "{} are outside {atol:e} + {rtol:e} * |expected|",
            count(part.mismatches)
        )),
        // Where everything expected is zero there is nothing to be relative to: the absolute tolerance alone decides.
        Contract::Close { rel_l2: limit, .. } if part.sum_want > 0.0 && rel_l2 > *limit => {
            Some(format!("the relative L2 error is {rel_l2:.3e}, over {limit:.3e}"))
        }
        _ => None,
    }
}

fn allowed(contract: &Contract) -> f64 {
    match contract {
        Contract::Close { allowed_share, .. } | Contract::Codes { allowed_share, .. } => *allowed_share,
        Contract::Exact => 0.0,
    }
}
