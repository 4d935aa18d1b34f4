//! Median and its interval (to be replaced by `stats`).

pub(super) struct Summary {
    pub median: f64,
    pub min: f64,
    pub ci95: [f64; 2],
}

pub(super) fn summarize(samples: &[f64]) -> Option<Summary> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = *sorted.get(n / 2)?;
    let half = 1.96 * (n as f64).sqrt() / 2.0;
    let low = ((n as f64 / 2.0 - half).floor().max(0.0)) as usize;
    let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n - 1);
    Some(Summary {
        median,
        min: sorted[0],
        ci95: [sorted[low], sorted[high]],
    })
}

pub(super) fn settled(samples: &[f64]) -> bool {
    samples.len() >= 20
        && summarize(samples).is_some_and(|summary| summary.ci95[1] - summary.ci95[0] < 0.005 * summary.median)
}

/// Ratio of the medians of a to b with its interval, from paired turns.
pub(super) fn paired_ratio(a: &[f64], b: &[f64]) -> Option<(f64, [f64; 2])> {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
    summarize(&ratios).map(|summary| (summary.median, summary.ci95))
}
