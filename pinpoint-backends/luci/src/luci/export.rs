//! Runs of one commit whose values go to a table at BigQuery.
//!
//! The first half makes one build, starts the tasks, and writes a row for each. The second half
//! reads these rows, some hours later perhaps, waits for the tasks, and writes the values of each.
//! Both may be done again: tasks are found by their keys, and rows by their ids.

use std::sync::Arc;

use pinpoint_core::{
    Artifact, BuildReport, BuildRequest, Charts, CombinedCommit, Executor, ExecutorError,
    Heartbeat, Key, Located, Report, Request, RunRequest, Variant,
};
use serde::{Deserialize, Serialize};

use super::error::LuciError;
use super::executor::{LuciExecutor, key_of};
use super::handle::Handle;
use super::table::{NamedTable, no_table};
use crate::bigquery::{BigQuery, BigQueryError, Timestamp};
use crate::google::{TokenSource, Tokens, Transport, scope, timestamp};
use crate::swarming::{CasReference, TaskResult, TaskState, build_tag};

/// The columns of the table, for an error.
const COLUMNS: &str = "create_time TIMESTAMP, workflow_id, bot, swarming_task_id, benchmark, \
                       story, chart STRING, sample_values FLOAT REPEATED, task_failed and \
                       pgo_enabled BOOLEAN";

/// A row of the table: a task that was started, or its values of one chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExportRow {
    /// The time of the call that wrote it.
    pub create_time: Option<Timestamp>,
    /// The workflow that the task belongs to.
    pub workflow_id: Option<String>,
    /// The bot, by the name of its configuration.
    pub bot: Option<String>,
    /// The task.
    pub swarming_task_id: Option<String>,
    /// The benchmark.
    pub benchmark: Option<String>,
    /// The story.
    pub story: Option<String>,
    /// The chart; absent for a task without values.
    pub chart: Option<String>,
    /// Its values.
    pub sample_values: Vec<f64>,
    /// The task left no values.
    pub task_failed: Option<bool>,
    /// The browser was optimized by profiles.
    pub pgo_enabled: Option<bool>,
}

/// The runs of one commit.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportPlan {
    /// The id of the workflow: the same one is the same runs.
    pub workflow: String,
    /// The commit.
    pub commit: CombinedCommit,
    /// The number of runs.
    pub iterations: u32,
    /// The bot, by the name of its configuration.
    pub bot: String,
    /// The time of the call, in milliseconds since 1970.
    pub now: u64,
}

/// The runs that were started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// The tasks.
    pub tasks: Vec<String>,
    /// The reasons why others could not be started. They have no rows.
    pub not_started: Vec<String>,
}

/// The values that were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// The tasks of the workflow.
    pub tasks: usize,
    /// Those without values.
    pub failed: usize,
    /// The rows: one for each task and chart, and for each task without values.
    pub rows: usize,
}

/// Runs or values were not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The commit does not build.
    #[error("the commit does not build: {0}")]
    Build(String),
    /// The workflow has runs of another build.
    #[error("workflow {0} has runs of another build; begin another workflow for this commit")]
    OtherBuild(String),
    /// The build or the tasks can't be asked for.
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    /// A task can't be asked for, or its values.
    #[error(transparent)]
    Luci(#[from] Box<LuciError>),
    /// The table can't be read or written.
    #[error(
        "can't use the table {table}: {source}; its columns must be {COLUMNS}; a table that does not exist is made"
    )]
    Table {
        /// The table.
        table: String,
        /// The cause.
        source: BigQueryError,
    },
    /// The table has no such workflow.
    #[error("{table} has no tasks of workflow {workflow}; name the table that `run` wrote them to")]
    NoTasks {
        /// The table.
        table: String,
        /// The workflow.
        workflow: String,
    },
}

/// A table that runs or values are written to.
pub struct ExportTable(NamedTable);

