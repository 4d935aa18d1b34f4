//! Machine profiles, bounds and scores.
