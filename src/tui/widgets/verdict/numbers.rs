//! The numbers of a shape that passed: time against the roof where it was measured, what was counted where it was not.

use crate::device::Counters;
use crate::measure::report::{CacheState, RooflineReport, ShapeReport, TimingKind, TimingReport};
use crate::roofline::Roof;
use crate::tui::model::Model;
use crate::tui::theme::Slot;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::text::wrap;
use crate::units::{bandwidth, bytes, count, flop_rate, flops, intensity, percent, ratio, significant, time_us};

/// Columns of the labels at the left.
const LABEL: usize = 12;
/// Bytes of a memory sector, the unit of global memory traffic (CUDA C++ Programming Guide, "Device Memory Accesses").
const SECTOR_BYTES: u64 = 32;
/// Lanes of a warp.
const LANES: u64 = 32;

pub(super) fn rows(model: &Model, shape: &ShapeReport, width: usize) -> Vec<Row> {
    let mut rows = match &shape.timing {
        Some(timing) => timed(model, shape, timing, width),
        None => untimed(model, width),
    };
    if shape.timing.is_none()
        && let Some(roofline) = &shape.roofline
    {
        rows.push(
            label("bound")
                .text(format!("{} at {}", roofline.bound, intensity(roofline.intensity)))
                .muted(format!("   roof {}", time_us(roofline.t_sol_us))),
        );
    }
    if let Some(counters) = &shape.counters {
        rows.extend(counted(counters, shape.roofline.as_ref(), width));
    }
    rows.extend(resources(model));
    if let Some(worst) = shape
        .verify
        .iter()
        .flat_map(|verify| &verify.outputs)
        .max_by_key(|output| output.max_ulp)
    {
        let text = format!("{} ulp", count(worst.max_ulp));
        rows.push(label("worst error").text(text).muted(format!(
            "  in {}, abs {}",
            worst.output,
            significant(worst.max_abs)
        )));
    }
    for skipped in shape.verify.iter().flat_map(|verify| &verify.skipped) {
        rows.extend(wrapped("not checked", skipped, width));
    }
    rows
}

fn label(text: &str) -> Row {
    Row::new().muted(text).to(LABEL + 1)
}

fn wrapped(name: &str, text: &str, width: usize) -> Vec<Row> {
    wrap(&crate::tui::escape::line(text), width.saturating_sub(LABEL + 1))
        .into_iter()
        .enumerate()
        .map(|(index, line)| label(if index == 0 { name } else { "" }).text(line))
        .collect()
}

fn untimed(model: &Model, width: usize) -> Vec<Row> {
    if model.device.info().is_some() && !model.device.measures_time() {
        return wrapped(
            "time",
            "not measured: the emulator verifies and counts, it does not time",
            width,
        );
    }
    Vec::new()
}

fn timed(model: &Model, shape: &ShapeReport, timing: &TimingReport, width: usize) -> Vec<Row> {
    let half = (timing.ci95_us[1] - timing.ci95_us[0]) / 2.0 / timing.median_us;
    let cache = match timing.cache {
        CacheState::Cold => "cold",
        CacheState::Warm => "warm",
    };
    let (kind, tilde, slot) = match timing.kind {
        TimingKind::Measured => ("measured", "", Slot::Accent),
        TimingKind::Modelled => ("modelled", "~", Slot::Muted),
    };
    let mut rows = vec![
        Row::new()
            .bold(slot, format!("{tilde}{}", time_us(timing.median_us)))
            .to(LABEL + 1)
            .muted(format!("{kind}, {cache}  ± {}", percent(half))),
    ];
    if let Some(roofline) = &shape.roofline {
        rows.extend(against_roof(timing, roofline));
    }
    if let Some(comparison) = compared(model, shape) {
        rows.push(comparison);
    }
    if !timing.all_us.is_empty() {
        rows.push(
            label(&format!("{} samples", timing.samples))
                .join(sparkline(&timing.all_us, width.saturating_sub(LABEL + 1))),
        );
    }
    if timing.throttled_samples > 0 {
        let text = format!(
            "{} samples under a throttled clock were dropped",
            timing.throttled_samples
        );
        rows.push(Row::new().add(Slot::Warning, text));
    }
    rows
}

fn against_roof(timing: &TimingReport, roofline: &RooflineReport) -> Vec<Row> {
    let seconds = timing.median_us / 1e6;
    let mut rows = Vec::new();
    if let Some(fraction) = roofline.fraction {
        rows.push(
            Row::new()
                .bold(Slot::Text, percent(fraction))
                .to(LABEL + 1)
                .muted(format!(
                    "of the {} roof, {}",
                    roofline.bound,
                    time_us(roofline.t_sol_us)
                )),
        );
    }
    let mut rates = label("rate").text(bandwidth(roofline.bytes / seconds));
    if roofline.flops > 0.0 {
        rates = rates.text(format!("   {}", flop_rate(roofline.flops / seconds)));
    }
    rows.push(rates);
    rows
}

