//! The facts about a job that explains another.

use pinpoint_core::CombinedCommit;
use pinpoint_core::profile::LongerWait;
use pinpoint_report::profile;
use serde::{Deserialize, Serialize};

/// An explanation among the jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The explanation.
    pub(crate) job_id: String,
    /// The job that is explained.
    pub(crate) explains: String,
    pub(crate) profiler: String,
    /// The change that the job measured, relative to the level before; above zero if the experiment
    /// is worse.
    pub(crate) measured: Option<f64>,
    /// True if enough of that is in the profiles; absent if nothing comparable was measured.
    pub(crate) shown: Option<bool>,
    /// The seconds by which the experiment waits longer, if that is most of the difference and the
    /// profiles do not show it.
    #[serde(default)]
    pub(crate) waiting: Option<f64>,
    /// The waiting time of runs, if it is certain, or if the profiles do not show the measured
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits: Option<LongerWait>,
    /// The build before the change, and the one after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<BuildName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) experiment: Option<BuildName>,
    /// The benchmark and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) command: Vec<String>,
    /// A profiler that sees other things.
    pub(crate) alternative: String,
    /// Pairs of runs that left no profiles of both sides.
    pub(crate) pairs_without_profiles: usize,
    /// The reason for one of them.
    pub(crate) missing: Option<String>,
}

impl About {
    /// The same for a report, with these lines.
    pub(crate) fn of_report<'a>(&'a self, lines: &'a [String]) -> profile::Job<'a> {
        profile::Job {
            id: &self.job_id,
            explains: &self.explains,
            profiler: &self.profiler,
            about: lines,
        }
    }
}

/// The commit of one of the two builds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BuildName {
    /// The full hash.
    pub(crate) commit: String,
    pub(crate) repository: String,
    /// The first line of the commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
}

impl From<&CombinedCommit> for BuildName {
    fn from(commit: &CombinedCommit) -> Self {
        Self {
            commit: commit.main.git_hash.clone(),
            repository: commit.main.repository.clone(),
            subject: commit.main.subject.clone(),
        }
    }
}
