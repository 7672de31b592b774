//! Pairs of runs on one bot, with nothing between.
//!
//! Swarming has no pairs. The second task is requested once the first is accepted, both for the
//! same bot: it takes them in this order, unless another task of more weight comes between. So the
//! tasks of the bot are checked when both have ended. A failed pair is made again on the next bot.

use pinpoint_core::{Heartbeat, PairReport, RunPairRequest, Variant};
use tokio::time::sleep;

use super::error::LuciError;
use super::executor::{LuciExecutor, key_of};
use super::given::build_given;
use super::handle::Handle;
use super::runs::{MOST_TASKS, TaskSpec, build_of, is_answer, part_of};
use crate::google::unix_milliseconds;
use crate::swarming::{TaskResult, TaskState};

/// Polls of the first task before the second is requested, at most.
const LOOKS: usize = 5;

/// The tasks of one attempt that exist.
#[derive(Debug, Default, Clone, PartialEq)]
struct Attempt {
    number: usize,
    first: Option<TaskResult>,
    second: Option<TaskResult>,
}

impl Attempt {
    fn tasks(&self) -> impl Iterator<Item = &TaskResult> {
        self.first.iter().chain(&self.second)
    }

    /// The last attempt of these unordered tasks.
    fn last(tasks: &[TaskResult]) -> Self {
        let mut last = Self::default();
        for task in tasks {
            let Some((side, number)) = part_of(task).and_then(|part| part.split_once('.')) else {
                continue;
            };
            let number = number.parse().unwrap_or_default();
            if number > last.number {
                last = Self {
                    number,
                    ..Self::default()
                };
            }
            if number == last.number {
                match side {
                    "first" => last.first = Some(task.clone()),
                    _ => last.second = Some(task.clone()),
                }
            }
        }
        last
    }
}

impl LuciExecutor {
    /// Finds the tasks of a pair, or requests them.
    pub(super) async fn start_pair(&self, request: &RunPairRequest) -> Result<Handle, LuciError> {
        let key = key_of(&request.key);
        let tasks = self.tasks_of(&key).await?;
        let mut attempt = Attempt::last(&tasks);
        for _ in 0..MOST_TASKS {
            match self.completed(request, &key, attempt).await? {
                Completed::Pair(first, second) => return Ok(Handle::Pair(first, second)),
                Completed::NoResource(number) => {
                    // A pair needs one bot: another one that is there now.
                    self.bots.forget().await;
                    attempt = Attempt {
                        number: number + 1,
                        ..Attempt::default()
                    };
                }
            }
        }
        Err(LuciError::NoResource(MOST_TASKS))
    }

    /// Both tasks of an attempt, or of the next one if this one cannot become a pair.
    async fn completed(
        &self,
        request: &RunPairRequest,
        key: &str,
        mut attempt: Attempt,
    ) -> Result<Completed, LuciError> {
        if attempt.number == 0 || self.has_failed(&attempt).await? {
            let live = attempt.tasks().filter(|task| !task.state.is_final());
            let live: Vec<&str> = live.map(|task| &*task.task_id).collect();
            self.end_tasks(&live).await?;
            attempt = Attempt {
                number: attempt.number + 1,
                ..Attempt::default()
            };
        }
        let number = attempt.number;
        let bot = self
            .bot(request.bot.as_deref(), request.index, number - 1)
            .await?;
        // Another pair for the same bot would come between.
        let turn = self.bots.pairing(&bot);
        let _alone = turn.lock().await;
        let mut tasks = Vec::new();
        let sides = [
            ("first", &request.first, attempt.first),
            ("second", &request.second, attempt.second),
        ];
        for (side, variant, found) in sides {
            let task = match found {
                Some(task) => task,
                None => {
                    self.new_side(variant, &bot, key, &format!("{side}.{number}"))
                        .await?
                }
            };
            let is_first = tasks.is_empty();
            if !self.is_accepted(&task, is_first).await? {
                let first = tasks.iter().map(String::as_str);
                self.end_tasks(&first.collect::<Vec<_>>()).await?;
                return Ok(Completed::NoResource(number));
            }
            tasks.push(task.task_id);
        }
        match <[String; 2]>::try_from(tasks) {
            Ok([first, second]) => Ok(Completed::Pair(first, second)),
            Err(_) => Err(LuciError::Lost),
        }
    }

    async fn new_side(
        &self,
        variant: &Variant,
        bot: &str,
        key: &str,
        part: &str,
    ) -> Result<TaskResult, LuciError> {
        let build = build_of(variant)?;
        self.new_task(&TaskSpec {
            variant,
            build: &build,
            bot: Some(bot),
            key,
            part,
        })
        .await
    }

