//! From the state to charts: every shape under its roofs, every version of a shape.

use crate::measure::report::{ShapeReport, TimingKind};
use crate::plot::roofline::{Ceiling, Place, Roofline};
use crate::plot::{Axis, Chart, Dash, Line, Mark, Point, Scale, Tone, history};
use crate::problem::Path;
use crate::tui::model::{self, Model};
use crate::units::flop_rate;
use crate::verdict::Class;

/// The roofline of the operator that is open; `None` while it or the device is not known.
pub fn roofline(model: &Model) -> Option<Chart> {
    let operator = model.current_operator()?;
    let machine = model.machine()?;
    let selected = model.bench.current_shape().map(|shape| shape.id.as_str());
    let mut used: Vec<Path> = operator
        .cost
        .flops
        .iter()
        .filter_map(|(path, _)| Some(machine.peak(*path)?.0))
        .collect();
    used.dedup();
    let ceilings = used
        .into_iter()
        .filter_map(|path| machine.peak(path))
        .map(|(path, peak)| Ceiling {
            label: format!("{path} {}", flop_rate(peak)),
            peak,
            measured: false,
        })
        .collect();
    let places = model
        .bench
        .shapes()
        .filter_map(|shape| {
            let place = model::place(machine, operator, shape)?;
            let report = model.bench.reports.get(&shape.id);
            let seen = model.seen.get(&operator.name).and_then(|seen| seen.get(&shape.id));
            let measured = report
                .and_then(measured_us)
                .or_else(|| seen.and_then(|seen| seen.median_us));
            let class = report
                .map(|report| report.status)
                .or_else(|| seen.map(|seen| seen.class));
            Some(Place {
                label: shape.id.clone(),
                intensity: place.intensity,
                rate: measured.map(|us| place.flops / (us / 1e6)),
                passed: class.is_none_or(|class| class == Class::Passed),
                selected: selected == Some(shape.id.as_str()),
            })
        })
        .collect();
    let described = Roofline {
        title: operator.name.clone(),
        bandwidth: machine.bandwidth,
        measured_bandwidth: None,
        ceilings,
        places,
    };
    let mut chart = described.chart();
    mark_intensity(&mut chart);
    Some(chart)
}

/// A shape that was not timed has an intensity but no rate: an upright line up to the roof says so.
fn mark_intensity(chart: &mut Chart) {
    let untimed = |point: &&Point| point.mark == Mark::HollowDiamond && point.label.is_some();
    if let Some(point) = chart.points.iter().find(untimed) {
        let line = Line {
            label: String::new(),
            points: vec![(point.x, chart.y.min), (point.x, point.y)],
            tone: Tone::Accent,
            dash: Dash::Dashed,
        };
        chart.lines.push(line);
    }
}

/// The median of a report that was measured; modelled times have no place among them.
fn measured_us(report: &ShapeReport) -> Option<f64> {
    report
        .timing
        .as_ref()
        .filter(|timing| timing.kind == TimingKind::Measured)
        .map(|timing| timing.median_us)
}

/// The roofline narrowed to where the points are.
pub fn zoomed(mut chart: Chart) -> Chart {
    let narrow = |axis: &mut Axis, values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low.is_finite() && high > 0.0 {
            axis.min = (low / 3.0).max(axis.min);
            axis.max = (high * 3.0).min(axis.max);
        }
    };
    narrow(&mut chart.x, &mut chart.points.iter().map(|point| point.x));
    narrow(&mut chart.y, &mut chart.points.iter().map(|point| point.y));
    chart
}

/// The versions of the shape looked at.
pub fn versions(model: &Model) -> Chart {
    let Some(shape) = model.bench.current_shape() else {
        return history("", None, &[]);
    };
    let selected = model.history.selected().map(|iteration| iteration.version);
    let iterations: Vec<history::Iteration> = model
        .history
        .of_shape(&shape.id)
        .into_iter()
        .map(|point| history::Iteration {
            number: point.version,
            passed: point.class == Class::Passed,
            time_us: point.median_us.map(|(median, low, high)| (median, [low, high])),
            selected: selected == Some(point.version),
        })
        .collect();
    let mut chart = history("History", None, &iterations);
    chart.x.ticks = iterations
        .iter()
        .map(|iteration| (f64::from(iteration.number), format!("v{}", iteration.number)))
        .collect();
    if chart.y.ticks.is_empty() && chart.y.scale == Scale::Linear {
        chart.y.ticks = (1..=chart.y.max as u32)
            .map(|times| (f64::from(times), format!("{times}x")))
            .collect();
    }
    chart
}

/// What the marks of a roofline mean, for its key: only those that are there.
pub fn roofline_key(chart: &Chart) -> Vec<(Mark, Tone, &'static str)> {
    [
        (Mark::Diamond, Tone::Accent, "selected"),
        (Mark::Dot, Tone::Good, "measured"),
        (Mark::HollowDiamond, Tone::Muted, "not timed"),
        (Mark::Cross, Tone::Bad, "failed"),
    ]
    .into_iter()
    .filter(|(mark, ..)| chart.points.iter().any(|point| point.mark == *mark))
    .collect()
}
