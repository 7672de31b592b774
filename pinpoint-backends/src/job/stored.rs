//! Creates and reads jobs in the store.

use pinpoint_core::job::JobResult;
use pinpoint_core::{FindMetric, JobKind, JobMachine, JobSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JobError;
use crate::store::Job;

pub(super) fn written(part: &impl Serialize) -> Result<Value, JobError> {
    serde_json::to_value(part).map_err(JobError::Unwritable)
}

/// The kind of a job.
///
/// # Errors
///
/// For a job of a later version.
pub fn kind_of(job: &Job) -> Result<JobKind, JobError> {
    // Jobs made in Python used to have their own kinds.
    let kind = job.kind.strip_prefix("python_").unwrap_or(&job.kind);
    kind.parse().map_err(|source| JobError::Kind {
        job: job.id.clone(),
        source,
    })
}

/// The question of a job.
///
/// # Errors
///
/// When its kind is unknown, or its spec can't be read.
pub fn spec_of(job: &Job) -> Result<JobSpec, JobError> {
    JobSpec::deserialize_as(kind_of(job)?, &job.spec).map_err(|source| JobError::Unreadable {
        job: job.id.clone(),
        what: "spec",
        source,
    })
}

/// The result that a job ended with, if it has one.
///
/// # Errors
///
/// When it can't be read.
pub fn stored_result(job: &Job) -> Result<Option<JobResult>, JobError> {
    let Some(outcome) = &job.outcome else {
        return Ok(None);
    };
    let result = JobResult::deserialize_as(kind_of(job)?, outcome);
    result.map(Some).map_err(|source| JobError::Unreadable {
        job: job.id.clone(),
        what: "outcome",
        source,
    })
}

/// The machine of a new job. An empty journal matters only for jobs of early versions.
///
/// # Errors
///
/// When the job can't be read.
pub fn machine_of(job: &Job, is_new: bool) -> Result<JobMachine, JobError> {
    let spec = spec_of(job)?;
    Ok(match find_metric(job, is_new)? {
        Some(find) => JobMachine::finding(spec, find)?,
        None => JobMachine::new(spec)?,
    })
}

/// The metric that a job has to find before its search.
fn find_metric(job: &Job, is_new: bool) -> Result<Option<FindMetric>, JobError> {
    #[derive(Default, Deserialize)]
    struct Config {
        find_metric: Option<FindMetric>,
        direction_by_unit: Option<bool>,
        local: Option<serde::de::IgnoredAny>,
        #[serde(default)]
        runs: bool,
    }
    // A job of an executor that needs no configuration may have none.
    let config = Option::<Config>::deserialize(&job.config);
    let config = config.map_err(|source| JobError::Unreadable {
        job: job.id.clone(),
        what: "configuration",
        source,
    })?;
    let config = config.unwrap_or_default();
    // An early version found the metric of a command before it started the journal, and wrote it
    // into the spec.
    let directions =
        (config.direction_by_unit).filter(|_| is_new && config.local.is_some() && !config.runs);
    let of_old_job = directions.map(|directions| FindMetric {
        directions,
        ..FindMetric::default()
    });
    Ok(config.find_metric.or(of_old_job))
}

/// The configuration in this version's form, of an unstarted job that an early version created.
pub(super) fn renewed_config(job: &Job) -> Result<Option<Value>, JobError> {
    let is_old = (job.config.get("find_metric")).is_none_or(Value::is_null);
    let Some(find) = find_metric(job, true)?.filter(|_| is_old) else {
        return Ok(None);
    };
    let mut config = job.config.clone();
    if let Some(fields) = config.as_object_mut() {
        let directions = Value::from(find.directions);
        let find = [("directions".to_owned(), directions)]
            .into_iter()
            .collect();
        fields.insert("find_metric".into(), Value::Object(find));
    }
    Ok(Some(config))
}
