//! A plan, for people and for programs.

use std::fmt::Write;

use pinpoint_backends::local::RunMeasure;
use pinpoint_core::simulation::{Cost, Estimate, Plan, Scatter, ScatterUnit};
use pinpoint_core::{JobKind, JobSpec, fewest_pairs};
use pinpoint_report::quantity::{change, count, digits, duration, quantity};
use serde_json::{Value, json};

use crate::arguments::{Display, Output};
use crate::job::prior::Prior;
use crate::show::output::{self, print_json};
use crate::show::text::{BOLD, DIM, Text};

/// The version of the document.
const VERSION: u32 = 1;

/// More metrics than this limit no number of pairs that is worth a remark.
const MANY_METRICS: usize = 100;

/// A plan, with its inputs.
#[derive(Clone, Copy)]
pub(crate) struct PlanReport<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) prior: &'a Prior,
    pub(crate) scatter: &'a Scatter,
    pub(crate) magnitude: Option<f64>,
    pub(crate) estimates: &'a [Estimate],
}

pub(crate) fn print(answer: PlanReport<'_>, measures: &[(RunMeasure, Scatter)], display: &Display) {
    match display.output {
        Output::Json => {
            let mut document = document(answer);
            document["measures"] = measures.iter().map(measure_document).collect();
            print_json(format_args!("{document:#}"));
        }
        Output::Text => {
            let text = plan_text(answer);
            output::print(format_args!("{text}{}", table_of(measures)));
        }
    }
}

fn measure_document((measure, scatter): &(RunMeasure, Scatter)) -> Value {
    json!({
        "measure": measure.as_str(),
        "unit": unit(scatter),
        "median": scatter.median,
        "noise": scatter.interquartile_range,
    })
}

/// The measures that could decide, for people.
fn table_of(measures: &[(RunMeasure, Scatter)]) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write_table(&mut text, measures);
    text
}

fn write_table(text: &mut Text, measures: &[(RunMeasure, Scatter)]) -> std::fmt::Result {
    if measures.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\n{BOLD}{:>24} {:>14} {:>14} {:>14}{BOLD:#}",
        "--measure", "median", "noise", "in percent"
    )?;
    for (measure, scatter) in measures {
        let (median, noise) = (
            scatter.median.unwrap_or_default(),
            scatter.interquartile_range,
        );
        let percent = 100.0 * noise / median;
        writeln!(
            text,
            "{:>24} {:>14} {:>14} {:>14}",
            measure.as_str(),
            quantity(median, unit(scatter)),
            quantity(noise, unit(scatter)),
            if percent.is_finite() {
                format!("{} %", digits(percent))
            } else {
                "-".into()
            },
        )?;
    }
    writeln!(
        text,
        "\nThe quieter a measure, the fewer runs it takes to find a change that it shows."
    )
}

/// The plan for people.
fn plan_text(answer: PlanReport<'_>) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, answer);
    text
}

/// Of the searches for one change, the share that ended in each way.
struct Shares {
    /// Absent without a right commit.
    right: Option<f64>,
    range: f64,
    wrong: f64,
    nothing: f64,
}

impl Shares {
    fn from_estimate(estimate: &Estimate) -> Self {
        let summary = &estimate.summary;
        let right = (estimate.change.is_some()).then_some(summary.exactly_right.value);
        let (range, nothing) = (summary.right_ranges.value, summary.nothing_found.value);
        // The rest, free of the rounding of the others.
        let wrong = (1.0 - right.unwrap_or_default() - range - nothing).max(0.0);
        Self {
            right,
            range,
            wrong,
            nothing,
        }
    }
}

/// Seconds that a search of this cost takes, with builds and runs in sequence; absent if the time
/// of a run is unknown.
fn seconds(estimate: &Estimate, scatter: &Scatter) -> Option<f64> {
    let (runs, builds) = (&estimate.summary.runs.mean, &estimate.summary.builds.mean);
    let build_time = scatter.build_time.unwrap_or_default();
    Some(runs.value * scatter.run_time? + builds.value * build_time)
}

