//! The output of Criterion.rs.
//!
//! ```text
//! sums/fold/100           time:   [40.102 ns 40.635 ns 41.204 ns]
//!                         thrpt:  [18.083 GiB/s 18.336 GiB/s 18.579 GiB/s]
//!                         change: [-1.2034% +0.1021% +1.4208%] (p = 0.84 > 0.05)
//! ```
//!
//! One chart for each benchmark, named by its id, of the estimate, which is the number in the
//! middle: a run gives one value. Times are in nanoseconds, for any printed unit; another
//! measurement keeps the printed one. A long id stands on a separate line. Checked with
//! Criterion.rs 0.8.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading, UNNAMED};
use crate::Direction;
use crate::unit::convert;

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some(estimate) = estimate(line) else {
            before = line;
            continue;
        };
        charts.knows(index);
        let name = match (estimate.name, before.trim()) {
            ("", "") => UNNAMED,
            ("", before) => before,
            (name, _) => name,
        };
        let Number::Finite(value) = estimate.number else {
            charts.fail(name, "its estimate is not a number");
            continue;
        };
        let (value, unit, direction) = match convert(value, estimate.unit, "ns") {
            Some(value) => (value, "ns", Direction::Down),
            None => (value, estimate.unit, Direction::Unknown),
        };
        charts.add(name, vec![value], Some(unit), direction, || {
            OutputPosition::Text {
                line: index + 1,
                column: column_of(line, estimate.unit),
            }
        });
    }
    charts.finish("lines like `sort  time:   [40.1 ns 40.6 ns 41.2 ns]`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "time:").any(|line| estimate(shown(line)).is_some())
}

struct Estimate<'a> {
    /// Empty if it stands on the line before.
    name: &'a str,
    number: Number,
    unit: &'a str,
}

fn estimate(line: &str) -> Option<Estimate<'_>> {
    let (name, rest) = line.rsplit_once("time:")?;
    let interval = rest.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut words = interval.split_whitespace();
    let mut next = || {
        let number = number::number(words.next()?)?;
        Some((number, words.next()?))
    };
    let (_, (number, unit), _) = (next()?, next()?, next()?);
    // Changes only have numbers with a percent sign.
    (words.next().is_none()).then_some(Estimate {
        name: name.trim(),
        number,
        unit,
    })
}
