//! Charts on terminal cells: braille for slopes, box lines for what is level, and labels that never overlap or get cut.

mod axis;
mod canvas;
mod labels;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::plot::{Bar, Chart, Dash, Line, Mark, Point};
use crate::tui::theme::{Slot, Theme};
use axis::{Axis, Placed};
use canvas::Canvas;

/// Draws a chart into a rectangle.
pub struct ChartView<'a> {
    pub chart: &'a Chart,
    pub theme: &'a Theme,
}

/// The least room that a plot is drawn in.
const MIN_PLOT: (u16, u16) = (8, 3);

/// The axes in words, for a pane's title: `FLOP/s over FLOP/byte`.
pub fn axes(chart: &Chart) -> String {
    match (chart.y.title.as_str(), chart.x.title.as_str()) {
        ("", x) => x.to_owned(),
        (y, "") => y.to_owned(),
        (y, x) => format!("{y} over {x}"),
    }
}

/// The character of a mark.
pub const fn mark(mark: Mark) -> char {
    match mark {
        Mark::Dot => '●',
        Mark::Diamond => '◆',
        Mark::HollowDiamond => '◇',
        Mark::Cross => '✕',
        Mark::Square => '■',
    }
}

impl Widget for ChartView<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let note = self.note_lines(area.width);
        let note_rows = if area.height >= MIN_PLOT.1 + 4 + note.len() as u16 {
            note.len() as u16
        } else {
            0
        };
        let chart_area = Rect {
            height: area.height - note_rows,
            ..area
        };
        let Some(plot) = self.frame(chart_area, buffer) else {
            return;
        };
        let mut canvas = Canvas::new(plot.width, plot.height);
        self.draw(&mut canvas);
        canvas.print(plot, buffer, self.theme);
        for (row, line) in note.iter().take(usize::from(note_rows)).enumerate() {
            let y = area.bottom() - note_rows + row as u16;
            buffer.set_string(area.x, y, line, self.theme.style(Slot::Muted));
        }
    }
}

impl ChartView<'_> {
    fn note_lines(&self, width: u16) -> Vec<String> {
        let Some(note) = &self.chart.note else {
            return Vec::new();
        };
        super::text::wrap(note, usize::from(width))
    }

    /// Draws axes with ticks and labels; gives the rectangle between them.
    fn frame(&self, area: Rect, buffer: &mut Buffer) -> Option<Rect> {
        let rows = area.height.checked_sub(2)?;
        let y_axis = Axis::new(&self.chart.y, rows);
        let y_ticks = y_axis.ticks_down();
        let gutter = y_ticks.iter().map(|tick| tick.label.width() as u16).max().unwrap_or(0) + 1;
        let columns = area.width.checked_sub(gutter + 1)?;
        if columns < MIN_PLOT.0 || rows < MIN_PLOT.1 {
            return None;
        }
        let plot = Rect::new(area.x + gutter + 1, area.y, columns, rows);
        let (line, label) = (self.theme.style(Slot::Faint), self.theme.style(Slot::Muted));
        for row in 0..rows {
            buffer.set_string(plot.x - 1, plot.y + row, "│", line);
        }
        buffer.set_string(plot.x - 1, plot.bottom(), "└", line);
        for column in 0..columns {
            buffer.set_string(plot.x + column, plot.bottom(), "─", line);
        }
        for Placed { at, label: text } in y_ticks {
            let y = plot.y + at;
            buffer.set_string(plot.x - 1, y, "┤", line);
            buffer.set_string(plot.x - 2 - text.width() as u16, y, &text, label);
        }
        // A label may reach left under the y axis, but not beyond the area.
        let room = (area.x, area.right());
        for (Placed { at, label: text }, start) in Axis::new(&self.chart.x, columns).ticks_across(plot.x, room) {
            buffer.set_string(plot.x + at, plot.bottom(), "┬", line);
            buffer.set_string(start, plot.bottom() + 1, &text, label);
        }
        Some(plot)
    }

    fn draw(&self, canvas: &mut Canvas) {
        let x = Axis::new(&self.chart.x, canvas.columns());
        let y = Axis::new(&self.chart.y, canvas.rows());
        for bar in &self.chart.bars {
            draw_bar(canvas, &x, &y, bar);
        }
        for line in &self.chart.lines {
            draw_line(canvas, &x, &y, line);
        }
        let mut points: Vec<&Point> = self.chart.points.iter().collect();
        // Labelled points are those that matter: they are drawn last, over the others.
        points.sort_by_key(|point| point.label.is_some());
        for point in &points {
            draw_whisker(canvas, &x, &y, point);
        }
        for point in &points {
            if let (Some(column), Some(row)) = (x.cell(point.x), y.cell_down(point.y)) {
                canvas.mark(column, row, mark(point.mark), point.tone.into());
            }
        }
        for point in points.iter().rev() {
            if let (Some(text), Some(column), Some(row)) = (&point.label, x.cell(point.x), y.cell_down(point.y)) {
                labels::beside_point(canvas, column, row, text, point.tone.into());
            }
        }
        for line in self.chart.lines.iter().filter(|line| !line.label.is_empty()) {
            let end = line
                .points
                .iter()
                .rev()
                .find_map(|&(a, b)| Some((x.cell(a)?, y.cell_down(b)?)));
            if let Some((column, row)) = end {
                labels::along_line(canvas, column, row, &line.label, line.tone.into());
            }
        }
    }
}

fn draw_bar(canvas: &mut Canvas, x: &Axis<'_>, y: &Axis<'_>, bar: &Bar) {
    let (Some(from), Some(to)) = (x.share(bar.from), x.share(bar.to)) else {
        return;
    };
    let columns = f64::from(canvas.columns());
    let first = (from * columns).round() as u16;
    let last = ((to * columns).round() as u16).max(first + 1).min(canvas.columns());
    let height = y.share(bar.height).unwrap_or(1.0);
    for column in first..last {
        canvas.bar(column, height, bar.tone.into());
    }
}

fn draw_line(canvas: &mut Canvas, x: &Axis<'_>, y: &Axis<'_>, line: &Line) {
    let slot = Slot::from(line.tone);
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(line.points.len() * 2);
    for &(a, b) in &line.points {
        let (a, b) = (x.position(a), y.position(b));
        if line.dash == Dash::Step
            && let Some(&(_, before)) = points.last()
        {
            points.push((a, before));
        }
        points.push((a, b));
    }
    for pair in points.windows(2) {
        canvas.segment(pair[0], pair[1], line.dash == Dash::Dashed, slot);
    }
}

fn draw_whisker(canvas: &mut Canvas, x: &Axis<'_>, y: &Axis<'_>, point: &Point) {
    let (Some((low, high)), Some(column)) = (point.whisker, x.cell(point.x)) else {
        return;
    };
    if let (Some(bottom), Some(top)) = (y.cell_down(low), y.cell_down(high))
        && bottom > top
    {
        canvas.whisker(column, top, bottom, point.tone.into());
    }
}
