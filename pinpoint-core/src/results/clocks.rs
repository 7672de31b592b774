//! Clocks in a line of output, `00:01:23.45`: durations, or times of day.

use super::number;
use super::text::last_characters;

/// Returns true if a word is a duration as a clock shows it, and not a time of day.
///
/// `start` is the line before it, and `before` the last word of that.
pub(super) fn is_duration(word: &str, start: &str, before: Option<&str>) -> bool {
    if !number::is_clock(word) {
        return false;
    }
    let before = before.unwrap_or_default().to_lowercase();
    let is_date = before.contains(['-', '/']) && before.contains(|it: char| it.is_ascii_digit());
    if is_date || TIMES_OF_DAY.contains(&&*before) {
        return false;
    }
    let start = last_characters(start, CHARACTERS_BEFORE).to_lowercase();
    if ["current time", "local time"].contains(&start.trim_matches([' ', ':', '='])) {
        return false;
    }
    word.starts_with('0') && word.trim_start_matches('0').starts_with(':')
        || word.contains(['.', ','])
        || DURATIONS.iter().any(|name| start.contains(name))
}

/// The seconds of a clock that can only be a duration: `0:00:10.05`, `1:23.45`, and, after a word
/// such as `elapsed`, `00:01:23`. Loggers write an hour of the day with two digits.
///
/// `name` is the text before it.
pub(super) fn seconds(word: &str, name: &str) -> Option<f64> {
    if !is_duration(word, name, name.split_whitespace().last()) {
        return None;
    }
    let parts: Vec<&str> = word.split(':').collect();
    let has_decimals = word.contains(['.', ',']);
    let is_clear = match parts[..] {
        ["0", _, _] => true,
        [hours, _, _] if hours.len() == 1 && has_decimals => true,
        [_, _] if has_decimals => true,
        [_, _, _] => {
            let name = last_characters(name, CHARACTERS_BEFORE).to_lowercase();
            DURATIONS.iter().any(|word| name.contains(word))
        }
        _ => false,
    };
    if !is_clear {
        return None;
    }
    parts.iter().try_fold(0.0, |sum, part| {
        Some(sum * 60.0 + part.replace(',', ".").parse::<f64>().ok()?)
    })
}

/// The characters before a clock that may tell its meaning.
const CHARACTERS_BEFORE: usize = 40;

/// Words next to a time of day, in lower case: names of days and months, which may be cut to three
/// letters, zones, and halves of the day.
const OF_A_DATE: [&str; 33] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "utc",
    "gmt",
    "cet",
    "cest",
    "bst",
    "est",
    "edt",
    "cst",
    "cdt",
    "pst",
    "pdt",
    "am",
    "pm",
    "z",
];

/// Returns true if a word is part of a date, or of a time of day.
pub(super) fn is_of_a_date(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',']);
    let is_name = |name: &&str| {
        let is_short = word.len() == 3 && name.len() > 4;
        let name = if is_short { &name[..3] } else { name };
        word.eq_ignore_ascii_case(name)
    };
    OF_A_DATE.iter().any(is_name)
}

/// Words before a time of day.
const TIMES_OF_DAY: [&str; 9] = [
    "at", "on", "started", "finished", "ended", "since", "until", "from", "date",
];

/// Words before a duration.
const DURATIONS: [&str; 6] = ["elapsed", "took", "duration", "runtime", "total", "real"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_can_only_be_a_duration_is_read() {
        for (name, word, expected) in [
            ("sort", "0:00:10.05", Some(10.05)),
            ("sort", "0:01:10", Some(70.0)),
            ("sort", "1:01:00.5", Some(3660.5)),
            ("sort", "1:23.45", Some(83.45)),
            ("Elapsed", "00:01:23.45", Some(83.45)),
            ("Total time", "12:01:23", Some(43_283.0)),
            ("sort", "12:01:23.45", None),
            ("sort", "00:01:23", None),
            ("sort", "9:30:00", None),
            ("sort", "1:23", None),
            ("started at", "0:01:23.45", None),
            ("sort", "12.5", None),
        ] {
            assert_eq!(seconds(word, name), expected, "{name}: {word}");
        }
    }
}
