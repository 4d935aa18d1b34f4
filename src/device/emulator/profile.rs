//! What the emulator pretends to be: limits of a machine profile that a kernel can see.

use crate::emulator::DeviceProperties;
use crate::verdict::{Class, Outcome, Verdict};

/// A machine that the emulator can take after.
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) properties: DeviceProperties,
    l2_bytes: i64,
    capability: (i64, i64),
}

/// Limits by compute capability: CUDA C++ Programming Guide, "Compute Capabilities"; SM counts and L2 sizes: NVIDIA H100 and
/// A100 architecture white papers, H200 data sheet.
const PROFILES: [Profile; 3] = [
    Profile {
        name: "h200",
        title: "H200",
        properties: DeviceProperties {
            sm_count: 132,
            max_threads_per_block: 1024,
            max_shared_per_block: 227 * 1024,
            max_shared_per_sm: 228 * 1024,
            max_threads_per_sm: 2048,
            max_blocks_per_sm: 32,
            max_cluster: 16,
            clock_mhz: 1980,
        },
        l2_bytes: 60 << 20,
        capability: (9, 0),
    },
    Profile {
        name: "h100",
        title: "H100",
        properties: DeviceProperties {
            sm_count: 132,
            max_threads_per_block: 1024,
            max_shared_per_block: 227 * 1024,
            max_shared_per_sm: 228 * 1024,
            max_threads_per_sm: 2048,
            max_blocks_per_sm: 32,
            max_cluster: 16,
            clock_mhz: 1980,
        },
        l2_bytes: 50 << 20,
        capability: (9, 0),
    },
    Profile {
        name: "a100",
        title: "A100",
        properties: DeviceProperties {
            sm_count: 108,
            max_threads_per_block: 1024,
            max_shared_per_block: 163 * 1024,
            max_shared_per_sm: 164 * 1024,
            max_threads_per_sm: 2048,
            max_blocks_per_sm: 32,
            max_cluster: 1,
            clock_mhz: 1410,
        },
        l2_bytes: 40 << 20,
        capability: (8, 0),
    },
];

/// All of them, the default first.
pub(super) const fn all() -> &'static [Profile] {
    &PROFILES
}

/// The profile of that name.
pub(super) fn find(name: &str) -> Outcome<&'static Profile> {
    if let Some(profile) = PROFILES.iter().find(|profile| profile.name == name) {
        return Ok(profile);
    }
    Verdict::new(Class::Environment, format!("the emulator has no profile `{name}`"))
        .try_next(format!(
            "use one of: {}",
            PROFILES.map(|profile| profile.name).join(", ")
        ))
        .fail()
}

impl Profile {
    /// By the names that kernel headers use.
    pub(super) fn named(&self) -> Vec<(String, i64)> {
        let properties = &self.properties;
        [
            ("sm_count", i64::from(properties.sm_count)),
            ("max_threads_per_block", i64::from(properties.max_threads_per_block)),
            ("max_shared_per_block", i64::from(properties.max_shared_per_block)),
            ("l2_bytes", self.l2_bytes),
            ("warp_size", 32),
            ("cc_major", self.capability.0),
            ("cc_minor", self.capability.1),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}
