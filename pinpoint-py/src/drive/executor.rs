//! The executor: this machine's commands and Python's functions, in any mixture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pinpoint_backends::local::{CheckoutPair, LocalExecutor};
use pinpoint_core::job::{Blamed, ResultError, ResultSource};
use pinpoint_core::{
    BuildReport, BuildRequest, CombinedCommit, Commit, ExecutorError, FindMetricRequest, InProcess,
    JobSpec, Key, ListRequest, Listing, Located, Metric, PairReport, RunPairRequest, RunReport,
    RunRequest, Series,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;

use super::bridge::Bridge;
use super::good_end::{ATTEMPTS, GoodEndError, metric_at_good_end};

/// Left next to a work tree when Python's function has built there.
const BUILT: &str = "built-by-python";

pub(super) struct PythonExecutor {
    bridge: Arc<Bridge>,
    /// Absent when everything is left to Python.
    pub(super) local: Option<LocalExecutor>,
    /// True if Python builds, in a work tree or elsewhere.
    builds: bool,
    /// True if Python runs the benchmark.
    runs: bool,
    /// Commits not to try, when no `local` knows them.
    skip: Vec<String>,
    /// The question, which says what Python's runs are expected to give.
    spec: JobSpec,
    /// Commits that Python has built in this process.
    built: Mutex<BTreeSet<CombinedCommit>>,
    /// Set when something was refused, which pauses the job.
    refused: watch::Sender<bool>,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
}

#[derive(Deserialize)]
struct Built {
    failure: Option<String>,
}

#[derive(Deserialize)]
struct Ran {
    charts: BTreeMap<String, Vec<f64>>,
    failure: Option<String>,
    /// Milliseconds from the question to the beginning of the run.
    waited: u64,
}

/// The place where Python's function is to work.
#[derive(Serialize)]
struct CallbackContext<'a> {
    commit: &'a CombinedCommit,
    tree: Option<&'a Path>,
}

/// A run for Python to make, unless it has failed already.
struct Run<'a> {
    there: CallbackContext<'a>,
    report: RunReport,
}

impl<'a> Run<'a> {
    /// Begins it now, if its commit can be run.
    fn new(
        commit: &'a CombinedCommit,
        tree: Option<&'a Path>,
        bot: Option<&String>,
        builds: bool,
    ) -> Self {
        let mut report = RunReport::new(now());
        report.bot = bot.cloned();
        report.failure = (!builds).then(|| "does not build any more".into());
        Self {
            there: CallbackContext { commit, tree },
            report,
        }
    }
}

impl PythonExecutor {
    pub(super) fn new(
        bridge: Arc<Bridge>,
        local: Option<LocalExecutor>,
        (builds, runs): (bool, bool),
        skip: Vec<String>,
        spec: JobSpec,
    ) -> Self {
        Self {
            bridge,
            local,
            builds,
            runs,
            skip,
            spec,
            built: Mutex::default(),
            refused: watch::Sender::new(false),
        }
    }

    /// Does some work, and ends it when other work is refused: an exception is raised at once, and
    /// not after everything that waits for its turn.
    async fn unless_refused<T>(
        &self,
        work: impl Future<Output = Result<T, ExecutorError>> + Send,
    ) -> Result<T, ExecutorError> {
        let mut refused = self.refused.subscribe();
        let done = tokio::select! {
            biased;
            _ = refused.wait_for(|refused| *refused) => {
                return Err(ExecutorError::Refused("other work was refused".into()));
            }
            done = work => done,
        };
        if let Err(ExecutorError::Refused(_)) = &done {
            self.refused.send_replace(true);
        }
        done
    }

    /// The name of a commit.
    async fn name(&self, located: &Located) -> Result<CombinedCommit, ExecutorError> {
        match (&self.local, located) {
            (Some(local), _) => Ok(local.resolve(located).await?),
            (None, Located::Commit(commit)) => Ok(commit.clone()),
            (None, Located::Offset { .. }) => self.bridge.ask("name", u64::MAX, located).await,
        }
    }

