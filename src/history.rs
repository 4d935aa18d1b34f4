//! The history of runs: an SQLite store that keeps every try with its source, verdict and lineage.
//!
//! One writer at a time (SQLite's own lock, WAL mode); one transaction per run, so that killing the program loses at most
//! the run in flight. Nothing here ever deletes a file: what cannot be read is moved aside.

mod open;
mod query;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::verdict::Class;
pub use write::{Kept, NewRun};

/// The file's name in the state folder.
pub const FILE_NAME: &str = "history.sqlite3";

/// An open history.
#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
    writable: bool,
}

/// What opening gave: a history, perhaps with something to tell, or the reason why runs go on without one.
#[derive(Debug)]
pub struct Opened {
    pub history: Option<History>,
    /// What the user should know: moved aside, read-only, newer version; with what to do.
    pub message: Option<String>,
}

/// An error of the store, in words for the user.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the history cannot be written: {0}")]
    ReadOnly(String),
    #[error("the history is busy: another process has been writing for {0} s")]
    Busy(u64),
    #[error("the history: {0}")]
    Sql(#[from] rusqlite::Error),
    #[error("the history holds a report that cannot be read: {0}")]
    Report(#[from] serde_json::Error),
}

/// One kept run, without its source and its full report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    pub id: i64,
    /// Seconds since 1970.
    pub time_unix_s: f64,
    pub operator: Option<String>,
    pub kernel_path: String,
    pub source_sha256: String,
    /// The previous iteration of the same file.
    pub parent: Option<i64>,
    pub author: String,
    pub note: String,
    pub device: String,
    pub device_kind: String,
    pub profile: String,
    pub compiler: String,
    pub defines: Vec<(String, i64)>,
    pub status: Class,
    pub reason: String,
    /// Shapes in the run, and how many of them passed.
    pub shapes: u32,
    pub passed: u32,
    /// Of the shape asked for, where one was: its own status and median.
    pub shape: Option<ShapeResult>,
}

/// One shape of a kept run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeResult {
    pub id: String,
    pub status: Class,
    pub median_us: Option<f64>,
    /// T_SOL over the median.
    pub fraction: Option<f64>,
    /// Timed with a cold cache.
    pub cold: Option<bool>,
}

/// Which iterations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub operator: Option<String>,
    pub shape: Option<String>,
    /// The newest so many.
    pub limit: Option<u32>,
}

impl History {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether runs can be kept in it.
    pub const fn is_writable(&self) -> bool {
        self.writable
    }
}

/// Who is at the keyboard, for the author column: `USER`, or `LOGNAME`.
pub fn author() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_else(|| "unknown".to_owned())
}
