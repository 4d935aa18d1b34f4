//! Drawing: the header, the footer and one file for every screen. Views read the state and change nothing.

pub mod bench;
pub mod charts;
pub mod footer;
pub mod header;
pub mod history;
pub mod operators;
pub mod roofline;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::layout;
use super::model::{MIN_SIZE, Model, Screen};
use super::theme::{Slot, Theme};
use super::widgets::{overlay, row::Row};
use crate::shape::Params;

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, model: &Model, theme: &Theme) {
    let area = frame.area();
    frame.buffer_mut().set_style(area, theme.base());
    if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
        return too_small(frame, area, theme);
    }
    let bands = layout::bands(area);
    header::draw(frame, bands.header, model, theme);
    match model.screen {
        Screen::Operators => operators::draw(frame, bands.body, model, theme),
        Screen::Bench => bench::draw(frame, bands.body, model, theme),
        Screen::Roofline => roofline::draw(frame, bands.body, model, theme),
        Screen::History => history::draw(frame, bands.body, model, theme),
    }
    footer::draw(frame, bands.footer, model, theme);
    overlay::draw(frame, bands.body, model, theme);
}

fn too_small(frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let lines = [
        Row::new().add(Slot::Accent, "too small"),
        Row::new().text(format!("{}×{} needed", MIN_SIZE.0, MIN_SIZE.1)),
        Row::new().muted("q quits"),
    ];
    for (offset, line) in lines.iter().take(usize::from(area.height)).enumerate() {
        let place = Rect::new(area.x, area.y + offset as u16, area.width, 1);
        frame.render_widget(line.line(theme), place);
    }
}

/// Prints rows from the top of a rectangle.
fn print(frame: &mut Frame<'_>, area: Rect, rows: &[Row], theme: &Theme) {
    for (offset, row) in rows.iter().take(usize::from(area.height)).enumerate() {
        let place = Rect::new(area.x, area.y + offset as u16, area.width, 1);
        frame.render_widget(row.line(theme), place);
    }
}

/// A rectangle with a column of air on both sides.
fn inset(area: Rect) -> Rect {
    Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    }
}

/// `24752×1280`: a shape's values without their names.
fn values(params: &Params) -> String {
    let values: Vec<String> = params.0.iter().map(|(_, value)| value.to_string()).collect();
    values.join("×")
}
