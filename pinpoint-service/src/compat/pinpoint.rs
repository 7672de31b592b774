//! The service `pinpoint.v1.Pinpoint`: jobs are made, asked for and ended.

use pinpoint_backends::job::{ScheduleRequest, stored_result};
use pinpoint_backends::local::CommitName;
use pinpoint_core::JobState;
use pinpoint_core::api::{
    BisectExecution, CancelJobRequest, CancelJobResponse, CulpritFinderExecution, LegacyJobRequest,
    LegacyJobResponse, PairwiseExecution, PairwiseJobStatus, QueryBisectRequest,
    QueryPairwiseRequest, QueryPairwiseResponse, ScheduleBisectRequest,
    ScheduleCulpritFinderRequest, SchedulePairwiseRequest,
};
use pinpoint_core::bots::Workers;
use pinpoint_core::job::JobResult;
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Request, Response, Status};

use super::services::pinpoint_server::Pinpoint;
use super::{legacy_query, state_name};
use crate::api::grpc::errors::{self, GrpcResult};
use crate::api::grpc::fields::title;
use crate::jobs::replays::replayed;
use crate::jobs::resolve::no_commit;
use crate::state::Service;

#[tonic::async_trait]
impl Pinpoint for Service {
    async fn schedule_bisection(
        &self,
        request: Request<ScheduleBisectRequest>,
    ) -> GrpcResult<BisectExecution> {
        let (metadata, extensions, mut request) = request.into_parts();
        request.user = self.name_for(&extensions, &request.user).await?;
        let job_id = self
            .create(&metadata, &extensions, ScheduleRequest::Bisection(request))
            .await?;
        Ok(Response::new(BisectExecution {
            job_id,
            ..BisectExecution::default()
        }))
    }

    async fn query_bisection(
        &self,
        request: Request<QueryBisectRequest>,
    ) -> GrpcResult<BisectExecution> {
        let job = self
            .job(&request.get_ref().job_id, &["bisection", "culprit_finder"])
            .await?;
        let found = match stored_result(&job).map_err(errors::job)? {
            Some(JobResult::Bisection(result)) => BisectExecution::try_from(&result),
            Some(JobResult::CulpritFinder(result)) => BisectExecution::try_from(&result.search),
            // While a search runs it has no culprits.
            _ => Ok(BisectExecution::default()),
        };
        let execution = found.map_err(|error| Status::unimplemented(error.to_string()))?;
        Ok(Response::new(BisectExecution {
            job_id: job.id.to_string(),
            ..execution
        }))
    }

    async fn schedule_pairwise(
        &self,
        request: Request<SchedulePairwiseRequest>,
    ) -> GrpcResult<PairwiseExecution> {
        let (metadata, extensions, mut request) = request.into_parts();
        request.user_email = self.name_for(&extensions, &request.user_email).await?;
        let job_id = self
            .create(&metadata, &extensions, ScheduleRequest::Pairwise(request))
            .await?;
        Ok(Response::new(PairwiseExecution {
            job_id,
            ..PairwiseExecution::default()
        }))
    }

    async fn query_pairwise(
        &self,
        request: Request<QueryPairwiseRequest>,
    ) -> GrpcResult<QueryPairwiseResponse> {
        let job = self.job(&request.get_ref().job_id, &["pairwise"]).await?;
        let execution = match stored_result(&job).map_err(errors::job)? {
            Some(JobResult::Pairwise(result)) => Some(PairwiseExecution::from(&result)),
            _ => None,
        };
        let execution = execution.filter(|_| job.state == JobState::Completed);
        Ok(Response::new(QueryPairwiseResponse {
            status: PairwiseJobStatus::from(job.state) as i32,
            execution,
        }))
    }

    async fn schedule_culprit_finder(
        &self,
        request: Request<ScheduleCulpritFinderRequest>,
    ) -> GrpcResult<CulpritFinderExecution> {
        let (metadata, extensions, request) = request.into_parts();
        let job_id = self
            .create(
                &metadata,
                &extensions,
                ScheduleRequest::CulpritFinder(request),
            )
            .await?;
        Ok(Response::new(CulpritFinderExecution {
            job_id,
            ..CulpritFinderExecution::default()
        }))
    }

