//! Buffers on a CUDA device: guard bands around them, and the judge's work on them.

use super::judge::CompareRequest;
use super::{CudaDevice, driver};
use crate::device::compare::{self, COUNTS, Layout, Part, Rule, Totals};
use crate::device::{BufferId, CompareSpec, GenerateSpec, element, evidence, generate, trouble};
use crate::verdict::{Class, Outcome, OutputEvidence, Verdict};

/// Bytes of guard before and after a buffer: more than a tile's row, and a multiple of every alignment that is asked for.
const GUARD: u64 = 64 * 1024;
/// Device memory left free, for the driver's own needs and for module code.
const RESERVE: u64 = 256 << 20;
/// Parts of the scratch buffer: one number, the counts of a comparison, indices to gather, gathered bits.
const NUMBER_AT: u64 = 0;
const COUNTS_AT: u64 = 4096;
const INDICES_AT: u64 = 16 * 1024;
const GATHERED_AT: u64 = 40 * 1024;
/// Elements that one gather takes: what fits between `INDICES_AT` and `GATHERED_AT`.
const GATHER: usize = 3072;

/// A buffer: `data` is the address that kernels get.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) name: String,
    pub(super) base: u64,
    pub(super) data: u64,
    pub(super) bytes: u64,
    total: u64,
}

impl CudaDevice {
    pub(super) fn block(&self, id: BufferId) -> Outcome<Block> {
        self.buffers
            .get(&id)
            .map_or_else(|| trouble::no_buffer(id), |block| Ok(block.clone()))
    }

    /// The address of a range that lies inside a buffer.
    pub(super) fn range(&self, id: BufferId, offset: u64, bytes: u64) -> Outcome<u64> {
        let block = self.block(id)?;
        if offset.saturating_add(bytes) > block.bytes {
            return trouble::no_range(&block.name, offset, bytes, block.bytes);
        }
        Ok(block.data + offset)
    }

    pub(super) fn available(&mut self) -> Outcome<u64> {
        let (free, _) = self.check(driver::memory_info(), "asking for free memory")?;
        Ok(free.saturating_sub(RESERVE + 2 * GUARD))
    }

    pub(super) fn alloc_block(&mut self, name: &str, bytes: u64) -> Outcome<BufferId> {
        let free = self.available()?;
        if bytes > free {
            return trouble::out_of_memory(name, bytes, free);
        }
        let total = 2 * GUARD + bytes.next_multiple_of(256);
        let base = self.check(driver::alloc(total), &format!("allocating `{name}`"))?;
        let block = Block {
            name: name.to_owned(),
            base,
            data: base + GUARD,
            bytes,
            total,
        };
        let guarded = self
            .judge
            .guard_fill(block.base, -(GUARD as i64), GUARD)
            .and_then(|()| self.judge.guard_fill(block.data + bytes, bytes as i64, block.after()));
        self.check(guarded, "writing guard bands")?;
        self.finish("writing guard bands")?;
        let id = BufferId(self.next);
        self.next += 1;
        self.buffers.insert(id, block);
        Ok(id)
    }

    /// Reads device memory into a new vector.
    pub(super) fn fetch(&mut self, at: u64, bytes: u64) -> Outcome<Vec<u8>> {
        let mut out = vec![0; bytes as usize];
        if bytes > 0 {
            let received = driver::download(at, &mut out, self.stream);
            self.check(received, "reading from the device")?;
            self.finish("reading from the device")?;
        }
        Ok(out)
    }

    fn put_number(&mut self, value: u64) -> Outcome<u64> {
        let at = self.scratch + NUMBER_AT;
        let sent = driver::upload(at, &value.to_le_bytes(), self.stream);
        self.check(sent, "writing a number to the device")?;
        Ok(at)
    }

    fn take_number(&mut self) -> Outcome<u64> {
        let bytes = self.fetch(self.scratch + NUMBER_AT, 8)?;
        Ok(element::at(crate::dtype::DType::I64, &bytes, 0))
    }

    pub(super) fn generate_into(&mut self, buffer: BufferId, spec: &GenerateSpec) -> Outcome<()> {
        let bytes = spec.elements * spec.dtype.size() as u64;
        let at = self.range(buffer, 0, bytes)?;
        let program = generate::program(spec).or_else(|reason| trouble::bad_recipe(&reason))?;
        let queued = self.judge.generate(at, spec.dtype, &program);
        self.check(queued, "generating a tensor")?;
        self.finish("generating a tensor")
    }

