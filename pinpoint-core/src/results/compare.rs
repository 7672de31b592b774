//! Comparing two results, chart by chart.
//!
//! A chart is `different` by the rule of the search: the smaller p of Mann-Whitney and
//! Kolmogorov-Smirnov, or Wilcoxon's of pairs, is at most 0.05. Of many charts some differ by
//! chance, so p-values are adjusted for their number; a chart that differs alone, but not among so
//! many, is `unknown`. Unlike in a search an improvement is a difference, too: users who compare
//! two results want to see it.
//!
//! Nothing is left out silently: a chart that is on one side only, or can't be compared, is named,
//! and then the results are not called the same.
//!
//! ```
//! use pinpoint_core::Verdict;
//! use pinpoint_core::results::{CompareOptions, Format, compare};
//!
//! let before = Format::Lines.read(b"time: 10 ms\ntime: 11 ms\ntime: 12 ms\ntime: 13 ms".as_slice())?;
//! let after = Format::Lines.read(b"time: 20 ms\ntime: 21 ms\ntime: 22 ms\ntime: 23 ms".as_slice())?;
//! let comparison = compare(&[before], &[after], &CompareOptions::default())?;
//! assert_eq!(comparison.status, Verdict::Different);
//! assert_eq!(comparison.charts[0].improvement, Some(false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::{BTreeMap, BTreeSet};

use pinpoint_compare::{
    CompareError, LOW_THRESHOLD, PairwiseComparison, compare_pairwise, compare_performance,
    hodges_lehmann, median,
};
use serde::Serialize;

use super::many_charts::{ChartTest, adjusted, values_needed};
use crate::{Direction, Interval, Magnitude, Series, Verdict, direction_of};

/// The confidence of the intervals of pairs, which the pairwise rule fixes.
const PAIRED_CONFIDENCE: f64 = 0.95;

/// The charts of one result, by name.
type Charts = BTreeMap<String, Series>;

/// The settings for comparing two results.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Compare pair by pair: the values at the same place belong together.
    pub paired: bool,
    /// The confidence of the intervals; of pairs it is 0.95.
    pub confidence: f64,
    /// The smallest change worth finding; not used for pairs.
    pub magnitude: Option<Magnitude>,
    /// The direction of improvement; that of the results when absent.
    pub direction: Option<Direction>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            paired: false,
            confidence: 0.95,
            magnitude: None,
            direction: None,
        }
    }
}

/// A comparison of two results.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ResultsComparison {
    /// Different when one chart is. Else unknown when one chart is, or could not be compared. Else
    /// same.
    pub status: Verdict,
    /// Compared pair by pair.
    pub paired: bool,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The charts that both sides have, by name.
    pub charts: Vec<ComparedChart>,
    /// The charts that only the control has.
    pub only_control: Vec<String>,
    /// The charts that only the treatment has.
    pub only_treatment: Vec<String>,
    /// The charts that both sides have, in units that can't be converted into each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub different_units: Vec<DifferentUnits>,
    /// The charts that both sides have, but no pair has both of its halves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete_pairs: Vec<String>,
    /// Undecided charts with too few values to show a change among so many charts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub too_few_values: Option<TooFewValues>,
}

/// Charts that are undecided because they have too few values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TooFewValues {
    /// Their number.
    pub charts: usize,
    /// The values on each side, or the pairs, with which a change of one chart alone can be shown
    /// among as many charts.
    pub values_needed: usize,
}

/// A chart whose values can't be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DifferentUnits {
    /// The name.
    pub chart: String,
    /// One of its units.
    pub first: Option<String>,
    /// The other.
    pub second: Option<String>,
}

/// A chart that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ComparedChart {
    /// The name.
    pub chart: String,
    /// The unit of its values: the first of the control's, to which all are converted.
    pub unit: Option<String>,
    /// The direction of improvement.
    pub direction: Direction,
    /// The values before the change.
    pub control: SampleSummary,
    /// The values after it.
    pub treatment: SampleSummary,
    /// The change in the chart's unit; absent for pairs.
    pub change: Option<Change>,
    /// The change in percent of the control; absent when its median is 0.
    pub change_percent: Option<Change>,
    /// Absent when the change is too small to be tested.
    pub p_value: Option<f64>,
    /// Adjusted for the number of charts that were tested; absent for a chart that has too few
    /// values to show a change among so many.
    pub p_value_adjusted: Option<f64>,
    /// The verdict, given the number of charts.
    pub verdict: Verdict,
    /// True if a difference is for the better; absent when that is not known.
    pub improvement: Option<bool>,
}

