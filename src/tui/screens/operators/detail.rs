//! The selected operator in full: maths, tensors, contract, shapes.

use std::collections::BTreeMap;

use ratatui::Frame;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::problem::{Contract, Operator, Role, Tensor, TensorType};
use crate::shape::Shape;
use crate::tui::escape;
use crate::tui::model::{Model, Seen, place};
use crate::tui::screens::{inset, print, values};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::{pad, pad_left, wrap};
use crate::units::{percent, significant, time_us};
use crate::verdict::Class;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
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
        rows.extend(tensor_rows(tensor, name_width, width));
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

/// A tensor's dimensions go on in a second line rather than being cut.
fn tensor_rows(tensor: &Tensor, name_width: usize, width: usize) -> Vec<Row> {
    let role = match tensor.role {
        Role::In => "in",
        Role::Out => "out",
        Role::InOut => "in/out",
    };
    let dtype = match &tensor.dtype {
        TensorType::Fixed(dtype) => dtype.to_string(),
        TensorType::Param(name) => name.clone(),
    };
    let dims: Vec<&str> = tensor.dims.iter().map(crate::expr::Expr::text).collect();
    let dims = format!("[{}]", dims.join(", "));
    let head = Row::new()
        .text(pad(&tensor.name, name_width + 2))
        .muted(format!("{} ", pad(role, 3)))
        .text(pad(&dtype, 8));
    let column = head.width();
    let mut lines = wrap(&dims, width.saturating_sub(column)).into_iter();
    let first = head.muted(lines.next().unwrap_or_default());
    std::iter::once(first)
        .chain(lines.map(|line| Row::new().to(column).muted(format!(" {line}"))))
        .collect()
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
    /// Columns of bound, roof, best and seen.
    const NUMBERS: [usize; 4] = [8, 10, 10, 8];
    let shapes: Vec<_> = operator.shapes.iter().chain(&operator.twins).collect();
    let id_width = shapes.iter().map(|shape| shape.id.width()).max().unwrap_or(0) + 2;
    let of = |shape: &Shape| escape::line(&values(&shape.params));
    let values_width = shapes.iter().map(|shape| of(shape).width()).max().unwrap_or(0) + 1;
    let room = width.saturating_sub(id_width + values_width);
    // Columns that do not fit are left out from the middle: what was seen stays.
    let shown = (0..NUMBERS.len())
        .rev()
        .find(|count| NUMBERS[..*count].iter().sum::<usize>() + NUMBERS[3] <= room);
    let shown = shown.unwrap_or(0);
    let machine = model.machine();
    let empty = BTreeMap::new();
    let seen = model.seen.get(&operator.name).unwrap_or(&empty);
    let names: Vec<&str> = operator.params.iter().map(|param| param.name.as_str()).collect();
    let mut rows = vec![
        heading("Shapes").muted(machine.map_or_else(String::new, |machine| format!("  roofs of {}", machine.name))),
    ];
    rows.extend(
        wrap(&names.join(" × "), width)
            .into_iter()
            .map(|line| Row::new().muted(line)),
    );
    let mut head = Row::new().to(width.min(id_width + values_width));
    for (name, columns) in ["bound", "roof", "best"].iter().zip(NUMBERS).take(shown) {
        head = head.muted(pad_left(name, columns));
    }
    rows.push(head.muted(pad_left("seen", NUMBERS[3])));
    let left = height.saturating_sub(rows.len());
    let count = if shapes.len() > left {
        left.saturating_sub(1)
    } else {
        shapes.len()
    };
    for shape in &shapes[..count] {
        let known = seen.get(&shape.id);
        let place = machine.and_then(|machine| place(machine, operator, shape));
        let dash = || "–".to_owned();
        let numbers = [
            place.as_ref().map_or_else(dash, |roof| roof.bound.name().to_owned()),
            place.as_ref().map_or_else(dash, |roof| time_us(roof.t_sol_us)),
            known.and_then(|seen| seen.median_us).map_or_else(dash, time_us),
        ];
        let mut row = Row::new()
            .text(pad(&shape.id, id_width))
            .muted(pad(&of(shape), values_width));
        for (number, columns) in numbers.iter().zip(NUMBERS).take(shown) {
            row = row.text(pad_left(number, columns));
        }
        rows.push(row.join(seen_cell(known, NUMBERS[3])));
    }
    if count < shapes.len() {
        rows.push(Row::new().muted(format!("and {} more", shapes.len() - count)));
    }
    rows
}

fn seen_cell(seen: Option<&Seen>, width: usize) -> Row {
    match seen {
        None => Row::new().muted(pad_left("·", width)),
        Some(seen) if seen.class != Class::Passed => Row::new().add(Slot::Bad, pad_left("✕", width)),
        Some(Seen {
            fraction: Some(fraction),
            ..
        }) => Row::new().add(Slot::ramp(*fraction), pad_left(&percent(*fraction), width)),
        Some(_) => Row::new().add(Slot::Good, pad_left("✔", width)),
    }
}
