//! Tasks and bots of [Swarming].
//!
//! | file | holds |
//! | --- | --- |
//! | `messages.rs` | the messages, as its `.proto` file defines them |
//! | `arguments.rs` | the arguments of a job, for the runner or the browser; pure |
//! | `command.rs` | the command line of a benchmark; pure |
//! | `tracing.rs` | the arguments that make a benchmark write traces; pure |
//! | `task.rs` | the request of a task; pure |
//! | `client.rs` | the calls |
//!
//! [Swarming]: https://chromium.googlesource.com/infra/luci/luci-go/+/HEAD/swarming/proto/api_v2/

mod arguments;
mod client;
mod command;
mod messages;
mod task;
mod tracing;

pub use client::Swarming;
pub use command::{BenchmarkRun, CommandError};
pub use messages::{
    BotInfo, CasReference, Digest, NewTaskRequest, ResultOrError, StringPair, TaskProperties,
    TaskResult, TaskSlice, TaskState,
};
#[cfg(feature = "luci")]
pub(crate) use task::{BUILD_TAG, PART_TAG, build_tag, uuid};
pub use task::{TaskPlan, TaskSettings, key_tag};
pub use tracing::Tracing;
