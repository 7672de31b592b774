//! The changes in a history of values, for people at a terminal and as a document.

use std::fmt::Write;

use pinpoint_core::Direction;
use pinpoint_report::quantity::count;
use pinpoint_report::text::name;
use pinpoint_report::{DetectedChanges, words};
use pinpoint_traces::SeriesChange;

use super::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};

/// At most this many names are listed.
const MOST_NAMES: usize = 10;

pub(crate) fn render(detected: &DetectedChanges) -> Text {
    let mut text = Text::default();
    // Writing to a string can't fail.
    let _ = write(&mut text, detected);
    text
}

fn write(text: &mut Text, detected: &DetectedChanges) -> std::fmt::Result {
    for series in &detected.series {
        if series.found.changes.is_empty() {
            continue;
        }
        writeln!(text, "{BOLD}{}{BOLD:#}", name(&series.name))?;
        for change in &series.found.changes {
            write_change(text, detected, series.direction, change)?;
        }
        writeln!(text)?;
    }
    writeln!(text, "{BOLD}{}{BOLD:#}", detected.headline())?;
    writeln!(text, "{DIM}{}{DIM:#}", detected.expectation())?;
    if detected.small() > 0 {
        let small = count(detected.small(), "change");
        writeln!(text, "{DIM}left out as too small: {small}{DIM:#}")?;
    }
    write_names(
        text,
        "too short to say (fewer than 20 values)",
        &detected.short(),
    )?;
    let unread: Vec<&str> = detected.unread_columns.iter().map(String::as_str).collect();
    write_names(text, "columns not read, as they hold texts", &unread)
}

fn write_change(
    text: &mut Text,
    detected: &DetectedChanges,
    direction: Direction,
    change: &SeriesChange,
) -> std::fmt::Result {
    let (style, word) = match words::is_worse(change, direction) {
        None => (FOUND, ""),
        Some(true) => (ERROR, "regression: "),
        Some(false) => (GOOD, "improvement: "),
    };
    let row = |row| detected.row(row);
    let what = words::what_changed(change, row);
    writeln!(text, "  {style}{word}{style:#}{what}")?;
    writeln!(
        text,
        "    {DIM}begins at{DIM:#} {} {DIM}({}); showed at {}{}{DIM:#}",
        detected.row(change.row),
        words::begins_among(change, row),
        detected.row(change.shown_at),
        if change.is_firm { "; firm" } else { "" },
    )
}

fn write_names(text: &mut Text, title: &str, names: &[&str]) -> std::fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    let listed: Vec<String> = names.iter().take(MOST_NAMES).map(|it| name(it)).collect();
    let more = match names.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    writeln!(text, "{title}: {}{more}", listed.join(", "))
}
