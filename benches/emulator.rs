//! How fast the emulator is: a naive 256x256x256 single-precision matrix product, one thread per output.
//!
//! `benches/matmul.ptx` is what NVRTC 13.0 makes of `benches/matmul.cu` for `compute_90`. Run with `cargo bench --bench emulator`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ridgepoint::emulator::{DeviceProperties, LaunchConfig, Memory, Module, Options, launch};

const N: u32 = 256;
const RUNS: usize = 7;

/// Milliseconds of the fastest of several runs, and the warp instructions of one.
fn best(threads: usize, module: &Module) -> Result<(f64, u64), Box<dyn std::error::Error>> {
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
    let options = Options {
        threads,
        step_budget: u64::MAX,
        cancel: &never,
        properties: DeviceProperties::default(),
    };
    let mut fastest = f64::INFINITY;
    let mut instructions = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        let report = launch(module, &mut memory, &config, &options).map_err(|fault| format!("{fault:?}"))?;
        fastest = fastest.min(start.elapsed().as_secs_f64() * 1e3);
        instructions = report.counters.warp_instructions.values().sum();
    }
    Ok((fastest, instructions))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let module = Module::load(include_str!("matmul.ptx")).map_err(|fault| format!("{fault:?}"))?;
    let (one, instructions) = best(1, &module)?;
    let (two, _) = best(2, &module)?;
    let macs = f64::from(N).powi(3);
    for (threads, time) in [(1, one), (2, two)] {
        println!(
            "{N}x{N}x{N}, {threads} thread(s): {time:.1} ms, {:.1} M multiply-adds/s, {:.1} ns per warp instruction",
            macs / time / 1e3,
            time * 1e6 * f64::from(threads) / instructions as f64
        );
    }
    println!("2 threads are {:.2} times as fast as 1", one / two);
    Ok(())
}
