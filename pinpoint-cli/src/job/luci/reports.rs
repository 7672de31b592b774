//! Reporting the result of a job to the issue tracker and BigQuery.

use pinpoint_backends::google::{Secret, TokenSource};
use pinpoint_backends::issue_tracker::IssueTracker;
use pinpoint_backends::job::{JobConfig, JobError, TakenJob};
use pinpoint_backends::luci::{LuciConfig, ReportSubject, Reports};
use pinpoint_backends::store::{JobId, LockError, StoreError};
use pinpoint_core::job::JobResult;

use super::executor::{config_of, source_of};
use crate::advice::with_advice;
use crate::arguments::{Display, LuciTokens};
use crate::error::{CliError, refused};
use crate::exit_code::{INTERRUPTED, NOT_REPORTED};
use crate::job::stop::Interrupt;
use crate::job::storage::Storage;
use crate::show::output::errln;
use crate::show::text::ERROR;

/// The variable with the API key for the issue tracker.
const KEY: &str = "PINPOINT_ISSUE_TRACKER_KEY";

/// The reports that a configuration asks for.
///
/// # Errors
///
/// When they can't be made for a reason known before a service is asked.
pub(super) fn reports(config: &LuciConfig, source: &TokenSource) -> Result<Reports, CliError> {
    let key = match config.issue {
        Some(_) => key()?,
        None => None,
    };
    let is_google = config.settings.addresses.issue_tracker == IssueTracker::GOOGLE;
    if let (Some(issue), None, true) = (config.issue, &key, is_google) {
        return Err(CliError::Input(format!(
            "can't comment on issue {issue} without an API key: set {KEY}"
        )));
    }
    Ok(Reports::open(config, source, key)?)
}

/// The key. An empty variable counts as unset.
fn key() -> Result<Option<Secret>, CliError> {
    let key = std::env::var_os(KEY).unwrap_or_default();
    let key = key.to_str().map(str::trim);
    match key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic())) {
        Some("") => Ok(None),
        Some(key) => Ok(Some(Secret::new(key))),
        None => Err(CliError::Input(format!(
            "{KEY} is not a valid API key: it has a space, or a character that is not ASCII"
        ))),
    }
}

/// Makes the reports that a job in LUCI owes, which has this result. Failures are printed with the
/// command that makes the report later: the job still has its result. Returns the exit code then.
pub(crate) async fn report(
    storage: &Storage,
    id: &JobId,
    tokens: &LuciTokens,
    result: &JobResult,
    display: &Display,
) -> Option<u8> {
    super::write_back::after_search(storage, id, tokens, display).await;
    super::culprit_callback::after_search(storage, id, tokens, result, display).await;
    let made = make(storage, id, tokens, result).await;
    let is_interrupted = matches!(made, Err(CliError::Job(JobError::Interrupted)));
    let made = made.unwrap_or_else(|error| vec![Err(with_advice(&error))]);
    let is_missing = made.iter().any(Result::is_err);
    for made in made {
        match made {
            Ok(_) if display.quiet => {}
            Ok(made) => errln!("{made}"),
            Err(error) => errln!("{ERROR}error:{ERROR:#} {error}"),
        }
    }
    if is_missing {
        errln!(
            "to make the missing report:  {}",
            display.resume_command(id.as_str())
        );
    }
    is_missing.then_some(match is_interrupted {
        true => INTERRUPTED,
        false => NOT_REPORTED,
    })
}

/// The reports that were made, and the failures with their reasons.
async fn make(
    storage: &Storage,
    id: &JobId,
    tokens: &LuciTokens,
    result: &JobResult,
) -> Result<Vec<Result<String, String>>, CliError> {
    let job = storage.store.jobs().get(id).await?;
    let config = JobConfig::of(&job).ok();
    let Some(config) = config.filter(|config| config.luci.is_some()) else {
        return Ok(Vec::new());
    };
    let (config, job_dir) = (config_of(&config)?, storage.job_dir(id));
    if !Reports::are_owed(&config, result, &job_dir) {
        return Ok(Vec::new());
    }
    let source = source_of(tokens).map_err(refused)?;
    let reports = reports(&config, &source)?;
    let interrupt = Interrupt::listen().map_err(refused)?;
    let taken = TakenJob::take(&storage.store, id, &storage.owner()?, &job_dir).await;
    let taken = taken.map_err(without_cancel)?;
    let subject = ReportSubject {
        bot: &job.bot,
        benchmark: &job.benchmark,
        ended: u64::try_from(job.updated).unwrap_or_default(),
    };
    let made = reports.make(result, &subject, &job_dir);
    let made = taken.follow_up(interrupt.interrupted(), made).await;
    taken.release().await;
    let said = made?.into_iter().map(|made| match made {
        Ok(reported) => Ok(reported.to_string()),
        Err(error) => Err(with_advice(&error)),
    });
    Ok(said.collect())
}

/// Removes advice to cancel a job that is finished.
fn without_cancel(error: JobError) -> CliError {
    match error {
        JobError::Store(StoreError::Leased { seconds, .. }) => CliError::Input(format!(
            "another process has the job; resume again in {seconds} s"
        )),
        JobError::Locked(LockError::Held { .. }) => {
            CliError::Input("another process has the job; resume again when it has ended".into())
        }
        error => error.into(),
    }
}
