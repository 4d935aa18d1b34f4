//! Where labels go: the free place nearest to what they name. A label without a place is left out, never cut or laid over
//! another.

use unicode_width::UnicodeWidthStr;

use super::canvas::Canvas;
use crate::tui::theme::Slot;

/// Rows tried above and below.
const REACH: i32 = 3;

/// A label beside a mark: right, left, then above and below.
pub(super) fn beside_point(canvas: &mut Canvas, column: u16, row: u16, text: &str, slot: Slot) {
    let width = text.width() as i32;
    let (column, row) = (i32::from(column), i32::from(row));
    let mut places = vec![(column + 2, row), (column - 1 - width, row)];
    for distance in 1..=REACH {
        for row in [row - distance, row + distance] {
            places.extend([(column - width / 2, row), (column + 1, row), (column - width, row)]);
        }
    }
    place(canvas, &places, text, slot);
}

/// A label at the right end of a line, over it or under it, moving left where that is taken.
pub(super) fn along_line(canvas: &mut Canvas, column: u16, row: u16, text: &str, slot: Slot) {
    let width = text.width() as i32;
    let (column, row) = (i32::from(column), i32::from(row));
    let mut places = Vec::new();
    for shift in (0..=column).step_by(4) {
        let start = column + 1 - width - shift;
        places.extend([(start, row - 1), (start, row + 1)]);
    }
    for shift in (0..=column).step_by(4) {
        places.push((column + 1 - width - shift, row - 2));
        places.push((column + 1 - width - shift, row + 2));
    }
    place(canvas, &places, text, slot);
}

/// Takes the first place that covers nothing, else the one that covers least.
fn place(canvas: &mut Canvas, places: &[(i32, i32)], text: &str, slot: Slot) {
    let width = text.width() as u16;
    let best = places
        .iter()
        .enumerate()
        .filter_map(|(order, &(column, row))| Some((canvas.covered(column, row, width)?, order)))
        .min_by_key(|&(covered, order)| (covered, order));
    if let Some((_, order)) = best {
        let (column, row) = places[order];
        canvas.label(column as u16, row as u16, text, slot);
    }
}
