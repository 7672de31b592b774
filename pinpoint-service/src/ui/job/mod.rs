//! The page of a job.

pub(super) mod asked;
pub(super) mod commits;
mod differences;
mod expected;
pub(super) mod files;
pub(crate) mod kept;
pub(crate) mod live;
mod moment;
pub(super) mod pairs;
mod run;
mod search;
mod squares;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::Uri;
use maud::{Markup, PreEscaped, html};
use pinpoint_backends::store::Job as StoredJob;
use pinpoint_core::api::Timestamp;
use pinpoint_core::job::JobResult;
use pinpoint_core::{JobKind, JobState, Stopped};
use pinpoint_report::picture::PictureError;
use pinpoint_report::quantity::{count, duration, probability};
use pinpoint_report::{Foreign, clean, of_result, words};
use tonic::{Code, Request, Status};
use uuid::Uuid;

use self::asked::JobViewQuery;
use self::expected::Expected;
use self::kept::ViewRequest;
use self::live::Token;
use self::moment::JobSnapshot;
use super::assets::path;
use super::dates::{self, ago, at};
use super::frame::{self, Section};
use super::view::{View, key};
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{self, Job, JobSummary, Kind, ListWorkersRequest, Worker};
use crate::api::grpc::v2::show;
use crate::api::operations::Right;
use crate::api::rest::Problem;
use crate::state::Service;

/// GET `/results/jobid/{id}`: the address of a job on the older page.
pub(super) async fn elsewhere(Path(id): Path<String>) -> Response {
    match Uuid::parse_str(&id) {
        Ok(id) => Redirect::permanent(&format!("/jobs/{}", id.simple())).into_response(),
        Err(_) => Problem::path(&format!("/results/jobid/{id}")).into_response(),
    }
}

/// GET `/jobs/{id}`: the job as it is now, or as it was after the first records of its journal.
pub(super) async fn page(
    State(service): State<Service>,
    Path(job_id): Path<String>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let asked = JobViewQuery::from_uri(&uri)?;
    let content = Content::load(&service, &job_id, &asked).await?;
    let summary = content.job.summary.clone().unwrap_or_default();
    let actions = match asked.at {
        None => actions(&view, &content.job, &summary).into_string(),
        Some(_) => String::new(),
    };
    let place = live::place_of_actions().into_string();
    let live = content
        .is_live
        .then(|| live::address(&asked, &content.token));
    let main = html! {
        div #job data-live=[live] data-version=(path("page.js")) {
            (PreEscaped(content.html.replacen(&place, &actions, 1)))
        }
    };
    if asked.is_fragment {
        return Ok(frame::fragment(&main));
    }
    let main = html! {
        (main)
        // For scripts only.
        div #tools.bar hidden {
            button type="button" { "Copy link" }
            button type="button" aria-pressed="false" { "Notify me when it ends" }
            // Read out from the line below.
            span #done.soft aria-hidden="true" {}
        }
        p #news.unseen role="status" {}
    };
    Ok(frame::page(
        &view,
        Section::Jobs,
        &clean(title(&summary)),
        &main,
    ))
}

/// The content for everybody who may see a job.
struct Content {
    /// With a place for the buttons, which depend on the viewer.
    html: String,
    token: Token,
    /// It may change.
    is_live: bool,
    job: Job,
}

