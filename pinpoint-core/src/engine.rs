//! A machine and the state that follows from its journal.

use std::collections::BTreeMap;

use crate::translate::{self, ReadingSettings, UnnamedCommit};
use crate::{
    Action, CommitNames, Event, JobKey, Key, Machine, MachineError, Metric, Record, Report,
    Request, Task, Ticket,
};

/// A machine, the names of its commits, and the work under way: all of it follows from
/// the job's spec and the records of its journal.
///
/// A driver keeps one. It reads the journal into it, carries out the actions that are
/// [`outstanding`](Self::outstanding), and hands it a record of each event, after the record was
/// journaled. [`drive`](crate::drive) is such a driver.
#[derive(Debug, Clone)]
pub struct Engine<M> {
    job: JobKey,
    machine: M,
    names: CommitNames,
    metric: Option<Metric>,
    /// Tasks that were handed out and not yet answered, and canceled ones whose end is
    /// not known yet.
    open: BTreeMap<u64, Task>,
    tickets: BTreeMap<u64, Ticket>,
    elapsed: u64,
    records: u64,
}

/// The meaning of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The event that the machine handled.
    pub event: Option<Event>,
    /// The task that the record is about.
    pub task: Option<Task>,
}

impl<M: Machine> Engine<M> {
    /// A job without records.
    pub fn new(job: JobKey, machine: M) -> Self {
        Self {
            names: CommitNames::of(&machine),
            job,
            machine,
            metric: None,
            open: BTreeMap::new(),
            tickets: BTreeMap::new(),
            elapsed: 0,
            records: 0,
        }
    }

    /// Takes in a record.
    pub fn apply(&mut self, record: &Record) -> Result<Applied, MachineError> {
        self.poll();
        self.records += 1;
        let task = record
            .action()
            .and_then(|number| self.open.get(&number).cloned());
        let event = translate::event(record, task.as_ref(), &self.reading());
        match record {
            Record::Started { action, ticket } => {
                if self.open.contains_key(action) {
                    self.tickets.insert(*action, ticket.clone());
                }
            }
            Record::Reported { action, report } => {
                if let Some(task) = &task {
                    self.names.learn(task, report);
                }
                if let Report::Metric(metric) = report {
                    self.metric = Some(metric.clone());
                }
                self.close(*action);
            }
            Record::GaveUp { action, .. } | Record::Canceled { action } => {
                self.close(*action);
                if let Some(Task::Cancel { action: ended }) = task {
                    self.close(ended);
                }
            }
            Record::TimePassed { elapsed } => self.elapsed = *elapsed,
            Record::CancelRequested => {}
        }
        if let Some(event) = event.clone() {
            self.machine.handle(event)?;
        }
        Ok(Applied { event, task })
    }

    /// Every action to carry out, in order. Those with a
    /// [ticket](Self::ticket) were started before.
    pub fn outstanding(&mut self) -> Vec<Action> {
        self.poll();
        self.machine.outstanding()
    }

    /// The actions decided since the last call of this or of
    /// [`outstanding`](Self::outstanding).
    pub fn poll(&mut self) -> Vec<Action> {
        let actions = self.machine.poll();
        let tasks = actions
            .iter()
            .map(|action| (action.number, action.task.clone()));
        self.open.extend(tasks);
        actions
    }

    /// The request for an action; absent when it is a [`Task::Cancel`].
    pub fn request(&self, action: &Action) -> Result<Option<Request>, UnnamedCommit> {
        let (machine, names) = (&self.machine, &self.names);
        let metric = self.metric.as_ref();
        translate::request(
            self.key(action.number),
            &action.task,
            machine,
            names,
            metric,
        )
    }

    /// The ticket of an action's work, running or ended.
    pub fn ticket(&self, action: u64) -> Ticket {
        let ticket = self.tickets.get(&action).cloned();
        ticket.unwrap_or_else(|| Ticket::in_process(self.key(action)))
    }

    /// Ends a job on which nothing is under way: returns the records that do so, each of
    /// them applied already.
    pub fn conclude(&mut self) -> Result<Vec<Record>, MachineError> {
        let mut records = Vec::new();
        let mut next = vec![Record::CancelRequested];
        while self.machine.outcome().is_none() && !next.is_empty() {
            for record in &next {
                self.apply(record)?;
            }
            records.append(&mut next);
            next = (self.outstanding().into_iter())
                .filter(|action| matches!(action.task, Task::Cancel { .. }))
                .map(|action| Record::Canceled {
                    action: action.number,
                })
                .collect();
        }
        Ok(records)
    }

    /// The settings by which reports are read.
    pub fn reading(&self) -> ReadingSettings {
        ReadingSettings {
            charts: self.machine.charts(),
            aggregate: self.machine.aggregate(),
            created: self.job.created,
        }
    }

    /// The outcome of the machine, once there is one; its culprits carry the names of their
    /// commits.
    pub fn outcome(&self) -> Option<M::Outcome>
    where
        M::Outcome: Clone,
    {
        let mut outcome = self.machine.outcome()?.clone();
        M::name_culprits(&mut outcome, &self.names);
        Some(outcome)
    }

    /// The job.
    pub fn job(&self) -> &JobKey {
        &self.job
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The names of its positions.
    pub fn names(&self) -> &CommitNames {
        &self.names
    }

    /// The metric that the job found, if it looked for one.
    pub fn metric(&self) -> Option<&Metric> {
        self.metric.as_ref()
    }

    /// Milliseconds spent so far, according to the journal.
    pub fn elapsed(&self) -> u64 {
        self.elapsed
    }

    /// Records taken in so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn key(&self, action: u64) -> Key {
        Key {
            job: self.job.id.clone(),
            action,
        }
    }

    fn close(&mut self, action: u64) {
        self.open.remove(&action);
        self.tickets.remove(&action);
    }
}
