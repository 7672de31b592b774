//! The API of Chromium's page: lists of jobs, try jobs, and choices for a form.

use pinpoint_backends::job::ScheduleRequest;
use pinpoint_backends::store::{
    JobFilter, JobId, JobSummary as StoredSummary, ListOrder, PagePosition,
};
use pinpoint_core::JobState;
use pinpoint_core::api::{
    CancelPinpointJobRequest, CancelPinpointJobResponse, CombinedCommit, Commit, CreateJobResponse,
    CreateTryJobRequest, GetBenchmarkInfoRequest, GetBenchmarkInfoResponse, GetCommitRequest,
    GetCommitResponse, GetPatchRequest, GetPatchResponse, GetUserInfoRequest, GetUserInfoResponse,
    JobStatus, JobSummary, JobType, ListBenchmarksRequest, ListBenchmarksResponse,
    ListBotConfigurationsRequest, ListBotConfigurationsResponse, ListRecentBuildsRequest,
    ListRecentBuildsResponse, Pagination, QueryJobListRequest, QueryJobListResponse,
    SchedulePairwiseRequest, Timestamp, VariantConfig,
};
use pinpoint_core::bots::Benchmark;
use tonic::{Request, Response, Status};

use super::services::pinpoint_gateway_server::PinpointGateway;
use crate::api::grpc::errors::{self, GrpcResult};
use crate::api::grpc::fields::filtered_user;
use crate::auth::caller::Context;
use crate::jobs::extra_args;
use crate::jobs::gerrit::NO_GERRIT;
use crate::state::Service;

/// The kinds of jobs that the page calls bisections.
const SEARCHES: [&str; 2] = ["bisection", "culprit_finder"];

/// Jobs of a page.
const PAGE: u32 = 25;

#[tonic::async_trait]
impl PinpointGateway for Service {
    async fn query_job_list(
        &self,
        request: Request<QueryJobListRequest>,
    ) -> GrpcResult<QueryJobListResponse> {
        let request = request.into_inner();
        let some = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let kinds: &[&str] = match JobType::try_from(request.job_type) {
            Ok(JobType::Unspecified) => &[],
            Ok(JobType::Try) => &["pairwise"],
            Ok(JobType::Bisect) => &SEARCHES,
            Err(_) => return Err(errors::field("job_type", "there is no such type of job")),
        };
        let filter = JobFilter {
            user: filtered_user("user", &request.user)?,
            bots: some(request.configuration)
                .map(|name| self.configured(name))
                .into_iter()
                .collect(),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            ..JobFilter::default()
        };
        let place = place(&request.pagination.unwrap_or_default())?;
        let page = self
            .store
            .jobs()
            .list(&filter, ListOrder::default(), &place, PAGE)
            .await
            .map_err(errors::store)?;
        // Of an empty page, no job leads to the others.
        let any = !page.jobs.is_empty();
        let (has_prev, has_next) = match place {
            PagePosition::First => (false, page.more),
            PagePosition::After(_) => (any, page.more),
            PagePosition::Before(_) => (page.more, any),
        };
        let cursor = |direction: &str, job: Option<&StoredSummary>, there: bool| match job {
            Some(job) if there => format!("{direction}{}", job.id),
            _ => String::new(),
        };
        let pagination = Pagination {
            prev_cursor: cursor(BEFORE, page.jobs.first(), has_prev),
            next_cursor: cursor(AFTER, page.jobs.last(), has_next),
            has_prev: Some(has_prev),
            has_next: Some(has_next),
        };
        Ok(Response::new(QueryJobListResponse {
            jobs: page.jobs.into_iter().map(summary).collect(),
            pagination: Some(pagination),
        }))
    }

    async fn get_user_info(
        &self,
        request: Request<GetUserInfoRequest>,
    ) -> GrpcResult<GetUserInfoResponse> {
        let caller = Context::from_extensions(request.extensions())?.caller()?;
        Ok(Response::new(GetUserInfoResponse {
            email: caller.user.clone(),
        }))
    }

    async fn list_bot_configurations(
        &self,
        _: Request<ListBotConfigurationsRequest>,
    ) -> GrpcResult<ListBotConfigurationsResponse> {
        let bots = self.usable_bots();
        Ok(Response::new(ListBotConfigurationsResponse {
            configurations: bots.map(|bot| bot.name.to_owned()).collect(),
        }))
    }

