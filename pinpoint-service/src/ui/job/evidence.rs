//! The part of a job's page that follows from its journal.

use maud::{Markup, html};
use pinpoint_core::job::JobResult;
use pinpoint_core::{JobKind, JobState, Stopped};
use pinpoint_report::picture::PictureError;
use pinpoint_report::quantity::{count, probability};
use pinpoint_report::{Foreign, of_result, words};

use super::job_snapshot::JobSnapshot;
use super::job_view_query::JobViewQuery;
use super::remaining_work::RemainingWork;
use super::{commits, pairs, run, search};

/// The request for a view.
#[derive(Debug, Clone)]
pub(super) struct ViewRequest {
    pub(super) asked: JobViewQuery,
    /// The job waits to begin.
    pub(super) waits: bool,
    /// The end of the output of the requested run.
    pub(super) output: Option<String>,
}

/// The contents of a job's journal, as of a moment.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) is_live: bool,
    pub(super) records: usize,
    pub(super) at: usize,
    /// The time when the last record up to the moment was recorded.
    pub(super) recorded: Option<i64>,
    pub(super) word: Option<(&'static str, &'static str)>,
    /// The answer, or the findings so far.
    pub(super) sentence: Markup,
    /// The metric, in words.
    pub(super) metric: Option<String>,
    /// Remarks on the runs.
    pub(super) warnings: Vec<String>,
    /// The reason why the job ended.
    pub(super) why: Option<String>,
    pub(super) work: Vec<(Markup, usize)>,
    pub(super) runs: u64,
    pub(super) builds: u64,
    pub(super) expected: Option<RemainingWork>,
    pub(super) run: Markup,
    pub(super) sections: Markup,
}

impl Evidence {
    /// Returns true if records followed.
    pub(super) fn is_past(&self) -> bool {
        self.at < self.records
    }

    pub(super) fn draw(moment: &JobSnapshot, wanted: &ViewRequest) -> Result<Self, PictureError> {
        let asked = &wanted.asked;
        let found = moment.result.as_ref().map(of_result);
        let sections = html! {
            @if let Some(reason) = &moment.broken {
                p.note #broken { "The journal can’t be replayed to this moment: " (Foreign(reason)) }
            }
            @if let Some(result) = &moment.result {
                @if let Some(search) = result.bisection() {
                    (search::culprits(search, result.unconfirmed()))
                }
            }
            @match moment.kind {
                JobKind::Pairwise => (pairs::section(moment, asked)?),
                JobKind::CulpritFinder => {
                    (pairs::stages(moment, asked))
                    @if moment.bisection().is_some() { (search::section(moment, asked)?) }
                }
                _ => (search::section(moment, asked)?),
            }
        };
        let goes_on = moment.is_past() || moment.is_live();
        Ok(Self {
            is_live: moment.is_live(),
            records: moment.records,
            at: moment.at,
            recorded: moment.recorded,
            word: found.as_ref().map(|answer| (answer.word, answer.tone)),
            sentence: match &found {
                Some(answer) if moment.job.error.is_none() => answer.sentence.clone(),
                _ => so_far(moment, wanted.waits),
            },
            metric: moment.measured_metric().as_ref().map(words::metric),
            warnings: (moment.result.as_ref())
                .map_or_else(Vec::new, |result| result.warnings().to_vec()),
            why: moment.result.as_ref().map(why_it_ended),
            runs: moment.measured.runs.len() as u64,
            builds: moment.builds.len() as u64,
            work: commits::work(moment.engine.names(), &moment.outstanding),
            expected: goes_on
                .then(|| RemainingWork::from_snapshot(moment))
                .flatten(),
            run: match &asked.run {
                Some(name) => run::card(moment, asked, name, wanted.output.as_deref()),
                None => html! {},
            },
            sections,
        })
    }
}

/// The answer of a job without a result, as far as it is known.
fn so_far(moment: &JobSnapshot, waits: bool) -> Markup {
    if let (Some(error), false) = (&moment.job.error, moment.is_past()) {
        // All of it stands among the details.
        let first = words::reason(error.lines().next().unwrap_or_default());
        return match moment.job.state {
            JobState::Failed => html! { "The job failed: " (Foreign(&first)) },
            _ => html! { "Waiting to continue: " (Foreign(&first)) },
        };
    }
    let runs = moment.measured.runs.len() as u64;
    if runs == 0 && moment.is_live() {
        return html! {
            @if waits { "Waiting to start." } @else { "Running; no run has finished yet." }
        };
    }
    let likely = moment.posterior().and_then(|posterior| {
        let spans = posterior.spans.into_iter();
        let likeliest = spans.max_by(|one, other| one.probability.total_cmp(&other.probability))?;
        Some((posterior.no_change, likeliest))
    });
    html! {
        @match (moment.is_past(), moment.job.state) {
            (true, _) => "At this point, ",
            (_, JobState::Canceled) => "Canceled after ",
            (_, JobState::Completed | JobState::Failed) => "Ended without a result after ",
            _ => "Running: ",
        }
        (count(runs, "run")) " of " (count(moment.measured.places.len() as u64, "commit"))
        @match (moment.is_past(), moment.is_live()) {
            (true, _) => " had finished",
            (_, true) => " so far",
            _ => "",
        }
        @if let Some(outcome) = moment.comparison() {
            @let moved = outcome.charts.iter().filter(|chart| chart.moved()).count();
            "; " (outcome.pairs) " of " (count(outcome.pairs_planned.into(), "pair")) " compared, "
            (moved) " of " (count(outcome.charts.len() as u64, "metric")) " moved"
        }
        "."
        @match likely {
            Some((none, likeliest)) if likeliest.probability > none => {
                " The change is in "
                @if likeliest.commits > 1 { "one of " (likeliest.commits) " commits up to " }
                (commits::at(moment.engine.names(), likeliest.last))
                " with " (probability(likeliest.probability)) " probability."
            }
            Some((none, _)) => { " With " (probability(none)) " probability there is no change." }
            None => "",
        }
    }
}

fn why_it_ended(result: &JobResult) -> String {
    match result.stopped() {
        Stopped::Decided => "everything was decided".into(),
        stopped => words::why(stopped),
    }
}
