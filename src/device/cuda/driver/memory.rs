//! Device memory, streams, events, and flags that host and device share.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use cudarc::driver::sys::{self, CUresult};

use super::{Failure, Result, check};

/// Takes the part of the L2 that kernels may have set aside for themselves back, and allows none from now on. A device that has
/// no such part is left alone.
pub(in crate::device::cuda) fn reset_persisting_l2() -> Result<()> {
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
pub(in crate::device::cuda) fn memory_info() -> Result<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes two sizes to live locals.
    check(
        unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) },
        "cuMemGetInfo_v2",
        String::new,
    )?;
    Ok((free as u64, total as u64))
}

pub(in crate::device::cuda) fn alloc(bytes: u64) -> Result<u64> {
    let mut address = 0;
    // SAFETY: writes one address to a live local.
    let code = unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes as usize) };
    check(code, "cuMemAlloc_v2", || format!("{bytes} bytes"))?;
    Ok(address)
}

pub(in crate::device::cuda) fn free(address: u64) -> Result<()> {
    // SAFETY: the address came from `alloc` and is freed once, by its owner.
    check(unsafe { sys::cuMemFree_v2(address) }, "cuMemFree_v2", || {
        format!("{address:#x}")
    })
}

pub(in crate::device::cuda) fn upload(to: u64, bytes: &[u8], stream: Stream) -> Result<()> {
    // SAFETY: the source is a live slice of that length, pageable: the call returns when it has been read.
    let code = unsafe { sys::cuMemcpyHtoDAsync_v2(to, bytes.as_ptr().cast(), bytes.len(), stream.0) };
    check(code, "cuMemcpyHtoDAsync_v2", || {
        format!("to {to:#x}, {} bytes", bytes.len())
    })
}

pub(in crate::device::cuda) fn download(from: u64, bytes: &mut [u8], stream: Stream) -> Result<()> {
    // SAFETY: the target is a live slice of that length, pageable: the call returns when it has been written.
    let code = unsafe { sys::cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), from, bytes.len(), stream.0) };
    check(code, "cuMemcpyDtoHAsync_v2", || {
        format!("from {from:#x}, {} bytes", bytes.len())
    })
}

pub(in crate::device::cuda) fn copy(from: u64, to: u64, bytes: u64, stream: Stream) -> Result<()> {
    // SAFETY: both are device ranges; the driver checks them.
    let code = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, stream.0) };
    check(code, "cuMemcpyDtoDAsync_v2", || {
        format!("to {to:#x} from {from:#x}, {bytes} bytes")
    })
}

#[derive(Clone, Copy, Debug)]
pub(in crate::device::cuda) struct Stream(pub(super) sys::CUstream);

impl Stream {
    pub(in crate::device::cuda) fn new() -> Result<Self> {
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
    pub(in crate::device::cuda) fn idle(self) -> Result<bool> {
        // SAFETY: the handle is live.
        ready(unsafe { sys::cuStreamQuery(self.0) }, "cuStreamQuery")
    }

    /// Waits without a limit: for a stream that is idle, where it makes the driver print what kernels printed.
    pub(in crate::device::cuda) fn synchronize(self) -> Result<()> {
        // SAFETY: the handle is live.
        check(
            unsafe { sys::cuStreamSynchronize(self.0) },
            "cuStreamSynchronize",
            String::new,
        )
    }

    pub(in crate::device::cuda) fn destroy(self) -> Result<()> {
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
pub(in crate::device::cuda) struct Event(sys::CUevent);

impl Event {
    pub(in crate::device::cuda) fn new() -> Result<Self> {
        let mut event = null_mut();
        // SAFETY: writes one handle to a live local.
        check(
            unsafe { sys::cuEventCreate(&raw mut event, 0) },
            "cuEventCreate",
            || "default flags".to_owned(),
        )?;
        Ok(Self(event))
    }

    pub(in crate::device::cuda) fn record(self, stream: Stream) -> Result<()> {
        // SAFETY: both handles are live and of one context.
        check(
            unsafe { sys::cuEventRecord(self.0, stream.0) },
            "cuEventRecord",
            String::new,
        )
    }

    pub(in crate::device::cuda) fn done(self) -> Result<bool> {
        // SAFETY: the handle is live.
        ready(unsafe { sys::cuEventQuery(self.0) }, "cuEventQuery")
    }

    /// Microseconds from `self` to `end`; both must be done.
    pub(in crate::device::cuda) fn microseconds_to(self, end: Self) -> Result<f64> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: writes one float to a live local; both handles are live.
        let code = unsafe { sys::cuEventElapsedTime_v2(&raw mut milliseconds, self.0, end.0) };
        check(code, "cuEventElapsedTime_v2", String::new)?;
        Ok(f64::from(milliseconds) * 1e3)
    }

    pub(in crate::device::cuda) fn destroy(self) -> Result<()> {
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
pub(in crate::device::cuda) struct Flags {
    words: *mut c_void,
    address: u64,
}

impl Flags {
    /// Words in the block.
    const COUNT: usize = 16;

    pub(in crate::device::cuda) fn new() -> Result<Self> {
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

    pub(in crate::device::cuda) fn store(&self, index: usize, value: u32) {
        self.word(index).store(value, Ordering::SeqCst);
    }

    pub(in crate::device::cuda) fn load(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::SeqCst)
    }

    /// The word's address on the device.
    pub(in crate::device::cuda) fn address(&self, index: usize) -> u64 {
        self.address + index as u64 * 4
    }

    pub(in crate::device::cuda) fn free(&self) -> Result<()> {
        // SAFETY: allocated by `new`, freed once by the owner when no kernel uses it.
        check(unsafe { sys::cuMemFreeHost(self.words) }, "cuMemFreeHost", String::new)
    }
}
