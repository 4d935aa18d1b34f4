//! The front end's side of a worker: a supervisor that speaks the worker's protocol and keeps one promise that the process
//! itself cannot: every job ends with exactly one `Finished` or `Compared`, whatever happens to the process.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::crash::{Tracker, ended};
use super::frame::{self, FrameError};
use super::protocol::{FromWorker, ToWorker};
use crate::device::DeviceInfo;
use crate::measure::{Event, RunReport, RunRequest};
use crate::verdict::{Class, Verdict};

/// Messages in flight in each direction.
const CHANNEL: usize = 256;
/// Bytes of the worker's standard error kept for its last words.
const STDERR_BYTES: usize = 4096;
/// How long the exit status of an ended worker is waited for.
const REAP: Duration = Duration::from_secs(2);

/// How long the rest of its standard error is waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How a worker is started and how patient its supervisor is.
#[derive(Clone, Debug)]
pub struct Options {
    /// What `--device` takes.
    pub device: String,
    /// The program to run as worker; by default this one.
    pub program: PathBuf,
    /// From a polite cancel to the kill.
    pub cancel_grace: Duration,
    /// What a silent worker gets on top of twice its kernel limit, for inputs, reference and compilation.
    pub margin: Duration,
}

impl Options {
    pub fn new(device: impl Into<String>) -> Self {
        Self {
            device: device.into(),
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("ridgepoint")),
            cancel_grace: Duration::from_millis(500),
            margin: Duration::from_mins(1),
        }
    }
}

/// A supervised worker. Dropping it kills the process.
#[derive(Debug)]
pub struct Worker {
    orders: mpsc::Sender<ToWorker>,
    notices: mpsc::Receiver<FromWorker>,
}

/// The two ends of a worker apart, for a program that sends and receives in different places.
pub type Ends = (mpsc::Sender<ToWorker>, mpsc::Receiver<FromWorker>);

impl Worker {
    /// Starts the process and its supervisor; must be called within a tokio runtime.
    pub fn start(options: Options) -> Self {
        let (orders, from_user) = mpsc::channel(CHANNEL);
        let (to_user, notices) = mpsc::channel(CHANNEL);
        tokio::spawn(Supervisor::new(options, to_user).supervise(from_user));
        Self { orders, notices }
    }

    /// Hands an order over. Jobs wait for each other; a cancel does not wait.
    pub async fn send(&self, order: ToWorker) {
        // The supervisor lives as long as this handle.
        let _ = self.orders.send(order).await;
    }

    /// The next message; `None` after a shutdown.
    pub async fn next(&mut self) -> Option<FromWorker> {
        self.notices.recv().await
    }

    pub fn split(self) -> Ends {
        (self.orders, self.notices)
    }
}

/// A running worker process.
struct Live {
    child: Child,
    stdin: ChildStdin,
    frames: mpsc::Receiver<Result<FromWorker, FrameError>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_ends: JoinHandle<()>,
    group: Option<Pid>,
}

/// The job that the worker is on.
struct Job {
    id: u64,
    order: ToWorker,
    tracker: Tracker,
    cancelled: bool,
    /// When patience ends.
    deadline: Instant,
    patience: Duration,
}

struct Supervisor {
    options: Options,
    notices: mpsc::Sender<FromWorker>,
    live: Option<Live>,
    job: Option<Job>,
    waiting: VecDeque<ToWorker>,
    device: Option<DeviceInfo>,
    unavailable: Option<Verdict>,
}

enum Step {
    Order(Option<ToWorker>),
    Frame(Option<Result<FromWorker, FrameError>>),
    Late,
}

impl Supervisor {
    fn new(options: Options, notices: mpsc::Sender<FromWorker>) -> Self {
        Self {
            options,
            notices,
            live: None,
            job: None,
            waiting: VecDeque::new(),
            device: None,
            unavailable: None,
        }
    }

    async fn supervise(mut self, mut orders: mpsc::Receiver<ToWorker>) {
        if let Err(verdict) = self.spawn() {
            self.tell(FromWorker::Unavailable {
                verdict: Box::new(verdict),
            })
            .await;
        }
        loop {
            let step = self.step(&mut orders).await;
            match step {
                Step::Order(None | Some(ToWorker::Shutdown)) => break,
                Step::Order(Some(order)) => self.order(order).await,
                Step::Frame(Some(Ok(message))) => self.message(message).await,
                Step::Frame(Some(Err(error))) => self.garbage(&error).await,
                Step::Frame(None) => self.gone().await,
                Step::Late => self.late().await,
            }
        }
        self.kill().await;
    }

