//! `ld` and `st` in every space and vector width, and the hints that move no data.

use super::Lower;
use crate::emulator::access::{Width, Words};
use crate::emulator::code::Class;
use crate::emulator::exec::Ctx;
use crate::emulator::layout::{is_signed, size_of, type_of};
use crate::emulator::lower::{Address, Base, Lowered, Lowering, Refusal};
use crate::emulator::regs::{AnyReg, FULL, LANES, R32, R64, Reg};
use crate::emulator::space::MemSpace;
use crate::ptx::ast::{Instruction, Operand, Type};

/// What the modifiers of `ld` or `st` say.
struct Form {
    space: MemSpace,
    strong: bool,
    ty: Type,
    vector: usize,
}

/// The space that a modifier names.
pub(super) fn space_of(modifier: &str) -> Option<MemSpace> {
    Some(match modifier {
        "global" => MemSpace::Global,
        "shared" | "shared::cta" | "shared::cluster" => MemSpace::Shared,
        "local" => MemSpace::Local,
        "const" => MemSpace::Const,
        "param" | "param::entry" | "param::func" => MemSpace::Param,
        _ => return None,
    })
}

fn form(instruction: &Instruction) -> Result<Form, Refusal> {
    let mut form = Form {
        space: MemSpace::Generic,
        strong: false,
        ty: Type::Opaque,
        vector: 1,
    };
    for modifier in &instruction.modifiers {
        let name = modifier.as_str();
        if let Some(space) = space_of(name) {
            form.space = space;
        } else if let Some(ty) = type_of(name) {
            form.ty = ty;
        } else {
            match name {
                "volatile" | "relaxed" | "acquire" | "release" | "mmio" => form.strong = true,
                // Scopes, and cache operators.
                "cta" | "cluster" | "gpu" | "sys" | "weak" | "nc" | "unified" | "ca" | "cg" | "cs" | "lu" | "cv"
                | "wb" | "wt" => {}
                "v2" => form.vector = 2,
                "v4" => form.vector = 4,
                "v8" => form.vector = 8,
                // Eviction priorities and prefetch sizes change when data is where, never what it is.
                hint if hint.starts_with("L1::") || hint.starts_with("L2::") => {}
                other => return Err(Refusal::modifier(other)),
            }
        }
    }
    if form.ty == Type::Opaque || form.ty == Type::Pred {
        return Err(Refusal::Invalid("no type".to_owned()));
    }
    Ok(form)
}

/// One element of a load or store: where it is in the lane's words, and its register.
#[derive(Clone, Copy, Debug)]
struct Element {
    byte: u32,
    bytes: u32,
    signed: bool,
    register: Option<AnyReg>,
    /// The upper half of a 128-bit register.
    high: Option<R64>,
}

/// The elements of the vector (or the single register) that is loaded or stored.
fn elements(
    cx: &mut Lowering<'_, '_>,
    form: &Form,
    operand: &Operand,
    mut resolve: impl FnMut(&mut Lowering<'_, '_>, &Operand) -> Result<AnyReg, Refusal>,
) -> Result<Vec<Element>, Refusal> {
    let parts: &[Operand] = match operand {
        Operand::Vector(parts) => parts,
        single => std::slice::from_ref(single),
    };
    if parts.len() != form.vector {
        return Err(Refusal::Invalid(format!(
            "{} registers for a vector of {}",
            parts.len(),
            form.vector
        )));
    }
    let bytes = size_of(form.ty);
    let mut out = Vec::with_capacity(parts.len());
    for (i, part) in parts.iter().enumerate() {
        let (register, high) = match part {
            Operand::Sink => (None, None),
            part if form.ty == Type::B128 => {
                let (low, high) = cx.register128(part)?;
                (Some(AnyReg::W64(low)), Some(high))
            }
            part => (Some(resolve(cx, part)?), None),
        };
        out.push(Element {
            byte: i as u32 * bytes,
            bytes,
            signed: is_signed(form.ty),
            register,
            high,
        });
    }
    Ok(out)
}

