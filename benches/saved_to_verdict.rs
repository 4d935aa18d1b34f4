//! How long from a saved file to its verdict, on a warm worker, and how long a whole cold process takes.
//!
//! `cargo bench --bench saved_to_verdict -- cuda:0`, or the built program anywhere: `saved_to_verdict DEVICE [RIDGEPOINT]`.
//! Every save changes the source, so that every round compiles. Prints figures; asserts nothing about time.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// 24752 x 1280, 127 MB in and out.
const SHAPE: &str = "29";
const ROUNDS: usize = 20;
const COLD_ROUNDS: usize = 5;
const KERNEL: &str = include_str!("../problems/atrex/rms_norm/kernels/vec8.cu");

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let device = args.first().cloned().unwrap_or_else(|| "cuda:0".to_owned());
    let program = args
        .get(1)
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_ridgepoint")), PathBuf::from);
    let folder = std::env::temp_dir().join(format!("ridgepoint-bench-{}", std::process::id()));
    if let Err(error) = measure(&program, &device, &folder) {
        println!("not measured: {error}");
    }
    // Left-overs in the temporary folder do no harm.
    let _ = fs::remove_dir_all(&folder);
}

fn measure(program: &Path, device: &str, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let file = folder.join("kernel.cu");
    let warm = warm_rounds(program, device, &file)?;
    println!(
        "saved -> verdict, warm worker, rms_norm shape {SHAPE} on {device}: {}",
        summary(warm)
    );
    let cold = (0..COLD_ROUNDS)
        .map(|round| cold_round(program, device, &file, round))
        .collect::<Result<Vec<_>, _>>()?;
    println!("whole cold process, same kernel and shape: {}", summary(cold));
    Ok(())
}

fn save(file: &Path, round: usize) -> Result<(), String> {
    fs::write(file, format!("{KERNEL}\n// round {round}\n")).map_err(|error| format!("{}: {error}", file.display()))
}

/// Milliseconds from each save to the verdict's line on `watch`'s output.
fn warm_rounds(program: &Path, device: &str, file: &Path) -> Result<Vec<f64>, String> {
    save(file, 0)?;
    let mut child = Command::new(program)
        .args(["watch", "--no-history", "--shape", SHAPE, "--device", device])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let output = child.stdout.take().ok_or("no output")?;
    let mut lines = BufReader::new(output).lines().map_while(Result::ok);
    let mut verdict = move || {
        lines
            .find(|line| line.contains("shapes passed") || line.contains("shape passed") || line.contains("failed"))
            .ok_or_else(|| "watch ended without a verdict".to_owned())
    };
    let result = (|| {
        let first = verdict()?;
        let mut times = Vec::new();
        for round in 1..=ROUNDS {
            // Not a save in the middle of the previous round's last words.
            std::thread::sleep(Duration::from_millis(300));
            let start = Instant::now();
            save(file, round)?;
            let line = verdict()?;
            if !line.contains("passed") {
                return Err(format!("round {round}: {line} (the first was: {first})"));
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(times)
    })();
    // The child may have ended already.
    let _ = child.kill();
    let _ = child.wait();
    result
}

/// Milliseconds of one whole `run`, a new process with a source that no cache holds.
fn cold_round(program: &Path, device: &str, file: &Path, round: usize) -> Result<f64, String> {
    save(file, 1000 + round)?;
    let start = Instant::now();
    let output = Command::new(program)
        .args(["run", "--no-history", "--shape", SHAPE, "--device", device])
        .arg(file)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let elapsed = start.elapsed().as_secs_f64() * 1e3;
    if output.status.success() {
        Ok(elapsed)
    } else {
        Err(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn summary(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    format!(
        "median {median:.0} ms, least {:.0}, most {:.0}, of {}",
        times[0],
        times[times.len() - 1],
        times.len()
    )
}
