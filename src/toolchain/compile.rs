//! Compiling: CUDA C++ to PTX, PTX to machine code, each step out of the cache where it was done before.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::cache::{Entry, Key};
use super::diagnostics::{self, Diagnostic, Severity};
use super::ptxas::{self, Assembly, Resources};
use super::{Toolchain, identity, shipped};
use crate::kernel::{KernelFile, Language};

/// The virtual architecture that CUDA C++ is compiled for where nothing else is asked: the oldest that has what the
/// built-in kernels use (bf16 arithmetic, asynchronous copies), so that one PTX serves every newer device.
pub const DEFAULT_ARCH: &str = "compute_80";

/// The compiler of a kernel that is PTX already.
const AS_WRITTEN: &str = "PTX as written";

/// How the message of a missing compiler begins.
pub(super) const NO_COMPILER: &str = "no CUDA C++ compiler: ";

/// What to compile.
#[derive(Clone, Copy, Debug)]
pub struct CompileRequest<'a> {
    /// File name of the source, as messages and line tables are to call it.
    pub name: &'a str,
    pub source: &'a str,
    /// `compute_80`, `compute_90a`.
    pub arch: &'a str,
    /// Passed as `-DNAME=value`.
    pub defines: &'a [(String, i64)],
    /// Further options, as they are.
    pub options: &'a [String],
    /// Assemble for this architecture too (`sm_90`), where ptxas is there.
    pub device_arch: Option<&'a str>,
}

/// What the compilers made.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    pub ptx: Arc<str>,
    /// Machine code for `arch`, where ptxas made it.
    pub cubin: Option<Arc<[u8]>>,
    /// Everything the compilers said.
    pub log: String,
    /// The same, taken apart; no errors among them.
    pub diagnostics: Vec<Diagnostic>,
    /// By kernel; empty without ptxas.
    pub resources: Vec<Resources>,
    /// Wall-clock time of all steps, those out of the cache included.
    pub milliseconds: f64,
    /// No compiler had to run.
    pub cached: bool,
    /// `nvrtc 13.0.88`, `shipped PTX (nvrtc 13.0.88)`.
    pub compiler: String,
    /// What the code is for: `sm_90` with machine code, else the target of the PTX.
    pub arch: String,
    /// What did not work but does not matter for the result: no cache, no ptxas for this architecture.
    pub notes: Vec<String>,
    /// Identifies the content: equal keys mean equal code.
    pub key: String,
}

/// Why there is no code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// NVRTC is not there or cannot be used: the environment's fault.
    NoCompiler,
    /// The source is at fault.
    Rejected,
}

/// A compilation that gave no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileFailure {
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    pub log: String,
    pub diagnostics: Vec<Diagnostic>,
    /// What to do.
    pub advice: Option<String>,
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CompileFailure {}

/// One step's entry, whether it came out of the cache, and its key.
struct Step {
    entry: Entry,
    cached: bool,
    key: String,
}

impl Toolchain {
    /// Compiles a kernel file with these tunables. Shipped PTX is used where it was made from the same text, options and
    /// tunables; then no compiler is needed. The text of a `.ptx` file is taken as it is.
    ///
    /// # Errors
    /// Where a compiler rejects the source, or none is there.
    pub fn compile_kernel(
        &self,
        file: &KernelFile,
        shipped: Option<&str>,
        defines: &[(String, i64)],
        device_arch: Option<&str>,
    ) -> Result<Compiled, Box<CompileFailure>> {
        let name = file
            .path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if file.language == Language::Ptx {
            return self.take_ptx(&file.text, AS_WRITTEN, &name, device_arch);
        }
        let arch = virtual_arch(file.header.compile.arch.as_deref());
        let request = CompileRequest {
            name: &name,
            source: &file.text,
            arch: &arch,
            defines,
            options: &file.header.compile.options,
            device_arch,
        };
        match shipped {
            Some(ptx) => self.compile_shipped(ptx, &request),
            None => self.compile(&request),
        }
    }

