//! From a request to something a device can launch: the kernel file, its operator, its compiled modules.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::bench::Bench;
use super::event::Event;
use super::reference::{Reference, blame};
use super::report::{CompileReport, Resources, RunReport};
use super::{RunRequest, Sink};
use crate::device::{Device, DeviceInfo, DeviceKind, Image, ModuleId};
use crate::kernel::plan::Plan;
use crate::kernel::{self, ErrorKind, KernelError, KernelFile};
use crate::problem::{Catalogue, Operator, Source};
use crate::shape::Shape;
use crate::toolchain::{self, CompileFailure, FailureKind, Toolchain};
use crate::verdict::{Class, Evidence, Location, Outcome, Severity, Verdict};

/// A kernel file and the operator that it is judged by.
pub struct Loaded {
    pub file: KernelFile,
    pub operator: Arc<Operator>,
    /// PTX that ships with exactly this text.
    pub shipped: Option<Arc<str>>,
    tune: Vec<(String, i64)>,
}

impl Loaded {
    /// The launch plan for one shape.
    pub fn plan(&self, shape: &Shape, device: &DeviceInfo) -> Outcome<Plan> {
        self.file
            .plan(&self.operator, shape, &device.properties, &self.tune)
            .map_err(|error| Box::new(kernel_verdict(&error)))
    }
}

/// An image with its origin.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub image: Image,
    pub report: CompileReport,
    /// Identifies the content: of the text, the definitions and the target.
    pub key: String,
    /// Warnings, and what did not work but does not matter for the result; one line each.
    pub remarks: Vec<String>,
}

/// What makes an image of a kernel file.
pub trait Compiler {
    /// Compiles a kernel file for a device, with its definitions. `shipped` is PTX that came with the text and may be used
    /// where it was made from exactly this.
    ///
    /// # Errors
    /// `compile_error` with the diagnostics; `environment` where there is no compiler.
    fn compile(
        &mut self,
        file: &KernelFile,
        shipped: Option<&str>,
        defines: &[(String, i64)],
        device: &DeviceInfo,
    ) -> Outcome<Compiled>;
}

impl Compiler for Toolchain {
    fn compile(
        &mut self,
        file: &KernelFile,
        shipped: Option<&str>,
        defines: &[(String, i64)],
        device: &DeviceInfo,
    ) -> Outcome<Compiled> {
        let arch = machine_arch(device);
        let compiled = self
            .compile_kernel(file, shipped, defines, arch.as_deref())
            .map_err(|failure| Box::new(compile_verdict(&failure, file)))?;
        Ok(Compiled {
            image: Image {
                ptx: compiled.ptx,
                cubin: compiled.cubin,
            },
            report: CompileReport {
                compiler: compiled.compiler,
                arch: compiled.arch,
                milliseconds: compiled.milliseconds,
                cached: compiled.cached,
                resources: compiled.resources.iter().map(resources).collect(),
            },
            key: compiled.key,
            remarks: compiled
                .diagnostics
                .iter()
                .map(diagnostic_line)
                .chain(compiled.notes)
                .collect(),
        })
    }
}

/// `sm_90` for a GPU; the emulator runs the PTX itself.
fn machine_arch(device: &DeviceInfo) -> Option<String> {
    if device.kind != DeviceKind::Cuda {
        return None;
    }
    let property = |name: &str| {
        device
            .properties
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    };
    Some(format!("sm_{}{}", property("cc_major")?, property("cc_minor")?))
}

fn resources(of: &toolchain::Resources) -> Resources {
    Resources {
        kernel: of.kernel.clone(),
        registers: of.registers,
        spill_bytes: of.spill_bytes,
        stack_bytes: of.stack_bytes,
        shared_bytes: of.shared_bytes,
    }
}

fn severity(of: toolchain::Severity) -> Severity {
    match of {
        toolchain::Severity::Error => Severity::Error,
        toolchain::Severity::Warning => Severity::Warning,
        toolchain::Severity::Info => Severity::Info,
    }
}

