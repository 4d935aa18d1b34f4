//! What kernels print goes through C's standard output, which holds it back while that is not a terminal.

#![expect(unsafe_code, reason = "C's standard output is reached through C alone")]

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn fflush(stream: *mut c_void) -> c_int;
}

/// Writes out what C's streams hold back.
pub(super) fn flush() {
    // SAFETY: `fflush` with a null pointer flushes every open output stream and touches nothing of ours.
    unsafe {
        fflush(std::ptr::null_mut());
    }
}