    /// Has Python build in the work tree; returns the reason if that failed.
    async fn build_there(
        &self,
        local: &LocalExecutor,
        key: &Key,
        commit: &CombinedCommit,
    ) -> Result<Option<String>, ExecutorError> {
        let Some(lent) = local.lend_for_build(key, commit).await? else {
            return Ok(Some("does not build any more".into()));
        };
        let marker = lent.notes().join(BUILT);
        if !marker.exists() {
            let there = CallbackContext {
                commit,
                tree: Some(lent.tree()),
            };
            let built: Built = self.bridge.ask("build", key.action, &there).await?;
            if built.failure.is_some() {
                return Ok(built.failure);
            }
            fs::write(&marker, "").map_err(|error| ExecutorError::Refused(Box::new(error)))?;
        }
        self.built().insert(commit.clone());
        Ok(None)
    }

    /// Builds again where a build may have been removed: after a job was resumed.
    async fn rebuild(&self, key: &Key, commit: &CombinedCommit) -> Result<(), ExecutorError> {
        if let Some(local) = &self.local
            && self.builds
            && !self.built().contains(commit)
        {
            self.build_there(local, key, commit).await?;
        }
        Ok(())
    }

    /// Has Python run the benchmark, in one commit or in two right after each other. Runs that
    /// failed before they began are left out.
    async fn run_there(&self, key: &Key, runs: &mut [Run<'_>]) -> Result<(), ExecutorError> {
        let mut wanted: Vec<_> = (runs.iter_mut())
            .filter(|run| run.report.failure.is_none())
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let places: Vec<_> = wanted.iter().map(|run| &run.there).collect();
        let asked = now();
        let all: Vec<Ran> = self.bridge.ask("run", key.action, &places).await?;
        if all.len() != wanted.len() {
            let wrong = format!(
                "{} runs were asked for, {} were made",
                wanted.len(),
                all.len()
            );
            return Err(ExecutorError::Refused(wrong.into()));
        }
        for (run, ran) in wanted.iter_mut().zip(all) {
            let report = &mut run.report;
            report.started = asked.saturating_add(ran.waited);
            report.failure = ran.failure;
            report.charts = (ran.charts.into_iter())
                .map(|(chart, values)| {
                    let series = Series {
                        values,
                        ..Series::default()
                    };
                    (chart, series)
                })
                .collect();
        }
        Ok(())
    }

    /// Finds the metric by commands, or by calling Python's function at the good end.
    async fn find_metric_once(&self, request: &FindMetricRequest) -> Result<Metric, ExecutorError> {
        let refused = |error: GoodEndError| ExecutorError::Refused(Box::new(error));
        let FindMetricRequest {
            key,
            commit,
            aggregate,
        } = request;
        if self.builds || self.runs {
            let build = BuildRequest {
                key: key.clone(),
                commit: Located::Commit(commit.clone()),
            };
            if let Some(reason) = self.build_once(&build).await?.failure {
                let commit = commit.main.git_hash.clone();
                return Err(refused(GoodEndError::DoesNotBuild { commit, reason }));
            }
        }
        if let Some(local) = self.local.as_ref().filter(|_| !self.runs) {
            return local.find_metric(request).await;
        }
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let report = self.run_commit(key, commit, None).await?;
            match metric_at_good_end(&self.spec, *aggregate, commit, report).map_err(refused)? {
                Ok(metric) => return Ok(metric),
                Err(reason) => last = reason,
            }
        }
        Err(refused(GoodEndError::Fails {
            commit: commit.main.git_hash.clone(),
            reason: last,
        }))
    }

    async fn list_there(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        if let Some(local) = &self.local {
            return local.list(request).await;
        }
        let ends = json!({ "lower": request.lower, "higher": request.higher });
        let Counted { count } = self.bridge.ask("list", request.key.action, &ends).await?;
        Ok(Listing::new(request, count))
    }

    async fn build_once(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        if let Some(local) = &self.local {
            let mut report = local.build(request).await?;
            if self.builds && report.failure.is_none() {
                report.failure = self
                    .build_there(local, &request.key, &report.commit)
                    .await?;
            }
            return Ok(report);
        }
        let commit = self.name(&request.commit).await?;
        let mut report = BuildReport::built(commit);
        if self.skip.contains(&report.commit.main.git_hash) {
            report.failure = Some("skipped on request".into());
        } else if !self.built().contains(&report.commit) {
            let there = CallbackContext {
                commit: &report.commit,
                tree: None,
            };
            let built: Built = self.bridge.ask("build", request.key.action, &there).await?;
            report.failure = built.failure;
            if report.failure.is_none() {
                self.built().insert(report.commit.clone());
            }
        }
        Ok(report)
    }

