//! `pinpoint jobs resume`: here, or by workers.

use std::path::PathBuf;

use pinpoint_backends::job::TakenJob;
use pinpoint_backends::store::{Job, SigningKey};
use pinpoint_core::JobState;
use pinpoint_report::results::stored;

use super::trust::{self, PermissionReason};
use crate::arguments::{Display, LuciTokens, ProvisionOptions};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::new_job::say_handed_over;
use crate::job::report;
use crate::job::storage::Storage;
use crate::job::work::Session;
use crate::job::{explanation, luci, wait};

pub(super) async fn resume(
    storage: &Storage,
    job: &Job,
    file: Option<PathBuf>,
    yes: bool,
    (provisions, tokens): (ProvisionOptions, LuciTokens),
    display: &Display,
) -> Result<u8, CliError> {
    let resume_options = [provisions.words(), tokens.words()].concat();
    let provisions = provisions.open(&storage.state_dir, false)?;
    let file = file.as_deref().map(report::destination).transpose()?;
    if job.state == JobState::Completed
        && let Some(result) = stored(job)
    {
        // It was finished, perhaps just before its process was killed.
        if let Some(file) = &file {
            explanation::stored::write_report(storage, job, file, display).await?;
        }
        let code = explanation::stored::end(storage, &job.id, &result, display).await?;
        if !job.imported {
            let display = &display.resumed_with(resume_options);
            let missing = luci::report(storage, &job.id, &tokens, &result, display).await;
            return Ok(missing.unwrap_or(code));
        }
        return Ok(code);
    }
    trust::confirm_imported(&storage.store, job, yes).await?;
    let mut session = Session::take(storage, &job.id).await?;
    if let Some(file) = file {
        session.report_to(file);
    }
    session.provide(provisions, tokens.clone(), resume_options.clone());
    let result = session.run(display).await?;
    let display = &display.resumed_with(resume_options);
    let code = explanation::stored::end(storage, &job.id, &result, display).await?;
    let missing = luci::report(storage, &job.id, &tokens, &result, display).await;
    Ok(missing.unwrap_or(code))
}

/// Leaves a job to the workers of its bot, signed with this key.
pub(super) async fn hand_over(
    storage: &Storage,
    job: &Job,
    key: Option<&SigningKey>,
    yes: bool,
    display: &Display,
) -> Result<u8, CliError> {
    if job.state == JobState::Completed {
        return Err(CliError::Input(format!("job {} is finished", job.id)));
    }
    if !wait::by_workers(job) {
        return Err(CliError::Input(format!(
            "job {} was not made for workers, with --bot: resume it without --detach",
            job.id
        )));
    }
    trust::confirm_imported(&storage.store, job, yes).await?;
    if let Some(key) = key {
        let public = key.public();
        let signatures = storage.store.signatures().list(job).await?;
        if !signatures.iter().any(|it| it.fits && it.key == public) {
            if !job.imported {
                trust::ask(job, PermissionReason::Signed, yes).await?;
            }
            storage.store.signatures().sign(job, key).await?;
        }
    }
    let (owner, directory) = (storage.owner()?, storage.job_dir(&job.id));
    let taken = TakenJob::take(&storage.store, &job.id, &owner, &directory).await?;
    taken.hand_over().await?;
    say_handed_over(&job.id, display);
    Ok(FOUND)
}
