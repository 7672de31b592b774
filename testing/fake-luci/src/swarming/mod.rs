//! Swarming: bots that run one task after the other in simulated time.

mod bots;
mod requests;
mod trace;

use axum::body::Bytes;
use serde_json::{Value, json};

use self::requests::{
    BatchGetResult, CancelTask, CasReference, ListBotTasks, ListBots, ListTasks, NewTask,
    Properties, StringPair,
};
use crate::cas;
use crate::clock::timestamp;
use crate::prpc::{INVALID_ARGUMENT, PERMISSION_DENIED, Refusal, UNIMPLEMENTED, not_found, read};
use crate::services::{FakeLuci, State};

pub use self::bots::{Bot, Task};

impl Task {
    /// Has it not ended?
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, "PENDING" | "RUNNING")
    }

    fn json(&self) -> Value {
        let mut task = json!({
            "taskId": self.id,
            "state": self.state,
            "tags": self.tags,
            "createdTs": timestamp(self.created),
            "failure": self.failure,
            "exitCode": if self.failure { "3" } else { "0" },
        });
        if let (Some(started), Some(bot)) = (self.started, &self.bot) {
            task["startedTs"] = json!(timestamp(started));
            task["botId"] = json!(bot);
        }
        if !self.is_live() {
            task["completedTs"] = json!(timestamp(self.ends));
        }
        if self.state == "CLIENT_ERROR" {
            task["missingCas"] = json!([reference(&self.build)]);
        }
        if let ("COMPLETED", Some(output)) = (self.state, &self.output) {
            task["casOutputRoot"] = reference(output);
        }
        task
    }
}

/// The tags that Swarming adds.
fn dimension_tags(dimensions: &[StringPair]) -> Vec<String> {
    let tag = |dimension: &StringPair| format!("{}:{}", dimension.key, dimension.value);
    dimensions.iter().map(tag).collect()
}

fn reference(digest: &str) -> Value {
    let (hash, size) = digest.split_once('/').unwrap_or_default();
    json!({"casInstance": cas::INSTANCE, "digest": {"hash": hash, "sizeBytes": size}})
}

impl FakeLuci {
    /// A method of `swarming.v2.Tasks` or `swarming.v2.Bots`.
    pub(crate) fn swarming(&self, method: &str, body: &Bytes) -> Result<Value, Refusal> {
        let now = self.now();
        let mut state = self.state();
        state.advance(now);
        *state.calls.entry(method.to_owned()).or_default() += 1;
        match method {
            "Tasks/NewTask" => {
                let task = state.new_task(&read(body)?, now)?;
                Ok(json!({"taskId": task.id, "taskResult": task.json()}))
            }
            "Tasks/BatchGetResult" => {
                let BatchGetResult { task_ids } = read(body)?;
                if task_ids.is_empty() || task_ids.len() > 1000 {
                    return Err((INVALID_ARGUMENT, "1 to 1000 ids".into()));
                }
                let results = task_ids.iter().map(|id| match state.task(id) {
                    Some(task) => json!({"taskId": id, "result": task.json()}),
                    None => json!({"taskId": id, "error": {"code": 5, "message": "no task"}}),
                });
                Ok(json!({"results": results.collect::<Vec<_>>()}))
            }
            "Tasks/ListTasks" => state.list_tasks(&read(body)?),
            "Tasks/CancelTask" => state.cancel(&read(body)?, now),
            "Bots/ListBots" => state.list_bots(&read(body)?),
            "Bots/ListBotTasks" => state.list_bot_tasks(&read(body)?),
            _ => Err((UNIMPLEMENTED, method.into())),
        }
    }
}

impl State {
    fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    fn new_task(&mut self, request: &NewTask, now: u64) -> Result<Task, Refusal> {
        let same = |task: &&Task| task.request_uuid == request.request_uuid;
        if let Some(task) = self.tasks.iter().find(same) {
            return Ok(task.clone());
        }
        let [slice] = &request.task_slices[..] else {
            return Err((INVALID_ARGUMENT, "one slice".into()));
        };
        let Properties {
            cas_input_root,
            command,
            dimensions,
            ..
        } = &slice.properties;
        let CasReference {
            cas_instance,
            digest,
        } = cas_input_root;
        if cas_instance != cas::INSTANCE {
            return Err((INVALID_ARGUMENT, "the instance of CAS".into()));
        }
        let build = format!("{}/{}", digest.hash, digest.size_bytes);
        let id = dimensions.iter().find(|dimension| dimension.key == "id");
        let wanted = id.map(|dimension| dimension.value.clone());
        let is_there = |bot: &Bot| !bot.is_dead && wanted.as_ref().is_none_or(|id| *id == bot.id);
        let faults = self.faults;
        let has_bot = self.bots.iter().any(is_there)
            && !self.random.happens(faults.no_resource)
            && (wanted.is_none() || !self.refuses_ids);
        let is_kept = self.blobs.contains_key(&build)
            && self
                .expires
                .get(&build)
                .is_none_or(|expires| now < *expires);
        let name = |at: &str| {
            let at = command.iter().position(|word| word == at)?;
            command.get(at + 1).cloned()
        };
        let benchmark = name("--benchmark-display-name")
            .or_else(|| name("--gtest-benchmark-name"))
            .or_else(|| name("--benchmarks"));
        let is_for_android = command.iter().any(|word| {
            word.trim_start_matches("--browser=")
                .starts_with("android-")
        });
        let fates = [
            "TIMED_OUT",
            "EXPIRED",
            "CANCELED",
            "KILLED",
            "BOT_DIED",
            "FAILURE",
            "NO_OUTPUT",
        ];
        let fate = match () {
            () if !is_kept => "CLIENT_ERROR",
            // The build holds no such browser.
            () if self.is_for_android(&build) != is_for_android => "FAILURE",
            () if self.random.happens(faults.dead_bots) => "DEAD_BOT",
            () if self.random.happens(faults.tasks) => {
                fates[self.random.below(fates.len() as u64) as usize]
            }
            () => "COMPLETED",
        };
        let task = Task {
            id: format!("{:x}10", 0x6ab_c000 + self.tasks.len()),
            tags: [&request.tags[..], &dimension_tags(dimensions)].concat(),
            request_uuid: request.request_uuid.clone(),
            state: if has_bot { "PENDING" } else { "NO_RESOURCE" },
            priority: request.priority,
            created: now,
            started: None,
            ends: now,
            wanted: wanted.clone(),
            bot: None,
            build,
            trace: trace::path(command, benchmark.as_deref().unwrap_or_default()),
            benchmark: benchmark.unwrap_or_default(),
            fate,
            output: None,
            failure: false,
        };
        self.tasks.push(task.clone());
        if self.random.happens(faults.intercepted) {
            self.intercept(&task);
        }
        Ok(task)
    }

