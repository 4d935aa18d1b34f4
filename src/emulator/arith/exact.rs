//! The IEEE 754 operations on bit patterns of any format and in any rounding mode, in integer arithmetic.
//!
//! For what the host's units cannot do: double precision in a directed mode. The same code serves as the reference that
//! the fast paths are tested against.

use std::cmp::Ordering;

use super::float::{Exact, Format, Rounding, Value};

/// Bit that the larger addend's top is moved to: two bits of headroom for the carry and the borrow.
const TOP: i32 = 125;

fn signed_zero(format: Format, negative: bool) -> u64 {
    if negative { format.sign_bit() } else { 0 }
}

fn infinity(format: Format, negative: bool) -> u64 {
    format.infinity() | signed_zero(format, negative)
}

/// Bits of the significand.
fn width(value: Exact) -> i32 {
    128 - value.significand.leading_zeros() as i32
}

/// The sum of two exact values, neither of more than 106 bits, with a sticky bit where they are far apart.
/// `None` where it is exactly zero.
fn sum(a: Exact, b: Exact) -> Option<Exact> {
    let top = |value: Exact| width(value) + value.exponent;
    let (large, small) = if top(a) >= top(b) { (a, b) } else { (b, a) };
    let left = TOP - width(large);
    let significand = large.significand << left;
    let exponent = large.exponent - left;
    let shift = small.exponent - exponent;
    let (other, sticky) = if shift >= 0 {
        (small.significand << shift, false)
    } else if shift <= -128 {
        (0, true)
    } else {
        let lost = small.significand & ((1_u128 << -shift) - 1);
        (small.significand >> -shift, lost != 0)
    };
    if large.negative == small.negative {
        return Some(Exact {
            negative: large.negative,
            significand: significand + other,
            exponent,
            sticky,
        });
    }
    // Where bits were lost, the difference lies just above the one that takes a whole unit more away.
    match significand.cmp(&(other + u128::from(sticky))) {
        Ordering::Equal if !sticky => None,
        Ordering::Less => Some(Exact {
            negative: small.negative,
            significand: other - significand,
            exponent,
            sticky: false,
        }),
        _ => Some(Exact {
            negative: large.negative,
            significand: significand - other - u128::from(sticky),
            exponent,
            sticky,
        }),
    }
}

/// The sign of an exact zero sum of addends with these signs.
fn zero_sum(format: Format, a: bool, b: bool, rounding: Rounding) -> u64 {
    signed_zero(format, if a == b { a } else { rounding == Rounding::Down })
}

pub fn add(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    match (format.decode(a), format.decode(b)) {
        (Value::Nan, _) | (_, Value::Nan) => format.nan(),
        (Value::Infinite { negative }, Value::Infinite { negative: other }) => {
            if negative == other {
                infinity(format, negative)
            } else {
                format.nan()
            }
        }
        (Value::Infinite { negative }, _) | (_, Value::Infinite { negative }) => infinity(format, negative),
        (Value::Zero { negative }, Value::Zero { negative: other }) => zero_sum(format, negative, other, rounding),
        (Value::Zero { .. }, Value::Finite(_)) => b,
        (Value::Finite(_), Value::Zero { .. }) => a,
        (Value::Finite(x), Value::Finite(y)) => match sum(x, y) {
            Some(value) => format.round(value, rounding),
            None => zero_sum(format, x.negative, y.negative, rounding),
        },
    }
}

fn is_negative(format: Format, bits: u64) -> bool {
    bits & format.sign_bit() != 0
}

fn product(x: Exact, y: Exact) -> Exact {
    Exact {
        negative: x.negative != y.negative,
        significand: x.significand * y.significand,
        exponent: x.exponent + y.exponent,
        sticky: false,
    }
}

pub fn mul(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    let negative = is_negative(format, a) != is_negative(format, b);
    match (format.decode(a), format.decode(b)) {
        (Value::Nan, _)
        | (_, Value::Nan)
        | (Value::Infinite { .. }, Value::Zero { .. })
        | (Value::Zero { .. }, Value::Infinite { .. }) => format.nan(),
        (Value::Infinite { .. }, _) | (_, Value::Infinite { .. }) => infinity(format, negative),
        (Value::Zero { .. }, _) | (_, Value::Zero { .. }) => signed_zero(format, negative),
        (Value::Finite(x), Value::Finite(y)) => format.round(product(x, y), rounding),
    }
}

/// `a · b + c` with one rounding.
pub fn fma(format: Format, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    let negative = is_negative(format, a) != is_negative(format, b);
    if format.is_nan(c) {
        return format.nan();
    }
    let exact = match (format.decode(a), format.decode(b)) {
        (Value::Nan, _)
        | (_, Value::Nan)
        | (Value::Infinite { .. }, Value::Zero { .. })
        | (Value::Zero { .. }, Value::Infinite { .. }) => return format.nan(),
        (Value::Infinite { .. }, _) | (_, Value::Infinite { .. }) => {
            return add(format, infinity(format, negative), c, rounding);
        }
        (Value::Zero { .. }, _) | (_, Value::Zero { .. }) => {
            return add(format, signed_zero(format, negative), c, rounding);
        }
        (Value::Finite(x), Value::Finite(y)) => product(x, y),
    };
    match format.decode(c) {
        Value::Finite(z) => match sum(exact, z) {
            Some(value) => format.round(value, rounding),
            None => zero_sum(format, negative, z.negative, rounding),
        },
        Value::Infinite { negative } => infinity(format, negative),
        _ => format.round(exact, rounding),
    }
}

