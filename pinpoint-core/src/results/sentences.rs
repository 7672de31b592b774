//! A sentence that gives the only value of an output, `sorted 1000000 items in 1.30 seconds`.
//!
//! Prose is read only where nothing else can be meant: one sentence of the output ends with a time,
//! and no other line has a number, except those that tools write about themselves. Counts are left
//! out of the name, since they may differ between two commits.

use std::sync::LazyLock;

use regex::Regex;

use super::log_prefix::without_prefix;
use super::number::{self, Number, Printed};
use super::text::shown;
use super::tool_lines::is_of_a_tool;
use crate::convert_factor;
use crate::unit::is_measure;

/// A sentence that ends with a time.
#[derive(Debug, PartialEq)]
pub(super) struct Sentence<'a> {
    /// The index of its line, from 0.
    pub(super) index: usize,
    /// The words before the time, without counts.
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'a str,
}

static SENTENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let sentence = r"^(?<name>\pL.*?)[\s,:]+(?:in|took)\s+(?:about\s+|~)?(?<value>[0-9][0-9.,eE+-]*)\s*(?<unit>[a-zµμ]+)[.!]?$";
    Regex::new(sentence).ok()
});

/// Words of programs about their start, their build or a wait, which are seldom the benchmark.
const NOT_MEASURED: [&str; 26] = [
    "again",
    "built",
    "bundled",
    "compiled",
    "compiling",
    "downloaded",
    "expires",
    "idle",
    "initialized",
    "installed",
    "linked",
    "listening",
    "loaded",
    "loading",
    "ready",
    "resolved",
    "restarting",
    "retry",
    "retrying",
    "setup",
    "started",
    "starting",
    "startup",
    "timeout",
    "waited",
    "waiting",
];

/// The only value of an output, if a sentence gives it.
pub(super) fn only_sentence(text: &str) -> Option<Sentence<'_>> {
    let mut only = None;
    for (index, line) in text.lines().enumerate() {
        let message = without_prefix(shown(line)).trim();
        let has_number = message.contains(|letter: char| letter.is_ascii_digit());
        if !has_number || is_of_a_tool(message) {
            continue;
        }
        if only.replace(sentence(index, message)?).is_some() {
            return None;
        }
    }
    only
}

fn sentence(index: usize, message: &str) -> Option<Sentence<'_>> {
    // Most lines of a log have none, and are skipped.
    if !message.contains(" in ") && !message.contains(" took ") {
        return None;
    }
    let found = SENTENCE.as_ref()?.captures(message)?;
    let unit = found.name("unit")?.as_str();
    convert_factor(unit, "s")?;
    let Printed::Sure(Number::Finite(value)) = number::printed(found.name("value")?.as_str())?
    else {
        return None;
    };
    let words: Vec<&str> = found.name("name")?.as_str().split_whitespace().collect();
    let is_count = |at: usize| !words[at].contains(char::is_alphabetic);
    let is_size = |at: usize| at > 0 && is_count(at - 1) && is_measure(words[at]);
    let words: Vec<&str> = (0..words.len())
        .filter(|at| !is_count(*at) && !is_size(*at))
        .map(|at| words[at])
        .collect();
    let is_measured = !words.iter().any(|word| {
        let word = word.trim_matches(|letter: char| !letter.is_alphabetic());
        NOT_MEASURED.contains(&word.to_lowercase().as_str())
    });
    is_measured.then(|| Sentence {
        index,
        name: words.join(" "),
        value,
        unit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(String, f64, &str)> {
        only_sentence(text).map(|found| (found.name, found.value, found.unit))
    }

    #[test]
    fn the_only_sentence_with_a_time_is_read() {
        for (text, name, value, unit) in [
            (
                "sorted 1000000 items in 1.30 seconds",
                "sorted items",
                1.3,
                "seconds",
            ),
            (
                "start\nthe query took 12.5ms.\nend\n",
                "the query",
                12.5,
                "ms",
            ),
            (
                "12:00:01 INFO parsed 3 files in 5 s",
                "parsed files",
                5.0,
                "s",
            ),
            (
                "Downloaded 3 crates (1 MB) in 2s\ndone in 12 ms",
                "done",
                12.0,
                "ms",
            ),
        ] {
            assert_eq!(read(text), Some((name.to_owned(), value, unit)), "{text}");
        }
    }

    #[test]
    fn other_prose_is_not_read() {
        for text in [
            "",
            "sorted in 5 ms\nparsed in 6 ms",
            "sorted in 5 ms\nlatency 7 ms",
            "sorted in 5 ms\n12.5",
            "run 1 of 3\nsorted in 5 ms",
            "sorted in 1,234 ms",
            "server ready in 320 ms",
            "retrying in 5 s",
            "written in 2 files",
            "released in 2026",
            "in 5 ms",
            "5 in 5 ms",
            "took 5 ms or so",
            "sorted in 5 MB",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
