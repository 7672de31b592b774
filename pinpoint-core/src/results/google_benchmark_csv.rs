//! Google Benchmark's `--benchmark_format=csv`.
//!
//! ```text
//! name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message,"digits"
//! "Sum/100",16971,78.4523,78.5515,ns,5.0922e+09,,,,,2.5
//! "Broken",,,,,,,,true,"no data"
//! ```
//!
//! The charts are those of the JSON format. Checked with Google Benchmark 1.7.

use std::collections::BTreeSet;

use super::charts::Charts;
use super::google_benchmark::RATES;
use super::google_benchmark_console::is_statistic;
use super::number::{self, Number};
use super::text::{lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const FIRST: [&str; 5] = ["name", "iterations", "real_time", "cpu_time", "time_unit"];

/// Columns that are not counters.
const OTHERS: [&str; 3] = ["label", "error_occurred", "error_message"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let names: BTreeSet<String> = lines_with_ends(text)
        .filter(|(_, line, _)| line.starts_with('"'))
        .filter_map(|(_, line, _)| cells(line)?.into_iter().next())
        .collect();
    let mut titles: Option<Vec<String>> = None;
    for (index, line, has_end) in lines_with_ends(text) {
        let Some(row) = cells(line) else {
            if titles.is_some() && line.starts_with('"') {
                charts.doubts(index);
            }
            continue;
        };
        if is_head(&row) {
            titles = Some(row);
            charts.knows(index);
            continue;
        }
        let Some(titles) = &titles else {
            continue;
        };
        if !line.starts_with('"') {
            continue;
        }
        let cell = |title: &str| {
            let at = titles.iter().position(|it| it == title)?;
            row.get(at).map(String::as_str)
        };
        let (name, unit) = (row[0].as_str(), cell("time_unit"));
        if cell("error_occurred") == Some("true") {
            let message = cell("error_message").unwrap_or_default();
            let reason = format!("Google Benchmark says `{message}`");
            charts.benchmark(name);
            charts.fail(name, reason.as_str());
            charts.fail(&format!("{name} cpu_time"), reason);
            charts.knows(index);
            continue;
        }
        if row.len() != titles.len() {
            charts.doubts(index);
            continue;
        }
        charts.knows(index);
        // Neither the complexity of a family of benchmarks nor its error has iterations.
        if cell("iterations") == Some("") {
            continue;
        }
        if is_statistic(name, |other| names.contains(other)) {
            continue;
        }
        charts.benchmark(name);
        for (at, (title, value)) in titles.iter().zip(&row).enumerate() {
            let (chart, unit, direction) = match title.as_str() {
                "real_time" => (name.to_owned(), unit, Direction::Down),
                "cpu_time" => (format!("{name} cpu_time"), unit, Direction::Down),
                "name" | "iterations" | "time_unit" => continue,
                other if OTHERS.contains(&other) || value.is_empty() => continue,
                rate if RATES.contains(&rate) => (format!("{name} {rate}"), None, Direction::Up),
                counter => (format!("{name} {counter}"), None, Direction::Unknown),
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
                    charts.add(&chart, vec![value], unit, direction, || {
                        OutputPosition::Text {
                            line: index + 1,
                            column: 1,
                        }
                    });
                }
                _ => charts.fail(&chart, "its value is not a number"),
            }
        }
    }
    charts.finish("a row of a single repetition in the CSV of Google Benchmark (the statistics of repetitions are no measurements: leave out --benchmark_report_aggregates_only)")
}

pub(super) fn recognize(text: &str) -> bool {
    let mut lines = text.lines().map(shown);
    lines.any(|line| line.starts_with("name,") && cells(line).is_some_and(|row| is_head(&row)))
}

fn is_head(row: &[String]) -> bool {
    row.iter().map(String::as_str).take(FIRST.len()).eq(FIRST)
}

/// The cells of a line; a quote within quotes is doubled.
fn cells(line: &str) -> Option<Vec<String>> {
    if !line.contains(',') {
        return None;
    }
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => {
                cells.last_mut()?.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cells.last_mut()?.push(letter),
        }
    }
    (!is_quoted).then_some(cells)
}
