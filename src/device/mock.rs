//! A device whose kernels state their own outcome and times, for tests of everything above the device.
//!
//! The "PTX" of such a kernel is a list of lines `mock VERB ...`, all other lines are ignored:
//!
//! ```text
//! mock copy x out              the bytes of one buffer into another
//! mock scale bf16 x out 0.5    each element times a number
//! mock fill f32 out 1.5        the same value everywhere
//! mock noise f32 out           element 0 counts the launches: a nondeterministic kernel
//! mock overrun out 4           a write 4 bytes past the end of a buffer
//! mock print hello             text that the kernel prints
//! mock fail memory_fault why   the launch ends with this verdict
//! mock first 5 copy x out      a step of the module's first 5 launches only
//! mock after 5 fill f32 x 0    a step of all later ones
//! mock times 10 10.5 9.8       microseconds of the samples, repeated for ever
//! mock throttled 2             every second sample is flagged
//! ```

mod program;

use std::collections::BTreeMap;

use super::{
    Bound, BufferId, Buffers, CompareSpec, Counters, DType, Device, DeviceInfo, DeviceKind, Flow, GenerateSpec, Image,
    ModuleId, Sample, TimePlan, element, evidence, generate, trouble,
};
use crate::verdict::{Class, Outcome, OutputEvidence, Verdict};
use program::{Program, Step};

/// Samples after which timing ends even if nobody says stop: a test that forgets to must not hang.
const SAMPLE_LIMIT: usize = 100_000;
/// Memory of a mock device unless a test asks for another amount.
const MEMORY: u64 = 1 << 30;

struct Buffer {
    name: String,
    bytes: Vec<u8>,
    overrun: Option<i64>,
}

/// See the module's documentation.
pub struct MockDevice {
    info: DeviceInfo,
    buffers: BTreeMap<BufferId, Buffer>,
    modules: BTreeMap<u64, Program>,
    next: u64,
    launches: u64,
    output: String,
    timing: bool,
    floor: Option<f64>,
    usable: bool,
}

impl Default for MockDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl MockDevice {
    pub fn new() -> Self {
        let property = |name: &str, value| (name.to_owned(), value);
        Self {
            info: DeviceInfo {
                id: "mock".to_owned(),
                name: "mock device".to_owned(),
                kind: DeviceKind::Mock,
                profile: "h200".to_owned(),
                properties: vec![
                    property("sm_count", 4),
                    property("max_threads_per_block", 1024),
                    property("max_shared_per_block", 232_448),
                    property("l2_bytes", 1 << 20),
                    property("warp_size", 32),
                    property("cc_major", 9),
                    property("cc_minor", 0),
                ],
                memory_bytes: MEMORY,
                details: Vec::new(),
            },
            buffers: BTreeMap::new(),
            modules: BTreeMap::new(),
            next: 1,
            launches: 0,
            output: String::new(),
            timing: true,
            floor: Some(2.0),
            usable: true,
        }
    }

    /// A device that cannot time, as the emulator.
    pub fn without_timing(mut self) -> Self {
        self.timing = false;
        self.floor = None;
        self
    }

    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.info.memory_bytes = bytes;
        self
    }

    pub fn with_floor(mut self, microseconds: f64) -> Self {
        self.floor = Some(microseconds);
        self
    }

    fn buffer(&self, id: BufferId) -> Outcome<&Buffer> {
        self.buffers.get(&id).map_or_else(|| trouble::no_buffer(id), Ok)
    }

    fn buffer_mut(&mut self, id: BufferId) -> Outcome<&mut Buffer> {
        self.buffers.get_mut(&id).map_or_else(|| trouble::no_buffer(id), Ok)
    }

    fn step(&mut self, step: &Step, bound: &Bound<'_>) -> Outcome<()> {
        let find = |name: &str| resolve(bound.buffers, name, bound);
        match step {
            Step::Copy { from, to } => self.copy(find(from)?, find(to)?),
            Step::Scale {
                dtype,
                from,
                to,
                factor,
            } => {
                let source = self.buffer(find(from)?)?.bytes.clone();
                let target = self.buffer_mut(find(to)?)?;
                let value = |index: u64| dtype.decode(element::at(*dtype, &source, index as usize)) * factor;
                let common = source.len().min(target.bytes.len());
                element::fill(*dtype, &mut target.bytes[..common], |index| {
                    element::encode(*dtype, value(index))
                });
                Ok(())
            }
            Step::Fill { dtype, to, value } => {
                let bits = element::encode(*dtype, *value);
                element::fill(*dtype, &mut self.buffer_mut(find(to)?)?.bytes, |_| bits);
                Ok(())
            }
            Step::Noise { dtype, to } => {
                let bits = element::encode(*dtype, self.launches as f64).to_le_bytes();
                let target = self.buffer_mut(find(to)?)?;
                target.bytes[..dtype.size()].copy_from_slice(&bits[..dtype.size()]);
                Ok(())
            }
            Step::Overrun { to, past } => {
                let target = self.buffer_mut(find(to)?)?;
                target.overrun = Some(target.bytes.len() as i64 + past);
                Ok(())
            }
            Step::First { launches, step } if self.program(bound.module)?.launches <= *launches => {
                self.step(step, bound)
            }
            Step::After { launches, step } if self.program(bound.module)?.launches > *launches => {
                self.step(step, bound)
            }
            Step::First { .. } | Step::After { .. } => Ok(()),
            Step::Print(text) => {
                self.output.push_str(text);
                self.output.push('\n');
                Ok(())
            }
            Step::Fail { class, reason } => {
                self.usable = !matches!(class, Class::MemoryFault | Class::Timeout | Class::Crashed);
                Verdict::new(*class, reason.clone()).fail()
            }
        }
    }

    fn program(&self, module: ModuleId) -> Outcome<&Program> {
        match self.modules.get(&module.0) {
            Some(program) => Ok(program),
            None => Verdict::new(Class::Environment, format!("there is no module {}", module.0)).fail(),
        }
    }
}

