//! A comparison of results, as each format shows it: what moved first, the largest change first,
//! and the rest counted.

pub(crate) mod annotations;
pub(crate) mod csv;
pub(crate) mod markdown;
pub(crate) mod table;

use std::cmp::Ordering;

use pinpoint_core::Verdict;
use pinpoint_core::results::{Change, ComparedChart, DifferentUnits, ResultsComparison};
use pinpoint_report::quantity::{change, change_and_interval, count, p_value, quantity};
use pinpoint_report::text::{name, plain, shortened};
use serde::Serialize;

/// A comparison with what is to be said of the files, as `--output json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct ComparedFiles {
    /// The version of the document.
    pub(crate) version: u32,
    pub(crate) control: Vec<String>,
    pub(crate) treatment: Vec<String>,
    #[serde(flatten)]
    pub(crate) comparison: ResultsComparison,
    /// The charts of which a file says that their measurement failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) failed: Vec<FailedChart>,
    /// Measurements that failed, and lines that look like values but were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct FailedChart {
    pub(crate) file: String,
    pub(crate) chart: String,
    pub(crate) reason: String,
}

/// The answer on one chart. The order is that in which charts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Worse,
    /// Different, where nobody says which direction is better.
    Different,
    Better,
    Unknown,
    Same,
}

impl Answer {
    pub(crate) fn of(chart: &ComparedChart) -> Self {
        match (chart.verdict, chart.improvement) {
            (Verdict::Different, Some(false)) => Self::Worse,
            (Verdict::Different, None) => Self::Different,
            (Verdict::Different, Some(true)) => Self::Better,
            (Verdict::Unknown | Verdict::Nil, _) => Self::Unknown,
            (Verdict::Same, _) => Self::Same,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Different => "different",
            Self::Better => "better",
            Self::Unknown => "unknown",
            Self::Same => "same",
        }
    }
}

/// The charts by their answer, in each the largest change first; of the undecided ones the smallest
/// p.
pub(crate) struct Ordered<'a>(Vec<&'a ComparedChart>);

impl<'a> Ordered<'a> {
    pub(crate) fn new(comparison: &'a ResultsComparison) -> Self {
        let mut charts: Vec<&ComparedChart> = comparison.charts.iter().collect();
        // Charts with equal changes stay in the order of their names.
        charts.sort_by(|a, b| {
            let by_answer = Answer::of(a).cmp(&Answer::of(b));
            let by_p = match Answer::of(a) {
                Answer::Unknown => p(a).total_cmp(&p(b)),
                _ => Ordering::Equal,
            };
            by_answer.then(by_p).then(size(b).total_cmp(&size(a)))
        });
        Self(charts)
    }

    pub(crate) fn all(&self) -> &[&'a ComparedChart] {
        &self.0
    }

    pub(crate) fn with(&self, answer: Answer) -> &[&'a ComparedChart] {
        let start = self.0.partition_point(|chart| Answer::of(chart) < answer);
        let end = self.0.partition_point(|chart| Answer::of(chart) <= answer);
        &self.0[start..end]
    }
}

fn p(chart: &ComparedChart) -> f64 {
    chart.p_value.unwrap_or(1.0)
}

/// The size of a change as a part of the control: any is infinite where that is 0.
fn size(chart: &ComparedChart) -> f64 {
    match (chart.change_percent, chart.change) {
        (Some(percent), _) => percent.estimate.abs(),
        (None, Some(change)) if change.estimate != 0.0 => f64::INFINITY,
        _ => 0.0,
    }
}

/// The figures of a chart in words: the change, its interval, p, and both medians.
pub(crate) struct Figures {
    pub(crate) change: String,
    pub(crate) interval: String,
    pub(crate) p: String,
    pub(crate) control: String,
    pub(crate) treatment: String,
}

impl Figures {
    pub(crate) fn of(chart: &ComparedChart, is_adjusted: bool) -> Self {
        let unit = chart.unit.as_deref();
        let [change, interval] = match (chart.change_percent, chart.change) {
            (Some(percent), _) => percent_in_words(percent),
            (None, Some(change)) => change_in_words(change, unit),
            (None, None) => [DASH, DASH].map(str::to_owned),
        };
        let p = match is_adjusted {
            true => chart.p_value_adjusted,
            false => chart.p_value,
        };
        // A unit is the file's, and may be of any length.
        let median = |value| name(&quantity(value, unit));
        Self {
            change: name(&change),
            interval: name(&interval),
            p: p.map_or_else(|| DASH.into(), p_value),
            control: median(chart.control.median),
            treatment: median(chart.treatment.median),
        }
    }
}

