//! Running the benchmark.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use pinpoint_core::results::{Aggregate, Format, ReadError};
use pinpoint_core::{CombinedCommit, RunReport, RunRequest, Series};

use super::build::{Build, Made, tail};
use super::executor::locked;
use super::files;
use super::machine_lock::RunHold;
use super::metric::Unfit;
use super::process::{self, Ended, NotRun, Work};
use super::results::{self, Results};
use super::{LocalError, LocalExecutor, Metric, workspace};

/// How often the good end may fail before its first success.
const ATTEMPTS: u32 = 3;

/// More output than this is a mistake, and would not fit in memory.
const LARGEST_OUTPUT: u64 = 256 << 20;

/// What is held while the benchmark runs.
type Holds = Arc<(Arc<Build>, RunHold)>;

/// What one execution is for.
#[derive(Clone, Copy)]
enum Purpose {
    /// To be counted, as the run of this index.
    Count(u32),
    WarmUp,
}

/// Where one execution writes.
struct Outputs {
    stdout: PathBuf,
    stderr: PathBuf,
}

impl LocalExecutor {
    pub(super) async fn run_once(
        &self,
        request: &RunRequest,
        work: &Arc<Work>,
    ) -> Result<RunReport, LocalError> {
        let action = request.key.action;
        // Fair: turns come in the order in which they were first asked for.
        let mut warmed = self.turn.lock().await;
        // After a loss of power the journal may lack its last records, and the
        // number may stand for another run than it did.
        if let Some(report) = locked(&self.reports).get(action)
            && report.commit == request.commit
            && report.index == request.index
        {
            return Ok(report.clone());
        }
        let metric = self.fixed_metric(work, &mut warmed).await?;
        let mut report = RunReport {
            commit: request.commit.clone(),
            index: request.index,
            bot: request.bot.clone(),
            started: 0,
            chart: Some(metric.chart.clone()),
            failure: None,
            charts: BTreeMap::new(),
            usage: None,
            exit_code: None,
            log: None,
        };
        match self.built(&request.commit, work).await? {
            // It was built when it was asked for; since then it was removed,
            // and can't be built again.
            Made::Failed(failure) => {
                report.started = self.since_beginning(Instant::now());
                report.failure = Some(format!("does not build any more: {}", failure.reason));
            }
            Made::Ready(build) => {
                let machine = self.machine.for_run().await?;
                let holds: Holds = Arc::new((build, machine));
                self.warm_up(&request.commit, &holds, &mut warmed, work)
                    .await?;
                let outputs = self.outputs("last");
                let purpose = Purpose::Count(request.index);
                let began = Instant::now();
                let commit = &request.commit;
                match self.execute(commit, purpose, &outputs, &holds, work).await {
                    Ok(ended) => {
                        report.started = self.since_beginning(ended.started);
                        report.usage = Some(ended.usage);
                        report.exit_code = ended.status.code();
                        match self.judge(metric, &ended, &outputs, &holds.0)? {
                            Ok(charts) => report.charts = charts,
                            Err(failure) => report.failure = Some(failure),
                        }
                    }
                    // A commit may have removed or broken the benchmark.
                    Err(NotRun::Spawn(error)) if is_programs_fault(&error) => {
                        report.started = self.since_beginning(began);
                        report.failure = Some(self.cannot_run(error, commit, &holds.0).to_string());
                    }
                    Err(error) => return Err(self.not_run(error)),
                }
                if report.failure.is_some() {
                    workspace::check_room(&holds.0.place.tree)?;
                    workspace::check_room(&self.job_dir)?;
                    report.log = Some(self.keep(&outputs, action)?);
                }
            }
        }
        locked(&self.reports).add(action, &report)?;
        Ok(report)
    }

    /// The metric, fixed now if it is not yet.
    pub(super) async fn fixed_metric(
        &self,
        work: &Arc<Work>,
        warmed: &mut HashMap<String, u32>,
    ) -> Result<&Metric, LocalError> {
        self.metric
            .get_or_try_init(|| self.fix_metric(work, warmed))
            .await
    }

