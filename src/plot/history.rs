//! The history chart: speedup by iteration, with the best so far as a step line and failures marked.

use super::{Axis, Chart, Dash, Line, Mark, Point, Scale, Tone};

/// One iteration, as the chart sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// 1, 2, 3, ...
    pub number: u32,
    pub passed: bool,
    /// Measured time, with its 95 % interval; absent where it failed or was not timed.
    pub time_us: Option<(f64, [f64; 2])>,
    pub selected: bool,
}

/// The chart of an operator's iterations on one shape. `baseline_us` is the time that counts as 1x.
pub fn history(title: &str, baseline_us: Option<f64>, iterations: &[Iteration]) -> Chart {
    let first_timed = iterations
        .iter()
        .find_map(|iteration| iteration.time_us.map(|(time, _)| time));
    match baseline_us.or(first_timed) {
        Some(baseline) if first_timed.is_some() => speedups(title, baseline, iterations),
        _ => marks_only(title, iterations),
    }
}

fn iteration_axis(iterations: &[Iteration]) -> Axis {
    let first = iterations.first().map_or(1.0, |iteration| f64::from(iteration.number));
    let last = iterations.last().map_or(1.0, |iteration| f64::from(iteration.number));
    Axis {
        title: "iteration".into(),
        scale: Scale::Linear,
        min: first - 0.5,
        max: last.max(first + 1.0) + 0.5,
        ticks: Vec::new(),
    }
}

fn speedups(title: &str, baseline: f64, iterations: &[Iteration]) -> Chart {
    let mut points = Vec::new();
    let mut trail = Vec::new();
    let mut best_line = Vec::new();
    let mut best = f64::NEG_INFINITY;
    let mut highest = 1.0_f64;
    let mut previous = 1.0;
    for iteration in iterations {
        let x = f64::from(iteration.number);
        let Some((time, [low, high])) = iteration.time_us else {
            let (mark, tone) = if iteration.passed {
                (Mark::HollowDiamond, Tone::Muted)
            } else {
                (Mark::Cross, Tone::Bad)
            };
            points.push(Point {
                x,
                y: previous,
                mark,
                tone,
                label: None,
                whisker: None,
            });
            continue;
        };
        let y = baseline / time;
        previous = y;
        highest = highest.max(y);
        if iteration.passed && y > best {
            best = y;
        }
        trail.push((x, y));
        if best.is_finite() {
            best_line.push((x, best));
        }
        let (mark, tone) = match (iteration.passed, iteration.selected) {
            (false, _) => (Mark::Cross, Tone::Bad),
            (true, true) => (Mark::Diamond, Tone::Accent),
            (true, false) => (Mark::Dot, Tone::Good),
        };
        points.push(Point {
            x,
            y,
            mark,
            tone,
            label: None,
            whisker: Some((baseline / high, baseline / low)),
        });
    }
    let best_point = points
        .iter_mut()
        .filter(|point| point.tone != Tone::Bad && point.whisker.is_some())
        .max_by(|a, b| a.y.total_cmp(&b.y));
    if let Some(point) = best_point {
        point.label = Some(format!("best {:.2}x", point.y));
    }
    Chart {
        title: title.to_owned(),
        x: iteration_axis(iterations),
        y: Axis {
            title: "speedup".into(),
            scale: Scale::Linear,
            min: 0.0,
            max: highest * 1.15,
            ticks: Vec::new(),
        },
        bars: Vec::new(),
        lines: vec![
            Line {
                label: String::new(),
                points: trail,
                tone: Tone::Muted,
                dash: Dash::Solid,
            },
            Line {
                label: String::new(),
                points: best_line,
                tone: Tone::Accent,
                dash: Dash::Step,
            },
        ],
        points,
        note: None,
    }
}

fn marks_only(title: &str, iterations: &[Iteration]) -> Chart {
    let points = iterations
        .iter()
        .map(|iteration| {
            let (y, mark, tone) = match (iteration.passed, iteration.selected) {
                (true, true) => (1.0, Mark::Diamond, Tone::Accent),
                (true, false) => (1.0, Mark::Dot, Tone::Good),
                (false, _) => (0.0, Mark::Cross, Tone::Bad),
            };
            Point {
                x: f64::from(iteration.number),
                y,
                mark,
                tone,
                label: None,
                whisker: None,
            }
        })
        .collect();
    let note = if iterations.is_empty() {
        "no runs yet"
    } else {
        "no speedup: these runs were verified, not timed"
    };
    Chart {
        title: title.to_owned(),
        x: iteration_axis(iterations),
        y: Axis {
            title: String::new(),
            scale: Scale::Linear,
            min: -0.5,
            max: 1.5,
            ticks: vec![(0.0, "failed".into()), (1.0, "passed".into())],
        },
        bars: Vec::new(),
        lines: Vec::new(),
        points,
        note: Some(note.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iteration(number: u32, time: Option<f64>, passed: bool) -> Iteration {
        Iteration {
            number,
            passed,
            time_us: time.map(|time| (time, [time * 0.99, time * 1.01])),
            selected: false,
        }
    }

    #[test]
    fn speedup_is_baseline_over_time_and_best_only_rises() {
        let chart = history(
            "h",
            None,
            &[
                iteration(1, Some(90.0), true),
                iteration(2, Some(30.0), true),
                iteration(3, Some(45.0), true),
            ],
        );
        let speedups: Vec<f64> = chart.points.iter().map(|point| point.y).collect();
        assert_eq!(speedups, [1.0, 3.0, 2.0]);
        let best: Vec<f64> = chart.lines[1].points.iter().map(|point| point.1).collect();
        assert_eq!(best, [1.0, 3.0, 3.0]);
        assert_eq!(chart.points[1].label.as_deref(), Some("best 3.00x"));
    }

    #[test]
    fn a_wrong_fast_kernel_is_never_the_best() {
        let chart = history(
            "h",
            None,
            &[iteration(1, Some(90.0), true), iteration(2, Some(1.0), false)],
        );
        assert_eq!(chart.lines[1].points[1].1, 1.0);
        assert_eq!(chart.points[1].mark, Mark::Cross);
        assert_eq!(chart.points[1].label, None);
    }

    #[test]
    fn without_times_nothing_is_drawn_as_a_speedup() {
        let chart = history("h", None, &[iteration(1, None, true), iteration(2, None, false)]);
        assert!(chart.lines.is_empty());
        assert_eq!(chart.y.ticks.len(), 2);
        assert!(chart.note.is_some_and(|note| note.contains("not timed")));
    }
}
