//! Colours: parsing, what a terminal can show, and contrast.

use std::str::FromStr;

/// An sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    True,
    Indexed,
    Ansi,
    None,
}

impl Depth {
    /// From `NO_COLOR`, `COLORTERM` and `TERM`, as <https://no-color.org> and common terminals define them.
    pub fn detect(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Self {
        let term = term.unwrap_or_default();
        if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" {
            Self::None
        } else if colorterm.is_some_and(|value| matches!(value, "truecolor" | "24bit")) || term.contains("direct") {
            Self::True
        } else if term.contains("256") {
            Self::Indexed
        } else {
            Self::Ansi
        }
    }
}

impl FromStr for Rgb {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text
            .strip_prefix('#')
            .filter(|digits| digits.len() == 6 && digits.chars().all(|c| c.is_ascii_hexdigit()));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let Some(value) = value else {
            return Err(format!("`{text}` is not a colour: write it as \"#rrggbb\""));
        };
        let [_, red, green, blue] = value.to_be_bytes();
        Ok(Self(red, green, blue))
    }
}

/// Steps of the 6x6x6 cube in xterm's 256-colour palette.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

impl Rgb {
    /// The nearest of xterm's 256 colours, from the cube (16..=231) and the greys (232..=255).
    pub fn nearest_indexed(self) -> u8 {
        let step = |value: u8| (0..6).min_by_key(|&index| CUBE[index].abs_diff(value)).unwrap_or(0);
        let (red, green, blue) = (step(self.0), step(self.1), step(self.2));
        let cube = Self(CUBE[red], CUBE[green], CUBE[blue]);
        let average = (u32::from(self.0) + u32::from(self.1) + u32::from(self.2)) / 3;
        let grey_step = (average.saturating_sub(3) / 10).min(23) as u8;
        let grey = Self(8 + 10 * grey_step, 8 + 10 * grey_step, 8 + 10 * grey_step);
        if self.distance(grey) < self.distance(cube) {
            232 + grey_step
        } else {
            (16 + 36 * red + 6 * green + blue) as u8
        }
    }

    fn distance(self, other: Self) -> u32 {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(self.0, other.0) + square(self.1, other.1) + square(self.2, other.2)
    }

    /// Relative luminance as WCAG 2.2 defines it, 0 to 1.
    fn luminance(self) -> f64 {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }
}

/// Contrast ratio of two colours as WCAG 2.2 defines it, 1 to 21.
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let (a, b) = (a.luminance(), b.luminance());
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_parsed_strictly() {
        assert_eq!("#0a1Bff".parse(), Ok(Rgb(10, 27, 255)));
        for wrong in ["0a1bff", "#0a1bf", "#0a1bfg", "#éa1b", ""] {
            assert!(wrong.parse::<Rgb>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn indexed_colours_are_the_nearest() {
        assert_eq!(Rgb(0, 0, 0).nearest_indexed(), 16);
        assert_eq!(Rgb(255, 255, 255).nearest_indexed(), 231);
        assert_eq!(Rgb(255, 0, 0).nearest_indexed(), 196);
        assert_eq!(Rgb(18, 18, 18).nearest_indexed(), 233);
    }

    #[test]
    fn the_terminal_says_what_it_shows() {
        assert_eq!(Depth::detect(Some("1"), Some("truecolor"), Some("xterm")), Depth::None);
        assert_eq!(Depth::detect(Some(""), Some("truecolor"), Some("xterm")), Depth::True);
        assert_eq!(Depth::detect(None, None, Some("tmux-256color")), Depth::Indexed);
        assert_eq!(Depth::detect(None, None, Some("linux")), Depth::Ansi);
        assert_eq!(Depth::detect(None, None, Some("dumb")), Depth::None);
    }

    #[test]
    fn contrast_of_black_and_white_is_21() {
        assert!((contrast(Rgb(0, 0, 0), Rgb(255, 255, 255)) - 21.0).abs() < 1e-9);
    }
}
