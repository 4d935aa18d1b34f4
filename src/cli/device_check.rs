//! `ridgepoint device-check DEVICE`: everything about a device that no other machine can check, as one JSON document.
//!
//! On a GPU: the self-test (generation, comparison, guard bands, launch features, clocks, hangs and faults) and the goldens.
//! On the emulator: the goldens. The goldens' outputs are in the document, so that two devices' answers can be compared.

use std::fmt::Write;

use serde::Serialize;

use super::args::DeviceCheckArgs;
use super::{Exit, print};
use crate::device::cuda::selftest;
use crate::device::{self, goldens};

/// The version of the JSON document's layout.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document {
    schema: u32,
    device: String,
    self_test: Option<selftest::Report>,
    goldens: Vec<Golden>,
}

/// What one golden gave.
#[derive(Serialize)]
struct Golden {
    name: String,
    /// Bytes of every output, as hexadecimal digits; absent where it did not run.
    outputs: Option<Vec<String>>,
    reason: Option<String>,
}

/// Runs the check, or one faulting case of it in this process.
pub(super) fn run(args: &DeviceCheckArgs) -> Exit {
    let ordinal = args
        .device
        .strip_prefix("cuda:")
        .and_then(|number| number.parse::<u32>().ok());
    match (&args.case, ordinal) {
        (Some(case), Some(ordinal)) => {
            let check = selftest::case(ordinal, case);
            // One line: the parent reads lines.
            print::line(serde_json::to_string(&check).unwrap_or_default());
            if check.passed { Exit::Passed } else { Exit::Failed }
        }
        (Some(_), None) => {
            print::note("a case needs a CUDA device: cuda:N");
            Exit::Usage
        }
        (None, _) => whole(&args.device, ordinal),
    }
}

fn whole(device: &str, ordinal: Option<u32>) -> Exit {
    let self_test = ordinal.map(|ordinal| selftest::run(ordinal, &mut |case| case_command(device, case)));
    let goldens = match run_goldens(device) {
        Ok(goldens) => goldens,
        Err(reason) => {
            print::note(format!("the goldens did not run on {device}: {reason}"));
            return Exit::Environment;
        }
    };
    let passed =
        self_test.as_ref().is_none_or(|report| report.passed) && goldens.iter().all(|golden| golden.outputs.is_some());
    print::json(&Document {
        schema: SCHEMA,
        device: device.to_owned(),
        self_test,
        goldens,
    });
    if passed { Exit::Passed } else { Exit::Failed }
}

/// This program, running one case.
fn case_command(device: &str, case: &str) -> std::process::Command {
    let program = std::env::current_exe().unwrap_or_else(|_| "ridgepoint".into());
    let mut command = std::process::Command::new(program);
    command.args(["device-check", device, "--case", case]);
    command
}

fn run_goldens(device: &str) -> Result<Vec<Golden>, String> {
    let mut opened = device::open(device).map_err(|verdict| verdict.to_string())?;
    let goldens = goldens::embedded()?;
    let results = goldens::run_all(opened.as_mut(), &goldens);
    Ok(results
        .into_iter()
        .map(|result| match result.outputs {
            Ok(outputs) => Golden {
                name: result.name,
                outputs: Some(outputs.iter().map(|bytes| hex(bytes)).collect()),
                reason: None,
            },
            Err(verdict) => Golden {
                name: result.name,
                outputs: None,
                reason: Some(verdict.to_string()),
            },
        })
        .collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