/// Against the version before on the same device, where both were measured.
fn compared(model: &Model, shape: &ShapeReport) -> Option<Row> {
    let measured = |report: &ShapeReport| {
        let timing = report.timing.as_ref()?;
        (timing.kind == TimingKind::Measured).then_some(timing.median_us)
    };
    let now = measured(shape)?;
    let device = &model.device.info()?.id;
    let earlier = model.history.iterations().iter().rev();
    let (version, before) = earlier
        .filter(|iteration| iteration.device == *device)
        .filter_map(|iteration| {
            let report = iteration.shapes.iter().find(|report| report.id == shape.id)?;
            Some((iteration.version, measured(report)?))
        })
        // The newest kept run may be this very one.
        .find(|(_, before)| before.to_bits() != now.to_bits())?;
    Some(
        label("speed")
            .text(ratio(before / now))
            .muted(format!("  of v{version}, not interleaved")),
    )
}

fn counted(counters: &Counters, roofline: Option<&RooflineReport>, width: usize) -> Vec<Row> {
    let asked = counters.global_read_bytes + counters.global_write_bytes;
    let moved = counters.global_sectors * SECTOR_BYTES;
    let mut traffic = label("traffic").text(bytes(asked as f64));
    if let Some(roofline) = roofline.filter(|roofline| roofline.bytes > 0.0) {
        traffic = traffic.muted(format!("  {:.2}x of what must move", asked as f64 / roofline.bytes));
    }
    let mut rows = vec![traffic];
    if moved > 0 {
        let used = (asked as f64 / moved as f64).min(1.0);
        rows.push(
            label("sectors")
                .text(format!("{} used", percent(used)))
                .muted(format!("  {} of {SECTOR_BYTES} bytes", count(counters.global_sectors))),
        );
    }
    let warp_instructions: u64 = counters.warp_instructions.values().sum();
    if warp_instructions > 0 {
        let active = counters.lane_instructions as f64 / (warp_instructions * LANES) as f64;
        let divergent = counters.divergent_branches;
        rows.push(
            label("lanes")
                .text(format!("{} active", percent(active)))
                .muted(format!("  {} divergent branches", count(divergent))),
        );
        rows.extend(wrapped("warp instr.", &mix(counters, warp_instructions), width));
    }
    let done: u64 = counters.flops.values().sum();
    if done > 0 {
        rows.push(label("work").text(flops(done as f64)));
    }
    rows
}

/// The instruction mix, the largest class first.
fn mix(counters: &Counters, total: u64) -> String {
    let mut classes: Vec<(&String, &u64)> = counters
        .warp_instructions
        .iter()
        .filter(|(_, count)| **count > 0)
        .collect();
    classes.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let shares = classes
        .iter()
        .take(4)
        .map(|(name, count)| format!("{name} {:.0} %", **count as f64 / total as f64 * 100.0));
    let shares: Vec<String> = shares.collect();
    format!("{}: {}", count(total), shares.join(", "))
}

fn resources(model: &Model) -> Option<Row> {
    let compile = model.bench.report.as_ref()?.kernel.compile.as_ref()?;
    let registers = compile.resources.iter().map(|resources| resources.registers).max()?;
    let spills: u32 = compile.resources.iter().map(|resources| resources.spill_bytes).sum();
    let shared = compile.resources.iter().map(|resources| resources.shared_bytes).max()?;
    let row = label("resources").text(format!("{registers} registers"));
    let slot = if spills > 0 { Slot::Warning } else { Slot::Text };
    Some(
        row.add(slot, format!("   {spills} B spilled"))
            .text(format!("   {shared} B shared")),
    )
}

/// What is known of a shape before any run.
pub(super) fn place(roof: &Roof, machine: &str) -> Vec<Row> {
    vec![
        label("bound")
            .text(roof.bound.name())
            .muted(format!("  at {}", intensity(roof.intensity))),
        label("roof")
            .text(time_us(roof.t_sol_us))
            .muted(format!("  the best that {machine} can do")),
        label("moves").text(bytes(roof.bytes)),
        label("computes").text(flops(roof.flops)),
    ]
}

/// Samples as a histogram of one row: from the fastest to the slowest.
pub fn sparkline(samples: &[f64], width: usize) -> Row {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const MAX_BINS: usize = 24;
    let finite = || samples.iter().copied().filter(|sample| sample.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Row::new();
    }
    let (from, until) = (time_us(low), time_us(high));
    let bins = width
        .saturating_sub(from.chars().count() + until.chars().count() + 2)
        .clamp(1, MAX_BINS);
    let mut counts = vec![0_usize; bins];
    for sample in finite() {
        let share = if high > low { (sample - low) / (high - low) } else { 0.5 };
        counts[((share * bins as f64) as usize).min(bins - 1)] += 1;
    }
    let tallest = counts.iter().copied().max().unwrap_or(1).max(1);
    let picture: String = counts
        .iter()
        .map(|&count| {
            if count == 0 {
                ' '
            } else {
                LEVELS[(count * (LEVELS.len() - 1)).div_ceil(tallest)]
            }
        })
        .collect();
    Row::new()
        .text(from)
        .add(Slot::Accent, format!(" {picture} "))
        .text(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_spans_from_the_fastest_to_the_slowest() {
        let row = sparkline(&[30.0, 30.0, 30.0, 31.0, 34.0], 60).plain();
        assert!(row.starts_with("30.0 µs █") && row.ends_with("34.0 µs"), "{row}");
        assert_eq!(sparkline(&[], 60), Row::new());
        assert_eq!(sparkline(&[f64::NAN], 60), Row::new());
        assert!(sparkline(&[5.0, 5.0], 3).plain().contains('█'));
    }
}
