//! Builds by [Buildbucket].
//!
//! | file | holds |
//! | --- | --- |
//! | `messages.rs` | the messages, as its `.proto` files define them |
//! | `plan.rs` | the requests for a commit; pure |
//! | `found.rs` | the existing build that fits a commit, and its outputs; pure |
//! | `client.rs` | the calls |
//!
//! [Buildbucket]: https://chromium.googlesource.com/infra/luci/luci-go/+/HEAD/buildbucket/proto/

mod client;
mod matching_build;
mod messages;
mod plan;

pub use client::{ADDRESS, Buildbucket};
pub use matching_build::{KEPT, MAX_BUILD_TIME, build_of, newest_commit, targets};
pub use messages::{
    Build, BuildStatus, BuilderId, CancelBuildRequest, GerritChange, GitilesCommit,
    ScheduleBuildRequest, SearchBuilds, Tag,
};
pub use plan::{BuildPlan, PlanError};
pub(crate) use plan::{KEY_TAG, search_newest, waterfall_of};
