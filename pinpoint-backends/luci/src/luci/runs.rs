//! Single runs.

use std::collections::BTreeMap;

use pinpoint_core::{
    Artifact, Charts, Heartbeat, Metric, RunReport, RunRequest, RunTask, Series, Variant,
};

use tokio::time::sleep;

use super::error::LuciError;
use super::executor::{LuciExecutor, key_of};
use super::handle::Handle;
use super::once::Tries;
use super::outputs::OutputError;
use super::profiles::wall;
use crate::google::{Code, ServiceError, unix_milliseconds};
use crate::swarming::{
    BUILD_TAG, CasReference, PART_TAG, ResultOrError, TaskPlan, TaskResult, TaskState, build_tag,
    key_tag,
};

/// Tasks of one try of a run that end with `NO_RESOURCE`, at most.
pub(super) const MOST_TASKS: usize = 3;

/// One task to request.
pub(super) struct TaskSpec<'a> {
    pub(super) variant: &'a Variant,
    pub(super) build: &'a CasReference,
    /// Any bot with the dimensions when absent.
    pub(super) bot: Option<&'a str>,
    pub(super) key: &'a str,
    /// Its part of the action.
    pub(super) part: &'a str,
}

/// The build of a variant.
pub(super) fn build_of(variant: &Variant) -> Result<CasReference, LuciError> {
    let Some(Artifact::Digest(digest)) = &variant.artifact else {
        return Err(LuciError::Unsupported(
            "a run needs the digest of its build in CAS, as a build by Buildbucket gives it",
        ));
    };
    digest.parse().map_err(|_| {
        LuciError::Unsupported("the digest of the build is not INSTANCE/HASH/SIZE, as CAS has it")
    })
}

/// The part of its action that a task is.
pub(super) fn part_of(task: &TaskResult) -> Option<&str> {
    task.tags.iter().find_map(|tag| tag.strip_prefix(PART_TAG))
}

/// Returns whether a task says anything about its commit.
pub(super) fn is_answer(task: &TaskResult) -> bool {
    matches!(task.state, TaskState::Completed | TaskState::TimedOut)
}

impl LuciExecutor {
    /// Finds the task of a run, or requests one.
    pub(super) async fn start_run(&self, request: &RunRequest) -> Result<Handle, LuciError> {
        let key = key_of(&request.key);
        let tasks = self.tasks_of(&key).await?;
        if let Some(task) = tasks
            .iter()
            .find(|task| is_answer(task) || !task.state.is_final())
        {
            return Ok(Handle::Task(task.task_id.clone()));
        }
        let build = build_of(&request.variant)?;
        let lost = self.lost_builds(&tasks)?;
        if !lost.is_empty() {
            let commit = &request.variant.commit;
            return self.start_rebuild(commit, &key, &lost).await;
        }
        self.new_run(request, &build, &tasks).await
    }

    /// Requests a task of a run, after these that gave no answer, the newest first. Where a bot
    /// takes none, any other may: a task that names a dead bot is refused while others are idle.
    pub(super) async fn new_run(
        &self,
        request: &RunRequest,
        build: &CasReference,
        before: &[TaskResult],
    ) -> Result<Handle, LuciError> {
        let key = key_of(&request.key);
        let newest = before.first();
        let mut is_refused = newest.is_some_and(|task| task.state == TaskState::NoResource);
        for attempt in (before.len()..).take(MOST_TASKS) {
            let named = request.bot.as_deref();
            let bot = match is_refused {
                true => None,
                false => Some(self.bot(named, request.index, attempt).await?),
            };
            let part = (attempt + 1).to_string();
            let asked = TaskSpec {
                variant: &request.variant,
                build,
                bot: bot.as_deref(),
                key: &key,
                part: &part,
            };
            let task = self.new_task(&asked).await?;
            if task.state != TaskState::NoResource {
                return Ok(Handle::Task(task.task_id));
            }
            is_refused = true;
            self.bots.forget().await;
        }
        Err(LuciError::NoResource(MOST_TASKS))
    }

    /// The bot of a run: another one for each attempt.
    pub(super) async fn bot(
        &self,
        named: Option<&str>,
        index: u32,
        attempt: usize,
    ) -> Result<String, LuciError> {
        let (swarming, machines) = (&self.services.swarming, &self.config.machines);
        let turn = (named, index, attempt);
        self.bots
            .at(swarming, machines, self.config.seed, turn)
            .await
    }

