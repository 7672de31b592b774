//! The calls to Swarming.

use pinpoint_core::bots::Dimension;
use serde_json::{Value, json};

use super::messages::{
    BatchGetResult, BotInfo, BotList, NewTask, NewTaskRequest, ResultOrError, TaskList, TaskResult,
};
use crate::google::{Client, Prpc, ServiceError, timestamp};

/// Bots and tasks of a page.
const PAGE: u32 = 1000;

/// The most tasks of one query.
pub(crate) const MOST_TASKS: usize = 1000;

/// Pages of an answer, at most.
const MOST_PAGES: usize = 100;

/// The client of one Swarming server.
pub struct Swarming {
    tasks: Prpc,
    bots: Prpc,
    address: String,
}

impl Swarming {
    /// Asks through this client: tasks and bots share its bounds.
    pub fn new(client: Client) -> Self {
        let address = client.address().to_owned();
        let client = std::sync::Arc::new(client);
        Self {
            tasks: Prpc::shared(client.clone(), "swarming.v2.Tasks"),
            bots: Prpc::shared(client, "swarming.v2.Bots"),
            address,
        }
    }

    /// The page of a task, for people.
    pub fn page_of(&self, task: &str) -> String {
        format!("{}/task?id={task}", self.address)
    }

    /// Requests a task, once; returns its known state, at least its id. After trouble, search for
    /// the task before asking again.
    ///
    /// # Errors
    ///
    /// When Swarming cannot be asked, or refuses.
    pub async fn new_task(&self, request: &NewTaskRequest) -> Result<TaskResult, ServiceError> {
        let made: NewTask = self.tasks.call_once("NewTask", request).await?;
        let known = made.task_result.unwrap_or_default();
        Ok(TaskResult {
            task_id: made.task_id,
            ..known
        })
    }

    /// The request of a task, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered(&self, request: &NewTaskRequest) -> Result<String, ServiceError> {
        self.tasks.rendered("NewTask", request)
    }

    /// The results of tasks, one for each id; at most 1,000 at once.
    ///
    /// # Errors
    ///
    /// When Swarming cannot be asked, or refuses.
    pub async fn results(&self, ids: &[String]) -> Result<Vec<ResultOrError>, ServiceError> {
        let mut results = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MOST_TASKS) {
            let request = results_request(ids);
            let batch: BatchGetResult = self.tasks.call("BatchGetResult", &request).await?;
            results.extend(batch.results);
        }
        Ok(results)
    }

    /// The question for the results of tasks, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_results(&self, ids: &[String]) -> Result<String, ServiceError> {
        self.tasks.rendered("BatchGetResult", &results_request(ids))
    }

    /// The tasks with all of these tags, newest first.
    ///
    /// # Errors
    ///
    /// When Swarming cannot be asked, or refuses.
    pub async fn tagged(&self, tags: &[String]) -> Result<Vec<TaskResult>, ServiceError> {
        let request = tagged_request(tags);
        self.pages(&self.tasks, "ListTasks", request, |list: TaskList| {
            (list.items, list.cursor)
        })
        .await
    }

    /// The question for the tasks with these tags, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_tagged(&self, tags: &[String]) -> Result<String, ServiceError> {
        self.tasks.rendered("ListTasks", &tagged_request(tags))
    }

    /// The tasks that began on a bot between two times (milliseconds since 1970), both
    /// included.
    ///
    /// # Errors
    ///
    /// When Swarming cannot be asked, or refuses.
    pub async fn tasks_of_bot(
        &self,
        bot: &str,
        start: u64,
        end: u64,
    ) -> Result<Vec<TaskResult>, ServiceError> {
        let request = json!({
            "botId": bot,
            "limit": PAGE,
            "start": timestamp(start),
            "end": timestamp(end),
            "state": "QUERY_ALL",
            "sort": "QUERY_STARTED_TS",
        });
        self.pages(&self.bots, "ListBotTasks", request, |list: TaskList| {
            (list.items, list.cursor)
        })
        .await
    }

    /// The usable bots with these dimensions.
    ///
    /// # Errors
    ///
    /// When Swarming cannot be asked, or refuses.
    pub async fn free_bots(&self, dimensions: &[Dimension]) -> Result<Vec<BotInfo>, ServiceError> {
        let request = bots_request(dimensions);
        self.pages(&self.bots, "ListBots", request, |list: BotList| {
            (list.items, list.cursor)
        })
        .await
    }

    /// The question for bots, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_bots(&self, dimensions: &[Dimension]) -> Result<String, ServiceError> {
        self.bots.rendered("ListBots", &bots_request(dimensions))
    }

    /// Asks to end a task in any state.
    ///
    /// # Errors
    ///
    /// When it does not exist, or Swarming cannot be asked.
    pub async fn cancel(&self, task: &str) -> Result<(), ServiceError> {
        let request = json!({"taskId": task, "killRunning": true});
        let _: Value = self.tasks.call("CancelTask", &request).await?;
        Ok(())
    }

    async fn pages<L: serde::de::DeserializeOwned, T>(
        &self,
        service: &Prpc,
        method: &str,
        mut request: Value,
        split: impl Fn(L) -> (Vec<T>, String),
    ) -> Result<Vec<T>, ServiceError> {
        let mut found = Vec::new();
        for _ in 0..MOST_PAGES {
            let (items, cursor) = split(service.call(method, &request).await?);
            found.extend(items);
            if cursor.is_empty() {
                break;
            }
            if let Some(request) = request.as_object_mut() {
                request.insert("cursor".into(), json!(cursor));
            }
        }
        Ok(found)
    }
}

fn results_request(ids: &[String]) -> Value {
    json!({"taskIds": ids})
}

fn tagged_request(tags: &[String]) -> Value {
    json!({"limit": PAGE, "state": "QUERY_ALL", "tags": tags})
}

fn bots_request(dimensions: &[Dimension]) -> Value {
    json!({
        "limit": PAGE,
        "dimensions": dimensions,
        "quarantined": "FALSE",
        "isDead": "FALSE",
        "inMaintenance": "FALSE",
    })
}
