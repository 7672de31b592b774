//! Turns the outcome of a machine, which speaks of positions, into a result that names commits and
//! the one to blame.
//!
//! A culprit of the search is a state of the whole program. The commit to blame is the one
//! that makes the difference between that state and the one before it: a commit of the
//! main repository, of a merged branch, or of a dependency. Where a dependency was set
//! back, it is the commit that was lost.

use async_trait::async_trait;

use super::result::{
    BisectionResult, Confirmation, CulpritFinderResult, JobResult, NamedChart, NamedCulprit,
    PairwiseResult, RESULT_VERSION,
};
use super::{JobMachine, JobOutcome, JobSpec, MeasuredMetric, lost_pairs, unvarying};
use crate::{
    ChartComparison, CheckedCulprit, CombinedCommit, Commit, CommitNames, Comparison,
    CulpritFinderOutcome, DependencyChange, Engine, Followed, Located, Metric, OUTCOME_VERSION,
    Outcome, PairwiseOutcome, Position, Posterior, Skipped, Span, Unchanged, Unmeasured, Variant,
};

/// The parts of a result beyond the journal of its job: the names of commits that were
/// never built, their authors and subjects, the commit to blame, remarks on the runs.
///
/// Every method has a default. That of [`resolve`](Self::resolve) is enough only where
/// every commit of a result was built: a search that ends with a range also names commits
/// that were not.
#[async_trait]
pub trait ResultSource: Send + Sync {
    /// Names of commits, with author, date and subject where these are known; in the
    /// same order. The default knows no commit by its place in a range.
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, ResultError> {
        (located.iter())
            .map(|located| match located {
                Located::Commit(commit) => Ok(commit.clone()),
                Located::Offset { .. } => Err(ResultError::new(Unnamed)),
            })
            .collect()
    }

    /// The commit that makes the difference between a culprit and the state before it. It
    /// need not be described.
    async fn blamed(
        &self,
        _prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Blamed, ResultError> {
        Ok(Blamed::one(culprit.main.clone()))
    }

    /// A commit with author, date and subject where these are known.
    async fn describe(&self, commit: Commit) -> Result<Commit, ResultError> {
        Ok(commit)
    }

    /// The metric of a job that found it before its journal began, as early versions did.
    fn metric(&self) -> Option<Metric> {
        None
    }

    /// Remarks on the job's runs, a sentence each.
    fn warnings(&self) -> Result<Vec<String>, ResultError> {
        Ok(Vec::new())
    }
}

/// The commit that makes the difference between two states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blamed {
    /// The commit; of several that can't be distinguished, the newest.
    pub commit: Commit,
    /// The later state lacks it.
    pub undone: bool,
    /// The other commits that may have made it, oldest first: no state can be made with some of
    /// them and without the rest, since they conflict with its other commits.
    pub alternatives: Vec<Commit>,
}

impl Blamed {
    /// This commit, which the later state has, and no other.
    pub fn one(commit: Commit) -> Self {
        Self {
            commit,
            undone: false,
            alternatives: Vec::new(),
        }
    }
}

/// A result could not be assembled: a repository can't be read, for instance.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ResultError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl ResultError {
    /// The cause.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    /// The cause.
    pub fn cause(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

#[derive(Debug, thiserror::Error)]
#[error("a commit of the outcome was never built, and the result source has no name for it")]
struct Unnamed;

impl JobResult {
    /// The result of a job whose engine has come to this outcome, after so many milliseconds for
    /// which it was worked on.
    ///
    /// # Errors
    ///
    /// When the source can't answer.
    pub async fn new(
        engine: &Engine<JobMachine>,
        outcome: JobOutcome,
        source: &dyn ResultSource,
        worked: u64,
    ) -> Result<Self, ResultError> {
        let naming = Naming {
            engine,
            metric: engine.metric().cloned().or_else(|| source.metric()),
            source,
            duration_s: worked as f64 / 1000.0,
        };
        Ok(match outcome {
            JobOutcome::Bisection(outcome) => Self::Bisection(naming.bisection(outcome).await?),
            JobOutcome::Pairwise(outcome) => Self::Pairwise(naming.pairwise(outcome).await?),
            JobOutcome::CulpritFinder(outcome) => {
                Self::CulpritFinder(Box::new(naming.culprit_finder(outcome).await?))
            }
        })
    }
}

struct Naming<'a> {
    engine: &'a Engine<JobMachine>,
    source: &'a dyn ResultSource,
    metric: Option<Metric>,
    duration_s: f64,
}

