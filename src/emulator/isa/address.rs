//! Questions about addresses: `isspacep`, and `mapa` and `getctarank` for the shared memories of a cluster.

use super::{Lower, operands};
use crate::emulator::access::lanes;
use crate::emulator::code::{Class, Stop};
use crate::emulator::exec::Ctx;
use crate::emulator::fault::FaultKind;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::memory::Buffer;
use crate::emulator::regs::{AnyReg, LANES, R32};
use crate::emulator::space::{MemSpace, RANK_SHIFT, SHARED_WINDOW, resolve};
use crate::ptx::ast::{Instruction, Operand};

/// The part of a shared address that says where in its CTA's memory it is.
const OFFSET: u64 = (1 << RANK_SHIFT) - 1;

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    match instruction.opcode.as_str() {
        "isspacep" => isspacep(instruction, cx),
        "mapa" => mapa(instruction, cx),
        "getctarank" => getctarank(instruction, cx),
        _ => Err(Refusal::opcode()),
    }
}

/// The rank of the CTA whose shared memory a shared address names.
fn rank_of(ctx: &Ctx<'_>, address: u64) -> u64 {
    match address >> RANK_SHIFT & 0xff {
        0 => ctx.rank as u64,
        some => some - 1,
    }
}

fn isspacep(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    type Test = fn(&Ctx<'_>, MemSpace, u64) -> bool;
    let [modifier] = instruction.modifiers.as_slice() else {
        return Err(Refusal::Invalid("isspacep takes one space".to_owned()));
    };
    let test: Test = match modifier.as_str() {
        "global" => |_, space, _| space == MemSpace::Global,
        "local" => |_, space, _| space == MemSpace::Local,
        "param" | "param::entry" => |_, space, _| space == MemSpace::Param,
        "shared" | "shared::cta" => {
            |ctx, space, address| space == MemSpace::Shared && rank_of(ctx, address) == ctx.rank as u64
        }
        "shared::cluster" => |_, space, _| space == MemSpace::Shared,
        "const" => |ctx, space, address| {
            space == MemSpace::Global && ctx.job.memory.near(address).is_some_and(Buffer::read_only)
        },
        other => return Err(Refusal::modifier(other)),
    };
    let [p, a] = operands(instruction)?;
    let (p, a) = (cx.dst_pred(p)?, cx.src64(a)?);
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let addresses = ctx.regs.r64[a.0 as usize];
        let mut bits = 0;
        for lane in lanes(mask) {
            let (space, address) = resolve(addresses[lane]);
            bits |= u32::from(test(ctx, space, address)) << lane;
        }
        ctx.regs.set_pred(p, bits, mask);
        Ok(())
    }))
}

/// Whether addresses are shared ones (or generic), and their register.
fn form(instruction: &Instruction, cx: &mut Lowering<'_, '_>, address: &Operand) -> Result<(bool, AnyReg), Refusal> {
    let (mut shared, mut wide) = (false, None);
    for modifier in &instruction.modifiers {
        match modifier.as_str() {
            "shared::cluster" => shared = true,
            "u32" => wide = Some(false),
            "u64" => wide = Some(true),
            other => return Err(Refusal::modifier(other)),
        }
    }
    match wide {
        Some(true) => Ok((shared, AnyReg::W64(cx.src64(address)?))),
        Some(false) => Ok((shared, AnyReg::W32(cx.src32(address)?))),
        None => Err(Refusal::Invalid("no type".to_owned())),
    }
}

fn values(ctx: &Ctx<'_>, register: AnyReg) -> [u64; LANES] {
    match register {
        AnyReg::W32(register) => ctx.regs.r32[register.0 as usize].map(u64::from),
        AnyReg::W64(register) => *ctx.regs.r64[register.0 as usize],
        AnyReg::Pred(_) => [0; LANES],
    }
}

/// `mapa d, a, b`: the address of `a`'s place in the shared memory of the CTA with rank `b`.
fn mapa(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let [d, a, b] = operands(instruction)?;
    let (shared, a) = form(instruction, cx, a)?;
    let window = if shared { 0 } else { SHARED_WINDOW };
    let (d, b): (AnyReg, R32) = (cx.register(d)?, cx.src32(b)?);
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let (addresses, ranks) = (values(ctx, a), ctx.regs.r32[b.0 as usize]);
        let size: u32 = ctx.job.cluster.iter().product();
        if let Some(lane) = lanes(mask).find(|&lane| ranks[lane] >= size) {
            let message = format!("mapa with CTA rank {}, in a cluster of {size}", ranks[lane]);
            return Err(Stop::new(FaultKind::Trap { message }, lane as u32));
        }
        let out: [u64; LANES] = std::array::from_fn(|lane| {
            window + ((u64::from(ranks[lane]) + 1) << RANK_SHIFT) + (addresses[lane] & OFFSET)
        });
        match d {
            AnyReg::W32(d) => ctx.regs.set(d, &out.map(|address| address as u32), mask),
            AnyReg::W64(d) => ctx.regs.set(d, &out, mask),
            AnyReg::Pred(_) => {}
        }
        Ok(())
    }))
}

/// `getctarank d, a`: the rank of the CTA that holds a shared address.
fn getctarank(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let [d, a] = operands(instruction)?;
    let (_, a) = form(instruction, cx, a)?;
    let d = cx.dst32(d)?;
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let out = values(ctx, a).map(|address| rank_of(ctx, address) as u32);
        ctx.regs.set(d, &out, mask);
        Ok(())
    }))
}
