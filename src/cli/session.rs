//! One worker for the time of a command: jobs in, events out, Ctrl-C as a polite cancel.

use std::io::{self, Write};

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::measure::report::CompareReport;
use crate::measure::{Event, RunReport, RunRequest};
use crate::worker::client::{Options, Worker};
use crate::worker::protocol::{FromWorker, ToWorker};

/// A worker and the runtime that its supervisor lives on.
pub(super) struct Session {
    runtime: Runtime,
    worker: Worker,
    next_job: u64,
    /// Held for the session's whole time, so that a Ctrl-C between two waits is not lost.
    interrupts: Signal,
    interrupted: bool,
}

/// How a job ended.
pub(super) enum Ended {
    Run(Box<RunReport>),
    Compared(Box<CompareReport>),
    /// A second Ctrl-C: the user does not want to wait for the cancel.
    Abandoned,
}

impl Session {
    /// # Errors
    /// Where the system gives no runtime: no file descriptors, no threads.
    pub(super) fn start(device: &str) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (worker, interrupts) = {
            let _inside = runtime.enter();
            (Worker::start(Options::new(device)), signal(SignalKind::interrupt())?)
        };
        Ok(Self {
            runtime,
            worker,
            next_job: 1,
            interrupts,
            interrupted: false,
        })
    }

    /// Whether Ctrl-C was pressed in this session.
    pub(super) const fn interrupted(&self) -> bool {
        self.interrupted
    }

    pub(super) fn run(&mut self, request: &RunRequest, on_event: &mut dyn FnMut(&Event)) -> Ended {
        let job = self.take_number();
        let request = Box::new(request.clone());
        self.execute(job, ToWorker::Run { job, request }, on_event)
    }

    pub(super) fn compare(&mut self, a: &RunRequest, b: &RunRequest, on_event: &mut dyn FnMut(&Event)) -> Ended {
        let job = self.take_number();
        let (a, b) = (Box::new(a.clone()), Box::new(b.clone()));
        self.execute(job, ToWorker::Compare { job, a, b }, on_event)
    }

    fn take_number(&mut self) -> u64 {
        let job = self.next_job;
        self.next_job += 1;
        job
    }

    fn execute(&mut self, job: u64, order: ToWorker, on_event: &mut dyn FnMut(&Event)) -> Ended {
        let (worker, interrupts, interrupted) = (&mut self.worker, &mut self.interrupts, &mut self.interrupted);
        self.runtime.block_on(async {
            worker.send(order).await;
            let mut asked_to_stop = false;
            loop {
                tokio::select! {
                    message = worker.next() => match message {
                        Some(FromWorker::Event { event, .. }) => {
                            on_event(&event);
                            if let Event::Finished(report) = event {
                                return Ended::Run(report);
                            }
                        }
                        Some(FromWorker::Compared { report, .. }) => return Ended::Compared(report),
                        Some(FromWorker::Ready { .. } | FromWorker::Unavailable { .. }) => {}
                        None => return Ended::Abandoned,
                    },
                    Some(()) = interrupts.recv() => {
                        *interrupted = true;
                        if asked_to_stop {
                            return Ended::Abandoned;
                        }
                        asked_to_stop = true;
                        let _ = writeln!(io::stderr(), "cancelling; once more to stop at once");
                        worker.send(ToWorker::Cancel { job }).await;
                    }
                }
            }
        })
    }

    /// Waits for `until` or for Ctrl-C, whichever is first; `false` for Ctrl-C.
    pub(super) fn wait<F: Future<Output = ()>>(&mut self, until: F) -> bool {
        let interrupts = &mut self.interrupts;
        self.runtime.block_on(async {
            tokio::select! {
                () = until => true,
                _ = interrupts.recv() => false,
            }
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The supervisor kills the process group; a moment is enough for that.
        let worker = &mut self.worker;
        self.runtime.block_on(async {
            worker.send(ToWorker::Shutdown).await;
            let end = std::time::Duration::from_secs(1);
            let _ = tokio::time::timeout(end, async { while worker.next().await.is_some() {} }).await;
        });
    }
}
