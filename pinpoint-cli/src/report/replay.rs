//! The knowledge of a job, from its journal alone.
//!
//! The machine is fed the records as a resumed job feeds it. If they do not hold
//! the end, it is canceled, and then says what it knows.

use std::collections::BTreeMap;

use pinpoint_core::{Atlas, Event, Machine, MachineError, Record, Task};

pub(super) struct Replayed<O> {
    /// The result, or what it would be if the job ended now; absent when the journal
    /// can't be replayed.
    pub(super) outcome: Option<O>,
    pub(super) atlas: Atlas,
    /// The tasks that were asked for, by the number of the action.
    pub(super) asked: BTreeMap<u64, Task>,
    /// Why the journal can't be replayed to its end.
    pub(super) error: Option<MachineError>,
}

pub(super) fn replay<M: Machine<Outcome: Clone>>(
    mut machine: M,
    records: &[Record],
) -> Replayed<M::Outcome> {
    let mut atlas = Atlas::of(&machine);
    let mut asked = BTreeMap::new();
    let replayed = feed(&mut machine, records, &mut atlas, &mut asked);
    let error = replayed.and_then(|()| end(&mut machine)).err();
    Replayed {
        outcome: machine.outcome().filter(|_| error.is_none()).cloned(),
        atlas,
        asked,
        error,
    }
}

fn feed<M: Machine>(
    machine: &mut M,
    records: &[Record],
    atlas: &mut Atlas,
    asked: &mut BTreeMap<u64, Task>,
) -> Result<(), MachineError> {
    for record in records {
        take(machine, asked);
        let task = record.event.action().and_then(|number| asked.get(&number));
        atlas.learn(record, task);
        machine.handle(record.event.clone())?;
    }
    take(machine, asked);
    Ok(())
}

/// Has the machine say what it knows, if it has not ended.
fn end(machine: &mut impl Machine) -> Result<(), MachineError> {
    if machine.outcome().is_none() {
        machine.handle(Event::CancelRequested)?;
        let ending: Vec<u64> = (machine.outstanding().iter())
            .filter(|action| matches!(action.task, Task::Cancel { .. }))
            .map(|action| action.number)
            .collect();
        for action in ending {
            machine.handle(Event::Cancelled { action })?;
        }
    }
    Ok(())
}

fn take(machine: &mut impl Machine, asked: &mut BTreeMap<u64, Task>) {
    let actions = machine.poll().into_iter();
    asked.extend(actions.map(|action| (action.number, action.task)));
}

#[cfg(test)]
mod tests {
    use pinpoint_core::{Bisection, BisectionSpec, Range};

    use super::*;

    #[test]
    fn a_journal_that_can_not_be_replayed_gives_what_comes_before() {
        let spec = BisectionSpec::new(Range::Counted { between: 8 });
        let machine = Bisection::new(spec).unwrap();
        let mut other = machine.clone();
        let built = other.poll()[0].number;
        assert!(matches!(other.outstanding()[0].task, Task::Build { .. }));
        let record = |event| Record {
            event,
            detail: None,
        };
        let right = record(Event::Built { action: built });
        // A list, where a build was asked for.
        let wrong = record(Event::Listed {
            action: built + 1,
            range: 0,
            count: 3,
        });
        let whole = replay(machine.clone(), std::slice::from_ref(&right));
        assert!(whole.error.is_none() && whole.outcome.is_some());
        let part = replay(machine, &[right, wrong]);
        assert!(part.error.is_some() && part.outcome.is_none());
        assert!(part.asked.contains_key(&built));
    }
}
