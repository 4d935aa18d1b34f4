//! The row of stages with their marks, while a run goes and after it.

use crate::measure::report::{RunReport, ShapeReport, TimingKind};
use crate::measure::{Stage, StageState};
use crate::tui::escape;
use crate::tui::model::{Model, RunState};
use crate::tui::theme::Slot;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::{fit, wrap};
use crate::units::time_ms;
use crate::verdict::Class;

const SPINNER: [&str; 8] = ["⣾", "⣽", "⣻", "⢿", "⡿", "⣟", "⣯", "⣷"];
/// Milliseconds for one step of the spinner.
const SPIN_MS: u64 = 100;

fn mark(state: StageState) -> (&'static str, Slot) {
    match state {
        StageState::Running => ("…", Slot::Accent),
        StageState::Passed => ("✔", Slot::Good),
        StageState::Failed => ("✕", Slot::Bad),
        StageState::Skipped => ("–", Slot::Muted),
    }
}

/// One stage as it is shown: its name, what is worth saying of it, its state.
struct Shown {
    stage: Stage,
    detail: String,
    state: StageState,
}

/// The stages in one row: with details where they fit, closer together or without where they do not.
fn in_a_row(stages: &[Shown], width: usize) -> Row {
    let forms = [(3, true), (2, true), (2, false), (1, false)];
    let row = |(gap, details): (usize, bool)| {
        stages.iter().fold(Row::new(), |row, shown| {
            let (mark, slot) = mark(shown.state);
            let gap = if row.width() == 0 { 0 } else { gap };
            let row = row.muted(format!("{}{} ", " ".repeat(gap), shown.stage.name()));
            let detail = if details { shown.detail.as_str() } else { "" };
            let row = if detail.is_empty() {
                row
            } else {
                row.text(format!("{detail} "))
            };
            row.add(slot, mark)
        })
    };
    let fitting = forms.into_iter().map(row).find(|row| row.width() <= width);
    fitting.unwrap_or_else(|| row(forms[forms.len() - 1]))
}

/// The stage at which an outcome is found.
const fn stage_of(class: Class) -> Stage {
    match class {
        Class::InvalidKernel | Class::Environment => Stage::Load,
        Class::CompileError | Class::Unsupported => Stage::Compile,
        Class::LaunchError
        | Class::MemoryFault
        | Class::UninitializedRead
        | Class::DataRace
        | Class::BarrierError
        | Class::Timeout
        | Class::Crashed
        | Class::OutOfMemory => Stage::Launch,
        Class::WrongStructure
        | Class::WrongNumbers
        | Class::Nondeterministic
        | Class::MutatedInput
        | Class::Fallback => Stage::Verify,
        Class::Integrity | Class::TooFast | Class::Cancelled | Class::Passed => Stage::Time,
    }
}

/// The stages of a finished shape.
pub(super) fn finished(shape: &ShapeReport, width: usize) -> Row {
    let failed = (shape.status != Class::Passed).then(|| stage_of(shape.status));
    let shown = [Stage::Compile, Stage::Launch, Stage::Verify, Stage::Time].map(|stage| {
        let detail = match stage {
            Stage::Compile => time_ms(shape.compile_ms),
            Stage::Verify => verified(shape),
            Stage::Time => timed(shape),
            Stage::Load | Stage::Launch => String::new(),
        };
        let state = match failed {
            Some(failed) if stage > failed => StageState::Skipped,
            Some(failed) if stage == failed => StageState::Failed,
            _ if stage == Stage::Time && shape.timing.is_none() => StageState::Skipped,
            _ => StageState::Passed,
        };
        let detail = if state == StageState::Passed {
            detail
        } else {
            String::new()
        };
        Shown { stage, detail, state }
    });
    in_a_row(&shown, width)
}

fn verified(shape: &ShapeReport) -> String {
    shape.verify.as_ref().map_or_else(String::new, |verify| {
        format!("{}×{}", verify.seeds, verify.distributions.len().max(1))
    })
}

fn timed(shape: &ShapeReport) -> String {
    shape.timing.as_ref().map_or_else(String::new, |timing| {
        let modelled = if timing.kind == TimingKind::Modelled { "~" } else { "" };
        format!("{modelled}{}×", timing.samples)
    })
}

/// The stages of a run that ended before any shape.
pub(super) fn before_shapes(report: &RunReport, width: usize) -> Row {
    let failed = stage_of(report.status).min(Stage::Launch);
    let shown = Stage::ALL.map(|stage| Shown {
        stage,
        detail: String::new(),
        state: match stage.cmp(&failed) {
            std::cmp::Ordering::Less => StageState::Passed,
            std::cmp::Ordering::Equal => StageState::Failed,
            std::cmp::Ordering::Greater => StageState::Skipped,
        },
    });
    in_a_row(&shown, width)
}

/// A run in progress: spinner, stages, how far, the log's end.
pub(super) fn running(model: &Model, run: &RunState, width: usize) -> Vec<Row> {
    const LOG_ROWS: usize = 4;
    let elapsed = run.elapsed_ms(model.now_ms);
    let spinner = SPINNER[(elapsed / SPIN_MS) as usize % SPINNER.len()];
    let what = if run.cancelling { "stopping" } else { "running" };
    let mut head = Row::new().add(Slot::Accent, format!("{spinner} {what}"));
    if let Some(shape) = &run.shape {
        head = head.text(format!("  shape {shape}"));
    }
    if run.shapes.len() > 1 {
        head = head.muted(format!(
            "  {} of {}",
            (run.finished + 1).min(run.shapes.len()),
            run.shapes.len()
        ));
    }
    head = head.muted(format!("  {:.1} s", elapsed as f64 / 1e3));
    let stages: Vec<Shown> = Stage::ALL
        .into_iter()
        .filter_map(|stage| {
            let line = run.stages.get(&stage)?;
            let detail = fit(&escape::line(&line.detail), 24);
            let state = line.state;
            Some(Shown { stage, detail, state })
        })
        .collect();
    let mut rows = vec![head, Row::new(), in_a_row(&stages, width), bar(run.done, width.min(48))];
    if run.samples.len() > 1 {
        rows.push(Row::new());
        rows.push(super::numbers::sparkline(&run.samples, width));
    }
    if !run.log.is_empty() {
        rows.push(Row::new());
        let skipped = run.log.len().saturating_sub(LOG_ROWS);
        let lines = run.log[skipped..].iter().flat_map(|line| wrap(line, width));
        rows.extend(lines.map(|line| Row::new().muted(line)));
    }
    rows.push(Row::new());
    rows.push(Row::new().muted("x  ").text("stop"));
    rows
}

/// A thin progress bar.
fn bar(done: f64, width: usize) -> Row {
    let width = width.saturating_sub(6);
    let filled = (done * width as f64).round() as usize;
    Row::new()
        .add(Slot::Accent, "━".repeat(filled))
        .add(Slot::Faint, "━".repeat(width - filled))
        .muted(format!(" {:>3.0} %", done * 100.0))
}
