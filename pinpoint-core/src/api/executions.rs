//! The results of jobs, as messages.

use pinpoint_compare::{PairwiseComparison, Verdict};

use super::pairwise_execution::WilcoxonResult;
use super::{BisectExecution, Culprit, NotCarried, PairwiseJobStatus};
use crate::{CombinedCommit, JobState};

impl BisectExecution {
    /// A search that found these culprits, each with its prior, oldest first.
    ///
    /// # Errors
    ///
    /// The message has no place for a commit, such as one that is merged into
    /// another.
    pub fn found<'a>(
        job_id: impl Into<String>,
        culprits: impl IntoIterator<Item = (&'a CombinedCommit, &'a CombinedCommit)>,
    ) -> Result<Self, NotCarried> {
        let detailed_culprits = culprits
            .into_iter()
            .map(|(culprit, prior)| {
                Ok(Culprit {
                    prior: Some(prior.try_into()?),
                    culprit: Some(culprit.try_into()?),
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            job_id: job_id.into(),
            culprits: detailed_culprits
                .iter()
                .filter_map(|detailed| detailed.culprit.clone())
                .collect(),
            detailed_culprits,
        })
    }
}

impl WilcoxonResult {
    /// The result of one chart. The ends of the interval are left out, which
    /// proto3 does not distinguish from 0, where there is none or it has no bounds: JSON
    /// has no infinity.
    pub fn of(comparison: &PairwiseComparison) -> Self {
        let interval = comparison.interval.as_ref();
        let interval =
            interval.filter(|interval| interval.low.is_finite() && interval.high.is_finite());
        Self {
            p_value: comparison.p_value,
            confidence_interval_lower: interval.map_or(0.0, |interval| interval.low),
            confidence_interval_higher: interval.map_or(0.0, |interval| interval.high),
            control_median: comparison.control_median,
            treatment_median: comparison.treatment_median,
            significant: comparison.verdict == Verdict::Different,
        }
    }
}

/// A waiting job counts as running for its user.
impl From<JobState> for PairwiseJobStatus {
    fn from(state: JobState) -> Self {
        match state {
            JobState::Pending | JobState::Running => Self::Running,
            JobState::Completed => Self::Completed,
            JobState::Failed => Self::Failed,
            JobState::Canceled => Self::Canceled,
        }
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_compare::{Direction, compare_pairwise};

    use super::*;
    use crate::Commit;

    #[test]
    fn culprits_stand_in_both_lists() {
        let state = |hash: &str| CombinedCommit::from(Commit::new("r", hash));
        let (prior, culprit) = (state("a"), state("b"));
        let execution = BisectExecution::found("j", [(&culprit, &prior)]).unwrap();
        let hash = |state: &Option<super::super::CombinedCommit>| {
            let main = state.clone().and_then(|state| state.main);
            main.map(|main| main.git_hash)
        };
        assert_eq!(execution.job_id, "j");
        assert_eq!(
            hash(&execution.culprits.first().cloned()),
            hash(&Some((&culprit).try_into().unwrap()))
        );
        let detailed = &execution.detailed_culprits[0];
        assert_eq!(hash(&detailed.prior).as_deref(), Some("a"));
        assert_eq!(hash(&detailed.culprit).as_deref(), Some("b"));

        let mut merged = culprit.clone();
        merged.main.merged.push("c".into());
        let refused = BisectExecution::found("j", [(&merged, &prior)]);
        assert_eq!(refused, Err(NotCarried("what is merged into a commit")));
    }

    #[test]
    fn a_comparison_keeps_its_sides() {
        let control: Vec<f64> = (0..30).map(|run| 100.0 + f64::from(run % 5)).collect();
        let treatment: Vec<f64> = control.iter().map(|value| value * 1.5).collect();
        let compare = |control: &[f64], treatment: &[f64]| {
            let compared = compare_pairwise(control, treatment, Direction::Unknown);
            WilcoxonResult::of(&compared.unwrap())
        };
        let slower = compare(&control, &treatment);
        assert!(slower.significant && slower.p_value < 0.05);
        assert_eq!(
            (slower.control_median, slower.treatment_median),
            (102.0, 153.0)
        );
        assert!(slower.confidence_interval_lower > 0.0);
        assert!(slower.confidence_interval_lower <= slower.confidence_interval_higher);

        let same = compare(&control, &control);
        assert!(!same.significant);
        // JSON can express any outcome.
        for result in [same, compare(&[1.0], &[2.0])] {
            let json = serde_json::to_string(&result).unwrap();
            assert!(!json.contains("null"), "{json}");
        }
    }

    #[test]
    fn states_of_a_job() {
        let statuses = JobState::ALL.map(|state| PairwiseJobStatus::from(state) as i32);
        assert_eq!(statuses, [1, 1, 2, 3, 4]);
    }
}
