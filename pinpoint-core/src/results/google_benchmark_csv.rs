//! Google Benchmark's `--benchmark_format=csv`.
//!
//! ```text
//! name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message,"digits"
//! "Sum/100",16971,78.4523,78.5515,ns,5.0922e+09,,,,,2.5
//! "Broken",,,,,,,,true,"no data"
//! ```
//!
//! The charts are those of the JSON format. Checked with Google Benchmark 1.7.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memchr2;

use super::charts::Charts;
use super::google_benchmark::RATES;
use super::google_benchmark_console::{STATISTICS, is_statistic};
use super::number::{self, Number};
use super::text::{has, lines_with, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const FIRST: [&str; 5] = ["name", "iterations", "real_time", "cpu_time", "time_unit"];

/// Columns that are not counters.
const OTHERS: [&str; 3] = ["label", "error_occurred", "error_message"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    // Only statistics have to be told from benchmarks whose names end like theirs.
    let has_statistics = STATISTICS.iter().chain([&"_cv"]).any(|it| has(text, it));
    let names: BTreeSet<String> = lines_with_ends(text)
        .filter(|(_, line, _)| has_statistics && line.starts_with('"'))
        .filter_map(|(_, line, _)| Some(cells(line)?.into_iter().next()?.into_owned()))
        .collect();
    let mut head: Option<Head> = None;
    let mut chart = String::new();
    for (index, line, has_end) in lines_with_ends(text) {
        let Some(row) = cells(line) else {
            if head.is_some() && line.starts_with('"') {
                charts.doubts(index);
            }
            continue;
        };
        if is_head(&row) {
            head = Some(Head::new(&row));
            charts.knows(index);
            continue;
        }
        let Some(head) = &head else {
            continue;
        };
        if !line.starts_with('"') {
            continue;
        }
        let cell = |at: Option<usize>| Some(&**row.get(at?)?);
        let (name, unit) = (&*row[0], cell(head.unit));
        if cell(head.error) == Some("true") {
            let message = cell(head.message).unwrap_or_default();
            let reason = format!("Google Benchmark says `{message}`");
            charts.benchmark(name);
            charts.fail(name, reason.as_str());
            charts.fail(&format!("{name} cpu_time"), reason);
            charts.knows(index);
            continue;
        }
        if row.len() != head.columns.len() {
            charts.doubts(index);
            continue;
        }
        charts.knows(index);
        // Neither the complexity of a family of benchmarks nor its error has iterations.
        if cell(head.iterations) == Some("") {
            continue;
        }
        if is_statistic(name, |other| names.contains(other)) {
            continue;
        }
        charts.benchmark(name);
        for (at, (column, value)) in head.columns.iter().zip(&row).enumerate() {
            chart.clear();
            chart += name;
            let (unit, direction) = match column {
                Column::RealTime => (unit, Direction::Down),
                Column::Further(title, direction) => {
                    let is_time = *direction == Direction::Down;
                    if value.is_empty() && !is_time {
                        continue;
                    }
                    chart.push(' ');
                    chart += title;
                    (unit.filter(|_| is_time), *direction)
                }
                Column::Other => continue,
            };
            match number::number(value) {
                // More digits may have followed.
                _ if !has_end && at + 1 == row.len() => {
                    charts.fail(
                        &chart,
                        "its line has no end, so that its value may be cut off",
                    );
                }
                Some(Number::Finite(value)) => {
                    charts.add(&chart, [value], unit, direction, || OutputPosition::Text {
                        line: index + 1,
                        column: 1,
                    });
                }
                _ => charts.fail(&chart, "its value is not a number"),
            }
        }
    }
    charts.finish("a row of a single repetition in the CSV of Google Benchmark (the statistics of repetitions are no measurements: leave out --benchmark_report_aggregates_only)")
}

pub(super) fn recognize(text: &str) -> bool {
    let mut lines = lines_with(text, "name,").map(shown);
    lines.any(|line| line.starts_with("name,") && cells(line).is_some_and(|row| is_head(&row)))
}

/// The columns of the rows below a head.
struct Head {
    columns: Vec<Column>,
    unit: Option<usize>,
    iterations: Option<usize>,
    error: Option<usize>,
    message: Option<usize>,
}

enum Column {
    /// The value of the chart that bears the benchmark's name alone.
    RealTime,
    /// The processor time, a rate or a counter, with its title.
    Further(String, Direction),
    Other,
}

impl Head {
    fn new(titles: &[Cow<'_, str>]) -> Self {
        let at = |title| titles.iter().position(|it| it == title);
        let columns = titles.iter().map(|title| match &**title {
            "real_time" => Column::RealTime,
            "cpu_time" => Column::Further("cpu_time".to_owned(), Direction::Down),
            "name" | "iterations" | "time_unit" => Column::Other,
            other if OTHERS.contains(&other) => Column::Other,
            rate if RATES.contains(&rate) => Column::Further(rate.to_owned(), Direction::Up),
            counter => Column::Further(counter.to_owned(), Direction::Unknown),
        });
        Self {
            columns: columns.collect(),
            unit: at("time_unit"),
            iterations: at("iterations"),
            error: at("error_occurred"),
            message: at("error_message"),
        }
    }
}

fn is_head(row: &[Cow<'_, str>]) -> bool {
    row.iter().map(AsRef::as_ref).take(FIRST.len()).eq(FIRST)
}

/// The cells of a line; a quote within quotes is doubled.
fn cells(line: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let (cell, after) = first_cell(rest)?;
        cells.push(cell);
        match after {
            Some(after) => rest = after,
            None => break,
        }
    }
    (cells.len() > 1 || line.contains(',')).then_some(cells)
}

/// The first cell, and the text after its comma. `None` if a quote has no end.
fn first_cell(text: &str) -> Option<(Cow<'_, str>, Option<&str>)> {
    let end = memchr2(b',', b'"', text.as_bytes()).unwrap_or(text.len());
    match text.as_bytes().get(end) {
        None => return Some((text.into(), None)),
        Some(b',') => return Some((text[..end].into(), Some(&text[end + 1..]))),
        Some(_) => {}
    }
    // Nearly all cells with quotes have them around.
    if end == 0
        && let Some((cell, after)) = text[1..].split_once('"')
        && (after.is_empty() || after.starts_with(','))
    {
        return Some((cell.into(), after.strip_prefix(',')));
    }
    let mut cell = String::new();
    let mut is_quoted = false;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if(|(_, next)| *next == '"').is_some() => {
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => return Some((cell.into(), Some(&text[at + 1..]))),
            letter => cell.push(letter),
        }
    }
    (!is_quoted).then_some((cell.into(), None))
}
