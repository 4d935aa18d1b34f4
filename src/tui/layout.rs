//! Where things are on the screen: rectangles from the terminal's size and the state, nothing drawn.

use ratatui::layout::{Constraint, Layout, Rect};

use super::model::{Model, Pane};

/// From this width on the Bench has two columns.
pub const TWO_COLUMNS: u16 = 100;
/// From this body height on a narrow Bench stacks two panes.
const STACK_HEIGHT: u16 = 28;
/// The code pane's share of a wide Bench, percent.
const CODE_SHARE: u16 = 48;

/// The three bands of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bands {
    pub header: Rect,
    pub body: Rect,
    pub footer: Rect,
}

pub fn bands(area: Rect) -> Bands {
    let [header, body, footer] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    Bands { header, body, footer }
}

/// The panes of the Bench that are shown, each with its place.
pub fn bench(body: Rect, focused: Pane, zoomed: bool, verdict_lines: u16) -> Vec<(Pane, Rect)> {
    if zoomed || (body.width < TWO_COLUMNS && body.height < STACK_HEIGHT) {
        return vec![(focused, body)];
    }
    if body.width < TWO_COLUMNS {
        let [top, bottom] = Layout::vertical([Constraint::Percentage(52), Constraint::Min(0)]).areas(body);
        let second = if focused == Pane::Code { Pane::Verdict } else { focused };
        return vec![(Pane::Code, top), (second, bottom)];
    }
    let [left, right] = Layout::horizontal([Constraint::Percentage(CODE_SHARE), Constraint::Min(0)]).areas(body);
    let mut panes = vec![(Pane::Code, left)];
    panes.extend(right_column(right, verdict_lines));
    panes
}

/// Verdict as high as it needs, then the charts with what is left, fewer of them where the room is short.
fn right_column(area: Rect, verdict_lines: u16) -> Vec<(Pane, Rect)> {
    const VERDICT_MIN: u16 = 8;
    const CHART_MIN: u16 = 9;
    let wanted = (verdict_lines + 2).max(VERDICT_MIN);
    let charts = match area.height {
        height if height >= wanted + 2 * CHART_MIN => 2,
        height if height >= VERDICT_MIN + CHART_MIN => 1,
        _ => 0,
    };
    let verdict = if charts == 0 {
        area.height
    } else {
        wanted.min(area.height - charts * CHART_MIN)
    };
    let [top, rest] = Layout::vertical([Constraint::Length(verdict), Constraint::Min(0)]).areas(area);
    let mut panes = vec![(Pane::Verdict, top)];
    if charts == 2 {
        let [roofline, history] = Layout::vertical([Constraint::Percentage(54), Constraint::Min(0)]).areas(rest);
        panes.extend([(Pane::Roofline, roofline), (Pane::History, history)]);
    } else if charts == 1 {
        panes.push((Pane::Roofline, rest));
    }
    panes
}

/// Digits that line numbers need, with the sign column and a space after.
pub fn gutter(lines: usize) -> u16 {
    let digits = lines.max(1).ilog10() as u16 + 1;
    digits.max(3) + 2
}

/// Rows and columns of text in the code pane, as the next drawing will have them.
pub fn code_text(model: &Model) -> (usize, usize) {
    let body = bands(Rect::new(0, 0, model.size.0, model.size.1)).body;
    let panes = bench(body, model.bench.pane, model.bench.zoomed, 0);
    let place = panes
        .iter()
        .find(|(pane, _)| *pane == Pane::Code)
        .map_or(body, |(_, place)| *place);
    let columns = place.width.saturating_sub(2 + gutter(model.bench.editor.lines().len()));
    (usize::from(place.height.saturating_sub(2)), usize::from(columns))
}

/// A rectangle of at most this size in the middle of another.
pub fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panes_stay_inside_and_apart() {
        for width in [1, 60, 80, 99, 100, 120, 200] {
            for height in [1, 8, 22, 34, 58] {
                for lines in [0, 5, 200] {
                    let body = Rect::new(0, 1, width, height);
                    let panes = bench(body, Pane::Code, false, lines);
                    for (index, (_, place)) in panes.iter().enumerate() {
                        assert_eq!(place.intersection(body), *place);
                        for (_, other) in &panes[..index] {
                            assert!(!place.intersects(*other), "{width}x{height}: {place} and {other}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn small_terminals_get_one_pane_and_wide_ones_all() {
        assert_eq!(bench(Rect::new(0, 1, 80, 22), Pane::Verdict, false, 9).len(), 1);
        assert_eq!(bench(Rect::new(0, 1, 80, 34), Pane::Code, false, 9).len(), 2);
        assert_eq!(bench(Rect::new(0, 1, 120, 34), Pane::Code, false, 9).len(), 4);
    }
}
