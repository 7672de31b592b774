//! The configuration of local jobs: how commits are built and run, and where files are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pinpoint_core::results::Format;
use pinpoint_core::{Aggregate, CombinedCommit, Limits};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::LocalError;
use crate::git::repository_location::RepositoryLocation;
use crate::process::cpus::CpuList;
use crate::run::instructions::InstructionCounter;
use crate::run::measures::{MeasureChoice, RunMeasure};
use crate::run::profiler::Profiling;

/// The configuration by which a job builds and runs its commits. It is stored with the job, so that
/// resuming needs nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LocalConfig {
    /// The user's repository, or that of a bot.
    pub repository: RepositoryLocation,
    /// The states are builds made beforehand: directories, each of which takes its commit's place
    /// with an empty hash. Nothing is built, and no repository is needed;
    /// [`repository`](Self::repository) is ignored.
    #[serde(default)]
    pub made: bool,
    /// Local clones of other repositories, by their URLs: of dependencies.
    #[serde(default)]
    pub repositories: BTreeMap<String, PathBuf>,
    /// The URLs from which machines without these clones fetch the repositories, by their names in
    /// the job; that of the main one is the location above. Absent in jobs of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub urls: BTreeMap<String, String>,
    /// The good end, where the metric is found.
    pub good: CombinedCommit,
    /// Arguments of the benchmark at the good end, after those of the command.
    #[serde(default)]
    pub good_arguments: Vec<String>,
    /// Variables set for the benchmark at the good end, not for the build.
    #[serde(default)]
    pub good_env: BTreeMap<String, String>,
    /// Run by `sh -c` in the work tree of each commit, once.
    #[serde(default)]
    pub build: Option<String>,
    /// The benchmark and its arguments, run in the work tree. A program that is
    /// a relative path (`./bench`, `tools/bench`) is the one in the work tree.
    pub command: Vec<String>,
    /// Variables set for the build and the benchmark. They are part of what is
    /// built: other values, other builds.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The file of the patch that the commits name, kept for the job.
    #[serde(default)]
    pub patch: Option<PathBuf>,
    /// The format in which values are read.
    pub format: Format,
    /// The chart that decides; when absent, the only one there is.
    #[serde(default)]
    pub chart: Option<String>,
    /// True when no chart decides alone: every chart there is gets compared.
    #[serde(default)]
    pub every_chart: bool,
    /// The way to choose the measure that decides, if it is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure_choice: Option<MeasureChoice>,
    /// The counter of instructions, which are a chart of [`Format::Time`] then. Under callgrind
    /// they are the only chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<InstructionCounter>,
    /// Present in jobs of earlier versions, whose journals have one value for each chart of a run,
    /// aggregated in this way. Runs of later ones report all values.
    #[serde(
        default,
        rename = "aggregate",
        deserialize_with = "median_if_null",
        skip_serializing_if = "Option::is_none"
    )]
    pub run_aggregate: Option<Aggregate>,
    /// The file that the benchmark writes its values to, relative to the work
    /// tree; when absent, they are read from its standard output.
    #[serde(default)]
    pub results: Option<PathBuf>,
    /// Runs of each build that are not counted, before its first that is.
    #[serde(default = "one")]
    pub warmup: u32,
    /// The longest that one build or one run may take.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// The processors that runs are pinned to; builds may use all.
    #[serde(default)]
    pub cpus: Option<CpuList>,
    /// Before each run that counts, and each pair, wait until the machine is quiet, but
    /// not longer than this.
    #[serde(default)]
    pub settle: Option<Duration>,
    /// Builds at one time; 0 counts as 1.
    #[serde(default = "one")]
    pub build_jobs: u32,
    /// Bytes that finished builds may occupy while they are not in use.
    pub cache_size: u64,
    /// Full hashes of commits that count as not building, as do states made
    /// of them: with dependencies held elsewhere, or merged into another.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Builds and the benchmark's first run in each are traced, to know which builds are
    /// the same, and which commits need not be built.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// Runs may read tracked files of the user's checkout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_outside_reads: bool,
    /// Runs that count are made under a profiler, and their profiles are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiling: Option<Profiling>,
    /// Only commits that touch one of these paths are in a range; all commits
    /// when empty.
    #[serde(default)]
    pub paths: Vec<String>,
}

