//! `pinpoint jobs`: lists, shows, resumes and ends jobs.

mod cancel;
mod keeping;
mod lists;
mod resume;
pub(crate) mod trust;

use std::path::PathBuf;

use pinpoint_backends::store::{Job, JobId, JobStore, ListOrder, PagePosition};
use pinpoint_core::JobState;
use serde_json::json;

use self::keeping::Which;
use crate::arguments::{Display, Jobs, Output, OutputFormat};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::storage::Storage;
use crate::job::{explanation, luci, report, wait};
use crate::show::output::{outln, print_json};

pub(crate) async fn run(command: Jobs, display: Display) -> Result<u8, CliError> {
    if let Jobs::Wait { jobs, timeout } = command {
        return wait::wait(&jobs, timeout, &display).await;
    }
    let storage = Storage::open(&display).await?;
    let store = &storage.store;
    match command {
        Jobs::Wait { .. } => unreachable!("it waits for the store, too"),
        Jobs::List {
            select,
            count: true,
            ..
        } => lists::count_jobs(store.jobs().count(&select.into()).await?, &display),
        Jobs::List {
            select,
            limit,
            after,
            before,
            count: false,
        } => {
            let place = match (after, before) {
                (Some(job), _) => PagePosition::After(job.into()),
                (None, Some(job)) => PagePosition::Before(job.into()),
                (None, None) => PagePosition::First,
            };
            let filter = select.into();
            let page = store
                .jobs()
                .list(&filter, ListOrder::default(), &place, limit)
                .await?;
            let running = page.jobs.iter().filter(|it| it.state == JobState::Running);
            let running: Vec<_> = running.map(|job| job.id.clone()).collect();
            let interrupted = storage.interrupted(&running).await?;
            lists::list(&page, &interrupted, &place, &filter, &display)
        }
        Jobs::Show {
            job,
            output: OutputFormat::LegacyJson,
        } => luci::show_legacy(&storage, &store.jobs().find(&job.parse()?).await?).await,
        Jobs::WriteBack { job, tokens } => {
            let job = store.jobs().find(&job.parse()?).await?;
            luci::write_back(&storage, &job, &tokens, &display).await
        }
        Jobs::Show { job, .. } => {
            lists::show(&storage, &store.jobs().find(&job.parse()?).await?, &display).await
        }
        Jobs::Resume {
            job,
            report,
            yes,
            detach,
            signing,
            provisions,
            tokens,
        } => {
            let job = store.jobs().find(&job.parse()?).await?;
            if detach {
                let key = signing.key()?;
                return resume::hand_over(&storage, &job, key.as_ref(), yes, &display).await;
            }
            let means = (provisions, tokens);
            resume::resume(&storage, &job, report, yes, means, &display).await
        }
        Jobs::Report { job, file } => {
            let job = store.jobs().find(&job.parse()?).await?;
            write_report(&storage, &job, file, &display).await
        }
        Jobs::Cancel { job, tokens } => {
            cancel::cancel(
                &storage,
                &store.jobs().find(&job.parse()?).await?,
                &tokens,
                &display,
            )
            .await
        }
        Jobs::Export {
            job,
            select,
            force,
            file,
        } => {
            let which = match &job[..] {
                [] => Which::Matching(Box::new(select.into())),
                jobs => Which::These(ids(store, jobs).await?),
            };
            keeping::export(store, which, file, force, &display).await
        }
        Jobs::Import { file } => keeping::import(store, &file, &display).await,
        Jobs::Purge { older_than } => keeping::purge(&storage, older_than, &display).await,
    }
}

async fn ids(store: &JobStore, jobs: &[String]) -> Result<Vec<JobId>, CliError> {
    let mut ids = Vec::new();
    for job in jobs {
        let id = store.jobs().find(&job.parse()?).await?.id;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

async fn write_report(
    storage: &Storage,
    job: &Job,
    file: Option<PathBuf>,
    display: &Display,
) -> Result<u8, CliError> {
    let file = file.unwrap_or_else(|| format!("pinpoint-{}.html", job.id).into());
    let file = report::destination(&file)?;
    explanation::stored::write_report(storage, job, &file, display).await?;
    match display.output {
        Output::Json => print_json(json!({ "job_id": job.id, "report": file })),
        Output::Text => outln!("{}", file.display()),
    }
    Ok(FOUND)
}
