//! A launch against the kernel it names: arguments, limits and tensor maps, checked before the driver sees them.

use cudarc::driver::sys;

use super::driver::{self, Function, FunctionAttribute, Geometry, Slot, TensorMapRequest};
use crate::dtype::DType;
use crate::kernel::plan::{Launch, TensorMap};
use crate::verdict::{Class, Evidence, Outcome, Verdict};

/// A kernel of a loaded module with what a launch is checked against.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) function: Function,
    /// Bytes of each parameter.
    pub(super) parameters: Vec<usize>,
    max_threads: i32,
    static_shared: i32,
}

/// Limits of the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) sm_count: i32,
    /// Static and dynamic shared memory of one CTA after opting in, bytes.
    pub(super) max_shared: i32,
    /// Compute capability 9.0 and later.
    pub(super) clusters: bool,
}

/// Dynamic shared memory that needs no opting in: CUDA C++ Programming Guide, "Shared Memory (9.x)".
const DEFAULT_SHARED: u32 = 48 * 1024;
/// CTAs of a cluster that every device with clusters supports; more are not portable.
const PORTABLE_CLUSTER: u32 = 8;
/// `MAX_GRID[axis]`: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
const MAX_GRID: [u32; 3] = [2_147_483_647, 65_535, 65_535];

impl Kernel {
    pub(super) fn new(function: Function) -> driver::Result<Self> {
        function.prepare()?;
        Ok(Self {
            function,
            parameters: function.parameters()?,
            max_threads: function.attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            static_shared: function.attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        })
    }

    /// Compares the arguments with the kernel's parameters.
    pub(super) fn check_arguments(&self, launch: &Launch, slots: &[Slot]) -> Outcome<()> {
        let place = format!("`{}` (line {})", launch.kernel, launch.line);
        let verdict = if slots.len() == self.parameters.len() {
            let wrong = slots
                .iter()
                .zip(&self.parameters)
                .position(|(slot, size)| slot.used != *size);
            let Some(index) = wrong else { return Ok(()) };
            format!(
                "argument {} of {place} has {} bytes and the kernel's parameter has {}",
                index + 1,
                slots[index].used,
                self.parameters[index]
            )
        } else {
            format!(
                "the launch of {place} passes {} arguments and the kernel takes {}",
                slots.len(),
                self.parameters.len()
            )
        };
        Verdict::new(Class::InvalidKernel, verdict)
            .with(Evidence::Note {
                text: format!(
                    "the kernel's parameters have these sizes in bytes: {:?}",
                    self.parameters
                ),
            })
            .try_next("make `args` match the kernel's parameters in number, order and type")
            .fail()
    }

    /// Checks what the driver would only answer with "invalid value", and sets the attributes that the launch needs.
    pub(super) fn check_geometry(&self, launch: &Launch, limits: &Limits) -> Outcome<Geometry> {
        let geometry = Geometry {
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster.filter(|cluster| *cluster != [1; 3]),
            shared: launch.shared,
            cooperative: launch.cooperative,
        };
        match self.problem(&geometry, limits) {
            None => Ok(geometry),
            Some(reason) => {
                let place = format!("`{}` (line {}): {reason}", launch.kernel, launch.line);
                Verdict::new(Class::LaunchError, place)
                    .try_next("change grid, block, shared or cluster of the [[launch]]")
                    .fail()
            }
        }
    }

    fn problem(&self, geometry: &Geometry, limits: &Limits) -> Option<String> {
        let threads: u64 = geometry.block.iter().map(|size| u64::from(*size)).product();
        if geometry.grid.contains(&0) || geometry.block.contains(&0) {
            return Some(format!(
                "grid {:?} and block {:?} must not contain 0",
                geometry.grid, geometry.block
            ));
        }
        if let Some(axis) = (0..3).find(|axis| geometry.grid[*axis] > MAX_GRID[*axis]) {
            return Some(format!(
                "grid {:?} exceeds {} in dimension {axis}",
                geometry.grid, MAX_GRID[axis]
            ));
        }
        if threads > self.max_threads as u64 {
            let most = self.max_threads;
            return Some(format!(
                "{threads} threads per block, and this kernel can have {most} (registers or __launch_bounds__)"
            ));
        }
        let shared = i64::from(geometry.shared) + i64::from(self.static_shared);
        if shared > i64::from(limits.max_shared) {
            return Some(format!(
                "{shared} bytes of shared memory, and a block can have {}",
                limits.max_shared
            ));
        }
        let cluster = geometry.cluster?;
        if !limits.clusters {
            return Some("clusters need compute capability 9.0 or later".to_owned());
        }
        (0..3)
            .any(|axis| cluster[axis] == 0 || !geometry.grid[axis].is_multiple_of(cluster[axis]))
            .then(|| format!("grid {:?} is not a multiple of cluster {cluster:?}", geometry.grid))
    }

    /// Opts in to what the launch asks for.
    pub(super) fn opt_in(&self, geometry: &Geometry) -> driver::Result<()> {
        if geometry.shared > DEFAULT_SHARED - (self.static_shared as u32).min(DEFAULT_SHARED) {
            let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            self.function.set_attribute(attribute, geometry.shared as i32)?;
        }
        if geometry
            .cluster
            .is_some_and(|cluster| cluster.iter().product::<u32>() > PORTABLE_CLUSTER)
        {
            let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            self.function.set_attribute(attribute, 1)?;
        }
        Ok(())
    }

