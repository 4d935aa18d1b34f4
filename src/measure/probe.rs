//! The wrong-answers probe: for every complete operator, answers known to be wrong must break the contract, and the
//! reference's own must keep it. Proves that a tolerance says something.

use serde::Serialize;

use super::bench::Bench;
use super::build;
use super::inputs::{Case, generate_all};
use super::memory::Needs;
use super::reference::{Reference, answer_needs};
use super::selection;
use super::verify::compare_spec;
use super::workspace::{Workspace, needs_of, poison_bits};
use crate::device::{BufferId, Buffers};
use crate::dtype::DType;
use crate::kernel::plan::Plan;
use crate::problem::{ConcreteTensor, Operator, PUBLISHED};
use crate::shape::Shape;
use crate::verdict::{Class, Outcome, Verdict};

/// Elements up to which an input of another type is converted on the host for the copied answer.
const MAX_CONVERTED: u64 = 1 << 26;
/// Poison pattern of the probe's outputs.
const ROUND: u64 = 0;
/// Rows of a flat output, for the answer that lacks its last one.
const FLAT_ROWS: u64 = 16;

/// The known wrong answers, and the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Zeros,
    Untouched,
    CopiedInput,
    Halved,
    OtherSeed,
    OneWrong,
    LastRowMissing,
    Reference,
}

impl Answer {
    pub const ALL: [Self; 8] = [
        Self::Zeros,
        Self::Untouched,
        Self::CopiedInput,
        Self::Halved,
        Self::OtherSeed,
        Self::OneWrong,
        Self::LastRowMissing,
        Self::Reference,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Untouched => "untouched",
            Self::CopiedInput => "copied input",
            Self::Halved => "halved",
            Self::OtherSeed => "other seed",
            Self::OneWrong => "one wrong",
            Self::LastRowMissing => "last row missing",
            Self::Reference => "reference",
        }
    }
}

/// What came of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// As it must be: a wrong answer refused, the right one accepted.
    AsExpected,
    /// A wrong answer accepted, or the right one refused.
    Unexpected,
    /// There is no such answer here, for the reason in the detail.
    NotApplicable,
}

/// One answer for one output of one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub operator: String,
    pub shape: String,
    pub output: String,
    pub answer: Answer,
    pub found: Found,
    pub detail: String,
}

/// The whole probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProbeReport {
    pub schema: u32,
    pub device: String,
    pub rows: Vec<Row>,
    /// Operators and shapes that were not probed, with the reason: never silently.
    pub skipped: Vec<String>,
    pub unexpected: usize,
}

/// Probes every complete operator (or the one named) on the shapes that the device can afford. `tell` hears of each shape.
pub fn run(bench: &mut Bench<'_>, only: Option<&str>, tell: &mut dyn FnMut(&str)) -> ProbeReport {
    let mut report = ProbeReport {
        schema: super::report::SCHEMA,
        device: bench.device.info().name.clone(),
        ..ProbeReport::default()
    };
    let operators = bench.catalogue.operators.clone();
    for operator in operators
        .iter()
        .filter(|operator| only.is_none_or(|name| operator.name == name))
    {
        if !operator.is_complete() {
            report.skipped.push(format!("{}: no reference yet", operator.name));
            continue;
        }
        let chosen = match selection::select(operator, &[], bench.device.info().kind) {
            Ok(chosen) => chosen,
            Err(verdict) => {
                report.skipped.push(format!("{}: {}", operator.name, verdict.reason));
                continue;
            }
        };
        report
            .skipped
            .extend(chosen.left_out.map(|text| format!("{}: {text}", operator.name)));
        for shape in &chosen.shapes {
            let before = report.rows.len();
            match one_shape(bench, operator, shape, &mut report.rows) {
                Ok(()) => tell(&format!(
                    "{} {}: {} answers",
                    operator.name,
                    shape.id,
                    report.rows.len() - before
                )),
                Err(verdict) => {
                    report
                        .skipped
                        .push(format!("{} {}: {verdict}", operator.name, shape.id));
                    tell(&format!("{} {}: {verdict}", operator.name, shape.id));
                }
            }
        }
    }
    report.unexpected = report.rows.iter().filter(|row| row.found == Found::Unexpected).count();
    report
}

