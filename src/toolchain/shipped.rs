//! PTX that ships beside its CUDA C++ source, so that a first run needs no compiler.
//!
//! `NAME.ptx` lies beside `NAME.cu` and opens with a line that says what it was made from:
//! `// ridgepoint-ptx 1 sha256=<hex> compiler="nvrtc 13.0.88" arch=compute_80 options="-DBLOCK=256"`.
//! The digest covers the source, the architecture, the options and the tunables' defaults. PTX whose digest does not match
//! is never used.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::cache::{Key, write_atomically};
use super::compile::virtual_arch;
use super::{CompileRequest, Toolchain};
use crate::kernel::{self, CompileSpec};

const MARK: &str = "// ridgepoint-ptx 1 ";

/// The folder of a repository whose CUDA C++ sources are kernels: they all ship with their PTX.
const KERNELS: &str = "problems";
/// The folder whose CUDA C++ sources are parts of the program. They have no header; those that open with a line
/// `// ridgepoint-options: ...` ship.
const PARTS: &str = "src";
const OPTIONS_MARK: &str = "// ridgepoint-options:";
const ARCH_OPTION: &str = "--gpu-architecture=";

/// The first line of shipped PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head<'a> {
    pub sha256: &'a str,
    pub compiler: &'a str,
    pub arch: &'a str,
}

impl<'a> Head<'a> {
    /// Reads the first line; `None` where it is not that of shipped PTX in this format.
    pub fn of(ptx: &'a str) -> Option<Self> {
        let rest = ptx.lines().next()?.strip_prefix(MARK)?;
        let (_, after) = rest.split_once("compiler=\"")?;
        Some(Self {
            sha256: field(rest, "sha256=")?,
            compiler: after.split('"').next()?,
            arch: field(rest, "arch=")?,
        })
    }
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ').find_map(|part| part.strip_prefix(name))
}

/// What shipped PTX must have been made from to serve this request.
pub fn digest(request: &CompileRequest<'_>) -> String {
    let mut key = Key::new("shipped").field(request.source).field(request.arch);
    for option in request.options {
        key = key.field("option").field(option);
    }
    for (name, value) in request.defines {
        key = key.field("define").field(name).field(&value.to_string());
    }
    key.finish()
}

/// A source that ships with its PTX, and what it is compiled with.
struct Source {
    /// Relative to the repository.
    path: PathBuf,
    text: String,
    name: String,
    arch: String,
    options: Vec<String>,
    defines: Vec<(String, i64)>,
}

impl Source {
    /// `None` for a source that is not to ship: one with neither a kernel's header nor an options line.
    fn read(repo: &Path, path: PathBuf) -> Result<Option<Self>, String> {
        let full = repo.join(&path);
        let text = std::fs::read_to_string(&full).map_err(|error| format!("{}: {error}", path.display()))?;
        let (compile, defines) = if path.starts_with(KERNELS) {
            let file = kernel::load(&full, Some(&text)).map_err(|error| error.to_string())?;
            let tunables = file.header.tune.iter();
            let defaults = tunables.filter_map(|tunable| Some((tunable.name.clone(), *tunable.values.first()?)));
            (file.header.compile.clone(), defaults.collect())
        } else if let Some(options) = text.lines().find_map(|line| line.strip_prefix(OPTIONS_MARK)) {
            let (arch, options): (Vec<_>, Vec<_>) = options
                .split_whitespace()
                .partition(|option| option.starts_with(ARCH_OPTION));
            let compile = CompileSpec {
                options: options.into_iter().map(str::to_owned).collect(),
                arch: arch.first().map(|option| option[ARCH_OPTION.len()..].to_owned()),
            };
            (compile, Vec::new())
        } else {
            return Ok(None);
        };
        Ok(Some(Self {
            name: path
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            path,
            text,
            arch: virtual_arch(compile.arch.as_deref()),
            options: compile.options,
            defines,
        }))
    }

    fn request(&self) -> CompileRequest<'_> {
        CompileRequest {
            name: &self.name,
            source: &self.text,
            arch: &self.arch,
            defines: &self.defines,
            options: &self.options,
            device_arch: None,
        }
    }

    fn head(&self, compiler: &str) -> String {
        let mut options: Vec<_> = self
            .defines
            .iter()
            .map(|(name, value)| format!("-D{name}={value}"))
            .collect();
        options.extend(self.options.iter().map(|option| option.replace('"', "'")));
        let mut line = MARK.to_owned();
        // Writing to a string cannot fail.
        let _ = writeln!(
            line,
            "sha256={} compiler=\"{compiler}\" arch={} options=\"{}\"",
            digest(&self.request()),
            self.arch,
            options.join(" ")
        );
        line
    }
}

