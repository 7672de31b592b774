//! Options of a job of any kind.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use pinpoint_core::Direction;

use super::{Assignment, BUDGET, DirectionArgument, OUTPUT, QUESTION, STORAGE, STRATEGY};

// Options of a job of any kind.
#[derive(Debug, Args)]
pub(crate) struct JobOptions {
    /// Where better lies [default: as the format says; else down for times and memory, else unknown].
    #[arg(long, value_enum, help_heading = QUESTION)]
    pub(crate) direction: Option<DirectionArgument>,
    /// The time limit of the job, as in 90s, 20m or `1h 30m`.
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration, help_heading = BUDGET)]
    pub(crate) max_time: Option<Duration>,
    /// The seed of the order of runs.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = STRATEGY)]
    pub(crate) seed: u64,
    /// The number of parallel builds. Nothing is measured during a build.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = STRATEGY)]
    pub(crate) build_jobs: u32,
    #[command(flatten)]
    pub(crate) assignment: Assignment,
    /// The name of the benchmark in lists of jobs [default: the program that is run]. With
    /// --executor, the benchmark that is run.
    #[arg(long = "benchmark", value_name = "NAME", help_heading = STORAGE)]
    pub(crate) benchmark_name: Option<String>,
    /// The name of this job in lists of jobs, next to its id.
    #[arg(long = "name", value_name = "NAME", help_heading = STORAGE)]
    pub(crate) job_name: Option<String>,
    /// Write a report when the job ends, even if it fails: one HTML file with the
    /// answer, charts, every run and its log. `pinpoint jobs report` writes one at any
    /// time.
    #[arg(long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) report: Option<PathBuf>,
}

impl JobOptions {
    /// The time limit in milliseconds.
    pub(super) fn max_milliseconds(&self) -> Option<u64> {
        let limit = self.max_time?.as_millis();
        Some(u64::try_from(limit).unwrap_or(u64::MAX))
    }

    /// The better direction, where it is given.
    pub(crate) fn direction(&self) -> Option<Direction> {
        self.direction.map(Into::into)
    }
}
