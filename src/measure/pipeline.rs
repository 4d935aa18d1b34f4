//! One run from file to report: load, compile, and for every shape launch, verify and time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::bench::Bench;
use super::build::{self, Loaded};
use super::event::{Event, Stage, StageState};
use super::report::{DeviceReport, KernelReport, RunReport, SCHEMA, ShapeReport};
use super::shape_run::{ShapeJob, run_shape};
use super::{RunRequest, Sink, selection};
use crate::device::{DeviceInfo, DeviceKind};
use crate::shape::Shape;
use crate::verdict::advice::{Context, advise};
use crate::verdict::{Class, Evidence, Outcome, Verdict};

/// Runs a request. Whatever happens, the report says it; buffers and modules of the candidate are freed.
pub fn run(request: &RunRequest, bench: &mut Bench<'_>, sink: &mut Sink<'_>) -> RunReport {
    let began = Instant::now();
    let mut report = blank(request, bench.device.info());
    bench.device.set_limit(request.kernel_limit_s);
    let ended = attempt(request, bench, sink, &mut report);
    conclude(&mut report, ended.err());
    report.wall_ms = began.elapsed().as_secs_f64() * 1e3;
    sink(Event::Finished(Box::new(report.clone())));
    report
}

/// As [`run`] for one part of a larger job: the end is not told, because the job goes on.
pub(super) fn run_part(request: &RunRequest, bench: &mut Bench<'_>, sink: &mut Sink<'_>) -> RunReport {
    run(request, bench, &mut |event| {
        if !matches!(event, Event::Finished(_)) {
            sink(event);
        }
    })
}

/// A report before anything is known but the request and the device.
pub fn blank(request: &RunRequest, device: &DeviceInfo) -> RunReport {
    RunReport {
        schema: SCHEMA,
        operator: request.operator.clone(),
        kernel: KernelReport {
            path: request.kernel_path.display().to_string(),
            language: None,
            sha256: String::new(),
            defines: Vec::new(),
            compile: None,
        },
        device: device_report(device),
        status: Class::Passed,
        reason: String::new(),
        evidence: Vec::new(),
        next: Vec::new(),
        shapes: Vec::new(),
        started_unix_s: unix_seconds(),
        wall_ms: 0.0,
    }
}

pub fn device_report(device: &DeviceInfo) -> DeviceReport {
    let kind = match device.kind {
        DeviceKind::Cuda => "cuda",
        DeviceKind::Emulator => "emulator",
        DeviceKind::Mock => "mock",
    };
    DeviceReport {
        name: device.name.clone(),
        kind: kind.to_owned(),
        profile: device.profile.clone(),
        details: device.details.clone(),
    }
}

pub fn unix_seconds() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

fn attempt(request: &RunRequest, bench: &mut Bench<'_>, sink: &mut Sink<'_>, report: &mut RunReport) -> Outcome<()> {
    let target = stage(sink, Stage::Load, |sink| load(request, bench, sink, report))?;
    bench.cancel.check()?;
    let built = stage(sink, Stage::Compile, |sink| {
        let built = build::candidate(&target.loaded, bench, sink)?;
        report.kernel.compile = Some(built.report.clone());
        Ok((built.summary(), built))
    })?;
    shapes(request, bench, sink, report, &target, &built);
    built.unload(bench.device);
    Ok(())
}

/// What the load stage finds out: the kernel, its operator, its shapes.
struct Target {
    loaded: Loaded,
    shapes: Vec<Shape>,
}

