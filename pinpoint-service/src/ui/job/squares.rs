//! A square for each run, which links to its details.

use std::collections::BTreeSet;
use std::ops::Range;

use maud::{Markup, html};
use pinpoint_report::quantity::digits;
use pinpoint_report::words::short;
use pinpoint_report::{Foreign, subject};

use super::job_snapshot::JobSnapshot;
use super::job_view_query::JobViewQuery;

/// The most pairs of runs that have squares at once.
const MOST_PAIRS: usize = 500;

/// The most runs of a search that have squares at once. Each may be of another commit, and hashes
/// make a page long.
const MOST_RUNS: usize = 200;

/// The squares of both sides of a comparison in pairs.
pub(super) fn of_pairs(moment: &JobSnapshot, asked: &JobViewQuery) -> Markup {
    let chart = asked.chart.as_deref();
    let pairs = &moment.measured.pairs;
    let shown = shown(pairs.len(), asked.pairs, MOST_PAIRS);
    let part = |pairs| JobViewQuery {
        pairs,
        ..asked.clone()
    };
    html! {
        @if pairs.is_empty() {
            p.empty { "No pairs of runs yet." }
        } @else {
            (legend("in the order of the pairs", chart))
            (ways(&shown, pairs.len(), MOST_PAIRS, "Pairs", part))
            div.squares {
                @for (name, is_base) in [("Base", true), ("Experiment", false)] {
                    div role="group" aria-label=(name) {
                        span.side { (name) }
                        @for pair in &pairs[shown.clone()] {
                            (square(moment, asked, chart, if is_base { pair.base } else { pair.experiment }))
                        }
                    }
                }
            }
        }
    }
}

/// The squares of a search, by commit: those of its runs outside of pairs.
pub(super) fn of_search(moment: &JobSnapshot, asked: &JobViewQuery) -> Markup {
    let measured = &moment.measured;
    let pairs = measured.pairs.iter();
    let paired: BTreeSet<usize> = pairs
        .flat_map(|pair| [pair.base, pair.experiment])
        .collect();
    let runs: Vec<usize> = (0..measured.runs.len())
        .filter(|run| !paired.contains(run))
        .collect();
    let shown = shown(runs.len(), asked.runs, MOST_RUNS);
    let part = |runs| JobViewQuery {
        runs,
        ..asked.clone()
    };
    let mut by_place = vec![Vec::new(); measured.places.len()];
    for run in &runs[shown.clone()] {
        let place = measured.place_of(measured.runs[*run].position);
        if let Some(runs) = place.and_then(|place| by_place.get_mut(place)) {
            runs.push(*run);
        }
    }
    let chart = asked.chart.as_deref().or(moment.chart().0);
    let groups = measured.places.iter().zip(&by_place);
    let groups = groups.filter(|(_, runs)| !runs.is_empty());
    html! {
        @if !runs.is_empty() {
            section #runs aria-labelledby="runs-title" {
                h2 #runs-title { "Runs" }
                (legend("by commit, in chronological order", chart))
                (ways(&shown, runs.len(), MOST_RUNS, "Runs", part))
                div.squares {
                    @for (place, runs) in groups {
                        // Of a followed page, only the groups that differ are sent.
                        @let id = format!("runs-{:x}", place.commit.key());
                        div id=(id) role="group" aria-labelledby=(format!("{id}-name")) {
                            span.side id=(format!("{id}-name")) {
                                code { (Foreign(&short(&place.commit))) } " " (Foreign(subject(&place.commit)))
                            }
                            @for run in runs { (square(moment, asked, chart, *run)) }
                        }
                    }
                }
            }
        }
    }
}

/// The range that has squares: up to this one, or the last ones.
fn shown(count: usize, last: Option<usize>, most: usize) -> Range<usize> {
    let end = last.map_or(count, |last| last.clamp(most, count.max(most)).min(count));
    end.saturating_sub(most)..end
}

/// The ways to the squares before and after these, where not all are shown.
fn ways(
    shown: &Range<usize>,
    count: usize,
    most: usize,
    what: &str,
    part: impl Fn(Option<usize>) -> JobViewQuery,
) -> Markup {
    let link = |last| part(last).address();
    let next = Some(shown.end.saturating_add(most)).filter(|next| *next < count);
    html! {
        @if shown.len() < count {
            nav.bar aria-label=(what) {
                @if shown.start > 0 { a.button rel="prev" href=(link(Some(shown.start))) { "Earlier" } }
                span { (what) " " (shown.start + 1) " to " (shown.end) " of " (count) }
                @if shown.end < count { a.button rel="next" href=(link(next)) { "Later" } }
            }
        }
    }
}

fn legend(order: &str, chart: Option<&str>) -> Markup {
    html! {
        p {
            "Each square is a run, " (order) ". ■ gave "
            @match chart { Some(chart) => { "a value of " (Foreign(chart)) }, None => { "values" } }
            ", ✕ did not."
        }
    }
}

/// The square of a run: its shape says whether it gave a value.
fn square(moment: &JobSnapshot, asked: &JobViewQuery, chart: Option<&str>, index: usize) -> Markup {
    let run = &moment.measured.runs[index];
    let value = chart.map(|chart| run.value(chart));
    let is_failed = run.failure.is_some() || value == Some(None);
    let about = match (&run.failure, value) {
        (Some(_), _) => format!("run {}, failed", run.name),
        (None, Some(None)) => format!("run {}, no value", run.name),
        (None, Some(Some(value))) => format!("run {}, {}", run.name, digits(value)),
        (None, None) => format!("run {}", run.name),
    };
    let other = JobViewQuery {
        run: Some(run.name.clone()),
        ..asked.clone()
    };
    let is_shown = asked.run.as_ref() == Some(&run.name);
    html! {
        a.failed[is_failed] href=(format!("{}#run", other.address())) aria-label=(about) title=(about)
            aria-current=[is_shown.then_some("true")] {
            @if is_failed { "✕" } @else { "■" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn the_last_squares_are_shown_or_those_up_to_one() {
        assert_eq!(shown(0, None, 200), 0..0);
        assert_eq!(shown(150, None, 200), 0..150);
        assert_eq!(shown(450, None, 200), 250..450);
        assert_eq!(shown(450, Some(250), 200), 50..250);
        // As many as there are room for.
        assert_eq!(shown(450, Some(50), 200), 0..200);
        assert_eq!(shown(450, Some(1000), 200), 250..450);
        assert_eq!(shown(150, Some(0), 200), 0..150);
    }
}
