//! The CUDA driver's calls, each with its return code checked and its arguments in the error. All unsafe code of the device is here.

#![expect(unsafe_code, reason = "the CUDA driver is a C library")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{self, CUresult};

pub(super) use cudarc::driver::sys::{
    CUdevice_attribute as DeviceAttribute, CUfunction_attribute as FunctionAttribute,
};

/// A driver call that did not succeed.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) call: &'static str,
    pub(super) arguments: String,
    pub(super) code: CUresult,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}({}) returned {} ({:?})",
            self.call, self.arguments, self.code as u32, self.code
        )
    }
}

pub(super) type Result<T> = std::result::Result<T, Failure>;

fn check(code: CUresult, call: &'static str, arguments: impl FnOnce() -> String) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Failure {
        call,
        arguments: arguments(),
        code,
    })
}

/// Every driver function called here. cudarc panics at the first call of one that the library lacks, so they are looked up before.
const SYMBOLS: [&str; 44] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDeviceGetPCIBusId",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSetLimit",
    "cuCtxResetPersistingL2Cache",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostGetDevicePointer_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamQuery",
    "cuStreamSynchronize",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventElapsedTime_v2",
    "cuModuleLoadDataEx",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuModuleGetFunctionCount",
    "cuModuleEnumerateFunctions",
    "cuFuncGetName",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuFuncGetParamInfo",
    "cuFuncLoad",
    "cuLaunchKernelEx",
    "cuTensorMapEncodeTiled",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
];

/// Why the driver cannot be used, or `Ok`.
pub(super) fn present() -> std::result::Result<(), String> {
    // SAFETY: opens and closes the library; its initialisers are NVIDIA's.
    if !unsafe { sys::is_culib_present() } {
        return Err("there is no CUDA driver here (no libcuda.so.1 that can be loaded)".to_owned());
    }
    for symbol in SYMBOLS {
        // SAFETY: the library was just seen to load; the symbol is looked up and not called.
        let found = unsafe { sys::culib().get::<unsafe extern "C" fn()>(symbol.as_bytes()).is_ok() };
        if !found {
            return Err(format!("the CUDA driver lacks `{symbol}`: it is too old"));
        }
    }
    Ok(())
}

pub(super) fn init() -> Result<()> {
    // SAFETY: no pointers; may be called any number of times.
    check(unsafe { sys::cuInit(0) }, "cuInit", || "0".to_owned())
}

/// 13000 for CUDA 13.0.
pub(super) fn version() -> Result<i32> {
    let mut version = 0;
    // SAFETY: writes one int to a live local.
    check(
        unsafe { sys::cuDriverGetVersion(&raw mut version) },
        "cuDriverGetVersion",
        String::new,
    )?;
    Ok(version)
}

pub(super) fn device_count() -> Result<i32> {
    let mut count = 0;
    // SAFETY: writes one int to a live local.
    check(
        unsafe { sys::cuDeviceGetCount(&raw mut count) },
        "cuDeviceGetCount",
        String::new,
    )?;
    Ok(count)
}

/// A device handle: an index that the driver has accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gpu(sys::CUdevice);

impl Gpu {
    pub(super) fn get(ordinal: i32) -> Result<Self> {
        let mut device = 0;
        // SAFETY: writes one handle to a live local.
        check(
            unsafe { sys::cuDeviceGet(&raw mut device, ordinal) },
            "cuDeviceGet",
            || ordinal.to_string(),
        )?;
        Ok(Self(device))
    }

    pub(super) fn name(self) -> Result<String> {
        let mut text = [0; 256];
        // SAFETY: the driver writes at most the given length, with a terminating zero.
        let code = unsafe { sys::cuDeviceGetName(text.as_mut_ptr(), text.len() as c_int, self.0) };
        check(code, "cuDeviceGetName", || self.0.to_string())?;
        Ok(from_chars(&text))
    }

