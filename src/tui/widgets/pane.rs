//! The frame of a pane: thin rounded border, a short title left, what it is about right.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType};
use unicode_width::UnicodeWidthStr;

use super::text::fit;
use crate::tui::theme::{Slot, Theme};

/// What a frame says.
#[derive(Clone, Debug, Default)]
pub struct Pane<'a> {
    pub title: &'a str,
    /// At the right of the top border; left out where it does not fit beside the title.
    pub about: &'a str,
    /// At the left of the bottom border.
    pub foot: &'a str,
    pub focused: bool,
}

impl Pane<'_> {
    /// Draws the frame and gives the room inside.
    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Rect {
        let border = theme.style(if self.focused { Slot::Accent } else { Slot::Faint });
        let title_style = if self.focused {
            theme.bold(Slot::Accent)
        } else {
            theme.bold(Slot::Text)
        };
        let room = usize::from(area.width.saturating_sub(4));
        let title = fit(self.title, room.saturating_sub(2));
        let left = room.saturating_sub(title.width() + 5);
        let about = if self.about.width() <= left {
            self.about.to_owned()
        } else {
            fit(self.about, left)
        };
        let mut block = Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(border)
            .title_top(Line::from(Span::styled(format!(" {title} "), title_style)));
        if about.width() > 3 {
            let about = Span::styled(format!(" {about} "), theme.style(Slot::Muted));
            block = block.title_top(Line::from(about).alignment(Alignment::Right));
        }
        if !self.foot.is_empty() {
            let foot = format!(" {} ", fit(self.foot, room.saturating_sub(2)));
            block = block.title_bottom(Line::from(Span::styled(foot, theme.style(Slot::Muted))));
        }
        let inner = block.inner(area);
        frame.render_widget(block, area);
        inner
    }
}
