//! The output of airspeed velocity, `asv run` or `asv show`.
//!
//! ```text
//! [12.50%] ··· sums.Suite.time_sum                                   1/4 failed
//! [12.50%] ··· ====== ============ ==========
//!              --               kind
//!              ------ -----------------------
//!                n        list       tuple
//!              ====== ============ ==========
//!                10     882±20ns    671±90ns
//!               1000   11.0±0.2μs    failed
//!              ====== ============ ==========
//!
//! [25.00%] ··· sums.Plain.time_join                                   13.7±3μs
//! ```
//!
//! One chart for each benchmark, `sums.Plain.time_join`, and in a table one for each combination of
//! its parameters, `sums.Suite.time_sum(10, list)`, in either layout. Times are in seconds, memory
//! is in bytes, and the value of a `track_` has no unit. A combination that failed has no chart.
//! Checked with asv 0.6.

use std::sync::LazyLock;

use regex::Regex;

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{lines_with, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

/// A value, its deviation, and its unit or prefix.
static CELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let number = r"[-+]?[0-9.]+(?:e[-+]?[0-9]+)?";
    Regex::new(&format!(r"^({number})(?:±{number})?([^\W\d_]*)$")).ok()
});

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut benchmark: Option<&str> = None;
    let mut table: Option<Table> = None;
    let mut is_shown = false;
    let add = |charts: &mut Charts, index: usize, benchmark: &str, chart: &str, text: &str| {
        match cell(benchmark, text) {
            Some(Cell::Value(value, unit, direction)) => {
                charts.add_once(chart, vec![value], unit, direction, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: 1,
                    }
                });
            }
            Some(Cell::Failed) => charts.fail(chart, format!("asv says `{text}`")),
            None => return charts.doubts(index),
        }
        charts.knows(index);
    };
    for (index, line, has_end) in lines_with_ends(text) {
        let content = after_progress(line);
        let is_cut = |text: &str| !has_end && line.ends_with(text) && may_go_on(text);
        if let Some(borders) = borders(content.unwrap_or(line), '=') {
            let start = line.chars().count() - content.unwrap_or(line).chars().count();
            let shifted = borders
                .into_iter()
                .map(|(from, to)| (from + start, to + start));
            charts.knows(index);
            table = match table.take() {
                None => benchmark.map(|_| Table::new(shifted.collect())),
                Some(table) => table.after_border(),
            };
            continue;
        }
        if let (Some(open), Some(benchmark)) = (&mut table, benchmark) {
            charts.knows(index);
            if line.trim().is_empty() {
                table = None;
                continue;
            }
            let values = open.values(line);
            for (parameters, text) in values {
                if is_cut(&text) {
                    charts.doubts(index);
                    continue;
                }
                let chart = format!("{benchmark}({parameters})");
                add(&mut charts, index, benchmark, &chart, &text);
            }
            continue;
        }
        let found = match benchmark {
            // `asv show` writes the value on the line after the name.
            Some(name) if is_shown => Some((name, line.trim())),
            _ => content.and_then(result),
        };
        is_shown = false;
        if let Some((name, text)) = found {
            benchmark = Some(name);
            charts.knows(index);
            if is_cut(text) {
                charts.doubts(index);
            } else if cell(name, text).is_some() {
                add(&mut charts, index, name, name, text);
            } else if !has_end && !is_of_several(text) {
                charts.doubts(index);
            }
        } else if content.is_some_and(|content| is_progress(line, content)) {
            charts.knows(index);
        } else if let Some(name) = shown_name(line) {
            benchmark = Some(name);
            is_shown = true;
        } else if content.is_some() && !has_end {
            charts.doubts(index);
        }
    }
    charts.finish("lines like `[50.00%] ··· suite.time_sort  12.3±0.4ms`")
}

pub(super) fn recognize(text: &str) -> bool {
    let mut results = lines_with(text, PROGRESS).map(shown);
    let mut ends = lines_with(text, ", duration: ").map(shown);
    results.any(|line| after_progress(line).and_then(result).is_some())
        || ends.any(|line| line.starts_with("  started: ") && line.contains(", duration: "))
}

/// The end of asv's progress.
const PROGRESS: &str = "%] ·";

/// The rest of a line that begins with asv's progress, `[12.50%] ··· `.
fn after_progress(line: &str) -> Option<&str> {
    let (percent, rest) = line.strip_prefix('[')?.split_once(PROGRESS)?;
    let is_percent = percent.trim().parse::<f64>().is_ok();
    is_percent.then(|| rest.trim_start_matches(['·', ' ']))
}

/// Returns true if a line announces asv's next step. A result follows three points.
fn is_progress(line: &str, content: &str) -> bool {
    !line.contains("···") || content.starts_with("Running (")
}

/// A benchmark and its value, or the number of its combinations that failed.
fn result(content: &str) -> Option<(&str, &str)> {
    let (name, text) = content.split_once("  ").or(content.split_once(' '))?;
    let text = text.trim();
    let is_name = name.contains('.') && !name.contains(['(', '/', ' ']);
    let is_text = is_of_several(text) || cell(name, text).is_some();
    (is_name && is_text).then_some((name, text))
}

/// Returns true for a summary of all combinations, before the table of their values.
fn is_of_several(text: &str) -> bool {
    text == "ok" || text.ends_with(" failed")
}

