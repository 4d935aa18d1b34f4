//! `toolchain install`: the compilers as Python wheels, versions pinned, into the data folder.
//!
//! Nothing is left half done: everything goes into a folder of its own, which takes the old one's place at the end.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::dirs::Dirs;
use crate::toolchain::install_folder;

/// The wheels. PTX must not be newer than drivers of the 580 series take (ISA 9.0, CUDA 13.0), which pins NVRTC, its
/// headers and ptxas to 13.0. The disassemblers only read, and there are no wheels of them before 13.2.
pub const WHEELS: [(&str, &str); 7] = [
    ("nvidia-cuda-nvrtc", "13.0.88"),
    ("nvidia-cuda-nvcc", "13.0.88"),
    ("nvidia-cuda-runtime", "13.0.96"),
    ("nvidia-cuda-crt", "13.0.88"),
    ("nvidia-cuda-cccl", "13.0.85"),
    ("nvidia-cuda-nvdisasm", "13.2.86"),
    ("nvidia-cuda-cuobjdump", "13.2.86"),
];

/// What the download and the unpacked files take together, bytes; measured with these wheels and rounded up.
const SPACE: u64 = 1_000_000_000;

/// The file that says what is installed.
const MANIFEST: &str = "ridgepoint-wheels.txt";
/// What must be there afterwards.
const PROOF: [&str; 2] = ["libnvrtc.so.13", "ptxas"];

/// Why nothing was installed, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InstallError {
    pub message: String,
    pub advice: String,
}

fn error(message: impl Into<String>, advice: impl Into<String>) -> InstallError {
    InstallError {
        message: message.into(),
        advice: advice.into(),
    }
}

/// How an installation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// The pinned wheels are there already.
    Already(PathBuf),
    Now(PathBuf),
}

/// What is installed, one `name==version` a line.
fn manifest() -> String {
    let lines: Vec<_> = WHEELS
        .iter()
        .map(|(name, version)| format!("{name}=={version}"))
        .collect();
    lines.join("\n") + "\n"
}

/// Whether the pinned wheels are installed.
pub fn is_current(dirs: &Dirs) -> bool {
    std::fs::read_to_string(install_folder(dirs).join(MANIFEST)).is_ok_and(|text| text == manifest())
}

/// Installs the wheels; `tell` hears one line for each step.
///
/// # Errors
/// Says what failed and what to do; the folder is as it was before.
pub fn install(dirs: &Dirs, force: bool, tell: &mut dyn FnMut(&str)) -> Result<Installed, InstallError> {
    let target = install_folder(dirs);
    if !force && is_current(dirs) {
        return Ok(Installed::Already(target));
    }
    if !cfg!(target_os = "linux") {
        return Err(error(
            "the compilers can be installed on Linux only",
            "install the CUDA toolkit of your system and set CUDA_HOME",
        ));
    }
    let work = Work::new(&dirs.data)?;
    enough_space(&work.0)?;
    let pip = find_pip(&work.0, tell)?;
    let unpacked = work.0.join("unpacked");
    download(&pip, &work.0, &unpacked, tell)?;
    for name in PROOF {
        if !contains(&unpacked.join("nvidia"), name) {
            return Err(error(
                format!("the wheels do not contain {name}"),
                "this is a fault of the pinned versions: please report it",
            ));
        }
    }
    let cannot_write = |path: &Path, why: &std::io::Error| {
        error(
            format!("{}: {why}", path.display()),
            "check that the folder can be written and the disk is not full",
        )
    };
    let list = unpacked.join(MANIFEST);
    std::fs::write(&list, manifest()).map_err(|why| cannot_write(&list, &why))?;
    replace(&unpacked, &target, &work.0.join("old")).map_err(|why| cannot_write(&target, &why))?;
    Ok(Installed::Now(target))
}

/// Puts `new` where `target` is. Should the second step fail, the first is undone.
fn replace(new: &Path, target: &Path, old: &Path) -> std::io::Result<()> {
    let had_one = target.exists();
    if had_one {
        std::fs::rename(target, old)?;
    }
    std::fs::rename(new, target).inspect_err(|_| {
        if had_one {
            // The error to report is the one that led here.
            let _ = std::fs::rename(old, target);
        }
    })
}

/// A folder for the work, on the disk of the target so that a rename is enough; removed when dropped.
struct Work(PathBuf);

