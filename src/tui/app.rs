//! The runner: waits for events, lets `update` change the state, draws, and carries out effects. All I/O starts here.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use super::effect::Effect;
use super::event::Event;
use super::model::Model;
use super::services::Services;
use super::terminal::{Screen, restore_on_panic};
use super::theme::{Depth, Theme};
use super::{draw, theme, update};
use crate::cli::Exit;

/// How the workbench is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// `auto`, `emulator[:PROFILE]` or `cuda:N`.
    pub device: String,
    pub theme: Option<String>,
    /// A kernel file to open at once.
    pub open: Option<PathBuf>,
    /// A folder of problems laid over the built-in ones.
    pub problems: Option<PathBuf>,
}

/// Between two ticks, while something moves.
const TICK: Duration = Duration::from_millis(100);
/// Events taken in before the screen is drawn again.
const BATCH: usize = 256;
/// Hidden: with this variable set, F12 panics, so that a test can see the terminal restored.
const PANIC_VARIABLE: &str = "RIDGEPOINT_PANIC_ON_F12";

/// Opens the workbench and stays until the user leaves it.
#[expect(
    clippy::print_stderr,
    reason = "said after the screen was given back, or before it was taken"
)]
pub fn run(options: Options) -> Exit {
    let started = Instant::now();
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        eprintln!("ridgepoint: the workbench needs a terminal; `ridgepoint --help` lists what works without one");
        return Exit::Usage;
    }
    match open(options, started) {
        Ok(()) => Exit::Passed,
        Err(error) => {
            eprintln!("ridgepoint: the terminal failed: {error}");
            Exit::Environment
        }
    }
}

fn open(options: Options, started: Instant) -> io::Result<()> {
    let folders = super::services::Folders::of_user();
    restore_on_panic(folders.log());
    let depth = depth();
    let name = options.theme.clone().unwrap_or_else(|| theme::DEFAULT.to_owned());
    let (mut theme, warnings) = theme::by_name(&name, folders.themes.as_deref());
    theme.show_in(depth);
    let screen = Screen::take()?;
    let size = screen.terminal.size()?;
    let mut app = App {
        model: Model::new((size.width, size.height), &name),
        theme,
        depth,
        screen,
        started,
        services: None,
        quit: false,
    };
    app.draw()?;
    let log = folders.log();
    log.line(&format!("first frame after {} ms", started.elapsed().as_millis()));
    let (services, events) = Services::start(options, folders);
    for warning in warnings {
        log.line(&warning.to_string());
        services.tell(Event::Notice(warning.to_string()));
    }
    app.services = Some(services);
    app.stay(&events)
}

fn depth() -> Depth {
    let variable = |name| std::env::var(name).ok();
    Depth::detect(
        variable("NO_COLOR").as_deref(),
        variable("COLORTERM").as_deref(),
        variable("TERM").as_deref(),
    )
}

struct App {
    model: Model,
    theme: Theme,
    depth: Depth,
    screen: Screen,
    started: Instant,
    services: Option<Services>,
    quit: bool,
}

impl App {
    fn draw(&mut self) -> io::Result<()> {
        let (model, theme) = (&self.model, &self.theme);
        self.screen.terminal.draw(|frame| draw(frame, model, theme))?;
        Ok(())
    }

    /// Takes in events and draws after each batch, until the user quits.
    fn stay(&mut self, events: &Receiver<Event>) -> io::Result<()> {
        while !self.quit {
            let Some(event) = self.wait(events) else { break };
            self.take(event)?;
            for event in events.try_iter().take(BATCH) {
                self.take(event)?;
            }
            if !self.quit {
                self.draw()?;
            }
        }
        Ok(())
    }

    /// The next event; `None` where no more can come.
    fn wait(&self, events: &Receiver<Event>) -> Option<Event> {
        if self.model.unfinished {
            return match events.try_recv() {
                Ok(event) => Some(event),
                Err(TryRecvError::Empty) => Some(Event::Idle),
                Err(TryRecvError::Disconnected) => None,
            };
        }
        if self.model.moves() {
            return match events.recv_timeout(TICK) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => Some(Event::Tick(self.started.elapsed().as_millis() as u64)),
                Err(RecvTimeoutError::Disconnected) => None,
            };
        }
        events.recv().ok()
    }

    fn take(&mut self, event: Event) -> io::Result<()> {
        if let Event::Key(key) = &event
            && key.code == crossterm::event::KeyCode::F(12)
            && std::env::var_os(PANIC_VARIABLE).is_some()
        {
            panic!("asked to by {PANIC_VARIABLE}");
        }
        for effect in update(&mut self.model, event) {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect) -> io::Result<()> {
        let Some(services) = &self.services else { return Ok(()) };
        match effect {
            Effect::Quit => self.quit = true,
            Effect::Redraw => self.screen.terminal.clear()?,
            Effect::Mouse(on) => self.screen.set_mouse(on)?,
            Effect::LoadTheme(name) => {
                let (mut theme, warnings) = theme::by_name(&name, services.folders().themes.as_deref());
                theme.show_in(self.depth);
                self.theme = theme;
                services.tell(Event::Theme(name));
                for warning in warnings {
                    services.tell(Event::Notice(warning.to_string()));
                }
            }
            Effect::EditExternally { path, line } => {
                services.pause_input(true);
                let outcome = self.screen.aside(|| super::services::files::edit(&path, line));
                services.pause_input(false);
                services.tell(outcome?);
            }
            Effect::Run { job, request } => {
                services.run(job, *request);
                services.tell(Event::Tick(self.started.elapsed().as_millis() as u64));
            }
            other => services.carry_out(other),
        }
        Ok(())
    }
}
