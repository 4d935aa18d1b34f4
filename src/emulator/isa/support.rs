//! What instruction families share: types, modifiers taken one by one, and operations lifted from values to warps.

use crate::dtype::MiniFloat;
use crate::emulator::arith::convert::Integer;
use crate::emulator::arith::{Format, Rounding};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{LANES, R32, R64, Reg, Regs};
use crate::ptx::ast::{Instruction, Operand};

pub(super) type Result<T> = std::result::Result<T, Refusal>;

/// A type as instructions name it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Pred,
    /// `.b32` and its kin, by width.
    Bits(u32),
    Int(Integer),
    Float(Format),
    /// `.f16x2`, `.bf16x2`
    Pair(Format),
    /// `.e4m3x2`, `.e5m2x2`
    Fp8Pair(MiniFloat),
    /// `.u16x2`, `.s16x2`: signed or not.
    IntPair(bool),
    Tf32,
}

impl Num {
    pub(super) fn parse(word: &str) -> Option<Self> {
        let int = |bits, signed| Self::Int(Integer { bits, signed });
        Some(match word {
            "pred" => Self::Pred,
            "b8" => Self::Bits(8),
            "b16" => Self::Bits(16),
            "b32" => Self::Bits(32),
            "b64" => Self::Bits(64),
            "b128" => Self::Bits(128),
            "u8" => int(8, false),
            "u16" => int(16, false),
            "u32" => int(32, false),
            "u64" => int(64, false),
            "s8" => int(8, true),
            "s16" => int(16, true),
            "s32" => int(32, true),
            "s64" => int(64, true),
            "f16" => Self::Float(Format::F16),
            "bf16" => Self::Float(Format::BF16),
            "f32" => Self::Float(Format::F32),
            "f64" => Self::Float(Format::F64),
            "f16x2" => Self::Pair(Format::F16),
            "bf16x2" => Self::Pair(Format::BF16),
            "e4m3x2" => Self::Fp8Pair(MiniFloat::E4M3FN),
            "e5m2x2" => Self::Fp8Pair(MiniFloat::E5M2),
            "u16x2" => Self::IntPair(false),
            "s16x2" => Self::IntPair(true),
            "tf32" => Self::Tf32,
            _ => return None,
        })
    }

    /// Bits that a value takes in a register; a predicate takes none.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::Pred => 0,
            Self::Bits(bits) => bits,
            Self::Int(int) => int.bits,
            Self::Float(format) => format.exponent_bits + format.mantissa_bits + 1,
            Self::Pair(_) | Self::IntPair(_) | Self::Tf32 => 32,
            Self::Fp8Pair(_) => 16,
        }
    }
}

/// The modifiers of an instruction. Families take what they know; [`Modifiers::done`] refuses the rest.
#[derive(Debug)]
pub(super) struct Modifiers<'i> {
    rest: Vec<&'i str>,
}

impl<'i> Modifiers<'i> {
    pub(super) fn of(instruction: &'i Instruction) -> Self {
        Self {
            rest: instruction.modifiers.iter().map(String::as_str).collect(),
        }
    }

    /// Takes a modifier if it is there.
    pub(super) fn take(&mut self, word: &str) -> bool {
        self.find(|modifier| (modifier == word).then_some(())).is_some()
    }

    /// Takes whatever comes next.
    pub(super) fn any(&mut self) -> Option<&'i str> {
        (!self.rest.is_empty()).then(|| self.rest.remove(0))
    }

    /// Takes the first modifier that `parse` knows.
    pub(super) fn find<T>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (at, value) = self
            .rest
            .iter()
            .enumerate()
            .find_map(|(at, word)| Some((at, parse(word)?)))?;
        self.rest.remove(at);
        Some(value)
    }

    /// `.rn .rz .rm .rp`
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.find(|word| {
            Some(match word {
                "rn" => Rounding::NearestEven,
                "rz" => Rounding::Zero,
                "rm" => Rounding::Down,
                "rp" => Rounding::Up,
                _ => return None,
            })
        })
    }

    /// The next type.
    pub(super) fn ty(&mut self) -> Result<Num> {
        let written = self.find(Num::parse);
        written.ok_or_else(|| Refusal::Unsupported("its type".to_owned()))
    }

    /// Refuses what nobody took.
    pub(super) fn done(self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some(left) => Err(Refusal::modifier(left)),
        }
    }
}

pub(super) fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(Refusal::Invalid(message.into()))
}

pub(super) fn unsupported<T>(part: impl Into<String>) -> Result<T> {
    Err(Refusal::Unsupported(part.into()))
}

/// Exactly `N` operands.
pub(super) fn operands<const N: usize>(instruction: &Instruction) -> Result<[&Operand; N]> {
    let all: Vec<&Operand> = instruction.operands.iter().collect();
    let found = all.len();
    all.try_into()
        .map_err(|_| Refusal::Invalid(format!("expected {N} operands, found {found}")))
}

