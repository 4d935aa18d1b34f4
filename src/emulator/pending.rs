//! Asynchronous work in flight, one list per warp: `cp.async`, bulk copies, `wgmma`.

/// Asynchronous work of a warp. Empty until an instruction family needs it.
#[derive(Debug, Default)]
pub(super) struct Pending {}
