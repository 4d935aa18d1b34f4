//! Taking the terminal over and giving it back: after quitting, after an error, after a panic.

use std::io::{self, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// Whether the terminal is ours now, so that it is given back exactly once.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours. Dropping it gives the terminal back.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) terminal: Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// Where the terminal refuses raw mode or its size cannot be read.
    pub(super) fn take() -> io::Result<Self> {
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).inspect_err(|_| give_back())?;
        Ok(Self { terminal, mouse: false })
    }

    /// Lets go of the terminal while `work` runs, then takes it over again.
    ///
    /// # Errors
    /// As for [`Screen::take`].
    pub(super) fn aside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        give_back();
        let result = work();
        take()?;
        self.set_mouse(self.mouse)?;
        self.terminal.clear()?;
        Ok(result)
    }

    /// Whether the mouse is ours; the terminal's own selection of text then needs shift.
    ///
    /// # Errors
    /// Where the terminal cannot be written to.
    pub(super) fn set_mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        if on {
            execute!(io::stdout(), EnableMouseCapture)
        } else {
            execute!(io::stdout(), DisableMouseCapture)
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste).inspect_err(|_| give_back())
}

/// Gives the terminal back, where it is ours. Errors cannot be told to anybody here.
fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = execute!(
            io::stdout(),
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            cursor::Show
        );
        let _ = disable_raw_mode();
        let _ = io::stdout().flush();
    }
}

/// From here on a panic gives the terminal back before it is reported. A panic of a background thread is only logged:
/// the screen goes on.
pub(super) fn restore_on_panic(log: super::log::Log) {
    let report = std::panic::take_hook();
    let main = std::thread::current().id();
    std::panic::set_hook(Box::new(move |panic| {
        log.line(&format!("panic: {panic}"));
        if std::thread::current().id() == main {
            give_back();
            report(panic);
        }
    }));
}
