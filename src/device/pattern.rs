//! Names for the ways in which an output is wrong: where the mismatches are, and what the wrong values have in common.

use super::CompareSpec;
use super::compare::{Layout, MAP_COLS, MAP_ROWS, PERIOD, Totals};
use super::element::{distance, mix, scale};
use crate::verdict::Outcome;

/// Reads the bits of single elements: of the output at the first indices, of the reference at the second.
pub type Sampler<'a> = dyn FnMut(&[u64], &[u64]) -> Outcome<(Vec<u64>, Vec<u64>)> + 'a;

/// Where the value of an element may have come from.
type Source<'a> = &'a dyn Fn(u64) -> u64;

/// What a pattern is recognised from.
pub struct Facts<'a> {
    pub totals: &'a Totals,
    pub layout: Layout,
    pub spec: &'a CompareSpec,
}

/// Fewer mismatches than this are not a pattern of values.
const FEW: u64 = 4;
/// From this share on, a region counts as wrong throughout: some wrong values are right by chance.
const DENSE: f64 = 0.5;
/// The same for every period of a repeated block: half would call every 32nd column "every 16th".
const DENSE_PERIODS: f64 = 0.6;
/// From this share on, "all elements".
const ALL: f64 = 0.98;
/// Ratios of one constant factor differ by rounding only: 2^-6 covers bf16 with two roundings, fp8 is left out.
const SAME_RATIO: f64 = 1.0 / 64.0;
/// Elements looked at for a rearrangement.
const SAMPLES: u64 = 512;
/// The share of samples that a rearrangement must explain.
const EXPLAINED: f64 = 0.95;

/// The pattern in words, where one is recognised.
///
/// # Errors
/// As the sampler's.
pub fn name(facts: &Facts<'_>, sampler: &mut Sampler<'_>) -> Outcome<Option<String>> {
    let place = facts.place();
    let value = match facts.value() {
        Some(value) => Some(value),
        None => facts.rearranged(sampler)?,
    };
    Ok(match (place, value) {
        (Some(place), Some(value)) => Some(format!("{place}, {value}")),
        (place, value) => place.or(value),
    })
}

impl Facts<'_> {
    fn mismatches(&self) -> u64 {
        self.totals.part.mismatches
    }

    /// What the wrong values have in common.
    fn value(&self) -> Option<String> {
        let part = &self.totals.part;
        if part.unwritten == part.mismatches {
            return Some("never written".to_owned());
        }
        if part.zeros == part.mismatches {
            return Some("0 instead of a value".to_owned());
        }
        if part.nan == part.mismatches {
            return Some("NaN instead of a value".to_owned());
        }
        if part.mismatches < FEW {
            return None;
        }
        let middle = f64::midpoint(part.ratio_lo, part.ratio_hi);
        let steady = part.ratio_hi - part.ratio_lo <= SAME_RATIO * middle.abs();
        if part.ratios == part.mismatches && steady && middle.is_finite() {
            return Some(format!("constant factor {}", short(middle)));
        }
        let offset = f64::midpoint(part.diff_lo, part.diff_hi);
        if part.diff_hi - part.diff_lo <= SAME_RATIO * offset.abs() && offset.is_finite() {
            return Some(format!("constant offset {}", short(offset)));
        }
        (part.unwritten * 2 > part.mismatches).then(|| format!("{} of them never written", part.unwritten))
    }

    /// Whether the values are right but in other places.
    fn rearranged(&self, sampler: &mut Sampler<'_>) -> Outcome<Option<String>> {
        let (elements, cols) = (self.layout.elements, self.layout.cols);
        if self.mismatches() < FEW || (self.mismatches() as f64) < DENSE * elements as f64 {
            return Ok(None);
        }
        let matrix_rows = match self.spec.dims.as_slice() {
            [.., rows, _] => *rows,
            _ => 1,
        };
        let matrix = (matrix_rows * cols).max(1);
        let transposed = move |index: u64| {
            let (base, at) = (index / matrix * matrix, index % matrix);
            base + (at % matrix_rows) * cols + at / matrix_rows
        };
        let reversed = move |index: u64| index / cols * cols + (cols - 1 - index % cols);
        let candidates: [(&str, bool, Source<'_>); 4] = [
            ("transposed", matrix_rows > 1 && cols > 1, &transposed),
            ("the value of the element before", true, &|index| {
                index.saturating_sub(1)
            }),
            ("the value of the element after", true, &|index| {
                (index + 1).min(elements - 1)
            }),
            ("each row reversed", cols > 2, &reversed),
        ];
        for (words, possible, source) in candidates {
            if possible && self.explains(sampler, source)? {
                return Ok(Some(words.to_owned()));
            }
        }
        Ok(None)
    }

    /// Whether `got[i]` is `want[source(i)]` for nearly all samples, and for clearly more of them than `want[i]` is.
    fn explains(&self, sampler: &mut Sampler<'_>, source: Source<'_>) -> Outcome<bool> {
        /// Codes that a rounding difference may be away.
        const NEAR: u64 = 2;
        let count = SAMPLES.min(self.layout.elements);
        let at: Vec<u64> = (0..count)
            .map(|sample| scale(mix(sample + 1), self.layout.elements))
            .collect();
        let from: Vec<u64> = at.iter().map(|index| source(*index)).collect();
        let (got, moved) = sampler(&at, &from)?;
        let (_, straight) = sampler(&at, &at)?;
        let dtype = self.spec.dtype;
        let near = |want: &[u64]| {
            got.iter()
                .zip(want)
                .filter(|(a, b)| distance(dtype, **a, **b) <= NEAR)
                .count()
        };
        let (moved, straight) = (near(&moved) as f64, near(&straight) as f64);
        Ok(moved >= EXPLAINED * count as f64 && straight < DENSE * count as f64)
    }

    /// Where the mismatches are.
    fn place(&self) -> Option<String> {
        let share = self.mismatches() as f64 / self.layout.elements as f64;
        if self.mismatches() == 1 {
            return Some("a single element".to_owned());
        }
        if share >= ALL {
            return Some("all elements".to_owned());
        }
        self.rows()
            .or_else(|| self.cols())
            .or_else(|| self.periodic_cols())
            .or_else(|| self.periodic_rows())
    }

    fn rows(&self) -> Option<String> {
        let Layout { rows, cols, .. } = self.layout;
        let (first, last) = (self.totals.part.first / cols, self.totals.part.last / cols);
        band("row", first, last, rows, self.mismatches() as f64 / cols as f64)
    }

    fn cols(&self) -> Option<String> {
        let part = &self.totals.part;
        let depth = self.mismatches() as f64 / self.layout.rows as f64;
        band("column", part.col_min, part.col_max, self.layout.cols, depth)
    }

    fn periodic_cols(&self) -> Option<String> {
        let start = (MAP_ROWS * MAP_COLS) as usize;
        let bins = &self.totals.counts[start..][..PERIOD as usize];
        periodic("column", bins, self.layout.cols, self.layout.elements)
    }

    fn periodic_rows(&self) -> Option<String> {
        let start = (MAP_ROWS * MAP_COLS + PERIOD) as usize;
        let bins = &self.totals.counts[start..][..PERIOD as usize];
        periodic("row", bins, self.layout.rows, self.layout.elements)
    }
}

