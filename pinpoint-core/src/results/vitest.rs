//! The tables that `vitest bench` prints.
//!
//! ```text
//!  ✓ src/sort.bench.ts > sort > large 687ms
//!      name                hz     min     max    mean     p75     p99    p995    p999     rme  samples
//!    · normal        5,739.63  0.1316  1.0061  0.1742  0.2269  0.3080  0.3248  1.0061  ±2.87%      575
//! ```
//!
//! One chart for each benchmark, named by its file and its suites, `src/sort.bench.ts > sort >
//! large > normal`, of `hz` in ops/s: the times have four decimals, which are few for a fast
//! function. A benchmark without samples has failed. A table may be printed twice. Checked with
//! Vitest 1.6, 3.2 and 4.1.

use std::collections::BTreeMap;

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const TITLES: [&str; 11] = [
    "name", "hz", "min", "max", "mean", "p75", "p99", "p995", "p999", "rme", "samples",
];

/// The number of columns before the deviation.
const CELLS: usize = 8;

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut suite = None;
    let mut before: BTreeMap<String, &str> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        if let Some(title) = title(line) {
            suite = Some(title);
            charts.knows(index);
            continue;
        }
        let Some(row) = row(line) else {
            if line.trim_start().starts_with('·') {
                charts.doubts(index);
            }
            continue;
        };
        charts.knows(index);
        let chart = match suite {
            Some(suite) => format!("{suite} > {}", row.name),
            None => row.name.to_owned(),
        };
        if row.is_baseline || before.get(&chart).is_some_and(|before| *before == line) {
            continue;
        }
        match row.hz {
            Number::Finite(hz) if row.has_samples => {
                charts.add_once(&chart, vec![hz], Some("ops/s"), Direction::Up, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, row.name),
                    }
                });
            }
            _ => charts.fail(&chart, "Vitest has no samples of it"),
        }
        before.insert(chart, line);
    }
    charts.finish("a row below `name hz min max mean`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "p999").any(|line| {
        let words = shown(line).split_whitespace();
        words.eq(TITLES)
    })
}

/// The file and the suites of a table.
fn title(line: &str) -> Option<&str> {
    let title = line.trim().strip_prefix(['✓', '❯', '×', '↓', '√'])?;
    let title = title.strip_prefix(' ')?.trim();
    // The number of benchmarks, and their duration.
    let is_duration = |word: &str| {
        let number = word.strip_suffix("ms").or(word.strip_suffix('s'));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let is_count = |word: &str| {
        let count = (word.strip_prefix('(')).and_then(|word| word.strip_suffix(')'));
        count.is_some_and(|count| count.parse::<u64>().is_ok())
    };
    let without = |title: &'_ str, is_it: &dyn Fn(&str) -> bool| match title.rsplit_once(' ') {
        Some((before, last)) if is_it(last) => before.trim_end().len(),
        _ => title.len(),
    };
    let title = &title[..without(title, &is_duration)];
    Some(&title[..without(title, &is_count)])
}

struct Row<'a> {
    name: &'a str,
    hz: Number,
    has_samples: bool,
    /// True for the row of an earlier run, which `--compare` shows.
    is_baseline: bool,
}

fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_deviation = |word: &&str| word.starts_with('±') && word.ends_with('%');
    let deviation = words.iter().rposition(is_deviation)?;
    let samples = words.get(deviation + 1)?;
    let cells = words.get(deviation.checked_sub(CELLS)?..deviation)?;
    if !samples.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut numbers = cells.iter().map(|cell| number::with_thousands(cell));
    let hz = numbers.next()??;
    if !numbers.all(|number| number.is_some()) {
        return None;
    }
    let name = line[..cells[0].as_ptr() as usize - line.as_ptr() as usize].trim();
    let is_baseline = words[deviation + 2..].contains(&"(baseline)");
    let name = match name.strip_prefix("· ") {
        Some(name) => name.trim(),
        None if is_baseline => name,
        None => return None,
    };
    (!name.is_empty()).then_some(Row {
        name,
        hz,
        has_samples: samples.bytes().any(|digit| digit != b'0'),
        is_baseline,
    })
}
