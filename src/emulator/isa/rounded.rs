//! `add sub mul fma mad div rcp sqrt` of `f32` and `f64` with their IEEE rounding modes, `.ftz` and `.sat`.

use super::support::{Modifiers, Num, Result, binary, invalid, operands, ternary, unary, unsupported};
use crate::emulator::arith::single::{self, canonical, flush, saturate};
use crate::emulator::arith::{Format, Rounding, exact};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::ptx::ast::Instruction;

/// What is computed, with up to three operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Reciprocal,
    SquareRoot,
}

impl Operation {
    fn named(opcode: &str) -> Option<Self> {
        Some(match opcode {
            "add" => Self::Add,
            "sub" => Self::Sub,
            "mul" => Self::Mul,
            "fma" | "mad" => Self::Fma,
            "div" => Self::Div,
            "rcp" => Self::Reciprocal,
            "sqrt" => Self::SquareRoot,
            _ => return None,
        })
    }

    const fn flops(self) -> u32 {
        if matches!(self, Self::Fma) { 2 } else { 1 }
    }

    #[inline]
    fn single(self, a: u32, b: u32, c: u32, rounding: Rounding) -> u32 {
        let [x, y, z] = [a, b, c].map(f32::from_bits);
        if rounding == Rounding::NearestEven {
            return canonical(match self {
                Self::Add => x + y,
                Self::Sub => x - y,
                Self::Mul => x * y,
                Self::Fma => x.mul_add(y, z),
                Self::Div => x / y,
                Self::Reciprocal => 1.0 / x,
                Self::SquareRoot => x.sqrt(),
            });
        }
        match self {
            Self::Add => single::add(a, b, rounding),
            Self::Sub => single::add(a, b ^ 0x8000_0000, rounding),
            Self::Mul => single::mul(a, b, rounding),
            Self::Fma => single::fma(a, b, c, rounding),
            Self::Div => single::div(a, b, rounding),
            Self::Reciprocal => single::div(1_f32.to_bits(), a, rounding),
            Self::SquareRoot => single::sqrt(a, rounding),
        }
    }

    #[inline]
    fn double(self, a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
        const SIGN: u64 = 1 << 63;
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        if rounding == Rounding::NearestEven {
            let value = match self {
                Self::Add => x + y,
                Self::Sub => x - y,
                Self::Mul => x * y,
                Self::Fma => x.mul_add(y, z),
                Self::Div => x / y,
                Self::Reciprocal => 1.0 / x,
                Self::SquareRoot => x.sqrt(),
            };
            return if value.is_nan() {
                Format::F64.nan()
            } else {
                value.to_bits()
            };
        }
        let f = Format::F64;
        match self {
            Self::Add => exact::add(f, a, b, rounding),
            Self::Sub => exact::add(f, a, b ^ SIGN, rounding),
            Self::Mul => exact::mul(f, a, b, rounding),
            Self::Fma => exact::fma(f, a, b, c, rounding),
            Self::Div => exact::div(f, a, b, rounding),
            Self::Reciprocal => exact::div(f, 1_f64.to_bits(), a, rounding),
            Self::SquareRoot => exact::sqrt(f, a, rounding),
        }
    }
}

/// Lowers the instruction whose modifiers are left in `modifiers`, all but the rounding, `.ftz`, `.sat` and the type taken.
pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let Some(operation) = Operation::named(&instruction.opcode) else {
        return Err(Refusal::opcode());
    };
    let mut modifiers = Modifiers::of(instruction);
    let rounding = modifiers.rounding();
    let (ftz, sat) = (modifiers.take("ftz"), modifiers.take("sat"));
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let optional = matches!(operation, Operation::Add | Operation::Sub | Operation::Mul);
    let rounding = match rounding {
        Some(rounding) => rounding,
        None if optional => Rounding::NearestEven,
        None => return invalid("expected a rounding modifier such as .rn"),
    };
    match ty {
        Num::Float(Format::F32) => f32(instruction, l, operation, rounding, ftz, sat),
        Num::Float(Format::F64) if !ftz && !sat => f64(instruction, l, operation, rounding),
        Num::Float(Format::F64) => Err(Refusal::modifier(if ftz { "ftz" } else { "sat" })),
        _ => unsupported("this type"),
    }
}

fn f32(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    operation: Operation,
    rounding: Rounding,
    ftz: bool,
    sat: bool,
) -> Result<Lowered> {
    if sat
        && !matches!(
            operation,
            Operation::Add | Operation::Sub | Operation::Mul | Operation::Fma
        )
    {
        return Err(Refusal::modifier("sat"));
    }
    let input = move |x: u64| if ftz { flush(x as u32) } else { x as u32 };
    let output = move |code: u32| {
        let code = if ftz { flush(code) } else { code };
        u64::from(if sat { saturate(code) } else { code })
    };
    let lowered = match operation {
        Operation::Reciprocal | Operation::SquareRoot => {
            unary(l, Class::Float, (32, 32), operands(instruction)?, move |x| {
                output(operation.single(input(x), 0, 0, rounding))
            })
        }
        Operation::Fma => ternary(l, Class::Float, 32, operands(instruction)?, move |x, y, z| {
            output(operation.single(input(x), input(y), input(z), rounding))
        }),
        _ => binary(l, Class::Float, 32, operands(instruction)?, move |x, y| {
            output(operation.single(input(x), input(y), 0, rounding))
        }),
    };
    Ok(lowered?.flops("fp32", operation.flops()))
}

fn f64(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    operation: Operation,
    rounding: Rounding,
) -> Result<Lowered> {
    let lowered = match operation {
        Operation::Reciprocal | Operation::SquareRoot => {
            unary(l, Class::Float, (64, 64), operands(instruction)?, move |x| {
                operation.double(x, 0, 0, rounding)
            })
        }
        Operation::Fma => ternary(l, Class::Float, 64, operands(instruction)?, move |x, y, z| {
            operation.double(x, y, z, rounding)
        }),
        _ => binary(l, Class::Float, 64, operands(instruction)?, move |x, y| {
            operation.double(x, y, 0, rounding)
        }),
    };
    Ok(lowered?.flops("fp64", operation.flops()))
}
