//! The contents of a report, before it is put into words and pictures.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pinpoint_backends::local::{FileChange, Session};
use pinpoint_backends::store::Job;
use pinpoint_core::{CombinedCommit, Commit, Position, Posterior, RunReport};

use pinpoint_backends::job::JobConfig;
use pinpoint_core::JobKind;
use pinpoint_core::job::BisectionResult;
use pinpoint_core::job::JobResult;

pub(super) struct Report {
    pub(super) job: Job,
    pub(super) kind: JobKind,
    pub(super) config: JobConfig,
    /// The result; of a job that has not ended, what it would be if it ended now.
    pub(super) result: Option<JobResult>,
    /// The parts that could not be found out, with the reasons.
    pub(super) missing: Vec<String>,
    /// Remarks on the runs.
    pub(super) warnings: Vec<String>,
    pub(super) posterior: Option<Posterior>,
    /// The commits that were run, in the order of the search.
    pub(super) places: Vec<Place>,
    /// In the order in which they were made.
    pub(super) runs: Vec<Run>,
    pub(super) pairs: Vec<Pair>,
    pub(super) builds: u64,
    pub(super) failed_builds: Vec<FailedBuild>,
    /// The origin of the main repository.
    pub(super) remote: Option<String>,
    pub(super) sources: Vec<Source>,
    pub(super) sessions: Vec<Session>,
    pub(super) job_dir: PathBuf,
    /// Milliseconds since 1970.
    pub(super) made: i64,
}

/// A commit that was run.
pub(super) struct Place {
    pub(super) position: Position,
    pub(super) commit: CombinedCommit,
}

/// An execution of the benchmark.
pub(super) struct Run {
    /// Its number in the job; of a pair, with the side.
    pub(super) name: String,
    /// The commit, by its index in the report.
    pub(super) place: usize,
    pub(super) report: RunReport,
    /// The reason why it does not count; absent when it gave values.
    pub(super) failure: Option<String>,
    /// The tail of its output.
    pub(super) output: Option<String>,
}

/// A commit that does not build.
pub(super) struct FailedBuild {
    pub(super) commit: CombinedCommit,
    pub(super) reason: String,
    /// The end of its output.
    pub(super) output: Option<String>,
}

/// Two runs back to back, by their indices in the report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) base: usize,
    pub(super) experiment: usize,
    pub(super) base_first: bool,
}

/// The facts of a commit that is to blame.
pub(super) struct Source {
    pub(super) commit: Commit,
    pub(super) files: Option<Vec<FileChange>>,
    /// Its page on the web.
    pub(super) page: Option<String>,
}

impl Run {
    /// The value of a chart; of several, the median. None when the run failed.
    pub(super) fn value(&self, chart: &str) -> Option<f64> {
        if self.failure.is_some() {
            return None;
        }
        pinpoint_compare::median(&self.report.charts.get(chart)?.values)
    }
}

impl Report {
    /// The result of the search, of a job that searches.
    pub(super) fn search(&self) -> Option<&BisectionResult> {
        match self.result.as_ref()? {
            JobResult::Bisection(document) => Some(document),
            JobResult::CulpritFinder(document) => Some(&document.search),
            JobResult::Pairwise(_) => None,
        }
    }

    pub(super) fn source(&self, commit: &Commit) -> Option<&Source> {
        self.sources.iter().find(|source| source.commit == *commit)
    }

    pub(super) fn place_of(&self, position: Position) -> Option<usize> {
        (self.places.iter()).position(|place| place.position == position)
    }

    /// The units of all charts, as the runs give them.
    pub(super) fn units(&self) -> BTreeMap<&str, Option<&str>> {
        let charts = self.runs.iter().flat_map(|run| &run.report.charts);
        charts
            .map(|(chart, series)| (chart.as_str(), series.unit.as_deref()))
            .collect()
    }

    /// The chart that decides, in a job where one does.
    pub(super) fn chart(&self) -> Option<&str> {
        let of_search = self.search().and_then(|document| document.chart.as_deref());
        of_search.or_else(|| {
            let run = self.runs.iter().find(|run| run.report.chart.is_some())?;
            run.report.chart.as_deref()
        })
    }
}
