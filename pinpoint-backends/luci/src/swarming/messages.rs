//! The messages of `swarming.v2`, as JSON has them: names in camel case, 64-bit numbers as
//! text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::google::int64;

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StringPair {
    /// The name.
    #[serde(default)]
    pub key: String,
    /// The value.
    #[serde(default)]
    pub value: String,
}

/// The name of a blob in CAS, written `HASH/SIZE`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Digest {
    /// SHA-256, in hexadecimal.
    pub hash: String,
    /// The length in bytes.
    #[serde(with = "int64")]
    pub size_bytes: i64,
}

/// The text names no blob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a digest of CAS; write HASH/SIZE")]
pub struct NoDigest(String);

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let none = || NoDigest(text.into());
        let (hash, size) = text.split_once('/').ok_or_else(none)?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let size = size.parse().ok().filter(|size| *size >= 0 && is_hash);
        Ok(Self {
            hash: hash.to_ascii_lowercase(),
            size_bytes: size.ok_or_else(none)?,
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.hash, self.size_bytes)
    }
}

/// A blob and the instance of CAS that has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CasReference {
    /// Such as `projects/chrome-swarming/instances/default_instance`.
    pub cas_instance: String,
    /// The blob.
    pub digest: Digest,
}

impl fmt::Display for CasReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.cas_instance, self.digest)
    }
}

impl FromStr for CasReference {
    type Err = NoDigest;

    /// `INSTANCE/HASH/SIZE`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.rsplitn(3, '/');
        let (size, hash, instance) = (parts.next(), parts.next(), parts.next());
        match (instance, hash, size) {
            (Some(instance), Some(hash), Some(size)) if !instance.is_empty() => Ok(Self {
                cas_instance: instance.into(),
                digest: format!("{hash}/{size}").parse()?,
            }),
            _ => Err(NoDigest(text.into())),
        }
    }
}

/// The inputs, command and machine of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskProperties {
    /// The files.
    pub cas_input_root: CasReference,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The properties that the bot must have.
    pub dimensions: Vec<StringPair>,
    /// The longest time.
    pub execution_timeout_secs: i32,
    /// The longest time without output.
    pub io_timeout_secs: i32,
    /// The folder that the program begins in.
    pub relative_cwd: String,
}

/// Properties, and the longest wait for a bot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskSlice {
    /// The longest wait.
    pub expiration_secs: i32,
    /// The properties.
    pub properties: TaskProperties,
}

/// A request for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewTaskRequest {
    /// A description for people.
    pub name: String,
    /// The smaller, the sooner.
    pub priority: i32,
    /// The silence after which a bot is considered dead.
    pub bot_ping_tolerance_secs: i32,
    /// The realm whose rules apply.
    pub realm: String,
    /// The account of the task.
    pub service_account: String,
    /// The requester.
    pub user: String,
    /// The topic that announces its end.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub pubsub_topic: String,
    /// The content of the announcement.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub pubsub_userdata: String,
    /// The tags to find it by: `KEY:VALUE`.
    pub tags: Vec<String>,
    /// The single slice to run.
    pub task_slices: Vec<TaskSlice>,
    /// A request with the same id is the same one, mostly.
    pub request_uuid: String,
}

/// The state of a task. States that Swarming may add are [`Invalid`](Self::Invalid).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TaskState {
    /// Running.
    Running,
    /// Waiting for a bot.
    Pending,
    /// No bot took it in time.
    Expired,
    /// It took too long.
    TimedOut,
    /// The bot did not come back.
    BotDied,
    /// It was canceled before it began.
    Canceled,
    /// The program ended normally.
    Completed,
    /// It was killed.
    Killed,
    /// No bot has the dimensions.
    NoResource,
    /// The files are not available.
    ClientError,
    /// Unknown.
    #[default]
    #[serde(other)]
    Invalid,
}

impl TaskState {
    /// Returns whether it stays as it is.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Pending | Self::Invalid)
    }
}

/// The result of a task, possibly not final.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskResult {
    /// Its id.
    pub task_id: String,
    /// Its state.
    pub state: TaskState,
    /// The bot that ran it.
    pub bot_id: String,
    /// The program ended with another code than 0.
    pub failure: bool,
    /// Swarming is at fault.
    pub internal_failure: bool,
    /// The code that the program ended with.
    #[serde(with = "int64")]
    pub exit_code: i64,
    /// The time of the request, in RFC 3339.
    pub created_ts: Option<String>,
    /// The time at which it began.
    pub started_ts: Option<String>,
    /// The time at which it ended.
    pub completed_ts: Option<String>,
    /// Its output files.
    pub cas_output_root: Option<CasReference>,
    /// The missing files.
    pub missing_cas: Vec<CasReference>,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The answer to a request for a task.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct NewTask {
    pub(super) task_id: String,
    pub(super) task_result: Option<TaskResult>,
}

/// One answer of many.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultOrError {
    /// The task.
    pub task_id: String,
    /// Its result.
    pub result: Option<TaskResult>,
    /// The error, if there is no result.
    pub error: Option<Status>,
}

/// A `google.rpc.Status`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The code of gRPC.
    pub code: u32,
    /// The message.
    pub message: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct BatchGetResult {
    pub(super) results: Vec<ResultOrError>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct TaskList {
    pub(super) cursor: String,
    pub(super) items: Vec<TaskResult>,
}

/// A bot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BotInfo {
    /// Its id.
    pub bot_id: String,
    /// It has not been seen for a while.
    pub is_dead: bool,
    /// It must not be used.
    pub quarantined: bool,
    /// It was deleted.
    pub deleted: bool,
    /// The reason for its maintenance.
    pub maintenance_msg: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct BotList {
    pub(super) cursor: String,
    pub(super) items: Vec<BotInfo>,
}
