//! Running the benchmark.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use pinpoint_core::results::{Aggregate, Format, ReadError};
use pinpoint_core::{
    CombinedCommit, Commit, PairReport, RunPairRequest, RunReport, RunRequest, Series, Variant,
};

use super::build::{Build, Made, tail};
use super::executor::locked;
use super::files;
use super::machine_lock::RunHold;
use super::metric::{Unfit, Wanted};
use super::process::{self, Ended, NotRun, Work};
use super::reports::Report;
use super::results::{self, Results};
use super::{LocalError, LocalExecutor, Metric, workspace};

/// How often the good end may fail before its first success.
const ATTEMPTS: u32 = 3;

/// More output than this is a mistake, and would not fit in memory.
const LARGEST_OUTPUT: u64 = 256 << 20;

/// What is held while the benchmark runs; the machine over both runs of a pair.
type Holds = Arc<(Arc<Build>, Arc<RunHold>)>;

/// What one execution is for.
#[derive(Clone, Copy)]
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
        if let Some(Report::Run(report)) = locked(&self.reports).get(action)
            && report.commit == request.commit
            && report.index == request.index
        {
            return Ok((**report).clone());
        }
        let metric = self.fixed_metric(work, &mut warmed).await?;
        let made = self.built(&request.commit, work).await?;
        let machine = Arc::new(self.machine.for_run().await?);
        let one = One {
            variant: &request.commit.clone().into(),
            index: request.index,
            bot: request.bot.as_ref(),
            name: action.to_string(),
            ready: self.ready(made, &machine),
        };
        self.warm_up(&one, &mut warmed, work).await?;
        let report = self.count(&one, metric, work).await?;
        locked(&self.reports).add(action, Report::Run(Box::new(report.clone())))?;
        Ok(report)
    }

    pub(super) async fn run_pair_once(
        &self,
        request: &RunPairRequest,
        work: &Arc<Work>,
    ) -> Result<PairReport, LocalError> {
        let RunPairRequest { first, second, .. } = request;
        let action = request.key.action;
        let mut warmed = self.turn.lock().await;
        if let Some(Report::Pair(pair)) = locked(&self.reports).get(action)
            && (&pair.first.commit, &pair.second.commit) == (&first.commit, &second.commit)
            && pair.first.index == request.index
        {
            return Ok((**pair).clone());
        }
        let metric = self.fixed_metric(work, &mut warmed).await?;
        // Both before the machine is taken: a build needs it, too.
        let made = [
            self.built(&first.commit, work).await?,
            self.built(&second.commit, work).await?,
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
        self.warm_up(&first, &mut warmed, work).await?;
        self.warm_up(&second, &mut warmed, work).await?;
        let pair = PairReport {
            first: self.count(&first, metric, work).await?,
            second: self.count(&second, metric, work).await?,
        };
        locked(&self.reports).add(action, Report::Pair(Box::new(pair.clone())))?;
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
        metric: &Metric,
        work: &Arc<Work>,
    ) -> Result<RunReport, LocalError> {
        let began = Instant::now();
        let mut report = RunReport {
            commit: one.variant.commit.clone(),
            index: one.index,
            bot: one.bot.cloned(),
            started: self.since_beginning(began),
            chart: metric.chart.clone(),
            failure: None,
            charts: BTreeMap::new(),
            usage: None,
            exit_code: None,
            log: None,
        };
        let holds = match &one.ready {
            Ok(holds) => holds,
            Err(failure) => {
                report.failure = Some(failure.clone());
                return Ok(report);
            }
        };
        let outputs = self.outputs("last");
        let purpose = Purpose::Count(one.index);
        match self
            .execute(one.variant, purpose, &outputs, holds, work)
            .await
        {
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
                report.failure = Some(self.cannot_run(error, one.variant, &holds.0).to_string());
            }
            Err(error) => return Err(self.not_run(error)),
        }
        if report.failure.is_some() {
            self.check_room(&holds.0)?;
            self.check_build(&holds.0, Some(&one.name))?;
        }
        locked(&self.tails).add(&one.name, &outputs.stdout, &outputs.stderr)?;
        if report.failure.is_some() {
            report.log = Some(self.keep(&outputs, &one.name)?);
        }
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
        let good = &Variant {
            commit: self.config.good.clone(),
            arguments: self.config.good_arguments.clone(),
            env: self.config.good_env.clone(),
        };
        let commit = || called(&good.commit);
        let build = match self.built(&good.commit, work).await? {
            Made::Ready(build) => build,
            Made::Failed(failure) => {
                return Err(LocalError::GoodDoesNotBuild {
                    commit: commit(),
                    reason: failure.reason.clone(),
                });
            }
        };
        let key = warm_up_key(&build, good);
        let machine = Arc::new(self.machine.for_run().await?);
        let holds: Holds = Arc::new((build, machine));
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
            self.check_room(&holds.0)?;
            self.check_build(&holds.0, None)?;
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
            commit: called(&self.config.good),
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
        let wanted = if self.config.every_chart {
            Wanted::Every
        } else {
            Wanted::One(self.config.chart.as_deref())
        };
        let metric = match Metric::fix(format, wanted, results.output(), &ended.usage) {
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
        one: &One<'_>,
        warmed: &mut HashMap<String, u32>,
        work: &Arc<Work>,
    ) -> Result<(), LocalError> {
        let Ok(holds) = &one.ready else {
            return Ok(());
        };
        let done = warmed
            .entry(warm_up_key(&holds.0, one.variant))
            .or_default();
        let outputs = self.outputs("last");
        while *done < self.config.warmup {
            let purpose = Purpose::WarmUp;
            match self
                .execute(one.variant, purpose, &outputs, holds, work)
                .await
            {
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
        variant: &Variant,
        purpose: Purpose,
        outputs: &Outputs,
        holds: &Holds,
        work: &Arc<Work>,
    ) -> Result<Ended, NotRun> {
        let (command, register) = self
            .command(variant, purpose, outputs, holds)
            .map_err(NotRun::Failed)?;
        let timeout = self.config.timeout;
        process::execute(work, command, timeout, register, Arc::clone(holds)).await
    }

    fn command(
        &self,
        variant: &Variant,
        purpose: Purpose,
        outputs: &Outputs,
        holds: &Holds,
    ) -> Result<(Command, File), LocalError> {
        let tree = &holds.0.tree;
        if let Some(results) = &self.config.results {
            remove_results(tree, results)?;
        }
        let mut command = Command::new(self.program(tree));
        self.set_environment(&mut command, &variant.commit);
        command.envs(&variant.env);
        match purpose {
            Purpose::Count(index) => command.env("PINPOINT_RUN", index.to_string()),
            Purpose::WarmUp => command.env("PINPOINT_WARMUP", "1"),
        };
        // Files, not pipes: a process left in the background keeps a pipe open,
        // and whoever reads it waits for that process.
        command
            .args(&self.config.command[1..])
            .args(&variant.arguments)
            .current_dir(tree)
            .stdin(Stdio::null())
            .stdout(files::create(&outputs.stdout)?)
            .stderr(files::create(&outputs.stderr)?);
        Ok((command, holds.1.register()?))
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

    /// Keeps the output of a run, which the next one would write over, and says
    /// where. Of a run that succeeded its report and the end of its output are
    /// enough.
    fn keep(&self, outputs: &Outputs, name: &str) -> Result<String, LocalError> {
        let kept = self.outputs(name);
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
            Some(results) => &build.tree.join(results),
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
    fn cannot_run(&self, source: io::Error, variant: &Variant, build: &Build) -> LocalError {
        let path = self.program(&build.tree);
        let program = path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound if path.exists() => {
                LocalError::InterpreterMissing { program, source }
            }
            io::ErrorKind::NotFound => LocalError::CommandMissing {
                program,
                commit: called(&variant.commit),
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

/// The name of a state in a message: its hash, or the directory of a build that
/// was made already.
fn called(state: &CombinedCommit) -> String {
    let Commit {
        git_hash,
        repository,
        ..
    } = &state.main;
    if git_hash.is_empty() {
        repository.clone()
    } else {
        git_hash.clone()
    }
}

/// What is warmed up: the same build with other arguments is cold.
fn warm_up_key(build: &Build, variant: &Variant) -> String {
    format!("{} {:?} {:?}", build.key, variant.arguments, variant.env)
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
