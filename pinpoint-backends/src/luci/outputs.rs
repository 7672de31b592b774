//! What tasks leave.

use std::collections::BTreeMap;
use std::error::Error;

use async_trait::async_trait;
use pinpoint_core::Series;

use crate::cas::{Cas, CasError, DigestError};
use crate::swarming::CasReference;

/// Reads what tasks leave: [`Cas`], or a test.
#[async_trait]
pub trait TaskOutputs: Send + Sync {
    /// The charts that a benchmark left in this root.
    async fn charts(
        &self,
        root: &CasReference,
        benchmark: &str,
    ) -> Result<BTreeMap<String, Series>, OutputError>;
}

/// There are no charts.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The benchmark left none, or such as can't be read: the run has failed.
    #[error("{0}")]
    None(String),
    /// The store does not have them any more, or can't be asked.
    #[error(transparent)]
    Trouble(Box<dyn Error + Send + Sync>),
}

/// The store is asked for the instance of its own options.
#[async_trait]
impl TaskOutputs for Cas {
    async fn charts(
        &self,
        root: &CasReference,
        benchmark: &str,
    ) -> Result<BTreeMap<String, Series>, OutputError> {
        let digest = root.digest.to_string().parse();
        let digest = digest.map_err(|error: DigestError| OutputError::Trouble(Box::new(error)))?;
        let charts = self.perf_results(&digest, benchmark).await;
        charts.map_err(|error| match error {
            CasError::NoResults { .. } | CasError::Results { .. } => {
                OutputError::None(error.to_string())
            }
            error => OutputError::Trouble(Box::new(error)),
        })
    }
}
