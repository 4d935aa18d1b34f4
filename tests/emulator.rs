//! The emulator from outside: small PTX texts, what they compute, and the faults that they must get.

#![expect(clippy::unwrap_used, reason = "a test panics where a fact does not hold")]

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

/// Registers that most of the kernels here need.
const REGS: &str = ".reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .b16 %rs<4>;";

/// Stores `%r10` to `p0[global thread index]` and ends.
const STORE: &str = "
    ld.param.u64 %rd10, [p0];
    mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ntid.x; mov.u32 %r13, %tid.x;
    mad.lo.u32 %r14, %r11, %r12, %r13;
    mul.wide.u32 %rd11, %r14, 4; add.u64 %rd12, %rd10, %rd11;
    st.global.u32 [%rd12], %r10; ret;";

/// Runs a body that leaves its result in `%r10`, with one output buffer of one word per thread.
fn results(body: &str, grid: u32, block: u32) -> (Vec<u32>, LaunchReport) {
    let mut bench = Bench::new(".param .u64 p0", &format!("{REGS}\n{body}\n{STORE}"));
    let count = (grid * block) as usize;
    let out = bench.memory.alloc("out", count as u64 * 4).unwrap();
    let report = bench
        .run(grid, block, &[out])
        .unwrap_or_else(|fault| panic!("{fault:?}"));
    (bench.words(out, count), report)
}

/// Runs a body that must fail, with one initialised buffer `buf` of 16 words as `p0`.
fn fault_of(body: &str, block: u32) -> Fault {
    let mut bench = Bench::new(".param .u64 p0", &format!("{REGS}\n{body}\nret;"));
    bench.budget = 200_000;
    let buffer = bench.buffer("buf", &[5; 16]);
    match bench.run(1, block, &[buffer]) {
        Err(fault) => *fault,
        Ok(_) => panic!("no fault"),
    }
}

#[test]
fn both_sides_of_a_branch_run_and_meet_again() {
    let (got, report) = results(
        "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;
         @%p1 bra EVEN;
         mul.lo.u32 %r10, %r1, 100; bra JOIN;
         EVEN: add.u32 %r10, %r1, 1000;
         JOIN: add.u32 %r10, %r10, 1;",
        1,
        32,
    );
    assert!((0..32).all(|i| got[i as usize] == if i % 2 == 0 { i + 1001 } else { i * 100 + 1 }));
    assert_eq!(report.counters.divergent_branches, 1);
    // 4 before, 2 and 1 apart, 1 + 9 together again: the warp does not stay split.
    assert_eq!(
        report.counters.warp_instructions.values().sum::<u64>(),
        4 + 2 + 1 + 1 + 9
    );
}

#[test]
fn lanes_that_leave_a_loop_early_wait_behind_it() {
    let (got, report) = results(
        "mov.u32 %r1, %tid.x; mov.u32 %r10, 0; mov.u32 %r2, 0;
         LOOP: add.u32 %r10, %r10, %r2; add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r1;
         @%p1 bra LOOP;",
        1,
        32,
    );
    assert!((0..32_u32).all(|i| got[i as usize] == i * (i + 1) / 2));
    // 32 turns of 4 instructions for all lanes together.
    assert_eq!(report.counters.warp_instructions.values().sum::<u64>(), 3 + 32 * 4 + 9);
}

