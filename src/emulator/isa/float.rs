//! `f32` and `f64` arithmetic: `add`, `sub`, `mul`, `fma`, `mad`, `neg`, `abs`, `min`, `max` rounded to nearest even.

#![expect(
    clippy::inline_always,
    reason = "these must land inside the loops over lanes, in both versions of them"
)]

use super::{Lower, last_type, operands};
use crate::emulator::arith::single::{canonical, flush, saturate};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{Reg, map1, map2, map3};
use crate::ptx::ast::{Instruction, Type};

/// The NaN that every `f64` instruction produces.
const NAN64: u64 = 0xfff8_0000_0000_0000;

#[inline(always)]
fn canonical64(value: f64) -> u64 {
    if value.is_nan() { NAN64 } else { value.to_bits() }
}

/// What the modifiers ask for besides the operation.
#[derive(Clone, Copy, Default)]
struct How {
    ftz: bool,
    sat: bool,
    nan: bool,
}

impl How {
    #[inline(always)]
    fn take(self, bits: u32) -> f32 {
        f32::from_bits(if self.ftz { flush(bits) } else { bits })
    }

    #[inline(always)]
    fn give(self, value: f32) -> u32 {
        let bits = canonical(value);
        let bits = if self.ftz { flush(bits) } else { bits };
        if self.sat { saturate(bits) } else { bits }
    }
}

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let single = last_type(instruction) == Some(Type::F32);
    let opcode = instruction.opcode.as_str();
    let mut how = How::default();
    for modifier in &instruction.modifiers[..instruction.modifiers.len() - 1] {
        match modifier.as_str() {
            "rn" if !matches!(opcode, "neg" | "abs" | "min" | "max" | "div" | "rem") => {}
            "ftz" if single => how.ftz = true,
            "sat" if single && matches!(opcode, "add" | "sub" | "mul" | "fma" | "mad") => how.sat = true,
            "NaN" if single && matches!(opcode, "min" | "max") => how.nan = true,
            other => return Err(Refusal::modifier(other)),
        }
    }
    match (opcode, single) {
        ("add", true) => single2(instruction, cx, how, |a, b| a + b),
        ("sub", true) => single2(instruction, cx, how, |a, b| a - b),
        ("mul", true) => single2(instruction, cx, how, |a, b| a * b),
        ("min", true) => extremum(instruction, cx, how, f32::min, |a, b| {
            a.is_sign_negative() && !b.is_sign_negative()
        }),
        ("max", true) => extremum(instruction, cx, how, f32::max, |a, b| {
            !a.is_sign_negative() && b.is_sign_negative()
        }),
        ("add", false) => double2(instruction, cx, |a, b| canonical64(a + b)),
        ("sub", false) => double2(instruction, cx, |a, b| canonical64(a - b)),
        ("mul", false) => double2(instruction, cx, |a, b| canonical64(a * b)),
        ("min", false) => double2(instruction, cx, |a, b| {
            canonical64(if a == b {
                if a.is_sign_negative() { a } else { b }
            } else {
                a.min(b)
            })
        }),
        ("max", false) => double2(instruction, cx, |a, b| {
            canonical64(if a == b {
                if a.is_sign_negative() { b } else { a }
            } else {
                a.max(b)
            })
        }),
        ("fma" | "mad", true) => {
            let [d, a, b, c] = operands(instruction)?;
            let (d, a, b, c) = (cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, cx.src32(c)?);
            Ok(match (how.ftz, how.sat) {
                (false, false) => run3(d, a, b, c, fused::<false, false>),
                (true, false) => run3(d, a, b, c, fused::<true, false>),
                (false, true) => run3(d, a, b, c, fused::<false, true>),
                (true, true) => run3(d, a, b, c, fused::<true, true>),
            }
            .flops("fp32", 2))
        }
        ("fma" | "mad", false) => {
            let [d, a, b, c] = operands(instruction)?;
            let (d, a, b, c) = (cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, cx.src64(c)?);
            let run = run3(d, a, b, c, |a, b, c| {
                canonical64(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))
            });
            Ok(run.flops("fp64", 2))
        }
        ("neg", true) => single1(instruction, cx, how, |a| a ^ 1 << 31),
        ("abs", true) => single1(instruction, cx, how, |a| a & !(1 << 31)),
        ("neg", false) => double1(instruction, cx, |a| a ^ 1 << 63),
        ("abs", false) => double1(instruction, cx, |a| a & !(1 << 63)),
        _ => Err(Refusal::opcode()),
    }
}

