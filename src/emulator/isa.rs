//! The instruction set: one file per family, each turning instructions of the tree into something that runs.
//!
//! # Adding a family
//!
//! A family is a file with `pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower`, and a line
//! in [`lower`] below for each opcode it takes. It
//!
//! - looks at **every** modifier and refuses the ones it does not know with [`Refusal::modifier`]: what is accepted is
//!   implemented in full, so that nothing is ever skipped silently;
//! - turns operands into registers: `cx.dst32`, `cx.src32` (registers of up to 32 bits, literals, special registers),
//!   `cx.dst64`, `cx.src64`, `cx.dst_pred`, `cx.src_pred`, `cx.register` (any width), `cx.address` (memory operands),
//!   `cx.temp32`/`temp64`/`temp_pred` for scratch, `cx.const32`/`const64` for constants. Names are gone after that;
//! - returns [`Lowered::run`] with a closure over those registers, which gets the machine ([`Ctx`]) and the mask of active
//!   lanes (never empty) and must not touch other lanes' registers. [`map1`], [`map2`], [`map3`] and [`test2`] do the
//!   usual thing over all 32 lanes with vector instructions. Memory goes through `Ctx::load`, `Ctx::store`, `Ctx::atomic`
//!   (all checked, all counted);
//! - gives its [`Class`], and `.flops(path, per_lane)` where it computes in floating point (a multiply-add is 2).
//!
//! Instructions that need the lanes of a member mask together are [`Action::Collective`] (`shfl.sync`, `vote.sync`,
//! `mma.sync` with all lanes), those that may have to wait are [`Action::Wait`] (tried again until they return `true`).
//! Values: registers of 8 and 16 bits are zero-extended in 32-bit ones; floats are their bits; predicates are lane masks.
//! An error that a kernel's author must see is a [`Stop`](super::code::Stop) with the lane it happened in.
//!
//! [`map1`]: super::regs::map1
//! [`map2`]: super::regs::map2
//! [`map3`]: super::regs::map3
//! [`test2`]: super::regs::test2
//! [`Ctx`]: super::exec::Ctx
//! [`Class`]: super::code::Class
//! [`Action::Collective`]: super::code::Action::Collective
//! [`Action::Wait`]: super::code::Action::Wait

mod address;
mod approx;
mod atom;
mod barrier;
mod bits;
mod builtin;
mod carry;
mod compare;
mod control;
mod convert;
mod extra;
mod extremum;
mod float;
mod half;
mod integer;
mod logic;
mod memory;
mod mma;
mod mov;
mod rounded;
mod set;
mod sign;
mod support;
mod warp;

use super::layout::type_of;
use super::lower::{Lowered, Lowering, Refusal};
use crate::ptx::ast::{Instruction, Operand, Type};

/// What lowering an instruction gives.
pub(super) type Lower = Result<Lowered, Refusal>;

/// Lowers one instruction.
pub(super) fn lower(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    match instruction.opcode.as_str() {
        "mov" => mov::lower(instruction, cx),
        "cvta" => mov::cvta(instruction, cx),
        "isspacep" | "mapa" | "getctarank" => address::lower(instruction, cx),
        "ld" | "ldu" => memory::load(instruction, cx),
        "st" => memory::store(instruction, cx),
        "prefetch" | "prefetchu" | "discard" | "applypriority" => memory::hint(instruction, cx),
        "atom" => atom::atom(instruction, cx),
        "red" => atom::red(instruction, cx),
        "add" | "sub" | "mul" | "mad" | "fma" | "neg" | "abs" | "min" | "max" | "div" | "rem" => {
            arithmetic(instruction, cx)
        }
        "addc" | "subc" | "madc" => carry::lower(instruction, cx),
        "rcp" | "sqrt" if !approx::is_approximate(instruction) => rounded::lower(instruction, cx),
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => approx::lower(instruction, cx),
        "copysign" => sign::copysign(instruction, cx),
        "testp" => sign::testp(instruction, cx),
        "mul24" | "mad24" | "sad" | "slct" | "dp4a" | "dp2a" => extra::lower(instruction, cx),
        "lop3" | "prmt" | "shf" | "bfe" | "bfi" | "bfind" | "brev" | "popc" | "clz" | "fns" | "bmsk" | "szext" => {
            bits::lower(instruction, cx)
        }
        "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => warp::lower(instruction, cx),
        "mma" | "ldmatrix" | "stmatrix" => mma::lower(instruction, cx),
        "set" => set::set(instruction, cx),
        "setp" if set::is_half(instruction) => set::setp_half(instruction, cx),
        "shl" | "shr" | "and" | "or" | "xor" | "not" | "cnot" => logic::lower(instruction, cx),
        "setp" => compare::setp(instruction, cx),
        "selp" => compare::selp(instruction, cx),
        "cvt" => convert::lower(instruction, cx),
        "bra" | "brx" | "ret" | "exit" | "call" | "trap" | "nop" | "pmevent" | "brkpt" => {
            control::lower(instruction, cx)
        }
        "bar" | "barrier" => barrier::lower(instruction, cx),
        "membar" | "fence" => barrier::fence(instruction, cx),
        "nanosleep" => barrier::nanosleep(instruction, cx),
        _ => Err(Refusal::opcode()),
    }
}

/// The opcodes that exist for integers, floats, halves and pairs of either.
fn arithmetic(instruction: &Instruction, cx: &mut Lowering<'_, '_>) -> Lower {
    let extremum = matches!(instruction.opcode.as_str(), "min" | "max");
    let has = |word: &str| instruction.modifiers.iter().any(|modifier| modifier == word);
    if carry::sets_carry(instruction) {
        return carry::lower(instruction, cx);
    }
    if set::is_half(instruction) {
        return if extremum {
            extremum::lower(instruction, cx)
        } else {
            half::lower(instruction, cx)
        };
    }
    if extra::is_pair(instruction) {
        return if extremum {
            extremum::lower(instruction, cx)
        } else {
            extra::lower(instruction, cx)
        };
    }
    match last_type(instruction) {
        Some(Type::F32 | Type::F64) => match instruction.opcode.as_str() {
            "div" if approx::is_approximate(instruction) => approx::lower(instruction, cx),
            "div" => rounded::lower(instruction, cx),
            "min" | "max" if has("xorsign") || instruction.operands.len() == 4 => extremum::lower(instruction, cx),
            "add" | "sub" | "mul" | "fma" | "mad" if has("rz") || has("rm") || has("rp") => {
                rounded::lower(instruction, cx)
            }
            _ => float::lower(instruction, cx),
        },
        _ => integer::lower(instruction, cx),
    }
}

/// The type that the last modifier names.
pub(super) fn last_type(instruction: &Instruction) -> Option<Type> {
    instruction
        .modifiers
        .iter()
        .rev()
        .find_map(|modifier| type_of(modifier))
}

/// The operands, if there are exactly `N`.
pub(super) fn operands<const N: usize>(instruction: &Instruction) -> Result<&[Operand; N], Refusal> {
    instruction
        .operands
        .as_slice()
        .try_into()
        .map_err(|_| Refusal::Invalid(format!("{} operands where {N} are needed", instruction.operands.len())))
}
