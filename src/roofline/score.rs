//! Scores: fractions of the roof, and what they come to over shapes, operators and a suite.

use serde::Serialize;

/// One shape's part in a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeTime {
    pub t_sol_us: f64,
    /// The measured median; `None` where the kernel did not pass.
    pub measured_us: Option<f64>,
}

/// The score of one operator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OperatorScore {
    /// Median of T_SOL / T over the shapes that passed; 0 if none did. The suite's own rule.
    pub fraction: f64,
    /// As `fraction`, with the launch floor as the least time that any kernel could take.
    pub floor_aware: f64,
    /// Median over all shapes, a shape that did not pass counting 0.
    pub strict: f64,
    pub passed: usize,
    pub shapes: usize,
}

/// T_SOL / T.
pub fn fraction(t_sol_us: f64, measured_us: f64) -> f64 {
    if measured_us > 0.0 { t_sol_us / measured_us } else { 0.0 }
}

/// max(T_SOL, launch floor) / T: what a launch-bound shape can still reach.
pub fn floor_aware(t_sol_us: f64, measured_us: f64, launch_floor_us: Option<f64>) -> f64 {
    fraction(
        launch_floor_us.map_or(t_sol_us, |floor| t_sol_us.max(floor)),
        measured_us,
    )
}

/// The score over an operator's shapes.
pub fn operator(times: &[ShapeTime], launch_floor_us: Option<f64>) -> OperatorScore {
    let over = |score: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
        times
            .iter()
            .filter_map(|time| Some(score(time.t_sol_us, time.measured_us?)))
            .collect()
    };
    let passed = over(&fraction);
    let mut strict = passed.clone();
    strict.resize(times.len(), 0.0);
    OperatorScore {
        floor_aware: median(over(&|roof, time| floor_aware(roof, time, launch_floor_us))),
        strict: median(strict),
        passed: passed.len(),
        shapes: times.len(),
        fraction: median(passed),
    }
}

/// The weighted mean over operators, the weights taken relative to their sum: (weight, score) each.
pub fn suite(weighted: &[(f64, f64)]) -> f64 {
    let total: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    if total > 0.0 {
        weighted.iter().map(|(weight, score)| weight * score).sum::<f64>() / total
    } else {
        0.0
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(t_sol_us: f64, measured_us: Option<f64>) -> ShapeTime {
        ShapeTime { t_sol_us, measured_us }
    }

    #[test]
    fn failures_count_in_the_strict_score_alone() {
        let times = [
            time(1.0, Some(2.0)),
            time(1.0, Some(4.0)),
            time(1.0, None),
            time(1.0, None),
        ];
        let score = operator(&times, None);
        assert_eq!(
            (score.fraction, score.strict, score.passed, score.shapes),
            (0.375, 0.125, 2, 4)
        );
        assert_eq!(operator(&[time(1.0, None)], None).fraction, 0.0);
    }

    #[test]
    fn the_floor_lifts_launch_bound_shapes() {
        let score = operator(&[time(0.5, Some(4.0))], Some(3.0));
        assert_eq!((score.fraction, score.floor_aware), (0.125, 0.75));
    }

    #[test]
    fn weights_are_relative() {
        assert_eq!(suite(&[(2.0, 0.5), (6.0, 1.0)]), 0.875);
        assert_eq!(suite(&[]), 0.0);
    }
}
