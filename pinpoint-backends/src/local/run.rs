//! Running the benchmark.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pinpoint_core::Aggregate;
use pinpoint_core::results::{Format, ReadError};
use pinpoint_core::{
    Charts, CombinedCommit, FindMetricRequest, Metric, PairReport, RunPairRequest, RunReport,
    RunRequest, Variant,
};
use tokio::sync::OnceCell;
use tracing::Instrument;

use super::build::{Build, Made};
use super::builds::Builds;
use super::config::LocalConfig;
use super::environment::Environment;
use super::error::LocalError;
use super::files;
use super::machine_lock::{MachineLock, RunHold};
use super::metric::{self, Unfit, Wanted};
use super::process::{self, Ended, Launch, NotRun, Processes};
use super::reports::{Ran, Reports};
use super::results::{self, Results};
use super::sync::{blocking, locked};
use super::tails::{OutputTail, Tails, run_warnings};
use super::workspace;

/// How often the good end may fail before its first success.
const ATTEMPTS: u32 = 3;

/// More results than this are not read: they would fill the memory.
const LARGEST_RESULTS: u64 = 128 << 20;

/// What is kept of one output of a run that failed: so much of its beginning, and as
/// much of its end.
const KEPT: u64 = 64 << 10;

/// What is held while the benchmark runs; the machine over both runs of a pair.
type Holds = Arc<(Arc<Build>, Arc<RunHold>)>;

/// What one execution is for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// To be counted, as the run of this index.
    Count(u32),
    WarmUp,
}

/// One execution that counts, about to be made.
struct One<'a> {
    variant: &'a Variant,
    index: u32,
    bot: Option<&'a String>,
    /// How its output is called if it is kept.
    name: String,
    ready: Result<Holds, String>,
}

/// How the values of a run are read.
struct Reader<'a> {
    /// Absent where each run is read by itself.
    metric: Option<&'a Metric>,
    format: Format,
    /// The charts that are wanted.
    charts: &'a Charts,
}

/// What came of one execution.
struct Execution {
    ended: Ended,
    stdout: File,
    stderr: File,
    tail: OutputTail,
    /// Why it failed, by the way in which it ended.
    failure: Option<String>,
    /// What values are read from, or why there is nothing; empty when it failed.
    results: Result<Results, String>,
}

/// Why nothing was executed, for a reason that is in the commit.
enum NotBegun {
    /// Old results can't be removed.
    Results(String),
    /// The program can't be started.
    Program(io::Error),
}

/// How often each build was warmed up.
pub(super) type WarmedUp = HashMap<String, u32>;

/// Runs the benchmark of a job, once at a time.
pub(super) struct Runner {
    config: Arc<LocalConfig>,
    environment: Arc<Environment>,
    job_dir: PathBuf,
    builds: Arc<Builds>,
    pub(super) machine: Arc<MachineLock>,
    /// Whose turn it is to run.
    pub(super) turn: tokio::sync::Mutex<WarmedUp>,
    reports: Mutex<Reports>,
    tails: Mutex<Tails>,
    /// Of a job that found it before that was journaled.
    pub(super) old_metric: OnceCell<Metric>,
    /// The same moment on both clocks.
    opened: (Duration, Instant),
}

