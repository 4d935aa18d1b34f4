//! The verdict in rows: stages, class and sentence, evidence, numbers, and what to try next.

mod evidence;
mod numbers;
mod stages;

use super::row::Row;
use super::text::wrap;
use crate::measure::report::ShapeReport;
use crate::tui::escape;
use crate::tui::model::{DeviceState, Model, place};
use crate::tui::theme::Slot;
use crate::verdict::{Class, Evidence};
pub use evidence::map_rows;
pub use numbers::sparkline;

/// What the verdict pane shows in so many columns.
pub fn lines(model: &Model, width: usize) -> Vec<Row> {
    let width = width.max(20);
    if let Some(run) = &model.run {
        return stages::running(model, run, width);
    }
    if model.bench.kernel.is_none() {
        return vec![
            Row::new(),
            Row::new().muted("no kernel is open: 1 shows the operators, enter opens one"),
        ];
    }
    if let DeviceState::Unavailable { reason, next } = &model.device {
        return no_device(reason, next, width);
    }
    match (&model.bench.report, model.bench.current_report()) {
        (_, Some(shape)) => of_shape(model, shape, width),
        (Some(report), None) if report.shapes.is_empty() => {
            let mut rows = vec![stages::before_shapes(report, width), Row::new()];
            rows.extend(sentence(report.status, &report.reason, width));
            rows.extend(evidence_rows(&report.evidence, width));
            rows.extend(advice(&report.next, width));
            rows
        }
        _ => not_run(model),
    }
}

fn no_device(reason: &str, next: &[String], width: usize) -> Vec<Row> {
    let mut rows = vec![Row::new().bold(Slot::Bad, "✕ NO DEVICE")];
    rows.extend(
        wrap(&escape::line(reason), width)
            .into_iter()
            .map(|line| Row::new().text(line)),
    );
    rows.extend(advice(next, width));
    rows
}

fn of_shape(model: &Model, shape: &ShapeReport, width: usize) -> Vec<Row> {
    let mut rows = vec![stages::finished(shape, width), Row::new()];
    rows.extend(sentence(shape.status, &shape.reason, width));
    if shape.status == Class::Passed {
        rows.push(Row::new());
        rows.extend(numbers::rows(model, shape, width));
    }
    rows.extend(evidence_rows(&shape.evidence, width));
    rows.extend(advice(&shape.next, width));
    rows.extend(others(model, shape));
    if model.bench.is_stale() {
        rows.push(Row::new());
        rows.push(Row::new().add(Slot::Warning, "the text has changed since this run · r runs it again"));
    }
    rows
}

fn not_run(model: &Model) -> Vec<Row> {
    let mut rows = vec![Row::new().muted("not run yet · r runs this shape, R runs all")];
    if let (Some(operator), Some(shape), Some(machine)) =
        (&model.bench.operator, model.bench.current_shape(), model.machine())
        && let Some(roof) = place(machine, operator, shape)
    {
        rows.push(Row::new());
        rows.extend(numbers::place(&roof, &machine.name));
    }
    rows
}

/// The class in capitals and what happened, the sentence going on under itself.
fn sentence(class: Class, reason: &str, width: usize) -> Vec<Row> {
    let (mark, slot) = match class {
        Class::Passed => ("✔", Slot::Good),
        Class::Cancelled => ("◌", Slot::Warning),
        _ => ("✕", Slot::Bad),
    };
    let name = class.name().replace('_', " ").to_uppercase();
    let head = Row::new().bold(slot, format!("{mark} {name}"));
    let reason = if reason.is_empty() {
        class.meaning().to_owned()
    } else {
        escape::line(reason)
    };
    let beside = width.saturating_sub(head.width() + 3);
    if reason.chars().count() <= beside {
        return vec![head.text(format!("   {reason}"))];
    }
    let mut rows = vec![head];
    rows.extend(
        wrap(&reason, width.saturating_sub(2))
            .into_iter()
            .map(|line| Row::new().text(format!("  {line}"))),
    );
    rows
}

fn evidence_rows(all: &[Evidence], width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut before = None;
    for evidence in all {
        // Messages of a compiler stand together; everything else has air above it.
        let is_message = matches!(evidence, Evidence::Diagnostic { .. });
        if before != Some(true) || !is_message {
            rows.push(Row::new());
        }
        before = Some(is_message);
        rows.extend(evidence::rows(evidence, width));
    }
    rows
}

fn advice(next: &[String], width: usize) -> Vec<Row> {
    const LEAD: &str = "try  ";
    let mut rows = Vec::new();
    for (index, text) in next.iter().enumerate() {
        if index == 0 {
            rows.push(Row::new());
        }
        for (line, text) in wrap(&escape::line(text), width.saturating_sub(LEAD.len()))
            .into_iter()
            .enumerate()
        {
            let lead = if index == 0 && line == 0 {
                LEAD
            } else if line == 0 {
                "  ·  "
            } else {
                "     "
            };
            rows.push(Row::new().add(Slot::Accent, lead).text(text));
        }
    }
    rows
}

/// How the other shapes of the run did.
fn others(model: &Model, shape: &ShapeReport) -> Vec<Row> {
    let reports = &model.bench.reports;
    if reports.len() < 2 {
        return Vec::new();
    }
    let passed = reports.values().filter(|report| report.status == Class::Passed).count();
    let slot = if passed == reports.len() { Slot::Good } else { Slot::Bad };
    let mut row = Row::new()
        .muted("shapes  ")
        .add(slot, format!("{passed} of {} passed", reports.len()));
    if let Some(next) = model
        .bench
        .next_failing()
        .and_then(|index| model.bench.shapes().nth(index))
        && next.id != shape.id
        && let Some(report) = reports.get(&next.id)
    {
        let class = report.status.name().replace('_', " ");
        row = row.muted("   n  ").text(format!("next failing: {} ({class})", next.id));
    }
    vec![Row::new(), row]
}