/// Mismatches only in some consecutive rows (or columns), and most of those wrong. `depth`: mismatches in units of whole rows.
fn band(what: &str, first: u64, last: u64, size: u64, depth: f64) -> Option<String> {
    /// The smallest tile that a kernel is likely to use, and the largest.
    const TILES: std::ops::RangeInclusive<u64> = 8..=1024;
    let width = last - first + 1;
    if width == size || depth < DENSE * width as f64 {
        return None;
    }
    if width == 1 {
        return Some(format!("only {what} {first}"));
    }
    if last + 1 == size {
        let tile = 1_u64 << first.trailing_zeros().min(10);
        let tail = TILES.contains(&tile) && width < tile;
        let partial = if tail { ": the last partial tile" } else { "" };
        return Some(format!("only {what}s >= {first}{partial}"));
    }
    if first == 0 {
        return Some(format!("only {what}s < {width}"));
    }
    Some(format!("only {what}s {first} to {last}"))
}

/// Mismatches in one block of indices out of every power-of-two period.
fn periodic(what: &str, bins: &[u64], size: u64, elements: u64) -> Option<String> {
    let total: u64 = bins.iter().sum();
    let mut period = 2;
    while period <= PERIOD && period * 2 <= size.max(1) {
        let folded: Vec<u64> = (0..period as usize)
            .map(|at| bins.iter().skip(at).step_by(period as usize).sum())
            .collect();
        let wrong: Vec<usize> = (0..folded.len()).filter(|at| folded[*at] > 0).collect();
        let (first, last) = (*wrong.first()?, *wrong.last()?);
        let width = (last - first + 1) as u64;
        let covered = width as f64 / period as f64 * elements as f64;
        // A block that starts within a period must also be a whole part of it, so that chance neighbours do not count.
        if width * 2 <= period && wrong.len() as u64 == width && total as f64 >= DENSE_PERIODS * covered {
            return Some(block(what, first as u64, width, period));
        }
        period *= 2;
    }
    None
}

fn block(what: &str, first: u64, width: u64, period: u64) -> String {
    if width == 1 {
        return format!("every {} {what} ({what} % {period} == {first})", ordinal(period));
    }
    if period.is_multiple_of(width) {
        let whole = period / width;
        return format!(
            "one {what} block in {whole} ({what} % {period} in {first}..{})",
            first + width
        );
    }
    format!("{what}s with {what} % {period} in {first}..{}", first + width)
}

fn ordinal(number: u64) -> String {
    let suffix = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// A number with the digits that matter.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    if value.abs() >= 1e-3 && value.abs() < 1e6 {
        trimmed.to_owned()
    } else {
        format!("{value:.3e}")
    }
}
