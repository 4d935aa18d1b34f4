//! How fast the emulator is: a naive 256x256x256 single-precision matrix product, one thread per output.
//!
//! `benches/matmul.ptx` is what NVRTC 13.0 makes of `benches/matmul.cu` for `compute_90`. Run with `cargo bench --bench emulator`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ridgepoint::emulator::{DeviceProperties, LaunchConfig, Memory, Module, Options, launch};

const N: u32 = 256;
/// Each round runs with one thread and then with two, so that both see the same machine.
const ROUNDS: usize = 25;
/// Untimed first: pages, caches and clocks settle.
const WARM_UPS: usize = 3;

/// Milliseconds of every run, sorted, with one thread and with two.
type Times = [Vec<f64>; 2];

/// The times, and the warp instructions of one run.
fn measure(module: &Module) -> Result<(Times, u64), Box<dyn std::error::Error>> {
    let mut memory = Memory::new(1 << 26);
    let bytes = u64::from(N * N * 4);
    let mut params = Vec::new();
    for (seed, name) in [(1_u32, "a"), (7, "b"), (0, "c")] {
        let address = memory.alloc(name, bytes)?;
        if seed > 0 {
            let values = (0..N * N).map(|i| ((i.wrapping_mul(seed) % 17) as f32 - 8.0) * 0.125);
            let data: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            memory.write(address, &data)?;
        }
        params.push(address.to_le_bytes().to_vec());
    }
    params.push(N.to_le_bytes().to_vec());
    let config = LaunchConfig {
        kernel: "matmul".to_owned(),
        grid: [N / 32, N / 8, 1],
        block: [32, 8, 1],
        params,
        ..LaunchConfig::default()
    };
    let never = AtomicBool::new(false);
    let mut times = [Vec::new(), Vec::new()];
    let mut instructions = 0;
    for round in 0..WARM_UPS + ROUNDS {
        for (threads, times) in (1..).zip(&mut times) {
            let options = Options {
                threads,
                step_budget: u64::MAX,
                cancel: &never,
                properties: DeviceProperties::default(),
            };
            let start = Instant::now();
            let report = launch(module, &mut memory, &config, &options).map_err(|fault| format!("{fault:?}"))?;
            if round >= WARM_UPS {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            instructions = report.counters.warp_instructions.values().sum();
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    Ok((times, instructions))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::load(include_str!("matmul.ptx")).map_err(|fault| format!("{fault:?}"))?;
    let (times, instructions) = measure(&module)?;
    let macs = f64::from(N).powi(3);
    for (threads, times) in (1_u32..).zip(&times) {
        let (least, median) = (times[0], times[ROUNDS / 2]);
        println!(
            "{N}x{N}x{N}, {threads} thread(s): median {median:.1} ms, least {least:.1}, {:.0} M multiply-adds/s, {:.1} ns per warp instruction",
            macs / median / 1e3,
            median * 1e6 * f64::from(threads) / instructions as f64
        );
    }
    let [one, two] = &times;
    println!(
        "2 threads are {:.2} times as fast as 1 by the medians, {:.2} by the least",
        one[ROUNDS / 2] / two[ROUNDS / 2],
        one[0] / two[0]
    );
    Ok(())
}