    pub(super) async fn new_task(&self, asked: &TaskSpec<'_>) -> Result<TaskResult, LuciError> {
        if !asked.variant.env.is_empty() {
            return Err(LuciError::Unsupported(
                "Swarming's tasks of Chrome take no environment variables",
            ));
        }
        let revision = &asked.variant.commit.main.git_hash;
        let plan = TaskPlan {
            job: asked.key.rsplit_once('/').map_or(asked.key, |(job, _)| job),
            key: asked.key,
            part: asked.part,
            build: asked.build,
            command: &self.config.command(revision, &asked.variant.arguments)?,
            dimensions: &self.config.machines.dimensions,
            bot: asked.bot,
        };
        let request = plan.request(&self.config.settings.tasks);
        let mut tries = Tries::new(self.config.seed);
        loop {
            match self.services.swarming.new_task(&request).await {
                Ok(task) => return Ok(task),
                Err(error) => tries.wait_after(error).await?,
            }
            let mut tasks = self.tasks_of(asked.key).await?.into_iter();
            if let Some(task) = tasks.find(|task| part_of(task) == Some(asked.part)) {
                return Ok(task);
            }
        }
    }

    /// Waits for the task of a run.
    pub(super) async fn run_ended(
        &self,
        request: &RunRequest,
        task: &str,
        heartbeat: &Heartbeat,
    ) -> Result<RunReport, LuciError> {
        let task = self
            .poll
            .ended(&self.services.swarming, task, heartbeat)
            .await?;
        let build = build_of(&request.variant)?;
        let wanted = (&request.charts, request.metric.as_ref());
        self.judged_run(&task, &build, wanted).await
    }

    /// Waits for a build that is made again, and then for the task of the run.
    pub(super) async fn rebuilt_run_ended(
        &self,
        request: &RunRequest,
        build: i64,
        heartbeat: &Heartbeat,
    ) -> Result<RunReport, LuciError> {
        let key = key_of(&request.key);
        let build = self.build_ended(build, &key, heartbeat).await?;
        let artifact = self.artifact(&build)?;
        let all = self.tasks_of(&key).await?;
        let of_build = build_tag(&artifact);
        let is_of_use = |task: &&TaskResult| {
            let is_useful = is_answer(task) || !task.state.is_final();
            is_useful && task.tags.contains(&of_build)
        };
        let id = match all.iter().find(is_of_use) {
            Some(task) => task.task_id.clone(),
            None => match self.new_run(request, &artifact, &all).await? {
                Handle::Task(id) => id,
                _ => return Err(LuciError::Lost),
            },
        };
        let task = self
            .poll
            .ended(&self.services.swarming, &id, heartbeat)
            .await?;
        let wanted = (&request.charts, request.metric.as_ref());
        self.judged_run(&task, &artifact, wanted).await
    }

    /// The meaning of a task's end.
    pub(super) async fn judged_run(
        &self,
        task: &TaskResult,
        build: &CasReference,
        (wanted, metric): (&Charts, Option<&Metric>),
    ) -> Result<RunReport, LuciError> {
        match task.state {
            TaskState::Completed | TaskState::TimedOut => {}
            TaskState::NoResource => return Err(LuciError::Lost),
            TaskState::ClientError => {
                self.missing_build(task)?;
                return Err(LuciError::Lost);
            }
            state => {
                let id = task.task_id.clone();
                return Err(LuciError::Task { id, state });
            }
        }
        let started = task.started_ts.as_deref().and_then(unix_milliseconds);
        let started = started.unwrap_or_default();
        let charts = self.charts_of(task).await?.and_then(|charts| match metric {
            Some(metric) => metric.in_units(charts).map_err(|error| error.to_string()),
            None => Ok(charts),
        });
        let mut report = match charts {
            Ok(charts) => {
                let mut report = RunReport::new(started);
                report.charts = kept(charts, wanted);
                report
            }
            Err(reason) => RunReport::failed(started, reason),
        };
        report.bot = Some(task.bot_id.clone()).filter(|bot| !bot.is_empty());
        report.exit_code = i32::try_from(task.exit_code).ok();
        report.task = Some(RunTask {
            id: task.task_id.clone(),
            completed: task.state == TaskState::Completed,
            output: task.cas_output_root.as_ref().map(CasReference::to_string),
        });
        let mut log = self.services.swarming.page_of(&task.task_id);
        log.push_str(&format!(" (CAS in: {}", build.digest));
        if let Some(root) = &task.cas_output_root {
            log.push_str(&format!(", out: {}", root.digest));
        }
        report.log = Some(log + ")");
        Ok(report)
    }

