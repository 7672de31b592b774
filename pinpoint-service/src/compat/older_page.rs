//! The paths of the page that Chromium's Pinpoint had before its RPCs: lists by offset, a job
//! in one piece, and names for a form. Their names and shapes are those of
//! `pinpoint/go/frontend/service` and `pinpoint/go/sql` of
//! <https://skia.googlesource.com/buildbot>, as Go writes them: fields that are not set are
//! there, too.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, Uri, header};
use pinpoint_backends::job::{JobError, spec_of, stored_result};
use pinpoint_backends::store::{Job, JobFilter, NameParts};
use pinpoint_core::api::{self, CombinedCommit, Timestamp, to_plain_json};
use pinpoint_core::job::JobResult;
use pinpoint_core::{
    Answers, ChartComparison, JobSpec, JobState, Position, Range, Report, Task, job::JobKind,
};
use serde_json::{Value, json};
use tonic::Status;
use uuid::Uuid;

use super::state_name;
use crate::api::grpc::errors;
use crate::api::query::{DAY, Query, day};
use crate::api::rest::Problem;
use crate::jobs::replays::replayed;
use crate::state::Service;
use crate::ui::bots::bots_page;
use crate::ui::view::View;
use crate::ui::wants_page;

type OlderPageResult = Result<Json<Value>, Problem>;

/// Jobs of a list, unless a request says.
const JOBS: u32 = 50;

/// The most jobs of a list.
const MOST_JOBS: u32 = 100;

/// The states of Buildbucket: a build that succeeded, and one that failed.
const BUILT: u32 = 12;
const NOT_BUILT: u32 = 20;

/// `/json/jobs/list`: summaries of jobs, newest first.
pub(super) async fn list(State(service): State<Service>, uri: Uri) -> OlderPageResult {
    let mut query = Query::from_uri(&uri)?;
    let (since, until) = days(&mut query)?;
    let limit = match number(&mut query, "limit")?.unwrap_or(0) {
        0 => JOBS,
        limit => u32::try_from(limit)
            .ok()
            .filter(|limit| *limit <= MOST_JOBS)
            .ok_or_else(|| {
                errors::field("limit", &format!("a list has at most {MOST_JOBS} jobs"))
            })?,
    };
    let offset = number(&mut query, "offset")?.unwrap_or(0);
    let mut part = |name| query.take(name).unwrap_or_default();
    let filter = JobFilter {
        since,
        until,
        parts: NameParts {
            name: part("search_term"),
            benchmark: part("benchmark"),
            bot: part("bot_name"),
            user: part("user"),
        },
        ..JobFilter::default()
    };
    let jobs = service
        .store
        .jobs()
        .list_skipping(&filter, offset, limit)
        .await;
    let jobs = jobs.map_err(errors::store)?.into_iter().map(|job| {
        json!({
            "job_id": job.id,
            "job_name": shown(job.name, &job.title),
            "job_type": kind_name(&job.kind),
            "benchmark": job.benchmark,
            "created_date": Timestamp::of_milliseconds(job.created),
            "job_status": state_name(job.state),
            "bot_name": job.bot,
            "user": job.user,
        })
    });
    Ok(Json(jobs.collect()))
}

/// `/json/job/{id}`: a whole job.
pub(super) async fn job(State(service): State<Service>, Path(id): Path<String>) -> OlderPageResult {
    let job = service.job(&id, &[]).await?;
    let shown = replayed(&service.store, job, |job, answers| whole(job, &answers));
    Ok(Json(shown.await?))
}

/// `/benchmarks`: those that a request can name.
pub(super) async fn benchmarks(State(service): State<Service>) -> Json<Value> {
    Json(service.benchmark_names().collect())
}

/// `/bots`: the page for browsers, and names for programs.
pub(super) async fn bots_or_page(
    State(service): State<Service>,
    uri: Uri,
    headers: HeaderMap,
    view: View,
) -> Response {
    let mut response = match wants_page(&headers) {
        true => bots_page(State(service), view).await.into_response(),
        false => bots(&service, &uri).into_response(),
    };
    let by_kind = HeaderValue::from_static("accept");
    response.headers_mut().append(header::VARY, by_kind);
    response
}

