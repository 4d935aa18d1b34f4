//! The Bench: code at the left, verdict, roofline and history at the right.

use ratatui::Frame;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use super::{charts, inset, print, values};
use crate::kernel::Language;
use crate::shape::Shape;
use crate::tui::escape;
use crate::tui::layout;
use crate::tui::model::{Model, Origin, Pane as PaneName};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::chart::{ChartView, axes};
use crate::tui::widgets::code::Code;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::verdict;

pub fn draw(frame: &mut Frame<'_>, body: Rect, model: &Model, theme: &Theme) {
    let bench = &model.bench;
    let panes = layout::bench(body, bench.pane, bench.zoomed, verdict_height(model, body.width));
    let alone = body.width < layout::TWO_COLUMNS;
    for (pane, area) in panes {
        match pane {
            PaneName::Code => code(frame, area, model, theme, alone),
            PaneName::Verdict => verdict_pane(frame, area, model, theme, alone),
            PaneName::Roofline => roofline(frame, area, model, theme, alone),
            PaneName::History => history(frame, area, model, theme, alone),
        }
    }
}

/// Rows that the verdict would like to have in a wide Bench.
pub fn verdict_height(model: &Model, body_width: u16) -> u16 {
    let width = usize::from(body_width / 2).saturating_sub(4);
    verdict::lines(model, width).len() as u16
}

/// Where not all panes are in view, the titles say which ones there are.
fn titled(name: PaneName, title: &str, alone: bool) -> String {
    if !alone {
        return title.to_owned();
    }
    let others: Vec<&str> = PaneName::ALL
        .into_iter()
        .filter(|pane| *pane != name)
        .map(PaneName::title)
        .collect();
    format!("{title} ‹tab› {}", others.join(" · "))
}

fn code(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme, alone: bool) {
    let bench = &model.bench;
    let focused = bench.pane == PaneName::Code;
    let Some(kernel) = &bench.kernel else {
        let inner = Pane {
            title: "Code",
            focused,
            ..Pane::default()
        }
        .draw(frame, area, theme);
        let rows = [
            Row::new(),
            Row::new().muted("no kernel is open"),
            Row::new(),
            Row::new()
                .add(Slot::Accent, "1")
                .muted("  shows the operators, enter opens one here"),
        ];
        return print(frame, inset(inner), &rows, theme);
    };
    let title = escape::line(&kernel.name);
    let about = if bench.typing {
        "typing"
    } else {
        match kernel.origin {
            Origin::BuiltIn => "built in",
            Origin::Version(_) => "from the history",
            Origin::File(_) => "",
        }
    };
    let tabs = titled(PaneName::Code, "", alone);
    let about = if about.is_empty() { tabs.trim() } else { about };
    let inner = Pane {
        title: &title,
        about,
        foot: &foot(model),
        focused,
    }
    .draw(frame, area, theme);
    Code {
        editor: &bench.editor,
        diagnostics: &bench.diagnostics(),
        theme,
        typing: bench.typing && model.overlay.is_none(),
        focused,
    }
    .draw(frame, inner);
}

/// The code's foot: the message of the line where there is one, else what and where.
fn foot(model: &Model) -> String {
    let bench = &model.bench;
    let (row, column) = bench.editor.cursor();
    if let Some(diagnostic) = bench
        .diagnostics()
        .into_iter()
        .find(|diagnostic| diagnostic.line == row + 1)
    {
        return format!("{}: {}", diagnostic.line, diagnostic.message);
    }
    let language = match bench.editor.language() {
        Some(Language::Cuda) | None => "CUDA C++",
        Some(Language::Ptx) => "PTX",
        Some(Language::Python) => "Python",
    };
    let state = if bench.changed_outside.is_some() {
        "changed on disk"
    } else if bench.editor.is_dirty() {
        "● not saved"
    } else if bench.read_only() {
        "read-only"
    } else {
        "saved"
    };
    let watching = if bench.run_on_save { " · runs on save" } else { "" };
    let lines = bench.editor.lines().len();
    format!(
        "{language} · {lines} lines · ln {} col {} · {state}{watching}",
        row + 1,
        column + 1
    )
}

