//! Operands to registers: what instruction families call. Literals, special registers and addresses of variables become
//! registers with a fixed content, so that an instruction at run time only ever reads registers.

use super::Refusal;
use super::body::Lowering;
use super::scope::Binding;
use crate::emulator::access::Addresses;
use crate::emulator::code::{Fill, Place, Special};
use crate::emulator::exec::Ctx;
use crate::emulator::regs::{AnyReg, LANES, Pred, R32, R64};
use crate::emulator::space::{FUNCTION_WINDOW, MemSpace, PARAM_WINDOW};
use crate::ptx::ast::{Operand, Type};

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// An absolute address.
    None,
    R32(R32),
    R64(R64),
    /// The local frame of the running function.
    Frame,
}

/// A memory operand: base plus byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub base: Base,
    pub offset: i64,
}

impl Address {
    /// The address of every lane.
    #[inline]
    pub(crate) fn eval(self, ctx: &Ctx<'_>) -> Addresses {
        match self.base {
            Base::None => [self.offset as u64; LANES],
            Base::R32(reg) => {
                let base = &ctx.regs.r32[reg.0 as usize];
                std::array::from_fn(|lane| u64::from(base[lane].wrapping_add(self.offset as u32)))
            }
            Base::R64(reg) => {
                let base = &ctx.regs.r64[reg.0 as usize];
                std::array::from_fn(|lane| base[lane].wrapping_add(self.offset as u64))
            }
            Base::Frame => [(i64::from(ctx.local_base) + self.offset) as u64; LANES],
        }
    }
}

fn invalid<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Invalid(message.into()))
}

impl Lowering<'_, '_> {
    fn fill32(&mut self, fill: Fill) -> R32 {
        if let Some(&slot) = self.fills.get(&(false, fill)) {
            return R32(slot);
        }
        let reg = self.temp32();
        self.fills.insert((false, fill), reg.0);
        reg
    }

    fn fill64(&mut self, fill: Fill) -> R64 {
        if let Some(&slot) = self.fills.get(&(true, fill)) {
            return R64(slot);
        }
        let reg = self.temp64();
        self.fills.insert((true, fill), reg.0);
        reg
    }

    /// A register that holds a constant in every lane.
    pub(crate) fn const32(&mut self, value: u32) -> R32 {
        self.fill32(Fill::Word(value))
    }

    /// A register that holds a constant in every lane.
    pub(crate) fn const64(&mut self, value: u64) -> R64 {
        self.fill64(Fill::Wide(value))
    }

    fn binding(&self, name: &str) -> Option<&Binding> {
        self.scopes.find(name)
    }

    /// What a name is bound to. A shared variable of the module gets its place here.
    fn bound(&mut self, name: &str) -> Option<Binding> {
        match self.scopes.find(name) {
            Some(&Binding::ModuleShared(index)) => {
                let ast = self.linker.ast;
                Some(self.shared(&ast.variables[index as usize], name.to_owned()))
            }
            other => other.cloned(),
        }
    }

    /// The declared type of a register operand.
    pub(crate) fn register_type(&self, operand: &Operand) -> Option<Type> {
        match operand {
            Operand::Name(name) => match self.binding(name) {
                Some(Binding::Register(_, ty)) => Some(*ty),
                Some(Binding::Wide(..)) => Some(Type::B128),
                _ => None,
            },
            _ => None,
        }
    }

    /// A register of any width, by name. Not for literals.
    pub(crate) fn register(&self, operand: &Operand) -> Result<AnyReg, Refusal> {
        match operand {
            Operand::Name(name) => match self.binding(name) {
                Some(Binding::Register(reg, _)) => Ok(*reg),
                _ => invalid(format!("`{name}` is not a register")),
            },
            other => invalid(format!("expected a register, found {}", describe(other))),
        }
    }

