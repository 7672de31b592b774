//! The result of a pairwise job, for people.

use std::fmt::Write;

use anstyle::Style;
use pinpoint_core::{PairwiseStatus, Verdict};
use pinpoint_report::quantity::{count, duration};
use pinpoint_report::text::name;
use pinpoint_report::words::{described, failures, reason, row, undecided, why};

use crate::arguments::Display;
use crate::show::summary::{write_metric, write_warnings};
use crate::show::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};
use pinpoint_core::job::{NamedChart, PairwiseResult};

/// The most unchanged charts that are written out.
const MOST_CHARTS: usize = 20;

pub(crate) fn render(document: &PairwiseResult, display: &Display) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, document, display);
    text
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
        let reasons = [&document.base_failure, &document.experiment_failure];
        let line = failures(functional, reasons.map(Option::as_ref));
        writeln!(text, "  {line}")?;
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
    write_metric(text, document.metric.as_ref())?;
    let early = if document.stopped_early {
        format!(" of {} planned", document.pairs_planned)
    } else {
        String::new()
    };
    writeln!(
        text,
        "{DIM}{}{early}, {} in {}; job {}{DIM:#}",
        count(document.pairs.into(), "pair"),
        count(document.builds, "build"),
        duration(document.duration_s),
        document.job_id,
    )
}

fn headline(text: &mut Text, document: &PairwiseResult, display: &Display) -> std::fmt::Result {
    let charts = document.charts.len();
    let fails = (document.functional.as_ref())
        .is_some_and(|functional| functional.verdict == Verdict::Different);
    let moved = match (document.moved, document.improved) {
        (0, 0) if fails => ": runs of the experiment fail more often".to_owned(),
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
                pinpoint_core::Stopped::Decided => undecided(document.pairs_needed, charts),
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
            display.resume_command(&document.job_id)
        ),
        other => writeln!(text, "{BOLD}{}{BOLD:#}", other.as_str()),
    }
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
            "base median",
            "experiment median",
            "change in pairs",
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
