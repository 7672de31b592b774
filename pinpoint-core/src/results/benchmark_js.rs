//! The output of Benchmark.js for a benchmark, `String(event.target)`.
//!
//! ```text
//! RegExp#test x 29,894,041 ops/sec ±1.47% (92 runs sampled)
//! ```
//!
//! One chart for each benchmark, named by it, in ops/sec. One without samples has failed. Checked
//! with Benchmark.js 2.1.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const UNIT: &str = "ops/sec";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        let Some((name, rate)) = rate(line) else {
            continue;
        };
        charts.knows(index);
        match rate {
            Number::Finite(rate) if rate > 0.0 => {
                charts.add_once(name, vec![rate], Some(UNIT), Direction::Up, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, name),
                    }
                });
            }
            _ => charts.fail(name, "Benchmark.js has no rate for it"),
        }
    }
    charts.finish("lines like `sort x 1,234 ops/sec ±1.2% (90 runs sampled)`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, " ops/sec ±").any(|line| rate(shown(line)).is_some())
}

fn rate(line: &str) -> Option<(&str, Number)> {
    let (before, deviation) = line.split_once(" ops/sec ±")?;
    let (name, rate) = before.rsplit_once(" x ")?;
    let name = name.trim();
    // The end, without which the line is cut off.
    if name.is_empty() || !deviation.trim_end().ends_with(" sampled)") {
        return None;
    }
    Some((name, number::with_thousands(rate)?))
}