#[test]
fn nested_loops_with_breaks_and_early_exits() {
    // for i in 0..tid: for j in 0..i: if (j == 3) break; sum += i * j; if (i == 9) exit
    let mut bench = Bench::new(
        ".param .u64 p0",
        &format!(
            "{REGS}
         ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
         mov.u32 %r10, 0; mov.u32 %r2, 0;
         OUTER: setp.ge.u32 %p1, %r2, %r1; @%p1 bra DONE;
         mov.u32 %r3, 0;
         INNER: setp.ge.u32 %p2, %r3, %r2; @%p2 bra NEXT;
         setp.eq.u32 %p3, %r3, 3; @%p3 bra NEXT;
         mad.lo.u32 %r10, %r2, %r3, %r10; add.u32 %r3, %r3, 1; bra INNER;
         NEXT: setp.eq.u32 %p4, %r2, 9; @%p4 exit;
         add.u32 %r2, %r2, 1; bra OUTER;
         DONE: st.global.u32 [%rd3], %r10; ret;"
        ),
    );
    let out = bench.buffer("out", &[77; 32]);
    bench.run(1, 32, &[out]).unwrap();
    let want = |tid: u32| {
        let mut sum = 0;
        for i in 0..tid {
            for j in 0..i.min(3) {
                sum += i * j;
            }
            if i == 9 {
                return 77;
            }
        }
        sum
    };
    assert_eq!(bench.words(out, 32), (0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn lanes_of_a_warp_take_a_lock_in_turn() {
    let mut bench = Bench::new(
        ".param .u64 p0",
        &format!(
            "{REGS}
         ld.param.u64 %rd1, [p0];
         SPIN: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;
         ld.volatile.global.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%rd1+4], %r2;
         membar.gl; atom.global.exch.b32 %r3, [%rd1], 0; ret;"
        ),
    );
    let buffer = bench.buffer("lock", &[0, 0]);
    for threads in [1, 2] {
        bench.threads = threads;
        bench.memory.write(buffer, &[0; 8]).unwrap();
        bench.run(4, 96, &[buffer]).unwrap();
        assert_eq!(bench.words(buffer, 2), [0, 384]);
    }
}

#[test]
fn lanes_of_a_warp_hand_values_to_each_other() {
    // Lane 0 waits for what lane 1 writes behind the branch.
    let (got, _) = results(
        ".shared .align 4 .b8 flag[8];
         mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r10, 7;
         st.shared.u32 [flag], 0;
         @%p1 bra WRITE;
         WAIT: ld.volatile.shared.u32 %r2, [flag]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
         mov.u32 %r10, %r2; bra JOIN;
         WRITE: st.volatile.shared.u32 [flag], 42;
         JOIN: nop;",
        1,
        2,
    );
    assert_eq!(got, [42, 7]);
}

#[test]
fn a_warp_produces_and_another_consumes() {
    let (got, _) = results(
        ".shared .align 4 .b8 buf[128];
         mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r3, %r2, 2; mov.u32 %r4, buf; add.u32 %r5, %r4, %r3;
         mov.u32 %r10, 0;
         setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUME;
         mul.lo.u32 %r6, %r2, 3; st.shared.u32 [%r5], %r6; membar.cta;
         bar.arrive 1, 64; bra JOIN;
         CONSUME: bar.sync 1, 64; ld.shared.u32 %r10, [%r5];
         JOIN: nop;",
        1,
        64,
    );
    assert!((0..32).all(|i| got[i] == 0 && got[32 + i] == 3 * i as u32));
}

#[test]
fn shared_memory_is_turned_around_a_barrier() {
    let (got, report) = results(
        ".shared .align 4 .b8 buf[1024];
         mov.u32 %r1, %tid.x; mov.u32 %r4, buf; shl.b32 %r3, %r1, 2; add.u32 %r5, %r4, %r3;
         st.shared.u32 [%r5], %r1;
         bar.sync 0;
         sub.u32 %r6, 255, %r1; shl.b32 %r6, %r6, 2; add.u32 %r7, %r4, %r6; ld.shared.u32 %r10, [%r7];",
        3,
        256,
    );
    assert!((0..768).all(|i| got[i] == 255 - (i as u32 % 256)));
    assert_eq!(report.counters.barriers, 3 * 8);
    assert_eq!(
        (report.counters.shared_read_bytes, report.counters.shared_write_bytes),
        (3072, 3072)
    );
}

#[test]
fn threads_that_exited_do_not_hold_up_a_barrier() {
    let (got, _) = results(
        "mov.u32 %r1, %tid.x; mov.u32 %r10, 1; setp.ge.u32 %p1, %r1, 64; @%p1 bra JOIN; bar.sync 0; mov.u32 %r10, 2;
         JOIN: nop;",
        1,
        128,
    );
    assert_eq!((got[0], got[63], got[64], got[127]), (2, 2, 1, 1));
}

#[test]
fn a_barrier_votes() {
    let (got, _) = results(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 70; barrier.cta.red.popc.aligned.u32 %r2, 0, %p1;
         bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p1;
         selp.u32 %r3, 1000, 0, %p2; selp.u32 %r4, 2000, 0, %p3; add.u32 %r10, %r2, %r3; add.u32 %r10, %r10, %r4;",
        1,
        96,
    );
    assert!(got.iter().all(|&v| v == 2070));
}

fn barrier(fault: &Fault) -> (u32, &str, &str) {
    match &fault.kind {
        FaultKind::Barrier {
            barrier,
            waiting,
            missing,
        } => (*barrier, waiting, missing),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_barrier_on_one_side_of_a_branch_is_reported() {
    let fault = fault_of(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;
         @%p1 bra LOW;
         bar.sync 0; bra JOIN;
         LOW: bar.sync 0;
         JOIN: nop;",
        32,
    );
    let (number, waiting, missing) = barrier(&fault);
    assert_eq!(number, 0);
    assert_eq!(waiting, "threads 16-31 at bar.sync (PTX line 9)");
    assert_eq!(missing, "threads 0-15 at bar.sync (PTX line 10)");
}

#[test]
fn warps_at_different_barriers_are_a_deadlock() {
    let fault = fault_of(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;
         @%p1 bra LOW;
         bar.sync 2; bra JOIN;
         LOW: bar.sync 1;
         JOIN: nop;",
        96,
    );
    let (number, waiting, missing) = barrier(&fault);
    assert_eq!(number, 1);
    assert_eq!(waiting, "threads 0-31 at bar.sync (PTX line 10)");
    assert_eq!(missing, "threads 32-95 at barrier 2, at bar.sync (PTX line 9)");
}

#[test]
fn a_named_barrier_that_never_fills_is_a_deadlock() {
    let fault = fault_of(
        "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 32;
         @%p1 exit;
         bar.sync 3, 64;",
        64,
    );
    let (number, waiting, missing) = barrier(&fault);
    assert_eq!(number, 3);
    assert_eq!(
        waiting,
        "threads 0-31 at bar.sync (PTX line 9), 32 of 64 threads counted"
    );
    assert_eq!(missing, "threads 32-63 exited");
}

fn access(fault: &Fault) -> &ridgepoint::emulator::Access {
    match &fault.kind {
        FaultKind::OutOfBounds(access)
        | FaultKind::Misaligned(access)
        | FaultKind::Uninitialized(access)
        | FaultKind::ReadOnly(access) => access,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_byte_too_far_is_caught_in_every_space() {
    let cases = [
        (
            "ld.param.u64 %rd1, [p0]; ld.global.u32 %r1, [%rd1+64];",
            "global",
            "buf",
            64,
            64,
        ),
        (
            "ld.param.u64 %rd1, [p0]; ld.global.u32 %r1, [%rd1+-4];",
            "global",
            "buf",
            64,
            -4,
        ),
        (
            "ld.param.u64 %rd1, [p0]; ld.u8 %rs1, [%rd1+64];",
            "global",
            "buf",
            64,
            64,
        ),
        (
            ".shared .align 4 .b8 a[8]; .shared .align 4 .b8 b[8]; st.shared.u32 [b], 0; st.shared.u32 [a+8], 0;",
            "shared",
            "a",
            8,
            8,
        ),
        (
            ".shared .align 4 .b8 a[8]; mov.u64 %rd1, a; cvta.shared.u64 %rd2, %rd1; st.u32 [%rd2+8], 0;",
            "shared",
            "a",
            8,
            8,
        ),
        (".local .align 4 .b8 a[8]; st.local.u32 [a+8], 0;", "local", "a", 8, 8),
        (
            ".local .align 4 .b8 a[8]; mov.u64 %rd1, a; cvta.local.u64 %rd2, %rd1; st.u32 [%rd2+-4], 0;",
            "local",
            "a",
            8,
            -4,
        ),
        ("ld.param.u32 %r1, [p0+8];", "param", "parameters", 8, 8),
    ];
    for (body, space, name, size, offset) in cases {
        let fault = fault_of(body, 32);
        assert!(matches!(fault.kind, FaultKind::OutOfBounds(_)), "{body}: {fault:?}");
        let access = access(&fault);
        assert_eq!(access.space, space, "{body}");
        assert_eq!(access.buffer, Some((name.to_owned(), size, offset)), "{body}");
    }
}

#[test]
fn constants_are_bounded_and_read_only() {
    let text = |body: &str| {
        format!(
            ".version 8.8 .target sm_90 .address_size 64
             .const .align 4 .u32 table[4] = {{10, 20, 30, 40}};
             .global .align 4 .u32 counter = 5;
             .entry k(.param .u64 p0) {{ {REGS} {body} }}"
        )
    };
    let mut bench = Bench::from_text(&text(&format!(
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, table; add.u64 %rd3, %rd1, %rd2;
         ld.const.u32 %r10, [%rd3]; atom.global.add.u32 %r2, [counter], 1; {STORE}"
    )));
    let out = bench.buffer("out", &[0; 8]);
    bench.run(1, 4, &[out]).unwrap();
    assert_eq!(bench.words(out, 4), [10, 20, 30, 40]);
    // The module's variables live as long as the module.
    bench.run(1, 4, &[out]).unwrap();
    let counter = bench.module.variable(&bench.memory, "counter").unwrap();
    assert_eq!(bench.words(counter, 1), [13]);
    let fault = bench.run(1, 5, &[out]).unwrap_err();
    assert_eq!(access(&fault).buffer, Some(("table".to_owned(), 16, 16)));

    let mut bench = Bench::from_text(&text("mov.u64 %rd1, table; st.global.u32 [%rd1], 1; ret;"));
    let fault = bench.run(1, 1, &[0]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::ReadOnly(_)), "{fault:?}");
}

#[test]
fn vectors_must_be_aligned() {
    let fault = fault_of("ld.param.u64 %rd1, [p0]; ld.global.v2.u32 {%r1, %r2}, [%rd1+4];", 32);
    assert!(matches!(fault.kind, FaultKind::Misaligned(_)));
    assert_eq!(
        (access(&fault).bytes, access(&fault).buffer.clone()),
        (8, Some(("buf".to_owned(), 64, 4)))
    );
    let fault = fault_of(
        ".shared .align 16 .b8 a[32]; st.shared.v4.u32 [a+8], {%r1, %r1, %r1, %r1};",
        1,
    );
    assert!(matches!(fault.kind, FaultKind::Misaligned(_)));
}

#[test]
fn reads_of_unwritten_memory_are_caught() {
    let mut bench = Bench::new(
        ".param .u64 p0",
        &format!(
            "{REGS} ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
             ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd3], %r2; ret;"
        ),
    );
    let buffer = bench.memory.alloc("half", 256).unwrap();
    bench.memory.write(buffer, &[1; 160]).unwrap();
    bench.run(1, 40, &[buffer]).unwrap();
    let fault = bench.run(1, 64, &[buffer]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Uninitialized(_)));
    assert_eq!(access(&fault).buffer, Some(("half".to_owned(), 256, 160)));
    assert_eq!(fault.thread, Some([40, 0, 0]));

    let fault = fault_of(
        ".shared .align 4 .b8 a[8]; st.shared.u8 [a], %rs1; ld.shared.u16 %rs1, [a];",
        1,
    );
    assert!(matches!(fault.kind, FaultKind::Uninitialized(_)), "{fault:?}");
    let fault = fault_of(
        ".local .align 4 .b8 a[8]; st.local.u32 [a], 1; ld.local.v2.u32 {%r1, %r2}, [a];",
        1,
    );
    assert!(
        matches!(fault.kind, FaultKind::Misaligned(_) | FaultKind::Uninitialized(_)),
        "{fault:?}"
    );
}

#[test]
fn a_loop_without_end_meets_the_budget() {
    let fault = fault_of("LOOP: add.u32 %r1, %r1, 1; bra LOOP;", 32);
    assert_eq!(fault.kind, FaultKind::Budget { steps: 200_000 });
    assert!(matches!(fault.ptx_line, Some(7)));
}

#[test]
fn a_launch_can_be_cancelled() {
    let cancel = AtomicBool::new(true);
    let mut bench = Bench::new("", "LOOP: bra LOOP;");
    let config = LaunchConfig {
        kernel: "k".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        ..LaunchConfig::default()
    };
    let options = Options {
        cancel: &cancel,
        step_budget: u64::MAX,
        ..options(1)
    };
    let fault = launch(&bench.module, &mut bench.memory, &config, &options).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Cancelled);
}

/// A recursive factorial, a function with a register parameter, and a table of functions.
const CALLS: &str = ".version 8.8 .target sm_90 .address_size 64
    .func (.param .b32 out) fact(.param .b32 n) {
        .reg .pred %p<2>; .reg .b32 %r<6>;
        ld.param.u32 %r1, [n]; setp.gt.u32 %p1, %r1, 1; mov.u32 %r2, 1;
        @!%p1 bra DONE;
        sub.u32 %r3, %r1, 1;
        { .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r3; call (r0), fact, (a0); ld.param.b32 %r4, [r0]; }
        mul.lo.u32 %r2, %r1, %r4;
        DONE: st.param.b32 [out], %r2; ret;
    }
    .func (.reg .b32 y) twice(.reg .b32 x) { add.u32 y, x, x; ret; }
    .func (.reg .b32 y) thrice(.reg .b32 x) { mul.lo.u32 y, x, 3; ret; }
    .entry k(.param .u64 p0) {";

#[test]
fn calls_recursion_and_function_pointers() {
    let mut bench = Bench::from_text(&format!(
        "{CALLS} {REGS}
        mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 7;
        {{ .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r2; call.uni (r0), fact, (a0); ld.param.b32 %r3, [r0]; }}
        mov.u64 %rd1, twice; mov.u64 %rd2, thrice; setp.lt.u32 %p1, %r1, 5; selp.b64 %rd3, %rd1, %rd2, %p1;
        proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
        call (%r10), %rd3, (%r3), proto;
        {STORE} }}"
    ));
    let out = bench.memory.alloc("out", 128).unwrap();
    bench.run(1, 32, &[out]).unwrap_or_else(|fault| panic!("{fault:?}"));
    let fact = |n: u32| (1..=n).product::<u32>();
    let want: Vec<u32> = (0..32).map(|i| fact(i % 8) * if i < 5 { 2 } else { 3 }).collect();
    assert_eq!(bench.words(out, 32), want);
}

#[test]
fn recursion_without_end_is_a_fault() {
    let mut bench = Bench::from_text(
        ".version 8.8 .target sm_90 .address_size 64
         .func f() { call f; ret; }
         .entry k() { call f; ret; }",
    );
    let fault = bench.run(1, 32, &[]).unwrap_err();
    assert!(
        matches!(&fault.kind, FaultKind::Trap { message } if message.contains("nested")),
        "{fault:?}"
    );
    assert_eq!(fault.function, "f");
}

#[test]
fn dynamic_shared_memory_has_the_size_of_the_launch() {
    let body = format!(
        "{REGS} mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, dyn; add.u32 %r4, %r3, %r2;
         st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r2, 4; add.u32 %r6, %r3, %r5; ld.shared.u32 %r10, [%r6];
         mov.u32 %r7, %dynamic_smem_size; add.u32 %r10, %r10, %r7; {STORE}"
    );
    let text = format!(
        ".version 8.8 .target sm_90 .address_size 64 .extern .shared .align 16 .b8 dyn[];
         .entry k(.param .u64 p0) {{ {body} }}"
    );
    let mut bench = Bench::from_text(&text);
    let out = bench.memory.alloc("out", 256).unwrap();
    bench.dynamic = 256;
    bench.run(1, 64, &[out]).unwrap();
    assert_eq!(bench.words(out, 4), [257, 256, 259, 258]);
    bench.dynamic = 252;
    let fault = bench.run(1, 64, &[out]).unwrap_err();
    assert_eq!(access(&fault).buffer, Some(("dyn".to_owned(), 252, 252)));
    bench.dynamic = 300_000;
    let fault = bench.run(1, 64, &[out]).unwrap_err();
    assert!(matches!(&fault.kind, FaultKind::Launch { message } if message.contains("shared memory")));
}

#[test]
fn atomics_of_many_ctas_add_up() {
    let mut bench = Bench::new(
        ".param .u64 p0",
        &format!(
            "{REGS} ld.param.u64 %rd1, [p0]; mov.u32 %r1, 0;
             LOOP: atom.global.add.u32 %r2, [%rd1], 1; red.global.add.u64 [%rd1+8], 4294967297;
             add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 10; @%p1 bra LOOP; ret;"
        ),
    );
    let buffer = bench.buffer("sums", &[0; 4]);
    for threads in [1, 2, 4] {
        bench.threads = threads;
        bench.memory.write(buffer, &[0; 16]).unwrap();
        let report = bench.run(50, 64, &[buffer]).unwrap();
        assert_eq!(bench.words(buffer, 4), [32_000, 0, 32_000, 32_000]);
        assert_eq!(report.counters.atomics, 64_000);
    }
}

/// Every CTA arrives at a counter, and waits until all have.
fn grid_barrier() -> Bench {
    Bench::new(
        ".param .u64 p0, .param .u64 p1",
        &format!(
            "{REGS} ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; mov.u32 %r1, %tid.x; mov.u32 %r2, %nctaid.x;
             setp.ne.u32 %p1, %r1, 0; @%p1 bra MEET;
             atom.global.add.u32 %r3, [%rd1], 1;
             WAIT: ld.acquire.gpu.global.u32 %r4, [%rd1]; setp.lt.u32 %p2, %r4, %r2; @%p2 bra WAIT;
             MEET: bar.sync 0;
             ld.volatile.global.u32 %r5, [%rd1]; mov.u32 %r6, %ctaid.x; mul.wide.u32 %rd3, %r6, 4; add.u64 %rd4, %rd2, %rd3;
             st.global.u32 [%rd4], %r5; ret;"
        ),
    )
}

#[test]
fn ctas_wait_for_each_other() {
    for threads in [1, 2] {
        let mut bench = grid_barrier();
        bench.threads = threads;
        let counter = bench.buffer("counter", &[0]);
        let out = bench.memory.alloc("out", 4 * 128).unwrap();
        bench
            .run(128, 64, &[counter, out])
            .unwrap_or_else(|fault| panic!("{fault:?}"));
        assert!(bench.words(out, 128).iter().all(|&v| v == 128));
    }
}

#[test]
fn a_grid_that_the_device_cannot_hold_hangs_as_it_would_there() {
    let mut bench = grid_barrier();
    bench.budget = 2_000_000;
    let counter = bench.buffer("counter", &[0]);
    let out = bench.memory.alloc("out", 4 * 8192).unwrap();
    // 132 SMs hold 32 CTAs each.
    let fault = bench.run(132 * 32 + 1, 64, &[counter, out]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Budget { .. }), "{fault:?}");
}

