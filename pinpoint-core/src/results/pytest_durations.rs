//! The slowest tests that pytest lists, `--durations=N`.
//!
//! ```text
//! ============================= slowest 3 durations ==============================
//! 0.51s call     test_sums.py::test_sum[10]
//! 0.03s setup    test_sums.py::test_sum[10]
//! ```
//!
//! One chart for each part of a test, `test_sums.py::test_sum[10] call`, in seconds. A test that
//! pytest lists as failed has none. A list of the slowest has no chart for a quicker test, so that
//! a run does not measure it. Checked with pytest 9.2.

use std::collections::BTreeSet;

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{lines_with, lines_with_ends, shown};
use super::{OutputPosition, ReadError, Reading};
use crate::Direction;

const PARTS: [&str; 3] = ["call", "setup", "teardown"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut failures = BTreeSet::new();
    let mut is_cut = false;
    for (index, line, has_end) in lines_with_ends(text) {
        is_cut |= is_title_of_few(line) || is_hidden(line);
        if let Some(failure) = failure(line) {
            failures.insert(failure);
            if !has_end && !failure.contains(" - ") {
                charts.doubts(index);
            }
        }
        let Some((value, part, test)) = duration(line) else {
            continue;
        };
        // The name may continue.
        if !has_end {
            charts.doubts(index);
            continue;
        }
        charts.knows(index);
        let chart = format!("{test} {part}");
        match number::number(value) {
            Some(Number::Finite(value)) => {
                charts.add(&chart, vec![value], Some("s"), Direction::Down, || {
                    OutputPosition::Text {
                        line: index + 1,
                        column: 1,
                    }
                });
            }
            _ => charts.fail(&chart, "its duration is not a number"),
        }
    }
    let has_failed = |chart: &str| {
        let test = chart.rsplit_once(' ').map_or(chart, |(test, _)| test);
        // The beginning of the reason is ambiguous without the name: both may have dashes.
        let with_reason = format!("{test} - ");
        let mut after = failures.range(with_reason.as_str()..);
        failures.contains(test) || after.next().is_some_and(|it| it.starts_with(&with_reason))
    };
    charts.fail_all(has_failed, "pytest says that it failed");
    if is_cut {
        charts.remark(
            "pytest lists the slowest tests only, and a run in which the one that is compared is \
             not among them counts as failed; it lists all with `--durations=0 -vv`"
                .to_owned(),
        );
    }
    charts.finish("lines like `0.51s call test_a.py::test_b`")
}

pub(super) fn recognize(text: &str) -> bool {
    lines_with(text, "::").any(|line| duration(shown(line)).is_some())
}

/// The seconds, the part of the test, and its name.
pub(super) fn duration(line: &str) -> Option<(&str, &str, &str)> {
    let (value, rest) = line.split_once("s ")?;
    let (part, test) = rest.split_once(' ')?;
    let is_number = !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let test = test.trim();
    (is_number && PARTS.contains(&part) && test.contains("::")).then_some((value, part, test))
}

/// `=== slowest 3 durations ===`
fn is_title_of_few(line: &str) -> bool {
    let mut words = line.trim_matches(['=', ' ']).split(' ');
    line.starts_with("==")
        && words.next() == Some("slowest")
        && words
            .next()
            .is_some_and(|count| count.parse::<u32>().is_ok())
}

/// `(14 durations < 0.005s hidden.  Use -vv to show these durations.)`
fn is_hidden(line: &str) -> bool {
    line.starts_with('(') && line.contains(" durations < ") && line.contains("s hidden.")
}

/// The test, and perhaps the reason, of a line `FAILED test_sums.py::test_sum[10] - assert 0` in
/// the summary.
fn failure(line: &str) -> Option<&str> {
    let rest = (line.strip_prefix("FAILED ")).or(line.strip_prefix("ERROR "))?;
    Some(rest.trim())
}
