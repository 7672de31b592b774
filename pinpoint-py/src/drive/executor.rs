//! The executor: this machine's commands and Python's functions, in any mixture.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pinpoint_backends::local::{CheckoutPair, LocalExecutor};
use pinpoint_core::{
    BuildReport, BuildRequest, CombinedCommit, ExecutorError, InProcess, Key, ListRequest, Listing,
    Located, PairReport, RunPairRequest, RunReport, RunRequest, Series,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;

use super::bridge::Bridge;
use super::good_end::GoodEnd;

/// Left beside a work tree when Python's function has built there.
const BUILT: &str = "built-by-python";

pub(super) struct PythonExecutor {
    pub(super) bridge: Arc<Bridge>,
    /// Absent when everything is Python's to do.
    pub(super) local: Option<LocalExecutor>,
    /// Whether Python builds, in a work tree or wherever it likes.
    pub(super) builds: bool,
    /// Whether Python runs.
    pub(super) runs: bool,
    /// Commits not to try, when there is no `local` to know them.
    pub(super) skip: Vec<String>,
    pub(super) good: GoodEnd,
    /// Commits that Python has built in this process.
    pub(super) built: Mutex<BTreeSet<CombinedCommit>>,
    /// Whether something was refused, upon which the job pauses.
    pub(super) refused: watch::Sender<bool>,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
}

#[derive(Deserialize)]
struct Built {
    /// Told when the request had only its place in a range.
    commit: Option<CombinedCommit>,
    failure: Option<String>,
}

#[derive(Deserialize)]
struct Ran {
    charts: BTreeMap<String, Vec<f64>>,
    failure: Option<String>,
    /// Milliseconds from the question to the beginning of the run.
    waited: u64,
}

/// Where Python's function is to work.
#[derive(Serialize)]
struct There<'a> {
    commit: &'a CombinedCommit,
    tree: Option<&'a Path>,
}

/// A run that Python is to make, unless it has failed already.
struct Run<'a> {
    there: There<'a>,
    report: RunReport,
}

impl<'a> Run<'a> {
    /// It begins now, if its commit can be run.
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
            there: There { commit, tree },
            report,
        }
    }
}

impl PythonExecutor {
    /// Does some work, and ends it when other work is refused: an exception is raised at
    /// once, and not after all that waits for its turn.
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
    pub(super) async fn name(&self, located: &Located) -> Result<CombinedCommit, ExecutorError> {
        match (&self.local, located) {
            (Some(local), _) => Ok(local.resolve(located).await?),
            (None, Located::Commit(commit)) => Ok(commit.clone()),
            (None, Located::Offset { .. }) => self.bridge.ask("name", u64::MAX, located).await,
        }
    }

    /// Has Python build in the work tree; the answer is why that failed.
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
            let there = There {
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

    /// After a job was resumed, a build may have been removed and made anew.
    async fn rebuild(&self, key: &Key, commit: &CombinedCommit) -> Result<(), ExecutorError> {
        if let Some(local) = &self.local
            && self.builds
            && !self.built().contains(commit)
        {
            self.build_there(local, key, commit).await?;
        }
        Ok(())
    }

    /// Has Python run the benchmark, in one commit or in two right after each other.
    /// Runs that failed before they began are not asked for.
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
            self.good.see(run.there.commit, report);
        }
        let checked = self.good.check_attempts();
        checked.map_err(|error| ExecutorError::Refused(Box::new(error)))
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
        let there = There {
            commit: &commit,
            tree: None,
        };
        let built: Built = if self.skip.contains(&commit.main.git_hash) {
            Built {
                commit: None,
                failure: Some("skipped on request".into()),
            }
        } else {
            self.bridge.ask("build", request.key.action, &there).await?
        };
        let mut report = BuildReport::built(built.commit.unwrap_or(commit));
        report.failure = built.failure;
        Ok(report)
    }

    async fn run_once(&self, request: &RunRequest) -> Result<RunReport, ExecutorError> {
        let (key, commit) = (&request.key, &request.variant.commit);
        self.rebuild(key, commit).await?;
        let lent = match &self.local {
            Some(local) if self.runs => Some(local.lend_for_run(key, commit).await?),
            Some(local) => return local.run(request).await,
            None => None,
        };
        let builds = !matches!(lent, Some(None));
        let tree = lent.as_ref().and_then(|lent| Some(lent.as_ref()?.tree()));
        let mut runs = [Run::new(commit, tree, request.bot.as_ref(), builds)];
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
