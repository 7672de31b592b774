//! Running a job, new or taken up again, to its document.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser;
use pinpoint_backends::TokioClock;
use pinpoint_backends::local::{
    LocalConfig, LocalError, LocalExecutor, Location, Metric, default_machine_dir,
};
use pinpoint_backends::store::{Job, JobId, JobLock, Lease, without_password};
use pinpoint_core::{
    Bisection, BuildRequest, CombinedCommit, CulpritFinder, DriveError, Driven, Engine,
    ExecutorError, InProcess, JobState, Journal, JournalError, Key, Located, Pairwise,
    PairwiseStatus, Record, Report, Status, Stop, drive, drive_watched, replay,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Command, Display, Output};
use crate::error::{CliError, Stopped, message, without_result};
use crate::job_result::JobResult;
use crate::kind::{Kind, Runnable};
use crate::new_job::values_of;
use crate::report;
use crate::reporter::Reporter;
use crate::stop::{Interrupt, stop};
use crate::storage::Storage;

/// How long other machines wait for a machine that has died before they may take its
/// job. A store that is out of reach for less stops nothing.
const LEASE: Duration = Duration::from_secs(60);

/// What the command keeps with a job, to run it again and to say how.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobConfig {
    pub(crate) local: LocalConfig,
    /// Where better lies was left open: the format decides, or the metric's unit.
    #[serde(default)]
    pub(crate) direction_by_unit: bool,
    /// Variables of the environment that `--env NAME` names. Their values are not kept:
    /// they have to be set again to resume the job.
    #[serde(default)]
    pub(crate) inherited_env: Vec<String>,
    /// Where a report is written when the job ends.
    #[serde(default)]
    pub(crate) report: Option<PathBuf>,
    pub(crate) command_line: CommandLine,
}

/// The words of the command that made a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CommandLine {
    pub(crate) words: Vec<String>,
    /// Which of the words are the two ends, when that is certain.
    pub(crate) ends: Option<(usize, usize)>,
}

impl CommandLine {
    /// The command of this process, with the two ends found in it.
    pub(crate) fn of_this_process(good: &str, bad: &str) -> Self {
        Self::new(words_of_this_process(), good, bad)
    }

    /// The command of this process, which is not to be given again with other
    /// ends.
    pub(crate) fn without_ends() -> Self {
        Self {
            words: without_values(words_of_this_process()),
            ends: None,
        }
    }

    pub(crate) fn new(words: Vec<String>, good: &str, bad: &str) -> Self {
        let words = without_values(words);
        let end = words
            .iter()
            .position(|word| word == "--")
            .unwrap_or(words.len());
        let places =
            |name: &str| -> Vec<usize> { (0..end).filter(|at| words[*at] == name).collect() };
        let (firsts, seconds) = (places(good), places(bad));
        let ends = firsts
            .iter()
            .flat_map(|first| seconds.iter().map(move |second| (*first, *second)))
            .find(|(first, second)| are_ends(&words, *first, *second));
        Self { words, ends }
    }

    /// The words as they are shown. Jobs made by an early version kept the values of `--env`.
    pub(crate) fn shown(&self) -> Vec<String> {
        without_values(self.words.clone())
    }

    /// The command with other ends, as one can paste it into a shell. A report is
    /// left out: it would be written over the one that says so.
    pub(crate) fn with_ends(&self, good: &str, bad: &str) -> Option<String> {
        let (first, second) = self.ends?;
        let mut words = self.shown();
        good.clone_into(&mut words[first]);
        bad.clone_into(&mut words[second]);
        leave_out_report(&mut words);
        Some(quoted(&words))
    }
}

