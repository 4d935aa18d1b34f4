//! Matrix instructions of one warp: `mma.sync`, `ldmatrix` and `stmatrix`.
//!
//! A real tensor core adds products with a few bits less than this: sums here are made in double precision and rounded
//! once, so results agree to the accuracy of the accumulator and not always to its last bit.

use super::support::{Modifiers, Result, invalid, operands, unsupported};
use crate::dtype::MiniFloat;
use crate::emulator::access::Width;
use crate::emulator::arith::{Format, Rounding};
use crate::emulator::code::{Action, Class, Run};
use crate::emulator::exec::Ctx;
use crate::emulator::lower::{Lowered, Lowering, Refusal};
use crate::emulator::regs::{FULL, LANES, R32};
use crate::emulator::space::MemSpace;
use crate::ptx::ast::{Instruction, Operand};

const ROWS: usize = 16;
const COLUMNS: usize = 8;

/// The type of the factors.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    Half(Format),
    Tf32,
    Fp8(MiniFloat),
    /// Signed or not.
    Byte(bool),
}

impl Factor {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::Half(Format::F16),
            "bf16" => Self::Half(Format::BF16),
            "tf32" => Self::Tf32,
            "e4m3" => Self::Fp8(MiniFloat::E4M3FN),
            "e5m2" => Self::Fp8(MiniFloat::E5M2),
            "s8" => Self::Byte(true),
            "u8" => Self::Byte(false),
            _ => return None,
        })
    }

    /// Bits of one element.
    const fn bits(self) -> u32 {
        match self {
            Self::Tf32 => 32,
            Self::Half(_) => 16,
            Self::Fp8(_) | Self::Byte(_) => 8,
        }
    }

    fn value(self, bits: u32) -> f64 {
        match self {
            Self::Half(format) => format.to_f64(u64::from(bits)),
            // The unit looks at the upper 19 bits only.
            Self::Tf32 => f64::from(f32::from_bits(bits & 0xffff_e000)),
            Self::Fp8(format) => format.decode(bits),
            Self::Byte(true) => f64::from(bits as u8 as i8),
            Self::Byte(false) => f64::from(bits as u8),
        }
    }

    /// What the counters call the unit.
    const fn path(self) -> Option<&'static str> {
        match self {
            Self::Half(Format::BF16) => Some("bf16"),
            Self::Half(_) => Some("fp16"),
            Self::Tf32 => Some("tf32"),
            Self::Fp8(_) => Some("fp8"),
            Self::Byte(_) => None,
        }
    }
}

/// The type of the accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    F32,
    F16,
    /// With `.satfinite`: clamped instead of wrapped.
    S32(bool),
}

/// One `mma`, resolved.
struct Mma {
    depth: usize,
    types: (Factor, Factor),
    sum: Sum,
    d: Vec<R32>,
    a: Vec<R32>,
    b: Vec<R32>,
    c: Vec<R32>,
}

/// `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, c`
fn mma(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    if !modifiers.take("sync") || !modifiers.take("aligned") {
        return invalid("mma needs .sync.aligned");
    }
    let shape = modifiers.find(|word| word.strip_prefix("m16n8k")?.parse::<usize>().ok());
    let Some(depth) = shape else {
        return unsupported("its shape");
    };
    if !modifiers.take("row") || !modifiers.take("col") {
        return unsupported("its layout");
    }
    let satfinite = modifiers.take("satfinite");
    let words: Vec<&str> = std::iter::from_fn(|| modifiers.any()).collect();
    let [d, a, b, c] = words.as_slice() else {
        return unsupported("its types");
    };
    let (Some(a), Some(b)) = (Factor::parse(a), Factor::parse(b)) else {
        return unsupported("its types");
    };
    let sum = match (*d, *c) {
        ("f32", "f32") => Sum::F32,
        ("f16", "f16") => Sum::F16,
        ("s32", "s32") => Sum::S32(satfinite),
        _ => return unsupported("its accumulators"),
    };
    let fits = match (a, b) {
        (Factor::Half(x), Factor::Half(y)) => {
            x == y && matches!(depth, 8 | 16) && (sum == Sum::F32 || (sum == Sum::F16 && x == Format::F16))
        }
        (Factor::Tf32, Factor::Tf32) => matches!(depth, 4 | 8) && sum == Sum::F32,
        (Factor::Fp8(_), Factor::Fp8(_)) => matches!(depth, 16 | 32) && sum != Sum::S32(false) && sum != Sum::S32(true),
        (Factor::Byte(_), Factor::Byte(_)) => matches!(depth, 16 | 32) && matches!(sum, Sum::S32(_)),
        _ => false,
    };
    if !fits || (satfinite && !matches!(sum, Sum::S32(_))) {
        return unsupported("this combination of shape and types");
    }
    let [dst, x, y, z] = operands(instruction)?;
    let words = depth * a.bits() as usize / 64;
    let accumulators = if sum == Sum::F16 { 2 } else { 4 };
    let mma = Mma {
        depth,
        types: (a, b),
        sum,
        d: registers(dst, accumulators, |part| l.dst32(part))?,
        a: registers(x, words, |part| l.src32(part))?,
        b: registers(y, words / 2, |part| l.src32(part))?,
        c: registers(z, accumulators, |part| l.src32(part))?,
    };
    let lowered = collective(
        l,
        Class::Float,
        Box::new(move |ctx, mask| {
            mma.run(ctx, mask);
            Ok(())
        }),
    );
    // 2 · 16 · 8 · k operations, over 32 lanes.
    Ok(match a.path() {
        Some(path) => lowered.flops(path, 8 * depth as u32),
        None => lowered,
    })
}

