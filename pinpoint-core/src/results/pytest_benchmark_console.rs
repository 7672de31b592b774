//! The table that pytest-benchmark prints.
//!
//! ```text
//! Name (time in us)        Min               Max      Mean  …    Median  …  Outliers  OPS …  Rounds  Iterations
//! -------------------------------------------------------------------------------------------------------------
//! test_sum[10]          1.0636 (1.0)      2.1000 …                1.0701 (1.0)  …  12;34  …       8           1
//! ```
//!
//! One chart for each test, named as in the table, of its median (or its mean, or its minimum,
//! where `--benchmark-columns` leaves that out) in seconds, for any printed unit: a run gives one
//! value. The times of all rounds are in its JSON. A test that pytest lists as failed has no chart.
//! Checked with pytest-benchmark 5.3.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading, pytest_durations};
use crate::Direction;
use crate::unit::convert;

/// The columns that can be the value, the best first.
const VALUES: [&str; 3] = ["Median", "Mean", "Min"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut head = None;
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        if let Some(test) = failed(line) {
            charts.fail(test, "pytest says that it failed");
        }
        if let Some(next) = Head::from_line(line) {
            head = Some(next);
            continue;
        }
        if line.trim().is_empty() {
            head = None;
        }
        if pytest_durations::duration(line).is_some() {
            charts.knows(index);
        }
        let Some(titles) = &head else {
            continue;
        };
        let Some((name, value)) = titles.row(line) else {
            if !line.trim().is_empty() && line.bytes().any(|byte| byte != b'-') {
                charts.doubts(index);
            }
            continue;
        };
        charts.knows(index);
        match value {
            Number::Finite(value) => {
                charts.add_once(name, vec![value], Some("s"), Direction::Down, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, name),
                    }
                });
            }
            Number::NotFinite => charts.fail(name, "its value is not a number"),
        }
    }
    charts.finish("a row in a table with `Name (time in …)`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "Name (time in ").any(|line| Head::from_line(shown(line)).is_some())
}

/// The titles of a table.
struct Head<'a> {
    unit: &'a str,
    /// The number of columns after the name, and the one that is read.
    columns: usize,
    value: usize,
}

impl<'a> Head<'a> {
    fn from_line(line: &'a str) -> Option<Self> {
        let (unit, titles) = line.strip_prefix("Name (time in ")?.split_once(')')?;
        convert(1.0, unit, "s")?;
        // A prefix of OPS stands in parentheses, `OPS (Kops/s)`.
        let titles: Vec<&str> = titles
            .split_whitespace()
            .filter(|title| !title.starts_with('('))
            .collect();
        let value = VALUES
            .iter()
            .find_map(|value| titles.iter().position(|title| title == value))?;
        Some(Self {
            unit,
            columns: titles.len(),
            value,
        })
    }

    /// The name and the value in a row.
    fn row<'b>(&self, line: &'b str) -> Option<(&'b str, Number)> {
        // From the end, since a name may have blanks. Next to a value is its ratio to the best.
        let is_ratio = |word: &str| word.starts_with('(') && word.ends_with(')');
        let mut words = line.split_whitespace().rev().filter(|word| !is_ratio(word));
        let mut cells: Vec<&str> = words.by_ref().take(self.columns).collect();
        cells.reverse();
        let first = *cells.first()?;
        let is_cell = |word: &&str| {
            let mut parts = word.split(';');
            parts.all(|part| number::with_thousands(part).is_some())
        };
        let name = line[..first.as_ptr() as usize - line.as_ptr() as usize].trim();
        if cells.len() < self.columns || name.is_empty() || !cells.iter().all(is_cell) {
            return None;
        }
        let value = cells.get(self.value)?;
        Some((
            name,
            match number::with_thousands(value)? {
                Number::Finite(value) => Number::Finite(convert(value, self.unit, "s")?),
                Number::NotFinite => Number::NotFinite,
            },
        ))
    }
}

/// The test of a line `FAILED test_sums.py::test_sum[10] - assert 0` in pytest's summary.
fn failed(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("FAILED ")
        .or(line.strip_prefix("ERROR "))?;
    let test = rest.split(" - ").next().unwrap_or(rest).trim();
    Some(test.split_once("::")?.1)
}
