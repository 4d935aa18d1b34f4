//! Modules, functions, launches and tensor maps.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys::{self, CUresult};

use super::{Failure, FunctionAttribute, Result, Stream, check};

#[derive(Clone, Copy, Debug)]
pub(in crate::device::cuda) struct Module(sys::CUmodule);

/// A module that did not load, with what the driver's compiler said.
pub(in crate::device::cuda) struct LoadFailure {
    pub(in crate::device::cuda) failure: Failure,
    pub(in crate::device::cuda) log: String,
}

impl Module {
    /// Loads PTX text or a cubin.
    pub(in crate::device::cuda) fn load(image: &[u8], ptx: bool) -> std::result::Result<Self, LoadFailure> {
        use sys::CUjit_option as Jit;
        const LOG: usize = 16 * 1024;
        // PTX is text and must end with a zero.
        let image = if ptx { [image, &[0]].concat() } else { image.to_vec() };
        let mut log = vec![0_u8; LOG];
        let mut options = [
            Jit::CU_JIT_ERROR_LOG_BUFFER,
            Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            Jit::CU_JIT_GENERATE_LINE_INFO,
        ];
        // The values are pointers or, cast to one, plain numbers.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut(LOG),
            std::ptr::without_provenance_mut(1),
        ];
        let count = if ptx { options.len() as u32 } else { 0 };
        let mut module = null_mut();
        // SAFETY: the image is live and terminated; options and values have `count` elements; the log has the stated size.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                count,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let what = if ptx { "bytes of PTX" } else { "bytes of cubin" };
        match check(code, "cuModuleLoadDataEx", || format!("{} {what}", image.len())) {
            Ok(()) => Ok(Self(module)),
            Err(failure) => {
                let end = log.iter().position(|byte| *byte == 0).unwrap_or(LOG);
                let log = String::from_utf8_lossy(&log[..end]).into_owned();
                Err(LoadFailure { failure, log })
            }
        }
    }

    pub(in crate::device::cuda) fn unload(self) -> Result<()> {
        // SAFETY: the handle is live and unloaded once, by its owner.
        check(unsafe { sys::cuModuleUnload(self.0) }, "cuModuleUnload", String::new)
    }

    pub(in crate::device::cuda) fn function(self, name: &str) -> Result<Function> {
        let text = CString::new(name).unwrap_or_default();
        let mut function = null_mut();
        // SAFETY: the name is terminated; writes one handle to a live local.
        let code = unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, text.as_ptr()) };
        check(code, "cuModuleGetFunction", || format!("`{name}`"))?;
        Ok(Function(function))
    }

    /// Names of the module's kernels.
    pub(in crate::device::cuda) fn names(self) -> Result<Vec<String>> {
        let mut count = 0;
        // SAFETY: writes one count to a live local.
        let code = unsafe { sys::cuModuleGetFunctionCount(&raw mut count, self.0) };
        check(code, "cuModuleGetFunctionCount", String::new)?;
        let mut functions = vec![null_mut(); count as usize];
        // SAFETY: the array has `count` elements.
        let code = unsafe { sys::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, self.0) };
        check(code, "cuModuleEnumerateFunctions", || count.to_string())?;
        functions
            .into_iter()
            .map(|function| Function(function).name())
            .collect()
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::device::cuda) struct Function(sys::CUfunction);

impl Function {
    fn name(self) -> Result<String> {
        let mut text = std::ptr::null();
        // SAFETY: writes one pointer to a live local.
        check(
            unsafe { sys::cuFuncGetName(&raw mut text, self.0) },
            "cuFuncGetName",
            String::new,
        )?;
        // SAFETY: the driver's string is terminated and lives as long as the module.
        Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    /// Loads the code now, where the driver would do it at the first launch.
    pub(in crate::device::cuda) fn prepare(self) -> Result<()> {
        // SAFETY: the handle is live.
        check(unsafe { sys::cuFuncLoad(self.0) }, "cuFuncLoad", String::new)
    }

    pub(in crate::device::cuda) fn attribute(self, attribute: FunctionAttribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: writes one int to a live local.
        let code = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, self.0) };
        check(code, "cuFuncGetAttribute", || format!("{attribute:?}"))?;
        Ok(value)
    }

    pub(in crate::device::cuda) fn set_attribute(self, attribute: FunctionAttribute, value: i32) -> Result<()> {
        // SAFETY: no pointers besides the live handle.
        let code = unsafe { sys::cuFuncSetAttribute(self.0, attribute, value) };
        check(code, "cuFuncSetAttribute", || format!("{attribute:?}, {value}"))
    }

    /// Size in bytes of each parameter, in order.
    pub(in crate::device::cuda) fn parameters(self) -> Result<Vec<usize>> {
        let mut sizes = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: writes two sizes to live locals; an index past the last one is answered with an error.
            let code = unsafe { sys::cuFuncGetParamInfo(self.0, sizes.len(), &raw mut offset, &raw mut size) };
            if code == CUresult::CUDA_ERROR_INVALID_VALUE {
                return Ok(sizes);
            }
            check(code, "cuFuncGetParamInfo", || format!("index {}", sizes.len()))?;
            sizes.push(size);
        }
    }

    /// CTAs of this size that one multiprocessor holds.
    pub(in crate::device::cuda) fn resident_ctas(self, threads: u32, shared: u32) -> Result<i32> {
        let mut count = 0;
        // SAFETY: writes one int to a live local.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut count, self.0, threads as c_int, shared as usize)
        };
        check(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor", || {
            format!("{threads} threads, {shared} bytes")
        })?;
        Ok(count)
    }
}