impl Content {
    async fn load(service: &Service, job_id: &str, asked: &JobViewQuery) -> Result<Self, Status> {
        let (known, stored) = service.job_without_outcome(job_id).await?;
        let shown = show::without_result(&service.store, &known, &stored).await;
        let (job, is_readable) = match shown.map_err(errors::job) {
            Ok(job) => (job, true),
            // Of a newer version, or damaged: the row of the store can still be shown.
            Err(status) if status.code() == Code::Internal => {
                let summary = Some(show::summary(&known));
                let job = Job {
                    summary,
                    ..Job::default()
                };
                (job, false)
            }
            Err(status) => return Err(status),
        };
        let evidence = match is_readable {
            false => None,
            true => match evidence(service, &stored, &job, asked).await {
                Ok(evidence) => Some(evidence),
                Err(status) if status.code() == Code::Unavailable => return Err(status),
                Err(_) => None,
            },
        };
        let workers = service.list_workers(Request::new(ListWorkersRequest {}));
        let mut workers = workers.await?.into_inner().workers;
        let id = stored.id.as_str();
        workers.retain(|worker| worker.job_id == id && !worker.gone);
        let summary = job.summary.clone().unwrap_or_default();
        let html = html! {
            p.kind #state {
                (kind(&summary)) " "
                @match &evidence {
                    Some(evidence) if evidence.is_past() => span.tone.open { "Earlier" },
                    _ => (state(&summary)),
                }
                @if let Some((word, tone)) = evidence.as_ref().and_then(|it| it.word) { " " span.tone.(tone) { (word) } }
            }
            h1 #title { (Foreign(title(&summary))) }
            p.answer #answer {
                @match &evidence {
                    Some(evidence) => (evidence.sentence),
                    None => (cannot_be_shown(&stored)),
                }
            }
            @if let Some(evidence) = &evidence {
                @if let Some(metric) = &evidence.metric {
                    p.note #metric { "Metric: " (Foreign(metric)) "." }
                }
                @for warning in &evidence.warnings {
                    p.note { "Warning: " (Foreign(warning)) "." }
                }
            }
            (live::place_of_actions())
            @if let Some(evidence) = &evidence {
                (past(evidence, asked))
                @if evidence.is_live { (under_way(evidence, &job, &workers)) }
                (evidence.run)
                (evidence.sections)
            }
            (facts(&stored, &job, &summary, evidence.as_deref()))
            (more(&stored, &summary))
        };
        let html = html.into_string();
        let state = format!("{}{}", summary.state, if summary.paused { "p" } else { "" });
        Ok(Self {
            token: Token::from_html(&html, state),
            html,
            is_live: evidence.is_some_and(|it| it.is_live) && asked.at.is_none(),
            job,
        })
    }
}

async fn evidence(
    service: &Service,
    stored: &StoredJob,
    job: &Job,
    asked: &JobViewQuery,
) -> Result<Arc<Evidence>, Status> {
    let output = match &asked.run {
        Some(run) => files::end_of_output(service, &stored.id, run).await?,
        None => None,
    };
    let wanted = ViewRequest {
        asked: asked.clone(),
        waits: !job.waits_for.is_empty(),
        output,
    };
    kept::look(service, &stored.id, wanted).await
}

/// The contents of a job's journal, as of a moment.
#[derive(Debug)]
struct Evidence {
    is_live: bool,
    records: usize,
    at: usize,
    /// The time when the last record up to the moment was recorded.
    recorded: Option<i64>,
    word: Option<(&'static str, &'static str)>,
    /// The answer, or the findings so far.
    sentence: Markup,
    /// The metric, in words.
    metric: Option<String>,
    /// Remarks on the runs.
    warnings: Vec<String>,
    /// The reason why the job ended.
    why: Option<String>,
    work: Vec<(Markup, usize)>,
    runs: u64,
    builds: u64,
    expected: Option<Expected>,
    run: Markup,
    sections: Markup,
}

impl Evidence {
    /// Returns true if records followed.
    fn is_past(&self) -> bool {
        self.at < self.records
    }

    fn draw(moment: &JobSnapshot, wanted: &ViewRequest) -> Result<Self, PictureError> {
        let asked = &wanted.asked;
        let found = moment.result.as_ref().map(of_result);
        let sections = html! {
            @if let Some(reason) = &moment.broken {
                p.note #broken { "The journal can’t be replayed to this moment: " (Foreign(reason)) }
            }
            @match &moment.result {
                Some(JobResult::Bisection(result)) => (search::culprits(result, &[])),
                Some(JobResult::CulpritFinder(result)) => (search::culprits(&result.search, &result.unconfirmed)),
                Some(JobResult::Pairwise(_)) | None => {}
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
            expected: goes_on.then(|| Expected::from_snapshot(moment)).flatten(),
            run: match &asked.run {
                Some(name) => run::card(moment, asked, name, wanted.output.as_deref()),
                None => html! {},
            },
            sections,
        })
    }
}

