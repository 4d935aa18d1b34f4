//! Memory arithmetic before anything is allocated: what a shape needs, tensor by tensor.

use crate::verdict::{Class, Evidence, Outcome, Verdict};

/// What one buffer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The tensor's or scratch buffer's name.
    pub name: String,
    /// What it is for: "input", "output", "reference output", "scratch".
    pub purpose: &'static str,
    pub bytes: u64,
}

/// Everything that one shape needs at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(pub Vec<Need>);

/// Bytes that guard bands and alignment may add to each buffer.
const PER_BUFFER_OVERHEAD: u64 = 8 << 10;

impl Needs {
    pub fn add(&mut self, name: &str, purpose: &'static str, bytes: u64) {
        self.0.push(Need {
            name: name.to_owned(),
            purpose,
            bytes,
        });
    }

    /// The sum, saturating: a nonsensical scratch size must not wrap around into a small one.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum: u64, need| {
            sum.saturating_add(need.bytes).saturating_add(PER_BUFFER_OVERHEAD)
        })
    }

    /// # Errors
    /// `out_of_memory`, naming every buffer with its size, where the sum exceeds `free` bytes.
    pub fn check(&self, free: u64) -> Outcome<()> {
        let total = self.total();
        if total <= free {
            return Ok(());
        }
        let mut verdict = Verdict::new(
            Class::OutOfMemory,
            format!(
                "this shape needs {} and the device has {} free",
                human(total),
                human(free)
            ),
        );
        let mut largest = self.0.clone();
        largest.sort_by_key(|need| std::cmp::Reverse(need.bytes));
        for need in largest {
            verdict = verdict.with(Evidence::Note {
                text: format!("{} `{}` needs {}", need.purpose, need.name, human(need.bytes)),
            });
        }
        verdict.fail()
    }
}

/// Bytes with a binary unit: `1.5 GiB`.
fn human(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_each_buffer_needs() {
        let mut needs = Needs::default();
        needs.add("x", "input", 64 << 20);
        needs.add("partial", "scratch", 1 << 40);
        assert!(needs.check(1 << 41).is_ok());
        let verdict = needs.check(8 << 30).unwrap_err();
        assert_eq!(verdict.class, Class::OutOfMemory);
        let Evidence::Note { text } = &verdict.evidence[0] else {
            panic!("a note was expected")
        };
        assert!(text.contains("scratch `partial`"), "{text}");
    }

    #[test]
    fn the_sum_saturates() {
        let mut needs = Needs::default();
        needs.add("a", "scratch", u64::MAX);
        needs.add("b", "scratch", 8);
        assert_eq!(needs.total(), u64::MAX);
    }
}
