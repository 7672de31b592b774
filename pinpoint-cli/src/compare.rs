//! `pinpoint compare`: what two runs measured, chart by chart.
//!
//! A chart is `different` by the rule of the search: the smaller p of Mann-Whitney
//! and Kolmogorov-Smirnov, or Wilcoxon's of pairs, is at most 0.05. Of many charts
//! some are so by chance, and so p-values are adjusted for their number; a chart
//! that differs alone, but not among so many, is `unknown`. Unlike in a search an
//! improvement is a difference, too: who compares two files wants to see it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pinpoint_backends::local::Results;
use pinpoint_compare::{
    CompareError, LOW_THRESHOLD, PairwiseComparison, benjamini_hochberg, compare_pairwise,
    compare_performance, hodges_lehmann, median,
};
use pinpoint_core::results::Format;
use pinpoint_core::{Aggregate, Direction, Interval, Magnitude, Series, Verdict, direction_of};
use serde::Serialize;

use crate::arguments::{Compare, Display, Output};
use crate::comparison_table;
use crate::error::{CliError, FOUND, NO_DIFFERENCE, UNDECIDED};
use crate::output::{print, print_json};

/// The version of the document.
const VERSION: u32 = 1;

/// The confidence of the intervals of pairs, which the pairwise rule fixes.
const PAIRED_CONFIDENCE: f64 = 0.95;

/// The exact p of Wilcoxon's test is at least 2/2ⁿ, which is above 0.05 for fewer
/// pairs that differ, whatever they are. (With ties p is approximate, and can be
/// smaller than that.)
const FEWEST_PAIRS: usize = 6;

/// How many names a message lists.
const NAMES_IN_A_MESSAGE: usize = 20;

/// The comparison, as `--output json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    version: u32,
    pub(crate) status: Verdict,
    pub(crate) control: Vec<PathBuf>,
    pub(crate) treatment: Vec<PathBuf>,
    pub(crate) paired: bool,
    pub(crate) confidence: f64,
    /// The charts that both sides have, by name.
    pub(crate) charts: Vec<ComparedChart>,
    pub(crate) only_control: Vec<String>,
    pub(crate) only_treatment: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ComparedChart {
    pub(crate) chart: String,
    pub(crate) unit: Option<String>,
    pub(crate) direction: Direction,
    pub(crate) control: Sample,
    pub(crate) treatment: Sample,
    /// The change in the chart's unit; null for pairs.
    pub(crate) change: Option<Change>,
    /// The change in percent of the control; null when its median is 0.
    pub(crate) change_percent: Option<Change>,
    /// Null when the change is too small to be tested.
    pub(crate) p_value: Option<f64>,
    /// Adjusted for the number of charts that were tested.
    pub(crate) p_value_adjusted: Option<f64>,
    pub(crate) verdict: Verdict,
    /// Of a difference: is it for the better? Null when that is not known.
    pub(crate) improvement: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) values: usize,
    pub(crate) median: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Change {
    pub(crate) estimate: f64,
    pub(crate) interval: Option<Interval>,
}

pub(crate) fn run(arguments: Compare, display: &Display) -> Result<u8, CliError> {
    let comparison = compare(arguments)?;
    match display.output {
        // Every key is a string and every number finite: this can't fail.
        Output::Json => {
            print_json(serde_json::to_string_pretty(&comparison).unwrap_or_default());
        }
        Output::Text => print(format_args!("{}", comparison_table::of(&comparison))),
    }
    Ok(match comparison.status {
        Verdict::Different => FOUND,
        Verdict::Same => NO_DIFFERENCE,
        Verdict::Unknown | Verdict::Nil => UNDECIDED,
    })
}

/// The charts of one file, each named by it for messages.
type Charts = BTreeMap<String, Series>;

/// The values of a chart on both sides; of pairs, those at the same index belong
/// together.
#[derive(Default)]
struct Values {
    control: Vec<f64>,
    treatment: Vec<f64>,
    unit: Option<String>,
    direction: Direction,
}