    async fn step(&mut self, orders: &mut mpsc::Receiver<ToWorker>) -> Step {
        let deadline = self.job.as_ref().map(|job| job.deadline);
        let frames = self.live.as_mut().map(|live| &mut live.frames);
        tokio::select! {
            biased;
            order = orders.recv() => Step::Order(order),
            frame = async {
                match frames {
                    Some(frames) => frames.recv().await,
                    None => std::future::pending().await,
                }
            } => Step::Frame(frame),
            () = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            } => Step::Late,
        }
    }

    async fn tell(&self, message: FromWorker) {
        // A front end that went away needs no message.
        let _ = self.notices.send(message).await;
    }

    async fn order(&mut self, order: ToWorker) {
        match order {
            ToWorker::Cancel { job } => self.cancel(job).await,
            ToWorker::Shutdown => {}
            job => {
                self.waiting.push_back(job);
                self.next_job().await;
            }
        }
    }

    /// Starts the next waiting job, where none is running.
    async fn next_job(&mut self) {
        while self.job.is_none() {
            let Some(order) = self.waiting.pop_front() else {
                return;
            };
            let (id, request) = match &order {
                ToWorker::Run { job, request } => (*job, request),
                ToWorker::Compare { job, a, .. } => (*job, a),
                ToWorker::Cancel { .. } | ToWorker::Shutdown => continue,
            };
            let patience =
                Duration::from_secs_f64((request.kernel_limit_s * 2.0).clamp(0.0, 1e6)) + self.options.margin;
            self.job = Some(Job {
                id,
                tracker: Tracker::new(request),
                order: order.clone(),
                cancelled: false,
                deadline: Instant::now() + patience,
                patience,
            });
            if self.live.is_none()
                && let Err(verdict) = self.spawn()
            {
                self.finish(verdict).await;
                continue;
            }
            let Some(live) = &mut self.live else { continue };
            if frame::send(&mut live.stdin, &order).await.is_err() {
                // The process ended between two jobs; one fresh process gets the job.
                self.live = None;
                let sent = match self.spawn() {
                    Ok(()) => match &mut self.live {
                        Some(live) => frame::send(&mut live.stdin, &order)
                            .await
                            .map_err(|error| error.to_string()),
                        None => Ok(()),
                    },
                    Err(verdict) => Err(verdict.reason),
                };
                if let Err(reason) = sent {
                    let verdict = Verdict::new(Class::Crashed, format!("the worker process does not start: {reason}"));
                    self.finish(verdict).await;
                }
            }
        }
    }

    async fn cancel(&mut self, id: u64) {
        if let Some(job) = self.job.as_mut().filter(|job| job.id == id) {
            if !job.cancelled {
                job.cancelled = true;
                job.deadline = Instant::now() + self.options.cancel_grace;
            }
            if let Some(live) = &mut self.live {
                let _ = frame::send(&mut live.stdin, &ToWorker::Cancel { job: id }).await;
            }
            return;
        }
        let is_it =
            |order: &ToWorker| matches!(order, ToWorker::Run { job, .. } | ToWorker::Compare { job, .. } if *job == id);
        if let Some(order) = self
            .waiting
            .iter()
            .position(is_it)
            .and_then(|index| self.waiting.remove(index))
        {
            let request = first_request(&order);
            let tracker = request.map(Tracker::new);
            if let Some(tracker) = tracker {
                self.conclude(id, &order, &tracker, cancelled()).await;
            }
        }
    }

    async fn message(&mut self, message: FromWorker) {
        match message {
            FromWorker::Ready { device } => {
                self.device = Some(device.clone());
                self.unavailable = None;
                self.tell(FromWorker::Ready { device }).await;
            }
            FromWorker::Unavailable { verdict } => {
                self.unavailable = Some((*verdict).clone());
                self.tell(FromWorker::Unavailable { verdict }).await;
            }
            FromWorker::Event { job, event } => {
                let ended = match &event {
                    Event::Finished(report) => Some(loses_device(report)),
                    _ => None,
                };
                if self.current(job, Some(&event)) {
                    self.tell(FromWorker::Event { job, event }).await;
                    if let Some(lost) = ended {
                        self.over(lost).await;
                    }
                }
            }
            FromWorker::Compared { job, report } => {
                if self.current(job, None) {
                    let lost = loses_device(&report.a) || loses_device(&report.b);
                    self.tell(FromWorker::Compared { job, report }).await;
                    self.over(lost).await;
                }
            }
        }
    }

    /// The running job has ended. A worker whose device is lost takes no other: the next job gets a fresh process.
    async fn over(&mut self, lost: bool) {
        self.job = None;
        if lost {
            self.kill().await;
        }
        self.next_job().await;
    }

    /// Whether a message belongs to the running job; its patience begins anew.
    fn current(&mut self, id: u64, event: Option<&Event>) -> bool {
        let Some(job) = self.job.as_mut().filter(|job| job.id == id) else {
            return false;
        };
        if let Some(event) = event {
            job.tracker.see(event);
        }
        if !job.cancelled {
            job.deadline = Instant::now() + job.patience;
        }
        true
    }

    async fn garbage(&mut self, error: &FrameError) {
        self.kill().await;
        let place = self.place();
        self.finish(Verdict::new(
            Class::Crashed,
            format!("the worker sent something that is not a message ({error}) {place}"),
        ))
        .await;
        self.next_job().await;
    }

    /// The worker's output ended.
    async fn gone(&mut self) {
        let (status, stderr) = self.reap().await;
        if self.job.is_some() {
            let verdict = match self.unavailable.take() {
                Some(verdict) => verdict,
                None if self.job.as_ref().is_some_and(|job| job.cancelled) => cancelled(),
                None => ended(status, &self.place(), &stderr),
            };
            self.finish(verdict).await;
        }
        self.next_job().await;
    }

    /// Patience is over: the process is killed, and the verdict says why.
    async fn late(&mut self) {
        self.kill().await;
        let Some(job) = &self.job else { return };
        let verdict = if job.cancelled {
            cancelled()
        } else {
            Verdict::new(
                Class::Timeout,
                format!(
                    "the worker did not answer for {:.0} s {} and was killed",
                    job.patience.as_secs_f64(),
                    job.tracker.place()
                ),
            )
        };
        self.finish(verdict).await;
        self.next_job().await;
    }

    fn place(&self) -> String {
        self.job.as_ref().map_or_else(String::new, |job| job.tracker.place())
    }

    /// Ends the running job with a verdict of the supervisor's own.
    async fn finish(&mut self, verdict: Verdict) {
        if let Some(job) = self.job.take() {
            self.conclude(job.id, &job.order, &job.tracker, verdict).await;
        }
    }

    async fn conclude(&self, id: u64, order: &ToWorker, tracker: &Tracker, verdict: Verdict) {
        let (device, spec) = (self.device.as_ref(), self.options.device.as_str());
        let message = match order {
            ToWorker::Compare { b, .. } => FromWorker::Compared {
                job: id,
                report: Box::new(tracker.compare_report(b, &verdict, device, spec)),
            },
            _ => FromWorker::Event {
                job: id,
                event: Event::Finished(Box::new(tracker.report(verdict, device, spec))),
            },
        };
        self.tell(message).await;
    }

    fn spawn(&mut self) -> Result<(), Verdict> {
        let program = self.options.program.clone();
        let failed = |what: String| {
            Verdict::new(
                Class::Environment,
                format!("cannot start the worker {}: {what}", program.display()),
            )
        };
        let mut child = Command::new(&program)
            .args(["worker", "--device", &self.options.device])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Its own group: Ctrl-C reaches the front end alone, and a kill reaches whatever the worker started.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("it has no pipes".to_owned()));
        };
        let (to_frames, frames) = mpsc::channel(CHANNEL);
        tokio::spawn(read_frames(stdout, to_frames));
        let tail = Arc::new(Mutex::new(Vec::new()));
        let stderr_ends = tokio::spawn(keep_tail(stderr, Arc::clone(&tail)));
        self.live = Some(Live {
            group: child.id().and_then(|id| Pid::from_raw(id.cast_signed())),
            child,
            stdin,
            frames,
            stderr: tail,
            stderr_ends,
        });
        Ok(())
    }

    async fn kill(&mut self) {
        if let Some(group) = self.live.as_ref().and_then(|live| live.group) {
            // It may have ended by itself already.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.reap().await;
    }

    /// Waits for the ended process and gives its status and last words.
    async fn reap(&mut self) -> (Option<ExitStatus>, String) {
        let Some(mut live) = self.live.take() else {
            return (None, String::new());
        };
        drop(live.stdin);
        let status = timeout(REAP, live.child.wait()).await.ok().and_then(Result::ok);
        if status.is_none()
            && let Some(group) = live.group
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // The reader of standard error sees its end just after the process's, unless something else still holds it open.
        let _ = timeout(LAST_WORDS, &mut live.stderr_ends).await;
        let words = live
            .stderr
            .lock()
            .map(|tail| String::from_utf8_lossy(&tail).trim().to_owned())
            .unwrap_or_default();
        (status, words)
    }
}

