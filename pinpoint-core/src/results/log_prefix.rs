//! Loggers' prefixes of messages.
//!
//! ```text
//! 2026-11-26 10:00:00,123 INFO time: 5 ms
//! [12:00:01] [info] time: 5 ms
//! Nov 26 10:00:00 host bench[123]: time: 5 ms
//! - time: 5 ms
//! ```
//!
//! A time stamp, a process number or a line of source changes with each run or commit, and must not
//! become part of a metric's name; nor must the bullet of a list. Other words before a name stay:
//! they are the same in each run, and may distinguish two metrics.

use std::sync::LazyLock;

use regex::Regex;

/// A time stamp, a level in brackets, or nothing.
const START: &str = r"^\s*(?:
    [IWEFD]\d{4}\s+\d\d:\d\d:\d\d\.\d+\s+\d+\s+\S+:\d+\]          # glog
  | [A-Z][a-z]{2}\s+\d{1,2}\s+\d\d:\d\d:\d\d\s+\S+\s+[^\s\[:]+(?:\[\d+\])?:   # syslog
  | (?:<<BRACKET>>|<<STAMP>>)
)\s+";

/// The text that may follow a time stamp.
const NEXT: &str = r"^(?:
    <<BRACKET>>
  | <<STAMP>>
  | <<LEVEL>>:?
  | [-|]
  | \d+\s+<<LEVEL>>:?         # a process
  | (?:\S+\s+)?[^\s\[:]+\[\d+\]:  # a program of a host, with its process
  | \S+\.[a-z]+:\d+:?         # a line of source
  | \S+:\d+\s+[-|]            # a line of a module
  | \S+\s+[-|]\s+<<LEVEL>>    # a logger before its level
)\s+";

const BULLETS: [char; 8] = ['-', '*', '•', '‣', '◦', '·', '–', '>'];

const STAMP: &str = r"(?:<<DATE>> | <<CLOCK>> | \d{9,}(?:\.\d+)?)";

/// A line that is a date, as the command `date` prints it.
const WHOLE: &str = r"^\s*<<DATE>>\s*$";

const DATE: &str = r"(?:
    \d{4}[-/.]\d\d[-/.]\d\d(?:(?:T|\s+)\d\d:\d\d(?::\d\d(?:[.,:]\d+)?)?)?\s*(?:Z|UTC|[+-]\d\d:?\d\d)?
  | \d{1,2}[-/.]\d{1,2}[-/.]\d{4}(?:,?\s+\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s*[AP]M)?)?
  | (?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?
    \d{1,2}[-/\s]<<MONTH>>[-/\s]\d{4}[:\s]+<<CLOCK>>
  | (?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?
    <<MONTH>>\s+\d{1,2}(?:,?\s+\d{4})?,?\s+<<CLOCK>>(?:\s+[A-Z]{3,4})?(?:\s+\d{4}\b)?
)";

const MONTH: &str = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?";

const CLOCK: &str = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:\s*[AP]M)?";

/// A time stamp, a level or a process in brackets, perhaps with more.
const BRACKET: &str = r"\[(?:
    [^\]]*(?:\d\d:\d\d:\d\d|\d{4}[-/.]\d\d[-/.]\d\d)[^\]]*
  | \s*<<LEVEL>>\s*
  | \s*[\d.:]+\s*
  | \d+:\d+:\d{4}/\d{6}[^\]]*         # Chromium
)\]";

const LEVEL: &str = r"(?i:\b(?:trace|debug|info|notice|warn|warning|error|critical|fatal)\b)";

static PATTERNS: LazyLock<Option<[Regex; 3]>> = LazyLock::new(|| {
    let pattern = |text: &str| {
        let text = text
            .replace("<<BRACKET>>", BRACKET)
            .replace("<<STAMP>>", STAMP)
            .replace("<<DATE>>", DATE);
        // The digits of all scripts would take six times as long to compile.
        let text = (text.replace("<<LEVEL>>", LEVEL))
            .replace("<<MONTH>>", MONTH)
            .replace("<<CLOCK>>", CLOCK)
            .replace(r"\d", "[0-9]");
        Regex::new(&format!("(?x){text}")).ok()
    };
    Some([pattern(START)?, pattern(NEXT)?, pattern(WHOLE)?])
});

/// The line without a logger's prefix and a bullet.
pub(super) fn without_prefix(line: &str) -> &str {
    without_bullet(without_log_prefix(line))
}

/// The line without the bullet of a list. A dash before a number may be its sign.
fn without_bullet(line: &str) -> &str {
    let text = line.trim_start().strip_prefix(BULLETS);
    let text = text.filter(|text| text.starts_with(char::is_whitespace));
    match text.map(str::trim_start) {
        Some(text) if text.starts_with(char::is_alphabetic) => text,
        _ => line,
    }
}

fn without_log_prefix(line: &str) -> &str {
    // Most lines have none, and are not looked at by the patterns.
    if !may_have_prefix(line) {
        return line;
    }
    let Some([start, next, whole]) = &*PATTERNS else {
        return line;
    };
    if whole.is_match(line) {
        return "";
    }
    let Some(found) = start.find(line) else {
        return line;
    };
    let mut rest = &line[found.end()..];
    while let Some(found) = next.find(rest) {
        rest = &rest[found.end()..];
    }
    rest
}

