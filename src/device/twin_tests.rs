//! The judge's CUDA kernels, run by the emulator, against their Rust twins: the same bits on small data.

use super::compare::{self, COUNTS, Layout, Part, Rule};
use super::emulator::EmulatorDevice;
use super::{Bound, BufferId, Buffers, CompareSpec, DType, Device, GenerateSpec, Image, ModuleId, element, generate};
use crate::kernel::plan::{Arg, Launch};
use crate::problem::{Contract, Recipe};

const PTX: &str = include_str!("judge/judge.ptx");

struct Judge {
    device: EmulatorDevice,
    module: ModuleId,
    buffers: Buffers,
}

impl Judge {
    fn new() -> Self {
        let mut device = EmulatorDevice::with_memory("h200", 1 << 26).unwrap();
        let module = device
            .load(&Image {
                ptx: PTX.into(),
                cubin: None,
            })
            .unwrap();
        Self {
            device,
            module,
            buffers: Buffers::new(),
        }
    }

    /// A zeroed buffer of that name.
    fn buffer(&mut self, name: &str, bytes: &[u8]) -> BufferId {
        let id = self.device.alloc(name, bytes.len() as u64).unwrap();
        self.device.write(id, 0, bytes).unwrap();
        self.buffers.insert(name.to_owned(), id);
        id
    }

    fn run(&mut self, kernel: &str, ctas: u32, args: Vec<Arg>) {
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: [ctas, 1, 1],
            block: [256, 1, 1],
            cluster: None,
            shared: 0,
            cooperative: false,
            args,
            line: 1,
        };
        let bound = Bound {
            module: self.module,
            launch: &launch,
            buffers: &self.buffers,
        };
        self.device
            .launch(&bound)
            .unwrap_or_else(|verdict| panic!("{kernel}: {verdict:#?}"));
    }

    fn take(&mut self, name: &str) -> Vec<u8> {
        let id = self.buffers[name];
        let bytes = self.device.size(id);
        self.device.read(id, 0, bytes).unwrap()
    }
}

fn at(name: &str) -> Arg {
    Arg::Buffer(name.to_owned())
}

fn int(value: u32) -> Arg {
    Arg::Scalar(value.to_le_bytes().to_vec())
}

fn long(value: u64) -> Arg {
    Arg::Scalar(value.to_le_bytes().to_vec())
}

fn real(value: f64) -> Arg {
    Arg::Scalar(value.to_le_bytes().to_vec())
}

fn recipes() -> Vec<Recipe> {
    vec![
        Recipe::Normal { mean: 0.25, std: 1.5 },
        Recipe::Uniform { lo: -3.0, hi: 2.0 },
        Recipe::Wide {
            lo_exp: -12,
            hi_exp: 12,
        },
        Recipe::Outliers {
            std: 1.0,
            every: 10,
            factor: 100.0,
        },
        Recipe::Ties { std: 1.0, step: 0.375 },
        Recipe::Constant { value: -1.75 },
        Recipe::Ramp {
            start: -20.0,
            step: 0.1,
        },
        Recipe::Integers { lo: -9, hi: 300 },
        Recipe::Permutation,
        Recipe::Offsets {
            total: "total".to_owned(),
        },
    ]
}

fn generated(recipe: &Recipe, dtype: DType, elements: u64) -> (GenerateSpec, Vec<u8>) {
    let spec = GenerateSpec {
        recipe: recipe.clone(),
        dtype,
        elements,
        seed: 11,
        tensor: 2,
        total: 100_000,
    };
    let mut bytes = vec![0; elements as usize * dtype.size()];
    generate::generate(&mut bytes, &spec).unwrap();
    (spec, bytes)
}

#[test]
fn the_shipped_ptx_rounds_every_operation() {
    // Without `.rn` the assembler may contract a multiplication and an addition into one rounding.
    let float = |line: &str| {
        ["add.f", "sub.f", "mul.f", "fma.", "mad.f"]
            .iter()
            .any(|name| line.trim().starts_with(name))
    };
    assert_eq!(PTX.lines().skip(1).find(|line| float(line)), None);
    assert!(PTX.contains("mul.rn.f64"));
}

#[test]
fn inputs_are_the_same() {
    const ELEMENTS: u64 = 600;
    let mut judge = Judge::new();
    for recipe in recipes() {
        for dtype in DType::ALL {
            let (spec, want) = generated(&recipe, dtype, ELEMENTS);
            let program = generate::program(&spec).unwrap();
            judge.buffer("out", &vec![0; want.len()]);
            let args = vec![
                at("out"),
                int(dtype as u32),
                int(program.code as u32),
                long(program.key),
                long(program.elements),
                real(program.a),
                real(program.b),
                long(program.m),
                long(program.n),
            ];
            judge.run("judge_generate", 2, args);
            assert!(judge.take("out") == want, "{recipe:?} as {dtype}");
        }
    }
}

#[test]
fn halves_are_the_same() {
    let mut judge = Judge::new();
    for dtype in DType::ALL {
        let (_, from) = generated(
            &Recipe::Wide {
                lo_exp: -20,
                hi_exp: 20,
            },
            dtype,
            300,
        );
        judge.buffer("from", &from);
        judge.buffer("to", &vec![0; from.len()]);
        judge.run(
            "judge_halve",
            2,
            vec![at("from"), at("to"), int(dtype as u32), long(300)],
        );
        let want: Vec<u8> = (0..300)
            .flat_map(|index| {
                element::half(dtype, element::at(dtype, &from, index)).to_le_bytes()[..dtype.size()].to_vec()
            })
            .collect();
        assert!(judge.take("to") == want, "{dtype}");
    }
}

