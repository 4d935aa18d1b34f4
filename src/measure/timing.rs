//! Timing: samples until the median is known well enough, then proof that the timed launches did the work.

use std::time::Instant;

use super::bench::Bench;
use super::event::{Event, Stage};
use super::floor::HardBound;
use super::inputs::{Case, generate_all, reset_outputs, reset_scratch};
use super::report::{CacheState, TimingKind, TimingReport};
use super::verify::{Subject, judge};
use super::{RunRequest, Sink};
use crate::device::{Flow, Sample, TimePlan};
use crate::stats;
use crate::verdict::{Class, Outcome, OutputEvidence, Verdict};

/// Samples kept at most: beyond them the interval hardly narrows.
pub(super) const MAX_SAMPLES: usize = 2_000;
/// Timed launches after the outputs were poisoned anew and the inputs changed: a kernel that stopped working
/// during the samples shows here.
const PROOF_SAMPLES: usize = 3;
/// A median under this share of the physical floor is refused. Below 1 for the clock's resolution and for peaks that
/// boost clocks exceed a little.
pub(super) const FLOOR_MARGIN: f64 = 0.9;

/// Progress worth a message.
const PROGRESS_STEP: f64 = 0.02;

/// Poison patterns of the executions after verification.
const TIMING_ROUND: u64 = 1;
const PROOF_ROUND: u64 = 2;

/// Samples of one subject, with the throttled ones counted apart.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub used: Vec<f64>,
    pub throttled: u32,
    sm_mhz: Vec<u32>,
}

impl Samples {
    pub(super) fn push(&mut self, sample: Sample) {
        if sample.throttled {
            self.throttled += 1;
            return;
        }
        self.used.push(sample.microseconds);
        self.sm_mhz.extend(sample.sm_mhz);
    }

    /// Median SM clock over the used samples.
    fn clock(&self) -> Option<u32> {
        let mut clocks = self.sm_mhz.clone();
        clocks.sort_unstable();
        clocks.get(clocks.len() / 2).copied()
    }

    /// # Errors
    /// `environment` where every sample was throttled.
    pub(super) fn report(self, cold: bool, launch_floor_us: Option<f64>) -> Outcome<TimingReport> {
        let (Some(median), Some(min_us)) = (stats::median_interval(&self.used), stats::min(&self.used)) else {
            return Verdict::new(
                Class::Environment,
                format!(
                    "no usable sample: {} were taken under a throttled clock",
                    self.throttled
                ),
            )
            .try_next("let the device cool down, or lift its power limit, and run again")
            .fail();
        };
        Ok(TimingReport {
            median_us: median.value,
            min_us,
            samples: self.used.len() as u32,
            ci95_us: [median.lo, median.hi],
            kind: TimingKind::Measured,
            cache: if cold { CacheState::Cold } else { CacheState::Warm },
            throttled_samples: self.throttled,
            launch_floor_us,
            sm_mhz: self.clock(),
            all_us: self.used,
        })
    }
}

/// Times a verified subject, then proves that its timed launches still gave the right answers.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    subject: &Subject<'_>,
    cases: &[Case],
    request: &RunRequest,
    sink: &mut Sink<'_>,
) -> Outcome<(TimingReport, Vec<OutputEvidence>)> {
    let Some(first) = cases.first() else {
        return Verdict::new(Class::Environment, "there is no case to time").fail();
    };
    let launch_floor = bench.device.launch_floor()?;
    set_poisoned(bench, subject, first, TIMING_ROUND)?;
    let samples = sample(bench, subject, request, sink)?;
    let mut checked = check_timed(bench, subject, first, TIMING_ROUND)?;
    // Other values at the same addresses, where the request has any.
    let other = cases.get(1).unwrap_or(first);
    set_poisoned(bench, subject, other, PROOF_ROUND)?;
    take(bench, subject, request.cold, PROOF_SAMPLES)?;
    checked.extend(check_timed(bench, subject, other, PROOF_ROUND)?);
    Ok((samples.report(request.cold, launch_floor)?, checked))
}

/// Fresh inputs, poisoned outputs and scratch: what a timed launch must find.
pub(super) fn set_stage(bench: &mut Bench<'_>, subject: &Subject<'_>, case: &Case) -> Outcome<()> {
    set_poisoned(bench, subject, case, TIMING_ROUND)
}

