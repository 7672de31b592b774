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
use std::collections::{BTreeMap, BTreeSet};

use pinpoint_document::{Elements, Member};
use serde::Deserialize;

use super::check::{Summarized, check};
use super::counters::Counter;
use super::details::Details;
use super::job::{Statistics, origin, sorted};
use super::lines::{Kind, lines};
use super::measured::{Measured, present};
use super::settings::{
    AlertChangeType, BoundedSubtest, BoundedSuite, OutOfBounds, Settings, check_suite,
};
use super::values::{MissingValue, TalosValues};
use crate::Direction;
use crate::results::charts::Charts;
use crate::results::document::{self, Members, Number, Numbers};
use crate::results::origin::ChartsByOrigin;
use crate::results::{Origin, OriginReading, OutputPosition, ReadError, Reading};

/// The reason why a chart has failed.
const NO_NUMBER: &str = "one of its values is not a number";

/// The charts of a log, whatever builds and machines it names.
pub(in crate::results) fn read(text: &str, values: TalosValues) -> Result<Reading, ReadError> {
    let mut charts = Charts::default();
    walk(text, |mut of_suite, place| {
        let counters = of_suite.take_counters();
        of_suite.add_to(&mut charts, values, place)?;
        counters.add_to(&mut charts, place);
        Ok(())
    })?;
    charts.finish(WANTED)
}

/// The charts of a log by the origin of their suite. Counters have one of their own, with the parameter
/// `kind=counter`, so that they are not taken for subtests.
pub(in crate::results) fn read_by_origin(
    text: &str,
    values: TalosValues,
) -> Result<Vec<OriginReading>, ReadError> {
    let mut charts = ChartsByOrigin::default();
    walk(text, |mut of_suite, place| {
        let mut origin = of_suite.origin();
        let counters = of_suite.take_counters();
        let remark = of_suite.date_remark();
        charts.begin(origin.clone());
        remark
            .into_iter()
            .for_each(|it| charts.current().remark(it));
        of_suite.add_to(charts.current(), values, place)?;
        if !counters.is_empty() {
            origin.parameters.insert("kind".into(), "counter".into());
            charts.begin(origin);
            counters.add_to(charts.current(), place);
        }
        Ok(())
    })?;
    charts.finish(WANTED)
}

/// The part that a log lacks without any chart.
const WANTED: &str = "a suite in a line with PERFHERDER_DATA or TALOSDATA";

/// One suite of a log.
enum OfSuite<'a> {
    Perfherder(Suite<'a>),
    Talos(Test<'a>),
}

impl OfSuite<'_> {
    fn add_to(
        self,
        charts: &mut Charts,
        values: TalosValues,
        place: &OutputPosition,
    ) -> Result<(), MissingValue> {
        match self {
            Self::Perfherder(suite) => add_suite(charts, suite, values, place),
            Self::Talos(test) => add_test(charts, test, values, place),
        }
    }

    fn take_counters(&mut self) -> CounterCharts {
        match self {
            Self::Perfherder(_) => CounterCharts::default(),
            Self::Talos(test) => CounterCharts::take(test),
        }
    }

    /// A remark on a time that is not read.
    fn date_remark(&self) -> Option<String> {
        let (name, run) = match self {
            Self::Perfherder(suite) => (&suite.name, &suite.run),
            Self::Talos(test) => (&test.testrun.suite, &test.testrun.other),
        };
        let date = run.0.get("date").filter(|date| date.as_i64().is_none())?;
        Some(format!(
            "the date {date} of `{name}` is not whole seconds since 1970, and not taken"
        ))
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Perfherder(suite) => origin(
                (&suite.name, &suite.extra_options),
                &suite.machine,
                &suite.run,
                &suite.build,
            ),
            Self::Talos(test) => origin(
                (&test.testrun.suite, &test.extra_options),
                &test.machine,
                &test.testrun.other,
                &test.build,
            ),
        }
    }
}

