//! The pipeline on the mock device: every branch that a kernel can send it down.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;

use super::bench::Bench;
use super::build::{self, Compiled, Compiler};
use super::cancel::Cancel;
use super::report::{Comparison, CompileReport};
use super::{Event, RunReport, RunRequest, Stage, StageState, Warm, compare, pipeline, probe};
use crate::device::mock::MockDevice;
use crate::device::{Device, DeviceInfo, Image};
use crate::kernel::{KernelFile, Language};
use crate::problem::Catalogue;
use crate::verdict::{Class, Evidence, Outcome, Verdict};

/// Takes PTX as it is and shipped PTX unseen.
struct NoCompiler;

impl Compiler for NoCompiler {
    fn compile(
        &mut self,
        file: &KernelFile,
        shipped: Option<&str>,
        _: &[(String, i64)],
        _: &DeviceInfo,
    ) -> Outcome<Compiled> {
        let ptx = match (file.language, shipped) {
            (Language::Ptx, _) => Arc::clone(&file.text),
            (_, Some(ptx)) => Arc::from(ptx),
            _ => return Verdict::new(Class::Environment, "there is no compiler").fail(),
        };
        Ok(Compiled {
            key: build::sha256(&ptx),
            image: Image { ptx, cubin: None },
            report: CompileReport::default(),
            remarks: Vec::new(),
        })
    }
}

const PROBLEM: &str = r#"
dtype = "f32"
maths = "out = 2 x"
[shapes]
table = """
id  count
1   4096
2   257
"""
twins = """
id       count
small-1  64
"""
[params]
count = "elements"
[[tensor]]
name = "x"
role = "in"
dtype = "f32"
dims = ["count"]
[tensor.recipes]
published = { kind = "normal", std = 1.0 }
wide = { kind = "wide", lo_exp = -4, hi_exp = 4 }
[[tensor]]
name = "out"
role = "out"
dtype = "f32"
dims = ["count"]
contract = { rule = "close", atol = 1e-6, rtol = 1e-6, rel_l2 = 1e-6 }
[cost]
flops = { fp32 = "count" }
bytes_read = "4 * count"
bytes_written = "4 * count"
"#;

const REFERENCE: &str = r#"/*---ridgepoint
operator = "double"
[[launch]]
kernel = "twice"
grid = ["1"]
block = ["64"]
args = ["x", "out"]
---*/
extern "C" __global__ void twice(const float* x, float* out) {}
"#;

/// A mock device with one problem, `double`, and a folder for kernels.
struct Table {
    folder: TempDir,
    device: MockDevice,
    catalogue: Catalogue,
    warm: Warm,
    cancel: Cancel,
    events: Vec<Event>,
}

impl Table {
    fn new(device: MockDevice) -> Self {
        let folder = TempDir::new().unwrap();
        let problem = folder.path().join("problems/test/double");
        fs::create_dir_all(&problem).unwrap();
        fs::write(problem.join("problem.toml"), PROBLEM).unwrap();
        fs::write(problem.join("reference.cu"), REFERENCE).unwrap();
        fs::write(problem.join("reference.ptx"), "// mock scale f32 x out 2\n").unwrap();
        let catalogue = Catalogue::load(Some(&folder.path().join("problems")));
        let broken: Vec<_> = catalogue
            .broken
            .iter()
            .filter(|broken| broken.name == "double")
            .collect();
        assert!(broken.is_empty(), "{broken:?}");
        Self {
            folder,
            device,
            catalogue,
            warm: Warm::default(),
            cancel: Cancel::new(),
            events: Vec::new(),
        }
    }

    fn kernel(&self, extra_header: &str, lines: &[&str]) -> PathBuf {
        let mut text = format!(
            "/*---ridgepoint\noperator = \"double\"\n{extra_header}\n[[launch]]\nkernel = \"k\"\ngrid = [\"1\"]\nblock = [\"64\"]\nargs = [\"x\", \"out\"]\n---*/\n// k\n"
        );
        for line in lines {
            text = text + "// mock " + line + "\n";
        }
        let path = self.folder.path().join("kernel.ptx");
        fs::write(&path, text).unwrap();
        path
    }

    fn request(&self, lines: &[&str]) -> RunRequest {
        RunRequest {
            time_limit_s: 0.05,
            ..RunRequest::new(self.kernel("", lines))
        }
    }

