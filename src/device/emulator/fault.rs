//! From the emulator's faults to verdicts: the class, the evidence, and what to try next.

use std::time::Duration;

use crate::emulator::{Access, Fault, FaultKind};
use crate::verdict::{Class, Evidence, Location, Severity, Verdict};

/// The verdict on a fault. `limit` is the wall-clock limit that a cancelled launch ran into.
pub(super) fn verdict(fault: &Fault, limit: Duration) -> Verdict {
    match &fault.kind {
        FaultKind::Syntax { message } => syntax(fault, message),
        FaultKind::Unsupported { what } => unsupported(fault, what),
        FaultKind::Launch { message } => launch(fault, message),
        FaultKind::OutOfBounds(access) => out_of_bounds(fault, access),
        FaultKind::Misaligned(access) => misaligned(fault, access),
        FaultKind::Uninitialized(access) => uninitialized(fault, access),
        FaultKind::ReadOnly(access) => read_only(fault, access),
        FaultKind::Barrier {
            barrier,
            waiting,
            missing,
        } => stuck(fault, *barrier, waiting, missing),
        FaultKind::Budget { steps } => Verdict::new(
            Class::Timeout,
            format!(
                "`{}` ran {steps} warp instructions without coming to its end",
                fault.function
            ),
        )
        .with(note(fault))
        .try_next("look for a loop whose condition never becomes false, or a spin on a flag that nobody sets"),
        FaultKind::Trap { message } => Verdict::new(
            Class::Crashed,
            format!("`{}` stopped itself{}: {message}", fault.function, whom(fault)),
        )
        .with(note(fault))
        .try_next("the kernel asserted or trapped: follow the condition at the line named"),
        FaultKind::Cancelled => Verdict::new(
            Class::Timeout,
            format!(
                "`{}` did not finish within {:.1} s on the emulator",
                fault.function,
                limit.as_secs_f64()
            ),
        )
        .with(note(fault))
        .try_next("choose a smaller shape (ids that start with `small-`), or a longer limit")
        .try_next("if a small shape hangs too, look for a loop or a wait that cannot end"),
    }
}

/// "line 12, " where the kernel's source line is known, else the PTX line.
fn place(fault: &Fault) -> String {
    match (&fault.source, fault.ptx_line) {
        (Some((_, line, _)), _) => format!(" at line {line}"),
        (None, Some(line)) => format!(" at PTX line {line}"),
        (None, None) => String::new(),
    }
}

/// ", thread (1, 0, 0) of CTA (3, 0, 0)".
fn whom(fault: &Fault) -> String {
    let triple = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    match (fault.thread, fault.cta) {
        (Some(thread), Some(cta)) => format!(", thread {} of CTA {}", triple(thread), triple(cta)),
        (Some(thread), None) => format!(", thread {}", triple(thread)),
        (None, Some(cta)) => format!(", CTA {}", triple(cta)),
        (None, None) => String::new(),
    }
}

/// The kernel file has no name here; headers keep theirs.
fn location(fault: &Fault) -> Option<Location> {
    let (file, line, column) = fault.source.as_ref()?;
    let extension = std::path::Path::new(file)
        .extension()
        .and_then(|extension| extension.to_str());
    let header = matches!(extension, Some("h" | "hpp" | "cuh" | "hxx" | "inl"));
    Some(Location {
        file: if header { file.clone() } else { String::new() },
        line: *line,
        column: (*column > 0).then_some(*column),
    })
}

fn note(fault: &Fault) -> Evidence {
    Evidence::Diagnostic {
        severity: Severity::Error,
        message: format!("in `{}`{}{}", fault.function, place(fault), whom(fault)),
        at: location(fault),
    }
}

fn evidence(fault: &Fault, access: &Access) -> Evidence {
    Evidence::Access {
        access: words(access),
        space: access.space.to_owned(),
        buffer: access.buffer.as_ref().map(|(name, ..)| name.clone()),
        offset: access.buffer.as_ref().map(|(_, _, offset)| *offset),
        size: access.buffer.as_ref().map(|(_, size, _)| *size),
        thread: fault.thread,
        cta: fault.cta,
        at: location(fault),
        ptx_line: fault.ptx_line,
    }
}

/// "read of 4 bytes"
fn words(access: &Access) -> String {
    let plural = if access.bytes == 1 { "" } else { "s" };
    format!("{} of {} byte{plural}", access.what, access.bytes)
}

/// Where an access went, in terms of the nearest buffer.
fn target(access: &Access) -> String {
    match &access.buffer {
        Some((name, _, offset)) if *offset < 0 => {
            format!("{} before the start of `{name}`", count(offset.unsigned_abs()))
        }
        Some((name, size, offset)) if offset.unsigned_abs() >= *size => {
            let past = offset.unsigned_abs() - size;
            format!("{} past the end of `{name}`, which has {}", count(past), count(*size))
        }
        Some((name, size, offset)) => format!("at byte {offset} of `{name}`, which has {}", count(*size)),
        None => format!("to address {:#x}, in no buffer", access.address),
    }
}

