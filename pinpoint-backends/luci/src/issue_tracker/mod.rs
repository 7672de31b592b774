//! Comments on Google's issue tracker, made once.
//!
//! ```no_run
//! use std::sync::Arc;
//! use pinpoint_luci::google::{Secret, TokenSource, Tokens, Web, scope};
//! use pinpoint_luci::issue_tracker::{CommentContext, IssueChange, IssueTracker, CommentOutcome, comment};
//!
//! # async fn example(result: &pinpoint_core::job::BisectionResult, key: Secret)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let web = Arc::new(Web::new()?);
//! let source: TokenSource = "metadata".parse()?;
//! let tokens = Tokens::new(source, &[scope::BUGANIZER], web.clone());
//! let tracker = IssueTracker::new(IssueTracker::GOOGLE, Some(key), tokens, web)?;
//! let about = CommentContext { bot: "linux-perf", benchmark: "jetstream2", ..CommentContext::default() };
//! let change = IssueChange::comment(comment(result, &about));
//! let posted = tracker.post(330_000_000, &format!("{}/culprits", result.job_id), &change).await?;
//! assert!(matches!(posted, CommentOutcome::Now | CommentOutcome::Before));
//! # Ok(())
//! # }
//! ```
//!
//! # Once
//!
//! The tracker has no field to recognize a repeated request by. So every comment ends with a key,
//! which its caller makes of the job and the purpose, and [`IssueTracker::post`] looks for that key
//! among the comments before it writes: first of all, since an earlier process may have ended
//! between its request and the note of it, and again whenever a request may not have arrived. The
//! same key is the same comment, however often and from wherever it is posted, as long as one does
//! so at a time: a job has one holder. A deleted comment is written again when it is posted again.
//!
//! Source: the [published client](https://github.com/google/skia-buildbot) of the tracker's
//! version 1 (`go/issuetracker/v1`), methods `issues.modify` and `issues.issueUpdates.list`.

mod comment;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::google::{
    AddressError, Backoff, Client, HttpRequest, HttpResponse, Secret, ServiceError, Tokens,
    Transport, check_address,
};

#[cfg(feature = "luci")]
pub(crate) use comment::places;
pub use comment::{CommentContext, comment};

/// The name of the service in errors.
const NAME: &str = "the issue tracker";

/// The updates in a page of the list.
const PAGE: usize = 500;

/// The most pages that are looked through.
const MOST_PAGES: usize = 200;

/// A client of the issue tracker.
pub struct IssueTracker {
    client: Client,
    key: Option<Secret>,
    backoff: Backoff,
}

/// A change to an issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueChange {
    /// The comment, as Markdown.
    pub comment: String,
    /// The status that the issue gets, one of [`IssueTracker::STATUSES`].
    pub status: Option<String>,
    /// The hotlists that it joins.
    pub hotlists: Vec<i64>,
}

impl IssueChange {
    /// A comment alone.
    pub fn comment(comment: impl Into<String>) -> Self {
        Self {
            comment: comment.into(),
            ..Self::default()
        }
    }
}

/// The time at which the comment was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentOutcome {
    /// By this call.
    Now,
    /// It existed already, with all of its changes.
    Before,
}

