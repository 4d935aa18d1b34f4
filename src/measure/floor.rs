//! Where a shape stands against its roof, and the time under which no honest kernel can be.

use super::report::RooflineReport;
use crate::device::DeviceInfo;
use crate::problem::Operator;
use crate::shape::Shape;

pub(super) fn roofline(_operator: &Operator, _shape: &Shape, _profile: &str) -> Option<RooflineReport> {
    None
}

/// A time that cannot be gone under, and for what.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HardBound {
    pub(super) us: f64,
    pub(super) what: String,
}

pub(super) fn hard_bound(_operator: &Operator, _shape: &Shape, _device: &DeviceInfo, _cold: bool) -> Option<HardBound> {
    None
}
