//! What a run works with: the device, the problems, the compilers, and what is kept warm between runs.

use super::build::Compiler;
use super::cancel::Cancel;
use super::reference::Warm;
use crate::device::Device;
use crate::problem::Catalogue;

/// Borrowed for the time of one run.
pub struct Bench<'a> {
    pub device: &'a mut dyn Device,
    pub catalogue: &'a Catalogue,
    pub compiler: &'a mut dyn Compiler,
    pub warm: &'a mut Warm,
    pub cancel: &'a Cancel,
}
