//! `cvt` and `cvt.pack`.

use super::support::{Modifiers, Num, Result, binary, invalid, operands, unary, unsupported};
use crate::dtype::MiniFloat;
use crate::emulator::arith::convert::{Integer, from_integer, to_fp8, to_integral, to_tf32};
use crate::emulator::arith::half::Finish;
use crate::emulator::arith::{Format, Rounding};
use crate::emulator::code::Class;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::AnyReg;
use crate::ptx::ast::{Instruction, Operand, Type};

/// The rounding of a conversion: of the value, or to an integral value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Value(Rounding),
    Integral(Rounding),
}

/// The modifiers of a conversion, besides its types.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one flag for each modifier of cvt")]
struct Options {
    how: Option<How>,
    ftz: bool,
    sat: bool,
    satfinite: bool,
    relu: bool,
}

impl Options {
    fn take(modifiers: &mut Modifiers<'_>) -> Self {
        let how = modifiers.find(|word| {
            Some(match word {
                "rn" => How::Value(Rounding::NearestEven),
                "rna" => How::Value(Rounding::NearestAway),
                "rz" => How::Value(Rounding::Zero),
                "rm" => How::Value(Rounding::Down),
                "rp" => How::Value(Rounding::Up),
                "rni" => How::Integral(Rounding::NearestEven),
                "rzi" => How::Integral(Rounding::Zero),
                "rmi" => How::Integral(Rounding::Down),
                "rpi" => How::Integral(Rounding::Up),
                _ => return None,
            })
        });
        Self {
            how,
            ftz: modifiers.take("ftz"),
            sat: modifiers.take("sat"),
            satfinite: modifiers.take("satfinite"),
            relu: modifiers.take("relu"),
        }
    }

    /// The rounding of a result that may not be exact.
    fn value(self) -> Result<Rounding> {
        match self.how {
            Some(How::Value(rounding)) => Ok(rounding),
            _ => invalid("expected a rounding modifier such as .rn"),
        }
    }

    fn integral(self) -> Result<Rounding> {
        match self.how {
            Some(How::Integral(rounding)) => Ok(rounding),
            _ => invalid("expected a rounding modifier such as .rzi"),
        }
    }

    /// Refuses the modifiers that a conversion of this kind does not have.
    fn only(self, relu: bool, satfinite: bool) -> Result<()> {
        if self.relu && !relu {
            return Err(Refusal::modifier("relu"));
        }
        if self.satfinite && !satfinite {
            return Err(Refusal::modifier("satfinite"));
        }
        Ok(())
    }
}

pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    if modifiers.take("pack") {
        return pack(instruction, l, modifiers);
    }
    let options = Options::take(&mut modifiers);
    let to = modifiers.ty()?;
    let from = modifiers.ty()?;
    modifiers.done()?;
    match (to, from) {
        (Num::Int(to), Num::Int(from)) => integers(instruction, l, to, from, options),
        (Num::Int(to), Num::Float(from)) => to_int(instruction, l, to, from, options),
        (Num::Float(to), Num::Int(from)) => from_int(instruction, l, to, from, options),
        (Num::Float(to), Num::Float(from)) => floats(instruction, l, to, from, options),
        (Num::Pair(to), Num::Float(Format::F32)) => pair(instruction, l, to, options),
        (Num::Fp8Pair(to), Num::Float(Format::F32)) => fp8_from_f32(instruction, l, to, options),
        (Num::Fp8Pair(to), Num::Pair(Format::F16)) => fp8_from_f16(instruction, l, to, options),
        (Num::Pair(Format::F16), Num::Fp8Pair(from)) => f16_from_fp8(instruction, l, from, options),
        (Num::Tf32, Num::Float(Format::F32)) => tf32(instruction, l, options),
        _ => unsupported("this pair of types"),
    }
}

/// Bits of the register that an operand names: results are extended to it.
fn register_bits(l: &Lowering<'_, '_>, operand: &Operand, natural: u32) -> u32 {
    match l.register_type(operand) {
        Some(Type::B8 | Type::U8 | Type::S8) => 8,
        Some(Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16) => 16,
        Some(Type::B64 | Type::U64 | Type::S64 | Type::F64) => 64,
        Some(_) => 32,
        None => natural,
    }
}

/// Bits of the register that holds a source: it may be wider than the type.
fn source_bits(l: &Lowering<'_, '_>, operand: &Operand, natural: u32) -> u32 {
    match l.register(operand) {
        Ok(AnyReg::W64(_)) => 64,
        Ok(AnyReg::W32(_)) => 32,
        _ => natural,
    }
}

/// An integer result: extended from its type to the register.
fn integer_result(l: &Lowering<'_, '_>, operand: &Operand, to: Integer) -> (u32, Integer) {
    let bits = register_bits(l, operand, to.bits).max(to.bits);
    (
        bits,
        Integer {
            bits,
            signed: to.signed,
        },
    )
}

