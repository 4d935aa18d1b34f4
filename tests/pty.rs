//! The real program on a pseudo terminal: start, browse, open, run on the emulator, resize, quit, panic.
//! Nothing sleeps for a result: the screen is looked at whenever it changes, until a deadline.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Far beyond what any step needs, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// What has the program's bytes and what they amount to.
struct Session {
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    bytes: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// The user's folders, gone with the session.
    home: tempfile::TempDir,
}

impl Session {
    fn start(rows: u16, cols: u16, variables: &[(&str, &str)]) -> Self {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a pseudo terminal");
        let home = tempfile::tempdir().expect("a home");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ridgepoint"));
        command.args(["--device", "emulator"]);
        command.env("HOME", home.path());
        for name in ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            command.env(name, home.path().join(name));
        }
        command.env_remove("RIDGEPOINT_DATA_DIR");
        command.env("TERM", "xterm-256color");
        command.env("RUST_BACKTRACE", "0");
        for (name, value) in variables {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let (send, bytes) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(count) = reader.read(&mut chunk) {
                if count == 0 || send.send(chunk[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            keyboard: pair.master.take_writer().expect("a writer"),
            master: pair.master,
            child,
            bytes,
            screen: vt100::Parser::new(rows, cols, 0),
            home,
        }
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Takes in output until the screen is as wanted.
    fn wait(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !wanted(self.screen.screen()) {
            match self
                .bytes
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.screen.process(&bytes),
                Err(RecvTimeoutError::Timeout) => panic!("no {what} on the screen:\n{}", self.text()),
                Err(RecvTimeoutError::Disconnected) => panic!("the program ended before {what}:\n{}", self.text()),
            }
        }
    }

    fn wait_for(&mut self, text: &str) {
        let wanted = text.to_owned();
        self.wait(text, move |screen| screen.contents().contains(&wanted));
    }

    fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the program reads");
        self.keyboard.flush().expect("the program reads");
    }

    fn resize(&mut self, rows: u16, cols: u16) {
        self.master
            .resize(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .expect("a resize");
        self.screen.screen_mut().set_size(rows, cols);
    }

    /// Waits for the end and takes in the rest of the output.
    fn end(mut self) -> (portable_pty::ExitStatus, vt100::Parser) {
        self.wait("the main screen", |screen| !screen.alternate_screen());
        let status = self.child.wait().expect("an exit status");
        drop(self.master);
        drop(self.keyboard);
        let deadline = Instant::now() + PATIENCE;
        while let Ok(bytes) = self
            .bytes
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.screen.process(&bytes);
        }
        (status, self.screen)
    }
}

#[test]
fn browse_open_run_resize_and_quit() {
    let mut session = Session::start(36, 120, &[]);
    session.wait("the alternate screen", vt100::Screen::alternate_screen);
    session.wait_for("rms_norm");
    session.wait_for("emulator");
    session.wait_for("by weight");
    session.keys("/rms_norm\r");
    session.wait_for("Tensors");
    session.keys("\r");
    session.wait_for("rms_norm/starter.cu");
    session.wait_for("not run yet");
    session.keys("r");
    session.wait_for("PASSED");
    session.keys("3");
    session.wait_for("FLOP/s over FLOP/byte");
    session.keys("4");
    session.wait_for("v1");
    session.resize(5, 20);
    session.wait_for("too small");
    session.resize(24, 80);
    session.wait_for("History");
    session.keys("q");
    let (status, screen) = session.end();
    assert!(status.success(), "{status:?}");
    assert!(!screen.screen().hide_cursor(), "the cursor is back");
    assert!(!screen.screen().bracketed_paste(), "pastes are plain again");
}

#[test]
fn an_edit_is_saved_in_a_copy_of_the_users_own() {
    let mut session = Session::start(36, 120, &[]);
    session.wait_for("emulator");
    session.wait_for("by weight");
    session.keys("/rms_norm\r");
    session.keys("\r");
    session.wait_for("rms_norm/starter.cu");
    session.keys("i");
    session.wait_for("make a copy");
    session.keys("\r");
    session.wait_for("typing");
    session.keys("// mine\r");
    session.wait_for("not saved");
    session.keys("\u{13}");
    session.wait_for("saved /");
    let path = session
        .home
        .path()
        .join("XDG_DATA_HOME/ridgepoint/kernels/rms_norm/starter.cu");
    let text = std::fs::read_to_string(path).expect("the copy");
    assert!(text.starts_with("// mine\n/*---ridgepoint"), "{text}");
    session.keys("\u{3}");
    assert!(session.end().0.success());
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let mut session = Session::start(24, 80, &[("RIDGEPOINT_PANIC_ON_F12", "1")]);
    session.wait("the alternate screen", vt100::Screen::alternate_screen);
    session.wait_for("Operators");
    session.keys("\u{1b}[24~");
    let (status, screen) = session.end();
    assert!(!status.success());
    assert!(!screen.screen().hide_cursor());
    let text = screen.screen().contents();
    assert!(
        text.contains("panicked") && text.contains("RIDGEPOINT_PANIC_ON_F12"),
        "{text}"
    );
}

#[test]
fn without_a_terminal_it_says_what_it_needs() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_ridgepoint"))
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("needs a terminal"), "{error}");
}
