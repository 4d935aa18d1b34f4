//! The PTX emulator: global memory, modules, launches, checks and counters. Knows nothing of operators or files.
//!
//! A module's syntax tree is lowered, kernel by kernel, to code in which every name is an index (`lower`, with one file
//! per instruction family under `isa`). Warps of 32 lanes execute it (`warp`), CTAs hold warps and barriers (`cta`), and
//! the grid spreads CTAs over host threads (`grid`). Every access to memory is checked (`access`).

mod access;
pub mod arith;
mod barrier;
mod cluster;
mod code;
mod count;
pub mod counters;
mod cta;
mod exec;
pub mod fault;
mod grid;
mod isa;
mod launch;
mod layout;
mod local;
mod lower;
mod memory;
mod module;
mod regs;
mod shared;
mod space;
mod warp;

pub use counters::Counters;
pub use fault::{Access, Fault, FaultKind};
pub use launch::{DeviceProperties, LaunchConfig, LaunchReport, Options, launch};
pub use memory::{Memory, MemoryError};
pub use module::{Kernel, Module, Param};
