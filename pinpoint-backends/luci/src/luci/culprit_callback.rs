//! Telling Perf's culprit service of verified culprits, once.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use pinpoint_core::job::JobResult;
use serde::{Deserialize, Serialize};

use super::error::LuciError;
use crate::culprit_service::{CulpritCommit, CulpritService, CulpritServiceError, NoCulpritCommit};
use crate::google::{TokenSource, Tokens, Transport, Web, scope};

/// The file in a job's directory that says what Perf was told.
const NOTE: &str = "told_perf.json";

/// The service that hears of the culprits of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CulpritCallback {
    /// Its address.
    pub url: String,
    /// The group of anomalies that the job was made for.
    pub anomaly_group: String,
    /// A file with the certificate of a private authority, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority: Option<PathBuf>,
}

/// The ids that Perf gave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToldPerf {
    /// The ids of the culprits.
    pub culprit_ids: Vec<String>,
    /// The ids of the issues; absent until people were told.
    pub issue_ids: Option<Vec<String>>,
}

impl fmt::Display for ToldPerf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Perf has {}", self.culprit_ids.join(", "))?;
        match &self.issue_ids {
            Some(issues) if !issues.is_empty() => {
                write!(formatter, ", reported in {}", issues.join(", "))
            }
            _ => Ok(()),
        }
    }
}

/// Perf was not told. The job still has its result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// A culprit has no place that Perf knows.
    #[error(transparent)]
    Commit(#[from] NoCulpritCommit),
    /// No request can be sent.
    #[error(transparent)]
    Client(#[from] Box<LuciError>),
    /// The service failed.
    #[error(transparent)]
    Service(#[from] CulpritServiceError),
    /// The certificate of the authority can't be read.
    #[error("the certificate {path} can't be read: {source}")]
    Authority {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The ids that Perf gave can't be noted.
    #[error("can't note what Perf was told in {path}: {source}")]
    Note {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl ToldPerf {
    /// The note in a job's directory. An unreadable one counts as absent.
    pub fn read(job_dir: &Path) -> Self {
        let text = fs::read(job_dir.join(NOTE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn keep(&self, job_dir: &Path) -> Result<(), CallbackError> {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(job_dir)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            file.as_file().sync_all()?;
            let persisted = file.persist(job_dir.join(NOTE));
            persisted.map(drop).map_err(|error| error.error)
        };
        write().map_err(|source| CallbackError::Note {
            path: job_dir.join(NOTE),
            source,
        })
    }
}

/// The culprits that passed their verification, as Perf finds them: none for another kind of job.
///
/// # Errors
///
/// When one has no place that Perf knows.
pub fn verified_culprits(result: &JobResult) -> Result<Vec<CulpritCommit>, NoCulpritCommit> {
    let JobResult::CulpritFinder(found) = result else {
        return Ok(Vec::new());
    };
    let culprits = found.search.culprits.iter();
    let commits = culprits.map(|culprit| CulpritCommit::try_from(&culprit.commit));
    commits.collect()
}

/// Tells Perf of these culprits, as far as it has not been told. What it made of them is noted
/// before people are told, so that a process that resumes does not make them again.
///
/// # Errors
///
/// When the service fails, or what it made can't be noted.
pub async fn tell_perf(
    callback: &CulpritCallback,
    culprits: &[CulpritCommit],
    source: &TokenSource,
    job_dir: &Path,
) -> Result<ToldPerf, CallbackError> {
    let mut told = ToldPerf::read(job_dir);
    if told.issue_ids.is_some() {
        return Ok(told);
    }
    let authority = callback.authority.as_ref().map(|path| {
        fs::read_to_string(path).map_err(|source| CallbackError::Authority {
            path: path.clone(),
            source,
        })
    });
    let authority = authority.transpose()?;
    let web: Arc<dyn Transport> =
        Arc::new(Web::new().map_err(|error| CallbackError::Client(Box::new(error.into())))?);
    let tokens = Tokens::new(source.clone(), &[scope::USERINFO_EMAIL], web);
    let service = CulpritService::new(&callback.url, authority.as_deref(), tokens)?;
    let group = &callback.anomaly_group;
    if told.culprit_ids.is_empty() {
        told.culprit_ids = service.persist(culprits, group).await?;
        told.keep(job_dir)?;
    }
    told.issue_ids = Some(service.notify(&told.culprit_ids, group).await?);
    told.keep(job_dir)?;
    Ok(told)
}
