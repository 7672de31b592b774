//! Following jobs to their ends, wherever they are carried out.

use std::time::Duration;

use futures_util::future::join_all;
use pinpoint_backends::job::{JobConfig, JobError, WaitingReason, machine_of, waiting};
use pinpoint_backends::store::{Job, JobId, JobJournal};
use pinpoint_core::job::{JobResult, RESULT_VERSION};
use pinpoint_core::{DriveEvent, Engine, JobMachine, JobState, Journal};
use pinpoint_report::results::stored;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::advice::with_advice;
use crate::arguments::{Display, Output, resume_options};
use crate::error::CliError;
use crate::exit_code::{FOUND, TIMED_OUT};
use crate::job::clock::now;
use crate::job::explanation;
use crate::job::stop::Interrupt;
use crate::job::storage::Storage;
use crate::show::error_text::without_result;
use crate::show::job_result::{exit_code, print_result};
use crate::show::output::{errln, print_result_json};
use crate::show::reporter::Reporter;
use crate::show::text::{DIM, text};
use crate::show::worker_list::in_words;

/// The time between two looks at a job.
const POLL: Duration = Duration::from_millis(500);

/// The time between two questions to a store that does not answer.
const AWAY: Duration = Duration::from_secs(5);

/// Looks at a job between two checks of the reason why it waits.
const LOOKS: u32 = 4;

/// Follows a job to its result.
pub(crate) async fn follow_one(
    storage: &Storage,
    id: &JobId,
    display: &Display,
) -> Result<JobResult, CliError> {
    let interrupt = Interrupt::listen().map_err(|_| CliError::Interrupted)?;
    tokio::select! {
        ended = follow(storage, id, display) => result_of(&ended?),
        () = interrupt.interrupted() => Err(left(id)),
    }
}

/// The time that even a short wait leaves the store for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// `pinpoint jobs wait`, which also waits for a store that does not answer when it begins.
pub(crate) async fn wait(
    jobs: &[String],
    timeout: Option<Duration>,
    display: &Display,
) -> Result<u8, CliError> {
    let interrupt = Interrupt::listen().map_err(|_| CliError::Interrupted)?;
    let begun = Instant::now();
    let until = timeout.map(|timeout| begun + timeout);
    // A short timeout asks for the state of the job, which takes a first answer.
    let until_found = until.map(|until| until.max(begun + FIRST_ANSWER));
    let found = tokio::select! {
        found = find(jobs, display) => Some(found?),
        () = interrupt.clone().interrupted() => {
            return Err(CliError::Left { job: jobs[0].clone() });
        }
        () = reached(until_found) => None,
    };
    let Some((storage, ids)) = found else {
        errln!("the store has not answered yet; the jobs continue without this command");
        return Ok(TIMED_OUT);
    };
    follow_all(&storage, &ids, until, interrupt, display).await
}

/// The store, and the jobs there, once it answers.
async fn find(jobs: &[String], display: &Display) -> Result<(Storage, Vec<JobId>), CliError> {
    let mut asks = Asks::new(display.quiet);
    let storage = asks.until_answered(async || Storage::open(display).await);
    let storage = storage.await?;
    let mut ids = Vec::new();
    for job in jobs {
        let get = async || Ok(storage.store.jobs().find(&job.parse()?).await?);
        ids.push(asks.until_answered(get).await?.id);
    }
    Ok((storage, ids))
}

async fn follow_all(
    storage: &Storage,
    ids: &[JobId],
    until: Option<Instant>,
    interrupt: Interrupt,
    display: &Display,
) -> Result<u8, CliError> {
    let first = ids[0].clone();
    // The live view has room for one job.
    let each = Display {
        quiet: display.quiet || ids.len() > 1,
        ..display.clone()
    };
    let all = join_all(ids.iter().map(async |id| {
        let job = follow(storage, id, &each).await?;
        if ids.len() > 1 && !display.quiet {
            errln!("job {id}: {}", job.state);
        }
        Ok::<_, CliError>(job)
    }));
    let jobs = tokio::select! {
        jobs = all => jobs,
        () = interrupt.interrupted() => return Err(left(&first)),
        () = reached(until) => {
            errln!("not ended yet; the remaining jobs continue without this command");
            if display.output == Output::Json {
                match print_states(storage, ids, display).await {
                    // They are unknown then, and none has failed.
                    Err(error) if error.is_away() => errln!("{}", with_advice(&error)),
                    printed => printed?,
                }
            }
            return Ok(TIMED_OUT);
        }
    };
    let jobs = jobs.into_iter().collect::<Result<Vec<_>, _>>()?;
    if let [job] = &jobs[..] {
        let result = result_of(job)?;
        return explanation::stored::end(storage, &job.id, &result, &resumed_by(job, display))
            .await;
    }
    let mut documents = Vec::new();
    let mut code = FOUND;
    for job in &jobs {
        let (document, own) = ended(storage, job, display).await;
        documents.push(document);
        code = worse(code, own);
    }
    if display.output == Output::Json {
        print_result_json(&json!({ "jobs": documents }));
    }
    Ok(code)
}