/// The bots that take jobs; with `benchmark`, jobs of this one.
fn bots(service: &Service, uri: &Uri) -> OlderPageResult {
    let name = Query::from_uri(uri)?.take("benchmark");
    let benchmark = name.map(|name| service.benchmark(&name)).transpose()?;
    let bots = service
        .usable_bots()
        .filter(|bot| benchmark.is_none_or(|benchmark| benchmark.is_run_on(bot)));
    Ok(Json(bots.map(|bot| bot.name).collect()))
}

/// `/results/jobid/{id}`: the address of a job.
pub(super) async fn elsewhere(Path(id): Path<String>) -> Response {
    match Uuid::parse_str(&id) {
        Ok(id) => Redirect::permanent(&format!("/jobs/{}", id.simple())).into_response(),
        Err(_) => Problem::path(&format!("/results/jobid/{id}")).into_response(),
    }
}

/// `/stories`: those of a benchmark.
pub(super) async fn stories(State(service): State<Service>, uri: Uri) -> OlderPageResult {
    let name = Query::from_uri(&uri)?
        .take("benchmark")
        .ok_or_else(|| errors::field("benchmark", "name the benchmark whose stories these are"))?;
    Ok(Json(json!(service.benchmark(&name)?.stories)))
}

/// A whole number, where the query has one.
fn number(query: &mut Query, name: &str) -> Result<Option<u64>, Status> {
    let Some(text) = query.take(name) else {
        return Ok(None);
    };
    let number = text.parse().map(Some);
    number.map_err(|_| errors::field(name, "it must be a non-negative integer"))
}

/// The beginning of the first day and the end of the last one, in milliseconds since 1970.
fn days(query: &mut Query) -> Result<(Option<i64>, Option<i64>), Status> {
    const NAMES: [&str; 2] = ["start_date", "end_date"];
    let day = |name, text: &str| {
        day(text).ok_or_else(|| errors::field(name, "enter the day as YYYY-MM-DD"))
    };
    match NAMES.map(|name| query.take(name)) {
        [None, None] => Ok((None, None)),
        [None, Some(_)] => Err(errors::field(NAMES[0], "give the first day, too")),
        [Some(_), None] => Err(errors::field(NAMES[1], "give the last day, too")),
        [Some(start), Some(end)] => {
            let (first, last) = (day(NAMES[0], &start)?, day(NAMES[1], &end)?);
            if first > last {
                return Err(errors::field(NAMES[0], "it is after the last day"));
            }
            Ok((Some(first), Some(last + DAY)))
        }
    }
}

fn shown(name: String, title: &str) -> String {
    match name.is_empty() {
        true => title.to_owned(),
        false => name,
    }
}

fn kind_name(kind: &str) -> &str {
    match kind.parse() {
        Ok(JobKind::Pairwise) => "Pairwise",
        Ok(JobKind::Bisection) => "Bisection",
        Ok(JobKind::CulpritFinder) => "CulpritFinder",
        _ => kind,
    }
}

fn whole(job: &Job, answers: &Answers) -> Result<Value, JobError> {
    let request = &job.config["request"];
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let ends = match spec_of(job)? {
        JobSpec::Pairwise(spec) => spec
            .sides
            .map(|sides| [sides.base.commit, sides.experiment.commit]),
        spec => spec.bisection().and_then(|spec| ends(spec.range.clone())),
    };
    let [start, end] = ends
        .map(|ends| ends.map(|commit| commit.main.git_hash))
        .unwrap_or_default();
    let result = stored_result(job)?.filter(|_| job.state == JobState::Completed);
    let is_pairwise = matches!(job.kind.parse(), Ok(JobKind::Pairwise));
    let minutes = job.duration.map(|duration| {
        let minutes = duration.saturating_add(30_000) / 60_000;
        minutes.to_string()
    });
    Ok(json!({
        "JobID": job.id,
        "JobName": shown(job.name.clone(), &job.title),
        "JobStatus": state_name(job.state),
        "JobType": kind_name(&job.kind),
        "SubmittedBy": job.user,
        "Benchmark": job.benchmark,
        "BotName": job.bot,
        "CreatedDate": Timestamp::of_milliseconds(job.created),
        "ErrorMessage": job.error.as_deref().unwrap_or_default(),
        "AdditionalRequestParameters": {
            "start_commit_githash": start,
            "end_commit_githash": end,
            "story": text("story"),
            "story_tags": text("storyTags"),
            "initial_attempt_count": text("initialAttemptCount"),
            "aggregation_method": text("aggregationMethod"),
            "target": text("target"),
            "project": text("project"),
            "bug_id": text("bugId"),
            "chart": text("chart"),
            "duration": minutes.unwrap_or_default(),
            "commit_runs": is_pairwise.then(|| json!({
                "left": side(job, answers, Position::Lower),
                "right": side(job, answers, Position::Higher),
            })),
        },
        "MetricSummary": result.as_ref().and_then(metric_summary),
    }))
}

