//! Everything that touches the world for the workbench: files, the history, the worker, the keyboard. Each answers with events.

pub(super) mod files;
mod history;
mod input;
mod watch;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::app::Options;
use super::effect::Effect;
use super::event::Event;
use super::log::Log;
use super::model::CatalogueData;
use crate::dirs::Dirs;
use crate::measure::RunRequest;
use crate::problem::catalogue::Catalogue;

/// The user's folders; each is `None` where the system has no such place.
#[derive(Clone, Debug, Default)]
pub(super) struct Folders {
    /// Kernels of the user's own, a folder for every operator.
    pub(super) kernels: Option<PathBuf>,
    pub(super) themes: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
}

impl Folders {
    pub(super) fn of_user() -> Self {
        Dirs::find().map_or_else(Self::default, |dirs| Self {
            kernels: Some(dirs.data.join("kernels")),
            themes: Some(dirs.config.join("themes")),
            state: Some(dirs.state),
        })
    }

    pub(super) fn log(&self) -> Log {
        Log::new(self.state.as_ref().map(|folder| folder.join("ridgepoint.log")))
    }
}

/// The services while the workbench is open.
#[derive(Debug)]
pub(super) struct Services {
    events: Sender<Event>,
    folders: Folders,
    problems: Option<PathBuf>,
    input: input::Input,
    history: history::Keeper,
    worker: worker::Handle,
    watch: watch::Watch,
}

impl Services {
    /// Starts them all; loading goes on in the background.
    pub(super) fn start(options: Options, folders: Folders) -> (Self, Receiver<Event>) {
        let (events, receiver) = channel();
        let log = folders.log();
        let history = history::Keeper::start(folders.state.clone(), events.clone(), log.clone());
        let services = Self {
            input: input::Input::start(events.clone()),
            worker: worker::Handle::start(options.device, events.clone(), history.clone(), &log),
            watch: watch::Watch::new(events.clone()),
            history,
            folders,
            problems: options.problems,
            events,
        };
        services.load_catalogue();
        if let Some(path) = options.open {
            services.carry_out(Effect::OpenFile { path, operator: None });
        }
        (services, receiver)
    }

    pub(super) fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Puts an event into the workbench's own queue.
    pub(super) fn tell(&self, event: Event) {
        // The receiver lives as long as the workbench.
        let _ = self.events.send(event);
    }

    pub(super) fn pause_input(&self, pause: bool) {
        self.input.pause(pause);
    }

    pub(super) fn run(&self, job: u64, mut request: RunRequest) {
        request.problems.clone_from(&self.problems);
        self.worker.run(job, request);
    }

    /// Carries out whatever needs no terminal.
    pub(super) fn carry_out(&self, effect: Effect) {
        match effect {
            Effect::OpenLast { operator } => self.in_background(move |services| {
                files::open_last(services.kernels.as_deref(), &services.catalogue(), &operator)
            }),
            Effect::OpenFile { path, operator } => self.in_background(move |_| files::open(&path, operator)),
            Effect::ListKernels { operator } => {
                self.in_background(move |services| files::list(services.kernels.as_deref(), operator));
            }
            Effect::Save { path, text } => {
                self.watch.expect(&path, &text);
                // On this thread: a save must be on disk before a quit that follows it.
                self.tell(files::save(&path, &text));
            }
            Effect::SaveCopy { operator, name, text } => {
                self.tell(files::save_copy(
                    self.folders.kernels.as_deref(),
                    &operator,
                    &name,
                    &text,
                ));
            }
            Effect::Watch(path) => self.watch.follow(path.as_deref()),
            Effect::Cancel { job } => self.worker.cancel(job),
            Effect::LoadHistory { operator } => self.history.load(operator),
            Effect::LoadSeen { profile } => self.history.load_seen(self.problems.clone(), profile),
            Effect::LoadSyntaxes => self.in_background(|_| match super::editor::Syntaxes::load() {
                Ok(syntaxes) => Event::Syntaxes(Arc::new(syntaxes)),
                Err(error) => Event::Notice(error),
            }),
            Effect::ListThemes => self.tell(Event::Themes(super::theme::names(self.folders.themes.as_deref()))),
            Effect::Quit
            | Effect::Redraw
            | Effect::Mouse(_)
            | Effect::LoadTheme(_)
            | Effect::EditExternally { .. }
            | Effect::Run { .. } => {}
        }
    }

    fn load_catalogue(&self) {
        self.in_background(|places| {
            let catalogue = places.catalogue();
            Event::Catalogue(Arc::new(CatalogueData {
                operators: catalogue.operators,
                broken: catalogue.broken,
            }))
        });
    }

    /// Runs some work on a thread of its own and puts its outcome into the queue.
    fn in_background(&self, work: impl FnOnce(&Places) -> Event + Send + 'static) {
        let places = Places {
            kernels: self.folders.kernels.clone(),
            problems: self.problems.clone(),
        };
        let events = self.events.clone();
        std::thread::spawn(move || {
            let _ = events.send(work(&places));
        });
    }
}

/// What background work may need.
struct Places {
    kernels: Option<PathBuf>,
    problems: Option<PathBuf>,
}

impl Places {
    fn catalogue(&self) -> Catalogue {
        Catalogue::load(self.problems.as_deref())
    }
}
