//! `set`, and `setp` of halves.

use super::compare::{Compare, comparison, floats};
use super::logic::mask_of;
use super::support::{Lanes, Modifiers, Num, Result, invalid, unsupported};
use crate::emulator::arith::Format;
use crate::emulator::arith::convert::Integer;
use crate::emulator::code::Class;
use crate::emulator::exec::Ctx;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{LANES, Pred, R32, R64};
use crate::ptx::ast::{Instruction, Operand};

/// How a comparison's result meets a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Join {
    And,
    Or,
    Xor,
}

/// A comparison of two values of one type.
#[derive(Clone, Copy)]
struct Test {
    ty: Num,
    compare: Compare,
    unordered: bool,
    ftz: bool,
}

impl Test {
    fn holds(self, a: u64, b: u64) -> bool {
        match self.ty {
            Num::Float(format) | Num::Pair(format) => {
                let value = |code: u64| format.to_f64(if self.ftz { format.flush(code) } else { code });
                let (a, b) = (value(a), value(b));
                floats(self.compare, self.unordered, a.is_nan() || b.is_nan(), &a, &b)
            }
            Num::Int(int) => floats(self.compare, false, false, &int.value(a), &int.value(b)),
            _ => floats(self.compare, false, false, &a, &b),
        }
    }

    /// The lanes in which it holds, for the value `shift` bits up in the register.
    fn lanes<R: Lanes>(self, ctx: &Ctx<'_>, a: R, b: R, shift: u32, mask: u64) -> u32 {
        let (x, y) = (a.get(&ctx.regs), b.get(&ctx.regs));
        let mut bits = 0;
        for lane in 0..LANES {
            let part = |value: R::Value| R::up(value) >> shift & mask;
            bits |= u32::from(self.holds(part(x[lane]), part(y[lane]))) << lane;
        }
        bits
    }
}

/// What `set` and `setp` have in common.
struct Parts {
    test: Test,
    join: Option<(Join, (Pred, bool))>,
}

/// Takes the comparison and the predicate that is joined to it; `types` are taken by the caller through `ty`.
fn parts(instruction: &Instruction, l: &mut Lowering<'_, '_>, modifiers: &mut Modifiers<'_>, ty: Num) -> Result<Parts> {
    let Some((compare, unordered)) = modifiers.find(comparison) else {
        return invalid("expected a comparison");
    };
    let join = modifiers.find(|word| {
        Some(match word {
            "and" => Join::And,
            "or" => Join::Or,
            "xor" => Join::Xor,
            _ => return None,
        })
    });
    let ftz = modifiers.take("ftz");
    let float = matches!(ty, Num::Float(_) | Num::Pair(_));
    if !float && (unordered || ftz || matches!(compare, Compare::Num | Compare::Nan)) {
        return invalid("a comparison of floats on integers");
    }
    if ftz && matches!(ty, Num::Float(Format::BF16 | Format::F64) | Num::Pair(Format::BF16)) {
        return Err(Refusal::modifier("ftz"));
    }
    let join = match (join, instruction.operands.as_slice()) {
        (None, [_, _, _]) => None,
        (Some(join), [_, _, _, predicate]) => Some((join, l.src_pred(predicate)?)),
        _ => return invalid("wrong number of operands"),
    };
    Ok(Parts {
        test: Test {
            ty,
            compare,
            unordered,
            ftz,
        },
        join,
    })
}

fn joined(ctx: &Ctx<'_>, join: Option<(Join, (Pred, bool))>, bits: u32) -> u32 {
    let Some((join, predicate)) = join else { return bits };
    let other = mask_of(ctx, predicate);
    match join {
        Join::And => bits & other,
        Join::Or => bits | other,
        Join::Xor => bits ^ other,
    }
}

/// Whether this `setp` compares halves.
pub(super) fn is_half(instruction: &Instruction) -> bool {
    let half = |word: &String| matches!(word.as_str(), "f16" | "bf16" | "f16x2" | "bf16x2");
    instruction.modifiers.iter().any(half)
}

/// `setp.lt.f16 p|q, a, b`, and of pairs: p for the lower halves, q for the upper ones.
pub(super) fn setp_half(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let ty = modifiers.ty()?;
    let Parts { test, join } = parts(instruction, l, &mut modifiers, ty)?;
    modifiers.done()?;
    let pair = matches!(ty, Num::Pair(_));
    let (p, q) = match &instruction.operands[0] {
        Operand::Pair(p, q) => (l.dst_pred(p)?, Some(l.dst_pred(q)?)),
        single => (l.dst_pred(single)?, None),
    };
    let (a, b) = (l.src32(&instruction.operands[1])?, l.src32(&instruction.operands[2])?);
    Ok(Lowered::run(Class::Float, move |ctx, mask| {
        let low = test.lanes(ctx, a, b, 0, 0xffff);
        let second = if pair { test.lanes(ctx, a, b, 16, 0xffff) } else { !low };
        let (low, second) = (joined(ctx, join, low), joined(ctx, join, second));
        ctx.regs.set_pred(p, low, mask);
        if let Some(q) = q {
            ctx.regs.set_pred(q, second, mask);
        }
        Ok(())
    }))
}

/// The pattern for "true" in a destination type; its width in bits for pairs is that of one half.
fn truth(ty: Num, pair: bool) -> Result<u32> {
    Ok(match ty {
        Num::Int(Integer { bits: 32, .. }) if pair => 0xffff,
        Num::Int(Integer { bits: 32, .. }) => u32::MAX,
        Num::Int(Integer { bits: 16, .. }) => 0xffff,
        Num::Float(Format::F32) => 1_f32.to_bits(),
        Num::Float(Format::F16) | Num::Pair(Format::F16) => 0x3c00,
        Num::Float(Format::BF16) | Num::Pair(Format::BF16) => 0x3f80,
        _ => return unsupported("this destination type"),
    })
}

/// `set.lt.and.u32.f32 d, a, b, p`: all ones, or 1.0, where the comparison holds; otherwise 0.
pub(super) fn set(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let (to, from) = (modifiers.ty()?, modifiers.ty()?);
    let Parts { test, join } = parts(instruction, l, &mut modifiers, from)?;
    modifiers.done()?;
    let pair = matches!(from, Num::Pair(_));
    if matches!(to, Num::Pair(_)) && !pair {
        return unsupported("this pair of types");
    }
    let truth = truth(to, pair)?;
    let d = l.dst32(&instruction.operands[0])?;
    let (a, b) = (&instruction.operands[1], &instruction.operands[2]);
    let run = move |ctx: &mut Ctx<'_>, mask: u32, low: u32, high: u32| {
        let (low, high) = (joined(ctx, join, low), joined(ctx, join, high));
        let pick = |bits: u32, lane: usize| if bits >> lane & 1 == 1 { truth } else { 0 };
        let out = std::array::from_fn(|lane| pick(low, lane) | if pair { pick(high, lane) << 16 } else { 0 });
        ctx.regs.set(d, &out, mask);
        Ok(())
    };
    if from.bits() == 64 {
        let (a, b): (R64, R64) = (l.src64(a)?, l.src64(b)?);
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let low = test.lanes(ctx, a, b, 0, u64::MAX);
            run(ctx, mask, low, 0)
        }));
    }
    let width = if pair { 16 } else { from.bits() };
    let part = u64::MAX >> (64 - width);
    let (a, b): (R32, R32) = (l.src32(a)?, l.src32(b)?);
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let low = test.lanes(ctx, a, b, 0, part);
        let high = if pair { test.lanes(ctx, a, b, 16, part) } else { 0 };
        run(ctx, mask, low, high)
    }))
}
