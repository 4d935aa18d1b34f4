//! The judge's kernels on the GPU against their Rust twins: the same bits for every recipe and dtype, also beyond 2^31 elements.

use super::{Bench, Check, Seen, Worded, buffer, expect, plain, scalar, timed};
use crate::device::compare::{self, Layout};
use crate::device::generate::{self, Program};
use crate::device::{BufferId, CompareSpec, DType, Device, GenerateSpec, element, evidence};
use crate::problem::{Contract, Recipe};

/// Elements of the small tensors: several chunks of the comparison, and not a whole number of anything.
const SMALL: u64 = 100_003;
/// Elements of the large ones: past 2^31, and past 2^32 bytes for two-byte elements.
const LARGE: u64 = (1 << 31) + 70_001;
/// Elements read back from a large tensor at each place.
const WINDOW: u64 = 1 << 16;

pub(super) fn checks(bench: &mut Bench) -> Vec<Check> {
    let mut checks = Vec::new();
    for recipe in recipes() {
        let name = format!("generate {}", label(&recipe));
        checks.push(timed(&name, || generated(bench, &recipe)));
    }
    checks.push(timed("halve", || halved(bench)));
    checks.push(timed("poison, checksum", || filled(bench)));
    checks.push(timed("guards", || guards(bench)));
    for contract in contracts() {
        let name = format!("compare {contract:?}");
        checks.push(timed(&name, || compared(bench, &contract)));
    }
    checks.push(timed("read, write, copy", || moved(bench)));
    for dtype in [DType::U8, DType::Bf16] {
        checks.push(timed(&format!("generate {LARGE} of {dtype}"), || {
            large_generated(bench, dtype)
        }));
        checks.push(timed(&format!("compare {LARGE} of {dtype}"), || {
            large_compared(bench, dtype)
        }));
        bench.drop_buffers();
    }
    checks
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

fn label(recipe: &Recipe) -> String {
    let text = format!("{recipe:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_lowercase()
}

fn contracts() -> [Contract; 3] {
    [
        Contract::Close {
            atol: 1e-3,
            rtol: 5e-2,
            allowed_share: 0.0,
            cap: 3.0,
            rel_l2: 1e-2,
        },
        Contract::Exact,
        Contract::Codes {
            max_distance: 1,
            allowed_share: 0.1,
        },
    ]
}

fn spec(recipe: &Recipe, dtype: DType, elements: u64) -> GenerateSpec {
    GenerateSpec {
        recipe: recipe.clone(),
        dtype,
        elements,
        seed: 11,
        tensor: 2,
        total: 1_000_000,
    }
}

fn twin(recipe: &Recipe, dtype: DType, elements: u64) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; elements as usize * dtype.size()];
    generate::generate(&mut bytes, &spec(recipe, dtype, elements))?;
    Ok(bytes)
}

/// The first element at which two byte strings differ.
fn difference(dtype: DType, got: &[u8], want: &[u8]) -> Option<String> {
    let index = got.iter().zip(want).position(|(got, want)| got != want)? / dtype.size();
    let (got, want) = (element::at(dtype, got, index), element::at(dtype, want, index));
    Some(format!("element {index} is {got:#x} and should be {want:#x}"))
}

fn same(dtype: DType, got: &[u8], want: &[u8]) -> Result<(), String> {
    match difference(dtype, got, want) {
        Some(difference) => Err(format!("{dtype}: {difference}")),
        None if got.len() == want.len() => Ok(()),
        None => Err(format!("{dtype}: {} bytes instead of {}", got.len(), want.len())),
    }
}

fn all(bench: &mut Bench, id: BufferId) -> Result<Vec<u8>, String> {
    let bytes = bench.device.size(id);
    bench.device.read(id, 0, bytes).worded()
}

fn generated(bench: &mut Bench, recipe: &Recipe) -> Seen {
    for dtype in DType::ALL {
        let want = twin(recipe, dtype, SMALL)?;
        let id = bench.buffer("x", want.len() as u64)?;
        bench.device.generate(id, &spec(recipe, dtype, SMALL)).worded()?;
        same(dtype, &all(bench, id)?, &want)?;
    }
    Ok(format!(
        "{SMALL} elements, {} dtypes: the twin's bits",
        DType::ALL.len()
    ))
}

