//! `setp` and `selp`.

#![expect(
    clippy::inline_always,
    reason = "these must land inside the loops over lanes, in both versions of them"
)]

use super::logic::mask_of;
use super::{Lower, operands};
use crate::emulator::arith::single::flush;
use crate::emulator::code::Class;
use crate::emulator::layout::{size_of, type_of};
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{Pred, R32, R64, Reg, test2};
use crate::ptx::ast::{Instruction, Operand, Type};

/// How the result of a comparison meets a third predicate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// A comparison; `Num` and `Nan` ask whether the operands are numbers at all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Num,
    Nan,
}

/// A comparison by its modifier, and whether it holds for NaN operands (`.equ` and the like).
pub(super) fn comparison(modifier: &str) -> Option<(Compare, bool)> {
    Some(match modifier {
        "eq" => (Compare::Eq, false),
        "ne" => (Compare::Ne, false),
        "lt" | "lo" => (Compare::Lt, false),
        "le" | "ls" => (Compare::Le, false),
        "gt" | "hi" => (Compare::Gt, false),
        "ge" | "hs" => (Compare::Ge, false),
        "equ" => (Compare::Eq, true),
        "neu" => (Compare::Ne, true),
        "ltu" => (Compare::Lt, true),
        "leu" => (Compare::Le, true),
        "gtu" => (Compare::Gt, true),
        "geu" => (Compare::Ge, true),
        "num" => (Compare::Num, false),
        "nan" => (Compare::Nan, true),
        _ => return None,
    })
}

pub(super) fn setp(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let (mut compare, mut combine, mut ftz, mut ty) = (None, Combine::None, false, None);
    for modifier in &instruction.modifiers {
        match modifier.as_str() {
            "and" => combine = Combine::And,
            "or" => combine = Combine::Or,
            "xor" => combine = Combine::Xor,
            "ftz" => ftz = true,
            other => match (comparison(other), type_of(other)) {
                (Some(found), _) if compare.is_none() => compare = Some(found),
                (_, Some(found)) => ty = Some(found),
                _ => return Err(Refusal::modifier(other)),
            },
        }
    }
    let (Some(compare), Some(ty)) = (compare, ty) else {
        return Err(Refusal::Invalid("no comparison or no type".to_owned()));
    };
    let (dst, a, b, third) = match instruction.operands.as_slice() {
        [dst, a, b] if combine == Combine::None => (dst, a, b, None),
        [dst, a, b, c] if combine != Combine::None => (dst, a, b, Some(cx.src_pred(c)?)),
        _ => return Err(Refusal::Invalid("wrong number of operands".to_owned())),
    };
    let (p, q) = match dst {
        Operand::Pair(p, q) => (cx.dst_pred(p)?, Some(cx.dst_pred(q)?)),
        single => (cx.dst_pred(single)?, None),
    };
    let finish = Finish { p, q, third, combine };
    lower_test(cx, ty, compare, ftz, (a, b), finish)
}

/// Where the result of a comparison goes.
#[derive(Clone, Copy)]
struct Finish {
    p: Pred,
    q: Option<Pred>,
    third: Option<(Pred, bool)>,
    combine: Combine,
}

fn lower_test(
    cx: &mut Lowering<'_, '_>,
    ty: Type,
    (compare, unordered): (Compare, bool),
    ftz: bool,
    (a, b): (&Operand, &Operand),
    finish: Finish,
) -> Lower {
    Ok(match ty {
        Type::U64 | Type::B64 => integers(cx.src64(a)?, cx.src64(b)?, compare, finish, |v| v)?,
        Type::S64 => integers(cx.src64(a)?, cx.src64(b)?, compare, finish, |v| v as i64)?,
        Type::U32 | Type::B32 => integers(cx.src32(a)?, cx.src32(b)?, compare, finish, |v| v)?,
        Type::S32 => integers(cx.src32(a)?, cx.src32(b)?, compare, finish, |v| v as i32)?,
        Type::U16 | Type::B16 => integers(cx.src32(a)?, cx.src32(b)?, compare, finish, |v| v as u16)?,
        Type::S16 => integers(cx.src32(a)?, cx.src32(b)?, compare, finish, |v| v as i16)?,
        Type::F32 => floats32(cx.src32(a)?, cx.src32(b)?, compare, unordered, ftz, finish),
        Type::F64 => floats64(cx.src64(a)?, cx.src64(b)?, compare, unordered, finish),
        _ => return Err(Refusal::Unsupported(format!("type {ty:?}"))),
    })
}