#[test]
fn what_is_not_implemented_is_named_with_its_line() {
    let mut bench = Bench::new("", "nop;\n.loc 1 42 5\nfrobnicate.sync.f32 %f1, %f2;\nret;");
    let fault = bench.run(1, 32, &[]).unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::Unsupported {
            what: "frobnicate.sync.f32".to_owned()
        }
    );
    assert_eq!(fault.ptx_line, Some(8));
    assert_eq!(fault.source.map(|(_, line, column)| (line, column)), Some((42, 5)));
}

#[test]
fn an_odd_function_does_not_spoil_its_module() {
    let mut bench = Bench::from_text(
        ".version 8.8 .target sm_90 .address_size 64
         .entry odd() { frobnicate.b32; ret; }
         .entry k() { ret; }",
    );
    assert_eq!(bench.module.kernels().len(), 2);
    bench.run(1, 32, &[]).unwrap();
    assert!(matches!(
        bench.module.check("odd").unwrap_err().kind,
        FaultKind::Unsupported { .. }
    ));
}

#[test]
fn launches_that_cannot_be_made_are_refused() {
    let mut bench = Bench::new(".param .u64 p0", ".maxntid 64; ret;");
    let message = |result: Result<LaunchReport, Box<Fault>>| match result.unwrap_err().kind {
        FaultKind::Launch { message } => message,
        other => panic!("{other:?}"),
    };
    assert!(message(bench.run(1, 32, &[])).contains("0 arguments for 1 parameters"));
    assert!(message(bench.run(1, 2000, &[0])).contains("block dimension x"));
    assert!(message(bench.run(0, 32, &[0])).contains("grid dimension x"));
}

