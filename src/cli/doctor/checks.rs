//! The single looks of `doctor` at driver, terminal, folders, history and Python. They change nothing.

use std::path::Path;
use std::process::Command;

use rustix::fs::Access;

use super::Check;
use crate::dirs::{Dirs, OVERRIDE};
use crate::history::{self, History};

/// The smallest terminal that shows every part of the workbench.
const ROOMY: (u16, u16) = (80, 24);
/// Where the Linux driver says its version.
const DRIVER_FILE: &str = "/proc/driver/nvidia/version";

pub(super) fn driver() -> Vec<Check> {
    let text = std::fs::read_to_string(DRIVER_FILE).unwrap_or_default();
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ..."
    let version = text
        .split_whitespace()
        .find(|word| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok()));
    vec![match version {
        Some(version) => Check::ok("driver", "nvidia", version),
        None => Check::gap(
            "driver",
            "nvidia",
            "not loaded",
            "only needed for a GPU: install NVIDIA's driver, version 580 or newer",
        ),
    }]
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub(super) fn terminal() -> Vec<Check> {
    vec![size(), colours(), encoding()]
}

fn size() -> Check {
    let (columns, rows) = ROOMY;
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col >= columns && size.ws_row >= rows => {
            Check::ok("terminal", "size", format!("{}x{}", size.ws_col, size.ws_row))
        }
        Ok(size) => Check::gap(
            "terminal",
            "size",
            format!("{}x{}", size.ws_col, size.ws_row),
            format!("the workbench shows all of its parts from {columns}x{rows} on"),
        ),
        Err(_) => Check::ok("terminal", "size", "standard output is not a terminal"),
    }
}

fn colours() -> Check {
    let name = variable("TERM").unwrap_or_default();
    let depth = variable("COLORTERM").unwrap_or_default();
    if variable("NO_COLOR").is_some() {
        return Check::ok("terminal", "colours", "none: NO_COLOR is set");
    }
    if matches!(depth.as_str(), "truecolor" | "24bit") || name.contains("direct") {
        return Check::ok("terminal", "colours", format!("24 bits (TERM={name})"));
    }
    let (found, advice) = match name.as_str() {
        "" => (
            "unknown: TERM is not set",
            "set TERM to your terminal's name, such as xterm-256color",
        ),
        "dumb" => ("none: TERM is `dumb`", "use a terminal that can place its cursor"),
        name if name.contains("256") => ("256", "set COLORTERM=truecolor if your terminal has 24-bit colours"),
        _ => (
            "16",
            "set TERM=xterm-256color or COLORTERM=truecolor if your terminal has more",
        ),
    };
    Check::gap("terminal", "colours", found, advice)
}

fn encoding() -> Check {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable)
        .unwrap_or_default();
    let plain = locale.to_lowercase().replace('-', "");
    if plain.contains("utf8") {
        return Check::ok("terminal", "encoding", format!("UTF-8 ({locale})"));
    }
    Check::gap(
        "terminal",
        "encoding",
        format!("not UTF-8 (locale `{locale}`): charts may show wrong characters"),
        "set LANG=C.UTF-8",
    )
}

pub(super) fn folders(dirs: Option<&Dirs>) -> Vec<Check> {
    let Some(dirs) = dirs else {
        return vec![Check::gap(
            "folders",
            "home",
            "there is no home folder: nothing is kept",
            format!("set {OVERRIDE} to a folder"),
        )];
    };
    dirs.each().into_iter().map(|(name, path)| folder(name, path)).collect()
}

/// Whether a folder, or the nearest one above it that exists, can be written.
fn folder(name: &'static str, path: &Path) -> Check {
    let existing = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
    let shown = path.display();
    if !existing.is_dir() {
        let advice = format!("move {} away, or set {OVERRIDE} to another folder", existing.display());
        return Check::gap(
            "folders",
            name,
            format!("{shown}: {} is not a folder", existing.display()),
            advice,
        );
    }
    if rustix::fs::access(existing, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let advice = format!(
            "check who owns {}, or set {OVERRIDE} to another folder",
            existing.display()
        );
        return Check::gap("folders", name, format!("{shown}: cannot be written"), advice);
    }
    let state = if path.exists() { "" } else { " (not there yet)" };
    Check::ok("folders", name, format!("{shown}{state}"))
}

/// Opens the history only where there is one: looking must not make it.
pub(super) fn history(dirs: Option<&Dirs>) -> Vec<Check> {
    let Some(path) = dirs.map(|dirs| dirs.state.join(history::FILE_NAME)) else {
        return Vec::new();
    };
    if !path.exists() {
        return vec![Check::ok("history", "runs", "none yet")];
    }
    let opened = History::open(&path);
    let count = opened.history.as_ref().map(History::count);
    vec![match (count, opened.message) {
        (Some(Ok(count)), None) => Check::ok("history", "runs", format!("{count} in {}", path.display())),
        (Some(Err(error)), None) => Check::gap(
            "history",
            "runs",
            error.to_string(),
            format!("move {} away; a new one is made", path.display()),
        ),
        (_, message) => Check::gap(
            "history",
            "runs",
            message.unwrap_or_else(|| "cannot be opened".to_owned()),
            format!("runs work without it; the file is {}", path.display()),
        ),
    }]
}

pub(super) fn python() -> Vec<Check> {
    let said = |arguments: &[&str]| {
        let output = Command::new("python3").args(arguments).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    let Some(version) = said(&["--version"]) else {
        return vec![Check::gap(
            "python",
            "python3",
            "not found",
            "only needed for `ridgepoint toolchain install`: install Python 3 with pip",
        )];
    };
    let pip = said(&["-m", "pip", "--version"]).and_then(|text| text.split(' ').nth(1).map(str::to_owned));
    vec![
        Check::ok("python", "python3", version.trim_start_matches("Python ")),
        match pip {
            Some(pip) => Check::ok("python", "pip", pip),
            None => Check::gap(
                "python",
                "pip",
                "not found",
                "`ridgepoint toolchain install` makes an environment with pip; `apt install python3-pip` is faster",
            ),
        },
    ]
}
