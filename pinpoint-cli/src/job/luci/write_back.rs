//! Writing a job back to Catapult's database.

use pinpoint_backends::google::TokenSource;
use pinpoint_backends::job::{JobConfig, TakenJob};
use pinpoint_backends::luci::{LuciConfig, WriteBack, WriteBackError, WrittenBack, write_back};
use pinpoint_backends::store::{Job, JobId};
use pinpoint_core::JobState;
use pinpoint_core::api::{MissingInBody, write_back_body};
use pinpoint_report::results::stored;
use serde_json::json;

use super::executor::{config_of, source_of};
use super::legacy::legacy_job;
use crate::advice::with_advice;
use crate::arguments::{Display, LuciTokens, Output};
use crate::error::{CliError, refused};
use crate::exit_code::FOUND;
use crate::job::stop::Interrupt;
use crate::job::storage::Storage;
use crate::show::output::{errln, outln, print_json};
use crate::show::text::FOUND as WARNING;

/// Writes a finished search back, if it asks for that. A failure is a warning: the job has its
/// result, and is written later.
pub(super) async fn after_search(
    storage: &Storage,
    id: &JobId,
    tokens: &LuciTokens,
    display: &Display,
) {
    let written = async {
        let job = storage.store.jobs().get(id).await?;
        match owed(storage, &job)? {
            Some((config, to)) => written(storage, &job, &config, to, tokens).await.map(Some),
            None => Ok(None),
        }
    };
    match written.await {
        Ok(Some(written)) if !display.quiet => errln!("{}", said(&written)),
        Ok(_) => {}
        Err(error) => {
            errln!(
                "{WARNING}warning:{WARNING:#} the job was not written back: {}",
                with_advice(&error)
            );
            errln!(
                "to write it later:  {}",
                display.job_command("write-back", id.as_str())
            );
        }
    }
}

/// `pinpoint jobs write-back`.
pub(crate) async fn again(
    storage: &Storage,
    job: &Job,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<u8, CliError> {
    let wrong = |reason: &str| CliError::Input(format!("job {} {reason}", job.id));
    let config = JobConfig::of(job)?;
    let config = config.luci.as_ref().map(|_| config_of(&config));
    let config = config.transpose()?;
    let Some((config, to)) = config
        .and_then(|it| Some((it.write_back?, it)))
        .map(|(to, it)| (it, to))
    else {
        return Err(wrong(
            "was made without --write-back, so that there is no place to write it to",
        ));
    };
    if job.state != JobState::Completed || stored(job).is_none() {
        return Err(wrong(
            "has no result yet: it is written back when it has one",
        ));
    }
    let known = WrittenBack::read(&storage.job_dir(&job.id)).filter(|it| it.to == to);
    let written = match known {
        Some(written) => written,
        None => written(storage, job, &config, to, tokens).await?,
    };
    match display.output {
        Output::Json => print_json(json!({ "job_id": job.id, "to": written.to, "id": written.id })),
        Output::Text => outln!("{}", said(&written)),
    }
    Ok(FOUND)
}

fn said(written: &WrittenBack) -> String {
    format!("the job is in {} as {}", written.to, written.id)
}

/// The configuration of a finished search that is still to be written back.
fn owed(storage: &Storage, job: &Job) -> Result<Option<(LuciConfig, WriteBack)>, CliError> {
    let config = JobConfig::of(job)?;
    if config.luci.is_none() || job.state != JobState::Completed {
        return Ok(None);
    }
    let config = config_of(&config)?;
    let known = WrittenBack::read(&storage.job_dir(&job.id));
    let to = { config.write_back }.filter(|to| known.is_none_or(|known| known.to != *to));
    Ok(to.map(|to| (config, to)))
}

/// Writes the job. Two processes must not do that at once.
async fn written(
    storage: &Storage,
    job: &Job,
    config: &LuciConfig,
    to: WriteBack,
    tokens: &LuciTokens,
) -> Result<WrittenBack, CliError> {
    let source: TokenSource = source_of(tokens).map_err(refused)?;
    let body = write_back_body(&legacy_job(storage, job, &source).await?);
    let body = body.map_err(|MissingInBody(field)| {
        CliError::Input(format!(
            "Catapult stores no job without `{field}`, which job {} lacks",
            job.id
        ))
    })?;
    let interrupt = Interrupt::listen().map_err(refused)?;
    let job_dir = storage.job_dir(&job.id);
    let taken = TakenJob::take(&storage.store, &job.id, &storage.owner()?, &job_dir).await?;
    let made = write_back(config, to, &source, &body, &job_dir);
    let made = taken.follow_up(interrupt.interrupted(), made).await;
    taken.release().await;
    made?.map_err(|error: WriteBackError| refused(error).into())
}
