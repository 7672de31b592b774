//! The answer of a job in a word and in a sentence.

use maud::{Markup, html};
use pinpoint_core::{
    CombinedCommit, EffectOf, JobState, PairwiseStatus, Position, Status, Stopped,
};

use super::foreign::Foreign;
use super::model::Report;
use super::search::commit_name;
use crate::quantity::{count, level, probability, quantity};
use crate::words::{detour, further, only_failures, other_change, short, size, undecided, why};
use pinpoint_core::job::JobResult;
use pinpoint_core::job::PairwiseResult;
use pinpoint_core::job::{BisectionResult, NamedCulprit};

/// The answer of a job.
#[derive(Debug, Clone)]
pub struct Conclusion {
    /// The status in words.
    pub word: &'static str,
    /// Its color class: `found`, `good`, `bad` or `open`.
    pub tone: &'static str,
    /// The answer in a sentence.
    pub sentence: Markup,
}

pub(super) fn answer(report: &Report) -> Conclusion {
    let say = |word, tone, sentence| Conclusion {
        word,
        tone,
        sentence,
    };
    match (report.job.state, &report.result) {
        // Its knowledge until then is evidence, not an answer.
        (JobState::Failed, result) if result.is_none() || report.job.error.is_some() => {
            let error = report.job.error.as_deref().unwrap_or("it is not known why");
            say(
                "failed",
                "bad",
                html! { "The job failed: " (Foreign(error)) },
            )
        }
        (JobState::Pending, _) if !has_begun(report) => {
            say("waiting", "open", html! { "This job has not started." })
        }
        (JobState::Pending, _) => say("interrupted", "open", unfinished(report)),
        (JobState::Running, _) => say("running", "open", unfinished(report)),
        (_, None) => say(
            report.job.state.as_str(),
            "open",
            html! { "The result of this job can't be shown." },
        ),
        (_, Some(result)) => of_result(result),
    }
}

/// The answer of a result.
pub fn of_result(result: &JobResult) -> Conclusion {
    match result {
        JobResult::Bisection(document) => of_search(document),
        JobResult::CulpritFinder(document) => of_search(&document.search),
        JobResult::Pairwise(document) => of_pairs(document),
        _ => Conclusion {
            word: "unknown",
            tone: "open",
            sentence: html! { "This version can't show the result of this kind of job." },
        },
    }
}

fn has_begun(report: &Report) -> bool {
    !report.sessions.is_empty() || report.builds > 0 || !report.measured.runs.is_empty()
}

fn unfinished(report: &Report) -> Markup {
    let runs = count(report.measured.runs.len() as u64, "run");
    let commits = count(report.measured.places.len() as u64, "commit");
    let likely = (report.posterior.as_ref())
        .and_then(|posterior| {
            let spans = posterior.spans.iter();
            spans.max_by(|a, b| a.probability.total_cmp(&b.probability))
        })
        .filter(|span| span.probability >= 0.5);
    html! {
        "Not finished: " (runs) " of " (commits) " so far."
        @if let Some(span) = likely {
            " The change is in "
            @if span.commits > 1 { "one of " (span.commits) " commits up to " }
            (at(report, span.last)) " with " (probability(span.probability)) " probability."
        }
    }
}

/// The name of a place of the search.
pub(super) fn at(report: &Report, position: Position) -> Markup {
    let place = report.measured.place_of(position);
    match (
        place.map(|place| &report.measured.places[place].commit),
        position,
    ) {
        (Some(commit), _) => html! { code { (Foreign(&short(commit))) } },
        (None, Position::Lower) => html! { "the good end" },
        (None, Position::Higher) => html! { "the bad end" },
        (None, Position::Within { offset, .. }) => html! { "commit " (offset + 1) },
    }
}

