//! The output of the Yahoo! Cloud Serving Benchmark.
//!
//! ```text
//! [OVERALL], RunTime(ms), 2961
//! [OVERALL], Throughput(ops/sec), 337.7
//! [READ], Operations, 511
//! [READ], AverageLatency(us), 995.1
//! [READ], Return=OK, 511
//! ```
//!
//! One chart for each figure with a unit of time or of a rate, `READ AverageLatency`; neither counts
//! nor those of the garbage collector.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    for (index, line, has_end) in lines_with_ends(text) {
        let Some([group, figure, value]) = figure(line) else {
            if !has_end && line.starts_with('[') && line.contains("], ") {
                charts.doubts(index);
            }
            continue;
        };
        let Some((name, direction, unit)) = measure(group, figure) else {
            charts.knows(index);
            continue;
        };
        // More digits may have followed.
        if !has_end {
            charts.doubts(index);
            continue;
        }
        let chart = format!("{group} {name}");
        match number::number(value) {
            Some(Number::Finite(value)) => {
                charts.add_once(&chart, vec![value], Some(unit), direction, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, figure),
                    }
                });
            }
            Some(Number::NotFinite) => charts.fail(&chart, "its value is not a number"),
            None => {
                charts.doubts(index);
                continue;
            }
        }
        charts.knows(index);
    }
    charts.finish("lines like `[READ], AverageLatency(us), 123.4`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "], ").any(|line| {
        figure(shown(line)).is_some_and(|[group, figure, _]| measure(group, figure).is_some())
    })
}

/// The three parts of a line.
fn figure(line: &str) -> Option<[&str; 3]> {
    let (group, rest) = line.trim_end().strip_prefix('[')?.split_once("], ")?;
    let (figure, value) = rest.split_once(", ")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'%');
    (!group.is_empty() && group.bytes().all(is_name)).then_some([group, figure, value])
}

/// The name, the direction and the unit of a figure that is a measure.
fn measure<'a>(group: &str, figure: &'a str) -> Option<(&'a str, Direction, &'a str)> {
    let (name, unit) = figure.strip_suffix(')')?.split_once('(')?;
    let direction = if convert(1.0, unit, "us").is_some() {
        Direction::Down
    } else if unit == "ops/sec" {
        Direction::Up
    } else {
        return None;
    };
    (!group.starts_with("TOTAL_GC")).then_some((name, direction, unit))
}