    /// Returns whether some bot takes the task. A refusal shows at once or soon; for the second
    /// task, when it is waited for.
    async fn is_accepted(&self, task: &TaskResult, looks_again: bool) -> Result<bool, LuciError> {
        let mut state = task.state;
        for _ in 0..LOOKS {
            match state {
                TaskState::NoResource => return Ok(false),
                TaskState::Pending | TaskState::Invalid if looks_again => {}
                _ => break,
            }
            sleep(self.config.settings.intervals.first_of_pair()).await;
            let ids = [task.task_id.clone()];
            let looked = self.services.swarming.results(&ids).await?;
            state = { looked.into_iter() }
                .find_map(|looked| looked.result)
                .map_or(TaskState::Invalid, |result| result.state);
        }
        Ok(state != TaskState::NoResource)
    }

    /// Returns whether these tasks can no longer become a pair.
    async fn has_failed(&self, attempt: &Attempt) -> Result<bool, LuciError> {
        let is_trouble = |task: &TaskResult| task.state.is_final() && !is_answer(task);
        if attempt.tasks().any(is_trouble) {
            return Ok(true);
        }
        match (&attempt.first, &attempt.second) {
            (Some(first), Some(second)) if is_answer(first) && is_answer(second) => {
                Ok(!self.is_pair(first, second).await?)
            }
            // A task that has begun or ended has let others in.
            (Some(first), None) => Ok(is_answer(first)),
            (None, Some(_)) => Ok(true),
            _ => Ok(false),
        }
    }

    /// Returns whether the two ran on one bot, in order and with nothing between.
    async fn is_pair(&self, first: &TaskResult, second: &TaskResult) -> Result<bool, LuciError> {
        let time = |task: &TaskResult| task.started_ts.as_deref().and_then(unix_milliseconds);
        let (Some(from), Some(to)) = (time(first), time(second)) else {
            return Ok(false);
        };
        if first.bot_id != second.bot_id || from > to {
            return Ok(false);
        }
        let between = self
            .services
            .swarming
            .tasks_of_bot(&first.bot_id, from, to)
            .await?;
        let is_one = |id: &str| id == first.task_id || id == second.task_id;
        let others = between.iter().filter(|task| !is_one(&task.task_id)).count();
        Ok(others == 0 && between.iter().any(|task| task.task_id == first.task_id))
    }

    /// Waits for both tasks of a pair.
    pub(super) async fn pair_ended(
        &self,
        request: &RunPairRequest,
        [first, second]: [&str; 2],
        heartbeat: &Heartbeat,
    ) -> Result<PairReport, LuciError> {
        let swarming = &self.services.swarming;
        let (first, second) = tokio::try_join!(
            self.poll.ended(swarming, first, heartbeat),
            self.poll.ended(swarming, second, heartbeat)
        )?;
        for (task, variant) in [(&first, &request.first), (&second, &request.second)] {
            let given = build_given(&variant.commit);
            if let (TaskState::ClientError, Some(build)) = (task.state, given) {
                return Err(LuciError::GivenBuildGone(build.to_string()));
            }
        }
        let charts = (&request.charts, request.metric.as_ref());
        let (first_build, second_build) = (build_of(&request.first)?, build_of(&request.second)?);
        let mut report = PairReport {
            first: self.judged_run(&first, &first_build, charts).await?,
            second: self.judged_run(&second, &second_build, charts).await?,
        };
        if !self.is_pair(&first, &second).await? {
            // The next start finds that it failed, and makes it again.
            return Err(LuciError::Lost);
        }
        let sides = [
            ("first", &first, &mut report.first),
            ("second", &second, &mut report.second),
        ];
        for (side, task, report) in sides {
            let run = format!("{}-{side}", request.key.action);
            self.keep_profiles(task, run, report).await?;
        }
        Ok(report)
    }
}

/// The progress of an attempt.
enum Completed {
    /// Both tasks exist.
    Pair(String, String),
    /// No bot takes one of them, in the attempt of this number.
    NoResource(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_attempt_counts() {
        let task = |part: &str| TaskResult {
            task_id: part.into(),
            tags: vec!["pinpoint_key:job/7".into(), format!("pinpoint_part:{part}")],
            ..TaskResult::default()
        };
        let ids = |parts: &[&str]| {
            let tasks: Vec<_> = parts.iter().map(|part| task(part)).collect();
            let last = Attempt::last(&tasks);
            let id = |task: Option<TaskResult>| task.map(|task| task.task_id);
            (last.number, id(last.first), id(last.second))
        };
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(ids(&[]), (0, None, None));
        assert_eq!(ids(&["first.1"]), (1, some("first.1"), None));
        assert_eq!(
            ids(&["second.1", "first.2", "first.1"]),
            (2, some("first.2"), None)
        );
        assert_eq!(
            ids(&["first.10", "second.9", "first.9", "second.10"]),
            (10, some("first.10"), some("second.10"))
        );
    }
}