impl ExportTable {
    /// The table of the name `PROJECT.DATASET.TABLE`, at this address of BigQuery.
    ///
    /// # Errors
    ///
    /// When the name or the address is invalid.
    pub fn new(
        name: &str,
        address: &str,
        source: &TokenSource,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, LuciError> {
        let tokens = Tokens::new(source.clone(), &[scope::CLOUD_PLATFORM], transport.clone());
        let service = BigQuery::new(address, tokens, transport)?;
        NamedTable::new(service, name)
            .map(Self)
            .ok_or_else(|| no_table(name))
    }

    fn failed(&self, source: BigQueryError) -> ExportError {
        ExportError::Table {
            table: self.0.whole_name(),
            source,
        }
    }

    async fn insert(&self, rows: Vec<ExportRow>) -> Result<(), ExportError> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let with_id = |row: ExportRow| {
            let parts = [&row.workflow_id, &row.swarming_task_id, &row.chart].map(text);
            (parts.join("/"), row)
        };
        let rows: Vec<(String, ExportRow)> = rows.into_iter().map(with_id).collect();
        let inserted = self.0.insert(&rows).await;
        inserted.map_err(|error| self.failed(error))
    }

    /// The tasks of a workflow, each once.
    async fn tasks(&self, workflow: &str) -> Result<Vec<TaskRow>, ExportError> {
        let columns = "workflow_id, bot, swarming_task_id, benchmark, story, pgo_enabled";
        let rows = self
            .0
            .rows(columns, ("workflow_id", "workflowId"), workflow);
        let mut rows: Vec<TaskRow> = rows.await.map_err(|error| self.failed(error))?;
        rows.retain(|row| {
            !row.swarming_task_id
                .as_deref()
                .unwrap_or_default()
                .is_empty()
        });
        rows.sort_by(|one, other| one.swarming_task_id.cmp(&other.swarming_task_id));
        rows.dedup_by(|one, other| one.swarming_task_id == other.swarming_task_id);
        match rows.is_empty() {
            true => Err(ExportError::NoTasks {
                table: self.0.whole_name(),
                workflow: workflow.into(),
            }),
            false => Ok(rows),
        }
    }
}

/// A task that was started, as it is read.
#[derive(Debug, Clone, Deserialize)]
struct TaskRow {
    workflow_id: Option<String>,
    bot: Option<String>,
    swarming_task_id: Option<String>,
    benchmark: Option<String>,
    story: Option<String>,
    pgo_enabled: Option<bool>,
}

impl TaskRow {
    fn row(&self, create_time: &Timestamp) -> ExportRow {
        ExportRow {
            create_time: Some(create_time.clone()),
            workflow_id: self.workflow_id.clone(),
            bot: self.bot.clone(),
            swarming_task_id: self.swarming_task_id.clone(),
            benchmark: self.benchmark.clone(),
            story: self.story.clone(),
            chart: None,
            sample_values: Vec::new(),
            task_failed: Some(false),
            pgo_enabled: self.pgo_enabled,
        }
    }
}

impl LuciExecutor {
    /// Makes one build, starts the tasks, and writes a row for each.
    ///
    /// # Errors
    ///
    /// When the commit does not build, or a service cannot be asked. The same plan goes on where it
    /// ended.
    pub async fn export(
        &self,
        plan: &ExportPlan,
        table: &ExportTable,
    ) -> Result<Exported, ExportError> {
        let key = |action| Key {
            job: plan.workflow.clone(),
            action,
        };
        let revision = &plan.commit.main.git_hash;
        let request = Request::Build(BuildRequest {
            // Another commit is another build.
            key: Key {
                job: format!("{}-{revision}", plan.workflow),
                action: 0,
            },
            commit: Located::Commit(plan.commit.clone()),
        });
        let ticket = self.start(&request).await?;
        let heartbeat = Heartbeat::default();
        let Report::Built(BuildReport {
            artifact, failure, ..
        }) = self.wait(&request, &ticket, &heartbeat).await?
        else {
            return Err(ExecutorError::Lost.into());
        };
        if let Some(reason) = failure {
            return Err(ExportError::Build(reason));
        }
        let Some(Artifact::Digest(digest)) = &artifact else {
            return Err(ExecutorError::Lost.into());
        };
        let digest = digest.parse::<CasReference>();
        let tag = digest.map(|digest| build_tag(&digest));
        let first = self.tasks_of(&key_of(&key(1))).await.map_err(Box::new)?;
        // Rows do not say which commit they are of.
        let is_of_build = |task: &TaskResult| tag.as_ref().is_ok_and(|it| task.tags.contains(it));
        if !first.iter().all(is_of_build) {
            return Err(ExportError::OtherBuild(plan.workflow.clone()));
        }
        let mut exported = Exported::default();
        for index in 0..plan.iterations {
            let request = RunRequest {
                key: key(u64::from(index) + 1),
                variant: Variant {
                    artifact: artifact.clone(),
                    ..Variant::from(plan.commit.clone())
                },
                index,
                bot: None,
                charts: Charts::All,
                metric: None,
            };
            match self.start_run(&request).await {
                Ok(Handle::Task(task)) => exported.tasks.push(task),
                Ok(_) => exported.not_started.push("its build is gone".into()),
                Err(error) => exported.not_started.push(error.to_string()),
            }
        }
        let benchmark = &self.config.benchmark;
        let time = Timestamp(timestamp(plan.now));
        let row = |task: &String| TaskRow {
            workflow_id: Some(plan.workflow.clone()),
            bot: Some(plan.bot.clone()),
            swarming_task_id: Some(task.clone()),
            benchmark: Some(benchmark.name.clone()),
            story: benchmark.story.clone(),
            pgo_enabled: Some(plan.bot.ends_with("-pgo")),
        };
        let rows = exported.tasks.iter().map(|task| row(task).row(&time));
        table.insert(rows.collect()).await?;
        Ok(exported)
    }

