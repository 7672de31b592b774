//! The page of a job.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use pinpoint_report::{Foreign, clean};
use uuid::Uuid;

use super::dates::{ago, at};
use super::frame::{self, Section};
use super::view::{View, key};
use crate::Service;
use crate::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::grpc::v2::messages::{GetJobRequest, Job, JobSummary, Kind, State as JobState};
use crate::operations::Right;
use crate::rest::Problem;

/// GET `/results/jobid/{id}`: where the older page has a job.
pub(super) async fn elsewhere(Path(id): Path<String>) -> Response {
    match Uuid::parse_str(&id) {
        Ok(id) => Redirect::permanent(&format!("/jobs/{}", id.simple())).into_response(),
        Err(_) => Problem::path(&format!("/results/jobid/{id}")).into_response(),
    }
}

/// GET `/jobs/{id}`.
pub(super) async fn page(
    State(service): State<Service>,
    Path(job_id): Path<String>,
    view: View,
) -> Result<Response, Problem> {
    let request = view.call("pinpoint.v2.Pinpoint/GetJob", GetJobRequest { job_id });
    let job = service.get_job(request).await?.into_inner();
    let summary = job.summary.clone().unwrap_or_default();
    let main = html! {
        (head(&summary))
        (facts(&job, &summary))
        (actions(&view, &job, &summary))
    };
    let title = clean(title(&summary));
    Ok(frame::page(&view, Section::Jobs, &title, &main))
}

fn head(summary: &JobSummary) -> Markup {
    html! {
        p.kind { (kind(summary)) " " (state(summary)) }
        h1 { (Foreign(title(summary))) }
    }
}

fn facts(job: &Job, summary: &JobSummary) -> Markup {
    html! {
        table.facts {
            tbody {
                tr { th scope="row" { "Benchmark" } td { (Foreign(&summary.benchmark)) } }
                tr { th scope="row" { "Bot" } td { (Foreign(&summary.bot)) } }
                tr { th scope="row" { "User" } td { (Foreign(&summary.user)) } }
                tr {
                    th scope="row" { "Created" }
                    td { (at(summary.created.as_ref())) ", " (ago(summary.created.as_ref())) }
                }
                @if !job.waits_for.is_empty() {
                    tr { th scope="row" { "Waits for" } td { (Foreign(&job.waits_for)) } }
                }
                @if !summary.error.is_empty() {
                    tr { th scope="row" { "Error" } td { (Foreign(&summary.error)) } }
                }
                @if let Some(cancel) = &job.cancellation {
                    tr { th scope="row" { "Canceled" } td { (Foreign(&cancel.reason)) " (" (Foreign(&cancel.by)) ")" } }
                }
            }
        }
    }
}

/// The buttons of a job, for those who may press them.
fn actions(view: &View, job: &Job, summary: &JobSummary) -> Markup {
    let path = |action: &str| format!("/jobs/{}/{action}", summary.job_id);
    let is_over = !matches!(summary.state(), JobState::Pending | JobState::Running);
    let may_end = view.may_end(&summary.user);
    html! {
        div.bar {
            @if may_end && !is_over {
                a.button href=(path("cancel")) { "Cancel" }
                @if summary.paused {
                    (button(view, &path("resume"), "Resume"))
                } @else {
                    (button(view, &path("pause"), "Pause"))
                }
            }
            @if may_end && summary.state() == JobState::Canceled {
                (button(view, &path("resume"), "Resume"))
            }
            @if view.may(Right::Create) && job.arguments.is_some() {
                form method="post" action=(path("retry")) {
                    (view.form_token())
                    (key())
                    button { "Retry" }
                }
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

/// What people call a job.
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

/// The state of a job, in a word that no colour is needed for.
pub(super) fn state(summary: &JobSummary) -> Markup {
    let (name, tone) = match summary.state() {
        _ if summary.paused => ("Paused", "open"),
        JobState::Unspecified => ("Unknown", "open"),
        JobState::Pending => ("Pending", "open"),
        JobState::Running => ("Running", "open"),
        JobState::Completed => ("Completed", "good"),
        JobState::Failed => ("Failed", "bad"),
        JobState::Canceled => ("Canceled", "bad"),
    };
    html! { span.tone.(tone) { (name) } }
}
