//! `ridgepoint check --ship-ptx REPO`: makes the PTX that ships beside the built-in kernels.

use std::path::Path;

use super::{Exit, print};
use crate::toolchain::Toolchain;
use crate::toolchain::shipped::{Shipped, ship};

pub(super) fn run(repo: &Path) -> Exit {
    let toolchain = Toolchain::discover();
    let mut tell = |path: &Path, outcome: &Shipped| match outcome {
        Shipped::Unchanged => print::line(format!("unchanged  {}", path.display())),
        Shipped::Written { bytes } => print::line(format!("written    {} ({} KB)", path.display(), bytes / 1000)),
    };
    match ship(repo, &toolchain, &mut tell) {
        Ok(0) => {
            print::note(format!(
                "{}: no .cu below `problems`: not a folder of Ridgepoint's source",
                repo.display()
            ));
            Exit::Usage
        }
        Ok(count) => {
            print::line(format!("{count} sources ship with their PTX"));
            Exit::Passed
        }
        Err(errors) => {
            for error in errors {
                print::note(error);
            }
            Exit::Failed
        }
    }
}
