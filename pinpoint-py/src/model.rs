//! The builds, machines and jobs; as JSON, from which `python/pinpoint/_model.py` and `_bots.py`
//! make classes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pinpoint_backends::job::kind_of;
use pinpoint_backends::local::{LocalRepositories, Repository};
use pinpoint_backends::store::{JobFilter, ListOrder, PagePosition};
use pinpoint_core::bots::{self as engine, ConfigFile};
use pinpoint_core::{CombinedCommit, JobState};
use pinpoint_midpoint::Midpoints;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::arguments;
use crate::drive::{self, Failure, document, explained, runtime, with_store};

#[doc = include_str!(concat!(env!("OUT_DIR"), "/combined_commit"))]
#[pyfunction]
pub(crate) fn combined_commit(text: &str) -> PyResult<(String, u64)> {
    let commit: CombinedCommit = serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("this is not a commit: {error}")))?;
    Ok((written(&commit)?, commit.key()))
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/stored_jobs"))]
#[pyfunction]
pub(crate) fn stored_jobs(
    py: Python<'_>,
    state_dir: PathBuf,
    state: Option<&str>,
    limit: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let limit = u32::try_from(arguments::count("limit", limit)?).unwrap_or(u32::MAX);
    let state: Option<JobState> =
        state
            .map(str::parse)
            .transpose()
            .map_err(|error: pinpoint_core::UnknownJobState| {
                PyValueError::new_err(error.to_string())
            })?;
    // Reading must not make a directory.
    if !state_dir.join("pinpoint.db").exists() {
        return Ok("[]".into());
    }
    let filter = JobFilter {
        state,
        ..JobFilter::default()
    };
    wait(py, async || {
        with_store(&state_dir, async |store| {
            let page = store
                .jobs()
                .list(&filter, ListOrder::default(), &PagePosition::First, limit)
                .await?;
            Ok(serde_json::to_value(page.jobs)?)
        })
        .await
    })
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/stored_outcome"))]
#[pyfunction]
pub(crate) fn stored_outcome(py: Python<'_>, state_dir: PathBuf, job: &str) -> PyResult<String> {
    wait(py, async || {
        with_store(&state_dir, async |store| {
            let job = store.jobs().find(&job.parse()?).await?;
            let outcome = match &job.outcome {
                Some(outcome) => Some(document(store, &job, outcome.clone()).await?),
                None => None,
            };
            Ok(json!({ "kind": kind_of(&job)?, "outcome": outcome }))
        })
        .await
    })
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/outcome_document"))]
#[pyfunction]
pub(crate) fn outcome_document(text: &str) -> PyResult<String> {
    let document = serde_json::from_str(text).and_then(explained);
    let document = document.map_err(|error| {
        PyValueError::new_err(format!("this is not the outcome of a job: {error}"))
    })?;
    written(&document)
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/try_to_cancel"))]
#[pyfunction]
pub(crate) fn try_to_cancel(py: Python<'_>, state_dir: PathBuf, job: &str) -> PyResult<String> {
    wait(py, async || {
        with_store(&state_dir, async |store| {
            Ok(json!(drive::try_to_cancel(&state_dir, store, job).await?))
        })
        .await
    })
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/midpoint"))]
#[pyfunction]
pub(crate) fn midpoint(
    py: Python<'_>,
    repo: PathBuf,
    lower: &str,
    higher: &str,
    all: bool,
    repositories: BTreeMap<String, PathBuf>,
    state_dir: PathBuf,
) -> PyResult<String> {
    wait(py, async || {
        let repository = Repository::discover(&repo)?;
        let names = LocalRepositories::new(repository.clone(), repositories, &state_dir);
        let midpoints = Midpoints::new(Arc::new(names.clone()));
        let missing =
            |error: pinpoint_midpoint::MidpointError| Failure::Repository(error.to_string());
        let lower = CombinedCommit::from(repository.resolve_revision(lower)?);
        let higher = CombinedCommit::from(repository.resolve_revision(higher)?);
        let between = midpoints.between(&lower, &higher).await.map_err(missing)?;
        let count = between.count();
        let wanted: Vec<u64> = match count.checked_sub(1) {
            None => Vec::new(),
            Some(_) if all => (0..count).collect(),
            Some(last) => vec![last / 2],
        };
        let mut found = Vec::new();
        for offset in wanted {
            let state = midpoints.nth(&between, offset).await.map_err(missing)?;
            let described = names.describe(state).await;
            found.push(described.map_err(|error| Failure::Repository(error.to_string()))?);
        }
        let middle = count
            .checked_sub(1)
            .map(|last| if all { last / 2 } else { 0 });
        Ok(json!({
            "count": count,
            "midpoint": middle.and_then(|place| found.get(usize::try_from(place).ok()?)),
            "between": all.then_some(&found),
        }))
    })
}

/// Waits for something short on its own runtime, while other threads run.
fn wait(
    py: Python<'_>,
    work: impl AsyncFnOnce() -> Result<Value, Failure> + Send,
) -> PyResult<String> {
    let done = py.detach(|| runtime()?.block_on(work()));
    written(&done.map_err(|failure| failure.into_exception(py))?)
}

pub(crate) fn written(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/BotConfigs"))]
#[pyclass(frozen, module = "pinpoint")]
pub(crate) struct BotConfigs(engine::Bots);

#[pymethods]
impl BotConfigs {
    #[new]
    #[pyo3(signature = (files=None))]
    fn new(files: Option<Vec<(String, String)>>) -> PyResult<Self> {
        let Some(files) = files else {
            return Ok(Self(engine::Bots::builtin().clone()));
        };
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| ConfigFile { name, text })
            .collect();
        engine::Bots::read(&files)
            .map(Self)
            .map_err(|errors| PyValueError::new_err(errors.to_string()))
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/BotConfigs.external"))]
    fn external(&self) -> Self {
        Self(self.0.external())
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/BotConfigs.bots"))]
    fn bots(&self) -> PyResult<String> {
        written(&self.0.iter().collect::<Vec<_>>())
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/BotConfigs.bot"))]
    fn bot(&self, name: &str) -> PyResult<String> {
        let bot = self.0.get(name);
        written(&bot.map_err(|error| PyKeyError::new_err(error.to_string()))?)
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/BotConfigs.benchmarks"))]
    fn benchmarks(&self) -> PyResult<String> {
        written(self.0.benchmarks())
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/BotConfigs.target"))]
    fn target(&self, bot: &str, benchmark: &str) -> PyResult<String> {
        let target = self.0.target(bot, benchmark);
        target
            .map(str::to_owned)
            .map_err(|error| PyKeyError::new_err(error.to_string()))
    }
}
