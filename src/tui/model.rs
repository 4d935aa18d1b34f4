//! The state of the workbench: plain data that events change and views read. No I/O and no clock in here.

pub mod bench;
pub mod catalogue;
pub mod history;
pub mod operators;
pub mod overlay;
pub mod run;

pub use bench::{Bench, KernelText, Origin, Pane};
pub use catalogue::{CatalogueData, Seen, SeenByOperator, place};
pub use history::{HistoryState, Iteration, VersionPoint};
pub use operators::{OperatorsState, Sorting};
pub use overlay::{AfterSaving, Choice, Overlay, Picker, PickerKind, Prompt, PromptKind};
pub use run::{RunState, StageLine};

use std::sync::Arc;

use super::command::Scope;
use super::editor::Syntaxes;
use crate::device::{DeviceInfo, DeviceKind};
use crate::problem::Operator;
use crate::roofline::machine::{self, MachineProfile};

/// A full-screen view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    #[default]
    Operators,
    Bench,
    Roofline,
    History,
}

impl Screen {
    pub const ALL: [Self; 4] = [Self::Operators, Self::Bench, Self::Roofline, Self::History];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Operators => "Operators",
            Self::Bench => "Bench",
            Self::Roofline => "Roofline",
            Self::History => "History",
        }
    }
}

/// What is known of the device.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DeviceState {
    #[default]
    Starting,
    Ready(Box<DeviceInfo>),
    /// Why not, in a sentence, and what to do about it.
    Unavailable {
        reason: String,
        next: Vec<String>,
    },
}

impl DeviceState {
    pub fn info(&self) -> Option<&DeviceInfo> {
        match self {
            Self::Ready(info) => Some(info),
            _ => None,
        }
    }

    /// Whether times can be measured: never on the emulator.
    pub fn measures_time(&self) -> bool {
        self.info().is_some_and(|info| info.kind != DeviceKind::Emulator)
    }
}

/// A sentence at the bottom until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub kind: MessageKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    Info,
    Good,
    Problem,
}

/// The whole state.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub screen: Screen,
    pub overlay: Option<Overlay>,
    pub message: Option<Message>,
    /// What goes on once the text is saved.
    pub after_saving: Option<AfterSaving>,
    pub theme: String,
    pub themes: Vec<String>,
    pub device: DeviceState,
    /// `None` until it is loaded.
    pub catalogue: Option<Arc<CatalogueData>>,
    /// What the history knows of every shape.
    pub seen: SeenByOperator,
    pub operators: OperatorsState,
    pub bench: Bench,
    pub roofline: RooflineState,
    pub history: HistoryState,
    pub run: Option<RunState>,
    /// The number of the last job.
    pub jobs: u64,
    pub now_ms: u64,
    /// The mouse is ours.
    pub mouse: bool,
    pub syntaxes: Option<Arc<Syntaxes>>,
    pub syntaxes_asked: bool,
    /// Work in slices is not done: another `Idle` is wanted.
    pub unfinished: bool,
}

/// The Roofline screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RooflineState {
    pub zoomed: bool,
}

/// The narrowest and lowest terminal that anything is drawn on.
pub const MIN_SIZE: (u16, u16) = (60, 16);

impl Model {
    pub fn new(size: (u16, u16), theme: &str) -> Self {
        Self {
            size,
            theme: theme.to_owned(),
            ..Self::default()
        }
    }

    /// Where keys are looked up, nearest first.
    pub fn scopes(&self) -> Vec<Scope> {
        match self.screen {
            Screen::Operators => vec![Scope::Operators, Scope::Everywhere],
            Screen::Bench if self.bench.typing => vec![Scope::Typing, Scope::Everywhere],
            Screen::Bench => match self.bench.pane {
                Pane::Code => vec![Scope::Code, Scope::Bench, Scope::Everywhere],
                Pane::Verdict => vec![Scope::Verdict, Scope::Bench, Scope::Everywhere],
                Pane::Roofline | Pane::History => vec![Scope::Bench, Scope::Everywhere],
            },
            Screen::Roofline => vec![Scope::Roofline, Scope::Everywhere],
            Screen::History => vec![Scope::History, Scope::Everywhere],
        }
    }

    /// Whether something on the screen moves by itself, so that ticks are needed.
    pub fn moves(&self) -> bool {
        self.run.is_some()
    }

    /// The operator under the cursor of the Operators screen.
    pub fn selected_operator(&self) -> Option<&Arc<Operator>> {
        let catalogue = self.catalogue.as_deref()?;
        let index = *self.operators.visible.get(self.operators.selected)?;
        catalogue.operators.get(index)
    }

    /// The operator that the Bench, Roofline and History show.
    pub fn current_operator(&self) -> Option<&Arc<Operator>> {
        self.bench.operator.as_ref()
    }

    /// The machine whose roofs count: the device's, or the usual one while there is no device.
    pub fn machine(&self) -> Option<&'static MachineProfile> {
        let name = self
            .device
            .info()
            .map_or(machine::DEFAULT, |info| info.profile.as_str());
        machine::profile(name).ok()
    }

    pub fn say(&mut self, kind: MessageKind, text: impl Into<String>) {
        self.message = Some(Message {
            text: super::escape::line(&text.into()),
            kind,
        });
    }

    pub fn too_small(&self) -> bool {
        self.size.0 < MIN_SIZE.0 || self.size.1 < MIN_SIZE.1
    }
}
