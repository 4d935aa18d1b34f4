//! Fixture operators, reports and histories: invented, fixed, and independent of the problems that ship.

use std::collections::BTreeMap;
use std::sync::Arc;

use ridgepoint::device::{Counters, DeviceInfo, DeviceKind};
use ridgepoint::dtype::DType;
use ridgepoint::expr::Expr;
use ridgepoint::kernel::Language;
use ridgepoint::measure::report::{
    CacheState, CompileReport, DeviceReport, KernelReport, Resources, RooflineReport, RunReport, SCHEMA, ShapeReport,
    TimingKind, TimingReport, VerifyReport,
};
use ridgepoint::problem::per_shape::Field;
use ridgepoint::problem::{Cost, Operator, Param, Path, PerShape, Role, Source, Tensor, TensorType};
use ridgepoint::shape::{Params, Scalar, Shape};
use ridgepoint::tui::model::{CatalogueData, Iteration};
use ridgepoint::verdict::{Class, ElementEvidence, Evidence, Location, OutputEvidence, Severity};

pub(crate) const STARTER: &str = r#"/*---ridgepoint
operator = "rms_norm"
[tune]
BLOCK = [256, 128, 512]      # first = default
[[launch]]
kernel = "rms_norm"
grid = ["token_count"]
block = ["BLOCK"]
args = ["x", "weight", "out", "i32:hidden_size", "f32:eps"]
---*/
#include <cuda_bf16.h>

// One row per block; each thread strides over it.
extern "C" __global__ void rms_norm(const __nv_bfloat16* __restrict__ x,
                                    const __nv_bfloat16* __restrict__ weight,
                                    __nv_bfloat16* __restrict__ out, int hidden_size, float eps) {
    size_t start = (size_t)blockIdx.x * hidden_size;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        float value = __bfloat162float(x[start + i]);
        squares += value * value;
    }

    __shared__ float partial[BLOCK];
    partial[threadIdx.x] = squares;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }

    float scale = rsqrtf(partial[0] / hidden_size + eps);
    for (int i = threadIdx.x; i < hidden_size; i += BLOCK) {
        out[start + i] = __float2bfloat16(__bfloat162float(x[start + i]) * scale);
    }
}
"#;

/// The same with the weight applied.
pub(crate) fn fixed() -> String {
    STARTER.replace("* scale);", "* scale * __bfloat162float(weight[i]));")
}

fn expr(text: &str) -> Expr {
    Expr::parse(text).expect("a fixture's expression")
}

fn params(values: &[(&str, i64)]) -> Params {
    Params(
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Scalar::Int(*value)))
            .collect(),
    )
}

fn tensor(name: &str, role: Role, dims: &[&str]) -> Tensor {
    let numbers = [
        ("atol", "1e-3"),
        ("rtol", "0.016"),
        ("allowed_share", "0"),
        ("cap", "4"),
        ("rel_l2", "0.005"),
    ];
    let fields = numbers
        .map(|(name, value)| (name.to_owned(), Field::Number(expr(value))))
        .to_vec();
    let mut contracts = BTreeMap::new();
    if role == Role::Out {
        contracts.insert(
            "published".to_owned(),
            PerShape::new(("rule", "close".to_owned()), fields),
        );
    }
    Tensor {
        name: name.to_owned(),
        dtype: TensorType::Fixed(DType::Bf16),
        dims: dims.iter().map(|dim| expr(dim)).collect(),
        role,
        recipes: BTreeMap::new(),
        contracts,
    }
}

fn source(name: &str, text: &str) -> Source {
    Source {
        name: name.to_owned(),
        text: text.into(),
        path: None,
        ptx: None,
    }
}

