//! Completion of a partly typed name.
//!
//! `m1pro` fits `mac-m1-pro-perf`: its letters and digits occur there in the same order, in one
//! piece, since signs between them do not count. The fewer the pieces, the better a name fits, and
//! of two names in as many pieces the shorter one. Where no name has all letters, similar names
//! fit: `linx-perf` is `linux-perf`.

use super::similar::near;

/// Longer text is not part of a name.
const MAX_NAME_BYTES: usize = 200;

/// The names that fit the typed text, the best first: all of them, in their order, as long as no
/// letter or digit was typed. Upper and lower case are the same.
///
/// Cost: a step for each letter that was typed and each letter of a name.
pub fn completions<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names: Vec<&str> = names.collect();
    if letters(typed).is_empty() {
        return names;
    }
    let fitting = fitting(typed, names.iter().copied());
    match fitting.is_empty() {
        true => near(typed, names.into_iter()),
        false => fitting,
    }
}

/// The names that have all letters in order, the best first; none for an empty text.
pub(super) fn fitting<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if typed.len() > MAX_NAME_BYTES {
        return Vec::new();
    }
    let typed = letters(typed);
    let fits = |name: &'a str| Some((pieces(&typed, &letters(name))?, name.len(), name));
    let mut fitting: Vec<_> = names.filter_map(fits).collect();
    fitting.sort_unstable();
    fitting.into_iter().map(|(.., name)| name).collect()
}

fn letters(text: &str) -> Vec<char> {
    let letters = text.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The fewest pieces of a name that make up the typed text, in order.
fn pieces(typed: &[char], name: &[char]) -> Option<usize> {
    // For each letter of the name, the fewest pieces of the text so far that end there.
    let mut ending: Vec<Option<usize>> = vec![None; name.len()];
    for (number, letter) in typed.iter().enumerate() {
        let mut fewest = (number == 0).then_some(0);
        let mut just_before = None;
        for (at, its) in ending.iter_mut().zip(name) {
            let before = *at;
            let begun = fewest.map(|pieces| pieces + 1);
            let ends = just_before.into_iter().chain(begun).min();
            *at = ends.filter(|_| its == letter);
            fewest = fewest.into_iter().chain(before).min();
            just_before = before;
        }
    }
    ending.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTS: [&str; 5] = [
        "android-pixel6-pro-perf",
        "linux-perf",
        "mac-m1-pro-perf",
        "mac-m1_mini_2020-perf",
        "win-10-perf",
    ];

    #[test]
    fn names_fit_that_have_what_was_typed_in_order() {
        let of = |typed: &str| completions(typed, BOTS.into_iter());
        assert_eq!(of(""), BOTS);
        assert_eq!(of(" - "), BOTS);
        assert_eq!(of("m1pro"), ["mac-m1-pro-perf"]);
        assert_eq!(of("M1 Mini"), ["mac-m1_mini_2020-perf"]);
        assert_eq!(of("linux-perf"), ["linux-perf"]);
        // In one piece, the shortest first, and then in more.
        assert_eq!(of("pro"), ["mac-m1-pro-perf", "android-pixel6-pro-perf"]);
        assert_eq!(of("macperf"), ["mac-m1-pro-perf", "mac-m1_mini_2020-perf"]);
        assert_eq!(of("properf")[0], "mac-m1-pro-perf");
        // A letter too many, or another one.
        assert_eq!(of("linuux-perf")[0], "linux-perf");
        assert_eq!(of("lunix-perf")[0], "linux-perf");
        assert!(of("zzz").is_empty());
        assert!(of(&"m".repeat(10_000)).is_empty());
    }

    #[test]
    fn pieces_are_as_few_as_there_can_be() {
        let of = |typed: &str, name: &str| pieces(&letters(typed), &letters(name));
        assert_eq!(of("perf", "mac-pro-perf"), Some(1));
        assert_eq!(of("mperf", "mac-pro-perf"), Some(2));
        assert_eq!(of("mpp", "mac-pro-perf"), Some(3));
        assert_eq!(of("aab", "ab-aab"), Some(1));
        assert_eq!(of("perfp", "mac-pro-perf"), None);
        assert_eq!(of("a", ""), None);
    }
}
