//! What a path is: a folder of problems, a suite, an operator, a kernel file, a theme.

use std::path::{Path, PathBuf};

/// Something that can be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A folder with problems; `prefix` is the suite, or suite and operator, that it is.
    Problems {
        root: PathBuf,
        prefix: Vec<String>,
    },
    Kernel(PathBuf),
    Theme(PathBuf),
}

const PROBLEM_FILE: &str = "problem.toml";
const SUITE_FILE: &str = "suite.toml";

impl Place {
    /// # Errors
    /// For a path that is not there or is none of these.
    pub(super) fn of(path: &Path) -> Result<Self, String> {
        // Absolute, so that the names of the folders above are known for `check .` too.
        let path = path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if path.is_dir() {
            return Ok(Self::folder(path));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match (&*name, &*extension) {
            (PROBLEM_FILE | SUITE_FILE, _) => Ok(Self::folder(path.parent().unwrap_or(&path).to_owned())),
            (_, "cu" | "ptx" | "py") => Ok(Self::Kernel(path)),
            (_, "toml") => Ok(Self::Theme(path)),
            _ => Err(format!(
                "{}: expected a folder, a problem.toml, a kernel (.cu .ptx .py) or a theme (.toml)",
                path.display()
            )),
        }
    }

    fn folder(root: PathBuf) -> Self {
        let depth = if root.join(PROBLEM_FILE).exists() {
            2
        } else {
            usize::from(root.join(SUITE_FILE).exists() || has_problems(&root))
        };
        let mut names: Vec<String> = root
            .iter()
            .rev()
            .take(depth)
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        names.reverse();
        Self::Problems { root, prefix: names }
    }
}

fn has_problems(root: &Path) -> bool {
    std::fs::read_dir(root)
        .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| entry.path().join(PROBLEM_FILE).exists())))
}
