//! ptxas: PTX to machine code for one architecture, and what it says of registers, spills and shared memory.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::diagnostics::{Diagnostic, Severity};
use super::process;

/// Far above any kernel's assembly time; ptxas has been seen to take minutes on generated code.
const LIMIT: Duration = Duration::from_mins(5);

/// What ptxas says of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    pub kernel: String,
    pub registers: u32,
    pub spill_bytes: u32,
    pub stack_bytes: u32,
    pub shared_bytes: u32,
}

/// How an assembly ended.
#[derive(Debug)]
pub(super) enum Assembly {
    Done {
        cubin: Vec<u8>,
        log: String,
    },
    /// The code is at fault.
    Rejected {
        log: String,
    },
    /// Something else is: this ptxas is too old, or cannot be run. Nothing is known of the code.
    Unavailable(String),
}

/// Why ptxas could not take the code, when it is not the code's fault: it knows no such PTX version or target.
const NOT_THE_CODE: [&str; 3] = [
    "Unsupported .version",
    "is not defined for option 'gpu-name'",
    "SM version specified by .target",
];

/// The architecture to assemble for: the device's, unless the code asks for features of exactly one (`sm_90a`).
///
/// # Errors
/// Says why this code cannot run on that device.
pub(super) fn target(ptx: &str, device_arch: &str) -> Result<String, String> {
    let wanted = target_of(ptx);
    let number = |arch: &str| {
        arch.trim_start_matches("sm_")
            .trim_end_matches(['a', 'f'])
            .parse::<u32>()
            .ok()
    };
    let (Some(code), Some(device)) = (number(wanted), number(device_arch)) else {
        return Ok(device_arch.to_owned());
    };
    let only = wanted.ends_with(['a', 'f']);
    if only && code != device || code > device {
        return Err(format!("the code is for {wanted}, the device is {device_arch}"));
    }
    Ok(if only { wanted } else { device_arch }.to_owned())
}

/// The architecture in the `.target` line; empty where there is none.
pub(super) fn target_of(ptx: &str) -> &str {
    ptx.lines()
        .find_map(|line| line.trim().strip_prefix(".target"))
        .and_then(|rest| rest.split([',', '/']).next())
        .map_or("", str::trim)
}

/// Assembles in a folder of its own, which is removed afterwards.
pub(super) fn assemble(ptxas: &Path, ptx: &str, arch: &str) -> Assembly {
    let folder = match Scratch::new() {
        Ok(folder) => folder,
        Err(error) => return Assembly::Unavailable(format!("no temporary folder for ptxas: {error}")),
    };
    let input = folder.0.join("kernel.ptx");
    let output = folder.0.join("kernel.cubin");
    if let Err(error) = std::fs::write(&input, ptx) {
        return Assembly::Unavailable(format!("{}: {error}", input.display()));
    }
    let mut command = Command::new(ptxas);
    command
        .args(["--verbose", "--generate-line-info"])
        .arg(format!("--gpu-name={arch}"))
        .arg("--output-file")
        .args([&output, &input]);
    let ended = match process::run(&mut command, LIMIT) {
        Ok(ended) => ended,
        Err(error) => return Assembly::Unavailable(error),
    };
    // The temporary path means nothing to anyone.
    let log = ended.stderr.replace(&*input.to_string_lossy(), "kernel.ptx");
    if !ended.status.success() {
        if NOT_THE_CODE.iter().any(|sign| log.contains(sign)) || !log.contains("ptxas") {
            return Assembly::Unavailable(log);
        }
        return Assembly::Rejected { log };
    }
    match std::fs::read(&output) {
        Ok(cubin) => Assembly::Done { cubin, log },
        Err(error) => Assembly::Unavailable(format!("{}: {error}", output.display())),
    }
}

/// A temporary folder, removed when dropped.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let nanos = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
        let name = format!("ridgepoint-{}-{number}-{nanos}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it being gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads the figures of every entry function out of ptxas's verbose log.
pub(super) fn resources(log: &str) -> Vec<Resources> {
    let mut found: Vec<Resources> = Vec::new();
    let mut of_entry = false;
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            found.push(Resources {
                kernel: rest.split('\'').next().unwrap_or(rest).to_owned(),
                ..Resources::default()
            });
            of_entry = true;
        } else if let Some(name) = line.split("Function properties for ").nth(1) {
            // Device functions that were not inlined have properties too.
            of_entry = found.last().is_some_and(|last| last.kernel == name.trim());
        }
        let Some(last) = found.last_mut() else { continue };
        if let Some(bytes) = before(line, " bytes stack frame").filter(|_| of_entry) {
            last.stack_bytes = bytes;
            last.spill_bytes =
                before(line, " bytes spill stores").unwrap_or(0) + before(line, " bytes spill loads").unwrap_or(0);
        }
        if let Some(registers) = before(line, " registers") {
            last.registers = registers;
            last.shared_bytes = before(line, " bytes smem").unwrap_or(0);
        }
    }
    found
}