fn resolve(buffers: &Buffers, name: &str, bound: &Bound<'_>) -> Outcome<BufferId> {
    match buffers.get(name) {
        Some(id) => Ok(*id),
        None => trouble::unbound(&bound.launch.kernel, name, bound.launch.line),
    }
}

impl Device for MockDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn set_limit(&mut self, _seconds: f64) {}

    fn is_usable(&self) -> bool {
        self.usable
    }

    fn free_memory(&mut self) -> Outcome<u64> {
        let used: u64 = self.buffers.values().map(|buffer| buffer.bytes.len() as u64).sum();
        Ok(self.info.memory_bytes.saturating_sub(used))
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Outcome<BufferId> {
        let free = self.free_memory()?;
        if bytes > free {
            return trouble::out_of_memory(name, bytes, free);
        }
        let id = BufferId(self.next);
        self.next += 1;
        let buffer = Buffer {
            name: name.to_owned(),
            bytes: vec![0xa5; bytes as usize],
            overrun: None,
        };
        self.buffers.insert(id, buffer);
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) {
        self.buffers.remove(&buffer);
    }

    fn size(&self, buffer: BufferId) -> u64 {
        self.buffers.get(&buffer).map_or(0, |buffer| buffer.bytes.len() as u64)
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Outcome<()> {
        let target = self.buffer_mut(buffer)?;
        let size = target.bytes.len() as u64;
        let end = offset.saturating_add(bytes.len() as u64);
        if end > size {
            return trouble::no_range(&target.name, offset, bytes.len() as u64, size);
        }
        target.bytes[offset as usize..end as usize].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: u64) -> Outcome<Vec<u8>> {
        let source = self.buffer(buffer)?;
        let size = source.bytes.len() as u64;
        let end = offset.saturating_add(bytes);
        if end > size {
            return trouble::no_range(&source.name, offset, bytes, size);
        }
        Ok(source.bytes[offset as usize..end as usize].to_vec())
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Outcome<()> {
        let source = self.buffer(from)?.bytes.clone();
        let target = self.buffer_mut(to)?;
        let common = source.len().min(target.bytes.len());
        target.bytes[..common].copy_from_slice(&source[..common]);
        Ok(())
    }

    fn poison(&mut self, buffer: BufferId, dtype: DType, bits: u64, _initialised: bool) -> Outcome<()> {
        element::fill(dtype, &mut self.buffer_mut(buffer)?.bytes, |_| bits);
        Ok(())
    }

    fn generate(&mut self, buffer: BufferId, spec: &GenerateSpec) -> Outcome<()> {
        let target = self.buffer_mut(buffer)?;
        generate::generate(&mut target.bytes, spec).or_else(|reason| trouble::bad_recipe(&reason))
    }

    fn halve(&mut self, from: BufferId, to: BufferId, dtype: DType) -> Outcome<()> {
        let source = self.buffer(from)?.bytes.clone();
        let target = self.buffer_mut(to)?;
        let common = source.len().min(target.bytes.len());
        element::fill(dtype, &mut target.bytes[..common], |index| {
            element::half(dtype, element::at(dtype, &source, index as usize))
        });
        Ok(())
    }

    fn checksum(&mut self, buffer: BufferId) -> Outcome<u64> {
        Ok(element::checksum(&self.buffer(buffer)?.bytes))
    }

    fn guards(&mut self, buffer: BufferId) -> Outcome<Option<i64>> {
        Ok(self.buffer(buffer)?.overrun)
    }

    fn compare(&mut self, got: BufferId, want: BufferId, spec: &CompareSpec) -> Outcome<OutputEvidence> {
        evidence::compare(&self.buffer(got)?.bytes, &self.buffer(want)?.bytes, spec)
    }

    fn load(&mut self, image: &Image) -> Outcome<ModuleId> {
        let program = Program::parse(&image.ptx)?;
        self.next += 1;
        self.modules.insert(self.next, program);
        Ok(ModuleId(self.next))
    }

    fn unload(&mut self, module: ModuleId) {
        self.modules.remove(&module.0);
    }

    fn launch(&mut self, bound: &Bound<'_>) -> Outcome<()> {
        self.launches += 1;
        if let Some(program) = self.modules.get_mut(&bound.module.0) {
            program.launches += 1;
        }
        let steps = self.program(bound.module)?.steps.clone();
        steps.iter().try_for_each(|step| self.step(step, bound))
    }

    fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }

    fn take_counters(&mut self) -> Option<Counters> {
        None
    }

    fn can_time(&self) -> bool {
        self.timing
    }

    fn time(&mut self, plan: &TimePlan<'_>, sink: &mut dyn FnMut(Sample) -> Flow) -> Outcome<()> {
        for index in 0..SAMPLE_LIMIT {
            for buffer in &plan.zero {
                self.poison(*buffer, DType::U8, 0, true)?;
            }
            let mut sample = Sample {
                microseconds: 0.0,
                sm_mhz: Some(1980),
                throttled: false,
            };
            for bound in &plan.launches {
                self.launch(bound)?;
                let program = self.program(bound.module)?;
                sample.microseconds += program.time(index);
                sample.throttled |= program.throttled(index);
            }
            if sink(sample) == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn launch_floor(&mut self) -> Outcome<Option<f64>> {
        Ok(self.floor)
    }
}

#[cfg(test)]
#[path = "mock_tests.rs"]
mod tests;
