//! The cost of a job: runs, builds, hours and certainty, and the jobs that wait before it.

use std::time::Duration;

use maud::{Markup, html};
use pinpoint_backends::store::{JobFilter, ListOrder, PagePosition};
use pinpoint_core::JobState;
use pinpoint_report::Foreign;
use pinpoint_report::quantity::{change, count, duration, quantity};
use tonic::{Code, Status};

use super::typed::Typed;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::create_job_request::Question;
use crate::api::grpc::v2::messages::pinpoint_server::Pinpoint;
use crate::api::grpc::v2::messages::plan_job_request::Noise;
use crate::api::grpc::v2::messages::{
    Bisection, CreateJobRequest, Kind, ListBotsRequest, Magnitude, Pairwise, PlanEstimate,
    PlanJobRequest, PlanJobResponse, magnitude,
};
use crate::api::grpc::v2::plan::MOST_RUNS;
use crate::state::Service;
use crate::ui::problems::sentence;
use crate::ui::view::View;

/// The assumed scatter of runs, in percent.
const ASSUMED_NOISE: f64 = 1.0;

/// The change, in percent, that replaces one in a unit whose noise is not known.
const ASSUMED_CHANGE: f64 = 5.0;

/// The source of the noise, unless it is assumed.
const ENTERED: &str = "as entered";
const SIMILAR: &str = "as in the last similar job";

/// The newest jobs among which a similar one is looked for.
const JOBS: u32 = 20;

/// The longest that a page waits for its estimate.
const ESTIMATE_TIMEOUT: Duration = Duration::from_secs(55);

/// A job of the same benchmark, story and bot that has ended.
struct Earlier {
    id: String,
    /// Seconds of one run, builds included.
    seconds: Option<f64>,
}

