//! The configuration of jobs, and of the services.

use std::ops::RangeInclusive;
use std::time::Duration;

use pinpoint_core::bots::Swarming as Machines;
use serde::{Deserialize, Serialize};

use super::culprit_callback::CulpritCallback;
use super::error::LuciError;
use super::profiles::LuciProfiling;
use super::reports::ReportSettings;
use super::services::Addresses;
use super::write_back::WriteBack;
use crate::buildbucket::{BuilderId, PlanError};
use crate::swarming::{BenchmarkRun, TaskSettings};

/// The benchmark of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Its name, such as `speedometer3.crossbench`.
    pub name: String,
    /// The build target that holds it.
    pub target: String,
    /// The story; all of them when absent.
    #[serde(default)]
    pub story: Option<String>,
    /// The tags of the stories to run, separated by commas.
    #[serde(default)]
    pub story_tags: Option<String>,
    /// Arguments of the benchmark or of the browser.
    #[serde(default)]
    pub arguments: Vec<String>,
}

/// The configuration of a job. It is stored with the job, so that another process can resume it;
/// tokens are not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LuciConfig {
    /// The machines that build and run.
    pub machines: Machines,
    /// The benchmark.
    pub benchmark: Benchmark,
    /// The charts that a job looks for when it finds its metric by a run.
    #[serde(default)]
    pub charts: RequestedCharts,
    /// The services, and the settings shared by all jobs there.
    #[serde(default)]
    pub settings: LuciSettings,
    /// The issue that gets a comment on the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
    /// The culprit service that hears of verified culprits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit_callback: Option<CulpritCallback>,
    /// The database that the result of a search is written back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_back: Option<WriteBack>,
    /// The profiling of runs, for a job that compares their profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiling: Option<LuciProfiling>,
    /// The seed of the order of the bots.
    pub seed: u64,
}

/// The charts that a job looks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestedCharts {
    /// The only one.
    #[default]
    Only,
    /// The one of this name.
    Named(String),
    /// All of them; none decides.
    Every,
}

/// The settings shared by all jobs of an installation. By default those of Chromium's Pinpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LuciSettings {
    /// The addresses of the services.
    pub addresses: Addresses,
    /// The settings shared by all tasks.
    pub tasks: TaskSettings,
    /// The instance of CAS that has the builds.
    pub cas_instance: String,
    /// The polling intervals of the services.
    pub intervals: Intervals,
    /// The destinations of reports.
    pub reports: ReportSettings,
}

/// The instance of CAS that Chrome's builders use.
const CAS_INSTANCE: &str = "projects/chrome-swarming/instances/default_instance";

impl Default for LuciSettings {
    fn default() -> Self {
        Self {
            addresses: Addresses::default(),
            tasks: TaskSettings::default(),
            cas_instance: CAS_INSTANCE.into(),
            intervals: Intervals::default(),
            reports: ReportSettings::default(),
        }
    }
}

impl LuciConfig {
    /// The usual settings.
    pub fn new(machines: Machines, benchmark: Benchmark, seed: u64) -> Self {
        Self {
            machines,
            benchmark,
            charts: RequestedCharts::default(),
            settings: LuciSettings::default(),
            issue: None,
            culprit_callback: None,
            write_back: None,
            profiling: None,
            seed,
        }
    }

    /// The builder of the machines.
    ///
    /// # Errors
    ///
    /// When the bucket's name has an unknown form.
    pub(super) fn builder(&self) -> Result<BuilderId, PlanError> {
        let Machines {
            bucket, builder, ..
        } = &self.machines;
        BuilderId::new(bucket, builder).ok_or_else(|| PlanError::Bucket(bucket.clone()))
    }

    /// The command of a run of this commit, with these arguments in addition to those of the job.
    pub(super) fn command(
        &self,
        revision: &str,
        more: &[String],
    ) -> Result<Vec<String>, LuciError> {
        let tracing = self.tracing()?;
        let Benchmark {
            name,
            target,
            story,
            story_tags,
            arguments,
        } = &self.benchmark;
        let run = BenchmarkRun {
            target,
            benchmark: name,
            browser: &self.machines.browser,
            story: story.as_deref(),
            story_tags: story_tags.as_deref(),
            profiling: tracing.as_ref().map_or(&[], |tracing| &tracing.arguments),
            arguments: &[&self.machines.extra_test_args, arguments, more].concat(),
            revision,
        };
        Ok(run.command()?)
    }
}

/// The polling intervals of the services: from 1 ms to 10 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Intervals {
    /// Between two queries of all tasks, in milliseconds. By default 15,000.
    pub tasks: u64,
    /// Between two queries of a build, in milliseconds. By default 5,000.
    pub builds: u64,
    /// Between two polls of the first task of a pair, in milliseconds. By default 3,000.
    pub first_of_pair: u64,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            tasks: 15_000,
            builds: 5_000,
            first_of_pair: 3_000,
        }
    }
}

/// The bounds of an interval, in milliseconds. A longer one would pass for the silence of
/// the services.
const BOUNDS: RangeInclusive<u64> = 1..=600_000;

impl Intervals {
    /// Checks the intervals against their bounds.
    pub(super) fn check(self) -> Result<(), LuciError> {
        let named = [
            ("tasks", self.tasks),
            ("builds", self.builds),
            ("first_of_pair", self.first_of_pair),
        ];
        match named.into_iter().find(|(_, it)| !BOUNDS.contains(it)) {
            None => Ok(()),
            Some((name, milliseconds)) => Err(LuciError::Interval {
                name,
                milliseconds,
                bounds: BOUNDS,
            }),
        }
    }

    pub(super) fn tasks(self) -> Duration {
        Duration::from_millis(self.tasks)
    }

    pub(super) fn builds(self) -> Duration {
        Duration::from_millis(self.builds)
    }

    pub(super) fn first_of_pair(self) -> Duration {
        Duration::from_millis(self.first_of_pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_neither_nothing_nor_endless() {
        assert!(Intervals::default().check().is_ok());
        let usual = Intervals::default();
        for (wrong, name) in [
            (Intervals { tasks: 0, ..usual }, "intervals.tasks"),
            (Intervals { builds: 0, ..usual }, "intervals.builds"),
            (
                Intervals {
                    first_of_pair: u64::MAX,
                    ..usual
                },
                "intervals.first_of_pair",
            ),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
