//! Whether Python's function works at the good end at all.
//!
//! A benchmark that fails there and at the bad end alike would be found
//! unchanged. As with commands, a good end that gives no value in its first
//! [`ATTEMPTS`] runs ends the job; one that gives a value may fail as it likes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use pinpoint_core::{CombinedCommit, RunReport};

use super::runs::Run;

const ATTEMPTS: u32 = 3;

pub(super) struct GoodEnd {
    commit: Option<CombinedCommit>,
    chart: Option<String>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    works: bool,
    /// Runs without a value, while there is none with one.
    failed: u32,
    reason: String,
    /// The charts that runs gave values for.
    charts: BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum GoodEndError {
    #[error(
        "the run gives no value at the good end {commit}, {failed} times of {failed}: {reason}; make it work there and resume the job, or choose another good commit"
    )]
    Fails {
        commit: String,
        failed: u32,
        reason: String,
    },
    #[error(
        "the run gives no chart `{chart}` at the good end {commit}, {failed} times of {failed}; it gives {existing}: name one of those with `chart`"
    )]
    NoChart {
        commit: String,
        failed: u32,
        chart: String,
        existing: String,
    },
}

impl GoodEnd {
    /// The good end, and the chart that is needed there, after these runs.
    pub(super) fn new(commit: Option<&CombinedCommit>, chart: Option<&str>, runs: &[Run]) -> Self {
        let good = Self {
            commit: commit.cloned(),
            chart: chart.map(str::to_owned),
            seen: Mutex::default(),
        };
        for run in runs {
            good.see(&run.commit, &run.report);
        }
        good
    }

    /// The same, with all its attempts: what failed may have been mended.
    pub(super) fn again(self) -> Self {
        let works = self.seen().works;
        let seen = Seen {
            works,
            ..Seen::default()
        };
        Self {
            seen: Mutex::new(seen),
            ..self
        }
    }

    pub(super) fn see(&self, commit: &CombinedCommit, report: &RunReport) {
        if self.commit.as_ref() != Some(commit) {
            return;
        }
        let mut seen = self.seen();
        let charts = (report.charts.iter())
            .filter(|(_, series)| !series.values.is_empty())
            .map(|(chart, _)| chart.clone());
        let charts: BTreeSet<String> = charts.collect();
        seen.works |= match &self.chart {
            Some(chart) => charts.contains(chart),
            None => !charts.is_empty(),
        };
        seen.failed = seen.failed.saturating_add(1);
        if let Some(reason) = &report.failure {
            seen.reason.clone_from(reason);
        }
        seen.charts.extend(charts);
    }

    /// Refuses a good end that has had its attempts.
    pub(super) fn check_attempts(&self) -> Result<(), GoodEndError> {
        self.check(ATTEMPTS)
    }

    /// Refuses a good end that was run, and gave nothing.
    pub(super) fn check_all(&self) -> Result<(), GoodEndError> {
        self.check(1)
    }

    fn check(&self, least: u32) -> Result<(), GoodEndError> {
        let seen = self.seen();
        if seen.works || seen.failed < least {
            return Ok(());
        }
        let commit = (self.commit.as_ref()).map_or_else(String::new, |it| it.main.git_hash.clone());
        let failed = seen.failed;
        Err(match &self.chart {
            Some(chart) if !seen.charts.is_empty() => {
                let existing: Vec<_> = seen.charts.iter().map(|it| format!("`{it}`")).collect();
                GoodEndError::NoChart {
                    commit,
                    failed,
                    chart: chart.clone(),
                    existing: existing.join(", "),
                }
            }
            _ => GoodEndError::Fails {
                commit,
                failed,
                reason: seen.reason.clone(),
            },
        })
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        // Nothing panics while it holds this lock.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