/// `kernel.cu:12: warning: variable "x" was set but never used`
fn diagnostic_line(diagnostic: &toolchain::Diagnostic) -> String {
    let kind = match severity(diagnostic.severity) {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let message = &diagnostic.message;
    match (&diagnostic.file, diagnostic.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: {kind}: {message}"),
        (Some(file), None) => format!("{file}: {kind}: {message}"),
        (None, Some(line)) => format!("line {line}: {kind}: {message}"),
        (None, None) => format!("{kind}: {message}"),
    }
}

/// The verdict for a compilation that gave no code.
pub fn compile_verdict(failure: &CompileFailure, file: &KernelFile) -> Verdict {
    let class = match failure.kind {
        FailureKind::NoCompiler => Class::Environment,
        FailureKind::Rejected => Class::CompileError,
    };
    let mut verdict = Verdict::new(class, failure.message.clone());
    for diagnostic in &failure.diagnostics {
        verdict.evidence.push(Evidence::Diagnostic {
            severity: severity(diagnostic.severity),
            message: diagnostic.message.clone(),
            at: diagnostic.line.map(|line| Location {
                file: diagnostic
                    .file
                    .clone()
                    .unwrap_or_else(|| file.path.display().to_string()),
                line,
                column: diagnostic.column,
            }),
        });
    }
    if failure.diagnostics.is_empty() && !failure.log.trim().is_empty() {
        verdict.evidence.push(Evidence::Note {
            text: failure.log.trim().to_owned(),
        });
    }
    verdict.next.extend(failure.advice.clone());
    verdict
}

/// A compiled candidate, loaded on the device.
#[derive(Debug)]
pub struct Built {
    pub report: CompileReport,
    module: ModuleId,
}

impl Built {
    pub const fn module(&self) -> ModuleId {
        self.module
    }

    pub fn unload(self, device: &mut dyn Device) {
        device.unload(self.module);
    }

    /// `nvrtc 13.0.88, 48 ms`
    pub fn summary(&self) -> String {
        let how = if self.report.cached { ", cached" } else { "" };
        format!("{}, {:.0} ms{how}", self.report.compiler, self.report.milliseconds)
    }
}

/// Lower-case hex of a text's SHA-256.
pub fn sha256(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Loads the kernel of a request and finds its operator; fills in the report's kernel as far as it is known.
pub fn load(request: &RunRequest, bench: &Bench<'_>, report: &mut RunReport) -> Outcome<Loaded> {
    let builtin = if request.kernel_text.is_none() && !request.kernel_path.exists() {
        builtin(bench.catalogue, &request.kernel_path)
    } else {
        None
    };
    let (path, text, shipped) = match &builtin {
        Some(source) => (
            PathBuf::from(&source.name),
            Some(source.text.to_string()),
            source.ptx.clone(),
        ),
        None => (request.kernel_path.clone(), request.kernel_text.clone(), None),
    };
    let file = kernel::load(&path, text.as_deref()).map_err(|error| Box::new(kernel_verdict(&error)))?;
    report.kernel.language = Some(file.language);
    report.kernel.sha256 = sha256(&file.text);
    let operator = operator_of(request, bench.catalogue, &file)?;
    report.operator = Some(operator.name.clone());
    let shipped = shipped.or_else(|| same_text(&operator, &file.text));
    report.kernel.defines = defines(&file, &request.tune)?;
    Ok(Loaded {
        file,
        operator,
        shipped,
        tune: request.tune.clone(),
    })
}

/// A built-in kernel by `operator/kernel`, with or without the file's ending: `rms_norm/starter`.
pub fn builtin(catalogue: &Catalogue, name: &Path) -> Option<Source> {
    let name = name.to_str()?;
    let (operator, kernel) = name.split_once('/')?;
    let operator = catalogue.operator(operator).ok()?;
    let wanted = |source: &&Source| {
        let file = source.name.rsplit('/').next().unwrap_or(&source.name);
        file == kernel || file.rsplit_once('.').is_some_and(|(stem, _)| stem == kernel)
    };
    operator.kernels.iter().chain(&operator.reference).find(wanted).cloned()
}

/// Shipped PTX of a built-in kernel with exactly this text: a copy on disk needs no compiler either.
fn same_text(operator: &Operator, text: &str) -> Option<Arc<str>> {
    let sources = operator.kernels.iter().chain(&operator.reference);
    sources
        .filter(|source| &*source.text == text)
        .find_map(|source| source.ptx.clone())
}

fn operator_of(request: &RunRequest, catalogue: &Catalogue, file: &KernelFile) -> Outcome<Arc<Operator>> {
    let Some(name) = request.operator.as_ref().or(file.header.operator.as_ref()) else {
        return Verdict::new(Class::InvalidKernel, "the header names no operator, and none was given")
            .try_next("add `operator = \"...\"` to the header, or give --op OPERATOR")
            .try_next("`ridgepoint list operators` shows the names")
            .fail();
    };
    let operator = match catalogue.operator(name) {
        Ok(operator) => Arc::clone(operator),
        Err(unknown) => {
            let mut verdict = Verdict::new(Class::InvalidKernel, unknown.reason)
                .try_next("`ridgepoint list operators` shows the names");
            if request.operator.is_none()
                && let Some(place) = file.header.operator_place
            {
                verdict = verdict.with(Evidence::Diagnostic {
                    severity: Severity::Error,
                    message: format!("unknown operator `{name}`"),
                    at: Some(location(&file.path, place)),
                });
            }
            return verdict.fail();
        }
    };
    if !operator.is_complete() {
        return Verdict::new(
            Class::Environment,
            format!(
                "`{}` has no reference yet: nothing can say what is right",
                operator.name
            ),
        )
        .try_next("`ridgepoint list operators` marks the complete operators")
        .try_next("a folder given with --problems may add the reference and the contract")
        .fail();
    }
    Ok(operator)
}

/// The tunables in force: the header's first values, replaced where the request says so.
///
/// # Errors
/// Names a tunable that the header does not have.
fn defines(file: &KernelFile, tune: &[(String, i64)]) -> Outcome<Vec<(String, i64)>> {
    let header = &file.header.tune;
    if let Some((name, _)) = tune
        .iter()
        .find(|(name, _)| !header.iter().any(|known| known.name == *name))
    {
        let known: Vec<&str> = header.iter().map(|tunable| tunable.name.as_str()).collect();
        let advice = if known.is_empty() {
            "its header has no `[tune]`".to_owned()
        } else {
            format!("its tunables are {}", known.join(", "))
        };
        return Verdict::new(Class::InvalidKernel, format!("the kernel has no tunable `{name}`"))
            .try_next(advice)
            .fail();
    }
    Ok(header
        .iter()
        .filter_map(|tunable| {
            let forced = tune
                .iter()
                .find(|(name, _)| *name == tunable.name)
                .map(|(_, value)| *value);
            Some((
                tunable.name.clone(),
                forced.or_else(|| tunable.values.first().copied())?,
            ))
        })
        .collect())
}

/// Compiles the candidate and loads it.
pub fn candidate(loaded: &Loaded, bench: &mut Bench<'_>, sink: &mut Sink<'_>) -> Outcome<Built> {
    let values = defines(&loaded.file, &loaded.tune)?;
    let compiled = bench
        .compiler
        .compile(&loaded.file, loaded.shipped.as_deref(), &values, bench.device.info())?;
    for text in compiled.remarks {
        sink(Event::Log { text });
    }
    let module = bench.device.load(&compiled.image)?;
    Ok(Built {
        report: compiled.report,
        module,
    })
}

/// The reference of an operator, compiled and loaded once, with its plan for one shape.
pub fn reference(operator: &Operator, shape: &Shape, bench: &mut Bench<'_>) -> Outcome<Reference> {
    prepare_reference(operator, shape, bench).map_err(|verdict| Box::new(blame(*verdict, operator)))
}

fn prepare_reference(operator: &Operator, shape: &Shape, bench: &mut Bench<'_>) -> Outcome<Reference> {
    let Some(source) = &operator.reference else {
        return Verdict::new(Class::Environment, "there is no reference yet").fail();
    };
    let path = source.path.clone().unwrap_or_else(|| PathBuf::from(&source.name));
    let file = kernel::load(&path, Some(&source.text)).map_err(|error| Box::new(kernel_verdict(&error)))?;
    let plan = file
        .plan(operator, shape, &bench.device.info().properties, &[])
        .map_err(|error| Box::new(kernel_verdict(&error)))?;
    let compiled = bench
        .compiler
        .compile(&file, source.ptx.as_deref(), &plan.defines, bench.device.info())?;
    let module = bench.warm.module(bench.device, &compiled)?;
    Ok(Reference {
        plan,
        module,
        sha256: sha256(&file.text),
    })
}

fn location(path: &Path, place: kernel::Place) -> Location {
    Location {
        file: path.display().to_string(),
        line: place.line,
        column: Some(place.column),
    }
}

/// The verdict for an error of the kernel file.
pub fn kernel_verdict(error: &KernelError) -> Verdict {
    let class = match error.kind {
        ErrorKind::Unsupported => Class::Unsupported,
        _ => Class::InvalidKernel,
    };
    let mut verdict = Verdict::new(class, error.message.clone()).with(Evidence::Diagnostic {
        severity: Severity::Error,
        message: error.message.clone(),
        at: error.place.map(|place| location(&error.path, place)),
    });
    verdict.next.extend(error.advice.clone());
    if let Some(offer) = &error.offer {
        verdict.evidence.push(Evidence::Note {
            text: format!("offered header:\n{offer}"),
        });
    }
    verdict
}
