//! The roofline chart: FLOP/s over FLOP/byte, log-log, with every shape of a run under its roofs.

use super::{Axis, Chart, Dash, Line, Mark, Point, Scale, Tone};

/// A ceiling on arithmetic: one precision path's peak.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// `bf16 989 TFLOP/s`
    pub label: String,
    /// FLOP/s.
    pub peak: f64,
    /// Measured ceilings are drawn dashed, datasheet ones solid.
    pub measured: bool,
}

/// What stands under the roofs.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub label: String,
    /// FLOP per compulsory byte; 0 for operators without floating-point work.
    pub intensity: f64,
    /// FLOP/s from a measured time. `None` where nothing was measured: only the intensity is shown then.
    pub rate: Option<f64>,
    pub passed: bool,
    /// The shape under the cursor.
    pub selected: bool,
}

/// What a roofline shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    pub title: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Bytes per second, where it was measured.
    pub measured_bandwidth: Option<f64>,
    pub ceilings: Vec<Ceiling>,
    pub places: Vec<Place>,
}

/// Decades always in view, so that one point does not fill the screen: from streaming kernels to large matrix products.
const VIEW: (f64, f64) = (0.1, 10_000.0);

impl Roofline {
    /// The chart.
    pub fn chart(&self) -> Chart {
        let (x_min, x_max) = self.intensity_range();
        let top = self
            .ceilings
            .iter()
            .map(|ceiling| ceiling.peak)
            .fold(self.bandwidth, f64::max);
        let y_max = decade_above(top);
        let lowest = self
            .drawn()
            .filter_map(|place| place.rate)
            .fold(x_min * self.bandwidth, f64::min);
        let y_min = decade_below(lowest.max(top * 1e-9));
        let mut chart = Chart {
            title: self.title.clone(),
            x: Axis {
                title: "FLOP/byte".into(),
                scale: Scale::Log10,
                min: x_min,
                max: x_max,
                ticks: Vec::new(),
            },
            y: Axis {
                title: "FLOP/s".into(),
                scale: Scale::Log10,
                min: y_min,
                max: y_max,
                ticks: Vec::new(),
            },
            bars: Vec::new(),
            lines: self.roofs(x_min, x_max, y_min),
            points: Vec::new(),
            note: self.note(),
        };
        chart.points = self.drawn().map(|place| self.point(place)).collect();
        chart
    }

    /// The places that a logarithmic axis can show.
    fn drawn(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.intensity > 0.0)
    }

    fn intensity_range(&self) -> (f64, f64) {
        let low = self.drawn().map(|place| place.intensity).fold(VIEW.0, f64::min);
        let high = self.drawn().map(|place| place.intensity).fold(VIEW.1, f64::max);
        (decade_below(low), decade_above(high))
    }

    fn roofs(&self, x_min: f64, x_max: f64, y_min: f64) -> Vec<Line> {
        let mut lines = Vec::new();
        for (measured, bandwidth) in [(false, Some(self.bandwidth)), (true, self.measured_bandwidth)] {
            let Some(bandwidth) = bandwidth else { continue };
            let dash = if measured { Dash::Dashed } else { Dash::Solid };
            let ceilings: Vec<&Ceiling> = self
                .ceilings
                .iter()
                .filter(|ceiling| ceiling.measured == measured)
                .collect();
            let highest = ceilings.iter().map(|ceiling| ceiling.peak).fold(0.0, f64::max);
            let end = if highest > 0.0 {
                (highest / bandwidth).min(x_max)
            } else {
                x_max
            };
            let start = x_min.max(y_min / bandwidth);
            lines.push(Line {
                label: String::new(),
                points: vec![(start, start * bandwidth), (end, end * bandwidth)],
                tone: Tone::Muted,
                dash,
            });
            for ceiling in ceilings {
                let ridge = ceiling.peak / bandwidth;
                if ridge < x_max {
                    lines.push(Line {
                        label: ceiling.label.clone(),
                        points: vec![(ridge.max(x_min), ceiling.peak), (x_max, ceiling.peak)],
                        tone: Tone::Muted,
                        dash,
                    });
                }
            }
        }
        lines
    }

    /// The highest rate possible at an intensity.
    fn roof_at(&self, intensity: f64) -> f64 {
        let peak = self
            .ceilings
            .iter()
            .filter(|ceiling| !ceiling.measured)
            .map(|ceiling| ceiling.peak)
            .fold(0.0, f64::max);
        if peak > 0.0 {
            (intensity * self.bandwidth).min(peak)
        } else {
            intensity * self.bandwidth
        }
    }

    fn point(&self, place: &Place) -> Point {
        let (mark, tone) = match (place.rate, place.passed, place.selected) {
            (_, false, _) => (Mark::Cross, Tone::Bad),
            (Some(_), true, true) => (Mark::Diamond, Tone::Accent),
            (Some(_), true, false) => (Mark::Dot, Tone::Good),
            (None, true, true) => (Mark::HollowDiamond, Tone::Accent),
            (None, true, false) => (Mark::HollowDiamond, Tone::Muted),
        };
        Point {
            x: place.intensity,
            y: place.rate.unwrap_or_else(|| self.roof_at(place.intensity)),
            mark,
            tone,
            label: place.selected.then(|| place.label.clone()),
            whisker: None,
        }
    }

    fn note(&self) -> Option<String> {
        let without_flops = self.places.len() - self.drawn().count();
        let untimed = self.drawn().filter(|place| place.rate.is_none()).count();
        let mut parts = Vec::new();
        if untimed > 0 {
            parts.push(format!(
                "\u{25c7} {untimed} not timed: drawn on the roof at their intensity"
            ));
        }
        if without_flops > 0 {
            parts.push(format!(
                "{without_flops} without floating-point work: no place on this axis"
            ));
        }
        (!parts.is_empty()).then(|| parts.join(" \u{b7} "))
    }
}

