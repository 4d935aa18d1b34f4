//! An axis on cells: where values are, and which of its ticks can be labelled without touching each other.

use unicode_width::UnicodeWidthStr;

use crate::plot::{Axis as Described, Scale};

/// An axis over a number of cells.
pub(super) struct Axis<'a> {
    axis: &'a Described,
    cells: u16,
}

/// A tick at a cell from the axis's beginning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) at: u16,
    pub(super) label: String,
}

/// Cells between two labels side by side.
const GAP: u16 = 2;
/// No more ticks than this are ever considered.
const MAX_TICKS: usize = 400;

impl<'a> Axis<'a> {
    pub(super) fn new(axis: &'a Described, cells: u16) -> Self {
        Self { axis, cells }
    }

    fn scaled(&self, value: f64) -> f64 {
        match self.axis.scale {
            Scale::Linear => value,
            Scale::Log10 => value.max(f64::MIN_POSITIVE).log10(),
        }
    }

    /// Where a value is, 0 at the axis's beginning and 1 at its end; outside of them for values outside.
    pub(super) fn position(&self, value: f64) -> f64 {
        let (min, max) = (self.scaled(self.axis.min), self.scaled(self.axis.max));
        let span = max - min;
        if span > 0.0 && span.is_finite() {
            (self.scaled(value) - min) / span
        } else {
            0.5
        }
    }

    /// As [`Self::position`], for values on the axis.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        let position = self.position(value);
        (-1e-9..=1.0 + 1e-9)
            .contains(&position)
            .then(|| position.clamp(0.0, 1.0))
    }

    /// The cell of a value, counted from the beginning.
    pub(super) fn cell(&self, value: f64) -> Option<u16> {
        let share = self.share(value)?;
        Some(((share * f64::from(self.cells)) as u16).min(self.cells.saturating_sub(1)))
    }

    /// The cell of a value, counted from the top.
    pub(super) fn cell_down(&self, value: f64) -> Option<u16> {
        let share = 1.0 - self.share(value)?;
        Some(((share * f64::from(self.cells)) as u16).min(self.cells.saturating_sub(1)))
    }

    /// Ticks of a vertical axis, at rows from the top, each label on a row of its own with air between.
    pub(super) fn ticks_down(&self) -> Vec<Placed> {
        let least = 2;
        self.thinned(|values| {
            let mut rows: Vec<u16> = values.iter().filter_map(|(value, _)| self.cell_down(*value)).collect();
            rows.sort_unstable();
            rows.windows(2).all(|pair| pair[1] - pair[0] >= least)
        })
        .into_iter()
        .filter_map(|(value, label)| {
            Some(Placed {
                at: self.cell_down(value)?,
                label,
            })
        })
        .collect()
    }

    /// Ticks of a horizontal axis with the columns where their labels begin. `left` is the screen column of the first cell,
    /// `room` the columns that labels may take.
    pub(super) fn ticks_across(&self, left: u16, room: (u16, u16)) -> Vec<(Placed, u16)> {
        let begin = |at: u16, label: &str| {
            let width = label.width() as u16;
            let wanted = (left + at).saturating_sub(width / 2);
            wanted.min(room.1.saturating_sub(width)).max(room.0)
        };
        self.thinned(|values| {
            let mut next_free = 0;
            values.iter().all(|(value, label)| {
                let Some(at) = self.cell(*value) else { return true };
                let start = begin(at, label);
                let fits = start >= next_free && start + label.width() as u16 <= room.1;
                next_free = start + label.width() as u16 + GAP;
                fits
            })
        })
        .into_iter()
        .filter_map(|(value, label)| {
            let at = self.cell(value)?;
            let start = begin(at, &label);
            Some((Placed { at, label }, start))
        })
        .collect()
    }

    /// The densest set of ticks that `fits`.
    fn thinned(&self, fits: impl Fn(&[(f64, String)]) -> bool) -> Vec<(f64, String)> {
        if !self.axis.ticks.is_empty() {
            let given: Vec<_> = self
                .axis
                .ticks
                .iter()
                .filter(|(value, _)| self.share(*value).is_some())
                .cloned()
                .collect();
            return every_nth(&given, fits);
        }
        match self.axis.scale {
            Scale::Log10 => every_nth(&self.decades(), fits),
            Scale::Linear => self.round_steps().find(|ticks| fits(ticks)).unwrap_or_default(),
        }
    }

    fn decades(&self) -> Vec<(f64, String)> {
        let first = self.scaled(self.axis.min).ceil() as i32;
        let last = self.scaled(self.axis.max).floor() as i32;
        (first..=last)
            .take(MAX_TICKS)
            .map(|exponent| (10_f64.powi(exponent), decade(exponent)))
            .collect()
    }

    /// Sets of ticks at round steps, finest first.
    fn round_steps(&self) -> impl Iterator<Item = Vec<(f64, String)>> + '_ {
        let (min, max) = (self.axis.min, self.axis.max);
        let span = (max - min).max(f64::MIN_POSITIVE);
        // Finer than a twelfth of the span is noise to the eye.
        let finest = (span / 12.0).log10().floor() as i32;
        (finest..finest + 3)
            .flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| (digit, exponent)))
            .filter_map(move |(digit, exponent)| {
                let step = digit * 10_f64.powi(exponent);
                if span / step > 12.5 {
                    return None;
                }
                let decimals = usize::try_from(-exponent).unwrap_or(0);
                let first = (min / step - 1e-9).ceil() as i64;
                let last = (max / step + 1e-9).floor() as i64;
                let ticks = (first..=last).take(MAX_TICKS).map(|count| {
                    let value = count as f64 * step;
                    (value, format!("{value:.decimals$}"))
                });
                Some(ticks.collect())
            })
    }
}

