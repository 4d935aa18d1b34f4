//! Themes: semantic colour slots, and the styles that views ask for. Views name a slot, never a colour.

mod colour;
mod load;

pub use colour::{Depth, Rgb, contrast};
pub use load::{DEFAULT, Warning, built_in, by_name, names, parse, user_folder};

use ratatui::style::{Color, Modifier, Style};

use crate::plot::Tone;

macro_rules! slots {
    ($($slot:ident $section:literal $key:literal $letter:literal $ansi:ident;)*) => {
        /// What a colour is for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Slot { $($slot),* }

        impl Slot {
            pub const ALL: &'static [Self] = &[$(Self::$slot),*];

            /// Section and key in a theme file.
            pub const fn path(self) -> (&'static str, &'static str) {
                match self { $(Self::$slot => ($section, $key)),* }
            }

            /// One letter, for pictures of styles in tests.
            pub const fn letter(self) -> char {
                match self { $(Self::$slot => $letter),* }
            }

            /// The colour on a terminal with 16 colours, whose palette the user has chosen.
            const fn ansi(self) -> Color {
                match self { $(Self::$slot => Color::$ansi),* }
            }
        }
    };
}

slots! {
    Background "ui" "background" ' ' Reset;
    Text "ui" "text" 't' Reset;
    Muted "ui" "muted" 'm' DarkGray;
    Faint "ui" "faint" 'f' DarkGray;
    Accent "ui" "accent" 'a' Cyan;
    Selection "ui" "selection" 'S' DarkGray;
    CursorLine "ui" "cursor_line" 'C' Reset;
    Good "ui" "good" 'g' Green;
    Bad "ui" "bad" 'b' Red;
    Warning "ui" "warning" 'w' Yellow;
    Info "ui" "info" 'i' Blue;
    Keyword "syntax" "keyword" 'k' Magenta;
    Type "syntax" "type" 'y' Blue;
    Function "syntax" "function" 'u' Reset;
    String "syntax" "string" 's' Green;
    Number "syntax" "number" 'n' Yellow;
    Comment "syntax" "comment" 'c' DarkGray;
    Preprocessor "syntax" "preprocessor" 'p' Magenta;
    Operator "syntax" "operator" 'o' Reset;
    Builtin "syntax" "builtin" 'B' Cyan;
    Register "syntax" "register" 'r' Yellow;
    Label "syntax" "label" 'l' Yellow;
    Series1 "charts" "series1" '1' Cyan;
    Series2 "charts" "series2" '2' Yellow;
    Series3 "charts" "series3" '3' Blue;
    Series4 "charts" "series4" '4' Magenta;
    Series5 "charts" "series5" '5' Green;
    Series6 "charts" "series6" '6' Red;
    Ramp1 "charts" "ramp1" '7' DarkGray;
    Ramp2 "charts" "ramp2" '8' Blue;
    Ramp3 "charts" "ramp3" '9' Cyan;
    Ramp4 "charts" "ramp4" 'G' Green;
    Ramp5 "charts" "ramp5" 'L' LightGreen;
}

impl Slot {
    const SERIES: [Self; 6] = [
        Self::Series1,
        Self::Series2,
        Self::Series3,
        Self::Series4,
        Self::Series5,
        Self::Series6,
    ];
    const RAMP: [Self; 5] = [Self::Ramp1, Self::Ramp2, Self::Ramp3, Self::Ramp4, Self::Ramp5];

    /// The ramp's colour for a share from 0 to 1.
    pub fn ramp(share: f64) -> Self {
        let steps = Self::RAMP.len();
        let step = (share.clamp(0.0, 1.0) * steps as f64) as usize;
        Self::RAMP[step.min(steps - 1)]
    }
}

impl From<Tone> for Slot {
    fn from(tone: Tone) -> Self {
        match tone {
            Tone::Accent => Self::Accent,
            Tone::Good => Self::Good,
            Tone::Bad => Self::Bad,
            Tone::Warning => Self::Warning,
            Tone::Muted => Self::Muted,
            Tone::Text => Self::Text,
            Tone::Series(number) => Self::SERIES[usize::from(number) % Self::SERIES.len()],
        }
    }
}

/// A loaded theme, its colours already those that the terminal can show.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    pub name: String,
    pub about: String,
    depth: Depth,
    rgb: Vec<Rgb>,
    colours: Vec<Color>,
}

impl Theme {
    fn new(name: String, about: String, rgb: Vec<Rgb>) -> Self {
        let mut theme = Self {
            name,
            about,
            depth: Depth::True,
            rgb,
            colours: Vec::new(),
        };
        theme.show_in(Depth::True);
        theme
    }

    /// A theme whose colours are the slots' numbers, so that a test can tell which slot a cell was drawn with.
    pub fn of_slots() -> Self {
        let rgb = vec![Rgb(0, 0, 0); Slot::ALL.len()];
        let colours = (0..Slot::ALL.len())
            .map(|number| Color::Indexed(number as u8))
            .collect();
        Self {
            name: "slots".to_owned(),
            about: String::new(),
            depth: Depth::Indexed,
            rgb,
            colours,
        }
    }

    /// Chooses the colours for what the terminal can show.
    pub fn show_in(&mut self, depth: Depth) {
        self.depth = depth;
        self.colours = Slot::ALL
            .iter()
            .zip(&self.rgb)
            .map(|(slot, rgb)| match depth {
                Depth::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
                Depth::Indexed => Color::Indexed(rgb.nearest_indexed()),
                Depth::Ansi => slot.ansi(),
                Depth::None => Color::Reset,
            })
            .collect();
    }

    pub fn colour(&self, slot: Slot) -> Color {
        self.colours[slot as usize]
    }

    /// The slot's colour as the theme file has it.
    pub fn rgb(&self, slot: Slot) -> Rgb {
        self.rgb[slot as usize]
    }

    /// Text in a slot's colour.
    pub fn style(&self, slot: Slot) -> Style {
        let style = Style::new().fg(self.colour(slot));
        match (self.depth, slot) {
            (Depth::None, Slot::Muted | Slot::Faint | Slot::Comment) => style.add_modifier(Modifier::DIM),
            (Depth::None, Slot::Accent | Slot::Bad) => style.add_modifier(Modifier::BOLD),
            _ => style,
        }
    }

    pub fn bold(&self, slot: Slot) -> Style {
        self.style(slot).add_modifier(Modifier::BOLD)
    }

    /// What everything is drawn on.
    pub fn base(&self) -> Style {
        Style::new()
            .fg(self.colour(Slot::Text))
            .bg(self.colour(Slot::Background))
    }

    /// Laid over a selected row: changes only the background where there are colours.
    pub fn selected(&self) -> Style {
        match self.depth {
            Depth::None | Depth::Ansi => Style::new().add_modifier(Modifier::REVERSED),
            _ => Style::new().bg(self.colour(Slot::Selection)),
        }
    }

    /// Laid over the line that the cursor is on.
    pub fn cursor_line(&self) -> Style {
        match self.depth {
            Depth::None | Depth::Ansi => Style::new(),
            _ => Style::new().bg(self.colour(Slot::CursorLine)),
        }
    }
}