fn operator(name: &str, id: &str, weight: f64, sizes: &[(i64, i64)]) -> Operator {
    let shape = |(index, (tokens, hidden)): (usize, &(i64, i64))| Shape {
        // The shape that was recorded on real hardware keeps its id in the suite.
        id: if *tokens == 24752 && *hidden == 1280 {
            "29".to_owned()
        } else {
            index.to_string()
        },
        params: params(&[("token_count", *tokens), ("hidden_size", *hidden)]),
    };
    Operator {
        name: name.to_owned(),
        suite: "atrex".to_owned(),
        id: id.to_owned(),
        weight,
        dtype: "bf16".to_owned(),
        phase: "prefill and decode".to_owned(),
        maths: "Each row is divided by its root mean square and scaled by a weight:\nout[t,i] = x[t,i] / sqrt(mean over j of x[t,j]^2 + eps) * weight[i]".to_owned(),
        notes: Vec::new(),
        params: ["token_count", "hidden_size"].map(|name| Param { name: name.to_owned(), meaning: String::new() }).to_vec(),
        constants: Params(vec![("eps".to_owned(), Scalar::Float(1e-6))]),
        derived: Vec::new(),
        tensors: vec![
            tensor("x", Role::In, &["token_count", "hidden_size"]),
            tensor("weight", Role::In, &["hidden_size"]),
            tensor("out", Role::Out, &["token_count", "hidden_size"]),
        ],
        cost: Cost {
            flops: vec![(Path::Fp32, expr("4 * token_count * hidden_size"))],
            bytes_read: expr("2 * token_count * hidden_size + 2 * hidden_size"),
            bytes_written: expr("2 * token_count * hidden_size"),
        },
        shapes: sizes.iter().enumerate().map(shape).collect(),
        twins: [("small-rows", 37, 256), ("small-tail", 5, 320)]
            .iter()
            .map(|(id, tokens, hidden)| Shape {
                id: (*id).to_owned(),
                params: params(&[("token_count", *tokens), ("hidden_size", *hidden)]),
            })
            .collect(),
        reference: Some(source("reference.cu", "")),
        kernels: vec![source("kernels/starter.cu", STARTER), source("kernels/vec8.cu", &fixed())],
    }
}

pub(crate) fn catalogue() -> Arc<CatalogueData> {
    let mut gemm = operator(
        "scaled_mm",
        "atrex_011",
        0.214,
        &[(4096, 4096), (8192, 2048), (512, 7168)],
    );
    gemm.cost.flops = vec![(Path::Bf16, expr("2 * token_count * hidden_size * hidden_size"))];
    gemm.cost.bytes_read = expr("2 * token_count * hidden_size + 2 * hidden_size * hidden_size");
    let mut attention = operator(
        "unified_attention",
        "atrex_030",
        0.361,
        &[(4096, 128), (1, 128), (16384, 128)],
    );
    attention.reference = None;
    Arc::new(CatalogueData {
        operators: [
            attention,
            gemm,
            operator(
                "rms_norm",
                "atrex_027",
                0.0251,
                &[(1, 1280), (64, 1280), (1024, 5120), (24752, 1280), (4096, 7168)],
            ),
            operator("silu_and_mul", "atrex_028", 0.0184, &[(64, 5120), (4096, 5120)]),
            operator("layer_norm", "atrex_015", 0.0072, &[(64, 1024), (4096, 1024)]),
        ]
        .into_iter()
        .map(Arc::new)
        .collect(),
        broken: Vec::new(),
    })
}

pub(crate) fn gpu() -> DeviceInfo {
    DeviceInfo {
        id: "cuda:0".to_owned(),
        name: "a made-up GPU".to_owned(),
        kind: DeviceKind::Cuda,
        profile: "h200".to_owned(),
        properties: Vec::new(),
        memory_bytes: 141 << 30,
        details: vec![
            ("driver".to_owned(), "580.82".to_owned()),
            ("sm clock".to_owned(), "1980 MHz".to_owned()),
        ],
    }
}

pub(crate) fn emulator() -> DeviceInfo {
    DeviceInfo {
        id: "emulator:h200".to_owned(),
        name: "PTX emulator (as H200)".to_owned(),
        kind: DeviceKind::Emulator,
        details: Vec::new(),
        ..gpu()
    }
}

fn output(mismatches: u64) -> OutputEvidence {
    OutputEvidence {
        output: "out".to_owned(),
        dtype: "bf16".to_owned(),
        dims: vec![37, 256],
        seed: 1,
        distribution: "published".to_owned(),
        elements: 9472,
        mismatches,
        max_abs: 0.0039,
        max_rel: 0.0078,
        rms: 0.0002,
        rel_l2: 0.0011,
        max_ulp: 1,
        ..OutputEvidence::default()
    }
}

