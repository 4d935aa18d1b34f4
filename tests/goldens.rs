//! Runs every golden kernel on the emulator, and compares it with independent oracles and with recorded hardware.

#![expect(
    clippy::unnecessary_wraps,
    clippy::type_complexity,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "oracles share one signature; NaN is neither more nor less"
)]

#[path = "goldens/oracle/bits.rs"]
mod bits;
#[path = "goldens/oracle/convert.rs"]
mod convert;
#[path = "goldens/oracle/float.rs"]
mod float;
#[path = "goldens/oracle/half.rs"]
mod half_float;
#[path = "goldens/oracle/integer.rs"]
mod integer;
#[path = "goldens/oracle/warp.rs"]
mod warp;

use std::path::Path;

use ridgepoint::device::emulator::EmulatorDevice;
use ridgepoint::device::goldens::{Golden, embedded, from_bytes, to_bytes};

/// What an output should be, from one element of every input and the element's place within its thread.
type Oracle = Box<dyn Fn(&[u64]) -> u64>;

/// Outputs for which no independent oracle is at hand: arithmetic in directed modes, which the unit tests of the
/// emulator's arithmetic hold against the host's, and the flushed or clamped forms of the same.
fn without_oracle(golden: &str, output: &str) -> bool {
    let directed = output.ends_with("_rz") || output.ends_with("_rm") || output.ends_with("_rp");
    directed && matches!(golden, "f32_rounding" | "f32_division" | "f64_arithmetic")
}

fn oracle(golden: &str, output: &str) -> Option<Oracle> {
    match golden {
        "f32_arithmetic" | "f32_division" | "f32_extrema" | "f32_compare" | "f64_arithmetic" | "f64_extrema"
        | "f32_approximate" | "f32_trigonometry" | "f64_approximate" => float::oracle(golden, output),
        "f16_pairs" | "f16_single" | "bf16_pairs" | "bf16_single" => half_float::oracle(golden, output),
        "f16_compare" | "bf16_compare" => half_float::compare(golden, output),
        "integer_arithmetic" | "carry" | "dot_products" => integer::oracle(output),
        "bits" => bits::oracle(output),
        _ if golden.starts_with("convert_") => convert::oracle(golden, output),
        _ => None,
    }
}

/// The elements of all inputs for element `index` of an output with `per` elements per thread.
fn arguments(golden: &Golden, inputs: &[Vec<u64>], index: usize, per: usize) -> Vec<u64> {
    let pick = |(values, input): (&Vec<u64>, &ridgepoint::device::goldens::Input)| {
        let own = input.per as usize;
        if own == per {
            values[index]
        } else {
            // The whole of what the thread loads, low element first.
            let thread = index / per;
            let bits = input.element.size() * 8;
            (0..own).fold(0, |word, i| word | values[thread * own + i] << (i * bits))
        }
    };
    // Last comes the element's place within its thread.
    inputs
        .iter()
        .zip(&golden.inputs)
        .map(pick)
        .chain([(index % per) as u64])
        .collect()
}

#[test]
fn the_emulator_agrees_with_the_oracles() {
    let mut device = EmulatorDevice::new("h200").expect("the emulator is always there");
    let mut failures = Vec::new();
    for golden in embedded().expect("the headers are right") {
        let outputs = match golden.run(&mut device) {
            Ok(outputs) => outputs,
            Err(verdict) => {
                failures.push(format!("{}: {verdict:?}", golden.name));
                continue;
            }
        };
        let inputs = golden.inputs();
        if let Some(expected) = warp::outputs(&golden.name, &inputs) {
            for (index, (name, want)) in expected.iter().enumerate() {
                assert_eq!(&golden.outputs[index].name, name, "{}", golden.name);
                let want = to_bytes(want, golden.outputs[index].element);
                failures.extend(golden.difference(index, &outputs[index], &want));
            }
            assert_eq!(
                expected.len(),
                outputs.len(),
                "{}: every output has an oracle",
                golden.name
            );
            continue;
        }
        for (index, output) in golden.outputs.iter().enumerate() {
            let Some(oracle) = oracle(&golden.name, &output.name) else {
                if !without_oracle(&golden.name, &output.name) {
                    failures.push(format!("{}/{} has no oracle", golden.name, output.name));
                }
                continue;
            };
            let per = output.per as usize;
            let want: Vec<u64> = (0..golden.threads as usize * per)
                .map(|element| oracle(&arguments(&golden, &inputs, element, per)))
                .collect();
            if let Some(difference) = golden.difference(index, &outputs[index], &to_bytes(&want, output.element)) {
                let got = from_bytes(&outputs[index], output.element);
                let bad = (0..want.len()).find(|&i| {
                    let one = |bits| to_bytes(&[bits], output.element);
                    golden.difference(index, &one(got[i]), &one(want[i])).is_some()
                });
                let at = bad.map(|i| format!(" for {:x?}", arguments(&golden, &inputs, i, per)));
                failures.push(difference + &at.unwrap_or_default());
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Compares with what a GPU answered, for each golden that has been recorded: `recorded/DEVICE/NAME.bin` holds the bytes
/// of all outputs, one after the other.
#[test]
fn the_emulator_agrees_with_recorded_hardware() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/recorded");
    let mut device = EmulatorDevice::new("h200").expect("the emulator is always there");
    let mut failures = Vec::new();
    for machine in std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().is_dir())
    {
        for golden in embedded().expect("the headers are right") {
            let Ok(recorded) = std::fs::read(machine.path().join(format!("{}.bin", golden.name))) else {
                continue;
            };
            let outputs = golden.run(&mut device).expect("the golden runs");
            let mut rest = recorded.as_slice();
            for (index, output) in outputs.iter().enumerate() {
                let Some((want, after)) = rest.split_at_checked(output.len()) else {
                    failures.push(format!("{}: the recording is too short; record it again", golden.name));
                    break;
                };
                rest = after;
                failures.extend(golden.difference(index, output, want));
            }
            if !rest.is_empty() {
                failures.push(format!("{}: the recording is too long; record it again", golden.name));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
