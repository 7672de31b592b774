//! The result of a bisection, as `--output json` prints it and the store keeps it.

use std::time::{SystemTime, UNIX_EPOCH};

use pinpoint_backends::local::{LocalError, LocalExecutor};
use pinpoint_backends::store::Job;
use pinpoint_core::{
    CombinedCommit, Commit, CommitNames, Comparison, DependencyChange, Effect, Followed, Outcome,
    Position, Posterior, Status, Stopped,
};
use serde::{Deserialize, Serialize};

use crate::culprit_document::Confirmation;
use crate::job::JobConfig;

/// The version of this document.
pub(crate) const VERSION: u32 = 1;

/// The result of a bisection, with commits by their names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Document {
    pub(crate) version: u32,
    pub(crate) job_id: String,
    pub(crate) status: Status,
    /// Why the search ended.
    pub(crate) stopped: Stopped,
    pub(crate) good: CombinedCommit,
    pub(crate) bad: CombinedCommit,
    /// The metric that decided, and its unit.
    pub(crate) chart: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) culprits: Vec<NamedCulprit>,
    /// The remaining range, oldest first; empty when found.
    pub(crate) candidates: Vec<CombinedCommit>,
    /// Where the next change is, as far as the runs tell; absent for `pinpoint`.
    #[serde(default)]
    pub(crate) posterior: Option<NamedPosterior>,
    pub(crate) runs: u64,
    pub(crate) builds: u64,
    pub(crate) comparisons: Vec<NamedComparison>,
    pub(crate) skipped: Vec<NamedSkip>,
    /// What was noticed about the runs, a sentence each.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    /// Ends that gave no value in any run, so that only failures were compared.
    #[serde(default)]
    pub(crate) unmeasured: Vec<NamedUnmeasured>,
    /// Seconds from the job's creation to its end.
    pub(crate) duration_s: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedCulprit {
    pub(crate) commit: CombinedCommit,
    pub(crate) prior: CombinedCommit,
    pub(crate) probability: Option<f64>,
    pub(crate) effect: Effect,
    /// How it compares with its prior in runs of its own, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) confirmation: Option<Confirmation>,
    /// The commit to blame, as its repository has it: of the main repository, of
    /// a merged branch, or of a dependency.
    pub(crate) blamed: Commit,
    /// It is to blame because a dependency was set back and lost it.
    pub(crate) undone: bool,
    /// What else differs between the two, and can't be bisected further.
    pub(crate) other_changes: Vec<DependencyChange>,
    /// The command that compares the two again.
    pub(crate) reproduce: Option<String>,
}

/// The probabilities of all spans and of no change add up to 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedPosterior {
    /// That there is no change worth finding, or none beside the culprits.
    pub(crate) no_change: f64,
    /// The part of it that there is a change for the better.
    pub(crate) better: f64,
    /// Oldest first.
    pub(crate) spans: Vec<NamedSpan>,
}

/// Neighbouring commits that no run tells apart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedSpan {
    /// The measured commit before them.
    pub(crate) after: CombinedCommit,
    /// The newest of them.
    pub(crate) last: CombinedCommit,
    /// How many they are.
    pub(crate) commits: u64,
    /// That one of them is a culprit.
    pub(crate) probability: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedComparison {
    pub(crate) lower: CombinedCommit,
    pub(crate) higher: CombinedCommit,
    #[serde(flatten)]
    pub(crate) evidence: Evidence,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) lower_runs: u32,
    pub(crate) higher_runs: u32,
    pub(crate) verdict: pinpoint_core::Verdict,
    pub(crate) functional: pinpoint_core::FunctionalComparison,
    pub(crate) performance: Option<pinpoint_core::PerformanceComparison>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedSkip {
    pub(crate) commit: CombinedCommit,
    pub(crate) reason: String,
}

/// An end of the range none of whose runs gave a value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedUnmeasured {
    pub(crate) commit: CombinedCommit,
    /// All of them failed.
    pub(crate) runs: u32,
    /// What went wrong in the first of them.
    pub(crate) reason: Option<String>,
}

