//! `atom` and `red` on 32- and 64-bit values.

use super::Lower;
use super::memory::space_of;
use crate::emulator::arith::single::{canonical, flush};
use crate::emulator::code::Class;
use crate::emulator::layout::{is_signed, size_of, type_of};
use crate::emulator::lower::{Address, Lowered, Lowering, Refusal};
use crate::emulator::regs::{AnyReg, LANES};
use crate::emulator::space::MemSpace;
use crate::ptx::ast::{Instruction, Operand, Type};

/// Old value, operands b and c, to the new value.
type Update = fn(u64, u64, u64) -> u64;

fn signed_min32(old: u64, b: u64, _: u64) -> u64 {
    u64::from((old as u32 as i32).min(b as u32 as i32) as u32)
}

fn signed_max32(old: u64, b: u64, _: u64) -> u64 {
    u64::from((old as u32 as i32).max(b as u32 as i32) as u32)
}

fn add_f32(old: u64, b: u64, _: u64) -> u64 {
    // Adds of f32 flush subnormals in global memory on every architecture so far.
    let sum = f32::from_bits(flush(old as u32)) + f32::from_bits(flush(b as u32));
    u64::from(flush(canonical(sum)))
}

fn update(op: &str, ty: Type) -> Result<Update, Refusal> {
    let signed = is_signed(ty);
    let four = size_of(ty) == 4;
    Ok(match (op, ty) {
        ("add", Type::F32) => add_f32,
        ("add", Type::F64) => |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        (_, Type::U32 | Type::S32 | Type::B32 | Type::U64 | Type::S64 | Type::B64) => match op {
            "add" if four => |old, b, _| u64::from((old as u32).wrapping_add(b as u32)),
            "add" => |old, b, _| old.wrapping_add(b),
            "min" if signed && four => signed_min32,
            "max" if signed && four => signed_max32,
            "min" if signed => |old, b, _| (old as i64).min(b as i64) as u64,
            "max" if signed => |old, b, _| (old as i64).max(b as i64) as u64,
            "min" => |old, b, _| old.min(b),
            "max" => |old, b, _| old.max(b),
            "inc" if four => |old, b, _| if old >= b { 0 } else { old + 1 },
            "dec" if four => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
            "and" => |old, b, _| old & b,
            "or" => |old, b, _| old | b,
            "xor" => |old, b, _| old ^ b,
            "exch" => |_, b, _| b,
            "cas" => |old, b, c| if old == b { c } else { old },
            other => return Err(Refusal::modifier(other)),
        },
        ("cas", Type::B16) => |old, b, c| if old == b & 0xffff { c & 0xffff } else { old },
        ("exch", Type::B16) => |_, b, _| b & 0xffff,
        _ => return Err(Refusal::Unsupported(format!(".{op} on {ty:?}"))),
    })
}

pub(super) fn atom(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let [d, rest @ ..] = instruction.operands.as_slice() else {
        return Err(Refusal::Invalid("no operands".to_owned()));
    };
    let d = if *d == Operand::Sink {
        None
    } else {
        Some(cx.register(d)?)
    };
    lower(instruction, cx, d, rest)
}

pub(super) fn red(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    lower(instruction, cx, None, &instruction.operands)
}

fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>, d: Option<AnyReg>, operands: &[Operand]) -> Lower {
    let (mut space, mut op, mut ty) = (MemSpace::Generic, None, None);
    for modifier in &instruction.modifiers {
        let name = modifier.as_str();
        if let Some(named) = space_of(name) {
            space = named;
        } else if let Some(named) = type_of(name) {
            ty = Some(named);
        } else {
            match name {
                "relaxed" | "acquire" | "release" | "acq_rel" | "cta" | "cluster" | "gpu" | "sys" => {}
                hint if hint.starts_with("L1::") || hint.starts_with("L2::") => {}
                "add" | "min" | "max" | "inc" | "dec" | "and" | "or" | "xor" | "exch" | "cas" => op = Some(name),
                other => return Err(Refusal::modifier(other)),
            }
        }
    }
    let (Some(op), Some(ty)) = (op, ty) else {
        return Err(Refusal::Invalid("no operation or no type".to_owned()));
    };
    let f = update(op, ty)?;
    let (address, b, c) = match operands {
        [address, b, c, ..] if op == "cas" => (address, b, Some(c)),
        [address, b, ..] => (address, b, None),
        _ => return Err(Refusal::Invalid("wrong number of operands".to_owned())),
    };
    let (address, space) = cx.address(address, space)?;
    let mut source = |operand: &Operand| -> Result<AnyReg, Refusal> {
        if size_of(ty) == 8 {
            cx.src64(operand).map(AnyReg::W64)
        } else {
            cx.src32(operand).map(AnyReg::W32)
        }
    };
    let b = source(b)?;
    let c = c.map(source).transpose()?;
    Ok(run(space, address, size_of(ty), (d, b, c), f))
}

fn run(
    space: MemSpace,
    address: Address,
    bytes: u32,
    (d, b, c): (Option<AnyReg>, AnyReg, Option<AnyReg>),
    f: Update,
) -> Lowered {
    Lowered::run(Class::Memory, move |ctx, mask| {
        let at = address.eval(ctx);
        let values = |register: Option<AnyReg>| -> [u64; LANES] {
            match register {
                Some(AnyReg::W32(r)) => ctx.regs.r32[r.0 as usize].map(u64::from),
                Some(AnyReg::W64(r)) => ctx.regs.r64[r.0 as usize],
                _ => [0; LANES],
            }
        };
        let (b, c) = (values(Some(b)), values(c));
        let old = ctx.atomic(space, &at, mask, bytes, |lane, old| f(old, b[lane], c[lane]))?;
        match d {
            Some(AnyReg::W32(d)) => ctx.regs.set(d, &old.map(|v| v as u32), mask),
            Some(AnyReg::W64(d)) => ctx.regs.set(d, &old, mask),
            _ => {}
        }
        Ok(())
    })
}
