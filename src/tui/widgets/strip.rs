//! One cell for each shape: not run, failed, or how near the roof. Every state has a form of its own beside its colour.

use super::row::Row;
use crate::tui::model::Seen;
use crate::tui::theme::Slot;
use crate::verdict::Class;

/// The strip of shapes in order; `None` for a shape that was never run.
pub fn strip<'a>(shapes: impl Iterator<Item = Option<&'a Seen>>, width: usize) -> Row {
    let all: Vec<Option<&Seen>> = shapes.collect();
    let mut row = Row::new();
    for index in 0..all.len().min(width) {
        // Where there are more shapes than cells, a cell shows the worst of those it stands for.
        let from = index * all.len() / all.len().min(width);
        let until = ((index + 1) * all.len() / all.len().min(width)).max(from + 1);
        let worst = all[from..until]
            .iter()
            .max_by_key(|seen| badness(**seen))
            .copied()
            .flatten();
        let (character, slot) = cell(worst);
        row.push(slot, character);
    }
    row
}

fn badness(seen: Option<&Seen>) -> u8 {
    match seen {
        None => 0,
        Some(seen) if seen.class == Class::Passed => 1,
        Some(_) => 2,
    }
}

fn cell(seen: Option<&Seen>) -> (&'static str, Slot) {
    match seen {
        None => ("·", Slot::Muted),
        Some(seen) if seen.class != Class::Passed => ("✕", Slot::Bad),
        Some(Seen { fraction: None, .. }) => ("■", Slot::Good),
        Some(Seen {
            fraction: Some(fraction),
            ..
        }) => {
            const LEVELS: [&str; 5] = ["▂", "▃", "▅", "▆", "█"];
            let level = (fraction.clamp(0.0, 1.0) * LEVELS.len() as f64) as usize;
            (LEVELS[level.min(LEVELS.len() - 1)], Slot::ramp(*fraction))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_however_narrow_the_strip_is() {
        let passed = Seen {
            class: Class::Passed,
            fraction: Some(0.9),
            median_us: Some(1.0),
        };
        let failed = Seen {
            class: Class::WrongNumbers,
            ..passed
        };
        let shapes: Vec<Option<&Seen>> = (0..40)
            .map(|index| Some(if index == 17 { &failed } else { &passed }))
            .collect();
        for width in [1, 7, 40, 80] {
            let strip = strip(shapes.iter().copied(), width).plain();
            assert_eq!(strip.chars().count(), width.min(40));
            assert!(strip.contains('✕'), "{width}: {strip}");
        }
    }
}
