//! `ridgepoint run`: one kernel, from file to verdict.

use std::io;
use std::path::Path;

use super::args::RunArgs;
use super::keep::Keeper;
use super::request::{self, Named};
use super::session::{Ended, Session};
use super::text::{self, Style};
use super::{Exit, print};
use crate::measure::RunReport;
use crate::problem::Catalogue;
use crate::verdict::Verdict;

pub(super) fn run(args: &RunArgs, problems: Option<&Path>) -> Exit {
    let catalogue = Catalogue::load(problems);
    let mut named = match request::named(&args.kernel, &args.target, &catalogue, problems) {
        Ok(named) => named,
        Err(verdict) => return wrong_call(&verdict, args.json),
    };
    named.request.verify_only = args.verify_only;
    let mut session = match Session::start(&args.target.device) {
        Ok(session) => session,
        Err(error) => return no_session(&error),
    };
    let mut keeper = if args.no_history { Keeper::off() } else { Keeper::open() };
    match once(&named, &mut session, &mut keeper, args.json) {
        Some(report) => Exit::from(report.status),
        None => Exit::Failed,
    }
}

/// One run on an open session: prints it, keeps it. `None` where the user would not wait for its end.
pub(super) fn once(named: &Named, session: &mut Session, keeper: &mut Keeper, json: bool) -> Option<RunReport> {
    let style = if json {
        Style::of(&io::stderr())
    } else {
        Style::of(&io::stdout())
    };
    let ended = session.run(&named.request, &mut |event| tell(&text::event(event, style), json));
    let Ended::Run(report) = ended else {
        print::note("stopped");
        return None;
    };
    keeper.keep(named, &report);
    tell(&text::ending(&report, style), json);
    if json {
        print::json(&report);
    }
    Some(*report)
}

/// Text for people: on standard output, or on standard error where that one belongs to a document.
pub(super) fn tell(text: &str, json: bool) {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    if json { print::note(text) } else { print::line(text) }
}

/// A call that is wrong: said on standard error, and as a document where one was asked for.
pub(super) fn wrong_call(verdict: &Verdict, json: bool) -> Exit {
    print::note(format!("error: {}", verdict.reason));
    for line in &verdict.next {
        print::note(format!("  next: {line}"));
    }
    if json {
        print::json(&serde_json::json!({
            "schema": crate::measure::report::SCHEMA,
            "status": verdict.class,
            "reason": verdict.reason,
            "evidence": verdict.evidence,
            "next": verdict.next,
            "shapes": [],
        }));
    }
    Exit::Usage
}

pub(super) fn no_session(error: &io::Error) -> Exit {
    print::note(format!("error: cannot start a worker: {error}"));
    Exit::Environment
}
