//! Which CUDA devices are here, without creating a context.

use super::driver::{self, DeviceAttribute, Failure, Gpu};
use crate::device::Listing;

/// Every CUDA device, or the reason why there is none to list.
pub fn devices() -> Result<Vec<Listing>, String> {
    driver::present()?;
    driver::init().map_err(|failure| unusable(&failure))?;
    let count = driver::device_count().map_err(|failure| unusable(&failure))?;
    (0..count)
        .map(|ordinal| listing(ordinal).map_err(|failure| unusable(&failure)))
        .collect()
}

fn unusable(failure: &Failure) -> String {
    format!("the CUDA driver is there but does not work: {failure}")
}

fn listing(ordinal: i32) -> Result<Listing, Failure> {
    let gpu = Gpu::get(ordinal)?;
    let (major, minor) = capability(gpu)?;
    let name = gpu.name()?;
    Ok(Listing {
        id: format!("cuda:{ordinal}"),
        profile: profile(&name, (major, minor)),
        name,
        kind: crate::device::DeviceKind::Cuda,
        memory_bytes: gpu.memory()?,
        note: format!("compute capability {major}.{minor}, driver for CUDA {}", version()?),
    })
}

pub(super) fn capability(gpu: Gpu) -> Result<(i32, i32), Failure> {
    Ok((
        gpu.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        gpu.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

/// "13.0"
pub(super) fn version() -> Result<String, Failure> {
    let version = driver::version()?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// The machine profile of a device, by the name that the driver gives it; `sm_90` and the like where none fits.
pub(super) fn profile(name: &str, (major, minor): (i32, i32)) -> String {
    const KNOWN: [&str; 10] = [
        "h200", "h100", "h20", "h800", "a100", "a800", "b200", "b300", "l40s", "l4",
    ];
    let lower = name.to_lowercase();
    let mut words = lower.split(|char: char| !char.is_ascii_alphanumeric());
    words
        .find_map(|word| KNOWN.iter().find(|known| **known == word))
        .map_or_else(|| format!("sm_{major}{minor}"), |known| (*known).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_profiles() {
        assert_eq!(profile("NVIDIA H200", (9, 0)), "h200");
        assert_eq!(profile("NVIDIA A100-SXM4-80GB", (8, 0)), "a100");
        assert_eq!(profile("NVIDIA GeForce RTX 4090", (8, 9)), "sm_89");
    }

    #[test]
    fn a_missing_driver_is_a_reason_and_not_a_panic() {
        match devices() {
            Ok(devices) => assert!(devices.iter().all(|device| device.id.starts_with("cuda:"))),
            Err(reason) => assert!(!reason.is_empty()),
        }
    }
}