impl Naming<'_> {
    fn names(&self) -> &CommitNames {
        self.engine.names()
    }

    /// The metric that was compared.
    fn measured(&self) -> Option<MeasuredMetric> {
        MeasuredMetric::of(self.engine.machine(), self.metric.as_ref())
    }

    /// Remarks on doubts about the metric and its values, and on the runs.
    fn warnings(&self) -> Result<Vec<String>, ResultError> {
        let metric = self.metric.as_ref();
        let mut warnings = metric.map_or_else(Vec::new, |metric| metric.remarks.clone());
        warnings.extend(unvarying::remarks(self.engine, metric));
        warnings.extend(self.source.warnings()?);
        Ok(warnings)
    }

    async fn bisection(&self, outcome: Outcome) -> Result<BisectionResult, ResultError> {
        let mut culprits = Vec::new();
        for culprit in outcome.culprits {
            let commit = self.name(culprit.commit).await?;
            let prior = self.name(culprit.prior).await?;
            let mut blamed = self.source.blamed(&prior, &commit).await?;
            if !blamed.undone
                && let Some(lost) = self.lost(culprit.commit, &commit, &prior)
            {
                blamed = Blamed {
                    undone: true,
                    ..Blamed::one(lost)
                };
            }
            let mut alternatives = Vec::new();
            for commit in blamed.alternatives {
                alternatives.push(self.source.describe(commit).await?);
            }
            let rolled_by = self.names().rolled_by(culprit.commit, [&prior, &commit]);
            let rolled_by = rolled_by.filter(|it| it.repository != blamed.commit.repository);
            let rolled_by = match rolled_by {
                Some(commit) => Some(self.source.describe(commit).await?),
                None => None,
            };
            culprits.push(NamedCulprit {
                rolled_by,
                undone: blamed.undone,
                blamed: self.source.describe(blamed.commit).await?,
                alternatives,
                other_changes: self.not_followed(&prior, &commit),
                reproduce: None,
                commit,
                prior,
                probability: culprit.probability,
                effect: culprit.effect,
                confirmation: None,
            });
        }
        let candidates = self.name_all(&outcome.candidates).await?;
        let posterior = match outcome.posterior {
            Some(posterior) => Some(self.posterior(posterior).await?),
            None => None,
        };
        let mut comparisons = Vec::new();
        for comparison in outcome.comparisons {
            comparisons.push(Comparison {
                lower: self.name(comparison.lower).await?,
                higher: self.name(comparison.higher).await?,
                lower_runs: comparison.lower_runs,
                higher_runs: comparison.higher_runs,
                verdict: comparison.verdict,
                functional: comparison.functional,
                performance: comparison.performance,
            });
        }
        let mut unchanged = Vec::new();
        for span in outcome.unchanged {
            unchanged.push(Unchanged {
                after: self.name(span.after).await?,
                last: self.name(span.last).await?,
                commits: span.commits,
            });
        }
        let mut skipped = Vec::new();
        for skip in outcome.skipped {
            skipped.push(Skipped {
                commit: self.name(skip.commit).await?,
                reason: skip.reason,
            });
        }
        let mut unmeasured = Vec::new();
        for end in outcome.unmeasured {
            unmeasured.push(Unmeasured {
                commit: self.name(end.commit).await?,
                runs: end.runs,
                reason: end.reason,
            });
        }
        let measured = self.measured();
        let merge_base = match self.names().range(0).and_then(|range| range.merge_base) {
            Some(offset) => Some(self.name(Position::Within { range: 0, offset }).await?),
            None => None,
        };
        Ok(BisectionResult {
            version: RESULT_VERSION,
            job_id: self.engine.job().id.clone(),
            status: outcome.status,
            stopped: outcome.stopped,
            good: self.name(Position::Lower).await?,
            bad: self.name(Position::Higher).await?,
            chart: measured.as_ref().and_then(|metric| metric.chart.clone()),
            unit: measured.as_ref().and_then(|metric| metric.unit.clone()),
            metric: measured,
            merge_base,
            culprits,
            candidates,
            posterior,
            runs: outcome.runs,
            builds: outcome.builds,
            comparisons,
            unchanged,
            skipped,
            unmeasured,
            warnings: self.warnings()?,
            duration_s: self.duration_s,
        })
    }

    async fn pairwise(&self, outcome: PairwiseOutcome) -> Result<PairwiseResult, ResultError> {
        let sides = match self.engine.machine().spec() {
            JobSpec::Pairwise(spec) => spec.sides.clone(),
            _ => None,
        };
        let (base, experiment) = sides.map(|sides| (sides.base, sides.experiment)).unzip();
        let side = async |position, side: Option<Variant>| {
            let commit = self.name(position).await?;
            Ok::<_, ResultError>(match side {
                Some(side) => Variant { commit, ..side },
                None => commit.into(),
            })
        };
        let count = |fits: fn(&ChartComparison) -> bool| {
            outcome.charts.iter().filter(|chart| fits(chart)).count()
        };
        let unit = |chart: &str| self.metric.as_ref()?.charts.get(chart)?.unit.clone();
        let mut warnings = self.warnings()?;
        warnings.extend(lost_pairs::remarks(outcome.pairs, &outcome.charts));
        Ok(PairwiseResult {
            version: RESULT_VERSION,
            job_id: self.engine.job().id.clone(),
            status: outcome.status,
            stopped: outcome.stopped,
            base: side(Position::Lower, base).await?,
            experiment: side(Position::Higher, experiment).await?,
            metric: self.measured(),
            functional: outcome.functional,
            base_failure: outcome.base_failure,
            experiment_failure: outcome.experiment_failure,
            pairs_needed: outcome.pairs_needed,
            moved: count(ChartComparison::moved),
            improved: count(ChartComparison::improved),
            charts: (outcome.charts.into_iter())
                .map(|comparison| NamedChart {
                    unit: unit(&comparison.chart),
                    comparison,
                })
                .collect(),
            only_base: outcome.only_base,
            only_experiment: outcome.only_experiment,
            pairs: outcome.pairs,
            pairs_planned: outcome.pairs_planned,
            stopped_early: outcome.stopped_early,
            runs: outcome.runs,
            builds: outcome.builds,
            warnings,
            duration_s: self.duration_s,
        })
    }

    async fn culprit_finder(
        &self,
        outcome: CulpritFinderOutcome,
    ) -> Result<CulpritFinderResult, ResultError> {
        let confirmed = outcome.culprits.len();
        let checked: Vec<CheckedCulprit> = (outcome.culprits.into_iter())
            .chain(outcome.unconfirmed)
            .collect();
        let culprits = checked.iter().map(|it| it.culprit.clone()).collect();
        // The search may not have started.
        let search = outcome.bisection.unwrap_or_else(|| Outcome {
            version: OUTCOME_VERSION,
            status: outcome.status,
            stopped: outcome.stopped.clone(),
            culprits: Vec::new(),
            candidates: Vec::new(),
            posterior: None,
            comparisons: Vec::new(),
            unchanged: Vec::new(),
            skipped: Vec::new(),
            unmeasured: Vec::new(),
            runs: 0,
            builds: 0,
        });
        let search = Outcome {
            status: outcome.status,
            stopped: outcome.stopped,
            culprits,
            runs: outcome.runs,
            builds: outcome.builds,
            ..search
        };
        let mut search = self.bisection(search).await?;
        for (named, checked) in search.culprits.iter_mut().zip(checked) {
            named.confirmation = Some(Confirmation {
                comparison: checked.comparison,
                reused: checked.reused,
            });
        }
        Ok(CulpritFinderResult {
            unconfirmed: search.culprits.split_off(confirmed),
            search,
            verification: outcome.verification,
            reused_runs: outcome.reused_runs,
        })
    }

    async fn name(&self, position: Position) -> Result<CombinedCommit, ResultError> {
        let mut named = self.name_all(&[position]).await?;
        named.pop().ok_or_else(|| ResultError::new(Unnamed))
    }

    async fn name_all(&self, positions: &[Position]) -> Result<Vec<CombinedCommit>, ResultError> {
        let located = (positions.iter())
            .map(|position| self.names().locate(*position).ok_or(Unnamed))
            .collect::<Result<Vec<_>, _>>()
            .map_err(ResultError::new)?;
        self.source.resolve(&located).await
    }

    async fn posterior(
        &self,
        posterior: Posterior,
    ) -> Result<Posterior<CombinedCommit>, ResultError> {
        let mut spans = Vec::new();
        for span in posterior.spans {
            spans.push(Span {
                after: self.name(span.after).await?,
                last: self.name(span.last).await?,
                commits: span.commits,
                probability: span.probability,
            });
        }
        Ok(Posterior {
            no_change: posterior.no_change,
            better: posterior.better,
            largest_change: posterior.largest_change,
            other_change: posterior.other_change,
            spans,
        })
    }

    /// The commit that a culprit lost against its prior, where a dependency was set
    /// back.
    fn lost(
        &self,
        position: Position,
        commit: &CombinedCommit,
        prior: &CombinedCommit,
    ) -> Option<Commit> {
        let Position::Within { range, .. } = position else {
            return None;
        };
        let moved = commit.moved_since(prior);
        let change = self.names().range(range)?.changes.iter().find(|change| {
            change.repository == moved.repository && change.followed == Followed::Backward
        })?;
        let held = prior.modified_deps.iter().rfind(|held| {
            held.commit.repository == moved.repository && !commit.modified_deps.contains(held)
        });
        let hash = match held {
            Some(held) => held.commit.newest(),
            None => change.before.as_deref()?,
        };
        Some(Commit::new(&*moved.repository, hash))
    }

    fn not_followed(
        &self,
        prior: &CombinedCommit,
        commit: &CombinedCommit,
    ) -> Vec<DependencyChange> {
        let changes = self
            .names()
            .listing(prior, commit)
            .map_or(&[][..], |listing| &listing.changes);
        changes
            .iter()
            .filter(|change| matches!(change.followed, Followed::No { .. }))
            .cloned()
            .collect()
    }
}
