//! The keyboard, the mouse and the window's size, read on a thread of their own.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crossterm::event;

use crate::tui::event::Event;

/// How soon the thread notices that it should let go of the terminal.
const POLL: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct State {
    pause: bool,
    paused: bool,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// The reading thread's handle.
#[derive(Debug)]
pub(super) struct Input {
    shared: Shared,
}

impl Input {
    pub(super) fn start(events: Sender<Event>) -> Self {
        let shared = Shared::default();
        let seen = shared.clone();
        std::thread::spawn(move || read(&events, &seen));
        Self { shared }
    }

    /// Lets go of the terminal, and returns only when the thread has; or takes it up again.
    pub(super) fn pause(&self, pause: bool) {
        let (state, changed) = &*self.shared;
        let Ok(mut state) = state.lock() else { return };
        state.pause = pause;
        changed.notify_all();
        while pause && !state.paused {
            state = match changed.wait(state) {
                Ok(state) => state,
                Err(_) => return,
            };
        }
    }
}

fn read(events: &Sender<Event>, shared: &Shared) {
    loop {
        wait_while_paused(shared);
        match event::poll(POLL) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return,
        }
        let event = match event::read() {
            Ok(event::Event::Key(key)) => Event::Key(key),
            Ok(event::Event::Mouse(mouse)) => Event::Mouse(mouse),
            Ok(event::Event::Paste(text)) => Event::Paste(text),
            Ok(event::Event::Resize(columns, rows)) => Event::Resize(columns, rows),
            Ok(event::Event::FocusGained | event::Event::FocusLost) => continue,
            Err(_) => return,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

fn wait_while_paused(shared: &Shared) {
    let (state, changed) = &**shared;
    let Ok(mut state) = state.lock() else { return };
    while state.pause {
        state.paused = true;
        changed.notify_all();
        state = match changed.wait(state) {
            Ok(state) => state,
            Err(_) => return,
        };
    }
    state.paused = false;
}
