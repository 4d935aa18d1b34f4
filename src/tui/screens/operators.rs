//! The Operators screen: what there is to compute, and the selected operator in full.

mod detail;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use unicode_width::UnicodeWidthStr;

use super::{inset, print};
use crate::problem::Operator;
use crate::tui::escape;
use crate::tui::model::{CatalogueData, Model};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::strip::strip;
use crate::tui::widgets::text::{fit, pad, wrap};

/// Cells of a weight bar, at most.
const BAR: usize = 8;
/// Cells of a status strip in the list, at most and at least.
const STRIP: (usize, usize) = (20, 6);
/// Columns of a weight in percent.
const PERCENT: usize = 5;

/// Widths of the list's columns: names are never cut while there is room for them, then comes the bar, then the strip.
struct Columns {
    name: usize,
    strip: usize,
    bar: usize,
}

impl Columns {
    fn new(catalogue: &CatalogueData, width: usize) -> Self {
        let names = catalogue.operators.iter().map(|operator| operator.name.width());
        let name = names.max().unwrap_or(0).min(width.saturating_sub(PERCENT + 2));
        let left = width.saturating_sub(name + 2 + PERCENT);
        let bar = left.saturating_sub(1).min(BAR);
        let left = left.saturating_sub(bar + 1);
        let strip = left.saturating_sub(2).min(STRIP.0);
        Self {
            name,
            strip: if strip < STRIP.1 { 0 } else { strip },
            bar,
        }
    }
}

pub fn draw(frame: &mut Frame<'_>, body: Rect, model: &Model, theme: &Theme) {
    let Some(catalogue) = model.catalogue.as_deref() else {
        let inner = Pane {
            title: "Operators",
            ..Pane::default()
        }
        .draw(frame, body, theme);
        return print(frame, inset(inner), &[Row::new(), Row::new().muted("loading …")], theme);
    };
    let narrow = body.width < crate::tui::layout::TWO_COLUMNS;
    let share = if narrow { 50 } else { 46 };
    let [left, right] = Layout::horizontal([Constraint::Percentage(share), Constraint::Min(0)]).areas(body);
    list(frame, left, model, catalogue, theme);
    detail::draw(frame, right, model, theme);
}

fn list(frame: &mut Frame<'_>, area: Rect, model: &Model, catalogue: &CatalogueData, theme: &Theme) {
    let state = &model.operators;
    let about = if state.filter.is_empty() {
        state.sorting.name().to_owned()
    } else {
        format!("/{}", state.filter)
    };
    let foot = format!("{} of {}", state.visible.len(), catalogue.operators.len());
    let inner = Pane {
        title: "Operators",
        about: &about,
        foot: &foot,
        focused: true,
    }
    .draw(frame, area, theme);
    let inner = inset(inner);
    let width = usize::from(inner.width);
    let (rows, selected) = list_rows(model, catalogue, width, &Columns::new(catalogue, width));
    let height = usize::from(inner.height);
    let top = selected
        .saturating_sub(height.saturating_sub(2))
        .min(rows.len().saturating_sub(height));
    print(frame, inner, &rows[top..], theme);
    if !state.visible.is_empty() && selected - top < height {
        let place = Rect::new(inner.x - 1, inner.y + (selected - top) as u16, inner.width + 2, 1);
        frame.buffer_mut().set_style(place, theme.selected());
    }
}

/// The list's rows with headings of suites between, and the index of the selected one.
fn list_rows(model: &Model, catalogue: &CatalogueData, width: usize, columns: &Columns) -> (Vec<Row>, usize) {
    let heaviest = catalogue
        .operators
        .iter()
        .map(|operator| operator.weight)
        .fold(0.0, f64::max);
    let mut rows = Vec::new();
    let mut selected = 0;
    let mut suite = None;
    for (position, &index) in model.operators.visible.iter().enumerate() {
        let operator = &catalogue.operators[index];
        if model.operators.filter.is_empty() && suite != Some(&operator.suite) {
            if suite.is_some() {
                rows.push(Row::new());
            }
            rows.push(suite_heading(catalogue, &operator.suite, width));
            suite = Some(&operator.suite);
        }
        if position == model.operators.selected {
            selected = rows.len();
        }
        rows.push(operator_row(model, operator, heaviest, columns));
    }
    for broken in &catalogue.broken {
        let line = broken.line.map(|line| format!(":{line}")).unwrap_or_default();
        let text = format!("{}  {}{line}  {}", broken.name, broken.file.display(), broken.reason);
        rows.extend(
            wrap(&escape::line(&text), width.saturating_sub(2))
                .into_iter()
                .map(|line| Row::new().muted(format!("! {line}"))),
        );
    }
    if model.operators.visible.is_empty() {
        rows.push(Row::new().muted(if catalogue.operators.is_empty() {
            "no operators"
        } else {
            "nothing matches"
        }));
    }
    (rows, selected)
}

fn suite_heading(catalogue: &CatalogueData, suite: &str, width: usize) -> Row {
    let count = catalogue
        .operators
        .iter()
        .filter(|operator| operator.suite == suite)
        .count();
    let right = format!("{count} operators");
    let left = Row::new().bold(
        Slot::Accent,
        fit(&escape::line(suite), width.saturating_sub(right.len() + 2)),
    );
    left.to(width.saturating_sub(right.len())).muted(right)
}

fn operator_row(model: &Model, operator: &Operator, heaviest: f64, columns: &Columns) -> Row {
    let name = pad(&escape::line(&operator.name), columns.name);
    let runnable = operator.reference.is_some() && !operator.kernels.is_empty();
    let mut row = Row::new().add(if runnable { Slot::Text } else { Slot::Muted }, format!(" {name} "));
    if columns.strip > 0 {
        let seen = model.seen.get(&operator.name);
        let shapes = operator.shapes.iter().chain(&operator.twins);
        let cells = strip(
            shapes.map(|shape| seen.and_then(|seen| seen.get(&shape.id))),
            columns.strip,
        );
        let used = cells.width();
        row = row.text(" ").join(cells).text(" ".repeat(columns.strip - used + 1));
    }
    if columns.bar > 0 {
        let share = operator.weight / heaviest.max(f64::MIN_POSITIVE);
        row = row.join(weight_bar(share, columns.bar)).text(" ");
    }
    row.muted(format!("{:>4.1}%", operator.weight * 100.0))
}

/// A bar with a resolution of an eighth of a cell.
fn weight_bar(share: f64, width: usize) -> Row {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share * width as f64 * 8.0).round() as usize).clamp(usize::from(share > 0.0), width * 8);
    let bar = format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8]);
    Row::new().add(Slot::Accent, pad(&bar, width))
}
