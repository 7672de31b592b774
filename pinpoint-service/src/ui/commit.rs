//! A commit: its details from the repository, and every job that involved it.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use http::Uri;
use maud::{Markup, html};
use pinpoint_core::api::GetCommitResponse;
use pinpoint_report::{Foreign, clean};
use tonic::{Code, Status};

use super::dates::ago;
use super::frame::{self, Section};
use super::job::{kind, state, title};
use super::problems::of_list;
use super::view::View;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{JobFilter, JobSummary, ListJobsRequest};
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::state::Service;

/// The longest that the page waits for the repository.
const REPOSITORY_TIMEOUT: Duration = Duration::from_secs(2);

/// Jobs of a page.
const PAGE: u32 = 25;

/// GET `/commits/{hash}`: a whole hash, or its beginning.
pub(super) async fn page(
    State(service): State<Service>,
    Path(hash): Path<String>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let hash = hash.trim().to_ascii_lowercase();
    if !(7..=64).contains(&hash.len()) || !hash.bytes().all(|it| it.is_ascii_hexdigit()) {
        let problem = "enter at least 7 digits of the commit's hash";
        return Err(errors::field("hash", problem).into());
    }
    let token = Query::from_uri(&uri)?.take("page").unwrap_or_default();
    let known = known(&service, &hash).await;
    let whole = match &known {
        Ok(Some(commit)) => &commit.git_hash,
        _ => &hash,
    };
    let request = ListJobsRequest {
        filter: Some(JobFilter {
            text: format!("{whole}*"),
            ..JobFilter::default()
        }),
        page_size: Some(PAGE),
        page_token: token,
        ..ListJobsRequest::default()
    };
    let listed = service.list_jobs(view.call("pinpoint.v2.Pinpoint/ListJobs", request));
    let listed = listed.await.map_err(of_list)?.into_inner();
    let other = |token: &str| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("page", token);
        (!token.is_empty()).then(|| format!("/commits/{hash}?{}", query.finish()))
    };
    let main = html! {
        h1 { "Commit " code { (short(whole)) } }
        (facts(whole, &known))
        h2 { "Jobs" }
        p.soft { "Jobs that have this commit as an end, compared it, or found it as the culprit, newest first." }
        (table(&listed.jobs, whole))
        nav.bar aria-label="Pages of the list" {
            @if let Some(path) = other(&listed.previous_page_token) {
                a.button rel="prev" href=(path) { "Newer" }
            }
            @if let Some(path) = other(&listed.next_page_token) {
                a.button rel="next" href=(path) { "Older" }
            }
        }
    };
    let title = format!("Commit {}", short(whole));
    Ok(frame::page(&view, Section::Jobs, &title, &main))
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// The details from its repository; nothing where this service looks up no commits.
async fn known(service: &Service, hash: &str) -> Result<Option<GetCommitResponse>, Status> {
    let found = tokio::time::timeout(REPOSITORY_TIMEOUT, service.commit(hash)).await;
    match found {
        Ok(Ok(found)) => {
            // Digits alone may be the position of another.
            Ok(found.git_hash.starts_with(hash).then_some(found))
        }
        Ok(Err(status)) if status.code() == Code::FailedPrecondition => Ok(None),
        Ok(Err(status)) => Err(status),
        Err(_) => Err(Status::unavailable(
            "its repository is being read; reload the page in a minute",
        )),
    }
}

fn facts(hash: &str, known: &Result<Option<GetCommitResponse>, Status>) -> Markup {
    let commit = match known {
        Ok(commit) => commit.as_ref(),
        Err(_) => None,
    };
    html! {
        @if let Some(commit) = commit { p { (Foreign(&commit.subject)) } }
        table.facts {
            tbody {
                tr { th scope="row" { "Hash" } td { code { (hash) } } }
                @if let Some(commit) = commit {
                    tr { th scope="row" { "Author" } td { (Foreign(&commit.author)) } }
                    tr {
                        th scope="row" { "Date" }
                        td { (Foreign(&commit.created)) }
                    }
                    @if commit.commit_position > 0 {
                        tr {
                            th scope="row" { "Position" }
                            td { (Foreign(&commit.commit_branch)) " " (commit.commit_position) }
                        }
                    }
                    tr { th scope="row" { "Repository" } td { (Foreign(&commit.repository)) } }
                    @if !commit.url.is_empty() {
                        tr { th scope="row" { "Source" } td { a href=(clean(&commit.url)) rel="noreferrer" { "Show the commit" } } }
                    }
                    @if !commit.review_url.is_empty() {
                        tr { th scope="row" { "Review" } td { a href=(clean(&commit.review_url)) rel="noreferrer" { (Foreign(&commit.review_url)) } } }
                    }
                }
            }
        }
        @if let Err(status) = known { p.soft { (Foreign(status.message())) } }
        @if let Some(commit) = commit && commit.message.trim() != commit.subject.trim() {
            details {
                summary { "Message" }
                pre { (clean(&commit.message)) }
            }
        }
    }
}

/// The part of the commit in the answer of a job.
fn role(job: &JobSummary, hash: &str) -> Markup {
    let answer = job.answer.as_ref().filter(|it| !it.git_hash.is_empty());
    html! {
        @match answer {
            Some(answer) if answer.git_hash.starts_with(hash) => span.tone.found { "Culprit" },
            Some(answer) => { "found " a href=(format!("/commits/{}", answer.git_hash)) { (short(&answer.git_hash)) } },
            None => "",
        }
    }
}

fn table(jobs: &[JobSummary], whole: &str) -> Markup {
    html! {
        @if jobs.is_empty() {
            p.empty { "No job has used this commit." }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Jobs" {
                table.jobs {
                    thead {
                        tr {
                            th scope="col" { "Job" }
                            th scope="col" { "Type" }
                            th scope="col" { "Status" }
                            th scope="col" { "This commit" }
                            th scope="col" { "Benchmark" }
                            th scope="col" { "Bot" }
                            th scope="col" { "User" }
                            th scope="col" { "Created" }
                        }
                    }
                    tbody {
                        @for job in jobs {
                            tr {
                                th scope="row" { a href=(format!("/jobs/{}", job.job_id)) { (Foreign(title(job))) } }
                                td { (kind(job)) }
                                td { (state(job)) }
                                td { (role(job, whole)) }
                                td { (Foreign(&job.benchmark)) }
                                td { (Foreign(&job.bot)) }
                                td { (Foreign(&job.user)) }
                                td { (ago(job.created.as_ref())) }
                            }
                        }
                    }
                }
            }
        }
    }
}