pub(super) fn cannot_be_shown(job: &StoredJob) -> Markup {
    html! {
        "This job can’t be shown in full. It was made by Pinpoint " (Foreign(&job.written_by))
        ", or part of it is damaged. Open it with that version or a newer one."
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
    let stopped = match result {
        JobResult::Bisection(result) => &result.stopped,
        JobResult::CulpritFinder(result) => &result.search.stopped,
        JobResult::Pairwise(result) => &result.stopped,
    };
    match stopped {
        Stopped::Decided => "everything was decided".into(),
        stopped => words::why(stopped),
    }
}

/// The way through the job's past.
fn past(evidence: &Evidence, asked: &JobViewQuery) -> Markup {
    let Evidence { at, records, .. } = *evidence;
    let others = JobViewQuery {
        at: None,
        page: 1,
        ..asked.clone()
    };
    html! {
        @if records > 0 {
            section.past #past aria-label="The past of the job" {
                form.bar method="get" action=(asked.path) {
                    (others.hidden())
                    label for="at" { "After record " span #moment { (at) } " of " (records) }
                    input #at type="range" name="at" min="0" max=(records) value=(at);
                    button { "Show" }
                    @if at > 0 { a rel="prev" href=(asked.moment(Some(at - 1))) { "Earlier" } }
                    @if at < records { a rel="next" href=(asked.moment(Some(at + 1))) { "Later" } }
                    @if asked.at.is_some() { a href=(asked.moment(None)) { "Now" } }
                }
                @if at < records {
                    p.note {
                        "The page shows the job as it was"
                        @if let Some(recorded) = evidence.recorded { " on " (dates::at(Timestamp::of_milliseconds(recorded).as_ref())) }
                        "."
                    }
                }
            }
        }
    }
}

/// The current work, its worker, and the work still expected.
fn under_way(evidence: &Evidence, job: &Job, workers: &[Worker]) -> Markup {
    html! {
        section #now aria-labelledby="now-title" {
            h2 #now-title { "Now" }
            @if !job.waits_for.is_empty() { p { "Waiting: " (Foreign(&job.waits_for)) "." } }
            @for worker in workers {
                p {
                    strong { (Foreign(&worker.name)) } " on " (Foreign(&worker.machine))
                    @if !worker.activity.is_empty() { ": " (Foreign(&worker.activity)) }
                    span.soft { ", seen " (ago(worker.seen.as_ref())) }
                }
            }
            @if !evidence.work.is_empty() {
                p { "Still to do: "
                    @for (number, (words, count)) in evidence.work.iter().take(MOST_WORK).enumerate() {
                        @if number > 0 { "; " }
                        (words) @if *count > 1 { ", " (count) " times" }
                    }
                    @if evidence.work.len() > MOST_WORK { "; and more" }
                    "."
                }
            }
            @if let Some(expected) = &evidence.expected { (expected.shown()) }
        }
    }
}

/// The most kinds of work that are shown.
const MOST_WORK: usize = 12;

fn facts(
    stored: &StoredJob,
    job: &Job,
    summary: &JobSummary,
    evidence: Option<&Evidence>,
) -> Markup {
    let row = |name: &str, value: &str| {
        html! { @if !value.is_empty() { tr { th scope="row" { (name) } td { (Foreign(value)) } } } }
    };
    let arguments = job.arguments.as_ref();
    let bug = arguments.and_then(|it| it.bug_id);
    // The store's state of the job is current.
    let past = evidence.filter(|it| it.is_past());
    let (runs, builds) = past.map_or((summary.runs, summary.builds), |it| (it.runs, it.builds));
    html! {
        section #facts aria-labelledby="facts-title" {
            h2 #facts-title { "Details" }
            table.facts {
                tbody {
                    (row("Benchmark", &summary.benchmark))
                    (row("Story", arguments.map_or("", |it| &it.story)))
                    (row("Metric", arguments.map_or("", |it| &it.chart)))
                    (row("Bot", &summary.bot))
                    (row("User", &summary.user))
                    (row("Repository", &summary.repository))
                    @if let Some(bug) = bug { tr { th scope="row" { "Bug" } td { (bug) } } }
                    tr {
                        th scope="row" { "Created" }
                        td { (at(summary.created.as_ref())) ", " (ago(summary.created.as_ref())) }
                    }
                    @if past.is_none() {
                        tr {
                            th scope="row" { "Last state change" }
                            td { (at(summary.updated.as_ref())) ", " (ago(summary.updated.as_ref())) }
                        }
                        @if let Some(seconds) = summary.running_s {
                            tr { th scope="row" { "Duration" } td { (duration(seconds)) } }
                        }
                    }
                    tr { th scope="row" { "Cost" } td { (count(runs, "run")) ", " (count(builds, "build")) } }
                    @if past.is_none() {
                        @if let Some(why) = evidence.and_then(|it| it.why.as_ref()) { (row("Why it ended", why)) }
                        (row("Error", &words::reason(&summary.error)))
                        @if let Some(cancel) = &job.cancellation {
                            tr { th scope="row" { "Canceled" } td { (Foreign(&cancel.reason)) " (" (Foreign(&cancel.by)) ")" } }
                        }
                    }
                    @if !job.retry_of.is_empty() {
                        tr { th scope="row" { "Retry of" } td { a href=(format!("/jobs/{}", clean(&job.retry_of))) { (Foreign(&job.retry_of)) } } }
                    }
                    (row("Created with", &format!("Pinpoint {}", stored.written_by)))
                    tr { th scope="row" { "Job" } td { code { (summary.job_id) } } }
                }
            }
            details #arguments {
                summary { "Arguments" }
                pre tabindex="0" role="group" aria-label="Arguments" { (Foreign(&arguments_of(stored))) }
            }
        }
    }
}

