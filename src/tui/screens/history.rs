//! The History screen: speedup by version, the table of versions, and the difference of two sources.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use similar::{ChangeTag, TextDiff};

use super::{charts, inset, print};
use crate::measure::report::TimingKind;
use crate::tui::escape;
use crate::tui::model::{Iteration, Model};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::chart::ChartView;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::{fit, pad, pad_left};
use crate::units::{ratio, time_us};
use crate::verdict::Class;

/// Lines shown around a change.
const CONTEXT: usize = 3;

pub fn draw(frame: &mut Frame<'_>, body: Rect, model: &Model, theme: &Theme) {
    let chart_height = (body.height * 2 / 5).max(8);
    let [top, bottom] = Layout::vertical([Constraint::Length(chart_height), Constraint::Min(0)]).areas(body);
    chart(frame, top, model, theme);
    if body.width < 90 {
        let [table_area, diff_area] = Layout::vertical([Constraint::Percentage(45), Constraint::Min(0)]).areas(bottom);
        table(frame, table_area, model, theme);
        diff(frame, diff_area, model, theme);
    } else {
        let [table_area, diff_area] =
            Layout::horizontal([Constraint::Percentage(52), Constraint::Min(0)]).areas(bottom);
        table(frame, table_area, model, theme);
        diff(frame, diff_area, model, theme);
    }
}

fn chart(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let chart = charts::versions(model);
    let title = match (model.current_operator(), model.bench.current_shape()) {
        (Some(operator), Some(shape)) => format!("{} · shape {}", operator.name, shape.id),
        _ => "History".to_owned(),
    };
    let about = if chart.y.title.is_empty() {
        "passed or failed, by version"
    } else {
        "speedup over the first version"
    };
    let inner = Pane {
        title: &escape::line(&title),
        about,
        ..Pane::default()
    }
    .draw(frame, area, theme);
    if chart.points.is_empty() {
        let text = match (model.current_operator(), &model.history.iterations) {
            (None, _) => "no operator is open: 1 shows them, enter opens one",
            (Some(_), None) => "loading …",
            (Some(_), Some(all)) if all.is_empty() => "no runs yet: r in the Bench makes the first",
            (Some(_), Some(_)) => "no version has run this shape; s in the Bench chooses another",
        };
        return print(frame, inset(inner), &[Row::new(), Row::new().muted(text)], theme);
    }
    frame.render_widget(ChartView { chart: &chart, theme }, inset(inner));
}

