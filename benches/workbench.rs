//! How long the workbench takes to its first frame, and what it costs when nothing happens.
//!
//! `cargo bench --bench workbench`. Prints figures; asserts nothing about time.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

const STARTS: usize = 15;
const IDLE: Duration = Duration::from_secs(10);
/// A word of the first screen: when it is there, the frame has been drawn.
const SIGN: &str = "Operators";
/// Clock ticks per second in `/proc/<pid>/stat`, the same on every Linux.
const TICKS: f64 = 100.0;

fn main() {
    let program = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with("--"))
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_ridgepoint")), PathBuf::from);
    let folder = std::env::temp_dir().join(format!("ridgepoint-bench-{}", std::process::id()));
    for (columns, rows) in [(80, 24), (200, 60)] {
        let mut times: Vec<f64> = (0..STARTS)
            .map(|_| start(&program, &folder, columns, rows, None).0)
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "first frame at {columns}x{rows}: median {:.1} ms, least {:.1}, most {:.1}, of {STARTS}",
            times[STARTS / 2],
            times[0],
            times[STARTS - 1]
        );
    }
    let (_, idle) = start(&program, &folder, 120, 36, Some(IDLE));
    if let Some((share, megabytes)) = idle {
        println!(
            "idle for {} s: {:.2} % of one core, {megabytes:.0} MB resident",
            IDLE.as_secs(),
            share * 100.0
        );
    }
    // Left-overs in the temporary folder do no harm.
    let _ = std::fs::remove_dir_all(&folder);
}

/// Milliseconds from the start to the first frame; then, if asked, the share of a core and the memory while idle.
fn start(
    program: &PathBuf,
    folder: &PathBuf,
    columns: u16,
    rows: u16,
    idle: Option<Duration>,
) -> (f64, Option<(f64, f64)>) {
    let size = PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
    let mut command = CommandBuilder::new(program);
    command.args(["--device", "emulator"]);
    command.env("RIDGEPOINT_DATA_DIR", folder);
    command.env("TERM", "xterm-256color");
    let begin = Instant::now();
    let mut child = pair.slave.spawn_command(command).expect("the workbench starts");
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut seen = Vec::new();
        let mut part = vec![0_u8; 65536];
        let mut told = false;
        while let Ok(count) = reader.read(&mut part) {
            if count == 0 {
                break;
            }
            seen.extend_from_slice(&part[..count]);
            if !told && String::from_utf8_lossy(&seen).contains(SIGN) {
                told = true;
                // The receiver may have given up.
                let _ = send.send(Instant::now());
            }
        }
    });
    let drawn = receive.recv_timeout(Duration::from_secs(20)).expect("a first frame");
    let measured = idle.and_then(|span| {
        let pid = child.process_id()?;
        std::thread::sleep(Duration::from_secs(3));
        let before = cpu_seconds(pid)?;
        std::thread::sleep(span);
        Some((
            (cpu_seconds(pid)? - before) / span.as_secs_f64(),
            resident_megabytes(pid)?,
        ))
    });
    // It may have ended already.
    let _ = child.kill();
    let _ = child.wait();
    ((drawn - begin).as_secs_f64() * 1e3, measured)
}

fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / TICKS)
}

fn resident_megabytes(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace()
        .nth(1)?
        .parse::<f64>()
        .ok()
        .map(|kilobytes| kilobytes / 1024.0)
}
