//! The work of bots in the course of time.

use super::trace;
use crate::cas;
use crate::services::State;

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
    pub(super) free: u64,
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
    /// Its progress.
    pub state: &'static str,
    pub(super) priority: i32,
    pub(super) created: u64,
    pub(super) started: Option<u64>,
    pub(super) ends: u64,
    /// The bot that it has to be.
    pub(super) wanted: Option<String>,
    pub(super) bot: Option<String>,
    pub(super) build: String,
    pub(super) benchmark: String,
    /// The path of the trace that it leaves.
    pub(super) trace: Option<String>,
    /// The state in which it will end.
    pub(super) fate: &'static str,
    pub(super) output: Option<String>,
    pub(super) failure: bool,
}

impl State {
    /// Somebody else's task for the same bot, which goes before those that wait.
    pub(super) fn intercept(&mut self, task: &Task) {
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
            let value = match self.inverted {
                true => 300.0 - level + offset + noise,
                false => level + offset + noise,
            };
            let Task {
                benchmark, trace, ..
            } = self.tasks[task].clone();
            let trace = { trace.as_deref() }.zip(self.trace_of(value));
            cas::results(self, &benchmark, value, trace)
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

    /// The trace of a run, whole or cut, unless it is lost.
    fn trace_of(&mut self, milliseconds: f64) -> Option<Vec<u8>> {
        if self.traces_lost {
            return None;
        }
        let mut trace = trace::content(milliseconds);
        if self.traces_cut > 0 {
            self.traces_cut -= 1;
            trace.truncate(trace.len() * 2 / 3);
        }
        Some(trace)
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
}
