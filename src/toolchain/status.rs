//! What compilers are here, whether they work, and which version they are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Serialize;

use super::{CompileRequest, DEFAULT_ARCH, Origin, Place, Toolchain, process};

/// A tool that only has to print its version.
const LIMIT: Duration = Duration::from_secs(20);

/// One compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tool {
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// Without this one, CUDA C++ cannot be compiled here.
    pub required: bool,
    pub path: Option<PathBuf>,
    pub origin: Option<Origin>,
    pub version: Option<String>,
    /// Why it cannot be used although it is there.
    pub problem: Option<String>,
}

impl Tool {
    pub const fn works(&self) -> bool {
        self.version.is_some() && self.problem.is_none()
    }
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    pub tools: Vec<Tool>,
    /// Folders of CUDA's headers (`cuda_bf16.h`).
    pub headers: Vec<PathBuf>,
    /// Where `toolchain install` puts its own.
    pub install_folder: Option<PathBuf>,
}

impl Status {
    /// Whether CUDA C++ can be compiled.
    pub fn can_compile(&self) -> bool {
        self.tools.iter().all(|tool| !tool.required || tool.works())
    }
}

impl Toolchain {
    /// Tries every tool: NVRTC with an empty kernel, the programs with `--version`.
    pub fn status(&self) -> Status {
        let found = self.found();
        Status {
            tools: vec![
                self.nvrtc_status(),
                program("ptxas", "machine code, registers, spills", found.ptxas.as_ref()),
                program("nvdisasm", "disassembly", found.nvdisasm.as_ref()),
                program("cuobjdump", "looking into compiled files", found.cuobjdump.as_ref()),
            ],
            headers: found.includes.clone(),
            install_folder: self.dirs.as_ref().map(super::install_folder),
        }
    }

    fn nvrtc_status(&self) -> Tool {
        let place = self.found().nvrtc.as_ref();
        let request = CompileRequest {
            name: "status.cu",
            source: "extern \"C\" __global__ void status() {}\n",
            arch: DEFAULT_ARCH,
            defines: &[],
            options: &[],
            device_arch: None,
        };
        // Past the cache: the question is whether the library works now.
        let uncached = Self {
            dirs: self.dirs.clone(),
            cache: super::Cache::new(None),
            near: self.near.clone(),
            found: self.found.clone(),
            nvrtc: self.nvrtc.clone(),
        };
        let (version, problem) = match uncached.compile(&request) {
            Ok(compiled) => (compiled.compiler.strip_prefix("nvrtc ").map(str::to_owned), None),
            Err(failure) => {
                let reason = failure.message;
                let reason = reason.strip_prefix(super::compile::NO_COMPILER).unwrap_or(&reason);
                (None, Some(reason.to_owned()))
            }
        };
        Tool {
            name: "nvrtc",
            purpose: "CUDA C++ to PTX",
            required: true,
            path: place.map(|place| place.path.clone()),
            origin: place.map(|place| place.origin),
            version,
            problem,
        }
    }
}

fn program(name: &'static str, purpose: &'static str, place: Option<&Place>) -> Tool {
    let mut tool = Tool {
        name,
        purpose,
        required: false,
        path: place.map(|place| place.path.clone()),
        origin: place.map(|place| place.origin),
        version: None,
        problem: None,
    };
    if let Some(place) = place {
        match version(&place.path) {
            Ok(version) => tool.version = Some(version),
            Err(problem) => tool.problem = Some(problem),
        }
    }
    tool
}

/// The version in `Cuda compilation tools, release 13.0, V13.0.88`.
fn version(path: &Path) -> Result<String, String> {
    let ended = process::run(Command::new(path).arg("--version"), LIMIT)?;
    ended
        .stdout
        .lines()
        .find_map(|line| line.split(", V").nth(1))
        .map(|version| version.trim().to_owned())
        .ok_or_else(|| {
            format!(
                "{} --version does not say its version ({})",
                path.display(),
                ended.status
            )
        })
}
