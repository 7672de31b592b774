//! The bots, the jobs that wait for them, and the workers that serve them.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pinpoint_report::{Foreign, clean};

use super::dates::ago;
use super::frame::{self, Section};
use super::job::title;
use super::machines;
use super::view::View;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::{
    Bot, JobFilter, ListBotsRequest, ListJobsRequest, ListWorkersRequest, State as JobState, Worker,
};
use crate::api::rest::Problem;
use crate::state::Service;

/// The most jobs under way whose titles are looked up.
const MOST_TITLES: u32 = 500;

/// GET `/bots`.
pub(crate) async fn bots_page(
    State(service): State<Service>,
    view: View,
) -> Result<Response, Problem> {
    let listed = service.list_bots(view.call("pinpoint.v2.Pinpoint/ListBots", ListBotsRequest {}));
    let bots = listed.await?.into_inner().bots;
    let workers = workers_of(&service, &view).await?;
    let titles = titles(&service, &view).await?;
    let main = html! {
        h1 { "Bots" }
        p.soft { "A bot is a kind of machine, which the operator configures. Its workers run its jobs." }
        @if bots.is_empty() {
            p.empty { "No bots are configured. The operator lists the files that describe them in the configuration." }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Bots" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Bot" }
                            th scope="col" { "State" }
                            th.number scope="col" { "Pending" }
                            th scope="col" { "Workers" }
                            th scope="col" { "Current job" }
                            th scope="col" { "Last seen" }
                            th scope="col" { "Repository" }
                        }
                    }
                    tbody { @for bot in &bots { (bot_row(bot, &workers, &titles)) } }
                }
            }
        }
    };
    Ok(frame::page(&view, Section::Bots, "Bots", &main))
}

fn bot_row(bot: &Bot, workers: &[Worker], titles: &BTreeMap<String, String>) -> Markup {
    let configured = match &*bot.alias_of {
        "" => &*bot.name,
        other => other,
    };
    let serves = |worker: &&Worker| worker.bots.iter().any(|bot| bot == configured);
    let here: Vec<_> = workers
        .iter()
        .filter(serves)
        .filter(|it| !it.gone)
        .collect();
    let busy: Vec<_> = here.iter().filter(|it| !it.job_id.is_empty()).collect();
    let seen = workers.iter().filter(serves).filter_map(|it| it.seen);
    let seen = seen.max_by_key(|seen| (seen.seconds, seen.nanos));
    html! {
        tr {
            th scope="row" {
                a href=(jobs_of(configured, None)) { (Foreign(&bot.name)) }
                @if !bot.alias_of.is_empty() { " " span.soft { "alias of " (Foreign(&bot.alias_of)) } }
            }
            td {
                @if bot.out_of_resources {
                    span.tone.bad { "Takes no jobs" }
                } @else if here.is_empty() {
                    span.tone.bad { "No workers" }
                } @else if busy.is_empty() {
                    span.tone.good { "Idle" }
                } @else {
                    span.tone.open { "Working" }
                }
            }
            td.number {
                a href=(jobs_of(configured, Some("pending")))
                    aria-label=(format!("{} pending on {}", bot.pending, clean(&bot.name))) { (bot.pending) }
            }
            td { (names_of(&here)) }
            td { @for worker in busy { div { (job_link(&worker.job_id, titles)) } } }
            td { (ago(seen.as_ref())) }
            td { (Foreign(&bot.repository)) }
        }
    }
}

fn names_of(workers: &[&Worker]) -> Markup {
    html! {
        @for (at, worker) in workers.iter().enumerate() {
            @if at > 0 { ", " }
            a href="/workers" { (Foreign(&worker.name)) }
        }
    }
}

/// GET `/workers`.
pub(super) async fn workers(
    State(service): State<Service>,
    view: View,
) -> Result<Response, Problem> {
    let workers = workers_of(&service, &view).await?;
    let titles = titles(&service, &view).await?;
    let measured = service.caches.measured_jobs.noise(&service.store).await?;
    let main = html! {
        h1 { "Workers" }
        p.soft { "A worker runs the jobs of its bots, one at a time. A worker that is gone stays in the list for a week." }
        @if workers.is_empty() {
            p.empty { "No workers are running, so jobs wait. Start one on a machine with " code { "pinpoint worker" } "." }
        } @else {
            div.wide tabindex="0" role="region" aria-label="Workers" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Worker" }
                            th scope="col" { "Machine" }
                            th scope="col" { "State" }
                            th scope="col" { "Activity" }
                            th scope="col" { "Bots" }
                            th scope="col" { "Last seen" }
                            th scope="col" { "Started" }
                            th scope="col" { "Version" }
                        }
                    }
                    tbody { @for worker in &workers { (worker_row(worker, &titles)) } }
                }
            }
        }
        (machines::section(&workers, &measured))
    };
    Ok(frame::page(&view, Section::Workers, "Workers", &main))
}

fn worker_row(worker: &Worker, titles: &BTreeMap<String, String>) -> Markup {
    html! {
        tr {
            th scope="row" { (Foreign(&worker.name)) }
            td { (Foreign(&worker.machine)) }
            td {
                @if worker.gone {
                    span.tone.bad { "Gone" }
                } @else if worker.job_id.is_empty() {
                    span.tone.good { "Idle" }
                } @else {
                    span.tone.open { "Working" }
                }
            }
            td {
                @if !worker.gone {
                    @if !worker.job_id.is_empty() { div { (job_link(&worker.job_id, titles)) } }
                    div.soft { (Foreign(&worker.activity)) }
                }
            }
            td {
                @for bot in &worker.bots {
                    div {
                        (Foreign(bot)) " "
                        a href=(jobs_of(bot, Some("pending")))
                            aria-label=(format!("queue of {}", clean(bot))) { "queue" }
                    }
                }
            }
            td { (ago(worker.seen.as_ref())) }
            td { (ago(worker.started.as_ref())) }
            td { (Foreign(&worker.version)) }
        }
    }
}

fn job_link(id: &str, titles: &BTreeMap<String, String>) -> Markup {
    html! {
        a href=(format!("/jobs/{id}")) {
            @match titles.get(id) {
                Some(title) => (Foreign(title)),
                None => (Foreign(id)),
            }
        }
    }
}

/// The address of the list of a bot's jobs.
fn jobs_of(bot: &str, state: Option<&str>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("bot", bot);
    query.extend_pairs(state.map(|state| ("state", state)));
    format!("/?{}", query.finish())
}

async fn workers_of(service: &Service, view: &View) -> Result<Vec<Worker>, Problem> {
    let request = view.call("pinpoint.v2.Pinpoint/ListWorkers", ListWorkersRequest {});
    Ok(service.list_workers(request).await?.into_inner().workers)
}

/// The titles of jobs under way, by id.
async fn titles(service: &Service, view: &View) -> Result<BTreeMap<String, String>, Problem> {
    let request = ListJobsRequest {
        filter: Some(JobFilter {
            state: JobState::Running as i32,
            ..JobFilter::default()
        }),
        page_size: Some(MOST_TITLES),
        ..ListJobsRequest::default()
    };
    let listed = service.list_jobs(view.call("pinpoint.v2.Pinpoint/ListJobs", request));
    let jobs = listed.await?.into_inner().jobs;
    let jobs = jobs.into_iter();
    Ok(jobs
        .map(|job| (job.job_id.clone(), title(&job).to_owned()))
        .collect())
}
