//! What is measured, and where the services are.

use std::ops::RangeInclusive;
use std::time::Duration;

use pinpoint_core::bots::Swarming as Machines;
use serde::{Deserialize, Serialize};

use super::error::LuciError;
use super::profiles::LuciProfiling;
use super::reports::ReportSettings;
use super::services::Addresses;
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

/// All that a job says. It is stored with the job, so that another process can resume it; tokens
/// are no part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LuciConfig {
    /// Who builds and who runs.
    pub machines: Machines,
    /// What is run.
    pub benchmark: Benchmark,
    /// The charts that a job looks for which finds its metric by a run.
    #[serde(default)]
    pub charts: WantedCharts,
    /// Where the services are, and what is the same for all jobs there.
    #[serde(default)]
    pub settings: LuciSettings,
    /// The issue that hears of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u64>,
    /// How the runs are profiled, of a job that compares their profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiling: Option<LuciProfiling>,
    /// Decides the order of the bots.
    pub seed: u64,
}

/// The charts that a job looks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WantedCharts {
    /// The only one that there is.
    #[default]
    Only,
    /// The one of this name.
    Named(String),
    /// All of them; none decides.
    Every,
}

/// What is the same for all jobs of an installation. By default that of Chromium's Pinpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LuciSettings {
    /// Where the services are.
    pub addresses: Addresses,
    /// What all tasks have in common.
    pub tasks: TaskSettings,
    /// The instance of CAS that has the builds.
    pub cas_instance: String,
    /// How often the services are asked.
    pub intervals: Intervals,
    /// Where results are reported.
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
            charts: WantedCharts::default(),
            settings: LuciSettings::default(),
            issue: None,
            profiling: None,
            seed,
        }
    }

    /// The builder.
    ///
    /// # Errors
    ///
    /// When the bucket has no name of the usual form.
    pub(super) fn builder(&self) -> Result<BuilderId, PlanError> {
        let Machines {
            bucket, builder, ..
        } = &self.machines;
        BuilderId::new(bucket, builder).ok_or_else(|| PlanError::Bucket(bucket.clone()))
    }

    /// The command of a run of this commit, with these arguments beyond those of the job.
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
            arguments: &[arguments, more].concat(),
            revision,
        };
        Ok(run.command()?)
    }
}

/// How often the services are asked: from 1 ms to 10 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Intervals {
    /// Between two questions about all tasks, in milliseconds. By default 15,000.
    pub tasks: u64,
    /// Between two questions about a build, in milliseconds. By default 5,000.
    pub builds: u64,
    /// Between two looks at the first task of a pair, in milliseconds. By default 3,000.
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
    /// Are these intervals of use?
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
