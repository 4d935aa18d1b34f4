//! The Operators screen: what there is to compute, and the selected operator in full.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::{inset, print};
use crate::problem::{Contract, Operator, Role, Tensor, TensorType};
use crate::tui::escape;
use crate::tui::model::{CatalogueData, Model, Seen, place};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::strip::strip;
use crate::tui::widgets::text::{fit, pad, pad_left, wrap};
use crate::units::{percent, significant, time_us};
use crate::verdict::Class;

/// Cells of a weight bar.
const BAR: usize = 8;
/// Cells of a status strip in the list.
const STRIP: usize = 12;

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
    let share = if narrow { 50 } else { 42 };
    let [left, right] = Layout::horizontal([Constraint::Percentage(share), Constraint::Min(0)]).areas(body);
    list(frame, left, model, catalogue, theme);
    detail(frame, right, model, theme);
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
    let strip_width = if width > 46 { STRIP } else { 0 };
    let (rows, selected) = list_rows(model, catalogue, width, strip_width);
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
fn list_rows(model: &Model, catalogue: &CatalogueData, width: usize, strip_width: usize) -> (Vec<Row>, usize) {
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
        rows.push(operator_row(model, operator, heaviest, width, strip_width));
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

fn operator_row(model: &Model, operator: &Operator, heaviest: f64, width: usize, strip_width: usize) -> Row {
    let percent = format!("{:>5.1} %", operator.weight * 100.0);
    let strip_room = if strip_width > 0 { strip_width + 2 } else { 0 };
    let tail = BAR + 2 + percent.len() + strip_room;
    let name = pad(&escape::line(&operator.name), width.saturating_sub(tail + 2));
    let runnable = operator.reference.is_some() && !operator.kernels.is_empty();
    let mut row = Row::new().add(if runnable { Slot::Text } else { Slot::Muted }, format!(" {name} "));
    if strip_width > 0 {
        let seen = model.seen.get(&operator.name);
        let shapes = operator.shapes.iter().chain(&operator.twins);
        let cells = strip(
            shapes.map(|shape| seen.and_then(|seen| seen.get(&shape.id))),
            strip_width,
        );
        let used = cells.width();
        row = row.join(cells).text(" ".repeat(strip_width - used + 2));
    }
    row.join(weight_bar(operator.weight / heaviest.max(f64::MIN_POSITIVE)))
        .muted(format!("  {percent}"))
}

/// A bar with a resolution of an eighth of a cell.
fn weight_bar(share: f64) -> Row {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share * BAR as f64 * 8.0).round() as usize).clamp(usize::from(share > 0.0), BAR * 8);
    let bar = format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8]);
    Row::new().add(Slot::Accent, pad(&bar, BAR))
}

fn detail(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let Some(operator) = model.selected_operator() else {
        Pane::default().draw(frame, area, theme);
        return;
    };
    let about = format!("{} · {}", operator.suite, operator.id);
    let title = escape::line(&operator.name);
    let inner = Pane {
        title: &title,
        about: &escape::line(&about),
        ..Pane::default()
    }
    .draw(frame, area, theme);
    let inner = inset(inner);
    let mut rows = description(operator, usize::from(inner.width));
    let left = usize::from(inner.height).saturating_sub(rows.len() + 1);
    rows.push(Row::new());
    rows.extend(shape_table(model, operator, usize::from(inner.width), left));
    print(frame, inner, &rows, theme);
}

fn heading(text: &str) -> Row {
    Row::new().bold(Slot::Accent, text)
}

fn description(operator: &Operator, width: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in operator.maths.lines() {
        rows.extend(
            wrap(&escape::expand(line, 4), width)
                .into_iter()
                .map(|line| Row::new().text(line)),
        );
    }
    if operator.reference.is_none() {
        rows.push(Row::new().add(Slot::Warning, "no reference yet: kernels cannot be verified"));
    }
    rows.push(Row::new());
    rows.push(heading("Tensors"));
    let name_width = operator
        .tensors
        .iter()
        .map(|tensor| tensor.name.len())
        .max()
        .unwrap_or(0);
    for tensor in &operator.tensors {
        rows.push(tensor_row(tensor, name_width, width));
    }
    let contracts = contracts(operator);
    if !contracts.is_empty() {
        rows.push(Row::new());
        rows.push(heading("Contract"));
        for (tensor, contract) in contracts {
            let text = contract_text(&contract);
            for (index, line) in wrap(&text, width.saturating_sub(name_width + 2))
                .into_iter()
                .enumerate()
            {
                let name = if index == 0 { tensor.name.as_str() } else { "" };
                rows.push(Row::new().muted(pad(name, name_width + 2)).text(line));
            }
        }
    }
    rows
}

/// What counts as right for each output on the published inputs of the first shape.
fn contracts(operator: &Operator) -> Vec<(&Tensor, Contract)> {
    let Some(shape) = operator.shapes.iter().chain(&operator.twins).next() else {
        return Vec::new();
    };
    let scope = operator.scope(shape);
    let of = |tensor: &Tensor| tensor.contract("published", &scope).ok().flatten();
    operator
        .tensors
        .iter()
        .filter_map(|tensor| Some((tensor, of(tensor)?)))
        .collect()
}

