//! A comparison as comma-separated values (RFC 4180), for spreadsheets and scripts.
//!
//! Every chart has a row, also those that were not compared. Columns are only added, at the end.

use pinpoint_core::results::{Change, ComparedChart};
use pinpoint_report::quantity::without_noise;
use pinpoint_report::text::plain;

use super::{Answer, ComparedFiles, Ordered};

const COLUMNS: [&str; 17] = [
    "metric",
    "verdict",
    "unit",
    "control_median",
    "treatment_median",
    "change",
    "change_low",
    "change_high",
    "change_percent",
    "change_percent_low",
    "change_percent_high",
    "p_value",
    "p_value_adjusted",
    "control_values",
    "treatment_values",
    "direction",
    "note",
];

pub(crate) fn render(files: &ComparedFiles) -> String {
    let mut text = String::new();
    push(&mut text, COLUMNS.map(str::to_owned));
    for chart in Ordered::new(&files.comparison).all() {
        push(&mut text, compared(chart));
    }
    let comparison = &files.comparison;
    for (verdict, names) in [
        ("only_control", &comparison.only_control),
        ("only_treatment", &comparison.only_treatment),
        ("incomplete_pairs", &comparison.incomplete_pairs),
    ] {
        for name in names {
            push(&mut text, not_compared(name, verdict, ""));
        }
    }
    for chart in &comparison.different_units {
        let unit = |unit: &Option<String>| unit.clone().unwrap_or_else(|| "no unit".into());
        let note = format!("{} and {}", unit(&chart.first), unit(&chart.second));
        push(
            &mut text,
            not_compared(&chart.chart, "different_units", &note),
        );
    }
    for failed in &files.failed {
        let note = format!("{}: {}", failed.file, failed.reason);
        push(&mut text, not_compared(&failed.chart, "failed", &note));
    }
    text
}

fn compared(chart: &ComparedChart) -> [String; 17] {
    let [change, change_low, change_high] = figures(chart.change);
    let [percent, percent_low, percent_high] = figures(chart.change_percent);
    [
        foreign(&chart.chart),
        Answer::of(chart).as_str().into(),
        foreign(chart.unit.as_deref().unwrap_or_default()),
        number(chart.control.median),
        number(chart.treatment.median),
        change,
        change_low,
        change_high,
        percent,
        percent_low,
        percent_high,
        chart.p_value.map(number).unwrap_or_default(),
        chart.p_value_adjusted.map(number).unwrap_or_default(),
        chart.control.values.to_string(),
        chart.treatment.values.to_string(),
        chart.direction.as_str().into(),
        String::new(),
    ]
}

fn not_compared(name: &str, verdict: &str, note: &str) -> [String; 17] {
    let mut row = [const { String::new() }; 17];
    row[0] = foreign(name);
    row[1] = verdict.into();
    row[16] = foreign(note);
    row
}

fn figures(change: Option<Change>) -> [String; 3] {
    let Some(change) = change else {
        return Default::default();
    };
    let interval = change.interval;
    let end = |end: Option<f64>| end.map(number).unwrap_or_default();
    [
        number(change.estimate),
        end(interval.map(|it| it.low)),
        end(interval.map(|it| it.high)),
    ]
}

/// A number with all its digits, and with an exponent where there would be many zeros.
fn number(value: f64) -> String {
    let value = without_noise(value);
    match value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// Foreign text that no spreadsheet takes for a formula: an apostrophe says that it is text.
fn foreign(text: &str) -> String {
    let text = plain(text);
    let is_formula = text.starts_with(['\t', '\n']) || text.trim_start().starts_with(FORMULA);
    match is_formula {
        true => format!("'{text}"),
        false => text.into_owned(),
    }
}

/// The beginnings of formulas, in the width of East Asian scripts, too.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

fn push(text: &mut String, row: [String; 17]) {
    let cells = row.map(|cell| match cell.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    });
    text.push_str(&cells.join(","));
    text.push_str("\r\n");
}
