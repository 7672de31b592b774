//! The contents of a report, before it is put into words and pictures.

use std::path::PathBuf;

use pinpoint_backends::local::{FileChange, Session};
use pinpoint_backends::store::Job;
use pinpoint_core::{CombinedCommit, Commit, Posterior};

use super::measurements::Measurements;

use pinpoint_backends::job::JobConfig;
use pinpoint_core::JobKind;
use pinpoint_core::job::BisectionResult;
use pinpoint_core::job::JobResult;

pub(super) struct Report {
    pub(super) job: Job,
    pub(super) kind: JobKind,
    pub(super) config: JobConfig,
    /// The result; for a job that has not ended, the result if it ended now.
    pub(super) result: Option<JobResult>,
    /// The parts that could not be determined, with the reasons.
    pub(super) missing: Vec<String>,
    /// Remarks on the runs.
    pub(super) warnings: Vec<String>,
    pub(super) posterior: Option<Posterior>,
    pub(super) measured: Measurements,
    pub(super) builds: u64,
    pub(super) failed_builds: Vec<FailedBuild>,
    /// The origin of the main repository.
    pub(super) remote: Option<String>,
    pub(super) sources: Vec<Source>,
    pub(super) sessions: Vec<Session>,
    /// The directory in which the files of the job stay.
    pub(super) job_dir: Option<PathBuf>,
    /// Milliseconds since 1970.
    pub(super) made: i64,
}

/// A commit that does not build.
pub(super) struct FailedBuild {
    pub(super) commit: CombinedCommit,
    pub(super) reason: String,
    /// The end of its output.
    pub(super) output: Option<String>,
}

/// The facts about a commit that is to blame.
pub(super) struct Source {
    pub(super) commit: Commit,
    pub(super) files: Option<Vec<FileChange>>,
    /// Its page on the web.
    pub(super) page: Option<String>,
}

impl Report {
    /// The result of the search, of a job that searches.
    pub(super) fn search(&self) -> Option<&BisectionResult> {
        self.result.as_ref()?.bisection()
    }

    pub(super) fn source(&self, commit: &Commit) -> Option<&Source> {
        self.sources.iter().find(|source| source.commit == *commit)
    }

    /// The chart that decides, in a job where one does.
    pub(super) fn chart(&self) -> Option<&str> {
        let of_search = self.search().and_then(|document| document.chart.as_deref());
        self.measured.deciding_chart(of_search)
    }
}