/// One argument's bytes, aligned as the most demanding one: a tensor map.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(in crate::device::cuda) struct Slot {
    bytes: [u8; 128],
    pub(in crate::device::cuda) used: usize,
}

impl Slot {
    /// `bytes` are at most 128.
    pub(in crate::device::cuda) fn new(bytes: &[u8]) -> Self {
        let mut slot = Self {
            bytes: [0; 128],
            used: bytes.len(),
        };
        slot.bytes[..bytes.len()].copy_from_slice(bytes);
        slot
    }
}

/// Where and how a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::device::cuda) struct Geometry {
    pub(in crate::device::cuda) grid: [u32; 3],
    pub(in crate::device::cuda) block: [u32; 3],
    pub(in crate::device::cuda) cluster: Option<[u32; 3]>,
    pub(in crate::device::cuda) shared: u32,
    pub(in crate::device::cuda) cooperative: bool,
}

impl Geometry {
    /// A one-dimensional launch.
    pub(in crate::device::cuda) fn flat(ctas: u32, threads: u32) -> Self {
        Self {
            grid: [ctas, 1, 1],
            block: [threads, 1, 1],
            cluster: None,
            shared: 0,
            cooperative: false,
        }
    }

    fn attributes(&self) -> Vec<sys::CUlaunchAttribute> {
        use sys::CUlaunchAttributeID as Id;
        let attribute = |id, value| sys::CUlaunchAttribute_st { id, pad: [0; 4], value };
        let mut all = Vec::new();
        if let Some([x, y, z]) = self.cluster {
            let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
            value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            all.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value));
        }
        if self.cooperative {
            let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
            value.cooperative = 1;
            all.push(attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value));
        }
        all
    }
}

/// Queues a kernel. The arguments must have the sizes that `Function::parameters` gives.
pub(in crate::device::cuda) fn launch(
    function: Function,
    geometry: &Geometry,
    slots: &mut [Slot],
    stream: Stream,
) -> Result<()> {
    let mut attributes = geometry.attributes();
    let mut pointers: Vec<*mut c_void> = slots.iter_mut().map(|slot| slot.bytes.as_mut_ptr().cast()).collect();
    let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (geometry.grid, geometry.block);
    let config = sys::CUlaunchConfig {
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: geometry.shared,
        hStream: stream.0,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    };
    // SAFETY: `config` and its attributes are live; there is one pointer per parameter, each to 128 aligned bytes, and the
    // driver copies them before it returns. What the kernel does to device memory is the device's to catch.
    let code = unsafe { sys::cuLaunchKernelEx(&raw const config, function.0, pointers.as_mut_ptr(), null_mut()) };
    check(code, "cuLaunchKernelEx", || {
        format!("{geometry:?}, {} arguments", slots.len())
    })
}

/// The numbers of a tensor map as the driver takes them.
#[derive(Clone, Debug)]
pub(in crate::device::cuda) struct TensorMapRequest {
    pub(in crate::device::cuda) data_type: sys::CUtensorMapDataType,
    pub(in crate::device::cuda) address: u64,
    pub(in crate::device::cuda) dims: Vec<u64>,
    pub(in crate::device::cuda) strides: Vec<u64>,
    pub(in crate::device::cuda) tile: Vec<u32>,
    pub(in crate::device::cuda) interleave: sys::CUtensorMapInterleave,
    pub(in crate::device::cuda) swizzle: sys::CUtensorMapSwizzle,
    pub(in crate::device::cuda) promotion: sys::CUtensorMapL2promotion,
    pub(in crate::device::cuda) fill: sys::CUtensorMapFloatOOBfill,
}

/// Encodes a tensor map: 128 bytes to be passed by value. `dims`, `strides` and `tile` have the lengths n, n - 1 and n.
pub(in crate::device::cuda) fn tensor_map(request: &TensorMapRequest) -> Result<Slot> {
    let rank = request.dims.len();
    assert!(
        request.tile.len() == rank && request.strides.len() + 1 == rank,
        "checked by the caller"
    );
    let steps = vec![1_u32; rank];
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: the arrays have the lengths that the rank asks for; the map is a live local of the right alignment.
    let code = unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map,
            request.data_type,
            rank as u32,
            request.address as *mut c_void,
            request.dims.as_ptr(),
            request.strides.as_ptr(),
            request.tile.as_ptr(),
            steps.as_ptr(),
            request.interleave,
            request.swizzle,
            request.promotion,
            request.fill,
        )
    };
    check(code, "cuTensorMapEncodeTiled", || format!("{request:?}"))?;
    Ok(Slot::new(bytemuck::cast_slice(&map.opaque)))
}
