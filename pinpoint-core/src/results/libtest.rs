//! The output of Rust's own benchmarks, `cargo bench` with `#[bench]`.
//!
//! ```text
//! test tests::sum_100  ... bench:       1,234.56 ns/iter (+/- 12.30) = 324 MB/s
//! test tests::sum_200  ... FAILED
//! ```
//!
//! One chart for each benchmark, named by it, of the median in ns/iter. A benchmark that failed
//! has no chart. Source: `library/test/src/formatters/pretty.rs` and `bench.rs` of
//! <https://github.com/rust-lang/rust>; commas separate thousands.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{column_of, lines_with, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const UNIT: &str = "ns/iter";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    for (index, line) in text.lines().enumerate() {
        let line = shown(line);
        match result(line) {
            Some((name, Ended::Measured(value))) => {
                charts.knows(index);
                charts.add(name, [value], Some(UNIT), Direction::Down, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: column_of(line, name),
                    }
                });
            }
            Some((name, Ended::Failed)) => charts.fail(name, "the test harness says `FAILED`"),
            None if line.starts_with("test ") && line.contains(" ... bench:") => {
                charts.doubts(index);
            }
            None => {}
        }
    }
    charts.finish("lines like `test sort ... bench:  1,234 ns/iter (+/- 56)`")
}

pub(super) fn recognize(text: &str) -> bool {
    let is_measured = |line| matches!(result(shown(line)), Some((_, Ended::Measured(_))));
    lines_with(text, " ... bench:").any(is_measured)
}

/// The end of a benchmark.
enum Ended {
    Measured(f64),
    Failed,
}

fn result(line: &str) -> Option<(&str, Ended)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.trim();
    if rest.trim() == "FAILED" {
        return Some((name, Ended::Failed));
    }
    let mut words = rest.strip_prefix("bench:")?.split_whitespace();
    let value = number::with_thousands(words.next()?)?;
    // The deviation ends with a parenthesis, so that a line that is cut off is noticed.
    let is_whole = words.next()? == UNIT && words.next()? == "(+/-" && words.next()?.ends_with(')');
    match value {
        Number::Finite(value) if is_whole => Some((name, Ended::Measured(value))),
        _ => None,
    }
}
