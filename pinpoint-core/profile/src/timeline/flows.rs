//! Joins the runs of tasks with their schedules.
//!
//! A flow is an arrow between events: separate events (`s`, `t`, `f`) mean that the event of the
//! same thread, time and category is a step of it. V8 derives a flow's number from the task's
//! address, so that numbers repeat, and a task that runs several times gives arrows from run to
//! run.

use std::borrow::Cow;

use hashbrown::{HashMap, HashSet};

use super::tables::Tables;
use crate::NameId;
use crate::read::trace_events::Event;

/// The category of V8's tasks: other flows are ignored.
const CATEGORY: &str = "v8.inspector";

/// The key that binds a step of a flow to an event: thread, time (its bits) and category.
type Binding<'a> = (i64, i64, u64, Cow<'a, str>);

/// The role of a task's event: the task is scheduled, runs, or is canceled.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Schedule,
    Run,
    Other,
}

/// An event of a task.
struct Task<'a> {
    index: u32,
    time: f64,
    binding: Binding<'a>,
    role: Role,
    name: Cow<'a, str>,
}

/// A step of a flow.
struct Step<'a> {
    phase: Phase,
    /// Category, name and id.
    group: (Cow<'a, str>, Cow<'a, str>, &'a str),
    binding: Binding<'a>,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Start,
    Step,
    End,
}

#[derive(Default)]
pub(super) struct Flows<'a> {
    tasks: Vec<Task<'a>>,
    steps: Vec<Step<'a>>,
}

/// A run of a task, by the places of its events in the file.
pub(super) struct TaskRun {
    pub(super) task: NameId,
    pub(super) scheduled: u32,
    pub(super) run: u32,
}

impl<'a> Flows<'a> {
    pub(super) fn event(
        &mut self,
        index: u32,
        thread: (i64, i64),
        time: f64,
        event: &Event<'a>,
        task: Cow<'a, str>,
    ) {
        if !event.cat.contains(CATEGORY) {
            return;
        }
        let role = match &*event.name {
            "v8::Debugger::AsyncTaskScheduled" => Role::Schedule,
            "v8::Debugger::AsyncTaskRun" => Role::Run,
            _ => Role::Other,
        };
        self.tasks.push(Task {
            index,
            time,
            binding: (thread.0, thread.1, time.to_bits(), event.cat.clone()),
            role,
            name: task,
        });
    }

    pub(super) fn step(&mut self, thread: (i64, i64), time: f64, event: Event<'a>) {
        if !event.cat.contains(CATEGORY) {
            return;
        }
        self.steps.push(Step {
            phase: match &*event.ph {
                "s" => Phase::Start,
                "t" => Phase::Step,
                _ => Phase::End,
            },
            binding: (thread.0, thread.1, time.to_bits(), event.cat.clone()),
            group: (
                event.cat,
                event.name,
                event.id.or(event.id2).map_or("", |id| id.get()),
            ),
        });
    }

    /// The runs of tasks, in the order of the file.
    pub(super) fn finish(self, tables: &mut Tables) -> Vec<TaskRun> {
        let flows = self.flows();
        let mut schedule_of_run: HashMap<u32, &Task> = HashMap::new();
        let mut runs = Vec::new();
        for flow in &flows {
            let [first, run] = flow.as_slice() else {
                continue;
            };
            // A run after a run belongs to the schedule of the first.
            let scheduled = match first.role {
                Role::Schedule => Some(*first),
                Role::Run => schedule_of_run.get(&first.index).copied(),
                Role::Other => None,
            };
            let Some(scheduled) = scheduled.filter(|_| run.role == Role::Run) else {
                continue;
            };
            schedule_of_run.insert(run.index, scheduled);
            runs.push(TaskRun {
                task: tables.name(&scheduled.name),
                scheduled: scheduled.index,
                run: run.index,
            });
        }
        runs
    }

    /// The first two tasks of each flow, only the last of those of one time.
    fn flows(&self) -> Vec<Vec<&Task<'a>>> {
        let bound = self.bound();
        let mut taken: HashSet<&Binding> = HashSet::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut flows: Vec<Vec<&Task>> = Vec::new();
        for task in &self.tasks {
            // The first of the events of one time and category is meant.
            if !taken.insert(&task.binding) {
                continue;
            }
            for &id in bound.get(&task.binding).into_iter().flatten() {
                let place = *places.entry(id).or_insert_with(|| {
                    flows.push(Vec::new());
                    flows.len() - 1
                });
                let flow = &mut flows[place];
                if let Some(known) = flow.iter_mut().find(|known| known.time == task.time) {
                    *known = task;
                } else if flow.len() < 2 {
                    flow.push(task);
                }
            }
        }
        flows
    }

    /// The flows that are bound to an event.
    fn bound(&self) -> HashMap<&Binding<'a>, Vec<&'a str>> {
        let mut open = HashSet::new();
        let mut bound: HashMap<_, Vec<&str>> = HashMap::new();
        for step in &self.steps {
            match step.phase {
                Phase::Start => {
                    open.insert(&step.group);
                }
                // A step of a flow whose start was not recorded is ignored.
                Phase::Step | Phase::End if !open.contains(&step.group) => continue,
                Phase::Step => {}
                Phase::End => {
                    open.remove(&step.group);
                }
            }
            bound.entry(&step.binding).or_default().push(step.group.2);
        }
        bound
    }
}
