//! The clock against what is known: kernels of known length, copies of known size, and the ways to make the cache cold.

use super::{Bench, Check, Seen, Worded, buffer, expect, plain, scalar, timed};
use crate::device::cuda::clock::{Flush, Ready};
use crate::device::{Bound, DType, Device, Flow, TimePlan, element};

const SAMPLES: usize = 60;

pub(super) fn checks(bench: &mut Bench) -> Vec<Check> {
    let mut checks = vec![timed("launch floor", || floor(bench))];
    for nanoseconds in [0, 5_000, 20_000, 100_000, 1_000_000] {
        checks.push(timed(&format!("busy for {nanoseconds} ns"), || {
            busy(bench, nanoseconds)
        }));
    }
    for mebibytes in [1, 4, 16, 64, 256, 1024] {
        checks.push(timed(&format!("copy of {mebibytes} MiB"), || copy(bench, mebibytes)));
    }
    checks.push(timed("time", || through_the_trait(bench)));
    checks
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn floor(bench: &mut Bench) -> Seen {
    let floor = bench.device.launch_floor().worded()?.ok_or("no floor")?;
    let mut open = Vec::new();
    for _ in 0..SAMPLES {
        let device = &mut bench.device;
        let (judge, stream) = (&device.judge, device.stream);
        let sample = device
            .clock
            .sample_unblocked(stream, device.limit, &mut || judge.empty());
        open.push(device.resolve(sample, "timing an empty kernel").worded()?);
    }
    expect(
        floor > 0.5 && floor < 20.0,
        format!(
            "{floor:.3} us; without the blocking kernel {:.3} us; the clock's own cost, taken off, {:.3} us",
            median(open),
            bench.device.clock_cost().worded()?
        ),
    )
}

/// What events show beyond the length that the kernel itself saw.
fn busy(bench: &mut Bench, nanoseconds: u64) -> Seen {
    let (mut shown, mut over) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let device = &mut bench.device;
        let (judge, stream, took) = (&device.judge, device.stream, device.scratch);
        let sample = device
            .clock
            .sample(Flush::Warm, judge, stream, device.limit, &mut || Ok(()), &mut || {
                judge.busy(nanoseconds, took)
            });
        let microseconds = device.resolve(sample, "timing a busy kernel").worded()?;
        let inside = element::at(DType::I64, &device.fetch(took, 8).worded()?, 0) as f64 / 1e3;
        shown.push(microseconds);
        over.push(microseconds - inside);
    }
    let (shown, over) = (median(shown), median(over));
    expect(
        (-2.0..20.0).contains(&over),
        format!("events show {shown:.3} us, {over:.3} us more than the kernel saw"),
    )
}

fn samples(bench: &mut Bench, flush: Flush, ready: &mut [Ready]) -> Result<Vec<f64>, String> {
    (0..SAMPLES)
        .map(|_| bench.device.sample(flush, &[], ready, "timing a copy").worded())
        .collect()
}

fn copy(bench: &mut Bench, mebibytes: u64) -> Seen {
    let bytes = mebibytes << 20;
    let (from, to) = (bench.buffer("x", bytes)?, bench.buffer("y", bytes)?);
    for id in [from, to] {
        bench.device.poison(id, DType::U32, 0x1234_5678, true).worded()?;
    }
    let sms = bench.device.limits.sm_count as u32;
    let launch = plain(
        "st_copy",
        sms * 16,
        256,
        vec![buffer("x"), buffer("y"), scalar((bytes / 16).to_le_bytes())],
    );
    let bound = Bound {
        module: bench.module,
        launch: &launch,
        buffers: &bench.buffers,
    };
    let mut ready = vec![bench.device.ready(&bound).worded()?];
    let mut words = Vec::new();
    for flush in [Flush::Clean, Flush::Dirty, Flush::Warm] {
        let all = samples(bench, flush, &mut ready)?;
        let smallest = all.iter().copied().fold(f64::INFINITY, f64::min);
        let middle = median(all);
        let rate = 2.0 * bytes as f64 / middle / 1e3;
        words.push(format!(
            "{flush:?} {middle:.3} us (least {smallest:.3}, {rate:.0} GB/s)"
        ));
    }
    Ok(words.join(", "))
}

fn through_the_trait(bench: &mut Bench) -> Seen {
    let bytes = 64_u64 << 20;
    for name in ["x", "y"] {
        let id = bench.buffer(name, bytes)?;
        bench.device.poison(id, DType::U32, 7, true).worded()?;
    }
    let launch = plain(
        "st_copy",
        2048,
        256,
        vec![buffer("x"), buffer("y"), scalar((bytes / 16).to_le_bytes())],
    );
    let bound = Bound {
        module: bench.module,
        launch: &launch,
        buffers: &bench.buffers,
    };
    let plan = TimePlan {
        launches: vec![bound.clone(), bound],
        zero: vec![bench.buffers["y"]],
        cold: true,
    };
    let mut all = Vec::new();
    let mut last = None;
    bench
        .device
        .time(&plan, &mut |sample| {
            all.push(sample.microseconds);
            last = Some(sample);
            if all.len() == SAMPLES {
                Flow::Stop
            } else {
                Flow::Continue
            }
        })
        .worded()?;
    let (least, most) = (
        all.iter().copied().fold(f64::INFINITY, f64::min),
        all.iter().copied().fold(0.0, f64::max),
    );
    let (count, middle) = (all.len(), median(all));
    expect(
        count == SAMPLES && least > 10.0,
        format!("two copies: {least:.3} / {middle:.3} / {most:.3} us, last {last:?}"),
    )
}
