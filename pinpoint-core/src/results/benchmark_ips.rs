//! The output of Ruby's benchmark-ips.
//!
//! ```text
//! Calculating -------------------------------------
//!                 join     24.203k (± 4.7%) i/s -    121.015k in   5.002010s
//! a name that is longer than its column
//!                          13.725M (± 6.0%) i/s   (72.86 ns/i) -     68.625M in   5.008966s
//! ```
//!
//! One chart for each report, named by it, in i/s. The comparison at the end has the same values.
//! Checked with benchmark-ips 2.7; the time of an iteration is that of 2.14.

use std::sync::LazyLock;

use regex::Regex;

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

static RESULT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let number = r"(?:[0-9.]+|NaN|-?Infinity)";
    let pattern = format!(
        r"^(?<name>.*?)\s*(?<rate>{number})(?<scale>[kMBTQ]?)\s+\(±\s*{number}%\) i/s\s+(?:\(.*/i\)\s+)?-\s+{number}[kMBTQ]?\s+in\s+[0-9.]+s\s*$"
    );
    Regex::new(&pattern).ok()
});

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some((name, rate)) = result(line) else {
            if is_warm_up(line) || is_compared(line) {
                charts.knows(index);
            }
            before = line;
            continue;
        };
        charts.knows(index);
        let name = match name {
            "" => before.trim(),
            name => name,
        };
        match rate {
            Number::Finite(rate) => {
                charts.add_once(name, vec![rate], Some("i/s"), Direction::Up, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, line.trim_start()),
                    }
                });
            }
            Number::NotFinite => charts.fail(name, "its rate is not a number"),
        }
    }
    charts.finish("lines like `sort  5.2M (± 1.1%) i/s -  26M in 5.0s`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "%) i/s").any(|line| result(shown(line)).is_some())
}

/// The name, which may stand on the line before, and the rate.
fn result(line: &str) -> Option<(&str, Number)> {
    // Most lines have none, and are skipped.
    if !line.contains("%) i/s") {
        return None;
    }
    let found = RESULT.as_ref()?.captures(line)?;
    let scale = match &found["scale"] {
        "k" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        "T" => 1e12,
        "Q" => 1e15,
        _ => 1.0,
    };
    let rate = match number::number(&found["rate"])? {
        Number::Finite(rate) if (rate * scale).is_finite() => Number::Finite(rate * scale),
        _ => Number::NotFinite,
    };
    Some((found.name("name")?.as_str().trim(), rate))
}

/// `join     3.974k i/100ms`
fn is_warm_up(line: &str) -> bool {
    line.trim_end().ends_with(" i/100ms")
}

/// `join:    24203.4 i/s - 567.08x  slower`
fn is_compared(line: &str) -> bool {
    let rate = (line.rsplit_once(':')).and_then(|(_, rest)| rest.trim_start().split_once(" i/s"));
    rate.is_some_and(|(rate, _)| number::number(rate).is_some())
}