    fn list_tasks(&self, request: &ListTasks) -> Result<Value, Refusal> {
        if request.state != "QUERY_ALL" {
            return Err((INVALID_ARGUMENT, "state".into()));
        }
        if !request.tags.iter().any(|tag| tag.starts_with("pool:")) {
            return Err((PERMISSION_DENIED, "not of all pools".into()));
        }
        let has = |task: &&Task| request.tags.iter().all(|tag| task.tags.contains(tag));
        let found: Vec<&Task> = self.tasks.iter().rev().filter(has).collect();
        self.page(&found, request.limit, &request.cursor)
    }

    fn list_bot_tasks(&self, request: &ListBotTasks) -> Result<Value, Refusal> {
        if (&*request.state, &*request.sort) != ("QUERY_ALL", "QUERY_STARTED_TS") {
            return Err((INVALID_ARGUMENT, "state and sort".into()));
        }
        let is_within = |task: &&Task| {
            // As text they are in the order of time.
            let started = task.started.map(timestamp).unwrap_or_default();
            task.bot.as_ref() == Some(&request.bot_id)
                && started >= request.start
                && started < request.end
        };
        let mut found: Vec<&Task> = self.tasks.iter().filter(is_within).collect();
        found.sort_by_key(|task| std::cmp::Reverse(task.started));
        self.page(&found, request.limit, &request.cursor)
    }

    fn page(&self, found: &[&Task], limit: usize, cursor: &str) -> Result<Value, Refusal> {
        let start: usize = match cursor {
            "" => 0,
            cursor => cursor
                .parse()
                .map_err(|_| (INVALID_ARGUMENT, "cursor".to_owned()))?,
        };
        // Few on a page, so that there are several.
        let limit = limit.clamp(1, 3);
        let page = found.iter().skip(start).take(limit).map(|task| task.json());
        let mut answer = json!({"items": page.collect::<Vec<_>>()});
        if found.len() > start + limit {
            answer["cursor"] = json!((start + limit).to_string());
        }
        Ok(answer)
    }

    fn list_bots(&self, request: &ListBots) -> Result<Value, Refusal> {
        let flags = [
            &request.quarantined,
            &request.is_dead,
            &request.in_maintenance,
        ];
        if flags != ["FALSE"; 3] || request.dimensions.is_empty() {
            return Err((INVALID_ARGUMENT, "flags and dimensions".into()));
        }
        for StringPair { key, value } in &request.dimensions {
            if key.is_empty() || value.is_empty() {
                return Err((INVALID_ARGUMENT, "dimensions".into()));
            }
        }
        let start: usize = request.cursor.parse().unwrap_or_default();
        let found: Vec<&Bot> = self.bots.iter().filter(|bot| !bot.is_dead).collect();
        let limit = request.limit.clamp(1, 2);
        let page = found
            .iter()
            .skip(start)
            .take(limit)
            .map(|bot| json!({"botId": bot.id}));
        let mut answer = json!({"items": page.collect::<Vec<_>>()});
        if found.len() > start + limit {
            answer["cursor"] = json!((start + limit).to_string());
        }
        Ok(answer)
    }

    fn cancel(&mut self, request: &CancelTask, now: u64) -> Result<Value, Refusal> {
        let CancelTask {
            task_id,
            kill_running,
        } = request;
        let task = self.tasks.iter_mut().find(|task| task.id == *task_id);
        let task = task.ok_or_else(|| not_found(task_id))?;
        let was_running = task.state == "RUNNING";
        if task.state == "PENDING" {
            task.state = "CANCELED";
            task.ends = now;
        }
        if was_running && *kill_running {
            // It takes a moment to end.
            task.fate = "KILLED";
            task.ends = task.ends.min(now + 10_000);
            let (ends, bot) = (task.ends, task.bot.clone());
            for it in self
                .bots
                .iter_mut()
                .filter(|it| Some(&it.id) == bot.as_ref())
            {
                it.free = ends;
            }
        }
        Ok(json!({"canceled": true, "wasRunning": was_running}))
    }
}
