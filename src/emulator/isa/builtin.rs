//! Functions that a device runtime provides: `vprintf` and `__assertfail`.

use crate::emulator::access::Width;
use crate::emulator::code::{Class, Place, Stop};
use crate::emulator::exec::Ctx;
use crate::emulator::fault::FaultKind;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::LANES;
use crate::emulator::space::MemSpace;
use crate::ptx::ast::Operand;

/// Longest text that `printf` takes from the kernel.
const MAX_TEXT: u64 = 4096;

/// The call, if `name` is one of the functions that need no body.
pub(super) fn call(
    cx: &mut Lowering<'_, '_>,
    name: &str,
    returns: &[Operand],
    args: &[Operand],
) -> Result<Option<Lowered>, Refusal> {
    if cx.callee(name).is_some() {
        return Ok(None);
    }
    let locals = |cx: &Lowering<'_, '_>, operands: &[Operand]| -> Result<Vec<u32>, Refusal> {
        operands
            .iter()
            .map(|operand| match cx.local_place(operand) {
                Some(Place::Local { offset, .. }) => Ok(offset),
                _ => Err(Refusal::Invalid(format!("`{name}` takes parameters in .param space"))),
            })
            .collect()
    };
    match name {
        "vprintf" => {
            let (args, returns) = (locals(cx, args)?, locals(cx, returns)?);
            let &[format, values] = args.as_slice() else {
                return Err(Refusal::Invalid("vprintf takes two arguments".to_owned()));
            };
            Ok(Some(Lowered::run(Class::Other, move |ctx, mask| {
                for lane in crate::emulator::access::lanes(mask) {
                    let format = argument(ctx, lane, format)?;
                    let values = argument(ctx, lane, values)?;
                    let text = print(ctx, lane, format, values)?;
                    ctx.printed.push_str(&text);
                    if let Some(&result) = returns.first() {
                        put(ctx, lane, result, text.len() as u32)?;
                    }
                }
                Ok(())
            })))
        }
        "__assertfail" => {
            let args = locals(cx, args)?;
            let &[message, file, line, ..] = args.as_slice() else {
                return Err(Refusal::Invalid("__assertfail takes five arguments".to_owned()));
            };
            Ok(Some(Lowered::run(Class::Control, move |ctx, mask| {
                let lane = mask.trailing_zeros() as usize;
                let (message, file) = (argument(ctx, lane, message)?, argument(ctx, lane, file)?);
                let (message, file) = (text(ctx, lane, message)?, text(ctx, lane, file)?);
                let at = word(ctx, lane, frame(ctx, line), MemSpace::Local)?;
                let message = format!("assertion `{message}` failed ({file}:{at})");
                Err(Stop::new(FaultKind::Trap { message }, lane as u32))
            })))
        }
        _ => Ok(None),
    }
}

fn frame(ctx: &Ctx<'_>, offset: u32) -> u64 {
    u64::from(ctx.local_base + offset)
}

fn word(ctx: &mut Ctx<'_>, lane: usize, address: u64, space: MemSpace) -> Result<u32, Box<Stop>> {
    let mut out = [[0; LANES]; 1];
    ctx.load(space, &[address; LANES], 1 << lane, Width::weak(4), &mut out)?;
    Ok(out[0][lane])
}

fn long(ctx: &mut Ctx<'_>, lane: usize, address: u64, space: MemSpace) -> Result<u64, Box<Stop>> {
    let mut out = [[0; LANES]; 2];
    ctx.load(space, &[address; LANES], 1 << lane, Width::weak(8), &mut out)?;
    Ok(u64::from(out[0][lane]) | u64::from(out[1][lane]) << 32)
}

fn argument(ctx: &mut Ctx<'_>, lane: usize, offset: u32) -> Result<u64, Box<Stop>> {
    let at = frame(ctx, offset);
    long(ctx, lane, at, MemSpace::Local)
}

fn put(ctx: &mut Ctx<'_>, lane: usize, offset: u32, value: u32) -> Result<(), Box<Stop>> {
    let at = frame(ctx, offset);
    ctx.store(
        MemSpace::Local,
        &[at; LANES],
        1 << lane,
        Width::weak(4),
        &[[value; LANES]],
    )
}

