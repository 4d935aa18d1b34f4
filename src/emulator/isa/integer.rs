//! Integer arithmetic: `add`, `sub`, `mul`, `mad`, `div`, `rem`, `min`, `max`, `neg`, `abs`.

#![expect(
    clippy::inline_always,
    reason = "these must land inside the loops over lanes, in both versions of them"
)]

use super::{Lower, last_type, operands};
use crate::emulator::code::Class;
use crate::emulator::layout::is_signed;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{Reg, map1, map2, map3};
use crate::ptx::ast::{Instruction, Operand, Type};

/// Which part of a product.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Low,
    High,
    Wide,
}

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let ty = last_type(instruction).ok_or_else(|| Refusal::Invalid("no type".to_owned()))?;
    if !matches!(
        ty,
        Type::U16 | Type::S16 | Type::U32 | Type::S32 | Type::U64 | Type::S64
    ) {
        return Err(Refusal::Unsupported(String::new()));
    }
    let mut part = None;
    let mut saturate = false;
    for modifier in &instruction.modifiers[..instruction.modifiers.len() - 1] {
        match (modifier.as_str(), instruction.opcode.as_str()) {
            ("lo", "mul" | "mad") => part = Some(Part::Low),
            ("hi", "mul" | "mad") => part = Some(Part::High),
            ("wide", "mul" | "mad") => part = Some(Part::Wide),
            ("sat", "add" | "sub") if ty == Type::S32 => saturate = true,
            (other, _) => return Err(Refusal::modifier(other)),
        }
    }
    match instruction.opcode.as_str() {
        "mul" | "mad" => {
            let part = part.ok_or_else(|| Refusal::Invalid("none of .lo, .hi, .wide".to_owned()))?;
            if instruction.opcode == "mul" {
                mul(instruction, cx, ty, part)
            } else {
                mad(instruction, cx, ty, part)
            }
        }
        "neg" => unary(instruction, cx, ty, u32::wrapping_neg, u64::wrapping_neg),
        "abs" => unary(
            instruction,
            cx,
            ty,
            |a| (a as i32).wrapping_abs() as u32,
            |a| (a as i64).wrapping_abs() as u64,
        ),
        "add" if saturate => binary(
            instruction,
            cx,
            ty,
            |a, b| (a as i32).saturating_add(b as i32) as u32,
            |a, _| a,
        ),
        "sub" if saturate => binary(
            instruction,
            cx,
            ty,
            |a, b| (a as i32).saturating_sub(b as i32) as u32,
            |a, _| a,
        ),
        "add" => binary(instruction, cx, ty, u32::wrapping_add, u64::wrapping_add),
        "sub" => binary(instruction, cx, ty, u32::wrapping_sub, u64::wrapping_sub),
        "min" if is_signed(ty) => binary(
            instruction,
            cx,
            ty,
            |a, b| (a as i32).min(b as i32) as u32,
            |a, b| (a as i64).min(b as i64) as u64,
        ),
        "max" if is_signed(ty) => binary(
            instruction,
            cx,
            ty,
            |a, b| (a as i32).max(b as i32) as u32,
            |a, b| (a as i64).max(b as i64) as u64,
        ),
        "min" => binary(instruction, cx, ty, Ord::min, Ord::min),
        "max" => binary(instruction, cx, ty, Ord::max, Ord::max),
        // Division by zero gives a machine-specific value: all ones, and for rem the dividend, as NVIDIA's code does.
        "div" if is_signed(ty) => binary(
            instruction,
            cx,
            ty,
            |a, b| {
                if b == 0 {
                    u32::MAX
                } else {
                    (a as i32).wrapping_div(b as i32) as u32
                }
            },
            |a, b| {
                if b == 0 {
                    u64::MAX
                } else {
                    (a as i64).wrapping_div(b as i64) as u64
                }
            },
        ),
        "div" => binary(
            instruction,
            cx,
            ty,
            |a, b| a.checked_div(b).unwrap_or(u32::MAX),
            |a, b| a.checked_div(b).unwrap_or(u64::MAX),
        ),
        "rem" if is_signed(ty) => binary(
            instruction,
            cx,
            ty,
            |a, b| {
                if b == 0 {
                    a
                } else {
                    (a as i32).wrapping_rem(b as i32) as u32
                }
            },
            |a, b| {
                if b == 0 {
                    a
                } else {
                    (a as i64).wrapping_rem(b as i64) as u64
                }
            },
        ),
        "rem" => binary(
            instruction,
            cx,
            ty,
            |a, b| a.checked_rem(b).unwrap_or(a),
            |a, b| a.checked_rem(b).unwrap_or(a),
        ),
        _ => Err(Refusal::opcode()),
    }
}

/// The value of a 16-bit register as 32 bits.
#[inline(always)]
fn widen(signed: bool, value: u32) -> u32 {
    if signed {
        i32::from(value as i16) as u32
    } else {
        value & 0xffff
    }
}