/// The number in front of a phrase.
fn before(line: &str, phrase: &str) -> Option<u32> {
    let (left, _) = line.split_once(phrase)?;
    let digits = left
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(left, |at| &left[at + 1..]);
    digits.parse().ok()
}

/// Reads errors and warnings. `at_line` turns a line of the PTX into the line of the kernel file, where it is known.
pub(super) fn diagnostics(log: &str, at_line: &dyn Fn(u32) -> Option<u32>) -> Vec<Diagnostic> {
    log.lines()
        .filter_map(|line| {
            let rest = line.strip_prefix("ptxas ")?;
            let (place, rest) = match rest.split_once("; ") {
                Some((place, rest)) if place.contains(", line ") => (Some(place), rest),
                _ => (None, rest),
            };
            let (label, message) = rest.split_once(':')?;
            let severity = match label.trim() {
                "error" | "fatal" => Severity::Error,
                "warning" => Severity::Warning,
                _ => return None,
            };
            let ptx_line = place.and_then(|place| place.rsplit(' ').next()?.parse().ok());
            // The last line only repeats that there was an error.
            (message.trim() != "Ptx assembly aborted due to errors").then(|| Diagnostic {
                severity,
                message: message.trim().to_owned(),
                file: None,
                line: ptx_line.and_then(at_line),
                column: None,
                excerpt: None,
            })
        })
        .collect()
}

/// The source line that a line of PTX was made from: by the last `.loc` of file `name` above it, within its function.
pub(super) fn source_line(ptx: &str, name: &str, ptx_line: u32) -> Option<u32> {
    let file = ptx.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(".file")?.trim_start();
        let (number, path) = rest.split_once(char::is_whitespace)?;
        path.contains(&format!("\"{name}\"")).then_some(number)
    })?;
    let mut found = None;
    for line in ptx.lines().take(ptx_line as usize) {
        let line = line.trim();
        if line.contains(".entry ") || line.contains(".func ") {
            found = None;
        }
        if let Some(rest) = line.strip_prefix(".loc") {
            let mut parts = rest.split_whitespace();
            if parts.next() == Some(file) {
                found = parts.next().and_then(|line| line.parse().ok());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Function properties for helper
    999 bytes stack frame, 9 bytes spill stores, 9 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 368 bytes cmem[0]
";

    #[test]
    fn figures_per_kernel() {
        let found = resources(LOG);
        assert_eq!(
            found,
            [
                Resources {
                    kernel: "k".to_owned(),
                    registers: 40,
                    spill_bytes: 20,
                    stack_bytes: 16,
                    shared_bytes: 1024,
                },
                Resources {
                    kernel: "second".to_owned(),
                    registers: 8,
                    ..Resources::default()
                },
            ]
        );
    }

    #[test]
    fn errors_are_put_at_source_lines() {
        let ptx = ".entry k()\n{\n.loc 1 7 3\nadd.f32 a, b, c;\n.loc 2 99 1\nld.globl x;\n}\n.entry l() {\nbad;\n}\n.file 1 \"k.cu\"\n.file 2 \"x.h\"\n";
        assert_eq!(source_line(ptx, "k.cu", 4), Some(7));
        assert_eq!(source_line(ptx, "k.cu", 6), Some(7));
        assert_eq!(source_line(ptx, "k.cu", 9), None);
        let log = "ptxas kernel.ptx, line 4; error   : Unknown modifier '.globl'\nptxas error   : Entry function 'k' uses too much shared data\nptxas fatal   : Ptx assembly aborted due to errors\n";
        let found = diagnostics(log, &|line| source_line(ptx, "k.cu", line));
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].line, found[0].message.as_str()),
            (Some(7), "Unknown modifier '.globl'")
        );
        assert_eq!(found[1].line, None);
    }

    #[test]
    fn targets() {
        let target = |wanted: &str, device: &str| super::target(&format!(".version 9.0\n.target {wanted}\n"), device);
        assert_eq!(target("sm_80", "sm_90"), Ok("sm_90".to_owned()));
        assert_eq!(target("sm_90a", "sm_90"), Ok("sm_90a".to_owned()));
        assert_eq!(target("sm_90a, debug", "sm_90"), Ok("sm_90a".to_owned()));
        assert_eq!(
            target("sm_90a", "sm_100"),
            Err("the code is for sm_90a, the device is sm_100".to_owned())
        );
        assert_eq!(
            target("sm_90", "sm_80"),
            Err("the code is for sm_90, the device is sm_80".to_owned())
        );
    }
}
