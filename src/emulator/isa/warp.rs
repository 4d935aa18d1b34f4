//! What lanes of a warp do together: `shfl vote match redux elect activemask`.

use super::logic::mask_of;
use super::support::{Modifiers, Num, Result, invalid, operands, unsupported};
use crate::emulator::arith::convert::Integer;
use crate::emulator::code::{Action, Class, Run};
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{LANES, R32, Reg};
use crate::ptx::ast::{Instruction, Operand};

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    if instruction.opcode == "activemask" {
        return activemask(instruction, l, modifiers);
    }
    // Without .sync these were removed from PTX for every target since sm_70.
    if !modifiers.take("sync") {
        return unsupported("the form without .sync");
    }
    match instruction.opcode.as_str() {
        "shfl" => shfl(instruction, l, modifiers),
        "vote" => vote(instruction, l, modifiers),
        "match" => match_lanes(instruction, l, modifiers),
        "redux" => redux(instruction, l, modifiers),
        "elect" => elect(instruction, l, modifiers),
        _ => Err(Refusal::opcode()),
    }
}

/// Runs once the lanes that `members` names are together.
fn collective(members: R32, run: Run) -> Lowered {
    Lowered::action(Class::Special, Action::Collective { members, run })
}

/// The lanes of a mask.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

fn activemask(instruction: &Instruction, l: &mut Lowering<'_, '_>, mut modifiers: Modifiers<'_>) -> Result<Lowered> {
    let ty = modifiers.ty()?;
    modifiers.done()?;
    if ty != Num::Bits(32) {
        return unsupported("this type");
    }
    let [d] = operands(instruction)?;
    let d = l.dst32(d)?;
    Ok(Lowered::run(Class::Special, move |ctx, mask| {
        ctx.regs.set(d, &[mask; LANES], mask);
        Ok(())
    }))
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

impl Shuffle {
    /// The source lane, and whether it lies in the segment that `c` describes; see the PTX manual's pseudocode.
    const fn source(self, lane: u32, b: u32, c: u32) -> (u32, bool) {
        let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
        let max = lane & segment | clamp & !segment;
        let (from, inside) = match self {
            Self::Up => (lane.wrapping_sub(b), lane >= b && lane - b >= max),
            Self::Down => (lane + b, lane + b <= max),
            Self::Butterfly => (lane ^ b, lane ^ b <= max),
            Self::Index => {
                let from = lane & segment | b & !segment;
                (from, from <= max)
            }
        };
        (if inside { from } else { lane }, inside)
    }
}

/// `shfl.sync.bfly.b32 d|p, a, b, c, members`
fn shfl(instruction: &Instruction, l: &mut Lowering<'_, '_>, mut modifiers: Modifiers<'_>) -> Result<Lowered> {
    let mode = modifiers.find(|word| {
        Some(match word {
            "up" => Shuffle::Up,
            "down" => Shuffle::Down,
            "bfly" => Shuffle::Butterfly,
            "idx" => Shuffle::Index,
            _ => return None,
        })
    });
    let Some(mode) = mode else {
        return invalid("expected .up, .down, .bfly or .idx");
    };
    let ty = modifiers.ty()?;
    modifiers.done()?;
    if ty != Num::Bits(32) {
        return unsupported("this type");
    }
    let [d, a, b, c, members] = operands(instruction)?;
    let (d, p) = match d {
        Operand::Pair(d, p) => (l.dst32(d)?, Some(l.dst_pred(p)?)),
        single => (l.dst32(single)?, None),
    };
    let (a, b, c, members) = (l.src32(a)?, l.src32(b)?, l.src32(c)?, l.src32(members)?);
    Ok(collective(
        members,
        Box::new(move |ctx, mask| {
            let (source, by, segment) = (*a.get(&ctx.regs), b.get(&ctx.regs), c.get(&ctx.regs));
            let mut out = [0; LANES];
            let mut inside = 0;
            for lane in 0..LANES {
                let (from, good) = mode.source(lane as u32, by[lane], segment[lane]);
                out[lane] = source[from as usize];
                inside |= u32::from(good) << lane;
            }
            ctx.regs.set(d, &out, mask);
            if let Some(p) = p {
                ctx.regs.set_pred(p, inside, mask);
            }
            Ok(())
        }),
    ))
}

/// `vote.sync.ballot.b32 d, p, members`; `.all .any .uni` give a predicate.
fn vote(instruction: &Instruction, l: &mut Lowering<'_, '_>, mut modifiers: Modifiers<'_>) -> Result<Lowered> {
    let mode = modifiers.find(|word| ["all", "any", "uni", "ballot"].into_iter().find(|mode| *mode == word));
    let Some(mode) = mode else {
        return invalid("expected .all, .any, .uni or .ballot");
    };
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let [d, p, members] = operands(instruction)?;
    let (p, members) = (l.src_pred(p)?, l.src32(members)?);
    if mode == "ballot" {
        if ty != Num::Bits(32) {
            return unsupported("this type");
        }
        let d = l.dst32(d)?;
        return Ok(collective(
            members,
            Box::new(move |ctx, mask| {
                let ballot = mask_of(ctx, p) & mask;
                ctx.regs.set(d, &[ballot; LANES], mask);
                Ok(())
            }),
        ));
    }
    if ty != Num::Pred {
        return unsupported("this type");
    }
    let d = l.dst_pred(d)?;
    Ok(collective(
        members,
        Box::new(move |ctx, mask| {
            let votes = mask_of(ctx, p) & mask;
            let answer = match mode {
                "all" => votes == mask,
                "any" => votes != 0,
                _ => votes == mask || votes == 0,
            };
            ctx.regs.set_pred(d, if answer { u32::MAX } else { 0 }, mask);
            Ok(())
        }),
    ))
}

/// `match.any.sync.b32 d, a, members`, `match.all.sync.b64 d|p, a, members`
fn match_lanes(instruction: &Instruction, l: &mut Lowering<'_, '_>, mut modifiers: Modifiers<'_>) -> Result<Lowered> {
    let all = match (modifiers.take("all"), modifiers.take("any")) {
        (true, false) => true,
        (false, true) => false,
        _ => return invalid("expected .any or .all"),
    };
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let [d, a, members] = operands(instruction)?;
    let members = l.src32(members)?;
    let (d, p) = match d {
        Operand::Pair(d, p) if all => (l.dst32(d)?, Some(l.dst_pred(p)?)),
        single => (l.dst32(single)?, None),
    };
    match ty {
        Num::Bits(32) => {
            let a = l.src32(a)?;
            Ok(match_run(all, d, p, a, members))
        }
        Num::Bits(64) => {
            let a = l.src64(a)?;
            Ok(match_run(all, d, p, a, members))
        }
        _ => unsupported("this type"),
    }
}

fn match_run<A: Reg>(all: bool, d: R32, p: Option<crate::emulator::regs::Pred>, a: A, members: R32) -> Lowered {
    collective(
        members,
        Box::new(move |ctx, mask| {
            let values = *a.get(&ctx.regs);
            let mut out = [0; LANES];
            for lane in lanes(mask) {
                out[lane] = lanes(mask)
                    .filter(|&other| values[other] == values[lane])
                    .fold(0, |set, at| set | 1 << at);
            }
            if all {
                let equal = lanes(mask).all(|lane| out[lane] == mask);
                out = [if equal { mask } else { 0 }; LANES];
                if let Some(p) = p {
                    ctx.regs.set_pred(p, if equal { u32::MAX } else { 0 }, mask);
                }
            }
            ctx.regs.set(d, &out, mask);
            Ok(())
        }),
    )
}

/// `redux.sync.add.s32 d, a, members`
fn redux(instruction: &Instruction, l: &mut Lowering<'_, '_>, mut modifiers: Modifiers<'_>) -> Result<Lowered> {
    let names = ["add", "min", "max", "and", "or", "xor"];
    let operation = modifiers.find(|word| names.into_iter().find(|name| *name == word));
    let Some(operation) = operation else {
        return unsupported("its operation");
    };
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let bitwise = matches!(operation, "and" | "or" | "xor");
    let signed = match ty {
        Num::Int(Integer { bits: 32, signed }) if !bitwise => signed,
        Num::Bits(32) if bitwise => false,
        _ => return unsupported("this type"),
    };
    let combine: fn(u32, u32) -> u32 = match (operation, signed) {
        ("add", _) => u32::wrapping_add,
        ("min", true) => |x, y| (x as i32).min(y as i32) as u32,
        ("max", true) => |x, y| (x as i32).max(y as i32) as u32,
        ("min", false) => |x, y| x.min(y),
        ("max", false) => |x, y| x.max(y),
        ("and", _) => |x, y| x & y,
        ("or", _) => |x, y| x | y,
        _ => |x, y| x ^ y,
    };
    let [d, a, members] = operands(instruction)?;
    let (d, a, members) = (l.dst32(d)?, l.src32(a)?, l.src32(members)?);
    Ok(collective(
        members,
        Box::new(move |ctx, mask| {
            let values = a.get(&ctx.regs);
            let total = lanes(mask).map(|lane| values[lane]).reduce(combine).unwrap_or(0);
            ctx.regs.set(d, &[total; LANES], mask);
            Ok(())
        }),
    ))
}

/// `elect.sync d|p, members`: the lowest lane leads.
fn elect(instruction: &Instruction, l: &mut Lowering<'_, '_>, modifiers: Modifiers<'_>) -> Result<Lowered> {
    modifiers.done()?;
    let [d, members] = operands(instruction)?;
    let Operand::Pair(d, p) = d else {
        return invalid("expected two destinations, d|p");
    };
    let (d, p, members) = (l.dst32(d)?, l.dst_pred(p)?, l.src32(members)?);
    Ok(collective(
        members,
        Box::new(move |ctx, mask| {
            let leader = mask.trailing_zeros();
            ctx.regs.set(d, &[leader; LANES], mask);
            ctx.regs.set_pred(p, 1 << leader, mask);
            Ok(())
        }),
    ))
}
