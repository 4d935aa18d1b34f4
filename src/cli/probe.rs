//! `ridgepoint check --probe DEVICE`: known wrong answers for every complete operator; each must fail its contract.

use std::path::Path;

use super::args::CheckArgs;
use super::{Exit, print};
use crate::device;
use crate::measure::Warm;
use crate::measure::bench::Bench;
use crate::measure::cancel::Cancel;
use crate::measure::probe::{self, Answer, Found, ProbeReport};
use crate::problem::Catalogue;
use crate::toolchain::Toolchain;

/// `args.path` may name one operator instead of a path.
pub(super) fn run(spec: &str, args: &CheckArgs, problems: Option<&Path>) -> Exit {
    let catalogue = Catalogue::load(problems);
    let only = args.path.as_deref().and_then(Path::to_str);
    if let Some(name) = only
        && let Err(unknown) = catalogue.operator(name)
    {
        print::note(format!("error: {unknown}"));
        return Exit::Usage;
    }
    let mut device = match device::open(spec) {
        Ok(device) => device,
        Err(verdict) => {
            print::note(format!("error: {}", verdict.reason));
            for line in &verdict.next {
                print::note(format!("  next: {line}"));
            }
            return Exit::Environment;
        }
    };
    let mut bench = Bench {
        device: &mut *device,
        catalogue: &catalogue,
        compiler: &mut Toolchain::discover(),
        warm: &mut Warm::default(),
        cancel: &Cancel::new(),
    };
    let report = probe::run(&mut bench, only, &mut |line| print::note(line));
    if args.json {
        print::json(&report);
    } else {
        table(&report);
    }
    match (report.unexpected, report.rows.is_empty()) {
        (0, false) => Exit::Passed,
        (0, true) => Exit::Environment,
        _ => Exit::Failed,
    }
}

/// A line per operator, shape and output; a column per answer.
fn table(report: &ProbeReport) {
    let names: Vec<&str> = Answer::ALL.iter().map(|answer| answer.name()).collect();
    print::line(format!(
        "{:<28} {:<12} {:<14} {}",
        "operator",
        "shape",
        "output",
        names.join(" | ")
    ));
    for rows in report
        .rows
        .chunk_by(|a, b| (&a.operator, &a.shape, &a.output) == (&b.operator, &b.shape, &b.output))
    {
        let marks: Vec<String> = rows
            .iter()
            .map(|row| format!("{:<width$}", mark(row.found), width = row.answer.name().len()))
            .collect();
        let first = &rows[0];
        print::line(format!(
            "{:<28} {:<12} {:<14} {}",
            first.operator,
            first.shape,
            first.output,
            marks.join(" | ")
        ));
    }
    for row in report.rows.iter().filter(|row| row.found == Found::Unexpected) {
        print::line(format!(
            "UNEXPECTED {} {} `{}`, {}: {}",
            row.operator,
            row.shape,
            row.output,
            row.answer.name(),
            row.detail
        ));
    }
    for line in &report.skipped {
        print::line(format!("not probed: {line}"));
    }
    print::line(format!(
        "{} answers, {} unexpected",
        report.rows.len(),
        report.unexpected
    ));
}

fn mark(found: Found) -> &'static str {
    match found {
        Found::AsExpected => "ok",
        Found::Unexpected => "BAD",
        Found::NotApplicable => "-",
    }
}
