//! The log file in the state folder: what happened, for when something goes wrong.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes after which the log begins anew.
const LIMIT: u64 = 1 << 20;

/// Where lines go; nowhere when there is no state folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    path: Option<PathBuf>,
}

impl Log {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self { path }
    }

    /// Adds a line. A log that cannot be written is no reason to stop, so errors are dropped.
    pub(super) fn line(&self, text: &str) {
        let Some(path) = &self.path else { return };
        let begin_anew = path.metadata().is_ok_and(|file| file.len() > LIMIT);
        if let Some(folder) = path.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let file = OpenOptions::new()
            .create(true)
            .append(!begin_anew)
            .write(true)
            .truncate(begin_anew)
            .open(path);
        if let Ok(mut file) = file {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let _ = writeln!(file, "{:.3} {text}", now.as_secs_f64());
        }
    }
}
