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
    /// A builder of a bucket by its old name: `luci.chrome.try` is the bucket `try` of the
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
    /// What it is about.
    #[serde(default)]
    pub key: String,
    /// What it says.
    #[serde(default)]
    pub value: String,
}

impl Tag {
    /// A tag.
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
    pub host: String,
    /// Such as `chromium/src`.
    pub project: String,
    /// The full hash.
    pub id: String,
    /// The branch, by its whole name.
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

/// Asks for a build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleBuildRequest {
    /// A request with the same id is the same one, for about a minute.
    pub request_id: String,
    /// Who builds.
    pub builder: BuilderId,
    /// What the recipe reads.
    pub properties: Map<String, Value>,
    /// The commit to check out.
    pub gitiles_commit: GitilesCommit,
    /// The patch on top of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gerrit_changes: Vec<GerritChange>,
    /// By which it is found.
    pub tags: Vec<Tag>,
}

/// Asks for a page of the builds of a builder, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchBuilds {
    /// Which.
    pub predicate: Predicate,
    /// The fields to give.
    pub mask: Mask,
    /// Builds of a page.
    pub page_size: u32,
    /// Where the page begins; nothing for the first.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub page_token: String,
}

/// Which builds are asked for: those with all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Predicate {
    /// By whom.
    pub builder: BuilderId,
    /// With at least these tags.
    pub tags: Vec<Tag>,
    /// With at least these changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gerrit_changes: Vec<GerritChange>,
}

/// The fields of a build that are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mask {
    /// Separated by commas, in camel case as JSON has it.
    pub fields: String,
}

impl Default for Mask {
    fn default() -> Self {
        let fields = "id,number,status,createTime,endTime,input.gerritChanges,input.properties,\
                      output.properties,summaryMarkdown,tags";
        Self {
            fields: fields.into(),
        }
    }
}

/// Asks for a build by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GetBuildRequest {
    #[serde(with = "int64")]
    pub(super) id: i64,
    pub(super) mask: Mask,
}

/// Ends a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelBuildRequest {
    /// Which.
    #[serde(with = "int64")]
    pub id: i64,
    /// Why.
    pub summary_markdown: String,
}

/// How far a build is. Those that Buildbucket may have later are
/// [`Unspecified`](Self::Unspecified).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BuildStatus {
    /// It waits.
    Scheduled,
    /// It goes on.
    Started,
    /// It was made.
    Success,
    /// The commit does not build.
    Failure,
    /// It says nothing about the commit.
    InfraFailure,
    /// Somebody ended it.
    Canceled,
    /// None that is known here.
    #[default]
    #[serde(rename = "STATUS_UNSPECIFIED", other)]
    Unspecified,
}

impl BuildStatus {
    /// Will it stay as it is?
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
    /// How far it is.
    pub status: BuildStatus,
    /// When it was asked for, as RFC 3339 writes it.
    pub create_time: Option<String>,
    /// When it ended.
    pub end_time: Option<String>,
    /// Why it ended so.
    pub summary_markdown: String,
    /// By which it is found.
    pub tags: Vec<Tag>,
    /// What it was made of.
    pub input: Input,
    /// What it made.
    pub output: Output,
}

/// What a build was made of.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Input {
    /// Those of the request, and the builder's own.
    pub properties: Map<String, Value>,
    /// The patch.
    pub gerrit_changes: Vec<GerritChange>,
}

/// What a build made.
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
