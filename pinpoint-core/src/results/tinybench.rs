//! The table of tinybench, `console.table(bench.table())`.
//!
//! ```text
//! ┌─────────┬─────────────┬──────────────────┬──────────────────┬─…─┬─────────┐
//! │ (index) │ Task name   │ Latency avg (ns) │ Latency med (ns) │ … │ Samples │
//! ├─────────┼─────────────┼──────────────────┼──────────────────┼─…─┼─────────┤
//! │ 0       │ 'sort 1000' │ '173963 ± 2.58%' │ '152424 ± 17883' │ … │ 575     │
//! └─────────┴─────────────┴──────────────────┴──────────────────┴─…─┴─────────┘
//! ```
//!
//! One chart for each task, named by it, of its median latency (or its mean, where there is no
//! median) in nanoseconds, for any printed unit: a run gives one value. A task without a value has
//! failed. Checked with tinybench 2.9 and 6.2.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

/// The beginnings of the titles of the value's column, the best first.
const VALUES: [&str; 4] = [
    "latency med",
    "latency avg",
    "latency average",
    "average time",
];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut head: Option<Head> = None;
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some(cells) = cells(line) else {
            if line.starts_with('└') {
                head = None;
            } else if head.is_some() && line.starts_with('│') {
                charts.doubts(index);
            }
            continue;
        };
        if let Some(next) = Head::from_cells(&cells) {
            head = Some(next);
            charts.knows(index);
            continue;
        }
        let Some(head) = &head else {
            continue;
        };
        if cells.len() != head.columns {
            charts.doubts(index);
            continue;
        }
        let (name, cell) = (unquoted(cells[head.name]), unquoted(cells[head.value]));
        let value = number::with_thousands(cell.split_whitespace().next().unwrap_or_default());
        match value {
            Some(Number::Finite(value)) => {
                let value = convert(value, head.unit, "ns").unwrap_or(value);
                charts.add_once(name, vec![value], Some("ns"), Direction::Down, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, cell),
                    }
                });
            }
            _ => {
                let error = head.error.map(|error| unquoted(cells[error]));
                let reason = match error.filter(|error| !error.is_empty()) {
                    Some(error) => format!("tinybench says `{error}`"),
                    None => "tinybench has no latency for it".to_owned(),
                };
                charts.fail(name, reason);
            }
        }
        charts.knows(index);
    }
    charts.finish("a row in a table with `Task name` and `Latency med (ns)`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "│")
        .any(|line| cells(shown(line)).is_some_and(|it| Head::from_cells(&it).is_some()))
}

struct Head<'a> {
    columns: usize,
    name: usize,
    value: usize,
    unit: &'a str,
    error: Option<usize>,
}

impl<'a> Head<'a> {
    fn from_cells(cells: &[&'a str]) -> Option<Self> {
        let is = |title: &'static str| move |cell: &&str| cell.to_lowercase().starts_with(title);
        let value = VALUES
            .into_iter()
            .find_map(|title| cells.iter().position(is(title)))?;
        let (_, unit) = cells[value].split_once('(')?;
        let unit = unit.trim_end_matches(')');
        convert(1.0, unit, "ns")?;
        Some(Self {
            columns: cells.len(),
            name: cells.iter().position(is("task name"))?,
            value,
            unit,
            error: cells.iter().position(is("error")),
        })
    }
}

/// The cells of a row that is whole.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_prefix('│')?.strip_suffix('│')?;
    Some(row.split('│').map(str::trim).collect())
}

/// A text as Node.js shows it.
fn unquoted(cell: &str) -> &str {
    let quotes = ['\'', '"', '`'].into_iter();
    let mut inner = quotes.filter_map(|it| cell.strip_prefix(it)?.strip_suffix(it));
    inner.next().unwrap_or(cell)
}
