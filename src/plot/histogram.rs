//! The histogram of a run's samples.

use super::{Axis, Bar, Chart, Dash, Line, Scale, Tone};

/// No more bars than this: terminal charts are narrow.
const MAX_BINS: usize = 40;

/// Samples in microseconds, with the median marked.
pub fn histogram(title: &str, samples_us: &[f64], median_us: f64) -> Chart {
    let mut sorted: Vec<f64> = samples_us.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = match (sorted.first(), sorted.last()) {
        (Some(low), Some(high)) if high > low => (*low, *high),
        (Some(only), _) => (only * 0.99, only * 1.01),
        _ => (0.0, 1.0),
    };
    let bins = bin_count(&sorted, low, high);
    let width = (high - low) / bins as f64;
    let mut counts = vec![0_u32; bins];
    for sample in &sorted {
        let bin = (((sample - low) / width) as usize).min(bins - 1);
        counts[bin] += 1;
    }
    let tallest = counts.iter().copied().max().unwrap_or(0).max(1);
    let bars = counts
        .iter()
        .enumerate()
        .map(|(index, count)| Bar {
            from: low + width * index as f64,
            to: low + width * (index + 1) as f64,
            height: f64::from(*count),
            tone: Tone::Accent,
        })
        .collect();
    let top = f64::from(tallest);
    Chart {
        title: title.to_owned(),
        x: Axis {
            title: "\u{b5}s".into(),
            scale: Scale::Linear,
            min: low,
            max: high,
            ticks: Vec::new(),
        },
        y: Axis {
            title: "samples".into(),
            scale: Scale::Linear,
            min: 0.0,
            max: top,
            ticks: Vec::new(),
        },
        bars,
        lines: vec![Line {
            label: "median".into(),
            points: vec![(median_us, 0.0), (median_us, top)],
            tone: Tone::Text,
            dash: Dash::Dashed,
        }],
        points: Vec::new(),
        note: None,
    }
}

/// The Freedman-Diaconis rule: bin width 2 IQR / cube root of n (Freedman and Diaconis, 1981).
fn bin_count(sorted: &[f64], low: f64, high: f64) -> usize {
    let quantile = |share: f64| {
        sorted
            .get((share * (sorted.len().saturating_sub(1)) as f64) as usize)
            .copied()
            .unwrap_or(low)
    };
    let width = 2.0 * (quantile(0.75) - quantile(0.25)) / (sorted.len().max(1) as f64).cbrt();
    if width > 0.0 {
        (((high - low) / width).ceil() as usize).clamp(1, MAX_BINS)
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_in_a_bar() {
        let samples: Vec<f64> = (0..200).map(|index| 30.0 + f64::from(index % 17) * 0.1).collect();
        let chart = histogram("samples", &samples, 30.8);
        let total: f64 = chart.bars.iter().map(|bar| bar.height).sum();
        assert_eq!(total, 200.0);
        assert!(chart.bars.len() <= MAX_BINS && chart.bars.len() > 3);
    }

    #[test]
    fn degenerate_samples_still_give_a_chart() {
        assert_eq!(
            histogram("one", &[5.0], 5.0)
                .bars
                .iter()
                .map(|bar| bar.height)
                .sum::<f64>(),
            1.0
        );
        assert_eq!(
            histogram("none", &[], 0.0)
                .bars
                .iter()
                .map(|bar| bar.height)
                .sum::<f64>(),
            0.0
        );
        assert_eq!(
            histogram("equal", &[2.0; 9], 2.0)
                .bars
                .iter()
                .map(|bar| bar.height)
                .sum::<f64>(),
            9.0
        );
    }
}
