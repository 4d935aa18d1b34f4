//! The Operators screen: which operators are listed, in which order, and which one is selected.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::CatalogueData;

/// The list's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sorting {
    #[default]
    Weight,
    Name,
}

impl Sorting {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weight => "by weight",
            Self::Name => "by name",
        }
    }

    pub const fn next(self) -> Self {
        match self {
            Self::Weight => Self::Name,
            Self::Name => Self::Weight,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorsState {
    pub filter: String,
    pub sorting: Sorting,
    /// Indices into the catalogue's operators, in the order shown.
    pub visible: Vec<usize>,
    /// Index into `visible`.
    pub selected: usize,
}

impl OperatorsState {
    /// Works out the list again, keeping the selected operator where it is still listed.
    pub fn refresh(&mut self, catalogue: &CatalogueData) {
        let kept = self.visible.get(self.selected).copied();
        self.visible = if self.filter.is_empty() {
            self.sorted(catalogue)
        } else {
            matching(&self.filter, catalogue)
        };
        self.selected = kept
            .and_then(|kept| self.visible.iter().position(|&index| index == kept))
            .filter(|_| self.filter.is_empty())
            .unwrap_or(0);
    }

    fn sorted(&self, catalogue: &CatalogueData) -> Vec<usize> {
        let mut order: Vec<usize> = (0..catalogue.operators.len()).collect();
        let operators = &catalogue.operators;
        order.sort_by(|&a, &b| {
            let (a, b) = (&operators[a], &operators[b]);
            let suites = a.suite.cmp(&b.suite);
            let within = match self.sorting {
                Sorting::Weight => b.weight.total_cmp(&a.weight),
                Sorting::Name => std::cmp::Ordering::Equal,
            };
            suites.then(within).then_with(|| a.name.cmp(&b.name))
        });
        order
    }
}

/// Operators whose names match, best first.
fn matching(filter: &str, catalogue: &CatalogueData) -> Vec<usize> {
    let names = catalogue.operators.iter().map(|operator| operator.name.as_str());
    rank(filter, names)
}

/// Indices of the texts that match a pattern, best first; fuzzy, as fzf understands patterns.
pub fn rank<'a>(pattern: &str, texts: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(pattern, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut scored: Vec<(u32, usize)> = texts
        .enumerate()
        .filter_map(|(index, text)| {
            let score = pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)?;
            Some((score, index))
        })
        .collect();
    scored.sort_by_key(|&(score, index)| (std::cmp::Reverse(score), index));
    scored.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_is_fuzzy_and_ranked() {
        let names = ["rms_norm", "layer_norm", "fused_add_rms_norm", "softmax"];
        assert_eq!(rank("rms", names.into_iter()), [0, 2]);
        assert_eq!(rank("lnorm", names.into_iter())[0], 1);
        assert!(rank("zzz", names.into_iter()).is_empty());
    }
}
