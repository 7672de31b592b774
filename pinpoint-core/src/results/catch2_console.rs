//! The tables of benchmarks that Catch2 prints.
//!
//! ```text
//! -------------------------------------------------------------------------------
//! sums
//!   large
//! -------------------------------------------------------------------------------
//! sums.cc:10
//! ...............................................................................
//!
//! benchmark name                       samples       iterations    est run time
//!                                      mean          low mean      high mean
//!                                      std dev       low std dev   high std dev
//! -------------------------------------------------------------------------------
//! sum 100                                        100            54    1.22796 ms
//!                                          280.25 ns    276.963 ns    289.643 ns
//!                                         8.80827 ns    1.61015 ns    14.8362 ns
//! ```
//!
//! The charts are those of the XML reporter, `sums/large/sum 100`: the mean, in nanoseconds for any
//! printed unit. A benchmark that failed has no chart, nor has one of a test case with an assertion
//! that did not hold. Checked with Catch2 2.13.

use super::charts::{Charts, MOST_OF_A_SHARED_NAME};
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

/// The place of a line in the output.
enum State {
    /// Neither in a title nor in a table.
    Between,
    /// Between the two rules around the names of a test case and its sections.
    Title,
    /// In the head of a table.
    Head,
    /// Among the benchmarks of a table.
    Rows,
}

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut state = State::Between;
    let mut title: Vec<&str> = Vec::new();
    let mut length_of_title = 0;
    // The lines of a name that is wrapped, and the chart whose mean is on the next line.
    let mut name: Vec<&str> = Vec::new();
    let mut pending: Option<String> = None;
    let mut failed_cases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        if is_rule(line) {
            state = match state {
                State::Title => State::Between,
                State::Head => State::Rows,
                State::Between | State::Rows => {
                    title.clear();
                    length_of_title = 0;
                    State::Title
                }
            };
            name.clear();
            pending = None;
            continue;
        }
        if line.starts_with("benchmark name ") {
            state = State::Head;
        }
        if line.trim_end().ends_with(": FAILED:") {
            failed_cases.extend(title.first().copied());
        }
        match state {
            State::Title if !line.trim().is_empty() => {
                length_of_title += line.len();
                if length_of_title > MOST_OF_A_SHARED_NAME {
                    title.clear();
                } else {
                    title.push(line.trim());
                }
            }
            State::Title | State::Between | State::Head => {}
            // Its benchmarks have no name.
            State::Rows if length_of_title > MOST_OF_A_SHARED_NAME => charts.doubts(index),
            State::Rows => {
                if first_row(line).is_some() || mean(line).is_some() {
                    charts.knows(index);
                }
                let chart = |name: &[&str]| {
                    let name = name.join(" ");
                    let parts = title.iter().copied().chain([name.as_str()]);
                    parts.collect::<Vec<_>>().join("/")
                };
                if let Some(chart) = pending.take()
                    && let Some((number, unit)) = mean(line)
                {
                    match number {
                        Number::Finite(value) => {
                            let value = convert(value, unit, "ns").unwrap_or(value);
                            charts.add(&chart, vec![value], Some("ns"), Direction::Down, || {
                                OutputPosition::Text {
                                    line: index + 1,
                                    column: column_of(line, unit),
                                }
                            });
                        }
                        Number::NotFinite => charts.fail(&chart, "its mean is not a number"),
                    }
                } else if let Some((end, message)) = failure(line) {
                    name.extend(end);
                    charts.fail(&chart(&name), format!("Catch2 says `{message}`"));
                    name.clear();
                } else if let Some(end) = first_row(line) {
                    name.extend(end);
                    pending = Some(chart(&name));
                    name.clear();
                } else if line.starts_with(char::is_whitespace) || line.trim().is_empty() {
                    name.clear();
                } else {
                    name.push(line.trim());
                }
            }
        }
    }
    for case in failed_cases {
        let case = format!("{case}/");
        let reason = "Catch2 says that its test case failed";
        charts.fail_beginning(&case, reason);
    }
    charts.finish(
        "a table with `benchmark name` (do the tests have benchmarks, and were they not skipped?)",
    )
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "iterations").any(|line| {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        words == ["benchmark", "name", "samples", "iterations"]
    })
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.len() >= 70 && line.bytes().all(|byte| byte == b'-')
}

/// The end of a name, if there is one, before the samples, the iterations and the estimated time.
fn first_row(line: &str) -> Option<Option<&str>> {
    let mut words = line.split_whitespace().rev();
    let (unit, time) = (words.next()?, words.next()?);
    let iterations = words.next()?;
    let samples = words.next()?;
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    convert(1.0, unit, "ns")?;
    number::number(time)?;
    let is_row = is_count(iterations) && is_count(samples);
    let name = line[..samples.as_ptr() as usize - line.as_ptr() as usize].trim();
    is_row.then_some((!name.is_empty()).then_some(name))
}

/// The mean, before its bounds.
fn mean(line: &str) -> Option<(Number, &str)> {
    let mut words = line.split_whitespace();
    let mut time = || {
        let number = number::number(words.next()?)?;
        let unit = words.next()?;
        convert(1.0, unit, "ns")?;
        Some((number, unit))
    };
    let (mean, _, _) = (time()?, time()?, time()?);
    words.next().is_none().then_some(mean)
}

/// The end of the name of a benchmark that failed, and the reason.
fn failure(line: &str) -> Option<(Option<&str>, &str)> {
    let (name, message) = line.split_once("Benchmark failed (")?;
    let message = message.trim_end().strip_suffix(')')?;
    Some(((!name.trim().is_empty()).then_some(name.trim()), message))
}
