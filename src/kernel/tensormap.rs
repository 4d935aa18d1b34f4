//! Works out a tensor map, with the limits of `cuTensorMapEncodeTiled` (CUDA driver API), so that a mistake is named here
//! and not by an error number of the driver.

use super::TensorMapSpec;
use super::error::KernelError;
use super::place::Place;
use super::plan::{Scratch, TensorMap};
use super::resolve::Resolver;
use crate::dtype::DType;

/// Largest size of a dimension.
const MAX_DIM: i64 = 1 << 32;
/// Largest size of a box in one dimension, elements.
const MAX_TILE: i64 = 256;
/// Strides must be under 2^40 bytes.
const STRIDE_LIMIT: u64 = 1 << 40;
/// Strides and the box's innermost extent are multiples of this many bytes.
const GRAIN: u64 = 16;
/// Interleaved layouts need at least three dimensions.
const INTERLEAVED_RANK: usize = 3;

pub(super) fn resolve(
    resolver: &Resolver<'_>,
    spec: &TensorMapSpec,
    scratch: &[Scratch],
) -> Result<TensorMap, KernelError> {
    let (dtype, own) = buffer(resolver, spec, scratch)?;
    let dims = match &spec.dims {
        Some(dims) => dims
            .iter()
            .map(|dim| resolver.int(dim, "`dims`", 1, MAX_DIM).map(i64::cast_unsigned))
            .collect::<Result<Vec<_>, _>>()?,
        None => own.iter().rev().copied().collect(),
    };
    let elements = own.iter().product::<u64>();
    let place = spec
        .dims
        .as_ref()
        .and_then(|dims| dims.first())
        .map_or(spec.tensor.place, |dim| dim.place);
    let error = |place: Place, message: String| resolver.error(place, format!("tensor map `{}`: {message}", spec.name));
    let wrong = |place: Place, message: String| Err(error(place, message));
    if dims.is_empty() || dims.len() > 5 {
        return wrong(place, format!("{} dimensions; expected 1 to 5", dims.len()));
    }
    if let Some(dim) = dims.iter().find(|dim| **dim == 0 || **dim > MAX_DIM.cast_unsigned()) {
        return wrong(place, format!("a dimension of {dim}; expected 1 to {MAX_DIM}"));
    }
    match dims.iter().try_fold(1_u64, |product, dim| product.checked_mul(*dim)) {
        Some(covered) if covered <= elements => {}
        covered => {
            let covered = covered.map_or_else(|| "more than 2^64".to_owned(), |covered| covered.to_string());
            return wrong(
                place,
                format!("`dims` cover {covered} elements, but `{}` has {elements}", *spec.tensor),
            );
        }
    }
    let strides = strides(&dims, dtype);
    if let Some(stride) = strides
        .iter()
        .find(|stride| **stride % grain(spec) != 0 || **stride >= STRIDE_LIMIT)
    {
        let message = format!(
            "a stride of {stride} bytes; expected a multiple of {} under 2^40 (the innermost dimension is {} elements of {dtype})",
            grain(spec),
            dims[0]
        );
        return wrong(place, message);
    }
    let tile = tile(resolver, spec, dims.len())?;
    layout(spec, dtype, &dims, &tile).map_err(|message| error(spec.tile[0].place, message))?;
    Ok(TensorMap {
        buffer: spec.tensor.value.clone(),
        dtype,
        dims,
        strides,
        tile,
        swizzle: spec.swizzle,
        interleave: spec.interleave,
        l2_promotion: spec.l2_promotion,
        fill_nan: spec.fill_nan,
    })
}

/// The element type and dimensions, outermost first, of what the map covers.
fn buffer(
    resolver: &Resolver<'_>,
    spec: &TensorMapSpec,
    scratch: &[Scratch],
) -> Result<(DType, Vec<u64>), KernelError> {
    let name = spec.tensor.as_str();
    if let Some(tensor) = resolver.tensors.iter().find(|tensor| tensor.name == name) {
        return Ok((tensor.dtype, tensor.dims.clone()));
    }
    scratch
        .iter()
        .find(|buffer| buffer.name == name)
        .map(|buffer| (buffer.dtype, vec![buffer.elements]))
        .ok_or_else(|| resolver.error(spec.tensor.place, resolver.unknown_buffer(name, scratch)))
}

/// Bytes between consecutive indices of every dimension but the innermost, for a dense layout.
fn strides(dims: &[u64], dtype: DType) -> Vec<u64> {
    let mut stride = dtype.size() as u64;
    dims[..dims.len() - 1]
        .iter()
        .map(|dim| {
            stride = stride.saturating_mul(*dim);
            stride
        })
        .collect()
}

const fn grain(spec: &TensorMapSpec) -> u64 {
    if spec.interleave == 32 { 32 } else { GRAIN }
}

fn tile(resolver: &Resolver<'_>, spec: &TensorMapSpec, rank: usize) -> Result<Vec<u32>, KernelError> {
    if spec.tile.len() != rank {
        let message = format!(
            "tensor map `{}`: `tile` has {} sizes, but there are {rank} dimensions",
            spec.name,
            spec.tile.len()
        );
        return Err(resolver.error(spec.tile[0].place, message));
    }
    spec.tile
        .iter()
        .map(|size| resolver.int(size, "`tile`", 1, MAX_TILE).map(|size| size as u32))
        .collect()
}

/// What swizzle, interleave and fill demand of the box and the type.
fn layout(spec: &TensorMapSpec, dtype: DType, dims: &[u64], tile: &[u32]) -> Result<(), String> {
    let inner = u64::from(tile[0]) * dtype.size() as u64;
    if spec.interleave == 0 && !inner.is_multiple_of(GRAIN) {
        return Err(format!("the box is {inner} bytes wide; expected a multiple of {GRAIN}"));
    }
    if spec.interleave == 0 && spec.swizzle != 0 && inner > u64::from(spec.swizzle) {
        return Err(format!(
            "the box is {inner} bytes wide; a swizzle of {} allows at most as many",
            spec.swizzle
        ));
    }
    if spec.interleave != 0 && dims.len() < INTERLEAVED_RANK {
        return Err(format!(
            "an interleaved layout needs at least {INTERLEAVED_RANK} dimensions, found {}",
            dims.len()
        ));
    }
    if spec.interleave == 32 && spec.swizzle != 32 {
        return Err(format!(
            "`interleave = 32` needs `swizzle = 32`, found {}",
            spec.swizzle
        ));
    }
    // The driver has no fp8 tensor map types: they travel as bytes, which have no NaN.
    let floats = dtype.is_float() && dtype.size() > 1;
    if spec.fill_nan && !floats {
        return Err(format!(
            "`fill_nan` needs a floating-point type of at least 2 bytes, found {dtype}"
        ));
    }
    Ok(())
}
