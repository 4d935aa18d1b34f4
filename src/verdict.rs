//! Verdicts: the outcome of a run, its evidence, and what to try next. The only list of outcomes there is.

pub mod advice;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::toolchain::Severity;

/// The class of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Passed,
    InvalidKernel,
    CompileError,
    Unsupported,
    LaunchError,
    MemoryFault,
    UninitializedRead,
    DataRace,
    BarrierError,
    Timeout,
    Crashed,
    OutOfMemory,
    WrongStructure,
    WrongNumbers,
    Nondeterministic,
    MutatedInput,
    Fallback,
    Integrity,
    TooFast,
    Environment,
    Cancelled,
}

impl Class {
    pub const ALL: [Self; 21] = [
        Self::Passed,
        Self::InvalidKernel,
        Self::CompileError,
        Self::Unsupported,
        Self::LaunchError,
        Self::MemoryFault,
        Self::UninitializedRead,
        Self::DataRace,
        Self::BarrierError,
        Self::Timeout,
        Self::Crashed,
        Self::OutOfMemory,
        Self::WrongStructure,
        Self::WrongNumbers,
        Self::Nondeterministic,
        Self::MutatedInput,
        Self::Fallback,
        Self::Integrity,
        Self::TooFast,
        Self::Environment,
        Self::Cancelled,
    ];

    /// The name in JSON and history.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::InvalidKernel => "invalid_kernel",
            Self::CompileError => "compile_error",
            Self::Unsupported => "unsupported",
            Self::LaunchError => "launch_error",
            Self::MemoryFault => "memory_fault",
            Self::UninitializedRead => "uninitialized_read",
            Self::DataRace => "data_race",
            Self::BarrierError => "barrier_error",
            Self::Timeout => "timeout",
            Self::Crashed => "crashed",
            Self::OutOfMemory => "out_of_memory",
            Self::WrongStructure => "wrong_structure",
            Self::WrongNumbers => "wrong_numbers",
            Self::Nondeterministic => "nondeterministic",
            Self::MutatedInput => "mutated_input",
            Self::Fallback => "fallback",
            Self::Integrity => "integrity",
            Self::TooFast => "too_fast",
            Self::Environment => "environment",
            Self::Cancelled => "cancelled",
        }
    }

    /// One sentence of meaning.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Passed => "every check that was asked for passed",
            Self::InvalidKernel => "the kernel file's header or an entry point it names is wrong",
            Self::CompileError => "the compiler rejected the source",
            Self::Unsupported => "this device lacks an instruction or feature that the kernel uses",
            Self::LaunchError => "the device refused the launch",
            Self::MemoryFault => "an access was out of bounds or misaligned",
            Self::UninitializedRead => "the kernel read memory that nothing had written",
            Self::DataRace => "two threads touched the same memory without an order between them",
            Self::BarrierError => "threads wait at a barrier that the others never reach",
            Self::Timeout => "the kernel did not finish within its limit",
            Self::Crashed => "the process that ran the kernel died",
            Self::OutOfMemory => "the device does not have the memory that this needs",
            Self::WrongStructure => "an output has the wrong count, shape or dtype",
            Self::WrongNumbers => "an output differs from the reference by more than the contract allows",
            Self::Nondeterministic => "the same inputs gave different outputs",
            Self::MutatedInput => "an input was changed",
            Self::Fallback => "a library did the work instead of the kernel",
            Self::Integrity => "the measurement or the answer was tampered with",
            Self::TooFast => "the time is below what the hardware can do",
            Self::Environment => "something outside the kernel is missing, such as a compiler or a device",
            Self::Cancelled => "it was stopped from outside before its end",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where in a source something happened; lines and columns count from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// As the user knows it; empty for the kernel file itself.
    pub file: String,
    pub line: u32,
    pub column: Option<u32>,
}

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// A message of the compiler or the header's reader.
    Diagnostic {
        severity: Severity,
        message: String,
        at: Option<Location>,
    },
    /// An instruction or feature that is not there.
    Missing { what: String, at: Option<Location> },
    /// An access that the memory checker refused.
    Access {
        /// "read of 4 bytes", "atomic add on 8 bytes".
        access: String,
        /// "global", "shared", "local".
        space: String,
        /// The buffer's name, where one is near.
        buffer: Option<String>,
        /// Bytes from the buffer's start; negative before it.
        offset: Option<i64>,
        /// Size of the buffer in bytes.
        size: Option<u64>,
        thread: Option<[u32; 3]>,
        cta: Option<[u32; 3]>,
        at: Option<Location>,
        /// The PTX line, where it is known.
        ptx_line: Option<u32>,
    },
    /// Threads that wait at a barrier: who, where, and where the others are.
    Waiting {
        barrier: u32,
        cta: [u32; 3],
        waiting: String,
        missing: String,
        at: Option<Location>,
    },
    /// An output against its contract.
    Output(Box<OutputEvidence>),
    /// Anything that needs only a sentence.
    Note { text: String },
}

/// How one output compares with the reference's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputEvidence {
    pub output: String,
    pub dtype: String,
    pub dims: Vec<u64>,
    pub seed: u64,
    pub distribution: String,
    pub elements: u64,
    /// Elements outside the contract's tolerance for single elements. The contract may allow a share of them.
    pub mismatches: u64,
    /// Why the contract is broken, in words; `None` when it holds.
    #[serde(default)]
    pub violation: Option<String>,
    #[serde(with = "crate::number")]
    pub max_abs: f64,
    #[serde(with = "crate::number")]
    pub max_rel: f64,
    #[serde(with = "crate::number")]
    pub rms: f64,
    #[serde(with = "crate::number")]
    pub rel_l2: f64,
    /// Largest distance in units of the output's own codes (ULP).
    pub max_ulp: u64,
    pub nan: u64,
    pub inf: u64,
    /// Elements that still hold the poison: never written.
    pub unwritten: u64,
    pub first: Option<ElementEvidence>,
    pub worst: Option<ElementEvidence>,
    /// Rows of a small grid, each cell the share of mismatches in its part of the output, 0 to 1; empty when all match.
    pub map: Vec<Vec<f32>>,
    /// The pattern in words, where one was recognised.
    pub pattern: Option<String>,
}

/// One element of an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementEvidence {
    pub index: Vec<u64>,
    #[serde(with = "crate::number")]
    pub expected: f64,
    #[serde(with = "crate::number")]
    pub got: f64,
}

/// The outcome of a run, of one of its shapes, or of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{class}: {reason}")]
pub struct Verdict {
    pub class: Class,
    /// One sentence: what happened, on what.
    pub reason: String,
    pub evidence: Vec<Evidence>,
    /// What to try next, most likely first.
    pub next: Vec<String>,
}

/// What a step gives: its result, or the verdict that ends the run.
pub type Outcome<T> = Result<T, Box<Verdict>>;

impl Verdict {
    pub fn new(class: Class, reason: impl Into<String>) -> Self {
        Self {
            class,
            reason: reason.into(),
            evidence: Vec::new(),
            next: Vec::new(),
        }
    }

    pub fn passed(reason: impl Into<String>) -> Self {
        Self::new(Class::Passed, reason)
    }

    pub fn with(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    pub fn try_next(mut self, advice: impl Into<String>) -> Self {
        self.next.push(advice.into());
        self
    }

    /// `Err` of this verdict: for `return verdict.fail()`.
    ///
    /// # Errors
    /// Always.
    pub fn fail<T>(self) -> Outcome<T> {
        Err(Box::new(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_their_serialised_form() {
        for class in Class::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
            assert!(!class.meaning().is_empty());
        }
    }
}
