//! Real runs, kept under `assets/recordings/`: what the pictures of measured screens are drawn from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ridgepoint::device::{DeviceInfo, DeviceKind};
use ridgepoint::kernel::Language;
use ridgepoint::measure::report::RunReport;
use ridgepoint::problem::Catalogue;
use ridgepoint::tui::model::{CatalogueData, Iteration};

/// Eight tries at `rms_norm` on the shape of 24752 x 1280, on an H200.
const ITERATIONS: usize = 8;
/// The shape's id in the suite.
pub(crate) const SHAPE: &str = "29";
/// What was tried.
const NOTES: [&str; ITERATIONS] = [
    "starter, BLOCK 1024",
    "BLOCK 512",
    "BLOCK 256",
    "BLOCK 128",
    "the grid is too small",
    "16-byte loads, BLOCK 256",
    "BLOCK 128",
    "BLOCK 512",
];

fn file(number: usize, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("assets/recordings/h200-2026-12-01/iterations")
        .join(format!("{number:02}.{extension}"))
}

/// The kernel of a try, as it ran; several tries had the same text with other tunables.
pub(crate) fn source(number: usize) -> String {
    let first = match number {
        1..=4 => 1,
        5 => 5,
        _ => 6,
    };
    std::fs::read_to_string(file(first, "cu")).expect("a recorded kernel")
}

/// The report of a try.
pub(crate) fn report(number: usize) -> RunReport {
    let text = std::fs::read_to_string(file(number, "json")).expect("a recorded run");
    serde_json::from_str(&text).expect("a run's report")
}

/// The device they ran on.
pub(crate) fn device() -> DeviceInfo {
    let report = report(1);
    DeviceInfo {
        id: "cuda:0".to_owned(),
        name: report.device.name,
        kind: DeviceKind::Cuda,
        profile: report.device.profile,
        properties: Vec::new(),
        memory_bytes: 141 << 30,
        details: report.device.details,
    }
}

/// The tries as the history keeps them.
pub(crate) fn history() -> Vec<Arc<Iteration>> {
    (1..=ITERATIONS)
        .map(|number| {
            let report = report(number);
            Arc::new(Iteration {
                version: number as u32,
                unix_s: report.started_unix_s,
                author: "ridgepoint".to_owned(),
                note: NOTES[number - 1].to_owned(),
                kernel: report.kernel.path,
                language: Language::Cuda,
                source: source(number).into(),
                device: "cuda:0".to_owned(),
                status: report.status,
                reason: report.reason,
                shapes: report.shapes,
            })
        })
        .collect()
}

/// The operators that ship, which the recorded runs are of.
pub(crate) fn catalogue() -> Arc<CatalogueData> {
    Arc::new(CatalogueData {
        operators: Catalogue::builtin().operators.clone(),
        broken: Vec::new(),
    })
}
