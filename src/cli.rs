//! The command line: what scripts may rely on. Parsing here; each command in a file of its own.

pub mod args;
pub mod exit;

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
        None => crate::tui::run(crate::tui::Options {
            device: cli.device.clone(),
            theme: cli.theme.clone(),
            open: cli.open.clone(),
            problems: cli.problems.clone(),
        }),
        Some(_) => Exit::Environment,
    }
}