fn document(answer: PlanReport<'_>) -> Value {
    let PlanReport {
        plan,
        prior,
        scatter,
        magnitude,
        estimates,
    } = answer;
    let cost =
        |cost: &Cost| json!({ "mean": cost.mean.value, "percentile_95": cost.percentile_95 });
    let rows: Vec<Value> = estimates
        .iter()
        .map(|estimate| {
            let shares = Shares::from_estimate(estimate);
            let in_noise = estimate
                .change
                .filter(|_| scatter.interquartile_range > 0.0)
                .map(|change| change / scatter.interquartile_range);
            json!({
                "change": estimate.change,
                "change_in_noise": in_noise,
                "right": shares.right,
                "range": shares.range,
                "wrong": shares.wrong,
                "nothing_found": shares.nothing,
                "runs": cost(&estimate.summary.runs),
                "builds": cost(&estimate.summary.builds),
                "duration_s": seconds(estimate, scatter),
                "searches": estimate.summary.trials,
            })
        })
        .collect();
    let groups = prior.groups().into_iter().map(|group| {
        json!({ "touches": group.touches, "commits": group.commits, "weights": group.weights })
    });
    json!({
        "version": VERSION,
        "kind": plan.spec().kind().to_string(),
        "pairs": plan.spec().pairs(),
        "most_metrics": match plan.spec() {
            JobSpec::Pairwise(spec) => most_metrics(spec.pairs),
            _ => None,
        },
        "commits": plan.commits(),
        "prior": groups.collect::<Vec<_>>(),
        "strategy": plan.spec().bisection().map(|search| search.strategy),
        "confidence": plan.spec().bisection().map(|search| search.confidence),
        "unit": unit(scatter),
        "noise": scatter.interquartile_range,
        "values": scatter.values,
        "failure_rate": scatter.failure_rate,
        "magnitude": magnitude,
        "run_time_s": scatter.run_time,
        "build_time_s": scatter.build_time,
        "changes": rows,
    })
}

fn unit(scatter: &Scatter) -> Option<&str> {
    match &scatter.unit {
        ScatterUnit::Percent => Some("%"),
        ScatterUnit::Metric(unit) => unit.as_deref(),
    }
}

/// Writes that few pairs can't show a change of one among several metrics.
fn write_most_metrics(text: &mut Text, pairs: u32) -> std::fmt::Result {
    let Some(most) = most_metrics(pairs) else {
        return Ok(());
    };
    writeln!(
        text,
        "so few pairs can show a change of one among {} at most; among {} it takes {} pairs",
        count(most as u64, "metric"),
        most + 1,
        fewest_pairs(most + 1)
    )
}

/// The most metrics among which so many pairs can show a change of one; absent if it is more than
/// [`MANY_METRICS`].
fn most_metrics(pairs: u32) -> Option<usize> {
    (1..MANY_METRICS).find(|metrics| fewest_pairs(metrics + 1) > pairs)
}

/// Writes how suspicious commits are, and why.
fn write_prior(text: &mut Text, prior: &Prior) -> std::fmt::Result {
    if let Some(reason) = &prior.unknown {
        writeln!(text, "all commits are equally suspected: {reason}")?;
    }
    for (index, group) in prior.groups().iter().enumerate() {
        if index == 0 {
            writeln!(
                text,
                "suspected by what they touch (--prior none: all alike):"
            )?;
        }
        let [least, most] = group.weights;
        let weights = if least < most {
            format!("{least} to {most}")
        } else {
            least.to_string()
        };
        let commits = count(group.commits, "commit");
        writeln!(text, "{commits:>16}, weight {weights}: {}", group.touches)?;
    }
    Ok(())
}

