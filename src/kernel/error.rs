//! What can be wrong with a kernel file, with its place and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use super::place::Place;

/// Which kind of problem it is: it decides the verdict and the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file cannot be read, or is not a text that a kernel could be.
    File,
    /// The language is known but cannot be run yet.
    Unsupported,
    /// The file has no header; `offer` holds one that could be put there.
    NoHeader,
    /// The header, or an entry point it names, is wrong.
    Header,
    /// The header is well formed but does not work out for this operator, shape or device.
    Plan,
}

/// An error in a kernel file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelError {
    pub kind: ErrorKind,
    pub path: PathBuf,
    /// Where in the file, when it is about a place.
    pub place: Option<Place>,
    /// What is wrong and what was expected.
    pub message: String,
    /// What to do.
    pub advice: Option<String>,
    /// For `NoHeader`: a header made from the source's entry points, ready to be put on top.
    pub offer: Option<String>,
}

impl KernelError {
    pub fn new(kind: ErrorKind, path: &Path, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: path.to_owned(),
            place: None,
            message: message.into(),
            advice: None,
            offer: None,
        }
    }

    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Line from 1, when it is about a place.
    pub fn line(&self) -> Option<u32> {
        self.place.map(|place| place.line)
    }

    /// Column from 1, in characters, when it is about a place.
    pub fn column(&self) -> Option<u32> {
        self.place.map(|place| place.column)
    }
}

/// `kernels/a.cu:4:9: unknown name ...`
impl fmt::Display for KernelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(place) = self.place {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for KernelError {}
