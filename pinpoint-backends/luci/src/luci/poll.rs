//! Queries all tasks under way at once.

use std::collections::HashMap;
use std::sync::{Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::Duration;

use pinpoint_core::Heartbeat;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::error::LuciError;
use crate::google::Code;
use crate::swarming::{ResultOrError, Swarming, TaskResult};

/// Waits for tasks. One waiter asks for all of them, and the others read its answer; when it
/// leaves, another one takes its place.
pub(super) struct Poll {
    every: Duration,
    /// The number of waiters for each task.
    wanted: SyncMutex<HashMap<String, usize>>,
    last: Mutex<Last>,
}

/// The last answer.
#[derive(Default)]
struct Last {
    asked: Option<Instant>,
    known: HashMap<String, PolledTask>,
}

enum PolledTask {
    Result(Box<TaskResult>),
    Gone,
}

/// A waiter for a task.
struct TaskWaiter<'a>(&'a Poll, &'a str);

impl<'a> TaskWaiter<'a> {
    fn new(poll: &'a Poll, id: &'a str) -> Self {
        *poll.wanted().entry(id.to_owned()).or_insert(0) += 1;
        Self(poll, id)
    }
}

impl Drop for TaskWaiter<'_> {
    fn drop(&mut self) {
        let mut wanted = self.0.wanted();
        if let Some(count) = wanted.get_mut(self.1) {
            *count -= 1;
            if *count == 0 {
                wanted.remove(self.1);
            }
        }
    }
}

impl Poll {
    pub(super) fn new(every: Duration) -> Self {
        Self {
            every,
            wanted: SyncMutex::default(),
            last: Mutex::default(),
        }
    }

    fn wanted(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the task has ended. The heart beats with every answer.
    ///
    /// Trouble with Swarming is waited out: the task could not be started again either, and the
    /// silence of the heart ends the wait when it takes too long.
    pub(super) async fn ended(
        &self,
        swarming: &Swarming,
        id: &str,
        heartbeat: &Heartbeat,
    ) -> Result<TaskResult, LuciError> {
        let _wanted = TaskWaiter::new(self, id);
        let mut seen = Instant::now();
        loop {
            let mut last = self.last.lock().await;
            if last.asked.is_none_or(|asked| asked <= seen) {
                if let Some(asked) = last.asked {
                    sleep_until(asked + self.every).await;
                }
                last.ask(self, swarming).await?;
            }
            seen = last.asked.unwrap_or(seen);
            match last.known.get(id) {
                Some(PolledTask::Result(result)) if result.state.is_final() => {
                    return Ok((**result).clone());
                }
                Some(PolledTask::Result(_)) => heartbeat.beat(),
                Some(PolledTask::Gone) => return Err(LuciError::Lost),
                None => {}
            }
        }
    }
}

impl Last {
    async fn ask(&mut self, poll: &Poll, swarming: &Swarming) -> Result<(), LuciError> {
        let mut ids: Vec<String> = poll.wanted().keys().cloned().collect();
        ids.sort();
        let answer = swarming.results(&ids).await;
        self.asked = Some(Instant::now());
        self.known.clear();
        match answer {
            Ok(results) => {
                let known = results.into_iter().filter_map(known);
                self.known.extend(known);
                Ok(())
            }
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "tasks can't be asked for; they are waited for nevertheless");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn known(answer: ResultOrError) -> Option<(String, PolledTask)> {
    let ResultOrError {
        task_id,
        result,
        error,
    } = answer;
    match (result, error) {
        (Some(result), _) => Some((task_id, PolledTask::Result(Box::new(result)))),
        (None, Some(error)) if Code(error.code) == Code::NOT_FOUND => {
            Some((task_id, PolledTask::Gone))
        }
        (None, error) => {
            let error = error.unwrap_or_default();
            tracing::warn!(
                task_id,
                code = error.code,
                error.message,
                "a task can't be asked for"
            );
            None
        }
    }
}