fn one_shape(bench: &mut Bench<'_>, operator: &Operator, shape: &Shape, rows: &mut Vec<Row>) -> Outcome<()> {
    let reference = build::reference(operator, shape, bench)?;
    let tensors = operator
        .tensors_of(shape)
        .map_err(|reason| Box::new(Verdict::new(Class::Environment, reason)))?;
    let mut needs = Needs::default();
    needs_of(&tensors, &Plan::default(), &mut needs);
    // The answers of two seeds at a time.
    answer_needs(&tensors, &reference.plan, &mut needs);
    answer_needs(&tensors, &reference.plan, &mut needs);
    bench.warm.make_room(bench.device, needs.total())?;
    needs.check(bench.device.free_memory()?)?;
    let mut workspace = Workspace::allocate(bench.device, tensors, &Plan::default())?;
    let mut copies = Copies::default();
    let result = answers(bench, operator, shape, &reference, &workspace, &mut copies, rows);
    copies.free(bench);
    workspace.free(bench.device);
    result
}

/// Right answers kept in buffers of the probe's own: the warm store may drop its own at any time.
#[derive(Default)]
struct Copies {
    want: Buffers,
    other: Buffers,
}

impl Copies {
    fn free(&mut self, bench: &mut Bench<'_>) {
        for buffer in self.want.values().chain(self.other.values()) {
            bench.device.free(*buffer);
        }
    }
}

fn keep(bench: &mut Bench<'_>, workspace: &Workspace, answer: &Buffers, into: &mut Buffers) -> Outcome<()> {
    for (tensor, _) in workspace.outputs() {
        let copy = bench.device.alloc(&format!("kept {}", tensor.name), tensor.bytes())?;
        into.insert(tensor.name.clone(), copy);
        if let Some(from) = answer.get(&tensor.name) {
            bench.device.copy(*from, copy)?;
        }
    }
    Ok(())
}

fn answers(
    bench: &mut Bench<'_>,
    operator: &Operator,
    shape: &Shape,
    reference: &Reference,
    workspace: &Workspace,
    copies: &mut Copies,
    rows: &mut Vec<Row>,
) -> Outcome<()> {
    let case = |seed| Case {
        seed,
        distribution: PUBLISHED.to_owned(),
    };
    // The other seed first, so that the inputs of the first are in place afterwards.
    for (seed, into) in [(2, &mut copies.other), (1, &mut copies.want)] {
        generate_all(bench.device, operator, shape, &case(seed), workspace)?;
        let answer = bench
            .warm
            .answer(bench.device, operator, shape, reference, &case(seed), workspace)?;
        keep(bench, workspace, &answer, into)?;
    }
    for (tensor, out) in workspace.outputs() {
        if tensor.elements() == 0 {
            continue;
        }
        let spot = Spot {
            operator,
            shape,
            workspace,
            tensor,
            out,
            want: copies.want[&tensor.name],
            other: copies.other[&tensor.name],
        };
        for answer in Answer::ALL {
            bench.cancel.check()?;
            let (found, detail) = spot.probe(bench, answer, &case(1))?;
            rows.push(Row {
                operator: operator.name.clone(),
                shape: shape.id.clone(),
                output: tensor.name.clone(),
                answer,
                found,
                detail,
            });
        }
    }
    Ok(())
}

/// One output with the buffers to fill and to compare.
struct Spot<'a> {
    operator: &'a Operator,
    shape: &'a Shape,
    workspace: &'a Workspace,
    tensor: &'a ConcreteTensor,
    out: BufferId,
    want: BufferId,
    other: BufferId,
}

