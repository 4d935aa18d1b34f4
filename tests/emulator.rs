//! The emulator from outside: small PTX texts, what they compute, and the faults that they must get.

use std::sync::atomic::AtomicBool;

use ridgepoint::emulator::{
    DeviceProperties, Fault, FaultKind, LaunchConfig, LaunchReport, Memory, Module, Options, launch,
};

static NEVER: AtomicBool = AtomicBool::new(false);

fn options(threads: usize) -> Options<'static> {
    Options {
        threads,
        step_budget: 20_000_000,
        cancel: &NEVER,
        properties: DeviceProperties::default(),
    }
}

/// One kernel `k` and a memory to run it in.
struct Bench {
    module: Module,
    memory: Memory,
    threads: usize,
    dynamic: u32,
    budget: u64,
}

impl Bench {
    /// `params` and `body` are the inside of a kernel called `k`.
    fn new(params: &str, body: &str) -> Self {
        Self::from_text(&format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k({params})\n{{\n{body}\n}}\n"
        ))
    }

    fn from_text(text: &str) -> Self {
        let module = Module::load(text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
        Self {
            module,
            memory: Memory::new(1 << 30),
            threads: 1,
            dynamic: 0,
            budget: 20_000_000,
        }
    }

    fn buffer(&mut self, name: &str, words: &[u32]) -> u64 {
        let address = self.memory.alloc(name, words.len() as u64 * 4).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    fn words(&self, address: u64, count: usize) -> Vec<u32> {
        let bytes = self.memory.read(address, count as u64 * 4).unwrap();
        bytes
            .chunks(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    }

    fn run(&mut self, grid: u32, block: u32, params: &[u64]) -> Result<LaunchReport, Box<Fault>> {
        let config = LaunchConfig {
            kernel: "k".to_owned(),
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            cluster: None,
            dynamic_shared: self.dynamic,
            params: params.iter().map(|value| value.to_le_bytes().to_vec()).collect(),
        };
        let options = Options {
            step_budget: self.budget,
            ..options(self.threads)
        };
        launch(&self.module, &mut self.memory, &config, &options)
    }
}

const SCALE: &str = "
    .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;
    st.global.f32 [%rd5], %f2;
    ret;";

#[test]
fn a_grid_of_threads_each_do_their_element() {
    let mut bench = Bench::new(".param .u64 p0, .param .u64 p1", SCALE);
    let input: Vec<u32> = (0..1000_u32).map(|i| (i as f32).to_bits()).collect();
    let x = bench.buffer("x", &input);
    let y = bench.memory.alloc("y", 4000).unwrap();
    let report = bench.run(10, 100, &[x, y]).unwrap();
    let got = bench.words(y, 1000);
    assert!((0..1000).all(|i| f32::from_bits(got[i]) == i as f32 * 2.0 + 1.0));
    assert_eq!((report.counters.ctas, report.counters.warps), (10, 40));
    assert_eq!(report.counters.flops["fp32"], 2000);
    assert_eq!(
        (report.counters.global_read_bytes, report.counters.global_write_bytes),
        (4000, 4000)
    );
    assert_eq!(report.counters.lane_instructions, 13 * 1000);
}

#[test]
fn one_element_too_far_names_buffer_and_offset() {
    let mut bench = Bench::new(".param .u64 p0, .param .u64 p1", SCALE);
    let x = bench.buffer("x", &[0; 64]);
    let y = bench.buffer("y", &[0; 63]);
    let fault = bench.run(1, 64, &[x, y]).unwrap_err();
    let FaultKind::OutOfBounds(access) = &fault.kind else {
        panic!("{fault:?}")
    };
    assert_eq!(access.buffer, Some(("y".to_owned(), 252, 252)));
    assert_eq!((access.what, access.space, access.bytes), ("write", "global", 4));
    assert_eq!((fault.thread, fault.cta), (Some([63, 0, 0]), Some([0, 0, 0])));
    assert_eq!(fault.ptx_line, Some(15));
}
