//! Chromium's Pinpoint: jobs are made, asked for and ended.

use std::time::Duration;

use pinpoint_backends::job::{self, JobError, JobRequest, machine_of, stored_result};
use pinpoint_backends::store::{
    AuditEntry, CancelRequest, Creation, IdempotencyKey, Job, JobSummary, LockError, NewJob,
    StoreError,
};
use pinpoint_core::api::{
    self, BisectExecution, CancelJobRequest, CancelJobResponse, CulpritFinderExecution,
    LegacyJobRequest, LegacyJobResponse, PairwiseExecution, PairwiseJobStatus, QueryBisectRequest,
    QueryPairwiseRequest, QueryPairwiseResponse, ScheduleBisectRequest,
    ScheduleCulpritFinderRequest, SchedulePairwiseRequest,
};
use pinpoint_core::job::JobResult;
use pinpoint_core::{Answers, JobState, Journal};
use sha2::{Digest, Sha256};
use tonic::metadata::MetadataMap;
use tonic::{Code, Extensions, Request, Response, Status};

use super::services::pinpoint_server::Pinpoint;
use super::{GrpcResult, REPLAYS, errors, legacy, title};
use crate::auth::caller::Context;
use crate::state::Service;
use crate::transport::metrics::METRICS;

/// The most characters of a name, of a story, or of the text of a search.
pub(crate) const MOST_NAME: usize = 1_000;

/// The most bytes of a user's name: databases have indices of it.
const MOST_USER_BYTES: usize = 1024;

/// The problem of a text that exceeds this many characters.
pub(super) fn too_long(text: &str, most: usize) -> Option<String> {
    let is_long = text.chars().nth(most).is_some();
    is_long.then(|| format!("it has more than {most} characters"))
}

/// The most bytes of a reason.
const MOST_REASON_BYTES: usize = 4096;

#[tonic::async_trait]
impl Pinpoint for Service {
    async fn schedule_bisection(
        &self,
        request: Request<ScheduleBisectRequest>,
    ) -> GrpcResult<BisectExecution> {
        let (metadata, extensions, mut request) = request.into_parts();
        request.user = self.name_for(&extensions, &request.user).await?;
        let job_id = self
            .create(&metadata, &extensions, JobRequest::Bisection(request))
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
            .create(&metadata, &extensions, JobRequest::Pairwise(request))
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
            .create(&metadata, &extensions, JobRequest::CulpritFinder(request))
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
        let shown = self
            .replayed(job, |job, answers| legacy::response(job, &answers))
            .await?;
        Ok(Response::new(shown))
    }
}

/// The names that the published pages have for states.
pub(crate) fn state_name(state: JobState) -> &'static str {
    match state {
        JobState::Pending => "Pending",
        JobState::Running => "Running",
        JobState::Completed => "Completed",
        JobState::Failed => "Failed",
        JobState::Canceled => "Canceled",
    }
}

impl Service {
    /// Makes a job in the name of its user, or of the caller.
    pub(super) async fn create(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        request: JobRequest,
    ) -> Result<String, Status> {
        self.create_named(metadata, extensions, request, str::to_owned)
            .await
    }

