//! `ridgepoint toolchain`: installing the compilers, and what is here of them.

use serde::Serialize;

use super::args::ToolchainCommand;
use super::{Exit, print};
use crate::dirs::Dirs;
use crate::toolchain::install::{self, Installed};
use crate::toolchain::status::Tool;
use crate::toolchain::{Status, Toolchain};

/// The version of the JSON document's layout.
const SCHEMA: u32 = 1;

pub(super) fn run(command: &ToolchainCommand) -> Exit {
    match command {
        ToolchainCommand::Install { force } => install(*force),
        ToolchainCommand::Status { json } => status(*json),
    }
}

fn install(force: bool) -> Exit {
    let Some(dirs) = Dirs::find() else {
        print::note("there is no home folder to install into");
        print::note(format!("  try: set {} to a folder", crate::dirs::OVERRIDE));
        return Exit::Environment;
    };
    match install::install(&dirs, force, &mut |line| print::note(line)) {
        Ok(Installed::Already(folder)) => {
            print::line(format!(
                "already installed in {} (--force installs again)",
                folder.display()
            ));
        }
        Ok(Installed::Now(folder)) => print::line(format!("installed in {}", folder.display())),
        Err(error) => {
            print::note(format!("nothing was installed: {}", error.message));
            print::note(format!("  try: {}", error.advice));
            return Exit::Environment;
        }
    }
    status(false)
}

/// What `status --json` prints.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    can_compile: bool,
    tools: &'a [Tool],
    headers: &'a [std::path::PathBuf],
    install_folder: Option<&'a std::path::Path>,
}

fn status(json: bool) -> Exit {
    let status = Toolchain::discover().status();
    if json {
        print::json(&Document {
            schema: SCHEMA,
            can_compile: status.can_compile(),
            tools: &status.tools,
            headers: &status.headers,
            install_folder: status.install_folder.as_deref(),
        });
    } else {
        for line in lines(&status) {
            print::line(line);
        }
    }
    if status.can_compile() {
        Exit::Passed
    } else {
        Exit::Environment
    }
}

/// The table for people: a line for each tool, then what to do about what is missing.
fn lines(status: &Status) -> Vec<String> {
    let mut lines: Vec<_> = status.tools.iter().map(tool_line).collect();
    let headers: Vec<_> = status
        .headers
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    let headers = if headers.is_empty() {
        "not found".to_owned()
    } else {
        headers.join(", ")
    };
    lines.push(format!("{:<10} {:<10} {headers}", "headers", ""));
    if status.tools.iter().any(|tool| !tool.works()) || status.headers.is_empty() {
        lines.push(String::new());
        lines.push("`ridgepoint toolchain install` brings what is missing; built-in kernels run without.".to_owned());
    }
    lines
}

fn tool_line(tool: &Tool) -> String {
    let version = tool.version.as_deref().unwrap_or("-");
    let place = match (&tool.path, tool.origin) {
        (Some(path), Some(origin)) => format!("{} ({})", path.display(), origin.describe()),
        _ if tool.works() => "found by the dynamic linker".to_owned(),
        _ => format!("not found: {}", tool.purpose),
    };
    let problem = match &tool.problem {
        Some(problem) if tool.path.is_some() => format!(": cannot be used: {problem}"),
        _ => String::new(),
    };
    format!("{:<10} {version:<10} {place}{problem}", tool.name)
}