fn of_search(document: &BisectionResult) -> Conclusion {
    let ends = html! { (code(&document.good)) " and " (code(&document.bad)) };
    let (word, tone, sentence) = match document.status {
        Status::CulpritFound => {
            let word = match document.culprits.len() {
                0 | 1 => "culprit found",
                _ => "culprits found",
            };
            let sentence = html! {
                (culprits(document))
                @if let Some(further) = further(document) {
                    " It is not decided " (Foreign(&further)) "."
                }
            };
            (word, "found", sentence)
        }
        Status::NoRegression => (
            match document.change_not_excluded() {
                Some(_) => "no large regression",
                None => "no regression",
            },
            "good",
            html! {
                @match document.change_not_excluded() {
                    Some(largest) => {
                        "No regression of more than " (size(largest, document.unit.as_deref()))
                        " was found between " (ends) ": smaller ones are not excluded"
                    }
                    None => { "No regression was found between " (ends) }
                }
                @if !document.unmeasured.is_empty() { ": " (only_failures(document)) }
                @if let Some(posterior) = &document.posterior {
                    ", with a probability of " (probability(posterior.no_change))
                    @if let Some(largest) = &posterior.largest_change {
                        ". A lasting change for the worse of more than " (size(largest, document.unit.as_deref()))
                        " is excluded with " (level(largest.confidence)) " confidence"
                    }
                    @if let Some(other) = &posterior.other_change {
                        "; " (Foreign(&other_change(document, other)))
                        @match other.is_better {
                            true => "; a search with an unknown direction finds its commit",
                            false => "; a search with a smaller magnitude finds its commit",
                        }
                    }
                }
                "."
            },
        ),
        Status::Inconclusive => (
            "not decided",
            "open",
            html! {
                @match document.candidates.len() {
                    0 => { "It is not decided what changed between " (ends) }
                    1 => { "One commit between " (ends) " may hold a culprit" }
                    many => { (many) " commits between " (ends) " may hold a culprit" }
                }
                ": " (Foreign(&why(&document.stopped))) "."
                @if document.stopped == Stopped::TooNoisy
                    && let Some(largest) = document.posterior.as_ref().and_then(|it| it.largest_change.as_ref())
                {
                    " Only a lasting change for the worse of more than " (size(largest, document.unit.as_deref()))
                    " is excluded, with " (level(largest.confidence)) " confidence."
                }
            },
        ),
        Status::Failed => (
            "failed",
            "bad",
            html! { "The search failed: " (Foreign(&why(&document.stopped))) "." },
        ),
        Status::Canceled => (
            "canceled",
            "open",
            html! { "The search between " (ends) " was canceled before it was decided." },
        ),
        other => (
            other.as_str(),
            "open",
            html! { "This version can't say more of this answer." },
        ),
    };
    let sentence = html! {
        (sentence)
        @if let Some(detour) = detour(document) { " " (Foreign(&detour)) "." }
    };
    Conclusion {
        word,
        tone,
        sentence,
    }
}

/// A state by its short name.
pub(super) fn code(commit: &CombinedCommit) -> Markup {
    html! { code { (Foreign(&short(commit))) } }
}

fn culprits(document: &BisectionResult) -> Markup {
    match &document.culprits[..] {
        [culprit] => html! { (commit_name(&culprit.blamed)) " " (did(document, culprit)) "." },
        several => {
            let size =
                |culprit: &NamedCulprit| culprit.effect.estimate.map_or(f64::INFINITY, f64::abs);
            let largest = (several.iter()).max_by(|a, b| size(a).total_cmp(&size(b)));
            html! {
                (several.len()) " commits changed " (chart(document))
                @if let Some(largest) = largest {
                    ", most of all " (commit_name(&largest.blamed)) ", which " (did(document, largest))
                }
                "."
            }
        }
    }
}

fn chart(document: &BisectionResult) -> Markup {
    match document.chart.as_deref() {
        Some(chart) => html! { strong { (Foreign(chart)) } },
        None => html! { "the benchmark" },
    }
}