/// The beginnings of the names of days and months.
const NAMES: [&str; 19] = [
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun",
    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns true if a line begins as a prefix may: with a digit, a bracket, the letter and the digits
/// of glog, or the three letters of a month or a day before a blank or the rest of the name.
fn may_have_prefix(line: &str) -> bool {
    let line = line.trim_start();
    match line.as_bytes() {
        [b'0'..=b'9' | b'[', ..] | [b'A'..=b'Z', b'0'..=b'9', ..] => true,
        [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', b'a'..=b'z', ..] => {
            NAMES.iter().any(|name| line.starts_with(name))
        }
        [b'A'..=b'Z', b'a'..=b'z', b'a'..=b'z', ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_message_is_left() {
        for line in [
            "2026-11-26 10:00:00,123 INFO time: 5 ms",
            "[12:00:01] [info] time: 5 ms",
            "[info] time: 5 ms",
            "[INFO ] time: 5 ms",
            "2026-11-26T10:00:00.123456Z  INFO time: 5 ms",
            "[2026-11-26T10:00:00Z INFO  bench] time: 5 ms",
            "2026/11/26 10:00:00 time: 5 ms",
            "2026/11/26 10:00:00.123456 main.go:12: time: 5 ms",
            "2026-11-26 10:00:00,123 - bench - INFO - time: 5 ms",
            "2026-11-26 10:00:00.123 | INFO     | __main__:<module>:5 - time: 5 ms",
            "2026-11-26 10:00:00,123 [123] INFO: time: 5 ms",
            "2026-11-26 10:00:00 +0100 12345 INFO time: 5 ms",
            "I1126 10:00:00.123456   123 bench.cc:12] time: 5 ms",
            "[123:456:1126/100000.123456:INFO:bench.cc(12)] time: 5 ms",
            "Nov 26 10:00:00 host bench[123]: time: 5 ms",
            "Nov  6 10:00:00 host bench: time: 5 ms",
            "[    0.123456] time: 5 ms",
            "10:42:17     INFO -  time: 5 ms",
            "1764150000.123 time: 5 ms",
            "2026-11-26 time: 5 ms",
            "   12:00:01 time: 5 ms",
            "[12:00:01] time: 5 ms",
            "27/11/2026 12:00:01 time: 5 ms",
            "27.11.2026 12:00:01,123 INFO time: 5 ms",
            "11/27/2026 12:00:01 PM time: 5 ms",
            "1/7/2026, 2:00:01 PM time: 5 ms",
            "12:00:01 AM time: 5 ms",
            "2026-11-27 12:00:10:123 time: 5 ms",
            "Nov 27 12:00:01 time: 5 ms",
            "Nov 27, 2026 12:00:01 PM time: 5 ms",
            "Fri Nov 27 12:00:01 2026 time: 5 ms",
            "Fri Nov 27 12:00:01 UTC 2026 time: 5 ms",
            "27 Nov 2026 12:00:01 time: 5 ms",
            "[27/Nov/2026:12:00:01 +0000] time: 5 ms",
            "Nov 27 12:00:01 host app[1]: time: 5 ms",
            "2026-11-27T12:00:01.123456+01:00 host app[17]: time: 5 ms",
            "2026-11-27T12:00:01Z app[17]: time: 5 ms",
            "- time: 5 ms",
            "  * time: 5 ms",
            "• time: 5 ms",
            "[INFO]  - time: 5 ms",
        ] {
            assert_eq!(without_prefix(line), "time: 5 ms", "{line}");
        }
    }

    #[test]
    fn a_date_alone_is_no_message() {
        for line in [
            "Fri Nov 27 18:23:18 UTC 2026",
            "Fri 27 Nov 2026 00:23:18",
            "2026-11-27T12:00:01Z",
            " 27/11/2026 12:00:01 ",
        ] {
            assert_eq!(without_prefix(line), "", "{line}");
        }
        // A duration, a count.
        for line in ["00:01:23", "123456789"] {
            assert_eq!(without_prefix(line), line);
        }
    }

    proptest::proptest! {
        #[test]
        fn lines_that_are_skipped_match_no_pattern(
            line in r"[ \u{2003}]{0,2}([A-Z][a-z]{1,8}|[IA][0-9]{3,5}|\[|[0-9]{1,4}|é)?([-/:., ]|[0-9]{2}|May|Mon|\PC){0,9}"
        ) {
            let patterns = PATTERNS.as_ref().unwrap();
            if !may_have_prefix(&line) {
                proptest::prop_assert!(!patterns[0].is_match(&line) && !patterns[2].is_match(&line));
            }
        }
    }

    #[test]
    fn names_are_not_prefixes() {
        for line in [
            "time: 5 ms",
            "[sort] time: 5 ms",
            "[1/5] time: 5 ms",
            "INFO:root:time: 5 ms",
            "12 threads: 5 ms",
            "std::sort: 5 ms",
            "at 12:00:01 time: 5 ms",
            "1.2.3: 5 ms",
            "info about time: 5 ms",
            "- 5 ms",
            "-time: 5 ms",
            "**time**: 5 ms",
            "--- time",
            "",
            "[",
        ] {
            assert_eq!(without_prefix(line), line);
        }
        assert_eq!(
            without_prefix("12:00:01 reading - cold: 5 ms"),
            "reading - cold: 5 ms"
        );
        for message in [
            "sort/8: 5 ms",
            "sort:8: 5 ms",
            "8 threads: 5 ms",
            "[sort] a: 5 ms",
        ] {
            assert_eq!(without_prefix(&format!("12:00:01 {message}")), message);
        }
    }
}