/// Runs once all lanes of the warp are together.
fn collective(l: &mut Lowering<'_, '_>, class: Class, run: Run) -> Lowered {
    let members = l.const32(FULL);
    Lowered::action(class, Action::Collective { members, run })
}

/// The registers of a vector operand, or the single one.
fn registers(operand: &Operand, count: usize, mut f: impl FnMut(&Operand) -> Result<R32>) -> Result<Vec<R32>> {
    let parts = match operand {
        Operand::Vector(parts) => parts.as_slice(),
        single => std::slice::from_ref(single),
    };
    if parts.len() != count {
        return invalid(format!("expected {count} registers, found {}", parts.len()));
    }
    parts.iter().map(&mut f).collect()
}

impl Mma {
    /// Where element `i` of register `r` of a lane belongs: its row (or column, for B) and its place along k.
    fn place(lane: usize, r: usize, i: usize, per: usize, rows: usize) -> (usize, usize) {
        let (group, within) = (lane / 4, lane % 4);
        let step = rows / 8;
        (group + 8 * (r % step), within * per + r / step * 4 * per + i)
    }

    /// A factor's matrix, as rows of `depth` values; B is transposed.
    fn gather(&self, ctx: &Ctx<'_>, registers: &[R32], factor: Factor, rows: usize) -> Vec<f64> {
        let bits = factor.bits();
        let per = 32 / bits as usize;
        let keep = u32::MAX >> (32 - bits);
        let mut matrix = vec![0.0; rows * self.depth];
        for (r, register) in registers.iter().enumerate() {
            for (lane, word) in ctx.regs.r32[register.0 as usize].iter().enumerate() {
                for i in 0..per {
                    let (row, k) = Self::place(lane, r, i, per, rows);
                    matrix[row * self.depth + k] = factor.value(word >> (i as u32 * bits) & keep);
                }
            }
        }
        matrix
    }

    fn run(&self, ctx: &mut Ctx<'_>, mask: u32) {
        let a = self.gather(ctx, &self.a, self.types.0, ROWS);
        let b = self.gather(ctx, &self.b, self.types.1, COLUMNS);
        let dot = |row: usize, column: usize| {
            let x = &a[row * self.depth..][..self.depth];
            let y = &b[column * self.depth..][..self.depth];
            x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>()
        };
        let mut out = vec![[0_u32; LANES]; self.d.len()];
        for (r, c) in self.c.iter().enumerate() {
            let c = &ctx.regs.r32[c.0 as usize];
            for lane in 0..LANES {
                let (row, column) = (lane / 4, lane % 4 * 2);
                let old = c[lane];
                out[r][lane] = match self.sum {
                    Sum::F16 => {
                        let half = |shift: u32, column: usize| {
                            let old = Format::F16.to_f64(u64::from(old >> shift & 0xffff));
                            let total = old + dot(row + 8 * r, column);
                            (Format::F16.from_f64(total, Rounding::NearestEven) as u32) << shift
                        };
                        half(0, column) | half(16, column + 1)
                    }
                    Sum::F32 => {
                        let total = f64::from(f32::from_bits(old)) + dot(row + 8 * (r / 2), column + r % 2);
                        Format::F32.from_f64(total, Rounding::NearestEven) as u32
                    }
                    Sum::S32(clamp) => {
                        let total = i64::from(old as i32) + dot(row + 8 * (r / 2), column + r % 2) as i64;
                        if clamp {
                            total.clamp(i32::MIN.into(), i32::MAX.into()) as u32
                        } else {
                            total as u32
                        }
                    }
                };
            }
        }
        for (register, values) in self.d.iter().zip(&out) {
            ctx.regs.set(*register, values, mask);
        }
    }
}

