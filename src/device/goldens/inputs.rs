//! Inputs of goldens: every pair of special values, then random bits, the same on every machine.

use super::{Element, Input};
use crate::dtype::DType;

/// Special values of a float format, as bits: zeros, subnormals, ones, ties, the largest, infinities, NaN.
fn float_specials(exponent_bits: u32, mantissa_bits: u32) -> Vec<u64> {
    let sign = 1_u64 << (exponent_bits + mantissa_bits);
    let infinity = sign - (1 << mantissa_bits);
    let one = (infinity >> 1) & !((1 << mantissa_bits) - 1);
    let half_ulp_up = 1 << (mantissa_bits - 1);
    let binade = 1 << mantissa_bits;
    let positive = [
        0,
        1,
        binade - 1,
        binade,
        one,
        one + 1,
        one - binade,
        one + half_ulp_up,
        // 2.5
        one + binade + (binade >> 2),
        one + 3 * binade,
        infinity - 1,
        infinity,
    ];
    let mut all: Vec<u64> = positive.into_iter().flat_map(|bits| [bits, bits | sign]).collect();
    all.extend([infinity | half_ulp_up, sign | infinity | 1]);
    all
}

fn int_specials(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let top = 1_u64 << (bits - 1);
    let mut all = vec![
        0,
        1,
        2,
        3,
        7,
        8,
        24,
        31,
        32,
        33,
        0x7f,
        0x80,
        0xff,
        0x100,
        0x5555_5555_5555_5555,
        0x0123_4567_89ab_cdef,
    ];
    all.extend([
        top - 1,
        top,
        top + 1,
        u64::MAX,
        u64::MAX - 1,
        u64::MAX << 7,
        0xffff_8000,
        0x7fff_ffff,
    ]);
    for value in &mut all {
        *value &= mask;
    }
    all
}

fn specials(element: Element) -> Vec<u64> {
    match element {
        Element::B8 => int_specials(8),
        Element::B16 => int_specials(16),
        Element::B32 => int_specials(32),
        Element::B64 => int_specials(64),
        Element::F16 => float_specials(5, 10),
        Element::Bf16 => float_specials(8, 7),
        Element::F32 => float_specials(8, 23),
        Element::F64 => float_specials(11, 52),
    }
}

/// SplitMix64's output function (Steele, Lea, Flood 2014) of input and element.
fn random(input: usize, element: u64) -> u64 {
    let mut z = (element + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add((input as u64 + 1) << 56);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Half of the values are any bits, the other half floats of moderate size, so that results are rarely all overflow.
fn random_element(element: Element, input: usize, index: u64) -> u64 {
    let bits = random(input, index);
    let value = bits & (u64::MAX >> (64 - 8 * element.size()));
    let (exponent_bits, mantissa_bits) = match element {
        Element::F16 => (5, 10),
        Element::Bf16 => (8, 7),
        Element::F32 => (8, 23),
        Element::F64 => (11, 52),
        _ => return value,
    };
    if index.is_multiple_of(2) {
        return value;
    }
    let bias = (1_u64 << (exponent_bits - 1)) - 1;
    let exponent = bias - 6 + bits.rotate_left(17) % 13;
    let keep = value & !(((1 << exponent_bits) - 1) << mantissa_bits);
    keep | exponent << mantissa_bits
}

fn ranged(element: Element, [low, high]: [f64; 2], input: usize, index: u64) -> u64 {
    let unit = (random(input, index) >> 11) as f64 / (1_u64 << 53) as f64;
    let dtype = match element {
        Element::F16 => DType::F16,
        Element::Bf16 => DType::Bf16,
        Element::F32 => DType::F32,
        Element::F64 => DType::F64,
        _ => {
            let value = (low + (unit * (high - low + 1.0)).floor()) as i64;
            return value as u64 & (u64::MAX >> (64 - 8 * element.size()));
        }
    };
    dtype.encode(low + unit * (high - low))
}

/// The elements of one input. The first ones run through all pairs of special values between inputs 0 and 1.
pub(super) fn elements(input: &Input, index: usize, count: u32) -> Vec<u64> {
    let mut special = specials(input.element);
    special.extend(&input.also);
    let kinds = special.len() as u64;
    (0..u64::from(count))
        .map(|i| {
            if let Some(range) = input.range {
                return ranged(input.element, range, index, i);
            }
            // Packed elements advance together, so that both halves see all pairs.
            if i >= kinds * kinds {
                return random_element(input.element, index, i);
            }
            let pick = match index {
                0 => i % kinds,
                1 => i / kinds,
                _ => (i / kinds + i * (2 * index as u64 - 1)) % kinds,
            };
            special[pick as usize]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specials_are_what_they_claim() {
        let values: Vec<f32> = specials(Element::F32)
            .into_iter()
            .map(|bits| f32::from_bits(bits as u32))
            .collect();
        for wanted in [
            0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            8.0,
            f32::MAX,
            f32::MIN_POSITIVE,
            f32::INFINITY,
            -f32::INFINITY,
        ] {
            assert!(values.contains(&wanted), "{wanted}");
        }
        assert_eq!(values.iter().filter(|value| value.is_nan()).count(), 2);
        assert_eq!(values.iter().filter(|value| value.is_subnormal()).count(), 4);
    }

    #[test]
    fn inputs_are_fixed_for_ever() {
        let input = Input {
            name: "a".to_owned(),
            element: Element::B32,
            per: 1,
            range: None,
            also: vec![],
        };
        let all = elements(&input, 0, 1024);
        assert_eq!(all, elements(&input, 0, 1024));
        assert_eq!((random(0, 1000), random(1, 1000)), (random(0, 1000), random(1, 1000)));
        assert_ne!(all[1000], elements(&input, 1, 1024)[1000]);
        let ranged = Input {
            range: Some([-2.0, 5.0]),
            ..input
        };
        assert!(
            elements(&ranged, 0, 512)
                .iter()
                .all(|bits| (-2..=5).contains(&(*bits as u32 as i32)))
        );
    }
}
