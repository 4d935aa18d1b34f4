//! A row of text in slots' colours, made before it is known which theme it will be drawn in.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::theme::{Slot, Theme};

/// A row of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    slot: Slot,
    bold: bool,
    text: String,
}

impl Row {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(mut self, slot: Slot, text: impl Into<String>) -> Self {
        self.push(slot, text);
        self
    }

    pub fn text(self, text: impl Into<String>) -> Self {
        self.add(Slot::Text, text)
    }

    pub fn muted(self, text: impl Into<String>) -> Self {
        self.add(Slot::Muted, text)
    }

    pub fn bold(mut self, slot: Slot, text: impl Into<String>) -> Self {
        self.0.push(Part {
            slot,
            bold: true,
            text: text.into(),
        });
        self
    }

    pub fn push(&mut self, slot: Slot, text: impl Into<String>) {
        self.0.push(Part {
            slot,
            bold: false,
            text: text.into(),
        });
    }

    /// Fills with spaces up to a column.
    pub fn to(self, column: usize) -> Self {
        let missing = column.saturating_sub(self.width());
        self.text(" ".repeat(missing))
    }

    pub fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn width(&self) -> usize {
        self.0.iter().map(|part| part.text.width()).sum()
    }

    /// Without its colours.
    pub fn plain(&self) -> String {
        self.0.iter().map(|part| part.text.as_str()).collect()
    }

    pub fn line(&self, theme: &Theme) -> Line<'static> {
        let spans = self.0.iter().map(|part| {
            let style = if part.bold {
                theme.bold(part.slot)
            } else {
                theme.style(part.slot)
            };
            Span::styled(part.text.clone(), style)
        });
        spans.collect()
    }
}
