//! The results of jobs, as messages.

use pinpoint_compare::{PairwiseComparison, Verdict};

use super::pairwise_execution::WilcoxonResult;
use super::{
    BisectExecution, Culprit, CulpritFinderExecution, NotCarried, PairwiseExecution,
    PairwiseJobStatus, messages,
};
use crate::job::{BisectionResult, CulpritFinderResult, PairwiseResult};
use crate::{CombinedCommit, JobState, PairwiseOutcome, PairwiseStatus};

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

/// The search that a result describes.
///
/// # Errors
///
/// As of [`BisectExecution::found`].
impl TryFrom<&BisectionResult> for BisectExecution {
    type Error = NotCarried;

    fn try_from(result: &BisectionResult) -> Result<Self, NotCarried> {
        let culprits = result.culprits.iter();
        Self::found(
            &result.job_id,
            culprits.map(|culprit| (&culprit.commit, &culprit.prior)),
        )
    }
}

/// The comparison that a result describes. Charts without one are left out.
impl From<&PairwiseResult> for PairwiseExecution {
    fn from(result: &PairwiseResult) -> Self {
        let compared = result.charts.iter().filter_map(|chart| {
            let chart = &chart.comparison;
            let compared = WilcoxonResult::of(chart.comparison.as_ref()?);
            Some((chart.chart.clone(), compared))
        });
        Self {
            job_id: result.job_id.clone(),
            results: compared.collect(),
            ..Self::default()
        }
    }
}

/// The search with verification that a result describes.
///
/// # Errors
///
/// As of [`BisectExecution::found`].
impl TryFrom<&CulpritFinderResult> for CulpritFinderExecution {
    type Error = NotCarried;

    fn try_from(result: &CulpritFinderResult) -> Result<Self, NotCarried> {
        let culprits = result.search.culprits.iter();
        Ok(Self {
            job_id: result.search.job_id.clone(),
            regression_verified: is_verified(&result.verification),
            culprits: culprits
                .map(|culprit| (&culprit.commit).try_into())
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Returns true if the ends differ: the published workflow verifies that without a direction, and
/// its search finds nothing where the change is for the better.
fn is_verified(verification: &PairwiseOutcome) -> bool {
    let compared = verification.charts.iter();
    verification.status == PairwiseStatus::Different
        || (compared.filter_map(|chart| chart.comparison.as_ref())).any(differs)
}

/// Returns true if the sides differ, in either direction: the published workflows compare without
/// one.
fn differs(comparison: &PairwiseComparison) -> bool {
    comparison.verdict == Verdict::Different || comparison.is_improvement
}

impl messages::CombinedCommit {
    /// The commit that stands for the state where there is room for one: of the last
    /// modified dependency, else the main one.
    pub fn last(&self) -> Option<&messages::Commit> {
        self.modified_deps.last().or(self.main.as_ref())
    }
}

impl WilcoxonResult {
    /// The result of one chart. It is significant in either direction, as the published workflow
    /// compares. The ends of the interval are left out, which proto3 does not distinguish from 0,
    /// if it is missing or unbounded: JSON has no infinity.
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
            significant: differs(comparison),
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
    fn a_change_for_the_better_is_significant() {
        let control: Vec<f64> = (0..30).map(|run| 100.0 + f64::from(run % 5)).collect();
        let treatment: Vec<f64> = control.iter().map(|value| value * 1.5).collect();
        for direction in [Direction::Unknown, Direction::Up, Direction::Down] {
            let compared = compare_pairwise(&control, &treatment, direction).unwrap();
            let found = WilcoxonResult::of(&compared);
            assert!(found.significant, "{direction:?}");

            let verification = |verdict: PairwiseStatus| PairwiseOutcome {
                version: crate::PAIRWISE_OUTCOME_VERSION,
                status: verdict,
                stopped: crate::Stopped::Decided,
                functional: None,
                base_failure: None,
                experiment_failure: None,
                charts: vec![crate::ChartComparison {
                    chart: "time".into(),
                    direction,
                    comparison: Some(compared.clone()),
                    adjusted_p_value: Some(compared.p_value),
                    anytime_p_value: None,
                    failed_pairs: 0,
                    surplus_pairs: 0,
                    error: None,
                }],
                only_base: Vec::new(),
                only_experiment: Vec::new(),
                pairs_needed: None,
                pairs_planned: 30,
                pairs: 30,
                stopped_early: false,
                runs: 60,
                builds: 2,
            };
            assert!(is_verified(&verification(PairwiseStatus::Same)));
            let same = compare_pairwise(&control, &control, direction).unwrap();
            let mut same_sides = verification(PairwiseStatus::Same);
            same_sides.charts[0].comparison = Some(same);
            assert!(!is_verified(&same_sides));
        }
    }

    #[test]
    fn the_last_dependency_stands_for_a_state() {
        let commit = |hash: &str| messages::Commit {
            git_hash: hash.into(),
            ..messages::Commit::default()
        };
        let mut state = messages::CombinedCommit::default();
        assert_eq!(state.last(), None);
        state.main = Some(commit("a"));
        assert_eq!(state.last(), Some(&commit("a")));
        state.modified_deps = vec![commit("b"), commit("c")];
        assert_eq!(state.last(), Some(&commit("c")));
    }

    #[test]
    fn states_of_a_job() {
        let statuses = JobState::ALL.map(|state| PairwiseJobStatus::from(state) as i32);
        assert_eq!(statuses, [1, 1, 2, 3, 4]);
    }
}