    async fn list_benchmarks(
        &self,
        _: Request<ListBenchmarksRequest>,
    ) -> GrpcResult<ListBenchmarksResponse> {
        Ok(Response::new(ListBenchmarksResponse {
            benchmarks: self.benchmark_names().map(str::to_owned).collect(),
        }))
    }

    async fn get_benchmark(
        &self,
        request: Request<GetBenchmarkInfoRequest>,
    ) -> GrpcResult<GetBenchmarkInfoResponse> {
        let name = request.into_inner().benchmark;
        Ok(Response::new(GetBenchmarkInfoResponse {
            stories: self.benchmark(&name)?.stories.clone(),
            benchmark: name,
            story_tags: Vec::new(),
        }))
    }

    /// Lists the builds in the journals of the bot's last jobs.
    async fn list_recent_builds(
        &self,
        request: Request<ListRecentBuildsRequest>,
    ) -> GrpcResult<ListRecentBuildsResponse> {
        let name = request.into_inner().configuration;
        let found = self.bots.get(name.trim());
        let bot = found.map_err(|error| Status::not_found(error.to_string()))?;
        let builds = self.recent_builds(&bot).await?;
        Ok(Response::new(ListRecentBuildsResponse { builds }))
    }

    async fn get_commit(
        &self,
        request: Request<GetCommitRequest>,
    ) -> GrpcResult<GetCommitResponse> {
        let commit = self.commit(&request.into_inner().commit).await?;
        Ok(Response::new(commit))
    }

    async fn get_patch(&self, request: Request<GetPatchRequest>) -> GrpcResult<GetPatchResponse> {
        let Some(gerrit) = &self.gerrit else {
            return Err(Status::failed_precondition(NO_GERRIT));
        };
        let patch = gerrit.patch(request.into_inner()).await?;
        Ok(Response::new(patch))
    }

    async fn create_try_job(
        &self,
        request: Request<CreateTryJobRequest>,
    ) -> GrpcResult<CreateJobResponse> {
        let (metadata, extensions, request) = request.into_parts();
        let (mut pairs, problems) = pairwise(request);
        if !problems.is_empty() {
            let others = ScheduleRequest::Pairwise(pairs).job(&self.bots).err();
            let others = others.map(errors::Problems::from);
            return Err(errors::fields(problems, others, name_in_try_job));
        }
        pairs.user_email = self.name_for(&extensions, &pairs.user_email).await?;
        let job_id = self
            .create_named(
                &metadata,
                &extensions,
                ScheduleRequest::Pairwise(pairs),
                name_in_try_job,
            )
            .await?;
        Ok(Response::new(CreateJobResponse { job_id }))
    }

    async fn cancel_job(
        &self,
        request: Request<CancelPinpointJobRequest>,
    ) -> GrpcResult<CancelPinpointJobResponse> {
        let (_, extensions, request) = request.into_parts();
        self.end(&extensions, &request.job_id, "").await?;
        Ok(Response::new(CancelPinpointJobResponse {}))
    }
}

impl Service {
    /// A benchmark, by its name.
    pub(super) fn benchmark(&self, name: &str) -> Result<&Benchmark, Status> {
        let found = self.bots.benchmarks().get(name);
        found.ok_or_else(|| Status::not_found(format!("there is no benchmark {name:?}")))
    }
}

fn summary(job: StoredSummary) -> JobSummary {
    JobSummary {
        job_id: job.id.to_string(),
        name: match job.name.is_empty() {
            true => job.title,
            false => job.name,
        },
        benchmark: job.benchmark,
        configuration: job.bot,
        story: job.story,
        job_type: match &*job.kind {
            "pairwise" => JobType::Try,
            kind if SEARCHES.contains(&kind) => JobType::Bisect,
            _ => JobType::Unspecified,
        } as i32,
        user: job.user,
        created: Timestamp::of_milliseconds(job.created),
        job_status: match job.state {
            JobState::Pending => JobStatus::Queued,
            JobState::Running => JobStatus::Running,
            JobState::Completed => JobStatus::Completed,
            JobState::Failed => JobStatus::Failed,
            JobState::Canceled => JobStatus::Cancelled,
            _ => JobStatus::Unspecified,
        } as i32,
        bug_id: job.bug,
    }
}

const AFTER: &str = "after-";
const BEFORE: &str = "before-";

