//! A grid of cells that lines, bars, marks and labels are drawn into before it is printed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::theme::{Slot, Theme};

/// What a cell shows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Ink {
    #[default]
    Empty,
    /// Dots of a braille character, as its low byte.
    Braille(u8),
    /// Arms of a box character: up, down, left, right.
    Line {
        arms: u8,
        dashed: bool,
    },
    Char(char),
    Mark(char),
    Label(char),
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    ink: Ink,
    slot: Slot,
}

pub(super) struct Canvas {
    columns: u16,
    rows: u16,
    cells: Vec<Cell>,
}

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// Braille dots by row, left and right column, as bits of the code point.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// Dots drawn and left out in a dashed slope.
const DASH: (usize, usize) = (4, 4);
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl Canvas {
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let empty = Cell {
            ink: Ink::Empty,
            slot: Slot::Text,
        };
        Self {
            columns,
            rows,
            cells: vec![empty; usize::from(columns) * usize::from(rows)],
        }
    }

    pub(super) fn columns(&self) -> u16 {
        self.columns
    }

    pub(super) fn rows(&self) -> u16 {
        self.rows
    }

    fn cell(&mut self, column: u16, row: u16) -> Option<&mut Cell> {
        if column >= self.columns || row >= self.rows {
            return None;
        }
        let index = usize::from(row) * usize::from(self.columns) + usize::from(column);
        self.cells.get_mut(index)
    }

    fn ink(&self, column: u16, row: u16) -> Option<Ink> {
        if column >= self.columns || row >= self.rows {
            return None;
        }
        let index = usize::from(row) * usize::from(self.columns) + usize::from(column);
        self.cells.get(index).map(|cell| cell.ink)
    }

    fn set(&mut self, column: u16, row: u16, ink: Ink, slot: Slot) {
        if let Some(cell) = self.cell(column, row) {
            *cell = Cell { ink, slot };
        }
    }

    /// A line between two positions, each from 0 to 1 along its axis, y upward.
    pub(super) fn segment(&mut self, from: (f64, f64), to: (f64, f64), dashed: bool, slot: Slot) {
        let Some((from, to)) = clip(from, to) else { return };
        let column = |x: f64| ((x * f64::from(self.columns)) as u16).min(self.columns - 1);
        let row = |y: f64| (((1.0 - y) * f64::from(self.rows)) as u16).min(self.rows - 1);
        let (c0, r0, c1, r1) = (column(from.0), row(from.1), column(to.0), row(to.1));
        if (from.1 - to.1).abs() < 1e-9 {
            self.level(r0, c0.min(c1), c0.max(c1), dashed, slot);
        } else if (from.0 - to.0).abs() < 1e-9 {
            self.upright(c0, r0.min(r1), r0.max(r1), dashed, slot);
        } else {
            self.slope(from, to, dashed, slot);
        }
    }

    fn arms(&mut self, column: u16, row: u16, add: u8, dashed: bool, slot: Slot) {
        let arms = match self.ink(column, row) {
            Some(Ink::Line { arms, .. }) => arms | add,
            _ => add,
        };
        self.set(column, row, Ink::Line { arms, dashed }, slot);
    }

    fn level(&mut self, row: u16, from: u16, to: u16, dashed: bool, slot: Slot) {
        for column in from..=to {
            let left = if column > from { LEFT } else { 0 };
            let right = if column < to { RIGHT } else { 0 };
            self.arms(column, row, left | right, dashed, slot);
        }
    }

    fn upright(&mut self, column: u16, from: u16, to: u16, dashed: bool, slot: Slot) {
        for row in from..=to {
            let up = if row > from { UP } else { 0 };
            let down = if row < to { DOWN } else { 0 };
            self.arms(column, row, up | down, dashed, slot);
        }
    }

    fn slope(&mut self, from: (f64, f64), to: (f64, f64), dashed: bool, slot: Slot) {
        let (width, height) = (f64::from(self.columns) * 2.0, f64::from(self.rows) * 4.0);
        let (x0, y0) = (from.0 * width, (1.0 - from.1) * height);
        let (x1, y1) = (to.0 * width, (1.0 - to.1) * height);
        let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0) as usize;
        for step in 0..=steps {
            if dashed && step % (DASH.0 + DASH.1) >= DASH.0 {
                continue;
            }
            let share = step as f64 / steps as f64;
            let x = ((x0 + (x1 - x0) * share) as u16).min(self.columns * 2 - 1);
            let y = ((y0 + (y1 - y0) * share) as u16).min(self.rows * 4 - 1);
            let dot = DOTS[usize::from(y % 4)][usize::from(x % 2)];
            match self.ink(x / 2, y / 4) {
                Some(Ink::Braille(dots)) => self.set(x / 2, y / 4, Ink::Braille(dots | dot), slot),
                Some(Ink::Line { .. }) => {}
                _ => self.set(x / 2, y / 4, Ink::Braille(dot), slot),
            }
        }
    }

    /// A bar in one column, as high as a share of the plot.
    pub(super) fn bar(&mut self, column: u16, share: f64, slot: Slot) {
        let eighths = (share.clamp(0.0, 1.0) * f64::from(self.rows) * 8.0).round() as u16;
        for row in 0..eighths.div_ceil(8) {
            let filled = (eighths - row * 8).min(8);
            let character = EIGHTHS[usize::from(filled) - 1];
            self.set(column, self.rows - 1 - row, Ink::Char(character), slot);
        }
    }

    pub(super) fn whisker(&mut self, column: u16, top: u16, bottom: u16, slot: Slot) {
        for row in top..=bottom {
            self.set(column, row, Ink::Char('│'), slot);
        }
    }

    pub(super) fn mark(&mut self, column: u16, row: u16, character: char, slot: Slot) {
        self.set(column, row, Ink::Mark(character), slot);
    }

    /// How much a label of so many cells would cover there: `None` where it does not fit or would hide a mark or label.
    pub(super) fn covered(&self, column: i32, row: i32, width: u16) -> Option<u32> {
        let (first, row) = (u16::try_from(column).ok()?, u16::try_from(row).ok()?);
        (first..first.checked_add(width)?).try_fold(0, |covered, column| match self.ink(column, row)? {
            Ink::Mark(_) | Ink::Label(_) => None,
            Ink::Empty => Some(covered),
            _ => Some(covered + 1),
        })
    }

    pub(super) fn label(&mut self, column: u16, row: u16, text: &str, slot: Slot) {
        for (offset, character) in text.chars().enumerate() {
            self.set(column + offset as u16, row, Ink::Label(character), slot);
        }
    }

    pub(super) fn print(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        for (index, cell) in self.cells.iter().enumerate() {
            let character = match cell.ink {
                Ink::Empty => continue,
                Ink::Braille(dots) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
                Ink::Line { arms, dashed } => box_character(arms, dashed),
                Ink::Char(character) | Ink::Mark(character) | Ink::Label(character) => character,
            };
            let column = (index % usize::from(self.columns)) as u16;
            let row = (index / usize::from(self.columns)) as u16;
            let style = match cell.ink {
                Ink::Mark(_) => theme.bold(cell.slot),
                _ => theme.style(cell.slot),
            };
            if let Some(target) = buffer.cell_mut((area.x + column, area.y + row)) {
                target.set_char(character).set_style(style);
            }
        }
    }
}

