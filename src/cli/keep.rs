//! Keeping runs in the history, and saying so when that is not possible. Nothing here ends a run.

use super::print;
use super::request::Named;
use crate::dirs::Dirs;
use crate::history::{self, History, NewRun};
use crate::measure::RunReport;
use crate::verdict::Class;

/// The store that a command writes to, opened once.
pub(super) struct Keeper(Option<History>);

impl Keeper {
    /// A keeper that keeps nothing.
    pub(super) const fn off() -> Self {
        Self(None)
    }

    /// Opens the store in the state folder. Whatever is wrong with it goes to standard error.
    pub(super) fn open() -> Self {
        let Some(dirs) = Dirs::find() else {
            print::note("history: there is no home folder, so runs are not kept; set RIDGEPOINT_DATA_DIR to a folder");
            return Self::off();
        };
        let opened = History::open(&dirs.state.join(history::FILE_NAME));
        if let Some(message) = opened.message {
            print::note(format!("history: {message}"));
        }
        Self(opened.history.filter(History::is_writable))
    }

    /// Keeps one run. Cancelled ones and those whose text could not be read are not kept.
    pub(super) fn keep(&mut self, named: &Named, report: &RunReport) {
        let (Some(history), Some(source)) = (&mut self.0, &named.text) else {
            return;
        };
        if report.status == Class::Cancelled {
            return;
        }
        let mut report = report.clone();
        if report.kernel.sha256.is_empty() {
            report.kernel.sha256 = crate::measure::build::sha256(source);
        }
        let run = NewRun {
            report: &report,
            file: &named.file,
            source,
            author: &history::author(),
            note: "",
        };
        match history.record(run) {
            Ok(kept) => {
                if let Some(message) = kept.message {
                    print::note(format!("history: {message}"));
                }
            }
            Err(error) => print::note(format!("history: {error}; this run is not kept")),
        }
    }
}