    /// Waits for the tasks of a workflow, and writes a row for each task and chart, or one for a
    /// task without values.
    ///
    /// # Errors
    ///
    /// When the workflow has no tasks, or a service cannot be asked. Nothing is written before all
    /// tasks have ended.
    pub async fn collect(
        &self,
        workflow: &str,
        from: &ExportTable,
        into: &ExportTable,
        now: u64,
    ) -> Result<Collected, ExportError> {
        let tasks = from.tasks(workflow).await?;
        let time = Timestamp(timestamp(now));
        let mut collected = Collected {
            tasks: tasks.len(),
            ..Collected::default()
        };
        let mut rows = Vec::new();
        for task in &tasks {
            let found = self.rows_of(task, &time).await.map_err(Box::new)?;
            collected.failed += found
                .iter()
                .filter(|it| it.task_failed == Some(true))
                .count();
            rows.extend(found);
        }
        collected.rows = rows.len();
        into.insert(rows).await?;
        Ok(collected)
    }

    async fn rows_of(&self, row: &TaskRow, time: &Timestamp) -> Result<Vec<ExportRow>, LuciError> {
        let row = row.row(time);
        let id = row.swarming_task_id.clone().unwrap_or_default();
        let swarming = &self.services.swarming;
        let ended = self.poll.ended(swarming, &id, &Heartbeat::default()).await;
        let charts = match ended {
            // Swarming has forgotten it.
            Err(LuciError::Lost) => None,
            ended => self.values_of(&ended?).await?,
        };
        let Some(charts) = charts.filter(|charts| !charts.is_empty()) else {
            let failed = ExportRow {
                task_failed: Some(true),
                ..row
            };
            return Ok(vec![failed]);
        };
        let rows = charts.into_iter().map(|(chart, sample_values)| ExportRow {
            chart: Some(chart),
            sample_values,
            ..row.clone()
        });
        Ok(rows.collect())
    }

    /// The values of a task that ended, by chart.
    async fn values_of(
        &self,
        task: &TaskResult,
    ) -> Result<Option<Vec<(String, Vec<f64>)>>, LuciError> {
        if task.state != TaskState::Completed {
            return Ok(None);
        }
        let charts = self.charts_of(task).await?.ok();
        let values = charts.map(|charts| {
            let charts = charts.into_iter();
            charts
                .map(|(chart, series)| (chart, series.values))
                .collect()
        });
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bigquery::{ColumnMode, ColumnType, schema};

    #[test]
    fn the_columns_are_as_published() {
        use ColumnMode::{Nullable, Repeated};
        use ColumnType::{Boolean, Float, String, Timestamp};
        let expected = [
            ("create_time", Timestamp, Nullable),
            ("workflow_id", String, Nullable),
            ("bot", String, Nullable),
            ("swarming_task_id", String, Nullable),
            ("benchmark", String, Nullable),
            ("story", String, Nullable),
            ("chart", String, Nullable),
            ("sample_values", Float, Repeated),
            ("task_failed", Boolean, Nullable),
            ("pgo_enabled", Boolean, Nullable),
        ];
        let columns = schema::<ExportRow>().unwrap();
        let columns = columns.iter().map(|it| (&*it.name, it.kind, it.mode));
        assert!(columns.eq(expected));
    }
}
