//! The lists of what is on this machine: devices and themes.

use serde_json::json;

use super::Listing;
use crate::cli::table::{Align, Table};
use crate::device::{self, DeviceKind};
use crate::tui::theme;
use crate::units;

pub(super) fn devices() -> Listing {
    let (found, reason) = device::enumerate();
    device_list(&found, reason)
}

/// `reason` says why there is no CUDA device, where there is none.
fn device_list(found: &[device::Listing], reason: Option<String>) -> Listing {
    let mut table = Table::new([
        ("DEVICE", Align::Left),
        ("NAME", Align::Left),
        ("PROFILE", Align::Left),
        ("MEMORY", Align::Right),
        ("NOTE", Align::Left),
    ]);
    let mut rows = Vec::new();
    for device in found {
        let kind = match device.kind {
            DeviceKind::Cuda => "cuda",
            DeviceKind::Emulator => "emulator",
            DeviceKind::Mock => "mock",
        };
        table.row([
            device.id.clone(),
            device.name.clone(),
            device.profile.clone(),
            units::bytes(device.memory_bytes as f64),
            device.note.clone(),
        ]);
        rows.push(json!({
            "id": device.id,
            "name": device.name,
            "kind": kind,
            "profile": device.profile,
            "memory_bytes": device.memory_bytes,
            "note": device.note,
        }));
    }
    let why = |reason| format!("No CUDA device: {reason}. `ridgepoint doctor` says what to do.");
    Listing {
        name: "devices",
        rows,
        table,
        notes: reason.map(why).into_iter().collect(),
    }
}

pub(super) fn themes() -> Listing {
    let folder = theme::user_folder();
    let mut table = Table::new([("THEME", Align::Left), ("STATUS", Align::Left)]);
    let mut rows = Vec::new();
    for name in theme::names(folder.as_deref()) {
        let (_, warnings) = theme::by_name(&name, folder.as_deref());
        let problems: Vec<String> = warnings.into_iter().map(|warning| warning.message).collect();
        let status = if problems.is_empty() {
            "ok".to_owned()
        } else {
            problems.join("; ")
        };
        table.row([name.clone(), status]);
        rows.push(json!({"name": name, "problems": problems}));
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
    fn a_machine_without_a_gpu_says_why() {
        let device = device::Listing {
            id: "emulator:h200".to_owned(),
            name: "PTX emulator".to_owned(),
            kind: DeviceKind::Emulator,
            profile: "h200".to_owned(),
            memory_bytes: 2_000_000_000,
            note: "no times".to_owned(),
        };
        let listing = device_list(&[device], Some("no driver".to_owned()));
        let text = listing.text();
        assert!(
            text.contains("emulator:h200  PTX emulator  h200     2.00 GB  no times"),
            "{text}"
        );
        assert!(
            text.ends_with("No CUDA device: no driver. `ridgepoint doctor` says what to do."),
            "{text}"
        );
        assert_eq!(listing.rows[0]["kind"], "emulator");
    }

    #[test]
    fn the_built_in_themes_are_listed() {
        let names: Vec<_> = themes().rows.iter().map(|row| row["name"].clone()).collect();
        assert!(
            names.contains(&json!("dark")) && names.contains(&json!("light")),
            "{names:?}"
        );
    }
}
