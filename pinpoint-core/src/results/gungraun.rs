//! The output of Gungraun, which was named iai-callgrind, and of its forerunner iai.
//!
//! ```text
//! sums::group::sum_to thousand:1000
//!   Instructions:                        1734|1700                 (+2.00000%) [+1.02000x]
//!   L1 Hits:                             2359|2359                 (No change)
//!   RAM Hits:                               2|N/A                  (*********)
//!   Estimated Cycles:                    2429|N/A                  (*********)
//! ```
//!
//! One chart for each line below a benchmark's name: its name alone for the instructions, and
//! `sums::group::sum_to thousand:1000 Estimated Cycles` for the others, of the new value. Counts
//! have no unit. Comparisons of one benchmark with another are not read. Written after the
//! documentation of iai 0.1, iai-callgrind 0.3 to 0.14 and Gungraun 0.17.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, has, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

/// The measure that bears the benchmark's name alone.
const MAIN: &str = "Instructions";

/// The beginnings of the last line.
const SUMMARIES: [&str; 2] = ["Gungraun result: ", "Iai-Callgrind result: "];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let wanted = "a benchmark's name with `Instructions: 1734|1700` below";
    // Indented lines with a count are in the outputs of other tools, too.
    if !recognize(text) && !text.lines().any(|line| section(line).is_some()) {
        return charts.finish(wanted);
    }
    let mut benchmark = None;
    // The tool of Valgrind that measured the lines below, if it is not Callgrind.
    let mut tool = None;
    for (index, line, has_end) in lines_with_ends(text) {
        if !line.starts_with(char::is_whitespace) {
            if SUMMARIES.iter().any(|summary| line.starts_with(summary)) {
                charts.knows(index);
            }
            benchmark = Some(line.trim()).filter(|name| !name.is_empty());
            tool = None;
            continue;
        }
        if line.trim_start().starts_with("Comparison with ") {
            benchmark = None;
        }
        if let Some(begun) = section(line) {
            tool = Some(begun).filter(|tool| *tool != "CALLGRIND");
        }
        let (Some(benchmark), Some((measure, value))) = (benchmark, measured(line)) else {
            if is_measure(line) {
                match benchmark {
                    Some(_) => charts.doubts(index),
                    None => charts.knows(index),
                }
            }
            continue;
        };
        if !has_end {
            charts.doubts(index);
            continue;
        }
        charts.knows(index);
        charts.benchmark(benchmark);
        let chart = match (measure, tool) {
            (MAIN, None) => benchmark.to_owned(),
            (_, None) => format!("{benchmark} {measure}"),
            (_, Some(tool)) => format!("{benchmark} {tool} {measure}"),
        };
        match number::with_thousands(value.trim_end_matches('%')) {
            Some(Number::Finite(number)) => {
                let unit = value.ends_with('%').then_some("%");
                charts.add_once(&chart, vec![number], unit, direction(measure), || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, value),
                    }
                });
            }
            Some(Number::NotFinite) | None => charts.fail(&chart, "its value is not a number"),
        }
    }
    charts.finish(wanted)
}

pub(super) fn recognize(text: &str) -> bool {
    if !has(text, MAIN) {
        return false;
    }
    let mut before = "";
    let mut has_instructions = false;
    for line in text.lines().map(shown) {
        if let Some((measure, _)) = measured(line) {
            let is_below_a_name = !before.trim().is_empty();
            match measure {
                // iai compares in the line's end only.
                MAIN if is_below_a_name && line.contains('|') => return true,
                MAIN => has_instructions = is_below_a_name,
                "Estimated Cycles" if has_instructions => return true,
                _ => {}
            }
        }
        before = line;
    }
    false
}

/// `======= DHAT ===========`.
fn section(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = line.trim_matches('=').trim();
    (line.starts_with("===") && !name.is_empty()).then_some(name)
}

/// Returns true if a line begins like a measure.
fn is_measure(line: &str) -> bool {
    let measure = line.trim_start().split_once(':');
    measure.is_some_and(|(_, rest)| rest.trim().starts_with(char::is_numeric))
}

/// The measure and its new value: `  L1 Hits:  2359|2300  (+2.6%)`, or of iai `  L1 Accesses: 2359`.
fn measured(line: &str) -> Option<(&str, &str)> {
    if !line.starts_with(char::is_whitespace) {
        return None;
    }
    let (measure, rest) = line.trim().split_once(':')?;
    let first = rest.strip_prefix(' ')?.split_whitespace().next()?;
    let (value, _) = first.split_once('|').unwrap_or((first, ""));
    let is_value = number::with_thousands(value.trim_end_matches('%')).is_some();
    let is_compared = match rest.trim().split_once(char::is_whitespace) {
        Some((_, compared)) => compared.trim_start().starts_with('('),
        None => true,
    };
    // JSON has quotes there.
    let is_name = (measure.chars()).all(|c| c.is_alphanumeric() || " +-/()_".contains(c));
    (is_name && is_value && is_compared).then_some((measure, value))
}

fn direction(measure: &str) -> Direction {
    match measure {
        // More of them may come from more accesses, or from fewer misses.
        "L1 Hits" | "L2 Hits" | "LL Hits" | "L1 Accesses" | "L2 Accesses" => Direction::Unknown,
        measure if measure.ends_with("Hit Rate") => Direction::Up,
        _ => Direction::Down,
    }
}
