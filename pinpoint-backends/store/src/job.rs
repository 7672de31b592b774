//! A job in the store.

use std::fmt;
use std::sync::{LazyLock, Mutex};

use pinpoint_core::{JobMachine, JobSpec, JobState, SpecError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use uuid::timestamp::context::ContextV7;
use uuid::{Timestamp, Uuid};

use super::JobAnswer;

/// The id of a job: 32 hexadecimal digits, the first 12 of which are its time of creation, so that
/// ids sort by age (UUID version 7, RFC 9562). 74 bits are random, so an id cannot be guessed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub(super) String);

/// With the finest available resolution, so that consecutive ids differ in the part that
/// [`JobId::number`] takes.
static CLOCK: LazyLock<Mutex<ContextV7>> =
    LazyLock::new(|| Mutex::new(ContextV7::new().with_additional_precision()));

impl JobId {
    pub(super) fn new() -> Self {
        let id = Uuid::new_v7(Timestamp::now(&*CLOCK));
        Self(id.simple().to_string())
    }

    /// An id of this time, in milliseconds since 1970: the same one for the same bits.
    #[doc(hidden)]
    pub fn at(created: u64, bits: [u64; 2]) -> Self {
        let [high, low] = bits.map(u64::to_be_bytes);
        let mut bits = [0; 10];
        bits[..2].copy_from_slice(&high[..2]);
        bits[2..].copy_from_slice(&low);
        let id = uuid::Builder::from_unix_timestamp_millis(created, &bits).into_uuid();
        Self(id.simple().to_string())
    }

    /// Reads a full id; case and hyphens do not matter.
    ///
    /// # Errors
    ///
    /// [`NoJobId`] for everything else.
    pub fn parse(text: &str) -> Result<Self, NoJobId> {
        let id = Uuid::try_parse(text).map_err(|_| NoJobId(text.into()))?;
        if id.get_version_num() != 7 {
            return Err(NoJobId(text.into()));
        }
        Ok(Self(id.simple().to_string()))
    }

    /// The time at which it was made, in milliseconds since 1970.
    pub fn created(&self) -> i64 {
        i64::from_str_radix(&self.0[..12], 16).unwrap_or_default()
    }

    /// The sort key of jobs: the milliseconds, followed by the 18 most significant of the
    /// other bits that vary. Ids sort in the same order.
    pub(super) fn number(&self) -> i64 {
        let digits = |range| i64::from_str_radix(&self.0[range], 16).unwrap_or_default();
        // Digit 12 is the version; the first two bits of digit 16 are the variant.
        first_number(self.created()) | digits(13..16) << 6 | (digits(16..18) & 0x3f)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// The text is not a full job id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a whole job id", super::error::brief(.0))]
pub struct NoJobId(pub(super) String);

/// The smallest number of a job created in this millisecond.
pub(super) fn first_number(created: i64) -> i64 {
    created.clamp(0, (1 << 45) - 1) << 18
}

/// The time at which the job of this number was created.
pub(super) fn created_at(number: i64) -> i64 {
    number >> 18
}

/// The fields of a new job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NewJob {
    /// The machine that runs it: `bisection`, `pairwise` or `culprit_finder`.
    pub kind: String,
    /// A title for people: the command line.
    pub title: String,
    /// The repository that it searches.
    pub repository: String,
    /// Its job name, if it has one.
    pub name: String,
    /// The benchmark.
    pub benchmark: String,
    /// The bot.
    pub bot: String,
    /// The user who asked for it.
    pub user: String,
    /// The spec, from which the machine is made.
    pub spec: Value,
    /// The configuration, from which the executor is made.
    pub config: Value,
}

/// A spec makes no valid job.
#[derive(Debug, thiserror::Error)]
pub enum NewJobError {
    /// It asks for an invalid search.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// It cannot be written as JSON.
    #[error("the job can't be stored: {0}")]
    Unwritable(#[from] serde_json::Error),
}

impl NewJob {
    /// A job with this question, checked to be valid. Its title, its names and its configuration
    /// are left to the caller.
    ///
    /// # Errors
    ///
    /// When the spec asks for an invalid search.
    pub fn new(spec: impl Into<JobSpec>) -> Result<Self, NewJobError> {
        let spec = spec.into();
        JobMachine::new(spec.clone())?;
        Ok(Self {
            kind: spec.kind().to_string(),
            spec: spec.serialize_plain(serde_json::value::Serializer)?,
            ..Self::default()
        })
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// The machine that runs it.
    pub kind: String,
    /// Its state.
    pub state: JobState,
    /// Milliseconds since 1970.
    pub created: i64,
    /// The time at which its state last changed, or it was resumed after its worker had gone, in
    /// milliseconds since 1970.
    pub updated: i64,
    /// The total running time, in milliseconds; absent until it stopped for the first
    /// time. A leased job that was killed or suspended counts as running until its lease
    /// has expired.
    pub duration: Option<i64>,
    /// Its job name, if it has one.
    pub name: String,
    /// The benchmark.
    pub benchmark: String,
    /// The bot.
    pub bot: String,
    /// The user who asked for it.
    pub user: String,
    /// The repository that it searches.
    pub repository: String,
    /// A title for people.
    pub title: String,
    /// The spec, from which the machine is made.
    pub spec: Value,
    /// The configuration, from which the executor is made.
    pub config: Value,
    /// Its outcome, once it has ended.
    pub outcome: Option<Value>,
    /// The reason for its failure, if it failed, or for its stop, if it waits to continue.
    pub error: Option<String>,
    /// The request to end it, if any was not withdrawn.
    #[serde(default)]
    pub cancel: Option<CancelRequest>,
    /// Executions of the benchmark so far, including failed ones.
    pub runs: u64,
    /// Commits built so far, excluding failed ones.
    pub builds: u64,
    /// The version of the records with which its journal began.
    pub journal_version: u32,
    /// The version of pinpoint that created it.
    pub written_by: String,
    /// It was imported, and no user has yet allowed its commands to run here.
    #[serde(default)]
    pub imported: bool,
    /// No worker takes it until it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobSummary {
    /// Its id.
    pub id: JobId,
    /// The machine that runs it.
    pub kind: String,
    /// Its state.
    pub state: JobState,
    /// Milliseconds since 1970.
    pub created: i64,
    /// The time at which its state last changed, or it was resumed after its worker had gone, in
    /// milliseconds since 1970.
    pub updated: i64,
    /// The total running time, in milliseconds; absent until it stopped for the first
    /// time. A leased job that was killed or suspended counts as running until its lease
    /// has expired.
    pub duration: Option<i64>,
    /// Its job name, if it has one.
    pub name: String,
    /// The benchmark.
    pub benchmark: String,
    /// The bot.
    pub bot: String,
    /// The user who asked for it.
    pub user: String,
    /// The repository that it searches.
    pub repository: String,
    /// A title for people.
    pub title: String,
    /// The reason for its failure, if it failed, or for its stop, if it waits to continue.
    pub error: Option<String>,
    /// Executions of the benchmark so far, including failed ones.
    pub runs: u64,
    /// Commits built so far, excluding failed ones.
    pub builds: u64,
    /// No worker takes it until it is resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// The story of the benchmark, if one was requested.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub story: String,
    /// The issue that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bug: Option<i64>,
    /// Its outcome in short, once it has ended with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<JobAnswer>,
    /// It was made by a repeatable request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retriable: bool,
}

/// The parts that a list shows of the request by which a job was made.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) story: String,
    #[serde(rename = "bugId", deserialize_with = "number")]
    pub(super) bug: Option<i64>,
    extra_args: String,
    pin: String,
}

impl Request {
    /// The request in the configuration of a job, if any.
    pub(super) fn from_config<'a>(config: impl Deserializer<'a>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Config {
            request: Option<Request>,
        }
        Config::deserialize(config).ok()?.request
    }

    /// The request in the stored text of a configuration.
    pub(super) fn from_text(config: &str) -> Option<Self> {
        Self::from_config(&mut serde_json::Deserializer::from_str(config))
    }

    /// Returns whether a job can be made by it again. A request of Chromium's API may have fields
    /// that are not stored.
    pub(super) fn can_be_repeated(&self) -> bool {
        [&self.extra_args, &self.pin]
            .iter()
            .all(|it| it.trim().is_empty())
    }
}

/// Requests have numbers of 64 bits as texts.
fn number<'a, D: Deserializer<'a>>(number: D) -> Result<Option<i64>, D::Error> {
    let number = String::deserialize(number)?;
    Ok(number.parse().ok())
}

impl From<&Job> for JobSummary {
    fn from(job: &Job) -> Self {
        let request = Request::from_config(&job.config);
        let retriable = request.as_ref().is_some_and(Request::can_be_repeated);
        let request = request.unwrap_or_default();
        Self {
            id: job.id.clone(),
            kind: job.kind.clone(),
            state: job.state,
            created: job.created,
            updated: job.updated,
            duration: job.duration,
            name: job.name.clone(),
            benchmark: job.benchmark.clone(),
            bot: job.bot.clone(),
            user: job.user.clone(),
            repository: job.repository.clone(),
            title: job.title.clone(),
            error: job.error.clone(),
            runs: job.runs,
            builds: job.builds,
            paused: job.paused,
            story: request.story,
            bug: request.bug,
            answer: job.outcome.as_ref().and_then(JobAnswer::from_outcome),
            retriable,
        }
    }
}

/// A request to end a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// The reason.
    #[serde(default)]
    pub reason: String,
    /// The user who asks.
    #[serde(default)]
    pub by: String,
}
