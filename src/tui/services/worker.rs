//! The worker process: jobs go in, its messages come back as events, finished runs go to the history on the way.

use std::collections::HashMap;
use std::sync::mpsc::Sender;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::history::{Keeper, ToKeep};
use crate::measure::{Event as RunEvent, RunReport, RunRequest};
use crate::tui::event::Event;
use crate::tui::log::Log;
use crate::worker::client::{Options, Worker};
use crate::worker::protocol::{FromWorker, ToWorker};

/// The worker's handle. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Handle {
    orders: UnboundedSender<ToWorker>,
    /// Keeps the tasks running.
    _runtime: Option<tokio::runtime::Runtime>,
}

impl Handle {
    pub(super) fn start(device: String, events: Sender<Event>, history: Keeper, log: &Log) -> Self {
        let (orders, receiver) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => {
                runtime.spawn(signals(events.clone()));
                runtime.spawn(serve(device, receiver, events, history));
                Self {
                    orders,
                    _runtime: Some(runtime),
                }
            }
            Err(error) => {
                log.line(&format!("no runtime: {error}"));
                let _ = events.send(Event::WorkerLost(format!("threads cannot be started: {error}")));
                Self { orders, _runtime: None }
            }
        }
    }

    pub(super) fn run(&self, job: u64, request: RunRequest) {
        self.send(ToWorker::Run {
            job,
            request: Box::new(request),
        });
    }

    pub(super) fn cancel(&self, job: u64) {
        self.send(ToWorker::Cancel { job });
    }

    fn send(&self, order: ToWorker) {
        let _ = self.orders.send(order);
    }
}

/// A request to end from outside: the terminal must be given back all the same.
async fn signals(events: Sender<Event>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut hangup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    let _ = events.send(Event::Terminate);
}

async fn serve(device: String, mut orders: UnboundedReceiver<ToWorker>, events: Sender<Event>, history: Keeper) {
    let (to_worker, mut from_worker) = Worker::start(Options::new(device)).split();
    let mut texts: HashMap<u64, (String, String)> = HashMap::new();
    loop {
        tokio::select! {
            order = orders.recv() => {
                let Some(order) = order else { return };
                if let ToWorker::Run { job, request } = &order {
                    let file = request.kernel_path.display().to_string();
                    texts.insert(*job, (file, request.kernel_text.clone().unwrap_or_default()));
                }
                let _ = to_worker.send(order).await;
            }
            message = from_worker.recv() => {
                let Some(message) = message else {
                    let _ = events.send(Event::WorkerLost("the worker ended".to_owned()));
                    return;
                };
                if let FromWorker::Event { job, event: RunEvent::Finished(report) } = &message
                    && let Some((file, source)) = texts.remove(job)
                {
                    let report = RunReport::clone(report);
                    history.keep(ToKeep { report, file, source });
                }
                if events.send(Event::Worker(message)).is_err() {
                    return;
                }
            }
        }
    }
}
