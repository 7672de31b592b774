//! Our own API for jobs.

mod arguments;
mod cursors;
pub(crate) mod journal;
mod lists;
pub(crate) mod messages;
mod patches;
pub(crate) mod plan;
mod report;
pub(crate) mod show;

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use pinpoint_backends::job::{JobConfig, PATCH, WorkloadRequest};
use pinpoint_backends::store::{AuditEntry, Job, JobId, JobMark, NewJob, StoreError};
use pinpoint_core::Patch;
use prost::Message;
use tokio::sync::mpsc;
use tonic::codegen::BoxStream;
use tonic::metadata::MetadataMap;
use tonic::{Code, Extensions, Request, Response, Status};

use self::messages::pinpoint_server::Pinpoint;
use self::messages::{
    CancelJobRequest, CloneJobRequest, CompareJobsRequest, CompareJobsResponse, CountJobsRequest,
    CountJobsResponse, CreateJobRequest, GetAuditRequest, GetAuditResponse, GetJobRequest,
    GetQuotaRequest, GetQuotaResponse, GetReportRequest, GetReportResponse, ListBotsRequest,
    ListBotsResponse, ListBuildsRequest, ListBuildsResponse, ListJobsRequest, ListJobsResponse,
    ListRunsRequest, ListRunsResponse, ListWorkersRequest, ListWorkersResponse, PauseJobRequest,
    PlanJobRequest, PlanJobResponse, ResumeJobRequest, RetryJobRequest, WatchJobEvent,
    WatchJobRequest, create_job_request,
};
use super::errors::{self, GrpcResult};
use super::fields::{title, whole};
use crate::api::rest::{Misread, to_json};
use crate::auth::caller::{Context, code_name};
use crate::jobs::watching::Batch;
use crate::state::Service;

pub(crate) use self::arguments::LEAST_CONFIDENCE;
pub(crate) use self::cursors::CursorKey;

#[tonic::async_trait]
impl Pinpoint for Service {
    async fn create_job(&self, request: Request<CreateJobRequest>) -> GrpcResult<messages::Job> {
        let (metadata, extensions, request) = request.into_parts();
        self.make(&metadata, &extensions, request, None).await
    }

    async fn plan_job(&self, request: Request<PlanJobRequest>) -> GrpcResult<PlanJobResponse> {
        let plan = self.plan(request.into_inner()).await;
        plan.map(Response::new)
    }

    async fn get_job(&self, request: Request<GetJobRequest>) -> GrpcResult<messages::Job> {
        let job = self.job(&request.get_ref().job_id, &[]).await?;
        self.shown(&job).await
    }

    async fn get_report(
        &self,
        request: Request<GetReportRequest>,
    ) -> GrpcResult<GetReportResponse> {
        let report = self.report(request.into_inner()).await;
        report.map(Response::new)
    }

    async fn list_jobs(&self, request: Request<ListJobsRequest>) -> GrpcResult<ListJobsResponse> {
        let listed = self.jobs(request.into_inner()).await;
        listed.map(Response::new)
    }

    async fn count_jobs(
        &self,
        request: Request<CountJobsRequest>,
    ) -> GrpcResult<CountJobsResponse> {
        let counted = self.count(request.into_inner()).await;
        counted.map(Response::new)
    }

    async fn list_runs(&self, request: Request<ListRunsRequest>) -> GrpcResult<ListRunsResponse> {
        let listed = self.runs(request.into_inner()).await;
        listed.map(Response::new)
    }

    async fn list_builds(
        &self,
        request: Request<ListBuildsRequest>,
    ) -> GrpcResult<ListBuildsResponse> {
        let listed = self.builds(request.into_inner()).await;
        listed.map(Response::new)
    }

    async fn watch_job(
        &self,
        request: Request<WatchJobRequest>,
    ) -> GrpcResult<BoxStream<WatchJobEvent>> {
        let told = self.watch(request.get_ref()).await?;
        let batches = stream::unfold(told, async |mut told| {
            let batch = told.recv().await?;
            Some((batch, told))
        });
        let events = batches.flat_map(|batch| {
            let events: Vec<_> = match batch {
                Ok(batch) => batch.messages().map(Ok).collect(),
                Err(status) => vec![Err(status)],
            };
            stream::iter(events)
        });
        Ok(Response::new(Box::pin(events)))
    }

    async fn cancel_job(&self, request: Request<CancelJobRequest>) -> GrpcResult<messages::Job> {
        let (_, extensions, request) = request.into_parts();
        self.end(&extensions, &request.job_id, &request.reason)
            .await?;
        self.shown(&self.job(&request.job_id, &[]).await?).await
    }

    async fn pause_job(&self, request: Request<PauseJobRequest>) -> GrpcResult<messages::Job> {
        let (_, extensions, request) = request.into_parts();
        let (job, entry) = self.own_job(&extensions, &request.job_id).await?;
        match self.store.jobs().pause(&job.id, Some(&entry)).await {
            Err(StoreError::Transition { from, .. }) => {
                let message = format!("job {} has ended ({from}) and can't be paused", job.id);
                return Err(Status::failed_precondition(message));
            }
            paused => paused.map_err(errors::store)?,
        }
        self.shown(&self.job(&request.job_id, &[]).await?).await
    }