    /// The halves (low, high) of a 128-bit register.
    pub(crate) fn register128(&self, operand: &Operand) -> Result<(R64, R64), Refusal> {
        match operand {
            Operand::Name(name) => match self.binding(name) {
                Some(Binding::Wide(low, high)) => Ok((*low, *high)),
                _ => invalid(format!("`{name}` is not a 128-bit register")),
            },
            other => invalid(format!("expected a 128-bit register, found {}", describe(other))),
        }
    }

    /// A destination of up to 32 bits; `_` gives a register that nobody reads.
    pub(crate) fn dst32(&mut self, operand: &Operand) -> Result<R32, Refusal> {
        if *operand == Operand::Sink {
            return Ok(self.temp32());
        }
        match self.register(operand)? {
            AnyReg::W32(reg) => Ok(reg),
            other => invalid(format!("expected a destination of up to 32 bits, found {other:?}")),
        }
    }

    /// A 64-bit destination; `_` gives a register that nobody reads.
    pub(crate) fn dst64(&mut self, operand: &Operand) -> Result<R64, Refusal> {
        if *operand == Operand::Sink {
            return Ok(self.temp64());
        }
        match self.register(operand)? {
            AnyReg::W64(reg) => Ok(reg),
            other => invalid(format!("expected a 64-bit destination, found {other:?}")),
        }
    }

    /// A predicate destination; `_` gives one that nobody reads.
    pub(crate) fn dst_pred(&mut self, operand: &Operand) -> Result<Pred, Refusal> {
        if *operand == Operand::Sink {
            return Ok(self.temp_pred());
        }
        match self.register(operand)? {
            AnyReg::Pred(pred) => Ok(pred),
            other => invalid(format!("expected a predicate, found {other:?}")),
        }
    }

    /// A source of up to 32 bits: a register, a literal (floats as their `f32` bits), a special register, or a shared address.
    pub(crate) fn src32(&mut self, operand: &Operand) -> Result<R32, Refusal> {
        match operand {
            Operand::Int(value) => Ok(self.const32(*value as u32)),
            Operand::Float {
                bits: Some((bits, width)),
                ..
            } if *width <= 32 => Ok(self.const32(*bits as u32)),
            Operand::Float { value, .. } => Ok(self.const32((*value as f32).to_bits())),
            Operand::Name(name) => match self.bound(name) {
                Some(Binding::Register(AnyReg::W32(reg), _)) => Ok(reg),
                Some(Binding::Register(other, _)) => invalid(format!("expected 32 bits, `{name}` is {other:?}")),
                Some(_) => self.symbol32(name, 0),
                None => match special32(name) {
                    Some(special) => Ok(self.fill32(Fill::Special32(special))),
                    None => invalid_name(name),
                },
            },
            Operand::Symbol { name, offset } => self.symbol32(name, *offset),
            Operand::Negated(inner) => {
                let Operand::Int(value) = **inner else {
                    return Err(Refusal::Unsupported("a negated operand".to_owned()));
                };
                Ok(self.const32((-value) as u32))
            }
            other => invalid(format!("expected a 32-bit value, found {}", describe(other))),
        }
    }

    fn symbol32(&mut self, name: &str, offset: i64) -> Result<R32, Refusal> {
        match self.bound(name) {
            Some(Binding::Shared(at)) => {
                let at = at.wrapping_add(offset as u32);
                Ok(self.const32(at))
            }
            Some(Binding::DynamicShared) => Ok(self.fill32(Fill::DynamicShared(offset))),
            _ => invalid(format!("`{name}` has no 32-bit address")),
        }
    }

