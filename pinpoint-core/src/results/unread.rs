//! Finds text in an output that looks like a value but is not read as one.
//!
//! Ambiguous text is not guessed at. To not drop it silently, this lists the lines that may be
//! meant as results, and the options that would read them.

use serde::de::IgnoredAny;

use super::json_numbers::json_numbers;
use super::log_prefix::without_prefix;
use super::quoted_number::in_quotes;
use super::read_hint::{ReadHint, behind_prefix};
use super::reading::ReadLines;
use super::text::shown;
use super::unread_line::{Reads, in_line};
use super::{Format, not_a_number, text};

/// The most values that are listed.
const MAX_LISTED: usize = 5;

/// The most characters of a line.
const MOST_CHARACTERS: usize = 120;

/// Text in an output that looks like a value, but is not read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UnreadValue {
    /// The line that it is in, counted from 1.
    pub line: usize,
    /// The line, without a logger's prefix, and shortened; for a JSON document on few lines, the
    /// member.
    pub text: String,
    /// The hint for reading it.
    pub hint: ReadHint,
}

/// The first five texts that look like values in the output of a benchmark (one of its streams, or
/// a file), and are not read by `format`. `None` is for an output in which no format was
/// recognized.
///
/// For [`Format::Lines`] and tools' outputs these are the unread lines, without those that the tool
/// writes about itself. Other formats leave nothing unread: they are whole documents, or were
/// chosen by a user who knows the output. [`Format::Auto`] is the format that is recognized.
///
/// ```
/// use pinpoint_core::results::unread_values;
///
/// let unread = unread_values(b"warming up\nsorted in 12.5 ms\n", None);
/// assert_eq!((unread[0].line, unread[0].text.as_str()), (2, "sorted in 12.5 ms"));
/// let hint = unread[0].hint.to_string();
/// assert!(hint.starts_with("--format 'regex:sorted\\s+in\\s+(?<value>"), "{hint}");
/// ```
///
/// # Cost
///
/// One walk through the output, up to the fifth such value.
pub fn unread_values(output: &[u8], format: Option<&Format>) -> Vec<UnreadValue> {
    let format = match format {
        Some(Format::Auto) => Format::recognize(output).ok(),
        format => format.cloned(),
    };
    let (reads, lines) = match format {
        None => (Reads::Nothing, ReadLines::default()),
        Some(Format::Lines) => (
            Reads::Lines,
            Format::Lines
                .read_with_failures(output)
                .unwrap_or_default()
                .lines,
        ),
        Some(format) if format.is_printed_by_a_tool() => {
            let reading = format.read_with_failures(output);
            (Reads::Tool, reading.unwrap_or_default().lines)
        }
        Some(_) => return Vec::new(),
    };
    let text = text::lines(output);
    if reads == Reads::Nothing
        && let Some(unread) = in_document(&text)
    {
        return unread;
    }
    let unread = text.lines().enumerate().filter_map(|(index, line)| {
        let message = without_prefix(shown(line)).trim();
        let hint = if lines.garbled.binary_search(&index).is_ok() {
            ReadHint::Garbled
        } else if lines.known.binary_search(&index).is_ok() {
            return None;
        } else {
            in_line(line, message, reads)?
        };
        let hint = match hint {
            ReadHint::Format(Format::Regex(pattern))
                if message.len() < shown(line).trim().len() =>
            {
                behind_prefix(&pattern)?
            }
            hint => hint,
        };
        Some(UnreadValue {
            line: index + 1,
            text: shortened(message),
            hint,
        })
    });
    unread.take(MAX_LISTED).collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The numbers of an output that is one JSON document, whole or cut off.
fn in_document(text: &str) -> Option<Vec<UnreadValue>> {
    let begin = text.trim_start();
    if !begin.starts_with(['{', '[']) {
        return None;
    }
    let document = not_a_number::as_null(begin.into());
    let skipped = text[..text.len() - begin.len()].matches('\n').count();
    match serde_json::from_str::<IgnoredAny>(&document) {
        Ok(_) => Some(
            json_numbers(&document, MAX_LISTED)
                .into_iter()
                .filter_map(|number| {
                    Some(UnreadValue {
                        line: skipped + number.line,
                        text: shortened(number.text),
                        hint: match number.quoted {
                            None => ReadHint::Format(Format::Json(number.pointer)),
                            Some(at) => in_quotes(number.text, at)?,
                        },
                    })
                })
                .collect(),
        ),
        Err(error) if error.is_eof() && !json_numbers(&document, 1).is_empty() => {
            let line = error.line();
            Some(vec![UnreadValue {
                line: skipped + line,
                text: shortened(document.lines().nth(line - 1).unwrap_or_default().trim()),
                hint: ReadHint::CutOff,
            }])
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hint, as text, for each line.
    fn hints(output: &str, format: Option<&Format>) -> Vec<(usize, String)> {
        let unread = unread_values(output.as_bytes(), format).into_iter();
        unread
            .map(|unread| (unread.line, unread.hint.to_string()))
            .collect()
    }

    /// The suggestion really reads the value.
    #[test]
    fn a_suggested_format_reads_the_value() {
        for (output, expected) in [
            ("took 12.5 ms", 12.5),
            ("took 12.5ms", 12.5),
            ("Elapsed (12,5 s) in 3 rounds", 12.5),
            (
                "2026-11-26 10:00:00 INFO sorted 100 items in 1.5e3 us, ok",
                1500.0,
            ),
            ("12.5", 12.5),
            ("  -7  ", -7.0),
            ("latency 12.5", 12.5),
            ("latency=12.5", 12.5),
            ("level=info time=12.5ms", 12.5),
            ("sort time:12.5 ms", 12.5),
            ("took ~12.5ms", 12.5),
            ("speed 99.5 MB/s", 99.5),
            ("took [12.5 ms]", 12.5),
            ("it's 12.5 ms.", 12.5),
            ("Python 3.11", 3.11),
            ("iterations: 30", 30.0),
            ("{\"a\": {\"b\": 2.5}}", 2.5),
            ("\n{\"x\": \"1\", \"times\": [2.5, 3]}", 2.5),
            ("[{\"a/b\": 2.5}]", 2.5),
            ("[2.5, 3]", 2.5),
            ("{\"a\": 2.5, \"b\": NaN}", 2.5),
            ("sort,12.5", 12.5),
            ("sort 1000,12", 12.0),
            ("sort;12,5", 12.5),
            ("sort, 12.5", 12.5),
            ("{\"time\": \"12.5 ms\"}", 12.5),
            ("{\"a\": {\n  \"time\" : \"12.5ms\"}}", 12.5),
            ("{\"score\": \"12.5\"}", 12.5),
            ("[\"12.5 ms\"]", 12.5),
        ] {
            let unread = unread_values(output.as_bytes(), None);
            let first = unread.first().unwrap_or_else(|| panic!("{output}"));
            let ReadHint::Format(format) = &first.hint else {
                panic!("{output}: {}", first.hint);
            };
            let charts = format.read(output.as_bytes());
            let charts = charts.unwrap_or_else(|error| panic!("{output}: {format}: {error}"));
            let series = charts.values().next().expect("there is one");
            assert_eq!(series.values[0], expected, "{output}: {format}");
        }
    }

    #[test]
    fn dates_and_what_other_tools_say_of_themselves_are_no_values() {
        for line in [
            "Fri Nov 27 18:23:18 UTC 2026",
            "Start: Fri Nov 27 00:23:18 UTC 2026",
            "Started: Fri Nov 27 00:23:18 UTC 2026",
            "Fri 27 Nov 2026 00:23:18 UTC",
            "Current time 00:05:12",
            "100%|##########| 100/100 [00:05<00:00, 19.5it/s]",
            "✨  Done in 1.23s.",
            "BUILD SUCCESSFUL in 1m 3s",
            "Resolved 12 packages in 1ms",
            "Finished in 0.00123 seconds (files took 0.1 seconds to load)",
            "1 passing (12ms)",
            "✓ built in 1.23s",
            "webpack 5.1.0 compiled successfully in 1234 ms",
            "Passed!  - Failed: 0, Passed: 2, Skipped: 0, Total: 2, Duration: 12 ms - a.dll",
            "ok | 1 passed | 0 failed (12ms)",
            "PASS ./a.test.js (5.123 s)",
            "Collecting numpy (12.3 MB)",
            "INFO: Elapsed time: 1.5s, Critical Path: 0.5s",
        ] {
            for (output, format) in [
                (format!("{line}\n"), None),
                (format!("time: 5 ms\n{line}\n"), Some(&Format::Lines)),
            ] {
                assert_eq!(hints(&output, format), [], "{line}");
            }
        }
    }

    #[test]
    fn a_pattern_for_a_line_behind_a_time_stamp_reads_it() {
        let output = "2026-11-27 12:00:01 12.5\n";
        let unread = unread_values(output.as_bytes(), None);
        let ReadHint::Format(format) = &unread[0].hint else {
            panic!("{unread:?}");
        };
        let charts = format
            .read(output.as_bytes())
            .expect("the pattern reads it");
        let values: Vec<&Vec<f64>> = charts.values().map(|series| &series.values).collect();
        assert_eq!(values, [&vec![12.5]]);
    }

    #[test]
    fn a_line_of_many_values_is_looked_at_once() {
        let line = "12.5ms ".repeat(20_000);
        assert_eq!(
            unread_values(line.as_bytes(), None)[0].hint,
            ReadHint::Several
        );
        let line = format!("splits: {}", "00:01:23 ".repeat(5_000));
        assert_eq!(
            unread_values(line.as_bytes(), None)[0].hint,
            ReadHint::Several
        );
    }

    #[test]
    fn what_no_option_reads_is_said_to_be_so() {
        for (output, hint) in [
            ("time: 1,234 ms", ReadHint::Ambiguous),
            ("took 1,234 ms", ReadHint::Ambiguous),
            ("| sort | 12.5 | 13.5 |", ReadHint::Several),
            ("sort   12.5   13   100", ReadHint::Several),
            ("name=sort iters=100 time=12.5", ReadHint::Several),
            ("p50: 5 ms, p99: 50 ms", ReadHint::Several),
            ("12 ms (10 allocations: 1.20 KiB)", ReadHint::Several),
            (
                "sort 123.4k (± 2.1%) i/s - 620.0k in 5.02s",
                ReadHint::Several,
            ),
            ("[100.00%] time_sort 12.5±0.2ms", ReadHint::Several),
            ("sort 12 345 ops/s", ReadHint::Several),
            ("sort 950k ops/s", ReadHint::Several),
            ("took 1 min 30 s", ReadHint::Several),
            ("took 1m30.5s", ReadHint::Duration),
            ("real\t0m0.052s", ReadHint::Duration),
            ("elapsed 00:01:23.45", ReadHint::Duration),
            ("sort: 12:01:23.45", ReadHint::Duration),
            ("Total time 12:01:23", ReadHint::Duration),
            (
                "Elapsed (wall clock) time (h:mm:ss or m:ss): 0:00.05",
                ReadHint::Format(Format::Lines),
            ),
            ("p50=5ms p99=50ms", ReadHint::Format(Format::Lines)),
            ("{\"time\": \"1m30.5s\"}", ReadHint::Duration),
            (
                "start\n{\n  \"a\": \"12.5 ms\",\n}",
                ReadHint::MixedDocument,
            ),
            ("sort,12.5,13.5", ReadHint::Several),
            ("count: 1,234,56", ReadHint::Ambiguous),
            ("lat: 1,234,56N", ReadHint::Ambiguous),
            ("lat: 1,234,56N ms", ReadHint::Several),
            ("test sort ... bench:   1,2", ReadHint::Garbled),
            ("{\"a\": 1.5, \"b\": [2", ReadHint::CutOff),
            ("start\n{\"a\": 1.5}\nend", ReadHint::MixedDocument),
            ("start\n{\n  \"a\": 1.5,\n}", ReadHint::MixedDocument),
            ("{\"a\": 1}\n{\"a\": 2}", ReadHint::MixedDocument),
        ] {
            let unread = unread_values(output.as_bytes(), None);
            assert_eq!(
                unread.first().map(|unread| &unread.hint),
                Some(&hint),
                "{output}"
            );
        }
    }

    #[test]
    fn prose_is_no_value() {
        for output in [
            "",
            "all is well",
            "Running 5 tests with 2 threads",
            "version v1.2.3 of 2026-11-26",
            "at 12:30:45 see http://localhost:80",
            "[ 50%] Building CXX object",
            "{}",
            "{\"a\": \"b\"}",
            "[info] starting",
            "\"quoted 5\"",
            "{\"version\": \"1.5\", \"name\": \"5 apples\"}",
            "started at 12:01:23.45",
            "2026-11-27 00:01:23 is past",
            "first, second and 3",
            "=== 3 passed in 0.52s ===",
            "3 passed, 1 skipped in 0.52s",
            "    Finished `release` profile [optimized] target(s) in 0.05s",
            "    Finished bench [optimized] target(s) in 1m 02s",
            "ok  \texample.org/sums\t1.234s",
            "Intel(R) Xeon(R) CPU @ 2.20GHz",
        ] {
            assert_eq!(hints(output, None), [], "{output}");
        }
    }

    #[test]
    fn what_is_read_is_not_listed() {
        let output = "iterations: 30\ntime: 5 ms\nitems: 10,000\nlatency 12.5\nwarmed up in 3 s\n";
        let listed = hints(output, Some(&Format::Lines));
        let lines: Vec<usize> = listed.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 5], "{listed:?}");
        assert_eq!(hints(output, Some(&Format::Auto)), listed);
        let listed = hints(output, Some(&Format::GoBenchmark));
        let lines: Vec<usize> = listed.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 5]);
        assert_eq!(hints(output, Some(&Format::Time)), []);
    }

    #[test]
    fn few_are_listed_and_each_is_short() {
        let long = format!("took 5 ms {}\n", "µ".repeat(500)).repeat(50);
        let unread = unread_values(long.as_bytes(), None);
        assert_eq!(unread.len(), 5);
        assert_eq!(unread[4].line, 5);
        assert_eq!(unread[0].text.chars().count(), 121);
        let late = format!("{} took 5 ms", "µ".repeat(100_000));
        let unread = unread_values(late.as_bytes(), None);
        assert!(unread[0].hint.to_string().chars().count() < 300);
    }
}