fn halved(bench: &mut Bench) -> Seen {
    for dtype in DType::ALL {
        let from = twin(
            &Recipe::Wide {
                lo_exp: -20,
                hi_exp: 20,
            },
            dtype,
            SMALL,
        )?;
        let mut want = vec![0; from.len()];
        element::fill(dtype, &mut want, |index| {
            element::half(dtype, element::at(dtype, &from, index as usize))
        });
        let source = bench.buffer("x", from.len() as u64)?;
        let target = bench.buffer("y", from.len() as u64)?;
        bench.device.write(source, 0, &from).worded()?;
        bench.device.halve(source, target, dtype).worded()?;
        same(dtype, &all(bench, target)?, &want)?;
    }
    Ok("the twin's bits".to_owned())
}

fn filled(bench: &mut Bench) -> Seen {
    for (dtype, bits) in [
        (DType::F64, 0x7ff4_dead_beef_0123),
        (DType::F32, 0x7fa0_dead),
        (DType::Bf16, 0x7fa5),
        (DType::U8, 0xa7),
    ] {
        for elements in [1, 5, 1000, SMALL] {
            let id = bench.buffer("x", elements * dtype.size() as u64)?;
            bench.device.poison(id, dtype, bits, false).worded()?;
            let got = all(bench, id)?;
            let mut want = vec![0; got.len()];
            element::fill(dtype, &mut want, |_| bits);
            same(dtype, &got, &want)?;
            let sum = bench.device.checksum(id).worded()?;
            if sum != element::checksum(&got) {
                return Err(format!(
                    "checksum of {} bytes: {sum:#x} instead of {:#x}",
                    got.len(),
                    element::checksum(&got)
                ));
            }
        }
    }
    let data = twin(&Recipe::Normal { mean: 0.0, std: 1.0 }, DType::F32, SMALL)?;
    let id = bench.buffer("x", data.len() as u64)?;
    bench.device.write(id, 0, &data).worded()?;
    let sum = bench.device.checksum(id).worded()?;
    expect(sum == element::checksum(&data), format!("checksum {sum:#x}"))
}

fn guards(bench: &mut Bench) -> Seen {
    let size = 1001_i64;
    for at in [
        None,
        Some(size),
        Some(size + 3000),
        Some(-1),
        Some(-65_536),
        Some(size - 1),
    ] {
        let id = bench.buffer("x", size as u64)?;
        bench.device.poison(id, DType::U8, 0, true).worded()?;
        if let Some(at) = at {
            bench
                .launch(&plain("st_poke", 1, 1, vec![buffer("x"), scalar(at.to_le_bytes())]))
                .worded()?;
        }
        let seen = bench.device.guards(id).worded()?;
        let want = at.filter(|at| *at < 0 || *at >= size);
        if seen != want {
            return Err(format!("a byte changed at {at:?}: guards say {seen:?}"));
        }
    }
    Ok("intact, before, after, and inside".to_owned())
}

/// Right values, small and large errors, NaN, infinities, poison, zeros, signs.
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

fn compared(bench: &mut Bench, contract: &Contract) -> Seen {
    for dtype in DType::ALL {
        for dims in [vec![SMALL], vec![7, 333, 43]] {
            let elements = Layout::new(&dims).elements;
            let want = twin(&Recipe::Normal { mean: 0.0, std: 40.0 }, dtype, elements)?;
            let poison = dtype.encode(-77.0);
            let got = spoilt(dtype, &want, poison);
            let (a, b) = (
                bench.buffer("x", got.len() as u64)?,
                bench.buffer("y", want.len() as u64)?,
            );
            bench.device.write(a, 0, &got).worded()?;
            bench.device.write(b, 0, &want).worded()?;
            let spec = CompareSpec {
                dtype,
                dims,
                contract: contract.clone(),
                poison,
            };
            let (totals, twin) = (
                bench.device.compare_totals(a, b, &spec).worded()?,
                compare::totals(&got, &want, &spec),
            );
            if totals != twin {
                return Err(format!(
                    "{dtype} {:?}: {:?} instead of {:?}",
                    spec.dims, totals.part, twin.part
                ));
            }
            let evidence = bench.device.compare(a, b, &spec).worded()?;
            // As text: a NaN among the numbers is equal to no other.
            if format!("{evidence:?}") != format!("{:?}", evidence::compare(&got, &want, &spec).worded()?) {
                return Err(format!(
                    "{dtype} {:?}: other words for the same numbers: {evidence:?}",
                    spec.dims
                ));
            }
        }
    }
    Ok(format!("{} dtypes: the twin's bits", DType::ALL.len()))
}