/// The document and the exit code of one of several jobs that have ended. In text, it is shown.
async fn ended(storage: &Storage, job: &Job, display: &Display) -> (Value, u8) {
    let is_text = display.output == Output::Text;
    let display = &resumed_by(job, display);
    let failed = |error: CliError| {
        if is_text {
            error.print(display);
        }
        (document(job), error.exit_code())
    };
    let result = match result_of(job) {
        Ok(result) => result,
        Err(error) => return failed(error),
    };
    match explanation::stored::report_of(storage, job, &result, display).await {
        Ok(Some(answer)) => {
            if is_text {
                answer.show();
            }
            (answer.document(), answer.exit_code())
        }
        Ok(None) => {
            if is_text {
                print_result(&result, display);
            }
            (json!(result), exit_code(&result))
        }
        Err(error) => failed(error),
    }
}

/// Prints the documents of jobs as they are, some of which have not ended.
async fn print_states(storage: &Storage, ids: &[JobId], display: &Display) -> Result<(), CliError> {
    let mut documents = Vec::new();
    for id in ids {
        let job = storage.store.jobs().get(id).await?;
        documents.push(match job.state.has_ended() {
            true => ended(storage, &job, display).await.0,
            false => {
                let waits = match by_workers(&job) {
                    true => waiting(&storage.store, &job).await?,
                    false => None,
                };
                json!({
                    "version": RESULT_VERSION,
                    "job_id": id,
                    "status": job.state,
                    "runs": job.runs,
                    "builds": job.builds,
                    "waits_for": waits.map(|waits| in_words(&waits, now())),
                })
            }
        });
    }
    let printed = match <[Value; 1]>::try_from(documents) {
        Ok([document]) => document,
        Err(documents) => json!({ "jobs": documents }),
    };
    print_result_json(&printed);
    Ok(())
}

/// The more severe exit code: a script must not take a job that failed for one without a
/// regression.
fn worse(one: u8, other: u8) -> u8 {
    const WORST_FIRST: [u8; 6] = [130, 1, 2, 4, 3, 0];
    let is_one_of = |code: &&u8| **code == one || **code == other;
    WORST_FIRST.iter().find(is_one_of).copied().unwrap_or(one)
}

async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

fn document(job: &Job) -> Value {
    match stored(job) {
        Some(result) => json!(result),
        None => without_result(Some(job.id.as_str()), false, &reason(job)),
    }
}

fn left(id: &JobId) -> CliError {
    CliError::Left {
        job: id.to_string(),
    }
}

/// The result of a job that has ended.
fn result_of(job: &Job) -> Result<JobResult, CliError> {
    stored(job).ok_or_else(|| CliError::Ended {
        job: job.id.to_string(),
        message: reason(job),
        is_canceled: job.state == JobState::Canceled,
        by_workers: by_workers(job),
    })
}

fn reason(job: &Job) -> String {
    match &job.error {
        Some(error) => error.clone(),
        None => format!("job {} is {} and has no result", job.id, job.state),
    }
}

/// Shows the events of a job until it has ended, and returns its final state.
async fn follow(storage: &Storage, id: &JobId, display: &Display) -> Result<Job, CliError> {
    let mut asks = Asks::new(display.quiet);
    let get = || async { Ok(storage.store.jobs().get(id).await?) };
    let mut job = asks.until_answered(get).await?;
    if job.state.has_ended() {
        return Ok(job);
    }
    let begin = async || Progress::begin(storage, &job, display).await;
    let mut progress = asks.until_answered(begin).await?;
    let mut looks = 0_u32;
    while !job.state.has_ended() {
        asks.until_answered(async || progress.read().await).await?;
        if looks.is_multiple_of(LOOKS) {
            let tell = async || progress.tell_waiting(storage, &job).await;
            asks.until_answered(tell).await?;
        }
        looks += 1;
        tokio::time::sleep(POLL).await;
        job = asks.until_answered(get).await?;
    }
    asks.until_answered(async || progress.read().await).await?;
    progress.reporter.finish();
    Ok(job)
}

/// Questions to the store about a job that continues whether or not it answers.
struct Asks {
    quiet: bool,
    /// The user knows that the store does not answer.
    told: bool,
}

impl Asks {
    fn new(quiet: bool) -> Self {
        Self { quiet, told: false }
    }

