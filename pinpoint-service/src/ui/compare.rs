//! Two jobs side by side.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::Uri;
use maud::{Markup, html};
use pinpoint_backends::job::{spec_of, stored_result};
use pinpoint_backends::store::JobSummary;
use pinpoint_core::job::{JobResult, NamedChart};
use pinpoint_report::quantity::{count, duration};
use pinpoint_report::words::{repository_name, row};
use pinpoint_report::{Foreign, commit_page, of_result};
use tonic::{Code, Status};

use super::dates::{ago, at};
use super::frame::{self, Section};
use super::job::job_view_query::JobViewQuery;
use super::job::pairs::{ROWS, other_pages, verdict};
use super::job::{cannot_be_shown, kind, state, title};
use super::view::View;
use crate::api::grpc::errors;
use crate::api::grpc::v2::messages::{Commit, CompareJobsResponse, Job};
use crate::api::grpc::v2::show;
use crate::api::query::Query;
use crate::api::rest::Problem;
use crate::state::Service;

/// GET `/compare?jobs=a,b`. The form of a job gives the other one as `with`.
pub(super) async fn page(
    State(service): State<Service>,
    uri: Uri,
    view: View,
) -> Result<Response, Problem> {
    let asked = JobViewQuery::from_uri(&uri)?;
    if let Some(other) = Query::from_uri(&uri)?.take("with") {
        let both = JobViewQuery {
            jobs: format!("{},{other}", asked.jobs),
            ..asked
        };
        return Ok(Redirect::to(&both.address()).into_response());
    }
    let ids: Vec<&str> = asked.jobs.split(',').map(str::trim).collect();
    let [job_id, other_id] = ids[..] else {
        let problem = "give the ids of two jobs, separated by a comma";
        return Err(errors::field("jobs", problem).into());
    };
    let one = Compared::load(&service, job_id).await?;
    let other = Compared::load(&service, other_id).await?;
    let compared = show::side_by_side(one.shown.clone(), other.shown.clone());
    let both = [one, other];
    let main = html! {
        h1 { "Two jobs side by side" }
        (facts(&both))
        (culprits(&compared))
        (metrics(&asked, &compared, &both))
    };
    Ok(frame::page(&view, Section::Jobs, "Two jobs", &main))
}

/// One of the two jobs.
struct Compared {
    shown: Job,
    result: Option<JobResult>,
    /// Shown instead of the answer of a job that can't be read.
    problem: Option<Markup>,
}

impl Compared {
    async fn load(service: &Service, id: &str) -> Result<Self, Status> {
        let job = service.job(id, &[]).await?;
        let read = async {
            spec_of(&job)?;
            let shown = show::job(&service.store, &job).await?;
            Ok((shown, stored_result(&job)?))
        };
        match read.await.map_err(errors::job) {
            Ok((shown, result)) => Ok(Self {
                shown,
                result,
                problem: None,
            }),
            // Of a newer version, or damaged: the row of the store can still be shown.
            Err(status) if status.code() == Code::Internal => Ok(Self {
                shown: Job {
                    summary: Some(show::summary(&JobSummary::from(&job))),
                    ..Job::default()
                },
                result: None,
                problem: Some(cannot_be_shown(&job)),
            }),
            Err(status) => Err(status),
        }
    }

    fn answer(&self) -> Markup {
        html! {
            @match (&self.problem, &self.result) {
                (Some(problem), _) => (problem),
                (None, Some(result)) => (of_result(result).sentence),
                (None, None) => "No result yet.",
            }
        }
    }
}

fn facts(both: &[Compared; 2]) -> Markup {
    let summaries = both
        .each_ref()
        .map(|it| it.shown.summary.clone().unwrap_or_default());
    let each = |name: &str, of: &dyn Fn(usize) -> Markup| {
        html! { tr { th scope="row" { (name) } @for number in 0..2 { td { (of(number)) } } } }
    };
    html! {
        div.wide tabindex="0" role="region" aria-label="Both jobs" { table.both {
            thead { tr {
                td {}
                @for summary in &summaries {
                    th scope="col" { a href=(format!("/jobs/{}", summary.job_id)) { (Foreign(title(summary))) } }
                }
            } }
            tbody {
                (each("Answer", &|job| both[job].answer()))
                (each("State", &|job| state(&summaries[job])))
                (each("Type", &|job| html! { (kind(&summaries[job])) }))
                (each("Benchmark", &|job| html! { (Foreign(&summaries[job].benchmark)) }))
                (each("Bot", &|job| html! { (Foreign(&summaries[job].bot)) }))
                (each("User", &|job| html! { (Foreign(&summaries[job].user)) }))
                (each("Created", &|job| html! {
                    (at(summaries[job].created.as_ref())) ", " (ago(summaries[job].created.as_ref()))
                }))
                (each("Cost", &|job| html! {
                    (count(summaries[job].runs, "run")) ", " (count(summaries[job].builds, "build"))
                    @if let Some(seconds) = summaries[job].running_s { " in " (duration(seconds)) }
                }))
            }
        } }
    }
}

