//! Statistics of timings: quantiles, an interval for the median, when to stop sampling, and how two kernels compare.

use serde::{Deserialize, Serialize};

/// Timing stops when the 95 % interval of the median is narrower than this share of the median, on either side (as nvbench's
/// `stdrel` criterion, which takes 0.5 % too, but of a standard deviation).
pub const TARGET_HALF_WIDTH: f64 = 0.005;
/// Fewer samples than this are never enough: nvbench's `min-samples` is 10; the interval of the median needs a few more to be narrow.
pub const MIN_SAMPLES: usize = 20;
/// Two kernels within this share of each other are the same: nvbench's compare script calls 0.5 % a tie.
pub const SAME_SHARE: f64 = 0.005;
/// Resamples of a bootstrap: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), 13.4, ask for 1000 or more for intervals.
const RESAMPLES: usize = 2000;
/// The quantile of the standard normal distribution for a two-sided 95 %.
const Z95: f64 = 1.959_963_984_540_054;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub lo: f64,
    pub value: f64,
    pub hi: f64,
}

/// The sorted finite numbers of a sample.
fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The smallest sample.
pub fn min(samples: &[f64]) -> Option<f64> {
    sorted(samples).first().copied()
}

/// The median: the mean of the two middle samples where their number is even.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// A quantile, `share` from 0 to 1, interpolated linearly between order statistics (Hyndman and Fan 1996, type 7).
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(samples), share)
}

fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (at.floor() as usize, at.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (at - at.floor()))
}

/// The median with a distribution-free 95 % interval from order statistics: the number of samples below the true median is
/// binomial with p = 1/2 (Conover, "Practical Nonparametric Statistics", 3.2).
///
/// Under 6 samples no interval reaches 95 %, and the whole range is given. `None` without samples.
pub fn median_interval(samples: &[f64]) -> Option<Interval> {
    let sorted = sorted(samples);
    let value = quantile_of_sorted(&sorted, 0.5)?;
    let skip = skipped(sorted.len());
    Some(Interval {
        lo: sorted[skip],
        value,
        hi: sorted[sorted.len() - 1 - skip],
    })
}

/// Order statistics to leave out at each end: the largest k with P(B <= k) <= 2.5 % for B binomial(n, 1/2).
fn skipped(count: usize) -> usize {
    /// From here on the normal approximation with continuity correction agrees to within one order statistic.
    const EXACT_UP_TO: usize = 1000;
    let n = count as f64;
    if count > EXACT_UP_TO {
        return ((n - 1.0) / 2.0 - Z95 * n.sqrt() / 2.0).floor().max(0.0) as usize;
    }
    // P(B = 0) = 2^-n; each next term by the ratio (n - k) / (k + 1).
    let (mut term, mut sum, mut k) = (0.5_f64.powi(count as i32), 0.0, 0);
    while k < count / 2 {
        sum += term;
        if sum > 0.025 {
            break;
        }
        term *= (n - k as f64) / (k as f64 + 1.0);
        k += 1;
    }
    // The terms 0..k fit, so the last one that does is k - 1.
    k.saturating_sub(1)
}

/// Whether enough samples have been taken: at least [`MIN_SAMPLES`], and both sides of the median's interval within
/// [`TARGET_HALF_WIDTH`] of it.
pub fn is_settled(samples: &[f64]) -> bool {
    if samples.len() < MIN_SAMPLES {
        return false;
    }
    median_interval(samples).is_some_and(|interval| {
        let reach = TARGET_HALF_WIDTH * interval.value;
        interval.hi - interval.value < reach && interval.value - interval.lo < reach
    })
}

/// How a candidate stands against a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Standing {
    Faster,
    Slower,
    Same,
    Unclear,
}

impl Standing {
    /// The word for the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "FASTER",
            Self::Slower => "SLOWER",
            Self::Same => "SAME",
            Self::Unclear => "UNCLEAR",
        }
    }
}

/// The outcome of comparing two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub standing: Standing,
    /// Time of the candidate over time of the baseline: below 1 is faster.
    pub ratio: Interval,
}

/// Compares times that were taken in turns (A B B A): `baseline[i]` and `candidate[i]` belong together.
///
/// The ratio is the ratio of medians; its interval a percentile bootstrap over pairs, so that drift which both saw cancels. FASTER
/// and SLOWER need the whole interval on one side of 1 and the ratio at least [`SAME_SHARE`] away from it; SAME needs the whole
/// interval within [`SAME_SHARE`]; everything else is UNCLEAR. `None` without pairs.
pub fn compare(baseline: &[f64], candidate: &[f64]) -> Option<Comparison> {
    let pairs: Vec<(f64, f64)> = baseline
        .iter()
        .copied()
        .zip(candidate.iter().copied())
        .filter(|(a, b)| a.is_finite() && b.is_finite() && *a > 0.0)
        .collect();
    let ratio_of = |pairs: &[(f64, f64)]| {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Some(median(&b)? / median(&a)?)
    };
    let value = ratio_of(&pairs)?;
    let mut random = 0;
    let mut resample = || {
        let drawn: Vec<(f64, f64)> = (0..pairs.len())
            .map(|_| {
                random += 1;
                pairs[draw(random, pairs.len())]
            })
            .collect();
        ratio_of(&drawn)
    };
    let ratios: Vec<f64> = (0..RESAMPLES).filter_map(|_| resample()).collect();
    let ratio = Interval {
        lo: quantile(&ratios, 0.025)?,
        value,
        hi: quantile(&ratios, 0.975)?,
    };
    Some(Comparison {
        standing: standing(&ratio, pairs.len()),
        ratio,
    })
}

