//! Launch features, and launches that must be refused with the right verdict.

use super::{Bench, Check, Seen, Worded, buffer, expect, plain, scalar, timed, words};
use crate::device::{Bound, DType, Device, Image, element};
use crate::kernel::plan::{Arg, Launch, TensorMap};
use crate::verdict::{Class, Outcome};

pub(super) fn checks(bench: &mut Bench) -> Vec<Check> {
    vec![
        timed("arguments of every size", || arguments(bench)),
        timed("cluster of 4", || cluster(bench, 4)),
        timed("cluster of 16", || cluster(bench, 16)),
        timed("cooperative grid", || cooperative(bench)),
        timed("200 KB of dynamic shared memory", || shared(bench)),
        timed("tensor map by value", || tensor_map(bench)),
        timed("refusals", || refusals(bench)),
        timed("modules that do not load", || modules(bench)),
        timed("out of memory", || memory(bench)),
    ]
}

fn numbers(bench: &mut Bench, name: &str, count: u64) -> Result<Vec<u32>, String> {
    let id = bench.buffers.get(name).copied().ok_or("the buffer is missing")?;
    let bytes = bench.device.read(id, 0, count * 4).worded()?;
    Ok((0..count as usize)
        .map(|index| element::at(DType::U32, &bytes, index) as u32)
        .collect())
}

fn zeroed(bench: &mut Bench, name: &str, bytes: u64) -> Result<(), String> {
    let id = bench.buffer(name, bytes)?;
    bench.device.poison(id, DType::U8, 0, true).worded()
}

fn arguments(bench: &mut Bench) -> Seen {
    zeroed(bench, "out", 8)?;
    let args = vec![
        buffer("out"),
        scalar((-7_i32).to_le_bytes()),
        scalar(0.5_f32.to_le_bytes()),
        scalar((1_i64 << 40).to_le_bytes()),
        scalar(0.25_f64.to_le_bytes()),
        scalar(9_u32.to_le_bytes()),
    ];
    bench.launch(&plain("st_arguments", 1, 1, args)).worded()?;
    let bytes = bench.device.read(bench.buffers["out"], 0, 8).worded()?;
    let sum = DType::F64.decode(element::at(DType::F64, &bytes, 0));
    expect(sum == (1_i64 << 40) as f64 + 2.75, format!("sum {sum}"))
}

fn cluster(bench: &mut Bench, size: u32) -> Seen {
    zeroed(bench, "out", 256)?;
    let launch = Launch {
        cluster: Some([size, 1, 1]),
        ..plain("st_cluster", 64, 128, vec![buffer("out")])
    };
    bench.launch(&launch).worded()?;
    let seen = numbers(bench, "out", 64)?;
    let want: Vec<u32> = (0..64).map(|cta| (cta % size) | size << 16).collect();
    expect(seen == want, format!("first ranks and sizes: {:x?}", &seen[..6]))
}

fn cooperative(bench: &mut Bench) -> Seen {
    let sms = bench.device.limits.sm_count as u32;
    zeroed(bench, "counter", 4)?;
    zeroed(bench, "out", u64::from(sms) * 4)?;
    let launch = Launch {
        cooperative: true,
        ..plain("st_grid", sms, 1024, vec![buffer("counter"), buffer("out")])
    };
    bench.launch(&launch).worded()?;
    let seen = numbers(bench, "out", u64::from(sms))?;
    let too_large = Launch {
        grid: [sms * 2 + 1, 1, 1],
        ..launch
    };
    let refused = bench.launch(&too_large);
    let class = refused.as_ref().err().map(|verdict| verdict.class);
    expect(
        seen.iter().all(|count| *count == sms) && class == Some(Class::LaunchError),
        format!(
            "{sms} CTAs met; {} of them: {:?}",
            sms * 2 + 1,
            refused.err().map(|verdict| verdict.reason)
        ),
    )
}

fn shared(bench: &mut Bench) -> Seen {
    const WORDS: u32 = 50 * 1024;
    let bytes = u64::from(WORDS) * 4;
    let id = bench.buffer("in", bytes)?;
    let data: Vec<u8> = (0..WORDS).flat_map(|word| (word * 3).to_le_bytes()).collect();
    bench.device.write(id, 0, &data).worded()?;
    zeroed(bench, "out", bytes)?;
    let args = vec![buffer("in"), buffer("out"), scalar(WORDS.to_le_bytes())];
    let launch = Launch {
        shared: WORDS * 4,
        ..plain("st_shared", 1, 1024, args)
    };
    bench.launch(&launch).worded()?;
    let seen = numbers(bench, "out", u64::from(WORDS))?;
    let right = seen
        .iter()
        .rev()
        .enumerate()
        .all(|(index, word)| *word == index as u32 * 3);
    let refused = bench.launch(&Launch {
        shared: 256 * 1024,
        ..launch
    });
    let class = refused.as_ref().err().map(|verdict| verdict.class);
    expect(
        right && class == Some(Class::LaunchError),
        format!("reversed: {right}; 256 KiB: {class:?}"),
    )
}