const fn box_character(arms: u8, dashed: bool) -> char {
    const UPRIGHT: u8 = UP | DOWN;
    const LEVEL: u8 = LEFT | RIGHT;
    const DOWN_RIGHT: u8 = DOWN | RIGHT;
    const DOWN_LEFT: u8 = DOWN | LEFT;
    const UP_RIGHT: u8 = UP | RIGHT;
    const UP_LEFT: u8 = UP | LEFT;
    match arms {
        DOWN_RIGHT => '╭',
        DOWN_LEFT => '╮',
        UP_RIGHT => '╰',
        UP_LEFT => '╯',
        UP | DOWN | UPRIGHT if dashed => '┊',
        UP | DOWN | UPRIGHT => '│',
        0 | LEFT | RIGHT | LEVEL if dashed => '╌',
        0 | LEFT | RIGHT | LEVEL => '─',
        _ if arms & LEVEL == LEVEL && arms & UP == 0 => '┬',
        _ if arms & LEVEL == LEVEL && arms & DOWN == 0 => '┴',
        _ if arms & LEFT == 0 => '├',
        _ if arms & RIGHT == 0 => '┤',
        _ => '┼',
    }
}

/// The part of a segment within the unit square (Liang and Barsky, 1984).
fn clip(from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
    if ![from.0, from.1, to.0, to.1].iter().all(|value| value.is_finite()) {
        return None;
    }
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (step, room) in [(-dx, from.0), (dx, 1.0 - from.0), (-dy, from.1), (dy, 1.0 - from.1)] {
        if step == 0.0 {
            // Parallel to this edge: outside of it there is nothing, a hair beside it counts as on it.
            if room < -1e-9 {
                return None;
            }
        } else if step < 0.0 {
            enter = enter.max(room / step);
        } else {
            leave = leave.min(room / step);
        }
    }
    let at = |share: f64| {
        (
            (from.0 + dx * share).clamp(0.0, 1.0),
            (from.1 + dy * share).clamp(0.0, 1.0),
        )
    };
    (enter <= leave).then(|| (at(enter), at(leave)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_cut_at_the_edges() {
        assert_eq!(clip((-1.0, -1.0), (2.0, 2.0)), Some(((0.0, 0.0), (1.0, 1.0))));
        assert_eq!(clip((0.2, 2.0), (0.8, 2.0)), None);
        assert_eq!(clip((0.5, 0.5), (0.5, 0.5)), Some(((0.5, 0.5), (0.5, 0.5))));
        assert_eq!(clip((f64::NAN, 0.0), (1.0, 1.0)), None);
    }
}
