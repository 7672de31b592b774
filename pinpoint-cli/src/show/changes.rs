//! The changes in a history of values, for people at a terminal and as a document.

use std::fmt::Write;

use pinpoint_core::Direction;
use pinpoint_report::quantity::{count, digits, percent_change, probability};
use pinpoint_report::text::name;
use pinpoint_traces::{SeriesChange, SeriesChanges, Shape};
use serde::Serialize;

use super::text::{BOLD, DIM, ERROR, FOUND, GOOD, Text};

/// At most this many names are listed.
const MOST_NAMES: usize = 10;

/// The changes of all series of a table.
#[derive(Debug, Serialize)]
pub(crate) struct DetectedChanges {
    pub(crate) version: u32,
    pub(crate) file: String,
    pub(crate) rate: f64,
    /// Of all series.
    pub(crate) values: usize,
    /// As many alarms are expected where nothing changed.
    pub(crate) expected_false_alarms: f64,
    pub(crate) direction: Direction,
    pub(crate) label_column: Option<String>,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) series: Vec<ChangedSeries>,
    pub(crate) unread_columns: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ChangedSeries {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) found: SeriesChanges,
}

impl DetectedChanges {
    pub(crate) fn changes(&self) -> impl Iterator<Item = &SeriesChange> {
        self.series.iter().flat_map(|it| &it.found.changes)
    }

    /// A row as people know it: its label, or its number from 1 without the header.
    fn row(&self, row: usize) -> String {
        let label = self.labels.as_ref().and_then(|labels| labels.get(row));
        match label.filter(|label| !label.is_empty()) {
            Some(label) => name(label),
            None => format!("row {}", row + 1),
        }
    }
}

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
            write_change(text, detected, change)?;
        }
        writeln!(text)?;
    }
    let found = detected.changes().count() as u64;
    let all = detected.series.len() as u64;
    let changed = |it: &&ChangedSeries| !it.found.changes.is_empty();
    let with_changes = detected.series.iter().filter(changed).count();
    let headline = match found {
        0 => format!("no change found in {all} series"),
        _ => format!(
            "{} in {with_changes} of {all} series",
            count(found, "change")
        ),
    };
    writeln!(text, "{BOLD}{headline}{BOLD:#}")?;
    writeln!(
        text,
        "{DIM}{} were read; where nothing changes and noise keeps its shape, {} false alarms are expected{DIM:#}",
        count(detected.values as u64, "value"),
        match detected.expected_false_alarms {
            few if few < 0.1 => "fewer than 0.1".to_owned(),
            alarms => format!("about {alarms:.1}"),
        },
    )?;
    let small: usize = detected.series.iter().map(|it| it.found.small).sum();
    if small > 0 {
        writeln!(
            text,
            "{DIM}left out as too small: {}{DIM:#}",
            count(small as u64, "change")
        )?;
    }
    let short = detected.series.iter().filter(|it| it.found.is_too_short);
    let short: Vec<&str> = short.map(|it| it.name.as_str()).collect();
    write_names(text, "too short to say (fewer than 20 values)", &short)?;
    let unread: Vec<&str> = detected.unread_columns.iter().map(String::as_str).collect();
    write_names(text, "columns not read, as they hold texts", &unread)
}

fn write_change(
    text: &mut Text,
    detected: &DetectedChanges,
    change: &SeriesChange,
) -> std::fmt::Result {
    let is_worse = change.rose == (detected.direction == Direction::Down);
    let (style, word) = match (detected.direction, change.shape, is_worse) {
        (Direction::Unknown, ..) | (_, Shape::Spread, _) => (FOUND, ""),
        (_, _, true) => (ERROR, "regression: "),
        (_, _, false) => (GOOD, "improvement: "),
    };
    let what = match (change.shape, change.rose, change.back_at) {
        (Shape::Spread, true, _) => "scatters more".to_owned(),
        (Shape::Spread, false, _) => "scatters less".to_owned(),
        (shape, rose, back_at) => {
            let verb = if rose { "rises" } else { "falls" };
            let share = change
                .share
                .map(|share| format!(" ({})", percent_change(share)));
            let by = format!(
                "{verb} from {} to {}{}",
                digits(change.before),
                digits(change.after),
                share.unwrap_or_default()
            );
            match (shape, back_at) {
                (Shape::Drift, _) => format!("drifts: {by}"),
                (_, Some(back)) => format!("{by}, and is back at {}", detected.row(back)),
                _ => by,
            }
        }
    };
    writeln!(text, "  {style}{word}{style:#}{what}")?;
    let [first, last] = change.interval;
    let place = detected.row(change.row);
    let among = match first == last {
        true => String::new(),
        false => format!(
            ", in 95 % from {} to {}",
            detected.row(first),
            detected.row(last)
        ),
    };
    writeln!(
        text,
        "    {DIM}begins at{DIM:#} {place} {DIM}({}){among}; showed at {}{}{DIM:#}",
        probability(change.probability),
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
