//! The profiles of runs: files that the benchmark writes to the directory of its task's outputs.
//!
//! Nothing is run around a task. Either the runner of the benchmark is asked for Chrome's traces,
//! as [`Tracing`] says, or the job's own arguments have it write profiles somewhere, which a
//! pattern names. They are fetched from the store when the task has ended and kept with the job,
//! like those of runs on this machine, before the run counts.
//!
//! The value of such a run is the time that its task took, which decides nothing. So the charts
//! of the benchmark may be missing, as some are while it is traced.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinpoint_core::{Direction, RunReport, RunRequest, Series};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::error::LuciError;
use super::executor::LuciExecutor;
use super::outputs::OutputError;
use crate::google::unix_milliseconds;
use crate::swarming::{TaskResult, Tracing};
use pinpoint_local::{LocalError, NOT_KEPT, ProfileStore, Profiler, Profiling};

/// The subdirectory of a job for profiles that are being fetched.
const DOWNLOADS: &str = "downloads";

/// The chart of a run that is profiled.
const CHART: &str = "wall";

/// The most bytes of profiles that a run may leave. No reader here takes a larger file.
const MOST_BYTES: u64 = 4 << 30;

/// The profiling of a job's runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LuciProfiling {
    /// [`Profiler::Chrome`] or [`Profiler::Files`], and the amount that is kept.
    #[serde(flatten)]
    pub profiling: Profiling,
    /// Further arguments of the benchmark's runner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

impl LuciProfiling {
    /// The arguments that make a benchmark write profiles, and the files with them.
    ///
    /// # Errors
    ///
    /// When the profiler does not support it.
    pub(super) fn tracing(&self, benchmark: &str) -> Result<Tracing, LuciError> {
        let mut tracing = match &self.profiling.profiler {
            Profiler::Chrome => Tracing::of(benchmark)?,
            Profiler::Files(pattern) => Tracing {
                arguments: Vec::new(),
                files: pattern.clone(),
            },
            other => return Err(LuciError::Profiler(other.clone())),
        };
        tracing.arguments.extend_from_slice(&self.arguments);
        Ok(tracing)
    }
}

/// The directory of a job's profiles on this machine.
pub(super) struct Profiles {
    kept: Arc<ProfileStore>,
    downloads: PathBuf,
}

impl Profiles {
    /// Opens it, and removes unfinished downloads of an earlier process.
    fn open(job_dir: &Path, keep: u64) -> Result<Self, LocalError> {
        let kept = Arc::new(ProfileStore::open(job_dir, keep)?);
        let downloads = job_dir.join(DOWNLOADS);
        let write = |error| LocalError::io("write", &downloads)(error);
        match fs::remove_dir_all(&downloads) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(write(error));
            }
            _ => fs::create_dir(&downloads).map_err(write)?,
        }
        Ok(Self { kept, downloads })
    }

    /// A directory for the profiles of a run.
    fn download(&self) -> Result<TempDir, LocalError> {
        TempDir::new_in(&self.downloads).map_err(LocalError::io("write", &self.downloads))
    }
}

impl LuciExecutor {
    /// Keeps the profiles of runs in the existing directory of their job. Without it, a job whose
    /// runs are profiled can only be canceled.
    ///
    /// # Errors
    ///
    /// When the directory cannot be written.
    pub fn keeping_profiles(mut self, job_dir: &Path) -> Result<Self, LuciError> {
        if let Some(LuciProfiling { profiling, .. }) = &self.config.profiling {
            self.profiles = Some(Profiles::open(job_dir, profiling.keep)?);
        }
        Ok(self)
    }

    /// Keeps the profiles of a run, if its job wants them. A run without any counts, with a remark.
    pub(super) async fn keep_profiles(
        &self,
        task: &TaskResult,
        run: String,
        report: &mut RunReport,
    ) -> Result<(), LuciError> {
        let Some(tracing) = self.config.tracing()?.filter(|_| report.failure.is_none()) else {
            return Ok(());
        };
        let Some(profiles) = &self.profiles else {
            return Err(LuciError::Unsupported(
                "profiles of runs need a directory in which they are kept",
            ));
        };
        let directory = profiles.download()?;
        let fetched = self.fetch(task, &tracing.files, Some(directory.path()));
        let files = match fetched.await? {
            Ok(files) => files,
            Err(reason) => {
                report.warnings.push(reason);
                return Ok(());
            }
        };
        let kept = Arc::clone(&profiles.kept);
        let add = move || {
            let added = kept.add(&run, &files);
            // Only after they are kept.
            drop(directory);
            added
        };
        let added = match tokio::task::spawn_blocking(add).await {
            Ok(added) => added?,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        };
        if !added {
            report.warnings.push(NOT_KEPT.into());
        }
        Ok(())
    }