    fn run(&mut self, request: &RunRequest) -> RunReport {
        let free = self.device.free_memory().unwrap();
        let report = pipeline::run(
            request,
            &mut Bench {
                device: &mut self.device,
                catalogue: &self.catalogue,
                compiler: &mut NoCompiler,
                warm: &mut self.warm,
                cancel: &self.cancel,
            },
            &mut |event| self.events.push(event),
        );
        self.warm.clear(&mut self.device);
        assert_eq!(self.device.free_memory().unwrap(), free, "buffers were left behind");
        let Some(Event::Finished(last)) = self.events.last() else {
            panic!("the last event is not the end")
        };
        // As JSON, because evidence may hold NaN.
        assert_eq!(
            serde_json::to_value(last).unwrap(),
            serde_json::to_value(&report).unwrap()
        );
        report
    }

    fn run_lines(&mut self, lines: &[&str]) -> RunReport {
        let request = self.request(lines);
        self.run(&request)
    }
}

const RIGHT: &str = "scale f32 x out 2";

fn status_of(lines: &[&str]) -> (Class, RunReport) {
    let report = Table::new(MockDevice::new()).run_lines(lines);
    (report.status, report)
}

#[test]
fn a_right_kernel_passes_every_shape_and_is_timed() {
    let (class, report) = status_of(&[RIGHT, "times 10 10.01 9.99"]);
    assert_eq!(class, Class::Passed, "{report:?}");
    assert_eq!(report.shapes.len(), 2);
    for shape in &report.shapes {
        let verify = shape.verify.as_ref().unwrap();
        assert_eq!(
            (verify.seeds, verify.repeats, verify.checked_after_timing),
            (2, 2, true)
        );
        let timing = shape.timing.as_ref().unwrap();
        assert!((timing.median_us - 10.0).abs() < 0.02, "{timing:?}");
        assert_eq!(timing.all_us.len(), timing.samples as usize);
    }
}

#[test]
fn wrong_answers_fail_with_evidence_and_advice() {
    let (class, report) = status_of(&["scale f32 x out 1.5"]);
    assert_eq!(class, Class::WrongNumbers);
    let Evidence::Output(output) = &report.shapes[0].evidence[0] else {
        panic!("{report:?}")
    };
    assert_eq!((output.output.as_str(), output.seed), ("out", 1));
    assert!(output.mismatches > 4000 && !output.map.is_empty(), "{output:?}");
    assert!(!report.next.is_empty());
    assert!(report.shapes.iter().all(|shape| shape.timing.is_none()));
}

#[test]
fn a_kernel_that_writes_nothing_is_told_so() {
    let (class, report) = status_of(&["print idle"]);
    assert_eq!(class, Class::WrongNumbers);
    assert_eq!(report.shapes[0].reason, "output `out` was not written at all");
    assert!(
        report.next[0].contains("no element of `out` was written"),
        "{:?}",
        report.next
    );
}

#[test]
fn changed_inputs_are_noticed() {
    let (class, report) = status_of(&[RIGHT, "fill f32 x 0"]);
    assert_eq!(class, Class::MutatedInput, "{report:?}");
}

#[test]
fn a_second_execution_must_give_the_same_bits() {
    // The noise is under the tolerance: only the repeat can see it.
    let (class, report) = status_of(&[RIGHT, "after 1 scale f32 x out 2.0000002"]);
    assert_eq!(class, Class::Nondeterministic, "{report:?}");
}

#[test]
fn a_write_past_the_end_is_a_memory_fault_with_its_place() {
    let (class, report) = status_of(&[RIGHT, "overrun out 4"]);
    assert_eq!(class, Class::MemoryFault);
    assert!(
        report.shapes[0].reason.contains("4 bytes past its end"),
        "{}",
        report.shapes[0].reason
    );
}

#[test]
fn work_that_stops_during_timing_is_found() {
    // Two seeds and a repeat make three launches; then some timed ones still work.
    let (class, report) = status_of(&["first 6 scale f32 x out 2", "times 10"]);
    assert_eq!(class, Class::Integrity, "{report:?}");
    // A kernel that starts to give other answers while it is timed.
    let (class, _) = status_of(&["first 5 scale f32 x out 2", "after 5 fill f32 out 1", "times 10"]);
    assert_eq!(class, Class::Integrity);
}

#[test]
fn a_time_under_the_launch_floor_is_refused() {
    let (class, report) = status_of(&[RIGHT, "times 0.5"]);
    assert_eq!(class, Class::TooFast, "{report:?}");
}

#[test]
fn throttled_samples_are_counted_and_dropped() {
    let (_, report) = status_of(&[RIGHT, "times 10 99", "throttled 2"]);
    let timing = report.shapes[0].timing.as_ref().unwrap();
    assert!(
        timing.throttled_samples > 0 && timing.all_us.iter().all(|time| *time == 10.0),
        "{timing:?}"
    );
}

