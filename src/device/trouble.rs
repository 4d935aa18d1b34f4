//! Verdicts that every device gives in the same words.

use super::BufferId;
use crate::verdict::{Class, Outcome, Verdict};

/// A buffer that this device never gave out, or has freed: a fault of the caller.
pub(super) fn no_buffer<T>(buffer: BufferId) -> Outcome<T> {
    Verdict::new(
        Class::Environment,
        format!("there is no buffer {} on this device", buffer.0),
    )
    .try_next("this is a fault of the workbench: please report it with the command that led here")
    .fail()
}

/// A range outside a buffer.
pub(super) fn no_range<T>(name: &str, offset: u64, bytes: u64, size: u64) -> Outcome<T> {
    Verdict::new(
        Class::Environment,
        format!("{bytes} bytes at {offset} are not inside `{name}`, which has {size}"),
    )
    .try_next("this is a fault of the workbench: please report it with the command that led here")
    .fail()
}

/// Not enough memory for a buffer.
pub(super) fn out_of_memory<T>(name: &str, bytes: u64, free: u64) -> Outcome<T> {
    Verdict::new(
        Class::OutOfMemory,
        format!("`{name}` needs {} and {} are free", size(bytes), size(free)),
    )
    .try_next("choose a smaller shape, or a device with more memory")
    .try_next("see whether another process holds memory on this device")
    .fail()
}

/// A recipe that makes no sense.
pub(super) fn bad_recipe<T>(reason: &str) -> Outcome<T> {
    Verdict::new(
        Class::Environment,
        format!("the problem's input recipe is wrong: {reason}"),
    )
    .try_next("correct the tensor's `recipes` in the operator's problem.toml")
    .fail()
}

/// Arguments of a launch that name a buffer which is not bound.
pub(super) fn unbound<T>(kernel: &str, argument: &str, line: usize) -> Outcome<T> {
    Verdict::new(
        Class::InvalidKernel,
        format!("the launch of `{kernel}` (line {line}) takes `{argument}`, which is no tensor and no scratch buffer"),
    )
    .try_next("name one of the operator's tensors, or declare a [[scratch]] buffer of that name")
    .fail()
}

/// A launch of a kernel that the module does not have.
pub(super) fn no_kernel<T>(kernel: &str, line: usize, names: &[&str]) -> Outcome<T> {
    let known = if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    };
    Verdict::new(
        Class::InvalidKernel,
        format!("line {line} launches `{kernel}`, and the file's kernels are: {known}"),
    )
    .try_next("name one of those kernels in the [[launch]]")
    .try_next("declare the kernel `extern \"C\" __global__`, so that its name is not mangled")
    .fail()
}

/// A device id that means nothing.
pub(super) fn no_device<T>(id: &str) -> Outcome<T> {
    Verdict::new(Class::Environment, format!("`{id}` is not a device"))
        .try_next("use auto, cuda:N, emulator or emulator:PROFILE; `ridgepoint list devices` shows what is here")
        .fail()
}

/// Bytes for people.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