/// The values of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleSummary {
    /// Their number.
    pub values: usize,
    /// Their median.
    pub median: f64,
}

/// The size of the difference of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The Hodges-Lehmann estimate of the shift.
    pub estimate: f64,
    /// Its confidence interval.
    pub interval: Option<Interval>,
}

/// The reason why two results can't be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareResultsError {
    /// Pairs need as many treatments as controls.
    #[error("pairs need as many treatments as controls, and there are {treatments} and {controls}")]
    Unpaired {
        /// The number of controls.
        controls: usize,
        /// The number of treatments.
        treatments: usize,
    },
    /// All charts that both sides have are in units that can't be converted.
    #[error("`{}` is in {} and in {}, which can't be converted; values can be compared only in one unit", .0.chart, in_words(&.0.first), in_words(&.0.second))]
    Units(DifferentUnits),
    /// The two halves of a pair have different numbers of values.
    #[error("`{chart}` has {controls} values in control {pair} and {treatments} in its treatment")]
    Lengths {
        /// The chart.
        chart: String,
        /// The pair, counted from 1.
        pair: usize,
        /// Values of its control.
        controls: usize,
        /// Values of its treatment.
        treatments: usize,
    },
    /// No chart is on both sides.
    #[error("no chart is on both sides")]
    NothingInCommon {
        /// The charts of the control.
        control: BTreeSet<String>,
        /// The charts of the treatment.
        treatment: BTreeSet<String>,
    },
    /// The values of a chart can't be compared.
    #[error("`{chart}`: {source}")]
    Chart {
        /// The chart.
        chart: String,
        /// The cause.
        source: CompareError,
    },
    /// The p-values can't be adjusted.
    #[error("the p-values can't be adjusted: {0}")]
    Adjustment(#[source] CompareError),
}

fn in_words(unit: &Option<String>) -> String {
    (unit.as_ref()).map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}

/// Compares two results, each of one or several files or runs, chart by chart.
///
/// # Errors
///
/// When they have no chart in common, or values that can't be compared.
pub fn compare(
    controls: &[Charts],
    treatments: &[Charts],
    options: &CompareOptions,
) -> Result<ResultsComparison, CompareResultsError> {
    if options.paired && controls.len() != treatments.len() {
        return Err(CompareResultsError::Unpaired {
            controls: controls.len(),
            treatments: treatments.len(),
        });
    }
    let names = |results: &[Charts]| -> BTreeSet<String> {
        results
            .iter()
            .flat_map(|charts| charts.keys().cloned())
            .collect()
    };
    let (in_control, in_treatment) = (names(controls), names(treatments));
    let in_both = in_control.intersection(&in_treatment).count();
    let mut charts = Vec::new();
    let mut different_units = Vec::new();
    let mut incomplete_pairs = Vec::new();
    for name in in_control.intersection(&in_treatment) {
        let values = match gather(name, controls, treatments, options.paired) {
            Err(CompareResultsError::Units(units)) => {
                different_units.push(units);
                continue;
            }
            values => values?,
        };
        if values.control.is_empty() || values.treatment.is_empty() {
            incomplete_pairs.push(name.clone());
            continue;
        }
        let chart = compared(name, values, in_both, options);
        charts.push(chart.map_err(|source| CompareResultsError::Chart {
            chart: name.clone(),
            source,
        })?);
    }
    if let (true, Some(units)) = (charts.is_empty(), different_units.first()) {
        return Err(CompareResultsError::Units(units.clone()));
    }
    if charts.is_empty() {
        return Err(CompareResultsError::NothingInCommon {
            control: in_control,
            treatment: in_treatment,
        });
    }
    adjust(&mut charts, options.paired).map_err(CompareResultsError::Adjustment)?;
    let only = |side: &BTreeSet<String>, other| side.difference(other).cloned().collect();
    let mut comparison = ResultsComparison {
        status: Verdict::Same,
        paired: options.paired,
        confidence: match options.paired {
            true => PAIRED_CONFIDENCE,
            false => options.confidence,
        },
        too_few_values: too_few_values(&charts, options.paired),
        charts,
        only_control: only(&in_control, &in_treatment),
        only_treatment: only(&in_treatment, &in_control),
        different_units,
        incomplete_pairs,
    };
    comparison.status = comparison.answer();
    Ok(comparison)
}

impl ResultsComparison {
    fn answer(&self) -> Verdict {
        let any = |verdict| self.charts.iter().any(|chart| chart.verdict == verdict);
        let is_complete = self.only_control.is_empty()
            && self.only_treatment.is_empty()
            && self.different_units.is_empty()
            && self.incomplete_pairs.is_empty();
        if any(Verdict::Different) {
            Verdict::Different
        } else if any(Verdict::Unknown) || !is_complete {
            Verdict::Unknown
        } else {
            Verdict::Same
        }
    }
}

