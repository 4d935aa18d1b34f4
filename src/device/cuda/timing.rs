//! Timing launches on a CUDA device: warm-up, samples, the launch floor.

use std::time::{Duration, Instant};

use super::clock::{Flush, Ready, Trouble};
use super::sensors::Reading;
use super::{CudaDevice, driver};
use crate::device::{Flow, Sample, TimePlan};
use crate::verdict::Outcome;

/// NVML is asked at most this often: a reading costs more than a short sample.
const SENSOR_INTERVAL: Duration = Duration::from_millis(20);
/// Untimed executions before the first sample: code and descriptors are loaded, the clock has risen.
const WARM_UPS: u32 = 3;
/// Samples in a row for which the host may be late before timing is given up.
const LATE_LIMIT: u32 = 8;
/// Empty launches for the floor.
const FLOOR_SAMPLES: u32 = 100;

impl CudaDevice {
    pub(super) fn time_launches(&mut self, plan: &TimePlan<'_>, sink: &mut dyn FnMut(Sample) -> Flow) -> Outcome<()> {
        self.check(driver::reset_persisting_l2(), "resetting the persisting part of the L2")?;
        let mut launches = plan
            .launches
            .iter()
            .map(|bound| self.ready(bound))
            .collect::<Outcome<Vec<Ready>>>()?;
        let mut zero = Vec::with_capacity(plan.zero.len());
        for buffer in &plan.zero {
            let block = self.block(*buffer)?;
            zero.push((block.data, block.bytes));
        }
        let names: Vec<&str> = plan.launches.iter().map(|bound| bound.launch.kernel.as_str()).collect();
        let during = format!("timing `{}`", names.join("`, `"));
        let flush = if plan.cold { Flush::Clean } else { Flush::Warm };
        for _ in 0..WARM_UPS {
            self.sample(flush, &zero, &mut launches, &during)?;
        }
        let (mut reading, mut read_at) = (self.read_sensors(), Instant::now());
        loop {
            let microseconds = self.sample(flush, &zero, &mut launches, &during)?;
            if read_at.elapsed() >= SENSOR_INTERVAL {
                (reading, read_at) = (self.read_sensors(), Instant::now());
            }
            let sample = Sample {
                microseconds,
                sm_mhz: reading.sm_mhz,
                throttled: reading.throttled,
            };
            if sink(sample) == Flow::Stop {
                return Ok(());
            }
        }
    }

    fn read_sensors(&self) -> Reading {
        self.sensors.as_ref().map(super::Sensors::read).unwrap_or_default()
    }

    /// One sample; taken again where the host was late.
    pub(super) fn sample(
        &mut self,
        flush: Flush,
        zero: &[(u64, u64)],
        launches: &mut [Ready],
        during: &str,
    ) -> Outcome<f64> {
        let mut late = 0;
        loop {
            let (judge, stream) = (&self.judge, self.stream);
            let mut before = || {
                zero.iter()
                    .try_for_each(|(data, bytes)| judge.fill(*data, *bytes, 1, 0))
            };
            let mut work = || launches.iter_mut().try_for_each(|launch| launch.queue(stream));
            match self
                .clock
                .sample(flush, judge, stream, self.limit, &mut before, &mut work)
            {
                Err(Trouble::Late) if late < LATE_LIMIT => late += 1,
                result => return self.resolve(result, during),
            }
        }
    }

    /// What the clock shows for nothing at all, microseconds; already taken off every sample.
    pub(super) fn clock_cost(&mut self) -> Outcome<f64> {
        let cost = self.clock.cost(&self.judge, self.stream, self.limit);
        self.resolve(cost, "timing nothing")
    }

    /// The shortest time of an empty kernel, microseconds.
    pub(super) fn floor(&mut self) -> Outcome<f64> {
        let mut shortest = f64::INFINITY;
        for _ in 0..FLOOR_SAMPLES {
            let (judge, stream) = (&self.judge, self.stream);
            let sample = self
                .clock
                .sample(Flush::Warm, judge, stream, self.limit, &mut || Ok(()), &mut || {
                    judge.empty()
                });
            shortest = shortest.min(self.resolve(sample, "timing an empty kernel")?);
        }
        Ok(shortest)
    }
}
