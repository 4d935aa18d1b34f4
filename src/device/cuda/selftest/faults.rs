//! Kernels that hang or fault: each must end in the right verdict, and the device must say that it is of no more use.

use super::{Bench, Seen, Worded, buffer, expect, plain, words};
use crate::device::{DType, Device};
use crate::verdict::Class;

/// Seconds after which the hanging kernel is called hung.
const HANG_LIMIT_S: f64 = 1.0;

pub(super) fn run(bench: &mut Bench, name: &str) -> Seen {
    let id = bench.buffer("data", 4096)?;
    bench.device.poison(id, DType::U8, 0, true).worded()?;
    let (kernel, wanted, args) = match name {
        "hang" => ("st_hang", Class::Timeout, vec![buffer("data")]),
        "illegal-address" => ("st_illegal", Class::MemoryFault, vec![buffer("data")]),
        "misaligned-address" => ("st_misaligned", Class::MemoryFault, vec![buffer("data")]),
        "trap" => ("st_trap", Class::Crashed, Vec::new()),
        _ => return Err(format!("no case is called `{name}`")),
    };
    if wanted == Class::Timeout {
        bench.device.set_limit(HANG_LIMIT_S);
    }
    let Err(verdict) = bench.launch(&plain(kernel, 1, 1, args)) else {
        return Err(format!("`{kernel}` came to its end"));
    };
    let next = bench.device.free_memory();
    let refused = next.is_err_and(|next| next.class == wanted);
    expect(
        verdict.class == wanted && !bench.device.is_usable() && refused,
        format!(
            "{}; wanted {wanted}; usable {}; next call refused {refused}",
            words(&verdict),
            bench.device.is_usable()
        ),
    )
}
