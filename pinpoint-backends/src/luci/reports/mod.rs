//! What others are told of the result of a search: a comment on an issue, and rows of a table in
//! BigQuery, one for each culprit.
//!
//! ```no_run
//! # use std::path::Path;
//! # use pinpoint_backends::google::{Secret, TokenSource};
//! # use pinpoint_backends::luci::{LuciConfig, Reports, Subject};
//! # async fn example(config: &LuciConfig, result: &pinpoint_core::job::JobResult, job_dir: &Path)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let source: TokenSource = "metadata".parse()?;
//! let key = std::env::var("KEY_OF_THE_ISSUE_TRACKER").ok().map(Secret::new);
//! let reports = Reports::open(config, &source, key)?;
//! let subject = Subject { bot: "linux-perf", benchmark: "jetstream2", ended: 1_790_000_000_000 };
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
//! between a report and its note. So the services are asked before they are told: the comment has
//! a key by which it is found, and rows have the job and their number in it. What the service has
//! is noted and not made a second time. Two processes must not do this at once: a job has one
//! holder.

mod row;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use pinpoint_core::JobState;
use pinpoint_core::job::{BisectionResult, JobResult};
use serde::{Deserialize, Serialize};

use self::row::CulpritRow;
use super::config::{LuciConfig, WantedCharts};
use super::error::LuciError;
use crate::bigquery::{BigQuery, BigQueryError, Query, Row, Table};
use crate::google::{Secret, TokenSource, Tokens, Transport, Web, scope};
use crate::issue_tracker::{Change, IssueTracker, TrackerError, comment};

/// The note of the reports that were made, in the directory of the job.
const NOTE: &str = "reported.json";

/// Where results are reported, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// The address of a job's page, in which `{job}` stands for its id; in comments.
    pub page: Option<String>,
    /// The hotlists that an issue joins for which a culprit was found, by their ids.
    pub hotlists: Vec<i64>,
    /// The status that such an issue gets, such as `ASSIGNED`.
    pub status: Option<String>,
    /// The table that gets a row for each culprit, as `PROJECT.DATASET.TABLE`. It is made if there
    /// is none.
    pub culprits: Option<String>,
}

/// What a row says of a job beside its result.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The bot.
    pub bot: &'a str,
    /// The benchmark.
    pub benchmark: &'a str,
    /// When the job ended, in milliseconds since 1970.
    pub ended: u64,
}

/// A report that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// A comment on this issue.
    Issue(u64),
    /// So many culprits in the table of this name.
    Culprits(usize, String),
}

impl fmt::Display for Reported {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue(issue) => write!(formatter, "commented on issue {issue}"),
            Self::Culprits(1, table) => write!(formatter, "1 culprit is in {table}"),
            Self::Culprits(count, table) => write!(formatter, "{count} culprits are in {table}"),
        }
    }
}

/// A report was not made, or that was not noted. The job is none the worse: it can be made later.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No comment.
    #[error("the result is not on the issue: {0}")]
    Issue(#[from] TrackerError),
    /// No rows.
    #[error("the culprits are not in the table: {0}")]
    Culprits(#[from] BigQueryError),
    /// The note can't be read or written.
    #[error("can't note what was reported in {path}: {source}")]
    Note {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The reports that a job is to make.
pub struct Reports {
    settings: ReportSettings,
    /// The chart that the job names.
    chart: Option<String>,
    issue: Option<(IssueTracker, u64)>,
    culprits: Option<Culprits>,
}

/// The table of culprits.
struct Culprits {
    service: BigQuery,
    table: Table,
    project: String,
    /// With dataset, as queries have it.
    name: String,
}

/// What was made.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct Note {
    issue: bool,
    culprits: bool,
}

impl Reports {
    /// The reports that the configuration of a job asks for. Nothing is asked yet.
    ///
    /// # Arguments
    ///
    /// `source` gives the tokens; `key` is that of the issue tracker's interface, which Google's
    /// asks for.
    ///
    /// # Errors
    ///
    /// When an address or the name of the table can't be used.
    pub fn open(
        config: &LuciConfig,
        source: &TokenSource,
        key: Option<Secret>,
    ) -> Result<Self, LuciError> {
        let web: Arc<dyn Transport> = Arc::new(Web::new()?);
        Self::new(config, source, key, &web)
    }

    /// As [`open`](Self::open), with requests that this transport sends.
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
                WantedCharts::Named(chart) => Some(chart.clone()),
                WantedCharts::Only | WantedCharts::Every => None,
            },
            issue: issue.transpose()?,
            culprits: culprits.transpose()?,
        })
    }

    /// Is there a report of this result that is not noted in the job's directory?
    pub fn are_owed(&self, result: &JobResult, job_dir: &Path) -> bool {
        let note = Note::read(job_dir).unwrap_or_default();
        let is_owed =
            (self.issue.is_some() && !note.issue) || (self.culprits.is_some() && !note.culprits);
        is_owed && told(result).is_some()
    }

    /// Makes the reports that are owed, and returns what became of each. A job that compares two
    /// commits, failed or was canceled has none.
    pub async fn make(
        &self,
        result: &JobResult,
        subject: &Subject<'_>,
        job_dir: &Path,
    ) -> Vec<Result<Reported, ReportError>> {
        let Some(result) = told(result) else {
            return Vec::new();
        };
        // A job that did not have to find its metric has none in its result.
        let result = &BisectionResult {
            chart: result.chart.clone().or_else(|| self.chart.clone()),
            ..result.clone()
        };
        let mut note = match Note::read(job_dir) {
            Ok(note) => note,
            Err(error) => return vec![Err(error)],
        };
        let mut made = Vec::new();
        if let Some((tracker, issue)) = self.issue.as_ref().filter(|_| !note.issue) {
            let posted = self.comment(tracker, *issue, result).await;
            note.issue = posted.is_ok();
            made.push(posted.and_then(|reported| note.write(job_dir).map(|()| reported)));
        }
        if let Some(culprits) = self.culprits.as_ref().filter(|_| !note.culprits) {
            let issue = self.issue.as_ref().map(|(_, issue)| *issue);
            let added = culprits.add(row::of(result, subject, issue)).await;
            note.culprits = added.is_ok();
            made.push(added.and_then(|reported| note.write(job_dir).map(|()| reported)));
        }
        made
    }

    async fn comment(
        &self,
        tracker: &IssueTracker,
        issue: u64,
        result: &BisectionResult,
    ) -> Result<Reported, ReportError> {
        let page = self.settings.page.as_ref();
        let page = page.map(|page| page.replace("{job}", &result.job_id));
        let mut change = Change::comment(comment(result, page.as_deref()));
        if !result.culprits.is_empty() {
            change.hotlists.clone_from(&self.settings.hotlists);
            change.status.clone_from(&self.settings.status);
        }
        let key = format!("{}/culprits", result.job_id);
        tracker.post(issue, &key, &change).await?;
        Ok(Reported::Issue(issue))
    }
}

