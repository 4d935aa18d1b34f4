//! What a whole golden should give where lanes or threads act on each other.

type Named = Vec<(&'static str, Vec<u64>)>;

/// Every output, in order, with its name; `None` for goldens whose threads are independent.
pub(super) fn outputs(golden: &str, inputs: &[Vec<u64>]) -> Option<Named> {
    match golden {
        "warp" => Some(warps(&inputs[0], &inputs[1])),
        "atomics" => Some(atomics(&inputs[0])),
        "matrices" => Some(matrices(inputs)),
        _ => None,
    }
}

/// The shuffle of one lane, from the definitions of the PTX manual for a full warp or segments of 8 lanes.
fn shuffle(mode: &str, segments: bool, values: &[u64], lane: usize, by: usize) -> u64 {
    let size = if segments { 8 } else { 32 };
    let first = lane / size * size;
    let last = first + size - 1;
    let (from, inside) = match mode {
        "up" => (lane as i64 - by as i64, lane >= first + by),
        "down" => ((lane + by) as i64, lane + by <= last),
        "bfly" => ((lane ^ by) as i64, lane ^ by <= last),
        _ => ((first + by % size) as i64, true),
    };
    let value = values[if inside { from as usize } else { lane }];
    value ^ if inside { 0x8000_0000 } else { 0 }
}

fn warps(a: &[u64], b: &[u64]) -> Named {
    let lanes = |f: &dyn Fn(&[u64], &[u64], usize, usize) -> u64| -> Vec<u64> {
        (0..a.len())
            .map(|i| {
                let start = i / 32 * 32;
                f(&a[start..start + 32], &b[start..start + 32], i % 32, i)
            })
            .collect()
    };
    let ballot = |a: &[u64]| (0..32).fold(0, |set, i| set | (a[i] >> 31) << i);
    let same = |b: &[u64], lane: usize| (0..32).fold(0, |set, i| set | u64::from(b[i] & 3 == b[lane] & 3) << i);
    let fold = |f: fn(u32, u32) -> u32| {
        lanes(&move |a, _, _, _| u64::from(a.iter().map(|x| *x as u32).reduce(f).unwrap_or(0)))
    };
    let mut all: Named = Vec::new();
    let names = [
        ("shfl_up", "shfl_up_segments"),
        ("shfl_down", "shfl_down_segments"),
        ("shfl_bfly", "shfl_bfly_segments"),
        ("shfl_idx", "shfl_idx_segments"),
    ];
    for (whole, segments) in names {
        let mode = &whole[5..];
        all.push((
            whole,
            lanes(&|a, b, lane, _| shuffle(mode, false, a, lane, b[lane] as usize)),
        ));
        all.push((
            segments,
            lanes(&|a, b, lane, _| shuffle(mode, true, a, lane, b[lane] as usize)),
        ));
    }
    all.push(("ballot", lanes(&|a, _, _, _| ballot(a))));
    all.push(("all", lanes(&|a, _, _, _| u64::from(ballot(a) == 0xffff_ffff))));
    all.push(("any", lanes(&|a, _, _, _| u64::from(ballot(a) != 0xffff_ffff))));
    all.push((
        "uni",
        lanes(&|a, _, _, _| u64::from(ballot(a) == 0 || ballot(a) == 0xffff_ffff)),
    ));
    all.push(("match_any", lanes(&|_, b, lane, _| same(b, lane))));
    all.push(("match_any_b64", lanes(&|_, b, lane, _| same(b, lane))));
    all.push(("match_all", lanes(&|_, _, _, _| 0xffff_ffff)));
    all.push(("redux_add", fold(u32::wrapping_add)));
    all.push(("redux_min_s32", fold(|x, y| (x as i32).min(y as i32) as u32)));
    all.push(("redux_max_u32", fold(u32::max)));
    all.push(("redux_and", fold(|x, y| x & y)));
    all.push(("redux_or", fold(|x, y| x | y)));
    all.push(("redux_xor", fold(|x, y| x ^ y)));
    all.push(("activemask", lanes(&|_, _, _, _| 0xffff_ffff)));
    all.push(("lanemask_lt", lanes(&|_, _, lane, _| (1 << lane) - 1)));
    all.push(("elect", lanes(&|_, _, lane, _| u64::from(lane == 0))));
    all
}

fn padded(mut values: Vec<u64>, len: usize, fill: u64) -> Vec<u64> {
    values.resize(len, fill);
    values
}

fn atomics(a: &[u64]) -> Named {
    let words: Vec<u32> = a.iter().map(|x| *x as u32).collect();
    let longs: Vec<u64> = words.iter().map(|x| i64::from(*x as i32) as u64).collect();
    let word = |f: fn(u32, u32) -> u32| u64::from(words.iter().copied().fold(5, f));
    let long = |f: fn(u64, u64) -> u64| longs.iter().copied().fold(5, f);
    let signed_min = |x: u32, y: u32| (x as i32).min(y as i32) as u32;
    let signed_max = |x: u32, y: u32| (x as i32).max(y as i32) as u32;
    let threads = words.len() as u64;
    // Wrapping counters from 5: up to 1000 and back to 0; down to 0 and back to 777; up to 100.
    let count = |limit: u64| (0..threads).fold(5, |old, _| if old >= limit { 0 } else { old + 1 });
    let down = (0..threads).fold(5, |old, _| if old == 0 || old > 777 { 777 } else { old - 1 });
    let table = vec![
        word(u32::wrapping_add),
        word(u32::wrapping_add),
        word(signed_min),
        word(signed_max),
        word(u32::min),
        word(u32::max),
        word(|x, y| x & y),
        word(|x, y| x | y),
        word(|x, y| x ^ y),
        word(u32::wrapping_add),
        word(signed_min),
        word(u32::max),
        word(|x, y| x | y),
        word(|x, y| x ^ y),
        count(1000),
        down,
        count(100),
    ];
    let wide = vec![
        long(u64::wrapping_add),
        long(|x, y| (x as i64).min(y as i64) as u64),
        long(|x, y| (x as i64).max(y as i64) as u64),
        long(u64::min),
        long(u64::max),
        long(|x, y| x & y),
        long(|x, y| x | y),
        long(|x, y| x ^ y),
        long(u64::wrapping_add),
        long(|x, y| (x as i64).max(y as i64) as u64),
    ];
    // Each thread adds its index modulo 8.
    let total = (0..threads).map(|i| i % 8).sum::<u64>() as f64;
    let single = u64::from((total as f32).to_bits());
    let each = threads / 8;
    let half = |x: u64| u64::from(half::f16::from_f64(x as f64).to_bits());
    let brain = |x: u64| u64::from(half::bf16::from_f64(x as f64).to_bits());
    let pairs = |one: u64, two: u64| {
        let mut all = [one, two].repeat(8);
        all.extend([one, 0].repeat(8));
        all
    };
    let swapped = |mask: u64| {
        a.iter()
            .map(|x| if x & 1 == 0 { x & mask } else { 0 })
            .collect::<Vec<u64>>()
    };
    vec![
        ("words", padded(table, 32, 5)),
        ("longs", padded(wide, 16, 5)),
        ("singles", padded(vec![single; 8], 16, 0)),
        ("doubles", padded(vec![total.to_bits(); 2], 4, 0)),
        ("halves", pairs(half(each), half(2 * each))),
        ("brains", pairs(brain(each), brain(2 * each))),
        ("exchanged", a.to_vec()),
        ("swapped", swapped(u64::MAX)),
        ("swapped_half", swapped(0xffff)),
        ("old", a.to_vec()),
    ]
}

/// The 16-bit elements of one warp's registers, `per` to a lane.
fn matrices(inputs: &[Vec<u64>]) -> Named {
    let warps = inputs[0].len() / 256;
    let mut all: Named = Vec::new();
    let bf16 = |x: u64| half::bf16::from_bits(x as u16).to_f64();
    let f16 = |x: u64| half::f16::from_bits(x as u16).to_f64();
    for (name, value) in [("bf16", &bf16 as &dyn Fn(u64) -> f64), ("f16", &f16)] {
        let each = |warp: usize| {
            product(
                &inputs[0][warp * 256..],
                &inputs[1][warp * 128..],
                &inputs[2][warp * 128..],
                value,
            )
        };
        all.push((name, (0..warps).flat_map(each).collect()));
    }
    for (name, transposed) in [("ldmatrix", false), ("ldmatrix_trans", true)] {
        let each = |warp: usize| rows(&inputs[0][warp * 256..], transposed);
        all.push((name, (0..warps).flat_map(each).collect()));
    }
    all
}

/// `m16n8k16`: which element of which matrix each register element is, as the PTX manual's figures number them.
fn product(a: &[u64], b: &[u64], c: &[u64], value: &dyn Fn(u64) -> f64) -> Vec<u64> {
    let (mut left, mut right) = ([[0.0; 16]; 16], [[0.0; 8]; 16]);
    for lane in 0..32 {
        let (group, within) = (lane >> 2, lane & 3);
        for i in 0..8 {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            let column = within * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
            left[row][column] = value(a[lane * 8 + i]);
        }
        for i in 0..4 {
            let row = within * 2 + (i & 1) + if i < 2 { 0 } else { 8 };
            right[row][group] = value(b[lane * 4 + i]);
        }
    }
    (0..128)
        .map(|at| {
            let (lane, i) = (at / 4, at % 4);
            let row = (lane >> 2) + if i < 2 { 0 } else { 8 };
            let column = (lane & 3) * 2 + (i & 1);
            let sum: f64 = (0..16).map(|k| left[row][k] * right[k][column]).sum();
            u64::from(((sum + f64::from(f32::from_bits(c[at] as u32))) as f32).to_bits())
        })
        .collect()
}

/// Lane 8j + r holds row r of matrix j; register j of a lane gets two elements of one row, or of one column.
fn rows(a: &[u64], transposed: bool) -> Vec<u64> {
    (0..256)
        .map(|at| {
            let (lane, matrix, i) = (at / 8, at % 8 / 2, at % 2);
            let (outer, inner) = (lane / 4, lane % 4 * 2 + i);
            let (row, column) = if transposed { (inner, outer) } else { (outer, inner) };
            a[(8 * matrix + row) * 8 + column]
        })
        .collect()
}
