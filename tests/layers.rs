//! Holds the house rules that the compiler does not: layers, where special dependencies may appear, how files open.

use std::fs;
use std::path::{Path, PathBuf};

/// Top-level modules by layer; a module may import its own layer and lower ones.
/// `ptx` is apart: it imports nothing of ours.
const LAYERS: [(&str, u8); 21] = [
    ("dirs", 0),
    ("dtype", 0),
    ("expr", 0),
    ("number", 0),
    ("shape", 0),
    ("stats", 0),
    ("suggest", 0),
    ("units", 0),
    ("ptx", 0),
    ("emulator", 1),
    ("kernel", 1),
    ("problem", 1),
    ("roofline", 1),
    ("toolchain", 1),
    ("device", 2),
    ("measure", 2),
    ("verdict", 2),
    ("history", 3),
    ("worker", 3),
    ("plot", 4),
    ("cli", 5),
];
const TUI_LAYER: u8 = 5;

/// Files mostly stay under 400 lines; none may pass this.
const MAX_LINES: usize = 700;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Path below `src`, with forward slashes, and text, of every source file.
fn sources() -> Vec<(String, String)> {
    let src = root().join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    assert!(files.len() > 20, "the walk found only {} files", files.len());
    files
        .iter()
        .map(|path| {
            let name = path
                .strip_prefix(&src)
                .expect("below src")
                .components()
                .map(|part| part.as_os_str().to_string_lossy())
                .collect::<Vec<_>>()
                .join("/");
            (name, fs::read_to_string(path).expect("readable text"))
        })
        .collect()
}

fn top_module(file: &str) -> &str {
    file.split('/').next().unwrap_or(file).trim_end_matches(".rs")
}

fn layer(module: &str) -> Option<u8> {
    if module == "tui" {
        return Some(TUI_LAYER);
    }
    LAYERS.iter().find(|(name, _)| *name == module).map(|(_, layer)| *layer)
}

/// Code without line comments, so that prose may name anything.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or(line)))
}

/// The top-level modules that a line of code refers to through `crate::`.
fn imports(line: &str) -> Vec<&str> {
    line.match_indices("crate::")
        .filter(|(at, _)| !line[..*at].ends_with('$'))
        .filter_map(|(at, found)| {
            let rest = &line[at + found.len()..];
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            (end > 0).then(|| &rest[..end])
        })
        .collect()
}

#[test]
fn lower_layers_never_import_higher_ones() {
    let mut broken = Vec::new();
    for (file, text) in sources() {
        let module = top_module(&file);
        if matches!(module, "lib" | "main") {
            continue;
        }
        let own =
            layer(module).unwrap_or_else(|| panic!("src/{file}: module `{module}` has no layer in tests/layers.rs"));
        for (number, line) in code_lines(&text) {
            for import in imports(line) {
                let Some(theirs) = layer(import) else { continue };
                if theirs > own || (module == "ptx" && import != "ptx") {
                    broken.push(format!(
                        "src/{file}:{number}: {module} (L{own}) imports {import} (L{theirs})"
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A word, and the paths below `src` under which code may use it.
const CONFINED: [(&str, &[&str]); 6] = [
    ("ratatui", &["tui"]),
    ("crossterm", &["tui"]),
    ("cudarc", &["device/cuda", "toolchain"]),
    ("nvml_wrapper", &["device/cuda"]),
    ("rusqlite", &["history"]),
    ("unsafe", &["device/cuda", "toolchain", "emulator/memory"]),
];

fn uses_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(part_of_word) && !line[at + word.len()..].starts_with(part_of_word))
}

#[test]
fn special_dependencies_stay_in_their_rooms() {
    let mut broken = Vec::new();
    for (file, text) in sources() {
        for (word, rooms) in CONFINED {
            if rooms.iter().any(|room| file.starts_with(room)) {
                continue;
            }
            for (number, line) in code_lines(&text) {
                // A word inside a string is a name, not a use.
                let outside_strings = line.split('"').step_by(2).any(|part| uses_word(part, word));
                if outside_strings {
                    broken.push(format!(
                        "src/{file}:{number}: `{word}` belongs under {rooms:?}: {}",
                        line.trim()
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for_and_stays_readable() {
    let mut broken = Vec::new();
    for (file, text) in sources() {
        if !text.starts_with("//! ") {
            broken.push(format!("src/{file}: does not open with a `//! ` line"));
        }
        if file.ends_with("mod.rs") {
            broken.push(format!("src/{file}: use `name.rs` beside `name/`, not `mod.rs`"));
        }
        let lines = text.lines().count();
        if lines > MAX_LINES {
            broken.push(format!("src/{file}: {lines} lines, more than {MAX_LINES}"));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_change_log_opens_with_what_is_unreleased_or_this_version() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let first = text.lines().find(|line| line.starts_with("## ")).expect("a section");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        first == "## [Unreleased]" || first.starts_with(&format!("## [{version}] - ")),
        "{first}"
    );
}

#[test]
fn the_checks_can_fail() {
    assert_eq!(
        imports("use crate::tui::app; let x = crate::units::si(1.0);"),
        ["tui", "units"]
    );
    assert!(uses_word("unsafe { x }", "unsafe"));
    assert!(!uses_word("unsafe_code", "unsafe"));
}
