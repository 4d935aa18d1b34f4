//! State spaces and their windows in the generic address space.

use super::memory::is_global;

/// Where a memory instruction looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemSpace {
    Generic,
    Global,
    /// Also `shared::cta`; addresses whose top byte is not 0 belong to another CTA of the cluster (`mapa`).
    Shared,
    Local,
    Const,
    Param,
}

/// Windows of 4 GiB each. Like on a GPU, global addresses are generic addresses as they are.
pub(super) const SHARED_WINDOW: u64 = 0x7d00_0000_0000;
pub(super) const LOCAL_WINDOW: u64 = 0x7c00_0000_0000;
pub(super) const PARAM_WINDOW: u64 = 0x7b00_0000_0000;
/// Addresses of functions, for indirect calls: this plus the function's index.
pub(super) const FUNCTION_WINDOW: u64 = 0x7a00_0000_0000;

/// In a 32-bit shared address, the CTA's rank in its cluster plus 1 sits above these bits; 0 is the own CTA.
pub(super) const RANK_SHIFT: u32 = 24;

/// Splits a generic address into its space and the address in that space. Addresses in no window count as global.
#[inline]
pub(super) const fn resolve(address: u64) -> (MemSpace, u64) {
    if is_global(address) {
        return (MemSpace::Global, address);
    }
    match address & !0xffff_ffff {
        SHARED_WINDOW => (MemSpace::Shared, address & 0xffff_ffff),
        LOCAL_WINDOW => (MemSpace::Local, address & 0xffff_ffff),
        PARAM_WINDOW => (MemSpace::Param, address & 0xffff_ffff),
        _ => (MemSpace::Global, address),
    }
}