/// Number `counter` of a fixed sequence, in 0..range: the same samples always give the same interval (`splitmix64`).
fn draw(counter: u64, range: usize) -> usize {
    let word = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let word = word ^ (word >> 31);
    ((u128::from(word) * range as u128) >> 64) as usize
}

fn standing(ratio: &Interval, pairs: usize) -> Standing {
    /// A bootstrap of fewer pairs says nothing.
    const MIN_PAIRS: usize = 6;
    if pairs < MIN_PAIRS {
        return Standing::Unclear;
    }
    if ratio.hi < 1.0 && ratio.value <= 1.0 - SAME_SHARE {
        return Standing::Faster;
    }
    if ratio.lo > 1.0 && ratio.value >= 1.0 + SAME_SHARE {
        return Standing::Slower;
    }
    if ratio.lo >= 1.0 - SAME_SHARE && ratio.hi <= 1.0 + SAME_SHARE {
        return Standing::Same;
    }
    Standing::Unclear
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times around `centre` with a spread of `noise` (a share), from a fixed sequence.
    fn times(centre: f64, noise: f64, count: usize, seed: u64) -> Vec<f64> {
        let unit = |index: usize| draw(seed * 1_000_003 + index as u64 + 1, 1 << 20) as f64 / f64::from(1 << 20);
        (0..count)
            .map(|index| centre * (1.0 + noise * (unit(index) - 0.5)))
            .collect()
    }

    #[test]
    fn quantiles_of_known_samples() {
        let samples = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!((min(&samples), median(&samples)), (Some(1.0), Some(3.0)));
        assert_eq!(quantile(&samples, 0.25), Some(2.0));
        assert_eq!(quantile(&samples, 0.1), Some(1.4));
        assert_eq!(median(&[1.0, 2.0]), Some(1.5));
        assert_eq!((median(&[]), median(&[f64::NAN])), (None, None));
    }

    #[test]
    fn the_interval_matches_the_published_table() {
        // Conover, table A3 and common tables of binomial limits: n = 10 leaves out 1 at each end, 20 leaves out 5, 50 leaves out 17.
        for (count, skip) in [(5, 0), (6, 0), (9, 1), (10, 1), (20, 5), (50, 17), (100, 39)] {
            assert_eq!(skipped(count), skip, "{count}");
        }
        let exact = skipped(1000);
        assert!(
            (((999.0 - Z95 * 1000_f64.sqrt()) / 2.0).floor() as usize).abs_diff(exact) <= 1,
            "{exact}"
        );
        let samples: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = median_interval(&samples).unwrap();
        assert_eq!((interval.lo, interval.value, interval.hi), (2.0, 5.5, 9.0));
    }

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        let covered = (0..2000).filter(|seed| {
            let interval = median_interval(&times(1.0, 0.5, 25, *seed)).unwrap();
            (interval.lo..=interval.hi).contains(&1.0)
        });
        let share = covered.count() as f64 / 2000.0;
        assert!((0.945..0.985).contains(&share), "{share}");
    }

    #[test]
    fn sampling_stops_when_it_is_narrow() {
        assert!(!is_settled(&[10.0; MIN_SAMPLES - 1]));
        assert!(is_settled(&[10.0; MIN_SAMPLES]));
        assert!(!is_settled(&times(10.0, 0.2, 30, 1)));
        assert!(is_settled(&times(10.0, 0.2, 5000, 1)));
    }

    #[test]
    fn standings_of_clear_cases() {
        let base = times(100.0, 0.02, 60, 1);
        let of = |centre, noise| compare(&base, &times(centre, noise, 60, 2)).unwrap();
        assert_eq!(of(80.0, 0.02).standing, Standing::Faster);
        assert_eq!(of(120.0, 0.02).standing, Standing::Slower);
        assert_eq!(of(100.0, 0.002).standing, Standing::Same);
        assert_eq!(of(99.0, 0.6).standing, Standing::Unclear);
        let ratio = of(80.0, 0.02).ratio;
        assert!(
            ratio.lo <= 0.8 && ratio.hi >= 0.8 && ratio.hi - ratio.lo < 0.02,
            "{ratio:?}"
        );
    }

    #[test]
    fn a_real_difference_under_the_threshold_is_not_a_win() {
        let base = times(100.0, 0.001, 400, 1);
        let candidate: Vec<f64> = base.iter().map(|time| time * 0.998).collect();
        assert_eq!(compare(&base, &candidate).unwrap().standing, Standing::Same);
    }

    #[test]
    fn drift_that_both_see_cancels() {
        let drift = |index: usize| 1.0 + index as f64 / 100.0;
        let a: Vec<f64> = times(100.0, 0.002, 60, 3)
            .iter()
            .enumerate()
            .map(|(index, time)| time * drift(index))
            .collect();
        let b: Vec<f64> = times(95.0, 0.002, 60, 4)
            .iter()
            .enumerate()
            .map(|(index, time)| time * drift(index))
            .collect();
        assert_eq!(compare(&a, &b).unwrap().standing, Standing::Faster);
    }

    #[test]
    fn the_same_samples_give_the_same_interval() {
        let (a, b) = (times(100.0, 0.1, 30, 5), times(101.0, 0.1, 30, 6));
        assert_eq!(compare(&a, &b), compare(&a, &b));
        assert!(compare(&[], &b).is_none());
        assert_eq!(compare(&a[..3], &b[..3]).unwrap().standing, Standing::Unclear);
    }
}
