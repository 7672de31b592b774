//! The table that Google Benchmark prints.
//!
//! ```text
//! Benchmark              Time             CPU   Iterations UserCounters...
//! ------------------------------------------------------------------------
//! Sum/100             31.2 ns         31.1 ns     22428571 bytes_per_second=12.8G/s
//! Broken        ERROR OCCURRED: 'no data'
//! ```
//!
//! The charts are those of the JSON format, `Sum/100` and `Sum/100 cpu_time`, in the unit
//! printed, with the three digits that are printed. Counters, which are printed with prefixes,
//! are not read, nor are the statistics of repetitions. A benchmark that was skipped, or
//! failed, has no charts. Checked with Google Benchmark 1.7.

use std::collections::BTreeSet;

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, has, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

/// The suffixes of statistics of repetitions after their benchmark's name. A `_cv` is in percent.
pub(super) const STATISTICS: [&str; 3] = ["_mean", "_median", "_stddev"];

const UNITS: [&str; 4] = ["ns", "us", "ms", "s"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let rows = || {
        text.lines()
            .enumerate()
            .map(|(index, line)| (index, shown(line)))
    };
    // Only statistics have to be told from benchmarks whose names end like theirs.
    let has_statistics = STATISTICS.iter().chain([&"_cv"]).any(|it| has(text, it));
    let names: BTreeSet<&str> = rows()
        .filter(|_| has_statistics)
        .filter_map(|(_, line)| Some(row(line)?.name))
        .collect();
    let mut charts = Charts::default();
    for (index, line) in rows() {
        if let Some((name, message)) = failure(line) {
            let reason = format!("Google Benchmark says `{message}`");
            charts.benchmark(name);
            charts.fail(name, reason.as_str());
            charts.fail(&format!("{name} cpu_time"), reason);
        }
        let Some(row) = row(line) else {
            continue;
        };
        charts.knows(index);
        if is_statistic(row.name, |name| names.contains(name)) {
            continue;
        }
        charts.benchmark(row.name);
        for (chart, (number, unit)) in [
            (row.name.to_owned(), row.time),
            (format!("{} cpu_time", row.name), row.cpu),
        ] {
            match number {
                Number::Finite(value) => {
                    charts.add(&chart, [value], Some(unit), Direction::Down, || {
                        OutputPosition::Text {
                            line: index + 1,
                            column: column_of(line, unit),
                        }
                    });
                }
                Number::NotFinite => charts.fail(&chart, "its value is not a number"),
            }
        }
    }
    charts.finish("a row of a single repetition in the table of Google Benchmark (the statistics of repetitions are no measurements: leave out --benchmark_report_aggregates_only)")
}

/// Returns true for the name of a statistic of repetitions, given the existing names.
pub(super) fn is_statistic(name: &str, has: impl Fn(&str) -> bool) -> bool {
    let of = { STATISTICS.iter().chain([&"_cv"]) }.find_map(|it| name.strip_suffix(it));
    of.is_some_and(|of| has(of) || STATISTICS.iter().all(|it| has(&format!("{of}{it}"))))
}

pub(super) fn recognize(text: &str) -> bool {
    let mut failures = FAILURES.iter().flat_map(|it| lines_with(text, it));
    failures.any(|line| failure(shown(line)).is_some())
        || lines_with(text, "s ").any(|line| row(shown(line)).is_some())
}

struct Row<'a> {
    name: &'a str,
    time: (Number, &'a str),
    cpu: (Number, &'a str),
}

/// A name, two times with their units, and a number of iterations.
fn row(line: &str) -> Option<Row<'_>> {
    // Every unit ends so, and most lines of a log have none.
    if line.starts_with(char::is_whitespace) || !line.contains("s ") {
        return None;
    }
    let mut units = (line.split_whitespace()).filter(|word| UNITS.contains(word));
    units.nth(1)?;
    let words: Vec<&str> = line.split_whitespace().collect();
    // The rows of mitata end alike: `sum 145 ns/iter (98 ns … 413 ns) 174 ns 330 ns 372 ns`.
    let is_time = |word: &&str| (word.strip_suffix("/iter")).is_some_and(|it| UNITS.contains(&it));
    if words.iter().any(is_time) {
        return None;
    }
    // A name may have blanks in it.
    let time = |words: &[&'_ str]| match words {
        [number, unit] if UNITS.contains(unit) => number::number(number),
        _ => None,
    };
    let at = (1..words.len().saturating_sub(4)).find(|at| {
        let [time, cpu] = [time(&words[*at..at + 2]), time(&words[at + 2..at + 4])];
        let iterations = words[at + 4];
        time.is_some() && cpu.is_some() && iterations.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    let name = &line[..words[at].as_ptr() as usize - line.as_ptr() as usize];
    Some(Row {
        name: name.trim(),
        time: (time(&words[at..at + 2])?, words[at + 1]),
        cpu: (time(&words[at + 2..at + 4])?, words[at + 3]),
    })
}

/// The beginnings of the message of a benchmark that gives no values.
const FAILURES: [&str; 2] = ["ERROR OCCURRED: '", "SKIPPED: '"];

/// The name of a benchmark that gives no values, and the reason.
fn failure(line: &str) -> Option<(&str, &str)> {
    FAILURES.iter().find_map(|marker| {
        let (name, message) = line.split_once(marker)?;
        let message = message.trim_end().strip_suffix('\'')?;
        (!name.trim().is_empty()).then_some((name.trim(), message))
    })
}