    pub(super) fn checksum_of(&mut self, buffer: BufferId) -> Outcome<u64> {
        let block = self.block(buffer)?;
        let at = self.put_number(0)?;
        let queued = self.judge.checksum(block.data, block.bytes, at);
        self.check(queued, "computing a checksum")?;
        Ok(element::checksum_end(self.take_number()?, block.bytes))
    }

    pub(super) fn check_guards(&mut self, buffer: BufferId) -> Outcome<Option<i64>> {
        let block = self.block(buffer)?;
        let at = self.put_number(i64::MAX as u64)?;
        let queued = self
            .judge
            .guard_check(block.base, -(GUARD as i64), GUARD, at)
            .and_then(|()| {
                self.judge
                    .guard_check(block.data + block.bytes, block.bytes as i64, block.after(), at)
            });
        self.check(queued, "checking guard bands")?;
        let lowest = self.take_number()? as i64;
        Ok((lowest != i64::MAX).then_some(lowest))
    }

    pub(super) fn compare_buffers(
        &mut self,
        got: BufferId,
        want: BufferId,
        spec: &CompareSpec,
    ) -> Outcome<OutputEvidence> {
        let totals = self.compare_totals(got, want, spec)?;
        let (got, want) = (self.block(got)?, self.block(want)?);
        evidence::evidence(&totals, spec, &mut |in_got, in_want| {
            Ok((
                self.gather(got.data, spec, in_got)?,
                self.gather(want.data, spec, in_want)?,
            ))
        })
    }

    /// The comparison before it is put in words.
    pub(super) fn compare_totals(&mut self, got: BufferId, want: BufferId, spec: &CompareSpec) -> Outcome<Totals> {
        let layout = Layout::new(&spec.dims);
        let bytes = layout.elements * spec.dtype.size() as u64;
        let (got, want) = (self.range(got, 0, bytes)?, self.range(want, 0, bytes)?);
        if layout.elements == 0 {
            return Ok(Totals {
                part: Part::EMPTY,
                counts: vec![0; COUNTS],
            });
        }
        if layout.chunks() > u64::from(u32::MAX >> 1) {
            return Verdict::new(
                Class::Unsupported,
                format!("{} elements are too many to compare at once", layout.elements),
            )
            .try_next("choose a smaller shape")
            .fail();
        }
        let size = layout.chunks() * size_of::<Part>() as u64;
        let parts = self.check(driver::alloc(size), "allocating the comparison's results")?;
        let request = CompareRequest {
            got,
            want,
            dtype: spec.dtype,
            poison: spec.poison,
            layout,
            rule: Rule::new(&spec.contract),
            parts,
            counts: self.scratch + COUNTS_AT,
        };
        let totals = self.run_compare(&request, size);
        let freed = driver::free(parts);
        let totals = totals?;
        self.check(freed, "freeing the comparison's results")?;
        Ok(totals)
    }

    fn run_compare(&mut self, request: &CompareRequest, size: u64) -> Outcome<Totals> {
        let counts = COUNTS as u64 * 8;
        let queued = self
            .judge
            .fill(request.counts, counts, 8, 0)
            .and_then(|()| self.judge.compare(request));
        self.check(queued, "comparing an output")?;
        self.finish("comparing an output")?;
        let parts = self.fetch(request.parts, size)?;
        let counts = self.fetch(request.counts, counts)?;
        Ok(Totals {
            part: compare::total(&bytemuck::pod_collect_to_vec::<u8, Part>(&parts)),
            counts: bytemuck::pod_collect_to_vec::<u8, u64>(&counts),
        })
    }

    fn gather(&mut self, data: u64, spec: &CompareSpec, indices: &[u64]) -> Outcome<Vec<u64>> {
        let mut bits = Vec::with_capacity(indices.len());
        for part in indices.chunks(GATHER) {
            let (from, to) = (self.scratch + INDICES_AT, self.scratch + GATHERED_AT);
            let queued = driver::upload(from, bytemuck::cast_slice(part), self.stream)
                .and_then(|()| self.judge.gather(data, spec.dtype, from, to, part.len() as u32));
            self.check(queued, "reading single elements")?;
            let bytes = self.fetch(to, part.len() as u64 * 8)?;
            bits.extend(bytemuck::pod_collect_to_vec::<u8, u64>(&bytes));
        }
        Ok(bits)
    }
}

impl Block {
    /// Bytes of guard after the data.
    const fn after(&self) -> u64 {
        self.total - GUARD - self.bytes
    }
}