impl Runner {
    pub(super) fn open(
        config: Arc<LocalConfig>,
        environment: Arc<Environment>,
        job_dir: PathBuf,
        builds: Arc<Builds>,
        machine: Arc<MachineLock>,
    ) -> Result<Self, LocalError> {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            turn: tokio::sync::Mutex::default(),
            reports: Mutex::new(Reports::open(&job_dir.join("runs.jsonl"))?),
            tails: Mutex::new(Tails::open(&job_dir)?),
            old_metric: OnceCell::new_with(files::read_json(&job_dir.join("metric.json"))?),
            opened: (unix.unwrap_or_default(), Instant::now()),
            config,
            environment,
            job_dir,
            builds,
            machine,
        })
    }

    /// Finds the metric, and keeps it in a file, unless it was kept before.
    pub(super) async fn prepare(&self, processes: &Arc<Processes>) -> Result<Metric, LocalError> {
        let found = async {
            let request = FindMetricRequest {
                key: processes.key().clone(),
                commit: self.config.good.clone(),
                aggregate: None,
            };
            let metric = self.find_metric(&request, processes).await?;
            files::write_json(&self.job_dir.join("metric.json"), &metric)?;
            Ok::<_, LocalError>(metric)
        };
        Ok(self.old_metric.get_or_try_init(|| found).await?.clone())
    }

    /// What the job's user should know of its runs beside their values.
    pub(super) fn warnings(&self) -> Result<Vec<String>, LocalError> {
        run_warnings(&self.job_dir)
    }

    /// Milliseconds since 1970, on a clock that is never set back while a job runs.
    fn unix_time(&self, moment: Instant) -> u64 {
        let (unix, opened) = self.opened;
        let since = unix + moment.saturating_duration_since(opened);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) async fn run(
        &self,
        request: &RunRequest,
        processes: &Arc<Processes>,
    ) -> Result<RunReport, LocalError> {
        let action = request.key.action;
        // Fair: turns come in the order in which they were first asked for.
        let mut warmed = self.turn.lock().await;
        let commit = &request.variant.commit;
        if let Some([report]) = locked(&self.reports).get(action, &[commit], request.index) {
            return Ok(report.clone());
        }
        let reader = self.reader(request.metric.as_ref(), &request.charts)?;
        let made = self.builds.get(commit, processes).await?;
        let machine = Arc::new(self.machine.for_run().await?);
        let one = One {
            variant: &request.variant,
            index: request.index,
            bot: request.bot.as_ref(),
            name: action.to_string(),
            ready: self.ready(made, &machine),
        };
        self.warm_up(&one, &mut warmed, processes).await?;
        let report = self.count(&one, &reader, processes).await?;
        let ran = Ran {
            commits: vec![commit.clone()],
            index: request.index,
            reports: vec![report.clone()],
        };
        locked(&self.reports).add(action, ran)?;
        Ok(report)
    }

    pub(super) async fn run_pair(
        &self,
        request: &RunPairRequest,
        processes: &Arc<Processes>,
    ) -> Result<PairReport, LocalError> {
        let RunPairRequest { first, second, .. } = request;
        let action = request.key.action;
        let mut warmed = self.turn.lock().await;
        let commits = [&first.commit, &second.commit];
        if let Some([first, second]) = locked(&self.reports).get(action, &commits, request.index) {
            return Ok(PairReport {
                first: first.clone(),
                second: second.clone(),
            });
        }
        let reader = self.reader(request.metric.as_ref(), &request.charts)?;
        // Both before the machine is taken: a build needs it, too.
        let made = [
            self.builds.get(&first.commit, processes).await?,
            self.builds.get(&second.commit, processes).await?,
        ];
        let machine = Arc::new(self.machine.for_run().await?);
        let [first_made, second_made] = made.map(|made| self.ready(made, &machine));
        let one = |variant, name, ready| One {
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
        let pair = PairReport {
            first: self.count(&first, &reader, processes).await?,
            second: self.count(&second, &reader, processes).await?,
        };
        let ran = Ran {
            commits: commits.map(Clone::clone).to_vec(),
            index: request.index,
            reports: vec![pair.first.clone(), pair.second.clone()],
        };
        locked(&self.reports).add(action, ran)?;
        Ok(pair)
    }

    /// What a run needs, or why there is nothing to run: the commit was built when
    /// it was asked for; since then the build was removed, and can't be made again.
    fn ready(&self, made: Made, machine: &Arc<RunHold>) -> Result<Holds, String> {
        match made {
            Made::Ready(build) => Ok(Arc::new((build, Arc::clone(machine)))),
            Made::Failed(failure) => Err(format!("does not build any more: {}", failure.reason)),
        }
    }

    /// One execution that counts.
    async fn count(
        &self,
        one: &One<'_>,
        reader: &Reader<'_>,
        processes: &Arc<Processes>,
    ) -> Result<RunReport, LocalError> {
        let began = Instant::now();
        let mut report = RunReport::new(self.unix_time(began));
        report.bot = one.bot.cloned();
        report.chart = reader.metric.and_then(|metric| metric.chart.clone());
        let holds = match &one.ready {
            Ok(holds) => holds,
            Err(failure) => {
                report.failure = Some(failure.clone());
                return Ok(report);
            }
        };
        let purpose = Purpose::Count(one.index);
        let began = self
            .execute(one.variant, purpose, &reader.format, holds, processes)
            .await?;
        let execution = match began {
            Ok(execution) => execution,
            Err(not_begun) => {
                report.failure = Some(self.cannot_begin(not_begun, one.variant, &holds.0));
                self.check_room(&holds.0)?;
                return Ok(report);
            }
        };
        let ended = &execution.ended;
        report.started = self.unix_time(ended.started);
        report.usage = Some(ended.usage);
        report.exit_code = ended.status.code();
        match self.judge(reader, &execution) {
            Ok((chart, charts)) => (report.chart, report.charts) = (chart, charts),
            Err(failure) => {
                report.failure = Some(failure);
                self.check_room(&holds.0)?;
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

    /// Finds the metric by a run that succeeds. It warms up its build and is not
    /// counted: all that are counted are taken alike.
    pub(super) async fn find_metric(
        &self,
        FindMetricRequest {
            commit, aggregate, ..
        }: &FindMetricRequest,
        processes: &Arc<Processes>,
    ) -> Result<Metric, LocalError> {
        let mut warmed = self.turn.lock().await;
        let good = &Variant {
            arguments: self.config.good_arguments.clone(),
            env: self.config.good_env.clone(),
            ..Variant::from(commit.clone())
        };
        let build = match self.builds.get(commit, processes).await? {
            Made::Ready(build) => build,
            Made::Failed(failure) => {
                return Err(LocalError::GoodDoesNotBuild {
                    commit: self.builds.name(commit),
                    reason: failure.reason.clone(),
                });
            }
        };
        let key = warm_up_key(&build, good);
        let machine = Arc::new(self.machine.for_run().await?);
        let holds: Holds = Arc::new((build, machine));
        let (mut reason, mut wrote) = (String::new(), String::new());
        for _ in 0..ATTEMPTS {
            let purpose = Purpose::WarmUp;
            let format = &self.config.format;
            match self
                .execute(good, purpose, format, &holds, processes)
                .await?
            {
                Ok(execution) => {
                    self.note_left("preparation", &execution)?;
                    match self.metric_of(&execution, commit, *aggregate)? {
                        Ok(metric) => {
                            *warmed.entry(key).or_default() += 1;
                            return Ok(metric);
                        }
                        Err(failure) => reason = failure,
                    }
                    wrote = execution.tail.stderr;
                }
                Err(NotBegun::Program(error)) => {
                    return Err(self.cannot_run(error, good, &holds.0));
                }
                Err(NotBegun::Results(failure)) => reason = failure,
            }
            self.check_room(&holds.0)?;
            self.builds.check(&holds.0, None)?;
        }
        Err(LocalError::GoodFails {
            commit: self.builds.name(commit),
            attempts: ATTEMPTS,
            reason,
            tail: wrote,
        })
    }

    /// The metric that a run gives, or why that run failed: another may not. The error
    /// is what no other run can change.
    fn metric_of(
        &self,
        execution: &Execution,
        commit: &CombinedCommit,
        aggregate: Option<Aggregate>,
    ) -> Result<Result<Metric, String>, LocalError> {
        let unusable = |reason| LocalError::GoodUnreadable {
            commit: self.builds.name(commit),
            reason,
        };
        if let Some(failure) = &execution.failure {
            return Ok(Err(failure.clone()));
        }
        let results = match &execution.results {
            Ok(results) => results,
            Err(failure) => return Ok(Err(failure.clone())),
        };
        let (format, usage) = (&self.config.format, &execution.ended.usage);
        let wanted = if self.config.every_chart {
            Wanted::Every
        } else {
            Wanted::One(self.config.chart.as_deref())
        };
        let (metric, charts) = match metric::find(format, wanted, results.output(), usage) {
            Ok(found) => found,
            Err(Unfit::Chart(error)) => return Err(error),
            Err(Unfit::Output(error @ ReadError::NotFinite { .. })) => {
                return Err(unusable(error.to_string()));
            }
            Err(Unfit::Output(error)) => return Ok(Err(error.to_string())),
        };
        if let Some(aggregate) = self.config.run_aggregate.or(aggregate) {
            metric::aggregated(charts, metric.chart.as_deref(), aggregate).map_err(unusable)?;
        }
        Ok(Ok(metric))
    }

    /// Runs a build that has not been run lately as often as is asked, before
    /// its first run that counts. What comes of it tells nothing.
    async fn warm_up(
        &self,
        one: &One<'_>,
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
            // Nothing is read: it tells nothing.
            let (purpose, format) = (Purpose::WarmUp, &Format::Time);
            match self
                .execute(one.variant, purpose, format, holds, processes)
                .await?
            {
                Ok(execution) => {
                    self.note_left("warm-up", &execution)?;
                    if execution.ended.status.success() {
                        *done += 1;
                    } else {
                        // The run that counts will tell how it fails; no more of them.
                        *done = self.config.warmup;
                    }
                }
                Err(_) => *done = self.config.warmup,
            }
        }
        Ok(())
    }

    /// Keeps what a run that does not count left running.
    fn note_left(&self, name: &str, execution: &Execution) -> Result<(), LocalError> {
        let left = execution.tail.left.clone();
        let tail = OutputTail {
            left,
            ..OutputTail::default()
        };
        locked(&self.tails).add(name, &tail)
    }

    /// Runs the benchmark, and reads what it wrote as far as the format needs it.
    async fn execute(
        &self,
        variant: &Variant,
        purpose: Purpose,
        format: &Format,
        holds: &Holds,
        processes: &Arc<Processes>,
    ) -> Result<Result<Execution, NotBegun>, LocalError> {
        let tree = holds.0.tree.clone();
        if let Some(name) = self.config.results.clone() {
            let tree = tree.clone();
            let removed = blocking(Arc::clone(holds), move || {
                results::remove_old(&tree, &name)
                    .map_err(LocalError::io("remove", &tree.join(name)))
            });
            if let Err(reason) = removed.await? {
                return Ok(Err(NotBegun::Results(reason)));
            }
        }
        // Files, not pipes: a process left in the background keeps a pipe open,
        // and its reader waits for that process. New ones for each run: what
        // such a process writes later is nobody's.
        let runs = self.job_dir.join("runs");
        let (stdout, stderr) = (files::create_unnamed(&runs)?, files::create_unnamed(&runs)?);
        let copy = |file: &File| file.try_clone().map_err(LocalError::io("open", &runs));
        let launch = Launch {
            command: self.command(variant, purpose, &tree),
            stdout: copy(&stdout)?,
            stderr: copy(&stderr)?,
        };
        let register = holds.1.register()?;
        let key = processes.key();
        let span = tracing::info_span!(
            "run",
            job = key.job,
            action = key.action,
            commit = %variant.commit.main.revision(),
            ?purpose,
        );
        let timeout = self.config.timeout;
        let ran = process::execute(processes, launch, timeout, register, Arc::clone(holds))
            .instrument(span)
            .await;
        let ended = match ran {
            Ok(ended) => ended,
            Err(NotRun::Failed(error)) => return Err(error),
            Err(NotRun::Spawn(source)) if is_programs_fault(&source) => {
                // Without its directory no program can be started. An earlier run, that
                // of a warm-up at the least, may have removed it.
                if !tree.is_dir() {
                    self.builds.check(&holds.0, None)?;
                }
                tree.metadata().map_err(LocalError::io("enter", &tree))?;
                return Ok(Err(NotBegun::Program(source)));
            }
            Err(NotRun::Spawn(source)) => {
                return Err(LocalError::Spawn {
                    program: self.config.command[0].clone(),
                    source,
                });
            }
        };
        let name = self.config.results.clone();
        let is_read = *format != Format::Time;
        let (stdout, stderr, tail, results) = blocking(Arc::clone(holds), move || {
            let unreadable = |error| LocalError::io("read", &runs)(error);
            let tail = OutputTail {
                stdout: files::tail(&stdout).map_err(unreadable)?,
                stderr: files::tail(&stderr).map_err(unreadable)?,
                ..OutputTail::default()
            };
            let results = match name {
                _ if !is_read => Ok(Results::File(Vec::new())),
                Some(name) => Results::of_run(&tree, &name, LARGEST_RESULTS)
                    .map_err(LocalError::io("read", &tree.join(&name)))?,
                None => Results::written_to(&stdout, LARGEST_RESULTS)
                    .map_err(unreadable)?
                    .ok_or_else(|| results::too_large(LARGEST_RESULTS)),
            };
            Ok((stdout, stderr, tail, results))
        })
        .await?;
        let last_line = tail.stderr.lines().last().unwrap_or_default().trim();
        Ok(Ok(Execution {
            failure: ended.failure(last_line),
            tail: OutputTail {
                left: ended.left.in_words(),
                ..tail
            },
            ended,
            stdout,
            stderr,
            results,
        }))
    }

    fn command(&self, variant: &Variant, purpose: Purpose, tree: &Path) -> Command {
        let mut command = Command::new(self.program(tree));
        let hash = self.builds.hash(&variant.commit);
        self.environment.set(&mut command, hash);
        command.envs(&variant.env);
        match purpose {
            Purpose::Count(index) => command.env("PINPOINT_RUN", index.to_string()),
            Purpose::WarmUp => command.env("PINPOINT_WARMUP", "1"),
        };
        command
            .args(&self.config.command[1..])
            .args(&variant.arguments)
            .current_dir(tree);
        command
    }

    /// Whether what failed did so for want of room. Where nothing of ours is,
    /// nothing is written to see.
    fn check_room(&self, build: &Build) -> Result<(), LocalError> {
        if build.is_ours() {
            workspace::check_room(&build.tree)?;
        }
        workspace::check_room(&self.job_dir)
    }

    fn program(&self, tree: &Path) -> PathBuf {
        let program = Path::new(&self.config.command[0]);
        if self.config.command[0].contains('/') {
            // An absolute path replaces the tree.
            tree.join(program)
        } else {
            program.into()
        }
    }

    /// Keeps the output of a run that failed, and says where; nothing when the job
    /// keeps enough already. Of a run that succeeded its report and the end of its
    /// output are enough.
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

    /// How runs are read: by the metric of the request, or that of a job which found it
    /// before it was part of requests. Without either, each run is read by itself.
    fn reader<'a>(
        &'a self,
        requested: Option<&'a Metric>,
        charts: &'a Charts,
    ) -> Result<Reader<'a>, LocalError> {
        let metric = requested.or_else(|| self.old_metric.get());
        let format = match metric {
            Some(metric) => {
                (metric.format.parse()).map_err(|source| LocalError::Format { source })?
            }
            None => self.config.format.clone(),
        };
        Ok(Reader {
            metric,
            format,
            charts,
        })
    }

    /// The chart that decides and the values of a run, or why it failed.
    fn judge(
        &self,
        reader: &Reader<'_>,
        execution: &Execution,
    ) -> Result<(Option<String>, metric::Charts), String> {
        if let Some(failure) = &execution.failure {
            return Err(failure.clone());
        }
        let results = execution.results.as_ref().map_err(Clone::clone)?;
        let (output, usage) = (results.output(), &execution.ended.usage);
        let (chart, charts) = match reader.metric {
            Some(found) => (
                found.chart.clone(),
                metric::read(found, &reader.format, output, usage)?,
            ),
            None => {
                let wanted = match reader.charts {
                    Charts::All => Wanted::Every,
                    Charts::Deciding(chart) => {
                        Wanted::One(chart.as_deref().or(self.config.chart.as_deref()))
                    }
                };
                metric::find(&reader.format, wanted, output, usage)
                    .map(|(found, charts)| (found.chart, charts))
                    .map_err(|unfit| unfit.to_string())?
            }
        };
        let mut charts = match self.config.run_aggregate {
            Some(aggregate) => metric::aggregated(charts, chart.as_deref(), aggregate)?,
            None => charts,
        };
        if let (Charts::Deciding(_), Some(wanted)) = (reader.charts, &chart) {
            charts.retain(|chart, _| chart == wanted);
        }
        Ok((chart, charts))
    }

    /// Why a run failed that was not begun.
    fn cannot_begin(&self, error: NotBegun, variant: &Variant, build: &Build) -> String {
        match error {
            NotBegun::Results(reason) => reason,
            NotBegun::Program(error) => self.cannot_run(error, variant, build).to_string(),
        }
    }

    /// Says which program could not be started, and why.
    fn cannot_run(&self, source: io::Error, variant: &Variant, build: &Build) -> LocalError {
        let path = self.program(&build.tree);
        let program = path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound if path.exists() => {
                LocalError::InterpreterMissing { program, source }
            }
            io::ErrorKind::NotFound => LocalError::CommandMissing {
                program,
                commit: self.builds.name(&variant.commit),
                source,
            },
            _ if is_programs_fault(&source) => LocalError::CommandNotExecutable { program, source },
            _ => LocalError::Spawn { program, source },
        }
    }
}

/// What is warmed up: the same build with other arguments is cold.
fn warm_up_key(build: &Build, variant: &Variant) -> String {
    format!("{} {:?} {:?}", build.key, variant.arguments, variant.env)
}

/// Is it the program that can't be started, rather than the system that can't
/// start one?
fn is_programs_fault(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
    ) || matches!(
        error.raw_os_error(),
        // Links in a loop, directories, and executables that are damaged.
        Some(libc::ENOEXEC | libc::ELOOP | libc::ENAMETOOLONG | libc::EISDIR | libc::EINVAL)
    )
}
