//! The bisection of a group, described.

use pinpoint_compare::steps::Shape;
use pinpoint_core::{
    BisectionSpec, CombinedCommit, CulpritFinderSpec, Direction, Magnitude, Range,
};
use serde::{Deserialize, Serialize};

use super::alert::AlertId;
use super::change::RegressionId;
use super::group::{Group, GroupName};
use super::range::CommitRange;
use super::regression::Regression;
use super::template::{Template, TemplateError};
use crate::commit::CommitNumber;
use crate::id::TraceId;

/// One bisection, in the terms of traces: a driver makes a `CulpritFinder` job of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BisectionJob {
    /// The name of the job: its group's. A job of this name is never started twice.
    pub name: GroupName,
    /// The alert that asks for it.
    pub alert: AlertId,
    /// The regression that is searched for: the largest of the group.
    pub regression: RegressionId,
    /// Its trace.
    pub trace: TraceId,
    /// The good end and the bad end.
    pub range: CommitRange,
    /// The weight of suspicion of each commit of the range, oldest first; they add up to about 1.
    /// Empty for a range of more than a million commits, which are all alike.
    pub priors: Vec<f64>,
    /// The size of the change, in the unit of the trace.
    pub magnitude: f64,
    /// The direction of improvement; unknown for an improvement, which a search that knows it would
    /// not pursue.
    pub direction: Direction,
    /// The benchmark's command.
    pub command: String,
    /// The chart that decides.
    pub chart: String,
}

impl BisectionJob {
    /// The search that this job is, between the commits of its range: `good` is
    /// [`CommitRange::previous`], `bad` [`CommitRange::commit`].
    ///
    /// It has the weights of commits only if `between`, the number of commits between the two in the
    /// repository, is that of the range: numbers that a project counts by itself may leave some out.
    pub fn spec(
        &self,
        good: CombinedCommit,
        bad: CombinedCommit,
        between: u64,
    ) -> CulpritFinderSpec {
        let range = Range::Between { good, bad };
        let is_each = between.saturating_add(1) == self.priors.len() as u64;
        CulpritFinderSpec {
            bisection: BisectionSpec {
                chart: Some(self.chart.clone()),
                magnitude: (self.magnitude > 0.0).then_some(Magnitude::Absolute(self.magnitude)),
                direction: self.direction,
                priors: is_each.then(|| self.priors.clone()),
                ..BisectionSpec::new(range.clone())
            },
            ..CulpritFinderSpec::new(range)
        }
    }
}

/// The reason why a regression or a group is not bisected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NotBisected {
    /// Another machine measures since then.
    #[error("the machine changed from `{before}` to `{after}`")]
    Machine {
        /// The machine before.
        before: String,
        /// The machine since.
        after: String,
    },
    /// A drift has no commit.
    #[error("the values drift, which is not the change of a commit")]
    Drift,
    /// A search compares levels.
    #[error("only the spread of the values changed")]
    Spread,
    /// It went back, was taken back, or is to be ignored.
    #[error("it is not open any more")]
    Closed,
    /// A bisection of another group searches for it.
    #[error("the bisection `{job}` searches for it")]
    Searched {
        /// The name of the job.
        job: GroupName,
    },
}

impl Regression {
    /// The reason why this regression can't be bisected, if there is one.
    pub fn not_bisected(&self) -> Option<NotBisected> {
        if !self.is_open() {
            return Some(NotBisected::Closed);
        }
        if let Some(machine) = &self.change.machine {
            let (before, after) = (machine.before.clone(), machine.after.clone());
            return Some(NotBisected::Machine { before, after });
        }
        match self.change.shape {
            Shape::Step => None,
            Shape::Drift => Some(NotBisected::Drift),
            _ => Some(NotBisected::Spread),
        }
    }
}

/// The weight that all commits of a range share, beside that of the posterior: none is excluded.
const SHARED_WEIGHT: f64 = 1e-3;

/// The bisection of a group for one of its regressions.
pub(super) fn bisection_job(
    group: &Group,
    regression: &Regression,
    command: &Template,
    chart: &Template,
) -> Result<BisectionJob, TemplateError> {
    let change = &regression.change;
    Ok(BisectionJob {
        name: group.name.clone(),
        alert: group.alert,
        regression: regression.id.clone(),
        trace: change.trace.clone(),
        range: regression.interval,
        priors: priors(regression),
        magnitude: (change.after - change.before).abs(),
        direction: if regression.is_improvement {
            Direction::Unknown
        } else {
            change.direction()
        },
        command: command.fill(&change.trace)?,
        chart: chart.fill(&change.trace)?,
    })
}

/// The commits that get a weight each.
const MOST_WEIGHTS: u32 = 1_000_000;

