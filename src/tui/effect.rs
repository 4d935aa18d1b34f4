//! What the workbench asks of the world. `update` returns these; only the runner carries them out.

use std::path::PathBuf;
use std::sync::Arc;

use crate::measure::RunRequest;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Quit,
    /// Draw every cell again.
    Redraw,
    /// Read the kernel last worked on for an operator; where there is none, its starter.
    OpenLast {
        operator: String,
    },
    /// Read a kernel file. `operator` is what it is for, where its header does not say.
    OpenFile {
        path: PathBuf,
        operator: Option<String>,
    },
    /// List the user's kernels of an operator.
    ListKernels {
        operator: String,
    },
    /// Write a file atomically.
    Save {
        path: PathBuf,
        text: Arc<str>,
    },
    /// Write a new file in the user's kernel folder and open it.
    SaveCopy {
        operator: String,
        name: String,
        text: Arc<str>,
    },
    /// Tell when this file changes on disk; replaces the file watched before.
    Watch(Option<PathBuf>),
    /// Leave the screen to the user's editor.
    EditExternally {
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    Run {
        job: u64,
        request: Box<RunRequest>,
    },
    Cancel {
        job: u64,
    },
    LoadHistory {
        operator: String,
    },
    /// Load what the history knows of every shape, for machines of one profile.
    LoadSeen {
        profile: String,
    },
    /// Take or leave the mouse.
    Mouse(bool),
    /// Load the highlighter, once.
    LoadSyntaxes,
    LoadTheme(String),
    ListThemes,
}
