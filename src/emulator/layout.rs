//! Sizes and alignments of PTX types and variables, bytes.

use crate::ptx::ast::{Type, Variable};

/// Bytes of one element.
pub(super) const fn size_of(ty: Type) -> u32 {
    match ty {
        Type::Pred | Type::B8 | Type::U8 | Type::S8 => 1,
        Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 => 2,
        Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::F16x2 | Type::Bf16x2 => 4,
        Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::Opaque => 8,
        Type::B128 => 16,
    }
}

/// Bytes of a variable; an unsized dimension counts as nothing.
pub(super) fn variable_size(variable: &Variable) -> u64 {
    let element = u64::from(size_of(variable.ty)) * u64::from(variable.vector.max(1));
    variable
        .dims
        .iter()
        .fold(element, |bytes, &dim| bytes.saturating_mul(dim))
}

/// Alignment of a variable: as written, else that of its element.
pub(super) fn variable_align(variable: &Variable) -> u64 {
    let natural = u64::from(size_of(variable.ty)) * u64::from(variable.vector.max(1));
    u64::from(variable.align.unwrap_or(0)).max(natural).max(1)
}

/// The type that a modifier names.
pub(super) fn type_of(modifier: &str) -> Option<Type> {
    Some(match modifier {
        "pred" => Type::Pred,
        "b8" => Type::B8,
        "b16" => Type::B16,
        "b32" => Type::B32,
        "b64" => Type::B64,
        "b128" => Type::B128,
        "u8" => Type::U8,
        "u16" => Type::U16,
        "u32" => Type::U32,
        "u64" => Type::U64,
        "s8" => Type::S8,
        "s16" => Type::S16,
        "s32" => Type::S32,
        "s64" => Type::S64,
        "f16" => Type::F16,
        "f16x2" => Type::F16x2,
        "bf16" => Type::Bf16,
        "bf16x2" => Type::Bf16x2,
        "f32" => Type::F32,
        "f64" => Type::F64,
        _ => return None,
    })
}

/// Whether values of a type are signed integers.
pub(super) const fn is_signed(ty: Type) -> bool {
    matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64)
}