#[test]
fn a_fault_ends_the_run_where_the_device_is_lost() {
    let (class, report) = status_of(&["fail memory_fault read of 4 bytes at 0x10"]);
    assert_eq!(class, Class::MemoryFault);
    assert_eq!(report.shapes.len(), 1);
    assert!(
        report
            .evidence
            .iter()
            .any(|piece| matches!(piece, Evidence::Note { text } if text.ends_with(": 2")))
    );
}

#[test]
fn memory_is_added_up_before_it_is_taken() {
    let mut table = Table::new(MockDevice::new());
    let scratch =
        "[[scratch]]\nname = \"tmp\"\ndtype = \"f32\"\nelements = \"1 << 38\"".replace("1 << 38", "274877906944");
    let request = RunRequest::new(table.kernel(&scratch, &[RIGHT]));
    let report = table.run(&request);
    assert_eq!(report.status, Class::OutOfMemory);
    assert!(report.reason.contains("1.0 TiB"), "{}", report.reason);
    let Evidence::Note { text } = &report.shapes[0].evidence[0] else {
        panic!("{report:?}")
    };
    assert!(text.contains("scratch `tmp` needs 1.0 TiB"), "{text}");
}

#[test]
fn a_device_without_a_clock_skips_timing_and_says_so() {
    let mut table = Table::new(MockDevice::new().without_timing());
    let report = table.run_lines(&[RIGHT]);
    assert_eq!(report.status, Class::Passed);
    assert!(report.shapes.iter().all(|shape| shape.timing.is_none()));
    let skipped = table.events.iter().any(
        |event| matches!(event, Event::Stage { stage: Stage::Time, state: StageState::Skipped, detail, .. } if !detail.is_empty()),
    );
    assert!(skipped);
}

#[test]
fn a_cancelled_run_says_so_and_frees_everything() {
    let mut table = Table::new(MockDevice::new());
    table.cancel.set();
    let report = table.run_lines(&[RIGHT]);
    assert_eq!(report.status, Class::Cancelled);
    assert!(report.shapes.is_empty());
}

#[test]
fn all_distributions_are_run_and_unknown_ones_named() {
    let mut table = Table::new(MockDevice::new());
    let mut request = table.request(&[RIGHT]);
    request.distributions = vec!["all".to_owned()];
    let report = table.run(&request);
    assert_eq!(
        report.shapes[0].verify.as_ref().unwrap().distributions,
        ["published", "wide"]
    );
    request.distributions = vec!["nope".to_owned()];
    let report = table.run(&request);
    assert_eq!(report.status, Class::InvalidKernel);
    assert!(report.reason.contains("no distribution `nope`"), "{}", report.reason);
}

#[test]
fn unknown_names_are_said_with_what_there_is() {
    let mut table = Table::new(MockDevice::new());
    let mut request = table.request(&[RIGHT]);
    request.shapes = vec!["77".to_owned()];
    let report = table.run(&request);
    assert_eq!(report.status, Class::InvalidKernel);
    assert!(report.next[0].contains("small-1, 1, 2"), "{:?}", report.next);
    request.shapes = Vec::new();
    request.operator = Some("duoble".to_owned());
    let report = table.run(&request);
    assert!(report.reason.contains("no operator `duoble`"), "{}", report.reason);
    assert!(report.reason.contains("did you mean `double`?"), "{}", report.reason);
    request.operator = None;
    request.tune = vec![("BLOCK".to_owned(), 8)];
    assert!(table.run(&request).reason.contains("no tunable `BLOCK`"));
}

#[test]
fn a_reference_that_fails_is_not_the_kernels_fault() {
    let mut table = Table::new(MockDevice::new());
    let problem = table.folder.path().join("problems/test/double/reference.ptx");
    fs::write(problem, "// mock fail unsupported wgmma\n").unwrap();
    table.catalogue = Catalogue::load(Some(&table.folder.path().join("problems")));
    let report = table.run_lines(&[RIGHT]);
    assert_eq!(report.status, Class::Environment);
    assert!(report.reason.contains("the reference of `double`"), "{}", report.reason);
}

#[test]
fn answers_are_kept_warm_and_not_mixed_up() {
    let mut table = Table::new(MockDevice::new());
    let request = table.request(&[RIGHT]);
    let mut bench = Bench {
        device: &mut table.device,
        catalogue: &table.catalogue,
        compiler: &mut NoCompiler,
        warm: &mut table.warm,
        cancel: &table.cancel,
    };
    for _ in 0..3 {
        let report = pipeline::run(&request, &mut bench, &mut |_| {});
        assert_eq!(report.status, Class::Passed, "{report:?}");
    }
    let other = RunRequest { seed: 40, ..request };
    assert_eq!(pipeline::run(&other, &mut bench, &mut |_| {}).status, Class::Passed);
}

