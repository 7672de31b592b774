//! The states of a job.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{PairwiseStatus, Status};

/// The state of a job.
///
/// A job that was killed is still `Running` on disk: only its journal shows its progress. `Failed`
/// and `Canceled` jobs can be resumed; a completed one is done for good, since its outcome may have
/// been acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobState {
    /// Waiting to be started or resumed.
    Pending,
    /// Being worked on.
    Running,
    /// Ended with an outcome.
    Completed,
    /// Stopped at an error.
    Failed,
    /// Canceled by a user.
    Canceled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
    ];

    /// Returns true if no one works on the job, nor is going to, unless it is resumed.
    pub fn has_ended(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Completed | Self::Failed | Self::Canceled => true,
        }
    }

    /// Returns true if a job may change from this state to `next`.
    pub fn can_become(self, next: Self) -> bool {
        match self {
            Self::Pending | Self::Failed | Self::Canceled => next == Self::Running,
            Self::Running => next != Self::Running,
            Self::Completed => false,
        }
    }

    /// The written form, the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

impl From<Status> for JobState {
    fn from(status: Status) -> Self {
        match status {
            Status::Failed => Self::Failed,
            Status::Canceled => Self::Canceled,
            Status::CulpritFound | Status::NoRegression | Status::Inconclusive => Self::Completed,
        }
    }
}

impl From<PairwiseStatus> for JobState {
    fn from(status: PairwiseStatus) -> Self {
        match status {
            PairwiseStatus::Failed => Self::Failed,
            PairwiseStatus::Canceled => Self::Canceled,
            PairwiseStatus::Different | PairwiseStatus::Same | PairwiseStatus::Unknown => {
                Self::Completed
            }
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// No job state has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no job state `{0}`; use pending, running, completed, failed or canceled")]
pub struct UnknownJobState(String);

impl FromStr for JobState {
    type Err = UnknownJobState;

    fn from_str(text: &str) -> Result<Self, UnknownJobState> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownJobState(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transition_is_legal_or_not() {
        use JobState::*;
        let legal = [
            (Pending, Running),
            (Running, Pending),
            (Running, Completed),
            (Running, Failed),
            (Running, Canceled),
            (Failed, Running),
            (Canceled, Running),
        ];
        for from in JobState::ALL {
            for to in JobState::ALL {
                let expected = legal.contains(&(from, to));
                assert_eq!(from.can_become(to), expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn one_name_everywhere() {
        for state in JobState::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
            assert_eq!(
                serde_json::to_string(&state).unwrap(),
                format!("\"{state}\"")
            );
        }
        assert!(
            "done"
                .parse::<JobState>()
                .unwrap_err()
                .to_string()
                .contains("completed")
        );
    }
}