fn integers(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    to: Integer,
    from: Integer,
    options: Options,
) -> Result<Lowered> {
    options.only(false, false)?;
    if options.how.is_some() || options.ftz {
        return invalid("integers are not rounded");
    }
    let [d, a] = operands(instruction)?;
    let (register, wide) = integer_result(l, d, to);
    let source = source_bits(l, a, from.bits);
    let sat = options.sat;
    unary(l, Class::Conversion, (register, source), [d, a], move |bits| {
        let value = from.value(bits);
        let narrow = if sat { to.clamp(value) } else { to.wrap(value) };
        wide.wrap(to.value(narrow))
    })
}

fn to_int(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    to: Integer,
    from: Format,
    options: Options,
) -> Result<Lowered> {
    options.only(false, false)?;
    let rounding = options.integral()?;
    let [d, a] = operands(instruction)?;
    let (register, wide) = integer_result(l, d, to);
    let flush = options.ftz && from == Format::F32;
    if from == Format::F32 && to.bits == 32 && to.signed && rounding == Rounding::Zero && register == 32 {
        // Flushing changes nothing: subnormals truncate to 0 anyway.
        return unary(l, Class::Conversion, (32, 32), [d, a], |x| {
            u64::from((f32::from_bits(x as u32) as i32).cast_unsigned())
        });
    }
    let bits = Num::Float(from).bits();
    unary(l, Class::Conversion, (register, bits), [d, a], move |bits| {
        let bits = if flush { from.flush(bits) } else { bits };
        let narrow = to.from_float(from.to_f64(bits), from, rounding);
        wide.wrap(to.value(narrow))
    })
}

/// What `.ftz`, `.relu`, `.satfinite` and `.sat` make of a result.
#[inline]
fn finish(to: Format, options: Options, code: u64) -> u64 {
    let magnitude = code & (to.sign_bit() - 1);
    let mut code = code;
    if options.satfinite && magnitude == to.infinity() {
        code = code & to.sign_bit() | to.max_finite();
    }
    let finish = Finish {
        ftz: options.ftz && to == Format::F32,
        sat: options.sat,
        relu: options.relu,
    };
    finish.apply(to, code)
}

fn from_int(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    to: Format,
    from: Integer,
    options: Options,
) -> Result<Lowered> {
    options.only(false, false)?;
    let rounding = options.value()?;
    let [d, a] = operands(instruction)?;
    let source = source_bits(l, a, from.bits);
    let bits = (Num::Float(to).bits(), source);
    if to == Format::F32 && from.bits == 32 && rounding == Rounding::NearestEven && source == 32 && !options.sat {
        return if from.signed {
            unary(l, Class::Conversion, bits, [d, a], |x| {
                u64::from((x as u32 as i32 as f32).to_bits())
            })
        } else {
            unary(l, Class::Conversion, bits, [d, a], |x| {
                u64::from((x as u32 as f32).to_bits())
            })
        };
    }
    unary(l, Class::Conversion, bits, [d, a], move |bits| {
        finish(to, options, from_integer(to, from.value(bits), rounding))
    })
}

fn floats(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    to: Format,
    from: Format,
    options: Options,
) -> Result<Lowered> {
    let narrow = matches!(to, Format::F16 | Format::BF16);
    options.only(narrow, narrow)?;
    let [d, a] = operands(instruction)?;
    let bits = (Num::Float(to).bits(), Num::Float(from).bits());
    let plain = !options.ftz && !options.sat && !options.satfinite && !options.relu;
    if plain && (to, from) == (Format::F32, Format::BF16) && options.how.is_none() {
        return unary(l, Class::Conversion, bits, [d, a], |x| x << 16 & 0xffff_ffff);
    }
    let nearest = options.how == Some(How::Value(Rounding::NearestEven));
    if plain && (to, from) == (Format::BF16, Format::F32) && nearest {
        return unary(l, Class::Conversion, bits, [d, a], nearest_bf16);
    }
    let flush = options.ftz && from == Format::F32;
    let same = to == from;
    let widening = to.mantissa_bits >= from.mantissa_bits && to.exponent_bits >= from.exponent_bits;
    let rounding = match options.how {
        Some(How::Integral(rounding)) if same => {
            return unary(l, Class::Conversion, bits, [d, a], move |x| {
                let x = if flush { from.flush(x) } else { x };
                let value = to_integral(from.to_f64(x), rounding);
                finish(to, options, canonical(to, to.from_f64(value, Rounding::NearestEven)))
            });
        }
        Some(How::Value(rounding)) if !widening || narrow => rounding,
        Some(_) => return invalid("this rounding does not apply to these types"),
        None if same => {
            return unary(l, Class::Conversion, bits, [d, a], move |x| {
                finish(to, options, canonical(to, if flush { from.flush(x) } else { x }))
            });
        }
        None if widening => Rounding::NearestEven,
        None => options.value()?,
    };
    unary(l, Class::Conversion, bits, [d, a], move |x| {
        let x = if flush { from.flush(x) } else { x };
        finish(to, options, to.from_f64(from.to_f64(x), rounding))
    })
}

#[inline]
fn canonical(format: Format, code: u64) -> u64 {
    if format.is_nan(code) { format.nan() } else { code }
}

