//! Jobs for the methods of each version of the API: created, found and ended.

use std::time::Duration;

use pinpoint_backends::job;
use pinpoint_backends::store::{
    AuditEntry, CancelRequest, Creation, IdempotencyKey, Job, JobSummary, LockError, NewJob,
    StoreError,
};
use pinpoint_core::JobState;
use sha2::{Digest, Sha256};
use tonic::metadata::MetadataMap;
use tonic::{Code, Extensions, Status};

use super::errors;
use super::fields::{MOST_NAME, too_long, whole};
use crate::auth::caller::Context;
use crate::state::Service;
use crate::transport::metrics::METRICS;

/// The most bytes of a user's name: databases have indices of it.
const MOST_USER_BYTES: usize = 1024;

/// The most bytes of a reason.
const MOST_REASON_BYTES: usize = 4096;

impl Service {
    /// Makes a job, once where the request has a key, with a file where it has one. `asked`
    /// identifies repeated requests; fields have these names.
    pub(crate) async fn keep(
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
        match self.store.jobs().create_with(&job, &creation).await {
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
    pub(crate) async fn name_for(
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

    /// A job by its whole id, as a list has it and without its outcome.
    pub(crate) async fn job_without_outcome(&self, id: &str) -> Result<(JobSummary, Job), Status> {
        let found = self.store.jobs().get_without_outcome(&whole(id)?).await;
        found.map_err(errors::store)
    }

    /// A job by its whole id, of one of these kinds; of any where none is named.
    pub(crate) async fn job(&self, id: &str, kinds: &[&str]) -> Result<Job, Status> {
        let job = self.store.jobs().get(&whole(id)?).await;
        let job = job.map_err(errors::store)?;
        if !kinds.is_empty() && !kinds.contains(&&*job.kind) {
            let message = format!("job {} is of another kind: {}", job.id, job.kind);
            return Err(Status::not_found(message));
        }
        Ok(job)
    }

    /// Asks for the end of a job, and gives the state that it has then.
    pub(crate) async fn end(
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
        if job.state.has_ended() {
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
            .cancellations()
            .request(&job.id, &request, Some(&entry(Code::Ok)))
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
            let options = job::CancelOptions {
                owner,
                state_dir,
                patience: Duration::ZERO,
                request: &request,
                worker: None,
            };
            job::cancel(store, &id, &options, |_| {}).await
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
                    .jobs()
                    .get(&job.id)
                    .await
                    .map_err(errors::store)?
                    .state
            }
            Err(error) => return Err(errors::job(error)),
        };
        Ok((job.id.to_string(), state))
    }
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
