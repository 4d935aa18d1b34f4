//! The comparison of an output with the reference's: per-element rules and fixed-order partial sums.
//!
//! The order of every sum is part of the definition (chunks of [`CHUNK`] elements, [`LANES`] strided lanes, a binary tree), so that
//! a CUDA device and the host give the same bits.

use super::element::{at, distance, threads};
use super::{CompareSpec, DType};
use crate::problem::Contract;

/// Elements of one partial result: one CTA of the judge kernel.
pub const CHUNK: u64 = 1 << 14;
/// Strided lanes of a chunk: threads of that CTA.
pub const LANES: usize = 256;
/// Cells of the mismatch map, at most.
pub const MAP_ROWS: u64 = 12;
pub const MAP_COLS: u64 = 24;
/// Mismatches are also counted by row and by column modulo this.
pub const PERIOD: u64 = 128;
/// Counters after the map: columns, then rows, modulo [`PERIOD`].
pub const COUNTS: usize = (MAP_ROWS * MAP_COLS + 2 * PERIOD) as usize;

/// The element rule of a contract, as numbers: what the judge kernel takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// 0 close, 1 exact, 2 codes
    pub code: u32,
    pub atol: f64,
    pub rtol: f64,
    pub cap: f64,
    pub max_distance: u64,
}

impl Rule {
    pub fn new(contract: &Contract) -> Self {
        let none = Self {
            code: 1,
            atol: 0.0,
            rtol: 0.0,
            cap: 0.0,
            max_distance: 0,
        };
        match contract {
            Contract::Close { atol, rtol, cap, .. } => Self {
                code: 0,
                atol: *atol,
                rtol: *rtol,
                cap: *cap,
                ..none
            },
            Contract::Exact => none,
            Contract::Codes { max_distance, .. } => Self {
                code: 2,
                max_distance: u64::from(*max_distance),
                ..none
            },
        }
    }
}

/// An output seen as rows of its innermost dimension, and how it folds into the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub elements: u64,
    pub rows: u64,
    pub cols: u64,
    pub map_rows: u64,
    pub map_cols: u64,
}

impl Layout {
    pub fn new(dims: &[u64]) -> Self {
        let elements: u64 = dims.iter().product();
        let cols = dims.last().copied().unwrap_or(1).max(1);
        let rows = elements / cols;
        Self {
            elements,
            rows,
            cols,
            map_rows: rows.min(MAP_ROWS),
            map_cols: cols.min(MAP_COLS),
        }
    }

    pub const fn chunks(&self) -> u64 {
        self.elements.div_ceil(CHUNK)
    }

    /// Elements of one cell of the map. Row r belongs to cell row `r * map_rows / rows`.
    pub(super) fn cell_elements(&self, row: u64, col: u64) -> u64 {
        let share =
            |cell: u64, cells: u64, size: u64| ((cell + 1) * size).div_ceil(cells) - (cell * size).div_ceil(cells);
        share(row, self.map_rows, self.rows) * share(col, self.map_cols, self.cols)
    }
}

/// What a part of the comparison found. The layout in memory is the one of `struct Part` in `judge.cu`.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Part {
    pub mismatches: u64,
    /// Elements beyond what a contract allows to any element.
    pub over: u64,
    /// Elements whose value differs at all.
    pub different: u64,
    pub nan: u64,
    pub inf: u64,
    pub unwritten: u64,
    /// Mismatches where the output holds 0.
    pub zeros: u64,
    pub max_ulp: u64,
    /// Of mismatches; all ones where there is none.
    pub first: u64,
    pub last: u64,
    pub worst: u64,
    pub col_min: u64,
    pub col_max: u64,
    /// Mismatches with finite values and an expected value other than 0: those that `ratio_*` covers.
    pub ratios: u64,
    pub max_abs: f64,
    pub max_rel: f64,
    pub sum_diff: f64,
    pub sum_want: f64,
    /// How bad the worst element is; below 0 where all are equal.
    pub rank: f64,
    pub ratio_lo: f64,
    pub ratio_hi: f64,
    pub diff_lo: f64,
    pub diff_hi: f64,
}

/// No such index.
pub const NONE: u64 = u64::MAX;

