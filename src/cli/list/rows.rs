//! The lists made from what the caller found: devices and themes.

use serde_json::json;

use super::Listing;
use crate::cli::table::{Align, Table};
use crate::device::{DeviceInfo, DeviceKind};
use crate::units;

/// A theme as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    pub name: String,
    /// The file, unless it is built in.
    pub file: Option<std::path::PathBuf>,
    /// What is wrong with it, if anything.
    pub problem: Option<String>,
}

pub(super) fn devices(devices: &[DeviceInfo]) -> Listing {
    let mut table = Table::new([
        ("DEVICE", Align::Left),
        ("NAME", Align::Left),
        ("KIND", Align::Left),
        ("PROFILE", Align::Left),
        ("MEMORY", Align::Right),
    ]);
    let mut rows = Vec::new();
    for device in devices {
        let kind = match device.kind {
            DeviceKind::Cuda => "cuda",
            DeviceKind::Emulator => "emulator",
            DeviceKind::Mock => "mock",
        };
        table.row([
            device.id.clone(),
            device.name.clone(),
            kind.to_owned(),
            device.profile.clone(),
            units::bytes(device.memory_bytes as f64),
        ]);
        rows.push(json!({
            "id": device.id,
            "name": device.name,
            "kind": kind,
            "profile": device.profile,
            "memory_bytes": device.memory_bytes,
        }));
    }
    Listing {
        name: "devices",
        rows,
        table,
        notes: Vec::new(),
    }
}

pub(super) fn themes(themes: &[Theme]) -> Listing {
    let mut table = Table::new([("THEME", Align::Left), ("WHERE", Align::Left), ("STATUS", Align::Left)]);
    let mut rows = Vec::new();
    for theme in themes {
        let file = theme.file.as_ref().map(|file| file.display().to_string());
        table.row([
            theme.name.clone(),
            file.clone().unwrap_or_else(|| "built in".to_owned()),
            theme.problem.clone().unwrap_or_else(|| "ok".to_owned()),
        ]);
        rows.push(json!({"name": theme.name, "file": file, "problem": theme.problem}));
    }
    Listing {
        name: "themes",
        rows,
        table,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn themes_show_what_is_wrong() {
        let theme = Theme {
            name: "mine".to_owned(),
            file: Some("mine.toml".into()),
            problem: Some("no colour `text`".to_owned()),
        };
        let listing = themes(&[theme]);
        assert_eq!(
            listing.table.render(),
            "THEME  WHERE      STATUS\nmine   mine.toml  no colour `text`"
        );
        assert_eq!(listing.rows[0]["problem"], "no colour `text`");
    }
}