#[test]
fn checksums_and_fills_are_the_same() {
    let mut judge = Judge::new();
    for bytes in [1, 8, 13, 1000, 5001] {
        let data: Vec<u8> = (0..bytes).map(|index| (index * 7) as u8).collect();
        judge.buffer("data", &data);
        judge.buffer("sum", &[0; 8]);
        judge.run("judge_checksum", 3, vec![at("data"), long(bytes), at("sum")]);
        let sum = element::at(DType::I64, &judge.take("sum"), 0);
        assert_eq!(element::checksum_end(sum, bytes), element::checksum(&data), "{bytes}");
        judge.run(
            "judge_fill",
            3,
            vec![at("data"), long(bytes), long(0x0807_0605_0403_0201)],
        );
        let want: Vec<u8> = (0..bytes).map(|index| (index % 8 + 1) as u8).collect();
        assert_eq!(judge.take("data"), want, "{bytes}");
    }
}

#[test]
fn guards_see_one_changed_byte() {
    let mut judge = Judge::new();
    judge.buffer("guard", &[0; 700]);
    let first = -300_i64 as u64;
    judge.run("judge_guard_fill", 2, vec![at("guard"), long(first), long(700)]);
    let check = |judge: &mut Judge| {
        judge.buffer("lowest", &i64::MAX.to_le_bytes());
        judge.run(
            "judge_guard_check",
            2,
            vec![at("guard"), long(first), long(700), at("lowest")],
        );
        element::at(DType::I64, &judge.take("lowest"), 0) as i64
    };
    assert_eq!(check(&mut judge), i64::MAX);
    let guard = judge.take("guard");
    let id = judge.buffers["guard"];
    for index in [650, 40] {
        judge.device.write(id, index, &[guard[index as usize] ^ 1]).unwrap();
        assert_eq!(check(&mut judge), index as i64 - 300);
    }
}

/// Everything that an output may hold: right values, small and large errors, NaN, infinities, poison, zeros.
fn spoilt(dtype: DType, want: &[u8], poison: u64) -> Vec<u8> {
    let mut got = want.to_vec();
    let size = dtype.size();
    for index in 0..want.len() / size {
        let right = dtype.decode(element::at(dtype, want, index));
        let bits = match index % 41 {
            3 => dtype.encode(right * 1.01),
            7 => dtype.encode(right + 3.0),
            11 => dtype.encode(f64::NAN),
            13 => dtype.encode(f64::INFINITY),
            17 => poison,
            19 => dtype.encode(0.0),
            23 => dtype.encode(-right),
            _ => continue,
        };
        got[index * size..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
    }
    got
}

#[test]
fn comparisons_are_the_same() {
    let close = Contract::Close {
        atol: 1e-3,
        rtol: 5e-2,
        allowed_share: 0.0,
        cap: 3.0,
        rel_l2: 1e-2,
    };
    let codes = Contract::Codes {
        max_distance: 1,
        allowed_share: 0.1,
    };
    let mut judge = Judge::new();
    for (index, dtype) in DType::ALL.into_iter().enumerate() {
        // More than one chunk, and not a whole one.
        let dims = if index % 3 == 0 { vec![3, 41, 173] } else { vec![97, 31] };
        let layout = Layout::new(&dims);
        let (_, want) = generated(&Recipe::Normal { mean: 0.0, std: 40.0 }, dtype, layout.elements);
        let poison = dtype.encode(-77.0);
        let got = spoilt(dtype, &want, poison);
        for contract in [close.clone(), Contract::Exact, codes.clone()] {
            let spec = CompareSpec {
                dtype,
                dims: dims.clone(),
                contract,
                poison,
            };
            let (rule, chunks) = (Rule::new(&spec.contract), layout.chunks());
            judge.buffer("got", &got);
            judge.buffer("want", &want);
            judge.buffer("parts", &vec![0; chunks as usize * size_of::<Part>()]);
            judge.buffer("counts", &[0; COUNTS * 8]);
            let args = vec![
                at("got"),
                at("want"),
                int(dtype as u32),
                long(poison),
                long(layout.elements),
                long(layout.rows),
                long(layout.cols),
                int(layout.map_rows as u32),
                int(layout.map_cols as u32),
                int(rule.code),
                real(rule.atol),
                real(rule.rtol),
                real(rule.cap),
                long(rule.max_distance),
                at("parts"),
                at("counts"),
            ];
            judge.run("judge_compare", chunks as u32, args);
            let part = compare::total(&bytemuck::pod_collect_to_vec::<u8, Part>(&judge.take("parts")));
            let counts = bytemuck::pod_collect_to_vec::<u8, u64>(&judge.take("counts"));
            let twin = compare::totals(&got, &want, &spec);
            assert_eq!(part, twin.part, "{dtype} {:?}", spec.contract);
            assert_eq!(counts, twin.counts, "{dtype} {:?}", spec.contract);
            assert!(part.mismatches > 0);
        }
    }
}
