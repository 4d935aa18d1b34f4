//! The device's self-test: facts about a real GPU that no machine without one can check, as one report.

mod data;
mod faults;
mod launches;
mod times;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::CudaDevice;
use crate::device::{Bound, Buffers, Device, DeviceInfo, Image, ModuleId};
use crate::kernel::plan::{Arg, Launch};
use crate::verdict::{Outcome, Verdict};

/// PTX of `selftest.cu`, for compute capability 9.0.
const PTX: &str = include_str!("../judge/selftest.ptx");
/// Time that one faulting case may take in its own process.
const CASE_LIMIT: Duration = Duration::from_mins(1);

/// One fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub passed: bool,
    /// What was seen; for a failed check also what was expected.
    pub detail: String,
    pub milliseconds: f64,
}

/// All facts of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub schema: u32,
    pub device: Option<DeviceInfo>,
    pub passed: bool,
    pub checks: Vec<Check>,
}

/// Cases that leave the process's context useless: each needs a process of its own.
pub const CASES: [&str; 4] = ["hang", "illegal-address", "misaligned-address", "trap"];

/// What a check gives: what was seen, or what went wrong.
type Seen = Result<String, String>;

/// A device with the self-test's kernels loaded.
struct Bench {
    device: CudaDevice,
    module: ModuleId,
    buffers: Buffers,
}

fn words(verdict: &Verdict) -> String {
    format!("{verdict} {:?}", verdict.evidence)
}

trait Worded<T> {
    /// The verdict in words, for a check that failed by it.
    fn worded(self) -> Result<T, String>;
}

impl<T> Worded<T> for Outcome<T> {
    fn worded(self) -> Result<T, String> {
        self.map_err(|verdict| words(&verdict))
    }
}

fn expect(holds: bool, seen: impl Into<String>) -> Seen {
    let seen = seen.into();
    if holds { Ok(seen) } else { Err(seen) }
}

impl Bench {
    fn open(ordinal: u32) -> Outcome<Self> {
        let mut device = CudaDevice::open(ordinal)?;
        let module = device.load(&Image {
            ptx: PTX.into(),
            cubin: None,
        })?;
        Ok(Self {
            device,
            module,
            buffers: Buffers::new(),
        })
    }

    /// A buffer of that name, in the place of an earlier one.
    fn buffer(&mut self, name: &str, bytes: u64) -> Result<crate::device::BufferId, String> {
        if let Some(old) = self.buffers.remove(name) {
            self.device.free(old);
        }
        let id = self.device.alloc(name, bytes).worded()?;
        self.buffers.insert(name.to_owned(), id);
        Ok(id)
    }

    fn drop_buffers(&mut self) {
        for id in std::mem::take(&mut self.buffers).into_values() {
            self.device.free(id);
        }
    }

    fn launch(&mut self, launch: &Launch) -> Outcome<()> {
        self.device.launch(&Bound {
            module: self.module,
            launch,
            buffers: &self.buffers,
        })
    }
}

fn plain(kernel: &str, ctas: u32, threads: u32, args: Vec<Arg>) -> Launch {
    Launch {
        kernel: kernel.to_owned(),
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        cluster: None,
        shared: 0,
        cooperative: false,
        args,
        line: 1,
    }
}

fn buffer(name: &str) -> Arg {
    Arg::Buffer(name.to_owned())
}

fn scalar<const N: usize>(bytes: [u8; N]) -> Arg {
    Arg::Scalar(bytes.to_vec())
}

fn timed(name: &str, check: impl FnOnce() -> Seen) -> Check {
    let start = Instant::now();
    let seen = check();
    Check {
        name: name.to_owned(),
        passed: seen.is_ok(),
        detail: seen.unwrap_or_else(|wrong| wrong),
        milliseconds: start.elapsed().as_secs_f64() * 1e3,
    }
}

/// Runs everything. `command` makes the command that runs [`case`] of that name in a process of its own and prints it as JSON
/// on one line.
pub fn run(ordinal: u32, command: &mut dyn FnMut(&str) -> Command) -> Report {
    let mut checks = Vec::new();
    let mut bench = None;
    checks.push(timed("open", || {
        let opened = Bench::open(ordinal).worded()?;
        let name = opened.device.info().name.clone();
        bench = Some(opened);
        Ok(name)
    }));
    let mut device = None;
    if let Some(mut bench) = bench {
        device = Some(bench.device.info().clone());
        let groups: [fn(&mut Bench) -> Vec<Check>; 3] = [data::checks, launches::checks, times::checks];
        for group in groups {
            checks.extend(group(&mut bench));
            bench.drop_buffers();
        }
        drop(bench);
        checks.extend(CASES.iter().map(|name| timed(name, || in_child(command(name)))));
    }
    Report {
        schema: 1,
        device,
        passed: checks.iter().all(|check| check.passed),
        checks,
    }
}

/// One of [`CASES`], in this process. Afterwards the process is good for nothing else.
pub fn case(ordinal: u32, name: &str) -> Check {
    timed(name, || faults::run(&mut Bench::open(ordinal).worded()?, name))
}

/// Reads the child's line and ends it: a process with a hung kernel may not end by itself.
fn in_child(mut command: Command) -> Seen {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let output = child.stdout.take().ok_or("the child has no output")?;
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let line = BufReader::new(output)
            .lines()
            .map_while(Result::ok)
            .find(|line| line.starts_with('{'));
        // The receiver may have given up.
        drop(send.send(line));
    });
    let line = receive.recv_timeout(CASE_LIMIT);
    let killed = child.kill();
    let status = child.wait();
    let line = line.map_err(|_| format!("no answer after {} s ({killed:?}, {status:?})", CASE_LIMIT.as_secs()))?;
    let line = line.ok_or_else(|| format!("ended without an answer ({status:?})"))?;
    let check: Check = serde_json::from_str(&line).map_err(|error| format!("unreadable answer: {error}: {line}"))?;
    expect(check.passed, check.detail)
}
