//! The findings of a search, in addition to the values: culprits, comparisons of neighbors, commits
//! that may hold a culprit, and those that change nothing.
//!
//! Each part names commits in its caller's way: a page has links that a file has not.

use std::ops::Range;

use maud::{Markup, html};
use pinpoint_core::job::{BisectionResult, NamedCulprit};
use pinpoint_core::{CombinedCommit, Commit, Comparison, Unchanged, Verdict};

use super::foreign::Foreign;
use crate::quantity::{self, change, count, p_value};
use crate::words::{
    alternatives, dependency_change, effect, how_lost, line, line_of, rolled_by, short, why,
};

/// At most this many rows are written out, and commits that may hold a culprit.
pub(crate) const MAX_ROWS: usize = 1000;

/// At most this many are shown unfolded.
const MAX_UNFOLDED_ROWS: usize = 20;

/// The facts of a culprit as a table, in which `name` is the commit to blame, perhaps as a link.
pub fn culprit(document: &BisectionResult, culprit: &NamedCulprit, name: &Markup) -> Markup {
    let commit: &Commit = &culprit.blamed;
    html! {
        table.facts { tbody {
            tr { th scope="row" { "Commit" } td { (name) } }
            @if commit.repository != document.good.main.repository {
                tr { th scope="row" { "In" } td { (Foreign(&commit.repository)) } }
            }
            @if *commit != culprit.commit.main {
                tr { th scope="row" { "Found at" } td { code { (Foreign(&short(&culprit.commit))) } } }
            }
            @if let Some(rolled_by) = rolled_by(culprit) {
                tr { th scope="row" { "Rolled by" } td { (Foreign(&rolled_by)) } }
            }
            @if let Some(author) = &commit.author {
                tr { th scope="row" { "Author" } td { (Foreign(author)) } }
            }
            @if let Some(created) = &commit.created {
                tr { th scope="row" { "Date" } td { (Foreign(created)) } }
            }
            tr { th scope="row" { "Effect" } td { (Foreign(&effect(document, &culprit.effect))) } }
            @if let Some(probability) = culprit.probability {
                tr { th scope="row" { "Probability" } td { (quantity::probability(probability)) } }
            }
            tr { th scope="row" { "Compared with" } td { code { (Foreign(&short(&culprit.prior))) } } }
            @if let Some(confirmation) = &culprit.confirmation {
                tr { th scope="row" { "Checked" } td {
                    @match &confirmation.comparison {
                        Some(comparison) => {
                            (Foreign(&line_of(comparison, document.unit.as_deref())))
                            @if confirmation.reused { " (of the two ends)" }
                        }
                        None => { "no: " (Foreign(&why(&document.stopped))) }
                    }
                } }
            }
            @if let Some(how) = how_lost(document, culprit) {
                tr { th scope="row" { "Lost" } td { (how) } }
            }
            @if let Some(others) = alternatives(culprit) {
                tr { th scope="row" { "Or one of" } td { (Foreign(&others)) } }
            }
            @for change in &culprit.other_changes {
                tr { th scope="row" { "Changed with it" } td { (Foreign(&dependency_change(change))) } }
            }
        } }
    }
}

/// Renders the given rows of the table of comparisons of neighbors, in the order of the commits, and
/// below it links to the other rows. Nothing without comparisons.
pub fn comparisons<C>(
    comparisons: &[Comparison<C>],
    (rows, others): (Range<usize>, &Markup),
    unit: Option<&str>,
    name: impl Fn(&C) -> Markup,
) -> Markup {
    let shown = comparisons.iter().skip(rows.start).take(rows.len());
    html! {
        @if !comparisons.is_empty() {
            section #comparisons aria-labelledby="comparisons-title" {
                h2 #comparisons-title { "Comparisons of neighbors" }
                details open[comparisons.len() <= MAX_UNFOLDED_ROWS || rows.start > 0] {
                    summary { (count(comparisons.len() as u64, "comparison")) ", in the order of the commits" }
                    div.wide tabindex="0" role="region" aria-label="Comparisons of neighbors" { table {
                        thead { tr {
                            th scope="col" { "Older" } th scope="col" { "Newer" } th.number scope="col" { "Runs" }
                            th scope="col" { "Verdict" } th.number scope="col" { "Means differ by" }
                            th.number scope="col" { "p (Mann-Whitney)" } th.number scope="col" { "p (Kolmogorov-Smirnov)" }
                        } }
                        tbody { @for comparison in shown { (compared(comparison, unit, &name)) } }
                    } }
                    (others)
                }
            }
        }
    }
}

fn compared<C>(
    comparison: &Comparison<C>,
    unit: Option<&str>,
    name: &impl Fn(&C) -> Markup,
) -> Markup {
    let (difference, p_values) = match &comparison.performance {
        Some(of_values) => (
            of_values.mean_diff.map(|mean| change(mean, unit)),
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
            td { (name(&comparison.lower)) }
            td { (name(&comparison.higher)) }
            td.number { (comparison.lower_runs) " + " (comparison.higher_runs) }
            td { (verdict) }
            td.number { (Foreign(difference.as_deref().unwrap_or("–"))) }
            @for p in p_values { td.number { (p.map_or_else(|| "–".into(), p_value)) } }
        }
    }
}

/// The commits that may hold a culprit, oldest first; empty where there are none.
pub fn candidates(candidates: &[CombinedCommit]) -> Markup {
    html! {
        @if !candidates.is_empty() {
            section #candidates aria-labelledby="candidates-title" {
                h2 #candidates-title { "Commits that may hold a culprit" }
                details open[candidates.len() <= MAX_UNFOLDED_ROWS] {
                    summary { (count(candidates.len() as u64, "commit")) ", oldest first" }
                    ol { @for commit in candidates.iter().take(MAX_ROWS) { li { (Foreign(&line(commit))) } } }
                    @if candidates.len() > MAX_ROWS {
                        p.note { (candidates.len() - MAX_ROWS) " more." }
                    }
                }
            }
        }
    }
}

/// The commits that change nothing, since the builds on both sides are the same; empty where there
/// are none.
pub fn unchanged<C>(unchanged: &[Unchanged<C>], name: impl Fn(&C) -> Markup) -> Markup {
    html! {
        @if !unchanged.is_empty() {
            section #excluded aria-labelledby="excluded-title" {
                h2 #excluded-title { "Excluded" }
                p { "The builds on both sides of these commits are the same." }
                ul { @for span in unchanged {
                    li {
                        (count(span.commits, "commit")) " after " (name(&span.after))
                        ", up to " (name(&span.last))
                    }
                } }
            }
        }
    }
}
