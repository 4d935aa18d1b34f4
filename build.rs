//! Makes Cargo build again when a file that the binary embeds is added, changed or removed.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for folder in ["problems", "assets", "themes"]
        .iter()
        .filter(|folder| Path::new(folder).exists())
    {
        println!("cargo::rerun-if-changed={folder}");
    }
}
