//! The findings of a comparison in pairs of runs.

use std::fmt::Write;

use pinpoint_compare::Transform;
use pinpoint_core::job::NamedChart;
use pinpoint_core::{
    ChartComparison, CommonFailure, FunctionalComparison, Interval, PairwiseComparison,
    PairwiseOutcome, Patch, Variant, Verdict,
};

use super::{because, line, reason};
use crate::quantity::{self, count, p_value, quantity};
use crate::text::{self, plain};

/// The comparison of one chart on a line: of its values where they decide, otherwise of failures.
pub fn line_of(outcome: &PairwiseOutcome, unit: Option<&str>) -> String {
    let pairs = count(outcome.pairs.into(), "pair");
    let reasons = [&outcome.base_failure, &outcome.experiment_failure].map(Option::as_ref);
    match (&outcome.functional, outcome.charts.first()) {
        (Some(functional), _) if functional.verdict == Verdict::Different => {
            format!("{pairs}: {}", failures(functional, reasons))
        }
        (
            _,
            Some(ChartComparison {
                comparison: Some(comparison),
                ..
            }),
        ) => {
            let interval = interval(comparison, unit).map_or_else(
                || no_interval(comparison),
                |interval| format!("95 % interval {interval}"),
            );
            format!(
                "{pairs}: {}, {}, p = {}; medians {} → {}",
                change(comparison, unit).replace("  ", " "),
                interval.replace("  ", " "),
                p_value(comparison.p_value),
                quantity(comparison.control_median, unit),
                quantity(comparison.treatment_median, unit),
            )
        }
        (
            _,
            Some(ChartComparison {
                error: Some(error), ..
            }),
        ) => {
            format!("{pairs}: {}", reason(error))
        }
        (Some(functional), _) => format!("{pairs}: {}", failures(functional, reasons)),
        (None, _) => "no pairs were run".into(),
    }
}

/// The reason why a comparison that was carried out is not decided.
pub fn undecided(pairs_needed: Option<u32>, charts: usize) -> String {
    match pairs_needed {
        Some(needed) => format!(
            "too few pairs for {}: it takes at least {needed} with values on both sides",
            count(charts as u64, "metric")
        ),
        None => "there was too little to compare".into(),
    }
}

/// A side of a comparison: its commit, its patch, and its other settings.
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

/// The failure rates of both sides, and the most common reason on each.
pub fn failures(functional: &FunctionalComparison, reasons: [Option<&CommonFailure>; 2]) -> String {
    let percent = |rate: f64| format!("{:.0} %", 100.0 * rate);
    let p = (functional.p_value).map_or_else(String::new, |p| format!(", p = {}", p_value(p)));
    format!(
        "failing runs {} → {}{p}{}",
        percent(functional.control_rate),
        percent(functional.treatment_rate),
        because(reasons)
    )
}

/// The change, in percent of the control or, where that means nothing, in the unit.
fn change(comparison: &PairwiseComparison, unit: Option<&str>) -> String {
    match (comparison.estimate, comparison.original.estimate) {
        (Some(percent), _) => format!("{percent:+.2} %"),
        (None, Some(difference)) => quantity::change(difference, unit),
        (None, None) => "-".into(),
    }
}

/// The 95 % interval of the change.
fn interval(comparison: &PairwiseComparison, unit: Option<&str>) -> Option<String> {
    let in_unit = || {
        let test = &comparison.original;
        let reached = test.achieved_confidence? >= test.confidence;
        let is_plain = comparison.transform == Transform::Difference;
        test.interval.filter(|_| reached && is_plain)
    };
    let percent = |Interval { low, high }: Interval| {
        // Values that round to 0 have no sign to show.
        let [low, high] = [low, high].map(|end| format!("{end:+.2}").replace("-0.00", "+0.00"));
        format!("{low} to {high} %")
    };
    let plain = |Interval { low, high }: Interval| {
        let [low, high] = [low, high].map(|end| quantity::change(end, unit));
        format!("{low} to {high}")
    };
    (comparison.interval.map(percent)).or_else(|| in_unit().map(plain))
}

/// The reason why there is no interval.
fn no_interval(comparison: &PairwiseComparison) -> String {
    let pairs = count(comparison.pairs as u64, "pair");
    let reached = 1.0 - comparison.least_p_value();
    match reached < 0.95 {
        true => format!(
            "no 95 % interval ({pairs} can reach {} at most)",
            quantity::level(reached)
        ),
        false => "no 95 % interval".into(),
    }
}

/// A chart as a row of a table: its name, both medians, the change in pairs, its 95 % interval, p,
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
    } else if comparison.is_undecided() {
        "not decided"
    } else {
        "same"
    };
    [
        name,
        quantity(compared.control_median, unit.as_deref()),
        quantity(compared.treatment_median, unit.as_deref()),
        change(compared, unit.as_deref()),
        interval(compared, unit.as_deref()).unwrap_or_else(|| "-".into()),
        p_value(compared.p_value),
        comparison
            .adjusted_p_value
            .map_or_else(String::new, p_value),
        verdict.into(),
    ]
}
