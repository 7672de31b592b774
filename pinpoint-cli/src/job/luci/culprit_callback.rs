//! Telling Perf of verified culprits.

use pinpoint_backends::job::{JobConfig, TakenJob};
use pinpoint_backends::luci::{ToldPerf, tell_perf, verified_culprits};
use pinpoint_backends::store::JobId;
use pinpoint_core::job::JobResult;

use super::executor::{config_of, source_of};
use crate::advice::with_advice;
use crate::arguments::{Display, LuciTokens};
use crate::error::{CliError, refused};
use crate::job::stop::Interrupt;
use crate::job::storage::Storage;
use crate::show::output::errln;
use crate::show::text::FOUND as WARNING;

/// Tells the culprit service of the culprits that passed, if the job names one. A failure is a
/// warning: the job has its result, and resuming it tries again.
pub(super) async fn after_search(
    storage: &Storage,
    id: &JobId,
    tokens: &LuciTokens,
    result: &JobResult,
    display: &Display,
) {
    match told(storage, id, tokens, result).await {
        Ok(Some(told)) if !display.quiet => errln!("{told}"),
        Ok(_) => {}
        Err(error) => {
            errln!(
                "{WARNING}warning:{WARNING:#} Perf was not told of the culprits: {}",
                with_advice(&error)
            );
            errln!("to tell it later:  {}", display.resume_command(id.as_str()));
        }
    }
}

async fn told(
    storage: &Storage,
    id: &JobId,
    tokens: &LuciTokens,
    result: &JobResult,
) -> Result<Option<ToldPerf>, CliError> {
    let job = storage.store.jobs().get(id).await?;
    let config = JobConfig::of(&job)?;
    let config = config
        .luci
        .as_ref()
        .map(|_| config_of(&config))
        .transpose()?;
    let Some(callback) = config.and_then(|config| config.culprit_callback) else {
        return Ok(None);
    };
    let job_dir = storage.job_dir(id);
    let culprits = verified_culprits(result).map_err(refused)?;
    if culprits.is_empty() || ToldPerf::read(&job_dir).issue_ids.is_some() {
        return Ok(None);
    }
    let source = source_of(tokens).map_err(refused)?;
    let interrupt = Interrupt::listen().map_err(refused)?;
    let taken = TakenJob::take(&storage.store, id, &storage.owner()?, &job_dir).await?;
    let made = tell_perf(&callback, &culprits, &source, &job_dir);
    let made = taken.follow_up(interrupt.interrupted(), made).await;
    taken.release().await;
    Ok(Some(made?.map_err(refused)?))
}