fn culprits(compared: &CompareJobsResponse) -> Markup {
    let name = |commit: &Commit| {
        let hash = commit.git_hash.get(..10).unwrap_or(&commit.git_hash);
        let shown = html! { code { (Foreign(hash)) } " " span.soft { (Foreign(&repository_name(&commit.repository))) } };
        match commit_page(&commit.repository, &commit.git_hash) {
            Some(page) => html! { a href=(page) rel="noreferrer" { (shown) } },
            None => shown,
        }
    };
    let parts = [
        ("Both found", &compared.both),
        ("Only the first found", &compared.only_job),
        ("Only the second found", &compared.only_other),
    ];
    html! {
        @if parts.iter().any(|(_, commits)| !commits.is_empty()) {
            h2 { "Culprits" }
            @for (words, commits) in parts {
                @if !commits.is_empty() {
                    h3 { (words) }
                    ul { @for commit in commits { li { (name(commit)) } } }
                }
            }
        }
    }
}

/// The metrics that a result compares, by name.
fn by_name(result: Option<&JobResult>) -> BTreeMap<String, NamedChart> {
    let charts = match result {
        Some(JobResult::Pairwise(result)) => result.charts.clone(),
        Some(JobResult::CulpritFinder(result)) => {
            let charts = result.verification.charts.iter();
            let named = charts.map(|comparison| NamedChart {
                unit: result.search.unit.clone(),
                comparison: comparison.clone(),
            });
            named.collect()
        }
        _ => Vec::new(),
    };
    let named = charts.into_iter();
    named
        .map(|chart| (chart.comparison.chart.clone(), chart))
        .collect()
}

fn metrics(asked: &JobViewQuery, compared: &CompareJobsResponse, both: &[Compared; 2]) -> Markup {
    let of = both.each_ref().map(|job| by_name(job.result.as_ref()));
    let charts = &compared.charts;
    let pages = charts.len().div_ceil(ROWS).max(1);
    let page = asked.page.min(pages);
    let cells = |chart: Option<&NamedChart>| {
        html! {
            @match chart {
                Some(chart) => {
                    @let [_, base, experiment, change, interval, _, p, _] = row(chart);
                    @let (word, tone, mark) = verdict(&chart.comparison);
                    @for cell in [base, experiment, change, interval, p] { td.number { (Foreign(&cell)) } }
                    td { span.verdict.(tone) { span aria-hidden="true" { (mark) " " } (word) } }
                }
                None => td colspan="6" { span.soft { "not compared" } },
            }
        }
    };
    html! {
        @if !charts.is_empty() {
            section #metrics aria-labelledby="metrics-title" {
                h2 #metrics-title { "Metrics" }
                div.wide tabindex="0" role="region" aria-label="Table of metrics" { table.metrics {
                    thead {
                        tr {
                            td {}
                            th scope="colgroup" colspan="6" { "First job" }
                            th scope="colgroup" colspan="6" { "Second job" }
                        }
                        tr {
                            th scope="col" { "Metric" }
                            @for _ in 0..2 {
                                @for name in ["Median of base", "Median of experiment", "Change in pairs", "95 % interval", "Adjusted p"] {
                                    th.number scope="col" { (name) }
                                }
                                th scope="col" { "Verdict" }
                            }
                        }
                    }
                    tbody {
                        @for chart in charts.iter().skip((page - 1) * ROWS).take(ROWS) {
                            tr {
                                th scope="row" { (Foreign(&pinpoint_report::text::name(&chart.chart))) }
                                @for of in &of { (cells(of.get(&chart.chart))) }
                            }
                        }
                    }
                } }
                @if pages > 1 { (other_pages(asked, page, pages)) }
            }
        }
    }
}