/// A command line without the values of `--env`, which may be secrets: with the name
/// alone the variable is inherited, so that the command can still be given again.
fn without_values(mut words: Vec<String>) -> Vec<String> {
    let mut is_variable = false;
    for word in words.iter_mut().take_while(|word| *word != "--") {
        let from = if is_variable {
            Some(0)
        } else {
            word.starts_with("--env=").then_some("--env=".len())
        };
        is_variable = from.is_none() && word == "--env";
        if let Some(equals) = from.and_then(|from| Some(from + word[from..].find('=')?)) {
            word.truncate(equals);
        }
    }
    words
}

/// A job as it is shown: without the values of `--env`, which the store keeps so that
/// the job can be resumed.
pub(crate) fn shown(job: &Job) -> Value {
    // Every key is a string and every number finite: this can't fail.
    let mut shown = serde_json::to_value(job).unwrap_or_default();
    if let Some(Value::Object(env)) = shown.pointer_mut("/config/local/env") {
        env.values_mut().for_each(|value| *value = Value::Null);
    }
    shown
}

fn leave_out_report(words: &mut Vec<String>) {
    let end = words.iter().position(|word| word == "--");
    let options = &words[..end.unwrap_or(words.len())];
    if let Some(at) = options.iter().position(|word| word == "--report") {
        words.drain(at..(at + 2).min(words.len()));
    } else if let Some(at) = options
        .iter()
        .position(|word| word.starts_with("--report="))
    {
        words.remove(at);
    }
}

fn words_of_this_process() -> Vec<String> {
    let mut words: Vec<String> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(program) = words.first_mut() {
        "pinpoint".clone_into(program);
    }
    // The words are kept, and shown to everyone who may see the job.
    let mut is_store = false;
    for word in words.iter_mut().take_while(|word| *word != "--") {
        if is_store {
            *word = without_password(word);
        } else if let Some(url) = word.strip_prefix("--store=") {
            *word = format!("--store={}", without_password(url));
        }
        is_store = word == "--store";
    }
    words
}

/// Are these two words the ends? The value of an option may look like one.
fn are_ends(words: &[String], first: usize, second: usize) -> bool {
    const MARKS: (&str, &str) = ("the good end", "the bad end");
    let mut words = words.to_vec();
    MARKS.0.clone_into(&mut words[first]);
    MARKS.1.clone_into(&mut words[second]);
    Arguments::try_parse_from(words).is_ok_and(|arguments| match arguments.command {
        Command::Bisect(bisect) => (bisect.good.as_str(), bisect.bad.as_str()) == MARKS,
        Command::Culprit(culprit) => {
            (culprit.bisect.good.as_str(), culprit.bisect.bad.as_str()) == MARKS
        }
        _ => false,
    })
}