/// A register whose lanes can be seen as 64-bit patterns.
pub(super) trait Lanes: Reg {
    fn up(value: Self::Value) -> u64;
    fn down(bits: u64) -> Self::Value;
    fn source(lowering: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Self>;
    fn destination(lowering: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Self>;
}

impl Lanes for R32 {
    #[inline]
    fn up(value: u32) -> u64 {
        u64::from(value)
    }

    #[inline]
    fn down(bits: u64) -> u32 {
        bits as u32
    }

    fn source(lowering: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Self> {
        lowering.src32(operand)
    }

    fn destination(lowering: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Self> {
        lowering.dst32(operand)
    }
}

impl Lanes for R64 {
    #[inline]
    fn up(value: u64) -> u64 {
        value
    }

    #[inline]
    fn down(bits: u64) -> u64 {
        bits
    }

    fn source(lowering: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Self> {
        lowering.src64(operand)
    }

    fn destination(lowering: &mut Lowering<'_, '_>, operand: &Operand) -> Result<Self> {
        lowering.dst64(operand)
    }
}

/// The values of all lanes, as 64-bit patterns.
type Wide = [u64; LANES];

/// A register of either width, read or written as 64-bit patterns. The lifting below is not generic: one copy of the
/// code serves all families, and only the loop over lanes is made for each operation.
#[derive(Clone, Copy, Debug)]
enum Any {
    Narrow(R32),
    Long(R64),
}

impl Any {
    fn source(lowering: &mut Lowering<'_, '_>, operand: &Operand, bits: u32) -> Result<Self> {
        if bits > 32 {
            lowering.src64(operand).map(Self::Long)
        } else {
            lowering.src32(operand).map(Self::Narrow)
        }
    }

    fn destination(lowering: &mut Lowering<'_, '_>, operand: &Operand, bits: u32) -> Result<Self> {
        if bits > 32 {
            lowering.dst64(operand).map(Self::Long)
        } else {
            lowering.dst32(operand).map(Self::Narrow)
        }
    }

    fn read(self, regs: &Regs<'_>) -> Wide {
        match self {
            Self::Narrow(register) => register.get(regs).map(u64::from),
            Self::Long(register) => *register.get(regs),
        }
    }

    fn write(self, regs: &mut Regs<'_>, values: &Wide, mask: u32) {
        match self {
            Self::Narrow(register) => regs.set(register, &values.map(|value| value as u32), mask),
            Self::Long(register) => regs.set(register, values, mask),
        }
    }
}

/// `d = f(a)`; `bits` are the widths of d and a. Results must fit in their width.
pub(super) fn unary(
    lowering: &mut Lowering<'_, '_>,
    class: Class,
    bits: (u32, u32),
    operands: [&Operand; 2],
    f: impl Fn(u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Lowered> {
    let all = move |x: &mut Wide| x.iter_mut().for_each(|x| *x = f(*x));
    unary_lanes(lowering, class, bits, operands, Box::new(all))
}

/// A function of all lanes of two operands; the first becomes the result.
type OfTwo = Box<dyn Fn(&mut Wide, &Wide) + Send + Sync>;
/// The same of three.
type OfThree = Box<dyn Fn(&mut Wide, &Wide, &Wide) + Send + Sync>;

fn unary_lanes(
    lowering: &mut Lowering<'_, '_>,
    class: Class,
    bits: (u32, u32),
    [d, a]: [&Operand; 2],
    all: Box<dyn Fn(&mut Wide) + Send + Sync>,
) -> Result<Lowered> {
    let (d, a) = (
        Any::destination(lowering, d, bits.0)?,
        Any::source(lowering, a, bits.1)?,
    );
    Ok(Lowered::run(class, move |ctx, mask| {
        let mut x = a.read(&ctx.regs);
        all(&mut x);
        d.write(&mut ctx.regs, &x, mask);
        Ok(())
    }))
}

/// `d = f(a, b)`, all of one width.
pub(super) fn binary(
    lowering: &mut Lowering<'_, '_>,
    class: Class,
    bits: u32,
    operands: [&Operand; 3],
    f: impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Lowered> {
    let all = move |x: &mut Wide, y: &Wide| x.iter_mut().zip(y).for_each(|(x, y)| *x = f(*x, *y));
    binary_lanes(lowering, class, bits, operands, Box::new(all))
}

fn binary_lanes(
    lowering: &mut Lowering<'_, '_>,
    class: Class,
    bits: u32,
    [d, a, b]: [&Operand; 3],
    all: OfTwo,
) -> Result<Lowered> {
    let d = Any::destination(lowering, d, bits)?;
    let (a, b) = (Any::source(lowering, a, bits)?, Any::source(lowering, b, bits)?);
    Ok(Lowered::run(class, move |ctx, mask| {
        let mut x = a.read(&ctx.regs);
        all(&mut x, &b.read(&ctx.regs));
        d.write(&mut ctx.regs, &x, mask);
        Ok(())
    }))
}

/// `d = f(a, b, c)`, all of one width.
pub(super) fn ternary(
    lowering: &mut Lowering<'_, '_>,
    class: Class,
    bits: u32,
    operands: [&Operand; 4],
    f: impl Fn(u64, u64, u64) -> u64 + Copy + Send + Sync + 'static,
) -> Result<Lowered> {
    let all = move |x: &mut Wide, y: &Wide, z: &Wide| {
        for lane in 0..LANES {
            x[lane] = f(x[lane], y[lane], z[lane]);
        }
    };
    ternary_lanes(lowering, class, bits, operands, Box::new(all))
}

fn ternary_lanes(
    lowering: &mut Lowering<'_, '_>,
    class: Class,
    bits: u32,
    [d, a, b, c]: [&Operand; 4],
    all: OfThree,
) -> Result<Lowered> {
    let d = Any::destination(lowering, d, bits)?;
    let a = Any::source(lowering, a, bits)?;
    let (b, c) = (Any::source(lowering, b, bits)?, Any::source(lowering, c, bits)?);
    Ok(Lowered::run(class, move |ctx, mask| {
        let mut x = a.read(&ctx.regs);
        all(&mut x, &b.read(&ctx.regs), &c.read(&ctx.regs));
        d.write(&mut ctx.regs, &x, mask);
        Ok(())
    }))
}
