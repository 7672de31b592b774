//! The charts of a log, taken without holding the rest of it.
//!
//! A suite is the chart `tp5o [e10s]` of its summary. Each subtest is the chart
//! `tp5o/amazon.com [e10s]` of its replicates, or of its value if it has none. Perfherder takes less
//! for better unless a suite or subtest says otherwise, and so does this reader. A value that is
//! `null` was NaN, and the chart is left out.
//!
//! Of `TALOSDATA` they are `tp5o` of the summary, `tp5o/amazon.com` of all values, and
//! `tp5o/XRes.mean` and `tp5o/XRes.max` of a counter. It has neither units nor directions. A summary
//! that does not follow from the values is a remark.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pinpoint_document::{Elements, Member};
use serde::Deserialize;

use super::check::{Summarized, check};
use super::counters::Counter;
use super::job::Statistics;
use super::lines::{Kind, lines};
use super::measured::{Measured, present};
use super::settings::{
    AlertChangeType, BoundedSubtest, BoundedSuite, OutOfBounds, Settings, check_suite,
};
use crate::Direction;
use crate::results::charts::Charts;
use crate::results::document::{self, Members, Number, Numbers};
use crate::results::{OutputPosition, ReadError, Reading};

/// The reason why a chart has failed.
const NO_NUMBER: &str = "one of its values is not a number";

pub(in crate::results) fn read(text: &str) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    for line in lines(text) {
        let place = line.place();
        let mut out_of_bounds = None;
        let read = match line.kind {
            Kind::Perfherder => {
                let take = |index, suite: Suite| {
                    if out_of_bounds.is_none() {
                        out_of_bounds = suite.check(index).err();
                    }
                    add_suite(&mut charts, suite, &place);
                };
                let seed = Member("suites", Elements::new(take));
                document::read(&line.document, "Perfherder", seed)
            }
            Kind::Talos => {
                let take = |_, test: Test| add_test(&mut charts, test, &place);
                document::read(&line.document, "Talos", Elements::new(take))
            }
        };
        read.map_err(|error| line.moved(error))?;
        if let Some(source) = out_of_bounds {
            return Err(ReadError::OutOfBounds { place, source });
        }
    }
    charts.finish("a suite in a line with PERFHERDER_DATA or TALOSDATA")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default)]
    extra_options: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    alert_threshold: Option<f64>,
    alert_change_type: Option<AlertChangeType>,
    min_back_window: Option<i64>,
    max_back_window: Option<i64>,
    fore_window: Option<i64>,
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
    alert_threshold: Option<f64>,
    alert_change_type: Option<AlertChangeType>,
    min_back_window: Option<i64>,
    max_back_window: Option<i64>,
    fore_window: Option<i64>,
    unit: Option<String>,
    lower_is_better: Option<bool>,
}

/// The settings of alerts, as they stand among the other members: `serde(flatten)` would keep all of
/// those that are skipped here.
macro_rules! settings {
    ($of:expr) => {
        Settings {
            should_alert: None,
            alert_threshold: $of.alert_threshold,
            alert_change_type: $of.alert_change_type,
            min_back_window: $of.min_back_window,
            max_back_window: $of.max_back_window,
            fore_window: $of.fore_window,
        }
    };
}

impl Suite<'_> {
    fn check(&self, index: usize) -> Result<(), OutOfBounds> {
        let suite = BoundedSuite {
            settings: settings!(self),
            tags: &self.tags,
            extra_options: &self.extra_options,
            value: self.value.and_then(finite),
        };
        let subtests = self.subtests.iter().map(|subtest| {
            let replicates = subtest.replicates.iter();
            BoundedSubtest {
                settings: settings!(subtest),
                value: finite(subtest.value),
                replicates: (replicates.flat_map(|Numbers(values)| values))
                    .flatten()
                    .map(|value| Some(*value)),
            }
        });
        check_suite(index, &suite, subtests)
    }
}

fn finite(number: Number) -> Option<f64> {
    match number {
        Number::Finite(value) => Some(value),
        Number::Failed => None,
    }
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
    let single = |value| finite(value).map(|value| vec![value]);
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
    #[serde(borrow)]
    summary: Option<Summary<'a>>,
    #[serde(borrow)]
    talos_counters: Option<Members<'a, Counter>>,
}

#[derive(Deserialize)]
struct TestRun<'a> {
    #[serde(borrow)]
    suite: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Summary<'a> {
    #[serde(default, deserialize_with = "present")]
    suite: Option<Number>,
    #[serde(borrow)]
    subtests: Option<Members<'a, SubtestSummary>>,
}

#[derive(Deserialize)]
struct SubtestSummary {
    #[serde(default, deserialize_with = "present")]
    filtered: Option<Measured>,
    #[serde(flatten)]
    statistics: Statistics,
}

fn add_test(charts: &mut Charts, test: Test, place: &OutputPosition) {
    for remark in discrepancies(&test) {
        charts.remark(remark);
    }
    let suite = test.testrun.suite;
    let mut add = |chart: &str, values: Option<Vec<f64>>| match values {
        Some(values) => charts.add(chart, values, None, Direction::Unknown, || place.clone()),
        None => charts.fail(chart, NO_NUMBER),
    };
    if let Some(value) = test.summary.and_then(|summary| summary.suite) {
        add(&suite, finite(value).map(|value| vec![value]));
    }
    for (page, Numbers(values)) in test.results.0 {
        add(&format!("{suite}/{page}"), values);
    }
    for (name, counter) in test
        .talos_counters
        .into_iter()
        .flat_map(|members| members.0)
    {
        for (statistic, value) in [("mean", counter.mean), ("max", counter.max)] {
            if let Some(value) = value {
                let chart = format!("{suite}/{name}.{statistic}");
                add(&chart, value.number().map(|value| vec![value]));
            }
        }
    }
}

/// The most numbers of one summary that are remarked on.
const MOST_REMARKS: usize = 5;

/// The numbers of the summary that do not follow from the values, in words.
fn discrepancies(test: &Test) -> Vec<String> {
    let Some(summary) = &test.summary else {
        return Vec::new();
    };
    let Some(Members(stated)) = &summary.subtests else {
        return Vec::new();
    };
    let stated: BTreeMap<&str, &SubtestSummary> = (stated.iter())
        .map(|(name, stated)| (&**name, stated))
        .collect();
    let nothing = Statistics::default();
    let subtests: Vec<Summarized<'_>> = (test.results.0.iter())
        .map(|(name, Numbers(values))| Summarized {
            name,
            replicates: values.as_deref().unwrap_or_default(),
            filtered: stated.get(&**name).and_then(|stated| stated.filtered),
            statistics: stated
                .get(&**name)
                .map_or(&nothing, |stated| &stated.statistics),
        })
        .collect();
    let value = summary.suite.and_then(finite).map(Measured::new);
    let found = check(&test.testrun.suite, value, &subtests);
    let mut remarks: Vec<String> = (found.iter().take(MOST_REMARKS))
        .map(ToString::to_string)
        .collect();
    if let Some(more) = found.len().checked_sub(MOST_REMARKS + 1) {
        let more = more + 1;
        remarks.push(format!(
            "{more} more numbers of the summary of `{}` do not follow from its values",
            test.testrun.suite
        ));
    }
    remarks
}
