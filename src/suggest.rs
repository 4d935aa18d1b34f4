//! "Did you mean": the known name nearest to one that is not known.

/// Jaro-Winkler similarity under which a name is no suggestion: below it, unrelated short names begin to match.
const LEAST_SIMILARITY: f64 = 0.78;
/// The similarity that one wrong, missing, additional or swapped character counts as.
const SLIP: f64 = 0.9;

/// The candidate most like `name`, if one is like it at all.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (similarity(&name, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= LEAST_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn similarity(name: &str, candidate: &str) -> f64 {
    let similarity = strsim::jaro_winkler(name, candidate);
    // One slip of the finger in a short name, which Jaro-Winkler's matching window misses.
    let slip = name.len() >= 3 && strsim::damerau_levenshtein(name, candidate) == 1;
    if slip { similarity.max(SLIP) } else { similarity }
}

/// `; did you mean `x`?`, or nothing: the tail of an error message.
pub fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, candidates).map_or_else(String::new, |candidate| format!("; did you mean `{candidate}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["token_count", "hidden_size", "eps", "grid"];
        assert_eq!(closest("token_cout", known), Some("token_count"));
        assert_eq!(closest("gird", known), Some("grid"));
        assert_eq!(closest("uot", ["x", "out"]), Some("out"));
        assert_eq!(closest("Hidden_Size", known), Some("hidden_size"));
        assert_eq!(closest("weight", known), None);
        assert_eq!(hint("esp", known), "; did you mean `eps`?");
        assert_eq!(hint("zzz", known), "");
    }
}
