//! The probability that the change is in each part of the range.

use maud::{Markup, html};
use pinpoint_core::{CombinedCommit, Position};

use super::answer::at;
use super::model::Report;
use super::picture::{Bar, bars, posterior};
use crate::ReportError;
use crate::quantity::probability;

/// The picture below that of the values: a bar for each two neighbors.
pub(super) fn figure(report: &Report) -> Result<Markup, ReportError> {
    let Some(known) = &report.posterior else {
        return Ok(html! {});
    };
    let places = &report.measured.places;
    let columns: Vec<Position> = places.iter().map(|place| place.position).collect();
    let mut bars = bars(known, &columns, found(report));
    let place = |commit: &CombinedCommit| places.iter().position(|place| place.commit == *commit);
    let culprits = report.search().map_or(&[][..], |it| &it.culprits);
    let culprits = culprits.iter().filter_map(|culprit| {
        Some(Bar {
            after: place(&culprit.prior)?,
            last: place(&culprit.commit)?,
            probability: culprit.probability?,
            is_culprit: true,
        })
    });
    bars.extend(culprits);
    if bars.is_empty() {
        return Ok(html! {});
    }
    Ok(posterior(
        &bars,
        columns.len(),
        known.no_change,
        found(report),
    )?)
}

/// The same in numbers.
pub(super) fn table(report: &Report) -> Markup {
    let Some(known) = &report.posterior else {
        return html! {};
    };
    let none = if found(report) {
        "no further change"
    } else {
        "no change"
    };
    html! {
        details {
            summary { "The probabilities in numbers" }
            div.wide { table {
                thead { tr {
                    th scope="col" { "After" } th scope="col" { "Up to" }
                    th.number scope="col" { "Commits" } th.number scope="col" { "Probability" }
                } }
                tbody {
                    tr { td colspan="3" { (none) } td.number { (probability(known.no_change)) } }
                    @if known.better > 0.0 {
                        tr { td colspan="3" { "of which: improvements" } td.number { (probability(known.better)) } }
                    }
                    @for span in &known.spans {
                        tr {
                            td { (at(report, span.after)) }
                            td { (at(report, span.last)) }
                            td.number { (span.commits) }
                            td.number { (probability(span.probability)) }
                        }
                    }
                }
            } }
        }
    }
}

/// Returns whether culprits were found, so that the rest concerns others.
fn found(report: &Report) -> bool {
    report
        .search()
        .is_some_and(|document| !document.culprits.is_empty())
}
