//! Makes Cargo build again when a file that the binary embeds is added, changed or removed.

use std::path::Path;

#[expect(clippy::print_stdout, reason = "this is how a build script speaks to Cargo")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for folder in ["problems", "assets", "themes"].iter().filter(|folder| Path::new(folder).exists()) {
        println!("cargo::rerun-if-changed={folder}");
    }
}
