//! The output of hyperfine.
//!
//! ```text
//! Benchmark 1: sleep 0.01
//!   Time (mean ± σ):      12.6 ms ±   0.7 ms    [User: 0.8 ms, System: 0.6 ms]
//!   Range (min … max):    11.5 ms …  14.8 ms    5 runs
//! ```
//!
//! One chart for each command, named by it, of the mean in seconds, for any printed unit, with the
//! digits that are printed: a run gives one value. The times of all runs are in its JSON. A command
//! of which hyperfine warns that its exit code is ignored has failed. Checked with hyperfine 1.15.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, has, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;
use crate::unit::convert;

const IGNORED: &str = "Warning: Ignoring non-zero exit code";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut command = None;
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        if let Some(next) = begun(line) {
            command = Some(next);
        }
        let Some(command) = command else {
            continue;
        };
        if line.trim_start().starts_with(IGNORED) {
            charts.fail(command, "hyperfine ignored that its command failed");
        }
        let mean = mean(line);
        if mean.is_some() {
            charts.knows(index);
        }
        match mean {
            Some((Number::Finite(value), unit)) => {
                let value = convert(value, unit, "s").unwrap_or(value);
                charts.add_once(command, vec![value], Some("s"), Direction::Down, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, unit),
                    }
                });
            }
            Some((Number::NotFinite, _)) => charts.fail(command, "its mean is not a number"),
            None => {}
        }
    }
    charts.finish("`Benchmark 1: COMMAND`, and its `Time (mean ± σ)` below")
}

pub(super) fn recognize(text: &str) -> bool {
    let mut lines = text.lines().map(shown);
    has(text, "Time (")
        && has(text, "Benchmark ")
        && lines.any(|line| begun(line).is_some())
        && lines.any(|line| mean(line).is_some())
}

/// The command of `Benchmark 1: COMMAND`, before hyperfine 1.13 `Benchmark #1: COMMAND`.
fn begun(line: &str) -> Option<&str> {
    let (number, command) = line.strip_prefix("Benchmark ")?.split_once(": ")?;
    let number = number.trim_start_matches('#');
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !command.trim().is_empty()).then_some(command.trim())
}

/// The mean of several runs, or the time of one.
fn mean(line: &str) -> Option<(Number, &str)> {
    let rest = line.trim_start().strip_prefix("Time (")?;
    if !rest.starts_with("mean ") && !rest.starts_with("abs ") {
        return None;
    }
    let (_, rest) = rest.split_once("):")?;
    let mut words = rest.split_whitespace();
    let (number, unit) = (number::number(words.next()?)?, words.next()?);
    convert(1.0, unit, "s")?;
    // The processor time at the end, without which the line is cut off.
    rest.trim_end().ends_with(']').then_some((number, unit))
}
