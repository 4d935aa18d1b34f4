//! The `ridgepoint` program.

fn main() -> std::process::ExitCode {
    ridgepoint::cli::main()
}
