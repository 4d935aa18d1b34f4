//! Workers: child processes that own a device; the protocol, spawning, killing.

pub mod protocol;