fn place(pagination: &Pagination) -> Result<PagePosition, Status> {
    let unknown = |field| {
        errors::field(
            field,
            "this cursor is not of an earlier answer; leave it out to start from the first page",
        )
    };
    let id = |cursor: &str, direction| JobId::parse(cursor.strip_prefix(direction)?).ok();
    match (&*pagination.prev_cursor, &*pagination.next_cursor) {
        ("", "") => Ok(PagePosition::First),
        ("", next) => {
            let id = id(next, AFTER).ok_or_else(|| unknown("pagination.next_cursor"))?;
            Ok(PagePosition::After(id.into()))
        }
        (prev, "") => {
            let id = id(prev, BEFORE).ok_or_else(|| unknown("pagination.prev_cursor"))?;
            Ok(PagePosition::Before(id.into()))
        }
        _ => Err(errors::field(
            "pagination",
            "a page lies before or after another; give one cursor",
        )),
    }
}

/// The field of a try job that a field of its comparison comes from.
fn name_in_try_job(field: &str) -> String {
    let (first, rest) = field.split_once('.').unwrap_or((field, ""));
    let name = match (first, rest) {
        ("start_commit", _) => "base.commit",
        ("end_commit", _) => "experiment.commit",
        ("base_extra_args", _) => "base.extra_args",
        ("experiment_extra_args", _) => "experiment.extra_args",
        ("initial_attempt_count", _) => "attempt_count",
        ("user_email", _) => "user",
        _ => field,
    };
    name.to_owned()
}

/// The comparison that a try job asks for, and the fields that it can't express.
fn pairwise(request: CreateTryJobRequest) -> (SchedulePairwiseRequest, Vec<(String, String)>) {
    let CreateTryJobRequest {
        benchmark,
        configuration,
        story,
        story_tags,
        base,
        experiment,
        attempt_count,
        bug_id,
        user,
        job_name,
    } = request;
    let mut problems = Vec::new();
    let mut note = |field: &str, problem: &str| problems.push((field.into(), problem.into()));
    let mut attempts = attempt_count.to_string();
    if attempt_count <= 0 {
        note(
            "attempt_count",
            "give how many pairs of runs to make, 30 mostly",
        );
        attempts.clear();
    }
    let mut side = |field: &str, side: Option<VariantConfig>| {
        let Some(side) = side else {
            note(field, "this field is required");
            return (None, String::new());
        };
        if !side.patch.is_empty() {
            let problem = "a change from Gerrit can't be applied here: make the job with CreateJob of pinpoint.v2 (POST /api/v2/jobs)";
            note(&format!("{field}.patch"), problem);
        }
        let commit = CombinedCommit {
            main: Some(Commit {
                git_hash: side.commit,
                ..Commit::default()
            }),
            ..CombinedCommit::default()
        };
        let arguments = extra_args::in_one_line(&benchmark, &side.extra_args.unwrap_or_default());
        (Some(commit), arguments)
    };
    let (start_commit, base_extra_args) = side("base", base);
    let (end_commit, experiment_extra_args) = side("experiment", experiment);
    let request = SchedulePairwiseRequest {
        start_commit,
        end_commit,
        base_extra_args,
        experiment_extra_args,
        job_name: match job_name.trim() {
            "" => format!("Try job on {configuration}/{benchmark}"),
            name => name.to_owned(),
        },
        configuration,
        benchmark,
        story,
        story_tags,
        initial_attempt_count: attempts,
        bug_id: bug_id.map(|bug| bug.to_string()).unwrap_or_default(),
        user_email: user,
        ..SchedulePairwiseRequest::default()
    };
    (request, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_told_of_the_fields_that_were_sent() {
        for (field, expected) in [
            ("start_commit.main.git_hash", "base.commit"),
            ("end_commit", "experiment.commit"),
            ("experiment_extra_args", "experiment.extra_args"),
            ("configuration", "configuration"),
        ] {
            assert_eq!(name_in_try_job(field), expected);
        }
    }

    #[test]
    fn a_page_lies_before_or_after_another() {
        let cursors = |prev: &str, next: &str| {
            place(&Pagination {
                prev_cursor: prev.into(),
                next_cursor: next.into(),
                ..Pagination::default()
            })
        };
        let id = "0199f3c1a2b37f0e8d1c2b3a49586776";
        assert_eq!(cursors("", "").unwrap(), PagePosition::First);
        let job = JobId::parse(id).unwrap();
        assert_eq!(
            cursors("", &format!("after-{id}")).unwrap(),
            PagePosition::After(job.clone().into())
        );
        assert_eq!(
            cursors(&format!("before-{id}"), "").unwrap(),
            PagePosition::Before(job.into())
        );
        for (prev, next) in [("x", ""), ("", "before-1"), ("before-1", "after-1")] {
            assert!(cursors(prev, next).is_err());
        }
    }
}
