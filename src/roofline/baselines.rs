//! Reference times: what other implementations took, on which machine and when. Embedded tables, one for each machine.

use std::sync::LazyLock;

use serde::Serialize;

/// Tables by machine profile.
const FILES: [&str; 1] = [include_str!("../../assets/baselines/h200.tsv")];

/// The reference times of one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Baselines {
    /// The machine profile's name.
    pub machine: String,
    pub date: String,
    /// Device, driver and libraries.
    pub about: String,
    pub method: String,
    pub entries: Vec<Baseline>,
}

/// What one implementation took for one shape. Measured, with a cold cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    pub operator: String,
    pub shape: String,
    /// `eager`, `torch_compile`, `torch_sdpa_cudnn`, ...
    pub implementation: String,
    /// Absent where it could not run; `note` says why.
    pub microseconds: Option<f64>,
    pub note: Option<String>,
}

impl Baselines {
    /// All reference times of one shape, fastest first; the ones without a time last.
    pub fn of(&self, operator: &str, shape: &str) -> Vec<&Baseline> {
        let mut found: Vec<&Baseline> = self
            .entries
            .iter()
            .filter(|entry| entry.operator == operator && entry.shape == shape)
            .collect();
        let time = |entry: &Baseline| entry.microseconds.unwrap_or(f64::INFINITY);
        found.sort_by(|a, b| time(a).total_cmp(&time(b)));
        found
    }
}

/// Every machine's reference times.
pub fn all() -> &'static [Baselines] {
    static ALL: LazyLock<Vec<Baselines>> = LazyLock::new(|| FILES.iter().filter_map(|text| read(text).ok()).collect());
    &ALL
}

/// The reference times of a machine profile, if there are any.
pub fn of_machine(profile: &str) -> Option<&'static Baselines> {
    all().iter().find(|baselines| baselines.machine == profile)
}

fn read(text: &str) -> Result<Baselines, String> {
    let mut table = Baselines::default();
    let mut heading = true;
    for (index, line) in text.lines().enumerate() {
        if let Some(comment) = line.strip_prefix("# ") {
            table.describe(comment);
        } else if heading {
            heading = false;
        } else {
            table
                .entries
                .push(row(line).ok_or_else(|| format!("line {}: `{line}` is not a row", index + 1))?);
        }
    }
    Ok(table)
}

impl Baselines {
    fn describe(&mut self, comment: &str) {
        let Some((key, value)) = comment.split_once(": ") else {
            return;
        };
        match key {
            "machine" => value.clone_into(&mut self.machine),
            "date" => value.clone_into(&mut self.date),
            "about" => value.clone_into(&mut self.about),
            "method" => value.clone_into(&mut self.method),
            _ => {}
        }
    }
}

fn row(line: &str) -> Option<Baseline> {
    let mut cells = line.split('\t');
    let mut next = || cells.next().map(str::to_owned);
    let (operator, shape, implementation, time) = (next()?, next()?, next()?, next()?);
    let note = next();
    let microseconds = time.parse().ok();
    if microseconds.is_none() && note.is_none() {
        return None;
    }
    Some(Baseline {
        operator,
        shape,
        implementation,
        microseconds,
        note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_reads() {
        for text in FILES {
            let table = read(text).unwrap();
            assert!(!table.machine.is_empty() && !table.date.is_empty() && !table.method.is_empty());
            assert!(!table.about.is_empty());
            assert!(table.entries.len() > 700);
        }
        assert_eq!(all().len(), FILES.len());
    }

    #[test]
    fn shapes_have_their_labelled_times() {
        let h200 = of_machine("h200").unwrap();
        assert_eq!(h200.date, "2026-12-01");
        let of: Vec<(&str, Option<f64>)> = h200
            .of("attention_forward", "8")
            .iter()
            .map(|entry| (entry.implementation.as_str(), entry.microseconds))
            .collect();
        assert_eq!(of[0], ("torch_sdpa_cudnn", Some(61_005.76)));
        assert_eq!(of.last(), Some(&("eager", Some(727_049.011))));
        let moe = h200.of("fp8_blockscale_fused_moe", "1");
        assert_eq!(
            (moe[0].microseconds, moe[0].note.as_deref()),
            (None, Some("out of memory"))
        );
        assert!(of_machine("h20").is_none());
    }
}
