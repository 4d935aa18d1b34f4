//! The arithmetic of PTX on plain bit patterns: rounding, conversion, approximation, bit manipulation. No registers here.

pub mod approx;
pub mod bits;
pub mod convert;
pub mod exact;
pub mod float;
pub mod half;
pub mod single;

pub use float::{Format, Rounding};