/// A shape that passed on the emulator.
pub(crate) fn passed(id: &str, tokens: i64, hidden: i64) -> ShapeReport {
    ShapeReport {
        id: id.to_owned(),
        params: params(&[("token_count", tokens), ("hidden_size", hidden)]),
        status: Class::Passed,
        reason: String::new(),
        evidence: Vec::new(),
        next: Vec::new(),
        compile_ms: 48.2,
        verify: Some(VerifyReport {
            seeds: 2,
            distributions: vec!["published".to_owned(), "wide".to_owned()],
            repeats: 2,
            checked_after_timing: false,
            outputs: vec![output(0)],
            skipped: Vec::new(),
        }),
        timing: None,
        roofline: Some(RooflineReport {
            t_sol_us: 0.00803,
            bound: "memory".to_owned(),
            intensity: 0.987,
            flops: 37888.0,
            bytes: 38400.0,
            fraction: None,
        }),
        counters: Some(counters()),
    }
}

fn counters() -> Counters {
    Counters {
        warp_instructions: [
            ("float", 3_108),
            ("integer", 9_842),
            ("memory", 2_516),
            ("control", 2_183),
            ("barrier", 333),
        ]
        .into_iter()
        .map(|(class, count)| (class.to_owned(), count))
        .collect(),
        lane_instructions: 561_400,
        divergent_branches: 185,
        flops: [("fp32".to_owned(), 38_700)].into_iter().collect(),
        global_read_bytes: 56_832,
        global_write_bytes: 18_944,
        global_sectors: 2_368,
        shared_read_bytes: 37_000,
        shared_write_bytes: 37_888,
        atomics: 0,
        barriers: 333,
        ctas: 37,
        warps: 296,
    }
}

/// A shape measured on the GPU: so many microseconds against a roof of 26.4.
pub(crate) fn measured(median_us: f64) -> ShapeReport {
    const T_SOL_US: f64 = 26.4;
    let all_us: Vec<f64> = (0..212_u32)
        .map(|index| median_us * (0.994 + 0.000_06 * f64::from(index * index % 211)))
        .collect();
    ShapeReport {
        timing: Some(TimingReport {
            median_us,
            min_us: median_us * 0.994,
            samples: 212,
            ci95_us: [median_us * 0.998, median_us * 1.002],
            kind: TimingKind::Measured,
            cache: CacheState::Cold,
            throttled_samples: 0,
            launch_floor_us: Some(2.1),
            sm_mhz: Some(1980),
            all_us,
        }),
        roofline: Some(RooflineReport {
            t_sol_us: T_SOL_US,
            bound: "memory".to_owned(),
            intensity: 1.0,
            flops: 126.7e6,
            bytes: 126.7e6,
            fraction: Some(T_SOL_US / median_us),
        }),
        counters: None,
        ..passed("29", 24752, 1280)
    }
}

/// A shape whose last rows were never written.
pub(crate) fn wrong() -> ShapeReport {
    let mut map = vec![vec![0.0_f32; 24]; 8];
    map[7] = vec![1.0; 24];
    map[6] = vec![0.3; 24];
    let evidence = OutputEvidence {
        mismatches: 1_340,
        max_abs: 1.031,
        max_rel: 1.0,
        rel_l2: 0.376,
        max_ulp: 16_260,
        unwritten: 1_280,
        first: Some(ElementEvidence {
            index: vec![32, 0],
            expected: 1.031,
            got: 0.0,
        }),
        worst: Some(ElementEvidence {
            index: vec![35, 77],
            expected: -3.72,
            got: 0.0,
        }),
        map,
        pattern: Some("only rows >= 32: the last partial tile".to_owned()),
        ..output(1_340)
    };
    ShapeReport {
        status: Class::WrongNumbers,
        reason: "14.1 % of `out` differs from the reference by more than the contract allows".to_owned(),
        evidence: vec![Evidence::Output(Box::new(evidence))],
        next: vec![
            "guard the tail: the grid covers token_count / 32 and rounds down".to_owned(),
            "run it on small-tail, which has one partial tile only".to_owned(),
        ],
        counters: None,
        ..passed("small-rows", 37, 256)
    }
}