fn tensor_row(tensor: &Tensor, name_width: usize, width: usize) -> Row {
    let role = match tensor.role {
        Role::In => "in ",
        Role::Out => "out",
        Role::InOut => "in/out",
    };
    let dtype = match &tensor.dtype {
        TensorType::Fixed(dtype) => dtype.to_string(),
        TensorType::Param(name) => name.clone(),
    };
    let dims: Vec<&str> = tensor.dims.iter().map(crate::expr::Expr::text).collect();
    let dims = format!("[{}]", dims.join(", "));
    let row = Row::new()
        .text(pad(&tensor.name, name_width + 2))
        .muted(format!("{} ", pad(role, 3)))
        .text(pad(&dtype, 8));
    let room = width.saturating_sub(row.width());
    row.muted(fit(&dims, room))
}

fn contract_text(contract: &Contract) -> String {
    match contract {
        Contract::Close {
            atol,
            rtol,
            allowed_share,
            cap,
            rel_l2,
        } => {
            let share = if *allowed_share > 0.0 {
                format!(
                    " for all but {}, never over {}x",
                    percent(*allowed_share),
                    significant(*cap)
                )
            } else {
                String::new()
            };
            format!(
                "|got − want| ≤ {} + {} |want|{share}; relative L2 < {}",
                significant(*atol),
                significant(*rtol),
                significant(*rel_l2)
            )
        }
        Contract::Exact => "bit for bit".to_owned(),
        Contract::Codes {
            max_distance,
            allowed_share,
        } => format!(
            "codes at most {max_distance} apart, {} of them different",
            percent(*allowed_share)
        ),
    }
}

/// Shapes with their bounds, roofs and what was seen of them, in so many rows.
fn shape_table(model: &Model, operator: &Operator, width: usize, height: usize) -> Vec<Row> {
    let shapes: Vec<_> = operator.shapes.iter().chain(&operator.twins).collect();
    let id_width = shapes.iter().map(|shape| shape.id.len()).max().unwrap_or(0).max(2);
    let machine = model.machine();
    let empty = BTreeMap::new();
    let seen = model.seen.get(&operator.name).unwrap_or(&empty);
    let params_width = width.saturating_sub(id_width + 2 + 8 + 10 + 10 + 9);
    let wide = params_width >= 16;
    let params_width = if wide {
        params_width
    } else {
        width.saturating_sub(id_width + 2 + 9)
    };
    let about = machine.map_or_else(String::new, |machine| format!("  roofs of {}", machine.name));
    let mut rows = vec![heading("Shapes").muted(about)];
    let mut head = Row::new()
        .muted(pad("id", id_width + 2))
        .muted(pad("parameters", params_width));
    if wide {
        head = head
            .muted(pad_left("bound", 8))
            .muted(pad_left("roof", 10))
            .muted(pad_left("best", 10));
    }
    rows.push(head.muted(pad_left("seen", 9)));
    let room = height.saturating_sub(3);
    let shown = if shapes.len() > room {
        room.saturating_sub(1)
    } else {
        shapes.len()
    };
    for shape in &shapes[..shown] {
        let mut row = Row::new()
            .text(pad(&shape.id, id_width + 2))
            .muted(pad(&escape::line(&values(&shape.params)), params_width));
        let known = seen.get(&shape.id);
        if wide {
            let place = machine.and_then(|machine| place(machine, operator, shape));
            let (bound, roof) = place.map_or(("–".to_owned(), "–".to_owned()), |place| {
                (place.bound.name().to_owned(), time_us(place.t_sol_us))
            });
            let best = known.and_then(|seen| seen.median_us).map_or("–".to_owned(), time_us);
            row = row
                .text(pad_left(&bound, 8))
                .text(pad_left(&roof, 10))
                .text(pad_left(&best, 10));
        }
        rows.push(row.join(seen_cell(known)));
    }
    if shown < shapes.len() {
        rows.push(Row::new().muted(format!(
            "and {} more: 3 shows them all under the roof",
            shapes.len() - shown
        )));
    }
    rows
}

/// `24752×1280`: the values alone, since the columns' names are the same for every shape.
fn values(params: &crate::shape::Params) -> String {
    params
        .0
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn seen_cell(seen: Option<&Seen>) -> Row {
    match seen {
        None => Row::new().muted(pad_left("·", 9)),
        Some(seen) if seen.class != Class::Passed => Row::new().add(Slot::Bad, pad_left("✕", 9)),
        Some(Seen {
            fraction: Some(fraction),
            ..
        }) => Row::new().add(Slot::ramp(*fraction), pad_left(&percent(*fraction), 9)),
        Some(_) => Row::new().add(Slot::Good, pad_left("✔", 9)),
    }
}