impl Work {
    fn new(data: &Path) -> Result<Self, InstallError> {
        let folder = data.join(format!("toolchain-{}.part", std::process::id()));
        let made = std::fs::remove_dir_all(&folder).or_else(|why| match why.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(why),
        });
        made.and_then(|()| std::fs::create_dir_all(&folder)).map_err(|why| {
            error(
                format!("cannot make the folder {}: {why}", folder.display()),
                format!(
                    "check who owns {}, or set {} to another folder",
                    data.display(),
                    crate::dirs::OVERRIDE
                ),
            )
        })?;
        Ok(Self(folder))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What could not be removed is removed by the next installation of the same process id, or by hand.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn enough_space(folder: &Path) -> Result<(), InstallError> {
    // A file system that does not say how full it is will say so when it is full.
    let Ok(stat) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    if free < SPACE {
        let megabytes = |bytes: u64| bytes / 1_000_000;
        return Err(error(
            format!(
                "{} MB are free at {}; {} MB are needed",
                megabytes(free),
                folder.display(),
                megabytes(SPACE)
            ),
            format!(
                "make room, or set {} to a folder on another disk",
                crate::dirs::OVERRIDE
            ),
        ));
    }
    Ok(())
}

/// A way to call pip: the program and the arguments in front of pip's own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pip {
    program: PathBuf,
    before: Vec<&'static str>,
}

impl Pip {
    fn new(program: impl Into<PathBuf>, before: &[&'static str]) -> Self {
        Self {
            program: program.into(),
            before: before.to_vec(),
        }
    }

    fn works(&self) -> bool {
        Command::new(&self.program)
            .args(&self.before)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

/// pip as it is, or in an environment made for the purpose: some distributions' Python comes without pip.
fn find_pip(work: &Path, tell: &mut dyn FnMut(&str)) -> Result<Pip, InstallError> {
    let known = [
        Pip::new("python3", &["-m", "pip"]),
        Pip::new("pip3", &[]),
        Pip::new("python", &["-m", "pip"]),
    ];
    if let Some(pip) = known.into_iter().find(Pip::works) {
        return Ok(pip);
    }
    let python = Command::new("python3")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !python.is_ok_and(|status| status.success()) {
        return Err(error(
            "python3 was not found: the compilers come as Python wheels",
            "install Python 3 with pip (such as `apt install python3-pip`), or install the CUDA toolkit and set CUDA_HOME",
        ));
    }
    tell("pip is not there: making a Python environment for it");
    let environment = work.join("environment");
    let made = Command::new("python3")
        .args(["-m", "venv"])
        .arg(&environment)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let pip = Pip::new(environment.join("bin/python"), &["-m", "pip"]);
    if made.is_ok_and(|status| status.success()) && pip.works() {
        return Ok(pip);
    }
    Err(error(
        "python3 has neither pip nor a working venv",
        "install pip (such as `apt install python3-pip`, or `python3 -m ensurepip --user`)",
    ))
}

fn download(pip: &Pip, work: &Path, target: &Path, tell: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    let temporary = work.join("tmp");
    let cannot = |why: std::io::Error| {
        error(
            format!("{}: {why}", pip.program.display()),
            "check the Python installation",
        )
    };
    std::fs::create_dir_all(&temporary).map_err(cannot)?;
    let mut command = Command::new(&pip.program);
    command
        .args(&pip.before)
        .args([
            "install",
            "--no-deps",
            "--only-binary=:all:",
            "--no-cache-dir",
            "--no-compile",
        ])
        .args([
            "--disable-pip-version-check",
            "--no-input",
            "--progress-bar=off",
            "--target",
        ])
        .arg(target)
        .args(WHEELS.map(|(name, version)| format!("{name}=={version}")))
        // The wheels are large: they must not fill another disk than the one that was looked at.
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    let stderr = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut text = String::new();
            // What came before a broken pipe is still worth showing.
            let _ = pipe.read_to_string(&mut text);
            text
        })
    });
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(line) = progress(&line) {
                tell(&line);
            }
        }
    }
    let status = child.wait().map_err(cannot)?;
    if status.success() {
        return Ok(());
    }
    let text = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    Err(explain(&text))
}