    /// The charts of a task that ended, or the reason that it has none.
    pub(super) async fn charts_of(
        &self,
        task: &TaskResult,
    ) -> Result<Result<BTreeMap<String, Series>, String>, LuciError> {
        if task.state == TaskState::TimedOut {
            return Ok(Err(format!("task {} took too long", task.task_id)));
        }
        if task.failure {
            let code = task.exit_code;
            return Ok(Err(format!(
                "task {} failed with exit code {code}",
                task.task_id
            )));
        }
        if self.config.profiling.is_some() {
            return Ok(Ok(wall(task)));
        }
        let Some(root) = &task.cas_output_root else {
            return Ok(Err(format!("task {} left no files", task.task_id)));
        };
        match self
            .services
            .outputs
            .charts(root, &self.config.benchmark.name)
            .await
        {
            Ok(charts) => Ok(Ok(charts)),
            Err(OutputError::None(reason)) => Ok(Err(reason)),
            Err(OutputError::Trouble(source)) => Err(LuciError::Output {
                id: task.task_id.clone(),
                source,
            }),
        }
    }

    /// The digests of the builds of tasks whose files were missing.
    pub(super) fn lost_builds(&self, tasks: &[TaskResult]) -> Result<Vec<String>, LuciError> {
        let lost = { tasks.iter() }.filter(|task| task.state == TaskState::ClientError);
        lost.map(|task| self.missing_build(task)).collect()
    }

    /// The digest of the build of a task whose files were missing.
    fn missing_build(&self, task: &TaskResult) -> Result<String, LuciError> {
        let build = task.tags.iter().find_map(|tag| tag.strip_prefix(BUILD_TAG));
        // A missing file may be one of the build.
        match build.filter(|_| !task.missing_cas.is_empty()) {
            Some(build) => Ok(build.to_owned()),
            None => Err(LuciError::TaskRefused {
                page: self.services.swarming.page_of(&task.task_id),
            }),
        }
    }

    /// The tasks of an action, newest first.
    pub(super) async fn tasks_of(&self, key: &str) -> Result<Vec<TaskResult>, LuciError> {
        Ok(self.services.swarming.tagged(&self.tags_of(key)).await?)
    }

    /// The tags that find the tasks of an action.
    pub(super) fn tags_of(&self, key: &str) -> Vec<String> {
        let mut tags = vec![key_tag(key)];
        // Swarming has this tag for each dimension. Without a pool, only callers with access to all
        // pools get an answer.
        let pools = self.config.machines.dimensions.iter();
        let pool = pools.filter(|dimension| dimension.key == "pool");
        tags.extend(pool.map(|pool| format!("pool:{}", pool.value)));
        tags
    }

    /// Ends the tasks of an action, and returns once they have ended.
    pub(super) async fn cancel_tasks(&self, key: &str) -> Result<(), LuciError> {
        let tasks = self.tasks_of(key).await?;
        let live = tasks.iter().filter(|task| !task.state.is_final());
        let ids: Vec<&str> = live.map(|task| &*task.task_id).collect();
        self.end_tasks(&ids).await
    }

    /// Ends tasks, and returns once they have ended.
    pub(super) async fn end_tasks(&self, ids: &[&str]) -> Result<(), LuciError> {
        for id in ids {
            self.services.swarming.cancel(id).await?;
        }
        let mut live: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        while !live.is_empty() {
            for answer in self.services.swarming.results(&live).await? {
                if has_ended(&answer)? {
                    live.retain(|id| *id != answer.task_id);
                }
            }
            if !live.is_empty() {
                sleep(self.config.settings.intervals.first_of_pair()).await;
            }
        }
        Ok(())
    }
}

/// Returns whether a task has ended, or is no longer known.
fn has_ended(answer: &ResultOrError) -> Result<bool, ServiceError> {
    match (&answer.result, &answer.error) {
        (Some(result), _) => Ok(result.state.is_final()),
        (None, Some(error)) if Code(error.code) == Code::NOT_FOUND => Ok(true),
        (None, Some(error)) if !Code(error.code).is_transient() => Err(ServiceError::Code {
            service: "Swarming",
            code: Code(error.code),
            text: format!(": task {}: {}", answer.task_id, error.message),
        }),
        (None, _) => Ok(false),
    }
}

/// The charts that the job wants.
fn kept(mut charts: BTreeMap<String, Series>, wanted: &Charts) -> BTreeMap<String, Series> {
    if let Charts::Deciding(Some(wanted)) = wanted {
        charts.retain(|chart, _| chart == wanted);
    }
    charts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_whose_state_can_not_be_read_has_not_ended() {
        let ended = |json: &str| has_ended(&serde_json::from_str(json).unwrap()).ok();
        for (json, expected) in [
            (r#"{"result": {"state": "KILLED"}}"#, Some(true)),
            (r#"{"result": {"state": "RUNNING"}}"#, Some(false)),
            (r#"{"error": {"code": 5}}"#, Some(true)),
            (r#"{"error": {"code": 14}}"#, Some(false)),
            ("{}", Some(false)),
            (r#"{"error": {"code": 7}}"#, None),
        ] {
            assert_eq!(ended(json), expected, "{json}");
        }
    }
}
