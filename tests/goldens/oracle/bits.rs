//! What bit manipulation should give, bit by bit.

use super::Oracle;

fn bit(x: u64, i: i64) -> u64 {
    if (0..64).contains(&i) { x >> i & 1 } else { 0 }
}

/// Puts bits together: `f(i)` is bit i of the result.
fn build(width: i64, f: impl Fn(i64) -> u64) -> u64 {
    (0..width).fold(0, |word, i| word | f(i) << i)
}

fn byte(a: u64, b: u64, i: u64) -> u64 {
    (if i < 4 { a >> (8 * i) } else { b >> (8 * (i - 4)) }) & 0xff
}

/// The byte numbers that a mode of `prmt` picks, highest first, as the PTX manual's table has them.
const TABLES: [(&str, [[u64; 4]; 4]); 6] = [
    ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
    ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
    ("rc8", [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
    ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
    ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
    ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
];

fn prmt(mode: &str, a: u64, b: u64, selector: u64) -> u64 {
    let table = TABLES.iter().find(|(name, _)| *name == mode);
    (0..4).fold(0, |word, i| {
        let value = if let Some((_, rows)) = table {
            byte(a, b, rows[(selector & 3) as usize][3 - i])
        } else {
            let nibble = selector >> (4 * i) & 15;
            let value = byte(a, b, nibble & 7);
            if nibble & 8 == 0 { value } else { (value >> 7) * 0xff }
        };
        word | value << (8 * i)
    })
}

/// Beyond 255 PTX defines nothing: what an H200 does.
fn field(x: u64, width: i64) -> i64 {
    if width == 64 {
        x.min(255) as i64
    } else {
        (x & 0xff) as i64
    }
}

fn extract(x: u64, width: i64, signed: bool, position: u64, length: u64) -> u64 {
    let (position, length) = (field(position, width), field(length, width));
    let sign = if signed && length > 0 {
        bit(x, (position + length - 1).min(width - 1))
    } else {
        0
    };
    build(width, |i| {
        if i < length && position + i < width {
            bit(x, position + i)
        } else {
            sign
        }
    })
}

fn insert(x: u64, into: u64, width: i64, position: u64, length: u64) -> u64 {
    let (position, length) = (field(position, width), field(length, width));
    build(width, |i| {
        if (position..position + length).contains(&i) {
            bit(x, i - position)
        } else {
            bit(into, i)
        }
    })
}

fn bfind(output: &str, all: &[u64]) -> u64 {
    let width = if output.ends_with("64") { 64 } else { 32 };
    let x = if width == 64 { all[3] } else { all[0] };
    let signed = output.contains("_s");
    let signed = signed && !output.ends_with("_u32") && !output.ends_with("_u64");
    let skip = if signed { bit(x, width - 1) } else { 0 };
    let found = (0..width).rev().find(|i| bit(x, *i) != skip);
    match found {
        None => 0xffff_ffff,
        Some(at) if output.contains("shiftamt") => (width - 1 - at) as u64,
        Some(at) => at as u64,
    }
}

fn fns(x: u64, base: u64, offset: u64) -> u64 {
    let (base, offset) = ((base & 31) as i64, (offset & 15) as i64 - 7);
    let up: Vec<i64> = (base..32).filter(|i| bit(x, *i) == 1).collect();
    let down: Vec<i64> = (0..=base).rev().filter(|i| bit(x, *i) == 1).collect();
    let found = match offset {
        0 => up.first().copied().filter(|at| *at == base),
        1.. => up.get(offset as usize - 1).copied(),
        _ => down.get(-offset as usize - 1).copied(),
    };
    found.map_or(0xffff_ffff, |at| at as u64)
}

fn shift(output: &str, all: &[u64]) -> u64 {
    let width = if output.ends_with("64") { 64 } else { 32 };
    let x = if width == 64 { all[3] } else { all[0] };
    let n = all[1].min(200) as i64;
    let fill = if output.starts_with("shr_s") {
        bit(x, width - 1)
    } else {
        0
    };
    if output.starts_with("shl") {
        build(width, |i| if i < n { 0 } else { bit(x, i - n) })
    } else {
        build(width, |i| if i + n < width { bit(x, i + n) } else { fill })
    }
}

pub(super) fn oracle(output: &str) -> Option<Oracle> {
    let name = output.to_owned();
    let lop3 = |x: &[u64], table: u64| {
        build(32, |i| {
            table >> (bit(x[0], i) * 4 + bit(x[1], i) * 2 + bit(x[2], i)) & 1
        })
    };
    let low = |x: u64| x & 0xffff_ffff;
    Some(match output {
        "lop3_or" => Box::new(move |x| {
            let value = x[0] & x[1] & x[2];
            value ^ u64::from(value != 0 || bit(x[1], 31) == 1)
        }),
        _ if output.starts_with("lop3_") => {
            let table = u64::from_str_radix(&output[5..], 16).ok()?;
            Box::new(move |x| lop3(x, table))
        }
        _ if output.starts_with("prmt") => {
            let mode = output.strip_prefix("prmt_").unwrap_or_default().to_owned();
            Box::new(move |x| prmt(&mode, x[0], x[1], x[2]))
        }
        _ if output.starts_with("shf") => Box::new(move |x| {
            let n = if name.ends_with("wrap") {
                x[2] & 31
            } else {
                x[2].min(32)
            } as i64;
            let all = x[0] | x[1] << 32;
            if name.starts_with("shf_l") {
                build(32, |i| bit(all, i + 32 - n))
            } else {
                build(32, |i| bit(all, i + n))
            }
        }),
        "bfe_u32" => Box::new(|x| extract(x[0], 32, false, x[1], x[2])),
        "bfe_s32" => Box::new(|x| extract(x[0], 32, true, x[1], x[2])),
        "bfe_u64" => Box::new(|x| extract(x[3], 64, false, x[1], x[2])),
        "bfe_s64" => Box::new(|x| extract(x[3], 64, true, x[1], x[2])),
        "bfi_b32" => Box::new(move |x| insert(x[0], low(!x[0]), 32, x[1], x[2])),
        "bfi_b64" => Box::new(|x| insert(x[3], x[4], 64, x[1], x[2])),
        _ if output.starts_with("bfind") => Box::new(move |x| bfind(&name, x)),
        "brev_b32" => Box::new(|x| build(32, |i| bit(x[0], 31 - i))),
        "brev_b64" => Box::new(|x| build(64, |i| bit(x[3], 63 - i))),
        "popc_b32" => Box::new(|x| (0..32).map(|i| bit(x[0], i)).sum()),
        "popc_b64" => Box::new(|x| (0..64).map(|i| bit(x[3], i)).sum()),
        "clz_b32" => Box::new(|x| (0..32).take_while(|i| bit(x[0], 31 - i) == 0).count() as u64),
        "clz_b64" => Box::new(|x| (0..64).take_while(|i| bit(x[3], 63 - i) == 0).count() as u64),
        "fns" => Box::new(|x| fns(x[0], x[1], x[2])),
        "bmsk_clamp" | "bmsk_wrap" => Box::new(move |x| {
            let limit = |x: u64| if name.ends_with("wrap") { x & 31 } else { x } as i64;
            let (start, length) = (limit(x[0]), limit(x[1]));
            build(32, |i| u64::from(i >= start && i < start + length))
        }),
        "szext_clamp_s32" | "szext_wrap_s32" | "szext_clamp_u32" => Box::new(move |x| {
            let bits = if name.contains("wrap") { x[1] & 31 } else { x[1].min(32) } as i64;
            let fill = if name.ends_with("s32") && bits > 0 {
                bit(x[0], bits - 1)
            } else {
                0
            };
            build(32, |i| if i < bits { bit(x[0], i) } else { fill })
        }),
        "cnot" => Box::new(|x| u64::from(x[0] == 0)),
        _ if output.starts_with("sh") => Box::new(move |x| shift(&name, x)),
        _ => return None,
    })
}
