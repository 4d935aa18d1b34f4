//! Workers: child processes that own a device; the protocol, the serving side, and the supervisor on the front end's side.

pub mod frame;
pub mod protocol;