    /// Checks by a run that there are profiles, before all others are requested.
    pub(super) async fn check_profiles(
        &self,
        request: &RunRequest,
        task: &TaskResult,
    ) -> Result<(), LuciError> {
        let Some(tracing) = self.config.tracing()? else {
            return Ok(());
        };
        match self.fetch(task, &tracing.files, None).await? {
            Ok(_) => Ok(()),
            Err(reason) => Err(LuciError::NoProfiles {
                commit: request.variant.commit.main.git_hash.clone(),
                reason,
            }),
        }
    }

    /// The profiles of a task, in a folder if one is given; or the reason why it has no profiles.
    async fn fetch(
        &self,
        task: &TaskResult,
        pattern: &str,
        folder: Option<&Path>,
    ) -> Result<Result<Vec<PathBuf>, String>, LuciError> {
        let id = &task.task_id;
        let Some(root) = &task.cas_output_root else {
            return Ok(Err(format!("task {id} left no files")));
        };
        let outputs = &self.services.outputs;
        let fetched = outputs.profiles(root, pattern, MOST_BYTES, folder).await;
        match fetched {
            Ok(files) => Ok(Ok(files)),
            Err(OutputError::None(reason)) => Ok(Err(format!("task {id}: {reason}"))),
            Err(OutputError::Trouble(source)) => Err(LuciError::Output {
                id: id.clone(),
                source,
            }),
        }
    }
}

/// The chart of a run that is profiled: the seconds that its task took.
pub(super) fn wall(task: &TaskResult) -> BTreeMap<String, Series> {
    let time = |time: &Option<String>| time.as_deref().and_then(unix_milliseconds);
    let (started, ended) = (time(&task.started_ts), time(&task.completed_ts));
    let seconds = |(from, to): (u64, u64)| to.saturating_sub(from) as f64 / 1000.0;
    let series = Series {
        values: started.zip(ended).map(seconds).into_iter().collect(),
        unit: Some("s".into()),
        direction: Direction::Down,
    };
    [(CHART.to_owned(), series)].into()
}

impl super::LuciConfig {
    /// The same benchmark on the same machines, with its runs profiled. The result is not reported.
    ///
    /// # Errors
    ///
    /// When the profiler does not support this benchmark in LUCI.
    pub fn profiled(mut self, profiling: LuciProfiling) -> Result<Self, LuciError> {
        profiling.tracing(&self.benchmark.name)?;
        self.profiling = Some(profiling);
        self.charts = super::RequestedCharts::Named(CHART.into());
        self.issue = None;
        self.settings.reports.culprits = None;
        Ok(self)
    }

    /// The profiling of the runs, if any.
    pub(super) fn tracing(&self) -> Result<Option<Tracing>, LuciError> {
        let profiling = self.profiling.as_ref();
        let of = |profiling: &LuciProfiling| profiling.tracing(&self.benchmark.name);
        profiling.map(of).transpose()
    }
}

impl From<LocalError> for LuciError {
    fn from(error: LocalError) -> Self {
        Self::Kept(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profiling(profiler: &str) -> LuciProfiling {
        LuciProfiling {
            profiling: Profiling {
                profiler: profiler.parse().unwrap(),
                keep: 1,
                dwarf_if_needed: false,
            },
            arguments: vec!["--more".into()],
        }
    }

    #[test]
    fn what_a_benchmark_writes_is_a_profile_and_nothing_else() {
        let files = profiling("files:x/*.json")
            .tracing("base_perftests")
            .unwrap();
        assert_eq!((&*files.files, files.arguments.len()), ("x/*.json", 1));
        let chrome = profiling("chrome")
            .tracing("jetstream2.crossbench")
            .unwrap();
        assert_eq!(chrome.arguments[1], "--more");
        let perf = profiling("perf").tracing("jetstream2.crossbench");
        assert!(
            perf.unwrap_err()
                .to_string()
                .contains("chrome or files:GLOB")
        );
        assert!(profiling("chrome").tracing("base_perftests").is_err());
    }

    #[test]
    fn how_runs_are_profiled_is_read_as_it_is_written() {
        let json = serde_json::to_value(profiling("chrome")).unwrap();
        assert_eq!(json["profiler"], "chrome");
        let read: LuciProfiling = serde_json::from_value(json).unwrap();
        assert_eq!(read, profiling("chrome"));
    }

    #[test]
    fn a_run_took_as_long_as_its_task() {
        let task = TaskResult {
            started_ts: Some("2026-01-01T00:00:00Z".into()),
            completed_ts: Some("2026-01-01T00:01:30.5Z".into()),
            ..TaskResult::default()
        };
        assert_eq!(wall(&task)[CHART].values, [90.5]);
        assert!(wall(&TaskResult::default())[CHART].values.is_empty());
    }
}