fn table(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let history = &model.history;
    let all = history.iterations();
    let about = match all.len() {
        0 => String::new(),
        count => format!("{count}, newest first"),
    };
    let inner = Pane {
        title: "Versions",
        about: &about,
        focused: true,
        ..Pane::default()
    }
    .draw(frame, area, theme);
    let inner = inset(inner);
    let width = usize::from(inner.width);
    let shape = model
        .bench
        .current_shape()
        .map(|shape| shape.id.clone())
        .unwrap_or_default();
    let head = columns(&Cells::head(), width);
    print(frame, inner, &[head], theme);
    let room = usize::from(inner.height.saturating_sub(1));
    let selected = all.len().saturating_sub(1).saturating_sub(history.selected);
    let top = selected.saturating_sub(room.saturating_sub(1));
    for (offset, index) in (0..all.len()).rev().skip(top).take(room).enumerate() {
        let place = Rect::new(inner.x, inner.y + 1 + offset as u16, inner.width, 1);
        let marked = history.marked == Some(index);
        let cells = Cells::of(all, index, &shape, marked);
        frame.render_widget(columns(&cells, width).line(theme), place);
        if index == history.selected {
            let row = Rect::new(place.x - 1, place.y, place.width + 2, 1);
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
}

/// One row of the table.
struct Cells {
    version: String,
    verdict: (Slot, String),
    time: String,
    previous: String,
    author: String,
    note: String,
    head: bool,
}

impl Cells {
    fn head() -> Self {
        Self {
            version: "version".to_owned(),
            verdict: (Slot::Muted, "verdict".to_owned()),
            time: "time".to_owned(),
            previous: "ratio".to_owned(),
            author: "by".to_owned(),
            note: "note".to_owned(),
            head: true,
        }
    }

    fn of(all: &[Arc<Iteration>], index: usize, shape: &str, marked: bool) -> Self {
        let iteration = &all[index];
        let (mark, slot) = if iteration.status == Class::Passed {
            ("✔", Slot::Good)
        } else {
            ("✕", Slot::Bad)
        };
        let now = measured(iteration, shape);
        let before = all[..index]
            .iter()
            .rev()
            .filter(|other| other.device == iteration.device)
            .find_map(|other| measured(other, shape));
        let previous = match (now, before) {
            (Some(now), Some(before)) => ratio(before / now),
            _ => "–".to_owned(),
        };
        let note = if iteration.note.is_empty() && iteration.status != Class::Passed {
            &iteration.reason
        } else {
            &iteration.note
        };
        Self {
            version: format!("{}v{}", if marked { "◆ " } else { "" }, iteration.version),
            verdict: (slot, format!("{mark} {}", iteration.status.name().replace('_', " "))),
            time: now.map_or("–".to_owned(), time_us),
            previous,
            author: escape::line(&iteration.author),
            note: escape::line(note),
            head: false,
        }
    }
}

fn measured(iteration: &Iteration, shape: &str) -> Option<f64> {
    let report = iteration.shapes.iter().find(|report| report.id == shape)?;
    let timing = report
        .timing
        .as_ref()
        .filter(|timing| timing.kind == TimingKind::Measured)?;
    (report.status == Class::Passed).then_some(timing.median_us)
}

fn columns(cells: &Cells, width: usize) -> Row {
    let slot = if cells.head { Slot::Muted } else { Slot::Text };
    let mut row = Row::new()
        .add(slot, pad_left(&cells.version, 7))
        .text("  ")
        .add(cells.verdict.0, pad(&cells.verdict.1, 19))
        .add(slot, pad_left(&cells.time, 9))
        .add(slot, pad_left(&cells.previous, 8));
    if width >= row.width() + 20 {
        row = row.muted(format!("  {}", pad(&cells.author, 8)));
    }
    let left = width.saturating_sub(row.width() + 2);
    if left >= 6 {
        row = row.muted(format!("  {}", fit(&cells.note, left)));
    }
    row
}

fn diff(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let compared = model.history.compared();
    let title = compared.map_or_else(
        || "Difference".to_owned(),
        |(a, b)| format!("v{} → v{}", a.version, b.version),
    );
    let rows = compared.map_or_else(Vec::new, |(a, b)| {
        diff_rows(&a.source, &b.source, usize::from(area.width.saturating_sub(4)))
    });
    let room = usize::from(area.height.saturating_sub(2));
    let top = model.history.scroll.min(rows.len().saturating_sub(room));
    let more = rows.len().saturating_sub(top + room);
    let foot = if more > 0 {
        format!("{more} more lines · J")
    } else {
        String::new()
    };
    let inner = Pane {
        title: &title,
        about: if model.history.marked.is_some() {
            "against the marked version"
        } else {
            "against the one before"
        },
        foot: &foot,
        focused: false,
    }
    .draw(frame, area, theme);
    let inner = inset(inner);
    match compared {
        None => print(frame, inner, &[Row::new().muted("two versions are needed")], theme),
        Some(_) if rows.is_empty() => print(frame, inner, &[Row::new().muted("the sources are the same")], theme),
        Some(_) => print(frame, inner, &rows[top..], theme),
    }
}

/// The changed places with their surroundings.
pub fn diff_rows(old: &str, new: &str, width: usize) -> Vec<Row> {
    let diff = TextDiff::from_lines(old, new);
    let mut rows = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if let Some(first) = group.first() {
            rows.push(Row::new().add(Slot::Info, format!("line {}", first.new_range().start + 1)));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, slot) = match change.tag() {
                ChangeTag::Delete => ("− ", Slot::Bad),
                ChangeTag::Insert => ("+ ", Slot::Good),
                ChangeTag::Equal => ("  ", Slot::Muted),
            };
            let text = escape::expand(change.value().trim_end_matches(['\n', '\r']), 4).into_owned();
            rows.push(
                Row::new()
                    .add(slot, sign)
                    .add(slot, fit(&text, width.saturating_sub(2))),
            );
        }
    }
    rows
}