/// The values of a chart on both sides; of pairs, those at the same index belong
/// together.
#[derive(Default)]
struct Values {
    control: Vec<f64>,
    treatment: Vec<f64>,
    unit: Option<String>,
    direction: Direction,
}

fn gather(
    name: &str,
    controls: &[Charts],
    treatments: &[Charts],
    paired: bool,
) -> Result<Values, CompareResultsError> {
    let all = controls.iter().chain(treatments);
    let all: Vec<&Series> = all.filter_map(|charts| charts.get(name)).collect();
    let unit = all.first().and_then(|series| series.unit.clone());
    let is_other = |series: &&&Series| series.in_unit(unit.as_deref()).is_none();
    if let Some(other) = all.iter().find(is_other) {
        return Err(CompareResultsError::Units(DifferentUnits {
            chart: name.to_owned(),
            second: other.unit.clone(),
            first: unit,
        }));
    }
    let directions = all.iter().map(|series| series.direction);
    let mut values = Values {
        unit: unit.clone(),
        direction: directions
            .into_iter()
            .find(|direction| *direction != Direction::Unknown)
            .unwrap_or_default(),
        ..Values::default()
    };
    let of = |charts: &Charts| {
        let series = charts.get(name)?.in_unit(unit.as_deref())?;
        Some(series.values)
    };
    if !paired {
        values.control = controls.iter().filter_map(of).flatten().collect();
        values.treatment = treatments.iter().filter_map(of).flatten().collect();
        return Ok(values);
    }
    for (pair, (control, treatment)) in (1..).zip(controls.iter().zip(treatments)) {
        // A pair that lacks a half is dropped.
        let (Some(control), Some(treatment)) = (of(control), of(treatment)) else {
            continue;
        };
        if control.len() != treatment.len() {
            return Err(CompareResultsError::Lengths {
                chart: name.to_owned(),
                pair,
                controls: control.len(),
                treatments: treatment.len(),
            });
        }
        values.control.extend(control);
        values.treatment.extend(treatment);
    }
    Ok(values)
}

fn compared(
    name: &str,
    values: Values,
    charts: usize,
    options: &CompareOptions,
) -> Result<ComparedChart, CompareError> {
    let Values {
        control,
        treatment,
        unit,
        direction,
    } = values;
    let direction = (options.direction).unwrap_or_else(|| direction_of(direction, unit.as_deref()));
    let summary = |values: &[f64]| SampleSummary {
        values: values.len(),
        // Neither side is empty, nor has a value that is not finite.
        median: median(values).unwrap_or_default(),
    };
    let sides = [summary(&control), summary(&treatment)];
    let of = sides[0].median;
    let (verdict, p_value, change, change_percent);
    if options.paired {
        let pairs = compare_pairwise(&control, &treatment, Direction::Unknown)?;
        verdict = verdict_of_pairs(&pairs, charts);
        p_value = Some(pairs.p_value);
        change = None;
        change_percent = pairs.estimate.map(|estimate| Change {
            estimate,
            interval: pairs.interval,
        });
    } else {
        let magnitude = options.magnitude.map(|magnitude| match magnitude {
            Magnitude::Absolute(value) => value,
            Magnitude::Percent(percent) => percent / 100.0 * of,
        });
        let shift = hodges_lehmann(&control, &treatment, options.confidence)?;
        let tests = compare_performance(&control, &treatment, magnitude, Direction::Unknown)?;
        verdict = tests.verdict;
        p_value = tests.p_value;
        let shift = Change {
            estimate: shift.estimate,
            interval: shift.interval,
        };
        change = Some(shift);
        change_percent = (of != 0.0).then(|| shift.in_percent_of(of));
    }
    let difference = change
        .or(change_percent)
        .map_or(sides[1].median - of, |change| change.estimate);
    Ok(ComparedChart {
        chart: name.to_owned(),
        unit,
        direction,
        control: sides[0],
        treatment: sides[1],
        change,
        change_percent,
        p_value,
        p_value_adjusted: None,
        verdict,
        improvement: (direction != Direction::Unknown && difference != 0.0)
            .then(|| direction.is_improvement(difference)),
    })
}