/// Whether a run ended in a way that makes a device unusable; see [`crate::device::Device`]. The emulator survives all.
fn loses_device(report: &RunReport) -> bool {
    let deadly = |class| matches!(class, Class::MemoryFault | Class::Timeout | Class::Crashed);
    let seen = deadly(report.status) || report.shapes.iter().any(|shape| deadly(shape.status));
    seen && report.device.kind != "emulator"
}

fn first_request(order: &ToWorker) -> Option<&RunRequest> {
    match order {
        ToWorker::Run { request, .. } => Some(request),
        ToWorker::Compare { a, .. } => Some(a),
        ToWorker::Cancel { .. } | ToWorker::Shutdown => None,
    }
}

fn cancelled() -> Verdict {
    Verdict::new(Class::Cancelled, "the run was cancelled")
}

async fn read_frames(stdout: ChildStdout, to: mpsc::Sender<Result<FromWorker, FrameError>>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        match frame::receive(&mut stdout).await {
            Ok(Some(message)) => {
                if to.send(Ok(message)).await.is_err() {
                    return;
                }
            }
            // A process that dies in the middle of a frame is gone, not talking garbage.
            Ok(None) | Err(FrameError::Pipe(_)) => return,
            Err(error) => {
                let _ = to.send(Err(error)).await;
                return;
            }
        }
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        if let Ok(mut tail) = tail.lock() {
            tail.extend_from_slice(&buffer[..count]);
            let excess = tail.len().saturating_sub(STDERR_BYTES);
            tail.drain(..excess);
        }
    }
}
