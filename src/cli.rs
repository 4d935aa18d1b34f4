//! The command line: what scripts may rely on. Parsing here; each command in a file of its own.

pub mod args;
pub mod check;
mod compare;
mod device_check;
mod doctor;
pub mod exit;
mod history;
mod keep;
pub mod list;
mod print;
mod probe;
pub mod request;
mod run;
mod session;
mod ship;
mod table;
pub mod text;
mod toolchain;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::toolchain::Toolchain;
use args::{Cli, Command};
pub use exit::Exit;

/// Runs the program: parses the command line and hands over to the command.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Passed };
            // Nothing can be done about a closed stdout or stderr here.
            let _ = error.print();
            return exit.into();
        }
    };
    if let Some(Command::Worker(args)) = &cli.command {
        return crate::worker::server::serve(&args.device, &mut Toolchain::discover());
    }
    dispatch(&cli).into()
}

fn dispatch(cli: &Cli) -> Exit {
    let problems = cli.problems.as_deref();
    match &cli.command {
        None => crate::tui::run(crate::tui::Options {
            device: cli.device.clone(),
            theme: cli.theme.clone(),
            open: cli.open.clone(),
            problems: cli.problems.clone(),
        }),
        Some(Command::Run(args)) => run::run(args, problems),
        Some(Command::Compare(args)) => compare::run(args, problems),
        Some(Command::Watch(args)) => watch::run(args, problems),
        Some(Command::History(args)) => history::run(args),
        Some(Command::Toolchain(command)) => toolchain::run(command),
        Some(Command::Doctor(args)) => doctor::run(args),
        Some(Command::Check(args)) if let Some(repo) = &args.ship_ptx => ship::run(repo),
        Some(Command::Check(args)) if let Some(device) = &args.probe => probe::run(device, args, problems),
        Some(Command::Check(args)) => check::run(args, problems),
        Some(Command::List(args)) => list::run(args, problems),
        Some(Command::DeviceCheck(args)) => device_check::run(args),
        Some(_) => Exit::Environment,
    }
}
