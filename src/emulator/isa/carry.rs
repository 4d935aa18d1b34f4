//! Extended precision: `add.cc addc sub.cc subc mad.cc madc`, which pass a carry or borrow from one to the next.

use super::support::{Lanes, Modifiers, Num, Result, invalid, operands, unsupported};
use crate::emulator::arith::convert::Integer;
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{LANES, Pred, R32, R64};
use crate::ptx::ast::{Instruction, Operand};

/// Whether this instruction sets the carry.
pub(super) fn sets_carry(instruction: &Instruction) -> bool {
    instruction.modifiers.iter().any(|modifier| modifier == "cc")
}

/// The operation on up to three values and the carry before; the sum's bits above the type are the carry after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    /// High half of the product, or not.
    Multiply(bool),
}

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let sets = modifiers.take("cc");
    let (high, low) = (modifiers.take("hi"), modifiers.take("lo"));
    let ty = modifiers.ty()?;
    modifiers.done()?;
    let Num::Int(int @ Integer { bits: 32 | 64, .. }) = ty else {
        return unsupported("this type");
    };
    let (operation, takes) = match instruction.opcode.as_str() {
        "add" => (Operation::Add, false),
        "addc" => (Operation::Add, true),
        "sub" => (Operation::Subtract, false),
        "subc" => (Operation::Subtract, true),
        "mad" => (Operation::Multiply(high), false),
        "madc" => (Operation::Multiply(high), true),
        _ => return Err(Refusal::opcode()),
    };
    let product = matches!(operation, Operation::Multiply(_));
    if product != (high != low) {
        return invalid("expected one of .hi and .lo for mad, and none for sums");
    }
    if !sets && !takes {
        return Err(Refusal::opcode());
    }
    let carry = l.carry();
    let step = Step {
        operation,
        int,
        takes: takes.then_some(carry),
        sets: sets.then_some(carry),
    };
    let zero = Operand::Int(0);
    let [d, a, b, c] = if product {
        operands::<4>(instruction)?
    } else {
        let [d, a, b] = operands(instruction)?;
        [d, a, b, &zero]
    };
    if int.bits == 64 {
        step.lower::<R64>(l, [d, a, b, c])
    } else {
        step.lower::<R32>(l, [d, a, b, c])
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    operation: Operation,
    int: Integer,
    takes: Option<Pred>,
    sets: Option<Pred>,
}

impl Step {
    /// The result and the carry or borrow.
    fn eval(self, a: u64, b: u64, c: u64, carry: bool) -> (u64, bool) {
        let Integer { bits, signed } = self.int;
        let mask = self.int.mask();
        let total = match self.operation {
            Operation::Add => u128::from(a) + u128::from(b) + u128::from(carry),
            Operation::Subtract => u128::from(a)
                .wrapping_sub(u128::from(b))
                .wrapping_sub(u128::from(carry)),
            Operation::Multiply(high) => {
                let product = if signed {
                    self.int.value(a).wrapping_mul(self.int.value(b)) as u128
                } else {
                    u128::from(a) * u128::from(b)
                };
                let half = if high { product >> bits } else { product } as u64 & mask;
                u128::from(half) + u128::from(c) + u128::from(carry)
            }
        };
        (total as u64 & mask, total >> bits & 1 == 1)
    }

    fn lower<R: Lanes>(self, l: &mut Lowering<'_, '_>, [d, a, b, c]: [&Operand; 4]) -> Result<Lowered> {
        let d = R::destination(l, d)?;
        let (a, b, c) = (R::source(l, a)?, R::source(l, b)?, R::source(l, c)?);
        Ok(Lowered::run(Class::Integer, move |ctx, mask| {
            let before = self.takes.map_or(0, |carry| ctx.regs.pred(carry));
            let (x, y, z) = (a.get(&ctx.regs), b.get(&ctx.regs), c.get(&ctx.regs));
            let mut out = [R::Value::default(); LANES];
            let mut after = 0;
            for lane in 0..LANES {
                let (value, carry) = self.eval(R::up(x[lane]), R::up(y[lane]), R::up(z[lane]), before >> lane & 1 == 1);
                out[lane] = R::down(value);
                after |= u32::from(carry) << lane;
            }
            ctx.regs.set(d, &out, mask);
            if let Some(carry) = self.sets {
                ctx.regs.set_pred(carry, after, mask);
            }
            Ok(())
        }))
    }
}
