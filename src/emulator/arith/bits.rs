//! Bit manipulation and the odd integer instructions.

/// `lop3`: bit i of the result is bit (a_i, b_i, c_i) of the table.
#[inline]
pub const fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let mut out = 0;
    let mut row = 0;
    while row < 8 {
        if table >> row & 1 == 1 {
            let x = if row & 4 == 0 { !a } else { a };
            let y = if row & 2 == 0 { !b } else { b };
            let z = if row & 1 == 0 { !c } else { c };
            out |= x & y & z;
        }
        row += 1;
    }
    out
}

/// Modes of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permute {
    /// One selector nibble per byte; its top bit asks for the byte's sign, replicated.
    Index,
    /// Four bytes upwards from the selected one.
    Forward4,
    /// Four bytes downwards.
    Backward4,
    /// One byte, four times.
    Replicate8,
    EdgeLeft,
    EdgeRight,
    /// One half, twice.
    Replicate16,
}

/// `prmt`: picks four of the eight bytes of (b, a).
#[inline]
pub const fn prmt(a: u32, b: u32, selector: u32, mode: Permute) -> u32 {
    let bytes = a as u64 | (b as u64) << 32;
    let pick = selector & 3;
    let mut out = 0;
    let mut i = 0;
    while i < 4 {
        let index = match mode {
            Permute::Index => selector >> (i * 4) & 7,
            Permute::Forward4 => pick + i,
            Permute::Backward4 => (pick + 8 - i) & 7,
            Permute::Replicate8 => pick,
            Permute::EdgeLeft => {
                if pick > i {
                    pick
                } else {
                    i
                }
            }
            Permute::EdgeRight => {
                if pick < i {
                    pick
                } else {
                    i
                }
            }
            Permute::Replicate16 => (pick & 1) * 2 + (i & 1),
        };
        let mut byte = (bytes >> (index * 8)) as u8;
        if matches!(mode, Permute::Index) && selector >> (i * 4) & 8 != 0 {
            byte = ((byte as i8) >> 7) as u8;
        }
        out |= (byte as u32) << (i * 8);
        i += 1;
    }
    out
}

/// `shf.l` (left) and `shf.r` of the double word (high, low), the amount already wrapped or clamped to 0..=32.
#[inline]
pub const fn funnel(low: u32, high: u32, amount: u32, left: bool) -> u32 {
    let word = low as u64 | (high as u64) << 32;
    if left {
        (word << amount >> 32) as u32
    } else {
        (word >> amount) as u32
    }
}

/// A position or length of `bfe` and `bfi`, which PTX restricts to 0..=255. Larger ones are not defined; an H200 takes the
/// low byte for 32-bit values, and the whole number, which is then beyond the value, for 64-bit ones.
#[inline]
pub const fn field(x: u32, bits: u32) -> u32 {
    if bits == 64 { min(x, 0xff) } else { x & 0xff }
}

/// `bfe`: `length` bits from `start`, of a value with `bits` bits.
#[inline]
pub const fn extract(a: u64, start: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (start, length) = (field(start, bits), field(length, bits));
    let sign_at = if length == 0 {
        0
    } else {
        min(start + length - 1, bits - 1)
    };
    let negative = signed && length != 0 && a >> sign_at & 1 == 1;
    let shifted = if start >= bits { 0 } else { a >> start };
    let kept = min(length, bits.saturating_sub(start));
    let low = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    let fill = if negative { !low } else { 0 };
    (shifted & low | fill) & (u64::MAX >> (64 - bits))
}

const fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// `bfi`: the low `length` bits of `a` put into `b` at `start`.
#[inline]
pub const fn insert(a: u64, b: u64, start: u32, length: u32, bits: u32) -> u64 {
    let (start, length) = (field(start, bits), field(length, bits));
    if start >= bits || length == 0 {
        return b;
    }
    let kept = min(length, bits - start);
    let low = if kept >= 64 { u64::MAX } else { (1 << kept) - 1 };
    b & !(low << start) | (a & low) << start
}

/// `bfind`: the position of the highest bit that differs from the sign; all ones where there is none.
#[inline]
pub const fn find_high(a: u64, bits: u32, signed: bool, shift_amount: bool) -> u32 {
    let mask = u64::MAX >> (64 - bits);
    let negative = signed && a >> (bits - 1) & 1 == 1;
    let value = if negative { !a & mask } else { a & mask };
    if value == 0 {
        return u32::MAX;
    }
    let at = value.ilog2();
    if shift_amount { bits - 1 - at } else { at }
}

/// `fns`: the position of the n-th set bit from `base`, upwards for positive and downwards for negative offsets.
#[inline]
pub const fn find_nth(mask: u32, base: u32, offset: i32) -> u32 {
    if offset == 0 {
        return if base < 32 && mask >> base & 1 == 1 {
            base
        } else {
            u32::MAX
        };
    }
    let mut at = base as i64;
    let mut left = offset.unsigned_abs() - 1;
    while at >= 0 && at < 32 {
        if mask >> at & 1 == 1 {
            if left == 0 {
                return at as u32;
            }
            left -= 1;
        }
        at += if offset > 0 { 1 } else { -1 };
    }
    u32::MAX
}

/// `bmsk`: `length` ones from `start`; the operands already wrapped or not, as the mode says.
#[inline]
pub const fn mask(start: u32, length: u32) -> u32 {
    if start >= 32 || length == 0 {
        return 0;
    }
    let ones = if length >= 32 { u32::MAX } else { (1 << length) - 1 };
    ones << start
}