    pub(super) fn bus_id(self) -> Result<String> {
        let mut text = [0; 64];
        // SAFETY: the driver writes at most the given length, with a terminating zero.
        let code = unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as c_int, self.0) };
        check(code, "cuDeviceGetPCIBusId", || self.0.to_string())?;
        Ok(from_chars(&text))
    }

    pub(super) fn memory(self) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: writes one size to a live local.
        let code = unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, self.0) };
        check(code, "cuDeviceTotalMem_v2", || self.0.to_string())?;
        Ok(bytes as u64)
    }

    pub(super) fn attribute(self, attribute: DeviceAttribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: writes one int to a live local.
        let code = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, self.0) };
        check(code, "cuDeviceGetAttribute", || {
            format!("{attribute:?}, device {}", self.0)
        })?;
        Ok(value)
    }

    /// Retains the device's primary context and makes it the thread's.
    pub(super) fn retain(self) -> Result<Context> {
        let mut context = null_mut();
        // SAFETY: writes one handle to a live local.
        let code = unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut context, self.0) };
        check(code, "cuDevicePrimaryCtxRetain", || self.0.to_string())?;
        let context = Context(context);
        context.enter()?;
        Ok(context)
    }

    pub(super) fn release(self) -> Result<()> {
        // SAFETY: matches the `retain` of the caller.
        check(
            unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.0) },
            "cuDevicePrimaryCtxRelease_v2",
            || self.0.to_string(),
        )
    }
}

fn from_chars(text: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = text
        .iter()
        .take_while(|char| **char != 0)
        .map(|char| char.cast_unsigned())
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Context(sys::CUcontext);

impl Context {
    /// Makes this the calling thread's context.
    pub(super) fn enter(self) -> Result<()> {
        // SAFETY: the handle came from `retain` and is not released while a device uses it.
        check(unsafe { sys::cuCtxSetCurrent(self.0) }, "cuCtxSetCurrent", String::new)
    }
}

/// Takes the part of the L2 that kernels may have set aside for themselves back, and allows none from now on. A device that has
/// no such part is left alone.
pub(super) fn reset_persisting_l2() -> Result<()> {
    let limit = sys::CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
    // SAFETY: no pointers; acts on the current context.
    let code = unsafe { sys::cuCtxSetLimit(limit, 0) };
    if matches!(
        code,
        CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT | CUresult::CUDA_ERROR_NOT_SUPPORTED
    ) {
        return Ok(());
    }
    check(code, "cuCtxSetLimit", || {
        "CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0".to_owned()
    })?;
    // SAFETY: no pointers; acts on the current context.
    check(
        unsafe { sys::cuCtxResetPersistingL2Cache() },
        "cuCtxResetPersistingL2Cache",
        String::new,
    )
}

/// Free and total bytes.
pub(super) fn memory_info() -> Result<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes two sizes to live locals.
    check(
        unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) },
        "cuMemGetInfo_v2",
        String::new,
    )?;
    Ok((free as u64, total as u64))
}

pub(super) fn alloc(bytes: u64) -> Result<u64> {
    let mut address = 0;
    // SAFETY: writes one address to a live local.
    let code = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes as usize) };
    check(code, "cuMemAlloc_v2", || format!("{bytes} bytes"))?;
    Ok(address)
}

pub(super) fn free(address: u64) -> Result<()> {
    // SAFETY: the address came from `alloc` and is freed once, by its owner.
    check(unsafe { sys::cuMemFree_v2(address) }, "cuMemFree_v2", || {
        format!("{address:#x}")
    })
}

pub(super) fn upload(to: u64, bytes: &[u8], stream: Stream) -> Result<()> {
    // SAFETY: the source is a live slice of that length, pageable: the call returns when it has been read.
    let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), stream.0) };
    check(code, "cuMemcpyHtoDAsync_v2", || {
        format!("to {to:#x}, {} bytes", bytes.len())
    })
}

pub(super) fn download(from: u64, bytes: &mut [u8], stream: Stream) -> Result<()> {
    // SAFETY: the target is a live slice of that length, pageable: the call returns when it has been written.
    let code = unsafe { sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), from, bytes.len(), stream.0) };
    check(code, "cuMemcpyDtoHAsync_v2", || {
        format!("from {from:#x}, {} bytes", bytes.len())
    })
}

pub(super) fn copy(from: u64, to: u64, bytes: u64, stream: Stream) -> Result<()> {
    // SAFETY: both are device ranges; the driver checks them.
    let code = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream.0) };
    check(code, "cuMemcpyDtoDAsync_v2", || {
        format!("to {to:#x} from {from:#x}, {bytes} bytes")
    })
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Stream(sys::CUstream);