/// The benchmark of `sums.Plain.time_join [machine/environment]`.
fn shown_name(line: &str) -> Option<&str> {
    let (name, environment) = line.strip_suffix(']')?.split_once(" [")?;
    (name.contains('.') && !name.contains(' ') && environment.contains('/')).then_some(name)
}

/// Returns true if a value may be the beginning of another one: `13` of `13.7ms`, `5m` of `5ms`.
fn may_go_on(text: &str) -> bool {
    let number = text.trim_end_matches('m');
    number.is_empty() || number.ends_with(|last: char| last.is_ascii_digit() || last == '.')
}

enum Cell {
    Value(f64, Option<&'static str>, Direction),
    Failed,
}

fn cell(benchmark: &str, text: &str) -> Option<Cell> {
    if ["failed", "n/a", "timeout", "skipped"].contains(&text) {
        return Some(Cell::Failed);
    }
    let found = CELL.as_ref()?.captures(text)?;
    let Number::Finite(value) = number::number(&found[1])? else {
        return Some(Cell::Failed);
    };
    let method = benchmark
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let seconds = match &found[2] {
        "ns" => Some((1.0, 1e9)),
        "μs" | "µs" | "us" => Some((1.0, 1e6)),
        "ms" => Some((1.0, 1e3)),
        "s" => Some((1.0, 1.0)),
        "m" => Some((60.0, 1.0)),
        "h" => Some((3600.0, 1.0)),
        "d" => Some((86400.0, 1.0)),
        _ => None,
    };
    let thousands = match &found[2] {
        "" => Some(1.0),
        "k" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        "T" => Some(1e12),
        "P" => Some(1e15),
        _ => None,
    };
    let (value, unit, direction) = match (seconds, thousands) {
        (Some((multiply, divide)), _) => (value * multiply / divide, Some("s"), Direction::Down),
        // A time that is cut off has no unit.
        _ if method.starts_with("time") => return None,
        (_, Some(scale)) if method.contains("mem") && !method.starts_with("track") => {
            (value * scale, Some("bytes"), Direction::Down)
        }
        (_, Some(scale)) => (value * scale, None, Direction::Unknown),
        _ => return None,
    };
    Some(Cell::Value(value, unit, direction))
}

/// The columns of a line of `=== ======`, as characters from and to.
fn borders(line: &str, border: char) -> Option<Vec<(usize, usize)>> {
    let trimmed = line.trim_end();
    let is_rule = trimmed.chars().all(|it| it == border || it == ' ') && trimmed.contains(border);
    if !is_rule {
        return None;
    }
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for (at, letter) in trimmed.chars().enumerate() {
        match columns.last_mut() {
            _ if letter == ' ' => {}
            Some((_, to)) if *to == at => *to += 1,
            _ => columns.push((at, at + 1)),
        }
    }
    Some(columns)
}

/// A table of one value for each combination of parameters.
struct Table {
    columns: Vec<(usize, usize)>,
    /// The number of columns that are parameters.
    parameters: usize,
    /// The parameters above the other columns.
    above: Vec<String>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// The names of parameters, or of those above the columns.
    Names,
    /// The parameters above the columns.
    Above,
    Rows,
}

impl Table {
    fn new(columns: Vec<(usize, usize)>) -> Self {
        Self {
            parameters: columns.len() - 1,
            columns,
            above: Vec::new(),
            stage: Stage::Names,
        }
    }

    /// The border after the parameters above the columns begins the rows, another ends them.
    fn after_border(mut self) -> Option<Self> {
        let is_open = self.stage == Stage::Above;
        self.stage = Stage::Rows;
        is_open.then_some(self)
    }

    /// The values of a row by their parameters.
    fn values(&mut self, line: &str) -> Vec<(String, String)> {
        if let Some(rule) = borders(line, '-')
            && self.stage == Stage::Names
        {
            match self.above.first().map(String::as_str) {
                Some("--") => {
                    let from = rule.last().map_or(0, |(from, _)| *from);
                    let before = self.columns.iter().filter(|(start, _)| *start < from);
                    self.parameters = before.count();
                    self.stage = Stage::Above;
                }
                _ => self.stage = Stage::Rows,
            }
            self.above.clear();
            return Vec::new();
        }
        let cells = self.cells(line);
        match self.stage {
            Stage::Names | Stage::Above => {
                self.above = cells;
                Vec::new()
            }
            Stage::Rows => {
                let (own, values) = cells.split_at(self.parameters.min(cells.len()));
                let values = values.iter().enumerate();
                values
                    .map(|(at, value)| {
                        let above = self.above.get(self.parameters + at);
                        let above = above.iter().flat_map(|above| above.split(" / "));
                        let all: Vec<&str> = own.iter().map(String::as_str).chain(above).collect();
                        (all.join(", "), value.clone())
                    })
                    .collect()
            }
        }
    }

    fn cells(&self, line: &str) -> Vec<String> {
        let letters: Vec<char> = line.chars().collect();
        let cell = |(from, to): &(usize, usize)| {
            let letters = letters.iter().skip(*from).take(to - from);
            letters.collect::<String>().trim().to_owned()
        };
        self.columns.iter().map(cell).collect()
    }
}