    /// Uses shipped PTX where it was made from exactly this request, and compiles otherwise.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_shipped(&self, ptx: &str, request: &CompileRequest<'_>) -> Result<Compiled, Box<CompileFailure>> {
        match shipped::Head::of(ptx) {
            Some(head) if head.sha256 == shipped::digest(request) => {
                let compiler = format!("shipped PTX ({})", head.compiler);
                self.take_ptx(ptx, &compiler, request.name, request.device_arch)
            }
            _ => self.compile(request),
        }
    }

    /// Compiles CUDA C++.
    ///
    /// # Errors
    /// Where a compiler rejects the source, or none is there.
    pub fn compile(&self, request: &CompileRequest<'_>) -> Result<Compiled, Box<CompileFailure>> {
        let start = Instant::now();
        let mut notes = Vec::new();
        let step = self.to_ptx(request, &mut notes)?;
        let ptx = String::from_utf8_lossy(&step.entry.code).into_owned();
        let mut compiled = Compiled {
            ptx: Arc::from(ptx),
            log: step.entry.log,
            diagnostics: step.entry.diagnostics,
            cached: step.cached,
            compiler: step.entry.compiler,
            arch: request.arch.to_owned(),
            notes,
            key: step.key,
            ..Compiled::default()
        };
        if let Some(device_arch) = request.device_arch {
            let ptx = Arc::clone(&compiled.ptx);
            let at_line = |line| ptxas::source_line(&ptx, &safe_name(request.name), line);
            self.add_machine_code(&mut compiled, device_arch, &at_line)?;
        }
        compiled.milliseconds = start.elapsed().as_secs_f64() * 1e3;
        Ok(compiled)
    }

    /// PTX that is already there: only machine code can be added.
    fn take_ptx(
        &self,
        ptx: &str,
        compiler: &str,
        name: &str,
        device_arch: Option<&str>,
    ) -> Result<Compiled, Box<CompileFailure>> {
        let start = Instant::now();
        let mut compiled = Compiled {
            ptx: Arc::from(ptx),
            cached: true,
            compiler: compiler.to_owned(),
            arch: ptxas::target_of(ptx).to_owned(),
            key: Key::new("ptx").field(ptx).finish(),
            ..Compiled::default()
        };
        if let Some(device_arch) = device_arch {
            let written = compiler == AS_WRITTEN;
            let at_line = |line| {
                if written {
                    Some(line)
                } else {
                    ptxas::source_line(ptx, name, line)
                }
            };
            self.add_machine_code(&mut compiled, device_arch, &at_line)?;
        }
        compiled.milliseconds = start.elapsed().as_secs_f64() * 1e3;
        Ok(compiled)
    }

    fn to_ptx(&self, request: &CompileRequest<'_>, notes: &mut Vec<String>) -> Result<Step, Box<CompileFailure>> {
        let options = self.options(request);
        let key = self.ptx_key(request, &options);
        let cacheable = !request.options.iter().any(|option| reads_files(option));
        if cacheable && let Some(entry) = self.cache.get(&key) {
            return Ok(Step {
                entry,
                cached: true,
                key,
            });
        }
        let nvrtc = self.nvrtc().map_err(|reason| Box::new(no_compiler(reason)))?;
        let name = safe_name(request.name);
        let output = nvrtc.compile(request.source, &name, &options);
        let diagnostics = diagnostics::parse_nvrtc(&output.log, &name, request.source);
        let ptx = match output.ptx {
            Ok(ptx) => ptx,
            Err(error) => {
                return Err(Box::new(rejected(
                    &error,
                    output.log,
                    diagnostics,
                    self.found().includes.is_empty(),
                )));
            }
        };
        let entry = Entry {
            compiler: compiler_of(&ptx, nvrtc.version),
            log: output.log,
            diagnostics,
            resources: Vec::new(),
            code: portable(&ptx, &name, &self.found().includes).into_bytes(),
        };
        if cacheable {
            notes.extend(self.cache.put(&key, &entry).err());
        }
        Ok(Step {
            entry,
            cached: false,
            key,
        })
    }

    fn options(&self, request: &CompileRequest<'_>) -> Vec<String> {
        let mut options = vec![
            format!("--gpu-architecture={}", request.arch),
            "--generate-line-info".to_owned(),
        ];
        options.extend(request.defines.iter().map(|(name, value)| {
            // A negative value in parentheses cannot join with a minus before it.
            if *value < 0 {
                format!("-D{name}=({value})")
            } else {
                format!("-D{name}={value}")
            }
        }));
        options.extend(
            self.found()
                .includes
                .iter()
                .map(|folder| format!("-I{}", folder.display())),
        );
        options.extend(request.options.iter().cloned());
        options
    }

    fn ptx_key(&self, request: &CompileRequest<'_>, options: &[String]) -> String {
        let library = self
            .found()
            .nvrtc
            .as_ref()
            .map_or_else(String::new, |place| identity(&place.path));
        let key = Key::new("nvrtc")
            .field(&library)
            .field(request.name)
            .field(request.source);
        options.iter().fold(key, |key, option| key.field(option)).finish()
    }

    fn add_machine_code(
        &self,
        compiled: &mut Compiled,
        device_arch: &str,
        at_line: &dyn Fn(u32) -> Option<u32>,
    ) -> Result<(), Box<CompileFailure>> {
        let Some(program) = self.ptxas() else { return Ok(()) };
        let arch = match ptxas::target(&compiled.ptx, device_arch) {
            Ok(arch) => arch,
            Err(reason) => {
                compiled.notes.push(format!("no machine code: {reason}"));
                return Ok(());
            }
        };
        let key = Key::new("ptxas")
            .field(&identity(program))
            .field(&arch)
            .field(&compiled.ptx)
            .finish();
        let entry = match self.cache.get(&key) {
            Some(entry) => entry,
            None => match ptxas::assemble(program, &compiled.ptx, &arch) {
                Assembly::Done { cubin, log } => {
                    let entry = Entry {
                        compiler: "ptxas".to_owned(),
                        resources: ptxas::resources(&log),
                        diagnostics: ptxas::diagnostics(&log, at_line),
                        log,
                        code: cubin,
                    };
                    compiled.cached = false;
                    compiled.notes.extend(self.cache.put(&key, &entry).err());
                    entry
                }
                Assembly::Unavailable(reason) => {
                    compiled.notes.push(format!("no machine code: {}", reason.trim()));
                    return Ok(());
                }
                Assembly::Rejected { log } => {
                    let diagnostics = ptxas::diagnostics(&log, at_line);
                    return Err(Box::new(rejected(
                        &format!("ptxas failed for {arch}"),
                        log,
                        diagnostics,
                        false,
                    )));
                }
            },
        };
        compiled.cubin = Some(Arc::from(entry.code));
        compiled.resources = entry.resources;
        compiled.diagnostics.extend(entry.diagnostics);
        compiled.log.push_str(&entry.log);
        compiled.arch = arch;
        compiled.key = key;
        Ok(())
    }
}

