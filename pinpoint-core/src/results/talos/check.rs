//! The check of summaries against the replicates beside them.
//!
//! Talos does not write which filters it used. So those that it uses are tried, and the ones count
//! that fit best: its tests leave out none, 1, 2 or 5 of the first values or the largest, and take the
//! median, the mean, V8's score, Dromaeo's, or that of responsiveness (`testing/talos/talos/test.py` of
//! mozilla-central).

use std::fmt;

use super::job::{Statistics, Suite};
use super::measured::Measured;
use super::suite_rule::SuiteRule;
use crate::{Aggregate, Filter, Filters, Method};

/// A number of a summary that does not follow from the replicates.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Discrepancy {
    /// The suite.
    pub suite: String,
    /// The subtest; absent for the summary of the suite.
    pub subtest: Option<String>,
    /// The statistic.
    pub statistic: Statistic,
    /// The number that the summary states.
    pub stated: f64,
    /// The number that follows.
    pub computed: f64,
    /// The aggregate that fits the suite's subtests best.
    pub aggregate: Aggregate,
}

/// A statistic of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statistic {
    /// The standard deviation of the population.
    Std,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The median.
    Median,
    /// The mean.
    Mean,
    /// The value of a subtest.
    Filtered,
    /// The value of the suite.
    Suite,
}

impl fmt::Display for Statistic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Std => "std",
            Self::Min => "min",
            Self::Max => "max",
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Filtered => "filtered",
            Self::Suite => "suite",
        })
    }
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            suite,
            subtest,
            statistic,
            stated,
            computed,
            aggregate,
        } = self;
        match subtest {
            Some(subtest) => write!(formatter, "the summary of `{suite}/{subtest}`")?,
            None => write!(formatter, "the summary of `{suite}`")?,
        }
        write!(
            formatter,
            " states {statistic} {stated}, but its values give {computed} ({aggregate})"
        )
    }
}

/// The largest relative difference that rounding may make.
const TOLERANCE: f64 = 1e-9;

/// The part of the largest value that rounding leaves of differences between equal values: their
/// standard deviation may be 0 or nearly so, depending on the order of additions.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// The filters of Talos' tests that leave values out.
const IGNORED: [Option<Filter>; 5] = [
    None,
    Some(Filter::IgnoreFirst(1)),
    Some(Filter::IgnoreFirst(2)),
    Some(Filter::IgnoreFirst(5)),
    Some(Filter::IgnoreMax),
];

/// The filters of Talos' tests that make a number.
const METHODS: [Method; 5] = [
    Method::Median,
    Method::Mean,
    Method::V8Subtest,
    Method::Dromaeo,
    Method::Responsiveness,
];

/// A subtest with its summary.
pub(super) struct Summarized<'a> {
    pub(super) name: &'a str,
    pub(super) replicates: &'a [f64],
    pub(super) filtered: Option<Measured>,
    pub(super) statistics: &'a Statistics,
}

impl Suite {
    /// Computes the summary again from the replicates, and compares. Subtests without replicates or
    /// with one that failed are left alone, and then the suite, too.
    pub fn check_summary(&self) -> Vec<Discrepancy> {
        let replicates: Vec<Vec<f64>> = (self.subtests.iter())
            .map(|subtest| {
                let values = subtest.replicates.iter().flatten();
                let values: Option<Vec<f64>> = values.map(|value| value.number()).collect();
                values.unwrap_or_default()
            })
            .collect();
        let subtests: Vec<Summarized<'_>> = (self.subtests.iter().zip(&replicates))
            .map(|(subtest, replicates)| Summarized {
                name: &subtest.name,
                replicates,
                filtered: subtest.value,
                statistics: &subtest.statistics,
            })
            .collect();
        check(&self.name, self.value, &subtests)
    }
}

pub(super) fn check(
    suite: &str,
    value: Option<Measured>,
    subtests: &[Summarized<'_>],
) -> Vec<Discrepancy> {
    // Nothing would say which filters fit.
    let has_summary =
        |subtest: &Summarized<'_>| subtest.filtered.is_some() || !subtest.statistics.is_empty();
    if !subtests.iter().any(has_summary) {
        return Vec::new();
    }
    let mut best: Option<Vec<Discrepancy>> = None;
    let filters = IGNORED.map(|filter| filter.map_or_else(Filters::default, Filters::from));
    for method in METHODS {
        for filters in filters {
            let aggregate = Aggregate { filters, method };
            let Some(found) = check_with(suite, value, subtests, aggregate) else {
                continue;
            };
            if found.is_empty() {
                return found;
            }
            if best.as_ref().is_none_or(|best| found.len() < best.len()) {
                best = Some(found);
            }
        }
    }
    best.unwrap_or_default()
}

/// The discrepancies if the subtests were made by this aggregate; `None` if it can't have made one.
fn check_with(
    suite: &str,
    value: Option<Measured>,
    subtests: &[Summarized<'_>],
    aggregate: Aggregate,
) -> Option<Vec<Discrepancy>> {
    let mut found = Vec::new();
    let mut compare = |subtest: Option<&str>, statistic, stated, computed, slack| {
        let stated = Option::and_then(stated, Measured::number);
        if let (Some(stated), Some(computed)) = (stated, computed)
            && differ(stated, computed, slack)
        {
            found.push(Discrepancy {
                suite: suite.to_owned(),
                subtest: subtest.map(str::to_owned),
                statistic,
                stated,
                computed,
                aggregate,
            });
        }
    };
    let mut filtered = Vec::new();
    for subtest in subtests {
        if subtest.replicates.is_empty() {
            continue;
        }
        let left = aggregate.filters.apply(subtest.replicates);
        let largest = left
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let slack = ROUNDING * largest;
        let stated = subtest.statistics;
        for (statistic, stated, method) in [
            (Statistic::Std, stated.std, Method::PopulationStd),
            (Statistic::Min, stated.min, Method::Min),
            (Statistic::Max, stated.max, Method::Max),
            (Statistic::Median, stated.median, Method::Median),
            (Statistic::Mean, stated.mean, Method::Mean),
            (Statistic::Filtered, subtest.filtered, aggregate.method),
        ] {
            let counts_in_suite = statistic == Statistic::Filtered && value.is_some();
            if stated.is_none() && !counts_in_suite {
                continue;
            }
            let computed = Aggregate::from(method).apply_to(subtest.name, &left).ok();
            if statistic == Statistic::Filtered && computed.is_none() {
                return None;
            }
            compare(Some(subtest.name), statistic, stated, computed, slack);
            if counts_in_suite {
                filtered.extend(computed.map(|computed| (subtest.name, computed)));
            }
        }
    }
    if filtered.len() == subtests.len() {
        let summary = SuiteRule::ByName.summary(suite, filtered);
        let computed = summary.ok().map(|summary| summary.value);
        compare(None, Statistic::Suite, value, computed, 0.0);
    }
    Some(found)
}

/// Returns true if rounding alone does not make such a difference.
fn differ(stated: f64, computed: f64, slack: f64) -> bool {
    (stated - computed).abs() > TOLERANCE * stated.abs().max(computed.abs()) + slack
}
