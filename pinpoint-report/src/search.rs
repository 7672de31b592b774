//! The findings of a search, and their evidence: culprits, values by commit.

use std::ops::Range;

use maud::{Markup, html};
use pinpoint_core::{CombinedCommit, Commit};

use super::answer::code;
use super::findings;
use super::foreign::{Foreign, clean};
use super::link::commit_page;
use super::model::{Report, Source};
use super::picture::{Column, by_commit};
use super::posterior;
use crate::quantity::{count, quantity};
use crate::words::line;
use crate::{Measurements, ReportError};
use pinpoint_core::JobKind;
use pinpoint_core::job::JobResult;
use pinpoint_core::job::{BisectionResult, NamedCulprit};

/// At most this many files of a culprit are written out.
const MOST_FILES: usize = 200;

pub(super) fn section(report: &Report) -> Result<Markup, ReportError> {
    if report.kind == JobKind::Pairwise {
        return Ok(html! {});
    }
    let document = report.search();
    let unconfirmed = match &report.result {
        Some(JobResult::CulpritFinder(document)) => &document.unconfirmed[..],
        _ => &[],
    };
    let culprits = document.map_or(&[][..], |document| &document.culprits);
    let columns = report.measured.columns(report.chart(), culprits);
    let cards = html! {
        @if let Some(document) = document {
            @for culprit in &document.culprits {
                (card(report, document, culprit, "Culprit"))
            }
            @for culprit in unconfirmed {
                (card(report, document, culprit, "Not confirmed"))
            }
        }
    };
    // One is the answer; of several, the picture says more than each of them.
    let is_one = document.is_none_or(|document| document.culprits.len() + unconfirmed.len() <= 1);
    Ok(html! {
        @if is_one { (cards) }
        @if !report.measured.runs.is_empty() {
            section {
                h2 { "Values by commit" }
                (by_commit(&columns, report.chart(), unit(report).as_deref())?)
                (posterior::figure(report)?)
                details {
                    summary { "The commits in numbers" }
                    div.wide { (measured(&report.measured, &columns, 0..columns.len(), unit(report).as_deref(), |commit| named(report, commit))) }
                }
                (posterior::table(report))
            }
        }
        @if !is_one { (cards) }
        @if let Some(document) = document {
            @let (rows, left_out) = (0..findings::MAX_ROWS, document.comparisons.len().saturating_sub(findings::MAX_ROWS));
            @let more = html! { @if left_out > 0 { p.note { (left_out) " more." } } };
            (findings::comparisons(&document.comparisons, (rows, &more), unit(report).as_deref(), code))
            (findings::candidates(&document.candidates))
            (findings::unchanged(&document.unchanged, |commit| html! { (Foreign(&line(commit))) }))
            @if !document.skipped.is_empty() { (skipped(document)) }
        }
    })
}

/// A commit by its hash and subject.
pub fn commit_name(commit: &Commit) -> Markup {
    let hash = commit.newest();
    html! {
        code { (Foreign(hash.get(..10).unwrap_or(hash))) }
        @if let Some(subject) = &commit.subject { " “" (Foreign(subject)) "”" }
    }
}

fn card(
    report: &Report,
    document: &BisectionResult,
    culprit: &NamedCulprit,
    title: &str,
) -> Markup {
    let commit = &culprit.blamed;
    let source = report.source(commit);
    html! {
        section.card {
            h2 { (title) }
            p.subject { strong { (Foreign(commit.subject.as_deref().unwrap_or("(no subject)"))) } }
            div.wide { (findings::culprit(document, culprit, &linked(commit, source))) }
            (files(source))
            @if let Some(reproduce) = &culprit.reproduce {
                p { "To compare it with its parent again:" }
                pre.command { code { (Foreign(reproduce)) } }
            }
        }
    }
}

fn linked(commit: &Commit, source: Option<&Source>) -> Markup {
    let hash = html! { code { (Foreign(&commit.revision())) } };
    match source.and_then(|source| source.page.as_deref()) {
        Some(page) => html! { a href=(page) rel="noreferrer" { (hash) } },
        None => hash,
    }
}