fn compare(arguments: Compare) -> Result<Comparison, CliError> {
    let mut control = vec![arguments.control.clone()];
    control.extend(arguments.more_control.iter().cloned());
    let mut treatment = vec![arguments.treatment.clone()];
    treatment.extend(arguments.more_treatment.iter().cloned());
    if arguments.paired && control.len() != treatment.len() {
        return Err(CliError::Input(format!(
            "--paired needs as many treatments as controls, and there are {} and {}; name the missing ones, or leave out --paired",
            treatment.len(),
            control.len()
        )));
    }
    let read = |paths: &[PathBuf]| -> Result<Vec<Charts>, CliError> {
        paths.iter().map(|path| read(path, &arguments)).collect()
    };
    let (controls, treatments) = (read(&control)?, read(&treatment)?);
    let names = |files: &[Charts]| -> BTreeSet<String> {
        files
            .iter()
            .flat_map(|charts| charts.keys().cloned())
            .collect()
    };
    let (in_control, in_treatment) = (names(&controls), names(&treatments));
    let common: Vec<&String> = in_control.intersection(&in_treatment).collect();
    let mut charts = Vec::new();
    for name in common {
        let values = gather(name, &controls, &treatments, arguments.paired)?;
        // Of pairs all may have been incomplete.
        if !values.control.is_empty() {
            charts.push(compared(name, values, &arguments)?);
        }
    }
    if charts.is_empty() {
        return Err(CliError::Input(nothing_in_common(
            &arguments,
            &in_control,
            &in_treatment,
        )));
    }
    adjust(&mut charts)?;
    let any = |verdict| {
        charts
            .iter()
            .any(|chart: &ComparedChart| chart.verdict == verdict)
    };
    let status = if any(Verdict::Different) {
        Verdict::Different
    } else if any(Verdict::Unknown) {
        Verdict::Unknown
    } else {
        Verdict::Same
    };
    Ok(Comparison {
        version: VERSION,
        status,
        control,
        treatment,
        paired: arguments.paired,
        confidence: if arguments.paired {
            PAIRED_CONFIDENCE
        } else {
            arguments.confidence
        },
        charts,
        only_control: in_control.difference(&in_treatment).cloned().collect(),
        only_treatment: in_treatment.difference(&in_control).cloned().collect(),
    })
}

