//! Several values on a line, `latency: p50=1.2ms p99=3.4ms`.
//!
//! Only a line of nothing but such pairs, after a label, can be read in one way. In `level=info
//! took=3ms` the other words may tell one measurement from another.

use super::log_prefix::without_prefix;
use super::number::{self, Number, Printed};
use crate::unit::is_measure;

/// A value and its name.
#[derive(Debug, PartialEq)]
pub(super) struct Pair<'a> {
    /// The label of the line and the name before the sign.
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: Option<&'a str>,
}

/// The values of a line that consists of them: two or more, each with a name of its own, and one at
/// least with the unit of a measurement.
pub(super) fn pairs(line: &str) -> Option<Vec<Pair<'_>>> {
    // Most lines of a log have none, and are skipped.
    line.matches('=').nth(1)?;
    let line = without_prefix(line).trim();
    let (label, rest) = match line.split_once(": ") {
        Some((label, rest)) if !label.contains(['=', '"', '{', '[']) => (label, rest),
        _ => ("", line),
    };
    let mut pairs: Vec<Pair> = Vec::new();
    let mut words = (rest.split_whitespace())
        .map(|word| word.trim_end_matches([',', ';', '|']))
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        let (name, text) = word.split_once('=')?;
        let is_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '.' | '/' | '%');
        if !name.starts_with(char::is_alphabetic) || !name.chars().all(is_name) {
            return None;
        }
        let (text, unit) = match number::split_unit(text) {
            Some((text, unit)) if is_measure(unit) => (text, Some(unit)),
            _ => (text, words.next_if(|word| is_measure(word))),
        };
        let value = match number::printed(text)? {
            Printed::Sure(Number::Finite(value)) => value,
            _ => return None,
        };
        let name = format!("{label} {name}").trim_start().to_owned();
        if pairs.iter().any(|pair| pair.name == name) {
            return None;
        }
        pairs.push(Pair { name, value, unit });
    }
    let has_measure = pairs.iter().any(|pair| pair.unit.is_some());
    (pairs.len() > 1 && has_measure).then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_pairs_is_read() {
        for (line, expected) in [
            (
                "p50=1.2ms p99=3.4ms",
                vec![("p50", 1.2, Some("ms")), ("p99", 3.4, Some("ms"))],
            ),
            (
                "12:00:01 INFO sort: n=1,000,000, mean=3 ms; max=5 ms",
                vec![
                    ("sort n", 1e6, None),
                    ("sort mean", 3.0, Some("ms")),
                    ("sort max", 5.0, Some("ms")),
                ],
            ),
        ] {
            let pairs = pairs(line).unwrap();
            let pairs: Vec<_> = (pairs.iter())
                .map(|pair| (pair.name.as_str(), pair.value, pair.unit))
                .collect();
            assert_eq!(pairs, expected, "{line}");
        }
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            "time=12.5ms",
            "level=info time=12.5ms",
            "name=sort iters=100 time=12.5",
            "n=100 score=12.5",
            "p50=1,234ms p99=3.4ms",
            "p50=1ms p50=2ms",
            "p50=nan p99=3.4ms",
            "read 5 files a=1ms b=2ms",
            "{\"url\": \"x?a=1ms b=2ms\"}",
            "http://host/?a=1&b=2ms c=3ms",
        ] {
            assert_eq!(pairs(line), None, "{line}");
        }
    }
}
