//! What a comparison in pairs of runs found.

use std::fmt::Write;

use pinpoint_core::job::NamedChart;
use pinpoint_core::{
    ChartComparison, FunctionalComparison, Interval, PairwiseComparison, PairwiseOutcome, Patch,
    Variant, Verdict,
};

use super::{line, reason};
use crate::quantity::{count, p_value, quantity};
use crate::text::{self, plain};

/// The comparison of one chart on a line: where it decides, and else of failures.
pub fn line_of(outcome: &PairwiseOutcome, unit: Option<&str>) -> String {
    let pairs = count(outcome.pairs.into(), "pair");
    match (&outcome.functional, outcome.charts.first()) {
        (Some(functional), _) if functional.verdict == Verdict::Different => {
            format!("{pairs}: {}", failures(functional))
        }
        (
            _,
            Some(ChartComparison {
                comparison: Some(comparison),
                ..
            }),
        ) => format!(
            "{pairs}: {} → {}, {}, p = {}",
            quantity(comparison.control_median, unit),
            quantity(comparison.treatment_median, unit),
            [change(comparison), interval(comparison)]
                .map(|text| text.replace("  ", " "))
                .join(", 95 % interval "),
            p_value(comparison.p_value),
        ),
        (
            _,
            Some(ChartComparison {
                error: Some(error), ..
            }),
        ) => {
            format!("{pairs}: {}", reason(error))
        }
        (Some(functional), _) => format!("{pairs}: {}", failures(functional)),
        (None, _) => "no pairs were run".into(),
    }
}

/// A side of a comparison: its commit, its patch, and what else it runs with.
pub fn described(side: &Variant) -> String {
    let mut text = line(&side.commit);
    if let Some(Patch::File { name, .. }) = &side.commit.patch {
        let _ = write!(text, " + {}", plain(name));
    }
    for argument in &side.arguments {
        let _ = write!(text, " {}", plain(argument));
    }
    for (name, value) in &side.env {
        let _ = write!(text, " {}={}", plain(name), plain(value));
    }
    text
}

/// How often runs of both sides fail.
pub fn failures(functional: &FunctionalComparison) -> String {
    let percent = |rate: f64| format!("{:.0} %", 100.0 * rate);
    let p = (functional.p_value).map_or_else(String::new, |p| format!(", p = {}", p_value(p)));
    format!(
        "failing runs {} → {}{p}",
        percent(functional.control_rate),
        percent(functional.treatment_rate)
    )
}

fn change(comparison: &PairwiseComparison) -> String {
    (comparison.estimate).map_or_else(|| "-".into(), |estimate| format!("{estimate:+.2} %"))
}

fn interval(comparison: &PairwiseComparison) -> String {
    (comparison.interval).map_or_else(
        || "-".into(),
        |Interval { low, high }| format!("{low:+.2} to {high:+.2} %"),
    )
}

/// A chart as a row of a table: its name, both medians, the change, its 95 % interval, p,
/// adjusted p, and the verdict.
pub fn row(NamedChart { unit, comparison }: &NamedChart) -> [String; 8] {
    let name = text::name(&comparison.chart);
    let Some(compared) = &comparison.comparison else {
        let error = comparison.error.as_deref().unwrap_or_default();
        let empty = [const { String::new() }; 6];
        let [a, b, c, d, e, f] = empty;
        return [name, a, b, c, d, e, f, text::name(error)];
    };
    let verdict = if comparison.moved() {
        "different"
    } else if comparison.improved() {
        "better"
    } else {
        "same"
    };
    [
        name,
        quantity(compared.control_median, unit.as_deref()),
        quantity(compared.treatment_median, unit.as_deref()),
        change(compared),
        interval(compared),
        p_value(compared.p_value),
        comparison
            .adjusted_p_value
            .map_or_else(String::new, p_value),
        verdict.into(),
    ]
}
