//! Elements as the judge sees them: encoding that saturates, the order of codes, and parallel loops over a tensor's bytes.
//!
//! `judge/judge.cu` holds the same arithmetic for CUDA devices; both must agree bit for bit, so everything here is integer
//! arithmetic or a single correctly rounded floating-point operation.

use crate::dtype::DType;

/// 2^64 divided by the golden ratio: the step of `splitmix64` (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `splitmix64`: a bijection of 64-bit words in which every input bit changes every output bit half the time.
pub const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// `random` scaled to `0..range` by the high half of the product (Lemire 2019, without the rejection step: the bias is below 2^-32 for ranges under 2^32).
pub const fn scale(random: u64, range: u64) -> u64 {
    ((random as u128 * range as u128) >> 64) as u64
}

/// The layout of the floating-point types narrower than 32 bits, as the encoder needs it.
struct Narrow {
    mantissa_bits: u32,
    bias: i64,
    max_code: u64,
}

const fn narrow(dtype: DType) -> Option<Narrow> {
    let (mantissa_bits, bias) = match dtype {
        DType::F16 => (10, 15),
        DType::Bf16 => (7, 127),
        DType::E4m3fn => (3, 7),
        DType::E4m3fnuz => (3, 8),
        DType::E5m2 => (2, 15),
        _ => return None,
    };
    match dtype.mini() {
        Some(mini) => Some(Narrow {
            mantissa_bits,
            bias,
            max_code: mini.max_code() as u64,
        }),
        None => None,
    }
}

/// The bits nearest to a finite value, ties to even. Narrow floats saturate at their largest finite value, integers at their
/// range; f32 overflows to infinity.
pub fn encode(dtype: DType, value: f64) -> u64 {
    match narrow(dtype) {
        Some(format) => encode_narrow(dtype, &format, value),
        None => dtype.encode(value),
    }
}

fn encode_narrow(dtype: DType, format: &Narrow, value: f64) -> u64 {
    /// Mantissa bits of an f64.
    const WIDE: u32 = 52;
    let bits = value.to_bits();
    let field = (bits >> WIDE) & 0x7ff;
    let full = (bits & ((1 << WIDE) - 1)) | (1 << WIDE);
    let exponent = field as i64 - 1023;
    let lowest = 1 - format.bias;
    let target = exponent.max(lowest);
    let shift = i64::from(WIDE - format.mantissa_bits) + (target - exponent);
    // From 54 on, half a step is more than any 53-bit mantissa; f64 subnormals (field 0) are far below every narrow format.
    let code = if field == 0 || shift >= 54 {
        0
    } else {
        let steps = full >> shift;
        let rest = full & ((1 << shift) - 1);
        let half = 1_u64 << (shift - 1);
        let up = u64::from(rest > half || (rest == half && steps & 1 == 1));
        (steps + up + (((target - lowest) as u64) << format.mantissa_bits)).min(format.max_code)
    };
    if code == 0 && dtype == DType::E4m3fnuz {
        return 0;
    }
    code | ((bits >> 63) << (dtype.size() * 8 - 1))
}

/// An integer as an element: saturated in integer types, rounded in floating-point ones.
pub fn encode_integer(dtype: DType, value: i64) -> u64 {
    match dtype {
        DType::I64 => value as u64,
        DType::I32 => u64::from(value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32),
        DType::I8 => u64::from(value.clamp(-128, 127) as u8),
        DType::U32 => value.clamp(0, i64::from(u32::MAX)) as u64,
        DType::U8 => value.clamp(0, 255) as u64,
        _ => encode(dtype, value as f64),
    }
}

/// Half of an element, rounded to its type. NaN and infinity stay.
pub fn half(dtype: DType, bits: u64) -> u64 {
    let value = dtype.decode(bits);
    if value.is_finite() {
        encode(dtype, value * 0.5)
    } else {
        bits
    }
}

/// Whether the bits are a NaN of their type.
pub fn is_nan(dtype: DType, bits: u64) -> bool {
    dtype.is_float() && dtype.decode(bits).is_nan()
}

/// The bits of an element as a number that grows with the element's value, so that neighbours differ by 1. Not for NaN.
pub fn order(dtype: DType, bits: u64) -> i64 {
    let width = dtype.size() as u32 * 8;
    match dtype {
        DType::U32 | DType::U8 => bits as i64,
        DType::I64 | DType::I32 | DType::I8 => ((bits << (64 - width)) as i64) >> (64 - width),
        _ => {
            let sign = 1_u64 << (width - 1);
            let magnitude = (bits & (sign - 1)) as i64;
            if bits & sign == 0 { magnitude } else { -magnitude }
        }
    }
}

/// Distance of two elements in steps of their type: 0 for equal values (both zeros, two NaNs), all ones of the type's width
/// where exactly one is NaN.
pub fn distance(dtype: DType, a: u64, b: u64) -> u64 {
    match (is_nan(dtype, a), is_nan(dtype, b)) {
        (true, true) => 0,
        (false, false) => order(dtype, a).abs_diff(order(dtype, b)),
        _ => u64::MAX >> (64 - dtype.size() * 8),
    }
}

