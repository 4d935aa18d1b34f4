//! The serving side: owns a device, takes jobs from standard input, sends events to standard output.
//!
//! The main thread runs the jobs; one thread reads orders, so that a cancel or the end of the pipe is seen while a kernel
//! runs; one writes messages; one catches what kernels print.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpgrp, getpid, kill_process, kill_process_group};

use super::frame;
use super::output::{self, Caught, MAX_LOG_BYTES};
use super::protocol::{FromWorker, ToWorker};
use crate::device::{self, Device};
use crate::measure::bench::Bench;
use crate::measure::build::Compiler;
use crate::measure::cancel::Cancel;
use crate::measure::{Event, RunRequest, Warm, compare, pipeline};
use crate::problem::Catalogue;

/// Messages that may wait for the pipe: a front end that stops reading stops the worker, not the machine's memory.
const MESSAGES: usize = 1024;
/// Jobs that may wait.
const JOBS: usize = 16;
/// What a job gets to end by itself when the front end is gone.
const FAREWELL: Duration = Duration::from_millis(200);

/// Which job is running, which were cancelled before they began.
#[derive(Debug, Default)]
struct Desk {
    current: Option<u64>,
    cancelled: Vec<u64>,
}

/// Shared by the threads of a worker.
struct Shared {
    desk: Mutex<Desk>,
    cancel: Cancel,
    /// The running job, for what kernels print.
    job: AtomicU64,
    /// Bytes of output passed on in the running job.
    printed: AtomicUsize,
}

impl Shared {
    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, job: u64) {
        let mut desk = self.desk();
        desk.current = Some(job);
        self.cancel.clear();
        if desk.cancelled.contains(&job) {
            self.cancel.set();
        }
        self.job.store(job, Ordering::SeqCst);
        self.printed.store(0, Ordering::SeqCst);
    }

    fn end(&self) {
        let mut desk = self.desk();
        desk.current = None;
        desk.cancelled.clear();
    }

    fn cancel(&self, job: u64) {
        let mut desk = self.desk();
        if desk.current == Some(job) {
            self.cancel.set();
        } else {
            desk.cancelled.push(job);
        }
    }
}

/// Serves jobs on `spec` until the orders end.
pub fn serve(spec: &str, compiler: &mut dyn Compiler) -> ExitCode {
    let (messages, to_write) = sync_channel(MESSAGES);
    let shared = Arc::new(Shared {
        desk: Mutex::default(),
        cancel: Cancel::new(),
        job: AtomicU64::new(0),
        printed: AtomicUsize::new(0),
    });
    let printed = (Arc::clone(&shared), messages.clone());
    let (real, caught) = match output::catch(move |text| print(&printed.0, &printed.1, text)) {
        Ok(both) => both,
        Err(error) => {
            // Standard output may be the very thing that is missing.
            let _ = writeln!(
                io::stderr(),
                "ridgepoint worker: cannot take over standard output: {error}"
            );
            return ExitCode::FAILURE;
        }
    };
    let writer = thread::spawn(move || write_messages(File::from(real), &to_write));
    let (jobs, orders) = sync_channel(JOBS);
    let reader = Arc::clone(&shared);
    thread::spawn(move || read_orders(&reader, &jobs));
    let code = work(spec, compiler, &shared, &messages, &orders, &caught);
    drop(messages);
    // The output thread holds a sender as long as file descriptor 1 is open, so the writer is given a moment instead.
    let deadline = std::time::Instant::now() + FAREWELL;
    while !writer.is_finished() && std::time::Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    code
}

fn print(shared: &Shared, messages: &SyncSender<FromWorker>, text: String) {
    let before = shared.printed.fetch_add(text.len(), Ordering::SeqCst);
    if before >= MAX_LOG_BYTES {
        return;
    }
    let mut event_text = text;
    if before + event_text.len() >= MAX_LOG_BYTES {
        event_text.push_str("\n(the kernel printed more, which is left out)");
    }
    let _ = messages.send(FromWorker::Event {
        job: shared.job.load(Ordering::SeqCst),
        event: Event::Log { text: event_text },
    });
}