/// Every `.cu` under the folders that ship, relative to the repository, sorted.
fn sources(repo: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = vec![KERNELS.into(), PARTS.into()];
    while let Some(folder) = folders.pop() {
        let full = repo.join(&folder);
        if !full.is_dir() {
            continue;
        }
        let entries = full
            .read_dir()
            .map_err(|error| format!("{}: {error}", full.display()))?;
        for entry in entries.flatten() {
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cu") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What `ship` did with one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// The PTX beside it already is what this compiler makes.
    Unchanged,
    Written {
        bytes: usize,
    },
}

/// Compiles every source of a repository that ships with its PTX, and writes what changed. `tell` hears of each.
///
/// # Errors
/// One line for each source that could not be read or compiled, or whose PTX could not be written.
pub fn ship(repo: &Path, toolchain: &Toolchain, tell: &mut dyn FnMut(&Path, &Shipped)) -> Result<usize, Vec<String>> {
    let paths = sources(repo).map_err(|error| vec![error])?;
    let mut errors = Vec::new();
    let mut count = 0;
    for path in paths {
        let shipped = Source::read(repo, path).and_then(|source| {
            let Some(source) = source else { return Ok(()) };
            count += 1;
            ship_one(repo, toolchain, &source).map(|outcome| tell(&source.path, &outcome))
        });
        errors.extend(shipped.err());
    }
    if errors.is_empty() { Ok(count) } else { Err(errors) }
}

fn ship_one(repo: &Path, toolchain: &Toolchain, source: &Source) -> Result<Shipped, String> {
    let compiled = toolchain.compile(&source.request()).map_err(|failure| {
        let log = if failure.log.is_empty() {
            failure.advice.unwrap_or_default()
        } else {
            failure.log
        };
        format!("{}: {}\n{log}", source.path.display(), failure.message)
    })?;
    let text = source.head(&compiled.compiler) + &compiled.ptx;
    let target = repo.join(&source.path).with_extension("ptx");
    if std::fs::read_to_string(&target).is_ok_and(|old| old == text) {
        return Ok(Shipped::Unchanged);
    }
    write_atomically(&target, text.as_bytes()).map_err(|error| format!("{}: {error}", target.display()))?;
    Ok(Shipped::Written { bytes: text.len() })
}

/// Holds every shipped PTX of a repository against its source: one line for each that is missing or was made from
/// something else. Needs no compiler. The second number is how many sources there are.
///
/// # Errors
/// Where the repository cannot be read.
pub fn check(repo: &Path) -> Result<(Vec<String>, usize), String> {
    let mut count = 0;
    let mut stale = Vec::new();
    for path in sources(repo)? {
        let checked = Source::read(repo, path).and_then(|source| {
            let Some(source) = source else { return Ok(()) };
            count += 1;
            check_one(repo, &source)
        });
        stale.extend(checked.err());
    }
    Ok((stale, count))
}

fn check_one(repo: &Path, source: &Source) -> Result<(), String> {
    let target = source.path.with_extension("ptx");
    let ptx = std::fs::read_to_string(repo.join(&target)).map_err(|error| format!("{}: {error}", target.display()))?;
    match Head::of(&ptx) {
        None => Err(format!(
            "{}: its first line is not that of shipped PTX",
            target.display()
        )),
        Some(head) if head.sha256 != digest(&source.request()) => Err(format!(
            "{}: made from another text than {}",
            target.display(),
            source.path.display()
        )),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_back() {
        let source = Source {
            path: PathBuf::from("problems/a.cu"),
            text: "text".to_owned(),
            name: "a.cu".to_owned(),
            arch: "compute_80".to_owned(),
            options: vec!["-use_fast_math".to_owned()],
            defines: vec![("BLOCK".to_owned(), 256)],
        };
        let line = source.head("nvrtc 13.0.88");
        let ptx = format!("{line}.version 9.0\n");
        let head = Head::of(&ptx).unwrap();
        assert_eq!((head.compiler, head.arch), ("nvrtc 13.0.88", "compute_80"));
        assert_eq!(head.sha256, digest(&source.request()));
        assert!(line.ends_with("options=\"-DBLOCK=256 -use_fast_math\"\n"));
        assert_eq!(Head::of(".version 9.0\n"), None);
    }

    #[test]
    fn everything_that_changes_the_code_changes_the_digest() {
        let options = vec!["-a".to_owned()];
        let defines = vec![("B".to_owned(), 1)];
        let base = CompileRequest {
            name: "a.cu",
            source: "text",
            arch: "compute_80",
            defines: &defines,
            options: &options,
            device_arch: None,
        };
        let others = [
            CompileRequest {
                source: "text ",
                ..base
            },
            CompileRequest {
                arch: "compute_90",
                ..base
            },
            CompileRequest { defines: &[], ..base },
            CompileRequest { options: &[], ..base },
        ];
        for other in others {
            assert_ne!(digest(&base), digest(&other), "{other:?}");
        }
        assert_eq!(
            digest(&base),
            digest(&CompileRequest {
                device_arch: Some("sm_90"),
                ..base
            })
        );
    }
}
