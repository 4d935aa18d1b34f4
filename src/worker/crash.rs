//! What a front end can say about a run whose worker ended in the middle of it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::device::DeviceInfo;
use crate::measure::report::{CompareReport, DeviceReport, KernelReport, RunReport, SCHEMA, ShapeReport};
use crate::measure::{Event, RunRequest, Stage, StageState, pipeline};
use crate::verdict::{Class, Evidence, Verdict};

/// Follows one job's events, so that a report can be written when the worker no longer can.
#[derive(Debug)]
pub(super) struct Tracker {
    request: RunRequest,
    began_unix_s: f64,
    operator: Option<String>,
    device: Option<DeviceInfo>,
    /// Shapes of the run, in order.
    planned: Vec<String>,
    finished: Vec<ShapeReport>,
    /// The stage that was running, and of which shape.
    at: Option<(Option<String>, Stage)>,
}

impl Tracker {
    pub(super) fn new(request: &RunRequest) -> Self {
        Self {
            request: request.clone(),
            began_unix_s: pipeline::unix_seconds(),
            operator: request.operator.clone(),
            device: None,
            planned: Vec::new(),
            finished: Vec::new(),
            at: None,
        }
    }

    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::Started {
                operator,
                device,
                shapes,
            } => {
                self.operator.clone_from(operator);
                self.device = Some(device.clone());
                self.planned.clone_from(shapes);
            }
            Event::Stage {
                shape,
                stage,
                state: StageState::Running,
                ..
            } => self.at = Some((shape.clone(), *stage)),
            Event::ShapeFinished(report) => {
                self.finished.push((**report).clone());
                self.at = None;
            }
            _ => {}
        }
    }

    /// `while verifying shape "small-1"`, for messages.
    pub(super) fn place(&self) -> String {
        match &self.at {
            None => "between two steps".to_owned(),
            Some((None, stage)) => format!("in the stage `{}`", stage.name()),
            Some((Some(shape), stage)) => format!("in the stage `{}` of shape `{shape}`", stage.name()),
        }
    }

    /// The report of the run as far as it is known, ended by `verdict`.
    pub(super) fn report(&self, verdict: Verdict, device: Option<&DeviceInfo>, spec: &str) -> RunReport {
        let known = self.device.as_ref().or(device);
        let mut report = RunReport {
            schema: SCHEMA,
            operator: self.operator.clone(),
            kernel: KernelReport {
                path: self.request.kernel_path.display().to_string(),
                language: None,
                sha256: self
                    .request
                    .kernel_text
                    .as_deref()
                    .map(crate::measure::build::sha256)
                    .unwrap_or_default(),
                defines: self.request.tune.clone(),
                compile: None,
            },
            device: known.map_or_else(|| unknown_device(spec), pipeline::device_report),
            status: verdict.class,
            reason: String::new(),
            evidence: Vec::new(),
            next: Vec::new(),
            shapes: self.finished.clone(),
            started_unix_s: self.began_unix_s,
            wall_ms: (pipeline::unix_seconds() - self.began_unix_s).max(0.0) * 1e3,
        };
        let mut verdict = verdict;
        let left: Vec<&str> = self
            .planned
            .iter()
            .filter(|id| !self.finished.iter().any(|shape| shape.id == **id))
            .map(String::as_str)
            .collect();
        if !left.is_empty() {
            let text = format!("not finished: {}", left.join(", "));
            verdict.evidence.push(Evidence::Note { text });
        }
        pipeline::conclude(&mut report, Some(Box::new(verdict)));
        report
    }

    /// The same for a comparison: both kernels share the verdict.
    pub(super) fn compare_report(
        &self,
        b: &RunRequest,
        verdict: &Verdict,
        device: Option<&DeviceInfo>,
        spec: &str,
    ) -> CompareReport {
        CompareReport {
            schema: SCHEMA,
            a: self.report(verdict.clone(), device, spec),
            b: Self::new(b).report(verdict.clone(), device, spec),
            shapes: Vec::new(),
        }
    }
}

fn unknown_device(spec: &str) -> DeviceReport {
    DeviceReport {
        name: spec.to_owned(),
        kind: spec.split(':').next().unwrap_or(spec).to_owned(),
        profile: String::new(),
        details: Vec::new(),
    }
}

/// The verdict for a worker that ended by itself.
pub(super) fn ended(status: Option<ExitStatus>, place: &str, stderr: &str) -> Verdict {
    let how = match status {
        Some(status) => match (status.signal(), status.code()) {
            (Some(signal), _) => format!("was ended by signal {signal}{}", signal_name(signal)),
            (None, Some(code)) => format!("exited with status {code}"),
            (None, None) => "ended".to_owned(),
        },
        None => "ended".to_owned(),
    };
    let mut verdict = Verdict::new(Class::Crashed, format!("the worker process {how} {place}"));
    if status.and_then(|status| status.signal()) == Some(KILL) {
        verdict = verdict.try_next("the system may have run out of memory: look at `dmesg`, or choose a smaller shape");
    }
    if !stderr.is_empty() {
        verdict = verdict.with(Evidence::Note {
            text: format!("its last words: {stderr}"),
        });
    }
    verdict
}

const KILL: i32 = 9;

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (illegal instruction)",
        6 => " (abort)",
        7 => " (bus error)",
        8 => " (arithmetic)",
        KILL => " (killed)",
        11 => " (segmentation fault)",
        15 => " (terminated)",
        _ => "",
    }
}
