//! A stored job: its spec, and the records that are replayed when it is resumed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_core::{
    Action, Bisection, BisectionSpec, CulpritFinder, CulpritFinderSpec, Engine, Event, JobKey, Machine,
    Pairwise, PairwiseSpec, Range, Record, RecordVersion1, Report, Task,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A search of more commits or runs takes no longer for each, but is slow to try.
const MOST_COMMITS: u64 = 1000;
const MOST_RUNS: u32 = 200;

/// When the job was created.
const CREATED: u64 = 1_795_303_305_118;

#[derive(Deserialize)]
struct Stored<Spec> {
    spec: Spec,
    #[serde(default)]
    events: Vec<Event>,
    #[serde(default)]
    records: Vec<Record>,
}

fuzz_target!(|stored: &[u8]| {
    if let Ok(record) = serde_json::from_slice::<Record>(stored) {
        comes_back(&record);
    }
    if let Ok(record) = serde_json::from_slice::<RecordVersion1>(stored) {
        let text = serde_json::to_string(&record).expect("what was read can be written");
        let again: RecordVersion1 = serde_json::from_str(&text).expect("what was written");
        assert_eq!(again, record);
        let action = record.event.action();
        let upgraded = record.upgrade(CREATED);
        assert_eq!(upgraded.action(), action);
        comes_back(&upgraded);
    }
    if let Some(stored) = read::<BisectionSpec>(stored)
        && is_small(&stored.spec)
        && let Ok(machine) = Bisection::new(stored.spec.clone())
    {
        replay(machine, &stored, stored.spec.max_runs);
    }
    if let Some(stored) = read::<PairwiseSpec>(stored)
        && stored.spec.pairs <= MOST_RUNS
        && let Ok(machine) = Pairwise::new(stored.spec.clone())
    {
        replay(machine, &stored, None);
    }
    if let Some(stored) = read::<CulpritFinderSpec>(stored)
        && stored.spec.pairs <= MOST_RUNS
        && is_small(&stored.spec.bisection)
        && let Ok(machine) = CulpritFinder::new(stored.spec.clone())
    {
        replay(machine, &stored, stored.spec.bisection.max_runs);
    }
});

fn comes_back(record: &Record) {
    let text = serde_json::to_string(record).expect("what was read can be written");
    let again: Record = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, *record);
}

fn read<Spec: DeserializeOwned>(stored: &[u8]) -> Option<Stored<Spec>> {
    let stored: Stored<Spec> = serde_json::from_slice(stored).ok()?;
    let counted = (stored.events.iter()).filter_map(|event| match event {
        Event::Listed { count, .. } => Some(*count),
        _ => None,
    });
    let listed = (stored.records.iter()).filter_map(|record| match record {
        Record::Reported { report: Report::Listed(listing), .. } => Some(listing.count),
        _ => None,
    });
    let is_small = counted.chain(listed).all(|count| count <= MOST_COMMITS);
    is_small.then_some(stored)
}

fn is_small(spec: &BisectionSpec) -> bool {
    let commits = match &spec.range {
        Range::Counted { between } => *between,
        _ => 0,
    };
    commits <= MOST_COMMITS && spec.attempts.is_none_or(|attempts| attempts <= MOST_RUNS)
}

/// Each event is taken or refused; the machine asks for no more than its budget. Then the
/// same with records.
fn replay<M: Machine + Clone, Spec>(machine: M, stored: &Stored<Spec>, max_runs: Option<u64>) {
    replay_records(machine.clone(), &stored.records, max_runs);
    replay_events(machine, &stored.events, max_runs);
}

fn replay_events<M: Machine>(mut machine: M, events: &[Event], max_runs: Option<u64>) {
    let mut runs = 0;
    for event in events {
        count(&mut runs, machine.poll(), max_runs);
        if machine.handle(event.clone()).is_err() {
            return;
        }
    }
    if machine.outcome().is_some() {
        assert!(machine.outstanding().is_empty());
    }
}

fn replay_records<M: Machine>(machine: M, records: &[Record], max_runs: Option<u64>) {
    let job = JobKey { id: "job".into(), created: CREATED };
    let mut engine = Engine::new(job, machine);
    let mut runs = 0;
    for record in records {
        let actions = engine.poll();
        for action in &actions {
            // A commit that has no name yet is an error, and nothing worse.
            let _ = engine.request(action);
        }
        count(&mut runs, actions, max_runs);
        if engine.apply(record).is_err() {
            return;
        }
    }
    if engine.machine().outcome().is_some() {
        assert!(engine.outstanding().is_empty());
    }
}

fn count(runs: &mut u64, actions: Vec<Action>, max_runs: Option<u64>) {
    for action in actions {
        *runs += match action.task {
            Task::Run { .. } => 1,
            Task::RunPair { .. } => 2,
            _ => 0,
        };
    }
    assert!(max_runs.is_none_or(|most| *runs <= most), "{runs} runs of {max_runs:?}");
}
