//! The complete operators: references and kernels against oracles in f64, contracts against right and wrong answers.

#![expect(clippy::unwrap_used, reason = "a test panics where a fact does not hold")]

#[path = "references/case.rs"]
mod case;
#[path = "references/honest.rs"]
mod honest;
#[path = "references/oracle.rs"]
mod oracle;
#[path = "references/run.rs"]
mod run;
#[path = "references/wrong.rs"]
mod wrong;

use std::path::Path;
use std::sync::Arc;

use case::{Answers, Case, encode};
use ridgepoint::device::emulator::EmulatorDevice;
use ridgepoint::device::{CompareSpec, evidence};
use ridgepoint::kernel;
use ridgepoint::problem::{Catalogue, ConcreteTensor, Operator, PUBLISHED, Source};
use ridgepoint::verdict::{Class, OutputEvidence};

/// What kernel headers may ask of a device, with the values of an H200.
const H200: [(&str, i64); 7] = [
    ("sm_count", 132),
    ("max_threads_per_block", 1024),
    ("max_shared_per_block", 232_448),
    ("l2_bytes", 62_914_560),
    ("warp_size", 32),
    ("cc_major", 9),
    ("cc_minor", 0),
];

fn complete() -> Vec<Arc<Operator>> {
    let catalogue = Catalogue::builtin();
    let operators: Vec<_> = catalogue
        .operators
        .iter()
        .filter(|operator| operator.is_complete())
        .cloned()
        .collect();
    assert!(operators.len() >= 10, "only {} operators are complete", operators.len());
    operators
}

/// The reference and all built-in CUDA C++ kernels.
fn sources(operator: &Operator) -> impl Iterator<Item = &Source> {
    operator.reference.iter().chain(&operator.kernels).filter(|source| {
        std::path::Path::new(&source.name)
            .extension()
            .is_some_and(|extension| extension == "cu")
    })
}

fn compared(case: &Case<'_>, output: &ConcreteTensor, got: &[u8], want: &[u8]) -> OutputEvidence {
    let spec = CompareSpec {
        dtype: output.dtype,
        dims: case.dims(output),
        contract: case.contract(&output.name),
        poison: run::POISON,
    };
    evidence::compare(got, want, &spec).unwrap()
}

fn bytes(output: &ConcreteTensor, answers: &Answers) -> Vec<u8> {
    encode(output.dtype, &answers[&output.name])
}

#[test]
fn every_kernel_has_a_plan_for_every_shape() {
    let properties = H200.map(|(name, value)| (name.to_owned(), value));
    let mut wrong = Vec::new();
    for operator in complete() {
        assert!(
            operator.kernels.len() >= 2,
            "{} has a starter and a faster kernel",
            operator.name
        );
        for source in sources(&operator) {
            let file = kernel::load(Path::new(&source.name), Some(&source.text)).unwrap();
            assert_eq!(file.header.operator.as_deref(), Some(operator.name.as_str()));
            for shape in operator.shapes.iter().chain(&operator.twins) {
                if let Err(error) = file.plan(&operator, shape, &properties, &[]) {
                    wrong.push(format!("{} {} {}: {error}", operator.name, source.name, shape.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Other right ways of computing pass, on every twin and distribution, and on a sample of every published shape.
#[test]
fn contracts_accept_right_answers() {
    let mut wrong = Vec::new();
    let mut check = |case: &Case<'_>| {
        let (want, got) = (oracle::answers(case), honest::answers(case));
        for output in case.outputs() {
            let evidence = compared(case, output, &bytes(output, &got), &bytes(output, &want));
            if let Some(violation) = evidence.violation {
                wrong.push(format!("{case}: {}: {violation}", output.name));
            }
        }
    };
    for operator in complete() {
        for twin in &operator.twins {
            for distribution in operator.distributions() {
                check(&Case::new(&operator, twin, distribution, 1));
            }
        }
        for shape in &operator.shapes {
            check(&Case::sample(&operator, shape, PUBLISHED, 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Zeros, an input, half the answer, another seed's answer and a single wrong element fail on every published shape.
#[test]
fn contracts_refuse_wrong_answers() {
    let mut accepted = Vec::new();
    for operator in complete() {
        for shape in operator.shapes.iter().chain(&operator.twins) {
            let case = Case::sample(&operator, shape, PUBLISHED, 1);
            let (want, other) = (
                oracle::answers(&case),
                oracle::answers(&Case::sample(&operator, shape, PUBLISHED, 2)),
            );
            for output in case.outputs() {
                let right = bytes(output, &want);
                let mut answers = wrong::answers(&case, output, &right);
                answers.push(("another seed's".to_owned(), bytes(output, &other)));
                for (what, answer) in answers {
                    // Attention over a single token is a copy of v: then the copy is the answer.
                    if answer != right && compared(&case, output, &answer, &right).violation.is_none() {
                        accepted.push(format!("{case}: {}: {what}", output.name));
                    }
                }
            }
        }
    }
    assert!(accepted.is_empty(), "{}", accepted.join("\n"));
}

/// What one source of an operator gives on the emulator for one case, against the oracle: complaints, if any.
fn complaints(device: &mut EmulatorDevice, case: &Case<'_>, source: &Source, want: &Answers) -> Vec<String> {
    let place = format!("{case}: {}", source.name);
    let got = match run::run(device, case, source) {
        Ok(got) => got,
        // The tensor core instructions of the fastest kernels are not emulated yet; a refusal must say so.
        Err(verdict) if verdict.class == Class::Unsupported && source.name.contains("mma") => return Vec::new(),
        Err(verdict) => return vec![format!("{place}: {verdict}")],
    };
    let judged = case.outputs().filter_map(|output| {
        let evidence = compared(case, output, &got[&output.name], &bytes(output, want));
        evidence
            .violation
            .map(|violation| format!("{place}: {}: {violation}", output.name))
    });
    judged.collect()
}

/// References agree with the oracles on every twin and distribution, kernels on every twin and a few distributions.
#[test]
fn kernels_agree_with_the_oracles() {
    let mut device = EmulatorDevice::new("h200").unwrap();
    let mut wrong = Vec::new();
    for operator in complete() {
        for (position, twin) in operator.twins.iter().enumerate() {
            let distributions = operator.distributions();
            // Another hard distribution for each twin.
            let hard = distributions[position % distributions.len()];
            for distribution in &distributions {
                let case = Case::new(&operator, twin, distribution, 7);
                let want = oracle::answers(&case);
                let all = *distribution == PUBLISHED || *distribution == hard;
                for source in sources(&operator).filter(|source| all || source.name.starts_with("reference")) {
                    wrong.extend(complaints(&mut device, &case, source, &want));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
