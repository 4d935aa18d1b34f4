//! Reading theme files: the built-in ones and the user's. A faulty file still gives a theme, and says what is wrong with it.

use std::fmt;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use super::{Rgb, Slot, Theme};
use crate::dirs::Dirs;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/themes");

/// The theme used where none is asked for, and the source of colours that a user's theme leaves out.
pub const DEFAULT: &str = "dark";

/// Something wrong with a theme file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub file: String,
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "theme {}: {}", self.file, self.message)
    }
}

/// Built-in themes by name, in alphabetical order.
pub fn built_in() -> Vec<(String, &'static str)> {
    let mut themes: Vec<_> = BUILT_IN
        .files()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|file| Some((file.path().file_stem()?.to_str()?.to_owned(), file.contents_utf8()?)))
        .collect();
    themes.sort();
    themes
}

/// The folder in which a user's own themes are looked for.
pub fn user_folder() -> Option<PathBuf> {
    Some(Dirs::find()?.config.join("themes"))
}

/// Names of all themes: the built-in ones and those in the user's folder.
pub fn names(user: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = built_in().into_iter().map(|(name, _)| name).collect();
    let entries = user.and_then(|folder| std::fs::read_dir(folder).ok());
    for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "toml")
            && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    names
}

/// A theme by name: the user's file of that name before the built-in one; the default where there is neither.
pub fn by_name(name: &str, user: Option<&Path>) -> (Theme, Vec<Warning>) {
    if let Some(path) = user.map(|folder| folder.join(format!("{name}.toml")))
        && let Ok(text) = std::fs::read_to_string(&path)
    {
        return parse(&path.display().to_string(), &text);
    }
    if let Some((file, text)) = built_in().into_iter().find(|(known, _)| known == name) {
        return parse(&file, text);
    }
    let (theme, mut warnings) = default();
    warnings.push(Warning {
        file: name.to_owned(),
        message: format!("there is no such theme; there are {}", names(user).join(", ")),
    });
    (theme, warnings)
}

fn default() -> (Theme, Vec<Warning>) {
    let text = BUILT_IN
        .get_file(format!("{DEFAULT}.toml"))
        .and_then(|file| file.contents_utf8())
        .unwrap_or_default();
    parse(DEFAULT, text)
}

/// Reads a theme file.
pub fn parse(file: &str, text: &str) -> (Theme, Vec<Warning>) {
    let mut warnings = Vec::new();
    let mut warn = |message: String| {
        warnings.push(Warning {
            file: file.to_owned(),
            message,
        });
    };
    let table: toml::Table = text.parse().unwrap_or_else(|error: toml::de::Error| {
        warn(error.to_string().trim_end().to_owned());
        toml::Table::new()
    });
    let fallback = if file == DEFAULT {
        vec![Rgb(128, 128, 128); Slot::ALL.len()]
    } else {
        default().0.rgb
    };
    let rgb = Slot::ALL
        .iter()
        .zip(fallback)
        .map(|(slot, fallback)| {
            let (section, key) = slot.path();
            let value = table.get(section).and_then(|section| section.get(key));
            let parsed = match value {
                None => Err(format!("`{key}` is missing in [{section}]")),
                Some(toml::Value::String(text)) => text.parse().map_err(|error| format!("[{section}] {key}: {error}")),
                Some(other) => Err(format!("[{section}] {key}: `{other}` is not a text like \"#rrggbb\"")),
            };
            parsed.unwrap_or_else(|message| {
                warn(message);
                fallback
            })
        })
        .collect();
    for message in unknown(&table) {
        warn(message);
    }
    let text_of = |key: &str| {
        table
            .get(key)
            .and_then(toml::Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    (Theme::new(text_of("name"), text_of("about"), rgb), warnings)
}

/// Entries that no slot reads.
fn unknown(table: &toml::Table) -> Vec<String> {
    let mut found = Vec::new();
    for (section, value) in table {
        match value {
            toml::Value::Table(keys) => {
                for key in keys.keys() {
                    if !Slot::ALL.iter().any(|slot| slot.path() == (section, key)) {
                        found.push(format!("nothing is called `{key}` in [{section}]"));
                    }
                }
            }
            _ if matches!(section.as_str(), "name" | "about") => {}
            _ => found.push(format!("nothing is called `{section}`")),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::contrast;
    use super::*;

    /// WCAG 2.2 level AA for normal text.
    const READABLE: f64 = 4.5;
    /// WCAG 2.2 for large text and pictures; comments and chart marks are held to it.
    const VISIBLE: f64 = 3.0;

    #[test]
    fn built_in_themes_load_without_a_warning() {
        let themes = built_in();
        assert!(themes.len() >= 2);
        for (name, text) in themes {
            let (theme, warnings) = parse(&name, text);
            assert_eq!(warnings, []);
            assert_eq!(theme.name, name);
        }
    }

    #[test]
    fn built_in_themes_are_readable() {
        for (name, text) in built_in() {
            let theme = parse(&name, text).0;
            for &slot in Slot::ALL {
                let floor = match slot {
                    Slot::Background | Slot::Faint | Slot::Selection | Slot::CursorLine => continue,
                    Slot::Ramp1 | Slot::Ramp2 | Slot::Ramp3 | Slot::Ramp4 | Slot::Ramp5 => 2.0,
                    Slot::Comment => VISIBLE,
                    _ => READABLE,
                };
                for ground in [Slot::Background, Slot::CursorLine] {
                    let ratio = contrast(theme.rgb(slot), theme.rgb(ground));
                    assert!(ratio >= floor, "{name}: {slot:?} on {ground:?} has contrast {ratio:.2}");
                }
            }
            let selected = contrast(theme.rgb(Slot::Text), theme.rgb(Slot::Selection));
            assert!(
                selected >= READABLE,
                "{name}: text on selection has contrast {selected:.2}"
            );
        }
    }

    #[test]
    fn a_faulty_theme_says_what_is_wrong_and_still_loads() {
        let (theme, warnings) = parse("mine", "[ui]\ntext = \"red\"\naccent = 3\nextra = \"#000000\"\n");
        let messages: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        let all = messages.join("\n");
        assert!(all.contains("`red` is not a colour"), "{all}");
        assert!(all.contains("accent: `3` is not a text"), "{all}");
        assert!(all.contains("nothing is called `extra`"), "{all}");
        assert!(all.contains("`good` is missing in [ui]"), "{all}");
        assert_eq!(theme.rgb(Slot::Text), default().0.rgb(Slot::Text));
    }
}