/// The rows of matrices that lanes give the addresses of.
fn matrices(modifiers: &mut Modifiers<'_>) -> Result<(usize, bool, MemSpace)> {
    if !modifiers.take("sync") || !modifiers.take("aligned") {
        return invalid("expected .sync.aligned");
    }
    if !modifiers.take("m8n8") {
        return unsupported("its shape");
    }
    let count = modifiers.find(|word| match word {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    });
    let Some(count) = count else {
        return invalid("expected .x1, .x2 or .x4");
    };
    let transposed = modifiers.take("trans");
    let shared = modifiers.take("shared") || modifiers.take("shared::cta");
    if !modifiers.take("b16") {
        return unsupported("its type");
    }
    Ok((
        count,
        transposed,
        if shared { MemSpace::Shared } else { MemSpace::Generic },
    ))
}

/// Where a lane's two halves of an 8x8 matrix are: row and column of each.
fn halves(lane: usize, transposed: bool) -> [(usize, usize); 2] {
    let (outer, inner) = (lane / 4, lane % 4 * 2);
    if transposed {
        [(inner, outer), (inner + 1, outer)]
    } else {
        [(outer, inner), (outer, inner + 1)]
    }
}

/// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {...}, [address]`: lanes 8j to 8j+7 point at the rows of matrix j.
fn ldmatrix(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let (count, transposed, space) = matrices(&mut modifiers)?;
    modifiers.done()?;
    let [d, address] = operands(instruction)?;
    let d = registers(d, count, |part| l.dst32(part))?;
    let (address, space) = l.address(address, space)?;
    Ok(collective(
        l,
        Class::Memory,
        Box::new(move |ctx, mask| {
            let at = address.eval(ctx);
            let mut rows = [[0_u32; LANES]; 4];
            ctx.load(space, &at, row_lanes(count) & mask, Width::weak(16), &mut rows)?;
            for (j, register) in d.iter().enumerate() {
                let half = |(row, column): (usize, usize)| rows[column / 2][8 * j + row] >> (column % 2 * 16) & 0xffff;
                let out = std::array::from_fn(|lane| {
                    let [low, high] = halves(lane, transposed);
                    half(low) | half(high) << 16
                });
                ctx.regs.set(*register, &out, mask);
            }
            Ok(())
        }),
    ))
}

/// The lanes whose addresses count.
const fn row_lanes(count: usize) -> u32 {
    u32::MAX >> (32 - 8 * count)
}

/// `stmatrix`, the other way.
fn stmatrix(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    let mut modifiers = Modifiers::of(instruction);
    let (count, transposed, space) = matrices(&mut modifiers)?;
    modifiers.done()?;
    let [address, source] = operands(instruction)?;
    let source = registers(source, count, |part| l.src32(part))?;
    let (address, space) = l.address(address, space)?;
    Ok(collective(
        l,
        Class::Memory,
        Box::new(move |ctx, mask| {
            let at = address.eval(ctx);
            let mut rows = [[0_u32; LANES]; 4];
            for (j, register) in source.iter().enumerate() {
                for (lane, word) in ctx.regs.r32[register.0 as usize].iter().enumerate() {
                    for (i, (row, column)) in halves(lane, transposed).into_iter().enumerate() {
                        let half = word >> (16 * i) & 0xffff;
                        rows[column / 2][8 * j + row] |= half << (column % 2 * 16);
                    }
                }
            }
            ctx.store(space, &at, row_lanes(count) & mask, Width::weak(16), &rows)
        }),
    ))
}

/// Refuses what is not one of these, so that the dispatcher can send every matrix opcode here.
pub(super) fn lower(instruction: &Instruction, l: &mut Lowering<'_, '_>) -> Result<Lowered> {
    match instruction.opcode.as_str() {
        "mma" => mma(instruction, l),
        "ldmatrix" => ldmatrix(instruction, l),
        "stmatrix" => stmatrix(instruction, l),
        _ => Err(Refusal::opcode()),
    }
}
