//! `ridgepoint doctor`: what is here, and what to do about each gap.

mod checks;

use serde::Serialize;

use super::args::DoctorArgs;
use super::{Exit, print};
use crate::device::{self, DeviceKind, Listing};
use crate::dirs::Dirs;
use crate::problem::Catalogue;
use crate::toolchain::Toolchain;

/// The version of the JSON document's layout.
const SCHEMA: u32 = 1;

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Something is not there; what needs it does not work, the rest does.
    Gap,
    /// Without this, not even the emulator works.
    Broken,
}

impl State {
    const fn mark(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Gap => "gap",
            Self::Broken => "broken",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    area: &'static str,
    name: String,
    state: State,
    found: String,
    /// What to do, where it is not as it should be.
    advice: Option<String>,
}

impl Check {
    fn ok(area: &'static str, name: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            area,
            name: name.into(),
            state: State::Ok,
            found: found.into(),
            advice: None,
        }
    }

    fn gap(area: &'static str, name: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            state: State::Gap,
            advice: Some(advice.into()),
            ..Self::ok(area, name, found)
        }
    }

    fn broken(
        area: &'static str,
        name: impl Into<String>,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            state: State::Broken,
            ..Self::gap(area, name, found, advice)
        }
    }
}

/// What `doctor --json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    /// Kernels can be run, on the emulator at least.
    works: bool,
    checks: &'a [Check],
}

/// Looks at everything.
pub(super) fn run(args: &DoctorArgs) -> Exit {
    let dirs = Dirs::find();
    let (devices, no_cuda) = device::enumerate();
    let checks: Vec<_> = [
        device_checks(&devices, no_cuda.as_deref()),
        checks::driver(),
        compiler_checks(&Toolchain::discover()),
        checks::terminal(),
        checks::folders(dirs.as_ref()),
        checks::history(dirs.as_ref()),
        problem_checks(&Catalogue::load(None)),
        checks::python(),
    ]
    .concat();
    let works = checks.iter().all(|check| check.state != State::Broken);
    if args.json {
        print::json(&Document {
            schema: SCHEMA,
            works,
            checks: &checks,
        });
    } else {
        for line in lines(&checks, works) {
            print::line(line);
        }
    }
    if works { Exit::Passed } else { Exit::Environment }
}

fn lines(checks: &[Check], works: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut area = "";
    for check in checks {
        if check.area != area {
            area = check.area;
            lines.push(area.to_owned());
        }
        lines.push(format!(
            "  {:<6} {:<12} {}",
            check.state.mark(),
            check.name,
            check.found
        ));
        if let Some(advice) = &check.advice {
            lines.push(format!("  {:<6} {:<12} try: {advice}", "", ""));
        }
    }
    let verdict = if works {
        "kernels can be run here"
    } else {
        "kernels cannot be run here: see `broken` above"
    };
    lines.push(verdict.to_owned());
    lines
}

/// `no_cuda` is why there is no CUDA device, where there is none.
fn device_checks(devices: &[Listing], no_cuda: Option<&str>) -> Vec<Check> {
    let mut checks: Vec<_> = devices
        .iter()
        .map(|device| {
            let memory = device.memory_bytes / 1_000_000_000;
            Check::ok(
                "devices",
                &device.id,
                format!("{}, {memory} GB, {}", device.name, device.note),
            )
        })
        .collect();
    if let Some(reason) = no_cuda {
        checks.push(Check::gap(
            "devices",
            "cuda",
            format!("{reason}: kernels run on the emulator, which verifies but does not time"),
            "on a machine with an NVIDIA GPU, install its driver (`nvidia-smi` must list the GPU)",
        ));
    }
    if !devices.iter().any(|device| device.kind == DeviceKind::Emulator) {
        checks.push(Check::broken(
            "devices",
            "emulator",
            "the emulator does not start",
            "this is a fault of the program: please report it",
        ));
    }
    checks
}

fn compiler_checks(toolchain: &Toolchain) -> Vec<Check> {
    let status = toolchain.status();
    let mut checks: Vec<_> = status
        .tools
        .iter()
        .map(|tool| {
            let place = match (&tool.path, tool.origin) {
                (Some(path), Some(origin)) => format!("{} ({})", path.display(), origin.describe()),
                _ => "found by the dynamic linker".to_owned(),
            };
            let install = "ridgepoint toolchain install";
            match (&tool.version, &tool.problem) {
                (Some(version), None) => Check::ok("compilers", tool.name, format!("{version}, {place}")),
                (_, Some(problem)) if tool.path.is_some() => Check::gap(
                    "compilers",
                    tool.name,
                    format!("{place} cannot be used: {problem}"),
                    install,
                ),
                _ => Check::gap("compilers", tool.name, format!("not found ({})", tool.purpose), install),
            }
        })
        .collect();
    checks.push(match status.headers.first() {
        Some(folder) => Check::ok("compilers", "headers", folder.display().to_string()),
        None => Check::gap(
            "compilers",
            "headers",
            "CUDA's headers (cuda_bf16.h) were not found",
            "ridgepoint toolchain install",
        ),
    });
    checks
}

fn problem_checks(catalogue: &Catalogue) -> Vec<Check> {
    let count = catalogue.operators.len();
    let mut checks = vec![if count == 0 {
        Check::broken(
            "problems",
            "operators",
            "none",
            "this is a fault of the program: please report it",
        )
    } else {
        Check::ok("problems", "operators", count.to_string())
    }];
    checks.extend(catalogue.broken.iter().map(|broken| {
        let line = broken.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = format!("{}{line}", broken.file.display());
        Check::gap(
            "problems",
            &broken.name,
            &broken.reason,
            format!("correct {place} (`ridgepoint check` says more)"),
        )
    }));
    checks
}
