//! Running the benchmark.

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pinpoint_core::{Metric, PairReport, RunPairRequest, RunReport, RunRequest, Variant};
use tokio::sync::watch;

use crate::blocking::blocking;
use crate::build::builds::Builds;
use crate::build::finished_build::{Build, BuildOutcome};
use crate::config::LocalConfig;
use crate::error::LocalError;
use crate::process::child::Processes;
use crate::process::environment::Environment;
use crate::process::files;
use crate::process::machine_lock::{MachineLock, RunHold};
use crate::process::sync::locked;
use crate::run::benchmark::{Benchmark, Execution, Holds, Purpose};
use crate::run::instructions;
use crate::run::last_run::{LastRun, Ran};
use crate::run::measures;
use crate::run::memory_floor;
use crate::run::metric::{MetricReader, Outputs};
use crate::run::profiler::{self, ProfileStore, Profiling};
use crate::run::settle::{SettleWait, Settling};
use crate::run::tails::{OutputTail, Tails, run_warnings};

/// Bytes kept of the beginning of an output of a run that failed, and of its end.
const KEPT: u64 = 64 << 10;

/// The exit code by which a benchmark says that its commit can't be tested, as in `git bisect run`.
const UNTESTABLE: i32 = 125;

/// The remark on a run whose profile does not fit.
#[doc(hidden)]
pub const NOT_KEPT: &str = "its profile was not kept: the job's profiles have no more room";

/// One execution that counts, about to be made.
struct PlannedExecution<'a> {
    variant: &'a Variant,
    index: u32,
    bot: Option<&'a String>,
    /// The name of its output, if that is kept.
    name: String,
    ready: Result<Holds, String>,
}

/// The number of times that each build was warmed up.
pub(crate) type WarmedUp = HashMap<String, u32>;

/// Runs the benchmark of a job, one at a time.
pub(crate) struct Runner {
    pub(super) config: Arc<LocalConfig>,
    pub(super) job_dir: PathBuf,
    pub(super) builds: Arc<Builds>,
    pub(super) benchmark: Benchmark,
    pub(crate) machine: Arc<MachineLock>,
    /// The queue of runs.
    pub(crate) turn: tokio::sync::Mutex<WarmedUp>,
    last_run: Mutex<LastRun>,
    tails: Mutex<Tails>,
    settling: Option<Settling>,
    /// Present in a job whose runs are profiled.
    profiles: Option<Arc<ProfileStore>>,
    /// The current wait for a quiet machine.
    pub(crate) waiting: watch::Sender<Option<SettleWait>>,
    /// Present in a job that found it before metrics were journaled.
    pub(crate) old_metric: Option<Metric>,
    /// The name of this machine, reported with runs where no bot was requested.
    pub(crate) machine_name: Option<String>,
    /// The same instant on both clocks.
    opened: (Duration, Instant),
}

impl Runner {
    pub(crate) fn open(
        config: Arc<LocalConfig>,
        environment: Arc<Environment>,
        job_dir: PathBuf,
        builds: Arc<Builds>,
        machine: Arc<MachineLock>,
        user_trees: Vec<PathBuf>,
    ) -> Result<Self, LocalError> {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let runs = job_dir.join("runs");
        instructions::remove_left(&runs)?;
        profiler::remove_left(&runs)?;
        let kept =
            |profiling: &Profiling| ProfileStore::open(&job_dir, profiling.keep).map(Arc::new);
        Ok(Self {
            turn: tokio::sync::Mutex::default(),
            last_run: Mutex::new(LastRun::open(&job_dir.join("last_run.json"))?),
            tails: Mutex::new(Tails::open(&job_dir)?),
            settling: Settling::open(&config, &job_dir)?,
            profiles: config.profiling.as_ref().map(kept).transpose()?,
            waiting: watch::Sender::default(),
            old_metric: files::read_json(&job_dir.join("metric.json"))?,
            machine_name: None,
            opened: (unix.unwrap_or_default(), Instant::now()),
            benchmark: Benchmark {
                config: Arc::clone(&config),
                environment,
                builds: Arc::clone(&builds),
                user_trees,
                runs,
            },
            config,
            job_dir,
            builds,
            machine,
        })
    }

    /// Remarks on the runs for the job's user.
    pub(crate) fn warnings(&self) -> Result<Vec<String>, LocalError> {
        run_warnings(&self.job_dir)
    }