pub(super) fn load(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let form = form(instruction)?;
    // A third operand is a cache policy.
    let ([dst, address] | [dst, address, _]) = instruction.operands.as_slice() else {
        return Err(Refusal::Invalid("wrong number of operands".to_owned()));
    };
    let (address, space) = cx.address(address, form.space)?;
    let elements = elements(cx, &form, dst, |cx, part| cx.register(part))?;
    let width = Width {
        bytes: size_of(form.ty) * form.vector as u32,
        strong: form.strong,
    };
    if let (
        [
            Element {
                register: Some(AnyReg::W32(d)),
                bytes: 4,
                ..
            },
        ],
        4,
    ) = (elements.as_slice(), width.bytes)
    {
        let d = *d;
        let quick = match address.base {
            Base::R64(base) if space == MemSpace::Global && !form.strong => Some((base, address.offset)),
            _ => None,
        };
        return Ok(Lowered::run(Class::Memory, move |ctx, mask| {
            if let (FULL, Some((base, offset))) = (mask, quick)
                && ctx.load_word_quickly(base, offset, d)
            {
                return Ok(());
            }
            let at = address.eval(ctx);
            let mut out = [[0; LANES]; 1];
            ctx.load(space, &at, mask, width, &mut out)?;
            ctx.regs.set(d, &out[0], mask);
            Ok(())
        }));
    }
    Ok(match width.bytes {
        1 | 2 | 4 => loading::<1>(space, address, width, elements),
        8 => loading::<2>(space, address, width, elements),
        16 => loading::<4>(space, address, width, elements),
        32 => loading::<8>(space, address, width, elements),
        _ => return Err(Refusal::Invalid(format!("{} bytes per lane", width.bytes))),
    })
}

fn loading<const N: usize>(space: MemSpace, address: Address, width: Width, elements: Vec<Element>) -> Lowered {
    Lowered::run(Class::Memory, move |ctx, mask| {
        let at = address.eval(ctx);
        let mut words = [[0; LANES]; N];
        ctx.load(space, &at, mask, width, &mut words)?;
        for element in &elements {
            spread(ctx, mask, &words, element);
        }
        Ok(())
    })
}

/// Puts one element of a load into its register, extended to the register's width.
fn spread<const N: usize>(ctx: &mut Ctx<'_>, mask: u32, words: &Words<N>, element: &Element) {
    let word = &words[(element.byte / 4) as usize];
    let shift = element.byte % 4 * 8;
    let narrow = |lane: usize| -> u32 {
        let value = word[lane] >> shift;
        match (element.bytes, element.signed) {
            (1, false) => value & 0xff,
            (1, true) => i32::from(value as i8) as u32,
            (2, false) => value & 0xffff,
            (2, true) => i32::from(value as i16) as u32,
            _ => value,
        }
    };
    let wide = |at: u32, lane: usize| {
        let first = (at / 4) as usize;
        u64::from(words[first][lane]) | u64::from(words[first + 1][lane]) << 32
    };
    match element.register {
        // A 16-bit register holds no more than 16 bits; a signed byte in a 32-bit one is extended to 32.
        Some(AnyReg::W32(d)) => {
            let out = std::array::from_fn(narrow);
            ctx.regs.set(d, &out, mask);
        }
        Some(AnyReg::W64(d)) if element.bytes >= 8 => {
            let out = std::array::from_fn(|lane| wide(element.byte, lane));
            ctx.regs.set(d, &out, mask);
        }
        Some(AnyReg::W64(d)) => {
            let out = std::array::from_fn(|lane| {
                if element.signed {
                    i64::from(narrow(lane) as i32) as u64
                } else {
                    u64::from(narrow(lane))
                }
            });
            ctx.regs.set(d, &out, mask);
        }
        Some(AnyReg::Pred(_)) | None => {}
    }
    if let Some(high) = element.high {
        let out = std::array::from_fn(|lane| wide(element.byte + 8, lane));
        ctx.regs.set(high, &out, mask);
    }
}