#[test]
fn two_kernels_are_compared_in_turns() {
    let mut table = Table::new(MockDevice::new());
    let slow = table.request(&[RIGHT, "times 20 20.1 19.9"]);
    let text = fs::read_to_string(&slow.kernel_path).unwrap();
    let fast = RunRequest {
        kernel_text: Some(text.replace("times 20 20.1 19.9", "times 10 10.1 9.9")),
        ..slow.clone()
    };
    let wrong = RunRequest {
        kernel_text: Some(text.replace("out 2", "out 3")),
        ..slow.clone()
    };
    let mut bench = Bench {
        device: &mut table.device,
        catalogue: &table.catalogue,
        compiler: &mut NoCompiler,
        warm: &mut table.warm,
        cancel: &table.cancel,
    };
    let report = compare::run(&slow, &fast, &mut bench, &mut |_| {});
    assert_eq!(report.shapes.len(), 2, "{report:?}");
    for shape in &report.shapes {
        assert_eq!(shape.result, Comparison::Faster);
        assert!((shape.ratio - 2.0).abs() < 0.02 && shape.ci95[0] <= shape.ratio && shape.ratio <= shape.ci95[1]);
    }
    let same = compare::run(&slow, &slow, &mut bench, &mut |_| {});
    assert!(
        same.shapes.iter().all(|shape| shape.result == Comparison::Same),
        "{same:?}"
    );
    let refused = compare::run(&slow, &wrong, &mut bench, &mut |_| {});
    assert_eq!((refused.b.status, refused.shapes.len()), (Class::WrongNumbers, 0));
}

#[test]
fn a_comparison_without_a_clock_is_refused() {
    let mut table = Table::new(MockDevice::new().without_timing());
    let request = table.request(&[RIGHT]);
    let mut bench = Bench {
        device: &mut table.device,
        catalogue: &table.catalogue,
        compiler: &mut NoCompiler,
        warm: &mut table.warm,
        cancel: &table.cancel,
    };
    let report = compare::run(&request, &request, &mut bench, &mut |_| {});
    assert_eq!(report.a.status, Class::Environment);
    assert_eq!(report.a.reason, "times are not measured on the emulator");
}

#[test]
fn the_probe_catches_every_wrong_answer() {
    let mut table = Table::new(MockDevice::new());
    let free = table.device.free_memory().unwrap();
    let mut bench = Bench {
        device: &mut table.device,
        catalogue: &table.catalogue,
        compiler: &mut NoCompiler,
        warm: &mut table.warm,
        cancel: &table.cancel,
    };
    let report = probe::run(&mut bench, Some("double"), &mut |_| {});
    assert_eq!(report.rows.len(), 2 * probe::Answer::ALL.len(), "{report:?}");
    assert_eq!(report.unexpected, 0, "{report:?}");
    assert!(
        report.rows.iter().all(|row| row.found == probe::Found::AsExpected),
        "{report:?}"
    );
    table.warm.clear(&mut table.device);
    assert_eq!(table.device.free_memory().unwrap(), free);
}

#[test]
fn the_probe_finds_a_contract_that_says_nothing() {
    let mut table = Table::new(MockDevice::new());
    let problem = table.folder.path().join("problems/test/double/problem.toml");
    let text = fs::read_to_string(&problem).unwrap();
    let loose = text.replace(
        "atol = 1e-6, rtol = 1e-6, rel_l2 = 1e-6",
        "atol = 100.0, rtol = 1.0, rel_l2 = 10.0",
    );
    assert_ne!(text, loose);
    fs::write(&problem, loose).unwrap();
    table.catalogue = Catalogue::load(Some(&table.folder.path().join("problems")));
    let mut bench = Bench {
        device: &mut table.device,
        catalogue: &table.catalogue,
        compiler: &mut NoCompiler,
        warm: &mut table.warm,
        cancel: &table.cancel,
    };
    let report = probe::run(&mut bench, Some("double"), &mut |_| {});
    let accepted = |answer| {
        report
            .rows
            .iter()
            .any(|row| row.answer == answer && row.found == probe::Found::Unexpected)
    };
    assert!(
        accepted(probe::Answer::Zeros) && accepted(probe::Answer::Halved),
        "{report:?}"
    );
}
