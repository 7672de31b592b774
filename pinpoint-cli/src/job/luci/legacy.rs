//! A job in the form of the API that Chromium's Pinpoint replaced.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use pinpoint_backends::google::TokenSource;
use pinpoint_backends::job::{JobConfig, LegacyContext, legacy_response, machine_of};
use pinpoint_backends::luci::{LuciConfig, LuciExecutor};
use pinpoint_backends::store::Job;
use pinpoint_core::api::{LegacyJobResponse, runs_of};
use pinpoint_core::{Answers, Commit, Journal as _};
use serde_json::json;

use super::executor::{cache_of, config_of};
use crate::advice::with_advice;
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::job::storage::{Storage, host};
use crate::show::output::{errln, print_json};
use crate::show::text::FOUND as WARNING;

/// The messages of commits, by repository and hash.
type Messages = BTreeMap<(String, String), String>;

/// Prints a job in JSON. Public repositories need no token.
pub(crate) async fn show_legacy(storage: &Storage, job: &Job) -> Result<u8, CliError> {
    let shown = legacy_job(storage, job, &TokenSource::None).await?;
    print_json(json!(shown));
    Ok(FOUND)
}

/// The job, with the messages of its commits where they can be read with these tokens.
pub(super) async fn legacy_job(
    storage: &Storage,
    job: &Job,
    source: &TokenSource,
) -> Result<LegacyJobResponse, CliError> {
    let mut journal = storage.store.journals().open(&job.id).await?;
    let records = journal.records().await?;
    let answers = Answers::of(journal.job(), machine_of(job, records.is_empty())?, records);
    let config = JobConfig::of(job)?;
    let luci = match &config.luci {
        Some(_) => Some(config_of(&config)?),
        None => None,
    };
    let messages = match &luci {
        Some(luci) => messages(storage, luci, source, &answers).await,
        None => Messages::new(),
    };
    let page = luci
        .as_ref()
        .and_then(|it| it.settings.reports.page.as_ref());
    let page = page.map_or_else(String::new, |page| page.replace("{job}", job.id.as_str()));
    let target = luci.as_ref().map_or("", |luci| &luci.benchmark.target);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let context = LegacyContext {
        target,
        host: &host(),
        status: job.state.as_str(),
        now: now.map_or(0, |now| now.as_millis() as i64),
        page: &page,
        message: &|commit: &Commit| {
            let key = (commit.repository.clone(), commit.git_hash.clone());
            messages.get(&key).cloned()
        },
    };
    Ok(legacy_response(job, &answers, &context)?)
}

/// The messages of all commits that were run. One that can't be read is missing, with a warning.
async fn messages(
    storage: &Storage,
    config: &LuciConfig,
    source: &TokenSource,
    answers: &Answers,
) -> Messages {
    let names = answers.engine.names();
    let runs = answers.answers.iter().flat_map(runs_of);
    let states = runs.filter_map(|run| names.commit(run.commit));
    let commits = states.flat_map(|state| {
        let held = state.modified_deps.iter().map(|held| &held.commit);
        std::iter::once(&state.main).chain(held)
    });
    let commits = commits.filter(|commit| !commit.git_hash.is_empty());
    let wanted = commits.map(|commit| (commit.repository.clone(), commit.git_hash.clone()));
    let wanted: std::collections::BTreeSet<_> = wanted.collect();
    let mut found = Messages::new();
    let executor = LuciExecutor::open(config.clone(), source, &cache_of(&storage.state_dir));
    let executor = match executor {
        Ok(executor) => executor,
        Err(error) => {
            warn(&error);
            return found;
        }
    };
    for (repository, hash) in wanted {
        let message = async {
            let history = executor.gitiles().history(&repository)?;
            Ok::<_, pinpoint_midpoint::HistoryError>(history.commit(&hash).await?.message.clone())
        };
        match message.await {
            Ok(message) => drop(found.insert((repository, hash), message)),
            Err(error) => {
                // The others are at the same service.
                warn(&error);
                break;
            }
        }
    }
    found
}

fn warn(error: &(dyn std::error::Error + 'static)) {
    errln!(
        "{WARNING}warning:{WARNING:#} the messages of commits are left out: {}",
        with_advice(error)
    );
}