/// The weight of each commit of a regression's interval. The commits between two values share the
/// probability of their place. Of a regression that a person moved, all are alike.
fn priors(regression: &Regression) -> Vec<f64> {
    let interval = regression.interval;
    if interval.len() > MOST_WEIGHTS {
        return Vec::new();
    }
    let count = interval.len() as usize;
    let mut weights = vec![0.0; count];
    if !regression.is_moved {
        for place in &regression.change.places {
            let share = place.probability / f64::from(place.range.len());
            let Some(inside) = place.range.intersection(interval) else {
                continue;
            };
            for commit in inside.previous().0 + 1..=inside.commit().0 {
                if let Some(weight) = weights.get_mut(offset(interval, CommitNumber(commit))) {
                    *weight += share;
                }
            }
        }
    }
    let sum: f64 = weights.iter().sum();
    let alike = 1.0 / count as f64;
    if sum <= 0.0 {
        return vec![alike; count];
    }
    let weight = |it: f64| (1.0 - SHARED_WEIGHT) * it / sum + SHARED_WEIGHT * alike;
    weights.into_iter().map(weight).collect()
}

/// The place of a commit in a range that holds it.
fn offset(range: CommitRange, commit: CommitNumber) -> usize {
    (commit.0 - range.previous().0 - 1) as usize
}

#[cfg(test)]
mod tests {
    use super::super::change::{Place, step};
    use super::super::range::range;
    use super::*;
    use crate::annotation::MachineChange;

    #[test]
    fn commits_between_values_share_the_probability() {
        let mut change = step(",a=b,", 12, 14, 1.0, 2.0);
        change.interval = range(10, 15);
        let place = |previous, commit, probability| Place {
            range: range(previous, commit),
            probability,
        };
        change.places = vec![
            place(9, 10, 0.2),
            place(10, 12, 0.2),
            place(12, 14, 0.4),
            place(14, 15, 0.2),
        ];
        let mut regression = Regression::new(change);
        let found = priors(&regression);
        let expected = [0.125, 0.125, 0.25, 0.25, 0.25].map(|it| 0.999 * it + 0.0002);
        assert_eq!(found.len(), 5);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        regression.interval = range(20, 24);
        assert_eq!(priors(&regression), [0.25; 4]);
        regression.interval = range(10, 12);
        regression.is_moved = true;
        assert_eq!(priors(&regression), [0.5; 2]);
        regression.interval = range(0, u32::MAX);
        assert!(priors(&regression).is_empty());
    }

    #[test]
    fn only_open_steps_of_one_machine_are_bisected() {
        let sound = Regression::new(step(",a=b,", 1, 2, 1.0, 2.0));
        assert_eq!(sound.not_bisected(), None);
        let mut other = sound.clone();
        other.change.machine = Some(MachineChange {
            key: "bot".into(),
            before: "a".into(),
            after: "b".into(),
        });
        let reason = other.not_bisected().unwrap();
        assert_eq!(reason.to_string(), "the machine changed from `a` to `b`");
        let json = serde_json::to_string(&reason).unwrap();
        assert_eq!(serde_json::from_str::<NotBisected>(&json).unwrap(), reason);
        let mut other = sound.clone();
        other.change.shape = Shape::Drift;
        assert_eq!(other.not_bisected(), Some(NotBisected::Drift));
        let mut other = sound;
        other.is_taken_back = true;
        assert_eq!(other.not_bisected(), Some(NotBisected::Closed));
    }

    #[test]
    fn a_job_is_a_search_of_its_range() {
        let mut regression = Regression::new(step(
            ",improvement_direction=down,test=t,",
            10,
            13,
            1.0,
            2.5,
        ));
        regression.change.places = vec![Place {
            range: range(10, 13),
            probability: 1.0,
        }];
        let group = super::super::group::open_groups(
            [(&regression.id, AlertId(1), "b", regression.interval)].into_iter(),
        )
        .remove(0);
        let template = |text: &str| text.parse().unwrap();
        let job = bisection_job(
            &group,
            &regression,
            &template("./b {test}"),
            &template("{test}"),
        );
        let job = job.unwrap();
        let commit = |hash: &str| CombinedCommit::from(pinpoint_core::Commit::new("r", hash));
        let spec = job.spec(commit("a"), commit("b"), 2);
        let search = &spec.bisection;
        assert_eq!(
            search.range,
            Range::Between {
                good: commit("a"),
                bad: commit("b")
            }
        );
        assert_eq!(
            (search.chart.as_deref(), search.direction),
            (Some("t"), Direction::Down)
        );
        assert_eq!(search.magnitude, Some(Magnitude::Absolute(1.5)));
        assert_eq!(search.priors.as_ref().map(Vec::len), Some(3));
        // The repository has more commits than numbers.
        assert_eq!(job.spec(commit("a"), commit("b"), 3).bisection.priors, None);
    }
}
