//! Plain tables on standard output: aligned columns, numbers to the right, no frames, so that `grep` and `awk` work on them.

use unicode_width::UnicodeWidthStr;

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows under a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

/// Between columns.
const GAP: &str = "  ";

impl Table {
    pub(super) fn new(columns: impl Into<Vec<(&'static str, Align)>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; it has as many cells as there are columns.
    pub(super) fn row(&mut self, cells: impl Into<Vec<String>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// The text, a line for the heading and for each row.
    pub(super) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let heading: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        let mut text = self.line(&heading, &widths);
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            text.push('\n');
            text.push_str(&self.line(&cells, &widths));
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self
            .rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.width());
        cells.chain([self.columns[column].0.width()]).max().unwrap_or(0)
    }

    fn line(&self, cells: &[&str], widths: &[usize]) -> String {
        let padded: Vec<String> = cells
            .iter()
            .zip(widths)
            .zip(&self.columns)
            .map(|((cell, width), (_, align))| {
                let space = " ".repeat(width.saturating_sub(cell.width()));
                match align {
                    Align::Left => format!("{cell}{space}"),
                    Align::Right => format!("{space}{cell}"),
                }
            })
            .collect();
        padded.join(GAP).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_what_is_seen() {
        let mut table = Table::new([("name", Align::Left), ("time", Align::Right), ("note", Align::Left)]);
        table.row(["a".to_owned(), "9.02 µs".to_owned(), String::new()]);
        table.row(["longer".to_owned(), "53 ms".to_owned(), "x".to_owned()]);
        let expected = "name       time  note\na       9.02 µs\nlonger    53 ms  x";
        assert_eq!(table.render(), expected);
    }
}