/// A comment was not made, or that is unknown.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TrackerError {
    /// The tracker refuses, or cannot be reached.
    #[error("issue {issue}: {source}")]
    Service {
        /// The issue.
        issue: u64,
        /// The error.
        source: ServiceError,
    },
    /// The key is ambiguous.
    #[error("the key {0:?}: use letters, digits and -._/ alone")]
    Key(String),
    /// The issue has too many updates.
    #[error("issue {0}: it has too many updates to see whether the comment is among them")]
    TooLong(u64),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModifyIssueRequest<'a> {
    issue_comment: NewComment<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add: Option<IssueState<'a>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    add_mask: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewComment<'a> {
    comment: &'a str,
    formatting_mode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IssueState<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    /// 64-bit numbers are text in the JSON of Google's services.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hotlist_ids: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Updates {
    issue_updates: Vec<Update>,
    next_page_token: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Update {
    issue_comment: Comment,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Comment {
    comment: String,
}

impl IssueTracker {
    /// The address of Google's tracker.
    pub const GOOGLE: &str = "https://issuetracker.googleapis.com";

    /// The statuses of an issue. `DUPLICATE` is not among them: such an issue names the other one.
    ///
    /// Source: `IssueState.Status` of the published client.
    pub const STATUSES: [&str; 9] = [
        "NEW",
        "ASSIGNED",
        "ACCEPTED",
        "FIXED",
        "VERIFIED",
        "NOT_REPRODUCIBLE",
        "INTENDED_BEHAVIOR",
        "OBSOLETE",
        "INFEASIBLE",
    ];

    /// A client of the tracker at this address. Google's needs an API key in addition to tokens
    /// with the scope [`scope::BUGANIZER`](crate::google::scope::BUGANIZER).
    ///
    /// # Errors
    ///
    /// When the address is invalid, or tokens or the key would cross the network without HTTPS.
    pub fn new(
        address: &str,
        key: Option<Secret>,
        tokens: Tokens,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, AddressError> {
        check_address(address, key.is_some())?;
        Ok(Self {
            client: Client::new(NAME, address, tokens, transport)?,
            key,
            backoff: Backoff {
                retries: 6,
                first: Duration::from_secs(2),
                longest: Duration::from_secs(60),
            },
        })
    }

    /// Sets the backoff; the default is 6 repetitions, the first after 2 s at most.
    #[must_use]
    pub fn with_backoff(mut self, backoff: Backoff) -> Self {
        self.client = self.client.with_backoff(backoff.clone());
        self.backoff = backoff;
        self
    }

    /// Makes a comment and its changes, unless it exists. The `key` identifies it, such as
    /// `JOB/culprits`; it is in the comment's last line.
    ///
    /// # Errors
    ///
    /// [`TrackerError::Service`]: after a transient one, the comment may or may not exist; the next
    /// call finds out.
    pub async fn post(
        &self,
        issue: u64,
        key: &str,
        change: &IssueChange,
    ) -> Result<CommentOutcome, TrackerError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
        if key.is_empty() || !key.bytes().all(is_plain) {
            return Err(TrackerError::Key(key.into()));
        }
        if self.has(issue, key).await? {
            return Ok(CommentOutcome::Before);
        }
        let modify = self.modify(issue, key, change);
        let mut retry = 0;
        loop {
            let error = match self.client.send(&modify).await {
                Ok(_) => return Ok(CommentOutcome::Now),
                Err(error) => error,
            };
            let failed = |source| TrackerError::Service { issue, source };
            if !error.is_transient() {
                return Err(failed(error));
            }
            let seed = crate::google::random_seed();
            let Some(wait) = self.backoff.wait(retry, seed) else {
                return Err(failed(error));
            };
            tracing::debug!(%error, issue, "it is looked up whether the comment was made");
            // An earlier request has time to end before its comment is looked for.
            sleep(wait).await;
            retry += 1;
            if self.has(issue, key).await? {
                return Ok(CommentOutcome::Now);
            }
        }
    }

    /// The request of `post`, without secrets, for `--dry-run`.
    pub fn rendered(&self, issue: u64, key: &str, change: &IssueChange) -> String {
        self.client.rendered(&self.modify(issue, key, change))
    }

    fn modify(&self, issue: u64, key: &str, change: &IssueChange) -> HttpRequest {
        let mut mask = Vec::new();
        if change.status.is_some() {
            mask.push("status");
        }
        if !change.hotlists.is_empty() {
            mask.push("hotlistIds");
        }
        let comment = format!("{}\n\n{}\n", change.comment.trim_end(), line(key));
        let request = ModifyIssueRequest {
            issue_comment: NewComment {
                comment: &comment,
                formatting_mode: "MARKDOWN",
            },
            add: (!mask.is_empty()).then(|| IssueState {
                status: change.status.as_deref(),
                hotlist_ids: change.hotlists.iter().map(i64::to_string).collect(),
            }),
            add_mask: mask.join(","),
        };
        // Text and numbers are always JSON.
        let body = serde_json::to_vec(&request).unwrap_or_default();
        let request = HttpRequest::post_json(format!("/v1/issues/{issue}:modify"), body);
        self.with_key(request.once())
    }

    /// Returns whether a comment with this key exists.
    ///
    /// # Errors
    ///
    /// When the tracker refuses, cannot be reached, or lists too many updates.
    pub async fn has(&self, issue: u64, key: &str) -> Result<bool, TrackerError> {
        let line = line(key);
        let mut page = String::new();
        for _ in 0..MOST_PAGES {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("pageSize", &PAGE.to_string())
                .extend_pairs((!page.is_empty()).then_some(("pageToken", &page)))
                .finish();
            let path = format!("/v1/issues/{issue}/issueUpdates?{query}");
            let request = self.with_key(HttpRequest::get(path));
            let answer = self.client.send(&request).await;
            let updates = answer.and_then(|answer| read(&answer));
            let updates = updates.map_err(|source| TrackerError::Service { issue, source })?;
            let mut comments = updates
                .issue_updates
                .iter()
                .map(|it| &it.issue_comment.comment);
            if comments.any(|comment| comment.lines().any(|it| it.trim() == line)) {
                return Ok(true);
            }
            if updates.next_page_token.is_empty() {
                return Ok(false);
            }
            page = updates.next_page_token;
        }
        Err(TrackerError::TooLong(issue))
    }

    fn with_key(&self, request: HttpRequest) -> HttpRequest {
        match &self.key {
            Some(key) => request.secret_header("x-goog-api-key", key),
            None => request,
        }
    }
}

/// The last line of a comment.
fn line(key: &str) -> String {
    format!("`pinpoint_key: {key}`")
}

fn read(answer: &HttpResponse) -> Result<Updates, ServiceError> {
    serde_json::from_slice(&answer.body).map_err(|error| ServiceError::Unreadable {
        service: NAME,
        reason: error.to_string(),
    })
}
