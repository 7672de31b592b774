//! The page of a job.

pub(super) mod commits;
mod content;
mod differences;
mod evidence;
pub(crate) mod feeds;
pub(super) mod files;
pub(crate) mod job_cache;
mod job_snapshot;
pub(super) mod job_view_query;
mod labels;
pub(super) mod live;
mod output_paths;
pub(super) mod pairs;
mod remaining_work;
mod run;
mod search;
mod squares;

use axum::extract::{Path, State};
use axum::response::Response;
use http::Uri;
use maud::{Markup, PreEscaped, html};
use pinpoint_report::clean;

use self::content::Content;
pub(super) use self::content::cannot_be_shown;
use self::job_view_query::JobViewQuery;
pub(super) use self::labels::{is_over, kind, state, title};
use super::assets::path;
use super::frame::{self, Section};
use super::view::{View, key};
use crate::api::access::Right;
use crate::api::grpc::v2::messages::{self, Job, JobSummary};
use crate::api::rest::Problem;
use crate::state::Service;

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
    let place = feeds::place_of_actions().into_string();
    let live = content
        .is_live
        .then(|| feeds::address(&asked, &content.token));
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
