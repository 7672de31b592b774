//! Writing a job back to Catapult's database, once.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::LuciConfig;
use super::error::LuciError;
use crate::catapult::{Catapult, CatapultError};
use crate::google::{TokenSource, Tokens, Transport, Web, scope};

/// The file in a job's directory that says what was written.
const NOTE: &str = "written_back.json";

/// The database that a job is written back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBack {
    /// That of Chromium's dashboards.
    Catapult,
    /// That for trials.
    CatapultStaging,
}

impl fmt::Display for WriteBack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Catapult => "Catapult",
            Self::CatapultStaging => "Catapult's database for trials",
        })
    }
}

/// A job that was written back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenBack {
    /// The database.
    pub to: WriteBack,
    /// Its id there.
    pub id: String,
}

impl WrittenBack {
    /// The note in a job's directory. An unreadable one counts as absent: the job is written once
    /// more, which changes nothing there.
    pub fn read(job_dir: &Path) -> Option<Self> {
        let text = fs::read(job_dir.join(NOTE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn keep(&self, job_dir: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(job_dir)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.as_file().sync_all()?;
        let persisted = file.persist(job_dir.join(NOTE));
        persisted.map(drop).map_err(|error| error.error)
    }
}

/// A job was not written back. It still has its result, and can be written later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteBackError {
    /// An address is invalid, or no request can be sent.
    #[error(transparent)]
    Client(#[from] Box<LuciError>),
    /// Catapult did not take it.
    #[error(transparent)]
    Catapult(#[from] CatapultError),
    /// It was written, and that cannot be noted.
    #[error("the job was written, and can't be noted in {path}: {source}")]
    Note {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Writes a job back, unless it was before.
///
/// # Arguments
///
/// `body` is that of `write_back_body` of `pinpoint_core::api`.
///
/// # Errors
///
/// When Catapult does not take it, or that cannot be noted.
pub async fn write_back(
    config: &LuciConfig,
    to: WriteBack,
    source: &TokenSource,
    body: &Value,
    job_dir: &Path,
) -> Result<WrittenBack, WriteBackError> {
    if let Some(written) = WrittenBack::read(job_dir).filter(|written| written.to == to) {
        return Ok(written);
    }
    let web: Arc<dyn Transport> = Arc::new(Web::new().map_err(client)?);
    let tokens = Tokens::new(source.clone(), &[scope::USERINFO_EMAIL], web.clone());
    let addresses = &config.settings.addresses;
    let address = match to {
        WriteBack::Catapult => &addresses.catapult,
        WriteBack::CatapultStaging => &addresses.catapult_staging,
    };
    let catapult = Catapult::new(address, tokens, web).map_err(client)?;
    let id = catapult.write(body).await?;
    let written = WrittenBack { to, id };
    written
        .keep(job_dir)
        .map_err(|source| WriteBackError::Note {
            path: job_dir.join(NOTE),
            source,
        })?;
    Ok(written)
}

fn client(error: impl Into<LuciError>) -> WriteBackError {
    WriteBackError::Client(Box::new(error.into()))
}
