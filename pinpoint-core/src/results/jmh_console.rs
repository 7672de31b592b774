//! The output of JMH, the Java Microbenchmark Harness.
//!
//! ```text
//! Benchmark                  (n)   Mode  Cnt   Score    Error  Units
//! Sums.average                10   avgt    4   0.028 ±  0.220  us/op
//! Sums.average:gc.alloc.rate  10   avgt    4   0.439 ±  0.001  MB/sec
//! ```
//!
//! One chart for each row of the table at the end, of its score, with the names of the JSON
//! (`Sums.average [avgt, n=10]`, `Sums.average [avgt, n=10] gc.alloc.rate`), but without the
//! package, which JMH leaves out of the table. The values of all iterations are in its JSON. A
//! score that JMH rounds to a power of ten (`≈ 10⁻⁵`) says too little, and is a failure; so is a
//! benchmark that threw. Written after JMH's `TextResultFormat` of 1.37; the columns `Samples` and
//! `Score error` are those of 1.0 to 1.9.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{lines_with, lines_with_ends};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

/// The beginning of the first line.
const VERSION: &str = "# JMH version: ";

const MODES: [&str; 4] = ["thrpt", "avgt", "sample", "ss"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut header = None;
    let mut benchmark = None;
    // Within what JMH says of an iteration or a benchmark, whose further lines are indented.
    let mut in_report = false;
    for (index, line, has_end) in lines_with_ends(text) {
        if let Some(begun) = Header::of(line) {
            header = Some(begun);
            charts.knows(index);
            continue;
        }
        let Some(header) = &header else {
            if let Some(name) = line.strip_prefix("# Benchmark: ") {
                benchmark = Some(name.trim());
            }
            if let Some(benchmark) = benchmark
                && line.trim_end().ends_with(" <failure>")
            {
                charts.benchmark(benchmark);
                charts.fail(benchmark, "JMH says `<failure>`");
            }
            in_report = begins_a_report(line)
                || in_report && (line.is_empty() || line.starts_with(char::is_whitespace));
            if in_report {
                charts.knows(index);
            }
            continue;
        };
        let Some(row) = header.row(line).filter(|_| has_end) else {
            if line.split_whitespace().any(|word| MODES.contains(&word)) {
                charts.doubts(index);
            }
            continue;
        };
        charts.knows(index);
        charts.benchmark(&row.benchmark);
        match row.score {
            Score::Number(Number::Finite(score)) => {
                let unit = Some(row.unit);
                charts.add_once(&row.chart, vec![score], unit, row.direction, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: 1,
                    }
                });
            }
            Score::Number(Number::NotFinite) => {
                charts.fail(&row.chart, "its score is not a number");
            }
            Score::Rounded => charts.fail(
                &row.chart,
                "JMH prints only its power of ten; choose a smaller unit of time",
            ),
        }
    }
    charts.finish("a row of JMH's table, below `Benchmark  Mode  Cnt  Score  Error  Units`")
}

pub(super) fn recognize(text: &str) -> bool {
    let mut titles = lines_with(text, " Mode ");
    lines_with(text, VERSION).any(|line| line.starts_with(VERSION))
        || titles.any(|line| Header::of(line.trim_end()).is_some())
}

/// `Iteration   1: 0.078 us/op`, and the like.
fn begins_a_report(line: &str) -> bool {
    ["# ", "Iteration ", "Result ", "Secondary result "]
        .iter()
        .any(|beginning| line.starts_with(beginning))
}

/// The head of the table.
struct Header<'a> {
    /// The parameters, each with the column after its last character.
    parameters: Vec<(&'a str, usize)>,
    /// True if an old version printed the table, in which no cell is empty.
    is_old: bool,
}

/// A row of the table.
struct Row<'a> {
    /// The chart of its benchmark.
    benchmark: String,
    chart: String,
    score: Score,
    unit: &'a str,
    direction: Direction,
}

enum Score {
    Number(Number),
    /// Only the power of ten is printed.
    Rounded,
}

impl<'a> Header<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix("Benchmark ")?;
        let (names, columns) = rest.split_once(" Mode ")?;
        let columns: Vec<&str> = columns.split_whitespace().collect();
        let is_old = match columns[..] {
            ["Samples", ..] => true,
            ["Cnt", ..] | ["Score", ..] => false,
            _ => return None,
        };
        if !columns.contains(&"Score") || columns.last() != Some(&"Units") {
            return None;
        }
        let mut parameters = Vec::new();
        for name in names.split_whitespace() {
            let name_without = name.strip_prefix('(')?.strip_suffix(')')?;
            let start = (name.as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
            let end = line.get(..start + name.len())?.chars().count();
            parameters.push((name_without, end));
        }
        Some(Self { parameters, is_old })
    }

    fn row<'b>(&self, line: &'b str) -> Option<Row<'b>> {
        let (name, _) = line.split_once(' ').filter(|(name, _)| !name.is_empty())?;
        let mut start = name.len();
        let mut cells = Vec::new();
        for (parameter, column) in &self.parameters {
            let end = line.char_indices().nth(*column).map(|(end, _)| end)?;
            let cell = line.get(start..end)?.trim();
            cells.push(format!(", {parameter}={cell}"));
            start = end;
        }
        let mut words = line.get(start..)?.split_whitespace();
        let mode = words.next().filter(|mode| MODES.contains(mode))?;
        let words: Vec<&str> = words.collect();
        let (unit, words) = words.split_last()?;
        if number::number(unit).is_some() {
            return None;
        }
        let words = match words {
            [before @ .., "±" | "+-", _] => before,
            [_, score, _] if self.is_old => std::slice::from_ref(score),
            words => words,
        };
        let score = match words {
            [.., "≈", _] => Score::Rounded,
            [score] | [_, score] => Score::Number(number::number(score)?),
            _ => return None,
        };
        let (name, secondary) = match name.split_once(':') {
            // Before 1.36 a dot stands between the benchmark's name, or none, and the metric's.
            Some((benchmark, secondary)) => {
                let metric = secondary.rsplit('·').next().unwrap_or(secondary);
                (benchmark, Some(metric))
            }
            None => (name, None),
        };
        let benchmark = format!("{name} [{mode}{}]", cells.concat());
        let (chart, direction) = match (secondary, mode) {
            (Some(metric), _) => (format!("{benchmark} {metric}"), Direction::Unknown),
            (None, "thrpt") => (benchmark.clone(), Direction::Up),
            (None, _) => (benchmark.clone(), Direction::Down),
        };
        Some(Row {
            benchmark,
            chart,
            score,
            unit,
            direction,
        })
    }
}
