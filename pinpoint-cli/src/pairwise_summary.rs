//! The result of a pairwise job, for people.

use std::fmt::Write;

use anstyle::Style;
use pinpoint_core::{
    ChartComparison, FunctionalComparison, Interval, PairwiseComparison, PairwiseOutcome,
    PairwiseStatus, Variant, Verdict,
};

use crate::arguments::Display;
use crate::quantity::{count, duration, p_value, quantity};
use crate::storage::resume_command;
use crate::summary::{BOLD, DIM, ERROR, FOUND, GOOD, line, plain, reason, why, write_warnings};
use crate::text::{Text, name};
use pinpoint_core::job::{NamedChart, PairwiseResult};

/// At most this many charts that did not move are written out.
const MOST_CHARTS: usize = 20;

pub(crate) fn of(document: &PairwiseResult, display: &Display) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, document, display);
    text
}

/// The comparison of one chart on a line: where it decides, and else of failures.
pub(crate) fn line_of(outcome: &PairwiseOutcome, unit: Option<&str>) -> String {
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

fn write(text: &mut Text, document: &PairwiseResult, display: &Display) -> std::fmt::Result {
    headline(text, document, display)?;
    for (name, side) in [
        ("base", &document.base),
        ("experiment", &document.experiment),
    ] {
        writeln!(text, "  {name:<10}  {}", described(side))?;
    }
    if let Some(functional) = &document.functional
        && functional.control_rate + functional.treatment_rate > 0.0
    {
        writeln!(text, "  {}", failures(functional))?;
    }
    write_charts(text, document)?;
    for (charts, side) in [
        (&document.only_base, "base"),
        (&document.only_experiment, "experiment"),
    ] {
        if !charts.is_empty() {
            let names: Vec<String> = charts.iter().take(MOST_CHARTS).map(|it| name(it)).collect();
            let more = charts.len().saturating_sub(MOST_CHARTS);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            writeln!(text, "  only the {side} has {}{more}", names.join(", "))?;
        }
    }
    write_warnings(text, &document.warnings)?;
    let early = if document.stopped_early {
        format!(" of {} planned", document.pairs_planned)
    } else {
        String::new()
    };
    writeln!(
        text,
        "\n{DIM}{}{early}, {} in {}; job {}{DIM:#}",
        count(document.pairs.into(), "pair"),
        count(document.builds, "build"),
        duration(document.duration_s),
        document.job_id,
    )
}

fn headline(text: &mut Text, document: &PairwiseResult, display: &Display) -> std::fmt::Result {
    let charts = document.charts.len();
    let moved = match (document.moved, document.improved) {
        (0, 0) if charts == 1 => String::new(),
        (0, 0) => format!(": none of {charts} metrics moved"),
        (moved, 0) => format!(": {moved} of {} moved", count(charts as u64, "metric")),
        (0, improved) => format!(
            ": {improved} of {} improved",
            count(charts as u64, "metric")
        ),
        (moved, improved) => format!(
            ": {moved} of {} moved, {improved} improved",
            count(charts as u64, "metric")
        ),
    };
    match document.status {
        PairwiseStatus::Different => writeln!(text, "{FOUND}different{FOUND:#}{moved}"),
        PairwiseStatus::Same if document.improved > 0 => {
            writeln!(text, "{GOOD}no regression{GOOD:#}{moved}")
        }
        PairwiseStatus::Same if document.pairs == 0 => writeln!(
            text,
            "{GOOD}no difference{GOOD:#}: the benchmark reads the same in both builds"
        ),
        PairwiseStatus::Same => writeln!(text, "{GOOD}no difference{GOOD:#}{moved}"),
        PairwiseStatus::Unknown => {
            let reason = match document.stopped {
                pinpoint_core::Stopped::Decided => "there was too little to compare".into(),
                ref stopped => why(stopped),
            };
            writeln!(text, "{FOUND}not decided{FOUND:#}: {reason}")
        }
        PairwiseStatus::Failed => {
            let reason = match &document.stopped {
                pinpoint_core::Stopped::Failed {
                    commit: Some(commit),
                    reason,
                } => {
                    let side = match commit {
                        pinpoint_core::Position::Lower => "base",
                        _ => "experiment",
                    };
                    format!("the {side} can't be measured: {}", self::reason(reason))
                }
                stopped => why(stopped),
            };
            writeln!(text, "{ERROR}failed{ERROR:#}: {reason}")
        }
        PairwiseStatus::Canceled => writeln!(
            text,
            "{BOLD}canceled{BOLD:#}; resume with:  {}",
            resume_command(display, &document.job_id)
        ),
    }
}

pub(crate) fn described(side: &Variant) -> String {
    let mut text = line(&side.commit);
    if let Some(pinpoint_core::Patch::File { name, .. }) = &side.commit.patch {
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

pub(crate) fn failures(functional: &FunctionalComparison) -> String {
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

/// A table: those that moved first, those that are better next, then the rest.
fn write_charts(text: &mut Text, document: &PairwiseResult) -> std::fmt::Result {
    if document.charts.is_empty() {
        return Ok(());
    }
    let mut charts: Vec<&NamedChart> = document.charts.iter().collect();
    charts.sort_by_key(|chart| (!chart.comparison.moved(), !chart.comparison.improved()));
    let moved = document.moved + document.improved;
    let shown = charts.len().min(moved + MOST_CHARTS);
    let mut rows = vec![
        [
            "metric",
            "base",
            "experiment",
            "change",
            "95 % interval",
            "p",
            "adjusted",
            "",
        ]
        .map(str::to_owned),
    ];
    rows.extend(charts[..shown].iter().map(|chart| row(chart)));
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| {
            let width = |row: &[String; 8]| row[column].chars().count();
            rows.iter().map(width).max().unwrap_or_default()
        })
        .collect();
    writeln!(text)?;
    for (number, row) in rows.iter().enumerate() {
        let style = match number.checked_sub(1).map(|place| &charts[place].comparison) {
            None => DIM,
            Some(chart) if chart.moved() => FOUND,
            Some(chart) if chart.improved() => GOOD,
            Some(_) => Style::new(),
        };
        let mut cells = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            // Names and words to the left, numbers to the right.
            if column == 0 || column == row.len() - 1 {
                let _ = write!(cells, "  {cell}{pad}");
            } else {
                let _ = write!(cells, "  {pad}{cell}");
            }
        }
        writeln!(text, "{style}{}{style:#}", cells.trim_end())?;
    }
    if shown < charts.len() {
        writeln!(text, "  … {} more that did not move", charts.len() - shown)?;
    }
    Ok(())
}

pub(crate) fn row(NamedChart { unit, comparison }: &NamedChart) -> [String; 8] {
    let name = name(&comparison.chart);
    let Some(compared) = &comparison.comparison else {
        let error = comparison.error.as_deref().unwrap_or_default();
        let empty = [const { String::new() }; 6];
        let [a, b, c, d, e, f] = empty;
        return [name, a, b, c, d, e, f, crate::text::name(error)];
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
