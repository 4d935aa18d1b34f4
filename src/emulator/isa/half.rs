//! Arithmetic on `f16` and `bf16`, single and in pairs: `add sub mul fma abs neg`.

use super::support::{Modifiers, Num, Result, binary, invalid, operands, ternary, unary, unsupported};
use crate::emulator::arith::half::{self, Finish, both1, both2, both3};
use crate::emulator::arith::{Format, Rounding};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::ptx::ast::Instruction;

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let rounding = modifiers.rounding();
    let finish = Finish {
        ftz: modifiers.take("ftz"),
        sat: modifiers.take("sat"),
        relu: modifiers.take("relu"),
    };
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let (format, pair) = match ty {
        Num::Float(format @ (Format::F16 | Format::BF16)) => (format, false),
        Num::Pair(format) => (format, true),
        _ => return unsupported("this type"),
    };
    if rounding.is_some_and(|rounding| rounding != Rounding::NearestEven) {
        return invalid("halves are rounded to nearest only");
    }
    check(instruction, format, finish)?;
    let path = if format == Format::F16 { "fp16" } else { "bf16" };
    let lanes = 1 + u32::from(pair);
    match instruction.opcode.as_str() {
        "add" => two(instruction, l, pair, path, move |x, y| half::add(format, finish, x, y)),
        "sub" => two(instruction, l, pair, path, move |x, y| half::sub(format, finish, x, y)),
        "mul" => two(instruction, l, pair, path, move |x, y| half::mul(format, finish, x, y)),
        "fma" if rounding.is_none() => invalid("expected .rn"),
        "fma" => {
            let f = move |x, y, z| half::fma(format, finish, x, y, z);
            let all = operands(instruction)?;
            let lowered = if pair {
                ternary(l, Class::Float, 32, all, move |x, y, z| {
                    u64::from(both3(x as u32, y as u32, z as u32, f))
                })
            } else {
                ternary(l, Class::Float, 16, all, f)
            };
            Ok(lowered?.flops(path, 2 * lanes))
        }
        "neg" | "abs" if rounding.is_some() => Err(Refusal::modifier("rn")),
        "neg" => one(instruction, l, pair, move |x| flushed(format, finish, x) ^ 0x8000),
        "abs" => one(instruction, l, pair, move |x| flushed(format, finish, x) & 0x7fff),
        _ => Err(Refusal::opcode()),
    }
}

/// `.ftz` and `.sat` exist for f16 alone, `.relu` for fma alone, and neither for signs.
fn check(instruction: &Instruction, format: Format, finish: Finish) -> Result<()> {
    let opcode = instruction.opcode.as_str();
    let sign = matches!(opcode, "neg" | "abs");
    if finish.ftz && format == Format::BF16 {
        return Err(Refusal::modifier("ftz"));
    }
    if finish.sat && (format == Format::BF16 || sign) {
        return Err(Refusal::modifier("sat"));
    }
    if finish.relu && (opcode != "fma" || finish.sat) {
        return Err(Refusal::modifier("relu"));
    }
    Ok(())
}

#[inline]
fn flushed(format: Format, finish: Finish, code: u64) -> u64 {
    if finish.ftz { format.flush(code) } else { code }
}

fn one(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    pair: bool,
    f: impl Fn(u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Lowered> {
    let all = operands(instruction)?;
    if pair {
        unary(l, Class::Float, (32, 32), all, move |x| u64::from(both1(x as u32, f)))
    } else {
        unary(l, Class::Float, (16, 16), all, f)
    }
}

fn two(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    pair: bool,
    path: &'static str,
    f: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Lowered> {
    let all = operands(instruction)?;
    if pair {
        let lowered = binary(l, Class::Float, 32, all, move |x, y| {
            u64::from(both2(x as u32, y as u32, f))
        });
        Ok(lowered?.flops(path, 2))
    } else {
        Ok(binary(l, Class::Float, 16, all, f)?.flops(path, 1))
    }
}
