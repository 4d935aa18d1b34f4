//! `mov` in all its forms, and `cvta`.

use super::{Lower, operands};
use crate::emulator::code::Class;
use crate::emulator::exec::Ctx;
use crate::emulator::layout::{size_of, type_of};
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{AnyReg, LANES, R32, R64, Reg};
use crate::emulator::space::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::ptx::ast::{Instruction, Operand, Type};

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let [modifier] = instruction.modifiers.as_slice() else {
        return Err(Refusal::Invalid("mov takes one type".to_owned()));
    };
    let ty = type_of(modifier).ok_or_else(|| Refusal::modifier(modifier))?;
    let [d, a] = operands(instruction)?;
    match (d, a) {
        (Operand::Vector(parts), whole) => return unpack(cx, ty, parts, whole),
        (whole, Operand::Vector(parts)) => return pack(cx, ty, whole, parts),
        _ => {}
    }
    if let Some(offset) = cx.frame_offset(a) {
        let d = cx.dst64(d)?;
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let value = (i64::from(ctx.local_base) + offset) as u64;
            ctx.regs.set(d, &[value; LANES], mask);
            Ok(())
        }));
    }
    if let Operand::Name(name) = a
        && let Some(lowered) = moving(cx, name, d)?
    {
        return Ok(lowered);
    }
    Ok(match ty {
        Type::Pred => {
            let (d, (a, negated)) = (cx.dst_pred(d)?, cx.src_pred(a)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                let value = ctx.regs.pred(a) ^ if negated { u32::MAX } else { 0 };
                ctx.regs.set_pred(d, value, mask);
                Ok(())
            })
        }
        Type::B128 => {
            let ((low, high), (a, b)) = (cx.register128(d)?, cx.register128(a)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                let (x, y) = (*a.get(&ctx.regs), *b.get(&ctx.regs));
                ctx.regs.set(low, &x, mask);
                ctx.regs.set(high, &y, mask);
                Ok(())
            })
        }
        _ if size_of(ty) == 8 => copy(cx.dst64(d)?, cx.src64(a)?),
        _ if size_of(ty) == 2 => {
            let (d, a) = (cx.dst32(d)?, cx.src32(a)?);
            Lowered::run(Class::Integer, move |ctx, mask| {
                let value = a.get(&ctx.regs).map(|v| v & 0xffff);
                ctx.regs.set(d, &value, mask);
                Ok(())
            })
        }
        _ => copy(cx.dst32(d)?, cx.src32(a)?),
    })
}

fn copy<R: Reg>(d: R, a: R) -> Lowered {
    Lowered::run(Class::Integer, move |ctx, mask| {
        let value = *a.get(&ctx.regs);
        ctx.regs.set(d, &value, mask);
        Ok(())
    })
}

/// Special registers that change while a warp lives, or are wider than 32 bits.
fn moving(cx: &mut Lowering<'_, '_>, name: &str, d: &Operand) -> Result<Option<Lowered>, Refusal> {
    type Read = fn(&Ctx<'_>) -> u64;
    let clock: Read = |ctx| ctx.state.steps;
    let timer: Read = |ctx| ctx.job.start.elapsed().as_nanos() as u64;
    let read: Read = match name {
        "%clock" | "%clock64" => clock,
        "%clock_hi" => |ctx| ctx.state.steps >> 32,
        "%globaltimer" | "%globaltimer_lo" => timer,
        "%globaltimer_hi" => |ctx| ctx.job.start.elapsed().as_nanos() as u64 >> 32,
        "%gridid" => |ctx| ctx.job.grid_id,
        "%is_explicit_cluster" => {
            let d = cx.dst_pred(d)?;
            return Ok(Some(Lowered::run(Class::Special, move |ctx, mask| {
                let explicit = ctx.job.cluster != [1, 1, 1];
                ctx.regs.set_pred(d, if explicit { u32::MAX } else { 0 }, mask);
                Ok(())
            })));
        }
        "WARP_SZ" => |_| LANES as u64,
        _ => return Ok(None),
    };
    Ok(Some(match cx.register(d)? {
        AnyReg::W32(d) => Lowered::run(Class::Special, move |ctx, mask| {
            let value = read(ctx) as u32;
            ctx.regs.set(d, &[value; LANES], mask);
            Ok(())
        }),
        AnyReg::W64(d) => Lowered::run(Class::Special, move |ctx, mask| {
            let value = read(ctx);
            ctx.regs.set(d, &[value; LANES], mask);
            Ok(())
        }),
        AnyReg::Pred(_) => return Err(Refusal::Invalid("a predicate destination".to_owned())),
    }))
}

/// `mov.b64 {%r1, %r2}, %rd`: the parts, low first.
fn unpack(cx: &mut Lowering<'_, '_>, ty: Type, parts: &[Operand], whole: &Operand) -> Lower {
    let bits = size_of(ty) * 8 / parts.len().max(1) as u32;
    if ty == Type::B128 {
        let [low, high] = parts else {
            return Err(Refusal::opcode());
        };
        let ((a, b), low, high) = (cx.register128(whole)?, cx.dst64(low)?, cx.dst64(high)?);
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let (x, y) = (*a.get(&ctx.regs), *b.get(&ctx.regs));
            ctx.regs.set(low, &x, mask);
            ctx.regs.set(high, &y, mask);
            Ok(())
        }));
    }
    let part = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
    let dsts = parts
        .iter()
        .map(|part| cx.dst32(part))
        .collect::<Result<Vec<R32>, _>>()?;
    if size_of(ty) == 8 {
        let whole = cx.src64(whole)?;
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let value = *whole.get(&ctx.regs);
            for (i, &d) in dsts.iter().enumerate() {
                let out = value.map(|v| (v >> (i as u32 * bits)) as u32 & part);
                ctx.regs.set(d, &out, mask);
            }
            Ok(())
        }));
    }
    let whole = cx.src32(whole)?;
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let value = *whole.get(&ctx.regs);
        for (i, &d) in dsts.iter().enumerate() {
            let out = value.map(|v| v >> (i as u32 * bits) & part);
            ctx.regs.set(d, &out, mask);
        }
        Ok(())
    }))
}