/// `szext`: the low `bits` bits, extended; 32 and more leave the value as it is.
#[inline]
pub const fn extend(a: u32, bits: u32, signed: bool) -> u32 {
    match bits {
        0 => 0,
        1..=31 if signed => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
        1..=31 => a & ((1 << bits) - 1),
        _ => a,
    }
}

/// Byte or half `i` of a word, extended by its own type.
#[inline]
const fn part(a: u32, i: u32, bits: u32, signed: bool) -> i32 {
    extend(a >> (i * bits), bits, signed) as i32
}

/// `dp4a`: four products of bytes, added to `c`.
#[inline]
pub const fn dot4(a: u32, b: u32, c: u32, signed_a: bool, signed_b: bool) -> u32 {
    let mut sum = c;
    let mut i = 0;
    while i < 4 {
        sum = sum.wrapping_add((part(a, i, 8, signed_a) * part(b, i, 8, signed_b)) as u32);
        i += 1;
    }
    sum
}

/// `dp2a`: two halves of `a` times the lower or upper two bytes of `b`, added to `c`.
#[inline]
pub const fn dot2(a: u32, b: u32, c: u32, signed_a: bool, signed_b: bool, high: bool) -> u32 {
    let b = if high { b >> 16 } else { b };
    let first = part(a, 0, 16, signed_a) * part(b, 0, 8, signed_b);
    let second = part(a, 1, 16, signed_a) * part(b, 1, 8, signed_b);
    c.wrapping_add(first as u32).wrapping_add(second as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_give_the_named_functions() {
        let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
        assert_eq!(lop3(a, b, c, 0x80), a & b & c);
        assert_eq!(lop3(a, b, c, 0xfe), a | b | c);
        assert_eq!(lop3(a, b, c, 0x96), a ^ b ^ c);
        assert_eq!(lop3(a, b, c, 0xca), (a & b) | (!a & c));
        assert_eq!(lop3(a, b, c, 0x1a), (a & b | c) ^ a);
    }

    #[test]
    fn permutations_follow_the_tables() {
        let (a, b) = (0x3322_1100, 0x7766_5544);
        assert_eq!(prmt(a, b, 0x7531, Permute::Index), 0x7755_3311);
        assert_eq!(prmt(0x80, 0, 0x8888, Permute::Index), 0xffff_ffff);
        assert_eq!(
            [0, 1, 2, 3].map(|s| prmt(a, b, s, Permute::Forward4)),
            [0x3322_1100, 0x4433_2211, 0x5544_3322, 0x6655_4433]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|s| prmt(a, b, s, Permute::Backward4)),
            [0x5566_7700, 0x6677_0011, 0x7700_1122, 0x0011_2233]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|s| prmt(a, b, s, Permute::Replicate8)),
            [0, 0x1111_1111, 0x2222_2222, 0x3333_3333]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|s| prmt(a, b, s, Permute::EdgeLeft)),
            [0x3322_1100, 0x3322_1111, 0x3322_2222, 0x3333_3333]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|s| prmt(a, b, s, Permute::EdgeRight)),
            [0, 0x1111_1100, 0x2222_1100, 0x3322_1100]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|s| prmt(a, b, s, Permute::Replicate16)),
            [0x1100_1100, 0x3322_3322, 0x1100_1100, 0x3322_3322]
        );
    }

    #[test]
    fn fields() {
        assert_eq!(extract(0x1234_5678, 8, 8, 32, false), 0x56);
        assert_eq!(extract(0x0000_8000, 8, 8, 32, true), 0xffff_ff80);
        assert_eq!(extract(0x8000_0000, 28, 8, 32, true), 0xffff_fff8);
        assert_eq!(extract(0x8000_0000, 40, 8, 32, true), 0xffff_ffff);
        assert_eq!(extract(u64::MAX, 0, 64, 64, false), u64::MAX);
        assert_eq!(extract(u64::MAX, 3, 0, 64, true), 0);
        assert_eq!(insert(0xff, 0, 4, 8, 32), 0xff0);
        assert_eq!(insert(0xff, 0, 28, 8, 32) & 0xffff_ffff, 0xf000_0000);
        assert_eq!(insert(0xff, 7, 99, 8, 32), 7);
    }

    #[test]
    fn searches() {
        assert_eq!(find_high(0x10, 32, false, false), 4);
        assert_eq!(find_high(0x10, 32, false, true), 27);
        assert_eq!(find_high(0xffff_fffe, 32, true, false), 0);
        assert_eq!(find_high(0xffff_ffff, 32, true, false), u32::MAX);
        assert_eq!(find_nth(0b1011_0100, 0, 2), 4);
        assert_eq!(find_nth(0b1011_0100, 7, -2), 5);
        assert_eq!(find_nth(0b100, 2, 0), 2);
        assert_eq!(find_nth(0b100, 3, 1), u32::MAX);
    }

    #[test]
    fn masks_and_dots() {
        assert_eq!(mask(4, 8), 0xff0);
        assert_eq!(mask(0, 40), u32::MAX);
        assert_eq!(mask(40, 1), 0);
        assert_eq!(extend(0xff, 8, true), 0xffff_ffff);
        assert_eq!(extend(0xff, 7, false), 0x7f);
        assert_eq!(dot4(0x0102_03ff, 0x0101_0101, 10, true, false), 10 + 1 + 2 + 3 - 1);
        assert_eq!(dot2(0xffff_0002, 0x0304_0506, 0, true, true, true), (2 * 4 - 3) as u32);
        assert_eq!(funnel(0x8000_0001, 0x1, 1, true), 0x3);
        assert_eq!(funnel(0x8000_0001, 0x1, 1, false), 0xc000_0000);
        assert_eq!(funnel(7, 9, 32, true), 7);
        assert_eq!(funnel(7, 9, 32, false), 9);
    }
}