/// `sm_90a` as the virtual architecture that PTX is made for: `compute_90a`.
pub(super) fn virtual_arch(arch: Option<&str>) -> String {
    match arch.map(|arch| arch.strip_prefix("sm_").ok_or(arch)) {
        Some(Ok(number)) => format!("compute_{number}"),
        Some(Err(arch)) => arch.to_owned(),
        None => DEFAULT_ARCH.to_owned(),
    }
}

/// Whether an option brings files into the source that the key does not see.
fn reads_files(option: &str) -> bool {
    [
        "-I",
        "--include-path",
        "-include",
        "--pre-include",
        "--use-pch",
        "-pch",
        "--pch",
    ]
    .iter()
    .any(|prefix| option.starts_with(prefix))
}

/// A file name that the compiler's log and line tables can hold.
fn safe_name(name: &str) -> String {
    if name.is_empty() {
        return "kernel.cu".to_owned();
    }
    name.chars()
        .map(|c| {
            if c.is_control() || matches!(c, '"' | '\\' | '(' | ')') {
                '_'
            } else {
                c
            }
        })
        .collect()
}

/// `nvrtc 13.0.88`: the full version stands in the PTX only.
fn compiler_of(ptx: &str, version: (i32, i32)) -> String {
    let full = ptx
        .lines()
        .take_while(|line| line.starts_with("//"))
        .find_map(|line| line.split(", V").nth(1))
        .map(|version| version.trim().to_owned());
    format!(
        "nvrtc {}",
        full.unwrap_or_else(|| format!("{}.{}", version.0, version.1))
    )
}

