//! Compilers: finding, installing and calling them; the cache of what they made.
//!
//! CUDA C++ goes through NVRTC to PTX, which every device takes; ptxas, where it is there, adds machine code for one
//! architecture and the figures of its kernels. Built-in kernels ship with their PTX and need neither.

mod cache;
mod compile;
mod diagnostics;
pub mod install;
mod nvrtc;
mod process;
mod ptxas;
mod search;
pub mod shipped;
pub mod status;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::dirs::Dirs;
use cache::Cache;
pub use compile::{CompileFailure, CompileRequest, Compiled, DEFAULT_ARCH, FailureKind};
pub use diagnostics::{Diagnostic, Severity};
use nvrtc::Nvrtc;
pub use ptxas::Resources;
pub use search::{Found, NVRTC_VARIABLE, Origin, Place, install_folder};
pub use status::Status;

/// The compilers of this machine, looked for when they are first needed.
#[derive(Debug)]
pub struct Toolchain {
    dirs: Option<Dirs>,
    cache: Cache,
    /// What costs no process to find.
    near: OnceLock<Found>,
    /// That, and what Python knows of; looked for only when NVRTC is needed and not near.
    found: OnceLock<Found>,
    nvrtc: OnceLock<Result<Nvrtc, String>>,
}

impl Toolchain {
    /// The compilers of this machine and the user's cache.
    pub fn discover() -> Self {
        Self::with_dirs(Dirs::find())
    }

    /// As [`discover`](Self::discover), with these folders; without any, nothing is cached.
    pub fn with_dirs(dirs: Option<Dirs>) -> Self {
        let cache = Cache::new(dirs.as_ref().map(|dirs| dirs.cache.join("compiled")));
        Self {
            dirs,
            cache,
            near: OnceLock::new(),
            found: OnceLock::new(),
            nvrtc: OnceLock::new(),
        }
    }

    /// What was found, and where.
    pub fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let near = self.near();
            if near.nvrtc.is_some() {
                near.clone()
            } else {
                search::with_python(self.dirs.as_ref())
            }
        })
    }

    fn near(&self) -> &Found {
        self.near.get_or_init(|| search::near(self.dirs.as_ref()))
    }

    /// Opens NVRTC, once.
    fn nvrtc(&self) -> Result<&Nvrtc, &str> {
        self.nvrtc
            .get_or_init(|| Nvrtc::open(self.found().nvrtc.as_ref().map(|place| place.path.as_path())))
            .as_ref()
            .map_err(String::as_str)
    }

    /// ptxas is an extra: asking Python for it would cost more than it gives.
    fn ptxas(&self) -> Option<&Path> {
        let found = self.found.get().unwrap_or_else(|| self.near());
        found.ptxas.as_ref().map(|place| place.path.as_path())
    }
}

/// What makes one compiler binary different from another without running it: its path, size and time of change.
fn identity(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    let metadata = std::fs::metadata(&real).ok();
    let size = metadata.as_ref().map_or(0, std::fs::Metadata::len);
    let changed = metadata
        .and_then(|metadata| metadata.modified().ok())
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .map_or(0, |since| since.as_nanos());
    format!("{} {size} {changed}", real.display())
}
