//! The summary that BenchmarkDotNet prints.
//!
//! ```text
//! | Method   | N    | Mean        | Error     | StdDev    | Allocated |
//! |--------- |----- |------------:|----------:|----------:|----------:|
//! | Sum      | 1000 | 20,425.7 ns | 152.58 ns | 100.93 ns |     608 B |
//! | Broken   | 1000 |          NA |        NA |        NA |        NA |
//! ```
//!
//! One chart for each row, named by its method and by what stands before its mean, `Sum [N=1000]`,
//! of the mean in nanoseconds, whatever unit is printed: a run gives one value; and one of the
//! memory that is allocated, `Sum [N=1000] Allocated`, in bytes. After what is published of
//! BenchmarkDotNet 0.10 to 0.15.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, shown};
use super::{Place, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut head: Option<Head> = None;
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some(cells) = cells(line) else {
            head = None;
            continue;
        };
        if let Some(next) = Head::of(&cells) {
            head = Some(next);
            charts.knows(index);
            continue;
        }
        let Some(head) = &head else {
            continue;
        };
        let is_empty = |cell: &&str| cell.bytes().all(|byte| matches!(byte, b'-' | b':'));
        if cells.len() == head.titles.len() && cells.iter().all(is_empty) {
            charts.knows(index);
            continue;
        }
        if cells.len() != head.titles.len() || cells[head.method].is_empty() {
            charts.doubts(index);
            continue;
        }
        let name = head.name(&cells);
        for (at, chart, unit) in [
            (Some(head.mean), name.clone(), "ns"),
            (head.allocated, format!("{name} Allocated"), "B"),
        ] {
            let Some(at) = at else {
                continue;
            };
            match value(cells[at], unit) {
                Some(Number::Finite(value)) => {
                    charts.add_once(&chart, vec![value], Some(unit), Direction::Down, || {
                        Place::Text {
                            line: index + 1,
                            column: column_of(line, cells[at]),
                        }
                    });
                }
                Some(Number::NotFinite) => charts.fail(&chart, "BenchmarkDotNet says `NA`"),
                None => charts.doubts(index),
            }
        }
        charts.knows(index);
    }
    charts.finish("a row in a table with `Method` and `Mean`")
}

pub(super) fn recognise(text: &str) -> bool {
    (text.lines()).any(|line| cells(shown(line)).is_some_and(|it| Head::of(&it).is_some()))
}

struct Head<'a> {
    titles: Vec<&'a str>,
    method: usize,
    mean: usize,
    allocated: Option<usize>,
}

impl<'a> Head<'a> {
    fn of(cells: &[&'a str]) -> Option<Self> {
        let at = |title| cells.iter().position(|cell| *cell == title);
        let (method, mean) = (at("Method")?, at("Mean")?);
        (method < mean).then(|| Self {
            titles: cells.to_vec(),
            method,
            mean,
            allocated: at("Allocated"),
        })
    }

    /// The method, and the other columns before the mean: its class, its job, its parameters.
    fn name(&self, cells: &[&str]) -> String {
        let others = (0..self.mean).filter(|at| *at != self.method);
        let others: Vec<String> = others
            .map(|at| format!("{}={}", self.titles[at], cells[at]))
            .collect();
        match others.is_empty() {
            true => cells[self.method].to_owned(),
            false => format!("{} [{}]", cells[self.method], others.join(", ")),
        }
    }
}

/// The cells of a row that is whole. Early versions write no bar before the first.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_suffix('|')?;
    let row = row.strip_prefix('|').unwrap_or(row);
    // What is the fastest is in bold.
    Some(
        row.split('|')
            .map(|cell| cell.trim().trim_matches('*'))
            .collect(),
    )
}

/// A value in another unit; `-` is an allocation of nothing.
fn value(cell: &str, to: &str) -> Option<Number> {
    match cell {
        "NA" | "?" | "" => return Some(Number::NotFinite),
        "-" if to == "B" => return Some(Number::Finite(0.0)),
        _ => {}
    }
    let (number, unit) = cell.split_once(char::is_whitespace)?;
    // 1 KB is 1024 B there.
    let unit = match unit.trim() {
        "KB" => "KiB",
        "MB" => "MiB",
        "GB" => "GiB",
        unit => unit,
    };
    match number::with_thousands(number)? {
        Number::Finite(value) => Some(Number::Finite(convert(value, unit, to)?)),
        Number::NotFinite => Some(Number::NotFinite),
    }
}