    /// Milliseconds since 1970, on a clock that is never set back while a job runs.
    fn unix_time(&self, moment: Instant) -> u64 {
        let (unix, opened) = self.opened;
        let since = unix + moment.saturating_duration_since(opened);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) async fn run(
        &self,
        request: &RunRequest,
        processes: &Arc<Processes>,
    ) -> Result<RunReport, LocalError> {
        let action = request.key.action;
        // Fair: turns come in the order of the first polls.
        let mut warmed = self.turn.lock().await;
        let commit = &request.variant.commit;
        if let Some([report]) = locked(&self.last_run).get(action, &[commit], request.index) {
            return Ok(report.clone());
        }
        let metric = request.metric.as_ref().or(self.old_metric.as_ref());
        let reader = MetricReader::new(&self.config, metric, &request.charts)?;
        let made = self.builds.get(commit, processes).await?;
        let machine = Arc::new(self.machine.for_run().await?);
        let one = PlannedExecution {
            variant: &request.variant,
            index: request.index,
            bot: request.bot.as_ref(),
            name: action.to_string(),
            ready: ready(made, &machine),
        };
        self.warm_up(&one, &mut warmed, processes).await?;
        if one.ready.is_ok() {
            self.settle().await?;
        }
        let report = self.count(&one, &reader, processes).await?;
        let ran = Ran {
            action,
            commits: vec![commit.clone()],
            index: request.index,
            reports: vec![report.clone()],
        };
        locked(&self.last_run).set(ran)?;
        Ok(report)
    }

    pub(crate) async fn run_pair(
        &self,
        request: &RunPairRequest,
        processes: &Arc<Processes>,
    ) -> Result<PairReport, LocalError> {
        let RunPairRequest { first, second, .. } = request;
        let action = request.key.action;
        let mut warmed = self.turn.lock().await;
        let commits = [&first.commit, &second.commit];
        if let Some([first, second]) = locked(&self.last_run).get(action, &commits, request.index) {
            return Ok(PairReport {
                first: first.clone(),
                second: second.clone(),
            });
        }
        let metric = request.metric.as_ref().or(self.old_metric.as_ref());
        let reader = MetricReader::new(&self.config, metric, &request.charts)?;
        // Both before the machine is taken: a build needs it, too.
        let made = [
            self.builds.get(&first.commit, processes).await?,
            self.builds.get(&second.commit, processes).await?,
        ];
        let machine = Arc::new(self.machine.for_run().await?);
        let [first_made, second_made] = made.map(|made| ready(made, &machine));
        let one = |variant, name, ready| PlannedExecution {
            variant,
            index: request.index,
            bot: request.bot.as_ref(),
            name: format!("{action}-{name}"),
            ready,
        };
        let first = one(first, "first", first_made);
        let second = one(second, "second", second_made);
        // Nothing comes between the two that count.
        self.warm_up(&first, &mut warmed, processes).await?;
        self.warm_up(&second, &mut warmed, processes).await?;
        if first.ready.is_ok() || second.ready.is_ok() {
            self.settle().await?;
        }
        let pair = PairReport {
            first: self.count(&first, &reader, processes).await?,
            second: self.count(&second, &reader, processes).await?,
        };
        let ran = Ran {
            action,
            commits: commits.map(Clone::clone).to_vec(),
            index: request.index,
            reports: vec![pair.first.clone(), pair.second.clone()],
        };
        locked(&self.last_run).set(ran)?;
        Ok(pair)
    }

    /// Waits for a quiet machine, if requested.
    pub(crate) async fn settle(&self) -> Result<(), LocalError> {
        match &self.settling {
            Some(settling) => settling.settle(&self.waiting).await,
            None => Ok(()),
        }
    }

    /// One execution that counts.
    async fn count(
        &self,
        one: &PlannedExecution<'_>,
        reader: &MetricReader<'_>,
        processes: &Arc<Processes>,
    ) -> Result<RunReport, LocalError> {
        let began = Instant::now();
        let mut report = RunReport::new(self.unix_time(began));
        report.bot = one.bot.or(self.machine_name.as_ref()).cloned();
        report.chart = reader.chart();
        let holds = match &one.ready {
            Ok(holds) => holds,
            Err(failure) => {
                report.failure = Some(failure.clone());
                return Ok(report);
            }
        };
        let execute = || {
            let purpose = Purpose::Count(one.index);
            let outputs = reader.outputs();
            (self.benchmark).execute(one.variant, purpose, outputs, holds, processes)
        };
        let mut began = execute().await?;
        if let Ok(execution) = &began
            && self.is_to_be_repeated(execution, holds).await?
        {
            began = execute().await?;
        }
        let mut execution = match began {
            Ok(execution) => execution,
            Err(not_begun) => {
                report.failure = Some(self.benchmark.cannot_begin(
                    not_begun,
                    one.variant,
                    &holds.0,
                ));
                self.benchmark.check_room(&holds.0)?;
                return Ok(report);
            }
        };
        execution.check_count(reader.is_decided_by(measures::INSTRUCTIONS))?;
        let ended = &execution.ended;
        report.started = self.unix_time(ended.started);
        report.usage = Some(ended.usage);
        report.exit_code = ended.status.code();
        report.untestable = report.exit_code == Some(UNTESTABLE);
        match execution.values(reader) {
            Ok(read) => {
                (report.chart, report.charts) = read;
                if reader.is_decided_by(measures::PEAK_MEMORY) {
                    let peak = ended.usage.peak_memory;
                    memory_floor::note(&self.job_dir, peak, ended.supervisor_memory)?;
                }
            }
            Err(failure) => {
                report.failure = Some(failure);
                self.benchmark.check_room(&holds.0)?;
            }
        }
        if let (Some(kept), Some(profile)) = (&self.profiles, execution.profile) {
            let (kept, name) = (Arc::clone(kept), one.name.clone());
            let added = move || kept.add(&name, &profile.files);
            if !blocking(Arc::clone(holds), added).await? {
                report.warnings.push(NOT_KEPT.into());
            }
        }
        let mut tail = execution.tail;
        if report.failure.is_some() {
            self.builds.check(&holds.0, Some(&one.name))?;
            report.log = self
                .keep(execution.stdout, execution.stderr, &one.name)
                .await?;
            tail.not_kept = report.log.is_none();
        }
        locked(&self.tails).add(&one.name, &tail)?;
        Ok(report)
    }