/// The cell of a figure that is not there.
const DASH: &str = "–";

fn percent_in_words(percent: Change) -> [String; 2] {
    let interval = percent
        .interval
        .map(|it| format!("[{:+.2}, {:+.2}]", it.low, it.high));
    let estimate = format!("{:+.2} %", percent.estimate);
    [estimate, interval.unwrap_or_else(|| DASH.into())]
}

fn change_in_words(of: Change, unit: Option<&str>) -> [String; 2] {
    match of.interval {
        Some(interval) => change_and_interval(of.estimate, [interval.low, interval.high], unit),
        None => [change(of.estimate, unit), DASH.into()],
    }
}

/// `2 of 30 metrics moved: 1 worse, 1 better, 4 not decided`.
pub(crate) fn headline(ordered: &Ordered) -> String {
    let of = |answer| ordered.with(answer).len();
    let total = count(ordered.all().len() as u64, "metric");
    let parts = [
        (of(Answer::Worse), "worse"),
        (of(Answer::Better), "better"),
        (of(Answer::Unknown), "not decided"),
    ];
    let parts = counted(&parts);
    let moved = of(Answer::Worse) + of(Answer::Different) + of(Answer::Better);
    match parts.is_empty() {
        true => format!("{moved} of {total} moved"),
        false => format!("{moved} of {total} moved: {parts}"),
    }
}

/// The numbers of charts that could not be compared, if there are any: `2 only in the control, 1
/// failed`.
pub(crate) fn not_compared(files: &ComparedFiles) -> Option<String> {
    let comparison = &files.comparison;
    let parts = counted(&[
        (comparison.only_control.len(), "only in the control"),
        (comparison.only_treatment.len(), "only in the treatment"),
        (comparison.different_units.len(), "in two units"),
        (comparison.incomplete_pairs.len(), "without a whole pair"),
        (files.failed.len(), "failed"),
    ]);
    (!parts.is_empty()).then_some(parts)
}

fn counted(parts: &[(usize, &str)]) -> String {
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    parts.join(", ")
}

/// The number of charts whose p-values are adjusted for each other.
pub(crate) fn adjusted(comparison: &ResultsComparison) -> usize {
    let is_adjusted = |chart: &&ComparedChart| chart.p_value_adjusted.is_some();
    comparison.charts.iter().filter(is_adjusted).count()
}

/// Returns true if the p-values that are shown are the adjusted ones.
pub(crate) fn is_adjusted(comparison: &ResultsComparison) -> bool {
    comparison.charts.len() > 1
}

/// The certainty of the answers, in sentences without their periods.
pub(crate) fn certainty(comparison: &ResultsComparison) -> Vec<String> {
    let mut sentences = Vec::new();
    if let number @ 2.. = adjusted(comparison) {
        sentences.push(format!(
            "p is adjusted for {number} comparisons (Benjamini and Hochberg): at most 5 % of the metrics that moved are expected to have done so by chance"
        ));
    }
    if let Some(too_few) = comparison.too_few_values {
        let values = match comparison.paired {
            true => format!("{} pairs", too_few.values_needed),
            false => format!("{} values on each side", too_few.values_needed),
        };
        sentences.push(match comparison.charts.len() {
            1 => format!("too few values: to show a change takes {values}"),
            charts => format!(
                "{} of those not decided have too few values: to show that one of {charts} metrics moved takes {values}",
                too_few.charts
            ),
        });
    }
    sentences
}

/// The charts in two units: `a (ms, MB)`.
pub(crate) fn units_in_words(comparison: &ResultsComparison) -> Vec<String> {
    let unit = |unit: &Option<String>| unit.as_deref().map_or_else(|| "no unit".into(), name);
    let in_words = |chart: &DifferentUnits| {
        let (first, second) = (unit(&chart.first), unit(&chart.second));
        format!("{} ({first}, {second})", name(&chart.chart))
    };
    comparison.different_units.iter().map(in_words).collect()
}

/// A warning, which may quote a file, on one line.
pub(crate) fn on_one_line(warning: &str) -> String {
    let line = plain(warning).replace(['\n', '\t'], " ");
    shortened(&line, LONGEST_WARNING).into_owned()
}

/// The most characters of a warning in a list of them.
const LONGEST_WARNING: usize = 400;

#[cfg(test)]
mod tests;
