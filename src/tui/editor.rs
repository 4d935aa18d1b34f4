//! The editor's state: the text with undo, the cursor, what is in view, and which revision was saved.
//! Drawing it is the code widget's task, reading and writing files the runner's.

mod highlight;

pub use highlight::{Highlight, Run, Syntaxes};

use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui_textarea::{CursorMove, TextArea};

use crate::kernel::Language;

/// Spaces that a tab stands for.
pub const TAB: usize = 4;
/// Undo steps kept.
const UNDO_STEPS: usize = 1000;
/// Lines kept in sight above and below the cursor.
const MARGIN: usize = 3;

/// A text being edited.
#[derive(Clone, Debug)]
pub struct Editor {
    area: TextArea<'static>,
    language: Option<Language>,
    /// Counts changes of the text.
    revision: u64,
    saved: u64,
    /// First line in view, from 0.
    pub top: usize,
    /// First column in view, from 0.
    pub left: usize,
    /// The text last looked for.
    pub search: String,
    highlight: Highlight,
    ends_with_newline: bool,
    line_break: &'static str,
}

impl Default for Editor {
    fn default() -> Self {
        Self::new("", None)
    }
}

impl Editor {
    pub fn new(text: &str, language: Option<Language>) -> Self {
        let mut editor = Self {
            area: area(text),
            language,
            revision: 1,
            saved: 1,
            top: 0,
            left: 0,
            search: String::new(),
            highlight: Highlight::default(),
            ends_with_newline: text.is_empty() || text.ends_with('\n'),
            line_break: line_break(text),
        };
        editor.area.move_cursor(CursorMove::Top);
        editor
    }

    /// Replaces the text by another version of the same file, keeping the cursor's line where there is one.
    pub fn replace(&mut self, text: &str) {
        let (row, column) = self.cursor();
        self.area = area(text);
        self.ends_with_newline = text.is_empty() || text.ends_with('\n');
        self.line_break = line_break(text);
        self.revision += 1;
        self.saved = self.revision;
        self.highlight.forget_changed(self.area.lines());
        self.go_to(row, column);
    }

    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    pub fn text(&self) -> Arc<str> {
        let mut text = self.area.lines().join(self.line_break);
        if self.ends_with_newline && !self.area.is_empty() {
            text.push_str(self.line_break);
        }
        text.into()
    }

    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// Changes with every change of the text.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn is_dirty(&self) -> bool {
        self.saved != self.revision
    }

    /// The text as it was at some revision is on disk now.
    pub fn mark_saved(&mut self) {
        self.saved = self.revision;
    }

    /// Line and column of the cursor in characters, from 0.
    pub fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    /// The selected range: start and end as line and column, from 0.
    pub fn selection(&self) -> Option<((usize, usize), (usize, usize))> {
        self.area.selection_range()
    }

    /// Takes a key as text or movement.
    pub fn key(&mut self, key: KeyEvent) {
        self.change(|area| area.input(key));
    }

    /// Makes a change, and notes the first line that can be another one now: none above both places of the cursor and the
    /// beginning of the selection is touched by it.
    fn change(&mut self, change: impl FnOnce(&mut TextArea<'static>) -> bool) {
        let selected = self.area.selection_range().map_or(usize::MAX, |(start, _)| start.0);
        let before = self.cursor().0.min(selected);
        if change(&mut self.area) {
            self.revision += 1;
            self.highlight.forget_from(before.min(self.cursor().0));
        }
    }

    /// Moves without changing the text.
    pub fn move_cursor(&mut self, step: CursorMove) {
        self.area.move_cursor(step);
    }

    /// Moves by lines.
    pub fn move_lines(&mut self, lines: isize) {
        let (row, column) = self.cursor();
        self.go_to(row.saturating_add_signed(lines), column);
    }

    /// Puts the cursor on a line and column, or as near as there is one.
    pub fn go_to(&mut self, row: usize, column: usize) {
        let row = row.min(self.lines().len().saturating_sub(1));
        let clamp = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        self.area.cancel_selection();
        self.area.move_cursor(CursorMove::Jump(clamp(row), clamp(column)));
    }

    pub fn insert(&mut self, text: &str) {
        self.change(|area| area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n")));
    }

    pub fn undo(&mut self) {
        let changed = self.area.undo();
        self.changed_anywhere(changed);
    }

    pub fn redo(&mut self) {
        let changed = self.area.redo();
        self.changed_anywhere(changed);
    }

    fn changed_anywhere(&mut self, changed: bool) {
        if changed {
            self.revision += 1;
            self.highlight.forget_changed(self.area.lines());
        }
    }

    pub fn delete_to_line_end(&mut self) {
        self.change(TextArea::delete_line_by_end);
    }

    /// Goes to the next place that holds `search`, after the cursor and round. Case counts only where the text has capitals.
    /// Says whether there is one.
    pub fn find_next(&mut self) -> bool {
        if self.search.is_empty() {
            return false;
        }
        let (row, column) = self.cursor();
        let count = self.lines().len();
        let found = (0..=count).find_map(|step| {
            let line = (row + step) % count;
            let from = if step == 0 { column + 1 } else { 0 };
            let until = if step == count { column + 1 } else { usize::MAX };
            matches_in(&self.lines()[line], &self.search)
                .into_iter()
                .find(|&at| at >= from && at < until)
                .map(|at| (line, at))
        });
        if let Some((line, at)) = found {
            self.go_to(line, at);
        }
        found.is_some()
    }

    /// Brings the cursor into a view of so many rows and columns.
    pub fn follow(&mut self, rows: usize, columns: usize) {
        let (row, column) = self.cursor();
        let margin = MARGIN.min(rows.saturating_sub(1) / 2);
        self.top = self.top.min(row.saturating_sub(margin));
        let lowest = (row + margin).min(self.lines().len().saturating_sub(1));
        if lowest >= self.top + rows.max(1) {
            self.top = lowest + 1 - rows.max(1);
        }
        let column = display_column(&self.lines()[row], column);
        self.left = self.left.min(column);
        if column >= self.left + columns.max(1) {
            self.left = column + 1 - columns.max(1);
        }
    }

    /// Works out the colours of the lines in view, a slice at a time; says whether there is more to do.
    pub fn highlight(&mut self, syntaxes: &Syntaxes, rows: usize) -> bool {
        let Some(language) = self.language else { return false };
        let bottom = (self.top + rows).min(self.area.lines().len());
        self.highlight.advance(syntaxes, language, self.area.lines(), bottom)
    }

    /// The colours of a line, where they are known.
    pub fn colours(&self) -> &Highlight {
        &self.highlight
    }
}

/// The line break that a text uses.
fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area: TextArea<'static> = text.lines().collect();
    area.set_max_histories(UNDO_STEPS);
    area.set_tab_length(TAB as u8);
    area
}

