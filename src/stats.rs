//! Robust statistics of samples: medians, intervals, comparisons.
