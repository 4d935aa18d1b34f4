//! What the worker says, and starting and stopping runs.

use std::path::Path;

use crate::measure::report::ShapeReport;
use crate::measure::{Event as RunEvent, RunRequest};
use crate::tui::effect::Effect;
use crate::tui::model::{DeviceState, MessageKind, Model, Origin, Pane, RunState, Seen, SeenByOperator};
use crate::verdict::{Class, Evidence};
use crate::worker::protocol::FromWorker;

/// Starts a run of the open kernel: on the chosen shape, or on all that the device can afford.
pub(super) fn start(model: &mut Model, all: bool) -> Vec<Effect> {
    if model.run.is_some() {
        model.say(MessageKind::Info, "a run is in progress; x stops it");
        return Vec::new();
    }
    let Some(kernel) = &model.bench.kernel else {
        model.say(MessageKind::Info, "open an operator first: 1, then enter");
        return Vec::new();
    };
    if let DeviceState::Unavailable { reason, .. } = &model.device {
        let message = format!("no device: {reason}");
        model.say(MessageKind::Problem, message);
        return Vec::new();
    }
    let mut effects = Vec::new();
    let text = model.bench.editor.text();
    let path = match &kernel.origin {
        Origin::File(path) => {
            if model.bench.editor.is_dirty() {
                effects.push(Effect::Save {
                    path: path.clone(),
                    text: text.clone(),
                });
            }
            path.clone()
        }
        Origin::BuiltIn | Origin::Version(_) => kernel.name.clone().into(),
    };
    let mut request = RunRequest::new(path);
    request.kernel_text = Some(text.to_string());
    let operator = model.bench.operator.as_ref().map(|operator| operator.name.clone());
    request.operator.clone_from(&operator);
    if !all {
        request.shapes = model
            .bench
            .current_shape()
            .map(|shape| shape.id.clone())
            .into_iter()
            .collect();
    }
    model.jobs += 1;
    model.run = Some(RunState {
        job: model.jobs,
        operator: operator.unwrap_or_default(),
        kernel: kernel.name.clone(),
        revision: model.bench.editor.revision(),
        shape: request.shapes.first().cloned(),
        ..RunState::default()
    });
    model.bench.scroll = 0;
    if all {
        model.bench.reports.clear();
    }
    if model.bench.pane == Pane::Code && !model.bench.typing && shows_one_pane(model) {
        model.bench.pane = Pane::Verdict;
    }
    effects.push(Effect::Run {
        job: model.jobs,
        request: Box::new(request),
    });
    effects
}

/// Where only one pane is seen, the verdict must come to the front by itself.
fn shows_one_pane(model: &Model) -> bool {
    let area = ratatui::layout::Rect::new(0, 0, model.size.0, model.size.1);
    let body = crate::tui::layout::bands(area).body;
    crate::tui::layout::bench(body, model.bench.pane, model.bench.zoomed, 0).len() == 1
}

pub(super) fn stop(model: &mut Model) -> Vec<Effect> {
    match &mut model.run {
        Some(run) if !run.cancelling => {
            run.cancelling = true;
            vec![Effect::Cancel { job: run.job }]
        }
        _ => Vec::new(),
    }
}

pub(super) fn message(model: &mut Model, message: FromWorker) -> Vec<Effect> {
    match message {
        FromWorker::Ready { device } => {
            let first = model.device.info().is_none_or(|known| known.id != device.id);
            let profile = device.profile.clone();
            model.device = DeviceState::Ready(Box::new(device));
            if !first {
                return Vec::new();
            }
            super::bench::choose_affordable_shape(model);
            vec![Effect::LoadSeen { profile }]
        }
        FromWorker::Unavailable { verdict } => {
            model.run = None;
            model.device = DeviceState::Unavailable {
                reason: verdict.reason,
                next: verdict.next,
            };
            Vec::new()
        }
        FromWorker::Event { job, event } => run_event(model, job, event),
        FromWorker::Compared { .. } => Vec::new(),
    }
}

fn run_event(model: &mut Model, job: u64, mut event: RunEvent) -> Vec<Effect> {
    let Some(run) = model.run.as_mut().filter(|run| run.job == job) else {
        return Vec::new();
    };
    run.take(&event);
    own_places(&mut event, &run.kernel);
    let open = model
        .bench
        .operator
        .as_ref()
        .map_or("", |operator| operator.name.as_str());
    let same_kernel = open == run.operator
        && model
            .bench
            .kernel
            .as_ref()
            .is_some_and(|kernel| kernel.name == run.kernel);
    match event {
        RunEvent::ShapeFinished(report) => {
            see(&mut model.seen, &run.operator, &report);
            if same_kernel {
                model.bench.reports.insert(report.id.clone(), *report);
            }
            Vec::new()
        }
        RunEvent::Finished(report) => {
            let (operator, revision, cancelled) = (run.operator.clone(), run.revision, run.cancelling);
            for shape in &report.shapes {
                see(&mut model.seen, &operator, shape);
            }
            model.run = None;
            if !same_kernel {
                return Vec::new();
            }
            for shape in &report.shapes {
                model.bench.reports.insert(shape.id.clone(), shape.clone());
            }
            model.bench.ran_revision = revision;
            let failed = report.status != Class::Passed;
            model.bench.report = Some(report);
            if failed && !cancelled {
                show_failing_shape(model);
            }
            vec![Effect::LoadHistory { operator }]
        }
        _ => Vec::new(),
    }
}

/// Places in the kernel that ran carry its path; here they are lines of the text in the editor, which has no name.
fn own_places(event: &mut RunEvent, kernel: &str) {
    let evidence: Vec<&mut Evidence> = match event {
        RunEvent::ShapeFinished(shape) => shape.evidence.iter_mut().collect(),
        RunEvent::Finished(report) => {
            let shapes = report.shapes.iter_mut().flat_map(|shape| &mut shape.evidence);
            report.evidence.iter_mut().chain(shapes).collect()
        }
        _ => Vec::new(),
    };
    let own = Path::new(kernel).file_name();
    for evidence in evidence {
        let place = match evidence {
            Evidence::Diagnostic { at, .. }
            | Evidence::Missing { at, .. }
            | Evidence::Access { at, .. }
            | Evidence::Waiting { at, .. } => at,
            Evidence::Output(_) | Evidence::Note { .. } => continue,
        };
        if let Some(place) = place.as_mut().filter(|place| Path::new(&place.file).file_name() == own) {
            place.file.clear();
        }
    }
}

/// Remembers an outcome; a run that was stopped or lacked a compiler says nothing of the shape.
fn see(seen: &mut SeenByOperator, operator: &str, report: &ShapeReport) {
    if !matches!(report.status, Class::Cancelled | Class::Environment) {
        let shapes = seen.entry(operator.to_owned()).or_default();
        shapes.insert(report.id.clone(), Seen::of(report));
    }
}

/// After a failed run the shape looked at should be one that failed.
fn show_failing_shape(model: &mut Model) {
    let passed = model
        .bench
        .current_report()
        .is_some_and(|report| report.status == Class::Passed);
    if passed && let Some(next) = model.bench.next_failing() {
        model.bench.shape = next;
    }
}

pub(super) fn lost(model: &mut Model, reason: String) -> Vec<Effect> {
    if model.run.take().is_some() {
        model.say(MessageKind::Problem, format!("the run ended: {reason}"));
    }
    if model.device.info().is_none() {
        model.device = DeviceState::Unavailable {
            reason,
            next: Vec::new(),
        };
    }
    Vec::new()
}
