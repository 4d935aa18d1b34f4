//! What each atomic operation makes of the old value.

use crate::emulator::arith::half::{self, Extremum, Finish, both2};
use crate::emulator::arith::single::{canonical, flush};
use crate::emulator::arith::{Format, half::extremum};
use crate::emulator::isa::support::Num;
use crate::emulator::lower::Refusal;

/// The old value, and operands b and c, to the new value.
pub(super) type Update = fn(u64, u64, u64) -> u64;

fn add_f32(old: u64, b: u64) -> u64 {
    u64::from(canonical(f32::from_bits(old as u32) + f32::from_bits(b as u32)))
}

fn add_half(format: Format, old: u64, b: u64) -> u64 {
    half::add(format, Finish::default(), old, b & 0xffff)
}

fn pick(format: Format, max: bool, old: u64, b: u64) -> u64 {
    extremum(
        format,
        Extremum {
            max,
            ..Extremum::default()
        },
        old,
        b & 0xffff,
    )
}

fn pairs(old: u64, b: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
    u64::from(both2(old as u32, b as u32, f))
}

/// The operation on a type. `flushing` is for `f32` sums in global memory, which lose subnormals; the PTX manual says
/// so of `atom.add.f32`, and that sums in shared memory keep them.
pub(super) fn update(op: &str, ty: Num, flushing: bool) -> Result<Update, Refusal> {
    const F16: Format = Format::F16;
    const BF16: Format = Format::BF16;
    let found: Option<Update> = match (op, ty) {
        ("add", Num::Float(Format::F32)) if flushing => {
            Some(|old, b, _| u64::from(flush(add_f32(flush(old as u32).into(), flush(b as u32).into()) as u32)))
        }
        ("add", Num::Float(Format::F32)) => Some(|old, b, _| add_f32(old, b)),
        ("add", Num::Float(Format::F64)) => Some(|old, b, _| {
            let sum = f64::from_bits(old) + f64::from_bits(b);
            if sum.is_nan() { Format::F64.nan() } else { sum.to_bits() }
        }),
        ("add", Num::Float(F16)) => Some(|old, b, _| add_half(F16, old, b)),
        ("add", Num::Float(BF16)) => Some(|old, b, _| add_half(BF16, old, b)),
        ("add", Num::Pair(F16)) => Some(|old, b, _| pairs(old, b, |x, y| add_half(F16, x, y))),
        ("add", Num::Pair(BF16)) => Some(|old, b, _| pairs(old, b, |x, y| add_half(BF16, x, y))),
        ("min", Num::Float(F16)) => Some(|old, b, _| pick(F16, false, old, b)),
        ("max", Num::Float(F16)) => Some(|old, b, _| pick(F16, true, old, b)),
        ("min", Num::Float(BF16)) => Some(|old, b, _| pick(BF16, false, old, b)),
        ("max", Num::Float(BF16)) => Some(|old, b, _| pick(BF16, true, old, b)),
        ("min", Num::Pair(F16)) => Some(|old, b, _| pairs(old, b, |x, y| pick(F16, false, x, y))),
        ("max", Num::Pair(F16)) => Some(|old, b, _| pairs(old, b, |x, y| pick(F16, true, x, y))),
        ("min", Num::Pair(BF16)) => Some(|old, b, _| pairs(old, b, |x, y| pick(BF16, false, x, y))),
        ("max", Num::Pair(BF16)) => Some(|old, b, _| pairs(old, b, |x, y| pick(BF16, true, x, y))),
        (_, Num::Int(int)) if int.bits == 32 => word(op, int.signed),
        (_, Num::Int(int)) if int.bits == 64 => long(op, int.signed),
        (_, Num::Bits(16 | 32 | 64)) => bits(op),
        _ => None,
    };
    found.ok_or_else(|| Refusal::Unsupported(format!(".{op} on this type")))
}

fn word(op: &str, signed: bool) -> Option<Update> {
    Some(match (op, signed) {
        ("add", _) => |old, b, _| u64::from((old as u32).wrapping_add(b as u32)),
        ("min", true) => |old, b, _| u64::from((old as u32 as i32).min(b as u32 as i32) as u32),
        ("max", true) => |old, b, _| u64::from((old as u32 as i32).max(b as u32 as i32) as u32),
        ("min", false) => |old, b, _| old.min(b),
        ("max", false) => |old, b, _| old.max(b),
        ("inc", false) => |old, b, _| if old >= b { 0 } else { old + 1 },
        ("dec", false) => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
        _ => return None,
    })
}

fn long(op: &str, signed: bool) -> Option<Update> {
    Some(match (op, signed) {
        ("add", _) => |old, b, _| old.wrapping_add(b),
        ("min", true) => |old, b, _| (old as i64).min(b as i64) as u64,
        ("max", true) => |old, b, _| (old as i64).max(b as i64) as u64,
        ("min", false) => |old, b, _| old.min(b),
        ("max", false) => |old, b, _| old.max(b),
        _ => return None,
    })
}

/// Untyped operations; the caller keeps values within their width.
fn bits(op: &str) -> Option<Update> {
    Some(match op {
        "and" => |old, b, _| old & b,
        "or" => |old, b, _| old | b,
        "xor" => |old, b, _| old ^ b,
        "exch" => |_, b, _| b,
        "cas" => |old, b, c| if old == b { c } else { old },
        _ => return None,
    })
}
