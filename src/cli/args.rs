//! The command line's grammar. Its help texts are the reference.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A terminal workbench for GPU kernels. Without a command it opens the workbench.
#[derive(Debug, Parser)]
#[command(name = "ridgepoint", version, about, long_about = None, disable_help_subcommand = true)]
pub struct Cli {
    /// A folder of problems that adds to and overrides the built-in ones
    #[arg(long, global = true, value_name = "DIR")]
    pub problems: Option<PathBuf>,
    /// The device of the workbench: auto, emulator, emulator:PROFILE or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// The workbench's theme
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Opens the workbench on this kernel file
    #[arg(long, value_name = "FILE")]
    pub open: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List what there is
    List(ListArgs),
    /// Compile, verify and time a kernel
    Run(RunArgs),
    /// Compare two kernels by interleaving their runs
    Compare(CompareArgs),
    /// Run a kernel again whenever its file changes
    Watch(RunArgs),
    /// Show the kept runs
    History(HistoryArgs),
    /// Say what is here and what to do about each gap
    Doctor(DoctorArgs),
    /// Install or show the compilers
    #[command(subcommand)]
    Toolchain(ToolchainCommand),
    /// Validate problems, kernels and themes
    Check(CheckArgs),
    /// Check everything about a device that no other machine can check
    #[command(hide = true)]
    DeviceCheck(DeviceCheckArgs),
    /// Own a device and serve jobs on standard input and output
    #[command(hide = true)]
    Worker(WorkerArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListKind {
    Operators,
    Shapes,
    Kernels,
    Devices,
    Suites,
    Themes,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    pub kind: ListKind,
    /// Only this suite
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Only this operator
    #[arg(long, value_name = "OPERATOR")]
    pub op: Option<String>,
    /// One JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Which operator, shapes and device: shared by `run`, `watch` and `compare`.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// The operator, where the kernel's header does not name it
    #[arg(long, value_name = "OPERATOR")]
    pub op: Option<String>,
    /// Shape ids, comma separated, or `all`; by default what the device can afford
    #[arg(long, value_name = "ID,..")]
    pub shape: Option<String>,
    /// auto, emulator, emulator:PROFILE or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// The first seed of the inputs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many seeds to verify with
    #[arg(long, value_name = "N")]
    pub seeds: Option<u32>,
    /// A distribution of the inputs, or `all`
    #[arg(long, value_name = "NAME", default_value = "published")]
    pub dist: String,
    /// Sets a tunable: NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub tune: Vec<String>,
    /// Time with a warm L2 cache instead of a cold one
    #[arg(long)]
    pub warm: bool,
    /// Seconds after which one kernel execution counts as hung
    #[arg(long, value_name = "SECONDS")]
    pub kernel_limit: Option<f64>,
}

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The kernel: a .cu, .ptx or .py file, or the name of a built-in one such as rms_norm/starter
    pub kernel: String,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Verify only, do not time
    #[arg(long)]
    pub verify_only: bool,
    /// Do not keep the run in the history
    #[arg(long)]
    pub no_history: bool,
    /// One JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    pub kernel_a: String,
    pub kernel_b: String,
    #[command(flatten)]
    pub target: TargetArgs,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only this operator
    #[arg(long, value_name = "OPERATOR")]
    pub op: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum ToolchainCommand {
    /// Download NVRTC, ptxas and nvdisasm, versions pinned, into the data folder
    Install {
        /// Install again over what is there
        #[arg(long)]
        force: bool,
    },
    /// Show which compilers are found, where and which version
    Status {
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A problem folder, a kernel or a theme; by default everything built in and in the user's folder
    pub path: Option<PathBuf>,
    /// Apply known wrong answers to every operator on this device: each must fail
    #[arg(long, value_name = "DEVICE")]
    pub probe: Option<String>,
    /// Compile the built-in kernels and write the PTX that ships with them (for developers of Ridgepoint)
    #[arg(long, value_name = "REPO")]
    pub ship_ptx: Option<PathBuf>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct WorkerArgs {
    #[arg(long)]
    pub device: String,
}

#[derive(Debug, Args)]
pub struct DeviceCheckArgs {
    /// cuda:N or emulator, emulator:PROFILE
    pub device: String,
    /// Only this faulting case, in this process
    #[arg(long)]
    pub case: Option<String>,
}