fn write_messages(pipe: File, messages: &Receiver<FromWorker>) {
    let mut pipe = BufWriter::new(pipe);
    while let Ok(message) = messages.recv() {
        if frame::write(&mut pipe, &message).is_err() {
            return;
        }
    }
}

/// Reads orders until the pipe ends; then the process ends too, whatever a kernel is doing.
fn read_orders(shared: &Shared, jobs: &SyncSender<ToWorker>) {
    let mut stdin = io::stdin().lock();
    loop {
        match frame::read::<ToWorker>(&mut stdin) {
            Ok(Some(ToWorker::Cancel { job })) => shared.cancel(job),
            Ok(Some(ToWorker::Shutdown) | None) => break,
            Ok(Some(job)) => {
                if jobs.send(job).is_err() {
                    return;
                }
            }
            Err(error) => {
                let _ = writeln!(io::stderr(), "ridgepoint worker: {error}");
                break;
            }
        }
    }
    shared.cancel.set();
    thread::sleep(FAREWELL);
    end_group();
}

/// Ends this process at once, and with it the processes it started where it leads its own group. A plain exit would wait
/// for the driver, which may be waiting for a hung kernel.
fn end_group() {
    if getpgrp() == getpid() {
        let _ = kill_process_group(getpid(), Signal::KILL);
    }
    let _ = kill_process(getpid(), Signal::KILL);
}

fn work(
    spec: &str,
    compiler: &mut dyn Compiler,
    shared: &Shared,
    messages: &SyncSender<FromWorker>,
    orders: &Receiver<ToWorker>,
    caught: &Caught,
) -> ExitCode {
    let mut device = match device::open(spec) {
        Ok(device) => device,
        Err(verdict) => {
            let _ = messages.send(FromWorker::Unavailable { verdict });
            return ExitCode::from(3);
        }
    };
    let info = device.info().clone();
    let _ = messages.send(FromWorker::Ready { device: info });
    let mut warm = Warm::default();
    let mut problems = Problems::default();
    while let Ok(order) = orders.recv() {
        run_order(
            &order,
            &mut *device,
            compiler,
            &mut warm,
            &mut problems,
            shared,
            messages,
            caught,
        );
        if !device.is_usable() {
            // The next job gets a fresh process. Nothing is tidied up: the driver may wait for a hung kernel for ever.
            std::mem::forget(device);
            thread::sleep(FAREWELL);
            end_group();
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The catalogue in use, loaded anew when a request names a folder: its files may have been edited.
#[derive(Default)]
struct Problems(Option<Catalogue>);

impl Problems {
    fn of(&mut self, request: &RunRequest) -> &Catalogue {
        if request.problems.is_some() {
            self.0 = None;
        }
        self.0
            .get_or_insert_with(|| Catalogue::load(request.problems.as_deref()))
    }
}

#[expect(clippy::too_many_arguments, reason = "what a worker owns, borrowed for one job")]
fn run_order(
    order: &ToWorker,
    device: &mut dyn Device,
    compiler: &mut dyn Compiler,
    warm: &mut Warm,
    problems: &mut Problems,
    shared: &Shared,
    messages: &SyncSender<FromWorker>,
    caught: &Caught,
) {
    let (job, request) = match order {
        ToWorker::Run { job, request } => (*job, request),
        ToWorker::Compare { job, a, .. } => (*job, a),
        ToWorker::Cancel { .. } | ToWorker::Shutdown => return,
    };
    shared.begin(job);
    let folder_given = request.problems.is_some();
    let mut bench = Bench {
        device,
        catalogue: problems.of(request),
        compiler,
        warm,
        cancel: &shared.cancel,
    };
    let mut sink = |event: Event| {
        if matches!(event, Event::Finished(_)) {
            caught.drain();
        }
        let _ = messages.send(FromWorker::Event { job, event });
    };
    match order {
        ToWorker::Run { request, .. } => {
            pipeline::run(request, &mut bench, &mut sink);
        }
        ToWorker::Compare { a, b, .. } => {
            let report = compare::run(a, b, &mut bench, &mut sink);
            let _ = messages.send(FromWorker::Compared {
                job,
                report: Box::new(report),
            });
        }
        ToWorker::Cancel { .. } | ToWorker::Shutdown => {}
    }
    if folder_given {
        problems.0 = None;
    }
    shared.end();
}
