//! The `ridgepoint` program.

fn main() {}
