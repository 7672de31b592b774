//! The buttons of a job. Each is a form that is sent by POST; the answer leads back to the job, so
//! that a reload repeats nothing.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{StatusCode, Uri};
use maud::html;
use pinpoint_report::{Foreign, clean};

use super::frame::{self, Section};
use super::job::{is_over, state, title};
use super::view::{Form, View, once};
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{
    CancelJobRequest, GetJobRequest, JobSummary, PauseJobRequest, ResumeJobRequest, RetryJobRequest,
};
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::state::Service;

/// GET `/jobs/{id}/cancel`: asks for the reason, which the job keeps.
pub(super) async fn ask_reason(
    State(service): State<Service>,
    Path(id): Path<String>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    // Typed before the session ended.
    let reason = Query::from_uri(&uri)?.take("reason").unwrap_or_default();
    let request = view.call("pinpoint.v2.Pinpoint/GetJob", GetJobRequest { job_id: id });
    let job = service.get_job(request).await?.into_inner();
    let summary = job.summary.unwrap_or_default();
    if is_over(&summary) {
        return Ok(has_ended(&view, &summary, None));
    }
    let path = format!("/jobs/{}", summary.job_id);
    let main = html! {
        h1 { "Cancel " (Foreign(title(&summary))) "?" }
        p { "The current run will be stopped. All measurements are kept, and the job can be resumed." }
        form.stacked method="post" action=(format!("{path}/cancel")) {
            (view.typed_form())
            label for="reason" { "Reason" }
            input #reason name="reason" required maxlength="500" autofocus value=(clean(&reason));
            p {
                button.danger { "Cancel the job" }
                " "
                a href=(path) { "Back" }
            }
        }
    };
    Ok(frame::page(&view, Section::Jobs, "Cancel a job", &main))
}

/// POST `/jobs/{id}/cancel`.
pub(super) async fn cancel(
    State(service): State<Service>,
    Path(job_id): Path<String>,
    view: View,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    let missing = || {
        let problem = "enter a reason, so that others know why the job was canceled";
        errors::field("reason", problem)
    };
    let reason = form.take("reason").ok_or_else(missing)?;
    let request = CancelJobRequest {
        job_id,
        reason: reason.clone(),
    };
    let request = view.call("pinpoint.v2.Pinpoint/CancelJob", request);
    let job = service.cancel_job(request).await?.into_inner();
    let summary = job.summary.unwrap_or_default();
    let kept = job
        .cancellation
        .is_some_and(|it| it.reason == reason.trim());
    Ok(match is_over(&summary) && !kept {
        true => has_ended(&view, &summary, Some(&reason)),
        false => back_to(&summary.job_id),
    })
}

/// The answer about a job that can no longer be canceled, perhaps for a reason that was typed.
fn has_ended(view: &View, summary: &JobSummary, reason: Option<&str>) -> Response {
    let main = html! {
        h1 { (Foreign(title(summary))) " has ended already" }
        p { "Its state is " (state(summary)) " and nothing was changed." }
        @if let Some(reason) = reason { p { "Your reason was not saved: " (Foreign(reason)) } }
        p { a.button href=(format!("/jobs/{}", summary.job_id)) { "Back to the job" } }
    };
    let mut page = frame::page(view, Section::Jobs, "The job has ended", &main);
    if reason.is_some() {
        *page.status_mut() = StatusCode::CONFLICT;
    }
    page
}

/// POST `/jobs/{id}/pause`.
pub(super) async fn pause(
    State(service): State<Service>,
    Path(job_id): Path<String>,
    view: View,
) -> Result<Response, Problem> {
    let request = view.call("pinpoint.v2.Pinpoint/PauseJob", PauseJobRequest { job_id });
    let job = service.pause_job(request).await?.into_inner();
    Ok(back_to(&job.summary.unwrap_or_default().job_id))
}

/// POST `/jobs/{id}/resume`.
pub(super) async fn resume(
    State(service): State<Service>,
    Path(job_id): Path<String>,
    view: View,
) -> Result<Response, Problem> {
    let request = view.call(
        "pinpoint.v2.Pinpoint/ResumeJob",
        ResumeJobRequest { job_id },
    );
    let job = service.resume_job(request).await?.into_inner();
    Ok(back_to(&job.summary.unwrap_or_default().job_id))
}

/// POST `/jobs/{id}/retry`: a new job with the same arguments.
pub(super) async fn retry(
    State(service): State<Service>,
    Path(job_id): Path<String>,
    view: View,
    Form(mut form): Form,
) -> Result<Response, Problem> {
    let mut request = view.call("pinpoint.v2.Pinpoint/RetryJob", RetryJobRequest { job_id });
    once(&mut form, &mut request)?;
    let job = service.retry_job(request).await?.into_inner();
    Ok(back_to(&job.summary.unwrap_or_default().job_id))
}

pub(super) fn back_to(job: &str) -> Response {
    Redirect::to(&format!("/jobs/{job}")).into_response()
}