fn decade_below(value: f64) -> f64 {
    10_f64.powf(value.log10().floor())
}

fn decade_above(value: f64) -> f64 {
    10_f64.powf(value.log10().ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200(places: Vec<Place>) -> Roofline {
        Roofline {
            title: "rms_norm".into(),
            bandwidth: 4.8e12,
            measured_bandwidth: Some(4.28e12),
            ceilings: vec![
                Ceiling {
                    label: "bf16".into(),
                    peak: 989e12,
                    measured: false,
                },
                Ceiling {
                    label: "bf16 measured".into(),
                    peak: 785e12,
                    measured: true,
                },
            ],
            places,
        }
    }

    fn place(intensity: f64, rate: Option<f64>) -> Place {
        Place {
            label: "29".into(),
            intensity,
            rate,
            passed: true,
            selected: false,
        }
    }

    #[test]
    fn roofs_meet_at_the_ridge_point() {
        let chart = h200(vec![place(0.75, Some(3e12))]).chart();
        let slope = &chart.lines[0].points;
        let ceiling = &chart.lines[1].points;
        assert_eq!(slope[1], (989e12 / 4.8e12, 989e12));
        assert_eq!(ceiling[0], slope[1]);
        assert_eq!(chart.lines[2].dash, Dash::Dashed);
    }

    #[test]
    fn an_untimed_shape_is_marked_as_such_on_the_roof() {
        let chart = h200(vec![place(0.75, None)]).chart();
        assert_eq!(chart.points[0].mark, Mark::HollowDiamond);
        assert_eq!(chart.points[0].y, 0.75 * 4.8e12);
        assert!(chart.note.is_some_and(|note| note.contains("1 not timed")));
    }

    #[test]
    fn shapes_without_flops_are_counted_not_drawn() {
        let chart = h200(vec![place(0.0, Some(0.0)), place(1.0, Some(1e12))]).chart();
        assert_eq!(chart.points.len(), 1);
        assert!(
            chart
                .note
                .is_some_and(|note| note.contains("1 without floating-point work"))
        );
    }

    #[test]
    fn every_point_lies_within_the_axes() {
        for (intensity, rate) in [(1e-3, 1e6), (0.5, 2e12), (1e5, 9e14)] {
            let chart = h200(vec![place(intensity, Some(rate))]).chart();
            assert!(chart.x.min <= intensity && intensity <= chart.x.max);
            assert!(chart.y.min <= rate && rate <= chart.y.max, "{rate} in {:?}", chart.y);
        }
    }
}
