//! The code: line numbers, signs of diagnostics, syntax colours, selection, cursor.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::tui::editor::{Editor, TAB, display_column, matches_in};
use crate::tui::escape::visible;
use crate::tui::layout::gutter;
use crate::tui::model::bench::Diagnostic;
use crate::tui::theme::{Slot, Theme};
use crate::verdict::Severity;

/// What the code is drawn from.
pub struct Code<'a> {
    pub editor: &'a Editor,
    pub diagnostics: &'a [Diagnostic],
    pub theme: &'a Theme,
    /// The terminal's own cursor is shown while typing.
    pub typing: bool,
    pub focused: bool,
}

/// The sign and colour of a diagnostic.
pub const fn sign(severity: Severity) -> (&'static str, Slot) {
    match severity {
        Severity::Error => ("✕", Slot::Bad),
        Severity::Warning => ("!", Slot::Warning),
        Severity::Info => ("i", Slot::Info),
    }
}

impl Code<'_> {
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let lines = self.editor.lines();
        let gutter = gutter(lines.len());
        if area.width <= gutter || area.height == 0 {
            return;
        }
        let text = Rect {
            x: area.x + gutter,
            width: area.width - gutter,
            ..area
        };
        let (cursor_row, cursor_column) = self.editor.cursor();
        for (offset, line) in lines
            .iter()
            .skip(self.editor.top)
            .take(usize::from(area.height))
            .enumerate()
        {
            let row = self.editor.top + offset;
            let y = area.y + offset as u16;
            self.number(frame.buffer_mut(), area.x, y, row, gutter);
            self.line(frame.buffer_mut(), text, y, row, line);
            if row == cursor_row {
                let line_area = Rect::new(area.x, y, area.width, 1);
                frame.buffer_mut().set_style(line_area, self.theme.cursor_line());
                self.message(frame.buffer_mut(), text, y, row, line);
                self.cursor(frame, text, y, display_column(line, cursor_column));
            }
        }
    }

    fn at(&self, row: usize) -> Option<&Diagnostic> {
        self.diagnostics.iter().find(|diagnostic| diagnostic.line == row + 1)
    }

    fn number(&self, buffer: &mut Buffer, x: u16, y: u16, row: usize, gutter: u16) {
        let current = row == self.editor.cursor().0;
        let mut style = self.theme.style(if current { Slot::Text } else { Slot::Muted });
        if let Some(diagnostic) = self.at(row) {
            let (sign, slot) = sign(diagnostic.severity);
            buffer.set_string(x, y, sign, self.theme.bold(slot));
            style = self.theme.style(slot);
        } else if !current {
            style = self.theme.style(Slot::Faint);
        }
        let width = usize::from(gutter - 2);
        buffer.set_string(x + 1, y, format!("{:>width$}", row + 1), style);
    }

    fn line(&self, buffer: &mut Buffer, area: Rect, y: u16, row: usize, line: &str) {
        let colours = self.editor.colours().line(row);
        let found = if self.editor.search.is_empty() {
            Vec::new()
        } else {
            matches_in(line, &self.editor.search)
        };
        let found_length = self.editor.search.chars().count();
        let left = self.editor.left;
        let right = left + usize::from(area.width);
        let mut runs = colours.unwrap_or_default().iter();
        let mut run = runs.next();
        let mut run_ends = run.map_or(usize::MAX, |(length, _)| *length);
        let mut column = 0;
        for (index, (byte, character)) in line.char_indices().enumerate() {
            while byte >= run_ends {
                run = runs.next();
                run_ends = run.map_or(usize::MAX, |(length, _)| run_ends + length);
            }
            let drawn = visible(character);
            let width = if character == '\t' {
                TAB - column % TAB
            } else {
                drawn.width().unwrap_or(1).max(1)
            };
            if column >= right {
                buffer.set_string(area.right() - 1, y, "›", self.theme.style(Slot::Faint));
                break;
            }
            if column >= left && column + width <= right {
                let mut style = self.theme.style(run.map_or(Slot::Text, |(_, slot)| *slot));
                if found
                    .iter()
                    .any(|&start| (start..start + found_length).contains(&index))
                {
                    style = style.patch(self.theme.selected()).add_modifier(Modifier::UNDERLINED);
                }
                if self.selected(row, index) {
                    style = style.patch(self.theme.selected());
                }
                let x = area.x + (column - left) as u16;
                put(buffer, x, y, character, drawn, width, style);
            }
            column += width;
        }
    }

    fn selected(&self, row: usize, column: usize) -> bool {
        self.editor
            .selection()
            .is_some_and(|(start, end)| start <= (row, column) && (row, column) < end)
    }

    /// The diagnostic's message after the line's end, where all of it fits.
    fn message(&self, buffer: &mut Buffer, area: Rect, y: u16, row: usize, line: &str) {
        let Some(diagnostic) = self.at(row) else { return };
        let end = display_column(line, usize::MAX).saturating_sub(self.editor.left) + 2;
        if end + diagnostic.message.width() <= usize::from(area.width) {
            let (_, slot) = sign(diagnostic.severity);
            buffer.set_string(area.x + end as u16, y, &diagnostic.message, self.theme.style(slot));
        }
    }

    fn cursor(&self, frame: &mut Frame<'_>, area: Rect, y: u16, column: usize) {
        let Some(x) = column
            .checked_sub(self.editor.left)
            .filter(|x| *x < usize::from(area.width))
        else {
            return;
        };
        let x = area.x + x as u16;
        if self.typing {
            frame.set_cursor_position((x, y));
        } else if self.focused
            && let Some(cell) = frame.buffer_mut().cell_mut((x, y))
        {
            cell.set_style(Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

fn put(buffer: &mut Buffer, x: u16, y: u16, character: char, drawn: char, width: usize, style: Style) {
    if character == '\t' {
        for offset in 0..width {
            if let Some(cell) = buffer.cell_mut((x + offset as u16, y)) {
                cell.set_char(' ').set_style(style);
            }
        }
        return;
    }
    // Goes through the buffer's own printing, which clears the second half of a wide character.
    buffer.set_string(x, y, drawn.encode_utf8(&mut [0; 4]), style);
}