impl Spot<'_> {
    fn probe(&self, bench: &mut Bench<'_>, answer: Answer, case: &Case) -> Outcome<(Found, String)> {
        if let Some(reason) = self.make(bench, answer)? {
            return Ok((Found::NotApplicable, reason));
        }
        let spec = compare_spec(self.operator, self.shape, self.tensor, case, ROUND)?;
        let evidence = bench.device.compare(self.out, self.want, &spec)?;
        let wrong = answer != Answer::Reference;
        Ok(match evidence.violation {
            Some(why) if wrong => (Found::AsExpected, why),
            None if !wrong => (Found::AsExpected, String::new()),
            Some(why) => (Found::Unexpected, format!("the right answer was refused: {why}")),
            None if bench.device.checksum(self.out)? == bench.device.checksum(self.want)? => (
                Found::Unexpected,
                "accepted: it is the right answer, bit for bit".to_owned(),
            ),
            None => (
                Found::Unexpected,
                format!(
                    "accepted: {} of {} elements differ, relative L2 {:.2e}",
                    evidence.mismatches, evidence.elements, evidence.rel_l2
                ),
            ),
        })
    }

    /// Puts an answer into the output, or says why there is none.
    fn make(&self, bench: &mut Bench<'_>, answer: Answer) -> Outcome<Option<String>> {
        let dtype = self.tensor.dtype;
        match answer {
            Answer::Zeros => bench.device.poison(self.out, dtype, 0, true)?,
            Answer::Untouched => bench.device.poison(self.out, dtype, poison_bits(dtype, ROUND), true)?,
            Answer::CopiedInput => return self.copy_input(bench),
            Answer::Halved => bench.device.halve(self.want, self.out, dtype)?,
            Answer::OtherSeed => bench.device.copy(self.other, self.out)?,
            Answer::OneWrong => self.spoil_one(bench)?,
            Answer::LastRowMissing => self.drop_last_row(bench)?,
            Answer::Reference => bench.device.copy(self.want, self.out)?,
        }
        Ok(None)
    }

    /// The first input with as many elements, its values converted to the output's type.
    fn copy_input(&self, bench: &mut Bench<'_>) -> Outcome<Option<String>> {
        let count = self.tensor.elements();
        let inputs = self.workspace.inputs();
        let Some((input, buffer)) = inputs.into_iter().find(|(input, _)| input.elements() == count) else {
            return Ok(Some("no input has as many elements".to_owned()));
        };
        if input.dtype == self.tensor.dtype {
            bench.device.copy(buffer, self.out)?;
            return Ok(None);
        }
        if count > MAX_CONVERTED {
            return Ok(Some(format!("`{}` is too large to convert on the host", input.name)));
        }
        let bytes = bench.device.read(buffer, 0, input.bytes())?;
        bench
            .device
            .write(self.out, 0, &convert(&bytes, input.dtype, self.tensor.dtype))?;
        Ok(None)
    }

    fn spoil_one(&self, bench: &mut Bench<'_>) -> Outcome<()> {
        let dtype = self.tensor.dtype;
        let size = dtype.size() as u64;
        bench.device.copy(self.want, self.out)?;
        let offset = self.tensor.elements() / 2 * size;
        let element = bench.device.read(self.out, offset, size)?;
        let bits = dtype.read(&element, 0).unwrap_or(0);
        let wrong = spoiled(dtype, bits).to_le_bytes();
        bench.device.write(self.out, offset, &wrong[..dtype.size()])
    }

    fn drop_last_row(&self, bench: &mut Bench<'_>) -> Outcome<()> {
        let dtype = self.tensor.dtype;
        let count = self.tensor.elements();
        let row = match self.tensor.dims.as_slice() {
            [.., _, last] => *last,
            _ => count.div_ceil(FLAT_ROWS),
        };
        bench.device.copy(self.want, self.out)?;
        let poison = poison_bits(dtype, ROUND).to_le_bytes();
        let bytes = poison[..dtype.size()].repeat(row as usize);
        bench
            .device
            .write(self.out, (count - row) * dtype.size() as u64, &bytes)
    }
}

/// Another value, far from this one in every format, and finite.
fn spoiled(dtype: DType, bits: u64) -> u64 {
    /// Within the range of every floating-point format, fp8 included.
    const FAR: f64 = 64.0;
    if !dtype.is_float() {
        return bits ^ 1;
    }
    let value = dtype.decode(bits);
    dtype.encode(if value.abs() < 1.0 { FAR } else { -value })
}

fn convert(bytes: &[u8], from: DType, to: DType) -> Vec<u8> {
    let count = bytes.len() / from.size();
    let mut out = Vec::with_capacity(count * to.size());
    for index in 0..count {
        let bits = from.read(bytes, index).unwrap_or(0);
        out.extend_from_slice(&to.encode(from.decode(bits)).to_le_bytes()[..to.size()]);
    }
    out
}
