//! The outcome of a group's bisection.

use std::fmt;

use pinpoint_core::job::{JobResult, NamedCulprit};
use pinpoint_core::{CombinedCommit, Commit, Status};
use serde::{Deserialize, Serialize};

use super::range::CommitRange;
use crate::commit::CommitNumber;

/// The outcome of the bisection of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BisectionOutcome {
    /// A commit was found, and confirmed.
    Culprit {
        /// Its number.
        commit: CommitNumber,
        /// Its hash; empty if commits are only numbered.
        #[serde(default)]
        hash: String,
        /// The probability that it is the one; absent for strategies that give none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probability: Option<f64>,
    },
    /// The ends of the range do not differ.
    NotReproduced,
    /// The ends differ, and no commit between them was confirmed.
    NoCulprit,
    /// The search ended with a range that is not decided.
    RangeLeft {
        /// The commits that may be it.
        range: CommitRange,
    },
    /// The search failed.
    Failed {
        /// The reason.
        reason: String,
    },
}

impl BisectionOutcome {
    /// The outcome that a job's result is, with the numbers of commits of the main repository.
    ///
    /// Of several culprits, the likeliest counts, or else the oldest. One inside of a merge or of a
    /// roll of dependencies has the number of the commit that brought it in: the one after the state's
    /// main commit, if the result does not name it. A culprit without a number is a failure.
    pub fn of(result: &JobResult, number_of: impl Fn(&Commit) -> Option<CommitNumber>) -> Self {
        let failed = |reason: String| Self::Failed { reason };
        let Some(search) = result.bisection() else {
            return failed("its job compares two commits".to_owned());
        };
        let place = |state: &CombinedCommit| {
            let number = number_of(&state.main)?;
            let is_between = !state.main.merged.is_empty() || !state.modified_deps.is_empty();
            Some(CommitNumber(number.0.saturating_add(u32::from(is_between))))
        };
        match search.status {
            Status::CulpritFound => {
                let probability = |it: &NamedCulprit| it.probability.unwrap_or_default();
                // The last of equal ones is the maximum.
                let likeliest = search.culprits.iter().rev();
                let Some(culprit) =
                    likeliest.max_by(|a, b| probability(a).total_cmp(&probability(b)))
                else {
                    return Self::NoCulprit;
                };
                let by_roll = culprit.rolled_by.as_ref().and_then(&number_of);
                match by_roll.or_else(|| place(&culprit.commit)) {
                    Some(commit) => Self::Culprit {
                        commit,
                        hash: culprit.blamed.git_hash.clone(),
                        probability: culprit.probability,
                    },
                    None => failed(format!(
                        "the commit {} has no number",
                        culprit.commit.main.git_hash
                    )),
                }
            }
            Status::NoRegression => Self::NotReproduced,
            Status::Inconclusive => {
                let places = search.candidates.iter().filter_map(place);
                let places: Vec<CommitNumber> = places.collect();
                let ends = places.iter().min().zip(places.iter().max());
                let range = ends.and_then(|(first, last)| {
                    CommitRange::new(CommitNumber(first.0.checked_sub(1)?), *last).ok()
                });
                match range {
                    Some(range) if result.unconfirmed().is_empty() => Self::RangeLeft { range },
                    _ => Self::NoCulprit,
                }
            }
            // It failed, or was canceled.
            _ => failed(search.stopped.to_string()),
        }
    }

    /// Returns true if the search failed.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// The commit that was found.
    pub fn culprit(&self) -> Option<CommitNumber> {
        match self {
            Self::Culprit { commit, .. } => Some(*commit),
            _ => None,
        }
    }
}

