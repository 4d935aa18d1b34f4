//! The command line: what scripts may rely on. Parsing here; each command in a file of its own.

pub mod args;
pub mod check;
pub mod exit;
pub mod list;
mod print;
mod table;

use std::process::ExitCode;

use clap::Parser;

use args::Cli;
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
        None | Some(_) => Exit::Environment,
    }
}
