//! Reports the result of a search: a comment on an issue, and rows of a table in BigQuery, one for
//! each culprit.
//!
//! ```no_run
//! # use std::path::Path;
//! # use pinpoint_luci::google::{Secret, TokenSource};
//! # use pinpoint_luci::luci::{LuciConfig, Reports, ReportSubject};
//! # async fn example(config: &LuciConfig, result: &pinpoint_core::job::JobResult, job_dir: &Path)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let source: TokenSource = "metadata".parse()?;
//! let key = std::env::var("KEY_OF_THE_ISSUE_TRACKER").ok().map(Secret::new);
//! let reports = Reports::open(config, &source, key)?;
//! let subject = ReportSubject { bot: "linux-perf", benchmark: "jetstream2", ended: 1_790_000_000_000 };
//! for made in reports.make(result, &subject, job_dir).await {
//!     println!("{}", made?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Once
//!
//! A report that was made is noted in the job's directory, and not made again. The process may end
//! between a report and its note. So the services are queried first: the comment has a key by which
//! it is found, and rows have the job and their number in it. Existing reports are noted and not
//! made a second time. Two processes must not do this at once: a job has one holder.
//!
//! A request may still be on its way when its process ends. So the moment is noted before a comment
//! is sent, and a later process looks for the comment only when the tracker has had 100 s to make
//! it. Rows count as added once the table shows them: a new table may lose rows.

mod culprits;
mod note;
mod row;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, io};

use pinpoint_core::JobState;
use pinpoint_core::job::{BisectionResult, JobResult};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout_at};

use self::culprits::Culprits;
use self::note::{CompletedReports, Note};
use super::config::{LuciConfig, RequestedCharts};
use super::error::LuciError;
use crate::bigquery::{BigQuery, BigQueryError};
use crate::google::{Secret, TokenSource, Tokens, Transport, Web, scope};
use crate::issue_tracker::{CommentContext, IssueChange, IssueTracker, TrackerError, comment};

/// The longest that the reports of a job take.
const REPORTS_TIMEOUT: Duration = Duration::from_secs(600);

/// The tracker has carried a request out by then, or never will: more than the deadline of a
/// request.
const ON_ITS_WAY: Duration = Duration::from_secs(100);

/// The destinations of results, and their options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// The address of a job's page, in which `{job}` stands for its id; in comments.
    pub page: Option<String>,
    /// The hotlists, by id, that an issue with a culprit joins.
    pub hotlists: Vec<i64>,
    /// The status that such an issue gets, one of [`IssueTracker::STATUSES`].
    pub status: Option<String>,
    /// The table that gets a row for each culprit, as `PROJECT.DATASET.TABLE`. It is made if it
    /// does not exist.
    pub culprits: Option<String>,
}

impl ReportSettings {
    /// Checks the status and the hotlists.
    fn check(&self) -> Result<(), LuciError> {
        let status = self.status.as_deref();
        if let Some(status) = status.filter(|it| !IssueTracker::STATUSES.contains(it)) {
            return Err(LuciError::IssueStatus(status.into()));
        }
        match self.hotlists.iter().find(|id| **id <= 0) {
            Some(id) => Err(LuciError::Hotlist(*id)),
            None => Ok(()),
        }
    }
}

/// The facts about a job in its row, in addition to its result.
#[derive(Debug, Clone, Copy)]
pub struct ReportSubject<'a> {
    /// The bot.
    pub bot: &'a str,
    /// The benchmark.
    pub benchmark: &'a str,
    /// The time at which the job ended, in milliseconds since 1970.
    pub ended: u64,
}

/// A completed report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletedReport {
    /// A comment on this issue.
    Issue(u64),
    /// So many culprits in the table of this name.
    Culprits(usize, String),
}

impl fmt::Display for CompletedReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue(issue) => write!(formatter, "commented on issue {issue}"),
            Self::Culprits(1, table) => write!(formatter, "1 culprit is in {table}"),
            Self::Culprits(count, table) => write!(formatter, "{count} culprits are in {table}"),
        }
    }
}