fn write(text: &mut Text, answer: PlanReport<'_>) -> std::fmt::Result {
    let PlanReport {
        plan,
        prior,
        scatter,
        magnitude,
        estimates,
    } = answer;
    let size = |size: f64| match &scatter.unit {
        ScatterUnit::Percent => format!("{} %", digits(size)),
        ScatterUnit::Metric(unit) => quantity(size, unit.as_deref()),
    };
    let kind = plan.spec().kind();
    let (asked, of_what) = match plan.spec() {
        JobSpec::Pairwise(spec) => (
            count(u64::from(spec.pairs), "pair"),
            "of runs of two commits",
        ),
        _ => (count(plan.commits(), "commit"), "that may be the culprit"),
    };
    writeln!(
        text,
        "{BOLD}{asked}{BOLD:#} {of_what}; runs of one commit scatter by {} (interquartile range{})",
        size(scatter.interquartile_range),
        if scatter.values > 0 {
            format!(" of {}", count(scatter.values as u64, "run"))
        } else {
            String::new()
        }
    )?;
    if let JobSpec::Pairwise(spec) = plan.spec() {
        write_most_metrics(text, spec.pairs)?;
    }
    write_prior(text, prior)?;
    if scatter.failure_rate > 0.0 {
        writeln!(
            text,
            "{:.0} % of the runs fail",
            100.0 * scatter.failure_rate
        )?;
    }
    if let Some(magnitude) = magnitude {
        writeln!(
            text,
            "the smallest change worth finding: {}",
            size(magnitude)
        )?;
    }
    let has_time = scatter.run_time.is_some();
    // A comparison leaves no range.
    let range = |text: String| match kind {
        JobKind::Pairwise => String::new(),
        _ => format!(" {text:>8}"),
    };
    writeln!(
        text,
        "\n{BOLD}{:>24} {:>8}{} {:>8} {:>8} {:>14} {:>14}{}{BOLD:#}",
        "change (in noise)",
        "correct",
        range("range".into()),
        "wrong",
        "nothing",
        "runs (95 %)",
        "builds (95 %)",
        if has_time { "           time" } else { "" }
    )?;
    for estimate in estimates {
        let shares = Shares::from_estimate(estimate);
        let title = match estimate.change {
            None => "none".to_owned(),
            Some(by) => {
                let by_noise = by.abs() / scatter.interquartile_range;
                let by = match &scatter.unit {
                    ScatterUnit::Percent => {
                        format!("{}{} %", if by < 0.0 { "" } else { "+" }, digits(by))
                    }
                    ScatterUnit::Metric(unit) => change(by, unit.as_deref()),
                };
                if by_noise.is_finite() {
                    format!("{by} ({by_noise:.1} ×)")
                } else {
                    by
                }
            }
        };
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let cost = |cost: &Cost| format!("{:.0} ({})", cost.mean.value, cost.percentile_95);
        write!(
            text,
            "{title:>24} {:>8}{} {:>8} {:>8} {:>14} {:>14}",
            shares.right.map_or_else(|| "-".to_owned(), percent),
            range(percent(shares.range)),
            percent(shares.wrong),
            percent(shares.nothing),
            cost(&estimate.summary.runs),
            cost(&estimate.summary.builds),
        )?;
        if let Some(seconds) = seconds(estimate, scatter) {
            write!(text, " {:>14}", duration(seconds))?;
        }
        writeln!(text)?;
    }
    let searches = estimates
        .first()
        .map_or(0, |estimate| estimate.summary.trials);
    // Of a share of one half, which has the largest error.
    let error = 100.0 * 2.0 * (0.25 / searches.max(1) as f64).sqrt();
    let (jobs, legend) = match kind {
        JobKind::Pairwise => (
            "comparisons",
            "correct: the change is found; wrong: one is found where there is none; nothing: no\n\
             difference is found. Runs of a pair that differ less than any two runs find more.",
        ),
        JobKind::CulpritFinder => (
            "culprit finders",
            "correct: the culprit and no other is named, and confirmed; range: it is not, but is in\n\
             the range that is left; wrong: another is named; nothing: no difference is found.",
        ),
        _ => (
            "bisections",
            "correct: the culprit and no other is named; range: it is not named, but is in the range\n\
             that is left; wrong: another is named; nothing: no difference is found.",
        ),
    };
    writeln!(
        text,
        "\n{legend}\nRuns and builds: the mean, and what 95 of 100 {jobs} do not exceed."
    )?;
    if has_time && scatter.build_time.is_none() {
        writeln!(
            text,
            "The time covers the runs only; --build-time adds the builds."
        )?;
    }
    writeln!(
        text,
        "{DIM}{searches} simulated {jobs} of each size; shares are within {error:.0} %{DIM:#}"
    )
}