/// What a line of pip's says that a user wants to see; hosts and paths stay out.
fn progress(line: &str) -> Option<String> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("Downloading ") {
        let file = rest.split_whitespace().next()?.rsplit('/').next()?;
        let size = rest
            .split_once(" (")
            .and_then(|(_, size)| size.strip_suffix(')'))
            .unwrap_or("");
        let mut parts = file.split('-');
        let name = parts.next()?.replace('_', "-");
        return Some(
            format!("downloading {name} {} {size}", parts.next().unwrap_or(""))
                .trim_end()
                .to_owned(),
        );
    }
    line.starts_with("Installing collected packages")
        .then(|| "unpacking".to_owned())
}

/// pip's errors by their signs. The last lines of what it said go along.
fn explain(stderr: &str) -> InstallError {
    let has = |signs: &[&str]| signs.iter().any(|sign| stderr.contains(sign));
    let last: Vec<_> = stderr
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("ERROR"))
        .collect();
    let said = last.first().map_or_else(
        || stderr.lines().last().unwrap_or("it did not say why").to_owned(),
        |line| line.trim_start_matches("ERROR: ").to_owned(),
    );
    if has(&[
        "No space left on device",
        "Disk quota exceeded",
        "Errno 28",
        "Errno 122",
    ]) {
        return error(
            "the disk filled up during the download",
            format!(
                "make room, or set {} to a folder on another disk",
                crate::dirs::OVERRIDE
            ),
        );
    }
    // Without a network pip first warns of every retry and then says that no version matches.
    let network = [
        "Failed to establish a new connection",
        "Name or service not known",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ProxyError",
        "SSLError",
        "Connection refused",
        "Connection reset",
        "NewConnectionError",
    ];
    if has(&network) {
        return error(
            "the Python package index cannot be reached",
            "check the network and pip's proxy and index settings (`python3 -m pip config list`), or set CUDA_HOME to a CUDA toolkit",
        );
    }
    if has(&[
        "No matching distribution found",
        "is not a supported wheel on this platform",
    ]) {
        return error(
            format!("pip finds no wheel for this machine: {said}"),
            "wheels exist for Linux on x86-64 and arm64; a very old pip may not know them (`python3 -m pip install -U pip`)",
        );
    }
    error(
        format!("pip failed: {said}"),
        "see pip's message; `python3 -m pip --version` must work",
    )
}

/// Whether a file of this name is anywhere below a folder.
fn contains(folder: &Path, name: &str) -> bool {
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            contains(&path, name)
        } else {
            entry.file_name() == name
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_lines_name_package_and_size() {
        assert_eq!(
            progress("  Downloading nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2010_x86_64.whl (90.2 MB)").as_deref(),
            Some("downloading nvidia-cuda-nvrtc 13.0.88 (90.2 MB")
                .map(|line| line.replace('(', ""))
                .as_deref()
        );
        assert_eq!(
            progress("Installing collected packages: a, b").as_deref(),
            Some("unpacking")
        );
        assert_eq!(progress("Looking in indexes: secret"), None);
    }

    #[test]
    fn failures_of_pip_are_told_apart() {
        let retry = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'\nERROR: No matching distribution found for a==1\n";
        for (stderr, message) in [
            (
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
                "the disk filled up",
            ),
            (retry, "the Python package index cannot be reached"),
            (
                "ERROR: No matching distribution found for nvidia-cuda-nvrtc==13.0.88",
                "pip finds no wheel",
            ),
            ("ERROR: something else\nmore", "pip failed: something else"),
            ("", "pip failed: it did not say why"),
        ] {
            let error = explain(stderr);
            assert!(error.message.starts_with(message), "{stderr}: {}", error.message);
            assert!(!error.advice.is_empty());
        }
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("toolchain");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("mark"), "old").unwrap();
        let old = folder.path().join("old");
        assert!(replace(&folder.path().join("missing"), &target, &old).is_err());
        assert_eq!(std::fs::read_to_string(target.join("mark")).unwrap(), "old");

        let new = folder.path().join("new");
        std::fs::create_dir(&new).unwrap();
        replace(&new, &target, &old).unwrap();
        assert!(target.exists() && !target.join("mark").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = install(&Dirs::under(&file), false, &mut |_| {}).unwrap_err();
        assert!(
            error.message.starts_with("cannot make the folder "),
            "{}",
            error.message
        );
    }
}