impl Part {
    pub const EMPTY: Self = Self {
        mismatches: 0,
        over: 0,
        different: 0,
        nan: 0,
        inf: 0,
        unwritten: 0,
        zeros: 0,
        max_ulp: 0,
        first: NONE,
        last: 0,
        worst: NONE,
        col_min: NONE,
        col_max: 0,
        ratios: 0,
        max_abs: 0.0,
        max_rel: 0.0,
        sum_diff: 0.0,
        sum_want: 0.0,
        rank: -1.0,
        ratio_lo: f64::INFINITY,
        ratio_hi: f64::NEG_INFINITY,
        diff_lo: f64::INFINITY,
        diff_hi: f64::NEG_INFINITY,
    };

    /// `self` then `other`: sums in this order, everything else without order.
    fn merge(&mut self, other: &Self) {
        self.mismatches += other.mismatches;
        self.over += other.over;
        self.different += other.different;
        self.nan += other.nan;
        self.inf += other.inf;
        self.unwritten += other.unwritten;
        self.zeros += other.zeros;
        self.max_ulp = self.max_ulp.max(other.max_ulp);
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.col_min = self.col_min.min(other.col_min);
        self.col_max = self.col_max.max(other.col_max);
        self.ratios += other.ratios;
        raise(&mut self.max_abs, other.max_abs);
        raise(&mut self.max_rel, other.max_rel);
        self.sum_diff += other.sum_diff;
        self.sum_want += other.sum_want;
        self.offer(other.rank, other.worst);
        lower(&mut self.ratio_lo, other.ratio_lo);
        raise(&mut self.ratio_hi, other.ratio_hi);
        lower(&mut self.diff_lo, other.diff_lo);
        raise(&mut self.diff_hi, other.diff_hi);
    }

    /// The worst element is the one of the highest rank, and the first of those.
    fn offer(&mut self, rank: f64, index: u64) {
        if rank > self.rank || (rank == self.rank && index < self.worst) {
            self.rank = rank;
            self.worst = index;
        }
    }
}

fn raise(max: &mut f64, value: f64) {
    if value > *max {
        *max = value;
    }
}

fn lower(min: &mut f64, value: f64) {
    if value < *min {
        *min = value;
    }
}

/// Everything that one comparison needs to look at an element.
struct Judge<'a> {
    dtype: DType,
    rule: Rule,
    poison: u64,
    layout: Layout,
    got: &'a [u8],
    want: &'a [u8],
}

