//! The result of a culprit finder, as `--output json` prints it and the store
//! keeps it: that of a bisection, and the comparisons that verify it.

use pinpoint_backends::local::{LocalError, LocalExecutor};
use pinpoint_backends::store::Job;
use pinpoint_core::{
    CheckedCulprit, CommitNames, CulpritFinderOutcome, OUTCOME_VERSION, Outcome, PairwiseOutcome,
};
use serde::{Deserialize, Serialize};

use crate::document::{Document, NamedCulprit};
use crate::job::JobConfig;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CulpritDocument {
    /// Its culprits are those that were confirmed.
    #[serde(flatten)]
    pub(crate) search: Document,
    /// The comparison of the two ends.
    pub(crate) verification: PairwiseOutcome,
    /// Culprits of the search that were not confirmed.
    pub(crate) unconfirmed: Vec<NamedCulprit>,
    /// Runs of the verification that served the search, too.
    pub(crate) reused_runs: u64,
}

/// How a culprit compares with its parent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Confirmation {
    /// Absent when the budget or the search ended before.
    pub(crate) comparison: Option<PairwiseOutcome>,
    /// It is the comparison of the two ends.
    pub(crate) reused: bool,
}

impl CulpritDocument {
    pub(crate) async fn new(
        job: &Job,
        config: &JobConfig,
        executor: &LocalExecutor,
        outcome: CulpritFinderOutcome,
        names: &CommitNames,
    ) -> Result<Self, LocalError> {
        let confirmed = outcome.culprits.len();
        let checked: Vec<CheckedCulprit> = (outcome.culprits.into_iter())
            .chain(outcome.unconfirmed)
            .collect();
        let (candidates, posterior, comparisons, skipped, unmeasured) =
            outcome.bisection.map_or_else(Default::default, |search| {
                let Outcome {
                    candidates,
                    posterior,
                    comparisons,
                    skipped,
                    unmeasured,
                    ..
                } = search;
                (candidates, posterior, comparisons, skipped, unmeasured)
            });
        let search = Outcome {
            version: OUTCOME_VERSION,
            status: outcome.status,
            stopped: outcome.stopped,
            culprits: checked.iter().map(|it| it.culprit.clone()).collect(),
            candidates,
            posterior,
            comparisons,
            skipped,
            unmeasured,
            runs: outcome.runs,
            builds: outcome.builds,
        };
        let mut search = Document::new(job, config, executor, search, names).await?;
        for (named, checked) in search.culprits.iter_mut().zip(checked) {
            named.confirmation = Some(Confirmation {
                comparison: checked.comparison,
                reused: checked.reused,
            });
        }
        Ok(Self {
            unconfirmed: search.culprits.split_off(confirmed),
            search,
            verification: outcome.verification,
            reused_runs: outcome.reused_runs,
        })
    }
}
