//! The knowledge of a job, from its journal alone.
//!
//! An engine takes in the records as it does in a resumed job. If they do not hold the end, the job
//! is canceled in it, and its machine then reports its findings.

use crate::{Applied, Engine, Event, JobKey, JobMachine, MachineError, Record, Report, Task};

/// The knowledge of a job: see [`Answers::of`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Answers {
    /// If the journal can be replayed, it has an outcome: the result, or that of a job that ended
    /// now.
    pub engine: Engine<JobMachine>,
    /// The answers in the order in which they came, as far as the journal can be replayed.
    pub answers: Vec<Answered>,
    /// The reason why the journal can't be replayed to its end.
    pub error: Option<MachineError>,
}

/// The answer to a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The number of the action.
    pub action: u64,
    /// The task.
    pub task: Task,
    /// The report of the executor.
    pub report: Report,
    /// The event of the machine.
    pub event: Event,
}

impl Answers {
    /// The answers in a job's journal, and their consequences. A journal that can't be replayed to
    /// its end gives those before the error.
    pub fn of(job: JobKey, machine: JobMachine, records: Vec<Record>) -> Self {
        let mut engine = Engine::new(job, machine);
        let mut answers = Vec::new();
        let replayed = feed(&mut engine, records, &mut answers);
        let error = replayed.and_then(|()| engine.conclude()).err();
        Self {
            engine,
            answers,
            error,
        }
    }
}

fn feed(
    engine: &mut Engine<JobMachine>,
    records: Vec<Record>,
    answers: &mut Vec<Answered>,
) -> Result<(), MachineError> {
    for record in records {
        let Applied { event, task } = engine.apply(&record)?;
        if let (Record::Reported { action, report }, Some(event), Some(task)) =
            (record, event, task)
        {
            answers.push(Answered {
                action,
                task,
                report,
                event,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{BisectionSpec, BuildReport, Commit, Listing, Machine as _, Range};

    use super::*;

    #[test]
    fn a_journal_that_can_not_be_replayed_gives_what_comes_before() {
        let spec = BisectionSpec::new(Range::Counted { between: 8 });
        let machine = JobMachine::new(spec).unwrap();
        let mut other = machine.clone();
        let built = other.poll()[0].number;
        assert!(matches!(other.outstanding()[0].task, Task::Build { .. }));
        let job = JobKey {
            id: "0199".into(),
            created: 0,
        };
        let reported = |action, report| Record::Reported { action, report };
        let commit = Commit::new("numbers", "0");
        let right = reported(built, Report::Built(BuildReport::built(commit.into())));
        // A list, where a build was asked for.
        let listing = Listing {
            lower: Commit::new("numbers", "0").into(),
            higher: Commit::new("numbers", "4").into(),
            count: 3,
            changes: Vec::new(),
            merge_base: None,
        };
        let wrong = reported(built + 1, Report::Listed(listing));
        let whole = Answers::of(job.clone(), machine.clone(), vec![right.clone()]);
        assert!(whole.error.is_none() && whole.engine.machine().outcome().is_some());
        let part = Answers::of(job, machine, vec![right, wrong]);
        assert!(part.error.is_some());
        assert!(matches!(&part.answers[..], [answer] if answer.action == built));
    }
}