fn count(bytes: u64) -> String {
    if bytes == 1 {
        "1 byte".to_owned()
    } else {
        format!("{bytes} bytes")
    }
}

fn out_of_bounds(fault: &Fault, access: &Access) -> Verdict {
    let reason = format!(
        "`{}`: {} {}{}{}",
        fault.function,
        words(access),
        target(access),
        place(fault),
        whom(fault)
    );
    let verdict = Verdict::new(Class::MemoryFault, reason).with(evidence(fault, access));
    match (&access.buffer, access.space) {
        (_, "shared") => verdict
            .try_next("compare the index with the size of the shared array, and `shared = ...` in the header with what the kernel lays out"),
        (Some((name, ..)), _) if name.ends_with("(freed)") => {
            verdict.try_next("the buffer had been freed: a pointer was kept from an earlier launch")
        }
        (Some((_, _, offset)), _) if *offset < 0 => {
            verdict.try_next("look for an index that can become negative, or an unsigned subtraction that wraps")
        }
        (Some(..), _) => verdict
            .try_next("guard the last tile: threads whose index is beyond the size must not read or write")
            .try_next("check the grid and the sizes in the header against the kernel's own tile sizes"),
        (None, _) => verdict
            .try_next("the address is in no buffer at all: check the order and the types of `args` in the header"),
    }
}

fn misaligned(fault: &Fault, access: &Access) -> Verdict {
    let reason = format!(
        "`{}`: {} {} is not aligned to its size{}{}",
        fault.function,
        words(access),
        target(access),
        place(fault),
        whom(fault)
    );
    Verdict::new(Class::MemoryFault, reason)
        .with(evidence(fault, access))
        .try_next(format!(
            "a vector access needs an address divisible by {}: check the row length and the offset",
            access.bytes
        ))
        .try_next("fall back to narrower accesses where the row length is not a multiple of the vector")
}

fn uninitialized(fault: &Fault, access: &Access) -> Verdict {
    let reason = format!(
        "`{}`: {} {} that nothing had written{}{}",
        fault.function,
        words(access),
        target(access),
        place(fault),
        whom(fault)
    );
    let verdict = Verdict::new(Class::UninitializedRead, reason).with(evidence(fault, access));
    if access.space == "shared" {
        return verdict
            .try_next("let every thread that fills the array pass the barrier before any thread reads it")
            .try_next("fill the part of the tile that lies beyond the tensor, with zeros for example");
    }
    verdict
        .try_next("outputs and scratch hold nothing at the start: write before reading, or declare the scratch `zeroed = true`")
        .try_next("where several launches share a buffer, check their order in the header")
}

fn read_only(fault: &Fault, access: &Access) -> Verdict {
    let reason = format!(
        "`{}`: {} {} which must not be written{}{}",
        fault.function,
        words(access),
        target(access),
        place(fault),
        whom(fault)
    );
    Verdict::new(Class::MemoryFault, reason)
        .with(evidence(fault, access))
        .try_next("constants cannot be written: use a scratch buffer")
}

fn stuck(fault: &Fault, barrier: u32, waiting: &str, missing: &str) -> Verdict {
    let reason = format!(
        "`{}`: {waiting} at barrier {barrier}{}, and {missing} never come",
        fault.function,
        place(fault)
    );
    Verdict::new(Class::BarrierError, reason)
        .with(Evidence::Waiting {
            barrier,
            cta: fault.cta.unwrap_or_default(),
            waiting: waiting.to_owned(),
            missing: missing.to_owned(),
            at: location(fault),
        })
        .try_next("move the barrier out of the branch or loop that only some threads take")
        .try_next("threads that return early never reach a later barrier: let them stay and do nothing instead")
}

fn unsupported(fault: &Fault, what: &str) -> Verdict {
    let at = location(fault);
    Verdict::new(
        Class::Unsupported,
        format!(
            "the emulator does not implement `{what}`, used in `{}`{}",
            fault.function,
            place(fault)
        ),
    )
    .with(Evidence::Missing {
        what: what.to_owned(),
        at: at.or_else(|| {
            fault.ptx_line.map(|line| Location {
                file: "PTX".to_owned(),
                line,
                column: None,
            })
        }),
    })
    .try_next("run this kernel on a CUDA device")
    .try_next("or use an instruction that the emulator has")
}

fn syntax(fault: &Fault, message: &str) -> Verdict {
    let line = fault.ptx_line.unwrap_or(0);
    Verdict::new(
        Class::CompileError,
        format!("the PTX is malformed at line {line}: {message}"),
    )
    .with(Evidence::Diagnostic {
        severity: Severity::Error,
        message: message.to_owned(),
        at: Some(Location {
            file: "PTX".to_owned(),
            line,
            column: None,
        }),
    })
    .try_next("correct the PTX at that line")
}

fn launch(fault: &Fault, message: &str) -> Verdict {
    let class = if message.contains("argument") {
        Class::InvalidKernel
    } else {
        Class::LaunchError
    };
    Verdict::new(class, format!("`{}` cannot be launched: {message}", fault.function))
        .try_next("compare grid, block, shared and args of the [[launch]] with the kernel")
}