/// The arguments of a request, or the spec of a job that was made without one.
fn arguments_of(job: &StoredJob) -> String {
    let request = Some(&job.config["request"]).filter(|it| !it.is_null());
    let text = serde_json::to_string_pretty(request.unwrap_or(&job.spec));
    text.unwrap_or_default()
}

/// The job in other forms, and next to others.
fn more(stored: &StoredJob, summary: &JobSummary) -> Markup {
    let id = &summary.job_id;
    html! {
        section #more aria-labelledby="more-title" {
            h2 #more-title { "More" }
            ul {
                li {
                    a href=(format!("/api/v2/jobs/{id}/report")) download=(format!("pinpoint-{id}.html")) { "Download the report" }
                    " (one HTML file)"
                }
                li { a href=(format!("/jobs/{id}/journal.jsonl")) download { "Journal" } " as JSON Lines (version " (stored.journal_version) ")" }
                li { a href=(format!("/api/v2/jobs/{id}")) { "Job" } " as JSON" }
            }
            form.bar method="get" action="/compare" {
                input type="hidden" name="jobs" value=(id);
                label { "Compare with job " input name="with" required maxlength="64" autocomplete="off"; }
                button { "Compare" }
            }
        }
    }
}

/// The buttons of a job, for users who may press them.
fn actions(view: &View, job: &Job, summary: &JobSummary) -> Markup {
    let path = |action: &str| format!("/jobs/{}/{action}", summary.job_id);
    let may_end = view.may_end(&summary.user);
    html! {
        div.bar #actions data-title=(clean(title(summary))) {
            @if may_end && !is_over(summary) {
                a.button href=(path("cancel")) { "Cancel" }
                @if summary.paused {
                    (button(view, &path("resume"), "Resume"))
                } @else {
                    (button(view, &path("pause"), "Pause"))
                }
            }
            @if may_end && summary.state() == messages::State::Canceled {
                (button(view, &path("resume"), "Resume"))
            }
            @if view.may(Right::Create) && job.arguments.is_some() {
                form method="post" action=(path("retry")) {
                    (view.form_token())
                    (key())
                    button { "Retry" }
                }
                a.button href=(format!("/new?from={}", summary.job_id)) { "Clone" }
            }
        }
    }
}

fn button(view: &View, path: &str, name: &str) -> Markup {
    html! {
        form method="post" action=(path) {
            (view.form_token())
            button { (name) }
        }
    }
}

/// Returns true if a job has ended.
pub(super) fn is_over(summary: &JobSummary) -> bool {
    use messages::State;
    !matches!(summary.state(), State::Pending | State::Running)
}

/// The display name of a job.
pub(super) fn title(summary: &JobSummary) -> &str {
    match (&*summary.name, &*summary.title) {
        ("", "") => "Job without a name",
        ("", title) => title,
        (name, _) => name,
    }
}

/// The kind of a job.
pub(super) fn kind(summary: &JobSummary) -> &'static str {
    match summary.kind() {
        Kind::Unspecified => "Job",
        Kind::Bisection => "Bisection",
        Kind::Pairwise => "Try job",
        Kind::CulpritFinder => "Culprit finder",
    }
}

/// The state of a job, in a word that needs no color.
pub(super) fn state(summary: &JobSummary) -> Markup {
    let (name, tone) = match summary.state() {
        _ if summary.paused => ("Paused", "open"),
        messages::State::Unspecified => ("Unknown", "open"),
        messages::State::Pending => ("Pending", "open"),
        messages::State::Running => ("Running", "open"),
        messages::State::Completed => ("Completed", "good"),
        messages::State::Failed => ("Failed", "bad"),
        messages::State::Canceled => ("Canceled", "bad"),
    };
    html! { span.tone.(tone) { (name) } }
}