fn tensor_map(bench: &mut Bench) -> Seen {
    const COLS: u64 = 100;
    const ROWS: u64 = 50;
    let id = bench.buffer("x", ROWS * COLS * 4)?;
    let data: Vec<u8> = (0..ROWS * COLS)
        .flat_map(|index| (index as f32).to_le_bytes())
        .collect();
    bench.device.write(id, 0, &data).worded()?;
    zeroed(bench, "out", 8 * 32 * 4)?;
    let map = |stride| TensorMap {
        buffer: "x".to_owned(),
        dtype: DType::F32,
        dims: vec![COLS, ROWS],
        strides: vec![stride],
        tile: vec![32, 8],
        swizzle: 0,
        interleave: 0,
        l2_promotion: 128,
        fill_nan: false,
    };
    // The tile sticks out on both sides: the rest is zero.
    let (x, y) = (80_i32, 45_i32);
    let args = |stride| {
        vec![
            Arg::TensorMap(map(stride)),
            buffer("out"),
            scalar(x.to_le_bytes()),
            scalar(y.to_le_bytes()),
        ]
    };
    bench.launch(&plain("st_tensor_map", 1, 128, args(COLS * 4))).worded()?;
    let seen = numbers(bench, "out", 8 * 32)?;
    let right = (0..8 * 32_u64).all(|index| {
        let (row, col) = (index / 32 + y as u64, index % 32 + x as u64);
        let want = if row < ROWS && col < COLS {
            (row * COLS + col) as f32
        } else {
            0.0
        };
        f32::from_bits(seen[index as usize]) == want
    });
    let refused = bench.launch(&plain("st_tensor_map", 1, 128, args(COLS * 4 + 4)));
    let class = refused.as_ref().err().map(|verdict| verdict.class);
    expect(
        right && class == Some(Class::InvalidKernel),
        format!("tile right: {right}; a stride of 404 bytes: {class:?}"),
    )
}

fn class_of<T>(outcome: &Outcome<T>) -> Option<Class> {
    outcome.as_ref().err().map(|verdict| verdict.class)
}

fn refusals(bench: &mut Bench) -> Seen {
    zeroed(bench, "out", 64)?;
    let arguments = |args| plain("st_arguments", 1, 1, args);
    let cases = [
        (
            "too few arguments",
            arguments(vec![buffer("out")]),
            Class::InvalidKernel,
        ),
        (
            "a short argument",
            plain("st_poke", 1, 1, vec![buffer("out"), scalar([0; 4])]),
            Class::InvalidKernel,
        ),
        (
            "an unknown buffer",
            plain("st_cluster", 1, 1, vec![buffer("nowhere")]),
            Class::InvalidKernel,
        ),
        (
            "an unknown kernel",
            plain("st_nothing", 1, 1, Vec::new()),
            Class::InvalidKernel,
        ),
        (
            "2048 threads",
            plain("st_cluster", 1, 2048, vec![buffer("out")]),
            Class::LaunchError,
        ),
        (
            "an empty grid",
            plain("st_cluster", 0, 32, vec![buffer("out")]),
            Class::LaunchError,
        ),
        (
            "a grid that is no multiple of the cluster",
            Launch {
                cluster: Some([4, 1, 1]),
                ..plain("st_cluster", 6, 32, vec![buffer("out")])
            },
            Class::LaunchError,
        ),
    ];
    let mut reasons = Vec::new();
    for (what, launch, wanted) in cases {
        match bench.launch(&launch) {
            Err(verdict) if verdict.class == wanted => reasons.push(verdict.reason),
            other => {
                return Err(format!(
                    "{what}: wanted {wanted}, got {:?}",
                    other.map_err(|verdict| words(&verdict))
                ));
            }
        }
    }
    expect(bench.device.is_usable(), reasons.join(" | "))
}

fn modules(bench: &mut Bench) -> Seen {
    let mut load = |ptx: &str| {
        bench.device.load(&Image {
            ptx: ptx.into(),
            cubin: None,
        })
    };
    let syntax = load(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n    nonsense.u32 %r1, 3;\n    ret;\n}\n",
    );
    let future = load(".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n");
    let feature = load(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n    wgmma.fence.sync.aligned;\n    ret;\n}\n",
    );
    let garbage = bench.device.load(&Image {
        ptx: ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n".into(),
        cubin: Some(vec![1, 2, 3, 4].into()),
    });
    let texts: Vec<String> = [&syntax, &future, &feature]
        .iter()
        .map(|outcome| {
            outcome
                .as_ref()
                .err()
                .map_or_else(|| "loaded".to_owned(), |verdict| words(verdict))
        })
        .collect();
    let launched = garbage.and_then(|module| {
        let launch = plain("k", 1, 1, Vec::new());
        bench.device.launch(&Bound {
            module,
            launch: &launch,
            buffers: &bench.buffers,
        })
    });
    expect(
        class_of(&syntax) == Some(Class::CompileError)
            && class_of(&future).is_some()
            && class_of(&feature).is_some()
            && launched.is_ok(),
        format!(
            "{}; PTX beside a useless cubin: {:?}",
            texts.join(" | "),
            launched.map_err(|verdict| words(&verdict))
        ),
    )
}

fn memory(bench: &mut Bench) -> Seen {
    let before = bench.device.free_memory().worded()?;
    let refused = bench.device.alloc("huge", 1 << 42);
    let id = bench.device.alloc("most", before / 2).worded()?;
    let during = bench.device.free_memory().worded()?;
    bench.device.free(id);
    let after = bench.device.free_memory().worded()?;
    expect(
        class_of(&refused) == Some(Class::OutOfMemory)
            && during < before / 2 + (64 << 20)
            && after + (64 << 20) > before,
        format!(
            "free {before}, with half of it taken {during}, after {after}; {:?}",
            refused.err().map(|verdict| verdict.reason)
        ),
    )
}
