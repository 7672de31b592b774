//! A new job: from the request of Python's caller to a spec and a configuration.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use pinpoint_backends::job::{JobConfig, JobRequest, RequestedMeasure};
use pinpoint_backends::local::{CpuList, LocalConfig, Repository};
use pinpoint_backends::store::NewJob;
use pinpoint_core::{
    Aggregate, BisectionSpec, CULPRIT_FINDER_SPEC_VERSION, CombinedCommit, Commit,
    CulpritFinderSpec, Direction, JobKind, JobSpec, Magnitude, PairwiseSpec, Range, Strategy,
    suspicion,
};
use serde::Deserialize;

use super::failure::Failure;

/// The arguments of `bisect`, `pairwise` and `culprit`. Missing ones have their defaults.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    kind: JobKind,
    title: String,
    /// The measured benchmark, in a word.
    benchmark: String,
    /// Absent when everything is left to Python.
    repo: Option<PathBuf>,
    /// Of a comparison, the base and the experiment.
    good: String,
    bad: String,
    command: Vec<String>,
    build: Option<String>,
    format: String,
    measure: Option<RequestedMeasure>,
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
    /// All commits are alike when absent.
    priors: Option<Priors>,
    seed: u64,
    pairs: u32,
    early_stopping: bool,
    skip: Vec<String>,
    paths: Vec<String>,
    warmup: u32,
    env: BTreeMap<String, String>,
    cpu: Option<String>,
    /// Milliseconds.
    settle: Option<u64>,
    trace_reads: bool,
    allow_outside_reads: bool,
    /// Milliseconds.
    timeout: Option<u64>,
    build_jobs: u32,
    cache_size: u64,
    repositories: BTreeMap<String, PathBuf>,
    builds: bool,
    runs: bool,
}

/// The source of the suspicion of commits.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Priors {
    Changes,
    Weights(Vec<f64>),
}

impl Search {
    /// Checks the search, and turns it into a job.
    pub(super) fn into_job(self) -> Result<NewJob, Failure> {
        let repository = (self.repo.as_deref())
            .map(Repository::discover)
            .transpose()?;
        let (good, bad) = match &repository {
            Some(repository) => {
                let good = repository.resolve_revision(&self.good)?;
                let bad = repository.resolve_revision(&self.bad)?;
                if self.kind != JobKind::Pairwise {
                    repository.range_check(&good.git_hash, &bad.git_hash)?;
                }
                (good, bad)
            }
            None => (Commit::new("", &*self.good), Commit::new("", &*self.bad)),
        };
        let priors = self.weights(repository.as_ref(), &good, &bad)?;
        let spec = self.spec(good.clone().into(), bad.clone().into(), priors)?;
        let request = match &repository {
            Some(repository) => JobRequest::local(spec, self.local(repository, &good, &bad)?),
            None => JobRequest::new(spec, JobConfig::default()),
        };
        let request = request.with_direction(self.direction);
        let mut request = request.with_measure(self.measure)?;
        if repository.is_none() {
            request.config.skip = self.skip;
        }
        request.config.builds = self.builds;
        request.config.runs = self.runs;
        request.title = self.title;
        request.benchmark = self.benchmark;
        request.bot = host();
        request.user = whoami::username().unwrap_or_default();
        Ok(request.into_job()?)
    }

    /// The suspicion of each commit after the good end, where it differs.
    fn weights(
        &self,
        repository: Option<&Repository>,
        good: &Commit,
        bad: &Commit,
    ) -> Result<Option<Vec<f64>>, Failure> {
        match (&self.priors, repository) {
            (Some(Priors::Weights(weights)), _) => Ok(Some(weights.clone())),
            (Some(Priors::Changes), Some(repository)) if self.strategy == Strategy::Adaptive => {
                let (good, bad) = (&good.git_hash, &bad.git_hash);
                let paths = repository.paths_between(good, bad, &self.paths)?;
                // All commits are alike where their files are unknown.
                let touched = repository.touched_between(good, bad, &paths).ok().flatten();
                Ok(touched.and_then(|touched| suspicion::priors(&touched)))
            }
            _ => Ok(None),
        }
    }

    fn spec(
        &self,
        good: CombinedCommit,
        bad: CombinedCommit,
        priors: Option<Vec<f64>>,
    ) -> Result<JobSpec, Failure> {
        // A command's chart is found by its first run.
        let chart = self.chart.clone().filter(|_| self.runs);
        // All values that a function gives count.
        let aggregate = match &self.aggregate {
            _ if self.runs => None,
            Some(name) => Some(parsed("aggregate", name)?),
            None => Some(Aggregate::default()),
        };
        if self.kind == JobKind::Pairwise {
            let spec = PairwiseSpec {
                chart: self.chart.clone(),
                aggregate,
                pairs: self.pairs,
                early_stopping: self.early_stopping,
                seed: self.seed,
                max_time: self.max_time,
                ..PairwiseSpec::new(good, bad)
            };
            return Ok(spec.into());
        }
        let bisection = BisectionSpec {
            strategy: self.strategy,
            chart,
            magnitude: self.magnitude,
            aggregate,
            confidence: self.confidence,
            build_cost: self.build_cost,
            priors,
            seed: self.seed,
            max_runs: self.max_runs,
            max_builds: self.max_builds,
            max_time: self.max_time,
            ..BisectionSpec::new(Range::Between { good, bad })
        };
        if self.kind == JobKind::CulpritFinder {
            let spec = CulpritFinderSpec {
                version: CULPRIT_FINDER_SPEC_VERSION,
                bisection,
                pairs: self.pairs,
            };
            return Ok(spec.into());
        }
        Ok(bisection.into())
    }

    fn local(
        &self,
        repository: &Repository,
        good: &Commit,
        bad: &Commit,
    ) -> Result<LocalConfig, Failure> {
        let skip = (self.skip.iter())
            .map(|revision| Ok(repository.resolve_revision(revision)?.git_hash))
            .collect::<Result<_, Failure>>()?;
        let config = LocalConfig {
            paths: repository.paths_between(&good.git_hash, &bad.git_hash, &self.paths)?,
            urls: repository.urls(&self.repositories, &[&good.git_hash, &bad.git_hash])?,
            repositories: self.repositories.clone(),
            build: self.build.clone(),
            env: self.env.clone(),
            format: parsed("format", &self.format)?,
            chart: self.chart.clone(),
            results: self.results.clone(),
            warmup: self.warmup,
            timeout: self.timeout.map(Duration::from_millis),
            cpus: (self.cpu.as_deref())
                .map(|cpus| parsed::<CpuList>("cpu", cpus))
                .transpose()?,
            settle: self.settle.map(Duration::from_millis),
            build_jobs: self.build_jobs,
            cache_size: self.cache_size,
            skip,
            trace: self.trace_reads,
            allow_outside_reads: self.allow_outside_reads,
            ..LocalConfig::new(
                repository.path().to_owned(),
                good.clone().into(),
                self.command.clone(),
            )
        };
        // Before a job is made of it.
        config.cpus.as_ref().map_or(Ok(()), CpuList::check)?;
        Ok(config)
    }
}

/// Parses an argument, or returns the reason that it is invalid.
fn parsed<T: FromStr<Err: Display>>(argument: &str, text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|error| Failure::Value(format!("`{argument}`: {error}")))
}

/// The name of this machine, as on the command line, since the owner of a job's lease is named
/// after it.
pub(super) fn host() -> String {
    whoami::hostname().unwrap_or_else(|_| "localhost".into())
}