    /// A 64-bit source: a register, a literal (floats as their `f64` bits), or an address. Addresses of local variables
    /// depend on the frame: see [`Self::frame_offset`].
    pub(crate) fn src64(&mut self, operand: &Operand) -> Result<R64, Refusal> {
        match operand {
            Operand::Int(value) => Ok(self.const64(*value as u64)),
            Operand::Float {
                bits: Some((bits, 64)), ..
            } => Ok(self.const64(*bits)),
            Operand::Float { value, .. } => Ok(self.const64(value.to_bits())),
            Operand::Name(name) => match self.bound(name) {
                Some(Binding::Register(AnyReg::W64(reg), _)) => Ok(reg),
                Some(Binding::Register(other, _)) => invalid(format!("expected 64 bits, `{name}` is {other:?}")),
                _ => self.symbol64(name, 0),
            },
            Operand::Symbol { name, offset } => self.symbol64(name, *offset),
            Operand::Negated(inner) => {
                let Operand::Int(value) = **inner else {
                    return Err(Refusal::Unsupported("a negated operand".to_owned()));
                };
                Ok(self.const64((-value) as u64))
            }
            other => invalid(format!("expected a 64-bit value, found {}", describe(other))),
        }
    }

    fn symbol64(&mut self, name: &str, offset: i64) -> Result<R64, Refusal> {
        match self.bound(name) {
            Some(Binding::Shared(at)) => Ok(self.const64(u64::from(at).wrapping_add_signed(offset))),
            Some(Binding::DynamicShared) => Ok(self.fill64(Fill::DynamicShared(offset))),
            Some(Binding::KernelParam(at)) => {
                Ok(self.const64(PARAM_WINDOW.wrapping_add(u64::from(at)).wrapping_add_signed(offset)))
            }
            Some(Binding::Variable(index)) => Ok(self.fill64(Fill::Variable(index, offset))),
            Some(other) => invalid(format!("`{name}` ({other:?}) has no fixed address")),
            None => match self
                .linker
                .ast
                .functions
                .iter()
                .position(|function| function.name == name)
            {
                Some(index) => {
                    self.linker.function_index(name);
                    Ok(self.const64(FUNCTION_WINDOW + index as u64))
                }
                None => invalid_name(name),
            },
        }
    }

    /// The offset in the local frame of a local variable or parameter used as a value.
    pub(crate) fn frame_offset(&self, operand: &Operand) -> Option<i64> {
        let (name, offset) = match operand {
            Operand::Name(name) => (name, 0),
            Operand::Symbol { name, offset } => (name, *offset),
            _ => return None,
        };
        match self.binding(name) {
            Some(Binding::Local(at)) => Some(i64::from(*at) + offset),
            _ => None,
        }
    }

    /// The local variable (or parameter of a call) that an operand names.
    pub(crate) fn local_place(&self, operand: &Operand) -> Option<Place> {
        let offset = u32::try_from(self.frame_offset(operand)?).ok()?;
        let variable = self.code.locals.iter().find(|variable| variable.offset == offset)?;
        Some(Place::Local {
            offset,
            bytes: variable.bytes,
        })
    }

    /// The number of a function with a body, for [`Callee::Direct`](crate::emulator::code::Callee::Direct).
    pub(crate) fn callee(&mut self, name: &str) -> Option<u32> {
        self.linker.function_index(name)
    }

    /// Makes every function of the module part of the program: an indirect call may go anywhere.
    pub(crate) fn reach_all(&mut self) {
        for function in self.linker.ast.functions.iter().filter(|function| !function.entry) {
            self.linker.function_index(&function.name);
        }
    }

    /// A predicate source, and whether it is negated.
    pub(crate) fn src_pred(&mut self, operand: &Operand) -> Result<(Pred, bool), Refusal> {
        match operand {
            Operand::Name(_) => match self.register(operand)? {
                AnyReg::Pred(pred) => Ok((pred, false)),
                other => invalid(format!("expected a predicate, found {other:?}")),
            },
            Operand::Not(name) => match self.register(&Operand::Name(name.clone()))? {
                AnyReg::Pred(pred) => Ok((pred, true)),
                other => invalid(format!("expected a predicate, found {other:?}")),
            },
            // A literal: a fresh predicate is false in every lane, and nothing ever writes it.
            Operand::Int(value) => Ok((self.temp_pred(), *value != 0)),
            other => invalid(format!("expected a predicate, found {}", describe(other))),
        }
    }

