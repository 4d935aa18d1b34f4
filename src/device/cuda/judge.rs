//! The judge's kernels on a CUDA device: launches with the arguments that `judge.cu` declares.

use std::collections::BTreeMap;

use super::driver::{Function, Geometry, Module, Result, Slot, Stream, launch};
use crate::device::compare::{CHUNK, LANES, Layout, Rule};
use crate::device::generate::Program;
use crate::dtype::DType;

/// PTX of `judge.cu`, made with the compiler and options that its first line names.
pub(super) const PTX: &str = include_str!("../judge/judge.ptx");

const NAMES: [&str; 13] = [
    "judge_generate",
    "judge_fill",
    "judge_halve",
    "judge_checksum",
    "judge_guard_fill",
    "judge_guard_check",
    "judge_gather",
    "judge_compare",
    "judge_empty",
    "judge_block",
    "judge_busy",
    "judge_flush_write",
    "judge_flush_read",
];

/// Threads of a CTA for kernels that stride over a buffer; `judge_checksum` is written for this many.
const THREADS: u32 = 256;
/// CTAs per multiprocessor that such kernels are launched with at most.
const WAVES: u64 = 16;

/// The loaded judge.
#[derive(Debug)]
pub(super) struct Judge {
    functions: BTreeMap<&'static str, Function>,
    stream: Stream,
    sm_count: u64,
}

fn u32_arg(value: u32) -> Slot {
    Slot::new(&value.to_le_bytes())
}

fn u64_arg(value: u64) -> Slot {
    Slot::new(&value.to_le_bytes())
}

fn f64_arg(value: f64) -> Slot {
    Slot::new(&value.to_le_bytes())
}

impl Judge {
    pub(super) fn new(module: Module, stream: Stream, sm_count: u64) -> Result<Self> {
        let mut functions = BTreeMap::new();
        for name in NAMES {
            let function = module.function(name)?;
            function.prepare()?;
            functions.insert(name, function);
        }
        Ok(Self {
            functions,
            stream,
            sm_count,
        })
    }

    pub(super) fn function(&self, name: &'static str) -> Function {
        *self.functions.get(name).expect("every name used here is in NAMES")
    }

    fn run(&self, name: &'static str, geometry: &Geometry, mut slots: Vec<Slot>) -> Result<()> {
        launch(self.function(name), geometry, &mut slots, self.stream)
    }

    /// Enough CTAs for `items`, and not more than fill the device.
    fn strided(&self, items: u64) -> Geometry {
        let ctas = items.div_ceil(u64::from(THREADS)).clamp(1, self.sm_count * WAVES);
        Geometry::flat(ctas as u32, THREADS)
    }

    pub(super) fn generate(&self, to: u64, dtype: DType, program: &Program) -> Result<()> {
        let slots = vec![
            u64_arg(to),
            u32_arg(dtype as u32),
            u32_arg(program.code as u32),
            u64_arg(program.key),
            u64_arg(program.elements),
            f64_arg(program.a),
            f64_arg(program.b),
            u64_arg(program.m),
            u64_arg(program.n),
        ];
        self.run("judge_generate", &self.strided(program.elements), slots)
    }

    /// Fills bytes with an element of `size` bytes, repeated.
    pub(super) fn fill(&self, to: u64, bytes: u64, size: usize, bits: u64) -> Result<()> {
        let pattern = repeat(bits, size);
        self.run(
            "judge_fill",
            &self.strided(bytes / 8 + 8),
            vec![u64_arg(to), u64_arg(bytes), u64_arg(pattern)],
        )
    }

    pub(super) fn halve(&self, from: u64, to: u64, dtype: DType, elements: u64) -> Result<()> {
        let slots = vec![u64_arg(from), u64_arg(to), u32_arg(dtype as u32), u64_arg(elements)];
        self.run("judge_halve", &self.strided(elements), slots)
    }

    /// Adds the sum over the words to the 8 bytes at `sum`.
    pub(super) fn checksum(&self, data: u64, bytes: u64, sum: u64) -> Result<()> {
        self.run(
            "judge_checksum",
            &self.strided(bytes.div_ceil(8)),
            vec![u64_arg(data), u64_arg(bytes), u64_arg(sum)],
        )
    }

    pub(super) fn guard_fill(&self, data: u64, first: i64, bytes: u64) -> Result<()> {
        self.run(
            "judge_guard_fill",
            &self.strided(bytes),
            vec![u64_arg(data), u64_arg(first as u64), u64_arg(bytes)],
        )
    }

