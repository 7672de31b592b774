//! The schedulers of tasks, and the stack of an entry across tasks.

use std::collections::{BTreeSet, VecDeque};

use hashbrown::HashMap;

use super::flows::TaskRun;
use super::kind::enters_script_visibly;
use super::model::{EntryId, FunctionId, Scheduled, Source, Timeline};
use super::nesting::Children;
use crate::{NameId, Names};

/// One synchronous part of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StackPart {
    /// The name of the task that this part scheduled: `Promise.then`, `setTimeout`. Empty in the
    /// part that the entry itself is in.
    pub task: NameId,
    /// The functions, the innermost first. Functions that are built in are left out: the
    /// task is named after them.
    pub functions: Vec<FunctionId>,
}

/// Notes the call and the scheduler of each run of a task.
pub(super) fn join(timeline: &mut Timeline, runs: &[TaskRun]) {
    if runs.is_empty() {
        return;
    }
    let events = tasks(timeline, runs);
    let mut children: HashMap<u32, Children> = HashMap::new();
    for run in runs {
        let (Some(&ran), Some(&scheduled)) = (events.get(&run.run), events.get(&run.scheduled))
        else {
            continue;
        };
        let caller = scheduler(timeline, scheduled);
        let children = children.entry(ran.track).or_insert_with(|| {
            Children::from_entries(&timeline.tracks[ran.track as usize].entries)
        });
        let entry_point = first_below(timeline, children, ran, Look::EntryPoint).pop();
        let by = caller.unwrap_or(scheduled);
        let task = run.task;
        timeline
            .entered
            .insert(entry_point.unwrap_or(ran), Scheduled { task, by });
        // Calls are joined only where both sides led into a script.
        if let (Some(by), Some(_)) = (caller, entry_point) {
            for call in first_below(timeline, children, ran, Look::Calls) {
                timeline.scheduled.insert(call, Scheduled { task, by });
            }
        }
    }
}

/// The entries of the runs' events, by their places in the file.
fn tasks(timeline: &Timeline, runs: &[TaskRun]) -> HashMap<u32, EntryId> {
    let wanted: BTreeSet<u32> = runs
        .iter()
        .flat_map(|run| [run.run, run.scheduled])
        .collect();
    let mut events = HashMap::new();
    for (track, entries) in timeline
        .tracks
        .iter()
        .map(|track| &track.entries)
        .enumerate()
    {
        for (entry, found) in entries.iter().enumerate() {
            if let Source::Event(index) | Source::Instant(index) = found.source
                && wanted.contains(&index)
            {
                let id = EntryId {
                    track: track as u32,
                    entry: entry as u32,
                };
                events.insert(index, id);
            }
        }
    }
    events
}

/// The nearest call around a schedule; where it was not sampled, the entry into the script.
fn scheduler(timeline: &Timeline, scheduled: EntryId) -> Option<EntryId> {
    let mut at = timeline.parent(scheduled);
    while let Some(id) = at {
        if timeline.is_call(id) || timeline.name_of(id).is_some_and(enters_script_visibly) {
            return Some(id);
        }
        at = timeline.parent(id);
    }
    None
}

#[derive(Clone, Copy, PartialEq)]
enum Look {
    /// The first entry into a script.
    EntryPoint,
    /// All calls that are not in another.
    Calls,
}

/// The nearest entries below a run, without those of other runs in it, level by level.
fn first_below(timeline: &Timeline, children: &Children, run: EntryId, look: Look) -> Vec<EntryId> {
    let mut found = Vec::new();
    let mut pending = VecDeque::from([run]);
    while let Some(above) = pending.pop_front() {
        for entry in children.of_entry(above.entry as usize) {
            let id = EntryId {
                entry: entry as u32,
                ..run
            };
            let name = timeline.name_of(id).unwrap_or_default();
            let accepted = match look {
                Look::EntryPoint => !timeline.is_call(id) && enters_script_visibly(name),
                Look::Calls => timeline.is_call(id),
            };
            if accepted {
                found.push(id);
                if look == Look::EntryPoint {
                    return found;
                }
            } else if name != "v8::Debugger::AsyncTaskRun" {
                pending.push_back(id);
            }
        }
    }
    found
}