    /// Makes a job for a request that was sent in another form, in which fields have these names.
    pub(super) async fn create_named(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        mut request: JobRequest,
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
            JobRequest::Bisection(request) => ("Bisection", &request.story),
            JobRequest::Pairwise(request) => ("Comparison", &request.story),
            JobRequest::CulpritFinder(request) => ("Verified bisection", &request.story),
        };
        job.title = title(kind, story, &job.benchmark, &job.bot);
        self.keep(metadata, extensions, job, None, &asked, name)
            .await
    }

    /// Makes a job, once where the request has a key, with a file where it has one. `asked`
    /// identifies repeated requests; fields have these names.
    pub(super) async fn keep(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        mut job: NewJob,
        file: Option<(&str, &[u8])>,
        asked: &serde_json::Value,
        name: fn(&str) -> String,
    ) -> Result<String, Status> {
        let key = idempotency_key(metadata)?;
        let context = Context::from_extensions(extensions)?;
        if job.user.is_empty() {
            job.user.clone_from(&context.caller()?.user);
        }
        if let Some(trace) = context.trace {
            job.config["traceparent"] = trace.to_string().into();
        }
        let user = (job.user.len() > MOST_USER_BYTES)
            .then(|| format!("it has more than {MOST_USER_BYTES} bytes"));
        let problems: Vec<_> = [
            ("job_name", too_long(&job.name, MOST_NAME)),
            ("user", user),
            // The story is the part that was given.
            ("story", too_long(&job.title, 2 * MOST_NAME)),
        ]
        .into_iter()
        .filter_map(|(field, problem)| Some((name(field), problem?)))
        .collect();
        if !problems.is_empty() {
            return Err(errors::bad_request(problems));
        }
        let caller = context.caller()?;
        let digest = sha256(&serde_json::json!([job.kind, asked, job.user]));
        let creation = Creation {
            files: file.as_slice(),
            entry: Some(&context.entry(Code::Ok)),
            once: (key.as_deref()).map(|key| IdempotencyKey {
                user: &caller.user,
                key,
                digest,
            }),
            quota: Some(self.limits.quota(&job.user)),
            ..Creation::default()
        };
        match self.store.create_with(&job, &creation).await {
            Ok(created) => {
                if created.is_new {
                    METRICS.jobs.with_label_values(&[&job.kind]).inc();
                }
                Ok(created.id.to_string())
            }
            Err(error @ StoreError::QuotaReached { .. }) => {
                let refused = errors::store(error);
                self.log_refusal(context.entry(refused.code())).await?;
                Err(refused)
            }
            Err(error) => Err(errors::store(error)),
        }
    }

    /// The user in whose name a job is made.
    pub(super) async fn name_for(
        &self,
        extensions: &Extensions,
        named: &str,
    ) -> Result<String, Status> {
        let context = Context::from_extensions(extensions)?;
        let name = context.caller()?.name_for(named);
        if let Err(refused) = &name {
            self.log_refusal(context.entry(refused.code())).await?;
        }
        name
    }

    /// Shows a job by the answers in its journal, which is replayed.
    pub(crate) async fn replayed<T: Send + 'static>(
        &self,
        job: Job,
        show: impl FnOnce(&Job, Answers) -> Result<T, JobError> + Send + 'static,
    ) -> Result<T, Status> {
        // Before the journal is read, which may be long.
        let turn = REPLAYS.acquire().await;
        let mut journal = self.store.journal(&job.id).await.map_err(errors::store)?;
        let records = journal.records().await.map_err(errors::store)?;
        let machine = machine_of(&job, records.is_empty()).map_err(errors::job)?;
        let key = journal.job();
        let replayed = tokio::task::spawn_blocking(move || {
            let answers = Answers::of(key, machine, records);
            drop(turn);
            if let Some(error) = &answers.error {
                tracing::warn!(job = %job.id, %error, "the journal can't be replayed to its end");
            }
            show(&job, answers)
        });
        let shown = replayed
            .await
            .map_err(|_| Status::internal("the job can't be shown"))?;
        shown.map_err(errors::job)
    }

    /// A job by its whole id, as a list has it and without its outcome.
    pub(crate) async fn job_without_outcome(&self, id: &str) -> Result<(JobSummary, Job), Status> {
        let found = self.store.get_without_outcome(&whole(id)?).await;
        found.map_err(errors::store)
    }

    /// A job by its whole id, of one of these kinds; of any where none is named.
    pub(crate) async fn job(&self, id: &str, kinds: &[&str]) -> Result<Job, Status> {
        let job = self.store.get(&whole(id)?).await.map_err(errors::store)?;
        if !kinds.is_empty() && !kinds.contains(&&*job.kind) {
            let message = format!("job {} is of another kind: {}", job.id, job.kind);
            return Err(Status::not_found(message));
        }
        Ok(job)
    }

    /// Asks for the end of a job, and gives the state that it has then.
    pub(super) async fn end(
        &self,
        extensions: &Extensions,
        id: &str,
        reason: &str,
    ) -> Result<(String, JobState), Status> {
        let job = self.job(id, &[]).await?;
        let context = Context::from_extensions(extensions)?;
        let caller = context.caller()?;
        let entry = |code| AuditEntry {
            job: Some(job.id.clone()),
            ..context.entry(code)
        };
        if let Err(refused) = caller.may_end(&job.user) {
            self.log_refusal(entry(refused.code())).await?;
            return Err(refused);
        }
        if matches!(
            job.state,
            JobState::Completed | JobState::Failed | JobState::Canceled
        ) {
            return Ok((job.id.to_string(), job.state));
        }
        if reason.len() > MOST_REASON_BYTES {
            let problem = format!("it has more than {MOST_REASON_BYTES} bytes");
            return Err(errors::field("reason", &problem));
        }
        let request = CancelRequest {
            reason: reason.trim().to_owned(),
            by: caller.user.clone(),
        };
        let asked = self
            .store
            .request_cancel(&job.id, &request, Some(&entry(Code::Ok)))
            .await;
        match asked {
            // It ended a moment ago, without this request.
            Err(StoreError::Transition { from, .. }) => return Ok((job.id.to_string(), from)),
            asked => asked.map_err(errors::store)?,
        }
        // Without a worker, the job is ended here; otherwise by its worker. In a separate task,
        // since a client may leave half way.
        let (service, id) = (self.clone(), job.id.clone());
        let ended = tokio::spawn(async move {
            let Service {
                store,
                state_dir,
                owner,
                ..
            } = &service;
            job::cancel(
                store,
                &id,
                owner,
                state_dir,
                Duration::ZERO,
                &request,
                None,
                |_| {},
            )
            .await
        });
        let ended = ended
            .await
            .map_err(|_| Status::internal("the job can't be ended"))?;
        let state = match ended {
            Ok(state) => state,
            Err(
                job::JobError::Locked(LockError::Held { .. })
                | job::JobError::Store(StoreError::Leased { .. }),
            ) => {
                self.store
                    .get(job.id.as_str())
                    .await
                    .map_err(errors::store)?
                    .state
            }
            Err(error) => return Err(errors::job(error)),
        };
        Ok((job.id.to_string(), state))
    }
}

/// A whole id, as the store has it.
pub(super) fn whole(id: &str) -> Result<String, Status> {
    let id = api::job_id(id).map_err(|found| errors::violations(&found))?;
    Ok(id.simple().to_string())
}

/// The key that identifies a repeated request: the header `Idempotency-Key`.
fn idempotency_key(metadata: &MetadataMap) -> Result<Option<String>, Status> {
    let wrong =
        || Status::invalid_argument("`Idempotency-Key` is a text of 1 to 255 visible characters");
    let mut keys = metadata.get_all("idempotency-key").iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    if keys.next().is_some() {
        return Err(Status::invalid_argument("`Idempotency-Key` is given twice"));
    }
    let key = key.to_str().map_err(|_| wrong())?;
    match key.len() {
        1..=255 if key.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(key.to_owned())),
        _ => Err(wrong()),
    }
}

fn sha256(value: &serde_json::Value) -> [u8; 32] {
    Sha256::digest(value.to_string()).into()
}
