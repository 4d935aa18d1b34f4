//! Bitwise logic and shifts: `and`, `or`, `xor`, `not`, `cnot`, `shl`, `shr`.

use super::{Lower, last_type, operands};
use crate::emulator::code::Class;
use crate::emulator::exec::Ctx;
use crate::emulator::layout::{is_signed, size_of};
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{Reg, map1, map2};
use crate::ptx::ast::{Instruction, Type};

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let ty = last_type(instruction).ok_or_else(|| Refusal::Invalid("no type".to_owned()))?;
    if instruction.modifiers.len() != 1 {
        return Err(Refusal::modifier(&instruction.modifiers[0]));
    }
    match instruction.opcode.as_str() {
        "and" => binary(instruction, cx, ty, |a, b| a & b, |a, b| a & b),
        "or" => binary(instruction, cx, ty, |a, b| a | b, |a, b| a | b),
        "xor" => binary(instruction, cx, ty, |a, b| a ^ b, |a, b| a ^ b),
        "not" | "cnot" => not(instruction, cx, ty),
        _ => shift(instruction, cx, ty),
    }
}

fn run2<D: Reg, A: Reg, B: Reg>(
    d: D,
    a: A,
    b: B,
    f: impl Fn(A::Value, B::Value) -> D::Value + Copy + Send + Sync + 'static,
) -> Lowered {
    Lowered::run(Class::Integer, move |ctx, mask| {
        map2(&mut ctx.regs, mask, d, a, b, f);
        Ok(())
    })
}

fn binary(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    ty: Type,
    narrow: impl Fn(u32, u32) -> u32 + Copy + Send + Sync + 'static,
    wide: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Lower {
    let [d, a, b] = operands(instruction)?;
    Ok(match ty {
        Type::Pred => {
            let d = cx.dst_pred(d)?;
            let (a, b) = (cx.src_pred(a)?, cx.src_pred(b)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                let value = narrow(mask_of(ctx, a), mask_of(ctx, b));
                ctx.regs.set_pred(d, value, mask);
                Ok(())
            })
        }
        _ if size_of(ty) == 8 => run2(cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, wide),
        _ if size_of(ty) <= 4 => {
            // A literal may have bits beyond a 16-bit register.
            let bits = if size_of(ty) == 2 { 0xffff } else { u32::MAX };
            run2(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, move |a, b| {
                narrow(a, b) & bits
            })
        }
        _ => return Err(Refusal::opcode()),
    })
}

/// The lanes in which a (possibly negated) predicate holds.
pub(super) fn mask_of(ctx: &Ctx<'_>, (pred, negated): (crate::emulator::regs::Pred, bool)) -> u32 {
    let value = ctx.regs.pred(pred);
    if negated { !value } else { value }
}

fn not(instruction: &Instruction, cx: &mut Lowering<'_, '_>, ty: Type) -> Lower {
    let [d, a] = operands(instruction)?;
    let logical = instruction.opcode == "cnot";
    Ok(match ty {
        Type::Pred if !logical => {
            let (d, a) = (cx.dst_pred(d)?, cx.src_pred(a)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                let value = !mask_of(ctx, a);
                ctx.regs.set_pred(d, value, mask);
                Ok(())
            })
        }
        _ if size_of(ty) == 8 => {
            let (d, a) = (cx.dst64(d)?, cx.src64(a)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                map1(
                    &mut ctx.regs,
                    mask,
                    d,
                    a,
                    |a| if logical { u64::from(a == 0) } else { !a },
                );
                Ok(())
            })
        }
        _ => {
            let bits = if size_of(ty) == 2 { 0xffff } else { u32::MAX };
            let (d, a) = (cx.dst32(d)?, cx.src32(a)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                map1(&mut ctx.regs, mask, d, a, |a| {
                    if logical { u32::from(a & bits == 0) } else { !a & bits }
                });
                Ok(())
            })
        }
    })
}

/// Shift amounts are 32 bits whatever the type; amounts beyond the width shift everything out.
fn shift(instruction: &Instruction, cx: &mut Lowering<'_, '_>, ty: Type) -> Lower {
    let [d, a, amount] = operands(instruction)?;
    let left = instruction.opcode == "shl";
    let signed = is_signed(ty);
    let n = cx.src32(amount)?;
    Ok(match (size_of(ty), left) {
        (8, true) => run2(cx.dst64(d)?, cx.src64(a)?, n, |a, n| if n > 63 { 0 } else { a << n }),
        (8, false) if signed => run2(cx.dst64(d)?, cx.src64(a)?, n, |a, n| (a as i64 >> n.min(63)) as u64),
        (8, false) => run2(cx.dst64(d)?, cx.src64(a)?, n, |a, n| if n > 63 { 0 } else { a >> n }),
        (4, true) => run2(cx.dst32(d)?, cx.src32(a)?, n, |a, n| if n > 31 { 0 } else { a << n }),
        (4, false) if signed => run2(cx.dst32(d)?, cx.src32(a)?, n, |a, n| (a as i32 >> n.min(31)) as u32),
        (4, false) => run2(cx.dst32(d)?, cx.src32(a)?, n, |a, n| if n > 31 { 0 } else { a >> n }),
        (2, true) => run2(
            cx.dst32(d)?,
            cx.src32(a)?,
            n,
            |a, n| if n > 15 { 0 } else { a << n & 0xffff },
        ),
        (2, false) if signed => run2(cx.dst32(d)?, cx.src32(a)?, n, |a, n| {
            (i32::from(a as i16) >> n.min(15)) as u32 & 0xffff
        }),
        (2, false) => run2(cx.dst32(d)?, cx.src32(a)?, n, |a, n| {
            if n > 15 { 0 } else { (a & 0xffff) >> n }
        }),
        _ => return Err(Refusal::opcode()),
    })
}
