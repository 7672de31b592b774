//! The outcome of a group's bisection.

use std::fmt;

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
                    Some(probability) => {
                        // Rounded down: nothing is certain.
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
}
