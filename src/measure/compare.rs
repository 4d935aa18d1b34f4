//! Two kernels against each other: both verified, then timed in turns A B B A within one worker, so that drift of clocks
//! and temperature falls on both alike.

use std::time::Instant;

use super::bench::Bench;
use super::build::{self, Built, Loaded};
use super::report::{CompareReport, CompareShape, Comparison, RunReport, SCHEMA};
use super::{Event, RunRequest, Sink, Stage, pipeline, shape_run, timing};
use crate::shape::Shape;
use crate::stats;

use crate::verdict::{Class, Outcome, Verdict};

/// Samples of one turn. Few, so that turns are short against drift; more than one, so that a turn has a median.
const TURN_SAMPLES: usize = 5;
/// Rounds of A B B A at least: the interval of the ratio needs that many.
const MIN_ROUNDS: usize = 8;
/// Rounds at most.
const MAX_ROUNDS: usize = 200;
/// Rounds between two looks at the interval: resampling takes a few milliseconds.
const JUDGE_EVERY: usize = 8;

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
    if reports.iter().all(|report| report.status == Class::Passed)
        && let Err(verdict) = interleave(a, b, bench, sink, &reports, &mut shapes)
    {
        for report in &mut reports {
            pipeline::conclude(report, Some(verdict.clone()));
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
        let mut compared = None;
        for round in 1..=MAX_ROUNDS {
            for index in [0, 1, 1, 0] {
                let samples = timing::take(bench, &subjects[index], a.cold, TURN_SAMPLES)?;
                used += samples.used.len();
                // A turn whose samples were all throttled has no median; a gap keeps the pairs aligned.
                turns[index].push(stats::median(&samples.used).unwrap_or(f64::NAN));
            }
            let elapsed = began.elapsed().as_secs_f64();
            sink(Event::Progress {
                shape: Some(shape.id.clone()),
                stage: Stage::Time,
                done: (elapsed / limit).min(1.0),
            });
            if round >= MIN_ROUNDS && (round % JUDGE_EVERY == 0 || elapsed > limit) {
                compared = stats::compare(&turns[0], &turns[1]);
                if elapsed > limit || compared.is_some_and(|compared| is_narrow(&compared.ratio)) {
                    break;
                }
            }
        }
        result(&shape.id, compared, used)
    })
}

fn is_narrow(ratio: &stats::Interval) -> bool {
    ratio.hi - ratio.lo < 2.0 * stats::TARGET_HALF_WIDTH * ratio.value
}

/// `stats` gives B's time over A's; the report's ratio is the speedup, A's over B's.
fn result(shape: &str, compared: Option<stats::Comparison>, used: usize) -> Outcome<CompareShape> {
    let Some(compared) = compared else {
        return Verdict::new(Class::Environment, format!("shape `{shape}`: no usable samples"))
            .try_next("let the device cool down, or lift its power limit, and run again")
            .fail();
    };
    Ok(CompareShape {
        id: shape.to_owned(),
        result: match compared.standing {
            stats::Standing::Faster => Comparison::Faster,
            stats::Standing::Slower => Comparison::Slower,
            stats::Standing::Same => Comparison::Same,
            stats::Standing::Unclear => Comparison::Unclear,
        },
        ratio: compared.ratio.value.recip(),
        ci95: [compared.ratio.hi.recip(), compared.ratio.lo.recip()],
        samples: used as u32,
    })
}
