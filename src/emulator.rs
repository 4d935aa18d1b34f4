//! The PTX emulator: global memory, modules, launches, checks and counters. Knows nothing of operators or files.

pub mod arith;
pub mod counters;
pub mod fault;

pub use counters::Counters;
pub use fault::{Fault, FaultKind};