impl Document {
    /// Gives the positions of an outcome their names.
    pub(crate) async fn new(
        job: &Job,
        config: &JobConfig,
        executor: &LocalExecutor,
        outcome: Outcome,
        known: &CommitNames,
    ) -> Result<Self, LocalError> {
        let names = Names { executor, known };
        let mut culprits = Vec::new();
        for culprit in outcome.culprits {
            let (commit, prior) = (
                names.of(culprit.commit).await?,
                names.of(culprit.prior).await?,
            );
            let blamed = (executor.blamed(known, culprit.commit, &commit, &prior)).await?;
            culprits.push(NamedCulprit {
                blamed: blamed.commit,
                undone: blamed.undone,
                other_changes: not_followed(known, &prior, &commit),
                reproduce: match (&commit.modified_deps[..], &prior.modified_deps[..]) {
                    ([], []) if commit.main.merged.is_empty() && prior.main.merged.is_empty() => {
                        let ends = (&prior.main.git_hash, &commit.main.git_hash);
                        config.command_line.with_ends(ends.0, ends.1)
                    }
                    // A state that no name on a command line stands for.
                    _ => None,
                },
                commit,
                prior,
                probability: culprit.probability,
                effect: culprit.effect,
                confirmation: None,
            });
        }
        let candidates: Vec<_> = outcome
            .candidates
            .iter()
            .filter_map(|candidate| known.locate(*candidate))
            .collect();
        let candidates = executor.resolve_all(&candidates).await?;
        let posterior = match outcome.posterior {
            Some(posterior) => Some(names.of_posterior(posterior).await?),
            None => None,
        };
        let mut comparisons = Vec::new();
        for comparison in outcome.comparisons {
            comparisons.push(NamedComparison {
                lower: names.of(comparison.lower).await?,
                higher: names.of(comparison.higher).await?,
                evidence: comparison.into(),
            });
        }
        let mut skipped = Vec::new();
        for skip in outcome.skipped {
            skipped.push(NamedSkip {
                commit: names.of(skip.commit).await?,
                reason: skip.reason,
            });
        }
        let mut unmeasured = Vec::new();
        for end in outcome.unmeasured {
            unmeasured.push(NamedUnmeasured {
                commit: names.of(end.commit).await?,
                runs: end.runs,
                reason: end.reason,
            });
        }
        let metric = executor.metric();
        Ok(Self {
            version: VERSION,
            job_id: job.id.to_string(),
            status: outcome.status,
            stopped: outcome.stopped,
            good: names.of(Position::Lower).await?,
            bad: names.of(Position::Higher).await?,
            chart: metric.as_ref().and_then(|metric| metric.chart.clone()),
            unit: metric.and_then(|metric| metric.unit),
            culprits,
            candidates,
            posterior,
            runs: outcome.runs,
            builds: outcome.builds,
            comparisons,
            skipped,
            warnings: executor.warnings()?,
            unmeasured,
            duration_s: duration_of(job),
        })
    }
}

/// Seconds since the job was created.
pub(crate) fn duration_of(job: &Job) -> f64 {
    let created = u64::try_from(job.created).unwrap_or_default();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    now.as_secs_f64() - created as f64 / 1000.0
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

fn not_followed(
    known: &CommitNames,
    prior: &CombinedCommit,
    commit: &CombinedCommit,
) -> Vec<DependencyChange> {
    let changes = known
        .listing(prior, commit)
        .map_or(&[][..], |listing| &listing.changes);
    changes
        .iter()
        .filter(|change| matches!(change.followed, Followed::No { .. }))
        .cloned()
        .collect()
}

pub(crate) struct Names<'a> {
    pub(crate) executor: &'a LocalExecutor,
    pub(crate) known: &'a CommitNames,
}

impl Names<'_> {
    pub(crate) async fn of(&self, position: Position) -> Result<CombinedCommit, LocalError> {
        match self.known.locate(position) {
            Some(located) => self.executor.resolve(&located).await,
            // Only a range that was listed has offsets.
            None => Err(LocalError::NoSuchOffset {
                offset: 0,
                count: 0,
            }),
        }
    }

    async fn of_posterior(&self, posterior: Posterior) -> Result<NamedPosterior, LocalError> {
        let mut spans = Vec::new();
        for span in posterior.spans {
            spans.push(NamedSpan {
                after: self.of(span.after).await?,
                last: self.of(span.last).await?,
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
}