/// Where all of the interval is on one side, `same` would claim too much; and so it would of pairs
/// that differ, but are too few to show a change of one chart among so many.
fn verdict_of_pairs(pairs: &PairwiseComparison, charts: usize) -> Verdict {
    let one_sided = pairs
        .interval
        .is_some_and(|interval| !interval.contains(0.0));
    let too_few =
        pairs.original.nonzero > 0 && pairs.least_p_value() * charts as f64 >= LOW_THRESHOLD;
    match pairs.verdict {
        Verdict::Same if one_sided || too_few => Verdict::Unknown,
        verdict => verdict,
    }
}

impl Change {
    fn in_percent_of(self, of: f64) -> Self {
        let percent = |value: f64| 100.0 * value / of.abs();
        Self {
            estimate: percent(self.estimate),
            interval: self.interval.map(|interval| Interval {
                low: percent(interval.low),
                high: percent(interval.high),
            }),
        }
    }
}

/// Adjusts the p-values for the number of charts, and the verdicts with them.
fn adjust(charts: &mut [ComparedChart], paired: bool) -> Result<(), CompareError> {
    let tests: Vec<ChartTest> = charts.iter().filter_map(|it| it.test(paired)).collect();
    let tested = charts.iter_mut().filter(|chart| chart.p_value.is_some());
    for (chart, adjusted) in tested.zip(adjusted(&tests)?) {
        chart.p_value_adjusted = adjusted;
        let is_sure = adjusted.is_some_and(|p| p <= LOW_THRESHOLD);
        if chart.verdict == Verdict::Different && !is_sure {
            chart.verdict = Verdict::Unknown;
        }
    }
    for chart in charts {
        if chart.verdict != Verdict::Different {
            chart.improvement = None;
        }
    }
    Ok(())
}

/// The undecided charts whose values could not have shown a change, however they had come out.
fn too_few_values(charts: &[ComparedChart], paired: bool) -> Option<TooFewValues> {
    let tested = charts
        .iter()
        .filter(|chart| chart.p_value.is_some())
        .count();
    let has_too_few = |chart: &&ComparedChart| {
        chart.verdict == Verdict::Unknown
            && (chart.test(paired)).is_some_and(|test| !test.is_enough_among(tested))
    };
    match charts.iter().filter(has_too_few).count() {
        0 => None,
        charts => Some(TooFewValues {
            charts,
            values_needed: values_needed(tested, paired),
        }),
    }
}

