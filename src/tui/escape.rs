//! Text from outside made safe to draw: control characters are shown, never sent to the terminal.

use std::borrow::Cow;

/// Shows a control character as Unicode's picture of it (`␛` for escape); tabs become spaces to the next multiple of `tab`.
/// Bidirectional overrides and other invisible format characters are shown as `·`, since they can make text lie.
pub fn expand(text: &str, tab: usize) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() || is_invisible(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut column = 0;
    for character in text.chars() {
        if character == '\t' {
            let spaces = tab - column % tab;
            safe.extend(std::iter::repeat_n(' ', spaces));
            column += spaces;
        } else {
            safe.push(visible(character));
            column += 1;
        }
    }
    Cow::Owned(safe)
}

/// One line of text: line breaks become `↵`.
pub fn line(text: &str) -> String {
    expand(&text.trim_end().replace('\n', " ↵ "), 4).into_owned()
}

/// What is drawn for a character.
pub fn visible(character: char) -> char {
    match character {
        '\u{7f}' => '␡',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or('·'),
        '\u{80}'..='\u{9f}' => '·',
        _ if is_invisible(character) => '·',
        _ => character,
    }
}

const fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        assert_eq!(expand("a\u{1b}[31mb", 4), "a␛[31mb");
        assert_eq!(expand("x\ty\u{7f}\u{9b}\u{202e}z", 4), "x   y␡··z");
        assert_eq!(line("one\ntwo\r\n"), "one ↵ two");
        assert!(matches!(expand("plain", 4), Cow::Borrowed(_)));
    }
}
