//! What conversions should give: the host's casts, corrected by exact comparison for the directed modes.

use std::cmp::Ordering;

use half::{bf16, f16};

use super::{Oracle, half_float};

/// A value as a double, from its bits; exact for every float type here.
fn value(ty: &str, bits: u64) -> f64 {
    match ty {
        "f16" => f16::from_bits(bits as u16).to_f64(),
        "bf16" => bf16::from_bits(bits as u16).to_f64(),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

fn nearest(ty: &str, x: f64) -> u64 {
    match ty {
        "f16" => half_float::nearest(x, u64::from(f16::from_f64(x).to_bits()), |x| value("f16", x)),
        "bf16" => half_float::nearest(x, u64::from(bf16::from_f64(x).to_bits()), |x| value("bf16", x)),
        "f32" => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

const fn sign_bit(ty: &str) -> u64 {
    match ty.as_bytes() {
        b"f16" | b"bf16" => 1 << 15,
        b"f32" => 1 << 31,
        _ => 1 << 63,
    }
}

/// Moves a nearest result to where a directed mode wants it; `order` is how the rounded value compares to the exact one.
fn direct(ty: &str, bits: u64, order: Ordering, negative: bool, mode: &str) -> u64 {
    let down = |bits: u64| if bits & sign_bit(ty) == 0 { bits - 1 } else { bits + 1 };
    let up = |bits: u64| if bits & sign_bit(ty) == 0 { bits + 1 } else { bits - 1 };
    let zero = |bits: u64| bits & !sign_bit(ty) == 0;
    match (mode, order) {
        ("rm", Ordering::Greater) if zero(bits) => sign_bit(ty) | 1,
        ("rp", Ordering::Less) if zero(bits) => 1,
        ("rm", Ordering::Greater) => down(bits),
        ("rp", Ordering::Less) => up(bits),
        ("rz", Ordering::Greater) if !negative && !zero(bits) => down(bits),
        ("rz", Ordering::Less) if negative && !zero(bits) => up(bits),
        _ => bits,
    }
}

fn float_to_float(to: &str, x: f64, mode: &str) -> u64 {
    let bits = nearest(to, x);
    if x.is_nan() || x.is_infinite() {
        return bits;
    }
    let order = value(to, bits).partial_cmp(&x).unwrap_or(Ordering::Equal);
    direct(to, bits, order, x.is_sign_negative(), mode)
}

/// An integer as a float.
fn int_to_float(to: &str, x: i128, mode: &str) -> u64 {
    // The largest halves and all 64-bit integers are within reach of f32 and f64.
    let bits = match to {
        "f32" => u64::from((x as f32).to_bits()),
        "f64" => (x as f64).to_bits(),
        // Through the widest float, rounded towards the odd one, so that it is rounded once only.
        _ => {
            let wide = x as f64;
            let exact = wide as i128 == x;
            let odd = if exact || wide.to_bits() & 1 == 1 {
                wide
            } else if (wide as i128) < x {
                wide.next_up()
            } else {
                wide.next_down()
            };
            nearest(to, odd)
        }
    };
    let rounded = value(to, bits);
    let order = if rounded.is_infinite() {
        rounded.total_cmp(&0.0)
    } else {
        (rounded as i128).cmp(&x)
    };
    direct(to, bits, order, x < 0, mode)
}

fn round(x: f64, mode: &str) -> f64 {
    match mode {
        "rni" => x.round_ties_even(),
        "rzi" => x.trunc(),
        "rmi" => x.floor(),
        _ => x.ceil(),
    }
}

fn int(ty: &str) -> (bool, u32) {
    (ty.starts_with('s'), ty[1..].parse().unwrap_or(0))
}

fn view(bits: u64, ty: &str) -> i128 {
    let (signed, width) = int(ty);
    let bits = i128::from(bits) & ((1 << width) - 1);
    if signed && bits >> (width - 1) == 1 {
        bits - (1 << width)
    } else {
        bits
    }
}

fn limits(ty: &str) -> (i128, i128) {
    let (signed, width) = int(ty);
    if signed {
        (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    }
}

/// Clamped, and extended to the register that the golden stores.
fn float_to_int(from: &str, ty: &str, x: f64, mode: &str) -> u64 {
    let (_, width) = int(ty);
    let stored = if width == 8 { 32 } else { width };
    let (low, high) = limits(ty);
    let result = if x.is_nan() {
        if from == "f64" || width == 64 {
            view(1 << (width - 1), ty)
        } else {
            0
        }
    } else {
        (round(x, mode) as i128).clamp(low, high)
    };
    result as u64 & (u64::MAX >> (64 - stored))
}

fn flush(x: f64) -> f64 {
    if (x as f32).is_subnormal() {
        0.0_f64.copysign(x)
    } else {
        x
    }
}

pub(super) fn oracle(golden: &str, output: &str) -> Option<Oracle> {
    let output = output.to_owned();
    Some(match golden {
        "convert_f32_to_integer" => Box::new(move |x| {
            let mut parts = output.split('_');
            let (ty, mode) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            // The one flushed output rounds up.
            let mode = if output.ends_with("ftz") { "rpi" } else { mode };
            let x = value("f32", x[0]);
            float_to_int("f32", ty, if output.ends_with("ftz") { flush(x) } else { x }, mode)
        }),
        "convert_f64_to_integer" => Box::new(move |x| {
            let (ty, mode) = output.split_once('_').unwrap_or_default();
            float_to_int("f64", ty, value("f64", x[0]), mode)
        }),
        "convert_integer_to_float" => Box::new(move |x| {
            let parts: Vec<&str> = output.split('_').collect();
            let mode = parts.get(2).copied().unwrap_or("rn");
            let source = if parts[1].ends_with("64") { x[1] } else { x[0] };
            int_to_float(parts[0], view(source, parts[1]), mode)
        }),
        "convert_f32_to_float" => from_f32(&output)?,
        "convert_f64_to_float" => Box::new(move |x| {
            let x = value("f64", x[0]);
            let (ty, rest) = output.split_once('_').unwrap_or_default();
            if rest.ends_with('i') {
                return round(x, rest).to_bits();
            }
            let (mode, finish) = rest.split_once('_').unwrap_or((rest, ""));
            let bits = float_to_float(ty, x, mode);
            finish_f32(bits, finish)
        }),
        "convert_f16" | "convert_bf16" => small(&golden["convert_".len()..], &output),
        "convert_fp8" => fp8(&output),
        "convert_integers" => integers(&output),
        _ => return None,
    })
}

fn finish_f32(bits: u64, finish: &str) -> u64 {
    let x = f32::from_bits(bits as u32);
    match finish {
        "ftz" if x.is_subnormal() => bits & 0x8000_0000,
        "sat" => u64::from(if x > 0.0 { x.min(1.0) } else { 0.0 }.to_bits()),
        _ => bits,
    }
}

fn from_f32(output: &str) -> Option<Oracle> {
    let output = output.to_owned();
    let halves = |x: f64, ty: &'static str, rest: &str| {
        let mode = if rest.contains("rz") {
            "rz"
        } else {
            rest.get(..2).unwrap_or("rn")
        };
        let mut bits = float_to_float(ty, x, mode);
        let infinity = nearest(ty, f64::INFINITY);
        if rest.contains("satfinite") && bits & 0x7fff == infinity {
            bits -= 1;
        }
        if rest.contains("relu") && bits & 0x8000 != 0 && !x.is_nan() {
            bits = 0;
        }
        if rest == "sat" {
            let x = value(ty, bits);
            bits = nearest(ty, if x > 0.0 { x.min(1.0) } else { 0.0 });
        }
        bits
    };
    Some(Box::new(move |all| {
        // Of a pair, a is the upper element.
        let pair = output.contains("x2");
        let x = value("f32", if pair && all[2] == 0 { all[1] } else { all[0] });
        let single = f32::from_bits(all[0] as u32);
        let (ty, rest) = output.split_once('_').unwrap_or((&output, ""));
        match ty {
            "f16" | "f16x2" => halves(if rest == "ftz" { flush(x) } else { x }, "f16", rest),
            "bf16" | "bf16x2" => halves(x, "bf16", rest),
            "f64" => (if rest == "ftz" { flush(x) } else { x }).to_bits(),
            "tf32" => tf32(single, rest),
            _ => {
                let x = if rest.contains("ftz") { flush(x) } else { x };
                let mode = rest.split('_').next().unwrap_or_default();
                let x = if mode.starts_with('r') { round(x, mode) } else { x };
                finish_f32(
                    u64::from((x as f32).to_bits()),
                    if rest.contains("sat") { "sat" } else { "" },
                )
            }
        }
    }))
}

/// The low 13 bits go: away from zero at half, to even at half, or always down.
fn tf32(x: f32, mode: &str) -> u64 {
    let bits = u64::from(x.to_bits());
    match mode {
        // What an H200 makes of NaN.
        "rna" if x.is_nan() => return bits & !0x1fff,
        _ if x.is_nan() => return 0x7fff_e000,
        _ if x.is_infinite() => return bits,
        _ => {}
    }
    let rounded = match mode {
        "rna" => bits + 0x1000,
        "rn" => bits + 0xfff + (bits >> 13 & 1),
        _ => bits,
    };
    rounded & !0x1fff
}

fn small(from: &str, output: &str) -> Oracle {
    let (from, output) = (from.to_owned(), output.to_owned());
    Box::new(move |x| {
        let x = value(&from, x[0]);
        let (ty, rest) = output.split_once('_').unwrap_or((&output, ""));
        match ty {
            "f32" => finish_f32(u64::from((x as f32).to_bits()), rest),
            "f64" => x.to_bits(),
            "f16" if rest == "rn" => nearest("f16", x),
            "f16" => nearest("f16", round(x, rest)),
            _ => float_to_int(&from, ty, x, rest),
        }
    })
}

/// The value of an 8-bit float, by its definition.
fn decode8(e4m3: bool, code: u64) -> f64 {
    let (mantissa_bits, bias) = if e4m3 { (3, 7) } else { (2, 15) };
    let exponent = (code & 0x7f) >> mantissa_bits;
    let mantissa = (code & ((1 << mantissa_bits) - 1)) as f64 / f64::from(1 << mantissa_bits);
    let magnitude = if e4m3 && code & 0x7f == 0x7f || !e4m3 && exponent == 31 && mantissa != 0.0 {
        f64::NAN
    } else if !e4m3 && exponent == 31 {
        f64::INFINITY
    } else if exponent == 0 {
        mantissa * 2_f64.powi(1 - bias)
    } else {
        (1.0 + mantissa) * 2_f64.powi(exponent as i32 - bias)
    };
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

/// The nearest finite code, the even one of two, by search.
fn encode8(e4m3: bool, x: f64, relu: bool) -> u64 {
    if x.is_nan() {
        return 0x7f;
    }
    if relu && x.is_sign_negative() {
        return 0;
    }
    let last = if e4m3 { 0x7e } else { 0x7b };
    let distance = |code: u64| (decode8(e4m3, code) - x.abs()).abs();
    let largest = decode8(e4m3, last);
    let magnitude = if x.abs() >= largest {
        last
    } else {
        (0..=last)
            .min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))))
            .unwrap_or(0)
    };
    magnitude | if x.is_sign_negative() { 0x80 } else { 0 }
}

fn fp8(output: &str) -> Oracle {
    let e4m3 = output.contains("e4m3");
    let relu = output.ends_with("relu");
    if output.starts_with("f16_") {
        return Box::new(move |x| {
            let word = if relu { x[1] } else { x[0] };
            let x = decode8(e4m3, word >> (8 * x[3]) & 0xff);
            nearest(
                "f16",
                if relu && x.is_sign_negative() && !x.is_nan() {
                    0.0
                } else {
                    x
                },
            )
        });
    }
    let from_half = output.ends_with("f16");
    Box::new(move |x| {
        let pair = if from_half {
            [value("f16", x[2] >> 16 & 0xffff), value("f16", x[2] & 0xffff)]
        } else {
            [value("f32", x[0]), value("f32", x[1])]
        };
        let [high, low] = pair.map(|x| encode8(e4m3, x, relu));
        high << 8 | low
    })
}

fn integers(output: &str) -> Oracle {
    let output = output.to_owned();
    Box::new(move |x| {
        let parts: Vec<&str> = output.split('_').collect();
        let pack = |ty: &str, bits: u32, upper: u64, lower: u64| {
            let (low, high) = limits(ty);
            let one = |x: u64| view(x, "s32").clamp(low, high) as u64 & ((1 << bits) - 1);
            one(upper) << bits | one(lower)
        };
        match output.as_str() {
            "pack_s16" => return pack("s16", 16, x[0], x[0]),
            "pack_u8" => return (x[2] << 16 | pack("u8", 8, x[0], x[2])) & 0xffff_ffff,
            _ => {}
        }
        let (to, from) = (parts[0], parts[1]);
        let wide = from.ends_with("64");
        let source = view(if wide { x[1] } else { x[0] }, from);
        let (low, high) = limits(to);
        let result = if parts.len() == 3 {
            source.clamp(low, high)
        } else {
            view(source as u64, to)
        };
        let width = int(to).1;
        let stored = if width == 8 { 32 } else { width };
        result as u64 & (u64::MAX >> (64 - stored))
    })
}
