//! The messages of `culprit.v1`, by the numbers in `perf/go/culprit/proto/v1/culprit_service.proto`
//! of <https://skia.googlesource.com/buildbot>.

use prost::Message;

use super::CulpritCommit;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Commit {
    #[prost(string, tag = "1")]
    pub(super) host: String,
    #[prost(string, tag = "2")]
    pub(super) project: String,
    /// The branch, which Perf leaves empty, too.
    #[prost(string, tag = "3")]
    pub(super) r#ref: String,
    #[prost(string, tag = "4")]
    pub(super) revision: String,
}

impl From<&CulpritCommit> for Commit {
    fn from(commit: &CulpritCommit) -> Self {
        Self {
            host: commit.host.clone(),
            project: commit.project.clone(),
            r#ref: String::new(),
            revision: commit.revision.clone(),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PersistCulpritRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) commits: Vec<Commit>,
    #[prost(string, tag = "2")]
    pub(super) anomaly_group_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PersistCulpritResponse {
    #[prost(string, repeated, tag = "1")]
    pub(super) culprit_ids: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NotifyUserOfCulpritRequest {
    #[prost(string, repeated, tag = "1")]
    pub(super) culprit_ids: Vec<String>,
    #[prost(string, tag = "2")]
    pub(super) anomaly_group_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NotifyUserOfCulpritResponse {
    #[prost(string, repeated, tag = "1")]
    pub(super) issue_ids: Vec<String>,
}
