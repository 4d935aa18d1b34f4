//! The CUDA driver's calls, each with its return code checked and its arguments in the error. All unsafe code of the device is here.

#![expect(unsafe_code, reason = "the CUDA driver is a C library")]

mod memory;
mod module;

use std::ffi::c_int;
use std::fmt;
use std::ptr::null_mut;

use cudarc::driver::sys::{self, CUresult};

pub(super) use cudarc::driver::sys::{
    CUdevice_attribute as DeviceAttribute, CUfunction_attribute as FunctionAttribute,
};
pub(super) use memory::{Event, Flags, Stream, alloc, copy, download, free, memory_info, reset_persisting_l2, upload};
pub(super) use module::{Function, Geometry, LoadFailure, Module, Slot, TensorMapRequest, launch, tensor_map};

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
