//! The messages of `buildbucket.v2`, as JSON has them: names in camel case, 64-bit numbers as
//! text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::google::int64;

/// A builder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BuilderId {
    /// Such as `chrome`.
    pub project: String,
    /// Such as `try`.
    pub bucket: String,
    /// Such as `Linux Builder Perf`.
    pub builder: String,
}

impl BuilderId {
    /// Parses a builder with its bucket's legacy name: `luci.chrome.try` is the bucket `try` of the
    /// project `chrome`. None for a name of another form.
    pub fn new(bucket: &str, builder: &str) -> Option<Self> {
        let (project, bucket) = bucket.strip_prefix("luci.")?.split_once('.')?;
        let is_empty = project.is_empty() || bucket.is_empty() || builder.is_empty();
        (!is_empty).then(|| Self {
            project: project.into(),
            bucket: bucket.into(),
            builder: builder.into(),
        })
    }
}

/// A tag of a build.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// The key.
    #[serde(default)]
    pub key: String,
    /// The value.
    #[serde(default)]
    pub value: String,
}

impl Tag {
    /// Creates a tag.
    pub fn new(key: &str, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
        }
    }
}

/// A commit at Gitiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitilesCommit {
    /// Such as `chromium.googlesource.com`.
    #[serde(default)]
    pub host: String,
    /// Such as `chromium/src`.
    #[serde(default)]
    pub project: String,
    /// The full hash.
    #[serde(default)]
    pub id: String,
    /// The branch, by its whole name.
    #[serde(default)]
    pub r#ref: String,
}

/// A patch set of a change at Gerrit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GerritChange {
    /// Such as `chromium-review.googlesource.com`.
    #[serde(default)]
    pub host: String,
    /// Such as `chromium/src`.
    #[serde(default)]
    pub project: String,
    /// The number of the change.
    #[serde(default, with = "int64")]
    pub change: i64,
    /// The number of the patch set.
    #[serde(default, with = "int64")]
    pub patchset: i64,
}

/// A request for a build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleBuildRequest {
    /// A request with the same id is the same one, for about a minute.
    pub request_id: String,
    /// The builder.
    pub builder: BuilderId,
    /// The properties for the recipe.
    pub properties: Map<String, Value>,
    /// The commit to check out.
    pub gitiles_commit: GitilesCommit,
    /// The patch on top of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gerrit_changes: Vec<GerritChange>,
    /// The tags to find it by.
    pub tags: Vec<Tag>,
}

/// A request for a page of the builds of a builder, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchBuilds {
    /// The predicate.
    pub predicate: Predicate,
    /// The returned fields.
    pub mask: Mask,
    /// Builds of a page.
    pub page_size: u32,
    /// The token of the page; empty for the first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub page_token: String,
}

/// The criteria of a search: builds match all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Predicate {
    /// The builder.
    pub builder: BuilderId,
    /// With at least these tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Tag>,
    /// In this state; in any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<BuildStatus>,
    /// With at least these changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gerrit_changes: Vec<GerritChange>,
}

/// The requested fields of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// Separated by commas, in camel case as JSON has it.
    pub fields: String,
}

impl Default for Mask {
    fn default() -> Self {
        let fields = "id,number,status,createTime,endTime,input.gerritChanges,\
                      input.gitilesCommit,input.properties,output.properties,summaryMarkdown,tags";
        Self {
            fields: fields.into(),
        }
    }
}

/// A request for a build by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GetBuildRequest {
    #[serde(with = "int64")]
    pub(super) id: i64,
    pub(super) mask: Mask,
}

/// A request to end a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelBuildRequest {
    /// The build.
    #[serde(with = "int64")]
    pub id: i64,
    /// The reason.
    pub summary_markdown: String,
}

/// The state of a build. States that Buildbucket may add are [`Unspecified`](Self::Unspecified).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BuildStatus {
    /// Waiting.
    Scheduled,
    /// Running.
    Started,
    /// It succeeded.
    Success,
    /// The commit does not build.
    Failure,
    /// It says nothing about the commit.
    InfraFailure,
    /// It was canceled.
    Canceled,
    /// Unknown.
    #[default]
    #[serde(rename = "STATUS_UNSPECIFIED", other)]
    Unspecified,
}

impl BuildStatus {
    /// Returns whether it stays as it is.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failure | Self::InfraFailure | Self::Canceled
        )
    }
}

/// A build, as far as the mask asks for it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Build {
    /// Its id.
    #[serde(with = "int64")]
    pub id: i64,
    /// Its number with its builder.
    pub number: i64,
    /// Its state.
    pub status: BuildStatus,
    /// The time of the request, in RFC 3339.
    pub create_time: Option<String>,
    /// The time at which it ended.
    pub end_time: Option<String>,
    /// The reason for its state.
    pub summary_markdown: String,
    /// Its tags.
    pub tags: Vec<Tag>,
    /// Its input.
    pub input: Input,
    /// Its output.
    pub output: Output,
}

/// The input of a build.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Those of the request, and the builder's own.
    pub properties: Map<String, Value>,
    /// The commit that was to be checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitiles_commit: Option<GitilesCommit>,
    /// The patch.
    pub gerrit_changes: Vec<GerritChange>,
}

/// The output of a build.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// As the recipe wrote them.
    pub properties: Map<String, Value>,
}

/// A page of builds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FoundBuilds {
    pub(super) builds: Vec<Build>,
    pub(super) next_page_token: String,
}
