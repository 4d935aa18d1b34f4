//! Small helpers for text in a given width.

use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Breaks at spaces into lines of at most `width` columns; words longer than a line are broken anywhere.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let needed = line.width() + usize::from(!line.is_empty()) + word.width();
            if needed > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            for character in word.chars() {
                if line.width() + character.width().unwrap_or(0) > width {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(character);
            }
        }
        lines.push(line);
    }
    lines
}

/// The text, or as much of it as fits with `…` at the end.
pub fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if kept.width() + character.width().unwrap_or(0) + 1 > width {
            break;
        }
        kept.push(character);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Left-aligned in exactly `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let missing = width - text.width().min(width);
    format!("{text}{}", " ".repeat(missing))
}

/// Right-aligned in exactly `width` columns.
pub fn pad_left(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let missing = width - text.width().min(width);
    format!("{}{text}", " ".repeat(missing))
}

/// `left` and `right` at the two ends of a line of `width` columns; `right` gives way where they do not both fit.
pub fn ends<'a>(left: Vec<Span<'a>>, right: Vec<Span<'a>>, width: usize) -> Line<'a> {
    let taken = |spans: &[Span<'_>]| spans.iter().map(|span| span.content.width()).sum::<usize>();
    let (before, after) = (taken(&left), taken(&right));
    let mut spans = left;
    if before + after < width {
        spans.push(Span::raw(" ".repeat(width - before - after)));
        spans.extend(right);
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_every_word_and_the_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
        assert_eq!(wrap("x", 0), ["x"]);
    }

    #[test]
    fn fitting_cuts_only_where_it_must() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("漢字字", 4), "漢…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(pad_left("7", 3), "  7");
    }
}