fn unary(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    ty: Type,
    narrow: impl Fn(u32) -> u32 + Copy + Send + Sync + 'static,
    wide: impl Fn(u64) -> u64 + Copy + Send + Sync + 'static,
) -> Lower {
    let [d, a] = operands(instruction)?;
    let signed = is_signed(ty);
    Ok(match ty {
        Type::U64 | Type::S64 => run1(cx.dst64(d)?, cx.src64(a)?, wide),
        Type::U32 | Type::S32 => run1(cx.dst32(d)?, cx.src32(a)?, narrow),
        _ => run1(cx.dst32(d)?, cx.src32(a)?, move |a| narrow(widen(signed, a)) & 0xffff),
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
    let signed = is_signed(ty);
    Ok(match ty {
        Type::U64 | Type::S64 => run2(cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, wide),
        Type::U32 | Type::S32 => run2(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, narrow),
        _ => run2(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, move |a, b| {
            narrow(widen(signed, a), widen(signed, b)) & 0xffff
        }),
    })
}

fn run1<D: Reg, A: Reg>(d: D, a: A, f: impl Fn(A::Value) -> D::Value + Copy + Send + Sync + 'static) -> Lowered {
    Lowered::run(Class::Integer, move |ctx, mask| {
        map1(&mut ctx.regs, mask, d, a, f);
        Ok(())
    })
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

fn run3<D: Reg, A: Reg, B: Reg, C: Reg>(
    d: D,
    a: A,
    b: B,
    c: C,
    f: impl Fn(A::Value, B::Value, C::Value) -> D::Value + Copy + Send + Sync + 'static,
) -> Lowered {
    Lowered::run(Class::Integer, move |ctx, mask| {
        map3(&mut ctx.regs, mask, d, a, b, c, f);
        Ok(())
    })
}

fn high32(signed: bool, a: u32, b: u32) -> u32 {
    if signed {
        ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
    } else {
        ((u64::from(a) * u64::from(b)) >> 32) as u32
    }
}

fn high64(signed: bool, a: u64, b: u64) -> u64 {
    if signed {
        ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
    } else {
        ((u128::from(a) * u128::from(b)) >> 64) as u64
    }
}

/// The whole product of 32-bit values.
#[inline(always)]
fn wide(signed: bool, a: u32, b: u32) -> u64 {
    if signed {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    } else {
        u64::from(a) * u64::from(b)
    }
}

fn mul(instruction: &Instruction, cx: &mut Lowering<'_, '_>, ty: Type, part: Part) -> Lower {
    let [d, a, b] = operands(instruction)?;
    let signed = is_signed(ty);
    let narrow = matches!(ty, Type::U16 | Type::S16);
    Ok(match part {
        Part::Low => return binary(instruction, cx, ty, u32::wrapping_mul, u64::wrapping_mul),
        Part::Wide if narrow => run2(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, move |a, b| {
            widen(signed, a).wrapping_mul(widen(signed, b))
        }),
        Part::Wide if matches!(ty, Type::U64 | Type::S64) => {
            return Err(Refusal::Invalid("there is no .wide of 64 bits".to_owned()));
        }
        Part::Wide if signed => run2(cx.dst64(d)?, cx.src32(a)?, cx.src32(b)?, |a, b| wide(true, a, b)),
        Part::Wide => run2(cx.dst64(d)?, cx.src32(a)?, cx.src32(b)?, |a, b| wide(false, a, b)),
        Part::High if narrow => run2(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, move |a, b| {
            widen(signed, a).wrapping_mul(widen(signed, b)) >> 16 & 0xffff
        }),
        Part::High if matches!(ty, Type::U64 | Type::S64) => {
            run2(cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, move |a, b| {
                high64(signed, a, b)
            })
        }
        Part::High => run2(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, move |a, b| {
            high32(signed, a, b)
        }),
    })
}

fn mad(instruction: &Instruction, cx: &mut Lowering<'_, '_>, ty: Type, part: Part) -> Lower {
    let [d, a, b, c] = operands(instruction)?;
    let signed = is_signed(ty);
    let narrow = matches!(ty, Type::U16 | Type::S16);
    let long = matches!(ty, Type::U64 | Type::S64);
    let three32 = |cx: &mut Lowering<'_, '_>, a: &Operand, b: &Operand, c: &Operand| -> Result<_, Refusal> {
        Ok((cx.src32(a)?, cx.src32(b)?, cx.src32(c)?))
    };
    Ok(match part {
        Part::Wide if long => return Err(Refusal::Invalid("there is no .wide of 64 bits".to_owned())),
        Part::Wide if !narrow => run3(
            cx.dst64(d)?,
            cx.src32(a)?,
            cx.src32(b)?,
            cx.src64(c)?,
            move |a, b, c| wide(signed, a, b).wrapping_add(c),
        ),
        _ if long => {
            let (d, a, b, c) = (cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, cx.src64(c)?);
            if part == Part::Low {
                run3(d, a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
            } else {
                run3(d, a, b, c, move |a, b, c| high64(signed, a, b).wrapping_add(c))
            }
        }
        _ => {
            let d = cx.dst32(d)?;
            let (a, b, c) = three32(cx, a, b, c)?;
            match (part, narrow) {
                (Part::Low, false) => run3(d, a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
                (Part::High, false) => run3(d, a, b, c, move |a, b, c| high32(signed, a, b).wrapping_add(c)),
                (Part::Low, true) => run3(d, a, b, c, |a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xffff),
                (Part::High, true) => run3(d, a, b, c, move |a, b, c| {
                    (widen(signed, a).wrapping_mul(widen(signed, b)) >> 16).wrapping_add(c) & 0xffff
                }),
                (Part::Wide, _) => run3(d, a, b, c, move |a, b, c| {
                    widen(signed, a).wrapping_mul(widen(signed, b)).wrapping_add(c)
                }),
            }
        }
    })
}
