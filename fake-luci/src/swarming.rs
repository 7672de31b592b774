//! Swarming: bots that run one task after the other in simulated time.

use axum::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::timestamp;
use crate::prpc::{INVALID_ARGUMENT, Refusal, UNIMPLEMENTED, not_found, read};
use crate::{FakeLuci, State, cas};

/// A task takes this long, and up to as much again.
const SHORTEST_TASK: u64 = 120_000;

/// A bot.
#[derive(Debug, Clone)]
pub struct Bot {
    /// Its id.
    pub id: String,
    /// Added to each value.
    pub offset: f64,
    pub(crate) is_dead: bool,
    /// When it has ended what it runs.
    free: u64,
}

impl Bot {
    pub(crate) fn new(number: usize, offset: f64) -> Self {
        Self {
            id: format!("build{number}-h7"),
            offset,
            is_dead: false,
            free: 0,
        }
    }
}

/// A task as the services know it.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// `KEY:VALUE`.
    pub tags: Vec<String>,
    /// The id of the request; nothing of somebody else's task.
    pub request_uuid: String,
    /// How far it is.
    pub state: &'static str,
    priority: i32,
    created: u64,
    started: Option<u64>,
    ends: u64,
    /// The bot that it has to be.
    wanted: Option<String>,
    bot: Option<String>,
    build: String,
    benchmark: String,
    /// How it will end.
    fate: &'static str,
    output: Option<String>,
    failure: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StringPair {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Digest {
    hash: String,
    size_bytes: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CasReference {
    cas_instance: String,
    digest: Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields must be there, whatever they say")]
struct Properties {
    cas_input_root: CasReference,
    command: Vec<String>,
    dimensions: Vec<StringPair>,
    execution_timeout_secs: i32,
    io_timeout_secs: i32,
    relative_cwd: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields must be there, whatever they say")]
struct Slice {
    expiration_secs: i32,
    properties: Properties,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields must be there, whatever they say")]
struct NewTask {
    name: String,
    priority: i32,
    bot_ping_tolerance_secs: i32,
    realm: String,
    service_account: String,
    user: String,
    pubsub_topic: String,
    pubsub_userdata: String,
    tags: Vec<String>,
    task_slices: Vec<Slice>,
    request_uuid: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BatchGetResult {
    task_ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CancelTask {
    task_id: String,
    kill_running: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListTasks {
    limit: usize,
    state: String,
    tags: Vec<String>,
    #[serde(default)]
    cursor: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListBots {
    limit: usize,
    dimensions: Vec<StringPair>,
    quarantined: String,
    is_dead: String,
    in_maintenance: String,
    #[serde(default)]
    cursor: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListBotTasks {
    bot_id: String,
    limit: usize,
    start: String,
    end: String,
    state: String,
    sort: String,
    #[serde(default)]
    cursor: String,
}

impl Task {
    /// Has it not ended?
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.state, "PENDING" | "RUNNING")
    }

    fn json(&self, state: &State) -> Value {
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
        let _ = state;
        task
    }
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
        match method {
            "Tasks/NewTask" => {
                let task = state.new_task(&read(body)?, now)?;
                Ok(json!({"taskId": task.id, "taskResult": task.json(&state)}))
            }
            "Tasks/BatchGetResult" => {
                let BatchGetResult { task_ids } = read(body)?;
                if task_ids.is_empty() || task_ids.len() > 1000 {
                    return Err((INVALID_ARGUMENT, "1 to 1000 ids".into()));
                }
                let results = task_ids.iter().map(|id| match state.task(id) {
                    Some(task) => json!({"taskId": id, "result": task.json(&state)}),
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
        let has_bot = self.bots.iter().any(is_there) && !self.random.happens(faults.no_resource);
        let is_kept = self.blobs.contains_key(&build)
            && self
                .expires
                .get(&build)
                .is_none_or(|expires| now < *expires);
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
            () if self.random.happens(faults.dead_bots) => "DEAD_BOT",
            () if self.random.happens(faults.tasks) => {
                fates[self.random.below(fates.len() as u64) as usize]
            }
            () => "COMPLETED",
        };
        let name = |at: &str| {
            let at = command.iter().position(|word| word == at)?;
            command.get(at + 1).cloned()
        };
        let benchmark = name("--benchmark-display-name").or_else(|| name("--benchmarks"));
        let task = Task {
            id: format!("{:x}10", 0x6ab_c000 + self.tasks.len()),
            tags: request.tags.clone(),
            request_uuid: request.request_uuid.clone(),
            state: if has_bot { "PENDING" } else { "NO_RESOURCE" },
            priority: request.priority,
            created: now,
            started: None,
            ends: now,
            wanted: wanted.clone(),
            bot: None,
            build,
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

    /// Somebody else's task for the same bot, which goes before those that wait.
    fn intercept(&mut self, task: &Task) {
        let other = Task {
            id: format!("{:x}10", 0x6ab_c000 + self.tasks.len()),
            tags: vec!["user:else".into()],
            request_uuid: String::new(),
            state: "PENDING",
            priority: 30,
            created: task.created + 1,
            fate: "COMPLETED",
            ..task.clone()
        };
        self.tasks.push(other);
    }

    /// Lets bots run what they would have run until now.
    pub(crate) fn advance(&mut self, now: u64) {
        self.end_tasks(now);
        while let Some((bot, task, start)) = self.next_start(now) {
            self.start(bot, task, start);
            self.end_tasks(now);
        }
    }

    /// The next task to start, on which bot and when.
    fn next_start(&self, now: u64) -> Option<(usize, usize, u64)> {
        let mut next: Option<(u64, i32, u64, usize, usize)> = None;
        for (bot_index, bot) in self.bots.iter().enumerate() {
            let waits = |task: &&Task| {
                let fits = task.wanted.as_ref().is_none_or(|id| *id == bot.id);
                task.state == "PENDING" && fits && !bot.is_dead
            };
            let tasks: Vec<(usize, &Task)> = self
                .tasks
                .iter()
                .enumerate()
                .filter(|(_, task)| waits(task))
                .collect();
            // When the bot is next free and something waits for it, the most urgent goes first.
            let Some(start) = tasks
                .iter()
                .map(|(_, task)| task.created.max(bot.free))
                .min()
            else {
                continue;
            };
            let there = tasks.into_iter().filter(|(_, task)| task.created <= start);
            for (index, task) in there {
                let candidate = (start, task.priority, task.created, index, bot_index);
                if start <= now && next.is_none_or(|best| candidate < best) {
                    next = Some(candidate);
                }
            }
        }
        next.map(|(start, _, _, task, bot)| (bot, task, start))
    }

    fn start(&mut self, bot: usize, task: usize, start: u64) {
        let length = SHORTEST_TASK + self.random.below(SHORTEST_TASK);
        let noise = self.random.noise();
        let (offset, id) = (self.bots[bot].offset, self.bots[bot].id.clone());
        let is_foreign = self.tasks[task].request_uuid.is_empty();
        let level = self.level_of(&self.tasks[task].build);
        let output = level.filter(|_| !is_foreign).map(|level| {
            let value = level + offset + noise;
            cas::results(self, &self.tasks[task].benchmark.clone(), value)
        });
        let task = &mut self.tasks[task];
        task.started = Some(start);
        task.bot = Some(id);
        task.state = "RUNNING";
        task.ends = start
            + if task.fate == "CLIENT_ERROR" {
                1_000
            } else {
                length
            };
        task.output = output.filter(|_| task.fate != "NO_OUTPUT");
        self.bots[bot].free = task.ends;
        if matches!(task.fate, "EXPIRED" | "CANCELED") {
            // It never ran.
            task.started = None;
            task.bot = None;
            task.ends = start;
            self.bots[bot].free = start;
        }
        if task.fate == "DEAD_BOT" {
            self.bots[bot].is_dead = true;
        }
    }

    fn end_tasks(&mut self, now: u64) {
        for index in 0..self.tasks.len() {
            let task = &mut self.tasks[index];
            if task.state == "RUNNING" && task.ends <= now {
                task.failure = task.fate == "FAILURE";
                task.state = match task.fate {
                    "FAILURE" | "NO_OUTPUT" => "COMPLETED",
                    "DEAD_BOT" => "BOT_DIED",
                    fate => fate,
                };
            }
            // Of a dead bot nobody takes a task.
            let lost = |id: &String| self.bots.iter().any(|bot| bot.id == *id && bot.is_dead);
            let task = &self.tasks[index];
            if task.state == "PENDING" && task.wanted.as_ref().is_some_and(lost) {
                self.tasks[index].state = "EXPIRED";
                self.tasks[index].ends = now;
            }
        }
        let all_dead = self.bots.iter().all(|bot| bot.is_dead);
        if all_dead {
            // Somebody repairs them.
            for bot in &mut self.bots {
                bot.is_dead = false;
                bot.free = now + 600_000;
            }
        }
    }

    fn list_tasks(&self, request: &ListTasks) -> Result<Value, Refusal> {
        if request.state != "QUERY_ALL" {
            return Err((INVALID_ARGUMENT, "state".into()));
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
        let page = found
            .iter()
            .skip(start)
            .take(limit)
            .map(|task| task.json(self));
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