#[inline(always)]
fn fused<const FTZ: bool, const SAT: bool>(a: u32, b: u32, c: u32) -> u32 {
    let how = How {
        ftz: FTZ,
        sat: SAT,
        nan: false,
    };
    how.give(how.take(a).mul_add(how.take(b), how.take(c)))
}

fn run3<R: Reg>(
    d: R,
    a: R,
    b: R,
    c: R,
    f: impl Fn(R::Value, R::Value, R::Value) -> R::Value + Copy + Send + Sync + 'static,
) -> Lowered {
    Lowered::run(Class::Float, move |ctx, mask| {
        map3(&mut ctx.regs, mask, d, a, b, c, f);
        Ok(())
    })
}

fn run2<R: Reg>(
    d: R,
    a: R,
    b: R,
    f: impl Fn(R::Value, R::Value) -> R::Value + Copy + Send + Sync + 'static,
) -> Lowered {
    Lowered::run(Class::Float, move |ctx, mask| {
        map2(&mut ctx.regs, mask, d, a, b, f);
        Ok(())
    })
}

fn single2(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    how: How,
    f: impl Fn(f32, f32) -> f32 + Copy + Send + Sync + 'static,
) -> Lower {
    let [d, a, b] = operands(instruction)?;
    let (d, a, b) = (cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?);
    let run = if how.ftz || how.sat {
        run2(d, a, b, move |a, b| how.give(f(how.take(a), how.take(b))))
    } else {
        run2(d, a, b, move |a, b| canonical(f(f32::from_bits(a), f32::from_bits(b))))
    };
    Ok(run.flops("fp32", 1))
}

/// `min` and `max`: a NaN loses against a number (or, with `.NaN`, wins), and -0 is less than +0.
fn extremum(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    how: How,
    f: impl Fn(f32, f32) -> f32 + Copy + Send + Sync + 'static,
    first_of_equal: impl Fn(f32, f32) -> bool + Copy + Send + Sync + 'static,
) -> Lower {
    single2(instruction, cx, how, move |a, b| {
        if how.nan && (a.is_nan() || b.is_nan()) {
            f32::NAN
        } else if a == b {
            if first_of_equal(a, b) { a } else { b }
        } else {
            f(a, b)
        }
    })
}

fn double2(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    f: impl Fn(f64, f64) -> u64 + Copy + Send + Sync + 'static,
) -> Lower {
    let [d, a, b] = operands(instruction)?;
    let run = run2(cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, move |a, b| {
        f(f64::from_bits(a), f64::from_bits(b))
    });
    Ok(run.flops("fp64", 1))
}

fn single1(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    how: How,
    f: impl Fn(u32) -> u32 + Copy + Send + Sync + 'static,
) -> Lower {
    let [d, a] = operands(instruction)?;
    let (d, a) = (cx.dst32(d)?, cx.src32(a)?);
    Ok(Lowered::run(Class::Float, move |ctx, mask| {
        map1(&mut ctx.regs, mask, d, a, |a| f(if how.ftz { flush(a) } else { a }));
        Ok(())
    }))
}

fn double1(
    instruction: &Instruction,
    cx: &mut Lowering<'_, '_>,
    f: impl Fn(u64) -> u64 + Copy + Send + Sync + 'static,
) -> Lower {
    let [d, a] = operands(instruction)?;
    let (d, a) = (cx.dst64(d)?, cx.src64(a)?);
    Ok(Lowered::run(Class::Float, move |ctx, mask| {
        map1(&mut ctx.regs, mask, d, a, f);
        Ok(())
    }))
}