/// The result of a search that has ended by itself.
fn told(result: &JobResult) -> Option<&BisectionResult> {
    let search = match result {
        JobResult::Bisection(search) => search,
        JobResult::CulpritFinder(result) => &result.search,
        JobResult::Pairwise(_) => return None,
    };
    (result.state() == JobState::Completed).then_some(search)
}

/// A row that the table has.
#[derive(Deserialize)]
struct Known {
    number: i64,
}

impl Culprits {
    fn new(service: BigQuery, name: &str) -> Result<Self, LuciError> {
        let wrong = || LuciError::Table(name.into());
        // A project may have dots in its name.
        let mut parts = name.rsplitn(3, '.');
        let (Some(table), Some(dataset), Some(project)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        Ok(Self {
            service,
            table: Table::new(project, dataset, table).map_err(|_| wrong())?,
            project: project.into(),
            name: format!("{dataset}.{table}"),
        })
    }

    /// Adds the rows of a job that the table lacks. The service itself knows a row that is sent
    /// twice for some minutes only.
    async fn add(&self, rows: Vec<CulpritRow>) -> Result<Reported, ReportError> {
        let count = rows.len();
        let done = || Reported::Culprits(count, format!("{}.{}", self.project, self.name));
        let Some(first) = rows.first() else {
            return Ok(done());
        };
        self.service.create::<CulpritRow>(&self.table).await?;
        let known = format!("SELECT number FROM `{}` WHERE job = @job", self.name);
        let known = Query::new(known).with("job", &*first.job);
        let known: Vec<Known> = self.service.query(&self.project, &known).await?;
        let rows = rows.into_iter();
        let missing = rows.filter(|row| known.iter().all(|known| known.number != row.number));
        let missing = missing.map(|row| Row::new(format!("{}/{}", row.job, row.number), row));
        self.service.insert(&self.table, missing).await?;
        Ok(done())
    }
}

impl Note {
    fn read(job_dir: &Path) -> Result<Self, ReportError> {
        let path = job_dir.join(NOTE);
        let read = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        };
        read.map_err(|source| ReportError::Note { path, source })
    }

    fn write(self, job_dir: &Path) -> Result<(), ReportError> {
        let path = job_dir.join(NOTE);
        let written = || -> io::Result<()> {
            let text = serde_json::to_vec(&self)?;
            let mut new = tempfile::NamedTempFile::new_in(job_dir)?;
            new.write_all(&text)?;
            new.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        written().map_err(|source| ReportError::Note {
            path: path.clone(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_table_has_three_parts() {
        let web = Arc::new(Web::new().unwrap());
        let culprits = |name: &str| {
            let tokens = Tokens::new(TokenSource::None, &[], web.clone());
            let service = BigQuery::new(BigQuery::GOOGLE, tokens, web.clone()).unwrap();
            Culprits::new(service, name)
        };
        let found = culprits("example.com:perf.pinpoint.culprits").unwrap();
        assert_eq!(found.project, "example.com:perf");
        assert_eq!(found.name, "pinpoint.culprits");
        for wrong in ["", "culprits", "pinpoint.culprits", "p..t", "p.d.t`"] {
            let Err(error) = culprits(wrong) else {
                panic!("{wrong}");
            };
            assert!(
                error.to_string().contains("PROJECT.DATASET.TABLE"),
                "{error}"
            );
        }
    }
}