/// The message of a regression with this outcome.
impl fmt::Display for BisectionOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Culprit {
                commit,
                hash,
                probability,
            } => {
                write!(formatter, "commit {commit}")?;
                if !hash.is_empty() {
                    write!(formatter, " ({hash})")?;
                }
                match probability {
                    // Nothing is certain.
                    Some(probability) if *probability > 0.999 => {
                        write!(formatter, ", with a probability above 0.999")
                    }
                    Some(probability) => {
                        let shown = (probability * 1000.0).floor() / 1000.0;
                        write!(formatter, ", with probability {shown:.3}")
                    }
                    None => Ok(()),
                }
            }
            Self::NotReproduced => formatter.write_str("no difference at the ends"),
            Self::NoCulprit => {
                formatter.write_str("the ends differ, but no commit between them was confirmed")
            }
            Self::RangeLeft { range } => {
                write!(formatter, "not decided: one of the commits {range}")
            }
            Self::Failed { reason } => write!(formatter, "the bisection failed: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::range::range;
    use super::*;

    #[test]
    fn each_outcome_has_a_message_and_is_read_back() {
        let culprit = BisectionOutcome::Culprit {
            commit: CommitNumber(12),
            hash: "abc".into(),
            probability: Some(0.97251),
        };
        assert_eq!(
            culprit.to_string(),
            "commit 12 (abc), with probability 0.972"
        );
        let sure = BisectionOutcome::Culprit {
            commit: CommitNumber(12),
            hash: String::new(),
            probability: Some(1.0),
        };
        let message = "commit 12, with a probability above 0.999";
        assert_eq!(sure.to_string(), message);
        let left = BisectionOutcome::RangeLeft {
            range: range(10, 12),
        };
        assert_eq!(left.to_string(), "not decided: one of the commits (10, 12]");
        let failed = BisectionOutcome::Failed {
            reason: "no disk".into(),
        };
        for outcome in [
            culprit,
            BisectionOutcome::NotReproduced,
            BisectionOutcome::NoCulprit,
            left,
            failed,
        ] {
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(
                serde_json::from_str::<BisectionOutcome>(&json).unwrap(),
                outcome
            );
        }
    }

    /// The result of a bisection with this status, culprits and candidates, in JSON.
    fn result(status: &str, culprits: &str, candidates: &str) -> JobResult {
        let commit =
            |hash: &str| format!(r#"{{"main": {{"repository": "r", "git_hash": "{hash}"}}}}"#);
        let (good, bad) = (commit("c10"), commit("c20"));
        let text = format!(
            r#"{{"version": 1, "job_id": "j", "status": "{status}", "stopped": "run_budget",
                "good": {good}, "bad": {bad}, "chart": null, "unit": null, "culprits": [{culprits}],
                "candidates": [{candidates}], "runs": 1, "builds": 1, "comparisons": [],
                "skipped": [], "duration_s": 1.0}}"#
        );
        let mut reader = serde_json::Deserializer::from_str(&text);
        JobResult::deserialize_as(pinpoint_core::JobKind::Bisection, &mut reader).unwrap()
    }

    fn outcome(status: &str, culprits: &str, candidates: &str) -> BisectionOutcome {
        let number = |it: &Commit| {
            it.git_hash
                .strip_prefix('c')?
                .parse()
                .ok()
                .map(CommitNumber)
        };
        BisectionOutcome::of(&result(status, culprits, candidates), number)
    }

    fn named(hash: &str, more: &str, probability: f64) -> String {
        let commit = format!(r#"{{"repository": "r", "git_hash": "{hash}"{more}}}"#);
        format!(
            r#"{{"commit": {{"main": {commit}}}, "prior": {{"main": {commit}}}, "blamed": {commit},
                "probability": {probability}, "undone": false, "other_changes": [], "reproduce": null,
                "effect": {{"of": "values", "estimate": 1.0, "interval": null, "confidence": 0.95,
                "before": 1.0, "after": 2.0}}}}"#
        )
    }

    #[test]
    fn a_result_becomes_an_outcome() {
        let found = |culprits: &[String]| outcome("culprit_found", &culprits.join(","), "");
        let culprit = |commit: u32, hash: &str, probability| BisectionOutcome::Culprit {
            commit: CommitNumber(commit),
            hash: hash.into(),
            probability: Some(probability),
        };
        let two = [named("c12", "", 0.9), named("c14", "", 0.95)];
        assert_eq!(found(&two), culprit(14, "c14", 0.95));
        let equal = [named("c12", "", 0.9), named("c14", "", 0.9)];
        assert_eq!(found(&equal), culprit(12, "c12", 0.9));
        // Inside of the merge that follows commit 15.
        let inside = [named("c15", r#", "merged": ["x"]"#, 0.9)];
        assert_eq!(found(&inside), culprit(16, "c15", 0.9));
        assert!(matches!(
            found(&[named("other", "", 0.9)]),
            BisectionOutcome::Failed { .. }
        ));
        assert_eq!(
            outcome("no_regression", "", ""),
            BisectionOutcome::NotReproduced
        );
        assert_eq!(outcome("inconclusive", "", ""), BisectionOutcome::NoCulprit);
        let left = ["c12", "c13", "c14"]
            .map(|it| format!(r#"{{"main": {{"repository": "r", "git_hash": "{it}"}}}}"#));
        let range = range(11, 14);
        assert_eq!(
            outcome("inconclusive", "", &left.join(",")),
            BisectionOutcome::RangeLeft { range }
        );
        let reason = "the budget of runs does not allow the next comparison".to_owned();
        assert_eq!(
            outcome("failed", "", ""),
            BisectionOutcome::Failed { reason }
        );
    }
}
