//! Bit manipulation: `lop3 prmt shf bfe bfi bfind brev popc clz fns bmsk szext`.

use super::support::{Modifiers, Num, Result, binary, invalid, operands, ternary, unary, unsupported};
use crate::emulator::arith::bits::{self, Permute};
use crate::emulator::arith::convert::Integer;
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{map2, map3};
use crate::ptx::ast::{Instruction, Operand};

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    match instruction.opcode.as_str() {
        "lop3" => lop3(instruction, l),
        "prmt" => prmt(instruction, l),
        "shf" => shf(instruction, l),
        "bfe" => bfe(instruction, l),
        "bfi" => bfi(instruction, l),
        "bfind" => bfind(instruction, l),
        "brev" | "popc" | "clz" => counts(instruction, l),
        "fns" => fns(instruction, l),
        "bmsk" => bmsk(instruction, l),
        "szext" => szext(instruction, l),
        _ => Err(Refusal::opcode()),
    }
}

/// The type, when it is `.b32` or `.b64`.
fn bit_type(modifiers: &mut Modifiers<'_>) -> Result<u32> {
    match modifiers.ty()? {
        Num::Bits(bits @ (32 | 64)) => Ok(bits),
        _ => unsupported("this type"),
    }
}

/// The type, when it is an integer of 32 or 64 bits.
fn int_type(modifiers: &mut Modifiers<'_>) -> Result<Integer> {
    match modifiers.ty()? {
        Num::Int(int) if int.bits >= 32 => Ok(int),
        _ => unsupported("this type"),
    }
}

/// Takes `.clamp` or `.wrap`: whether it is the latter.
fn wraps(modifiers: &mut Modifiers<'_>) -> Result<bool> {
    match (modifiers.take("clamp"), modifiers.take("wrap")) {
        (true, false) => Ok(false),
        (false, true) => Ok(true),
        _ => invalid("expected .clamp or .wrap"),
    }
}

/// `lop3.b32 d, a, b, c, table`, and with a predicate: `lop3.or.b32 d|p, a, b, c, table, q`.
fn lop3(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let (or, and) = (modifiers.take("or"), modifiers.take("and"));
    if bit_type(&mut modifiers)? != 32 {
        return unsupported("this type");
    }
    modifiers.done()?;
    let table = |operand: &Operand| match operand {
        Operand::Int(table @ 0..=255) => Ok(*table as u8),
        _ => invalid("the table of lop3 is a literal of 0 to 255"),
    };
    if !or && !and {
        let [d, a, b, c, t] = operands(instruction)?;
        let t = table(t)?;
        return ternary(l, Class::Integer, 32, [d, a, b, c], move |x, y, z| {
            u64::from(bits::lop3(x as u32, y as u32, z as u32, t))
        });
    }
    let [d, a, b, c, t, q] = operands(instruction)?;
    let Operand::Pair(d, p) = d else {
        return invalid("expected two destinations, d|p");
    };
    let (d, p, t) = (l.dst32(d)?, l.dst_pred(p)?, table(t)?);
    let (a, b, c) = (l.src32(a)?, l.src32(b)?, l.src32(c)?);
    let (q, negated) = l.src_pred(q)?;
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        let other = ctx.regs.pred(q) ^ if negated { u32::MAX } else { 0 };
        map3(&mut ctx.regs, mask, d, a, b, c, move |x, y, z| bits::lop3(x, y, z, t));
        let mut set = 0;
        for (lane, value) in ctx.regs.r32[d.0 as usize].iter().enumerate() {
            set |= u32::from(*value != 0) << lane;
        }
        ctx.regs.set_pred(p, if or { set | other } else { set & other }, mask);
        Ok(())
    }))
}

fn prmt(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let mode = modifiers.find(|word| {
        Some(match word {
            "f4e" => Permute::Forward4,
            "b4e" => Permute::Backward4,
            "rc8" => Permute::Replicate8,
            "ecl" => Permute::EdgeLeft,
            "ecr" => Permute::EdgeRight,
            "rc16" => Permute::Replicate16,
            _ => return None,
        })
    });
    if bit_type(&mut modifiers)? != 32 {
        return unsupported("this type");
    }
    modifiers.done()?;
    let mode = mode.unwrap_or(Permute::Index);
    ternary(l, Class::Integer, 32, operands(instruction)?, move |x, y, z| {
        u64::from(bits::prmt(x as u32, y as u32, z as u32, mode))
    })
}

