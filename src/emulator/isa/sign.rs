//! `copysign` and `testp`.

use super::support::{Modifiers, Num, Result, binary, operands, unsupported};
use crate::emulator::arith::Format;
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering};
use crate::emulator::regs::{Pred, R32, R64, Reg};
use crate::ptx::ast::Instruction;

/// `copysign d, a, b`: the magnitude of b with the sign of a.
pub(super) fn copysign(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let Num::Float(format @ (Format::F32 | Format::F64)) = ty else {
        return unsupported("this type");
    };
    let sign = format.sign_bit();
    binary(l, Class::Float, ty.bits(), operands(instruction)?, move |x, y| {
        x & sign | y & (sign - 1)
    })
}

/// The classes that `testp` asks about.
#[derive(Clone, Copy, Debug)]
enum Test {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

impl Test {
    fn holds(self, format: Format, code: u64) -> bool {
        let magnitude = code & (format.sign_bit() - 1);
        match self {
            Self::Finite => magnitude < format.infinity(),
            Self::Infinite => magnitude == format.infinity(),
            Self::Number => magnitude <= format.infinity(),
            Self::NotANumber => format.is_nan(code),
            // A zero counts as normal.
            Self::Normal => magnitude < format.infinity() && !format.is_subnormal(code),
            Self::Subnormal => format.is_subnormal(code),
        }
    }
}

pub(super) fn testp(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let test = modifiers.find(|word| {
        Some(match word {
            "finite" => Test::Finite,
            "infinite" => Test::Infinite,
            "number" => Test::Number,
            "notanumber" => Test::NotANumber,
            "normal" => Test::Normal,
            "subnormal" => Test::Subnormal,
            _ => return None,
        })
    });
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let Some(test) = test else {
        return unsupported("its class");
    };
    let [p, a] = operands(instruction)?;
    let p = l.dst_pred(p)?;
    match ty {
        Num::Float(Format::F32) => {
            let a = l.src32(a)?;
            Ok(run::<R32>(p, a, move |x| test.holds(Format::F32, u64::from(x))))
        }
        Num::Float(Format::F64) => {
            let a = l.src64(a)?;
            Ok(run::<R64>(p, a, move |x| test.holds(Format::F64, x)))
        }
        _ => unsupported("this type"),
    }
}

fn run<A: Reg>(p: Pred, a: A, f: impl Fn(A::Value) -> bool + Send + Sync + 'static) -> Lowered {
    Lowered::run(Class::Float, move |ctx, mask| {
        let mut bits = 0;
        for (lane, x) in a.get(&ctx.regs).iter().enumerate() {
            bits |= u32::from(f(*x)) << lane;
        }
        ctx.regs.set_pred(p, bits, mask);
        Ok(())
    })
}
