//! The part of a job's page that is the same for everybody who may see the job.

use std::sync::Arc;

use maud::{Markup, html};
use pinpoint_backends::store::Job as StoredJob;
use pinpoint_core::api::Timestamp;
use pinpoint_report::quantity::{count, duration};
use pinpoint_report::{Foreign, clean, words};
use tonic::{Code, Request, Status};

use super::evidence::{Evidence, ViewRequest};
use super::feeds::{Token, place_of_actions};
use super::files;
use super::job_view_query::JobViewQuery;
use super::labels::{kind, state, title};
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{Job, JobSummary, ListWorkersRequest, Worker};
use crate::api::grpc::v2::show;
use crate::state::Service;
use crate::ui::dates::{self, ago, at};

/// The content for everybody who may see a job.
pub(super) struct Content {
    /// With a place for the buttons, which depend on the viewer.
    pub(super) html: String,
    pub(super) token: Token,
    /// It may change.
    pub(super) is_live: bool,
    pub(super) job: Job,
}

impl Content {
    pub(super) async fn load(
        service: &Service,
        job_id: &str,
        asked: &JobViewQuery,
    ) -> Result<Self, Status> {
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
            (place_of_actions())
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
    let cache = &service.caches.kept;
    cache.look(&service.store, &stored.id, wanted).await
}

pub(in crate::ui) fn cannot_be_shown(job: &StoredJob) -> Markup {
    html! {
        "This job can’t be shown in full. It was made by Pinpoint " (Foreign(&job.written_by))
        ", or part of it is damaged. Open it with that version or a newer one."
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
