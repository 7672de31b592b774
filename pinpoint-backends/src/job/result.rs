//! What a job found, with commits by their names: as `--output json` prints it and the
//! store keeps it.

use async_trait::async_trait;
use pinpoint_core::{
    ChartComparison, CheckedCulprit, CombinedCommit, Commit, CommitNames, Comparison,
    CulpritFinderOutcome, DependencyChange, Effect, Engine, Followed, FunctionalComparison,
    JobKind, JobMachine, JobOutcome, JobSpec, JobState, Located, Metric, Outcome, OUTCOME_VERSION,
    PairwiseOutcome, PairwiseStatus, PerformanceComparison, Position, Posterior, Status, Stopped,
    Variant, Verdict,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these records.
pub const RESULT_VERSION: u32 = 1;

/// Knows the commits that a job speaks of: its repository's history.
#[async_trait]
pub trait CommitSource: Send + Sync {
    /// Names of commits, with author, date and subject where these are known; in the
    /// same order.
    async fn resolve(&self, located: &[Located]) -> Result<Vec<CombinedCommit>, CommitError>;

    /// The commit that makes the difference between a culprit and the state before it.
    async fn blamed(
        &self,
        prior: &CombinedCommit,
        culprit: &CombinedCommit,
    ) -> Result<Commit, CommitError>;

    /// A commit with author, date and subject where these are known.
    async fn describe(&self, commit: Commit) -> Result<Commit, CommitError>;
}

/// A commit could not be named.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CommitError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// What a job ended with.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum JobResult {
    /// Of a bisection.
    Bisection(BisectionResult),
    /// Of a comparison of two commits.
    Pairwise(PairwiseResult),
    /// Of a verified bisection.
    CulpritFinder(Box<CulpritFinderResult>),
}

/// The result of a bisection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BisectionResult {
    /// The version of this record, [`RESULT_VERSION`].
    pub version: u32,
    /// The job.
    pub job_id: String,
    /// What was found.
    pub status: Status,
    /// Why the search ended.
    pub stopped: Stopped,
    /// The lower end.
    pub good: CombinedCommit,
    /// The higher end.
    pub bad: CombinedCommit,
    /// The metric that decided.
    pub chart: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// The commits that changed it.
    pub culprits: Vec<NamedCulprit>,
    /// The remaining range, oldest first; empty when found.
    pub candidates: Vec<CombinedCommit>,
    /// Where the next change is, as far as the runs tell; absent for the strategy
    /// `pinpoint`.
    #[serde(default)]
    pub posterior: Option<NamedPosterior>,
    /// Runs that were made.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
    /// Every comparison of two commits.
    pub comparisons: Vec<NamedComparison>,
    /// Commits that could not be measured.
    pub skipped: Vec<NamedSkip>,
    /// Seconds from the job's creation to its end.
    pub duration_s: f64,
}

/// A commit that changed the metric.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedCulprit {
    /// The culprit.
    pub commit: CombinedCommit,
    /// The state before it.
    pub prior: CombinedCommit,
    /// That it is the culprit; absent for the strategy `pinpoint`.
    pub probability: Option<f64>,
    /// How much it changed.
    pub effect: Effect,
    /// How it compares with its prior in runs of its own, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// The commit to blame, as its repository has it: of the main repository, of
    /// a merged branch, or of a dependency.
    pub blamed: Commit,
    /// It is to blame because a dependency was set back and lost it.
    pub undone: bool,
    /// What else differs between the two, and can't be bisected further.
    pub other_changes: Vec<DependencyChange>,
    /// The command that compares the two again, if there is one.
    pub reproduce: Option<String>,
}

/// How a culprit compares with its parent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Confirmation {
    /// Absent when the budget or the search ended before.
    pub comparison: Option<PairwiseOutcome>,
    /// It is the comparison of the two ends.
    pub reused: bool,
}

