//! One worker process: its pipes, its process group, its end.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::client::{CHANNEL, Options};
use super::frame::{self, FrameError};
use super::protocol::FromWorker;
use crate::verdict::{Class, Verdict};

/// Bytes of the worker's standard error kept for its last words.
const STDERR_BYTES: usize = 4096;
/// How long the exit status of an ended worker is waited for.
const REAP: Duration = Duration::from_secs(2);
/// How long the rest of its standard error is waited for.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A running worker.
pub(super) struct Process {
    child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) frames: mpsc::Receiver<Result<FromWorker, FrameError>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_ends: JoinHandle<()>,
    group: Option<Pid>,
}

impl Process {
    /// Starts a worker; its messages arrive in `frames`.
    pub(super) fn start(options: &Options) -> Result<Self, Verdict> {
        let program = &options.program;
        let failed = |what: String| {
            Verdict::new(
                Class::Environment,
                format!("cannot start the worker {}: {what}", program.display()),
            )
        };
        let mut child = Command::new(program)
            .args(["worker", "--device", &options.device])
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
        Ok(Self {
            group: child.id().and_then(|id| Pid::from_raw(id.cast_signed())),
            child,
            stdin,
            frames,
            stderr: tail,
            stderr_ends,
        })
    }

    /// Ends the process and everything that it started.
    pub(super) async fn kill(self) {
        kill_group(self.group);
        self.reap().await;
    }

    /// Waits for the ended process and gives its status and last words.
    pub(super) async fn reap(self) -> (Option<ExitStatus>, String) {
        let Self {
            mut child,
            stdin,
            stderr,
            mut stderr_ends,
            group,
            ..
        } = self;
        // A worker without orders ends.
        drop(stdin);
        let status = timeout(REAP, child.wait()).await.ok().and_then(Result::ok);
        if status.is_none() {
            kill_group(group);
        }
        // The reader of standard error sees its end just after the process's, unless something else still holds it open.
        let _ = timeout(LAST_WORDS, &mut stderr_ends).await;
        let words = stderr
            .lock()
            .map(|tail| String::from_utf8_lossy(&tail).trim().to_owned())
            .unwrap_or_default();
        (status, words)
    }
}

fn kill_group(group: Option<Pid>) {
    if let Some(group) = group {
        // It may have ended by itself already.
        let _ = kill_process_group(group, Signal::KILL);
    }
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
