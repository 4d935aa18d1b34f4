//! What `f32` and `f64` instructions should give, by the host's own arithmetic.

use super::Oracle;

fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0_f32.copysign(x) } else { x }
}

fn saturate(x: f32) -> f32 {
    if x.is_nan() || x <= 0.0 { 0.0 } else { x.min(1.0) }
}

fn single(f: impl Fn([f32; 3]) -> f32 + 'static) -> Option<Oracle> {
    Some(Box::new(move |x: &[u64]| {
        let at = |i: usize| f32::from_bits(x.get(i).copied().unwrap_or(0) as u32);
        u64::from(f([at(0), at(1), at(2)]).to_bits())
    }))
}

fn double(f: impl Fn([f64; 3]) -> f64 + 'static) -> Option<Oracle> {
    Some(Box::new(move |x: &[u64]| {
        let at = |i: usize| f64::from_bits(x.get(i).copied().unwrap_or(0));
        f([at(0), at(1), at(2)]).to_bits()
    }))
}

pub(super) fn oracle(golden: &str, output: &str) -> Option<Oracle> {
    match golden {
        "f32_arithmetic" => arithmetic(output),
        "f32_division" => division(output),
        "f32_extrema" => extrema(output),
        "f32_compare" => compare(output),
        "f64_arithmetic" => arithmetic64(output),
        "f64_extrema" => match output {
            "min" => double(|[x, y, _]| pick64(x, y, false)),
            "max" => double(|[x, y, _]| pick64(x, y, true)),
            "copysign" => double(|[x, y, _]| y.copysign(x)),
            "neg" => double(|[x, ..]| -x),
            _ => double(|[x, ..]| x.abs()),
        },
        "f32_trigonometry" => {
            let sin = output.starts_with("sin");
            let ftz = output.ends_with("ftz");
            single(move |[x, ..]| {
                let x = f64::from(if ftz { flush(x) } else { x });
                (if sin { x.sin() } else { x.cos() }) as f32
            })
        }
        "f64_approximate" => {
            let ftz = output != "rsqrt";
            let root = output.starts_with("rsqrt");
            double(move |[x, ..]| {
                // Of a divisor only the upper half counts, also for what is a NaN.
                let x = if root {
                    x
                } else {
                    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
                };
                let x = if ftz && x.is_subnormal() {
                    0.0_f64.copysign(x)
                } else {
                    x
                };
                let y = if root { 1.0 / x.sqrt() } else { 1.0 / x };
                if ftz && y.is_subnormal() {
                    0.0_f64.copysign(y)
                } else {
                    y
                }
            })
        }
        _ => approximate(output),
    }
}

fn arithmetic(output: &str) -> Option<Oracle> {
    let ftz = output.contains("ftz");
    let sat = output.contains("sat");
    let operation: fn(f32, f32, f32) -> f32 = match output.split('_').next()? {
        "add" => |x, y, _| x + y,
        "sub" => |x, y, _| x - y,
        "mul" => |x, y, _| x * y,
        "fma" | "mad" => f32::mul_add,
        "neg" => |x, _, _| -x,
        "abs" => |x, _, _| x.abs(),
        _ => return None,
    };
    single(move |all| {
        let [x, y, z] = if ftz { all.map(flush) } else { all };
        let result = operation(x, y, z);
        let result = if ftz { flush(result) } else { result };
        if sat { saturate(result) } else { result }
    })
}

fn division(output: &str) -> Option<Oracle> {
    match output {
        "div_rn" => single(|[x, y, _]| x / y),
        "rcp_rn" => single(|[x, ..]| 1.0 / x),
        "sqrt_rn" => single(|[x, ..]| x.sqrt()),
        "div_rn_ftz" => single(|all| {
            let [x, y, _] = all.map(flush);
            flush(x / y)
        }),
        "sqrt_rn_ftz" => single(|[x, ..]| flush(flush(x).sqrt())),
        _ => None,
    }
}

fn arithmetic64(output: &str) -> Option<Oracle> {
    match output {
        "add_rn" => double(|[x, y, _]| x + y),
        "mul_rn" => double(|[x, y, _]| x * y),
        "fma_rn" => double(|[x, y, z]| x.mul_add(y, z)),
        "div_rn" => double(|[x, y, _]| x / y),
        "rcp_rn" => double(|[x, ..]| 1.0 / x),
        "sqrt_rn" => double(|[x, ..]| x.sqrt()),
        _ => None,
    }
}

