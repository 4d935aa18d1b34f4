//! The PTX emulator: global memory, modules, launches, checks and counters. Knows nothing of operators or files.

pub mod fault;

pub use fault::{Fault, FaultKind};
