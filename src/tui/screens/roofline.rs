//! The Roofline screen: every shape a point under its roofs, the selected one's numbers at the side.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

use super::{charts, inset, print};
use crate::tui::escape;
use crate::tui::model::{Model, place};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::chart::{ChartView, axes, mark};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::wrap;
use crate::units::{bytes, flops, intensity, percent, time_us};
use crate::verdict::Class;

/// Columns of the side panel.
const SIDE: u16 = 36;

pub fn draw(frame: &mut Frame<'_>, body: Rect, model: &Model, theme: &Theme) {
    let Some(chart) = charts::roofline(model) else {
        let inner = Pane {
            title: "Roofline",
            focused: true,
            ..Pane::default()
        }
        .draw(frame, body, theme);
        let text = if model.current_operator().is_none() {
            "no operator is open: 1 shows them, enter opens one"
        } else {
            "the device's profile is not known yet"
        };
        return print(frame, inset(inner), &[Row::new(), Row::new().muted(text)], theme);
    };
    let chart = if model.roofline.zoomed {
        charts::zoomed(chart)
    } else {
        chart
    };
    let side_below = body.width < 90;
    let [main, side] = if side_below {
        Layout::vertical([Constraint::Min(0), Constraint::Length(7)]).areas(body)
    } else {
        Layout::horizontal([Constraint::Min(0), Constraint::Length(SIDE)]).areas(body)
    };
    let inner = Pane {
        title: &escape::line(&chart.title),
        about: &axes(&chart),
        focused: true,
        ..Pane::default()
    }
    .draw(frame, main, theme);
    frame.render_widget(ChartView { chart: &chart, theme }, inset(inner));
    details(frame, side, model, side_below, theme, &chart);
}

fn details(frame: &mut Frame<'_>, area: Rect, model: &Model, short: bool, theme: &Theme, chart: &crate::plot::Chart) {
    let Some(shape) = model.bench.current_shape() else {
        return;
    };
    let title = format!("Shape {}", escape::line(&shape.id));
    let count = model.bench.shapes().count();
    let about = format!("{} of {count}", model.bench.shape + 1);
    let inner = Pane {
        title: &title,
        about: &about,
        ..Pane::default()
    }
    .draw(frame, area, theme);
    let inner = inset(inner);
    let width = usize::from(inner.width);
    let mut rows: Vec<Row> = wrap(&escape::line(&shape.params.to_string()), width)
        .into_iter()
        .map(|line| Row::new().text(line))
        .collect();
    if !short {
        rows.push(Row::new());
    }
    rows.extend(numbers(model, short));
    if !short {
        rows.push(Row::new());
        for (symbol, tone, meaning) in charts::roofline_key(chart) {
            rows.push(
                Row::new()
                    .bold(tone.into(), format!("{} ", mark(symbol)))
                    .muted(meaning),
            );
        }
    }
    print(frame, inner, &rows, theme);
}

fn numbers(model: &Model, short: bool) -> Vec<Row> {
    let (Some(operator), Some(shape), Some(machine)) =
        (&model.bench.operator, model.bench.current_shape(), model.machine())
    else {
        return Vec::new();
    };
    let Some(roof) = place(machine, operator, shape) else {
        return Vec::new();
    };
    let label = |text: &str| Row::new().muted(text.to_owned()).to(11);
    let mut rows = vec![
        label("bound").text(roof.bound.name()),
        label("intensity").text(intensity(roof.intensity)),
        label("roof")
            .text(time_us(roof.t_sol_us))
            .muted(format!("  {}", machine.name)),
    ];
    if !short {
        rows.push(label("moves").text(bytes(roof.bytes)));
        rows.push(label("computes").text(flops(roof.flops)));
    }
    let seen = model.seen.get(&operator.name).and_then(|seen| seen.get(&shape.id));
    match seen {
        None => rows.push(label("seen").muted("not run yet · r runs it")),
        Some(seen) if seen.class != Class::Passed => {
            rows.push(label("seen").add(Slot::Bad, format!("✕ {}", seen.class.name().replace('_', " "))));
        }
        Some(seen) => {
            rows.push(label("seen").add(Slot::Good, "✔ passed"));
            match (seen.median_us, seen.fraction) {
                (Some(median), fraction) => {
                    rows.push(label("time").text(time_us(median)));
                    if let Some(fraction) = fraction {
                        rows.push(label("of roof").add(Slot::ramp(fraction), percent(fraction)));
                    }
                }
                (None, _) => rows.push(label("time").muted("not timed")),
            }
        }
    }
    rows
}