fn ends(range: Range) -> Option<[pinpoint_core::CombinedCommit; 2]> {
    match range {
        Range::Between { good, bad } => Some([good, bad]),
        _ => None,
    }
}

/// A commit of a comparison: its build, and its runs in their order.
fn side(job: &Job, answers: &Answers, position: Position) -> Value {
    let built =
        answers
            .answers
            .iter()
            .rev()
            .find_map(|answer| match (&answer.task, &answer.report) {
                (Task::Build { commit, .. }, Report::Built(report)) if *commit == position => {
                    Some(report)
                }
                _ => None,
            });
    let build = built.map(|report| {
        let commit = CombinedCommit::try_from(&report.commit).ok();
        json!({
            "WorkflowID": job.id,
            "Commit": commit.and_then(|commit| to_plain_json(&commit).ok()),
            "Device": job.bot,
            "Target": job.config["request"]["target"],
            "Patch": null,
            "Project": job.config["request"]["project"],
            "ID": 0,
            "Status": if report.failure.is_none() { BUILT } else { NOT_BUILT },
            "CAS": null,
        })
    });
    let runs = answers.answers.iter().flat_map(api::runs_of);
    let runs = runs.filter(|run| run.commit == position).map(|run| {
        json!({
            "TaskID": "",
            "Status": if run.failure.is_none() { "COMPLETED" } else { "BENCHMARK_FAILURE" },
            "CAS": null,
            "Values": run.values,
        })
    });
    let runs: Vec<_> = runs.collect();
    json!({ "Build": build, "Runs": runs })
}

/// The Wilcoxon test of each chart that was compared in pairs.
fn metric_summary(result: &JobResult) -> Option<Value> {
    let charts: Vec<&ChartComparison> = match result {
        JobResult::Pairwise(result) => result.charts.iter().map(|it| &it.comparison).collect(),
        JobResult::CulpritFinder(result) => result.verification.charts.iter().collect(),
        _ => return None,
    };
    let summaries = charts.into_iter().filter_map(|chart| {
        let compared = chart.comparison.as_ref()?;
        let compared = api::pairwise_execution::WilcoxonResult::of(compared);
        let summary = json!({
            "p_value": compared.p_value,
            "confidence_interval_lower": compared.confidence_interval_lower,
            "confidence_interval_higher": compared.confidence_interval_higher,
            "control_median": compared.control_median,
            "treatment_median": compared.treatment_median,
            "significant": compared.significant,
        });
        Some((chart.chart.clone(), summary))
    });
    Some(Value::Object(summaries.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<Query, Status> {
        Query::from_uri(&format!("/json/jobs/list?{text}").parse().unwrap())
    }

    #[test]
    fn both_days_are_given_or_neither_and_the_last_one_is_included() {
        let days = |text: &str| days(&mut query(text).unwrap());
        assert_eq!(days("").unwrap(), (None, None));
        assert_eq!(days("start_date=&end_date=").unwrap(), (None, None));
        let found = days("start_date=2024-02-29&end_date=2024-02-29").unwrap();
        let begin = 1_709_164_800_000;
        assert_eq!(found, (Some(begin), Some(begin + DAY)));
        for bad in [
            "start_date=2024-02-29",
            "end_date=2024-02-29",
            "start_date=2024-03-01&end_date=2024-02-29",
            "start_date=2024-02-30&end_date=2024-03-30",
            "start_date=24-02-03&end_date=2024-03-30",
            "start_date=2024-2-3&end_date=2024-03-30",
            "start_date=2024-02-03T00&end_date=2024-03-30",
            "start_date=%2B024-02-03&end_date=2024-03-30",
        ] {
            assert!(days(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_whole() {
        let mut read = query("limit=7&offset=x").unwrap();
        assert_eq!(number(&mut read, "limit").unwrap(), Some(7));
        assert!(number(&mut read, "offset").is_err());
        assert_eq!(number(&mut read, "page").unwrap(), None);
    }
}
