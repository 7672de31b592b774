//! `pinpoint export`: runs of one commit, and their values, in tables at BigQuery.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pinpoint_backends::gitiles::RepositoryUrl;
use pinpoint_backends::google::{TokenSource, Web};
use pinpoint_backends::luci::{
    Benchmark, ExportError, ExportPlan, ExportTable, LuciConfig, LuciExecutor, LuciSettings,
};
use pinpoint_backends::store::JobId;
use pinpoint_core::Commit;
use pinpoint_core::bots::Workers;
use pinpoint_midpoint::{History as _, MidpointError};
use serde_json::json;

use super::executor::{cache_of, source_of};
use super::settings::{RECENT, settings};
use crate::arguments::{Display, Export, ExportedRuns, Output};
use crate::commands::bots;
use crate::error::{CliError, refused};
use crate::exit_code::{FAILED, FOUND};
use crate::job::storage::state_dir;
use crate::show::output::{errln, outln, print_json};

pub(crate) async fn export(command: Export, display: &Display) -> Result<u8, CliError> {
    match command {
        Export::Run {
            runs,
            commit,
            iterations,
            workflow,
            arguments,
        } => {
            let place = Place::new(&runs, arguments, display)?;
            let workflow = workflow.unwrap_or_else(|| new_workflow().to_string());
            let commit = place.commit(&commit).await?;
            let plan = ExportPlan {
                workflow: workflow.clone(),
                commit: commit.into(),
                iterations,
                bot: runs.bot.clone(),
                now: now(),
            };
            let exported = place
                .executor
                .export(&plan, &place.table(&runs.table)?)
                .await;
            let exported = exported.map_err(|error| failed(error, &workflow))?;
            for reason in &exported.not_started {
                errln!("a run was not started: {reason}");
            }
            let tasks = exported.tasks.len();
            match display.output {
                Output::Json => print_json(json!({
                    "workflow": workflow,
                    "tasks": exported.tasks,
                    "not_started": exported.not_started.len(),
                })),
                Output::Text => outln!("workflow {workflow}: {tasks} tasks in {}", runs.table),
            }
            Ok(match exported.not_started.is_empty() {
                true => FOUND,
                false => FAILED,
            })
        }
        Export::Collect {
            workflow,
            runs,
            into,
        } => {
            let place = Place::new(&runs, Vec::new(), display)?;
            let (from, to) = (place.table(&runs.table)?, place.table(&into)?);
            let collected = place.executor.collect(&workflow, &from, &to, now()).await;
            let collected = collected.map_err(|error| failed(error, &workflow))?;
            match display.output {
                Output::Json => print_json(json!({
                    "workflow": workflow,
                    "tasks": collected.tasks,
                    "failed": collected.failed,
                    "rows": collected.rows,
                })),
                Output::Text => outln!(
                    "{} rows of {} tasks in {into}; {} tasks have no values",
                    collected.rows,
                    collected.tasks,
                    collected.failed
                ),
            }
            Ok(FOUND)
        }
    }
}

/// The error, with the workflow by which a command goes on where this one ended.
fn failed(error: ExportError, workflow: &str) -> CliError {
    CliError::Input(format!("workflow {workflow}: {error}"))
}

fn new_workflow() -> JobId {
    let random = || RandomState::new().build_hasher().finish();
    JobId::at(now(), [random(), random()])
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}

/// The services, for one benchmark on one bot.
struct Place {
    executor: LuciExecutor,
    repository: RepositoryUrl,
    source: TokenSource,
    settings: LuciSettings,
}

impl Place {
    fn new(
        runs: &ExportedRuns,
        arguments: Vec<String>,
        display: &Display,
    ) -> Result<Self, CliError> {
        let all = bots::read(&runs.bot_config)?;
        let bot = all.get(&runs.bot)?;
        let wrong = |reason: &str| CliError::Input(format!("bot `{}` {reason}", bot.name));
        let Workers::Swarming(machines) = bot.workers else {
            return Err(wrong("has no Swarming server"));
        };
        let repository = bot.repository.and_then(|url| url.parse().ok());
        let repository = repository.ok_or_else(|| wrong("names no repository at Gitiles"))?;
        let benchmark = Benchmark {
            target: all.target(bot.name, &runs.benchmark)?.into(),
            name: runs.benchmark.clone(),
            story: runs.story.clone(),
            story_tags: None,
            arguments,
        };
        let settings = settings(runs.luci_config.as_deref())?;
        let config = LuciConfig {
            settings: settings.clone(),
            ..LuciConfig::new(machines.clone(), benchmark, 0)
        };
        let source = source_of(&runs.tokens)
            .map_err(|error| CliError::Input(format!("--luci-tokens: {error}")))?;
        let executor = LuciExecutor::open(config, &source, &cache_of(&state_dir(display)?))?;
        Ok(Self {
            executor,
            repository,
            source,
            settings,
        })
    }

    async fn commit(&self, name: &str) -> Result<Commit, CliError> {
        let repository = self.repository.to_string();
        let hash = match name {
            RECENT => self.executor.recent(&self.repository).await?,
            name => {
                let history = self.executor.gitiles().history(&repository);
                let found = history.map_err(MidpointError::from)?.resolve(name).await;
                found.map_err(MidpointError::from)?
            }
        };
        Ok(Commit::new(repository, hash))
    }

    fn table(&self, name: &str) -> Result<ExportTable, CliError> {
        let web = Arc::new(Web::new().map_err(refused)?);
        let address = &self.settings.addresses.bigquery;
        Ok(ExportTable::new(name, address, &self.source, web)?)
    }
}
