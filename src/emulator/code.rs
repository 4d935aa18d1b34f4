//! Lowered code: what the executor runs, with every name resolved to an index.

use std::fmt;

use super::exec::Ctx;
use super::fault::FaultKind;
use super::regs::{Pred, R32, R64};
use crate::ptx::ast::Pos;

/// Why a lane stopped the launch.
#[derive(Debug)]
pub(super) struct Stop {
    pub kind: FaultKind,
    /// The lane concerned, where one is.
    pub lane: Option<u32>,
}

impl Stop {
    #[expect(clippy::unnecessary_box_returns, reason = "steps carry their faults in a box")]
    pub(super) fn new(kind: FaultKind, lane: u32) -> Box<Self> {
        Box::new(Self { kind, lane: Some(lane) })
    }
}

/// The result of one warp instruction.
pub(super) type Step = Result<(), Box<Stop>>;

/// A straight-line instruction: reads and writes the lanes in the mask, which is never empty.
pub(super) type Run = Box<dyn Fn(&mut Ctx<'_>, u32) -> Step + Send + Sync>;

/// An instruction that may have to wait: `false` leaves the lanes at it, to be tried again.
pub(super) type Attempt = Box<dyn Fn(&mut Ctx<'_>, u32) -> Result<bool, Box<Stop>> + Send + Sync>;

/// What an instruction does.
pub(super) enum Action {
    /// Runs and falls through. Lanes that the guard switches off are not in the mask.
    Run(Run),
    /// Runs once all lanes named by `members` (those that have not exited) are here together; each group of lanes that
    /// agree on `members` runs with its own mask. For `shfl.sync`, `vote.sync`, `bar.warp.sync`, `mma.sync`, ...
    Collective {
        members: R32,
        run: Run,
    },
    /// Tried again and again until it says that it is done; other warps run in between.
    Wait(Attempt),
    Branch(u32),
    /// `brx.idx`: the index, and the targets.
    BranchIndexed(R32, Vec<u32>),
    Call(Box<CallSite>),
    Return,
    Exit,
    Barrier(Box<BarrierOp>),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run(_) => "Run",
            Self::Collective { .. } => "Collective",
            Self::Wait(_) => "Wait",
            Self::Branch(_) => "Branch",
            Self::BranchIndexed(..) => "BranchIndexed",
            Self::Call(_) => "Call",
            Self::Return => "Return",
            Self::Exit => "Exit",
            Self::Barrier(_) => "Barrier",
        })
    }
}

/// What a call may reach.
#[derive(Debug)]
pub(super) enum Callee {
    /// An index into [`Program::functions`].
    Direct(u32),
    /// A register that holds a function's address.
    Indirect(R64),
}

/// One `call`.
#[derive(Debug)]
pub(super) struct CallSite {
    pub callee: Callee,
    /// Where the arguments are in the caller's frame, and where results go.
    pub args: Vec<Place>,
    pub returns: Vec<Place>,
}

/// Where a parameter of a function is: in a register, or in local memory relative to the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    R32(R32),
    R64(R64),
    Pred(Pred),
    Local { offset: u32, bytes: u32 },
}

/// One barrier instruction.
#[derive(Debug)]
pub(super) struct BarrierOp {
    pub barrier: R32,
    /// Threads expected; all of the CTA where it is not given.
    pub count: Option<R32>,
    /// All lanes of the warp must execute it together.
    pub aligned: bool,
    pub kind: BarrierKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierKind {
    Sync,
    Arrive,
    /// A vote over all threads: the source predicate (negated?), and where the answer goes.
    RedAnd(Pred, Pred, bool),
    RedOr(Pred, Pred, bool),
    RedPopc(R32, Pred, bool),
}

/// Classes of instruction, as the counters name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Integer,
    Float,
    Memory,
    Control,
    Conversion,
    Barrier,
    Special,
    Other,
}

impl Class {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Memory => "memory",
            Self::Control => "control",
            Self::Conversion => "conversion",
            Self::Barrier => "barrier",
            Self::Special => "special",
            Self::Other => "other",
        }
    }
}

/// Floating-point work of an instruction: the path's name (`fp32`, `fp64`, `fp16`, `bf16`, `tf32`, `fp8`), and operations per lane.
pub(super) type Flops = Option<(&'static str, u32)>;

/// One lowered instruction.
#[derive(Debug)]
pub(super) struct Op {
    pub action: Action,
    /// The guard: a predicate, and whether it is negated.
    pub guard: Option<(Pred, bool)>,
}

/// What is known of an instruction besides what it does: by the same index as [`Op`].
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub class: Class,
    pub flops: Flops,
    pub pos: Pos,
    /// File index, line and column of the nearest `.loc`.
    pub loc: Option<(u32, u32, u32)>,
    pub function: u32,
    /// `st.global`, `bar.sync`: as written, for reports.
    pub text: String,
}

/// A register with a fixed content: filled when a frame is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fill {
    Word(u32),
    Wide(u64),
    Special32(Special),
    /// The start of dynamic shared memory plus an offset.
    DynamicShared(i64),
    /// The address of a module variable (by index) plus an offset, known once the module is placed in memory.
    Variable(u32, i64),
}

/// Special registers that do not change while a warp lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicShared,
    TotalShared,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtarank,
    ClusterNctarank,
}

/// One function of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct FunctionCode {
    pub name: String,
    /// Index in the syntax tree; addresses of functions are made of it.
    pub ast_index: u32,
    pub start: u32,
    pub r32: u32,
    pub r64: u32,
    pub preds: u32,
    /// Registers with a fixed content: 64-bit or not, index, content.
    pub fills: Vec<(bool, u32, Fill)>,
    /// Bytes of local memory per thread.
    pub local: u32,
    pub local_align: u32,
    pub locals: Vec<LocalVariable>,
    pub params: Vec<Place>,
    pub returns: Vec<Place>,
}

/// A variable in a function's local frame.
#[derive(Clone, Debug)]
pub(super) struct LocalVariable {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
}

/// An entry with everything it can reach.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub ops: Vec<Op>,
    pub notes: Vec<Note>,
    /// The entry is function 0.
    pub functions: Vec<FunctionCode>,
    pub shared: SharedLayout,
}

/// The shared memory of a CTA: static variables with guard gaps, then the dynamic part.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedLayout {
    /// Name, offset and bytes of each static variable.
    pub variables: Vec<(String, u32, u32)>,
    /// Where the dynamic part starts.
    pub dynamic: u32,
    /// Bytes that static variables take, as a compiler would pack them.
    pub packed: u32,
    /// The name of the unsized `extern` array, where there is one.
    pub dynamic_name: Option<String>,
}