/// The probabilities of all spans and of no change add up to 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedPosterior {
    /// That there is no change worth finding, or none beside the culprits.
    pub no_change: f64,
    /// The part of it that there is a change for the better.
    pub better: f64,
    /// Oldest first.
    pub spans: Vec<NamedSpan>,
}

/// Neighbouring commits that no run tells apart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedSpan {
    /// The measured commit before them.
    pub after: CombinedCommit,
    /// The newest of them.
    pub last: CombinedCommit,
    /// How many they are.
    pub commits: u64,
    /// That one of them is a culprit.
    pub probability: f64,
}

/// Two commits that were compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedComparison {
    /// The older one.
    pub lower: CombinedCommit,
    /// The newer one.
    pub higher: CombinedCommit,
    /// How they compare.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// How two commits compare.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Evidence {
    /// Runs of the older one.
    pub lower_runs: u32,
    /// Runs of the newer one.
    pub higher_runs: u32,
    /// Whether they differ.
    pub verdict: Verdict,
    /// Whether they fail alike.
    pub functional: FunctionalComparison,
    /// Whether their values differ; absent when one has none.
    pub performance: Option<PerformanceComparison>,
}

/// A commit that could not be measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedSkip {
    /// The commit.
    pub commit: CombinedCommit,
    /// Why.
    pub reason: String,
}

/// The result of a comparison of two commits in pairs of runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PairwiseResult {
    /// The version of this record, [`RESULT_VERSION`].
    pub version: u32,
    /// The job.
    pub job_id: String,
    /// Whether they differ.
    pub status: PairwiseStatus,
    /// Why it ended.
    pub stopped: Stopped,
    /// The baseline.
    pub base: Variant,
    /// What is compared with it.
    pub experiment: Variant,
    /// Whether runs fail alike.
    pub functional: Option<FunctionalComparison>,
    /// Every chart.
    pub charts: Vec<NamedChart>,
    /// How many charts moved, for the worse or where better is not known. Their p-values
    /// are adjusted for the number of charts.
    pub moved: usize,
    /// How many moved for the better.
    pub improved: usize,
    /// Charts that only the baseline has.
    pub only_base: Vec<String>,
    /// Charts that only the experiment has.
    pub only_experiment: Vec<String>,
    /// Pairs of runs that were made.
    pub pairs: u32,
    /// Pairs that were planned.
    pub pairs_planned: u32,
    /// It ended before the last pair because a difference was certain.
    pub stopped_early: bool,
    /// Runs that were made.
    pub runs: u64,
    /// Commits that were built.
    pub builds: u64,
    /// Seconds from the job's creation to its end.
    pub duration_s: f64,
}

/// A chart that was compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NamedChart {
    /// What its values count.
    pub unit: Option<String>,
    /// How the two commits compare in it.
    #[serde(flatten)]
    pub comparison: ChartComparison,
}

/// The result of a bisection whose ends and culprits were verified.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CulpritFinderResult {
    /// The bisection. Its culprits are those that were confirmed.
    #[serde(flatten)]
    pub search: BisectionResult,
    /// The comparison of the two ends.
    pub verification: PairwiseOutcome,
    /// Culprits of the search that were not confirmed.
    pub unconfirmed: Vec<NamedCulprit>,
    /// Runs of the verification that served the search, too.
    pub reused_runs: u64,
}

/// What naming an outcome needs to know of its job.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The id of the job.
    pub job_id: &'a str,
    /// Seconds from the job's creation to its end.
    pub duration_s: f64,
    /// Its metric, if the job did not find it itself.
    pub metric: Option<&'a Metric>,
}

