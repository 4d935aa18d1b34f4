//! `cvt` between integers, `f32` and `f64`.

use super::{Lower, operands};
use crate::emulator::arith::single::canonical;
use crate::emulator::code::Class;
use crate::emulator::layout::{is_signed, size_of, type_of};
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{AnyReg, LANES};
use crate::ptx::ast::{Instruction, Type};

pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let types: Vec<Type> = instruction
        .modifiers
        .iter()
        .filter_map(|modifier| type_of(modifier))
        .collect();
    let rounding: Vec<&str> = instruction
        .modifiers
        .iter()
        .map(String::as_str)
        .filter(|modifier| type_of(modifier).is_none())
        .collect();
    let [to, from] = types.as_slice() else {
        return Err(Refusal::opcode());
    };
    let (to, from) = (*to, *from);
    let float = |ty| matches!(ty, Type::F32 | Type::F64);
    let integer = |ty| is_signed(ty) || matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64);
    if !(float(to) || integer(to)) || !(float(from) || integer(from)) {
        return Err(Refusal::opcode());
    }
    let round: fn(f64) -> f64 = match (rounding.as_slice(), float(to), float(from)) {
        ([], false, false) | ([] | ["rn"], true, _) => |value| value,
        (["rzi"], false, true) => f64::trunc,
        (["rni"], false, true) => f64::round_ties_even,
        (["rmi"], false, true) => f64::floor,
        (["rpi"], false, true) => f64::ceil,
        _ => return Err(Refusal::opcode()),
    };
    let [d, a] = operands(instruction)?;
    let source = match cx.register(a) {
        Ok(register) => register,
        Err(_) if size_of(from) == 8 => AnyReg::W64(cx.src64(a)?),
        Err(_) => AnyReg::W32(cx.src32(a)?),
    };
    let d = cx.register(d)?;
    let f = move |raw: u64| -> u64 {
        if float(from) {
            let value = if from == Type::F32 {
                f64::from(f32::from_bits(raw as u32))
            } else {
                f64::from_bits(raw)
            };
            return match to {
                Type::F32 => u64::from(canonical(value as f32)),
                Type::F64 => value.to_bits(),
                _ => from_float(round(value), to),
            };
        }
        let value = integer_of(raw, from);
        match to {
            Type::F32 => u64::from((value as f32).to_bits()),
            Type::F64 => (value as f64).to_bits(),
            _ => value as u64,
        }
    };
    let keep = |bits: u32| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let signed = is_signed(to);
    let bits = size_of(to) * 8;
    let fit = move |value: u64, register_bits: u32| -> u64 {
        // Narrow results are extended to the register, by their sign where they have one.
        let value = value & keep(bits);
        let extended = if signed && bits < 64 && value >> (bits - 1) & 1 == 1 {
            value | !keep(bits)
        } else {
            value
        };
        extended & keep(register_bits)
    };
    let narrow = matches!(
        cx.register_type(&instruction.operands[0]),
        Some(Type::B16 | Type::U16 | Type::S16)
    );
    let register_bits = match d {
        AnyReg::W64(_) => 64,
        AnyReg::W32(_) if narrow => 16,
        _ => 32,
    };
    Ok(Lowered::run(Class::Conversion, move |ctx, mask| {
        let raw: [u64; LANES] = match source {
            AnyReg::W32(a) => ctx.regs.r32[a.0 as usize].map(u64::from),
            AnyReg::W64(a) => ctx.regs.r64[a.0 as usize],
            AnyReg::Pred(_) => [0; LANES],
        };
        let out = raw.map(|raw| fit(f(raw), register_bits));
        match d {
            AnyReg::W32(d) => ctx.regs.set(d, &out.map(|v| v as u32), mask),
            AnyReg::W64(d) => ctx.regs.set(d, &out, mask),
            AnyReg::Pred(_) => {}
        }
        Ok(())
    }))
}

fn integer_of(raw: u64, ty: Type) -> i128 {
    match ty {
        Type::U8 => i128::from(raw as u8),
        Type::S8 => i128::from(raw as i8),
        Type::U16 => i128::from(raw as u16),
        Type::S16 => i128::from(raw as i16),
        Type::U32 => i128::from(raw as u32),
        Type::S32 => i128::from(raw as i32),
        Type::S64 => i128::from(raw as i64),
        _ => i128::from(raw),
    }
}

/// Saturates, and turns NaN into 0.
fn from_float(value: f64, ty: Type) -> u64 {
    match ty {
        Type::U8 => u64::from(value as u8),
        Type::S8 => value as i8 as u64,
        Type::U16 => u64::from(value as u16),
        Type::S16 => value as i16 as u64,
        Type::U32 => u64::from(value as u32),
        Type::S32 => value as i32 as u64,
        Type::S64 => value as i64 as u64,
        _ => value as u64,
    }
}
