//! What a job knows, from its journal alone.
//!
//! The machine is fed the records as a resumed job feeds it. If they do not hold
//! the end, it is told that nobody waits for more: it then says what it knows.

use std::collections::BTreeMap;

use pinpoint_core::{Atlas, Event, Machine, MachineError, Record, Task};

pub(super) struct Replayed<O> {
    /// What was found, or what would be if the job ended now.
    pub(super) outcome: Option<O>,
    pub(super) atlas: Atlas,
    /// What was asked, by the number of the action.
    pub(super) asked: BTreeMap<u64, Task>,
}

pub(super) fn replay<M: Machine<Outcome: Clone>>(
    mut machine: M,
    records: &[Record],
) -> Result<Replayed<M::Outcome>, MachineError> {
    let mut atlas = Atlas::of(&machine);
    let mut asked = BTreeMap::new();
    for record in records {
        take(&mut machine, &mut asked);
        let task = record.event.action().and_then(|number| asked.get(&number));
        atlas.learn(record, task);
        machine.handle(record.event.clone())?;
    }
    take(&mut machine, &mut asked);
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
    Ok(Replayed {
        outcome: machine.outcome().cloned(),
        atlas,
        asked,
    })
}

fn take(machine: &mut impl Machine, asked: &mut BTreeMap<u64, Task>) {
    let actions = machine.poll().into_iter();
    asked.extend(actions.map(|action| (action.number, action.task)));
}