impl JobResult {
    /// Gives the positions of an outcome their names.
    pub async fn new(
        facts: Facts<'_>,
        engine: &Engine<JobMachine>,
        outcome: JobOutcome,
        source: &dyn CommitSource,
    ) -> Result<Self, CommitError> {
        let facts = Facts {
            metric: engine.metric().or(facts.metric),
            ..facts
        };
        let namer = Namer {
            names: engine.names(),
            source,
        };
        Ok(match outcome {
            JobOutcome::Bisection(outcome) => {
                Self::Bisection(namer.bisection(facts, outcome).await?)
            }
            JobOutcome::Pairwise(outcome) => {
                let spec = engine.machine().spec();
                Self::Pairwise(namer.pairwise(facts, spec, outcome).await?)
            }
            JobOutcome::CulpritFinder(outcome) => {
                Self::CulpritFinder(Box::new(namer.culprit_finder(facts, outcome).await?))
            }
        })
    }

    /// Reads a result that a store kept.
    ///
    /// # Errors
    ///
    /// When it is not the result of such a job.
    pub fn from_value(kind: JobKind, value: Value) -> Result<Self, serde_json::Error> {
        fn read<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
            serde_json::from_value(value)
        }
        match kind {
            JobKind::Bisection => read(value).map(Self::Bisection),
            JobKind::Pairwise => read(value).map(Self::Pairwise),
            _ => read(value).map(Self::CulpritFinder),
        }
    }

    /// The result as a store keeps it.
    pub fn to_value(&self) -> Value {
        // Every key is a string and every number finite: this can't fail.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// The state of a job with this result.
    pub fn state(&self) -> JobState {
        match self {
            Self::Bisection(result) => JobState::from(result.status),
            Self::Pairwise(result) => JobState::from(result.status),
            Self::CulpritFinder(result) => JobState::from(result.search.status),
        }
    }

    /// The culprits that were found, if it is a search.
    pub fn culprits_mut(&mut self) -> &mut [NamedCulprit] {
        match self {
            Self::Bisection(result) => &mut result.culprits,
            Self::Pairwise(_) => &mut [],
            Self::CulpritFinder(result) => &mut result.search.culprits,
        }
    }
}

impl NamedCulprit {
    /// The hashes of the state before and of the culprit, where a plain commit of the main
    /// repository stands for each.
    pub fn plain_ends(&self) -> Option<(&str, &str)> {
        let plain = |state: &CombinedCommit| {
            state.modified_deps.is_empty() && state.main.merged.is_empty()
        };
        (plain(&self.prior) && plain(&self.commit))
            .then_some((&*self.prior.main.git_hash, &*self.commit.main.git_hash))
    }
}

impl From<Comparison> for Evidence {
    fn from(comparison: Comparison) -> Self {
        Self {
            lower_runs: comparison.lower_runs,
            higher_runs: comparison.higher_runs,
            verdict: comparison.verdict,
            functional: comparison.functional,
            performance: comparison.performance,
        }
    }
}

/// Gives positions their names.
struct Namer<'a> {
    names: &'a CommitNames,
    source: &'a dyn CommitSource,
}