/// The effect of a culprit on the benchmark.
fn did(document: &BisectionResult, culprit: &NamedCulprit) -> Markup {
    let effect = &culprit.effect;
    match effect.of {
        EffectOf::Values => {
            let unit = document.unit.as_deref();
            let both = [effect.before, effect.after].map(|value| quantity(value, unit));
            let kind = match effect.adjusted {
                false => "medians",
                true => "levels without the machine's states",
            };
            html! {
                @if culprit.undone { "was lost, which " }
                "changed " (chart(document)) " from " strong { (Foreign(&both[0])) }
                " to " strong { (Foreign(&both[1])) }
                @if let Some(percent) = crate::words::percent(effect) {
                    " (" (kind) "; estimated change " (format!("{percent:+.1} %")) ")"
                } @else { " (" (kind) ")" }
            }
        }
        EffectOf::Failures => html! {
            @if culprit.undone { "was lost, which " }
            "changed how often runs fail from " strong { (format!("{:.0} %", 100.0 * effect.before)) }
            " to " strong { (format!("{:.0} %", 100.0 * effect.after)) }
            @let reasons = [&effect.before_failure, &effect.after_failure].map(Option::as_ref);
            (Foreign(&crate::words::because(reasons)))
        },
        other => html! {
            @if culprit.undone { "was lost, which " }
            "changed the " (other.as_str()) " of runs from " strong { (effect.before) }
            " to " strong { (effect.after) }
        },
    }
}

fn of_pairs(document: &PairwiseResult) -> Conclusion {
    let charts = count(document.charts.len() as u64, "metric");
    let sides =
        html! { (code(&document.experiment.commit)) " against " (code(&document.base.commit)) };
    let (word, tone, sentence) = match document.status {
        PairwiseStatus::Different => (
            "different",
            "found",
            html! {
                @match (document.moved, document.charts.iter().find(|chart| chart.comparison.moved())) {
                    (0, _) | (_, None) => {
                        "Runs fail at different rates, " (sides)
                        @let reasons = [&document.base_failure, &document.experiment_failure];
                        (Foreign(&crate::words::because(reasons.map(Option::as_ref)))) "."
                    }
                    (1, Some(moved)) => {
                        @let compared = moved.comparison.comparison.as_ref();
                        strong { (Foreign(&moved.comparison.chart)) } " moved"
                        @if let Some(compared) = compared {
                            " from " strong { (Foreign(&quantity(compared.control_median, moved.unit.as_deref()))) }
                            " to " strong { (Foreign(&quantity(compared.treatment_median, moved.unit.as_deref()))) }
                            @if let Some(estimate) = compared.estimate {
                                " (medians; change in pairs " (format!("{estimate:+.2} %")) ")"
                            } @else { " (medians)" }
                        }
                        ", " (sides) "."
                    }
                    (moved, _) => { (moved) " of " (charts) " moved, " (sides) "." }
                }
            },
        ),
        PairwiseStatus::Same if document.improved > 0 => (
            "no regression",
            "good",
            html! { (document.improved) " of " (charts) " became better and none worse, " (sides) "." },
        ),
        PairwiseStatus::Same if document.pairs == 0 => (
            "no difference",
            "good",
            html! { "The benchmark reads the same in both builds." },
        ),
        PairwiseStatus::Same => (
            "no difference",
            "good",
            html! { "None of " (charts) " moved, " (sides) "." },
        ),
        PairwiseStatus::Unknown => (
            "not decided",
            "open",
            html! {
                "It is not decided whether they differ, " (sides) ": "
                @match &document.stopped {
                    Stopped::Decided => { (undecided(document.pairs_needed, document.charts.len())) }
                    stopped => { (Foreign(&why(stopped))) }
                }
                "."
            },
        ),
        PairwiseStatus::Failed => (
            "failed",
            "bad",
            html! {
                @match &document.stopped {
                    Stopped::Failed { commit: Some(Position::Lower), reason } => {
                        "The base can't be measured: " (Foreign(reason))
                    }
                    Stopped::Failed { commit: Some(_), reason } => {
                        "The experiment can't be measured: " (Foreign(reason))
                    }
                    stopped => { "The comparison failed: " (Foreign(&why(stopped))) }
                }
                "."
            },
        ),
        PairwiseStatus::Canceled => (
            "canceled",
            "open",
            html! { "The comparison was canceled before it was decided, " (sides) "." },
        ),
        other => (
            other.as_str(),
            "open",
            html! { "This version can't say more of this answer." },
        ),
    };
    Conclusion {
        word,
        tone,
        sentence,
    }
}