    async fn resume_job(&self, request: Request<ResumeJobRequest>) -> GrpcResult<messages::Job> {
        let (_, extensions, request) = request.into_parts();
        let (job, entry) = self.own_job(&extensions, &request.job_id).await?;
        let quota = self.limits.quota(&job.user);
        match self
            .store
            .jobs()
            .resume(&job.id, Some(&quota), Some(&entry))
            .await
        {
            Err(error @ StoreError::QuotaReached { .. }) => {
                let refused = errors::store(error);
                let result = code_name(refused.code()).to_owned();
                self.log_refusal(AuditEntry { result, ..entry }).await?;
                return Err(refused);
            }
            resumed => resumed.map_err(errors::store)?,
        }
        self.shown(&self.job(&request.job_id, &[]).await?).await
    }

    async fn retry_job(&self, request: Request<RetryJobRequest>) -> GrpcResult<messages::Job> {
        let (metadata, extensions, request) = request.into_parts();
        let job = self.job(&request.job_id, &[]).await?;
        let arguments = arguments_of(&job)?;
        self.make(&metadata, &extensions, arguments, Some(&job.id))
            .await
    }

    async fn clone_job(&self, request: Request<CloneJobRequest>) -> GrpcResult<CreateJobRequest> {
        let job = self.job(&request.get_ref().job_id, &[]).await?;
        arguments_of(&job).map(Response::new)
    }

    async fn compare_jobs(
        &self,
        request: Request<CompareJobsRequest>,
    ) -> GrpcResult<CompareJobsResponse> {
        let request = request.into_inner();
        let job = self.job(&request.job_id, &[]).await?;
        let other = self.job(&request.other_id, &[]).await?;
        let job = self.shown(&job).await?.into_inner();
        let other = self.shown(&other).await?.into_inner();
        Ok(Response::new(show::side_by_side(job, other)))
    }

    async fn list_workers(
        &self,
        _: Request<ListWorkersRequest>,
    ) -> GrpcResult<ListWorkersResponse> {
        self.workers().await.map(Response::new)
    }

    async fn list_bots(&self, _: Request<ListBotsRequest>) -> GrpcResult<ListBotsResponse> {
        self.listed_bots().await.map(Response::new)
    }

    async fn get_quota(&self, request: Request<GetQuotaRequest>) -> GrpcResult<GetQuotaResponse> {
        let (_, extensions, request) = request.into_parts();
        let user = self.name_for(&extensions, &request.user).await?;
        self.quota(user).await.map(Response::new)
    }

    async fn get_audit(&self, request: Request<GetAuditRequest>) -> GrpcResult<GetAuditResponse> {
        let read = self.audit(request.into_inner()).await;
        read.map(Response::new)
    }
}

impl Service {
    /// The events of a job.
    pub(crate) async fn watch(
        &self,
        request: &WatchJobRequest,
    ) -> Result<mpsc::Receiver<Result<Arc<Batch>, Status>>, Status> {
        let mark = self.mark(&request.job_id).await?;
        let watches = &self.caches.watches;
        Ok(watches.watch(&self.store, self.phase.clone(), &mark, request.after))
    }

    /// The mark of a job.
    pub(crate) async fn mark(&self, id: &str) -> Result<JobMark, Status> {
        // A job may be long, and watchers many: it is read once for all of them.
        let marks = self.store.jobs().marks(&[whole(id)?]).await;
        if let Some(mark) = marks.map_err(errors::store)?.pop() {
            return Ok(mark);
        }
        self.job(id, &[]).await?;
        Err(Status::not_found("the job is gone"))
    }

    async fn shown(&self, job: &Job) -> GrpcResult<messages::Job> {
        let shown = show::job(&self.store, job).await;
        shown.map(Response::new).map_err(errors::job)
    }

    /// A job that the caller may end, with the row of the audit log about that.
    async fn own_job(
        &self,
        extensions: &Extensions,
        id: &str,
    ) -> Result<(Job, AuditEntry), Status> {
        let job = self.job(id, &[]).await?;
        let context = Context::from_extensions(extensions)?;
        let entry = |code| AuditEntry {
            job: Some(job.id.clone()),
            ..context.entry(code)
        };
        if let Err(refused) = context.caller()?.may_end(&job.user) {
            self.log_refusal(entry(refused.code())).await?;
            return Err(refused);
        }
        if !JobConfig::of(&job).map_err(errors::job)?.by_workers {
            return Err(Status::failed_precondition(format!(
                "job {} is not carried out by workers, but by the command that made it: \
                 continue it with `pinpoint jobs resume`",
                job.id
            )));
        }
        let entry = entry(Code::Ok);
        Ok((job, entry))
    }