/// Takes each suite of the lines with results, and the place of its line.
fn walk(
    text: &str,
    mut take: impl FnMut(OfSuite<'_>, &OutputPosition) -> Result<(), MissingValue>,
) -> Result<(), ReadError> {
    for line in lines(text) {
        let place = line.place();
        let mut out_of_bounds = None;
        let mut missing = None;
        let mut take = |of_suite: OfSuite<'_>| {
            if missing.is_none() {
                missing = take(of_suite, &place).err();
            }
        };
        let read = match line.kind {
            Kind::Perfherder => {
                let take = |index, suite: Suite| {
                    if out_of_bounds.is_none() {
                        out_of_bounds = suite.check(index).err();
                    }
                    take(OfSuite::Perfherder(suite));
                };
                let seed = Member("suites", Elements::new(take));
                document::read(&line.document, "Perfherder", seed)
            }
            Kind::Talos => {
                let take = |_, test: Test| take(OfSuite::Talos(test));
                document::read(&line.document, "Talos", Elements::new(take))
            }
        };
        read.map_err(|error| line.moved(error))?;
        if let Some(source) = out_of_bounds {
            return Err(ReadError::OutOfBounds { place, source });
        }
        if let Some(source) = missing {
            return Err(ReadError::MissingValue { place, source });
        }
    }
    Ok(())
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
    #[serde(default, rename = "test_machine")]
    machine: Details,
    #[serde(default, rename = "testrun")]
    run: Details,
    #[serde(default, rename = "test_build")]
    build: Details,
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
    #[serde(default, rename = "talos_summary")]
    statistics: Statistics,
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

/// The name of a suite with the options of its identity.
fn options_in_words(options: &[String]) -> String {
    match options {
        [] => String::new(),
        options => format!(" [{}]", sorted(options)),
    }
}

/// The values of a subtest that count; `None` if one of them failed.
fn chosen(
    choice: TalosValues,
    (suite, subtest): (&str, &str),
    replicates: Option<Option<Vec<f64>>>,
    filtered: Option<Measured>,
    statistics: &Statistics,
) -> Result<Option<Vec<f64>>, MissingValue> {
    let one = match (choice, replicates) {
        (TalosValues::Replicates, Some(replicates))
            if filtered.is_none() || replicates.as_ref().is_none_or(|it| !it.is_empty()) =>
        {
            return Ok(replicates);
        }
        (TalosValues::Replicates, _) => filtered,
        (choice, _) => choice.of_summary(filtered, statistics),
    };
    let one = one.ok_or_else(|| choice.missing(suite, subtest))?;
    Ok(one.number().map(|value| vec![value]))
}

fn add_suite(
    charts: &mut Charts,
    suite: Suite,
    choice: TalosValues,
    place: &OutputPosition,
) -> Result<(), MissingValue> {
    let options = options_in_words(&suite.extra_options);
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
    if let Some(value) = suite.value {
        let chart = format!("{}{options}", suite.name);
        add(
            chart,
            finite(value).map(|value| vec![value]),
            suite.unit.as_deref(),
            suite.lower_is_better,
        );
    }
    for subtest in suite.subtests {
        let chart = format!("{}/{}{options}", suite.name, subtest.name);
        let values = chosen(
            choice,
            (&suite.name, &subtest.name),
            subtest.replicates.map(|Numbers(values)| values),
            Some(measured(subtest.value)),
            &subtest.statistics,
        )?;
        add(
            chart,
            values,
            subtest.unit.as_deref(),
            subtest.lower_is_better,
        );
    }
    Ok(())
}

#[derive(Deserialize)]
struct Test<'a> {
    #[serde(borrow)]
    testrun: TestRun<'a>,
    #[serde(default, rename = "extraOptions")]
    extra_options: Vec<String>,
    #[serde(default, rename = "test_machine")]
    machine: Details,
    #[serde(default, rename = "test_build")]
    build: Details,
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
    #[serde(flatten)]
    other: Details,
}

#[derive(Deserialize)]
struct Summary<'a> {
    #[serde(default, deserialize_with = "present")]
    suite: Option<Number>,
    #[serde(borrow)]
    subtests: Option<Members<'a, SubtestSummary>>,
}

#[derive(Deserialize, Default)]
struct SubtestSummary {
    #[serde(default, deserialize_with = "present")]
    filtered: Option<Measured>,
    #[serde(flatten)]
    statistics: Statistics,
}

fn measured(number: Number) -> Measured {
    finite(number).map_or(Measured::FAILED, Measured::new)
}

