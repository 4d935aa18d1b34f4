//! What integer arithmetic should give, in 128-bit integers.

use super::Oracle;

/// Inputs: a, b, c of 32 bits, then p, q of 64; `carry` has p and q only.
struct Inputs {
    x: [i128; 2],
    z: i128,
}

fn view(bits: u64, width: u32, signed: bool) -> i128 {
    let bits = i128::from(bits) & ((1 << width) - 1);
    if signed && bits >> (width - 1) == 1 {
        bits - (1 << width)
    } else {
        bits
    }
}

pub(super) fn oracle(output: &str) -> Option<Oracle> {
    if output.starts_with("dp") {
        return dot(output);
    }
    if let Some(oracle) = carry(output).or_else(|| special(output)) {
        return Some(oracle);
    }
    let parts: Vec<&str> = output.split('_').collect();
    let ty = *parts.last()?;
    let signed = ty.starts_with('s');
    let width: u32 = ty[1..].parse().ok()?;
    let name = output.trim_end_matches(ty).trim_end_matches('_').to_owned();
    Some(Box::new(move |all| {
        let base = if width == 64 { 3 } else { 0 };
        let inputs = Inputs {
            x: [0, 1].map(|i| view(all[base + i], width, signed)),
            z: view(all[2], 32, signed),
        };
        evaluate(&name, &inputs, width, signed, all)
    }))
}

fn evaluate(name: &str, inputs: &Inputs, width: u32, signed: bool, all: &[u64]) -> u64 {
    let Inputs { x: [x, y], z } = *inputs;
    let low24 = |i: usize| view(all[i], 24, signed);
    let odd = |y: i128| view((y | 1) as u64, width, signed);
    // The product of two 64-bit numbers may need all of 128 bits.
    let high64 = || {
        if signed {
            ((x * y) >> 64) as u64
        } else {
            ((x as u128 * y as u128) >> 64) as u64
        }
    };
    let value = match name {
        "add" => x + y,
        "sub" => x - y,
        "mul_lo" => x.wrapping_mul(y),
        "mul_hi" if width == 64 => return high64(),
        "mul_hi" => (x * y) >> 32,
        "min" => x.min(y),
        "max" => x.max(y),
        "mad_lo" => x * y + z,
        "mad_hi" => ((x * y) >> 32) + z,
        "mul_wide" => return (x * y) as u64,
        "mad_wide" => return (x * y).wrapping_add(i128::from(all[3])) as u64,
        "mul24_lo" => low24(0) * low24(1),
        "mul24_hi" => (low24(0) * low24(1)) >> 16,
        "mad24_lo" => low24(0) * low24(1) + z,
        "sad" => (x - y).abs() + z,
        "div" => x / odd(y),
        "rem" => x % odd(y),
        _ => panic!("no oracle for {name}"),
    };
    value as u64 & (u64::MAX >> (64 - width))
}

fn special(output: &str) -> Option<Oracle> {
    let signed = |x: u64| i128::from(x as u32 as i32);
    let clamp = |x: i128| u64::from(x.clamp(i32::MIN.into(), i32::MAX.into()) as i32 as u32);
    let halves = |f: fn(i32, i32) -> i32, x: u64, y: u64, sign: bool| {
        let part = |x: u64, i: u32| {
            let half = (x >> (16 * i)) as u16;
            if sign { i32::from(half as i16) } else { i32::from(half) }
        };
        (0..2).fold(0, |word, i| {
            word | u64::from(f(part(x, i), part(y, i)) as u16) << (16 * i)
        })
    };
    Some(match output {
        "add_sat" => Box::new(move |x| clamp(signed(x[0]) + signed(x[1]))),
        "sub_sat" => Box::new(move |x| clamp(signed(x[0]) - signed(x[1]))),
        "mad24_hi_sat" => {
            Box::new(move |x| clamp(((view(x[0], 24, true) * view(x[1], 24, true)) >> 16) + signed(x[2])))
        }
        "abs" => Box::new(|x| u64::from((x[0] as i32).unsigned_abs())),
        "neg" => Box::new(|x| u64::from((x[0] as u32).wrapping_neg())),
        "add_u16" => Box::new(|x| (x[0] + x[1]) & 0xffff),
        "mul_hi_s16" => Box::new(|x| u64::from(((i32::from(x[0] as i16) * i32::from(x[1] as i16)) >> 16) as u16)),
        "mul_wide_s16" => Box::new(|x| u64::from((i32::from(x[0] as i16) * i32::from(x[1] as i16)) as u32)),
        "max_s16x2" => Box::new(move |x| halves(Ord::max, x[0], x[1], true)),
        "min_u16x2" => Box::new(move |x| halves(Ord::min, x[0], x[1], false)),
        "max_s16x2_relu" => Box::new(move |x| halves(|x, y| x.max(y).max(0), x[0], x[1], true)),
        "add_u16x2" => Box::new(move |x| halves(|x, y| x + y, x[0], x[1], false)),
        _ => return None,
    })
}

/// Sums, differences and products of the 64-bit inputs, whole, of which an output is 32 bits.
fn carry(output: &str) -> Option<Oracle> {
    let word = |value: u128, index: u32| (value >> (32 * index)) as u64 & 0xffff_ffff;
    let wide = |x: &[u64]| [u128::from(x[0]), u128::from(x[1])];
    Some(match output {
        "add_lo" => Box::new(move |x| word(wide(x)[0] + wide(x)[1], 0)),
        "add_hi" => Box::new(move |x| word(wide(x)[0] + wide(x)[1], 1)),
        "sub_lo" => Box::new(move |x| word(wide(x)[0].wrapping_sub(wide(x)[1]), 0)),
        "sub_hi" => Box::new(move |x| word(wide(x)[0].wrapping_sub(wide(x)[1]), 1)),
        "sub_borrow" => Box::new(move |x| word(wide(x)[0].wrapping_sub(wide(x)[1]), 2)),
        "add64_lo" => Box::new(|x| x[0].wrapping_add(x[1])),
        "add64_hi" => Box::new(|x| {
            let (sum, carry) = x[1].overflowing_add(x[0]);
            sum.wrapping_add(u64::from(carry))
        }),
        _ => {
            let index: u32 = output.strip_prefix("mul_")?.parse().ok()?;
            Box::new(move |x| word(wide(x)[0] * wide(x)[1], index))
        }
    })
}

fn dot(output: &str) -> Option<Oracle> {
    let output = output.to_owned();
    Some(Box::new(move |x| {
        let four = output.starts_with("dp4a");
        let types: Vec<&str> = output.split('_').rev().take(2).collect();
        let (signed_b, signed_a) = (types[0] == "s32", types[1] == "s32");
        let count = if four { 4 } else { 2 };
        let shift = if output.contains("_hi_") { 16 } else { 0 };
        let sum: i128 = (0..count)
            .map(|i| {
                let a = if four {
                    view(x[0] >> (8 * i), 8, signed_a)
                } else {
                    view(x[0] >> (16 * i), 16, signed_a)
                };
                a * view(x[1] >> (8 * i + shift), 8, signed_b)
            })
            .sum();
        (sum + i128::from(x[2])) as u64 & 0xffff_ffff
    }))
}
