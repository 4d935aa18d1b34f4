//! Workers: child processes that own a device; the protocol, the serving side, and the supervisor on the front end's side.

pub mod client;
mod crash;
pub mod frame;
mod output;
mod process;
pub mod protocol;
pub mod server;
