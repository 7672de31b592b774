//! Names that may be meant by another one.

use super::completion;

/// At most three similar names, the nearest first.
pub(super) fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    /// At least half of the longer name is the same.
    const LIKENESS: f64 = 0.5;
    // No typo is that long, and the comparison takes the square of it.
    if name.len() > 200 {
        return Vec::new();
    }
    let asked = name.to_lowercase();
    let mut near: Vec<_> = names
        .map(|known| {
            let likeness = strsim::normalized_damerau_levenshtein(&asked, &known.to_lowercase());
            (likeness, known)
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    // Stable: names that are equally near stay in their order.
    near.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// At most three names that may be meant by this one: similar ones, or else those of which it is a
/// part or an abbreviation.
pub(super) fn near_names<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let mut meant = near(name, names.iter().copied());
    if meant.is_empty() {
        meant = completion::fitting(name, names.into_iter());
    }
    meant.into_iter().take(3).map(str::to_owned).collect()
}
