//! The search for a commit: its runs by commit, and the probable places of the change.

use std::ops::Range;

use maud::{Markup, html};
use pinpoint_core::job::{BisectionResult, JobResult, NamedCulprit};
use pinpoint_core::{
    Bisection, CombinedCommit, CommitNames, JobState, Machine, OpenRange, Position, Posterior,
};
use pinpoint_report::picture::{Bar, PictureError, bars, by_commit, posterior};
use pinpoint_report::quantity::{count, duration, probability, without_noise};
use pinpoint_report::words::reason;
use pinpoint_report::{Foreign, commit_name, findings, measured};

use super::commits::{at, linked};
use super::job_snapshot::JobSnapshot;
use super::job_view_query::JobViewQuery;
use super::output_paths::log_of_build;
use super::pairs::{ROWS, ways};
use super::squares;

/// The most commits that are listed one by one.
const MOST_LISTED: usize = 1000;

pub(super) fn section(moment: &JobSnapshot, asked: &JobViewQuery) -> Result<Markup, PictureError> {
    let (chart, unit) = moment.chart();
    let places = &moment.measured.places;
    let culprits = moment.culprits();
    let mut columns = moment.measured.columns(chart, &[]);
    for (column, place) in columns.iter_mut().zip(places) {
        column.is_culprit = culprits.iter().any(|it| it.commit == place.position);
    }
    let values = match columns.is_empty() {
        true if moment.job.state == JobState::Failed => html! {
            p.empty { "No runs were counted: the job failed before its search." }
        },
        true => html! { p.empty { "No runs yet." } },
        false => by_commit(&columns, chart, unit)?,
    };
    let known = moment.posterior();
    let positions: Vec<Position> = places.iter().map(|place| place.position).collect();
    let is_found = !culprits.is_empty();
    let places_of_change = match &known {
        Some(known) => {
            let mut bars = bars(known, &positions, is_found);
            bars.extend(culprits.iter().filter_map(|culprit| {
                let column = |position| positions.iter().position(|it| *it == position);
                Some(Bar {
                    after: column(culprit.prior)?,
                    last: column(culprit.commit)?,
                    probability: culprit.probability?,
                    is_culprit: true,
                })
            }));
            match bars.is_empty() {
                true => html! {},
                false => posterior(&bars, columns.len(), known.no_change, is_found)?,
            }
        }
        None => html! {},
    };
    Ok(html! {
        section #values aria-labelledby="values-title" {
            h2 #values-title { "Values by commit" }
            (values)
            (places_of_change)
            @if !columns.is_empty() {
                details #commits open[asked.commits.is_some()] {
                    @let (rows, ways) = rows(asked, columns.len(), "commits");
                    summary { "The commits in numbers" }
                    div.wide tabindex="0" role="region" aria-label="The commits in numbers" {
                        (measured(&moment.measured, &columns, rows, unit, linked))
                    }
                    (ways)
                }
            }
            @if let Some(known) = &known { (probabilities(moment, asked, known)) }
        }
        (squares::of_search(moment, asked))
        (compared(moment, asked, unit))
        (skipped(moment))
    })
}

/// A probability, with all of its digits for programs.
fn exactly(value: f64) -> Markup {
    html! { data value=(without_noise(value)) { (probability(value)) } }
}

/// The range of rows that are shown of a table, and links to the others: each commit has a hash,
/// which can't be compressed.
fn rows(asked: &JobViewQuery, count: usize, table: &str) -> (Range<usize>, Markup) {
    let pages = count.div_ceil(ROWS).max(1);
    let page = asked.commits.unwrap_or(1).min(pages);
    let link = |page| {
        let other = JobViewQuery {
            commits: Some(page),
            ..asked.clone()
        };
        format!("{}#{table}", other.address())
    };
    let ways = match pages {
        1 => html! {},
        _ => ways("Pages of the table", link, page, pages),
    };
    ((page - 1) * ROWS..count.min(page * ROWS), ways)
}

fn probabilities(moment: &JobSnapshot, asked: &JobViewQuery, known: &Posterior) -> Markup {
    let culprits = moment.culprits();
    let is_found = !culprits.is_empty();
    let names = moment.engine.names();
    let (rows, ways) = rows(asked, known.spans.len(), "probabilities");
    html! {
        details #probabilities open[asked.commits.is_some()] {
            summary { "The probabilities in numbers" }
            div.wide tabindex="0" role="region" aria-label="The probabilities in numbers" { table.posterior {
                thead { tr {
                    th scope="col" { "After" } th scope="col" { "Up to" }
                    th.number scope="col" { "Commits" } th.number scope="col" { "Probability" }
                } }
                tbody {
                    tr.none {
                        th scope="row" colspan="3" { @if is_found { "No further change" } @else { "No change" } }
                        td.number { (exactly(known.no_change)) }
                    }
                    @if known.better > 0.0 {
                        tr.better {
                            th scope="row" colspan="3" { "of which: improvements" }
                            td.number { (exactly(known.better)) }
                        }
                    }
                    @for span in &known.spans[rows] {
                        // Of a culprit that was found, its probability; of others, that of a
                        // further change.
                        @let found = culprits.iter().find(|it| it.prior == span.after && it.commit == span.last);
                        tr.span.culprit[found.is_some()] {
                            td { (at(names, span.after)) }
                            td { (at(names, span.last)) @if found.is_some() { " (culprit)" } }
                            td.number { (span.commits) }
                            td.number { (exactly(found.and_then(|it| it.probability).unwrap_or(span.probability))) }
                        }
                    }
                }
            } }
            (ways)
        }
    }
}

