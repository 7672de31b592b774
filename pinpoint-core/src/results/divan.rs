//! The tree that divan prints.
//!
//! ```text
//! Timer precision: 20 ns
//! sums        fastest       │ slowest       │ median        │ mean          │ samples │ iters
//! ├─ fold                   │               │               │               │         │
//! │  ├─ 100   40.1 ns       │ 48.2 ns       │ 40.6 ns       │ 41.2 ns       │ 100     │ 51200
//! │  ╰─ 1000  391 ns        │ 432.1 ns      │ 396.2 ns      │ 398 ns        │ 100     │ 3200
//! ╰─ parse    6.1 ns        │ 8.25 ns       │ 6.2 ns        │ 6.31 ns       │ 100     │ 51200
//! ```
//!
//! One chart for each benchmark, named by its path, `sums/fold/100`, of the median in nanoseconds,
//! for any printed unit: a run gives one value. Rates and allocations below a benchmark are not
//! read. Checked with divan 0.1.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

/// The columns after the name.
const COLUMNS: [&str; 6] = ["fastest", "slowest", "median", "mean", "samples", "iters"];

/// Between two columns, and before the branches of a tree.
const BAR: char = '│';

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    // The names above the current one; none before a head.
    let mut path: Vec<&str> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        if let Some(name) = head(line) {
            path = vec![name];
            continue;
        }
        let Some((depth, rest)) = branch(line).filter(|_| !path.is_empty()) else {
            // Rates and allocations stand below a benchmark, without samples.
            let mut cells = line.split(BAR).rev().map(str::trim);
            let is_last = cells.next() == Some("") && cells.next() == Some("");
            if !path.is_empty() && is_last {
                charts.knows(index);
            }
            continue;
        };
        let mut cells = rest.split(BAR);
        let (name, fastest) = named(cells.next().unwrap_or_default());
        path.truncate(depth + 1);
        path.push(name);
        let cells: Vec<&str> = cells.map(str::trim).collect();
        let [_, median, _, samples, iterations] = cells[..] else {
            continue;
        };
        // Rates and allocations.
        if samples.is_empty() && iterations.is_empty() {
            charts.knows(index);
        }
        if fastest.is_none() || samples.is_empty() || iterations.is_empty() {
            continue;
        }
        let chart = path.join("/");
        let median_time = time(median);
        if median_time.is_some() {
            charts.knows(index);
        }
        match median_time {
            Some((Number::Finite(value), unit)) => {
                let value = convert(value, unit, "ns").unwrap_or(value);
                charts.add(&chart, vec![value], Some("ns"), Direction::Down, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, median),
                    }
                });
            }
            Some((Number::NotFinite, _)) => charts.fail(&chart, "its median is not a number"),
            None => {}
        }
    }
    charts.finish("a row in a table with `fastest │ slowest │ median │ mean`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, COLUMNS[0]).any(|line| head(shown(line)).is_some())
}

/// The name before the titles of the columns.
fn head(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let bar = BAR.to_string();
    let titles: Vec<&str> = words.filter(|word| *word != bar).collect();
    titles.starts_with(&COLUMNS[..4]).then_some(name)
}

/// The depth of a line in the tree, and the line after its branch.
fn branch(line: &str) -> Option<(usize, &str)> {
    let mut rest = line;
    let mut depth = 0;
    loop {
        if let Some(named) = rest.strip_prefix("├─ ").or(rest.strip_prefix("╰─ ")) {
            return Some((depth, named));
        }
        rest = rest.strip_prefix("│  ").or(rest.strip_prefix("   "))?;
        depth += 1;
    }
}

/// The name in the first column, and the time after it, if there is one.
fn named(cell: &str) -> (&str, Option<&str>) {
    let cell = cell.trim();
    let start = (cell.rsplit_once(char::is_whitespace))
        .and_then(|(before, _)| before.trim_end().rsplit_once(char::is_whitespace));
    match start {
        Some((name, _)) if time(&cell[name.len()..]).is_some() => {
            (name.trim(), Some(&cell[name.len()..]))
        }
        _ => (cell, None),
    }
}

fn time(text: &str) -> Option<(Number, &str)> {
    let mut words = text.split_whitespace();
    let (number, unit) = (number::number(words.next()?)?, words.next()?);
    convert(1.0, unit, "ns")?;
    words.next().is_none().then_some((number, unit))
}