impl ComparedChart {
    fn test(&self, paired: bool) -> Option<ChartTest> {
        self.p_value.map(|p_value| ChartTest {
            p_value,
            values: [self.control.values, self.treatment.values],
            paired,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::results::Format;

    fn lines(text: &str) -> Charts {
        Format::Lines.read(text.as_bytes()).unwrap()
    }

    #[test]
    fn units_of_one_dimension_are_converted_and_others_leave_their_chart_out() {
        let control = lines("a: 100 ms\nb: 5 ms\nc: 7");
        let treatment = lines("a: 0.2 s\nb: 5 MB\nc: 8");
        let options = CompareOptions::default();
        let compared = compare(from_ref(&control), from_ref(&treatment), &options).unwrap();
        let charts: Vec<(&str, f64, f64)> = (compared.charts.iter())
            .map(|chart| {
                (
                    chart.chart.as_str(),
                    chart.control.median,
                    chart.treatment.median,
                )
            })
            .collect();
        assert_eq!(charts, [("a", 100.0, 200.0), ("c", 7.0, 8.0)]);
        assert_eq!(compared.charts[0].unit.as_deref(), Some("ms"));
        assert_eq!(
            compared.different_units,
            [DifferentUnits {
                chart: "b".into(),
                first: Some("ms".into()),
                second: Some("MB".into()),
            }]
        );
        let only = |charts: &Charts| {
            let mut charts = charts.clone();
            charts.retain(|name, _| name == "b");
            charts
        };
        let error = compare(&[only(&control)], &[only(&treatment)], &options).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`b` is in `ms` and in `MB`, which can't be converted; values can be compared only in one unit"
        );
    }

    #[test]
    fn results_with_a_chart_that_was_not_compared_are_not_the_same() {
        let values = |charts: &[&str]| -> Charts {
            let line = |chart: &&str| format!("{chart}: 10 ms\n").repeat(30);
            lines(&charts.iter().map(line).collect::<String>())
        };
        let status = |before: &[&str], after: &[&str]| {
            let (before, after) = (values(before), values(after));
            compare(&[before], &[after], &CompareOptions::default())
                .unwrap()
                .status
        };
        assert_eq!(status(&["a", "b"], &["a", "b"]), Verdict::Same);
        assert_eq!(status(&["a", "b"], &["a"]), Verdict::Unknown);
        assert_eq!(status(&["a"], &["a", "b"]), Verdict::Unknown);
        let mut megabytes = values(&["a", "b"]);
        megabytes.get_mut("b").unwrap().unit = Some("MB".into());
        let options = CompareOptions::default();
        let compared = compare(&[values(&["a", "b"])], &[megabytes], &options).unwrap();
        assert_eq!(compared.status, Verdict::Unknown);
    }

    #[test]
    fn a_chart_without_a_whole_pair_is_named() {
        let options = CompareOptions {
            paired: true,
            ..CompareOptions::default()
        };
        let before = [lines("a: 1 ms\nb: 1 ms"), lines("a: 1 ms")];
        let after = [lines("a: 1 ms"), lines("a: 1 ms\nb: 1 ms")];
        let compared = compare(&before, &after, &options).unwrap();
        assert_eq!(compared.incomplete_pairs, ["b"]);
        assert_eq!(compared.charts.len(), 1);
    }

    fn chart(verdict: Verdict, p_value: Option<f64>, values: usize) -> ComparedChart {
        let side = |median| SampleSummary { values, median };
        ComparedChart {
            chart: "a".into(),
            unit: None,
            direction: Direction::Down,
            control: side(1.0),
            treatment: side(2.0),
            change: None,
            change_percent: None,
            p_value,
            p_value_adjusted: None,
            verdict,
            improvement: Some(false),
        }
    }

    #[test]
    fn what_differs_only_alone_is_undecided_among_many() {
        let mut charts = vec![
            chart(Verdict::Different, Some(0.001), 20),
            chart(Verdict::Different, Some(0.04), 20),
            chart(Verdict::Unknown, Some(0.2), 20),
            chart(Verdict::Same, Some(0.9), 20),
            // Not tested, and not counted.
            chart(Verdict::Same, None, 20),
        ];
        adjust(&mut charts, false).unwrap();
        let found: Vec<_> = (charts.iter())
            .map(|chart| (chart.verdict, chart.p_value_adjusted, chart.improvement))
            .collect();
        assert_eq!(
            found,
            [
                (Verdict::Different, Some(0.004), Some(false)),
                (Verdict::Unknown, Some(0.08), None),
                (Verdict::Unknown, Some(0.2 * (4.0 / 3.0)), None),
                (Verdict::Same, Some(0.9), None),
                (Verdict::Same, None, None),
            ]
        );
    }

    #[test]
    fn how_many_values_it_takes_is_said_of_undecided_charts() {
        let of = |charts: &[ComparedChart], paired| {
            too_few_values(charts, paired).map(|found| (found.charts, found.values_needed))
        };
        let undecided = chart(Verdict::Unknown, Some(0.02), 10);
        assert_eq!(of(&vec![undecided.clone(); 5000], false), Some((5000, 11)));
        assert_eq!(of(&vec![undecided.clone(); 100], false), None);
        assert_eq!(of(&vec![undecided.clone(); 100], true), Some((100, 12)));
        assert_eq!(
            of(&[chart(Verdict::Unknown, Some(0.3), 1)], false),
            Some((1, 4))
        );
        let decided = chart(Verdict::Same, Some(0.9), 2);
        assert_eq!(of(&vec![decided; 5000], false), None);
        assert_eq!(of(&[], false), None);
    }

    /// Six pairs can't show that one of two charts changed; where nothing differs, more are not
    /// needed.
    #[test]
    fn few_pairs_of_several_charts_are_undecided() {
        let charts = |values: &[(&str, f64)]| -> Vec<Charts> {
            let series = |value: f64| Series {
                values: vec![value],
                ..Series::default()
            };
            (0..6)
                .map(|pair| {
                    let of = |(name, value): &(&str, f64)| {
                        let factor = 1.0 + 0.001 * f64::from(pair);
                        ((*name).to_owned(), series(value * factor))
                    };
                    values.iter().map(of).collect()
                })
                .collect()
        };
        let verdicts = |after: &[(&str, f64)]| -> Vec<Verdict> {
            let options = CompareOptions {
                paired: true,
                ..CompareOptions::default()
            };
            let before = charts(&[("a", 10.0), ("b", 20.0)]);
            let found = compare(&before, &charts(after), &options).unwrap();
            found.charts.iter().map(|chart| chart.verdict).collect()
        };
        assert_eq!(verdicts(&[("a", 13.0)]), [Verdict::Different]);
        let of_two = verdicts(&[("a", 13.0), ("b", 20.0)]);
        assert_eq!(of_two, [Verdict::Unknown, Verdict::Same]);
    }
}