/// `mov.b64 %rd, {%r1, %r2}`
fn pack(cx: &mut Lowering<'_, '_>, ty: Type, whole: &Operand, parts: &[Operand]) -> Lower {
    let bits = size_of(ty) * 8 / parts.len().max(1) as u32;
    if ty == Type::B128 {
        let [low, high] = parts else {
            return Err(Refusal::opcode());
        };
        let ((a, b), low, high) = (cx.register128(whole)?, cx.src64(low)?, cx.src64(high)?);
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let (x, y) = (*low.get(&ctx.regs), *high.get(&ctx.regs));
            ctx.regs.set(a, &x, mask);
            ctx.regs.set(b, &y, mask);
            Ok(())
        }));
    }
    let part = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
    let sources = parts
        .iter()
        .map(|part| cx.src32(part))
        .collect::<Result<Vec<R32>, _>>()?;
    if size_of(ty) == 8 {
        let whole: R64 = cx.dst64(whole)?;
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let mut out = [0_u64; LANES];
            for (i, source) in sources.iter().enumerate() {
                let value = source.get(&ctx.regs);
                for lane in 0..LANES {
                    out[lane] |= u64::from(value[lane] & part) << (i as u32 * bits);
                }
            }
            ctx.regs.set(whole, &out, mask);
            Ok(())
        }));
    }
    let whole = cx.dst32(whole)?;
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let mut out = [0_u32; LANES];
        for (i, source) in sources.iter().enumerate() {
            let value = source.get(&ctx.regs);
            for lane in 0..LANES {
                out[lane] |= (value[lane] & part) << (i as u32 * bits);
            }
        }
        ctx.regs.set(whole, &out, mask);
        Ok(())
    }))
}

/// `cvta`: between a space's own addresses and generic ones. Only shared and local addresses differ.
pub(super) fn cvta(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let (mut to, mut window) = (false, None);
    for modifier in &instruction.modifiers {
        match modifier.as_str() {
            "to" => to = true,
            "global" | "const" | "param" | "param::entry" => window = Some(0),
            "shared" | "shared::cta" | "shared::cluster" => window = Some(SHARED_WINDOW),
            "local" => window = Some(LOCAL_WINDOW),
            "u64" => {}
            other => return Err(Refusal::modifier(other)),
        }
    }
    let window = window.ok_or_else(|| Refusal::Invalid("no state space".to_owned()))?;
    let [d, a] = operands(instruction)?;
    if let Some(offset) = cx.frame_offset(a) {
        let d = cx.dst64(d)?;
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let value = LOCAL_WINDOW.wrapping_add_signed(i64::from(ctx.local_base) + offset);
            ctx.regs.set(d, &[value; LANES], mask);
            Ok(())
        }));
    }
    let (d, a) = (cx.dst64(d)?, cx.src64(a)?);
    if window == 0 {
        return Ok(copy(d, a));
    }
    let delta = if to { window.wrapping_neg() } else { window };
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let value = a.get(&ctx.regs).map(|v| v.wrapping_add(delta));
        ctx.regs.set(d, &value, mask);
        Ok(())
    }))
}