#[test]
fn member_masks_gather_their_lanes() {
    // The halves of the warp part, and each synchronises on its own; then all do.
    let (got, _) = results(
        ".shared .align 4 .b8 a[128];
         mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, a; add.u32 %r4, %r3, %r2; st.shared.u32 [%r4], %r1;
         setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
         bar.warp.sync 0xffff0000; bra JOIN;
         LOW: bar.warp.sync 0xffff;
         JOIN: bar.warp.sync 0xffffffff;
         xor.b32 %r5, %r2, 124; add.u32 %r6, %r3, %r5; ld.shared.u32 %r10, [%r6];",
        1,
        32,
    );
    assert!((0..32).all(|i| got[i] == 31 - i as u32));
}

#[test]
fn a_member_that_never_comes_is_named() {
    let fault = fault_of(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 4; @%p1 exit;
         bar.warp.sync 0xffffffff; mov.u32 %r2, 1;
         setp.lt.u32 %p1, %r1, 8; @%p1 bra LOW;
         bar.warp.sync 0xfffffff0; bra JOIN;
         LOW: bar.warp.sync 0x000001f0;
         JOIN: nop;",
        32,
    );
    let (_, waiting, missing) = barrier(&fault);
    assert!(waiting.contains("threads 8-31"), "{waiting}");
    assert!(missing.contains("threads 4-7"), "{missing}");
}