impl LocalConfig {
    /// The configuration of a command that runs in the work tree of each commit of a repository,
    /// with defaults for the rest: nothing is built, the format is recognized, one warmup run, one
    /// build at a time, and no limit on the size of finished builds.
    pub fn new(
        repository: impl Into<RepositoryLocation>,
        good: CombinedCommit,
        command: Vec<String>,
    ) -> Self {
        Self {
            repository: repository.into(),
            made: false,
            repositories: BTreeMap::new(),
            urls: BTreeMap::new(),
            good,
            good_arguments: Vec::new(),
            good_env: BTreeMap::new(),
            build: None,
            command,
            env: BTreeMap::new(),
            patch: None,
            format: Format::Auto,
            chart: None,
            every_chart: false,
            measure_choice: None,
            instructions: None,
            run_aggregate: None,
            results: None,
            warmup: 1,
            timeout: None,
            cpus: None,
            settle: None,
            build_jobs: 1,
            cache_size: u64::MAX,
            skip: Vec::new(),
            trace: false,
            allow_outside_reads: false,
            profiling: None,
            paths: Vec::new(),
        }
    }

    /// The benchmark's program in a work tree.
    pub(crate) fn program(&self, tree: &Path) -> PathBuf {
        let program = Path::new(&self.command[0]);
        if self.command[0].contains('/') {
            // An absolute path replaces the tree.
            tree.join(program)
        } else {
            program.into()
        }
    }

    /// Measures runs by the operating system, and not by their output.
    ///
    /// # Errors
    ///
    /// When a format for the output is set, or instructions can't be counted here.
    pub fn measure_by(&mut self, measure: RunMeasure) -> Result<(), LocalError> {
        self.ignore_output()?;
        self.chart = Some(measure.chart().into());
        if measure == RunMeasure::Instructions {
            self.instructions = Some(InstructionCounter::available()?);
        }
        Ok(())
    }

    /// Like [`measure_by`](Self::measure_by), with the measure that separates the other state from
    /// the good end most clearly, in a few runs of both before the search.
    ///
    /// # Errors
    ///
    /// When a format for the output is set.
    pub fn choose_measure(&mut self, choice: MeasureChoice) -> Result<(), LocalError> {
        self.ignore_output()?;
        self.count_instructions_at_no_cost();
        self.measure_choice = Some(choice);
        self.every_chart = false;
        Ok(())
    }

    fn ignore_output(&mut self) -> Result<(), LocalError> {
        if !matches!(self.format, Format::Auto | Format::Time) || self.results.is_some() {
            return Err(LocalError::MeasureOfOutput);
        }
        self.format = Format::Time;
        Ok(())
    }

    /// Counts instructions along with the other measures, where the processor can.
    pub fn count_instructions_at_no_cost(&mut self) {
        if self.instructions.is_none() {
            let counter = InstructionCounter::available().ok();
            self.instructions = counter.filter(|it| *it == InstructionCounter::Processor);
        }
    }
}

/// Earlier versions always wrote the field, and null for the median.
fn median_if_null<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Aggregate>, D::Error> {
    Ok(Some(Option::deserialize(field)?.unwrap_or_default()))
}

fn one() -> u32 {
    1
}

/// The directories in which an executor keeps its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Shared by jobs: builds and repositories.
    pub state_dir: PathBuf,
    /// The job's own directory: outputs and reports.
    pub job_dir: PathBuf,
    /// Shared by all jobs of this user on this machine: the directory of the locks.
    /// Almost always [`default_machine_dir`](super::default_machine_dir); two jobs with
    /// different ones disturb each other's measurements.
    pub machine_dir: PathBuf,
}

/// The most requests that a [`LocalExecutor`](super::LocalExecutor) should get at once. It runs one
/// benchmark at a time: a second one is enough to follow without a pause, and waiting work is not
/// started after a request that can't be carried out.
pub fn limits(build_jobs: u32) -> Limits {
    Limits {
        builds: build_jobs.max(1),
        runs: 2,
        ..Limits::default()
    }
}
