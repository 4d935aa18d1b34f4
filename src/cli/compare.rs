//! `ridgepoint compare`: which of two kernels is faster, from interleaved samples of one worker.

use std::io;
use std::path::Path;

use super::args::CompareArgs;
use super::session::{Ended, Session};
use super::text::{self, Style};
use super::{Exit, print, request, run};
use crate::measure::report::{CompareReport, CompareShape, Comparison};
use crate::problem::Catalogue;
use crate::verdict::Class;

pub(super) fn run(args: &CompareArgs, problems: Option<&Path>) -> Exit {
    let catalogue = Catalogue::load(problems);
    let named = |kernel: &str| request::named(kernel, &args.target, &catalogue, problems);
    let (a, b) = match (named(&args.kernel_a), named(&args.kernel_b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(verdict), _) | (_, Err(verdict)) => return run::wrong_call(&verdict, args.json),
    };
    let mut session = match Session::start(&args.target.device) {
        Ok(session) => session,
        Err(error) => return run::no_session(&error),
    };
    let style = if args.json {
        Style::of(&io::stderr())
    } else {
        Style::of(&io::stdout())
    };
    let ended = session.compare(&a.request, &b.request, &mut |event| {
        run::tell(&text::event(event, style), args.json);
    });
    let Ended::Compared(report) = ended else {
        print::note("stopped");
        return Exit::Failed;
    };
    run::tell(&summary(&report, style), args.json);
    if args.json {
        print::json(&report);
    }
    exit(&report)
}

fn exit(report: &CompareReport) -> Exit {
    match [report.a.status, report.b.status] {
        [Class::Passed, Class::Passed] => Exit::Passed,
        both if both.contains(&Class::Environment) => Exit::Environment,
        _ => Exit::Failed,
    }
}

fn summary(report: &CompareReport, style: Style) -> String {
    let mut all = String::new();
    let failed = [("A", &report.a), ("B", &report.b)]
        .into_iter()
        .filter(|(_, run)| run.status != Class::Passed);
    let mut said = None;
    for (name, run) in failed {
        // Both sides share one verdict where the comparison as a whole could not be made.
        if said == Some(&run.reason) {
            continue;
        }
        said = Some(&run.reason);
        all.push_str(name);
        all.push_str(": ");
        all.push_str(&text::ending(run, style));
    }
    for shape in &report.shapes {
        all.push_str(&line(shape));
        all.push('\n');
    }
    all
}

/// `29  B is FASTER: 1.213x [1.208, 1.219], 640 samples`
fn line(shape: &CompareShape) -> String {
    let word = match shape.result {
        Comparison::Faster => "B is FASTER",
        Comparison::Slower => "B is SLOWER",
        Comparison::Same => "SAME",
        Comparison::Unclear => "UNCLEAR",
    };
    let [low, high] = shape.ci95;
    format!(
        "{:<12} {word}: {:.4}x [{low:.4}, {high:.4}], {} samples",
        shape.id, shape.ratio, shape.samples
    )
}
