//! The probability that the change is in each part of the range.

use maud::{Markup, PreEscaped, html};
use pinpoint_core::{CombinedCommit, Position};

use super::answer::{at, percent};
use super::model::Report;
use super::picture::{Bar, posterior};
use crate::ReportError;

/// The picture below that of the values: a bar for each two neighbours.
pub(super) fn figure(report: &Report) -> Result<Markup, ReportError> {
    let Some(known) = &report.posterior else {
        return Ok(html! {});
    };
    let column = |position: Position| report.place_of(position);
    let likeliest = (known.spans.iter().map(|span| span.probability)).fold(0.0, f64::max);
    let spans = known.spans.iter().filter_map(|span| {
        Some(Bar {
            after: column(span.after)?,
            last: column(span.last)?,
            probability: span.probability,
            is_culprit: !found(report)
                && span.probability == likeliest
                && likeliest > known.no_change,
        })
    });
    let place =
        |commit: &CombinedCommit| (report.places.iter()).position(|place| place.commit == *commit);
    let culprits = report.search().map_or(&[][..], |it| &it.culprits);
    let culprits = culprits.iter().filter_map(|culprit| {
        Some(Bar {
            after: place(&culprit.prior)?,
            last: place(&culprit.commit)?,
            probability: culprit.probability?,
            is_culprit: true,
        })
    });
    let bars: Vec<Bar> = spans.chain(culprits).collect();
    if bars.is_empty() {
        return Ok(html! {});
    }
    let picture = posterior(&bars, report.places.len())?;
    Ok(html! {
        figure {
            div.picture role="img" aria-label="Probability of the change between neighbours; the numbers are in the table below" tabindex="0" { (PreEscaped(picture)) }
            figcaption {
                @if found(report) {
                    span.key.culprit {} "How probable each culprit is, and " span.key {}
                    "a further change between neighbours above; that there is no further one: "
                } @else {
                    "How probable the change is between neighbours above; that there is none: "
                }
                strong { (percent(known.no_change)) } "."
            }
        }
    })
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
                    tr { td colspan="3" { (none) } td.number { (percent(known.no_change)) } }
                    @if known.better > 0.0 {
                        tr { td colspan="3" { "of that, for the better" } td.number { (percent(known.better)) } }
                    }
                    @for span in &known.spans {
                        tr {
                            td { (at(report, span.after)) }
                            td { (at(report, span.last)) }
                            td.number { (span.commits) }
                            td.number { (percent(span.probability)) }
                        }
                    }
                }
            } }
        }
    }
}

/// Culprits were found, so that what is left concerns others.
fn found(report: &Report) -> bool {
    report
        .search()
        .is_some_and(|document| !document.culprits.is_empty())
}