/// A report was not made, or that was not noted. The job still has its result, and the report can
/// be made later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The comment failed.
    #[error("can't comment on {0}")]
    Issue(#[from] TrackerError),
    /// The rows failed.
    #[error("can't add the culprits to {table}: {source}")]
    Culprits {
        /// The table.
        table: String,
        /// The cause.
        source: BigQueryError,
    },
    /// The rows were taken, and are not in the table.
    #[error("the culprits were sent to {0}, and it does not show them yet")]
    Unseen(String),
    /// The services take too long.
    #[error("the result was not reported to {0} within 10 minutes")]
    TooLong(String),
    /// The note cannot be written.
    #[error("can't note what was reported in {path}: {source}")]
    Note {
        /// Its file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The reports of a job.
pub struct Reports {
    settings: ReportSettings,
    /// The chart that the job names.
    chart: Option<String>,
    issue: Option<(IssueTracker, u64)>,
    culprits: Option<Culprits>,
}

impl Reports {
    /// The reports that the configuration of a job asks for. Sends no request yet.
    ///
    /// # Arguments
    ///
    /// `source` gives the tokens; `key` is the API key that Google's issue tracker asks for.
    ///
    /// # Errors
    ///
    /// When an address, the name of the table, the status or the id of a hotlist is invalid.
    pub fn open(
        config: &LuciConfig,
        source: &TokenSource,
        key: Option<Secret>,
    ) -> Result<Self, LuciError> {
        let web: Arc<dyn Transport> = Arc::new(Web::new()?);
        Self::new(config, source, key, &web)
    }

    /// Like [`open`](Self::open), with this transport.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn new(
        config: &LuciConfig,
        source: &TokenSource,
        key: Option<Secret>,
        web: &Arc<dyn Transport>,
    ) -> Result<Self, LuciError> {
        let tokens = |scope: &str| Tokens::new(source.clone(), &[scope], web.clone());
        let (addresses, settings) = (&config.settings.addresses, &config.settings.reports);
        settings.check()?;
        let issue = config.issue.map(|issue| {
            let tokens = tokens(scope::BUGANIZER);
            let tracker = IssueTracker::new(&addresses.issue_tracker, key, tokens, web.clone())?;
            Ok::<_, LuciError>((tracker, issue))
        });
        let culprits = settings.culprits.as_deref().map(|name| {
            let tokens = tokens(scope::CLOUD_PLATFORM);
            let service = BigQuery::new(&addresses.bigquery, tokens, web.clone())?;
            Culprits::new(service, name)
        });
        Ok(Self {
            settings: settings.clone(),
            chart: match &config.charts {
                RequestedCharts::Named(chart) => Some(chart.clone()),
                RequestedCharts::Only | RequestedCharts::Every => None,
            },
            issue: issue.transpose()?,
            culprits: culprits.transpose()?,
        })
    }

    /// Returns whether a job with this configuration owes a report of this result, not yet noted in
    /// its directory.
    pub fn are_owed(config: &LuciConfig, result: &JobResult, job_dir: &Path) -> bool {
        let made = CompletedReports::read(job_dir);
        let has_table = config.settings.reports.culprits.is_some();
        let is_owed = (config.issue.is_some() && !made.issue) || (has_table && !made.culprits);
        is_owed && completed_search(result).is_some()
    }

    /// Makes the owed reports, concurrently and within 10 minutes, and returns the outcome of each.
    /// A job that compares two commits, failed or was canceled has none.
    pub async fn make(
        &self,
        result: &JobResult,
        subject: &ReportSubject<'_>,
        job_dir: &Path,
    ) -> Vec<Result<CompletedReport, ReportError>> {
        let Some(found) = completed_search(result) else {
            return Vec::new();
        };
        // The result lacks the metric of a job that did not have to find it.
        let mut found = found.clone();
        found.chart = found.chart.or_else(|| self.chart.clone());
        let found = &found;
        let about = CommentContext {
            bot: subject.bot,
            benchmark: subject.benchmark,
            unconfirmed: result.unconfirmed(),
            report: None,
        };
        let last = Instant::now() + REPORTS_TIMEOUT;
        let note = Note::read(job_dir);
        // A slow service must not use up the time of another.
        let (comment, rows) = tokio::join!(
            self.tell_issue(found, &about, &note, last),
            self.fill_table(found, subject, &note, last),
        );
        comment.into_iter().chain(rows).collect()
    }

    /// Comments on the issue; `None` where that is not owed.
    async fn tell_issue(
        &self,
        result: &BisectionResult,
        about: &CommentContext<'_>,
        note: &Note,
        last: Instant,
    ) -> Option<Result<CompletedReport, ReportError>> {
        let owed = self.issue.as_ref().filter(|_| !note.made().issue);
        let (tracker, issue) = owed?;
        let posted = timeout_at(last, self.comment((tracker, *issue), result, about, note));
        let posted = posted.await;
        let posted = posted.unwrap_or_else(|_| Err(ReportError::TooLong(format!("issue {issue}"))));
        let noted = posted.and_then(|()| note.add(|made| made.issue = true));
        Some(noted.map(|()| CompletedReport::Issue(*issue)))
    }

    /// Inserts the rows of the culprits; `None` without culprits, or where no rows are owed.
    async fn fill_table(
        &self,
        result: &BisectionResult,
        subject: &ReportSubject<'_>,
        note: &Note,
        last: Instant,
    ) -> Option<Result<CompletedReport, ReportError>> {
        let owed = self.culprits.as_ref().filter(|_| !note.made().culprits);
        let culprits = owed?;
        let issue = self.issue.as_ref().map(|(_, issue)| *issue);
        let rows = row::culprit_rows(result, subject, issue);
        let count = rows.len();
        let added = timeout_at(last, culprits.add(rows)).await;
        let added = added.unwrap_or_else(|_| Err(ReportError::TooLong(culprits.whole_name())));
        match added.and_then(|()| note.add(|made| made.culprits = true)) {
            Ok(()) if count == 0 => None,
            Ok(()) => Some(Ok(CompletedReport::Culprits(count, culprits.whole_name()))),
            Err(error) => Some(Err(error)),
        }
    }

    async fn comment(
        &self,
        (tracker, issue): (&IssueTracker, u64),
        result: &BisectionResult,
        about: &CommentContext<'_>,
        note: &Note,
    ) -> Result<(), ReportError> {
        let page = self.settings.page.as_ref();
        let page = page.map(|page| page.replace("{job}", &result.job_id));
        let about = CommentContext {
            report: page.as_deref(),
            ..*about
        };
        let mut change = IssueChange::comment(comment(result, &about));
        if !result.culprits.is_empty() {
            change.hotlists.clone_from(&self.settings.hotlists);
            change.status.clone_from(&self.settings.status);
        }
        let key = format!("{}/culprits", result.job_id);
        let begun = note.made().issue_begun;
        if let Some(wait) = begun.map(on_its_way).filter(|it| !it.is_zero()) {
            tracing::warn!(
                "a comment on issue {issue} may be on its way; it is looked for in {} s",
                wait.as_secs() + 1
            );
            sleep(wait).await;
        }
        if !tracker.has(issue, &key).await? {
            note.add(|made| made.issue_begun = Some(now()))?;
            tracker.post(issue, &key, &change).await?;
        }
        Ok(())
    }
}

/// The time for which a request sent then may still be on its way.
fn on_its_way(begun: u64) -> Duration {
    // A clock that was set back makes no wait longer.
    ON_ITS_WAY.saturating_sub(Duration::from_millis(now().saturating_sub(begun)))
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// The result of a search that has ended normally.
fn completed_search(result: &JobResult) -> Option<&BisectionResult> {
    let search = result.bisection();
    search.filter(|_| result.state() == JobState::Completed)
}
