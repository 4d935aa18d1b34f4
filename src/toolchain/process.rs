//! Running a compiler as a child process, with a limit.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a child is looked at: short against a compilation, long against the look.
const POLL: Duration = Duration::from_millis(1);

/// How a child ended.
pub(super) struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end, or kills it after `limit`.
///
/// # Errors
/// Where it cannot be started, or had to be killed.
pub(super) fn run(command: &mut Command, limit: Duration) -> Result<Ended, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    // Both pipes are emptied while it runs: a full one would stop it.
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child, limit, &name)?;
    Ok(Ended {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

fn wait(child: &mut Child, limit: Duration, name: &str) -> Result<ExitStatus, String> {
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if start.elapsed() < limit => std::thread::sleep(POLL),
            Ok(None) => {
                // It may have ended in between: then there is nothing to kill.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name} did not finish within {} s", limit.as_secs()));
            }
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
}

fn drain<R: Read + Send + 'static>(pipe: Option<R>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What came before a broken pipe is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_collected_and_hangs_end() {
        let ended = run(
            Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]),
            Duration::from_secs(20),
        )
        .unwrap();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(ended.status.code(), Some(3));
        let error = run(Command::new("sleep").arg("1000"), Duration::from_millis(20))
            .err()
            .unwrap();
        assert!(error.starts_with("sleep did not finish"), "{error}");
        assert!(run(&mut Command::new("/nonexistent/ptxas"), Duration::from_secs(1)).is_err());
    }
}
