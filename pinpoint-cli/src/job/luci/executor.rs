//! The executor of a job in LUCI.

use std::path::{Path, PathBuf};

use pinpoint_backends::google::{TokenSource, UnknownTokenSource};
use pinpoint_backends::job::{JobConfig, JobError};
use pinpoint_backends::local::Profiling;
use pinpoint_backends::luci::{LuciConfig, LuciExecutor, LuciProfiling};
use serde_json::json;

use super::Elsewhere;
use crate::arguments::LuciTokens;
use crate::error::{CliError, refused};

/// The default source of tokens: the program by which Chromium's developers sign in.
const TOKENS: &str = "command:luci-auth token -scopes {scopes}";

/// The executor of a job; for a running one, with its directory for profiles.
pub(crate) fn open(
    config: &JobConfig,
    tokens: &LuciTokens,
    state_dir: &Path,
    job_dir: Option<&Path>,
) -> Result<Box<dyn Elsewhere>, JobError> {
    let source = source_of(tokens).map_err(refused)?;
    let executor = LuciExecutor::open(config_of(config)?, &source, &cache_of(state_dir));
    let executor = executor.and_then(|executor| match job_dir {
        Some(job_dir) => executor.keeping_profiles(job_dir),
        None => Ok(executor),
    });
    Ok(Box::new(executor.map_err(refused)?))
}

/// The configuration of an explanation in LUCI: that of its job, with its runs profiled.
pub(crate) fn profiled(
    config: JobConfig,
    profiling: Profiling,
    arguments: Vec<String>,
) -> Result<JobConfig, CliError> {
    let luci = config_of(&config)?.profiled(LuciProfiling {
        profiling,
        arguments,
    })?;
    Ok(JobConfig {
        luci: Some(json!(luci)),
        ..config
    })
}

pub(super) fn config_of(config: &JobConfig) -> Result<LuciConfig, JobError> {
    serde_json::from_value(config.luci.clone().unwrap_or_default()).map_err(refused)
}

pub(super) fn source_of(tokens: &LuciTokens) -> Result<TokenSource, UnknownTokenSource> {
    // A variable that is empty is as if it were not there.
    let named = tokens.luci_tokens.as_deref().filter(|it| !it.is_empty());
    named.unwrap_or(TOKENS).parse()
}

/// The cache of answers from Gitiles.
pub(super) fn cache_of(state_dir: &Path) -> PathBuf {
    state_dir.join("gitiles")
}
