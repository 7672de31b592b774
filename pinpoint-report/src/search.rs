//! The findings of a search, and their evidence: culprits, values by commit.

use std::ops::Range;

use maud::{Markup, html};
use pinpoint_core::{CombinedCommit, Commit, Comparison, Verdict};

use super::foreign::{Foreign, clean};
use super::link::commit_page;
use super::model::{Report, Source};
use super::picture::{Column, by_commit};
use super::posterior;
use crate::quantity::{self, count, p_value, quantity};
use crate::words::{dependency_change, effect, line, line_of, short, why};
use crate::{Measurements, ReportError};
use pinpoint_core::JobKind;
use pinpoint_core::job::JobResult;
use pinpoint_core::job::{BisectionResult, NamedCulprit};

/// At most this many commits that may hold a culprit are written out.
const MOST_CANDIDATES: usize = 1000;
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
            @if !document.comparisons.is_empty() { (comparisons(document)) }
            @if !document.candidates.is_empty() { (candidates(document)) }
            @if !document.unchanged.is_empty() { (unchanged(document)) }
            @if !document.skipped.is_empty() { (skipped(document)) }
        }
    })
}

/// A commit by its hash and what it says of itself.
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
            div.wide { table.facts {
                tr { th scope="row" { "commit" } td { (linked(commit, source)) } }
                @if commit.repository != document.good.main.repository {
                    tr { th scope="row" { "in" } td { (Foreign(&commit.repository)) } }
                }
                @if *commit != culprit.commit.main {
                    tr { th scope="row" { "found at" } td { code { (Foreign(&short(&culprit.commit))) } } }
                }
                @if let Some(author) = &commit.author {
                    tr { th scope="row" { "author" } td { (Foreign(author)) } }
                }
                @if let Some(created) = &commit.created {
                    tr { th scope="row" { "date" } td { (Foreign(created)) } }
                }
                tr { th scope="row" { "effect" } td { (Foreign(&effect(document, &culprit.effect))) } }
                @if let Some(probability) = culprit.probability {
                    tr { th scope="row" { "probability" } td { (quantity::probability(probability)) } }
                }
                @if let Some(confirmation) = &culprit.confirmation {
                    tr { th scope="row" { "checked" } td {
                        @match &confirmation.comparison {
                            Some(comparison) => {
                                (Foreign(&line_of(comparison, document.unit.as_deref())))
                                @if confirmation.reused { " (of the two ends)" }
                            }
                            None => { "no: " (Foreign(&why(&document.stopped))) }
                        }
                    } }
                }
                @if culprit.undone {
                    tr { th scope="row" { "how" } td { "a roll took this commit back" } }
                }
                @for change in &culprit.other_changes {
                    tr { th scope="row" { "changed with it" } td { (Foreign(&dependency_change(change))) } }
                }
            } }
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
    let name = html! { code { (Foreign(&short(commit))) } };
    match remote.and_then(|remote| commit_page(remote, &commit.main.git_hash)) {
        Some(page) => html! { a href=(page) rel="noreferrer" { (name) } },
        None => name,
    }
}

/// The commits that were run as a table, with the columns of their picture: each of these commits
/// is a row, named as `name` says.
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

fn comparisons(document: &BisectionResult) -> Markup {
    html! {
        section {
            h2 { "Comparisons of neighbours" }
            details open[document.comparisons.len() <= 20] {
                summary { (count(document.comparisons.len() as u64, "comparison")) ", in the order of the commits" }
                div.wide { table {
                    thead { tr {
                        th scope="col" { "Older" } th scope="col" { "Newer" } th.number scope="col" { "Runs" }
                        th scope="col" { "Verdict" } th.number scope="col" { "Means differ by" }
                        th.number scope="col" { "p (Mann-Whitney)" } th.number scope="col" { "p (Kolmogorov-Smirnov)" }
                    } }
                    tbody { @for comparison in &document.comparisons { (compared(document, comparison)) } }
                } }
            }
        }
    }
}

fn compared(document: &BisectionResult, comparison: &Comparison<CombinedCommit>) -> Markup {
    let (difference, p_values) = match &comparison.performance {
        Some(of_values) => (
            of_values
                .mean_diff
                .map(|mean| crate::quantity::change(mean, document.unit.as_deref())),
            [of_values.p_value_mwu, of_values.p_value_ks],
        ),
        None => (
            None,
            [
                comparison.functional.p_value_mwu,
                comparison.functional.p_value_ks,
            ],
        ),
    };
    let verdict = match comparison.verdict {
        Verdict::Same => "same",
        Verdict::Different => "different",
        Verdict::Unknown => "not decided",
        Verdict::Nil => "no values",
    };
    html! {
        tr.culprit[comparison.verdict == Verdict::Different] {
            td { code { (Foreign(&short(&comparison.lower))) } }
            td { code { (Foreign(&short(&comparison.higher))) } }
            td.number { (comparison.lower_runs) " + " (comparison.higher_runs) }
            td { (verdict) }
            td.number { (Foreign(difference.as_deref().unwrap_or("–"))) }
            @for p in p_values { td.number { (p.map_or_else(|| "–".into(), p_value)) } }
        }
    }
}

fn candidates(document: &BisectionResult) -> Markup {
    let candidates = &document.candidates;
    html! {
        section {
            h2 { "Commits that may hold a culprit" }
            details open[candidates.len() <= 20] {
                summary { (count(candidates.len() as u64, "commit")) ", oldest first" }
                ol { @for commit in candidates.iter().take(MOST_CANDIDATES) { li { (Foreign(&line(commit))) } } }
                @if candidates.len() > MOST_CANDIDATES {
                    p.note { (candidates.len() - MOST_CANDIDATES) " more." }
                }
            }
        }
    }
}

fn unchanged(document: &BisectionResult) -> Markup {
    html! {
        section {
            h2 { "Excluded" }
            p { "The builds on both sides of these commits are the same." }
            ul { @for span in &document.unchanged {
                li {
                    (count(span.commits, "commit")) " after " (Foreign(&line(&span.after)))
                    ", up to " (Foreign(&line(&span.last)))
                }
            } }
        }
    }
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