    pub(super) fn guard_check(&self, data: u64, first: i64, bytes: u64, lowest: u64) -> Result<()> {
        let slots = vec![u64_arg(data), u64_arg(first as u64), u64_arg(bytes), u64_arg(lowest)];
        self.run("judge_guard_check", &self.strided(bytes), slots)
    }

    pub(super) fn gather(&self, data: u64, dtype: DType, indices: u64, out: u64, count: u32) -> Result<()> {
        let slots = vec![
            u64_arg(data),
            u32_arg(dtype as u32),
            u64_arg(indices),
            u64_arg(out),
            u32_arg(count),
        ];
        self.run(
            "judge_gather",
            &Geometry::flat(count.div_ceil(THREADS).max(1), THREADS),
            slots,
        )
    }

    /// `parts` takes one `Part` per chunk; `counts` must be zero before.
    pub(super) fn compare(&self, request: &CompareRequest) -> Result<()> {
        let (layout, rule) = (&request.layout, &request.rule);
        let slots = vec![
            u64_arg(request.got),
            u64_arg(request.want),
            u32_arg(request.dtype as u32),
            u64_arg(request.poison),
            u64_arg(layout.elements),
            u64_arg(layout.rows),
            u64_arg(layout.cols),
            u32_arg(layout.map_rows as u32),
            u32_arg(layout.map_cols as u32),
            u32_arg(rule.code),
            f64_arg(rule.atol),
            f64_arg(rule.rtol),
            f64_arg(rule.cap),
            u64_arg(rule.max_distance),
            u64_arg(request.parts),
            u64_arg(request.counts),
        ];
        let ctas = u32::try_from(layout.elements.div_ceil(CHUNK)).unwrap_or(u32::MAX);
        self.run("judge_compare", &Geometry::flat(ctas, LANES as u32), slots)
    }

    pub(super) fn empty(&self) -> Result<()> {
        self.run("judge_empty", &Geometry::flat(1, 32), Vec::new())
    }

    /// Holds the stream until the word at `flag` reaches `ticket`, or for `limit` nanoseconds: then `late` becomes `ticket`.
    pub(super) fn block(&self, flag: u64, ticket: u32, limit: u64, late: u64) -> Result<()> {
        self.run(
            "judge_block",
            &Geometry::flat(1, 1),
            vec![u64_arg(flag), u32_arg(ticket), u64_arg(limit), u64_arg(late)],
        )
    }

    pub(super) fn busy(&self, nanoseconds: u64, took: u64) -> Result<()> {
        self.run(
            "judge_busy",
            &Geometry::flat(1, 1),
            vec![u64_arg(nanoseconds), u64_arg(took)],
        )
    }

    pub(super) fn flush_write(&self, data: u64, bytes: u64, value: u64) -> Result<()> {
        let words = bytes / 8;
        self.run(
            "judge_flush_write",
            &self.strided(words),
            vec![u64_arg(data), u64_arg(words), u64_arg(value)],
        )
    }

    pub(super) fn flush_read(&self, data: u64, bytes: u64, sink: u64) -> Result<()> {
        let words = bytes / 8;
        self.run(
            "judge_flush_read",
            &self.strided(words),
            vec![u64_arg(data), u64_arg(words), u64_arg(sink)],
        )
    }
}

/// What `judge_compare` takes.
pub(super) struct CompareRequest {
    pub(super) got: u64,
    pub(super) want: u64,
    pub(super) dtype: DType,
    pub(super) poison: u64,
    pub(super) layout: Layout,
    pub(super) rule: Rule,
    pub(super) parts: u64,
    pub(super) counts: u64,
}

/// An element repeated to 8 bytes.
fn repeat(bits: u64, size: usize) -> u64 {
    (0..8 / size).fold(0, |pattern, index| pattern | (bits << (8 * size * index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_repeat_to_words() {
        assert_eq!(repeat(0xab, 1), 0xabab_abab_abab_abab);
        assert_eq!(repeat(0x1234, 2), 0x1234_1234_1234_1234);
        assert_eq!(repeat(7, 8), 7);
    }

    #[test]
    fn dtypes_have_the_kernels_numbers() {
        for (index, dtype) in DType::ALL.into_iter().enumerate() {
            assert_eq!(dtype as usize, index, "{dtype}");
        }
    }

    #[test]
    fn every_kernel_is_in_the_shipped_text() {
        for name in NAMES {
            assert!(PTX.contains(&format!(".entry {name}(")), "{name}");
        }
    }
}
