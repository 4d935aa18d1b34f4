//! `ridgepoint watch`: runs a kernel again whenever its file changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher};
use tokio::sync::Notify;

use super::args::RunArgs;
use super::keep::Keeper;
use super::session::Session;
use super::{Exit, print, request, run};
use crate::problem::Catalogue;

/// Editors save in several steps (a new file, a rename, times); one run for all of them.
const SETTLE: Duration = Duration::from_millis(80);

pub(super) fn run(args: &RunArgs, problems: Option<&Path>) -> Exit {
    let catalogue = Catalogue::load(problems);
    let path = Path::new(&args.kernel);
    if !path.is_file() {
        print::note(format!("error: no file `{}` to watch", args.kernel));
        print::note("  next: give the path of a .cu or .ptx file; a built-in kernel does not change");
        return Exit::Usage;
    }
    let mut session = match Session::start(&args.target.device) {
        Ok(session) => session,
        Err(error) => return run::no_session(&error),
    };
    let changed = Arc::new(Notify::new());
    let watcher = match watch(path, Arc::clone(&changed)) {
        Ok(watcher) => watcher,
        Err(error) => {
            print::note(format!("error: cannot watch `{}`: {error}", args.kernel));
            return Exit::Environment;
        }
    };
    let mut keeper = if args.no_history { Keeper::off() } else { Keeper::open() };
    let mut last: Option<Vec<u8>> = None;
    let mut status = Exit::Passed;
    loop {
        // A save that changes nothing is no reason to run; a file that is away for the moment comes back.
        let content = std::fs::read(path).ok();
        if content.is_some() && content != last {
            last = content;
            match request::named(&args.kernel, &args.target, &catalogue, problems) {
                Ok(mut named) => {
                    named.request.verify_only = args.verify_only;
                    match run::once(&named, &mut session, &mut keeper, args.json) {
                        Some(report) => status = Exit::from(report.status),
                        None => break,
                    }
                }
                Err(verdict) => status = run::wrong_call(&verdict, args.json),
            }
            if session.interrupted() {
                break;
            }
            print::note(format!("watching {}; Ctrl-C ends", args.kernel));
        }
        let go_on = session.wait(async {
            changed.notified().await;
            tokio::time::sleep(SETTLE).await;
        });
        if !go_on {
            break;
        }
    }
    drop(watcher);
    status
}

/// Watches the folder, not the file: an editor that saves by renaming replaces the file itself.
fn watch(path: &Path, changed: Arc<Notify>) -> notify::Result<notify::RecommendedWatcher> {
    let path = path.canonicalize()?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let concerns =
            event.is_ok_and(|event| !matches!(event.kind, EventKind::Access(_)) && event.paths.contains(&path));
        if concerns {
            changed.notify_one();
        }
    })?;
    watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}
