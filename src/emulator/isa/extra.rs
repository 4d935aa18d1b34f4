//! The odd integer instructions: `mul24 mad24 sad slct dp4a dp2a`, and `add`, `sub` of 16-bit pairs.

use super::support::{Modifiers, Num, Result, binary, invalid, operands, ternary, unsupported};
use crate::emulator::arith::bits::{dot2, dot4};
use crate::emulator::arith::convert::Integer;
use crate::emulator::arith::half::both2;
use crate::emulator::arith::single::flush;
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{R32, Reg, map3};
use crate::ptx::ast::{Instruction, Operand};

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    match instruction.opcode.as_str() {
        "mul24" | "mad24" => mul24(instruction, l),
        "sad" => sad(instruction, l),
        "slct" => slct(instruction, l),
        "dp4a" => dp4a(instruction, l),
        "dp2a" => dp2a(instruction, l),
        "add" | "sub" => pairs(instruction, l),
        _ => Err(Refusal::opcode()),
    }
}

/// `mul24.lo.u32`, `mad24.hi.sat.s32`: products of the low 24 bits, 48 bits wide.
fn mul24(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let high = match (modifiers.take("hi"), modifiers.take("lo")) {
        (true, false) => true,
        (false, true) => false,
        _ => return invalid("expected .hi or .lo"),
    };
    let sat = modifiers.take("sat");
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let Num::Int(int @ Integer { bits: 32, signed }) = ty else {
        return unsupported("this type");
    };
    let mad = instruction.opcode == "mad24";
    if sat && !(mad && high && signed) {
        return Err(Refusal::modifier("sat"));
    }
    let low24 = Integer { bits: 24, signed };
    let product = move |x: u64, y: u64| {
        let whole = low24.value(x) * low24.value(y);
        int.value(int.wrap(if high { whole >> 16 } else { whole }))
    };
    if mad {
        return ternary(l, Class::Integer, 32, operands(instruction)?, move |x, y, z| {
            let sum = product(x, y) + int.value(z);
            if sat { int.clamp(sum) } else { int.wrap(sum) }
        });
    }
    binary(l, Class::Integer, 32, operands(instruction)?, move |x, y| {
        int.wrap(product(x, y))
    })
}

/// `sad`: c + |a - b|
fn sad(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let Num::Int(int @ Integer { bits: 16.., .. }) = ty else {
        return unsupported("this type");
    };
    ternary(l, Class::Integer, int.bits, operands(instruction)?, move |x, y, z| {
        int.wrap((int.value(x) - int.value(y)).abs() + int.value(z))
    })
}

/// `slct`: a where c >= 0, otherwise b. A NaN selects b.
fn slct(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let ftz = modifiers.take("ftz");
    let (ty, selector) = (modifiers.ty()?, modifiers.ty()?);
    modifiers.done()?;
    let float = match selector {
        Num::Int(Integer { bits: 32, signed: true }) if !ftz => false,
        Num::Float(crate::emulator::arith::Format::F32) => true,
        _ => return unsupported("this type"),
    };
    let first = move |c: u32| {
        if float {
            f32::from_bits(if ftz { flush(c) } else { c }) >= 0.0
        } else {
            c as i32 >= 0
        }
    };
    let [d, a, b, c] = operands(instruction)?;
    let c = l.src32(c)?;
    Ok(match ty.bits() {
        64 => select(l.dst64(d)?, l.src64(a)?, l.src64(b)?, c, first),
        16 | 32 => select(l.dst32(d)?, l.src32(a)?, l.src32(b)?, c, first),
        _ => return unsupported("this type"),
    })
}

fn select<R: Reg>(d: R, a: R, b: R, c: R32, first: impl Fn(u32) -> bool + Copy + Send + Sync + 'static) -> Lowered {
    Lowered::run(Class::Integer, move |ctx, mask| {
        map3(
            &mut ctx.regs,
            mask,
            d,
            a,
            b,
            c,
            move |x, y, z| if first(z) { x } else { y },
        );
        Ok(())
    })
}

/// The signs of the two operand types of a dot product.
fn dot_types(modifiers: &mut Modifiers<'_>) -> Result<(bool, bool)> {
    match (modifiers.ty()?, modifiers.ty()?) {
        (Num::Int(a @ Integer { bits: 32, .. }), Num::Int(b @ Integer { bits: 32, .. })) => Ok((a.signed, b.signed)),
        _ => unsupported("these types"),
    }
}

fn dp4a(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let (a, b) = dot_types(&mut modifiers)?;
    modifiers.done()?;
    ternary(l, Class::Integer, 32, operands(instruction)?, move |x, y, z| {
        u64::from(dot4(x as u32, y as u32, z as u32, a, b))
    })
}

fn dp2a(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let high = match (modifiers.take("hi"), modifiers.take("lo")) {
        (true, false) => true,
        (false, true) => false,
        _ => return invalid("expected .hi or .lo"),
    };
    let (a, b) = dot_types(&mut modifiers)?;
    modifiers.done()?;
    ternary(l, Class::Integer, 32, operands(instruction)?, move |x, y, z| {
        u64::from(dot2(x as u32, y as u32, z as u32, a, b, high))
    })
}

/// Whether this is `add.u16x2` or its like.
pub(super) fn is_pair(instruction: &Instruction) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| matches!(modifier.as_str(), "u16x2" | "s16x2"))
}

fn pairs(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let (Num::IntPair(_), "add") = (ty, instruction.opcode.as_str()) else {
        return unsupported("this type");
    };
    let all: [&Operand; 3] = operands(instruction)?;
    binary(l, Class::Integer, 32, all, |x, y| {
        u64::from(both2(x as u32, y as u32, |x, y| x.wrapping_add(y) & 0xffff))
    })
}