/// The comparisons so far, and the ranges left.
fn compared(moment: &JobSnapshot, asked: &JobViewQuery, unit: Option<&str>) -> Markup {
    let names = moment.engine.names();
    let search = moment.bisection();
    let comparisons = search.map(Bisection::comparisons).unwrap_or_default();
    let open = match moment.engine.machine().outcome() {
        None => search.map(|search| search.progress().open),
        Some(_) => None,
    };
    let result = moment.result.as_ref().and_then(JobResult::bisection);
    let (shown, ways) = rows(asked, comparisons.len(), "comparisons");
    html! {
        (findings::comparisons(&comparisons, (shown, &ways), unit, |commit| at(names, *commit)))
        (open_ranges(names, asked, &open.unwrap_or_default()))
        @if let Some(result) = result {
            (findings::candidates(&result.candidates))
            (findings::unchanged(&result.unchanged, linked))
        }
    }
}

/// The ranges that may still contain a culprit.
fn open_ranges(names: &CommitNames, asked: &JobViewQuery, open: &[OpenRange]) -> Markup {
    let (rows, ways) = rows(asked, open.len(), "searched");
    html! {
        @if !open.is_empty() {
            section #searched aria-labelledby="searched-title" {
                h2 #searched-title { "Still searched" }
                ul { @for range in &open[rows] {
                    li {
                        (count(range.between.saturating_add(1), "commit")) " after " (at(names, range.lower))
                        ", up to " (at(names, range.higher))
                    }
                } }
                (ways)
            }
        }
    }
}

fn skipped(moment: &JobSnapshot) -> Markup {
    let failed: Vec<_> = moment.failed_builds().collect();
    // An end that can't be measured is in the answer.
    let result = moment.result.as_ref().and_then(JobResult::bisection);
    let others = result.map_or(&[][..], |result| &result.skipped);
    let others = others
        .iter()
        .filter(|it| !failed.iter().any(|build| build.commit == it.commit));
    let others: Vec<_> = others.take(MOST_LISTED).collect();
    html! {
        @if !failed.is_empty() || !others.is_empty() {
            section #skipped aria-labelledby="skipped-title" {
                h2 #skipped-title { "Skipped commits" }
                ul {
                    @for build in failed.iter().take(MOST_LISTED) {
                        li {
                            (linked(&build.commit)) " does not build: "
                            (Foreign(&reason(build.failure.as_deref().unwrap_or_default())))
                            span.soft { " (" (duration(build.duration as f64 / 1000.0)) ")" }
                            @if let Some(path) = log_of_build(moment, build) { " " a href=(path) { "Log" } }
                        }
                    }
                    @for commit in others {
                        li { (linked(&commit.commit)) ": " (Foreign(&reason(&commit.reason))) }
                    }
                    @if failed.len() > MOST_LISTED {
                        li { (count((failed.len() - MOST_LISTED) as u64, "more commit")) }
                    }
                }
            }
        }
    }
}

/// The most culprits that have a card: of more, the picture and the table say enough.
const MOST_CULPRITS: usize = 20;

/// The culprits of a result, each with the size of its change.
pub(super) fn culprits(result: &BisectionResult, others: &[NamedCulprit]) -> Markup {
    let all = result.culprits.iter().map(|it| (it, "Culprit"));
    let all = all.chain(others.iter().map(|it| (it, "Not confirmed")));
    html! {
        @for (number, (culprit, title)) in all.enumerate().take(MOST_CULPRITS) {
            section.card aria-labelledby=(format!("culprit-{number}")) {
                h2 id=(format!("culprit-{number}")) { (title) ": " (commit_name(&culprit.blamed)) }
                (findings::culprit(result, culprit, &linked(&CombinedCommit::from(culprit.blamed.clone()))))
                p { a href=(format!("/commits/{}", culprit.blamed.newest())) { "All jobs that used it" } }
                @if let Some(reproduce) = &culprit.reproduce {
                    p { "To compare it with its parent again:" }
                    pre tabindex="0" { (Foreign(reproduce)) }
                }
            }
        }
        @let left_out = (result.culprits.len() + others.len()).saturating_sub(MOST_CULPRITS);
        @if left_out > 0 {
            p.note { (count(left_out as u64, "more culprit")) " in the picture and in the table below." }
        }
    }
}