    async fn run_once(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let (key, commit) = (&request.key, &request.variant.commit);
        if let Some(local) = self.local.as_ref().filter(|_| !self.runs) {
            self.rebuild(key, commit).await?;
            return local.run(request).await;
        }
        self.run_commit(key, commit, request.bot.as_ref()).await
    }

    /// Has Python run the benchmark in a commit.
    async fn run_commit(
        &self,
        key: &Key,
        commit: &CombinedCommit,
        bot: Option<&String>,
    ) -> Result<RunReport, ExecutorError> {
        self.rebuild(key, commit).await?;
        let lent = match &self.local {
            Some(local) => Some(local.lend_for_run(key, commit).await?),
            None => None,
        };
        let builds = !matches!(lent, Some(None));
        let tree = lent.as_ref().and_then(|lent| Some(lent.as_ref()?.tree()));
        let mut runs = [Run::new(commit, tree, bot, builds)];
        self.run_there(key, &mut runs).await?;
        let [run] = runs;
        Ok(run.report)
    }

    async fn run_pair_once(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        let key = &request.key;
        let commits = [&request.first.commit, &request.second.commit];
        for commit in commits {
            self.rebuild(key, commit).await?;
        }
        let lent = match &self.local {
            Some(local) if self.runs => Some(local.lend_for_pair(key, commits).await?),
            Some(local) => return local.run_pair(request).await,
            None => None,
        };
        let trees = lent.as_ref().map(CheckoutPair::trees);
        let mut runs = [0, 1].map(|place| {
            let tree = trees.and_then(|trees| trees[place]);
            let builds = lent.is_none() || tree.is_some();
            Run::new(commits[place], tree, request.bot.as_ref(), builds)
        });
        self.run_there(key, &mut runs).await?;
        let [first, second] = runs.map(|run| run.report);
        Ok(PairReport { first, second })
    }

    fn built(&self) -> std::sync::MutexGuard<'_, BTreeSet<CombinedCommit>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[async_trait]
impl InProcess for PythonExecutor {
    async fn find_metric(&self, request: &FindMetricRequest) -> Result<Metric, ExecutorError> {
        self.unless_refused(self.find_metric_once(request)).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Listing, ExecutorError> {
        self.unless_refused(self.list_there(request)).await
    }

    async fn build(&self, request: &BuildRequest) -> Result<BuildReport, ExecutorError> {
        self.unless_refused(self.build_once(request)).await
    }

    async fn run(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        self.unless_refused(self.run_once(request)).await
    }

    async fn run_pair(&self, request: &RunPairRequest) -> Result<PairReport, ExecutorError> {
        self.unless_refused(self.run_pair_once(request)).await
    }

    async fn ended(&self, key: &Key) -> Result<(), ExecutorError> {
        self.bridge.tell("cancel", key.action, &());
        match &self.local {
            Some(local) => local.ended(key).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl ResultSource for PythonExecutor {
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        if let Some(local) = &self.local {
            return ResultSource::resolve(local, located).await;
        }
        let mut commits = Vec::with_capacity(located.len());
        for located in located {
            commits.push(self.name(located).await.map_err(ResultError::new)?);
        }
        Ok(commits)
    }

    async fn blamed(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Blamed, ResultError> {
        match &self.local {
            Some(local) => local.blamed(prior, culprit).await,
            None => Ok(Blamed::one(culprit.main.clone())),
        }
    }

    async fn describe(&self, commit: Commit) -> Result<Commit, ResultError> {
        match &self.local {
            Some(local) => ResultSource::describe(local, commit).await,
            None => Ok(commit),
        }
    }

    fn metric(&self) -> Option<Metric> {
        self.local.as_ref().and_then(ResultSource::metric)
    }

    fn warnings(&self) -> Result<Vec<String>, ResultError> {
        self.local
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), ResultSource::warnings)
    }
}
