//! Everything that can happen to the workbench: one closed list, so that every cause of a change can be logged and replayed.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use super::editor::Syntaxes;
use super::model::{CatalogueData, Iteration, KernelText, SeenByOperator};
use crate::worker::protocol::FromWorker;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// Columns and rows.
    Resize(u16, u16),
    /// Milliseconds since the program began; sent only while something moves by itself.
    Tick(u64),
    /// There was nothing else to do: work in slices goes on.
    Idle,

    /// The operators were loaded.
    Catalogue(Arc<CatalogueData>),
    /// The last outcome of every shape, from the history.
    Seen(SeenByOperator),
    /// The highlighter is ready.
    Syntaxes(Arc<Syntaxes>),
    Themes(Vec<String>),
    /// The theme in force changed.
    Theme(String),

    /// A kernel was read for the Bench.
    Opened(Box<KernelText>),
    /// Kernels that an operator has: names and, for the user's, files.
    Kernels {
        operator: String,
        files: Vec<PathBuf>,
    },
    Saved {
        path: PathBuf,
        /// The text that was written.
        text: Arc<str>,
    },
    /// The open file changed on disk, by another program.
    FileChanged {
        path: PathBuf,
        text: Arc<str>,
    },
    /// A file could not be read or written: what, and why.
    FileFailed(String),
    /// The user's own editor closed; the file as it is now.
    EditorClosed {
        path: PathBuf,
        text: Arc<str>,
    },

    Worker(FromWorker),
    /// The worker went away and a new one starts; why.
    WorkerLost(String),

    /// The runs kept for an operator, oldest first.
    History {
        operator: String,
        iterations: Vec<Arc<Iteration>>,
    },
    /// The system asks the program to end.
    Terminate,
    /// A sentence for the user from outside, such as a warning about a theme.
    Notice(String),
}
