//! The `PERFHERDER_DATA` and `TALOSDATA` lines of Mozilla's test harnesses.
//!
//! ```text
//! 10:42:17 INFO - PERFHERDER_DATA: {"framework": {"name": "talos"}, "suites": [
//!   {"name": "tp5o", "extraOptions": ["e10s"], "value": 152.1, "lowerIsBetter": true, "subtests": [
//!     {"name": "amazon.com", "value": 148.0, "replicates": [181.0, 149.0, 148.0], "unit": "ms"}]}]}
//! ```
//!
//! (one line in reality). A suite is the chart `tp5o [e10s]` of its summary, each
//! subtest the chart `tp5o/amazon.com [e10s]` of its replicates or, where there
//! are none, its value. Perfherder takes less for better unless a suite or subtest
//! says otherwise, and so does this reader. A value that is `null` was NaN, and the
//! chart is left out.
//!
//! `TALOSDATA` is the older form of Talos, a list of tests; its charts are
//! `tp5o` of the summary and `tp5o/amazon.com` of all values, and it has neither
//! units nor directions. In a log with both kinds of line they say the same, and
//! only `PERFHERDER_DATA` is read.
//!
//! Source: mozilla-central, `testing/talos/talos/output.py` (and its history, for
//! TALOSDATA), and `testing/mozharness/external_tools/performance-artifact-schema.json`.

use std::borrow::Cow;

use memchr::memmem;
use pinpoint_document::{Elements, Member};
use serde::Deserialize;

use super::charts::Charts;
use super::document::{self, Members, Number, Numbers};
use super::text::column_of;
use super::{OutputPosition, ReadError, Reading, not_a_number};
use crate::Direction;

const PERFHERDER: &str = "PERFHERDER_DATA: ";
const TALOS: &str = "TALOSDATA: ";

/// The reason why a chart has failed.
const NO_NUMBER: &str = "one of its values is not a number";

pub(super) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    let is_perfherder = text.contains(PERFHERDER);
    let marker = if is_perfherder { PERFHERDER } else { TALOS };
    for (index, line) in text.lines().enumerate() {
        let Some((_, json)) = line.split_once(marker) else {
            continue;
        };
        let place = OutputPosition::Text {
            line: index + 1,
            column: column_of(line, json),
        };
        let document = not_a_number::as_null(json.into());
        let read = if is_perfherder {
            let take = |_, suite: Suite| add_suite(&mut charts, suite, &place);
            let seed = Member("suites", Elements::new(take));
            document::read(&document, "Perfherder", seed)
        } else {
            let take = |_, test: Test| add_test(&mut charts, test, &place);
            document::read(&document, "Talos", Elements::new(take))
        };
        read.map_err(|error| moved(error, index, column_of(line, json)))?;
    }
    charts.finish("a suite in a line with PERFHERDER_DATA or TALOSDATA")
}

pub(super) fn recognize(text: &str) -> bool {
    let follows = |marker: &str, opening: char| {
        let mut found = memmem::find_iter(text.as_bytes(), marker);
        found.any(|at| text[at + marker.len()..].starts_with(opening))
    };
    follows(PERFHERDER, '{') || follows(TALOS, '[')
}

/// The place of an error in the document, as one in the log.
fn moved(error: ReadError, lines: usize, column_of_json: usize) -> ReadError {
    let moved = |place| match place {
        OutputPosition::Text { line: 1, column } => OutputPosition::Text {
            line: lines + 1,
            column: column_of_json + column.saturating_sub(1),
        },
        place => place,
    };
    match error {
        ReadError::Json { place, source } => ReadError::Json {
            place: moved(place),
            source,
        },
        ReadError::Misshapen {
            place,
            format,
            source,
        } => ReadError::Misshapen {
            place: moved(place),
            format,
            source,
        },
        error => error,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    extra_options: Vec<String>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Number>,
    unit: Option<String>,
    lower_is_better: Option<bool>,
    #[serde(borrow)]
    subtests: Vec<Subtest<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subtest<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    value: Number,
    #[serde(default)]
    replicates: Option<Numbers>,
    unit: Option<String>,
    lower_is_better: Option<bool>,
}

/// A member that exists, even if it is null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Number>, D::Error> {
    Number::deserialize(deserializer).map(Some)
}

fn add_suite(charts: &mut Charts, suite: Suite, place: &OutputPosition) {
    let options = match &suite.extra_options[..] {
        [] => String::new(),
        options => format!(" [{}]", options.join(", ")),
    };
    let direction = |lower_is_better: Option<bool>| match lower_is_better {
        Some(false) => Direction::Up,
        Some(true) | None => Direction::Down,
    };
    let mut add =
        |chart: String, values: Option<Vec<f64>>, unit: Option<&str>, lower_is_better| match values
        {
            Some(values) => {
                charts.add(&chart, values, unit, direction(lower_is_better), || {
                    place.clone()
                });
            }
            None => charts.fail(&chart, NO_NUMBER),
        };
    let single = |value| match value {
        Number::Finite(value) => Some(vec![value]),
        Number::Failed => None,
    };
    if let Some(value) = suite.value {
        let chart = format!("{}{options}", suite.name);
        add(
            chart,
            single(value),
            suite.unit.as_deref(),
            suite.lower_is_better,
        );
    }
    for subtest in suite.subtests {
        let chart = format!("{}/{}{options}", suite.name, subtest.name);
        let values = match subtest.replicates {
            Some(Numbers(Some(replicates))) if replicates.is_empty() => single(subtest.value),
            Some(Numbers(replicates)) => replicates,
            None => single(subtest.value),
        };
        add(
            chart,
            values,
            subtest.unit.as_deref(),
            subtest.lower_is_better,
        );
    }
}

#[derive(Deserialize)]
struct Test<'a> {
    #[serde(borrow)]
    testrun: TestRun<'a>,
    #[serde(borrow)]
    results: Members<'a, Numbers>,
    summary: Option<Summary>,
}

#[derive(Deserialize)]
struct TestRun<'a> {
    #[serde(borrow)]
    suite: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Summary {
    suite: Number,
}

fn add_test(charts: &mut Charts, test: Test, place: &OutputPosition) {
    let suite = test.testrun.suite;
    let mut add = |chart: &str, values: Option<Vec<f64>>| match values {
        Some(values) => charts.add(chart, values, None, Direction::Unknown, || place.clone()),
        None => charts.fail(chart, NO_NUMBER),
    };
    match test.summary.map(|summary| summary.suite) {
        Some(Number::Finite(value)) => add(&suite, Some(vec![value])),
        Some(Number::Failed) => add(&suite, None),
        None => {}
    }
    for (page, Numbers(values)) in test.results.0 {
        add(&format!("{suite}/{page}"), values);
    }
}
