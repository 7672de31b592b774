//! The table, a row for each scenario and strategy.

use std::collections::BTreeMap;

use pinpoint_core::Strategy;
use pinpoint_core::simulation::{Mean, Summary, Trial};

use crate::IdealCost;
use crate::cells::Cell;
use crate::targets::{Check, Reached};

pub(crate) fn print_head() {
    println!(
        "{:36} {:9} {:>5} {:>10} {:>6} {:>6} {:>6} {:>6} {:>6} {:>13} {:>6} {:>11} {:>5} {:>7} {:>6} {:>6} {:>6}  missed",
        "scenario",
        "strategy",
        "n",
        "right %",
        "recall",
        "false",
        "range",
        "stated",
        "true",
        "runs",
        "p95",
        "builds",
        "p95",
        "ideal %",
        "runs",
        "×ideal",
        "×ref"
    );
}

pub(crate) fn print_row(
    cell: &Cell,
    strategy: Strategy,
    summary: &Summary,
    ideal: Option<&IdealCost>,
    reference: &Summary,
    checks: &[Check],
) {
    let runs = summary.runs.mean;
    let missed: Vec<String> = checks
        .iter()
        .filter(|check| check.result != Reached::Yes)
        .map(|check| {
            let nearly = if check.result == Reached::Nearly {
                "~"
            } else {
                ""
            };
            format!("{nearly}{}", check.target)
        })
        .collect();
    let calibration = summary.calibration;
    println!(
        "{:36} {:9} {:5} {:>10} {:>6} {:6.3} {:>6} {:>6} {:>6} {:>13} {:6} {:>11} {:5} {:>7} {:>6} {:>6} {:6.2}  {}",
        cell.name,
        format!("{strategy:?}").to_lowercase(),
        summary.trials,
        percent(summary.exactly_right),
        or_dash(summary.recall, |recall| format!("{:.1}", 100.0 * recall)),
        summary.false_culprits.value,
        format!("{:.1}", 100.0 * summary.right_ranges.value),
        or_dash(calibration, |found| format!("{:.1}", 100.0 * found.stated)),
        or_dash(calibration, |found| format!(
            "{:.1}",
            100.0 * found.observed.value
        )),
        with_error(runs),
        summary.runs.percentile_95,
        with_error(summary.builds.mean),
        summary.builds.percentile_95,
        or_dash(ideal, |ideal| format!("{:.1}", 100.0 * ideal.right.value)),
        or_dash(ideal, |ideal| format!("{:.1}", ideal.runs.value)),
        or_dash(ideal, |ideal| format!(
            "{:.2}",
            runs.value / ideal.runs.value
        )),
        runs.value / reference.runs.mean.value,
        missed.join(", "),
    );
}

fn percent(share: Mean) -> String {
    format!(
        "{:.1} ±{:.1}",
        100.0 * share.value,
        100.0 * share.standard_error
    )
}

fn with_error(mean: Mean) -> String {
    format!("{:.1} ±{:.1}", mean.value, mean.standard_error)
}

fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// Culprits by strategy, noise and the probability they were named with.
#[derive(Debug, Default)]
pub(crate) struct CalibrationTable(BTreeMap<Row, Vec<(f64, bool)>>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    strategy: String,
    noise: &'static str,
    /// Of [`CLASSES`].
    class: usize,
}

/// Lower edges of the classes of stated probabilities.
const CLASSES: [f64; 5] = [0.0, 0.9, 0.95, 0.98, 0.99];

impl CalibrationTable {
    pub(crate) fn add(&mut self, strategy: Strategy, cell: &Cell, trials: &[Trial]) {
        for (stated, is_true) in trials.iter().flat_map(|trial| &trial.named) {
            if let Some(stated) = stated {
                let row = Row {
                    strategy: format!("{strategy:?}").to_lowercase(),
                    noise: cell.scenario.noise.name(),
                    class: CLASSES.iter().rposition(|edge| stated >= edge).unwrap_or(0),
                };
                self.0.entry(row).or_default().push((*stated, *is_true));
            }
        }
    }

    pub(crate) fn print(&self) {
        if self.0.is_empty() {
            return;
        }
        println!("\nstrategy  noise          stated at least  culprits  stated %  true %");
        for (row, culprits) in &self.0 {
            let Row {
                strategy,
                noise,
                class,
            } = row;
            let stated = Mean::of(culprits.iter().map(|(stated, _)| *stated)).value;
            let observed = Mean::share(culprits, |(_, is_true)| *is_true);
            println!(
                "{strategy:9} {noise:14} {:15} {:9} {:9.2} {:>12}",
                CLASSES[*class],
                culprits.len(),
                100.0 * stated,
                percent(observed)
            );
        }
    }
}