fn verdict_pane(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme, alone: bool) {
    let shape = model.bench.current_shape();
    let title = titled(PaneName::Verdict, "Verdict", alone);
    let room = usize::from(area.width).saturating_sub(title.width() + 9);
    let about = shape.map_or_else(String::new, |shape| named(shape, room));
    let focused = model.bench.pane == PaneName::Verdict;
    let rows = verdict::lines(model, usize::from(area.width.saturating_sub(4)));
    let room = usize::from(area.height.saturating_sub(2));
    let top = model.bench.scroll.min(rows.len().saturating_sub(room));
    let more = rows.len().saturating_sub(top + room);
    let foot = if more > 0 {
        format!("{more} more lines ↓")
    } else {
        String::new()
    };
    let inner = Pane {
        title: &title,
        about: &about,
        foot: &foot,
        focused,
    }
    .draw(frame, area, theme);
    print(frame, inset(inner), &rows[top..], theme);
    samples(frame, inset(inner), rows.len(), model, theme);
}

/// Where there is room below the verdict, the samples as a full histogram.
fn samples(frame: &mut Frame<'_>, inner: Rect, rows: usize, model: &Model, theme: &Theme) {
    const LEAST: u16 = 8;
    const MOST: u16 = 14;
    let used = rows as u16 + 1;
    let Some(timing) = model.bench.current_report().and_then(|report| report.timing.as_ref()) else {
        return;
    };
    if timing.all_us.is_empty() || model.run.is_some() || inner.height < used + LEAST {
        return;
    }
    let area = Rect {
        y: inner.y + used,
        height: (inner.height - used).min(MOST),
        ..inner
    };
    let mut chart = crate::plot::histogram("samples", &timing.all_us, timing.median_us);
    for line in &mut chart.lines {
        // Inside the bars a label would be hard to read.
        let label = std::mem::take(&mut line.label);
        chart.note = Some(format!("{} samples, µs   ┊ {label}", timing.samples));
    }
    frame.render_widget(ChartView { chart: &chart, theme }, area);
}

/// A shape's id with its parameters by name, or by value alone where there is less room.
fn named(shape: &Shape, room: usize) -> String {
    let long = escape::line(&format!("{} · {}", shape.id, shape.params));
    if long.width() <= room {
        return long;
    }
    let short = escape::line(&format!("{} · {}", shape.id, values(&shape.params)));
    if short.width() <= room {
        short
    } else {
        escape::line(&shape.id)
    }
}

fn roofline(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme, alone: bool) {
    let chart = charts::roofline(model);
    let title = titled(PaneName::Roofline, "Roofline", alone);
    let about = chart.as_ref().map(axes).unwrap_or_default();
    let inner = Pane {
        title: &title,
        about: &about,
        focused: model.bench.pane == PaneName::Roofline,
        ..Pane::default()
    }
    .draw(frame, area, theme);
    match chart {
        Some(chart) => frame.render_widget(ChartView { chart: &chart, theme }, inset(inner)),
        None => print(frame, inset(inner), &[Row::new().muted("no operator is open")], theme),
    }
}

fn history(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme, alone: bool) {
    let chart = charts::versions(model);
    let title = titled(PaneName::History, "History", alone);
    let about = if chart.y.title.is_empty() {
        "by version"
    } else {
        "speedup over the first"
    };
    let inner = Pane {
        title: &title,
        about,
        focused: model.bench.pane == PaneName::History,
        ..Pane::default()
    }
    .draw(frame, area, theme);
    if chart.points.is_empty() {
        let note = if model.history.iterations.is_none() {
            "loading …"
        } else {
            "no version has run this shape yet"
        };
        return print(frame, inset(inner), &[Row::new().muted(note)], theme);
    }
    frame.render_widget(ChartView { chart: &chart, theme }, inset(inner));
}