impl Judge<'_> {
    fn element(&self, index: u64, part: &mut Part, counts: &mut [u64; COUNTS]) {
        let dtype = self.dtype;
        let (got_bits, want_bits) = (
            at(dtype, self.got, index as usize),
            at(dtype, self.want, index as usize),
        );
        let (got, want) = (dtype.decode(got_bits), dtype.decode(want_bits));
        let (finite, want_nan) = (got.is_finite() && want.is_finite(), want.is_nan());
        part.nan += u64::from(got.is_nan());
        part.inf += u64::from(got.is_infinite());
        if finite {
            part.sum_want += want * want;
        }
        if got_bits == want_bits || (got.is_nan() && want_nan) {
            return;
        }
        part.unwritten += u64::from(got_bits == self.poison);
        let steps = distance(dtype, got_bits, want_bits);
        if steps == 0 && self.rule.code != 1 {
            return;
        }
        part.different += 1;
        part.max_ulp = part.max_ulp.max(steps);
        let diff = if finite { got - want } else { f64::INFINITY };
        let size = diff.abs();
        raise(&mut part.max_abs, size);
        if want != 0.0 && !want_nan {
            raise(
                &mut part.max_rel,
                if finite { size / want.abs() } else { f64::INFINITY },
            );
        }
        if finite {
            part.sum_diff += diff * diff;
        }
        let (mismatch, over, rank) = self.judge(size, want, steps);
        part.offer(rank, index);
        if mismatch {
            part.mismatches += 1;
            part.over += u64::from(over);
            self.count(index, part, counts);
            describe(part, got, want, finite);
        }
    }

    /// Whether an element is outside the tolerance, beyond any allowance, and how bad it is.
    fn judge(&self, size: f64, want: f64, steps: u64) -> (bool, bool, f64) {
        match self.rule.code {
            0 => {
                let tolerance = self.rule.atol + self.rule.rtol * want.abs();
                let mismatch = size > tolerance || size == f64::INFINITY;
                let over = size > tolerance * self.rule.cap || size == f64::INFINITY;
                let rank = if size == f64::INFINITY { size } else { size / tolerance };
                (mismatch, over, rank)
            }
            1 => (true, true, steps as f64),
            _ => (true, steps > self.rule.max_distance, steps as f64),
        }
    }

    fn count(&self, index: u64, part: &mut Part, counts: &mut [u64; COUNTS]) {
        let Layout {
            rows,
            cols,
            map_rows,
            map_cols,
            ..
        } = self.layout;
        let (row, col) = (index / cols, index % cols);
        part.first = part.first.min(index);
        part.last = part.last.max(index);
        part.col_min = part.col_min.min(col);
        part.col_max = part.col_max.max(col);
        let cell = (row * map_rows / rows) * MAP_COLS + col * map_cols / cols;
        counts[cell as usize] += 1;
        counts[(MAP_ROWS * MAP_COLS + col % PERIOD) as usize] += 1;
        counts[(MAP_ROWS * MAP_COLS + PERIOD + row % PERIOD) as usize] += 1;
    }

    fn chunk(&self, chunk: u64, counts: &mut [u64; COUNTS]) -> Part {
        let first = chunk * CHUNK;
        let end = (first + CHUNK).min(self.layout.elements);
        let mut lanes = vec![Part::EMPTY; LANES];
        for (lane, part) in lanes.iter_mut().enumerate() {
            for index in (first + lane as u64..end).step_by(LANES) {
                self.element(index, part, counts);
            }
        }
        let mut stride = LANES / 2;
        while stride > 0 {
            let (low, high) = lanes.split_at_mut(stride);
            for (part, other) in low.iter_mut().zip(high) {
                part.merge(other);
            }
            stride /= 2;
        }
        lanes[0]
    }
}

/// What the mismatch has in common with its neighbours: zero, a factor, an offset.
fn describe(part: &mut Part, got: f64, want: f64, finite: bool) {
    part.zeros += u64::from(got == 0.0);
    if finite {
        lower(&mut part.diff_lo, got - want);
        raise(&mut part.diff_hi, got - want);
        if want != 0.0 {
            part.ratios += 1;
            lower(&mut part.ratio_lo, got / want);
            raise(&mut part.ratio_hi, got / want);
        }
    }
}

/// The result of a whole comparison before it is put in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    pub part: Part,
    pub counts: Vec<u64>,
}

/// Sums the chunks up, in order.
pub fn total(parts: &[Part]) -> Part {
    parts.iter().fold(Part::EMPTY, |mut sum, part| {
        sum.merge(part);
        sum
    })
}

/// Compares two tensors in host memory, on all cores. Both hold `spec.dims` elements.
pub fn totals(got: &[u8], want: &[u8], spec: &CompareSpec) -> Totals {
    let layout = Layout::new(&spec.dims);
    let judge = Judge {
        dtype: spec.dtype,
        rule: Rule::new(&spec.contract),
        poison: spec.poison,
        layout,
        got,
        want,
    };
    let chunks = layout.chunks();
    let share = chunks.div_ceil(threads() as u64).max(1);
    let work = |first: u64| {
        let mut counts = [0_u64; COUNTS];
        let parts: Vec<Part> = (first..(first + share).min(chunks))
            .map(|chunk| judge.chunk(chunk, &mut counts))
            .collect();
        (parts, counts)
    };
    let results: Vec<(Vec<Part>, [u64; COUNTS])> = std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (share..chunks)
            .step_by(share as usize)
            .map(|first| scope.spawn(move || work(first)))
            .collect();
        let own = work(0);
        let others = others
            .into_iter()
            .map(|thread| thread.join().expect("the comparison does not panic"));
        std::iter::once(own).chain(others).collect()
    });
    let parts: Vec<Part> = results.iter().flat_map(|(parts, _)| parts.iter().copied()).collect();
    let mut counts = vec![0_u64; COUNTS];
    for (_, part) in &results {
        for (sum, count) in counts.iter_mut().zip(part) {
            *sum += count;
        }
    }
    Totals {
        part: total(&parts),
        counts,
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