/// Every n-th tick, with the smallest n that fits.
fn every_nth(ticks: &[(f64, String)], fits: impl Fn(&[(f64, String)]) -> bool) -> Vec<(f64, String)> {
    (1..=ticks.len())
        .map(|nth| ticks.iter().step_by(nth).cloned().collect::<Vec<_>>())
        .find(|candidate| fits(candidate))
        .unwrap_or_default()
}

/// A power of ten with SI's prefixes: `0.01`, `100`, `10k`, `1T`.
fn decade(exponent: i32) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    match usize::try_from(exponent) {
        Err(_) => format!("{:.*}", exponent.unsigned_abs() as usize, 10_f64.powi(exponent)),
        Ok(exponent) if exponent / 3 < PREFIXES.len() => {
            format!("{}{}", 10_u32.pow((exponent % 3) as u32), PREFIXES[exponent / 3])
        }
        Ok(exponent) => format!("1e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(scale: Scale, min: f64, max: f64) -> Described {
        Described {
            title: String::new(),
            scale,
            min,
            max,
            ticks: Vec::new(),
        }
    }

    #[test]
    fn powers_of_ten_read_well() {
        assert_eq!(
            [-2, -1, 0, 2, 3, 4, 9, 12].map(decade).join(" "),
            "0.01 0.1 1 100 1k 10k 1G 1T"
        );
    }

    #[test]
    fn labels_never_touch() {
        for (scale, min, max) in [
            (Scale::Log10, 0.1, 1e4),
            (Scale::Log10, 1e-3, 1e15),
            (Scale::Linear, 0.0, 3.4),
            (Scale::Linear, 30.02, 30.9),
            (Scale::Linear, 0.5, 240.5),
        ] {
            let described = described(scale, min, max);
            for cells in [3_u16, 8, 20, 45, 160] {
                let axis = Axis::new(&described, cells);
                let across = axis.ticks_across(5, (0, 5 + cells));
                for pair in across.windows(2) {
                    let end = pair[0].1 + pair[0].0.label.width() as u16;
                    assert!(end + GAP <= pair[1].1, "{cells}: {across:?}");
                }
                assert!(
                    across
                        .iter()
                        .all(|(tick, start)| start + tick.label.width() as u16 <= 5 + cells)
                );
                let mut rows: Vec<u16> = axis.ticks_down().iter().map(|tick| tick.at).collect();
                rows.sort_unstable();
                assert!(rows.windows(2).all(|pair| pair[1] > pair[0] + 1), "{cells}: {rows:?}");
            }
        }
    }

    #[test]
    fn an_empty_range_is_no_trouble() {
        let described = described(Scale::Linear, 2.0, 2.0);
        let axis = Axis::new(&described, 10);
        assert_eq!(axis.cell(2.0), Some(5));
        let _ = axis.ticks_across(0, (0, 10));
    }
}
