//! What `perf stat` prints.
//!
//! ```text
//!  Performance counter stats for './sums' (3 runs):
//!
//!               1.00 msec task-clock         #    0.088 CPUs utilized    ( +-  2.32% )
//!          1,234,567      instructions       #    1.20  insn per cycle   ( +-  0.01% )
//!    <not supported>      cycles
//!
//!           0.011362 +- 0.000459 seconds time elapsed  ( +-  4.04% )
//! ```
//!
//! One chart for each event, and `elapsed`, `user` and `sys` in seconds. What is counted is a cost
//! if it is known to be one. Checked with perf 6.1.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, shown, whole_lines};
use super::{Place, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

/// Ends of events of which fewer are better.
const COSTS: [&str; 6] = [
    "instructions",
    "cycles",
    "misses",
    "faults",
    "switches",
    "migrations",
];

const BEGIN: &str = "Performance counter stats for";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut has_begun = false;
    for (index, line) in whole_lines(text) {
        if line.trim_start().starts_with(BEGIN) {
            has_begun = true;
            charts.knows(index);
            continue;
        }
        if !has_begun {
            continue;
        }
        // A figure that is derived from the one above.
        if line.trim_start().starts_with('#') {
            charts.knows(index);
            continue;
        }
        let Some(counter) = counter(line) else {
            continue;
        };
        charts.knows(index);
        match counter.value {
            Ok(Number::Finite(value)) => {
                let direction = match counter.unit {
                    Some(_) => Direction::Down,
                    None if is_cost(counter.name) => Direction::Down,
                    None => Direction::Unknown,
                };
                let unit = counter.unit;
                charts.add_once(counter.name, vec![value], unit, direction, || Place::Text {
                    line: index + 1,
                    column: column_of(line, line.trim_start()),
                });
            }
            Ok(Number::NotFinite) => charts.fail(counter.name, "its value is not a number"),
            Err(reason) => charts.fail(counter.name, format!("perf says `{reason}`")),
        }
    }
    charts.finish("a counter below `Performance counter stats for`")
}

pub(super) fn recognise(text: &str) -> bool {
    (text.lines()).any(|line| shown(line).trim_start().starts_with(BEGIN))
}

fn is_cost(event: &str) -> bool {
    let event = event.split(':').next().unwrap_or_default();
    COSTS
        .iter()
        .any(|cost| event.trim_end_matches('/').ends_with(cost))
}

struct Counter<'a> {
    name: &'a str,
    value: Result<Number, &'a str>,
    unit: Option<&'a str>,
}

fn counter(line: &str) -> Option<Counter<'_>> {
    let line = line.trim();
    for reason in ["<not counted>", "<not supported>"] {
        if let Some(rest) = line.strip_prefix(reason) {
            let name = rest.split_whitespace().find(|word| !is_unit(word))?;
            return Some(Counter {
                name,
                value: Err(reason),
                unit: None,
            });
        }
    }
    let before = line.split('#').next().unwrap_or_default();
    // How much the runs deviate, and for how much of the time it was counted.
    let before = before.split(" (").next().unwrap_or_default();
    let words: Vec<&str> = before.split_whitespace().collect();
    let (value, unit, name) = match words[..] {
        [value, "seconds", "time", "elapsed"] => (value, Some("s"), "elapsed"),
        [value, "+-", _, "seconds", "time", "elapsed"] => (value, Some("s"), "elapsed"),
        [value, "seconds", name] => (value, Some("s"), name),
        [value, "+-", _, "seconds", name] => (value, Some("s"), name),
        [value, "msec", name] => (value, Some("ms"), name),
        [value, unit, name] if is_unit(unit) => (value, Some(unit), name),
        [value, name] if !name.starts_with(|it: char| it.is_ascii_digit()) => (value, None, name),
        _ => return None,
    };
    Some(Counter {
        name,
        value: Ok(number::with_thousands(value)?),
        unit,
    })
}

fn is_unit(word: &str) -> bool {
    word == "Joules" || word == "msec" || convert(1.0, word, "ns").is_some()
}
