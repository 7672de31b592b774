//! A comparison, for people at a terminal.

use std::fmt::Write;

use anstyle::Style;
use pinpoint_core::results::ComparedChart;
use pinpoint_report::quantity::{count, level};
use pinpoint_report::text::name;

use super::{
    Answer, ComparedFiles, Figures, Ordered, certainty, headline, is_adjusted, not_compared,
    units_in_words,
};
use crate::show::summary::write_warnings;
use crate::show::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};

/// Up to this many charts, all are written out.
const FEW_CHARTS: usize = 40;

/// Of more, at most this many with one answer: if they moved, and if they did not.
const MOST_MOVED: usize = 20;
const MOST_OTHERS: usize = 5;

/// At most this many names are listed.
const MOST_NAMES: usize = 10;

pub(crate) fn render(files: &ComparedFiles) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, files);
    text
}

fn write(text: &mut Text, files: &ComparedFiles) -> std::fmt::Result {
    let comparison = &files.comparison;
    let ordered = Ordered::new(comparison);
    write_table(text, files, &ordered)?;
    let units = units_in_words(comparison);
    for (title, names) in [
        ("only in the control", &comparison.only_control),
        ("only in the treatment", &comparison.only_treatment),
        ("not compared, in units that can't be converted", &units),
        (
            "not compared, no pair has both halves",
            &comparison.incomplete_pairs,
        ),
    ] {
        write_names(text, title, names)?;
    }
    writeln!(text, "{BOLD}{}{BOLD:#}", headline(&ordered))?;
    if let Some(parts) = not_compared(files) {
        writeln!(text, "{FOUND}not compared{FOUND:#}: {parts}")?;
    }
    for sentence in certainty(comparison) {
        writeln!(text, "{DIM}{sentence}{DIM:#}")?;
    }
    write_warnings(text, &files.warnings)
}

/// The name stands last, where its length moves no other column.
fn write_table(text: &mut Text, files: &ComparedFiles, ordered: &Ordered) -> std::fmt::Result {
    let interval = format!("{} interval", level(files.comparison.confidence));
    let header = [
        "verdict",
        "change",
        &interval,
        "p",
        "control",
        "treatment",
        "metric",
    ];
    let is_adjusted = is_adjusted(&files.comparison);
    let mut rows = Vec::new();
    for answer in ANSWERS {
        let shown = ordered.with(answer).iter().take(most_rows(answer, ordered));
        rows.extend(shown.map(|chart| (answer, row(answer, chart, is_adjusted))));
    }
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows.iter().map(|(_, row)| row[column].as_str());
            let widths = cells.chain([header[column]]).map(|it| it.chars().count());
            widths.max().unwrap_or_default()
        })
        .collect();
    write_row(text, &header, &widths, BOLD)?;
    for (place, (answer, row)) in rows.iter().enumerate() {
        write_row(
            text,
            &row.each_ref().map(String::as_str),
            &widths,
            style(*answer),
        )?;
        let is_last = rows.get(place + 1).is_none_or(|(next, _)| next != answer);
        let all = ordered.with(*answer).len();
        let more = all.saturating_sub(most_rows(*answer, ordered));
        if is_last && more > 0 {
            writeln!(text, "{DIM}… {more} more {}{DIM:#}", answer.as_str())?;
        }
    }
    writeln!(text)
}

const ANSWERS: [Answer; 5] = [
    Answer::Worse,
    Answer::Different,
    Answer::Better,
    Answer::Unknown,
    Answer::Same,
];

fn most_rows(answer: Answer, ordered: &Ordered) -> usize {
    match answer {
        _ if ordered.all().len() <= FEW_CHARTS => FEW_CHARTS,
        Answer::Worse | Answer::Different | Answer::Better => MOST_MOVED,
        Answer::Unknown | Answer::Same => MOST_OTHERS,
    }
}

fn row(answer: Answer, chart: &ComparedChart, is_adjusted: bool) -> [String; 7] {
    let figures = Figures::of(chart, is_adjusted);
    [
        answer.as_str().into(),
        figures.change,
        figures.interval,
        figures.p,
        figures.control,
        figures.treatment,
        name(&chart.chart),
    ]
}

/// The verdict in color and the name to the left, figures to the right.
fn write_row(text: &mut Text, row: &[&str; 7], widths: &[usize], first: Style) -> std::fmt::Result {
    let [verdict, figures @ .., name] = row;
    let width = widths[0];
    write!(text, "{first}{verdict:width$}{first:#}")?;
    for (cell, width) in figures.iter().zip(&widths[1..]) {
        write!(text, "  {cell:>width$}")?;
    }
    writeln!(text, "  {name}")
}

fn style(answer: Answer) -> Style {
    match answer {
        Answer::Worse => ERROR,
        Answer::Different => FOUND,
        Answer::Better => GOOD,
        Answer::Unknown => BOLD,
        Answer::Same => DIM,
    }
}

fn write_names(text: &mut Text, title: &str, names: &[String]) -> std::fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    writeln!(text, "{title}: {}", count(names.len() as u64, "metric"))?;
    for name in names.iter().take(MOST_NAMES) {
        writeln!(text, "  {}", self::name(name))?;
    }
    if names.len() > MOST_NAMES {
        writeln!(text, "  … {} more", names.len() - MOST_NAMES)?;
    }
    writeln!(text)
}
