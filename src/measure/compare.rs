//! Two kernels against each other: both verified, then timed in turns A B B A within one worker, so that drift of clocks
//! and temperature falls on both alike.

use std::time::Instant;

use super::bench::Bench;
use super::build::{self, Built, Loaded};
use super::report::{CompareReport, CompareShape, Comparison, RunReport, SCHEMA};
use super::{RunRequest, Sink, pipeline, shape_run, spread as stats, timing};
use crate::shape::Shape;

use crate::verdict::{Class, Outcome, Verdict};

/// Samples of one turn. Few, so that turns are short against drift; more than one, so that a turn has a median.
const TURN_SAMPLES: usize = 5;
/// Rounds of A B B A at least: the interval of the ratio needs that many.
const MIN_ROUNDS: usize = 8;
/// Rounds at most.
const MAX_ROUNDS: usize = 200;
/// Relative difference under which two kernels count as the same (nvbench-compare's threshold).
pub const SAME_WITHIN: f64 = 0.005;

/// Compares `b` with `a`. Shapes on which either does not pass are left out of the comparison and are in the reports.
pub fn run(a: &RunRequest, b: &RunRequest, bench: &mut Bench<'_>, sink: &mut Sink<'_>) -> CompareReport {
    let began = Instant::now();
    let mut reports = [a, b].map(|request| {
        let verify_only = RunRequest {
            verify_only: true,
            ..request.clone()
        };
        if bench.device.can_time() {
            pipeline::run_part(&verify_only, bench, sink)
        } else {
            refused(request, bench)
        }
    });
    let mut shapes = Vec::new();
    if reports.iter().all(|report| report.status == Class::Passed) {
        if let Err(verdict) = interleave(a, b, bench, sink, &reports, &mut shapes) {
            for report in &mut reports {
                pipeline::conclude(report, Some(verdict.clone()));
            }
        }
    }
    let wall_ms = began.elapsed().as_secs_f64() * 1e3;
    let [mut a, mut b] = reports;
    a.wall_ms = wall_ms;
    b.wall_ms = wall_ms;
    CompareReport {
        schema: SCHEMA,
        a,
        b,
        shapes,
    }
}

fn refused(request: &RunRequest, bench: &Bench<'_>) -> RunReport {
    let mut report = pipeline::blank(request, bench.device.info());
    let verdict = Verdict::new(Class::Environment, "times are not measured on the emulator")
        .try_next("compare on a GPU: `--device cuda:0`")
        .try_next("`ridgepoint run` on the emulator counts instructions, bytes and FLOPs of each kernel instead");
    pipeline::conclude(&mut report, Some(Box::new(verdict)));
    report
}

/// One of the two kernels, loaded.
struct Side {
    loaded: Loaded,
    built: Built,
}

fn interleave(
    a: &RunRequest,
    b: &RunRequest,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
    reports: &[RunReport; 2],
    results: &mut Vec<CompareShape>,
) -> Outcome<()> {
    let mut side = |request: &RunRequest, bench: &mut Bench<'_>| -> Outcome<Side> {
        let mut scratch = pipeline::blank(request, bench.device.info());
        let loaded = build::load(request, bench, &mut scratch)?;
        let built = build::candidate(&loaded, bench, sink)?;
        Ok(Side { loaded, built })
    };
    let first = side(a, bench)?;
    let second = match side(b, bench) {
        Ok(second) => second,
        Err(verdict) => {
            first.built.unload(bench.device);
            return Err(verdict);
        }
    };
    let mut outcome = Ok(());
    for report in &reports[0].shapes {
        let in_both = reports[1].shapes.iter().any(|other| other.id == report.id);
        let Some(shape) = first.loaded.operator.shape(&report.id).filter(|_| in_both).cloned() else {
            continue;
        };
        match one_shape(a, b, [&first, &second], &shape, bench, sink) {
            Ok(result) => results.push(result),
            Err(verdict) => {
                outcome = Err(verdict);
                break;
            }
        }
    }
    first.built.unload(bench.device);
    second.built.unload(bench.device);
    outcome
}

fn one_shape(
    a: &RunRequest,
    b: &RunRequest,
    sides: [&Side; 2],
    shape: &Shape,
    bench: &mut Bench<'_>,
    sink: &mut Sink<'_>,
) -> Outcome<CompareShape> {
    let job = |request, index: usize| shape_run::ShapeJob {
        request,
        loaded: &sides[index].loaded,
        built: &sides[index].built,
        shape,
    };
    let jobs = [job(a, 0), job(b, 1)];
    shape_run::with_two(&jobs, bench, sink, |subjects, bench, sink| {
        let mut turns = [Vec::new(), Vec::new()];
        let mut used = 0;
        let began = Instant::now();
        let limit = a.time_limit_s * 2.0;
        let (mut ratio, mut ci95) = (1.0, [0.0, f64::INFINITY]);
        for round in 0..MAX_ROUNDS {
            for index in [0, 1, 1, 0] {
                let samples = timing::take(bench, &subjects[index], a.cold, TURN_SAMPLES)?;
                used += samples.used.len();
                if let Some(summary) = stats::summarize(&samples.used) {
                    turns[index].push(summary.median);
                }
            }
            sink(super::Event::Progress {
                shape: Some(shape.id.clone()),
                stage: super::Stage::Time,
                done: (began.elapsed().as_secs_f64() / limit).min(1.0),
            });
            if round + 1 >= MIN_ROUNDS {
                let [times_a, times_b] = &turns;
                (ratio, ci95) = stats::paired_ratio(times_a, times_b).unwrap_or((ratio, ci95));
                let narrow = (ci95[1] - ci95[0]) < SAME_WITHIN * ratio;
                if narrow || began.elapsed().as_secs_f64() > limit {
                    break;
                }
            }
        }
        Ok(CompareShape {
            id: shape.id.clone(),
            result: judge(ratio, ci95),
            ratio,
            ci95,
            samples: used as u32,
        })
    })
}

/// FASTER and SLOWER need an interval that excludes 1 and a difference that matters; SAME an interval within it.
pub fn judge(ratio: f64, ci95: [f64; 2]) -> Comparison {
    let [low, high] = ci95;
    if low > 1.0 && ratio >= 1.0 + SAME_WITHIN {
        Comparison::Faster
    } else if high < 1.0 && ratio <= 1.0 / (1.0 + SAME_WITHIN) {
        Comparison::Slower
    } else if low >= 1.0 / (1.0 + SAME_WITHIN) && high <= 1.0 + SAME_WITHIN {
        Comparison::Same
    } else {
        Comparison::Unclear
    }
}
