//! The slowest tests that pytest lists, `--durations=N`.
//!
//! ```text
//! ============================= slowest 3 durations ==============================
//! 0.51s call     test_sums.py::test_sum[10]
//! 0.03s setup    test_sums.py::test_sum[10]
//! ```
//!
//! One chart for each part of a test, `test_sums.py::test_sum[10] call`, in seconds. A test that
//! pytest lists as failed has none. A list of the slowest has no chart of a test that is quicker
//! than they are, so that a run says nothing of it. Checked with pytest 9.2.

use super::charts::Charts;
use super::number::{self, Number};
use super::text::{shown, whole_lines};
use super::{Place, ReadError, Reading};
use crate::Direction;

const PARTS: [&str; 3] = ["call", "setup", "teardown"];

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let mut failed = Vec::new();
    let mut is_cut = false;
    for (index, line) in whole_lines(text) {
        is_cut |= is_title_of_few(line) || is_hidden(line);
        if let Some(test) = failed_test(line) {
            failed.push(test);
        }
        let Some((value, part, test)) = duration(line) else {
            continue;
        };
        charts.knows(index);
        let chart = format!("{test} {part}");
        match number::number(value) {
            Some(Number::Finite(value)) => {
                charts.add(&chart, vec![value], Some("s"), Direction::Down, || {
                    Place::Text {
                        line: index + 1,
                        column: 1,
                    }
                });
            }
            _ => charts.fail(&chart, "its duration is not a number"),
        }
    }
    for test in failed {
        let is_its = |chart: &str| PARTS.iter().any(|part| chart == format!("{test} {part}"));
        charts.fail_all(is_its, "pytest says that it failed");
    }
    if is_cut {
        charts.remark(
            "pytest lists the slowest tests only, and a run in which the one that is compared is \
             not among them counts as failed; it lists all with `--durations=0 -vv`"
                .to_owned(),
        );
    }
    charts.finish("lines like `0.51s call test_a.py::test_b`")
}

pub(super) fn recognise(text: &str) -> bool {
    text.lines().any(|line| duration(shown(line)).is_some())
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

/// The test of a line `FAILED test_sums.py::test_sum[10] - assert 0` in the summary.
fn failed_test(line: &str) -> Option<&str> {
    let rest = (line.strip_prefix("FAILED ")).or(line.strip_prefix("ERROR "))?;
    Some(rest.split(" - ").next().unwrap_or(rest).trim())
}
