//! Ridgepoint: a terminal workbench for GPU kernels.
//!
//! Modules are listed from the bottom layer up; a lower layer never imports a higher one (`tests/layers.rs` holds that).

// L0: vocabulary.
pub mod dirs;
pub mod dtype;
pub mod expr;
pub mod number;
pub mod shape;
pub mod stats;
pub mod suggest;
pub mod units;

// L0: the PTX front end.
pub mod ptx;

// L1
pub mod emulator;
pub mod kernel;
pub mod problem;
pub mod roofline;
pub mod toolchain;

// L2
pub mod device;
pub mod measure;
pub mod verdict;

// L3
pub mod history;
pub mod worker;

// L4
pub mod plot;

// L5
pub mod cli;
pub mod tui;
