//! The history on a thread of its own: one owner of the store, requests in order.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::history::{FILE_NAME, Filter, History, HistoryError, Iteration as Kept, NewRun, author};
use crate::kernel::Language;
use crate::measure::RunReport;
use crate::problem::catalogue::Catalogue;
use crate::tui::event::Event;
use crate::tui::log::Log;
use crate::tui::model::{Iteration, Seen, SeenByOperator};
use crate::verdict::Class;

/// The newest so many versions are shown.
const SHOWN: u32 = 200;

#[derive(Debug)]
enum Request {
    Keep(Box<ToKeep>),
    Load { operator: String },
    Seen { problems: Option<PathBuf>, profile: String },
}

/// A finished run on its way into the store.
#[derive(Debug)]
pub(super) struct ToKeep {
    pub(super) report: RunReport,
    /// What identifies the file between runs: its path, or a built-in kernel's name.
    pub(super) file: String,
    pub(super) source: String,
}

/// Asks the history's thread.
#[derive(Clone, Debug)]
pub(super) struct Keeper {
    requests: Sender<Request>,
}

impl Keeper {
    pub(super) fn start(state: Option<PathBuf>, events: Sender<Event>, log: Log) -> Self {
        let (requests, receiver) = channel();
        std::thread::spawn(move || serve(state, &receiver, &events, &log));
        Self { requests }
    }

    pub(super) fn keep(&self, run: ToKeep) {
        let _ = self.requests.send(Request::Keep(Box::new(run)));
    }

    pub(super) fn load(&self, operator: String) {
        let _ = self.requests.send(Request::Load { operator });
    }

    pub(super) fn load_seen(&self, problems: Option<PathBuf>, profile: String) {
        let _ = self.requests.send(Request::Seen { problems, profile });
    }
}

fn serve(state: Option<PathBuf>, requests: &Receiver<Request>, events: &Sender<Event>, log: &Log) {
    let mut read = Read::default();
    let mut history = state.and_then(|folder| {
        let _ = std::fs::create_dir_all(&folder);
        let opened = History::open(&folder.join(FILE_NAME));
        if let Some(message) = opened.message {
            log.line(&message);
            let _ = events.send(Event::Notice(message));
        }
        opened.history
    });
    for request in requests {
        let answer = match (&mut history, request) {
            (None, Request::Load { operator }) => Ok(Some(Event::History {
                operator,
                iterations: Vec::new(),
            })),
            (None, _) => Ok(None),
            (Some(history), Request::Keep(run)) => keep(history, &run),
            (Some(history), Request::Load { operator }) => load(history, &mut read, operator).map(Some),
            (Some(history), Request::Seen { problems, profile }) => {
                seen(history, problems.as_deref(), &profile).map(Some)
            }
        };
        let event = answer.unwrap_or_else(|error| {
            log.line(&error.to_string());
            Some(Event::Notice(error.to_string()))
        });
        if event.is_some_and(|event| events.send(event).is_err()) {
            return;
        }
    }
}

fn keep(history: &mut History, run: &ToKeep) -> Result<Option<Event>, HistoryError> {
    if matches!(run.report.status, Class::Cancelled | Class::Environment) {
        return Ok(None);
    }
    let author = author();
    let kept = history.record(NewRun {
        report: &run.report,
        file: &run.file,
        source: &run.source,
        author: &author,
        note: "",
    })?;
    Ok(kept.message.map(Event::Notice))
}

/// Versions read before, by id: a kept run never changes.
type Read = HashMap<i64, Arc<Iteration>>;

fn load(history: &History, read: &mut Read, operator: String) -> Result<Event, HistoryError> {
    let mut kept = history.list(&Filter {
        operator: Some(operator.clone()),
        shape: None,
        limit: Some(SHOWN),
    })?;
    kept.reverse();
    let mut iterations = Vec::with_capacity(kept.len());
    for (kept, version) in kept.iter().zip(1..) {
        let known = read.get(&kept.id).filter(|known| known.version == version).cloned();
        let iteration = match known {
            Some(known) => known,
            None => Arc::new(iteration(history, kept, version)?),
        };
        read.insert(kept.id, iteration.clone());
        iterations.push(iteration);
    }
    Ok(Event::History { operator, iterations })
}

fn iteration(history: &History, kept: &Kept, version: u32) -> Result<Iteration, HistoryError> {
    let report = history.report(kept.id)?;
    let source: Arc<str> = history.source(kept.id)?.unwrap_or_default().into();
    let path = Path::new(&kept.kernel_path);
    let language = report.as_ref().and_then(|report| report.kernel.language);
    let mut shapes = report.map(|report| report.shapes).unwrap_or_default();
    for timing in shapes.iter_mut().filter_map(|shape| shape.timing.as_mut()) {
        // Hundreds of samples for each of hundreds of versions: the screens show the medians.
        timing.all_us = Vec::new();
    }
    Ok(Iteration {
        version,
        unix_s: kept.time_unix_s,
        author: kept.author.clone(),
        note: kept.note.clone(),
        kernel: path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        language: language.unwrap_or(Language::Cuda),
        source,
        device: kept.device.clone(),
        status: kept.status,
        reason: kept.reason.clone(),
        shapes,
    })
}

/// The last outcome of every shape, with the best time on machines of one profile.
fn seen(history: &History, problems: Option<&Path>, profile: &str) -> Result<Event, HistoryError> {
    let mut all = SeenByOperator::new();
    if history.count()? == 0 {
        return Ok(Event::Seen(all));
    }
    for operator in &Catalogue::load(problems).operators {
        for shape in operator.shapes.iter().chain(&operator.twins) {
            let newest = history.list(&Filter {
                operator: Some(operator.name.clone()),
                shape: Some(shape.id.clone()),
                limit: Some(1),
            })?;
            let Some(last) = newest.into_iter().next().and_then(|kept| kept.shape) else {
                continue;
            };
            let best = history
                .best(&operator.name, &shape.id, profile)?
                .and_then(|kept| kept.shape);
            let seen = Seen {
                class: last.status,
                fraction: best.as_ref().and_then(|best| best.fraction),
                median_us: best.as_ref().and_then(|best| best.median_us),
            };
            all.entry(operator.name.clone())
                .or_default()
                .insert(shape.id.clone(), seen);
        }
    }
    Ok(Event::Seen(all))
}
