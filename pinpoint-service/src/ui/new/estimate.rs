//! What a job will cost: runs, builds, hours and certainty, and who waits before it.

use std::time::Duration;

use maud::{Markup, html};
use pinpoint_backends::store::{JobFilter, Order, Place};
use pinpoint_core::JobState;
use pinpoint_report::Foreign;
use pinpoint_report::quantity::{change, count, duration, quantity};
use tonic::{Code, Status};

use super::typed::Typed;
use crate::Service;
use crate::grpc::errors;
use crate::grpc::v2::messages::create_job_request::Question;
use crate::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::grpc::v2::messages::plan_job_request::Noise;
use crate::grpc::v2::messages::{
    Bisection, CreateJobRequest, ListBotsRequest, Magnitude, PlanJobRequest, PlanJobResponse,
    magnitude,
};
use crate::grpc::v2::plan::MOST_RUNS;
use crate::ui::problems::sentence;
use crate::ui::view::View;

/// The scatter of runs where nothing is known of it, in percent.
const ASSUMED_NOISE: f64 = 1.0;

/// The change, in percent, that stands for one in a unit whose noise is not known.
const ASSUMED_CHANGE: f64 = 5.0;

/// Where the noise comes from, unless it is assumed.
const ENTERED: &str = "as entered";
const SIMILAR: &str = "as in the last similar job";

/// The newest jobs among which one like it is looked for.
const JOBS: u32 = 20;

/// The longest that a page waits for its estimate.
const PATIENCE: Duration = Duration::from_secs(20);

/// A job of the same benchmark, story and bot that has ended.
struct Earlier {
    id: String,
    /// Seconds of one run, builds included.
    seconds: Option<f64>,
}

/// What the job costs that is typed, as far as it is.
pub(super) async fn shown(service: &Service, view: &View, typed: &Typed) -> Markup {
    let problem = |text: &str| html! { p.error { (Foreign(&sentence(text))) } };
    match tokio::time::timeout(PATIENCE, estimate(service, view, typed)).await {
        Ok(Ok(estimate)) => estimate,
        Ok(Err(status)) => problem(status.message()),
        Err(_) => problem(
            "The estimate takes too long. It is faster for one size of change: enter the smallest \
             change worth finding.",
        ),
    }
}

async fn estimate(service: &Service, view: &View, typed: &Typed) -> Result<Markup, Status> {
    let (request, _) = typed.request(service.gerrit_hosts());
    let earlier = earlier(service, &request).await?;
    let per_run = earlier.as_ref().and_then(|job| job.seconds);
    let cost = match &request.question {
        Some(Question::Pairwise(pairs)) => of_pairs(pairs.pairs, per_run),
        Some(Question::Bisection(search)) => {
            searched(service, view, typed, &request, search, earlier.as_ref()).await?
        }
        Some(Question::CulpritFinder(finder)) => {
            let search = finder.bisection.clone().unwrap_or_default();
            let runs = 2 * u64::from(finder.pairs.unwrap_or_default());
            html! {
                (searched(service, view, typed, &request, &search, earlier.as_ref()).await?)
                p { "Plus " (count(runs, "run")) " to compare the ends, and as many for each culprit." }
            }
        }
        None => html! {},
    };
    let queue = queue(service, view, &request.bot).await?;
    Ok(html! {
        (cost)
        @if per_run.is_some() {
            p.soft { "Times are based on the last similar job, builds included." }
        }
        (queue)
    })
}

fn of_pairs(pairs: Option<u32>, per_run: Option<f64>) -> Markup {
    let runs = 2 * u64::from(pairs.unwrap_or_default());
    html! {
        p {
            (count(runs, "run")) " and 2 builds"
            @if let Some(seconds) = per_run { ", about " (duration(seconds * runs as f64)) }
            "."
        }
    }
}

async fn searched(
    service: &Service,
    view: &View,
    typed: &Typed,
    request: &CreateJobRequest,
    search: &Bisection,
    earlier: Option<&Earlier>,
) -> Result<Markup, Status> {
    let Some(commits) = commits(service, typed, request, search).await else {
        return Ok(html! {
            p.soft {
                "To see an estimate, enter both ends, or the number of commits between them."
            }
        });
    };
    if commits == 0 {
        return Ok(html! {
            p.soft { "No commit lies between the ends, so only the bad one can be the culprit." }
        });
    }
    let typed_noise = typed
        .noise()
        .map_err(|problem| errors::field("noise", &problem))?;
    // Noise that is assumed is in percent, which a size in the metric's unit does not fit.
    let is_absolute = matches!(
        search.magnitude,
        Some(Magnitude {
            size: Some(magnitude::Size::Absolute(_))
        })
    );
    let percent = |size| Magnitude {
        size: Some(magnitude::Size::Percent(size)),
    };
    let plan = async |noise: Noise, is_assumed: bool| {
        let request = PlanJobRequest {
            // The bad end may be the culprit, too.
            commits: commits.saturating_add(1),
            strategy: search.strategy,
            confidence: search.confidence,
            magnitude: match is_assumed && is_absolute {
                true => Some(percent(ASSUMED_CHANGE)),
                false => search.magnitude,
            },
            direction: request.direction,
            attempts: search.attempts,
            build_cost: search.build_cost,
            max_runs: search.max_runs.map(|runs| runs.min(MOST_RUNS)),
            max_builds: search.max_builds,
            seed: search.seed,
            noise: Some(noise),
        };
        let request = view.call("pinpoint.v2.Pinpoint/PlanJob", request);
        Ok::<_, Status>(service.plan_job(request).await?.into_inner())
    };
    let assumed = Noise::Scatter(percent(ASSUMED_NOISE));
    let (planned, source) = match (typed_noise, earlier) {
        (Some(noise), _) => (plan(Noise::Scatter(noise), false).await?, ENTERED),
        (None, Some(job)) => match plan(Noise::JobId(job.id.clone()), false).await {
            // Its runs may be too few, or have failed.
            Err(status) if status.code() == Code::InvalidArgument => (
                plan(assumed, true).await?,
                "assumed: the last similar job has too few usable runs",
            ),
            planned => (planned?, SIMILAR),
        },
        (None, None) => (
            plan(assumed, true).await?,
            "assumed: no similar job has finished yet",
        ),
    };
    let per_run = earlier.and_then(|job| job.seconds);
    let is_assumed = ![ENTERED, SIMILAR].contains(&source);
    Ok(html! {
        (table(&planned, commits, source, per_run))
        @if is_assumed && is_absolute {
            p.soft {
                "The smallest change worth finding is in the metric’s unit. Enter the noise in it, too: "
                "until then, a change of " (ASSUMED_CHANGE) " % stands for it."
            }
        }
        @if search.max_runs.is_some_and(|runs| runs > MOST_RUNS) {
            p.soft { "Simulated with " (MOST_RUNS) " runs at most." }
        }
    })
}

