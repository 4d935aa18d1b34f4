//! What the emulator reports when a kernel does something wrong.

/// Why a launch, or the loading of a module, was stopped, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The function and the line of the PTX text (from 1) where it happened.
    pub function: String,
    pub ptx_line: Option<u32>,
    /// File, line and column by the nearest `.loc`, where the module has them.
    pub source: Option<(String, u32, u32)>,
    /// Thread within its CTA, and CTA within the grid, of the first lane concerned.
    pub thread: Option<[u32; 3]>,
    pub cta: Option<[u32; 3]>,
}

/// The kinds of fault. Sizes and offsets are bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// The PTX text is malformed.
    Syntax {
        message: String,
    },
    /// An instruction, modifier or directive that the emulator does not implement, as written.
    Unsupported {
        what: String,
    },
    /// The launch cannot be made: no such kernel, a wrong argument size, a block beyond the limits.
    Launch {
        message: String,
    },
    OutOfBounds(Access),
    Misaligned(Access),
    /// A read of bytes that nothing had written.
    Uninitialized(Access),
    /// A write to memory that must not be written (a constant).
    ReadOnly(Access),
    /// Threads of a CTA that can never meet at a barrier.
    Barrier {
        barrier: u32,
        waiting: String,
        missing: String,
    },
    /// More warp instructions than the budget allows.
    Budget {
        steps: u64,
    },
    /// `trap`, a failed `assert`, or a call of something that cannot be called.
    Trap {
        message: String,
    },
    /// The run was cancelled from outside.
    Cancelled,
}

/// One refused access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// "read", "write", "atomic".
    pub what: &'static str,
    /// "global", "shared", "local", "const", "param".
    pub space: &'static str,
    pub bytes: u32,
    pub address: u64,
    /// The nearest buffer: its name, its size, and the access's offset from its start.
    pub buffer: Option<(String, u64, i64)>,
}