    /// The job that a request asks for, and the request with the full hashes of its commits. Its
    /// sides that name a change have this patch. Fields that could not be read are problems,
    /// too.
    ///
    /// # Errors
    ///
    /// All problems of the request.
    pub(crate) async fn asked(
        &self,
        mut request: CreateJobRequest,
        patch: Option<&Patch>,
        misread: Option<&Misread>,
    ) -> Result<(NewJob, CreateJobRequest), Status> {
        let name: fn(&str) -> String = match &request.question {
            Some(create_job_request::Question::CulpritFinder(_)) => |field: &str| match field {
                "pairs" => "culprit_finder.pairs".to_owned(),
                field => named_in("culprit_finder.bisection", field),
            },
            Some(create_job_request::Question::Pairwise(_)) => |field: &str| match field {
                "pairs" | "base_extra_args" | "experiment_extra_args" => {
                    format!("pairwise.{field}")
                }
                field => named_in("pairwise", field),
            },
            _ => |field: &str| named_in("bisection", field),
        };
        let mut missing = misread.map_or_else(Vec::new, |misread| misread.0.clone());
        missing.extend(self.resolve_commits(&mut request).await?);
        let question = arguments::question(&request, patch, &self.bots);
        let json = json_of("CreateJobRequest", &request)?;
        let job = question.and_then(|question| {
            let question = WorkloadRequest {
                request: Some(json),
                ..question
            };
            Ok(question.job(&self.bots)?)
        });
        match job {
            Ok(job) if missing.is_empty() => Ok((job, request)),
            Err(errors::Problems::Other(status)) if missing.is_empty() => Err(status),
            job => Err(errors::fields(missing, job.err(), name)),
        }
    }

    /// Writes the full hash of each commit that a request names otherwise; returns the fields of
    /// those that are absent, each with its problem.
    async fn resolve_commits(
        &self,
        request: &mut CreateJobRequest,
    ) -> Result<Vec<(String, String)>, Status> {
        let bot = self.bots.get(request.bot.trim()).ok();
        let mut missing = Vec::new();
        for (field, text) in arguments::commits(request) {
            let found = match &bot {
                Some(bot) => self.full_hash(bot, text.trim()).await?,
                None => self.full_hash_without_bot(text.trim()).await,
            };
            match found {
                Ok(hash) => *text = hash,
                Err(problem) => missing.push((field.to_owned(), problem)),
            }
        }
        Ok(missing)
    }

    /// Makes a job with these arguments, perhaps those of another one.
    async fn make(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        request: CreateJobRequest,
        retry_of: Option<&JobId>,
    ) -> GrpcResult<messages::Job> {
        use create_job_request::Question;

        // If asked for again, HEAD is the same request, though it may be another commit.
        let asked = json_of("CreateJobRequest", &request)?;
        let mut request = request;
        let file = self.patch_file(&mut request).await?;
        let patch = file.as_ref().map(|file| &file.patch);
        let (mut job, request) = self.asked(request, patch, extensions.get()).await?;
        job.user = self.name_for(extensions, &request.user).await?;
        request.name.trim().clone_into(&mut job.name);
        job.title = title(
            match request.question {
                Some(Question::Pairwise(_)) => "Comparison",
                Some(Question::CulpritFinder(_)) => "Verified bisection",
                Some(Question::Bisection(_)) | None => "Bisection",
            },
            &request.story,
            &job.benchmark,
            &job.bot,
        );
        if let Some(id) = retry_of {
            job.config["retry_of"] = id.as_str().into();
        }
        let asked = serde_json::json!([asked, job.config["retry_of"]]);
        let name = |field: &str| field.trim_start_matches("job_").to_owned();
        let file = file.as_ref().map(|file| (PATCH, &*file.content));
        let kept = self.keep(metadata, extensions, job, file, &asked, name);
        let id = kept.await?;
        self.shown(&self.job(&id, &[]).await?).await
    }
}

/// A field of a job under its name in a request whose search is in this one.
fn named_in(search: &str, field: &str) -> String {
    match field {
        "configuration" => "bot".to_owned(),
        "confidence" | "magnitude" | "attempts" | "build_cost" | "max_runs" | "max_builds"
        | "good" | "bad" => format!("{search}.{field}"),
        field => field.to_owned(),
    }
}

fn arguments_of(job: &Job) -> Result<CreateJobRequest, Status> {
    let arguments = arguments::arguments(job).map_err(errors::job)?;
    arguments.ok_or_else(|| {
        Status::failed_precondition(format!(
            "job {} was not made by a request whose arguments can be used again; make a new one",
            job.id
        ))
    })
}

/// A message of ours as JSON.
pub(crate) fn json_of(name: &str, message: &impl Message) -> Result<serde_json::Value, Status> {
    let internal = || Status::internal("the request can't be written as JSON");
    let json = to_json(&format!("pinpoint.v2.{name}"), &message.encode_to_vec());
    serde_json::from_slice(&json.map_err(|_| internal())?).map_err(|_| internal())
}
