//! A drawn buffer as text, as letters of theme slots, and as SVG.

use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use ridgepoint::tui::theme::Slot;
use ridgepoint::tui::{Model, Theme, draw};
use unicode_width::UnicodeWidthStr;

/// The screen as it would be drawn now.
pub(crate) fn screen(model: &Model, theme: &Theme) -> Buffer {
    let (columns, rows) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a test backend");
    terminal
        .draw(|frame| draw(frame, model, theme))
        .expect("a test backend");
    terminal.backend().buffer().clone()
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = &[Cell]> {
    buffer.content.chunks(usize::from(buffer.area.width))
}

/// What is written, without trailing spaces.
pub(crate) fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in rows(buffer) {
        let mut line = String::new();
        let mut skip = 0;
        for cell in row {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            skip = cell.symbol().width().saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// One letter for each cell: the background's slot where there is one, else the text's; `text` must be drawn with
/// `Theme::of_slots`.
pub(crate) fn styles(buffer: &Buffer) -> String {
    let slot = |colour: Color| match colour {
        Color::Indexed(number) => Slot::ALL.get(usize::from(number)).copied(),
        _ => None,
    };
    let mut picture = String::new();
    for row in rows(buffer) {
        let line: String = row
            .iter()
            .map(|cell| match slot(cell.bg) {
                Some(ground) if ground != Slot::Background => ground.letter(),
                _ if cell.symbol().trim().is_empty() => ' ',
                _ => slot(cell.fg).map_or('?', Slot::letter),
            })
            .collect();
        picture.push_str(line.trim_end());
        picture.push('\n');
    }
    picture
}

const CELL: (f64, f64) = (8.4, 17.0);

fn hex(colour: Color, otherwise: &str) -> String {
    match colour {
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        _ => otherwise.to_owned(),
    }
}

/// The screen as a picture: a rectangle for every stretch of one background, a text for every stretch of one style.
pub(crate) fn svg(buffer: &Buffer, theme: &Theme) -> String {
    let base = theme.base();
    let ground = hex(base.bg.unwrap_or_default(), "#000000");
    let ink = hex(base.fg.unwrap_or_default(), "#ffffff");
    let (width, height) = (
        f64::from(buffer.area.width) * CELL.0,
        f64::from(buffer.area.height) * CELL.1,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.1} {:.1}\" font-family=\"'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{ground}\"/>\n",
        width + 24.0,
        height + 24.0
    );
    for (y, row) in rows(buffer).enumerate() {
        let top = 12.0 + y as f64 * CELL.1;
        let mut x = 0;
        while x < row.len() {
            let style = (row[x].fg, row[x].bg, row[x].modifier);
            let end = (x..row.len())
                .find(|&next| (row[next].fg, row[next].bg, row[next].modifier) != style)
                .unwrap_or(row.len());
            let (mut fore, mut back) = (hex(style.0, &ink), hex(style.1, &ground));
            if style.2.contains(Modifier::REVERSED) {
                std::mem::swap(&mut fore, &mut back);
            }
            let left = 12.0 + x as f64 * CELL.0;
            let length = (end - x) as f64 * CELL.0;
            if back != ground {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{}\" fill=\"{back}\"/>",
                    CELL.1
                );
            }
            let content: String = row[x..end].iter().map(Cell::symbol).collect();
            let ink = content.trim();
            if !ink.is_empty() {
                // Spaces at the ends would be dropped by some viewers, so the text begins where its ink does.
                let indent = content.chars().take_while(|character| *character == ' ').count();
                let left = left + indent as f64 * CELL.0;
                let length = ink.width() as f64 * CELL.0;
                let weight = if style.2.contains(Modifier::BOLD) {
                    " font-weight=\"bold\""
                } else {
                    ""
                };
                let ink = ink
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('>', "&gt;")
                    .replace(' ', "\u{a0}");
                let _ = writeln!(
                    svg,
                    "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacing\" fill=\"{fore}\"{weight}>{ink}</text>",
                    top + 12.8
                );
            }
            x = end;
        }
    }
    svg.push_str("</svg>\n");
    svg
}