fn pick64(x: f64, y: f64, max: bool) -> f64 {
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() { y } else { x };
    }
    let first = x.total_cmp(&y).is_lt() != max;
    if first { x } else { y }
}

fn pick(x: f32, y: f32, max: bool, nan: bool) -> f32 {
    if nan && (x.is_nan() || y.is_nan()) {
        return f32::NAN;
    }
    if x.is_nan() || y.is_nan() {
        return if x.is_nan() { y } else { x };
    }
    let first = x.total_cmp(&y).is_lt() != max;
    if first { x } else { y }
}

fn extrema(output: &str) -> Option<Oracle> {
    let max = output.starts_with("max");
    let (ftz, nan, xorsign) = (
        output.contains("ftz"),
        output.contains("nan"),
        output.contains("xorsign"),
    );
    single(move |all| {
        let [x, y, _] = if ftz { all.map(flush) } else { all };
        if !xorsign {
            return pick(x, y, max, nan);
        }
        let magnitude = pick(x.abs(), y.abs(), max, nan);
        if x.is_sign_negative() == y.is_sign_negative() {
            magnitude
        } else {
            -magnitude
        }
    })
}

/// A comparison by PTX's name, of values that may be unordered.
pub(super) fn holds(name: &str, x: f64, y: f64) -> bool {
    let unordered = x.is_nan() || y.is_nan();
    match name {
        "num" => !unordered,
        "nan" => unordered,
        _ if unordered => name.ends_with('u') && name.len() == 3,
        _ => match &name[..2] {
            "eq" => x == y,
            "ne" => x != y,
            "lt" => x < y,
            "le" => x <= y,
            "gt" => x > y,
            _ => x >= y,
        },
    }
}

fn compare(output: &str) -> Option<Oracle> {
    let output = output.to_owned();
    let of = |x: &[u64]| [0, 1].map(|i| f32::from_bits(x[i] as u32));
    if let Some(test) = output.strip_prefix("testp_") {
        let test = test.to_owned();
        return Some(Box::new(move |x| {
            let x = f32::from_bits(x[0] as u32);
            u64::from(match test.as_str() {
                "finite" => x.is_finite(),
                "infinite" => x.is_infinite(),
                "number" => !x.is_nan(),
                "notanumber" => x.is_nan(),
                "normal" => x.is_normal() || x == 0.0,
                _ => x.is_subnormal(),
            })
        }));
    }
    if output == "setp_and" {
        return Some(Box::new(move |x| {
            let [x, y] = of(x);
            let other = !(x < 0.0);
            let ge = x >= y;
            u64::from(ge && other) | u64::from(!ge && other) << 1
        }));
    }
    if let Some(name) = output.strip_prefix("setp_") {
        let name = name.to_owned();
        return Some(Box::new(move |x| {
            let [x, y] = of(x);
            if holds(&name, x.into(), y.into()) { 1 } else { 2 }
        }));
    }
    match output.as_str() {
        "copysign" => single(|[x, y, _]| y.copysign(x)),
        "set_f32" => single(|[x, y, _]| f32::from(u8::from(x < y))),
        "set_u32_ftz" => Some(Box::new(move |x| {
            let [x, y] = of(x);
            if flush(x) >= flush(y) { 0xffff_ffff } else { 0 }
        })),
        "slct_f32" => Some(Box::new(move |x| if of(x)[0] >= 0.0 { x[0] } else { x[1] })),
        "slct_s32" => Some(Box::new(|x| if x[0] as u32 as i32 >= 0 { x[0] } else { x[1] })),
        _ => None,
    }
}

fn approximate(output: &str) -> Option<Oracle> {
    let ftz = output.ends_with("ftz");
    let output = output.trim_end_matches("_ftz").to_owned();
    single(move |all| {
        let [x, y, _] = if ftz { all.map(flush) } else { all };
        let (a, b) = (f64::from(x), f64::from(y));
        let result = match output.as_str() {
            "rcp" => 1.0 / a,
            "rsqrt" => 1.0 / a.sqrt(),
            "sqrt" => a.sqrt(),
            "ex2" => a.exp2(),
            "lg2" => a.log2(),
            "tanh" => a.tanh(),
            // Divisors above 2^126 have a reciprocal of 0.
            "div_approx" if y.is_finite() && b.abs() > 2_f64.powi(126) => {
                if a.is_finite() {
                    0.0 * a * b.signum()
                } else {
                    f64::NAN
                }
            }
            _ => a / b,
        } as f32;
        if ftz { flush(result) } else { result }
    })
}