/// Element `index` of little-endian bytes that are known to hold it.
pub fn at(dtype: DType, bytes: &[u8], index: usize) -> u64 {
    let size = dtype.size();
    let mut wide = [0_u8; 8];
    wide[..size].copy_from_slice(&bytes[index * size..][..size]);
    u64::from_le_bytes(wide)
}

/// Threads for the loops of the judge on the host.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

/// Calls `fill(index)` for every element of `bytes` and stores the bits it gives, on all cores.
pub fn fill(dtype: DType, bytes: &mut [u8], fill: impl Fn(u64) -> u64 + Sync) {
    /// Under this many elements a thread costs more than it saves.
    const WORTH_A_THREAD: usize = 1 << 14;
    let size = dtype.size();
    let elements = bytes.len() / size;
    let share = elements.div_ceil(threads()).max(WORTH_A_THREAD);
    let part = |first: usize, part: &mut [u8]| {
        for (offset, element) in part.chunks_exact_mut(size).enumerate() {
            element.copy_from_slice(&fill((first + offset) as u64).to_le_bytes()[..size]);
        }
    };
    if elements <= share {
        part(0, bytes);
        return;
    }
    std::thread::scope(|scope| {
        for (index, chunk) in bytes.chunks_mut(share * size).enumerate() {
            scope.spawn(move || part(index * share, chunk));
        }
    });
}

/// The order-dependent checksum of a buffer's bytes: each 8-byte word (the last one padded with zeros) is mixed with its
/// position, and the sum is mixed with the length.
pub fn checksum(bytes: &[u8]) -> u64 {
    let sum = bytes.chunks(8).enumerate().fold(0_u64, |sum, (index, chunk)| {
        let mut word = [0_u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum.wrapping_add(checksum_word(index as u64, u64::from_le_bytes(word)))
    });
    checksum_end(sum, bytes.len() as u64)
}

const fn checksum_word(index: u64, word: u64) -> u64 {
    mix(mix(index.wrapping_add(GOLDEN)) ^ word)
}

/// The last step of [`checksum`]: `sum` is the sum over words.
pub const fn checksum_end(sum: u64, length: u64) -> u64 {
    mix(sum ^ length.wrapping_mul(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_encoding_agrees_with_the_exact_one() {
        let narrow = DType::ALL.into_iter().filter(|dtype| dtype.mini().is_some());
        for dtype in narrow {
            let mini = dtype.mini().unwrap();
            let check = |value: f64| {
                assert_eq!(
                    encode(dtype, value),
                    u64::from(mini.encode_saturating(value)),
                    "{dtype} {value:e}"
                );
            };
            for code in 0..=mini.max_code() {
                let value = mini.decode(code);
                let next = mini.decode((code + 1).min(mini.max_code()));
                let middle = f64::midpoint(value, next);
                for near in [
                    value,
                    middle,
                    middle * (1.0 + f64::EPSILON),
                    middle * (1.0 - f64::EPSILON),
                ] {
                    check(near);
                    check(-near);
                }
            }
            for value in [1e-300, -1e-300, 1e300, 0.0, -0.0, f64::MIN_POSITIVE / 4.0] {
                check(value);
            }
            let mut state = 7_u64;
            for _ in 0..20_000 {
                state = mix(state.wrapping_add(GOLDEN));
                let value = f64::from_bits(state);
                if value.is_finite() {
                    check(value);
                }
            }
        }
    }

    #[test]
    fn neighbours_in_value_are_one_apart() {
        let bf16 = DType::Bf16;
        assert_eq!(distance(bf16, bf16.encode(1.0), bf16.encode(1.0 + 1.0 / 128.0)), 1);
        assert_eq!(distance(bf16, 0x0001, 0x8001), 2);
        assert_eq!(distance(bf16, 0x0000, 0x8000), 0);
        assert_eq!(distance(DType::I8, 0x7f, 0x80), 255);
        assert_eq!(distance(DType::I64, i64::MAX as u64, i64::MIN as u64), u64::MAX);
        assert_eq!(distance(DType::E4m3fnuz, 0x80, 0x00), 0xff);
        assert_eq!(distance(DType::F32, 0x7fc0_0000, 0x7fc0_0001), 0);
    }

    #[test]
    fn checksums_see_order_value_and_length() {
        let base: Vec<u8> = (0..100).collect();
        let mut swapped = base.clone();
        swapped.swap(0, 8);
        let mut changed = base.clone();
        changed[99] ^= 1;
        let mut longer = base.clone();
        longer.push(0);
        let sums = [&base, &swapped, &changed, &longer].map(|bytes| checksum(bytes));
        for (index, sum) in sums.iter().enumerate() {
            assert!(!sums[..index].contains(sum));
        }
    }

    #[test]
    fn fill_visits_every_element_once() {
        let mut bytes = vec![0_u8; 4 * 100_001];
        fill(DType::U32, &mut bytes, |index| index * 3);
        for index in [0, 1, 16_383, 16_384, 99_999, 100_000] {
            assert_eq!(at(DType::U32, &bytes, index), index as u64 * 3);
        }
    }
}