fn shf(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let left = match (modifiers.take("l"), modifiers.take("r")) {
        (true, false) => true,
        (false, true) => false,
        _ => return invalid("expected .l or .r"),
    };
    let wrap = wraps(&mut modifiers)?;
    if bit_type(&mut modifiers)? != 32 {
        return unsupported("this type");
    }
    modifiers.done()?;
    ternary(
        l,
        Class::Integer,
        32,
        operands(instruction)?,
        move |low, high, amount| {
            let amount = amount as u32;
            let amount = if wrap { amount & 31 } else { amount.min(32) };
            u64::from(bits::funnel(low as u32, high as u32, amount, left))
        },
    )
}

fn bfe(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let int = int_type(&mut modifiers)?;
    modifiers.done()?;
    let [d, a, start, length] = operands(instruction)?;
    let (start, length) = (l.src32(start)?, l.src32(length)?);
    if int.bits == 64 {
        let (d, a) = (l.dst64(d)?, l.src64(a)?);
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            map3(&mut ctx.regs, mask, d, a, start, length, move |x, s, n| {
                bits::extract(x, s, n, 64, int.signed)
            });
            Ok(())
        }));
    }
    let (d, a) = (l.dst32(d)?, l.src32(a)?);
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        map3(&mut ctx.regs, mask, d, a, start, length, move |x, s, n| {
            bits::extract(u64::from(x), s, n, 32, int.signed) as u32
        });
        Ok(())
    }))
}

fn bfi(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let width = bit_type(&mut modifiers)?;
    modifiers.done()?;
    let [d, a, b, start, length] = operands(instruction)?;
    let (start, length) = (l.src32(start)?, l.src32(length)?);
    // The field as one register: start in the low byte, length in the next.
    let field = l.temp32();
    let pack = move |regs: &mut crate::emulator::regs::Regs<'_>, mask| {
        map2(regs, mask, field, start, length, move |s, n| {
            bits::field(s, width) | bits::field(n, width) << 8
        });
    };
    if width == 64 {
        let (d, a, b) = (l.dst64(d)?, l.src64(a)?, l.src64(b)?);
        return Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            pack(&mut ctx.regs, mask);
            map3(&mut ctx.regs, mask, d, a, b, field, |x, y, f| {
                bits::insert(x, y, f & 0xff, f >> 8, 64)
            });
            Ok(())
        }));
    }
    let (d, a, b) = (l.dst32(d)?, l.src32(a)?, l.src32(b)?);
    Ok(Lowered::run(Class::Integer, move |ctx, mask| {
        pack(&mut ctx.regs, mask);
        map3(&mut ctx.regs, mask, d, a, b, field, |x, y, f| {
            bits::insert(u64::from(x), u64::from(y), f & 0xff, f >> 8, 32) as u32
        });
        Ok(())
    }))
}

fn bfind(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let shift_amount = modifiers.take("shiftamt");
    let int = int_type(&mut modifiers)?;
    modifiers.done()?;
    unary(l, Class::Integer, (32, int.bits), operands(instruction)?, move |x| {
        u64::from(bits::find_high(x, int.bits, int.signed, shift_amount))
    })
}

fn counts(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let width = bit_type(&mut modifiers)?;
    modifiers.done()?;
    let all = operands(instruction)?;
    match instruction.opcode.as_str() {
        "brev" => unary(l, Class::Integer, (width, width), all, move |x| {
            x.reverse_bits() >> (64 - width)
        }),
        "popc" => unary(l, Class::Integer, (32, width), all, |x| u64::from(x.count_ones())),
        _ => unary(l, Class::Integer, (32, width), all, move |x| {
            u64::from(x.leading_zeros() + width - 64)
        }),
    }
}

fn fns(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    if bit_type(&mut modifiers)? != 32 {
        return unsupported("this type");
    }
    modifiers.done()?;
    ternary(l, Class::Integer, 32, operands(instruction)?, |mask, base, offset| {
        u64::from(bits::find_nth(mask as u32, base as u32, offset as u32 as i32))
    })
}

fn bmsk(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let wrap = wraps(&mut modifiers)?;
    if bit_type(&mut modifiers)? != 32 {
        return unsupported("this type");
    }
    modifiers.done()?;
    let limit = move |x: u64| if wrap { x as u32 & 31 } else { x as u32 };
    binary(l, Class::Integer, 32, operands(instruction)?, move |x, y| {
        u64::from(bits::mask(limit(x), limit(y)))
    })
}

fn szext(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let wrap = wraps(&mut modifiers)?;
    let int = int_type(&mut modifiers)?;
    modifiers.done()?;
    if int.bits != 32 {
        return unsupported("this type");
    }
    binary(l, Class::Integer, 32, operands(instruction)?, move |x, y| {
        let bits = if wrap { y as u32 & 31 } else { y as u32 };
        u64::from(bits::extend(x as u32, bits, int.signed))
    })
}