    /// Repeats a question while the store does not answer, and says so.
    async fn until_answered<T>(
        &mut self,
        mut ask: impl AsyncFnMut() -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        loop {
            match ask().await {
                Err(error) if error.is_away() => {
                    if !std::mem::replace(&mut self.told, true) && !self.quiet {
                        let error = with_advice(&error);
                        errln!("{error}; waiting for it, while the job may continue");
                    }
                    tokio::time::sleep(AWAY).await;
                }
                answer => {
                    if std::mem::replace(&mut self.told, false) && !self.quiet {
                        errln!("the store answers again");
                    }
                    return answer;
                }
            }
        }
    }
}

/// The progress of a job as seen here.
struct Progress {
    journal: JobJournal,
    /// Absent once the journal was rewritten.
    engine: Option<Engine<JobMachine>>,
    reporter: Reporter,
    /// The reason for waiting that was printed last.
    waits: Option<WaitingReason>,
}

impl Progress {
    async fn begin(storage: &Storage, job: &Job, display: &Display) -> Result<Self, CliError> {
        let mut journal = storage.store.journals().open(&job.id).await?;
        let mut reporter = Reporter::following(display, &job.id);
        let machine = machine_of(job, journal.is_empty().await?);
        let mut engine = machine
            .ok()
            .map(|machine| Engine::new(journal.job(), machine));
        if let Some(engine) = &mut engine {
            for record in &journal.more_records().await? {
                engine.apply(record).map_err(JobError::from)?;
            }
            reporter.watch(&DriveEvent::Replayed(engine.records()), engine);
        }
        Ok(Self {
            journal,
            engine,
            reporter,
            waits: None,
        })
    }

    /// Shows new entries of the journal.
    async fn read(&mut self) -> Result<(), CliError> {
        for record in &self.journal.more_records().await? {
            let Some(engine) = &mut self.engine else {
                return Ok(());
            };
            // A cancellation may have been withdrawn.
            let Ok(applied) = engine.apply(record) else {
                self.engine = None;
                return Ok(());
            };
            let event = DriveEvent::Recorded {
                record,
                event: applied.event.as_ref(),
                task: applied.task.as_ref(),
            };
            self.reporter.watch(&event, engine);
        }
        Ok(())
    }

    /// Prints the reason why the job waits, when that has changed.
    async fn tell_waiting(&mut self, storage: &Storage, job: &Job) -> Result<(), CliError> {
        let waits = waiting(&storage.store, job).await?;
        let before = std::mem::replace(&mut self.waits, waits);
        let is_told = match (&before, &self.waits) {
            (
                Some(WaitingReason::Silent { worker, .. }),
                Some(WaitingReason::Silent { worker: now, .. }),
            ) => worker == now,
            (before, now) => before == now,
        };
        if is_told {
            return Ok(());
        }
        let told = match &self.waits {
            None => return Ok(()),
            Some(waits) if by_workers(job) => in_words(waits, now()),
            Some(_) => format!(
                "no process is running it; continue it with `pinpoint jobs resume {}`",
                job.id
            ),
        };
        self.reporter.tell(text!("{DIM}waiting: {told}{DIM:#}"));
        Ok(())
    }
}

/// The display with the options of the commands that resume this job.
pub(crate) fn resumed_by(job: &Job, display: &Display) -> Display {
    display.resumed_with(resume_options(by_workers(job)))
}

/// Returns true if the job is one for workers.
pub(crate) fn by_workers(job: &Job) -> bool {
    JobConfig::of(job).is_ok_and(|config| config.by_workers)
}

#[cfg(test)]
mod tests {
    use pinpoint_backends::store::StoreError;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_ends_no_wait() {
        let mut attempts = 0;
        let ask = async || {
            attempts += 1;
            match attempts {
                1..30 => Err(CliError::Store(StoreError::Unreachable {
                    store: "postgres://db".into(),
                    source: pinpoint_backends::store::DatabaseError::no_connection(),
                })),
                _ => Ok(attempts),
            }
        };
        let answer = Asks::new(true).until_answered(ask).await;
        assert!(matches!(answer, Ok(30)), "{answer:?}");
        let wrong = async || Err::<(), _>(CliError::Input("no job".into()));
        let answer = Asks::new(true).until_answered(wrong).await;
        assert!(matches!(answer, Err(CliError::Input(_))), "{answer:?}");
    }

    #[test]
    fn a_failed_job_outweighs_all_that_ended() {
        for (one, other, expected) in [(3, 1, 1), (0, 3, 3), (4, 3, 4), (1, 130, 130), (0, 0, 0)] {
            assert_eq!((worse(one, other), worse(other, one)), (expected, expected));
        }
    }
}
