//! The changes in the histories of several series: the document, and its page.

use maud::{DOCTYPE, Markup, html};
use pinpoint_core::Direction;
use pinpoint_traces::{SeriesChange, SeriesChanges};
use serde::Serialize;

use crate::foreign::Foreign;
use crate::page::head;
use crate::picture::{self, ChangePlace, Level, PictureError};
use crate::quantity::{count, digits};
use crate::{text, words};

/// The rows that are drawn before the first and after the last change of a series.
const ROWS_AROUND: usize = 80;

/// The changes of all series of a table.
#[derive(Debug, Serialize)]
pub struct DetectedChanges {
    /// The version of the document.
    pub version: u32,
    /// The table, or the dataset and the query.
    pub file: String,
    /// The false alarms for each value where nothing changes.
    pub rate: f64,
    /// The values of all series.
    pub values: usize,
    /// As many alarms are expected where nothing changed.
    pub expected_false_alarms: f64,
    /// Where better lies, if that was told for all series.
    pub direction: Direction,
    /// The column that names the rows.
    pub label_column: Option<String>,
    /// The names of the rows.
    pub labels: Option<Vec<String>>,
    /// Each series that was read.
    pub series: Vec<ChangedSeries>,
    /// Columns without numbers.
    pub unread_columns: Vec<String>,
}

/// A series with its changes.
#[derive(Debug, Serialize)]
pub struct ChangedSeries {
    /// Its name.
    pub name: String,
    /// Where better lies.
    pub direction: Direction,
    /// A value, or none, for each row.
    #[serde(skip)]
    pub history: Vec<Option<f64>>,
    /// The changes.
    #[serde(flatten)]
    pub found: SeriesChanges,
}

impl DetectedChanges {
    /// The changes of all series.
    pub fn changes(&self) -> impl Iterator<Item = &SeriesChange> {
        self.series.iter().flat_map(|it| &it.found.changes)
    }

    /// A row as people know it: its label, or its number from 1 without the header.
    pub fn row(&self, row: usize) -> String {
        let label = self.labels.as_ref().and_then(|labels| labels.get(row));
        match label.filter(|label| !label.is_empty()) {
            Some(label) => text::name(label),
            None => format!("row {}", row + 1),
        }
    }

    /// "3 changes in 2 of 40 series".
    pub fn headline(&self) -> String {
        let found = self.changes().count() as u64;
        let all = self.series.len() as u64;
        let changed = |it: &&ChangedSeries| !it.found.changes.is_empty();
        match found {
            0 => format!("no change found in {all} series"),
            _ => format!(
                "{} in {} of {all} series",
                count(found, "change"),
                self.series.iter().filter(changed).count()
            ),
        }
    }

    /// The values that were read, and the alarms that chance alone would give.
    pub fn expectation(&self) -> String {
        format!(
            "{} were read; where nothing changes and noise keeps its shape, {} false alarms are expected",
            count(self.values as u64, "value"),
            words::expected_alarms(self.expected_false_alarms)
        )
    }

    /// The number of changes that were left out as too small.
    pub fn small(&self) -> u64 {
        self.series.iter().map(|it| it.found.small as u64).sum()
    }

    /// The names of series that are too short for a change to show.
    pub fn short(&self) -> Vec<&str> {
        let short = self.series.iter().filter(|it| it.found.is_too_short);
        short.map(|it| it.name.as_str()).collect()
    }
}

/// The page of the changes: one HTML file, without scripts, that draws each series around its
/// changes.
///
/// # Errors
///
/// When a picture can't be drawn.
pub fn changes_page(detected: &DetectedChanges) -> Result<String, PictureError> {
    let changed =
        || (detected.series.iter().enumerate()).filter(|(_, it)| !it.found.changes.is_empty());
    let sections = changed()
        .map(|(number, series)| section(detected, series, number))
        .collect::<Result<Vec<_>, _>>()?;
    let title = format!("{} – {}", detected.headline(), detected.file);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &[&picture::style()], ""))
            body {
                header {
                    p.kind { "Changes in " (Foreign(&detected.file)) }
                    h1 { (detected.headline()) }
                    p.facts { (detected.expectation()) "." }
                    @if detected.small() > 0 {
                        p.facts { "Left out as too small: " (count(detected.small(), "change")) "." }
                    }
                    (names("Too short to say (fewer than 20 values)", &detected.short()))
                    (names("Columns not read, as they hold texts", &detected.unread_columns))
                }
                main {
                    @if sections.len() > 1 {
                        nav { ul {
                            @for (number, series) in changed() {
                                li {
                                    a href=(format!("#series-{number}")) { (Foreign(&series.name)) }
                                    " " (count(series.found.changes.len() as u64, "change"))
                                }
                            }
                        } }
                    }
                    @for section in &sections { (section) }
                }
                footer { "Created with Pinpoint " (env!("CARGO_PKG_VERSION")) "." }
            }
        }
    };
    Ok(page.into_string())
}

fn names<T: AsRef<str>>(title: &str, names: &[T]) -> Markup {
    html! {
        @if !names.is_empty() {
            p.facts {
                (title) ": "
                @for (number, name) in names.iter().enumerate() {
                    @if number > 0 { ", " }
                    (Foreign(name.as_ref()))
                }
                "."
            }
        }
    }
}

