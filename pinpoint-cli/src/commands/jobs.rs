//! `pinpoint jobs`: lists, shows, resumes and ends jobs.

mod keeping;
pub(crate) mod trust;

use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use pinpoint_backends::job::{
    self, JobConfig, JobError, TakenJob, TraceParent, Waiting, Worker, waiting,
};
use pinpoint_backends::store::{
    CancelRequest, Job, JobFilter, JobId, JobStore, LockError, Order, Page, Place, SigningKey,
    StoreError, Total,
};
use pinpoint_core::JobState;
use pinpoint_report::results::stored;
use serde_json::json;
use tokio::time::sleep;

use crate::arguments::{Display, Jobs, LuciTokens, Output, ProvisionOptions};
use crate::commands::explain;
use crate::commands::jobs::keeping::Which;
use crate::commands::jobs::trust::PermissionReason;
use crate::error::{CliError, FOUND, with_advice};
use crate::job::new_job::say_handed_over;
use crate::job::report;
use crate::job::storage::{Storage, job_command, resume_command};
use crate::job::work::{Session, in_python, shown};
use crate::job::{luci, wait};
use crate::show::job_list;
use crate::show::output::{self, errln, outln, print_json, print_short_json};
use crate::show::worker_list;

/// The time that `jobs cancel` waits for the process that works on the job: longer than
/// the lease of a process that has died.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(75);

/// The time after which a user is told why `jobs cancel` waits in LUCI.
const SAY_WAITING_AFTER: Duration = Duration::from_secs(2);

