//! `min` and `max` of floats, halves and pairs, and of pairs of 16-bit integers.

use super::support::{Modifiers, Num, Result, binary, operands, ternary, unsupported};
use crate::emulator::arith::Format;
use crate::emulator::arith::half::{self, Extremum, both2};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::ptx::ast::Instruction;

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let max = instruction.opcode == "max";
    let mut modifiers = Modifiers::of(instruction);
    let (ftz, nan) = (modifiers.take("ftz"), modifiers.take("NaN"));
    let (xorsign, abs, relu) = (modifiers.take("xorsign"), modifiers.take("abs"), modifiers.take("relu"));
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let how = Extremum {
        max,
        ftz,
        nan,
        xorsign_abs: xorsign,
    };
    if let Num::IntPair(signed) = ty {
        if ftz || nan || xorsign || abs {
            return unsupported("a modifier of floats on integers");
        }
        return integers(instruction, l, max, signed, relu);
    }
    if relu {
        return Err(Refusal::modifier("relu"));
    }
    // `.xorsign` comes with `.abs`; `.abs` alone is for three operands.
    if abs && !xorsign {
        return Err(Refusal::modifier("abs"));
    }
    match ty {
        Num::Float(Format::F64) if ftz || nan || xorsign => unsupported("a modifier of f32 on f64"),
        Num::Float(format) | Num::Pair(format) if ftz && format == Format::BF16 => Err(Refusal::modifier("ftz")),
        Num::Float(format) if instruction.operands.len() == 4 => {
            let bits = Num::Float(format).bits();
            ternary(l, Class::Float, bits, operands(instruction)?, move |x, y, z| {
                half::extremum(format, how, half::extremum(format, how, x, y), z)
            })
        }
        Num::Float(format) => {
            let bits = Num::Float(format).bits();
            binary(l, Class::Float, bits, operands(instruction)?, move |x, y| {
                half::extremum(format, how, x, y)
            })
        }
        Num::Pair(format) => binary(l, Class::Float, 32, operands(instruction)?, move |x, y| {
            u64::from(both2(x as u32, y as u32, |x, y| half::extremum(format, how, x, y)))
        }),
        _ => unsupported("this type"),
    }
}

/// `min.s16x2` and its kin; `.relu` clamps at 0 from below.
fn integers(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    max: bool,
    signed: bool,
    relu: bool,
) -> Result<Lowered> {
    if relu && !signed {
        return Err(Refusal::modifier("relu"));
    }
    binary(l, Class::Integer, 32, operands(instruction)?, move |x, y| {
        u64::from(both2(x as u32, y as u32, |x, y| {
            let value = |x: u64| if signed { i32::from(x as u16 as i16) } else { x as i32 };
            let (x, y) = (value(x), value(y));
            let result = if max { x.max(y) } else { x.min(y) };
            u64::from((if relu { result.max(0) } else { result }) as u16)
        }))
    })
}