fn section(
    detected: &DetectedChanges,
    series: &ChangedSeries,
    number: usize,
) -> Result<Markup, PictureError> {
    let changes = &series.found.changes;
    let last = series.history.len().saturating_sub(1);
    let starts = changes.iter().map(|change| change.interval[0]);
    let ends = changes
        .iter()
        .map(|it| it.back_at.unwrap_or(0).max(it.shown_at));
    let from = starts.min().unwrap_or(0).saturating_sub(ROWS_AROUND);
    let to = last.min(ends.max().unwrap_or(last) + ROWS_AROUND);
    let places: Vec<ChangePlace> = (changes.iter())
        .map(|change| ChangePlace {
            row: change.row,
            interval: change.interval[0]..=change.interval[1],
        })
        .collect();
    let row = |row| detected.row(row);
    let figure = picture::history(&series.history, from..=to, &levels(series), &places, row)?;
    Ok(html! {
        section id=(format!("series-{number}")) {
            h2 { (Foreign(&series.name)) }
            (figure)
            div.wide { table {
                thead { tr {
                    th { "Begins at" } th { "Change" } th.number { "Before" } th.number { "After" }
                    th { "Probability" } th { "Showed at" } th { "Firm" }
                } }
                tbody {
                    @for change in changes {
                        tr.(kind(change, series.direction)) {
                            td { (Foreign(&detected.row(change.row))) }
                            td {
                                @match words::is_worse(change, series.direction) {
                                    Some(true) => { strong { "regression: " } }
                                    Some(false) => { "improvement: " }
                                    None => {}
                                }
                                (Foreign(&words::what_changed(change, row)))
                            }
                            td.number { (digits(change.before)) }
                            td.number { (digits(change.after)) }
                            td { (Foreign(&words::begins_among(change, row))) }
                            td { (Foreign(&detected.row(change.shown_at))) }
                            td { @if change.is_firm { "yes" } @else { "no" } }
                        }
                    }
                }
            } }
        }
    })
}

fn kind(change: &SeriesChange, direction: Direction) -> &'static str {
    match words::is_worse(change, direction) {
        Some(true) => "failed",
        Some(false) => "better",
        None => "changed",
    }
}

/// The medians between the changes of the location.
fn levels(series: &ChangedSeries) -> Vec<Level> {
    let mut starts = vec![0];
    for change in &series.found.changes {
        starts.push(change.row);
        starts.extend(change.back_at);
    }
    starts.push(series.history.len());
    starts.sort_unstable();
    starts.dedup();
    (starts.windows(2))
        .filter_map(|ends| {
            let values: Vec<f64> = series.history[ends[0]..ends[1]]
                .iter()
                .copied()
                .flatten()
                .collect();
            Some(Level {
                rows: ends[0]..=ends[1] - 1,
                value: pinpoint_compare::median(&values)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pinpoint_traces::{ChangeOptions, series_changes};

    use super::*;

    const HOSTILE: &str = "</title><script>alert(1)</script>\" onload='x'\u{202e}";

    fn detected() -> DetectedChanges {
        let series = |step: f64| {
            let values: Vec<Option<f64>> = (0..120_u32)
                .map(|i| {
                    let noise = f64::from((i * i * 37 + i * 11) % 101) / 101.0;
                    Some(10.0 + noise + if i < 60 { 0.0 } else { step })
                })
                .collect();
            ChangedSeries {
                name: HOSTILE.into(),
                direction: Direction::Down,
                found: series_changes(&values, ChangeOptions::default()).unwrap(),
                history: values,
            }
        };
        DetectedChanges {
            version: 1,
            file: HOSTILE.into(),
            rate: 1e-4,
            values: 360,
            expected_false_alarms: 0.036,
            direction: Direction::Down,
            label_column: Some(HOSTILE.into()),
            labels: Some(vec![HOSTILE.into(); 120]),
            series: vec![series(3.0), series(0.0), series(-3.0)],
            unread_columns: vec![HOSTILE.into()],
        }
    }

    #[test]
    fn each_changed_series_is_drawn_with_its_changes() {
        let page = changes_page(&detected()).unwrap();
        assert!(
            page.contains("<h1>2 changes in 2 of 3 series</h1>"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), 2);
        assert_eq!(page.matches("href=\"#series-").count(), 2);
        assert!(page.contains("regression: ") && page.contains("improvement: "));
        assert!(page.contains("fewer than 0.1 false alarms are expected"));
    }

    #[test]
    fn names_of_others_are_text() {
        let page = changes_page(&detected()).unwrap();
        for unsafe_text in ["<script", "\" onload", "\u{202e}"] {
            assert!(!page.contains(unsafe_text), "{unsafe_text:?}");
        }
        assert_eq!(page.matches("</title>").count(), 1);
    }

    #[test]
    fn levels_are_the_medians_between_changes() {
        let detected = detected();
        let levels = levels(&detected.series[0]);
        assert_eq!(levels.len(), 2);
        assert_eq!(levels[0].rows, 0..=levels[1].rows.start() - 1);
        assert!((levels[1].value - levels[0].value - 3.0).abs() < 0.2);
    }
}