impl Stream {
    pub(super) fn new() -> Result<Self> {
        /// CU_STREAM_NON_BLOCKING: no implicit order with the legacy stream.
        const NON_BLOCKING: u32 = 1;
        let mut stream = null_mut();
        // SAFETY: writes one handle to a live local.
        check(
            unsafe { sys::cuStreamCreate(&raw mut stream, NON_BLOCKING) },
            "cuStreamCreate",
            || "non-blocking".to_owned(),
        )?;
        Ok(Self(stream))
    }

    /// Whether all its work is done.
    pub(super) fn idle(self) -> Result<bool> {
        // SAFETY: the handle is live.
        ready(unsafe { sys::cuStreamQuery(self.0) }, "cuStreamQuery")
    }

    /// Waits without a limit: for a stream that is idle, where it makes the driver print what kernels printed.
    pub(super) fn synchronize(self) -> Result<()> {
        // SAFETY: the handle is live.
        check(
            unsafe { sys::cuStreamSynchronize(self.0) },
            "cuStreamSynchronize",
            String::new,
        )
    }

    pub(super) fn destroy(self) -> Result<()> {
        // SAFETY: the handle is live and destroyed once, by its owner.
        check(
            unsafe { sys::cuStreamDestroy_v2(self.0) },
            "cuStreamDestroy_v2",
            String::new,
        )
    }
}

