//! Telling the issue tracker and BigQuery of the result of a job.

use std::future::Future;

use pinpoint_backends::google::{Secret, TokenSource};
use pinpoint_backends::job::{JobConfig, JobError, TakenJob};
use pinpoint_backends::luci::{LuciConfig, LuciError, Reports, Subject};
use pinpoint_core::job::JobResult;

use super::job::{config_of, source_of};
use crate::arguments::{Display, LuciTokens};
use crate::error::with_advice;
use crate::job::refused;
use crate::output::errln;
use crate::storage::{Storage, resume_command};
use crate::text::ERROR;

/// The variable with the key of the issue tracker's interface.
const KEY: &str = "PINPOINT_ISSUE_TRACKER_KEY";

/// The reports that a configuration asks for.
pub(super) fn reports(config: &LuciConfig, source: &TokenSource) -> Result<Reports, LuciError> {
    // A variable that is empty is as if it were not there.
    let key = std::env::var(KEY).ok().filter(|key| !key.is_empty());
    Reports::open(config, source, key.map(Secret::new))
}

/// Makes the reports that a job in LUCI owes, which has this result. What can't be made is said,
/// with the command that makes it later: the result is none the worse.
pub(crate) async fn report(
    storage: &Storage,
    taken: &TakenJob,
    config: &JobConfig,
    tokens: &LuciTokens,
    result: &JobResult,
    interrupted: impl Future<Output = ()>,
    display: &Display,
) {
    let id = &taken.job().id;
    let said = match make(storage, taken, config, tokens, result, interrupted).await {
        Ok(made) => made,
        Err(error) => vec![Err(with_advice(&error))],
    };
    let mut are_owed = false;
    for said in said {
        match said {
            Ok(_) if display.quiet => {}
            Ok(made) => errln!("{made}"),
            Err(error) => {
                are_owed = true;
                errln!("{ERROR}error:{ERROR:#} {error}");
            }
        }
    }
    if are_owed {
        errln!(
            "to report the result again:  {}",
            resume_command(display, id.as_str())
        );
    }
}

/// What was reported, and what not and why.
async fn make(
    storage: &Storage,
    taken: &TakenJob,
    config: &JobConfig,
    tokens: &LuciTokens,
    result: &JobResult,
    interrupted: impl Future<Output = ()>,
) -> Result<Vec<Result<String, String>>, JobError> {
    let job_dir = storage.job_dir(&taken.job().id);
    let source = source_of(tokens).map_err(refused)?;
    let reports = reports(&config_of(config)?, &source).map_err(refused)?;
    if !reports.are_owed(result, &job_dir) {
        return Ok(Vec::new());
    }
    // As it is since it has its result.
    let job = storage.jobs.get(taken.job().id.as_str()).await?;
    let subject = Subject {
        bot: &job.bot,
        benchmark: &job.benchmark,
        ended: u64::try_from(job.updated).unwrap_or_default(),
    };
    let made = reports.make(result, &subject, &job_dir);
    let made = taken.follow_up(interrupted, made).await?.into_iter();
    let said = made.map(|made| match made {
        Ok(reported) => Ok(reported.to_string()),
        Err(error) => Err(with_advice(&error)),
    });
    Ok(said.collect())
}