    /// Runs the good end until it succeeds once. That run warms up its build
    /// and is not counted: all that are counted are taken alike.
    async fn fix_metric(
        &self,
        work: &Arc<Work>,
        warmed: &mut HashMap<String, u32>,
    ) -> Result<Metric, LocalError> {
        let good = &self.config.good;
        let commit = || good.main.git_hash.clone();
        let build = match self.built(good, work).await? {
            Made::Ready(build) => build,
            Made::Failed(failure) => {
                return Err(LocalError::GoodDoesNotBuild {
                    commit: commit(),
                    reason: failure.reason.clone(),
                });
            }
        };
        let key = build.key.clone();
        let holds: Holds = Arc::new((build, self.machine.for_run().await?));
        let outputs = self.outputs("last");
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            let purpose = Purpose::WarmUp;
            let ended = match self.execute(good, purpose, &outputs, &holds, work).await {
                Ok(ended) => ended,
                Err(NotRun::Spawn(error)) => return Err(self.cannot_run(error, good, &holds.0)),
                Err(error) => return Err(self.not_run(error)),
            };
            match self.try_to_fix(&ended, &outputs, &holds.0)? {
                Ok(metric) => {
                    let path = self.job_dir.join("metric.json");
                    files::write_json(&path, &metric)?;
                    *warmed.entry(key).or_default() += 1;
                    return Ok(metric);
                }
                Err(failure) => reason = failure,
            }
            workspace::check_room(&holds.0.place.tree)?;
            workspace::check_room(&self.job_dir)?;
        }
        Err(LocalError::GoodFails {
            commit: commit(),
            attempts: ATTEMPTS,
            reason,
            tail: tail(&outputs.stderr)?,
        })
    }

    /// The metric by one run of the good end, or why that run failed: another
    /// may not. The error is what no other run can change.
    fn try_to_fix(
        &self,
        ended: &Ended,
        outputs: &Outputs,
        build: &Build,
    ) -> Result<Result<Metric, String>, LocalError> {
        let unusable = |reason| LocalError::GoodUnreadable {
            commit: self.config.good.main.git_hash.clone(),
            reason,
        };
        if let Some(failure) = self.why_failed(ended, &outputs.stderr)? {
            return Ok(Err(failure));
        }
        let format = &self.config.format;
        let results = match self.results(format, outputs, build)? {
            Ok(results) => results,
            Err(failure) => return Ok(Err(failure)),
        };
        let chart = self.config.chart.as_deref();
        let metric = match Metric::fix(format, chart, results.output(), &ended.usage) {
            Ok(metric) => metric,
            Err(Unfit::Chart(error)) => return Err(error),
            Err(Unfit::Output(error @ ReadError::NotFinite { .. })) => {
                return Err(unusable(error.to_string()));
            }
            Err(Unfit::Output(error)) => return Ok(Err(error.to_string())),
        };
        match metric.read(self.aggregate(), results.output(), &ended.usage) {
            Ok(_) => Ok(Ok(metric)),
            Err(reason) => Err(unusable(reason)),
        }
    }

    /// Runs a build that has not been run lately as often as is asked, before
    /// its first run that counts. What comes of it tells nothing.
    async fn warm_up(
        &self,
        commit: &CombinedCommit,
        holds: &Holds,
        warmed: &mut HashMap<String, u32>,
        work: &Arc<Work>,
    ) -> Result<(), LocalError> {
        let done = warmed.entry(holds.0.key.clone()).or_default();
        let outputs = self.outputs("last");
        while *done < self.config.warmup {
            let purpose = Purpose::WarmUp;
            match self.execute(commit, purpose, &outputs, holds, work).await {
                Ok(ended) if ended.status.success() => *done += 1,
                // The run that counts will tell how it fails; no more of them.
                Ok(_) => *done = self.config.warmup,
                Err(NotRun::Spawn(error)) if is_programs_fault(&error) => {
                    *done = self.config.warmup;
                }
                Err(error) => return Err(self.not_run(error)),
            }
        }
        Ok(())
    }

    async fn execute(
        &self,
        commit: &CombinedCommit,
        purpose: Purpose,
        outputs: &Outputs,
        holds: &Holds,
        work: &Arc<Work>,
    ) -> Result<Ended, NotRun> {
        let (command, register) = self
            .command(commit, purpose, outputs, holds)
            .map_err(NotRun::Failed)?;
        let timeout = self.config.timeout;
        process::execute(work, command, timeout, register, Arc::clone(holds)).await
    }

    fn command(
        &self,
        commit: &CombinedCommit,
        purpose: Purpose,
        outputs: &Outputs,
        holds: &Holds,
    ) -> Result<(Command, File), LocalError> {
        let tree = &holds.0.place.tree;
        if let Some(results) = &self.config.results {
            remove_results(tree, results)?;
        }
        let mut command = Command::new(self.program(tree));
        self.set_environment(&mut command, commit);
        match purpose {
            Purpose::Count(index) => command.env("PINPOINT_RUN", index.to_string()),
            Purpose::WarmUp => command.env("PINPOINT_WARMUP", "1"),
        };
        // Files, not pipes: a process left in the background keeps a pipe open,
        // and whoever reads it waits for that process.
        command
            .args(&self.config.command[1..])
            .current_dir(tree)
            .stdin(Stdio::null())
            .stdout(files::create(&outputs.stdout)?)
            .stderr(files::create(&outputs.stderr)?);
        Ok((command, holds.1.register()?))
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

    /// Keeps the output of a run, which the next one would write over, and says
    /// where. Of a run that succeeded all that matters is in its report.
    fn keep(&self, outputs: &Outputs, action: u64) -> Result<String, LocalError> {
        let kept = self.outputs(&action.to_string());
        for (from, to) in [
            (&outputs.stdout, &kept.stdout),
            (&outputs.stderr, &kept.stderr),
        ] {
            fs::rename(from, to).map_err(LocalError::io("write", to))?;
        }
        Ok(kept.stdout.display().to_string())
    }

    fn outputs(&self, name: &str) -> Outputs {
        let path = |end| self.job_dir.join("runs").join(format!("{name}.{end}"));
        Outputs {
            stdout: path("out"),
            stderr: path("err"),
        }
    }

    /// The values of a run, or why it failed.
    fn judge(
        &self,
        metric: &Metric,
        ended: &Ended,
        outputs: &Outputs,
        build: &Build,
    ) -> Result<Result<BTreeMap<String, Series>, String>, LocalError> {
        if let Some(failure) = self.why_failed(ended, &outputs.stderr)? {
            return Ok(Err(failure));
        }
        Ok(self
            .results(&metric.format, outputs, build)?
            .and_then(|results| metric.read(self.aggregate(), results.output(), &ended.usage)))
    }

    fn aggregate(&self) -> Aggregate {
        self.config.aggregate.unwrap_or_default()
    }

    /// What values are read from, or why there is nothing.
    fn results(
        &self,
        format: &Format,
        outputs: &Outputs,
        build: &Build,
    ) -> Result<Result<Results, String>, LocalError> {
        if *format == Format::Time {
            return Ok(Ok(Results::File(Vec::new())));
        }
        let path = match &self.config.results {
            Some(results) => &build.place.tree.join(results),
            None => &outputs.stdout,
        };
        match Results::load(path, LARGEST_OUTPUT) {
            Ok(Some(results)) => Ok(Ok(results)),
            Ok(None) => Ok(Err(format!(
                "wrote more than {} MiB of results",
                LARGEST_OUTPUT >> 20
            ))),
            Err(error)
                if self.config.results.is_some() && error.kind() == io::ErrorKind::NotFound =>
            {
                Ok(Err(format!("wrote no file {}", path.display())))
            }
            Err(error) => Err(LocalError::io("read", path)(error)),
        }
    }

    /// Says which program could not be started, and why.
    fn cannot_run(&self, source: io::Error, commit: &CombinedCommit, build: &Build) -> LocalError {
        let path = self.program(&build.place.tree);
        let program = path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound if path.exists() => {
                LocalError::InterpreterMissing { program, source }
            }
            io::ErrorKind::NotFound => LocalError::CommandMissing {
                program,
                commit: commit.main.git_hash.clone(),
                source,
            },
            _ if is_programs_fault(&source) => LocalError::CommandNotExecutable { program, source },
            _ => LocalError::Spawn { program, source },
        }
    }

    fn not_run(&self, error: NotRun) -> LocalError {
        match error {
            NotRun::Failed(error) => error,
            NotRun::Spawn(source) => LocalError::Spawn {
                program: self.config.command[0].clone(),
                source,
            },
        }
    }
}

/// Removes the results of a run before, which must not pass for the next one's;
/// never anything but files in the work tree, be it behind a link that a commit
/// brought along.
fn remove_results(tree: &Path, results: &Path) -> Result<(), LocalError> {
    let path = tree.join(results);
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    let real = |path: &Path| match path.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LocalError::io("find", path)(error)),
    };
    // A directory that is not there yet has no file of a run before.
    let (Some(directory), Some(top)) = (real(directory)?, real(tree)?) else {
        return Ok(());
    };
    if !directory.starts_with(&top) {
        return Err(LocalError::ResultsOutside {
            path: results.into(),
        });
    }
    match results::remove(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LocalError::io("remove", &path)(error))
        }
        _ => Ok(()),
    }
}

/// Is it the program that can't be started, rather than the system that can't
/// start one?
fn is_programs_fault(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
    ) || matches!(error.raw_os_error(), Some(libc::ENOEXEC | libc::ELOOP))
}