/// `cvt.rn.bf16.f32`
#[inline]
fn nearest_bf16(x: u64) -> u64 {
    if x & 0x7fff_ffff > 0x7f80_0000 {
        return 0x7fff;
    }
    (x + 0x7fff + (x >> 16 & 1)) >> 16 & 0xffff
}

/// `cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half.
fn pair(instruction: &Instruction, l: &mut Lowering<'_, '_>, to: Format, options: Options) -> Result<Lowered> {
    let rounding = options.value()?;
    if options.sat || options.ftz {
        return Err(Refusal::modifier(if options.sat { "sat" } else { "ftz" }));
    }
    let [d, a, b] = operands(instruction)?;
    let convert = move |x: u64| finish(to, options, to.from_f64(Format::F32.to_f64(x), rounding));
    if to == Format::BF16 && rounding == Rounding::NearestEven && !options.relu && !options.satfinite {
        return binary(l, Class::Conversion, 32, [d, a, b], |x, y| {
            nearest_bf16(x) << 16 | nearest_bf16(y)
        });
    }
    binary(l, Class::Conversion, 32, [d, a, b], move |x, y| {
        convert(x) << 16 | convert(y)
    })
}

/// The 8-bit formats exist with `.rn.satfinite` only.
fn fp8_options(options: Options) -> Result<bool> {
    if options.value()? != Rounding::NearestEven || !options.satfinite {
        return invalid("8-bit floats need .rn.satfinite");
    }
    if options.sat || options.ftz {
        return Err(Refusal::modifier(if options.sat { "sat" } else { "ftz" }));
    }
    Ok(options.relu)
}

/// `cvt.rn.satfinite.e4m3x2.f32 d, a, b`: a goes to the upper byte.
fn fp8_from_f32(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    to: MiniFloat,
    options: Options,
) -> Result<Lowered> {
    let relu = fp8_options(options)?;
    let [d, a, b] = operands(instruction)?;
    let convert = move |x: u64| u64::from(to_fp8(to, Format::F32.to_f64(x), relu));
    binary(l, Class::Conversion, 32, [d, a, b], move |x, y| {
        convert(x) << 8 | convert(y)
    })
}

fn fp8_from_f16(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    to: MiniFloat,
    options: Options,
) -> Result<Lowered> {
    let relu = fp8_options(options)?;
    let convert = move |x: u64| u64::from(to_fp8(to, Format::F16.to_f64(x & 0xffff), relu));
    unary(l, Class::Conversion, (16, 32), operands(instruction)?, move |x| {
        convert(x >> 16) << 8 | convert(x)
    })
}

fn f16_from_fp8(
    instruction: &Instruction,
    l: &mut Lowering<'_, '_>,
    from: MiniFloat,
    options: Options,
) -> Result<Lowered> {
    options.only(true, false)?;
    if options.value()? != Rounding::NearestEven || options.sat || options.ftz {
        return invalid("expected .rn alone");
    }
    // Every 8-bit value is a half.
    let convert = move |x: u64| {
        let code = Format::F16.from_f64(from.decode(x as u32 & 0xff), Rounding::NearestEven);
        finish(Format::F16, options, code)
    };
    unary(l, Class::Conversion, (32, 16), operands(instruction)?, move |x| {
        convert(x >> 8) << 16 | convert(x)
    })
}

fn tf32(instruction: &Instruction, l: &mut Lowering<'_, '_>, options: Options) -> Result<Lowered> {
    let rounding = options.value()?;
    if options.sat || options.ftz {
        return Err(Refusal::modifier(if options.sat { "sat" } else { "ftz" }));
    }
    unary(l, Class::Conversion, (32, 32), operands(instruction)?, move |x| {
        let mut code = to_tf32(x as u32, rounding);
        if options.satfinite && code & 0x7fff_ffff == 0x7f80_0000 {
            code = code & 0x8000_0000 | 0x7f7f_e000;
        }
        if options.relu && code >> 31 == 1 && code & 0x7fff_ffff <= 0x7f80_0000 {
            code = 0;
        }
        u64::from(code)
    })
}

/// `cvt.pack.sat.u8.s32.b32 d, a, b, c`: a above b, and for bytes both above what c holds.
fn pack(instruction: &Instruction, l: &mut Lowering<'_, '_>, mut modifiers: Modifiers<'_>) -> Result<Lowered> {
    if !modifiers.take("sat") {
        return invalid("cvt.pack needs .sat");
    }
    let (to, from) = (modifiers.ty()?, modifiers.ty()?);
    let third = modifiers.take("b32");
    modifiers.done()?;
    let (Num::Int(to), Num::Int(from)) = (to, from) else {
        return unsupported("these types");
    };
    if from.bits != 32 || !matches!((to.bits, third), (16, false) | (8, true)) {
        return unsupported("these types");
    }
    let join = move |x: u64, y: u64| to.clamp(from.value(x)) << to.bits | to.clamp(from.value(y));
    if third {
        let [d, a, b, c] = operands(instruction)?;
        super::support::ternary(l, Class::Conversion, 32, [d, a, b, c], move |x, y, z| {
            (z << 16 | join(x, y)) & 0xffff_ffff
        })
    } else {
        binary(l, Class::Conversion, 32, operands(instruction)?, join)
    }
}