fn ready(code: CUresult, call: &'static str) -> Result<bool> {
    match code {
        CUresult::CUDA_SUCCESS => Ok(true),
        CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        _ => Err(Failure {
            call,
            arguments: String::new(),
            code,
        }),
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Event(sys::CUevent);

impl Event {
    pub(super) fn new() -> Result<Self> {
        let mut event = null_mut();
        // SAFETY: writes one handle to a live local.
        check(
            unsafe { sys::cuEventCreate(&raw mut event, 0) },
            "cuEventCreate",
            || "default flags".to_owned(),
        )?;
        Ok(Self(event))
    }

    pub(super) fn record(self, stream: Stream) -> Result<()> {
        // SAFETY: both handles are live and of one context.
        check(
            unsafe { sys::cuEventRecord(self.0, stream.0) },
            "cuEventRecord",
            String::new,
        )
    }

    pub(super) fn done(self) -> Result<bool> {
        // SAFETY: the handle is live.
        ready(unsafe { sys::cuEventQuery(self.0) }, "cuEventQuery")
    }

    /// Microseconds from `self` to `end`; both must be done.
    pub(super) fn microseconds_to(self, end: Self) -> Result<f64> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: writes one float to a live local; both handles are live.
        let code = unsafe { sys::cuEventElapsedTime_v2(&raw mut milliseconds, self.0, end.0) };
        check(code, "cuEventElapsedTime_v2", String::new)?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    pub(super) fn destroy(self) -> Result<()> {
        // SAFETY: the handle is live and destroyed once, by its owner.
        check(
            unsafe { sys::cuEventDestroy_v2(self.0) },
            "cuEventDestroy_v2",
            String::new,
        )
    }
}

/// Pinned host words that the device sees: flags between host and kernels.
#[derive(Debug)]
pub(super) struct Flags {
    words: *mut c_void,
    address: u64,
}

impl Flags {
    /// Words in the block.
    const COUNT: usize = 16;

    pub(super) fn new() -> Result<Self> {
        /// CU_MEMHOSTALLOC_DEVICEMAP
        const MAPPED: u32 = 2;
        let bytes = Self::COUNT * 4;
        let mut words = null_mut();
        // SAFETY: writes one pointer to a live local.
        let code = unsafe { sys::cuMemHostAlloc(&raw mut words, bytes, MAPPED) };
        check(code, "cuMemHostAlloc", || format!("{bytes} bytes, mapped"))?;
        let mut address = 0;
        // SAFETY: `words` was just allocated as mapped memory.
        let code = unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut address, words, 0) };
        check(code, "cuMemHostGetDevicePointer_v2", String::new)?;
        let flags = Self { words, address };
        (0..Self::COUNT).for_each(|index| flags.store(index, 0));
        Ok(flags)
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < Self::COUNT, "flag {index} of {}", Self::COUNT);
        // SAFETY: inside the allocation, aligned, alive as long as `self`; the device and the host only touch it atomically.
        unsafe { &*self.words.cast::<AtomicU32>().add(index) }
    }

    pub(super) fn store(&self, index: usize, value: u32) {
        self.word(index).store(value, Ordering::SeqCst);
    }

    pub(super) fn load(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::SeqCst)
    }

    /// The word's address on the device.
    pub(super) fn address(&self, index: usize) -> u64 {
        self.address + index as u64 * 4
    }

    pub(super) fn free(&self) -> Result<()> {
        // SAFETY: allocated by `new`, freed once by the owner when no kernel uses it.
        check(unsafe { sys::cuMemFreeHost(self.words) }, "cuMemFreeHost", String::new)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Module(sys::CUmodule);

/// A module that did not load, with what the driver's compiler said.
pub(super) struct LoadFailure {
    pub(super) failure: Failure,
    pub(super) log: String,
}

impl Module {
    /// Loads PTX text or a cubin.
    pub(super) fn load(image: &[u8], ptx: bool) -> std::result::Result<Self, LoadFailure> {
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

    pub(super) fn unload(self) -> Result<()> {
        // SAFETY: the handle is live and unloaded once, by its owner.
        check(unsafe { sys::cuModuleUnload(self.0) }, "cuModuleUnload", String::new)
    }

    pub(super) fn function(self, name: &str) -> Result<Function> {
        let text = CString::new(name).unwrap_or_default();
        let mut function = null_mut();
        // SAFETY: the name is terminated; writes one handle to a live local.
        let code = unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, text.as_ptr()) };
        check(code, "cuModuleGetFunction", || format!("`{name}`"))?;
        Ok(Function(function))
    }

    /// Names of the module's kernels.
    pub(super) fn names(self) -> Result<Vec<String>> {
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
pub(super) struct Function(sys::CUfunction);

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
    pub(super) fn prepare(self) -> Result<()> {
        // SAFETY: the handle is live.
        check(unsafe { sys::cuFuncLoad(self.0) }, "cuFuncLoad", String::new)
    }

    pub(super) fn attribute(self, attribute: FunctionAttribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: writes one int to a live local.
        let code = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, self.0) };
        check(code, "cuFuncGetAttribute", || format!("{attribute:?}"))?;
        Ok(value)
    }

    pub(super) fn set_attribute(self, attribute: FunctionAttribute, value: i32) -> Result<()> {
        // SAFETY: no pointers besides the live handle.
        let code = unsafe { sys::cuFuncSetAttribute(self.0, attribute, value) };
        check(code, "cuFuncSetAttribute", || format!("{attribute:?}, {value}"))
    }

    /// Size in bytes of each parameter, in order.
    pub(super) fn parameters(self) -> Result<Vec<usize>> {
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
    pub(super) fn resident_ctas(self, threads: u32, shared: u32) -> Result<i32> {
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
pub(super) struct Slot {
    bytes: [u8; 128],
    pub(super) used: usize,
}

impl Slot {
    /// `bytes` are at most 128.
    pub(super) fn new(bytes: &[u8]) -> Self {
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
pub(super) struct Geometry {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) shared: u32,
    pub(super) cooperative: bool,
}

impl Geometry {
    /// A one-dimensional launch.
    pub(super) fn flat(ctas: u32, threads: u32) -> Self {
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
pub(super) fn launch(function: Function, geometry: &Geometry, slots: &mut [Slot], stream: Stream) -> Result<()> {
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
pub(super) struct TensorMapRequest {
    pub(super) data_type: sys::CUtensorMapDataType,
    pub(super) address: u64,
    pub(super) dims: Vec<u64>,
    pub(super) strides: Vec<u64>,
    pub(super) tile: Vec<u32>,
    pub(super) interleave: sys::CUtensorMapInterleave,
    pub(super) swizzle: sys::CUtensorMapSwizzle,
    pub(super) promotion: sys::CUtensorMapL2promotion,
    pub(super) fill: sys::CUtensorMapFloatOOBfill,
}

/// Encodes a tensor map: 128 bytes to be passed by value. `dims`, `strides` and `tile` have the lengths n, n - 1 and n.
pub(super) fn tensor_map(request: &TensorMapRequest) -> Result<Slot> {
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
