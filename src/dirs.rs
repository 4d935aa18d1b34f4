//! Where Ridgepoint keeps its files: data, cache, configuration, state.

use std::path::PathBuf;

/// Puts every folder under one of the user's choosing; tests and portable installations use it.
pub const OVERRIDE: &str = "RIDGEPOINT_DATA_DIR";

/// The folders. None of them need exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// Compilers, problems: what the user would not want to lose or download again.
    pub data: PathBuf,
    /// Compiled kernels: can be deleted at any time.
    pub cache: PathBuf,
    /// Settings, key maps, themes.
    pub config: PathBuf,
    /// History and logs.
    pub state: PathBuf,
}

impl Dirs {
    /// The platform's folders, or those under `RIDGEPOINT_DATA_DIR` where it is set; `None` on a machine without a home folder.
    pub fn find() -> Option<Self> {
        match std::env::var_os(OVERRIDE).filter(|value| !value.is_empty()) {
            Some(root) => Some(Self::under(root)),
            None => Self::platform(),
        }
    }

    /// All four folders inside one.
    pub fn under(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            data: root.join("data"),
            cache: root.join("cache"),
            config: root.join("config"),
            state: root.join("state"),
        }
    }

    fn platform() -> Option<Self> {
        let dirs = directories::ProjectDirs::from("", "", "ridgepoint")?;
        Some(Self {
            data: dirs.data_dir().to_owned(),
            cache: dirs.cache_dir().to_owned(),
            config: dirs.config_dir().to_owned(),
            // Only Linux has a state folder of its own.
            state: dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned(),
        })
    }

    /// Name and path of each, for listings.
    pub fn each(&self) -> [(&'static str, &PathBuf); 4] {
        [
            ("data", &self.data),
            ("cache", &self.cache),
            ("config", &self.config),
            ("state", &self.state),
        ]
    }
}
