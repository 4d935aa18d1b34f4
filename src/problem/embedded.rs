//! The problems inside the binary.

use std::path::Path;

use include_dir::{Dir, include_dir};

use super::files::{Content, File};

static PROBLEMS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/problems");

/// Where the built-in problems are in the source tree; shown as the file of a built-in problem.
pub const ROOT: &str = "problems";

/// Every file of the built-in problems, in no order.
pub(super) fn files() -> Vec<File> {
    let mut found = Vec::new();
    collect(&PROBLEMS, &mut found);
    found
}

fn collect(folder: &'static Dir<'_>, found: &mut Vec<File>) {
    for file in folder.files() {
        found.push(File {
            parts: parts(file.path()),
            disk: None,
            content: match file.contents_utf8() {
                Some(text) => Content::Text(text.into()),
                None => Content::Unreadable("the file is not UTF-8 text".to_owned()),
            },
        });
    }
    for inner in folder.dirs() {
        collect(inner, found);
    }
}

fn parts(path: &Path) -> Vec<String> {
    path.iter().map(|part| part.to_string_lossy().into_owned()).collect()
}
