//! A new job: from the request of Python's caller to a spec and a configuration.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use pinpoint_backends::job::{JobConfig, new_job};
use pinpoint_backends::local::{
    CpuList, LocalConfig, MeasureChoice, Repository, RunMeasure, limits,
};
use pinpoint_backends::store::NewJob;
use pinpoint_core::{
    Aggregate, BisectionSpec, CULPRIT_FINDER_SPEC_VERSION, CombinedCommit, Commit,
    CulpritFinderSpec, Direction, FindMetric, JobKind, JobSpec, Limits, Magnitude, PairwiseSpec,
    Range, Strategy, suspicion,
};
use serde::Deserialize;

use super::failure::Failure;

/// The measure that decides.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Measure {
    /// The one that separates the ends best.
    Auto,
    #[serde(untagged)]
    Named(RunMeasure),
}

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
    measure: Option<Measure>,
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
    pub(super) fn into_job(mut self) -> Result<NewJob, Failure> {
        if let Some(Measure::Named(measure)) = self.measure {
            self.chart = Some(measure.chart().into());
        }
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
        let (title, benchmark) = (self.title.clone(), self.benchmark.clone());
        let priors = self.weights(repository.as_ref(), &good, &bad)?;
        let spec = self.spec(good.clone().into(), bad.clone().into(), priors)?;
        let mut config = JobConfig {
            find_metric: Some(FindMetric {
                directions: self.direction.is_none(),
                only_chart: self.measure == Some(Measure::Auto),
            }),
            builds: self.builds,
            runs: self.runs,
            ..JobConfig::default()
        };
        match &repository {
            Some(repository) => config.local = Some(self.local(repository, &good, &bad)?),
            None => config.skip = self.skip,
        }
        Ok(NewJob {
            title,
            benchmark,
            bot: host(),
            user: whoami::username().unwrap_or_default(),
            ..new_job(&spec, &config)?
        })
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
        let direction = self.direction.unwrap_or_default();
        let limits = match self.repo {
            Some(_) => limits(self.build_jobs),
            None => Limits::default(),
        };
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
                direction,
                pairs: self.pairs,
                early_stopping: self.early_stopping,
                // A commit is run to see its scatter.
                skip_same_builds: self.trace_reads && good != bad,
                seed: self.seed,
                max_time: self.max_time,
                limits,
                ..PairwiseSpec::new(good, bad)
            };
            return Ok(spec.into());
        }
        let bisection = BisectionSpec {
            strategy: self.strategy,
            chart,
            magnitude: self.magnitude,
            aggregate,
            direction,
            confidence: self.confidence,
            build_cost: self.build_cost,
            priors,
            seed: self.seed,
            max_runs: self.max_runs,
            max_builds: self.max_builds,
            max_time: self.max_time,
            limits,
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
        self,
        repository: &Repository,
        good: &Commit,
        bad: &Commit,
    ) -> Result<LocalConfig, Failure> {
        let skip = (self.skip.iter())
            .map(|revision| Ok(repository.resolve_revision(revision)?.git_hash))
            .collect::<Result<_, Failure>>()?;
        let mut config = LocalConfig {
            paths: repository.paths_between(&good.git_hash, &bad.git_hash, &self.paths)?,
            urls: repository.urls(&self.repositories, &[&good.git_hash, &bad.git_hash])?,
            repositories: self.repositories,
            build: self.build,
            env: self.env,
            format: parsed("format", &self.format)?,
            every_chart: self.kind == JobKind::Pairwise && self.chart.is_none(),
            chart: self.chart,
            results: self.results,
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
                self.command,
            )
        };
        // Before a job is made of it.
        config.cpus.as_ref().map_or(Ok(()), CpuList::check)?;
        match self.measure {
            Some(Measure::Named(measure)) => config.measure_by(measure)?,
            Some(Measure::Auto) => config.choose_measure(MeasureChoice {
                other: CombinedCommit::from(bad.clone()).into(),
                // An improvement is an answer to a comparison, too.
                either_way: self.kind == JobKind::Pairwise,
            })?,
            None => {}
        }
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