fn moved(bench: &mut Bench) -> Seen {
    let (a, b) = (bench.buffer("x", 4099)?, bench.buffer("y", 4099)?);
    let data: Vec<u8> = (0..4099_u32).map(|index| (index * 31) as u8).collect();
    bench.device.write(a, 0, &data).worded()?;
    bench.device.copy(a, b).worded()?;
    bench.device.write(b, 4097, &[1, 2]).worded()?;
    let tail = bench.device.read(b, 4095, 4).worded()?;
    let outside = bench.device.read(b, 4098, 2).is_err();
    expect(
        tail == [data[4095], data[4096], 1, 2] && outside,
        format!("{tail:?}, outside refused: {outside}"),
    )
}

/// The places in a large tensor that are looked at: both ends, and around every power of two that could wrap.
fn windows(dtype: DType) -> Vec<u64> {
    let wraps = [
        1_u64 << 31,
        (1 << 32) / dtype.size() as u64,
        (1 << 31) / dtype.size() as u64,
    ];
    let inner = wraps
        .into_iter()
        .filter(|at| *at + WINDOW < LARGE)
        .map(|at| at - WINDOW / 2);
    [0, LARGE - WINDOW].into_iter().chain(inner).collect()
}

fn large_generated(bench: &mut Bench, dtype: DType) -> Seen {
    let size = dtype.size() as u64;
    let spec = spec(&Recipe::Normal { mean: 0.0, std: 30.0 }, dtype, LARGE);
    let program: Program = generate::program(&spec)?;
    let id = bench.buffer("x", LARGE * size)?;
    bench.device.generate(id, &spec).worded()?;
    for first in windows(dtype) {
        let got = bench.device.read(id, first * size, WINDOW * size).worded()?;
        let mut want = vec![0; got.len()];
        element::fill(dtype, &mut want, |index| program.element(dtype, first + index));
        same(dtype, &got, &want).map_err(|error| format!("from {first}: {error}"))?;
    }
    Ok(format!(
        "{} windows of {WINDOW} elements: the twin's bits",
        windows(dtype).len()
    ))
}

fn large_compared(bench: &mut Bench, dtype: DType) -> Seen {
    let size = dtype.size() as u64;
    let (a, b) = (
        bench.buffers.get("x").copied().ok_or("the tensor is missing")?,
        bench.buffer("y", LARGE * size)?,
    );
    bench.device.copy(a, b).worded()?;
    let poison = dtype.encode(-77.0);
    let spec = CompareSpec {
        dtype,
        dims: vec![LARGE],
        contract: Contract::Exact,
        poison,
    };
    let equal = bench.device.compare(a, b, &spec).worded()?;
    if equal.mismatches != 0 || bench.device.checksum(a).worded()? != bench.device.checksum(b).worded()? {
        return Err(format!("a copy differs: {equal:?}"));
    }
    for at in [LARGE - 1, 1 << 31, 12_345] {
        let old = bench.device.read(a, at * size, size).worded()?;
        let new: Vec<u8> = old.iter().map(|byte| byte ^ 1).collect();
        bench.device.write(a, at * size, &new).worded()?;
        let one = bench.device.compare(a, b, &spec).worded()?;
        let first = one.first.as_ref().map(|element| element.index.clone());
        if one.mismatches != 1 || first != Some(vec![at]) {
            return Err(format!("one element differs at {at}: {one:?}"));
        }
        bench.device.write(a, at * size, &old).worded()?;
    }
    let guards = (bench.device.guards(a).worded()?, bench.device.guards(b).worded()?);
    expect(
        guards == (None, None),
        format!("single differences found; guards {guards:?}"),
    )
}