/// The estimate of the typed job, as far as it can be made.
pub(super) async fn shown(service: &Service, view: &View, typed: &Typed) -> Markup {
    let problem = |text: &str| html! { p.error { (Foreign(&sentence(text))) } };
    match tokio::time::timeout(ESTIMATE_TIMEOUT, estimate(service, view, typed)).await {
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
        Some(Question::Pairwise(pairs)) => {
            let change = typed.change();
            let plan = PlanJobRequest {
                kind: Kind::Pairwise as i32,
                pairs: pairs.pairs,
                early_stopping: pairs.early_stopping,
                direction: request.direction,
                seed: pairs.seed,
                magnitude: change.map_err(|problem| errors::field("magnitude", &problem))?,
                ..PlanJobRequest::default()
            };
            let planned = plan_with_noise(service, view, typed, plan, earlier.as_ref()).await?;
            of_pairs(&planned, pairs, per_run)
        }
        Some(Question::Bisection(search)) => {
            let plan = of_search(Kind::Bisection, search, request.direction);
            searched(
                service,
                view,
                typed,
                &request,
                plan,
                search,
                earlier.as_ref(),
            )
            .await?
        }
        Some(Question::CulpritFinder(finder)) => {
            let search = finder.bisection.clone().unwrap_or_default();
            let plan = PlanJobRequest {
                pairs: finder.pairs,
                ..of_search(Kind::CulpritFinder, &search, request.direction)
            };
            searched(
                service,
                view,
                typed,
                &request,
                plan,
                &search,
                earlier.as_ref(),
            )
            .await?
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

/// The plan of a search whose commits and noise are not known yet.
fn of_search(kind: Kind, search: &Bisection, direction: i32) -> PlanJobRequest {
    PlanJobRequest {
        kind: kind as i32,
        strategy: search.strategy,
        confidence: search.confidence,
        magnitude: search.magnitude,
        direction,
        attempts: search.attempts,
        build_cost: search.build_cost,
        max_runs: search.max_runs.map(|runs| runs.min(MOST_RUNS)),
        max_builds: search.max_builds,
        seed: search.seed,
        ..PlanJobRequest::default()
    }
}

async fn searched(
    service: &Service,
    view: &View,
    typed: &Typed,
    request: &CreateJobRequest,
    plan: PlanJobRequest,
    search: &Bisection,
    earlier: Option<&Earlier>,
) -> Result<Markup, Status> {
    let Some(commits) = commits(service, typed, request, search).await else {
        let has_ends = !search.good.is_empty() && !search.bad.is_empty();
        return Ok(html! {
            p.soft {
                @if has_ends {
                    "The commits between the ends can’t be counted here at the moment. To see an \
                     estimate, enter their number."
                } @else {
                    "To see an estimate, enter both ends, or the number of commits between them."
                }
            }
        });
    };
    if commits == 0 {
        return Ok(html! {
            p.soft { "No commit lies between the ends, so only the bad one can be the culprit." }
        });
    }
    let verifies = plan.kind() == Kind::CulpritFinder;
    let plan = PlanJobRequest {
        // The bad end may be the culprit, too.
        commits: commits.saturating_add(1),
        ..plan
    };
    let planned = plan_with_noise(service, view, typed, plan, earlier).await?;
    let per_run = earlier.and_then(|job| job.seconds);
    let percent = |row: &PlanEstimate| share(row.right);
    Ok(html! {
        p {
            (count(commits, "commit")) " between the ends; noise between runs: " (planned.noise()) "."
        }
        (table(&planned.plan, "Correct result", &percent, true, per_run))
        p.soft {
            "Simulated. 95 of 100 searches stay within “at most”."
            @if verifies { " Runs include the comparisons of the ends and of each culprit." }
        }
        (planned.stand_in())
        @if let Some(runs) = planned.plan.simulated_runs {
            p.soft {
                "Simulated with " (runs) " runs at most, since the whole takes too long. Enter the \
                 smallest change worth finding for an exact estimate."
            }
        } @else if search.max_runs.is_some_and(|runs| runs > MOST_RUNS) {
            p.soft { "Simulated with " (MOST_RUNS) " runs at most." }
        }
    })
}

fn of_pairs(planned: &Planned, pairs: &Pairwise, per_run: Option<f64>) -> Markup {
    let runs = 2 * u64::from(pairs.pairs.unwrap_or_default());
    let found = |row: &PlanEstimate| match row.change {
        Some(_) => share(row.right),
        None => format!("{} (false alarm)", share(1.0 - row.right)),
    };
    html! {
        p {
            (count(runs, "run")) " and 2 builds"
            @if let Some(seconds) = per_run { ", about " (duration(seconds * runs as f64)) }
            @if pairs.early_stopping { " at most" }
            ". Noise between runs: " (planned.noise()) "."
        }
        (table(&planned.plan, "Difference found", &found, pairs.early_stopping, per_run))
        p.soft {
            "Simulated for one metric, with pairs whose runs differ as much as any two runs. Where the "
            "two runs of a pair are closer to each other, smaller changes are found."
        }
        (planned.stand_in())
    }
}

/// A plan, and the noise that it uses.
struct Planned {
    plan: PlanJobResponse,
    /// The source of the noise.
    source: &'static str,
    /// The noise is assumed, in percent, and so is the change, whose own unit does not fit.
    has_stand_in: bool,
}

impl Planned {
    fn noise(&self) -> Markup {
        html! { (quantity(self.plan.noise, unit_of(&self.plan))) " (" (self.source) ")" }
    }

    fn stand_in(&self) -> Markup {
        html! {
            @if self.has_stand_in {
                p.soft {
                    "The change to find is in the metric’s unit. Enter the noise in it, too: "
                    "until then, a change of " (ASSUMED_CHANGE) " % stands for it."
                }
            }
        }
    }
}

/// Makes the plan with typed noise, that of an earlier job, or assumed noise.
async fn plan_with_noise(
    service: &Service,
    view: &View,
    typed: &Typed,
    plan: PlanJobRequest,
    earlier: Option<&Earlier>,
) -> Result<Planned, Status> {
    let typed_noise = typed
        .noise()
        .map_err(|problem| errors::field("noise", &problem))?;
    // Assumed noise is in percent, which a size in the metric's unit does not fit.
    let is_absolute = matches!(
        plan.magnitude,
        Some(Magnitude {
            size: Some(magnitude::Size::Absolute(_))
        })
    );
    let percent = |size| Magnitude {
        size: Some(magnitude::Size::Percent(size)),
    };
    let with = async |noise: Noise, source: &'static str| {
        let has_stand_in = is_absolute && ![ENTERED, SIMILAR].contains(&source);
        let request = PlanJobRequest {
            magnitude: match has_stand_in {
                true => Some(percent(ASSUMED_CHANGE)),
                false => plan.magnitude,
            },
            noise: Some(noise),
            ..plan.clone()
        };
        let request = view.call("pinpoint.v2.Pinpoint/PlanJob", request);
        Ok::<_, Status>(Planned {
            plan: service.plan_job(request).await?.into_inner(),
            source,
            has_stand_in,
        })
    };
    let assumed = Noise::Scatter(percent(ASSUMED_NOISE));
    match (typed_noise, earlier) {
        (Some(noise), _) => with(Noise::Scatter(noise), ENTERED).await,
        (None, Some(job)) => match with(Noise::JobId(job.id.clone()), SIMILAR).await {
            // Its runs may be too few, or have failed.
            Err(status) if status.code() == Code::InvalidArgument => {
                let source = "assumed: the last similar job has too few usable runs";
                with(assumed, source).await
            }
            planned => planned,
        },
        (None, None) => with(assumed, "assumed: no similar job has finished yet").await,
    }
}

/// The number of commits, typed or counted in the mirror.
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

fn unit_of(plan: &PlanJobResponse) -> Option<&str> {
    Some(&*plan.unit).filter(|unit| !unit.is_empty())
}

fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A row for each size of change. The last column is the certainty of the answer; runs and builds
/// are shown where they vary.
fn table(
    plan: &PlanJobResponse,
    title: &str,
    certainty: &dyn Fn(&PlanEstimate) -> String,
    varies: bool,
    per_run: Option<f64>,
) -> Markup {
    let unit = unit_of(plan);
    let per_run = per_run.filter(|_| varies);
    html! {
        div.wide tabindex="0" role="region" aria-label="Cost and certainty of the job" {
            table {
                thead {
                    tr {
                        th scope="col" { "Change" }
                        @if varies {
                            th.number scope="col" { "Runs" }
                            th.number scope="col" { "Builds" }
                        }
                        @if per_run.is_some() { th.number scope="col" { "Time" } }
                        th.number scope="col" { (title) }
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
                            @if varies {
                                td.number { (format!("{:.0}", row.runs)) " (" (row.most_runs) " at most)" }
                                td.number { (format!("{:.0}", row.builds)) " (" (row.most_builds) " at most)" }
                            }
                            @if let Some(seconds) = per_run {
                                td.number { (duration(seconds * row.runs)) }
                            }
                            td.number { (certainty(row)) }
                        }
                    }
                }
            }
        }
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
    let order = ListOrder::default();
    let listed = service
        .store
        .jobs()
        .list(&filter, order, &PagePosition::First, JOBS)
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
