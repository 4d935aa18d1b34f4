//! The command line: what scripts may rely on. Parsing here; each command in a file of its own.

pub mod args;
mod doctor;
pub mod exit;
mod print;
mod ship;
mod toolchain;

use std::process::ExitCode;

use clap::Parser;

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
    dispatch(&cli).into()
}

fn dispatch(cli: &Cli) -> Exit {
    match &cli.command {
        Some(Command::Toolchain(command)) => toolchain::run(command),
        Some(Command::Doctor(args)) => doctor::run(args, &[]),
        Some(Command::Check(args)) if let Some(repo) = &args.ship_ptx => ship::run(repo),
        None | Some(_) => Exit::Environment,
    }
}