fn set_poisoned(bench: &mut Bench<'_>, subject: &Subject<'_>, case: &Case, round: u64) -> Outcome<()> {
    generate_all(bench.device, subject.operator, subject.shape, case, subject.workspace)?;
    reset_outputs(
        bench.device,
        subject.operator,
        subject.shape,
        case,
        subject.workspace,
        round,
    )?;
    reset_scratch(bench.device, subject.plan, &subject.workspace.buffers, round)
}

/// Samples until the stopping rule, the time limit, or a cancel.
fn sample(bench: &mut Bench<'_>, subject: &Subject<'_>, request: &RunRequest, sink: &mut Sink<'_>) -> Outcome<Samples> {
    let mut samples = Samples::default();
    let began = Instant::now();
    let mut told = 0.0;
    let plan = TimePlan {
        launches: subject.launches(),
        zero: subject.zeroed(),
        cold: request.cold,
    };
    let cancel = bench.cancel.clone();
    bench.device.time(&plan, &mut |sample| {
        samples.push(sample);
        sink(Event::Sample {
            shape: subject.shape.id.clone(),
            sample,
        });
        let elapsed = began.elapsed().as_secs_f64();
        let done = (elapsed / request.time_limit_s).min(1.0);
        if done - told >= PROGRESS_STEP {
            told = done;
            sink(Event::Progress {
                shape: Some(subject.shape.id.clone()),
                stage: Stage::Time,
                done,
            });
        }
        let enough = elapsed >= request.time_limit_s
            || samples.used.len() >= MAX_SAMPLES
            || stats::is_settled(&samples.used)
            || cancel.is_set();
        if enough { Flow::Stop } else { Flow::Continue }
    })?;
    cancel.check()?;
    Ok(samples)
}

/// A fixed number of timed executions.
pub(super) fn take(bench: &mut Bench<'_>, subject: &Subject<'_>, cold: bool, count: usize) -> Outcome<Samples> {
    let mut samples = Samples::default();
    let mut seen = 0;
    let plan = TimePlan {
        launches: subject.launches(),
        zero: subject.zeroed(),
        cold,
    };
    let cancel = bench.cancel.clone();
    bench.device.time(&plan, &mut |sample| {
        samples.push(sample);
        seen += 1;
        if seen >= count || cancel.is_set() {
            Flow::Stop
        } else {
            Flow::Continue
        }
    })?;
    cancel.check()?;
    Ok(samples)
}

/// Compares what the timed launches left behind. Tensors changed in place went through many launches and are run once
/// more from fresh inputs instead.
fn check_timed(bench: &mut Bench<'_>, subject: &Subject<'_>, case: &Case, round: u64) -> Outcome<Vec<OutputEvidence>> {
    if subject.workspace.in_place() {
        set_poisoned(bench, subject, case, round)?;
        subject.execute(bench, case, round)?;
    }
    let want = bench.warm.answer(
        bench.device,
        subject.operator,
        subject.shape,
        subject.reference,
        case,
        subject.workspace,
    )?;
    let outputs = subject.compare(bench.device, &want, case, round)?;
    subject.check_guards(bench.device)?;
    if let Err(wrong) = judge(&outputs) {
        let mut verdict = Verdict::new(
            Class::Integrity,
            format!(
                "the launch that was verified gave the right answer, a timed one did not: {}",
                wrong.reason
            ),
        );
        verdict.evidence = wrong.evidence;
        return verdict.fail();
    }
    Ok(outputs)
}

/// # Errors
/// `too_fast` where the median lies under what the device can do: an empty launch, or the hard bound of the shape.
pub(super) fn check_floor(timing: &TimingReport, bound: Option<&HardBound>) -> Outcome<()> {
    let launch = timing.launch_floor_us.unwrap_or(0.0);
    let work = bound.map_or(0.0, |bound| bound.us);
    let floor = launch.max(work);
    if timing.median_us >= floor * FLOOR_MARGIN {
        return Ok(());
    }
    let measured = timing.median_us;
    let reason = match bound {
        Some(bound) if work >= launch => {
            format!(
                "{measured:.2} us measured, but this device needs {work:.2} us for the {}",
                bound.what
            )
        }
        _ => format!("{measured:.2} us measured, but an empty launch takes {launch:.2} us on this device"),
    };
    Verdict::new(Class::TooFast, reason).fail()
}
