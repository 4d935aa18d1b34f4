//! Places in a kernel file, and values that remember theirs, so that an error found late can still point at its cause.

use std::fmt;
use std::ops::Deref;

/// A line and a column, both from 1; columns count characters. Always of the whole file, header comment included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Default for Place {
    fn default() -> Self {
        Self { line: 1, column: 1 }
    }
}

impl Place {
    /// The place of a byte offset; offsets past the end give the end.
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset.min(text.len())).unwrap_or(text);
        Self::default().after(before)
    }

    /// The place just behind `text`, when `text` starts here.
    pub fn after(self, text: &str) -> Self {
        match text.rsplit_once('\n') {
            None => Self {
                line: self.line,
                column: self.column + text.chars().count() as u32,
            },
            Some((lines, last)) => Self {
                line: self.line + 1 + lines.matches('\n').count() as u32,
                column: 1 + last.chars().count() as u32,
            },
        }
    }

    /// The place of the character number `offset` (from 0) of `text`, when `text` starts here.
    pub fn inside(self, text: &str, offset: usize) -> Self {
        let bytes = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
        self.after(&text[..bytes])
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value and where its text begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub place: Place,
}

impl<T> Placed<T> {
    pub const fn new(value: T, place: Place) -> Self {
        Self { value, place }
    }
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let text = "aé\nbc\n";
        for (offset, line, column) in [
            (0, 1, 1),
            (1, 1, 2),
            (3, 1, 3),
            (4, 2, 1),
            (6, 2, 3),
            (7, 3, 1),
            (99, 3, 1),
        ] {
            assert_eq!(Place::of(text, offset), Place { line, column }, "offset {offset}");
        }
        let start = Place { line: 4, column: 10 };
        assert_eq!(start.inside("é + x", 4), Place { line: 4, column: 14 });
        assert_eq!(start.inside("a +\n x", 5), Place { line: 5, column: 2 });
    }
}