#[test]
fn clusters_meet_and_reach_into_each_other() {
    let text = format!(
        ".version 8.8 .target sm_90 .address_size 64
         .entry k(.param .u64 p0) {{ {REGS} .shared .align 4 .b8 a[4];
         mov.u32 %r1, %cluster_ctarank; add.u32 %r2, %r1, 100; st.shared.u32 [a], %r2;
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
         add.u32 %r5, %r1, 1; and.b32 %r5, %r5, 3; mov.u32 %r6, a;
         mapa.shared::cluster.u32 %r7, %r6, %r5; ld.shared::cluster.u32 %r10, [%r7];
         mov.u32 %r3, %clusterid.x; mad.lo.u32 %r10, %r3, 1000, %r10;
         mov.u64 %rd1, a; cvta.shared.u64 %rd2, %rd1; mapa.u64 %rd3, %rd2, %r5;
         ld.u32 %r8, [%rd3]; getctarank.u64 %r9, %rd3; sub.u32 %r8, %r8, %r9; add.u32 %r10, %r10, %r8;
         isspacep.shared::cta %p1, %rd3; selp.u32 %r8, 5000, 0, %p1; add.u32 %r10, %r10, %r8;
         barrier.cluster.arrive; barrier.cluster.wait;
         {STORE} }}"
    );
    let mut bench = Bench::from_text(&text);
    let out = bench.memory.alloc("out", 8 * 32 * 4).unwrap();
    let config = LaunchConfig {
        kernel: "k".to_owned(),
        grid: [8, 1, 1],
        block: [32, 1, 1],
        cluster: Some([4, 1, 1]),
        dynamic_shared: 0,
        params: vec![out.to_le_bytes().to_vec()],
    };
    launch(&bench.module, &mut bench.memory, &config, &options(2)).unwrap();
    let got = bench.words(out, 256);
    // The neighbour's word, 1000 per cluster, and 100 for the neighbour's word without its rank.
    let neighbour = |i: u32| (i / 32 + 1) % 4 + 100;
    assert!((0..256).all(|i| got[i as usize] == neighbour(i) + 1000 * (i / 128) + 100));
}

