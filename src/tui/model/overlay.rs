//! What lies over a screen: help, lists to choose from, a line to type into, a question.

use std::path::PathBuf;

use super::operators::rank;
use crate::tui::command::Command;

/// The thing that has the keys while it is there.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    /// Lines scrolled.
    Help(u16),
    Picker(Picker),
    Prompt(Prompt),
    /// Saving a copy is offered before a built-in kernel is edited.
    OfferCopy,
    /// Quit, or open something else, although the text has changes that are nowhere saved.
    OfferSave(AfterSaving),
}

/// What was on its way when unsaved changes came up.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterSaving {
    Quit,
    Open(Choice),
    Reload,
}

/// A list to choose from, narrowed by typing.
#[derive(Clone, Debug, PartialEq)]
pub struct Picker {
    pub kind: PickerKind,
    pub query: String,
    pub items: Vec<Item>,
    /// Indices into `items` that match, best first.
    pub visible: Vec<usize>,
    pub selected: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerKind {
    Commands,
    Shapes,
    Kernels,
    Themes,
}

impl PickerKind {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Commands => "Commands",
            Self::Shapes => "Shapes",
            Self::Kernels => "Kernels",
            Self::Themes => "Themes",
        }
    }
}

/// One row: what is matched, and what stands beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub text: String,
    pub aside: String,
    pub choice: Choice,
}

/// What choosing a row does.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Command(Command),
    Shape(String),
    BuiltIn { operator: String, name: String },
    File(PathBuf),
    Theme(String),
    Operator(String),
    Version(usize),
}

impl Picker {
    pub fn new(kind: PickerKind, items: Vec<Item>) -> Self {
        let mut picker = Self {
            kind,
            query: String::new(),
            items,
            visible: Vec::new(),
            selected: 0,
        };
        picker.refresh();
        picker
    }

    /// Works out what matches.
    pub fn refresh(&mut self) {
        self.visible = if self.query.is_empty() {
            (0..self.items.len()).collect()
        } else {
            rank(&self.query, self.items.iter().map(|item| item.text.as_str()))
        };
        self.selected = 0;
    }

    pub fn move_by(&mut self, step: isize) {
        self.selected = moved(self.selected, step, self.visible.len());
    }

    pub fn chosen(&self) -> Option<&Item> {
        self.items.get(*self.visible.get(self.selected)?)
    }
}

/// A line to type into at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub kind: PromptKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    Filter,
    Find,
    Line,
}

impl PromptKind {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Find => "find",
            Self::Line => "line",
        }
    }
}

/// An index moved by some rows, staying within `count` rows.
pub fn moved(index: usize, step: isize, count: usize) -> usize {
    index.saturating_add_signed(step).min(count.saturating_sub(1))
}