#[cfg(test)]
mod tests {
    use pinpoint_core::suspicion::{FileKind, Touched};
    use pinpoint_core::{BisectionSpec, Magnitude, Range};

    use super::*;
    use crate::show::screen_tests::styles_shown;

    /// A plan for four commits, with these seconds for a run and a build.
    fn plan(noise: Magnitude, change: Magnitude, times: [Option<f64>; 2]) -> String {
        let spec = BisectionSpec::new(Range::Counted { between: 3 });
        let plan = Plan::new(4, spec).unwrap();
        let mut scatter = Scatter::normal(noise).unwrap();
        [scatter.run_time, scatter.build_time] = times;
        let magnitude = Some(scatter.in_its_unit(change).unwrap());
        let estimates = plan.estimate(&scatter, magnitude).unwrap();
        styles_shown(&plan_text(PlanReport {
            plan: &plan,
            prior: &Prior::default(),
            scatter: &scatter,
            magnitude,
            estimates: &estimates,
        }))
    }

    #[test]
    fn suspected_commits() {
        let mut text = Text::default();
        use FileKind::{Build, Code, Document, Test};
        let touched = |kinds: &[FileKind]| kinds.iter().copied().collect::<Touched>();
        let prior = Prior::of_changes(
            [vec![touched(&[Build])], vec![touched(&[Code]); 12]]
                .into_iter()
                .chain([vec![touched(&[Code; 10])], vec![touched(&[Test]); 3]])
                .chain([vec![touched(&[Document]); 23]])
                .flatten()
                .collect(),
        );
        write_prior(&mut text, &prior).unwrap();
        write_prior(&mut text, &Prior::unknown("because".into())).unwrap();
        write_prior(&mut text, &Prior::default()).unwrap();
        insta::assert_snapshot!("suspected_commits", styles_shown(&text));
    }

    #[test]
    fn measures_that_could_decide() {
        let runs = |of: [f64; 5], unit: &str| Scatter::of_values(of.into(), Some(unit.into()));
        let measures = [
            (
                RunMeasure::Wall,
                runs([0.100, 0.103, 0.104, 0.110, 0.150], "s").unwrap(),
            ),
            (RunMeasure::User, runs([0.0; 5], "s").unwrap()),
            (RunMeasure::Memory, runs([4e6; 5], "bytes").unwrap()),
        ];
        insta::assert_snapshot!("measures", styles_shown(&table_of(&measures)));
        assert!(styles_shown(&table_of(&[])).is_empty());
    }

    #[test]
    fn plans() {
        let (units, percent) = (Magnitude::Absolute, Magnitude::Percent);
        insta::assert_snapshot!(
            "a_plan_in_the_unit_of_the_metric",
            plan(units(1.2), units(9.0), [None, None])
        );
        insta::assert_snapshot!(
            "a_plan_in_percent_with_times",
            plan(percent(3.0), percent(30.0), [Some(120.0), Some(3600.0)])
        );
        insta::assert_snapshot!(
            "a_plan_without_the_time_of_builds",
            plan(percent(3.0), percent(30.0), [Some(120.0), None])
        );
    }
}
