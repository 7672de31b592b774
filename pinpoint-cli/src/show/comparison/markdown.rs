//! A comparison in Markdown, for a comment on a pull request: what moved is shown, the rest folded.
//!
//! GitHub refuses a comment of more than 65,536 characters. Each part has a share of that, whatever
//! the number and the names of the charts are; what does not fit is counted.

use std::fmt::Write;

use pinpoint_core::results::ComparedChart;
use pinpoint_report::quantity::{count, level};
use pinpoint_report::text::name;

use super::{
    Answer, ComparedFiles, Figures, Ordered, certainty, headline, is_adjusted, not_compared,
    on_one_line, units_in_words,
};

/// The most bytes of each part. Together they leave room for the lines around them, and for what a
/// bot adds to its comment. A row has less than 2,000.
const WORSE: usize = 18_000;
const DIFFERENT: usize = 6_000;
const BETTER: usize = 6_000;
const UNKNOWN: usize = 6_000;
const SAME: usize = 4_000;
const NAMES: usize = 3_000;
const WARNINGS: usize = 4_000;

/// At most this many files of a side are named.
const MOST_FILES: usize = 3;

pub(crate) fn render(files: &ComparedFiles) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = write(&mut text, files);
    text
}

fn write(text: &mut String, files: &ComparedFiles) -> std::fmt::Result {
    let comparison = &files.comparison;
    let ordered = Ordered::new(comparison);
    writeln!(text, "### {}\n", headline(&ordered))?;
    write!(
        text,
        "{} → {}",
        file_names(&files.control),
        file_names(&files.treatment)
    )?;
    match not_compared(files) {
        Some(parts) => writeln!(text, "; not compared: {parts}\n")?,
        None => writeln!(text, "\n")?,
    }
    let moved = [
        (Answer::Worse, WORSE),
        (Answer::Different, DIFFERENT),
        (Answer::Better, BETTER),
    ];
    if moved
        .iter()
        .any(|(answer, _)| !ordered.with(*answer).is_empty())
    {
        write_table(text, files, &ordered, &moved)?;
    }
    for sentence in certainty(comparison) {
        writeln!(text, "{sentence}.\n")?;
    }
    for (answer, share, words) in [
        (Answer::Unknown, UNKNOWN, "not decided"),
        (Answer::Same, SAME, "did not move"),
    ] {
        if let number @ 1.. = ordered.with(answer).len() {
            open(
                text,
                &format!("{}: {words}", count(number as u64, "metric")),
            )?;
            write_table(text, files, &ordered, &[(answer, share)])?;
            close(text)?;
        }
    }
    let units = units_in_words(comparison);
    for (words, names) in [
        ("only in the control", &comparison.only_control),
        ("only in the treatment", &comparison.only_treatment),
        ("in units that can't be converted", &units),
        (
            "of which no pair has both halves",
            &comparison.incomplete_pairs,
        ),
    ] {
        if let number @ 1.. = names.len() {
            open(text, &format!("{} {words}", count(number as u64, "metric")))?;
            let items = names
                .iter()
                .map(|name| format!("- {}\n", code(&self::name(name))));
            write_share(text, items, NAMES)?;
            close(text)?;
        }
    }
    if let number @ 1.. = files.warnings.len() {
        open(text, &count(number as u64, "warning"))?;
        let items = (files.warnings.iter()).map(|it| format!("- {}\n", code(&on_one_line(it))));
        write_share(text, items, WARNINGS)?;
        close(text)?;
    }
    Ok(())
}

fn file_names(files: &[String]) -> String {
    let names = files.iter().take(MOST_FILES).map(|file| code(&name(file)));
    let mut names: Vec<String> = names.collect();
    if let more @ 1.. = files.len().saturating_sub(MOST_FILES) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// A part that is folded.
fn open(text: &mut String, summary: &str) -> std::fmt::Result {
    writeln!(text, "<details><summary>{summary}</summary>\n")
}

fn close(text: &mut String) -> std::fmt::Result {
    writeln!(text, "\n</details>\n")
}

fn write_table(
    text: &mut String,
    files: &ComparedFiles,
    ordered: &Ordered,
    shares: &[(Answer, usize)],
) -> std::fmt::Result {
    let interval = level(files.comparison.confidence);
    writeln!(
        text,
        "| metric | verdict | change | {interval} interval | p | control | treatment |\n\
         | :-- | :-- | --: | :-: | --: | --: | --: |"
    )?;
    let is_adjusted = is_adjusted(&files.comparison);
    let mut left_out = Vec::new();
    for (answer, share) in shares {
        let charts = ordered.with(*answer);
        let rows = charts.iter().map(|chart| row(*answer, chart, is_adjusted));
        if let more @ 1.. = fill(text, rows, *share) {
            left_out.push(format!("{more} more {}", answer.as_str()));
        }
    }
    writeln!(text)?;
    if !left_out.is_empty() {
        writeln!(text, "… {}\n", left_out.join(", "))?;
    }
    Ok(())
}

fn row(answer: Answer, chart: &ComparedChart, is_adjusted: bool) -> String {
    let Figures {
        change,
        interval,
        p,
        control,
        treatment,
    } = Figures::of(chart, is_adjusted);
    let verdict = match answer {
        Answer::Worse => "**worse**",
        answer => answer.as_str(),
    };
    let metric = code(&name(&chart.chart));
    let [change, interval, control, treatment] =
        [change, interval, control, treatment].map(|it| figure(&it));
    format!("| {metric} | {verdict} | {change} | {interval} | {p} | {control} | {treatment} |\n")
}

fn write_share(
    text: &mut String,
    items: impl ExactSizeIterator<Item = String>,
    share: usize,
) -> std::fmt::Result {
    match fill(text, items, share) {
        0 => Ok(()),
        more => writeln!(text, "- … {more} more"),
    }
}

/// Adds items as long as they fit into this many bytes; gives the number of those left out.
fn fill(text: &mut String, items: impl ExactSizeIterator<Item = String>, share: usize) -> usize {
    let end = text.len() + share;
    let mut left_out = items.len();
    for item in items {
        if text.len() + item.len() > end {
            break;
        }
        text.push_str(&item);
        left_out -= 1;
    }
    left_out
}

/// Foreign text as code, in which GitHub looks for no mentions, issues or emoji.
fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// A number, with its unit, which is foreign.
fn figure(text: &str) -> String {
    match text.contains(['@', '#', ':']) {
        true => code(text),
        false => escaped(text),
    }
}

/// Foreign text that means only itself, in a table, too: Markdown takes any punctuation of ASCII
/// literally after a backslash.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut previous = ' ';
    for character in text.chars() {
        // The period of `www.` makes a link.
        let is_link = character == '.' && previous.eq_ignore_ascii_case(&'w');
        if is_link || MEANINGFUL.contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
        previous = character;
    }
    escaped
}

/// The characters that may begin something: emphasis, code, a link, an image, a tag, an entity, a
/// formula, a cell.
const MEANINGFUL: &str = "\\`*_~[]!<>&$|#@:";