impl Timeline {
    /// The stack of an entry, the innermost part first. Walking up, the scheduler of a task comes
    /// before its caller. A cycle of tasks is not followed.
    ///
    /// Where the entry carries a stack, its lines are those of the calls; all others are those
    /// on which the functions begin.
    ///
    /// Empty for an id of another timeline.
    pub fn stack(&self, entry: EntryId) -> Vec<StackPart> {
        let mut parts = vec![StackPart {
            task: NameId::EMPTY,
            functions: Vec::new(),
        }];
        let mut seen = BTreeSet::new();
        let mut at = self.entry(entry).map(|_| entry);
        while let Some(id) = at {
            if !seen.insert(id) {
                break;
            }
            let function = self.kind_of(id).and_then(|kind| kind.function);
            let shown = function.filter(|function| !self.is_built_in(*function));
            if let Some(part) = parts.last_mut() {
                part.functions.extend(shown);
            }
            at = match self.scheduled_by(id).filter(|(_, by)| !seen.contains(by)) {
                Some((task, by)) => {
                    parts.push(StackPart {
                        task,
                        functions: Vec::new(),
                    });
                    Some(by)
                }
                None => self.parent(id),
            };
        }
        self.take_payload(entry, &mut parts);
        parts
    }

    /// The stack that an entry's event carries, the innermost function first. Its lines and
    /// columns are those of the calls, counted from 0, and not those on which functions begin;
    /// of `FunctionCall`, it is the function alone.
    ///
    /// Empty where the event carries none, for calls from samples, and for an id of another
    /// timeline.
    pub fn payload_stack(&self, entry: EntryId) -> &[FunctionId] {
        let stack = self.entry(entry).map(|entry| entry.stack as usize);
        let payload = stack.and_then(|stack| self.payloads.get(stack));
        payload.map_or(&[], Vec::as_slice)
    }

    /// The scheduler of the task that an entry begins: the name of the task, such as
    /// `Promise.then`, and the call or event that scheduled it.
    pub fn scheduled_by(&self, entry: EntryId) -> Option<(NameId, EntryId)> {
        let scheduled = match self.is_call(entry) {
            true => self.scheduled.get(&entry),
            false => self.entered.get(&entry),
        };
        scheduled.map(|scheduled| (scheduled.task, scheduled.by))
    }

    /// The functions on the stack that an event carries take the place of the innermost ones.
    fn take_payload(&self, entry: EntryId, parts: &mut [StackPart]) {
        let payload = self.payload_stack(entry);
        let Some(part) = parts.first_mut().filter(|_| !payload.is_empty()) else {
            return;
        };
        let mut shown = payload
            .iter()
            .filter(|function| !self.is_built_in(**function));
        if part.functions.is_empty() {
            part.functions.extend(shown);
            return;
        }
        for function in &mut part.functions {
            let Some(called) = shown.next() else {
                return;
            };
            *function = *called;
        }
    }

    fn is_built_in(&self, function: FunctionId) -> bool {
        let names: &Names = &self.names;
        self.function(function)
            .is_some_and(|function| function.is_built_in(names))
    }

    fn is_call(&self, id: EntryId) -> bool {
        let source = self.entry(id).map(|entry| entry.source);
        matches!(source, Some(Source::Call { .. }))
    }

    fn kind_of(&self, id: EntryId) -> Option<&super::Kind> {
        self.kinds.get(self.entry(id)?.kind.index())
    }

    fn name_of(&self, id: EntryId) -> Option<&str> {
        Some(self.names.get(self.kind_of(id)?.name))
    }

    fn parent(&self, id: EntryId) -> Option<EntryId> {
        Some(EntryId {
            entry: self.entry(id)?.parent()? as u32,
            ..id
        })
    }
}