impl Namer<'_> {
    async fn bisection(
        &self,
        facts: Facts<'_>,
        outcome: Outcome,
    ) -> Result<BisectionResult, CommitError> {
        let mut culprits = Vec::new();
        for culprit in outcome.culprits {
            let commit = self.name(culprit.commit).await?;
            let prior = self.name(culprit.prior).await?;
            let lost = self.lost(culprit.commit, &commit, &prior);
            culprits.push(NamedCulprit {
                undone: lost.is_some(),
                blamed: match lost {
                    Some(lost) => self.source.describe(lost).await?,
                    None => self.source.blamed(&prior, &commit).await?,
                },
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
            comparisons.push(NamedComparison {
                lower: self.name(comparison.lower).await?,
                higher: self.name(comparison.higher).await?,
                evidence: comparison.into(),
            });
        }
        let mut skipped = Vec::new();
        for skip in outcome.skipped {
            skipped.push(NamedSkip {
                commit: self.name(skip.commit).await?,
                reason: skip.reason,
            });
        }
        Ok(BisectionResult {
            version: RESULT_VERSION,
            job_id: facts.job_id.to_owned(),
            status: outcome.status,
            stopped: outcome.stopped,
            good: self.name(Position::Good).await?,
            bad: self.name(Position::Bad).await?,
            chart: facts.metric.and_then(|metric| metric.chart.clone()),
            unit: facts.metric.and_then(|metric| metric.unit.clone()),
            culprits,
            candidates,
            posterior,
            runs: outcome.runs,
            builds: outcome.builds,
            comparisons,
            skipped,
            duration_s: facts.duration_s,
        })
    }

    async fn pairwise(
        &self,
        facts: Facts<'_>,
        spec: &JobSpec,
        outcome: PairwiseOutcome,
    ) -> Result<PairwiseResult, CommitError> {
        let sides = match spec {
            JobSpec::Pairwise(spec) => spec.sides.clone(),
            _ => None,
        };
        let (base, experiment) = sides.map(|sides| (sides.base, sides.experiment)).unzip();
        let side = async |position, side: Option<Variant>| {
            let commit = self.name(position).await?;
            Ok::<_, CommitError>(match side {
                Some(side) => Variant { commit, ..side },
                None => commit.into(),
            })
        };
        let count = |fits: fn(&ChartComparison) -> bool| {
            outcome.charts.iter().filter(|chart| fits(chart)).count()
        };
        let unit = |chart: &str| facts.metric?.charts.get(chart)?.unit.clone();
        Ok(PairwiseResult {
            version: RESULT_VERSION,
            job_id: facts.job_id.to_owned(),
            status: outcome.status,
            stopped: outcome.stopped,
            base: side(Position::Good, base).await?,
            experiment: side(Position::Bad, experiment).await?,
            functional: outcome.functional,
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
            duration_s: facts.duration_s,
        })
    }

    async fn culprit_finder(
        &self,
        facts: Facts<'_>,
        outcome: CulpritFinderOutcome,
    ) -> Result<CulpritFinderResult, CommitError> {
        let confirmed = outcome.culprits.len();
        let checked: Vec<CheckedCulprit> = (outcome.culprits.into_iter())
            .chain(outcome.unconfirmed)
            .collect();
        let search = Outcome {
            version: OUTCOME_VERSION,
            status: outcome.status,
            stopped: outcome.stopped,
            culprits: checked.iter().map(|it| it.culprit.clone()).collect(),
            runs: outcome.runs,
            builds: outcome.builds,
            ..outcome.bisection.unwrap_or_default()
        };
        let mut search = self.bisection(facts, search).await?;
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

    async fn name(&self, position: Position) -> Result<CombinedCommit, CommitError> {
        let mut named = self.name_all(&[position]).await?;
        named.pop().ok_or_else(|| CommitError(Box::new(NeverListed)))
    }

    async fn name_all(&self, positions: &[Position]) -> Result<Vec<CombinedCommit>, CommitError> {
        let located = (positions.iter())
            .map(|position| self.names.locate(*position).ok_or(NeverListed))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| CommitError(Box::new(error)))?;
        self.source.resolve(&located).await
    }

    async fn posterior(&self, posterior: Posterior) -> Result<NamedPosterior, CommitError> {
        let mut spans = Vec::new();
        for span in posterior.spans {
            spans.push(NamedSpan {
                after: self.name(span.after).await?,
                last: self.name(span.last).await?,
                commits: span.commits,
                probability: span.probability,
            });
        }
        Ok(NamedPosterior {
            no_change: posterior.no_change,
            better: posterior.better,
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
        let change = self.names.range(range)?.changes.iter().find(|change| {
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

    fn not_followed(&self, prior: &CombinedCommit, commit: &CombinedCommit) -> Vec<DependencyChange> {
        let changes = self
            .names
            .listing(prior, commit)
            .map_or(&[][..], |listing| &listing.changes);
        changes
            .iter()
            .filter(|change| matches!(change.followed, Followed::No { .. }))
            .cloned()
            .collect()
    }
}

/// Only a range that was listed has offsets.
#[derive(Debug, thiserror::Error)]
#[error("a commit of the outcome was never listed")]
struct NeverListed;