/// A shape that wrote past the end of a buffer.
pub(crate) fn fault() -> ShapeReport {
    ShapeReport {
        status: Class::MemoryFault,
        reason: "a write of 2 bytes went past the end of `out`".to_owned(),
        evidence: vec![Evidence::Access {
            access: "write of 2 bytes".to_owned(),
            space: "global".to_owned(),
            buffer: Some("out".to_owned()),
            offset: Some(18_944),
            size: Some(18_944),
            thread: Some([0, 0, 0]),
            cta: Some([37, 0, 0]),
            at: Some(Location {
                file: String::new(),
                line: 34,
                column: Some(9),
            }),
            ptx_line: Some(127),
        }],
        next: vec!["compare blockIdx.x with token_count before writing".to_owned()],
        verify: None,
        counters: None,
        ..passed("small-rows", 37, 256)
    }
}

/// A run of these shapes.
pub(crate) fn run(shapes: Vec<ShapeReport>, device: &DeviceInfo) -> RunReport {
    let worst = shapes.iter().find(|shape| shape.status != Class::Passed);
    RunReport {
        schema: SCHEMA,
        operator: Some("rms_norm".to_owned()),
        kernel: KernelReport {
            path: "rms_norm/starter.cu".to_owned(),
            language: Some(Language::Cuda),
            sha256: "0".repeat(64),
            defines: vec![("BLOCK".to_owned(), 256)],
            compile: Some(CompileReport {
                compiler: "nvrtc 13.0.88".to_owned(),
                arch: "compute_90".to_owned(),
                milliseconds: 48.2,
                cached: false,
                resources: vec![Resources {
                    kernel: "rms_norm".to_owned(),
                    registers: 24,
                    shared_bytes: 1024,
                    ..Resources::default()
                }],
            }),
        },
        device: DeviceReport {
            name: device.name.clone(),
            kind: "cuda".to_owned(),
            profile: "h200".to_owned(),
            details: Vec::new(),
        },
        status: worst.map_or(Class::Passed, |shape| shape.status),
        reason: worst.map_or(String::new(), |shape| shape.reason.clone()),
        evidence: Vec::new(),
        next: Vec::new(),
        shapes,
        started_unix_s: 1_796_000_000.0,
        wall_ms: 812.0,
    }
}

/// A run that did not compile.
pub(crate) fn compile_error(device: &DeviceInfo) -> RunReport {
    RunReport {
        status: Class::CompileError,
        reason: "1 error in rms_norm/starter.cu".to_owned(),
        evidence: vec![Evidence::Diagnostic {
            severity: Severity::Error,
            message: "identifier \"sqares\" is undefined".to_owned(),
            at: Some(Location {
                file: "rms_norm/starter.cu".to_owned(),
                line: 21,
                column: Some(9),
            }),
        }],
        next: vec!["line 18 declares `squares`".to_owned()],
        ..run(Vec::new(), device)
    }
}

fn iteration(version: u32, device: &DeviceInfo, shape: ShapeReport, note: &str) -> Arc<Iteration> {
    let text = if version.is_multiple_of(2) {
        fixed()
    } else {
        STARTER.to_owned()
    };
    Arc::new(Iteration {
        version,
        unix_s: 1_796_000_000.0 + f64::from(version) * 60.0,
        author: "ada".to_owned(),
        note: note.to_owned(),
        kernel: "starter.cu".to_owned(),
        language: Language::Cuda,
        source: text.into(),
        device: device.id.clone(),
        status: shape.status,
        reason: shape.reason.clone(),
        shapes: vec![shape],
    })
}

/// Fourteen versions on the GPU, one of them wrong.
pub(crate) fn gpu_history() -> Vec<Arc<Iteration>> {
    let times = [
        90.9, 90.4, 71.2, 64.0, 63.8, 52.1, 47.7, 47.9, 41.0, 38.4, 33.0, 0.0, 33.1, 30.9,
    ];
    times
        .iter()
        .zip(1..)
        .map(|(&time, version)| {
            let shape = if time > 0.0 {
                measured(time)
            } else {
                ShapeReport {
                    id: "29".to_owned(),
                    ..wrong()
                }
            };
            let note = if version == 11 { "16-byte loads" } else { "" };
            iteration(version, &gpu(), shape, note)
        })
        .collect()
}

/// Versions that only the emulator ran.
pub(crate) fn emulator_history() -> Vec<Arc<Iteration>> {
    [
        fault(),
        wrong(),
        passed("small-rows", 37, 256),
        wrong(),
        passed("small-rows", 37, 256),
    ]
    .into_iter()
    .zip(1..)
    .map(|(shape, version)| iteration(version, &emulator(), shape, ""))
    .collect()
}
