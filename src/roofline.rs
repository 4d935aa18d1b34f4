//! Machine profiles, bounds and scores: where a kernel could stand on a machine, and where it does.

pub mod baselines;
pub mod machine;
pub mod score;

use serde::{Deserialize, Serialize};

use crate::problem::{Path, ShapeCost};
pub use machine::{MachineProfile, Measured};

/// What sets the roof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Memory,
    #[serde(untagged)]
    Compute(Path),
}

impl Limit {
    /// `memory`, or the arithmetic path: `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Compute(path) => path.name(),
        }
    }
}

/// The roof over one shape on one machine: no kernel that does the billed work can be faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Roof {
    /// The shortest possible time: the larger of compute and memory time, microseconds.
    pub t_sol_us: f64,
    pub bound: Limit,
    /// FLOPs per byte of compulsory traffic; 0 without traffic.
    pub intensity: f64,
    /// FLOPs of all paths together.
    pub flops: f64,
    /// Compulsory bytes, read and written.
    pub bytes: f64,
    pub compute_us: f64,
    pub memory_us: f64,
    /// Paths whose FLOPs are left out because the machine has no peak for them, nor for a wider one.
    pub unknown: Vec<Path>,
}

const MICROSECONDS: f64 = 1e6;

/// T_SOL = max(FLOPs of a path / its peak, bytes / bandwidth), by datasheet peaks.
///
/// A path that the machine lacks is billed to the next wider one that can hold its values (fp8 on a machine without it runs as fp16).
pub fn bound(cost: &ShapeCost, profile: &MachineProfile) -> Roof {
    let bytes = cost.bytes() as f64;
    let memory_us = bytes / profile.bandwidth * MICROSECONDS;
    let mut compute: Option<(Path, f64)> = None;
    let mut unknown = Vec::new();
    for (path, count) in cost.flops.iter().filter(|(_, count)| *count > 0) {
        match profile.peak(*path) {
            None => unknown.push(*path),
            Some((_, peak)) => {
                let time = *count as f64 / peak * MICROSECONDS;
                if compute.is_none_or(|(_, longest)| time > longest) {
                    compute = Some((*path, time));
                }
            }
        }
    }
    let compute_us = compute.map_or(0.0, |(_, time)| time);
    let limit = compute
        .filter(|(_, time)| *time > memory_us)
        .map_or(Limit::Memory, |(path, _)| Limit::Compute(path));
    let flops = cost.total_flops() as f64;
    Roof {
        t_sol_us: compute_us.max(memory_us),
        bound: limit,
        intensity: if bytes > 0.0 { flops / bytes } else { 0.0 },
        flops,
        bytes,
        compute_us,
        memory_us,
        unknown,
    }
}

/// The FLOPs per byte at which a machine's memory and one of its paths take equally long: the ridge point.
pub fn ridge(profile: &MachineProfile, path: Path) -> Option<f64> {
    profile.peak(path).map(|(_, peak)| peak / profile.bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(path: Path, flops: u64, bytes: u64) -> ShapeCost {
        ShapeCost {
            flops: vec![(path, flops)],
            bytes_read: bytes / 2,
            bytes_written: bytes - bytes / 2,
        }
    }

    #[test]
    fn the_slower_of_memory_and_compute_bounds() {
        let h20 = machine::profile("h20").unwrap();
        let roof = bound(&cost(Path::Bf16, 148_000_000, 4_000_000), h20);
        assert_eq!((roof.bound, roof.memory_us, roof.compute_us), (Limit::Memory, 1.0, 1.0));
        let roof = bound(&cost(Path::Bf16, 296_000_000, 4_000_000), h20);
        assert_eq!((roof.bound.name(), roof.t_sol_us, roof.intensity), ("bf16", 2.0, 74.0));
        assert_eq!(ridge(h20, Path::Bf16), Some(37.0));
    }

    #[test]
    fn a_missing_path_is_billed_to_a_wider_one_or_named() {
        let a100 = machine::profile("a100").unwrap();
        let roof = bound(&cost(Path::Fp8, 312_000_000, 0), a100);
        assert_eq!((roof.bound.name(), roof.t_sol_us), ("fp8", 1.0));
        let xpu = machine::profile("xpu-a").unwrap();
        let roof = bound(&cost(Path::Fp64, 1_000_000, 5_300_000), xpu);
        assert_eq!((roof.unknown.as_slice(), roof.t_sol_us), ([Path::Fp64].as_slice(), 1.0));
    }

    #[test]
    fn limits_are_plain_words_in_json() {
        assert_eq!(serde_json::to_value(Limit::Memory).unwrap(), "memory");
        assert_eq!(serde_json::to_value(Limit::Compute(Path::Fp8)).unwrap(), "fp8");
    }
}