pub(super) fn store(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let form = form(instruction)?;
    let ([address, source] | [address, source, _]) = instruction.operands.as_slice() else {
        return Err(Refusal::Invalid("wrong number of operands".to_owned()));
    };
    let (address, space) = cx.address(address, form.space)?;
    let wide = size_of(form.ty) == 8;
    let elements = elements(cx, &form, source, |cx, part| match cx.register(part) {
        Ok(register) => Ok(register),
        Err(_) if wide => cx.src64(part).map(AnyReg::W64),
        Err(_) => cx.src32(part).map(AnyReg::W32),
    })?;
    if elements.iter().any(|element| element.register.is_none()) {
        return Err(Refusal::Invalid("_ as a source".to_owned()));
    }
    let width = Width {
        bytes: size_of(form.ty) * form.vector as u32,
        strong: form.strong,
    };
    if let (
        [
            Element {
                register: Some(AnyReg::W32(a)),
                bytes: 1..=4,
                ..
            },
        ],
        1..=4,
    ) = (elements.as_slice(), width.bytes)
    {
        let a: R32 = *a;
        return Ok(Lowered::run(Class::Memory, move |ctx, mask| {
            let at = address.eval(ctx);
            let data = [*a.get(&ctx.regs)];
            ctx.store(space, &at, mask, width, &data)
        }));
    }
    Ok(match width.bytes {
        1 | 2 | 4 => storing::<1>(space, address, width, elements),
        8 => storing::<2>(space, address, width, elements),
        16 => storing::<4>(space, address, width, elements),
        32 => storing::<8>(space, address, width, elements),
        _ => return Err(Refusal::Invalid(format!("{} bytes per lane", width.bytes))),
    })
}

fn storing<const N: usize>(space: MemSpace, address: Address, width: Width, elements: Vec<Element>) -> Lowered {
    Lowered::run(Class::Memory, move |ctx, mask| {
        let at = address.eval(ctx);
        let mut words = [[0; LANES]; N];
        for element in &elements {
            gather(ctx, &mut words, element);
        }
        ctx.store(space, &at, mask, width, &words)
    })
}

/// Puts one register into its place in the words to store.
fn gather<const N: usize>(ctx: &Ctx<'_>, words: &mut Words<N>, element: &Element) {
    let first = (element.byte / 4) as usize;
    let shift = element.byte % 4 * 8;
    let bits = if element.bytes >= 4 {
        u32::MAX
    } else {
        (1 << (element.bytes * 8)) - 1
    };
    let mut wide = |first: usize, value: &[u64; LANES]| {
        for lane in 0..LANES {
            words[first][lane] = value[lane] as u32;
            words[first + 1][lane] = (value[lane] >> 32) as u32;
        }
    };
    match element.register {
        Some(AnyReg::W32(a)) => {
            let value = a.get(&ctx.regs);
            for lane in 0..LANES {
                words[first][lane] |= (value[lane] & bits) << shift;
            }
        }
        Some(AnyReg::W64(a)) if element.bytes >= 8 => {
            wide(first, a.get(&ctx.regs));
            if let Some(high) = element.high {
                wide(first + 2, high.get(&ctx.regs));
            }
        }
        Some(AnyReg::W64(a)) => {
            let value = a.get(&ctx.regs);
            for lane in 0..LANES {
                words[first][lane] |= (value[lane] as u32 & bits) << shift;
            }
        }
        Some(AnyReg::Pred(_)) | None => {}
    }
}

/// `prefetch` and the like: they have no effect that a program can see.
pub(super) fn hint(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let mut space = MemSpace::Generic;
    for modifier in &instruction.modifiers {
        match modifier.as_str() {
            "tensormap" => space = MemSpace::Generic,
            name if name.starts_with("L1") || name.starts_with("L2") => {}
            name => match space_of(name) {
                Some(named) => space = named,
                None => return Err(Refusal::modifier(name)),
            },
        }
    }
    let address = instruction
        .operands
        .first()
        .ok_or_else(|| Refusal::Invalid("no operand".to_owned()))?;
    cx.address(address, space)?;
    Ok(Lowered::run(Class::Memory, |_, _| Ok(())))
}