/// `tests/emulator/mix.cu` as NVRTC 13.0 compiles it for `compute_90`.
fn compiled() -> Bench {
    Bench::from_text(include_str!("emulator/mix.ptx"))
}

impl Bench {
    fn launch(&mut self, kernel: &str, grid: [u32; 3], block: [u32; 3], params: Vec<Vec<u8>>) -> LaunchReport {
        let config = LaunchConfig {
            kernel: kernel.to_owned(),
            grid,
            block,
            cluster: None,
            dynamic_shared: 0,
            params,
        };
        launch(&self.module, &mut self.memory, &config, &options(self.threads))
            .unwrap_or_else(|fault| panic!("{fault:?}"))
    }
}

fn bytes(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

#[test]
fn a_compiled_normalisation_with_shuffles() {
    let (rows, width) = (3_usize, 200_usize);
    let mut bench = compiled();
    let value = |i: usize| half::bf16::from_f32((i % 37) as f32 * 0.25 - 4.0);
    let weight = |i: usize| half::bf16::from_f32(1.0 + (i % 5) as f32 * 0.5);
    let upload = |bench: &mut Bench, name: &str, count: usize, f: &dyn Fn(usize) -> half::bf16| {
        let data: Vec<u8> = (0..count).flat_map(|i| f(i).to_bits().to_le_bytes()).collect();
        let address = bench.memory.alloc(name, data.len() as u64).unwrap();
        bench.memory.write(address, &data).unwrap();
        address
    };
    let x = upload(&mut bench, "x", rows * width, &value);
    let w = upload(&mut bench, "weight", width, &weight);
    let out = bench.memory.alloc("out", (rows * width * 2) as u64).unwrap();
    let params = vec![
        bytes(x),
        bytes(w),
        bytes(out),
        (width as u32).to_le_bytes().to_vec(),
        1e-5_f32.to_le_bytes().to_vec(),
    ];
    bench.launch("rms_norm", [rows as u32, 1, 1], [128, 1, 1], params);
    let got = bench.memory.read(out, (rows * width * 2) as u64).unwrap();
    for row in 0..rows {
        let x = |i: usize| f64::from(value(row * width + i).to_f32());
        let mean = (0..width).map(|i| x(i) * x(i)).sum::<f64>() / width as f64;
        for i in 0..width {
            let want = x(i) / (mean + 1e-5).sqrt() * f64::from(weight(i).to_f32());
            let at = (row * width + i) * 2;
            let got = f64::from(half::bf16::from_bits(u16::from_le_bytes([got[at], got[at + 1]])).to_f32());
            assert!(
                (got - want).abs() <= want.abs() / 200.0,
                "row {row}, {i}: {got} for {want}"
            );
        }
    }
}

#[test]
fn a_compiled_matrix_product_through_shared_tiles() {
    let n = 48_usize;
    let value = |i: usize| (i % 13) as f32 - 6.0;
    let input: Vec<u32> = (0..n * n).map(|i| value(i).to_bits()).collect();
    let mut results = Vec::new();
    for threads in [1, 3] {
        let mut bench = compiled();
        bench.threads = threads;
        let a = bench.buffer("a", &input);
        let c = bench.memory.alloc("c", (n * n * 4) as u64).unwrap();
        let params = vec![bytes(a), bytes(a), bytes(c), (n as u32).to_le_bytes().to_vec()];
        bench.launch("tiled", [3, 3, 1], [16, 16, 1], params);
        results.push(bench.words(c, n * n));
    }
    let want = |row: usize, col: usize| (0..n).map(|k| value(row * n + k) * value(k * n + col)).sum::<f32>();
    assert!((0..n * n).all(|i| f32::from_bits(results[0][i]) == want(i / n, i % n)));
    assert_eq!(results[0], results[1]);
}

#[test]
fn compiled_tables_calls_local_arrays_and_printf() {
    let n = 100_usize;
    let mut bench = compiled();
    let out = bench.memory.alloc("out", (n * 4) as u64).unwrap();
    let report = bench.launch(
        "misc",
        [2, 1, 1],
        [64, 1, 1],
        vec![bytes(out), (n as u32).to_le_bytes().to_vec()],
    );
    let collatz = |mut i: usize| {
        let mut steps = 0;
        while i > 1 {
            i = if i % 2 == 1 { 3 * i + 1 } else { i / 2 };
            steps += 1;
        }
        steps as f32
    };
    let want = |i: usize| {
        let k = i * 5 % 8;
        let v = [1.0, 2.0, 4.0, 8.0][(i + k) % 4] * k as f32;
        match i % 6 {
            0 => v + 1.0,
            1 => v * 3.0,
            2 => v - 2.0,
            3 => -v,
            4 => v + collatz(i),
            _ => v / 7.0,
        }
    };
    let got = bench.words(out, n);
    for (i, &bits) in got.iter().enumerate() {
        assert_eq!(f32::from_bits(bits), want(i), "element {i}");
    }
    assert_eq!(report.printed, format!("thread 5 has {:.3} of misc\n", want(5)));
}

#[test]
fn a_compiled_grid_barrier() {
    let (grid, block) = (40_u32, 64_u32);
    for threads in [1, 2] {
        let mut bench = compiled();
        bench.threads = threads;
        let size = u64::from(grid * block * 4);
        let data = bench.memory.alloc("data", size).unwrap();
        let out = bench.memory.alloc("out", size).unwrap();
        bench.launch("two_phases", [grid, 1, 1], [block, 1, 1], vec![bytes(data), bytes(out)]);
        let got = bench.words(out, (grid * block) as usize);
        assert!((0..grid * block).all(|i| got[i as usize] == (i / block + 1) % grid + i % block));
    }
}

#[test]
fn faults_of_compiled_kernels_name_the_source_line() {
    let mut bench = compiled();
    let a = bench.buffer("a", &[0; 256]);
    let config = LaunchConfig {
        kernel: "tiled".to_owned(),
        grid: [1, 1, 1],
        block: [16, 16, 1],
        params: vec![bytes(a), bytes(a), bytes(a + 16), 16_u32.to_le_bytes().to_vec()],
        ..LaunchConfig::default()
    };
    let fault = launch(&bench.module, &mut bench.memory, &config, &options(1)).unwrap_err();
    assert_eq!(access(&fault).buffer, Some(("a".to_owned(), 1024, 1024)));
    let source = include_str!("emulator/mix.cu");
    let (file, line, _) = fault.source.unwrap();
    assert_eq!(file, "mix.cu");
    assert_eq!(
        source.lines().nth(line as usize - 1).unwrap().trim(),
        "c[row * n + col] = sum;"
    );
}