/// Columns, in characters, where a line holds a text. Case counts only where the text has capitals.
pub fn matches_in(line: &str, text: &str) -> Vec<usize> {
    let sensitive = text.chars().any(char::is_uppercase);
    let fold = |character: char| {
        if sensitive {
            character
        } else {
            character.to_lowercase().next().unwrap_or(character)
        }
    };
    let line: Vec<char> = line.chars().map(fold).collect();
    let text: Vec<char> = text.chars().map(fold).collect();
    if text.is_empty() {
        return Vec::new();
    }
    line.windows(text.len())
        .enumerate()
        .filter(|(_, window)| *window == text)
        .map(|(at, _)| at)
        .collect()
}

/// Where a character stands on the screen, tabs and wide characters counted.
pub fn display_column(line: &str, column: usize) -> usize {
    use unicode_width::UnicodeWidthChar;
    let mut at = 0;
    for character in line.chars().take(column) {
        at += match character {
            '\t' => TAB - at % TAB,
            other => super::escape::visible(other).width().unwrap_or(1),
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_it_was() {
        for text in ["", "a\n", "a\nb", "a\n\n", "\tx\n", "a\r\nb\r\n"] {
            assert_eq!(&*Editor::new(text, None).text(), text);
        }
    }

    #[test]
    fn changes_make_it_dirty_and_undo_takes_them_back() {
        let mut editor = Editor::new("one\ntwo\n", None);
        editor.insert("x");
        assert!(editor.is_dirty());
        assert_eq!(&*editor.text(), "xone\ntwo\n");
        editor.undo();
        assert_eq!(&*editor.text(), "one\ntwo\n");
        editor.redo();
        editor.mark_saved();
        assert!(!editor.is_dirty());
    }

    #[test]
    fn finding_goes_round_and_heeds_capitals() {
        let mut editor = Editor::new("abc\nxAbc\n", None);
        editor.search = "abc".to_owned();
        assert!(editor.find_next());
        assert_eq!(editor.cursor(), (1, 1));
        assert!(editor.find_next());
        assert_eq!(editor.cursor(), (0, 0));
        editor.search = "Abc".to_owned();
        assert!(editor.find_next() && editor.find_next());
        assert_eq!(editor.cursor(), (1, 1));
        editor.search = "nowhere".to_owned();
        assert!(!editor.find_next());
    }

    #[test]
    fn the_view_follows_the_cursor() {
        let text = "line\n".repeat(100);
        let mut editor = Editor::new(&text, None);
        editor.go_to(50, 0);
        editor.follow(10, 20);
        assert!(editor.top <= 47 && editor.top + 10 > 53);
        editor.go_to(99, 0);
        editor.follow(10, 20);
        assert_eq!(editor.top, 90);
        editor.go_to(0, 0);
        editor.follow(10, 20);
        assert_eq!(editor.top, 0);
    }

    #[test]
    fn tabs_and_wide_characters_take_their_room() {
        assert_eq!(display_column("\tab", 2), 5);
        assert_eq!(display_column("a\tb", 2), 4);
        assert_eq!(display_column("漢b", 1), 2);
    }
}
