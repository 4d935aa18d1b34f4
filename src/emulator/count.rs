//! Counting while a kernel runs: plain integers per host thread, turned into [`Counters`] at the end.

use super::code::Program;
use super::counters::Counters;

/// What one host thread has counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Warp instructions and lanes, by index of the instruction.
    pub ops: Vec<(u64, u64)>,
    pub divergent_branches: u64,
    pub global_read_bytes: u64,
    pub global_write_bytes: u64,
    pub global_sectors: u64,
    pub shared_read_bytes: u64,
    pub shared_write_bytes: u64,
    pub atomics: u64,
    pub barriers: u64,
    pub ctas: u64,
    pub warps: u64,
}

impl Counts {
    pub(super) fn new(ops: usize) -> Self {
        Self {
            ops: vec![(0, 0); ops],
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sum, one) in self.ops.iter_mut().zip(&other.ops) {
            sum.0 += one.0;
            sum.1 += one.1;
        }
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

    /// Sums per instruction into sums per class and path.
    pub(super) fn finish(&self, program: &Program) -> Counters {
        let mut out = Counters {
            divergent_branches: self.divergent_branches,
            global_read_bytes: self.global_read_bytes,
            global_write_bytes: self.global_write_bytes,
            global_sectors: self.global_sectors,
            shared_read_bytes: self.shared_read_bytes,
            shared_write_bytes: self.shared_write_bytes,
            atomics: self.atomics,
            barriers: self.barriers,
            ctas: self.ctas,
            warps: self.warps,
            ..Counters::default()
        };
        for (&(warps, lanes), note) in self.ops.iter().zip(&program.notes) {
            if warps == 0 {
                continue;
            }
            *out.warp_instructions.entry(note.class.name().to_owned()).or_default() += warps;
            out.lane_instructions += lanes;
            if let Some((path, per_lane)) = note.flops {
                *out.flops.entry(path.to_owned()).or_default() += lanes * u64::from(per_lane);
            }
        }
        out
    }
}