/// The charts of a file that are asked for, aggregated if that is asked for.
fn read(path: &Path, arguments: &Compare) -> Result<Charts, CliError> {
    let unreadable = |error| CliError::Input(format!("can't read {}: {error}", path.display()));
    if arguments.format == Format::Time {
        return Err(CliError::Input(
            "the format time is what the system measures of a run, and no file has it; name the format of the files".into(),
        ));
    }
    // Without a limit there is always an answer.
    let results = Results::load(path, u64::MAX).map_err(unreadable)?;
    let results = results.unwrap_or_else(|| Results::File(Vec::new()));
    let mut charts =
        arguments
            .format
            .read(results.output())
            .map_err(|source| CliError::Results {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
    if !arguments.chart.is_empty() {
        charts.retain(|name, _| arguments.chart.contains(name));
    }
    if let Some(aggregate) = arguments.aggregate {
        for (name, series) in &mut charts {
            series.values = aggregated(path, name, &series.values, aggregate)?;
        }
    }
    Ok(charts)
}

fn aggregated(
    path: &Path,
    name: &str,
    values: &[f64],
    aggregate: Aggregate,
) -> Result<Vec<f64>, CliError> {
    let value = aggregate.apply(values).ok_or_else(|| {
        CliError::Input(format!(
            "{}: the {} values of `{name}` have no {aggregate}; use another --aggregate, or name the charts with --chart",
            path.display(),
            values.len()
        ))
    })?;
    Ok(vec![value])
}

/// The values of a chart in all files.
fn gather(
    name: &str,
    controls: &[Charts],
    treatments: &[Charts],
    paired: bool,
) -> Result<Values, CliError> {
    let mut first: Option<&Series> = None;
    let mut direction = Direction::Unknown;
    for series in controls
        .iter()
        .chain(treatments)
        .filter_map(|charts| charts.get(name))
    {
        let unit = first.get_or_insert(series).unit.as_deref();
        if series.unit.as_deref() != unit {
            return Err(CliError::Input(format!(
                "`{name}` is in {} and in {}; values can be compared only in one unit (leave the chart out with --chart)",
                in_words(unit),
                in_words(series.unit.as_deref())
            )));
        }
        if direction == Direction::Unknown {
            direction = series.direction;
        }
    }
    let mut values = Values {
        unit: first.and_then(|series| series.unit.clone()),
        direction,
        ..Values::default()
    };
    let of = |charts: &'_ Charts| charts.get(name).map(|series| series.values.clone());
    if !paired {
        values.control = controls.iter().filter_map(of).flatten().collect();
        values.treatment = treatments.iter().filter_map(of).flatten().collect();
        return Ok(values);
    }
    for (number, (control, treatment)) in (1..).zip(controls.iter().zip(treatments)) {
        // A pair that lacks a half is dropped.
        let (Some(control), Some(treatment)) = (of(control), of(treatment)) else {
            continue;
        };
        if control.len() != treatment.len() {
            return Err(CliError::Input(format!(
                "--paired: `{name}` has {} values in control {number} and {} in its treatment; make one of each with --aggregate",
                control.len(),
                treatment.len()
            )));
        }
        values.control.extend(control);
        values.treatment.extend(treatment);
    }
    Ok(values)
}

fn in_words(unit: Option<&str>) -> String {
    unit.map_or_else(|| "no unit".into(), |unit| format!("`{unit}`"))
}

fn compared(name: &str, values: Values, arguments: &Compare) -> Result<ComparedChart, CliError> {
    let refused = |error: CompareError| CliError::Input(format!("`{name}`: {error}"));
    let Values {
        control,
        treatment,
        unit,
        direction,
    } = values;
    let direction = match arguments.direction {
        Some(direction) => direction.into(),
        None => direction_of(direction, unit.as_deref()),
    };
    // Neither side is empty, nor has a value that is not finite.
    let control_median = median(&control).unwrap_or_default();
    let treatment_median = median(&treatment).unwrap_or_default();
    let (verdict, p_value, change, change_percent);
    if arguments.paired {
        let pairs = compare_pairwise(&control, &treatment, Direction::Unknown).map_err(refused)?;
        verdict = verdict_of_pairs(&pairs);
        p_value = Some(pairs.p_value);
        change = None;
        change_percent = pairs.estimate.map(|estimate| Change {
            estimate,
            interval: pairs.interval,
        });
    } else {
        let magnitude = arguments.magnitude.map(|magnitude| match magnitude {
            Magnitude::Absolute(value) => value,
            Magnitude::Percent(percent) => percent / 100.0 * control_median,
        });
        let shift = hodges_lehmann(&control, &treatment, arguments.confidence).map_err(refused)?;
        let tests = compare_performance(&control, &treatment, magnitude, Direction::Unknown)
            .map_err(refused)?;
        verdict = tests.verdict;
        p_value = tests.p_value;
        let shift = Change {
            estimate: shift.estimate,
            interval: shift.interval,
        };
        change = Some(shift);
        change_percent = (control_median != 0.0).then(|| in_percent(shift, control_median));
    }
    let difference = change
        .or(change_percent)
        .map_or(treatment_median - control_median, |change| change.estimate);
    let improvement = (direction != Direction::Unknown && difference != 0.0)
        .then(|| direction.is_improvement(difference));
    Ok(ComparedChart {
        chart: name.to_owned(),
        unit,
        direction,
        control: Sample {
            values: control.len(),
            median: control_median,
        },
        treatment: Sample {
            values: treatment.len(),
            median: treatment_median,
        },
        change,
        change_percent,
        p_value,
        p_value_adjusted: None,
        verdict,
        improvement,
    })
}

/// The rule of pairs knows no `unknown`. Too few pairs can neither show a difference
/// nor that there is none, and where all of the interval lies on one side, `same`
/// would say too much.
fn verdict_of_pairs(pairs: &PairwiseComparison) -> Verdict {
    let too_few = (1..FEWEST_PAIRS).contains(&pairs.original.nonzero);
    let one_sided = pairs
        .interval
        .is_some_and(|interval| !interval.contains(0.0));
    match pairs.verdict {
        _ if too_few => Verdict::Unknown,
        Verdict::Same if one_sided => Verdict::Unknown,
        verdict => verdict,
    }
}

fn in_percent(change: Change, of: f64) -> Change {
    let percent = |value: f64| 100.0 * value / of.abs();
    Change {
        estimate: percent(change.estimate),
        interval: change.interval.map(|interval| Interval {
            low: percent(interval.low),
            high: percent(interval.high),
        }),
    }
}

/// Adjusts the p-values for the number of charts, and the verdicts with them.
fn adjust(charts: &mut [ComparedChart]) -> Result<(), CliError> {
    let tested: Vec<f64> = charts.iter().filter_map(|chart| chart.p_value).collect();
    let adjusted = benjamini_hochberg(&tested)
        .map_err(|error| CliError::Input(format!("the p-values can't be adjusted: {error}")))?;
    let tested = charts.iter_mut().filter(|chart| chart.p_value.is_some());
    for (chart, adjusted) in tested.zip(adjusted) {
        chart.p_value_adjusted = Some(adjusted);
        if chart.verdict == Verdict::Different && adjusted > LOW_THRESHOLD {
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

fn nothing_in_common(
    arguments: &Compare,
    control: &BTreeSet<String>,
    treatment: &BTreeSet<String>,
) -> String {
    let listed = |names: &BTreeSet<String>| {
        let mut text: Vec<String> = names
            .iter()
            .take(NAMES_IN_A_MESSAGE)
            .map(|name| format!("`{name}`"))
            .collect();
        match names.len() {
            0 => text.push("none".into()),
            length if length > NAMES_IN_A_MESSAGE => text.push("…".into()),
            _ => {}
        }
        text.join(", ")
    };
    let asked = match &arguments.chart[..] {
        [] => String::new(),
        names => format!(" of those asked for (--chart {})", names.join(", ")),
    };
    format!(
        "no chart{asked} is on both sides; the control has {}, the treatment {}",
        listed(control),
        listed(treatment)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(verdict: Verdict, p_value: Option<f64>) -> ComparedChart {
        ComparedChart {
            chart: "a".into(),
            unit: None,
            direction: Direction::Down,
            control: Sample {
                values: 1,
                median: 1.0,
            },
            treatment: Sample {
                values: 1,
                median: 2.0,
            },
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
            chart(Verdict::Different, Some(0.001)),
            chart(Verdict::Different, Some(0.04)),
            chart(Verdict::Unknown, Some(0.2)),
            chart(Verdict::Same, Some(0.9)),
            // Not tested, and not counted.
            chart(Verdict::Same, None),
        ];
        adjust(&mut charts).unwrap();
        let verdicts: Vec<Verdict> = charts.iter().map(|chart| chart.verdict).collect();
        assert_eq!(
            verdicts,
            [
                Verdict::Different,
                Verdict::Unknown,
                Verdict::Unknown,
                Verdict::Same,
                Verdict::Same
            ]
        );
        assert_eq!(charts[0].p_value_adjusted, Some(0.004));
        assert_eq!(charts[1].p_value_adjusted, Some(0.08));
        assert_eq!(charts[4].p_value_adjusted, None);
        let improvements: Vec<_> = charts.iter().map(|chart| chart.improvement).collect();
        assert_eq!(improvements, [Some(false), None, None, None, None]);
    }
}