pub fn div(format: Format, a: u64, b: u64, rounding: Rounding) -> u64 {
    let negative = is_negative(format, a) != is_negative(format, b);
    match (format.decode(a), format.decode(b)) {
        (Value::Nan, _)
        | (_, Value::Nan)
        | (Value::Infinite { .. }, Value::Infinite { .. })
        | (Value::Zero { .. }, Value::Zero { .. }) => format.nan(),
        (Value::Infinite { .. }, _) | (_, Value::Zero { .. }) => infinity(format, negative),
        (Value::Zero { .. }, _) | (_, Value::Infinite { .. }) => signed_zero(format, negative),
        (Value::Finite(x), Value::Finite(y)) => {
            let left = x.significand.leading_zeros();
            let dividend = x.significand << left;
            let quotient = dividend / y.significand;
            let value = Exact {
                negative,
                significand: quotient,
                exponent: x.exponent - left as i32 - y.exponent,
                sticky: quotient * y.significand != dividend,
            };
            format.round(value, rounding)
        }
    }
}

pub fn sqrt(format: Format, a: u64, rounding: Rounding) -> u64 {
    match format.decode(a) {
        Value::Zero { .. } | Value::Infinite { negative: false } => a,
        Value::Finite(x) if !x.negative => {
            // An even exponent, and as many bits as fit: the root then has over 60.
            let spare = x.significand.leading_zeros() as i32;
            let left = spare - ((x.exponent - spare) & 1);
            let radicand = x.significand << left;
            let root = radicand.isqrt();
            let value = Exact {
                negative: false,
                significand: root,
                exponent: (x.exponent - left) / 2,
                sticky: root * root != radicand,
            };
            format.round(value, rounding)
        }
        _ => format.nan(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Doubles of all sorts, with exponents often close together so that sums cancel.
    fn double() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            (any::<u64>(), 1000_u64..1060).prop_map(|(bits, exponent)| bits & 0x800f_ffff_ffff_ffff | exponent << 52),
            (any::<u64>(), 0_u64..60).prop_map(|(bits, exponent)| bits & 0x800f_ffff_ffff_ffff | exponent << 52),
            prop::sample::select(vec![
                0,
                1,
                1 << 63,
                0x7ff0_0000_0000_0000,
                0xfff0_0000_0000_0000,
                0x7ff8_0000_0000_0001,
                0x3ff0_0000_0000_0000,
                0x000f_ffff_ffff_ffff,
                0x7fef_ffff_ffff_ffff
            ]),
        ]
    }

    fn same(got: u64, want: f64) -> bool {
        if want.is_nan() {
            Format::F64.is_nan(got)
        } else {
            got == want.to_bits()
        }
    }

    const NEAREST: Rounding = Rounding::NearestEven;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn nearest_agrees_with_the_host(a in double(), b in double(), c in double()) {
            let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
            let f = Format::F64;
            prop_assert!(same(add(f, a, b, NEAREST), x + y), "{x:e} + {y:e}");
            prop_assert!(same(mul(f, a, b, NEAREST), x * y), "{x:e} * {y:e}");
            prop_assert!(same(div(f, a, b, NEAREST), x / y), "{x:e} / {y:e}");
            prop_assert!(same(sqrt(f, a, NEAREST), x.sqrt()), "sqrt {x:e}");
            prop_assert!(same(fma(f, a, b, c, NEAREST), x.mul_add(y, z)), "{x:e} * {y:e} + {z:e}");
        }

        #[test]
        fn directed_modes_bracket_the_nearest(a in double(), b in double(), c in double()) {
            let f = Format::F64;
            let all = |mode| [add(f, a, b, mode), mul(f, a, b, mode), div(f, a, b, mode), sqrt(f, a, mode), fma(f, a, b, c, mode)];
            let (nearest, zero, down, up) = (all(NEAREST), all(Rounding::Zero), all(Rounding::Down), all(Rounding::Up));
            for i in 0..nearest.len() {
                let [n, z, d, u] = [nearest[i], zero[i], down[i], up[i]].map(f64::from_bits);
                if n.is_nan() {
                    prop_assert!(z.is_nan() && d.is_nan() && u.is_nan());
                    continue;
                }
                prop_assert!(n == d || n == u);
                prop_assert!(d == u || d.next_up() == u, "{d:e} {u:e}");
                let towards_zero = if n.is_sign_negative() && n != 0.0 { u } else { d };
                prop_assert!(z == towards_zero || (n == 0.0 && z == 0.0), "{z:e}");
            }
        }
    }

    #[test]
    fn a_tiny_addend_decides_a_directed_rounding() {
        let one = 1_f64.to_bits();
        let tiny = f64::MIN_POSITIVE.to_bits();
        let f = Format::F64;
        assert_eq!(add(f, one, tiny, Rounding::Up), 1_f64.next_up().to_bits());
        assert_eq!(add(f, one, tiny, Rounding::Down), one);
        assert_eq!(add(f, one, tiny | 1 << 63, Rounding::Zero), 1_f64.next_down().to_bits());
        assert_eq!(add(f, one, one | 1 << 63, Rounding::Down), 1 << 63);
    }
}
