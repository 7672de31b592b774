//! A new job: from what Python's caller asks for to a spec and a configuration.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use pinpoint_backends::local::{LocalConfig, Repository};
use pinpoint_backends::store::NewJob;
use pinpoint_core::{
    Aggregate, Bisection, BisectionSpec, CULPRIT_FINDER_SPEC_VERSION, CombinedCommit, Commit,
    CulpritFinder, CulpritFinderSpec, Direction, Magnitude, Pairwise, PairwiseSpec, Range,
    Strategy,
};
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::kind::Kind;

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

/// What `bisect`, `pairwise` and `culprit` are asked. What one of them does not ask
/// has its default.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    kind: Kind,
    title: String,
    /// Absent when everything is Python's to do.
    repo: Option<PathBuf>,
    /// Of a comparison, the base and the experiment.
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
    pairs: u32,
    early_stopping: bool,
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
        let (kind, title) = (self.kind, self.title.clone());
        let found = match &self.repo {
            Some(directory) => Some(Repository::discover(directory)?),
            None => None,
        };
        let (good, bad) = match &found {
            Some(repository) => {
                let good = repository.resolve_revision(&self.good)?;
                let bad = repository.resolve_revision(&self.bad)?;
                if self.kind != Kind::Pairwise {
                    repository.range_check(&good.git_hash, &bad.git_hash)?;
                }
                (good, bad)
            }
            None => (Commit::new("", &*self.good), Commit::new("", &*self.bad)),
        };
        let spec = self.spec(&good, &bad)?;
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
            kind: kind.stored().into(),
            title,
            repository: found.map_or_else(String::new, |it| it.path().display().to_string()),
            spec,
            config: serde_json::to_value(config)?,
            ..NewJob::default()
        })
    }

    /// The spec of its machine, found to be one that can be carried out.
    fn spec(&self, good: &Commit, bad: &Commit) -> Result<serde_json::Value, Failure> {
        let (good, bad) = (
            CombinedCommit::from(good.clone()),
            CombinedCommit::from(bad.clone()),
        );
        let direction = self.direction.unwrap_or_default();
        // All values that a function gives count.
        let aggregate = match &self.aggregate {
            _ if self.runs => None,
            Some(name) => Some(parsed("aggregate", name)?),
            None => Some(Aggregate::default()),
        };
        if self.kind == Kind::Pairwise {
            let spec = PairwiseSpec {
                chart: self.chart.clone(),
                aggregate,
                direction,
                pairs: self.pairs,
                early_stopping: self.early_stopping,
                seed: self.seed,
                max_time: self.max_time,
                ..PairwiseSpec::new(good, bad)
            };
            Pairwise::new(spec.clone())?;
            return Ok(serde_json::to_value(spec)?);
        }
        let spec = BisectionSpec {
            strategy: self.strategy,
            // A command's chart is fixed by its first run.
            chart: self.chart.clone().filter(|_| self.runs),
            magnitude: self.magnitude,
            aggregate,
            direction,
            confidence: self.confidence,
            build_cost: self.build_cost,
            priors: self.priors.clone(),
            seed: self.seed,
            max_runs: self.max_runs,
            max_builds: self.max_builds,
            max_time: self.max_time,
            ..BisectionSpec::new(Range::Between { good, bad })
        };
        if self.kind == Kind::CulpritFinder {
            let spec = CulpritFinderSpec {
                version: CULPRIT_FINDER_SPEC_VERSION,
                bisection: spec,
                pairs: self.pairs,
            };
            CulpritFinder::new(spec.clone())?;
            return Ok(serde_json::to_value(spec)?);
        }
        Bisection::new(spec.clone())?;
        Ok(serde_json::to_value(spec)?)
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
            every_chart: self.kind == Kind::Pairwise && self.chart.is_none(),
            chart: self.chart,
            run_aggregate: None,
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
