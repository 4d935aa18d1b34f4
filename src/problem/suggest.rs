//! "Did you mean": the known names nearest to a mistyped one.

/// Most names suggested at once.
const MOST: usize = 3;
/// Similarity (Jaro-Winkler, 0 to 1) from which a name is worth suggesting; typing slips in names of 5 letters or more stay above it.
const SIMILAR: f64 = 0.8;

/// Up to three known names that resemble `typed`, nearest first.
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase().replace('-', "_");
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|name| (score(&typed, name), name))
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, name)| *name);
    scored.truncate(MOST);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// A part of the name counts as much as a slip: `softmax` finds `moe_topk_gating_softmax`.
fn score(typed: &str, name: &str) -> f64 {
    let plain = |text: &str| text.replace('_', "");
    let similarity = strsim::jaro_winkler(&plain(typed), &plain(name));
    if typed.len() >= 3 && plain(name).contains(&plain(typed)) {
        similarity.max(SIMILAR)
    } else {
        similarity
    }
}

/// The end of an error message: `; did you mean ...?`, or nothing.
pub fn hint(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = [
        "rms_norm",
        "gated_rms_norm",
        "layer_norm",
        "moe_topk_gating_softmax",
        "mrope",
    ];

    #[test]
    fn slips_and_parts_are_found() {
        assert_eq!(nearest("rmsnorm", KNOWN)[0], "rms_norm");
        assert_eq!(nearest("RMS-nrom", KNOWN)[0], "rms_norm");
        assert_eq!(nearest("softmax", KNOWN), ["moe_topk_gating_softmax"]);
        assert!(nearest("convolution", KNOWN).is_empty());
    }

    #[test]
    fn hints_read_as_a_question() {
        assert_eq!(hint(&[]), "");
        assert_eq!(hint(&["a"]), "; did you mean `a`?");
        assert_eq!(hint(&["a", "b", "c"]), "; did you mean `a`, `b` or `c`?");
    }
}
