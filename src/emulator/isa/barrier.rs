//! `bar` and `barrier`, fences, and `nanosleep`.

use std::sync::atomic::{Ordering, fence as host_fence};

use super::Lower;
use crate::emulator::code::{Action, BarrierKind, BarrierOp, Class};
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::ptx::ast::{Instruction, Operand};

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let mut modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
    if modifiers.first() == Some(&"cta") {
        modifiers.remove(0);
    }
    if instruction.opcode == "bar" && modifiers.first() == Some(&"warp") {
        return warp(&modifiers, instruction, cx);
    }
    if modifiers.first() == Some(&"cluster") {
        return cluster(&modifiers[1..], instruction, cx);
    }
    // `bar` is always aligned, `barrier` only where it says so.
    let aligned = instruction.opcode == "bar" || modifiers.contains(&"aligned");
    modifiers.retain(|&modifier| modifier != "aligned");
    let operands = instruction.operands.as_slice();
    let (kind, operands) = match (modifiers.as_slice(), operands) {
        (["sync"], rest) => (BarrierKind::Sync, rest),
        (["arrive"], rest) => (BarrierKind::Arrive, rest),
        (["red", op, _], [dst, middle @ .., source]) => {
            let (source, negated) = cx.src_pred(source)?;
            let kind = match *op {
                "and" => BarrierKind::RedAnd(cx.dst_pred(dst)?, source, negated),
                "or" => BarrierKind::RedOr(cx.dst_pred(dst)?, source, negated),
                "popc" => BarrierKind::RedPopc(cx.dst32(dst)?, source, negated),
                other => return Err(Refusal::modifier(other)),
            };
            (kind, middle)
        }
        (other, _) => return Err(Refusal::Unsupported(format!(".{}", other.join(".")))),
    };
    let (barrier, count) = match operands {
        [barrier] => (cx.src32(barrier)?, None),
        [barrier, count] => (cx.src32(barrier)?, Some(cx.src32(count)?)),
        _ => return Err(Refusal::Invalid("wrong number of operands".to_owned())),
    };
    if kind == BarrierKind::Arrive && count.is_none() {
        return Err(Refusal::Invalid("arrive needs a thread count".to_owned()));
    }
    let op = BarrierOp {
        barrier,
        count,
        aligned,
        kind,
    };
    Ok(Lowered::action(Class::Barrier, Action::Barrier(Box::new(op))))
}

/// `bar.warp.sync mask`
fn warp(modifiers: &[&str], instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let (["warp", "sync"], [members]) = (modifiers, instruction.operands.as_slice()) else {
        return Err(Refusal::opcode());
    };
    let members = cx.src32(members)?;
    Ok(Lowered::action(
        Class::Barrier,
        Action::Collective {
            members,
            run: Box::new(|_, _| Ok(())),
        },
    ))
}

/// `barrier.cluster.arrive` and `.wait`. Each lane remembers the phase that it arrived in.
fn cluster(modifiers: &[&str], instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let mut kind = None;
    for &modifier in modifiers {
        match modifier {
            "arrive" | "wait" => kind = Some(modifier),
            "release" | "relaxed" | "acquire" | "aligned" => {}
            other => return Err(Refusal::modifier(other)),
        }
    }
    if !instruction.operands.is_empty() {
        return Err(Refusal::Invalid("operands where none are expected".to_owned()));
    }
    let _ = cx;
    match kind {
        Some("arrive") => Ok(Lowered::run(Class::Barrier, |ctx, mask| {
            let phase = ctx.cluster.phase;
            for lane in crate::emulator::access::lanes(mask) {
                ctx.state.cluster_phase[lane] = phase;
            }
            ctx.progress();
            ctx.counts.barriers += 1;
            ctx.cluster.arrive(mask.count_ones());
            Ok(())
        })),
        Some(_) => Ok(Lowered::action(
            Class::Barrier,
            Action::Wait(Box::new(|ctx, mask| {
                let phase = ctx.cluster.phase;
                Ok(crate::emulator::access::lanes(mask).all(|lane| ctx.state.cluster_phase[lane] < phase))
            })),
        )),
        None => Err(Refusal::opcode()),
    }
}

/// `membar` and `fence`: the emulator's accesses are in program order for each warp; only other host threads need telling.
pub(super) fn fence(instruction: &Instruction, _cx: &mut Lowering<'_, '_>) -> Lower {
    for modifier in &instruction.modifiers {
        match modifier.as_str() {
            "cta"
            | "cluster"
            | "gl"
            | "gpu"
            | "sys"
            | "sc"
            | "acq_rel"
            | "acquire"
            | "release"
            | "proxy"
            | "alias"
            | "async"
            | "async::global"
            | "async::shared::cta"
            | "async::shared::cluster"
            | "async.global"
            | "global"
            | "shared::cta"
            | "shared::cluster"
            | "mbarrier_init"
            | "sync_restrict::shared::cluster"
            | "sync_restrict::shared::cta" => {}
            other => return Err(Refusal::modifier(other)),
        }
    }
    if let Some(Operand::AddressList { .. }) = instruction.operands.first() {
        return Err(Refusal::opcode());
    }
    Ok(Lowered::run(Class::Barrier, |_, _| {
        host_fence(Ordering::SeqCst);
        Ok(())
    }))
}

/// `nanosleep`: gives way.
pub(super) fn nanosleep(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    if let [time] = instruction.operands.as_slice() {
        cx.src32(time)?;
    }
    Ok(Lowered::run(Class::Other, |ctx, _| {
        ctx.state.polls += 1;
        Ok(())
    }))
}
