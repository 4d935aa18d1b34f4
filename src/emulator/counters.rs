//! What the emulator counts while a kernel runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counters of one or several launches, summed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Warp instructions, by class: `integer`, `float`, `memory`, `control`, `conversion`, `barrier`, `special`, `other`.
    pub warp_instructions: BTreeMap<String, u64>,
    /// Lanes that took part, summed over all warp instructions.
    pub lane_instructions: u64,
    /// Branches at which a warp split.
    pub divergent_branches: u64,
    /// Floating-point operations by path (`fp32`, `bf16`, ...); a multiply-add counts 2.
    pub flops: BTreeMap<String, u64>,
    /// Bytes that lanes asked for.
    pub global_read_bytes: u64,
    pub global_write_bytes: u64,
    /// 32-byte sectors touched by each warp access, summed.
    pub global_sectors: u64,
    pub shared_read_bytes: u64,
    pub shared_write_bytes: u64,
    pub atomics: u64,
    pub barriers: u64,
    pub ctas: u64,
    pub warps: u64,
}

impl Counters {
    pub fn add(&mut self, other: &Self) {
        for (class, count) in &other.warp_instructions {
            *self.warp_instructions.entry(class.clone()).or_default() += count;
        }
        for (path, count) in &other.flops {
            *self.flops.entry(path.clone()).or_default() += count;
        }
        self.lane_instructions += other.lane_instructions;
        self.divergent_branches += other.divergent_branches;
        self.global_read_bytes += other.global_read_bytes;
        self.global_write_bytes += other.global_write_bytes;
        self.global_sectors += other.global_sectors;
        self.shared_read_bytes += other.shared_read_bytes;
        self.shared_write_bytes += other.shared_write_bytes;
        self.atomics += other.atomics;
        self.barriers += other.barriers;
        self.ctas += other.ctas;
        self.warps += other.warps;
    }
}
