//! A square for each run, which leads to all about it.

use std::collections::BTreeSet;

use maud::{Markup, html};
use pinpoint_report::quantity::{count, digits};
use pinpoint_report::words::short;
use pinpoint_report::{Foreign, subject};

use super::asked::Asked;
use super::moment::Moment;

/// The most pairs of runs that have squares: the last ones.
const MOST_PAIRS: usize = 500;

/// The most runs of a search that have squares: the last ones. Each may be of another commit, and
/// hashes make a page long.
const MOST_RUNS: usize = 200;

/// The squares of both sides of a comparison in pairs.
pub(super) fn of_pairs(moment: &Moment, asked: &Asked) -> Markup {
    let chart = asked.chart.as_deref();
    let pairs = &moment.measured.pairs;
    let left_out = pairs.len().saturating_sub(MOST_PAIRS);
    html! {
        @if pairs.is_empty() {
            p.empty { "No pairs of runs yet." }
        } @else {
            (legend("in the order of the pairs", chart, left_out, "pair"))
            div.squares {
                @for (name, is_base) in [("Base", true), ("Experiment", false)] {
                    div role="group" aria-label=(name) {
                        span.side { (name) }
                        @for pair in &pairs[left_out..] {
                            (square(moment, asked, chart, if is_base { pair.base } else { pair.experiment }))
                        }
                    }
                }
            }
        }
    }
}

/// The squares of a search, by commit: those of its runs that are of no pair.
pub(super) fn of_search(moment: &Moment, asked: &Asked) -> Markup {
    let measured = &moment.measured;
    let pairs = measured.pairs.iter();
    let paired: BTreeSet<usize> = pairs
        .flat_map(|pair| [pair.base, pair.experiment])
        .collect();
    let runs: Vec<usize> = (0..measured.runs.len())
        .filter(|run| !paired.contains(run))
        .collect();
    let left_out = runs.len().saturating_sub(MOST_RUNS);
    let mut by_place = vec![Vec::new(); measured.places.len()];
    for run in &runs[left_out..] {
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
                (legend("by commit, in chronological order", chart, left_out, "run"))
                div.squares {
                    @for (place, runs) in groups {
                        // Of a page that is followed, only the groups are sent that differ.
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

fn legend(order: &str, chart: Option<&str>, left_out: usize, one: &str) -> Markup {
    html! {
        p {
            "Each square is a run, " (order) ". ■ gave "
            @match chart { Some(chart) => { "a value of " (Foreign(chart)) }, None => { "values" } }
            ", ✕ did not."
            @if left_out > 0 { " The first " (count(left_out as u64, one)) " are left out." }
        }
    }
}

/// The square of a run: its shape says whether it gave a value.
fn square(moment: &Moment, asked: &Asked, chart: Option<&str>, index: usize) -> Markup {
    let run = &moment.measured.runs[index];
    let value = chart.map(|chart| run.value(chart));
    let is_failed = run.failure.is_some() || value == Some(None);
    let about = match (&run.failure, value) {
        (Some(_), _) => format!("run {}, failed", run.name),
        (None, Some(None)) => format!("run {}, no value", run.name),
        (None, Some(Some(value))) => format!("run {}, {}", run.name, digits(value)),
        (None, None) => format!("run {}", run.name),
    };
    let other = Asked {
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
