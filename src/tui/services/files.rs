//! Kernel files: reading, listing, saving atomically, handing over to the user's editor.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::kernel::Language;
use crate::problem::catalogue::Catalogue;
use crate::tui::event::Event;
use crate::tui::model::{KernelText, Origin};
use crate::tui::update::language_of;

/// Larger files are not kernels.
const SIZE_LIMIT: u64 = 16 << 20;

/// Reads a kernel file.
pub(in crate::tui) fn open(path: &Path, operator: Option<String>) -> Event {
    match read(path) {
        Ok(text) => Event::Opened(Box::new(kernel_of(path, operator, text))),
        Err(error) => Event::FileFailed(format!("{}: {error}", path.display())),
    }
}

fn read(path: &Path) -> io::Result<Arc<str>> {
    if fs::metadata(path)?.len() > SIZE_LIMIT {
        return Err(io::Error::other("larger than 16 MiB, which no kernel is"));
    }
    let bytes = fs::read(path)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => Err(io::Error::other("not UTF-8 text")),
    }
}

fn kernel_of(path: &Path, operator: Option<String>, text: Arc<str>) -> KernelText {
    let file = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let loaded = crate::kernel::load(path, Some(&text));
    let named = loaded.ok().and_then(|kernel| kernel.header.operator).or(operator);
    KernelText {
        name: named
            .as_ref()
            .map_or_else(|| file.clone(), |operator| format!("{operator}/{file}")),
        operator: named,
        language: language_of(path),
        origin: Origin::File(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
        text,
    }
}

/// The user's kernel of an operator that was changed last; where there is none, the built-in starter.
pub(in crate::tui) fn open_last(folder: Option<&Path>, catalogue: &Catalogue, operator: &str) -> Event {
    let newest = files(folder, operator)
        .into_iter()
        .max_by_key(|path| fs::metadata(path).and_then(|file| file.modified()).ok());
    if let Some(path) = newest {
        return open(&path, Some(operator.to_owned()));
    }
    let starter = catalogue
        .operator(operator)
        .ok()
        .and_then(|operator| operator.kernels.first());
    match starter {
        Some(source) => Event::Opened(Box::new(KernelText {
            name: format!("{operator}/{}", source.name.trim_start_matches("kernels/")),
            operator: Some(operator.to_owned()),
            language: language_of(Path::new(&source.name)),
            origin: Origin::BuiltIn,
            text: source.text.clone(),
        })),
        None => Event::FileFailed(format!("`{operator}` has no kernels yet; S in the Bench makes one")),
    }
}

/// The user's kernels of an operator.
pub(in crate::tui) fn list(folder: Option<&Path>, operator: String) -> Event {
    Event::Kernels {
        files: files(folder, &operator),
        operator,
    }
}

fn files(folder: Option<&Path>, operator: &str) -> Vec<PathBuf> {
    let entries = folder.and_then(|folder| fs::read_dir(folder.join(operator)).ok());
    let is_kernel = |path: &PathBuf| {
        path.extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|e| matches!(e, "cu" | "ptx" | "py"))
    };
    let mut files: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(is_kernel)
        .collect();
    files.sort();
    files
}

/// Writes a file so that it holds either the old text or the new one, whatever happens.
pub(in crate::tui) fn save(path: &Path, text: &Arc<str>) -> Event {
    match write_atomically(path, text) {
        Ok(()) => Event::Saved {
            path: path.to_owned(),
            text: text.clone(),
        },
        Err(error) => Event::FileFailed(format!("not saved: {}: {error}", path.display())),
    }
}

fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    // A link is followed: the file behind it is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or_else(|| Path::new("."));
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = folder.join(name);
    let written = (|| {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if let Ok(old) = fs::metadata(&target) {
            fs::set_permissions(&temporary, old.permissions())?;
        }
        fs::rename(&temporary, &target)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes a new file into the user's folder, under the first free name, and opens it.
pub(in crate::tui) fn save_copy(folder: Option<&Path>, operator: &str, name: &str, text: &Arc<str>) -> Event {
    let Some(folder) = folder.map(|folder| folder.join(operator)) else {
        return Event::FileFailed("not saved: this system names no folder for a user's data".to_owned());
    };
    let made = fs::create_dir_all(&folder).and_then(|()| {
        let path = free_name(&folder, name);
        write_atomically(&path, text)?;
        Ok(path)
    });
    match made {
        Ok(path) => open(&path, Some(operator.to_owned())),
        Err(error) => Event::FileFailed(format!("not saved: {}: {error}", folder.display())),
    }
}

/// `vec8.cu`, or `vec8-2.cu` and so on where that is taken.
fn free_name(folder: &Path, name: &str) -> PathBuf {
    let path = Path::new(name);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("kernel");
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or(match language_of(path) {
            Language::Cuda => "cu",
            Language::Ptx => "ptx",
            Language::Python => "py",
        });
    (1..=u32::MAX)
        .map(|number| match number {
            1 => folder.join(format!("{stem}.{extension}")),
            _ => folder.join(format!("{stem}-{number}.{extension}")),
        })
        .find(|path| !path.exists())
        .unwrap_or_else(|| folder.join(name))
}

/// Runs `$VISUAL` or `$EDITOR` on a file, at a line, and reads the file afterwards.
pub(in crate::tui) fn edit(path: &Path, line: usize) -> Event {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let Some(editor) = editor else {
        return Event::FileFailed("$EDITOR is not set; set it, or type here: i".to_owned());
    };
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut command = std::process::Command::new(program);
    command.args(words).args(place(program, path, line));
    match command.status() {
        Err(error) => Event::FileFailed(format!("`{editor}` does not start: {error}")),
        Ok(status) if !status.success() => Event::FileFailed(format!("`{editor}` ended with {status}")),
        Ok(_) => match read(path) {
            Ok(text) => Event::EditorClosed {
                path: path.to_owned(),
                text,
            },
            Err(error) => Event::FileFailed(format!("{}: {error}", path.display())),
        },
    }
}

/// The arguments that open a file at a line, where the editor is known to have such.
fn place(program: &str, path: &Path, line: usize) -> Vec<OsString> {
    let name = Path::new(program)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(program);
    match name {
        "vi" | "vim" | "nvim" | "nano" | "emacs" | "emacsclient" | "kak" | "micro" | "joe" => {
            vec![format!("+{line}").into(), path.into()]
        }
        "hx" | "helix" | "subl" | "zed" => {
            let mut place = path.as_os_str().to_owned();
            place.push(format!(":{line}"));
            vec![place]
        }
        "code" | "codium" => {
            let mut place = path.as_os_str().to_owned();
            place.push(format!(":{line}"));
            vec!["--wait".into(), "--goto".into(), place]
        }
        _ => vec![path.into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saving_replaces_the_text_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.cu");
        fs::write(&path, "old").unwrap();
        assert!(matches!(save(&path, &"new".into()), Event::Saved { .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let nowhere = folder.path().join("no/such/folder.cu");
        assert!(matches!(save(&nowhere, &"x".into()), Event::FileFailed(_)));
    }

    #[cfg(unix)]
    #[test]
    fn saving_through_a_link_keeps_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target.cu"), folder.path().join("link.cu"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        save(&link, &"new".into());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn a_copy_never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        for expected in ["starter.cu", "starter-2.cu", "starter-3.cu"] {
            let event = save_copy(Some(folder.path()), "op", "starter.cu", &"x".into());
            let Event::Opened(kernel) = event else {
                panic!("{event:?}")
            };
            assert_eq!(kernel.name, format!("op/{expected}"));
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.cu");
        fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
        let Event::FileFailed(message) = open(&path, None) else {
            panic!("it opened")
        };
        assert!(message.contains("not UTF-8"), "{message}");
    }
}