fn load(
    request: &RunRequest,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut RunReport,
) -> Outcome<(String, Target)> {
    let loaded = build::load(request, bench, report)?;
    let chosen = selection::select(&loaded.operator, &request.shapes, bench.device.info().kind)?;
    sink(Event::Started {
        operator: Some(loaded.operator.name.clone()),
        device: bench.device.info().clone(),
        shapes: chosen.shapes.iter().map(|shape| shape.id.clone()).collect(),
    });
    if let Some(text) = chosen.left_out {
        report.evidence.push(Evidence::Note { text: text.clone() });
        sink(Event::Log { text });
    }
    if chosen.shapes.is_empty() {
        return Verdict::new(
            Class::Environment,
            format!("`{}` has no shape that this device can afford", loaded.operator.name),
        )
        .try_next(format!(
            "`ridgepoint list shapes --op {}` lists them: name one with --shape",
            loaded.operator.name
        ))
        .fail();
    }
    let detail = loaded.operator.name.clone();
    Ok((
        detail,
        Target {
            loaded,
            shapes: chosen.shapes,
        },
    ))
}

/// Runs one stage of the whole run, telling its start and its end.
fn stage<T>(sink: &mut Sink<'_>, stage: Stage, work: impl FnOnce(&mut Sink<'_>) -> Outcome<(String, T)>) -> Outcome<T> {
    let tell = |sink: &mut Sink<'_>, state, detail: String| {
        sink(Event::Stage {
            shape: None,
            stage,
            state,
            detail,
        });
    };
    tell(sink, StageState::Running, String::new());
    match work(sink) {
        Ok((detail, value)) => {
            tell(sink, StageState::Passed, detail);
            Ok(value)
        }
        Err(verdict) => {
            tell(sink, StageState::Failed, verdict.reason.clone());
            Err(verdict)
        }
    }
}

fn shapes(
    request: &RunRequest,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    report: &mut RunReport,
    target: &Target,
    built: &build::Built,
) {
    let count = target.shapes.len();
    for (index, shape) in target.shapes.iter().enumerate() {
        let job = ShapeJob {
            request,
            loaded: &target.loaded,
            built,
            shape,
        };
        let shape_report = run_shape(&job, bench, sink);
        let class = shape_report.status;
        sink(Event::ShapeFinished(Box::new(shape_report.clone())));
        report.shapes.push(shape_report);
        if index + 1 < count
            && let Some(why) = stop_after(class, bench)
        {
            let left: Vec<&str> = target.shapes[index + 1..]
                .iter()
                .map(|shape| shape.id.as_str())
                .collect();
            let text = format!("not run, because {why}: {}", left.join(", "));
            report.evidence.push(Evidence::Note { text: text.clone() });
            sink(Event::Log { text });
            break;
        }
    }
}

/// Why no further shape is run after one that ended so.
fn stop_after(class: Class, bench: &Bench<'_>) -> Option<&'static str> {
    if class == Class::Cancelled {
        Some("the run was cancelled")
    } else if !bench.device.is_usable() {
        Some("the device has to be started anew after this failure")
    } else if class == Class::Timeout {
        Some("the kernel hangs")
    } else {
        None
    }
}

/// The run's own status from what ended it, or from its shapes.
pub fn conclude(report: &mut RunReport, ended: Option<Box<Verdict>>) {
    let context = Context {
        emulated: report.device.kind == "emulator",
    };
    if let Some(mut verdict) = ended {
        advise(&mut verdict, context);
        report.status = verdict.class;
        report.reason = verdict.reason;
        report.evidence.splice(0..0, verdict.evidence);
        report.next = verdict.next;
        return;
    }
    let failed: Vec<&ShapeReport> = report
        .shapes
        .iter()
        .filter(|shape| shape.status != Class::Passed)
        .collect();
    let Some(first) = failed.first() else {
        report.status = Class::Passed;
        report.reason = match report.shapes.len() {
            1 => "1 shape passed".to_owned(),
            count => format!("{count} shapes passed"),
        };
        return;
    };
    report.status = first.status;
    report.reason = if report.shapes.len() == 1 {
        first.reason.clone()
    } else {
        format!(
            "{} of {} shapes did not pass; `{}`: {}",
            failed.len(),
            report.shapes.len(),
            first.id,
            first.reason
        )
    };
    report.next.clone_from(&first.next);
}
