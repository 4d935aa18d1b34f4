//! The files of a problem folder, from the binary or from disk alike.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One file below a problems folder.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// The path below the problems folder: suite, operator, and so on.
    pub(super) parts: Vec<String>,
    /// Where it is, unless it is embedded.
    pub(super) disk: Option<PathBuf>,
    pub(super) content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Text(Arc<str>),
    /// Why it could not be read.
    Unreadable(String),
}

/// Levels below the problems folder that hold anything: suite, operator, `kernels`, file.
const DEPTH: usize = 4;
/// Extensions that belong to problems; everything else in the folders is left alone.
const EXTENSIONS: [&str; 4] = ["toml", "cu", "ptx", "py"];

/// Every file below a folder on disk. `prefix` says which suite, or suite and operator, the folder itself is; empty for a problems folder.
///
/// # Errors
/// Where the folder itself cannot be read. A file inside that cannot be read is in the list, with the reason.
pub(super) fn below(root: &Path, prefix: &[String]) -> Result<Vec<File>, String> {
    let mut found = Vec::new();
    fs::read_dir(root).map_err(|error| format!("cannot read the folder {}: {error}", root.display()))?;
    walk(root, &mut prefix.to_vec(), &mut found);
    Ok(found)
}

fn walk(folder: &Path, parts: &mut Vec<String>, found: &mut Vec<File>) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            found.push(File {
                parts: parts.clone(),
                disk: Some(folder.to_owned()),
                content: Content::Unreadable(error.to_string()),
            });
            return;
        }
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        parts.push(name);
        if path.is_dir() {
            if parts.len() < DEPTH {
                walk(&path, parts, found);
            }
        } else if path
            .extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|extension| EXTENSIONS.contains(&extension))
        {
            found.push(File {
                parts: parts.clone(),
                content: match fs::read_to_string(&path) {
                    Ok(text) => Content::Text(text.into()),
                    Err(error) => Content::Unreadable(error.to_string()),
                },
                disk: Some(path),
            });
        }
        parts.pop();
    }
}