/// A NUL-terminated string at a generic address.
fn text(ctx: &mut Ctx<'_>, lane: usize, address: u64) -> Result<String, Box<Stop>> {
    let mut bytes = Vec::new();
    for at in address..address + MAX_TEXT {
        let mut out = [[0; LANES]; 1];
        ctx.load(MemSpace::Generic, &[at; LANES], 1 << lane, Width::weak(1), &mut out)?;
        match out[0][lane] as u8 {
            0 => break,
            byte => bytes.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Formats as C's `printf` does, for the conversions d i u x X o c s p e f g and their flags.
fn print(ctx: &mut Ctx<'_>, lane: usize, format: u64, values: u64) -> Result<String, Box<Stop>> {
    let format = text(ctx, lane, format)?;
    let mut out = String::new();
    let mut rest = format.as_str();
    let mut at = values;
    while let Some(percent) = rest.find('%') {
        out.push_str(&rest[..percent]);
        rest = &rest[percent + 1..];
        let end = rest.find(|c: char| c.is_ascii_alphabetic() && !"hlLzjt".contains(c) || c == '%');
        let Some(end) = end else {
            out.push('%');
            break;
        };
        let (spec, conversion) = (&rest[..end], rest.as_bytes()[end] as char);
        rest = &rest[end + 1..];
        if conversion == '%' {
            out.push('%');
            continue;
        }
        let wide = spec.contains('l') || spec.contains('z') || spec.contains('j') || "sp".contains(conversion);
        let float = "eEfFgGaA".contains(conversion);
        let value = if wide || float {
            at = at.next_multiple_of(8);
            at += 8;
            long(ctx, lane, at - 8, MemSpace::Generic)?
        } else {
            at += 4;
            let value = word(ctx, lane, at - 4, MemSpace::Generic)?;
            if "di".contains(conversion) {
                i64::from(value as i32) as u64
            } else {
                u64::from(value)
            }
        };
        let body = match conversion {
            'd' | 'i' => (value as i64).to_string(),
            'u' => value.to_string(),
            'x' => format!("{}{value:x}", if spec.contains('#') { "0x" } else { "" }),
            'X' => format!("{value:X}"),
            'o' => format!("{value:o}"),
            'p' => format!("0x{value:x}"),
            'c' => char::from(value as u8).to_string(),
            's' => text(ctx, lane, value)?,
            _ => float_text(f64::from_bits(value), precision(spec), conversion),
        };
        out.push_str(&pad(spec, &body, float || "diuxXo".contains(conversion)));
    }
    out.push_str(rest);
    Ok(out)
}

fn precision(spec: &str) -> Option<usize> {
    let (_, digits) = spec.split_once('.')?;
    Some(
        digits
            .trim_end_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap_or(0),
    )
}

fn float_text(value: f64, precision: Option<usize>, conversion: char) -> String {
    let digits = precision.unwrap_or(6);
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let scientific = |digits: usize| {
        let text = format!("{value:.digits$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        (mantissa.to_owned(), exponent)
    };
    let exponential = |mantissa: &str, exponent: i32| {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    };
    match conversion.to_ascii_lowercase() {
        'f' => format!("{value:.digits$}"),
        'e' => {
            let (mantissa, exponent) = scientific(digits);
            exponential(&mantissa, exponent)
        }
        _ => {
            let digits = digits.max(1);
            let (mantissa, exponent) = scientific(digits - 1);
            let trim = |text: String| {
                if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                } else {
                    text
                }
            };
            if exponent < -4 || exponent >= digits as i32 {
                exponential(&trim(mantissa), exponent)
            } else {
                let after = (digits as i32 - 1 - exponent).max(0) as usize;
                trim(format!("{value:.after$}"))
            }
        }
    }
}

/// Applies a field width and the flags `-`, `0` and `+`.
fn pad(spec: &str, body: &str, number: bool) -> String {
    let flags = &spec[..spec.find(|c| !"-+ #0".contains(c)).unwrap_or(spec.len())];
    let width = spec[flags.len()..]
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    let width: usize = width.parse().unwrap_or(0);
    let signed = if number && flags.contains('+') && !body.starts_with('-') {
        format!("+{body}")
    } else {
        body.to_owned()
    };
    if flags.contains('-') {
        format!("{signed:<width$}")
    } else if flags.contains('0') && number {
        let (sign, digits) = match signed.strip_prefix(['-', '+']) {
            Some(digits) => (&signed[..1], digits),
            None => ("", signed.as_str()),
        };
        format!("{sign}{digits:0>fill$}", fill = width.saturating_sub(sign.len()))
    } else {
        format!("{signed:>width$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_like_c() {
        assert_eq!(float_text(1.5, None, 'f'), "1.500000");
        assert_eq!(float_text(12345.678, Some(2), 'e'), "1.23e+04");
        assert_eq!(float_text(0.0001, None, 'g'), "0.0001");
        assert_eq!(float_text(1e-7, None, 'g'), "1e-07");
        assert_eq!(float_text(100.0, None, 'g'), "100");
        assert_eq!(float_text(f64::INFINITY, None, 'f'), "inf");
    }

    #[test]
    fn fields_are_padded() {
        assert_eq!(pad("5", "42", true), "   42");
        assert_eq!(pad("-5", "42", true), "42   ");
        assert_eq!(pad("05", "-42", true), "-0042");
        assert_eq!(pad("+", "42", true), "+42");
    }
}
