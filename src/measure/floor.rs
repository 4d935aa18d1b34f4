//! Where a shape stands against its roof, and the time under which no honest kernel can be.

use super::report::RooflineReport;
use crate::device::DeviceInfo;
use crate::problem::Operator;
use crate::roofline::{self, MachineProfile, machine};
use crate::shape::Shape;

/// The roof over one shape on a machine; `None` where the machine has no profile or the cost does not work out.
pub(super) fn roofline(operator: &Operator, shape: &Shape, profile: &str) -> Option<RooflineReport> {
    let profile = machine::profile(profile).ok()?;
    let roof = roofline::bound(&operator.cost_of(shape).ok()?, profile);
    Some(RooflineReport {
        t_sol_us: roof.t_sol_us,
        bound: roof.bound.name().to_owned(),
        intensity: roof.intensity,
        flops: roof.flops,
        bytes: roof.bytes,
        fraction: None,
    })
}

/// A time that cannot be gone under, and for what.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HardBound {
    pub(super) us: f64,
    pub(super) what: String,
}

/// The part of the roof that no cache can help with. Less than T_SOL: what is written may stay in L2 until after the clock
/// stops, and with a warm cache what is read may come from there too.
pub(super) fn hard_bound(operator: &Operator, shape: &Shape, device: &DeviceInfo, cold: bool) -> Option<HardBound> {
    let profile = machine::profile(&device.profile).ok()?;
    let cost = operator.cost_of(shape).ok()?;
    let roof = roofline::bound(&cost, profile);
    let l2 = l2_bytes(device, profile);
    let through_memory = if cold {
        cost.bytes_read + cost.bytes_written.saturating_sub(l2)
    } else {
        cost.bytes().saturating_sub(l2)
    };
    let memory_us = through_memory as f64 / profile.bandwidth * 1e6;
    Some(if roof.compute_us > memory_us {
        HardBound {
            us: roof.compute_us,
            what: format!("{:.3e} FLOPs of this shape", roof.flops),
        }
    } else {
        HardBound {
            us: memory_us,
            what: format!("{through_memory} bytes that must pass through its memory"),
        }
    })
}

fn l2_bytes(device: &DeviceInfo, profile: &MachineProfile) -> u64 {
    let reported = device
        .properties
        .iter()
        .find(|(name, _)| name == "l2_bytes")
        .map(|(_, value)| *value);
    reported
        .and_then(|value| u64::try_from(value).ok())
        .unwrap_or(profile.l2_bytes.unwrap_or(0))
}