    /// Returns the current state of the job: it may take a while to end.
    async fn cancel_job(
        &self,
        request: Request<CancelJobRequest>,
    ) -> GrpcResult<CancelJobResponse> {
        let (_, extensions, request) = request.into_parts();
        let (job_id, state) = self
            .end(&extensions, &request.job_id, &request.reason)
            .await?;
        Ok(Response::new(CancelJobResponse {
            job_id,
            state: state_name(state).into(),
        }))
    }

    async fn legacy_job_query(
        &self,
        request: Request<LegacyJobRequest>,
    ) -> GrpcResult<LegacyJobResponse> {
        let job = self.job(&request.get_ref().job_id, &[]).await?;
        let target = self.bots.target(&job.bot, &job.benchmark);
        let target = target.unwrap_or_default().to_owned();
        let shown = replayed(&self.store, job, move |job, answers| {
            legacy_query::response(job, &answers, &target)
        })
        .await?;
        Ok(Response::new(shown))
    }
}

impl Service {
    /// Makes a job in the name of its user, or of the caller.
    async fn create(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        request: ScheduleRequest,
    ) -> Result<String, Status> {
        self.create_named(metadata, extensions, request, str::to_owned)
            .await
    }

    /// Makes a job for a request that was sent in another form, in which fields have these names.
    pub(super) async fn create_named(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        mut request: ScheduleRequest,
        name: fn(&str) -> String,
    ) -> Result<String, Status> {
        // If asked for again, HEAD is the same request, though it may be another commit.
        let asked = request.to_json().map_err(errors::job)?;
        self.resolve(&mut request)
            .await
            .map_err(|found| found.status(name))?;
        let job = request.job(&self.bots);
        let mut job = job.map_err(|error| errors::Problems::from(error).status(name))?;
        let (kind, story) = match &request {
            ScheduleRequest::Bisection(request) => ("Bisection", &request.story),
            ScheduleRequest::Pairwise(request) => ("Comparison", &request.story),
            ScheduleRequest::CulpritFinder(request) => ("Verified bisection", &request.story),
        };
        job.title = title(kind, story, &job.benchmark, &job.bot);
        self.keep(metadata, extensions, job, None, &asked, name)
            .await
    }

    /// Writes the full hash of each commit that a request names otherwise, where this service looks
    /// commits up. Other texts stay as they are, for the check of the request.
    async fn resolve(&self, request: &mut ScheduleRequest) -> Result<(), errors::Problems> {
        let Some(commits) = &self.commits else {
            return Ok(());
        };
        let bot = match request {
            ScheduleRequest::Bisection(request) => &request.configuration,
            ScheduleRequest::Pairwise(request) => &request.configuration,
            ScheduleRequest::CulpritFinder(request) => &request.configuration,
        };
        let Ok(bot) = self.bots.get(bot.trim()) else {
            return Ok(());
        };
        let (Some(repository), false) =
            (bot.repository, matches!(bot.workers, Workers::Swarming(_)))
        else {
            return Ok(());
        };
        let mut missing = Vec::new();
        for (field, text) in names(request, repository) {
            let Ok(name) = text.trim().parse::<CommitName>() else {
                continue;
            };
            let is_missing = match name.is_full_hash() {
                true => commits.lacks(repository, &name).await,
                false => match commits.find(repository, &name).await? {
                    Some(found) => {
                        *text = found.git_hash;
                        false
                    }
                    None => true,
                },
            };
            if is_missing {
                missing.push((field.to_owned(), no_commit(repository, &name)));
            }
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(errors::Problems::Fields(missing)),
        }
    }
}

/// The fields of a request that name commits of its bot's repository.
fn names<'a>(
    request: &'a mut ScheduleRequest,
    repository: &str,
) -> Vec<(&'static str, &'a mut String)> {
    match request {
        ScheduleRequest::Bisection(request) => vec![
            ("start_git_hash", &mut request.start_git_hash),
            ("end_git_hash", &mut request.end_git_hash),
        ],
        ScheduleRequest::CulpritFinder(request) => vec![
            ("start_git_hash", &mut request.start_git_hash),
            ("end_git_hash", &mut request.end_git_hash),
        ],
        ScheduleRequest::Pairwise(request) => {
            let sides = [
                ("start_commit.main.git_hash", &mut request.start_commit),
                ("end_commit.main.git_hash", &mut request.end_commit),
            ];
            let names = sides.into_iter().filter_map(|(field, side)| {
                let main = side.as_mut()?.main.as_mut()?;
                let named = main.repository.trim();
                (named.is_empty() || named == repository).then_some((field, &mut main.git_hash))
            });
            names.collect()
        }
    }
}
