//! Watching the open file for changes by other programs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::tui::event::Event;

/// What is watched, and the text that it held when last seen.
#[derive(Debug, Default)]
struct Followed {
    path: Option<PathBuf>,
    text: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct Watch {
    events: Sender<Event>,
    followed: Arc<Mutex<Followed>>,
    watcher: Mutex<Option<RecommendedWatcher>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub(super) fn new(events: Sender<Event>) -> Self {
        Self {
            events,
            followed: Arc::default(),
            watcher: Mutex::new(None),
        }
    }

    /// The workbench itself is about to write this.
    pub(super) fn expect(&self, path: &Path, text: &Arc<str>) {
        let mut followed = lock(&self.followed);
        if followed.path.as_deref() == Some(path) {
            followed.text = Some(text.clone());
        }
    }

    /// Watches a file in place of the one before. Its folder is what is really watched, since editors replace files.
    pub(super) fn follow(&self, path: Option<&Path>) {
        let mut watcher = lock(&self.watcher);
        *watcher = None;
        let text = path
            .as_ref()
            .and_then(|path| std::fs::read_to_string(path).ok())
            .map(Arc::from);
        *lock(&self.followed) = Followed {
            path: path.map(Path::to_owned),
            text,
        };
        let Some(folder) = path.and_then(Path::parent) else {
            return;
        };
        let (events, followed) = (self.events.clone(), self.followed.clone());
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event {
                changed(&event, &followed, &events);
            }
        });
        let watched = made.and_then(|mut made| {
            made.watch(folder, RecursiveMode::NonRecursive)?;
            Ok(made)
        });
        match watched {
            Ok(made) => *watcher = Some(made),
            Err(error) => {
                let text = format!("changes by other programs will not be seen: {error}");
                let _ = self.events.send(Event::Notice(text));
            }
        }
    }
}

fn changed(event: &notify::Event, followed: &Mutex<Followed>, events: &Sender<Event>) {
    let mut followed = lock(followed);
    let Some(path) = followed.path.clone().filter(|path| event.paths.contains(path)) else {
        return;
    };
    // A file that cannot be read is in the middle of being replaced: another event follows.
    let Ok(text) = std::fs::read_to_string(&path) else {
        return;
    };
    if followed.text.as_deref() == Some(&text) {
        return;
    }
    let text: Arc<str> = text.into();
    followed.text = Some(text.clone());
    let _ = events.send(Event::FileChanged { path, text });
}
