//! `atom` and `red`: single values and vectors.

mod update;

use super::Lower;
use super::memory::space_of;
use super::support::{Num, invalid};
use crate::emulator::code::Class;
use crate::emulator::exec::{Ctx, misaligned};
use crate::emulator::lower::{Address, Lowered, Lowering, Refusal};
use crate::emulator::regs::{AnyReg, LANES};
use crate::emulator::space::{MemSpace, resolve};
use crate::ptx::ast::{Instruction, Operand};
use update::{Update, update};

/// What the modifiers say.
struct Form {
    space: MemSpace,
    op: String,
    ty: Num,
    /// Elements per lane.
    vector: usize,
}

fn form(instruction: &Instruction) -> Result<Form, Refusal> {
    let (mut space, mut op, mut ty, mut vector, mut noftz) = (MemSpace::Generic, None, None, 1, false);
    for modifier in &instruction.modifiers {
        let name = modifier.as_str();
        if let Some(named) = space_of(name) {
            space = named;
        } else if let Some(named) = Num::parse(name) {
            ty = Some(named);
        } else {
            match name {
                // Every atomic here is sequentially consistent, which is at least as strong as any of these.
                "relaxed" | "acquire" | "release" | "acq_rel" | "cta" | "cluster" | "gpu" | "sys"
                | "L2::cache_hint" => {}
                "noftz" => noftz = true,
                "v2" => vector = 2,
                "v4" => vector = 4,
                "v8" => vector = 8,
                "add" | "min" | "max" | "inc" | "dec" | "and" | "or" | "xor" | "exch" | "cas" => op = Some(name),
                other => return Err(Refusal::modifier(other)),
            }
        }
    }
    let (Some(op), Some(ty)) = (op, ty) else {
        return invalid("no operation or no type");
    };
    let half = matches!(ty, Num::Pair(_)) || matches!(ty, Num::Float(_)) && ty.bits() == 16;
    if half != noftz {
        return invalid("sums of halves need .noftz, and nothing else has it");
    }
    // Vectors exist for floats of 16 and 32 bits, up to 16 bytes.
    let floats = half || (ty.bits() == 32 && matches!(ty, Num::Float(_)));
    if vector > 1 && (!floats || vector as u32 * ty.bits() > 128) {
        return Err(Refusal::Unsupported(format!("modifier .v{vector}")));
    }
    Ok(Form {
        space,
        op: op.to_owned(),
        ty,
        vector,
    })
}

pub(super) fn atom(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let [d, rest @ ..] = instruction.operands.as_slice() else {
        return invalid("no operands");
    };
    let form = form(instruction)?;
    let d = parts(d, form.vector)?
        .iter()
        .map(|part| {
            if *part == Operand::Sink {
                Ok(None)
            } else {
                cx.register(part).map(Some)
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    lower(&form, cx, d, rest)
}

pub(super) fn red(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let form = form(instruction)?;
    if matches!(form.op.as_str(), "exch" | "cas") {
        return invalid("red cannot return what was there");
    }
    let none = vec![None; form.vector];
    lower(&form, cx, none, &instruction.operands)
}

/// The elements of a vector operand, or the operand itself.
fn parts(operand: &Operand, vector: usize) -> Result<&[Operand], Refusal> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        // `_` in place of a whole vector is not a form of PTX.
        single => std::slice::from_ref(single),
    };
    if parts.len() == vector {
        Ok(parts)
    } else {
        invalid(format!("expected {vector} elements, found {}", parts.len()))
    }
}

fn lower(form: &Form, cx: &mut Lowering<'_, '_>, d: Vec<Option<AnyReg>>, operands: &[Operand]) -> Lower {
    let (address, b, c) = match operands {
        // A further operand is a cache policy.
        [address, b, c] | [address, b, c, _] if form.op == "cas" => (address, b, Some(c)),
        [address, b] | [address, b, _] if form.op != "cas" => (address, b, None),
        _ => return invalid("wrong number of operands"),
    };
    let (address, space) = cx.address(address, form.space)?;
    let wide = form.ty.bits() == 64;
    let mut source = |operand: &Operand| -> Result<AnyReg, Refusal> {
        if wide {
            cx.src64(operand).map(AnyReg::W64)
        } else {
            cx.src32(operand).map(AnyReg::W32)
        }
    };
    let b = parts(b, form.vector)?
        .iter()
        .map(&mut source)
        .collect::<Result<Vec<_>, _>>()?;
    let c = c.map(source).transpose()?;
    let elements = d.into_iter().zip(b).collect();
    let updates = [update(&form.op, form.ty, true)?, update(&form.op, form.ty, false)?];
    let atomic = Atomic {
        space,
        address,
        bytes: form.ty.bits() / 8,
        elements,
        c,
        updates,
    };
    Ok(Lowered::run(Class::Memory, move |ctx, mask| atomic.run(ctx, mask)))
}

/// One atomic instruction, resolved.
struct Atomic {
    space: MemSpace,
    address: Address,
    /// Of one element.
    bytes: u32,
    /// Destination and operand of each element.
    elements: Vec<(Option<AnyReg>, AnyReg)>,
    c: Option<AnyReg>,
    /// In global memory, and in shared memory.
    updates: [Update; 2],
}

impl Atomic {
    fn run(&self, ctx: &mut Ctx<'_>, mask: u32) -> crate::emulator::code::Step {
        let mut at = self.address.eval(ctx);
        let keep = u64::MAX >> (64 - self.bytes * 8);
        let values = |ctx: &Ctx<'_>, register: Option<AnyReg>| -> [u64; LANES] {
            match register {
                Some(AnyReg::W32(r)) => ctx.regs.r32[r.0 as usize].map(|value| u64::from(value) & keep),
                Some(AnyReg::W64(r)) => *ctx.regs.r64[r.0 as usize],
                _ => [0; LANES],
            }
        };
        self.check_alignment(ctx, &at, mask)?;
        let shared = match self.space {
            MemSpace::Shared => u32::MAX,
            MemSpace::Generic => (0..LANES).fold(0, |set, lane| {
                set | u32::from(resolve(at[lane]).0 == MemSpace::Shared) << lane
            }),
            _ => 0,
        };
        let c = values(ctx, self.c);
        for &(d, b) in &self.elements {
            let b = values(ctx, Some(b));
            let old = ctx.atomic(self.space, &at, mask, self.bytes, |lane, old| {
                self.updates[(shared >> lane & 1) as usize](old, b[lane], c[lane])
            })?;
            match d {
                Some(AnyReg::W32(d)) => ctx.regs.set(d, &old.map(|value| value as u32), mask),
                Some(AnyReg::W64(d)) => ctx.regs.set(d, &old, mask),
                _ => {}
            }
            for address in &mut at {
                *address = address.wrapping_add(u64::from(self.bytes));
            }
        }
        Ok(())
    }

    /// A vector must be aligned as a whole; single values are checked where they are accessed.
    fn check_alignment(&self, ctx: &Ctx<'_>, at: &[u64; LANES], mask: u32) -> crate::emulator::code::Step {
        let whole = self.bytes * self.elements.len() as u32;
        let bad = |lane: &usize| mask >> lane & 1 == 1 && !at[*lane].is_multiple_of(u64::from(whole));
        match (0..LANES).find(bad) {
            Some(lane) if self.elements.len() > 1 => Err(misaligned(
                ctx.job.memory.access("atomic", at[lane], whole),
                lane as u32,
            )),
            _ => Ok(()),
        }
    }
}