fn run<A: Reg>(
    a: A,
    b: A,
    finish: Finish,
    test: impl Fn(A::Value, A::Value) -> bool + Copy + Send + Sync + 'static,
) -> Lowered {
    if finish.q.is_none() && finish.third.is_none() {
        return Lowered::run(Class::Integer, move |ctx, mask| {
            let bits = test2(&ctx.regs, a, b, test);
            ctx.regs.set_pred(finish.p, bits, mask);
            Ok(())
        });
    }
    Lowered::run(Class::Integer, move |ctx, mask| {
        let bits = test2(&ctx.regs, a, b, test);
        let third = finish.third.map_or(0, |third| mask_of(ctx, third));
        let join = |bits: u32| match finish.combine {
            Combine::None => bits,
            Combine::And => bits & third,
            Combine::Or => bits | third,
            Combine::Xor => bits ^ third,
        };
        ctx.regs.set_pred(finish.p, join(bits), mask);
        if let Some(q) = finish.q {
            ctx.regs.set_pred(q, join(!bits), mask);
        }
        Ok(())
    })
}

fn integers<A: Reg, V: PartialOrd>(
    a: A,
    b: A,
    compare: Compare,
    finish: Finish,
    view: impl Fn(A::Value) -> V + Copy + Send + Sync + 'static,
) -> Lower {
    Ok(match compare {
        Compare::Eq => run(a, b, finish, move |a, b| view(a) == view(b)),
        Compare::Ne => run(a, b, finish, move |a, b| view(a) != view(b)),
        Compare::Lt => run(a, b, finish, move |a, b| view(a) < view(b)),
        Compare::Le => run(a, b, finish, move |a, b| view(a) <= view(b)),
        Compare::Gt => run(a, b, finish, move |a, b| view(a) > view(b)),
        Compare::Ge => run(a, b, finish, move |a, b| view(a) >= view(b)),
        Compare::Num | Compare::Nan => return Err(Refusal::Invalid("a comparison of floats".to_owned())),
    })
}

/// Compares numbers; `unordered` is the answer when one of them is NaN.
#[inline(always)]
pub(super) fn floats<V: PartialOrd>(compare: Compare, unordered: bool, nan: bool, a: &V, b: &V) -> bool {
    if nan {
        return unordered;
    }
    match compare {
        Compare::Eq => a == b,
        Compare::Ne => a != b,
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Num => true,
        Compare::Nan => false,
    }
}

fn floats32(a: R32, b: R32, compare: Compare, unordered: bool, ftz: bool, finish: Finish) -> Lowered {
    run(a, b, finish, move |a, b| {
        let view = |bits| f32::from_bits(if ftz { flush(bits) } else { bits });
        let (a, b) = (view(a), view(b));
        floats(compare, unordered, a.is_nan() || b.is_nan(), &a, &b)
    })
}

fn floats64(a: R64, b: R64, compare: Compare, unordered: bool, finish: Finish) -> Lowered {
    run(a, b, finish, move |a, b| {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        floats(compare, unordered, a.is_nan() || b.is_nan(), &a, &b)
    })
}

pub(super) fn selp(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let [modifier] = instruction.modifiers.as_slice() else {
        return Err(Refusal::Invalid("selp takes one type".to_owned()));
    };
    let ty = type_of(modifier).ok_or_else(|| Refusal::modifier(modifier))?;
    let [d, a, b, c] = operands(instruction)?;
    let c = cx.src_pred(c)?;
    Ok(match size_of(ty) {
        8 => select(cx.dst64(d)?, cx.src64(a)?, cx.src64(b)?, c),
        2 | 4 => select(cx.dst32(d)?, cx.src32(a)?, cx.src32(b)?, c),
        _ => return Err(Refusal::modifier(modifier)),
    })
}

fn select<R: Reg>(d: R, a: R, b: R, c: (Pred, bool)) -> Lowered {
    Lowered::run(Class::Integer, move |ctx, mask| {
        let chosen = mask_of(ctx, c);
        let (x, y) = (*a.get(&ctx.regs), *b.get(&ctx.regs));
        let out = std::array::from_fn(|lane| if chosen >> lane & 1 == 1 { x[lane] } else { y[lane] });
        ctx.regs.set(d, &out, mask);
        Ok(())
    })
}