pub(crate) async fn run(command: Jobs, display: Display) -> Result<u8, CliError> {
    if let Jobs::Wait { jobs, timeout } = command {
        return wait::wait(&jobs, timeout, &display).await;
    }
    let storage = Storage::open(&display).await?;
    let store = &storage.jobs;
    match command {
        Jobs::Wait { .. } => unreachable!("it waits for the store, too"),
        Jobs::List {
            select,
            count: true,
            ..
        } => count_jobs(store.count(&select.into()).await?, &display),
        Jobs::List {
            select,
            limit,
            after,
            before,
            count: false,
        } => {
            let place = match (after, before) {
                (Some(job), _) => Place::After(job.into()),
                (None, Some(job)) => Place::Before(job.into()),
                (None, None) => Place::First,
            };
            let filter = select.into();
            let page = store.list(&filter, Order::default(), &place, limit).await?;
            let running = page.jobs.iter().filter(|it| it.state == JobState::Running);
            let running: Vec<_> = running.map(|job| job.id.clone()).collect();
            let interrupted = storage.interrupted(&running).await?;
            list(&page, &interrupted, &place, &filter, &display)
        }
        Jobs::Show { job } => show(&storage, &store.get(&job).await?, &display).await,
        Jobs::Resume {
            job,
            report,
            yes,
            detach,
            signing,
            provisions,
            tokens,
        } => {
            let job = store.get(&job).await?;
            if detach {
                let key = signing.key()?;
                return hand_over(&storage, &job, key.as_ref(), yes, &display).await;
            }
            let means = (provisions, tokens);
            resume(&storage, &job, report, yes, means, &display).await
        }
        Jobs::Report { job, file } => {
            let job = store.get(&job).await?;
            write_report(&storage, &job, file, &display).await
        }
        Jobs::Cancel { job, tokens } => {
            cancel(&storage, &store.get(&job).await?, &tokens, &display).await
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
        let id = store.get(job).await?.id;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn count_jobs(total: Total, display: &Display) -> Result<u8, CliError> {
    let (jobs, more) = match total {
        Total::Exactly(jobs) => (jobs, false),
        Total::MoreThan(jobs) => (jobs, true),
    };
    match display.output {
        Output::Json => print_json(json!({ "jobs": jobs, "more": more })),
        Output::Text if more => outln!("more than {jobs}"),
        Output::Text => outln!("{jobs}"),
    }
    Ok(FOUND)
}

fn list(
    page: &Page,
    interrupted: &[JobId],
    place: &Place,
    filter: &JobFilter,
    display: &Display,
) -> Result<u8, CliError> {
    if display.output == Output::Json {
        let jobs = page.jobs.iter().map(|job| {
            let mut document = json!(job);
            if interrupted.contains(&job.id) {
                document["interrupted"] = json!(true);
            }
            document
        });
        let jobs: Vec<_> = jobs.collect();
        print_json(json!({ "jobs": jobs, "more": page.more }));
        return Ok(FOUND);
    }
    output::print(format_args!("{}", job_list::render(page, interrupted)));
    if let Some(note) = job_list::note(page, place, filter) {
        errln!("{note}");
    }
    if let Some(job) = interrupted.first() {
        errln!(
            "interrupted: no process is running it anymore; continue with:  {}",
            job_command(display, "resume", job.as_str())
        );
    }
    Ok(FOUND)
}

async fn show(storage: &Storage, job: &Job, display: &Display) -> Result<u8, CliError> {
    let display = &wait::resumed_by(job, display);
    let waits = match wait::by_workers(job) {
        true => waiting(&storage.jobs, job).await?,
        false => None,
    };
    let is_error = matches!(&waits, Some(Waiting::Stuck { .. })) && job.state == JobState::Pending;
    let waits = waits.map(|waits| worker_list::in_words(&waits, worker_list::now()));
    let workers = storage.jobs.workers().await?;
    let holder = (workers.iter())
        .find(|worker| worker.job.as_ref() == Some(&job.id) && worker.holds.is_some());
    let signatures = storage.jobs.signatures(job).await?;
    let is_interrupted = job.state == JobState::Running
        && !(storage.interrupted(std::slice::from_ref(&job.id)).await?).is_empty();
    if display.output == Output::Json {
        let mut document = shown(job);
        document["interrupted"] = json!(is_interrupted);
        document["waits_for"] = json!(waits);
        document["signatures"] = json!(signatures);
        document["trace_id"] = json!(TraceParent::of(job).trace_id());
        document["held_by"] = json!(holder.map(|worker| &worker.name));
        document["held_for_s"] = json!(holder.and_then(|worker| worker.holds));
        match explain::job::document(storage, job, display).await {
            Ok(Some(explanation)) => document["explanation"] = explanation,
            Ok(None) => {}
            Err(error) => document["explanation"] = json!({ "error": with_advice(&error) }),
        }
        print_short_json(&document);
        return Ok(FOUND);
    }
    output::print(format_args!("{}", job_list::about(job, is_interrupted)));
    for signature in &signatures {
        match signature.fits {
            true => outln!("signed with {}", signature.key),
            false => outln!("not as it was when it was signed with {}", signature.key),
        }
    }
    if let (Some(worker), None) = (holder, &waits) {
        outln!(
            "worker {} has it; if that dies, another may take it in {} s",
            worker.name,
            worker.holds.unwrap_or_default()
        );
    }
    // Unless it was just shown as the error.
    if let Some(waits) = waits.filter(|_| !is_error) {
        outln!("waiting: {waits}");
    }
    match stored(job) {
        Some(result) => {
            explain::job::end(storage, &job.id, &result, display).await?;
        }
        None if job.state == JobState::Completed => {
            outln!("its result was stored by an earlier version and can't be shown");
        }
        None if wait::by_workers(job)
            && matches!(job.state, JobState::Pending | JobState::Running) =>
        {
            outln!(
                "follow with:  {}",
                job_command(display, "wait", job.id.as_str())
            );
        }
        None => match in_python(job) {
            Some(hint) => outln!("resume in Python with:  {hint}"),
            None => outln!("resume with:  {}", resume_command(display, job.id.as_str())),
        },
    }
    Ok(FOUND)
}

async fn resume(
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
            explain::job::write_report(storage, job, file, display).await?;
        }
        let code = explain::job::end(storage, &job.id, &result, display).await?;
        if !job.imported {
            let display = &Display {
                resume_options,
                ..display.clone()
            };
            let missing = luci::report(storage, &job.id, &tokens, &result, display).await;
            return Ok(missing.unwrap_or(code));
        }
        return Ok(code);
    }
    if job.imported {
        trust::ask(job, PermissionReason::Imported, yes).await?;
        storage.jobs.trust(&job.id).await?;
    }
    let mut session = Session::take(storage, &job.id).await?;
    if let Some(file) = file {
        session.report_to(file);
    }
    session.provide(provisions, tokens.clone(), resume_options.clone());
    let result = session.run(display).await?;
    let display = &Display {
        resume_options,
        ..display.clone()
    };
    let code = explain::job::end(storage, &job.id, &result, display).await?;
    let missing = luci::report(storage, &job.id, &tokens, &result, display).await;
    Ok(missing.unwrap_or(code))
}

/// Leaves a job to the workers of its bot, signed with this key.
async fn hand_over(
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
    if job.imported {
        trust::ask(job, PermissionReason::Imported, yes).await?;
        storage.jobs.trust(&job.id).await?;
    }
    if let Some(key) = key {
        let public = key.public();
        let signatures = storage.jobs.signatures(job).await?;
        if !signatures.iter().any(|it| it.fits && it.key == public) {
            if !job.imported {
                trust::ask(job, PermissionReason::Signed, yes).await?;
            }
            storage.jobs.sign(job, key).await?;
        }
    }
    let (owner, directory) = (storage.owner()?, storage.job_dir(&job.id));
    let taken = TakenJob::take(&storage.jobs, &job.id, &owner, &directory).await?;
    taken.hand_over().await?;
    say_handed_over(&job.id, display);
    Ok(FOUND)
}

async fn write_report(
    storage: &Storage,
    job: &Job,
    file: Option<PathBuf>,
    display: &Display,
) -> Result<u8, CliError> {
    let file = file.unwrap_or_else(|| format!("pinpoint-{}.html", job.id).into());
    let file = report::destination(&file)?;
    explain::job::write_report(storage, job, &file, display).await?;
    match display.output {
        Output::Json => print_json(json!({ "job_id": job.id, "report": file })),
        Output::Text => outln!("{}", file.display()),
    }
    Ok(FOUND)
}

async fn cancel(
    storage: &Storage,
    job: &Job,
    tokens: &LuciTokens,
    display: &Display,
) -> Result<u8, CliError> {
    let over = |state: &str| CliError::Input(format!("job {} is {state}", job.id));
    match job.state {
        JobState::Completed => return Err(over("finished")),
        JobState::Canceled => return Err(over("canceled already")),
        JobState::Pending | JobState::Running | JobState::Failed => {}
    }
    let (owner, directory) = (storage.owner()?, &storage.state_dir);
    let say_waits = |error: &JobError| match error {
        _ if display.quiet => {}
        JobError::Store(StoreError::Leased { owner, seconds, .. }) => errln!(
            "waiting for {owner}, which has the job, to end it; if that is dead, for {seconds} s"
        ),
        _ => errln!("waiting for the process of this machine that has the job to end it"),
    };
    let request = CancelRequest {
        by: whoami::username().unwrap_or_default(),
        ..CancelRequest::default()
    };
    let (jobs, id) = (&storage.jobs, &job.id);
    let config = JobConfig::of(job);
    let executor = match &config {
        // The addresses of an imported job get no token of a user who has not confirmed them.
        Ok(config) if config.luci.is_some() && !job.imported => {
            Some(luci::open(config, tokens, directory, None)?)
        }
        _ => None,
    };
    let worker = executor.as_ref().map(|executor| Worker {
        executor: &**executor,
        source: &**executor,
    });
    let ended = job::cancel(
        jobs,
        id,
        &owner,
        directory,
        CANCEL_TIMEOUT,
        &request,
        worker,
        say_waits,
    );
    let say_luci = async {
        sleep(SAY_WAITING_AFTER).await;
        if worker.is_some() && !display.quiet {
            errln!("waiting for the builds and tasks of the job in LUCI to end");
        }
        pending().await
    };
    let ended = tokio::select! {
        ended = ended => ended,
        never = say_luci => never,
    };
    let ended = ended.map_err(|error| {
        let holder = match error {
            JobError::Locked(LockError::Held { pid: Some(pid) }) => format!("process {pid}"),
            JobError::Locked(LockError::Held { pid: None }) => "a process of this machine".into(),
            JobError::Store(StoreError::Leased { owner, .. }) => owner,
            error => return error.into(),
        };
        CliError::StillHeld {
            job: job.id.to_string(),
            holder,
        }
    })?;
    // The file of an imported job is whatever its author wrote.
    if !job.imported
        && let Ok(Some(file)) = config.map(|config| config.report)
        && let Err(error) = report::write(storage, &job.id, &file).await
    {
        report::say_unwritten(&error, &job.id);
    }
    match ended {
        JobState::Canceled => say_canceled(&wait::resumed_by(job, display), job),
        _ => Err(over("finished")),
    }
}

fn say_canceled(display: &Display, job: &Job) -> Result<u8, CliError> {
    let id = job.id.as_str();
    match display.output {
        Output::Json => print_json(json!({ "job_id": id, "status": "canceled" })),
        Output::Text => outln!(
            "job {id} was canceled; to resume it anyway:  {}",
            in_python(job).unwrap_or_else(|| resume_command(display, id))
        ),
    }
    Ok(FOUND)
}