/// Typed, or counted in the mirror.
async fn commits(
    service: &Service,
    typed: &Typed,
    request: &CreateJobRequest,
    search: &Bisection,
) -> Option<u64> {
    if let Some(commits) = typed.commits() {
        return Some(commits);
    }
    let bot = service.bots.get(&request.bot).ok()?;
    let (mirrors, repository) = (service.commits.as_ref()?, bot.repository?);
    if search.good.is_empty() || search.bad.is_empty() {
        return None;
    }
    let (good, bad) = tokio::join!(
        service.full_hash(&bot, &search.good),
        service.full_hash(&bot, &search.bad)
    );
    let (good, bad) = (good.ok()?.ok()?, bad.ok()?.ok()?);
    mirrors.count_between(repository, &good, &bad).await
}

fn table(plan: &PlanJobResponse, commits: u64, source: &str, per_run: Option<f64>) -> Markup {
    let unit = Some(&*plan.unit).filter(|unit| !unit.is_empty());
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    html! {
        p {
            (count(commits, "commit")) " between the ends; noise between runs: "
            (quantity(plan.noise, unit)) " (" (source) ")."
        }
        div.wide tabindex="0" role="region" aria-label="Cost of the search" {
            table {
                thead {
                    tr {
                        th scope="col" { "Change" }
                        th.number scope="col" { "Runs" }
                        th.number scope="col" { "Builds" }
                        @if per_run.is_some() { th.number scope="col" { "Time" } }
                        th.number scope="col" { "Correct result" }
                    }
                }
                tbody {
                    @for row in &plan.estimates {
                        tr {
                            th scope="row" {
                                @match row.change {
                                    Some(size) => (change(size, unit)),
                                    None => "none",
                                }
                            }
                            td.number { (format!("{:.0}", row.runs)) " (" (row.most_runs) " at most)" }
                            td.number { (format!("{:.0}", row.builds)) " (" (row.most_builds) " at most)" }
                            @if let Some(seconds) = per_run {
                                td.number { (duration(seconds * row.runs)) }
                            }
                            td.number { (percent(row.right)) }
                        }
                    }
                }
            }
        }
        p.soft { "Simulated. 95 of 100 searches stay within “at most”." }
    }
}

async fn queue(service: &Service, view: &View, bot: &str) -> Result<Markup, Status> {
    let request = view.call("pinpoint.v2.Pinpoint/ListBots", ListBotsRequest {});
    let listed = service.list_bots(request).await?.into_inner();
    let Some(bot) = listed.bots.into_iter().find(|it| it.name == bot) else {
        return Ok(html! {});
    };
    Ok(html! {
        p {
            (Foreign(&bot.name)) ": "
            @match bot.pending {
                0 => "queue empty, ",
                pending => { (count(pending, "job")) " in the queue, " },
            }
            @match u64::from(bot.workers) {
                0 => "no worker is online",
                workers => (count(workers, "worker")),
            }
            "."
        }
    })
}

async fn earlier(service: &Service, request: &CreateJobRequest) -> Result<Option<Earlier>, Status> {
    let Ok(bot) = service.bots.get(&request.bot) else {
        return Ok(None);
    };
    let filter = JobFilter {
        benchmark: Some(request.benchmark.clone()),
        bots: vec![bot.configured_as.to_owned()],
        state: Some(JobState::Completed),
        ..JobFilter::default()
    };
    let order = Order::default();
    let listed = service
        .store
        .list(&filter, order, &Place::First, JOBS)
        .await;
    let mut jobs = listed.map_err(errors::store)?.jobs.into_iter();
    let alike = jobs.find(|job| job.story == request.story);
    Ok(alike.map(|job| Earlier {
        seconds: job
            .duration
            .filter(|_| job.runs > 0)
            .map(|milliseconds| milliseconds as f64 / 1000.0 / job.runs as f64),
        id: job.id.to_string(),
    }))
}
