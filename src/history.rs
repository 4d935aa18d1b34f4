//! The history of runs: an SQLite store.