    /// CTAs that a cooperative grid may have, where this one has more.
    pub(super) fn too_large(&self, geometry: &Geometry, limits: &Limits) -> driver::Result<Option<u64>> {
        if !geometry.cooperative {
            return Ok(None);
        }
        let threads = geometry.block.iter().product();
        let most = self.function.resident_ctas(threads, geometry.shared)? as u64 * limits.sm_count as u64;
        let ctas: u64 = geometry.grid.iter().map(|size| u64::from(*size)).product();
        Ok((ctas > most).then_some(most))
    }
}

/// Works a tensor map out for the driver; `address` and `bytes` are the buffer's.
pub(super) fn tensor_map(map: &TensorMap, address: u64, bytes: u64, launch: &Launch) -> Outcome<TensorMapRequest> {
    if let Some(reason) = tensor_map_problem(map, bytes) {
        let place = format!(
            "`{}` (line {}): the tensor map over `{}`: {reason}",
            launch.kernel, launch.line, map.buffer
        );
        return Verdict::new(Class::InvalidKernel, place)
            .try_next("correct the [[tensormap]]; the rules are those of cuTensorMapEncodeTiled")
            .fail();
    }
    Ok(TensorMapRequest {
        data_type: data_type(map.dtype),
        address,
        dims: map.dims.clone(),
        strides: map.strides.clone(),
        tile: map.tile.clone(),
        interleave: match map.interleave {
            16 => sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_16B,
            32 => sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_32B,
            _ => sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
        },
        swizzle: match map.swizzle {
            32 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            128 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            _ => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
        },
        promotion: match map.l2_promotion {
            64 => sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
            128 => sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            256 => sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            _ => sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        },
        fill: if map.fill_nan {
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
        } else {
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
        },
    })
}

fn data_type(dtype: DType) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType as Type;
    match dtype {
        DType::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        DType::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DType::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DType::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        DType::I64 => Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
        DType::I32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
        DType::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        _ => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
    }
}

/// The rules of cuTensorMapEncodeTiled that a header can break (CUDA driver API, "Tensor Map Object Management").
fn tensor_map_problem(map: &TensorMap, bytes: u64) -> Option<String> {
    let (rank, size) = (map.dims.len(), map.dtype.size() as u64);
    if !(1..=5).contains(&rank) {
        return Some(format!("{rank} dimensions, and 1 to 5 are possible"));
    }
    if map.tile.len() != rank || map.strides.len() + 1 != rank {
        return Some(format!(
            "{rank} dimensions need {rank} tile sizes and {} strides",
            rank - 1
        ));
    }
    if let Some(index) = map.tile.iter().position(|tile| *tile == 0 || *tile > 256) {
        return Some(format!(
            "tile size {} (innermost first: number {index}) must be 1 to 256",
            map.tile[index]
        ));
    }
    if let Some(stride) = map.strides.iter().find(|stride| !stride.is_multiple_of(16)) {
        return Some(format!("a stride of {stride} bytes is not a multiple of 16"));
    }
    let inner = u64::from(map.tile[0]) * size;
    if map.interleave == 0 && !inner.is_multiple_of(16) {
        return Some(format!("the tile's innermost {inner} bytes are not a multiple of 16"));
    }
    if map.swizzle > 0 && inner > u64::from(map.swizzle) {
        return Some(format!(
            "the tile's innermost {inner} bytes exceed the swizzle's {}",
            map.swizzle
        ));
    }
    if map.fill_nan && !matches!(map.dtype, DType::F64 | DType::F32 | DType::F16 | DType::Bf16) {
        return Some(format!("{} cannot be filled with NaN", map.dtype));
    }
    let last = map
        .dims
        .iter()
        .skip(1)
        .zip(&map.strides)
        .map(|(dim, stride)| dim.saturating_sub(1) * stride)
        .sum::<u64>();
    let covered = last + map.dims[0] * size;
    (covered > bytes).then(|| format!("it covers {covered} bytes, and the buffer has {bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            buffer: "x".to_owned(),
            dtype: DType::Bf16,
            dims: vec![64, 32],
            strides: vec![128],
            tile: vec![64, 8],
            swizzle: 128,
            interleave: 0,
            l2_promotion: 128,
            fill_nan: false,
        }
    }

    #[test]
    fn tensor_maps_are_checked_against_the_rules() {
        assert_eq!(tensor_map_problem(&map(), 4096), None);
        let reason = |map: TensorMap| tensor_map_problem(&map, 4096).unwrap();
        assert!(
            reason(TensorMap {
                strides: vec![100],
                ..map()
            })
            .contains("100 bytes")
        );
        assert!(
            reason(TensorMap {
                tile: vec![64, 512],
                ..map()
            })
            .contains("512")
        );
        assert!(reason(TensorMap { swizzle: 64, ..map() }).contains("exceed the swizzle"));
        assert!(
            reason(TensorMap {
                tile: vec![64],
                ..map()
            })
            .contains("2 tile sizes")
        );
        assert!(
            reason(TensorMap {
                dims: vec![64, 33],
                ..map()
            })
            .contains("covers 4224")
        );
        assert!(
            reason(TensorMap {
                dtype: DType::E5m2,
                fill_nan: true,
                ..map()
            })
            .contains("NaN")
        );
    }
}