    /// A memory operand. The space is the one that really holds it: parameters of functions live in local memory.
    pub(crate) fn address(&mut self, operand: &Operand, space: MemSpace) -> Result<(Address, MemSpace), Refusal> {
        let (base, offset) = match operand {
            Operand::Address { base, offset } => (base.as_deref(), *offset),
            Operand::Name(name) => (Some(name.as_str()), 0),
            Operand::Symbol { name, offset } => (Some(name.as_str()), *offset),
            other => return invalid(format!("expected an address, found {}", describe(other))),
        };
        let Some(name) = base else {
            return Ok((
                Address {
                    base: Base::None,
                    offset,
                },
                space,
            ));
        };
        let at = |base, offset, space| Ok((Address { base, offset }, space));
        match self.bound(name) {
            Some(Binding::Register(AnyReg::W32(reg), _)) => at(Base::R32(reg), offset, space),
            // Parameter addresses in registers are generic ones.
            Some(Binding::Register(AnyReg::W64(reg), _)) if space == MemSpace::Param => {
                at(Base::R64(reg), offset, MemSpace::Generic)
            }
            Some(Binding::Register(AnyReg::W64(reg), _)) => at(Base::R64(reg), offset, space),
            Some(Binding::Local(own)) => at(Base::Frame, i64::from(own) + offset, MemSpace::Local),
            Some(Binding::KernelParam(own)) => at(Base::None, i64::from(own) + offset, MemSpace::Param),
            Some(Binding::Shared(own)) => at(Base::None, i64::from(own) + offset, MemSpace::Shared),
            Some(Binding::DynamicShared) => {
                at(Base::R32(self.fill32(Fill::DynamicShared(0))), offset, MemSpace::Shared)
            }
            Some(Binding::Variable(index)) => at(
                Base::R64(self.fill64(Fill::Variable(index, 0))),
                offset,
                MemSpace::Global,
            ),
            _ => invalid(format!("`{name}` cannot be used as an address")),
        }
    }
}

fn invalid_name<T>(name: &str) -> Result<T, Refusal> {
    if name.starts_with('%') && !name[1..].starts_with(['r', 'f', 'p']) {
        return Err(Refusal::Unsupported(format!("special register {name}")));
    }
    invalid(format!("`{name}` is not declared"))
}

fn describe(operand: &Operand) -> &'static str {
    match operand {
        Operand::Name(_) => "a name",
        Operand::Not(_) => "a negated predicate",
        Operand::Negated(_) => "a negated value",
        Operand::Int(_) => "an integer",
        Operand::Float { .. } => "a float",
        Operand::Address { .. } => "an address",
        Operand::AddressList { .. } => "an address with coordinates",
        Operand::Vector(_) => "a vector",
        Operand::Pair(..) => "a pair",
        Operand::CallList(_) => "a list",
        Operand::Symbol { .. } => "a symbol",
        Operand::Element { .. } => "an array element",
        Operand::Sink => "_",
    }
}

/// Special registers of 32 bits that never change while a warp lives.
fn special32(name: &str) -> Option<Special> {
    let axis = |suffix: &str| match suffix {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((stem, suffix)) = name.rsplit_once('.') {
        let axis = axis(suffix)?;
        return Some(match stem {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            "%clusterid" => Special::ClusterId(axis),
            "%nclusterid" => Special::NClusterId(axis),
            "%cluster_ctaid" => Special::ClusterCtaid(axis),
            "%cluster_nctaid" => Special::ClusterNctaid(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%lanemask_eq" => Special::LanemaskEq,
        "%lanemask_le" => Special::LanemaskLe,
        "%lanemask_lt" => Special::LanemaskLt,
        "%lanemask_ge" => Special::LanemaskGe,
        "%lanemask_gt" => Special::LanemaskGt,
        "%dynamic_smem_size" => Special::DynamicShared,
        "%total_smem_size" => Special::TotalShared,
        "%cluster_ctarank" => Special::ClusterCtarank,
        "%cluster_nctarank" => Special::ClusterNctarank,
        _ => return None,
    })
}
