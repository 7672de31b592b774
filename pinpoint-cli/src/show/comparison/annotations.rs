//! A comparison as workflow commands of GitHub Actions, which become annotations.
//!
//! GitHub shows ten warnings and ten notices of a step, and drops the others: there are no more of
//! each here, and what has none of its own is counted in another.

use std::fmt::Write;

use pinpoint_core::results::ComparedChart;
use pinpoint_report::quantity::count;
use pinpoint_report::text::{name, plain, shortened};

use super::{
    Answer, ComparedFiles, Figures, Ordered, headline, is_adjusted, on_one_line, units_in_words,
};

/// At most this many charts that moved have a warning each. There are five other warnings.
const MOST_WARNINGS: usize = 5;

/// At most this many names, or warnings about files, are in an annotation.
const MOST_NAMES: usize = 10;

/// The most characters of a message.
const LONGEST_MESSAGE: usize = 5_000;

pub(crate) fn render(files: &ComparedFiles) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = write(&mut text, files);
    text
}

fn write(text: &mut String, files: &ComparedFiles) -> std::fmt::Result {
    let comparison = &files.comparison;
    let ordered = Ordered::new(comparison);
    let is_adjusted = is_adjusted(comparison);
    let moved = [Answer::Worse, Answer::Different].map(|answer| ordered.with(answer));
    let moved = moved.concat();
    let (first, more) = moved.split_at(moved.len().min(MOST_WARNINGS));
    for chart in first {
        let title = match Answer::of(chart) {
            Answer::Worse => format!("{} is worse", name(&chart.chart)),
            _ => format!("{} moved", name(&chart.chart)),
        };
        annotate(text, "warning", &title, &in_words(chart, is_adjusted))?;
    }
    let names = |charts: &[&ComparedChart]| -> Vec<String> {
        let shown = charts.iter().map(|chart| {
            let change = Figures::of(chart, is_adjusted).change;
            format!("{} {change}", chart.chart)
        });
        shown.collect()
    };
    let units = units_in_words(comparison);
    let better = ordered.with(Answer::Better);
    let are_worse = more.iter().all(|chart| Answer::of(chart) == Answer::Worse);
    let moved = if are_worse { "worse" } else { "moved" };
    for (kind, items, one, words) in [
        ("warning", &names(more), "more metric", moved),
        (
            "warning",
            &comparison.only_control,
            "metric",
            "only in the control",
        ),
        (
            "warning",
            &units,
            "metric",
            "in units that can't be converted",
        ),
        (
            "warning",
            &comparison.incomplete_pairs,
            "metric",
            "of which no pair has both halves",
        ),
        ("warning", &files.warnings, "warning", "about the files"),
        (
            "notice",
            &comparison.only_treatment,
            "metric",
            "only in the treatment",
        ),
        ("notice", &names(better), "metric", "better"),
    ] {
        if let number @ 1.. = items.len() {
            let title = format!("{} {words}", count(number as u64, one));
            annotate(text, kind, &title, &listed(items))?;
        }
    }
    let sides = [&files.control, &files.treatment].map(|files| name(&files.join(", ")));
    let message = format!("{} compared with {}", sides[1], sides[0]);
    annotate(text, "notice", &headline(&ordered), &message)
}

fn in_words(chart: &ComparedChart, is_adjusted: bool) -> String {
    let Figures {
        change,
        interval,
        p,
        control,
        treatment,
    } = Figures::of(chart, is_adjusted);
    format!("{change} {interval}, p {p}: {control} before, {treatment} after")
}

/// A line for each.
fn listed(items: &[String]) -> String {
    let shown = items.iter().take(MOST_NAMES).map(|it| on_one_line(it));
    let mut lines: Vec<String> = shown.collect();
    if let more @ 1.. = items.len().saturating_sub(MOST_NAMES) {
        lines.push(format!("… {more} more"));
    }
    lines.join("\n")
}

fn annotate(text: &mut String, kind: &str, title: &str, message: &str) -> std::fmt::Result {
    let message = shortened(message, LONGEST_MESSAGE);
    writeln!(
        text,
        "::{kind} title={}::{}",
        property(title),
        data(&message)
    )
}

/// The escapes of workflow commands, as GitHub's own toolkit has them.
fn data(text: &str) -> String {
    plain(text)
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