/// Words as one can paste them into a shell.
pub(crate) fn quoted(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// A job that this process works on.
pub(crate) struct Session {
    storage: Storage,
    job: Job,
    kind: Kind,
    config: JobConfig,
    /// Held as long as this process works on the job: against others on this
    /// machine, and against other machines.
    _lock: JobLock,
    lease: Lease,
}

impl Session {
    /// Takes a job that nobody works on.
    pub(crate) async fn take(storage: &Storage, id: &JobId) -> Result<Self, CliError> {
        let directory = storage.job_dir(id);
        fs::create_dir_all(&directory).map_err(CliError::file("make", &directory))?;
        let lock = JobLock::acquire(&directory)?;
        let lease = (storage.jobs.lease(id, &storage.owner()?, LEASE)).await?;
        let known = async {
            // Read only now: whoever held the job may have written until then.
            let job = storage.jobs.get(id.as_str()).await?;
            let kind = Kind::of_known(&job)?;
            let config = serde_json::from_value(job.config.clone())
                .map_err(|error| stopped(id, error.into()))?;
            Ok((job, kind, config))
        };
        match known.await {
            Ok((job, kind, config)) => Ok(Self {
                storage: storage.clone(),
                job,
                kind,
                config,
                _lock: lock,
                lease,
            }),
            Err(error) => {
                let _ = storage.jobs.release(&lease).await;
                Err(error)
            }
        }
    }

    /// Has the report written to another place than the job says.
    pub(crate) fn report_to(&mut self, file: PathBuf) {
        self.config.report = Some(file);
    }

    /// Works on the job until it is finished, and keeps the result with it.
    pub(crate) async fn run(mut self, display: &Display) -> Result<JobResult, CliError> {
        let id = self.job.id.clone();
        let interrupt = Interrupt::listen();
        let prepared = self.prepare_report();
        let inherited = prepared.and_then(|()| values_of(&self.config.inherited_env));
        match inherited {
            Ok(values) => self.config.local.env.extend(values),
            Err(error) => {
                self.release().await;
                return Err(error);
            }
        }
        let result = tokio::select! {
            biased;
            result = self.work(display, interrupt) => result,
            never = self.keep() => match never {},
        };
        let state = match &result {
            Ok(result) => result.state(),
            Err(error) if error.is_interrupt() => JobState::Pending,
            Err(_) => JobState::Failed,
        };
        let error = match &result {
            Err(error) if !error.is_interrupt() => Some(message(error)),
            _ => None,
        };
        let outcome = result.as_ref().ok().map(JobResult::to_value);
        let kept = (self.storage.jobs)
            .set_leased_state(&self.lease, state, error.as_deref(), outcome.as_ref())
            .await;
        self.report().await;
        self.release().await;
        let error = match (result, kept) {
            (Ok(result), Ok(())) => return Ok(result),
            (Err(error), _) => error,
            (Ok(_), Err(error)) => error.into(),
        };
        if display.output == Output::Json {
            let made = match self.storage.jobs.journal(&id).await {
                Ok(mut journal) => Made::read(&mut journal).await.ok(),
                Err(_) => None,
            };
            let document = document_of_stopped(&self.job, self.kind, &error, made);
            return Err(CliError::Stopped {
                job: id.to_string(),
                error: Box::new(error),
                document: Some(document),
            });
        }
        Err(stopped(&id, error))
    }

    /// Renews the lease as long as this is polled. One that is lost shows itself at
    /// the next record, and the job is stopped in good order.
    async fn keep(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(LEASE / 4).await;
            let _ = self.storage.jobs.renew(&self.lease, LEASE).await;
        }
    }

    fn prepare_report(&self) -> Result<(), CliError> {
        if let Some(file) = &self.config.report {
            // The directory may be gone since the job was made.
            report::destination(file)?;
        }
        report::note_session(&self.storage.job_dir(&self.job.id))
    }

    /// Lets go of the job. If that fails the lease runs out by itself.
    pub(crate) async fn release(&self) {
        let _ = self.storage.jobs.release(&self.lease).await;
    }

    async fn work(
        &self,
        display: &Display,
        interrupt: std::io::Result<Interrupt>,
    ) -> Result<JobResult, Stopped> {
        let id = &self.job.id;
        let interrupt = interrupt.map_err(|_| Stopped::Interrupted)?;
        self.storage.jobs.clear_cancel(id).await?;
        // A killed job is found as it was: running.
        if self.job.state != JobState::Running {
            (self.storage.jobs)
                .set_leased_state(&self.lease, JobState::Running, None, None)
                .await?;
        }
        // It looks at the repository, which may be far away.
        let executor = tokio::task::block_in_place(|| self.executor())?;
        let (executor, interrupt) = (&executor, interrupt.interrupted());
        let result = match self.kind {
            Kind::Bisection => self.drive::<Bisection>(executor, display, interrupt).await,
            Kind::Pairwise => self.drive::<Pairwise>(executor, display, interrupt).await,
            Kind::CulpritFinder => {
                self.drive::<CulpritFinder>(executor, display, interrupt)
                    .await
            }
        };
        // Nobody else sees to a child that does not want to end.
        executor.end().await;
        result
    }

    async fn drive<M: Runnable>(
        &self,
        executor: &LocalExecutor,
        display: &Display,
        interrupted: impl Future<Output = ()>,
    ) -> Result<JobResult, Stopped> {
        let id = &self.job.id;
        let mut spec: M::Spec = serde_json::from_value(self.job.spec.clone())?;
        let mut journal = self.storage.jobs.leased_journal(&self.lease).await?;
        let mut stopping = std::pin::pin!(stop(interrupted, self.storage.jobs.clone(), id.clone()));
        let mut reporter = Reporter::new(display, id);

        if journal.is_empty().await? {
            let machine: M = self.machine()?;
            let directory = self.storage.job_dir(id);
            let clock = PreparationClock::new(machine.max_time(), &directory);
            let ends = machine.ends();
            if let Some((first, second)) = ends {
                reporter.preparing([(M::ENDS[0], first), (M::ENDS[1], second)]);
            }
            let metric = tokio::select! {
                metric = prepare(executor, ends.map(|(_, second)| second), id) => metric?,
                stop = &mut stopping => match stop {
                    Stop::Detach => {
                        clock.note()?;
                        return Err(Stopped::Interrupted);
                    }
                    Stop::Cancel => return self.cancel_now::<M>().await,
                },
                over = clock.run() => {
                    over?;
                    clock.charge(&mut journal).await?;
                    // Its budget is spent: it starts nothing.
                    let never = std::future::pending();
                    let driven = drive(machine, executor, &mut journal, &TokioClock, never);
                    return self.result(executor, driven.await?).await;
                }
            };
            M::fix(&mut spec, &metric, self.config.direction_by_unit);
            (self.storage.jobs)
                .set_leased_spec(&self.lease, &serde_json::to_value(&spec)?)
                .await?;
            clock.charge(&mut journal).await?;
        }
        reporter.metric(executor.metric());
        let driven = drive_watched(
            M::of(spec)?,
            executor,
            &mut journal,
            &TokioClock,
            stopping,
            |event, engine| (engine.machine()).watch(&mut reporter, &event, engine.names()),
        )
        .await;
        reporter.finish();
        self.result(executor, driven?).await
    }

    /// The machine of the job as it was created.
    fn machine<M: Runnable>(&self) -> Result<M, Stopped> {
        Ok(M::of(serde_json::from_value(self.job.spec.clone())?)?)
    }

    /// Writes the report, if there is to be one. If that fails, the result of the
    /// job is none the worse.
    async fn report(&self) {
        if let Some(file) = &self.config.report
            && let Err(error) = report::write(&self.storage, &self.job.id, file).await
        {
            report::say_unwritten(&error, &self.job.id);
        }
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// Ends a job on which nothing is under way. One that was killed just after
    /// it had found its result keeps that.
    pub(crate) async fn cancel(self) -> Result<JobState, CliError> {
        let id = self.job.id.clone();
        let result: Result<JobState, Stopped> = async {
            // What it found has names only where its repository is; ending it
            // needs none.
            let executor = self.executor();
            if self.job.state != JobState::Running {
                (self.storage.jobs)
                    .set_leased_state(&self.lease, JobState::Running, None, None)
                    .await?;
            }
            let (state, outcome) = match executor {
                Ok(_) => {
                    let result = match self.kind {
                        Kind::Bisection => self.cancel_now::<Bisection>().await?,
                        Kind::Pairwise => self.cancel_now::<Pairwise>().await?,
                        Kind::CulpritFinder => self.cancel_now::<CulpritFinder>().await?,
                    };
                    (result.state(), Some(result.to_value()))
                }
                Err(_) => (JobState::Canceled, None),
            };
            (self.storage.jobs)
                .set_leased_state(&self.lease, state, None, outcome.as_ref())
                .await?;
            Ok(state)
        }
        .await;
        self.report().await;
        self.release().await;
        result.map_err(|error| stopped(&id, error))
    }

    /// Tells the machine that it is canceled, and that nothing is under way.
    async fn cancel_now<M: Runnable>(&self) -> Result<JobResult, Stopped> {
        let mut journal = self.storage.jobs.leased_journal(&self.lease).await?;
        let executor = self.executor()?;
        let mut engine = Engine::new(journal.job(), self.machine::<M>()?);
        replay(&mut engine, &mut journal).await?;
        for record in engine.conclude()? {
            journal.append(&record).await?;
        }
        let outcome = engine.machine().outcome().cloned();
        let outcome = outcome.ok_or(DriveError::Stalled)?;
        self.result(&executor, Driven { outcome, engine }).await
    }

    /// The result of a job that has come to its end.
    async fn result<M: Runnable>(
        &self,
        executor: &LocalExecutor,
        driven: Driven<M>,
    ) -> Result<JobResult, Stopped> {
        let Driven { outcome, engine } = driven;
        Ok(M::result(&self.job, &self.config, executor, outcome, engine.names()).await?)
    }

    fn executor(&self) -> Result<LocalExecutor, LocalError> {
        open_executor(&self.storage, &self.job, &self.config)
    }
}

/// What builds and runs for a job, and knows its commits.
pub(crate) fn open_executor(
    storage: &Storage,
    job: &Job,
    config: &JobConfig,
) -> Result<LocalExecutor, LocalError> {
    let location = Location {
        state_dir: storage.state_dir.clone(),
        job_dir: storage.job_dir(&job.id),
        machine_dir: default_machine_dir(),
    };
    LocalExecutor::open(config.local.clone(), location, job.id.as_str())
}

/// Fixes the metric at the good end, and meanwhile builds the bad end, where
/// builds may run side by side.
async fn prepare(
    executor: &LocalExecutor,
    bad: Option<&CombinedCommit>,
    id: &JobId,
) -> Result<Metric, ExecutorError> {
    let bad_end = async {
        if let Some(bad) = bad {
            let key = Key {
                job: id.to_string(),
                action: u64::MAX,
            };
            let commit = Located::Commit(bad.clone());
            // How it ends is heard again when the search asks for it.
            executor
                .build(&BuildRequest { key, commit })
                .await
                .map(drop)
        } else {
            Ok(())
        }
    };
    tokio::try_join!(executor.prepare(), bad_end).map(|(metric, ())| metric)
}

/// The time that a preparation takes, which the budget of the job has to pay.
///
/// It is kept in a file: what is in the journal begins the search, and the
/// preparation has to write down first what that is to find.
struct PreparationClock {
    /// Absent when time costs nothing.
    most: Option<u64>,
    file: PathBuf,
    /// What earlier tries took, in milliseconds.
    before: u64,
    began: Instant,
}

impl PreparationClock {
    /// What a kill makes forget is no more than this.
    const TICK: Duration = Duration::from_secs(1);

    fn new(most: Option<u64>, job_dir: &Path) -> Self {
        let file = job_dir.join("preparation");
        let before = fs::read_to_string(&file).ok();
        Self {
            most,
            before: before.and_then(|text| text.parse().ok()).unwrap_or(0),
            file,
            began: Instant::now(),
        }
    }

    fn elapsed(&self) -> u64 {
        let passed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.before.saturating_add(passed)
    }

    /// Keeps how late it is for the next try.
    fn note(&self) -> Result<(), LocalError> {
        if self.most.is_none() {
            return Ok(());
        }
        fs::write(&self.file, self.elapsed().to_string()).map_err(|source| LocalError::Io {
            action: "write",
            path: self.file.clone(),
            source,
        })
    }

    /// Returns when the budget is spent.
    async fn run(&self) -> Result<(), LocalError> {
        let Some(most) = self.most else {
            return std::future::pending().await;
        };
        while self.elapsed() < most {
            let left = Duration::from_millis(most.saturating_sub(self.elapsed()));
            tokio::time::sleep(left.min(Self::TICK)).await;
            self.note()?;
        }
        Ok(())
    }

    /// Begins the search with the time that was spent.
    async fn charge(&self, journal: &mut impl Journal) -> Result<(), Stopped> {
        if self.most.is_some() {
            let elapsed = self.elapsed();
            journal.append(&Record::TimePassed { elapsed }).await?;
        }
        Ok(())
    }
}

/// What a job has made so far, by its journal.
#[derive(Debug, Default)]
struct Made {
    runs: u64,
    pairs: u64,
    builds: u64,
}

impl Made {
    async fn read(journal: &mut impl Journal) -> Result<Self, JournalError> {
        let mut made = Self::default();
        let mut count = |record| {
            if let Record::Reported { report, .. } = record {
                match report {
                    Report::Built(build) => made.builds += u64::from(build.failure.is_none()),
                    Report::Ran(_) => made.runs += 1,
                    Report::RanPair(_) => {
                        made.runs += 2;
                        made.pairs += 1;
                    }
                    _ => {}
                }
            }
        };
        journal.replay(&mut count).await?;
        Ok(made)
    }
}

/// The document of a job without a result: it was interrupted, or something
/// stands in its way. What is not known is null.
fn document_of_stopped(job: &Job, kind: Kind, error: &Stopped, made: Option<Made>) -> Value {
    let made = made.as_ref();
    let mut document = without_result(Some(job.id.as_str()), error.is_interrupt(), &message(error));
    document["runs"] = json!(made.map(|made| made.runs));
    document["builds"] = json!(made.map(|made| made.builds));
    document["duration_s"] = Value::Null;
    let lists: &[&str] = match kind {
        Kind::Pairwise => {
            document["pairs"] = json!(made.map(|made| made.pairs));
            &["charts"]
        }
        Kind::Bisection | Kind::CulpritFinder => {
            &["culprits", "candidates", "comparisons", "skipped"]
        }
    };
    for list in lists {
        document[list] = json!([]);
    }
    document
}

fn stopped(id: &JobId, error: Stopped) -> CliError {
    CliError::Stopped {
        job: id.to_string(),
        error: Box::new(error),
        document: None,
    }
}

/// Status of a result as a state of its job.
pub(crate) fn state_of(status: Status) -> JobState {
    match status {
        Status::Failed => JobState::Failed,
        Status::Canceled => JobState::Canceled,
        Status::CulpritFound | Status::NoRegression | Status::Inconclusive => JobState::Completed,
    }
}

/// As [`state_of`], of a pairwise job.
pub(crate) fn state_of_pairwise(status: PairwiseStatus) -> JobState {
    match status {
        PairwiseStatus::Failed => JobState::Failed,
        PairwiseStatus::Canceled => JobState::Canceled,
        PairwiseStatus::Different | PairwiseStatus::Same | PairwiseStatus::Unknown => {
            JobState::Completed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_command_line_keeps_no_values_of_variables() {
        let given = [
            "pinpoint",
            "bisect",
            "--env",
            "A=1=2",
            "--env=B=3",
            "--env",
            "C",
            "--env=D",
            "a",
            "b",
            "--",
            "env",
            "--env",
            "E=5",
        ];
        let kept = [
            "pinpoint", "bisect", "--env", "A", "--env=B", "--env", "C", "--env=D", "a", "b", "--",
            "env", "--env", "E=5",
        ];
        let line = CommandLine::new(words(&given), "a", "b");
        assert_eq!(line.words, words(&kept));
        assert_eq!(line.ends, Some((8, 9)));
        // Of a job that was stored with values, too.
        let line = CommandLine {
            words: words(&given),
            ends: Some((8, 9)),
        };
        assert_eq!(line.shown(), words(&kept));
        let again = line.with_ends("x", "y").unwrap();
        assert!(
            again.contains("--env A ") && !again.contains("1=2"),
            "{again}"
        );
    }
}
