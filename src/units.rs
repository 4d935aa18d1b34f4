//! How numbers look: microseconds, bytes, FLOP/s, percentages, always with their unit.
