//! What halves should give, by the `half` crate.

use half::{bf16, f16};

use super::{Oracle, float};

/// A format: its value as a double, and back.
#[derive(Clone, Copy)]
struct Half {
    to: fn(u64) -> f64,
    from: fn(f64) -> u64,
    smallest_normal: f64,
}

/// The nearest of a code and its neighbours: the crate's own conversion looks at the upper half of the double only.
pub(super) fn nearest(x: f64, code: u64, value: fn(u64) -> f64) -> u64 {
    if !x.is_finite() || !value(code).is_finite() {
        return code;
    }
    let distance = |code: u64| (value(code) - x).abs();
    let near = [code.wrapping_sub(1), code, code + 1];
    // A step across zero or the largest value is no neighbour.
    let finite = near
        .into_iter()
        .filter(|near| near & 0x8000 == code & 0x8000 && *near < 0x1_0000);
    finite
        .filter(|near| value(*near).is_finite())
        .min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))))
        .unwrap_or(code)
}

/// `x · y + z` in double precision, moved to the odd neighbour where it is not exact, so that one more rounding is right.
fn fused(x: f64, y: f64, z: f64) -> f64 {
    let product = x * y;
    let sum = product + z;
    let (large, small) = if product.abs() > z.abs() {
        (product, z)
    } else {
        (z, product)
    };
    let lost = small - (sum - large);
    if !sum.is_finite() || lost == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    if lost > 0.0 { sum.next_up() } else { sum.next_down() }
}

fn format(golden: &str) -> Half {
    if golden.starts_with("bf16") {
        Half {
            to: |x| bf16::from_bits(x as u16).to_f64(),
            from: |x| {
                nearest(x, u64::from(bf16::from_f64(x).to_bits()), |x| {
                    bf16::from_bits(x as u16).to_f64()
                })
            },
            smallest_normal: 2_f64.powi(-126),
        }
    } else {
        Half {
            to: |x| f16::from_bits(x as u16).to_f64(),
            from: |x| {
                nearest(x, u64::from(f16::from_f64(x).to_bits()), |x| {
                    f16::from_bits(x as u16).to_f64()
                })
            },
            smallest_normal: 2_f64.powi(-14),
        }
    }
}

fn pick(x: f64, y: f64, max: bool) -> f64 {
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() { y } else { x };
    }
    if x.total_cmp(&y).is_lt() == max { y } else { x }
}

pub(super) fn oracle(golden: &str, output: &str) -> Option<Oracle> {
    let half = format(golden);
    let output = output.to_owned();
    let (ftz, sat, relu) = (output.contains("ftz"), output.contains("sat"), output.contains("relu"));
    let flush = move |x: f64| {
        if ftz && x.abs() < half.smallest_normal {
            0.0_f64.copysign(x)
        } else {
            x
        }
    };
    Some(Box::new(move |all| {
        let at = |i: usize| flush((half.to)(all.get(i).copied().unwrap_or(0)));
        let (x, y, z) = (at(0), at(1), at(2));
        let nan = x.is_nan() || y.is_nan();
        let value = match output.split('_').next().unwrap_or_default() {
            "add" => x + y,
            "sub" => x - y,
            "mul" => x * y,
            "fma" => fused(x, y, z),
            "neg" => -x,
            "abs" => x.abs(),
            "ex2" => x.exp2(),
            "tanh" => x.tanh(),
            name => {
                let max = name == "max";
                if output.contains("nan") && nan {
                    f64::NAN
                } else if output.contains("xorsign") {
                    let magnitude = pick(x.abs(), y.abs(), max);
                    if x.is_sign_negative() == y.is_sign_negative() {
                        magnitude
                    } else {
                        -magnitude
                    }
                } else {
                    pick(x, y, max)
                }
            }
        };
        let rounded = flush((half.to)((half.from)(value)));
        let rounded = if sat {
            if rounded > 0.0 { rounded.min(1.0) } else { 0.0 }
        } else {
            rounded
        };
        let rounded = if relu && rounded.is_sign_negative() && !rounded.is_nan() {
            0.0
        } else {
            rounded
        };
        (half.from)(rounded)
    }))
}

/// `set` and `setp` of pairs. Where an output has one element per thread, its arguments are whole words.
pub(super) fn compare(golden: &str, output: &str) -> Option<Oracle> {
    let half = format(golden);
    let one = (half.from)(1.0);
    let parts = |word: u64| [word & 0xffff, word >> 16];
    let name = output.split('_').nth(1)?.to_owned();
    let test = move |name: &str, x: u64, y: u64| float::holds(name, (half.to)(x), (half.to)(y));
    if output == "setp_single" {
        return Some(Box::new(move |x| u64::from(test("le", parts(x[0])[0], parts(x[1])[0]))));
    }
    if output.starts_with("setp") {
        return Some(Box::new(move |x| {
            let [low, high] = [0, 1].map(|i| test(&name, parts(x[0])[i], parts(x[1])[i]));
            u64::from(low) | u64::from(high) << 1
        }));
    }
    if output.ends_with("u32") {
        return Some(Box::new(move |x| {
            let [low, high] = [0, 1].map(|i| test(&name, parts(x[0])[i], parts(x[1])[i]));
            (u64::from(low) * 0xffff) | (u64::from(high) * 0xffff_0000)
        }));
    }
    Some(Box::new(move |x| if test(&name, x[0], x[1]) { one } else { 0 }))
}
