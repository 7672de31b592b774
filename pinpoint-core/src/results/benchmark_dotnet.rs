//! The summary that BenchmarkDotNet prints.
//!
//! ```text
//! | Method   | N    | Mean        | Error     | StdDev    | Allocated |
//! |--------- |----- |------------:|----------:|----------:|----------:|
//! | Sum      | 1000 | 20,425.7 ns | 152.58 ns | 100.93 ns |     608 B |
//! | Broken   | 1000 |          NA |        NA |        NA |        NA |
//! ```
//!
//! One chart for each row, named by its method and the columns before its mean, `Sum [N=1000]`, of
//! the mean in nanoseconds, for any printed unit: a run gives one value; and one of the memory that
//! is allocated, `Sum [N=1000] Allocated`, in bytes. Where two tables have a name in common, each
//! begins with its class, `Sums.Sum [N=1000]`. Based on published outputs of BenchmarkDotNet 0.10
//! to 0.15.

use std::collections::BTreeSet;

use super::charts::Charts;
use super::number::{self, Comma, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut tables: Vec<Table> = Vec::new();
    let mut is_in_table = false;
    let mut class = None;
    let mut before = "";
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some(cells) = cells(line) else {
            is_in_table = false;
            class = class_of(line, before).or(class);
            before = line;
            continue;
        };
        if let Some(head) = Head::from_cells(&cells) {
            tables.push(Table {
                head,
                class: class.take(),
                rows: Vec::new(),
            });
            is_in_table = true;
            charts.knows(index);
            continue;
        }
        let Some(table) = tables.last_mut().filter(|_| is_in_table) else {
            continue;
        };
        let is_empty = |cell: &&str| cell.bytes().all(|byte| matches!(byte, b'-' | b':'));
        if cells.len() == table.head.titles.len() && cells.iter().all(is_empty) {
            charts.knows(index);
        } else if cells.len() != table.head.titles.len() || cells[table.head.method].is_empty() {
            charts.doubts(index);
        } else {
            table.rows.push(Row { index, line, cells });
        }
    }
    let has_class = have_a_name_in_common(&tables);
    for table in &tables {
        table.add_to(&mut charts, has_class);
    }
    charts.finish("a row in a table with `Method` and `Mean`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "Method")
        .any(|line| cells(shown(line)).is_some_and(|it| Head::from_cells(&it).is_some()))
}

/// The class whose benchmarks are in the next table: of a line `// Benchmark: Sums.Sum: Job…`, and
/// of the one below `// * Detailed results *`.
fn class_of<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let benchmark = match line.strip_prefix("// Benchmark: ") {
        Some(benchmark) => benchmark,
        None if before.trim_end() == "// * Detailed results *" => line,
        None => return None,
    };
    let (class, rest) = benchmark.split_once('.')?;
    (!class.is_empty() && rest.contains(": ")).then_some(class)
}

fn have_a_name_in_common(tables: &[Table]) -> bool {
    let mut all = BTreeSet::new();
    tables.iter().any(|table| {
        let names: BTreeSet<String> = table.rows.iter().map(|row| table.name(row)).collect();
        let are_new = all.is_disjoint(&names);
        all.extend(names);
        !are_new
    })
}

struct Table<'a> {
    head: Head<'a>,
    class: Option<&'a str>,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    index: usize,
    line: &'a str,
    cells: Vec<&'a str>,
}

impl Table<'_> {
    /// The method, and the other columns before the mean: its class, its job, its parameters.
    fn name(&self, row: &Row) -> String {
        let Head { mean, method, .. } = self.head;
        let others = (0..mean).filter(|at| *at != method);
        let others: Vec<String> = others
            .map(|at| format!("{}={}", self.head.titles[at], row.cells[at]))
            .collect();
        match others.is_empty() {
            true => row.cells[method].to_owned(),
            false => format!("{} [{}]", row.cells[method], others.join(", ")),
        }
    }

    fn add_to(&self, charts: &mut Charts, has_class: bool) {
        let commas = self.commas();
        for row in &self.rows {
            let mut name = self.name(row);
            if let Some(class) = self.class.filter(|_| has_class) {
                name = format!("{class}.{name}");
            }
            charts.benchmark(&name);
            let allocated = format!("{name} Allocated");
            for (at, chart, unit) in [
                (Some(self.head.mean), name, "ns"),
                (self.head.allocated, allocated, "B"),
            ] {
                let Some(at) = at else {
                    continue;
                };
                let cell = row.cells[at];
                match value(cell, unit, commas) {
                    Some(Number::Finite(value)) => {
                        charts.add_once(&chart, vec![value], Some(unit), Direction::Down, || {
                            OutputPosition::Text {
                                line: row.index + 1,
                                column: column_of(row.line, cell),
                            }
                        });
                    }
                    Some(Number::NotFinite) => charts.fail(&chart, "BenchmarkDotNet says `NA`"),
                    None => charts.doubts(row.index),
                }
            }
            charts.knows(row.index);
        }
    }

    /// The meaning of the commas of all values, if one of them shows it. Early versions write
    /// those of the machine's language.
    fn commas(&self) -> Option<Comma> {
        let cells = self
            .rows
            .iter()
            .flat_map(|row| &row.cells[self.head.mean..]);
        let shown = cells.filter_map(|cell| number::comma(cell.split_whitespace().next()?));
        let (decimal, thousands): (Vec<Comma>, _) = shown.partition(|it| *it == Comma::Decimal);
        decimal.first().or(thousands.first()).copied()
    }
}

struct Head<'a> {
    titles: Vec<&'a str>,
    method: usize,
    mean: usize,
    allocated: Option<usize>,
}

impl<'a> Head<'a> {
    fn from_cells(cells: &[&'a str]) -> Option<Self> {
        let at = |title| cells.iter().position(|cell| *cell == title);
        let (method, mean) = (at("Method")?, at("Mean")?);
        (method < mean).then(|| Self {
            titles: cells.to_vec(),
            method,
            mean,
            allocated: at("Allocated"),
        })
    }
}

/// The cells of a row that is whole. Early versions write no bar before the first.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.trim().strip_suffix('|')?;
    let row = row.strip_prefix('|').unwrap_or(row);
    // The fastest is in bold.
    Some(
        row.split('|')
            .map(|cell| cell.trim().trim_matches('*'))
            .collect(),
    )
}

/// A value in another unit; `-` is an allocation of nothing.
///
/// Only the other values tell if `20,425 ns` has thousands or decimals. Where the comma is the
/// decimal one, the point may separate thousands.
fn value(cell: &str, to: &str, commas: Option<Comma>) -> Option<Number> {
    match cell {
        "NA" | "?" | "" => return Some(Number::NotFinite),
        "-" if to == "B" => return Some(Number::Finite(0.0)),
        _ => {}
    }
    let (number, unit) = cell.split_once(char::is_whitespace)?;
    match commas {
        Some(Comma::Thousands) => {}
        Some(Comma::Decimal) if number.contains([',', '.']) => return None,
        None if number.contains(',') => return None,
        _ => {}
    }
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