/// Takes this machine's folders out of the line tables: the kernel file is called by its name alone, and CUDA's headers
/// by their path under the header folder.
fn portable(ptx: &str, name: &str, includes: &[std::path::PathBuf]) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let parts: Vec<_> = line.splitn(3, '"').collect();
        match parts[..] {
            [head, path, tail] if head.trim_start().starts_with(".file") => {
                let header = includes
                    .iter()
                    .find_map(|folder| std::path::Path::new(path).strip_prefix(folder).ok());
                let own = path.rsplit('/').next() == Some(name);
                let short = match header {
                    Some(header) => header.to_string_lossy().into_owned(),
                    None if own => name.to_owned(),
                    None => path.to_owned(),
                };
                text.extend([head, "\"", &short, "\"", tail]);
            }
            _ => text.push_str(line),
        }
    }
    text
}

fn no_compiler(reason: &str) -> CompileFailure {
    CompileFailure {
        kind: FailureKind::NoCompiler,
        message: format!("{NO_COMPILER}{reason}"),
        log: String::new(),
        diagnostics: Vec::new(),
        advice: Some(format!(
            "run `ridgepoint toolchain install`, or set CUDA_HOME or {} to where NVRTC is",
            super::NVRTC_VARIABLE
        )),
    }
}

fn rejected(error: &str, log: String, diagnostics: Vec<Diagnostic>, no_headers: bool) -> CompileFailure {
    let errors: Vec<_> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    let place = |diagnostic: &Diagnostic| match (&diagnostic.file, diagnostic.line) {
        (None, Some(line)) => format!("line {line}: "),
        (Some(file), Some(line)) => format!("{file}, line {line}: "),
        _ => String::new(),
    };
    let message = match errors.first() {
        Some(first) if errors.len() == 1 => format!("{}{}", place(first), first.message),
        Some(first) => format!(
            "{} errors, the first in {}{}",
            errors.len(),
            place(first),
            first.message
        ),
        None => error.to_owned(),
    };
    // An NVRTC that misses its own parts says so in its log; the source is not at fault then.
    let broken =
        log.contains("libnvrtc-builtins") || error.contains("BUILTIN_OPERATION") || error.contains("OUT_OF_MEMORY");
    let missing_header = no_headers && log.contains("could not open source file");
    CompileFailure {
        kind: if broken {
            FailureKind::NoCompiler
        } else {
            FailureKind::Rejected
        },
        message,
        log,
        diagnostics,
        advice: (broken || missing_header)
            .then(|| "run `ridgepoint toolchain install`: it brings a complete NVRTC and CUDA's headers".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_tables_name_no_folders_of_this_machine() {
        let ptx = "\t.file\t1 \"/home/me/work/k.cu\"\n\t.file\t2 \"/opt/inc/cuda_bf16.hpp\"\nadd \"/opt/inc/x\";\n";
        assert_eq!(
            portable(ptx, "k.cu", &["/opt/inc".into()]),
            "\t.file\t1 \"k.cu\"\n\t.file\t2 \"cuda_bf16.hpp\"\nadd \"/opt/inc/x\";\n"
        );
    }

    #[test]
    fn architectures() {
        assert_eq!(virtual_arch(None), "compute_80");
        assert_eq!(virtual_arch(Some("sm_90a")), "compute_90a");
        assert_eq!(virtual_arch(Some("compute_100")), "compute_100");
    }

    #[test]
    fn the_compilers_full_version_is_in_the_ptx() {
        let ptx = "//\n// Cuda compilation tools, release 13.0, V13.0.88\n//\n.version 9.0\n";
        assert_eq!(compiler_of(ptx, (13, 0)), "nvrtc 13.0.88");
        assert_eq!(compiler_of(".version 9.0", (12, 8)), "nvrtc 12.8");
    }
}
