//! A comparison, for people.

use std::fmt::Write;

use anstyle::Style;
use pinpoint_core::Verdict;
use pinpoint_core::results::{Change, ComparedChart, DifferentUnits, ResultsComparison};
use pinpoint_report::quantity::{change, count, level, p_value, quantity};
use pinpoint_report::text::name;

use crate::show::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};

/// At most this many charts that only one side has are written out.
const MOST_NAMES: usize = 20;

pub(crate) fn render(comparison: &ResultsComparison) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, comparison);
    text
}

fn write(text: &mut Text, comparison: &ResultsComparison) -> std::fmt::Result {
    let is_adjusted = tested(comparison) > 1;
    let mut header = vec![
        "metric".to_owned(),
        "control median".into(),
        "treatment median".into(),
        "change".into(),
        format!("{} interval", level(comparison.confidence)),
        "p".into(),
    ];
    if is_adjusted {
        header.push("adjusted".into());
    }
    header.push("verdict".into());
    let rows: Vec<Vec<String>> = comparison
        .charts
        .iter()
        .map(|chart| cells(chart, is_adjusted))
        .collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let widths = rows
                .iter()
                .chain([&header])
                .map(|row| row[column].chars().count());
            widths.max().unwrap_or_default()
        })
        .collect();
    write_row(text, &header, &widths, BOLD)?;
    for (row, chart) in rows.iter().zip(&comparison.charts) {
        write_row(text, row, &widths, style(chart))?;
    }
    writeln!(text)?;
    write_only(text, "control", &comparison.only_control)?;
    write_only(text, "treatment", &comparison.only_treatment)?;
    write_different_units(text, &comparison.different_units)?;
    write_summary(text, comparison)
}

fn tested(comparison: &ResultsComparison) -> usize {
    let tested = |chart: &&ComparedChart| chart.p_value.is_some();
    comparison.charts.iter().filter(tested).count()
}

/// The name to the left, figures to the right, and the verdict in color at the end (where it needs
/// no width).
fn write_row(text: &mut Text, row: &[String], widths: &[usize], last: Style) -> std::fmt::Result {
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        if column == 0 {
            write!(text, "{cell:width$}")?;
        } else if column + 1 < row.len() {
            write!(text, "  {cell:>width$}")?;
        } else {
            writeln!(text, "  {last}{cell}{last:#}")?;
        }
    }
    Ok(())
}

fn cells(chart: &ComparedChart, is_adjusted: bool) -> Vec<String> {
    let unit = chart.unit.as_deref();
    let p = |p: Option<f64>| p.map_or_else(|| "–".into(), p_value);
    let (estimate, interval) = match (chart.change_percent, chart.change) {
        (Some(percent), _) => in_words(percent, |value| format!("{value:+.2} %")),
        (None, Some(shift)) => in_words(shift, |value| change(value, unit)),
        (None, None) => ("–".into(), "–".into()),
    };
    let mut cells = vec![
        name(&chart.chart),
        quantity(chart.control.median, unit),
        quantity(chart.treatment.median, unit),
        estimate,
        interval,
        p(chart.p_value),
    ];
    if is_adjusted {
        cells.push(p(chart.p_value_adjusted));
    }
    cells.push(verdict(chart).into());
    // A unit is the file's, too, and may be as long.
    cells.iter().map(|cell| name(cell)).collect()
}

fn in_words(change: Change, number: impl Fn(f64) -> String) -> (String, String) {
    let interval = change.interval.map_or_else(
        || "–".into(),
        |interval| format!("{} to {}", number(interval.low), number(interval.high)),
    );
    (number(change.estimate), interval)
}

fn verdict(chart: &ComparedChart) -> &'static str {
    match (chart.verdict, chart.improvement) {
        (Verdict::Different, Some(true)) => "better",
        (Verdict::Different, Some(false)) => "worse",
        (verdict, _) => verdict.as_str(),
    }
}

fn style(chart: &ComparedChart) -> Style {
    match (chart.verdict, chart.improvement) {
        (Verdict::Different, Some(true)) => GOOD,
        (Verdict::Different, Some(false)) => ERROR,
        (Verdict::Different, None) => FOUND,
        (Verdict::Unknown | Verdict::Nil, _) => BOLD,
        (Verdict::Same, _) => DIM,
    }
}

fn write_only(text: &mut Text, side: &str, names: &[String]) -> std::fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(text, "only in the {side}:")?;
    for name in names.iter().take(MOST_NAMES) {
        writeln!(text, "  {}", self::name(name))?;
    }
    if names.len() > MOST_NAMES {
        writeln!(text, "  … {} more", names.len() - MOST_NAMES)?;
    }
    writeln!(text)
}

fn write_different_units(text: &mut Text, charts: &[DifferentUnits]) -> std::fmt::Result {
    if charts.is_empty() {
        return Ok(());
    }
    let unit = |unit: &Option<String>| unit.as_deref().map_or_else(|| "no unit".into(), name);
    writeln!(text, "not compared, in units that can't be converted:")?;
    for chart in charts.iter().take(MOST_NAMES) {
        let (first, second) = (unit(&chart.first), unit(&chart.second));
        writeln!(text, "  {} ({first}, {second})", name(&chart.chart))?;
    }
    if charts.len() > MOST_NAMES {
        writeln!(text, "  … {} more", charts.len() - MOST_NAMES)?;
    }
    writeln!(text)
}

fn write_summary(text: &mut Text, comparison: &ResultsComparison) -> std::fmt::Result {
    let charts = &comparison.charts;
    let how_many = |wanted: &str| {
        charts
            .iter()
            .filter(|chart| verdict(chart) == wanted)
            .count()
    };
    let moved = charts
        .iter()
        .filter(|chart| chart.verdict == Verdict::Different)
        .count();
    let mut parts = Vec::new();
    for word in ["worse", "better"] {
        match how_many(word) {
            0 => {}
            number => parts.push(format!("{number} {word}")),
        }
    }
    match how_many("unknown") {
        0 => {}
        number => parts.push(format!("{number} not decided")),
    }
    let parts = match &parts[..] {
        [] => String::new(),
        parts => format!(": {}", parts.join(", ")),
    };
    let total = count(charts.len() as u64, "metric");
    writeln!(text, "{BOLD}{moved} of {total} moved{BOLD:#}{parts}")?;
    match tested(comparison) {
        0 | 1 => Ok(()),
        number => writeln!(
            text,
            "{DIM}p is adjusted for {number} comparisons; a metric that differs on its own but not after the adjustment is not decided{DIM:#}"
        ),
    }
}
