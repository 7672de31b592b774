//! The result of a pairwise job, as `--output json` prints it and the store
//! keeps it.

use pinpoint_backends::local::{LocalError, LocalExecutor};
use pinpoint_backends::store::Job;
use pinpoint_core::{
    ChartComparison, CommitNames, FunctionalComparison, PairwiseOutcome, PairwiseSpec,
    PairwiseStatus, Position, Stopped, Variant,
};
use serde::{Deserialize, Serialize};

use crate::document::{Names, VERSION, duration_of};

/// The result of a pairwise job, with commits by their names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PairwiseDocument {
    pub(crate) version: u32,
    pub(crate) job_id: String,
    pub(crate) status: PairwiseStatus,
    /// Why it ended.
    pub(crate) stopped: Stopped,
    pub(crate) base: Variant,
    pub(crate) experiment: Variant,
    /// Whether runs fail alike.
    pub(crate) functional: Option<FunctionalComparison>,
    pub(crate) charts: Vec<NamedChart>,
    /// How many charts moved, for the worse or where better is not known; and for
    /// the better. Their p-values are adjusted for the number of charts.
    pub(crate) moved: usize,
    pub(crate) improved: usize,
    pub(crate) only_base: Vec<String>,
    pub(crate) only_experiment: Vec<String>,
    pub(crate) pairs: u32,
    pub(crate) pairs_planned: u32,
    /// It ended before the last pair because a difference was certain.
    pub(crate) stopped_early: bool,
    pub(crate) runs: u64,
    pub(crate) builds: u64,
    /// What was noticed about the runs, a sentence each.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    /// Seconds from the job's creation to its end.
    pub(crate) duration_s: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedChart {
    /// What its values count.
    pub(crate) unit: Option<String>,
    #[serde(flatten)]
    pub(crate) comparison: ChartComparison,
}

impl PairwiseDocument {
    /// Gives the two sides their names, and the charts their units.
    pub(crate) async fn new(
        job: &Job,
        executor: &LocalExecutor,
        outcome: PairwiseOutcome,
        known: &CommitNames,
    ) -> Result<Self, LocalError> {
        let names = Names { executor, known };
        // The job was run with this spec: it can be read.
        let sides = serde_json::from_value::<PairwiseSpec>(job.spec.clone())
            .ok()
            .and_then(|spec| spec.sides);
        let (base, experiment) = sides.map(|sides| (sides.base, sides.experiment)).unzip();
        let side = async |position, side: Option<Variant>| {
            let commit = names.of(position).await?;
            Ok::<_, LocalError>(match side {
                Some(side) => Variant { commit, ..side },
                None => commit.into(),
            })
        };
        let measures = (executor.metric()).map_or_else(Default::default, |metric| metric.charts);
        let count = |fits: fn(&ChartComparison) -> bool| {
            outcome.charts.iter().filter(|chart| fits(chart)).count()
        };
        Ok(Self {
            version: VERSION,
            job_id: job.id.to_string(),
            status: outcome.status,
            stopped: outcome.stopped,
            base: side(Position::Lower, base).await?,
            experiment: side(Position::Higher, experiment).await?,
            functional: outcome.functional,
            moved: count(ChartComparison::moved),
            improved: count(ChartComparison::improved),
            charts: (outcome.charts.into_iter())
                .map(|comparison| NamedChart {
                    unit: (measures.get(&comparison.chart))
                        .and_then(|measure| measure.unit.clone()),
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
            warnings: executor.warnings()?,
            duration_s: duration_of(job),
        })
    }
}
