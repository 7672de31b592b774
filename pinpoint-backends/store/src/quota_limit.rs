//! The limits of quotas, by their names.

use std::fmt;

/// A limit of a [`Quota`](super::Quota).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuotaLimit {
    /// [`Quota::jobs_an_hour`](super::Quota::jobs_an_hour).
    JobsAnHour,
    /// [`Quota::jobs_under_way`](super::Quota::jobs_under_way).
    JobsUnderWay,
    /// [`Quota::runs_a_day`](super::Quota::runs_a_day).
    RunsADay,
}

impl QuotaLimit {
    /// The name of the field.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JobsAnHour => "jobs_an_hour",
            Self::JobsUnderWay => "jobs_under_way",
            Self::RunsADay => "runs_a_day",
        }
    }
}

impl fmt::Display for QuotaLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::JobsAnHour => "jobs an hour",
            Self::JobsUnderWay => "jobs under way",
            Self::RunsADay => "runs a day",
        })
    }
}
