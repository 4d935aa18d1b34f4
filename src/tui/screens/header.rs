//! The first line: the program's name, the screens, and the device.

use ratatui::Frame;
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::device::DeviceKind;
use crate::tui::escape;
use crate::tui::model::{DeviceState, Model, Screen};
use crate::tui::theme::{Slot, Theme};
use crate::tui::widgets::row::Row;

const NAME: &str = " ridgepoint ";

/// Where each screen's tab begins and ends, in columns.
fn tabs() -> impl Iterator<Item = (Screen, u16, u16)> {
    let mut column = NAME.width() as u16 + 1;
    Screen::ALL.into_iter().map(move |screen| {
        let width = screen.title().width() as u16 + 4;
        let begin = column;
        column += width;
        (screen, begin, begin + width)
    })
}

/// The screen whose tab is at a column.
pub fn tab_at(column: u16) -> Option<Screen> {
    tabs()
        .find(|(_, begin, end)| (*begin..*end).contains(&column))
        .map(|(screen, ..)| screen)
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: &Theme) {
    let mut left = Row::new().bold(Slot::Accent, NAME).text(" ");
    for (index, screen) in Screen::ALL.into_iter().enumerate() {
        let number = index + 1;
        left = if screen == model.screen {
            left.add(Slot::Accent, format!(" {number} "))
                .bold(Slot::Accent, format!("{} ", screen.title()))
        } else {
            left.muted(format!(" {number} ")).text(format!("{} ", screen.title()))
        };
    }
    let room = usize::from(area.width).saturating_sub(left.width() + 2);
    let width = usize::from(area.width);
    let device = devices(&model.device)
        .into_iter()
        .find(|row| row.width() <= room)
        .unwrap_or_default();
    let line = left.to(width.saturating_sub(device.width() + 1)).join(device);
    frame.render_widget(line.line(theme), area);
}

/// The device in words, the longest form first.
fn devices(device: &DeviceState) -> Vec<Row> {
    match device {
        DeviceState::Starting => vec![Row::new().muted("device starts …"), Row::new().muted("…")],
        DeviceState::Unavailable { .. } => vec![Row::new().add(Slot::Bad, "✕ no device")],
        DeviceState::Ready(info) => {
            let name = escape::line(&info.name);
            let id = escape::line(&info.id);
            let clocks = || info.details.iter().filter(|(key, _)| key.contains("clock"));
            let now = clocks()
                .find(|(key, _)| key.contains("start"))
                .or_else(|| clocks().next());
            let long = Row::new().text(name.clone()).muted(format!("  {id}"));
            let mut forms = Vec::new();
            if let Some((_, clock)) = now.filter(|_| info.kind == DeviceKind::Cuda) {
                forms.push(long.clone().muted(format!("  {}", escape::line(clock))));
            }
            forms.extend([long, Row::new().text(name), Row::new().text(id)]);
            forms
        }
    }
}
