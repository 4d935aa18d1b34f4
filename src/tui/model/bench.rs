//! The Bench: the open kernel, the shape looked at, and what is known of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::kernel::Language;
use crate::measure::report::{RunReport, ShapeReport};
use crate::problem::Operator;
use crate::shape::Shape;
use crate::tui::editor::Editor;
use crate::verdict::{Class, Evidence, Location, Severity};

/// A pane of the Bench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Code,
    Verdict,
    Roofline,
    History,
}

impl Pane {
    pub const ALL: [Self; 4] = [Self::Code, Self::Verdict, Self::Roofline, Self::History];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Code => "Code",
            Self::Verdict => "Verdict",
            Self::Roofline => "Roofline",
            Self::History => "History",
        }
    }

    pub fn moved(self, step: isize) -> Self {
        let count = Self::ALL.len() as isize;
        Self::ALL[(self as isize + step).rem_euclid(count) as usize]
    }
}

/// Where a kernel's text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Part of the program or of a problem folder: read-only.
    BuiltIn,
    /// A file of the user's.
    File(PathBuf),
    /// Taken from the history.
    Version(u32),
}

/// A kernel as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelText {
    /// As titles show it: `rms_norm/starter.cu`.
    pub name: String,
    pub operator: Option<String>,
    pub language: Language,
    pub origin: Origin,
    pub text: Arc<str>,
}

/// The Bench's state.
#[expect(clippy::struct_excessive_bools, reason = "independent switches of one screen")]
#[derive(Clone, Debug, Default)]
pub struct Bench {
    pub operator: Option<Arc<Operator>>,
    pub kernel: Option<KernelText>,
    pub editor: Editor,
    /// Index into [`Bench::shapes`].
    pub shape: usize,
    pub pane: Pane,
    pub typing: bool,
    /// Typing starts as soon as the copy that was asked for is there.
    pub edit_when_opened: bool,
    pub zoomed: bool,
    /// Lines that the verdict is scrolled by.
    pub scroll: usize,
    /// The last finished run of this kernel.
    pub report: Option<Box<RunReport>>,
    /// What is known of each shape of this kernel.
    pub reports: BTreeMap<String, ShapeReport>,
    /// The editor's revision that the last run saw.
    pub ran_revision: u64,
    pub run_on_save: bool,
    /// The file's text on disk, where it differs from what was read or saved.
    pub changed_outside: Option<Arc<str>>,
}

/// A message at a line of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// From 1.
    pub line: usize,
    pub severity: Severity,
    pub message: String,
}

impl Bench {
    /// The operator's shapes: the published ones, then the small twins.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.operator
            .iter()
            .flat_map(|operator| operator.shapes.iter().chain(&operator.twins))
    }

    pub fn current_shape(&self) -> Option<&Shape> {
        self.shapes().nth(self.shape)
    }

    /// The report of the shape looked at.
    pub fn current_report(&self) -> Option<&ShapeReport> {
        self.reports.get(&self.current_shape()?.id)
    }

    /// Whether the text is not what the last run saw.
    pub fn is_stale(&self) -> bool {
        self.ran_revision != self.editor.revision()
    }

    pub fn read_only(&self) -> bool {
        !matches!(&self.kernel, Some(kernel) if matches!(kernel.origin, Origin::File(_)))
    }

    pub fn path(&self) -> Option<&PathBuf> {
        match &self.kernel.as_ref()?.origin {
            Origin::File(path) => Some(path),
            _ => None,
        }
    }

    /// The index of the next shape, after the current one and round, that did not pass.
    pub fn next_failing(&self) -> Option<usize> {
        let ids: Vec<&str> = self.shapes().map(|shape| shape.id.as_str()).collect();
        (1..=ids.len())
            .map(|step| (self.shape + step) % ids.len())
            .find(|&index| {
                self.reports
                    .get(ids[index])
                    .is_some_and(|report| report.status != Class::Passed)
            })
    }

    /// What the verdict says of lines of the code, in line order.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        if self.is_stale() {
            return Vec::new();
        }
        let of_run = self.report.iter().flat_map(|report| &report.evidence);
        let of_shape = self.current_report().into_iter().flat_map(|report| &report.evidence);
        let mut found: Vec<Diagnostic> = of_run.chain(of_shape).filter_map(diagnostic).collect();
        // Errors first, so that the line shows the message that matters; otherwise in the order of the compiler.
        found.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.severity != Severity::Error));
        found.dedup();
        found
    }
}

fn diagnostic(evidence: &Evidence) -> Option<Diagnostic> {
    let (at, severity, message): (&Option<Location>, _, _) = match evidence {
        Evidence::Diagnostic { severity, message, at } => (at, *severity, message.clone()),
        Evidence::Missing { what, at } => (at, Severity::Error, format!("not supported here: {what}")),
        Evidence::Access { access, space, at, .. } => (at, Severity::Error, format!("{access}, {space} memory")),
        Evidence::Waiting { barrier, at, .. } => (at, Severity::Error, format!("threads wait at barrier {barrier}")),
        Evidence::Output(_) | Evidence::Note { .. } => return None,
    };
    let at = at.as_ref().filter(|at| at.file.is_empty() && at.line > 0)?;
    Some(Diagnostic {
        line: at.line as usize,
        severity,
        message: crate::tui::escape::line(&message),
    })
}
