//! The approximate functions: `rcp sqrt rsqrt sin cos lg2 ex2 tanh div` with `.approx` or `.full`.

use super::support::{Modifiers, Num, Result, binary, operands, unary, unsupported};
use crate::emulator::arith::approx::{Function, div, upper_half};
use crate::emulator::arith::half::both1;
use crate::emulator::arith::single::{canonical, flush};
use crate::emulator::arith::{Format, Rounding};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::ptx::ast::Instruction;

/// Whether this instruction asks for an approximation, as opposed to an IEEE rounding.
pub(super) fn is_approximate(instruction: &Instruction) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| matches!(modifier.as_str(), "approx" | "full"))
}

fn function(opcode: &str) -> Option<Function> {
    Some(match opcode {
        "rcp" => Function::Reciprocal,
        "sqrt" => Function::SquareRoot,
        "rsqrt" => Function::ReciprocalRoot,
        "sin" => Function::Sine,
        "cos" => Function::Cosine,
        "lg2" => Function::Logarithm,
        "ex2" => Function::Exponential,
        "tanh" => Function::Tangent,
        _ => return None,
    })
}

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let (full, approx) = (modifiers.take("full"), modifiers.take("approx"));
    let ftz = modifiers.take("ftz");
    let ty = modifiers.ty()?;
    modifiers.done()?;
    if !full && !approx {
        return unsupported("an exact form");
    }
    if instruction.opcode == "div" {
        return divide(instruction, l, ty, full, ftz);
    }
    if full {
        return Err(Refusal::modifier("full"));
    }
    let Some(function) = function(&instruction.opcode) else {
        return Err(Refusal::opcode());
    };
    match ty {
        Num::Float(Format::F32) => single(instruction, l, function, ftz),
        Num::Float(Format::F64) => double(instruction, l, function, ftz),
        Num::Float(format) | Num::Pair(format) => half(instruction, l, function, format, ty, ftz),
        _ => unsupported("this type"),
    }
}

fn divide(instruction: &Instruction, l: &mut Lowering<'_, '_>, ty: Num, full: bool, ftz: bool) -> Result<Lowered> {
    if ty != Num::Float(Format::F32) {
        return unsupported("this type");
    }
    let input = move |x: u64| f32::from_bits(if ftz { flush(x as u32) } else { x as u32 });
    let lowered = binary(l, Class::Special, 32, operands(instruction)?, move |x, y| {
        let (a, b) = (input(x), input(y));
        let code = if full { canonical(a / b) } else { div(a, b) };
        u64::from(if ftz { flush(code) } else { code })
    });
    Ok(lowered?.flops("fp32", 1))
}

fn single(instruction: &Instruction, l: &mut Lowering<'_, '_>, function: Function, ftz: bool) -> Result<Lowered> {
    if ftz && function == Function::Tangent {
        return Err(Refusal::modifier("ftz"));
    }
    let lowered = unary(l, Class::Special, (32, 32), operands(instruction)?, move |x| {
        let x = if ftz { flush(x as u32) } else { x as u32 };
        let code = function.eval(f32::from_bits(x));
        u64::from(if ftz { flush(code) } else { code })
    });
    Ok(lowered?.flops("fp32", 1))
}

fn double(instruction: &Instruction, l: &mut Lowering<'_, '_>, function: Function, ftz: bool) -> Result<Lowered> {
    let bits = (64, 64);
    let lowered = match (function, ftz) {
        (Function::Reciprocal, true) => unary(l, Class::Special, bits, operands(instruction)?, |x| {
            upper_half(x, |x| 1.0 / x)
        }),
        (Function::ReciprocalRoot, true) => unary(l, Class::Special, bits, operands(instruction)?, |x| {
            upper_half(x, |x| 1.0 / x.sqrt())
        }),
        (Function::ReciprocalRoot, false) => unary(l, Class::Special, bits, operands(instruction)?, |x| {
            let value = 1.0 / f64::from_bits(x).sqrt();
            if value.is_nan() {
                Format::F64.nan()
            } else {
                value.to_bits()
            }
        }),
        _ => return unsupported("this type"),
    };
    Ok(lowered?.flops("fp64", 1))
}

/// `ex2` and `tanh` of halves.
fn half(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    function: Function,
    format: Format,
    ty: Num,
    ftz: bool,
) -> Result<Lowered> {
    let wanted = match function {
        // `.ftz` is optional for f16 and part of the name for bf16.
        Function::Exponential => format == Format::F16 || ftz,
        Function::Tangent => !ftz,
        _ => false,
    };
    if !wanted {
        return unsupported("this form");
    }
    let one = move |code: u64| {
        let x = if ftz { format.flush(code) } else { code };
        let value = f32::from_bits(function.eval(format.to_f64(x) as f32));
        let code = format.from_f64(f64::from(value), Rounding::NearestEven);
        if ftz { format.flush(code) } else { code }
    };
    let path = if format == Format::F16 { "fp16" } else { "bf16" };
    if matches!(ty, Num::Pair(_)) {
        let lowered = unary(l, Class::Special, (32, 32), operands(instruction)?, move |x| {
            u64::from(both1(x as u32, one))
        });
        return Ok(lowered?.flops(path, 2));
    }
    Ok(unary(l, Class::Special, (16, 16), operands(instruction)?, one)?.flops(path, 1))
}