fn add_test(
    charts: &mut Charts,
    test: Test,
    choice: TalosValues,
    place: &OutputPosition,
) -> Result<(), MissingValue> {
    for remark in discrepancies(&test) {
        charts.remark(remark);
    }
    let suite = test.testrun.suite;
    let options = options_in_words(&test.extra_options);
    let add = |charts: &mut Charts, chart: &str, values: Option<Vec<f64>>| match values {
        Some(values) => charts.add(chart, values, None, Direction::Unknown, || place.clone()),
        None => charts.fail(chart, NO_NUMBER),
    };
    let summary = test.summary.as_ref();
    if let Some(value) = summary.and_then(|summary| summary.suite) {
        let chart = format!("{suite}{options}");
        add(charts, &chart, finite(value).map(|value| vec![value]));
    }
    let stated: BTreeMap<&str, &SubtestSummary> = (summary.into_iter())
        .filter_map(|summary| summary.subtests.as_ref())
        .flat_map(|Members(stated)| stated)
        .map(|(name, stated)| (&**name, stated))
        .collect();
    let nothing = SubtestSummary::default();
    let measured: BTreeSet<&str> = test.results.0.iter().map(|(page, _)| &**page).collect();
    let mut add = |page: &str, replicates, stated: &SubtestSummary| {
        let of = (&*suite, page);
        let values = chosen(choice, of, replicates, stated.filtered, &stated.statistics)?;
        let chart = format!("{suite}/{page}{options}");
        match values.as_deref() {
            Some([]) => charts.fail(&chart, "it has no values"),
            _ => add(charts, &chart, values),
        }
        Ok(())
    };
    for (page, stated) in stated.iter().filter(|(page, _)| !measured.contains(*page)) {
        add(page, None, stated)?;
    }
    for (page, Numbers(values)) in &test.results.0 {
        let stated = stated.get(&**page).copied().unwrap_or(&nothing);
        add(page, Some(values.clone()), stated)?;
    }
    Ok(())
}

/// The counters of a test, by the names of their charts.
#[derive(Default)]
struct CounterCharts {
    values: Vec<(String, Option<f64>)>,
    /// The statistics that are not read, by counter.
    unread: Vec<String>,
}

impl CounterCharts {
    fn take(test: &mut Test) -> Self {
        let suite = &test.testrun.suite;
        let counters = test.talos_counters.take().into_iter();
        let mut charts = Self::default();
        for (name, counter) in counters.flat_map(|members| members.0) {
            for (statistic, value) in [("mean", counter.mean), ("max", counter.max)] {
                let chart = format!("{suite}/{name}.{statistic}");
                let value = value.map(|value| (chart, value.number()));
                charts.values.extend(value);
            }
            let unread = counter.other.0.keys();
            charts
                .unread
                .extend(unread.map(|statistic| format!("{suite}/{name}.{statistic}")));
        }
        charts
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.unread.is_empty()
    }

    fn add_to(self, charts: &mut Charts, place: &OutputPosition) {
        for (chart, value) in self.values {
            match value {
                Some(value) => {
                    charts.add(&chart, [value], None, Direction::Unknown, || place.clone());
                }
                None => charts.fail(&chart, NO_NUMBER),
            }
        }
        if let Some(first) = self.unread.first() {
            charts.remark(match self.unread.len() {
                1 => format!("of counters mean and max are read, and not `{first}`"),
                count => format!(
                    "of counters mean and max are read, and not `{first}` and {} more",
                    count - 1
                ),
            });
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
    let mut subtests: Vec<Summarized<'_>> = (test.results.0.iter())
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
    let without_values = stated.iter().filter(|(name, _)| {
        let is_it = |(other, _): &(Cow<'_, str>, Numbers)| other == *name;
        !test.results.0.iter().any(is_it)
    });
    subtests.extend(without_values.map(|(name, stated)| Summarized {
        name,
        replicates: &[],
        filtered: stated.filtered,
        statistics: &stated.statistics,
    }));
    let found = check(&test.testrun.suite, value, &subtests);
    let mut remarks: Vec<String> = (found.iter().take(MOST_REMARKS))
        .map(ToString::to_string)
        .collect();
    if let Some(more) = found.len().checked_sub(MOST_REMARKS + 1) {
        let more = match more + 1 {
            1 => "1 more number".to_owned(),
            more => format!("{more} more numbers"),
        };
        remarks.push(format!(
            "{more} of the summary of `{}` not following from its values",
            test.testrun.suite
        ));
    }
    remarks
}
