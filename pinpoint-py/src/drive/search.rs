//! A new job: from what Python's caller asks for to a spec and a configuration.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use pinpoint_backends::local::{LocalConfig, Repository};
use pinpoint_backends::store::NewJob;
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Commit, Direction, Magnitude, Range, Strategy,
};
use serde::{Deserialize, Serialize};

use super::failure::Failure;

/// What such a job is called in the store: it may need functions that only its
/// caller has.
pub(super) const KIND: &str = "python_bisection";

/// What is kept with a job, to run it again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Config {
    /// Absent when everything is Python's to do.
    pub(super) local: Option<LocalConfig>,
    /// Where better lies was left open: the format decides, or the metric's unit.
    pub(super) direction_by_unit: bool,
    /// Whether Python's functions build, and run.
    pub(super) builds: bool,
    pub(super) runs: bool,
    /// Commits that an executor of Python's is not asked for, by name.
    #[serde(default)]
    pub(super) skip: Vec<String>,
}

/// What `bisect` is asked.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    title: String,
    /// Absent when everything is Python's to do.
    repo: Option<PathBuf>,
    good: String,
    bad: String,
    command: Vec<String>,
    build: Option<String>,
    format: String,
    results: Option<PathBuf>,
    aggregate: Option<String>,
    chart: Option<String>,
    direction: Option<Direction>,
    magnitude: Option<Magnitude>,
    strategy: Strategy,
    confidence: f64,
    max_runs: Option<u64>,
    max_builds: Option<u64>,
    /// Milliseconds.
    max_time: Option<u64>,
    build_cost: f64,
    priors: Option<Vec<f64>>,
    seed: u64,
    skip: Vec<String>,
    paths: Vec<String>,
    warmup: u32,
    env: BTreeMap<String, String>,
    /// Milliseconds.
    timeout: Option<u64>,
    build_jobs: u32,
    cache_size: u64,
    repositories: BTreeMap<String, PathBuf>,
    builds: bool,
    runs: bool,
}

impl Search {
    /// A job, found to be one that can be searched.
    pub(super) fn into_job(self) -> Result<NewJob, Failure> {
        let title = self.title.clone();
        let found = match &self.repo {
            Some(directory) => Some(Repository::discover(directory)?),
            None => None,
        };
        let (good, bad) = match &found {
            Some(repository) => {
                let good = repository.resolve_revision(&self.good)?;
                let bad = repository.resolve_revision(&self.bad)?;
                repository.range_check(&good.git_hash, &bad.git_hash)?;
                (good, bad)
            }
            None => (Commit::new("", &*self.good), Commit::new("", &*self.bad)),
        };
        let spec = BisectionSpec {
            strategy: self.strategy,
            // A command's chart is fixed by its first run.
            chart: self.chart.clone().filter(|_| self.runs),
            magnitude: self.magnitude,
            direction: self.direction.unwrap_or_default(),
            confidence: self.confidence,
            build_cost: self.build_cost,
            priors: self.priors.clone(),
            seed: self.seed,
            max_runs: self.max_runs,
            max_builds: self.max_builds,
            max_time: self.max_time,
            ..BisectionSpec::new(Range::Between {
                good: good.clone().into(),
                bad: bad.clone().into(),
            })
        };
        Bisection::new(spec.clone())?;
        let config = Config {
            direction_by_unit: self.direction.is_none() && !self.runs,
            builds: self.builds,
            runs: self.runs,
            skip: if found.is_none() {
                self.skip.clone()
            } else {
                Vec::new()
            },
            local: match &found {
                Some(repository) => {
                    Some(self.local(repository, (&good.git_hash, &bad.git_hash), good.clone())?)
                }
                None => None,
            },
        };
        Ok(NewJob {
            kind: KIND.into(),
            title,
            repository: found.map_or_else(String::new, |it| it.path().display().to_string()),
            spec: serde_json::to_value(spec)?,
            config: serde_json::to_value(config)?,
            ..NewJob::default()
        })
    }

    fn local(
        self,
        repository: &Repository,
        (good, bad): (&str, &str),
        good_end: impl Into<CombinedCommit>,
    ) -> Result<LocalConfig, Failure> {
        let skip = (self.skip.iter())
            .map(|revision| Ok(repository.resolve_revision(revision)?.git_hash))
            .collect::<Result<_, Failure>>()?;
        Ok(LocalConfig {
            paths: repository.paths_between(good, bad, &self.paths)?,
            repository: repository.path().to_owned(),
            repositories: self.repositories,
            made: false,
            good: good_end.into(),
            good_arguments: Vec::new(),
            good_env: BTreeMap::new(),
            build: self.build,
            command: self.command,
            env: self.env,
            patch: None,
            format: parsed("format", &self.format)?,
            chart: self.chart,
            every_chart: false,
            aggregate: (self.aggregate.as_deref())
                .map(|name| parsed("aggregate", name))
                .transpose()?,
            results: self.results,
            warmup: self.warmup,
            timeout: self.timeout.map(Duration::from_millis),
            build_jobs: self.build_jobs,
            cache_size: self.cache_size,
            skip,
        })
    }
}

/// An argument that is a name of something, or why it is none.
fn parsed<T: FromStr<Err: Display>>(argument: &str, text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|error| Failure::Value(format!("`{argument}`: {error}")))
}