fn files(source: Option<&Source>) -> Markup {
    let Some(files) = source.and_then(|source| source.files.as_ref()) else {
        return html! { p.note { "The changed files are not known: its repository is not available." } };
    };
    let lines = files.iter().filter_map(|file| file.lines);
    let (added, removed) = lines.fold((0, 0), |(added, removed), lines| {
        (added + lines.0, removed + lines.1)
    });
    html! {
        details {
            summary {
                (count(files.len() as u64, "file")) " changed: "
                span.added { "+" (added) } " " span.removed { "−" (removed) }
            }
            div.wide { table {
                thead { tr { th scope="col" { "File" } th.number scope="col" { "Added" } th.number scope="col" { "Removed" } } }
                tbody {
                    @for file in files.iter().take(MOST_FILES) {
                        tr {
                            td { code { (Foreign(&file.path)) } }
                            @match file.lines {
                                Some((added, removed)) => {
                                    td.number { (added) }
                                    td.number { (removed) }
                                }
                                None => { td.number colspan="2" { "binary" } }
                            }
                        }
                    }
                }
            } }
            @if files.len() > MOST_FILES { p.note { (files.len() - MOST_FILES) " more files." } }
        }
    }
}

fn unit(report: &Report) -> Option<String> {
    let unit = report.measured.unit(report.chart()?)?;
    Some(clean(unit).into_owned())
}

/// A state, as a link where it is a commit of the main repository.
fn named(report: &Report, commit: &CombinedCommit) -> Markup {
    let is_plain = commit.modified_deps.is_empty() && commit.main.merged.is_empty();
    let remote = report.remote.as_deref().filter(|_| is_plain);
    let name = code(commit);
    match remote.and_then(|remote| commit_page(remote, &commit.main.git_hash)) {
        Some(page) => html! { a href=(page) rel="noreferrer" { (name) } },
        None => name,
    }
}

/// The commits that were run as a table, with the columns of their picture: each of these commits
/// is a row, named by `name`.
pub fn measured(
    measured: &Measurements,
    columns: &[Column],
    rows: Range<usize>,
    unit: Option<&str>,
    name: impl Fn(&CombinedCommit) -> Markup,
) -> Markup {
    let show = |value: f64| quantity(value, unit);
    html! {
        table {
            thead { tr {
                th scope="col" { "Commit" } th scope="col" { "Subject" }
                th.number scope="col" { "Runs" } th.number scope="col" { "Failed" }
                th.number scope="col" { "Median" } th.number scope="col" { "95 % interval" }
            } }
            tbody {
                @for (place, column) in measured.places.iter().zip(columns).skip(rows.start).take(rows.len()) {
                    tr.culprit[column.is_culprit] {
                        td { (name(&place.commit)) @if column.is_culprit { " culprit" } }
                        td { (Foreign(subject(&place.commit))) }
                        td.number { (column.values.len()) }
                        td.number { (column.values.iter().filter(|value| value.is_none()).count()) }
                        td.number { @if let Some(median) = column.median { (Foreign(&show(median))) } }
                        td.number { @if let Some(interval) = column.interval {
                            (Foreign(&show(interval.low))) " to " (Foreign(&show(interval.high)))
                        } }
                    }
                }
            }
        }
    }
}

/// The subject of a commit, where it is known: of the dependency that was moved last, if any.
pub fn subject(commit: &CombinedCommit) -> &str {
    let moved = commit.modified_deps.last().map(|held| &held.commit);
    let moved = moved.unwrap_or(&commit.main);
    moved.subject.as_deref().unwrap_or_default()
}

fn skipped(document: &BisectionResult) -> Markup {
    html! {
        section {
            h2 { "Skipped" }
            ul { @for skip in &document.skipped {
                li { (Foreign(&line(&skip.commit))) ": " (Foreign(&skip.reason)) }
            } }
        }
    }
}