    /// Checks whether the profile of a run is of no use, and the profiler has another way.
    async fn is_to_be_repeated(
        &self,
        execution: &Execution,
        holds: &Holds,
    ) -> Result<bool, LocalError> {
        let (Some(profiling), Some(profile)) = (&self.config.profiling, &execution.profile) else {
            return Ok(false);
        };
        let (profiling, job_dir) = (profiling.clone(), self.job_dir.clone());
        let files = profile.files.clone();
        let look = move || profiling.is_to_be_repeated(&job_dir, &files);
        blocking(Arc::clone(holds), look).await
    }

    /// Warms up a build that has not been run lately, as often as requested, before its first run
    /// that counts. The results are ignored.
    async fn warm_up(
        &self,
        one: &PlannedExecution<'_>,
        warmed: &mut WarmedUp,
        processes: &Arc<Processes>,
    ) -> Result<(), LocalError> {
        let Ok(holds) = &one.ready else {
            return Ok(());
        };
        let done = warmed
            .entry(warm_up_key(&holds.0, one.variant))
            .or_default();
        while *done < self.config.warmup {
            // Nothing is read: the results are ignored.
            let (purpose, outputs) = (Purpose::WarmUp, Outputs::None);
            match (self.benchmark)
                .execute(one.variant, purpose, outputs, holds, processes)
                .await?
            {
                Ok(execution) => {
                    self.note_left("warm-up", &execution)?;
                    if execution.ended.status.success() {
                        *done += 1;
                    } else {
                        // The run that counts will report the failure; no more warm-up runs.
                        *done = self.config.warmup;
                    }
                }
                Err(_) => *done = self.config.warmup,
            }
        }
        Ok(())
    }

    /// Records the processes that an uncounted run left.
    pub(super) fn note_left(&self, name: &str, execution: &Execution) -> Result<(), LocalError> {
        let left = execution.tail.left.clone();
        let tail = OutputTail {
            left,
            ..OutputTail::default()
        };
        locked(&self.tails).add(name, &tail)
    }

    /// Keeps the output of a failed run, and returns its path; absent when the job keeps enough
    /// already. For a successful run its report and the end of its output are enough.
    async fn keep(
        &self,
        stdout: File,
        stderr: File,
        name: &str,
    ) -> Result<Option<String>, LocalError> {
        let place = |end| self.job_dir.join("runs").join(format!("{name}.{end}"));
        let (out, err) = (place("out"), place("err"));
        let log = out.display().to_string();
        let room = locked(&self.tails).take_room(&[&stdout, &stderr], 2 * KEPT);
        if !room {
            return Ok(None);
        }
        blocking((), move || {
            for (from, to) in [(stdout, out), (stderr, err)] {
                files::copy_ends(&from, &to, KEPT).map_err(LocalError::io("write", &to))?;
            }
            Ok(Some(log))
        })
        .await
    }
}

/// The holds of a run, or the reason why it can't run: the build was removed after it was made, and
/// can't be made again.
fn ready(made: BuildOutcome, machine: &Arc<RunHold>) -> Result<Holds, String> {
    match made {
        BuildOutcome::Ready(build) => Ok(Arc::new((build, Arc::clone(machine)))),
        BuildOutcome::Failed(failure) => {
            Err(format!("does not build any more: {}", failure.reason))
        }
    }
}

/// Identifies a warmed-up build: the same build with other arguments is cold.
pub(super) fn warm_up_key(build: &Build, variant: &Variant) -> String {
    format!("{} {:?} {:?}", build.key, variant.arguments, variant.env)
}
