//! A stored job: its spec, and the records that are replayed when it is resumed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_core::{
    Bisection, BisectionSpec, CulpritFinder, CulpritFinderSpec, Event, Machine, Pairwise,
    PairwiseSpec, Range, Record,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A search of more commits or runs is no slower for each, and slow to try.
const MOST_COMMITS: u64 = 1000;
const MOST_RUNS: u32 = 200;

#[derive(Deserialize)]
struct Stored<Spec> {
    spec: Spec,
    events: Vec<Event>,
}

fuzz_target!(|stored: &[u8]| {
    if let Ok(record) = serde_json::from_slice::<Record>(stored) {
        let text = serde_json::to_string(&record).expect("what was read can be written");
        let again: Record = serde_json::from_str(&text).expect("what was written can be read");
        assert_eq!(again, record);
    }
    if let Some((spec, events)) = read::<BisectionSpec>(stored)
        && is_small(&spec)
        && let Ok(machine) = Bisection::new(spec.clone())
    {
        replay(machine, &events, spec.max_runs);
    }
    if let Some((spec, events)) = read::<PairwiseSpec>(stored)
        && spec.pairs <= MOST_RUNS
        && let Ok(machine) = Pairwise::new(spec)
    {
        replay(machine, &events, None);
    }
    if let Some((spec, events)) = read::<CulpritFinderSpec>(stored)
        && spec.pairs <= MOST_RUNS
        && is_small(&spec.bisection)
        && let Ok(machine) = CulpritFinder::new(spec.clone())
    {
        replay(machine, &events, spec.bisection.max_runs);
    }
});

fn read<Spec: DeserializeOwned>(stored: &[u8]) -> Option<(Spec, Vec<Event>)> {
    let Stored { spec, events } = serde_json::from_slice(stored).ok()?;
    let is_small = |event: &Event| match event {
        Event::Listed { count, .. } => *count <= MOST_COMMITS,
        _ => true,
    };
    events.iter().all(is_small).then_some((spec, events))
}

fn is_small(spec: &BisectionSpec) -> bool {
    let commits = match &spec.range {
        Range::Counted { between } => *between,
        Range::Between { .. } => 0,
    };
    commits <= MOST_COMMITS && spec.attempts.is_none_or(|attempts| attempts <= MOST_RUNS)
}

/// Each event is taken or refused; the machine asks for no more than its budget.
fn replay<M: Machine>(mut machine: M, events: &[Event], max_runs: Option<u64>) {
    let mut runs = 0;
    for event in events {
        for action in machine.poll() {
            runs += match action.task {
                pinpoint_core::Task::Run { .. } => 1,
                pinpoint_core::Task::RunPair { .. } => 2,
                _ => 0,
            };
        }
        assert!(max_runs.is_none_or(|most| runs <= most), "{runs} runs of {max_runs:?}");
        if machine.handle(event.clone()).is_err() {
            return;
        }
    }
    if machine.outcome().is_some() {
        assert!(machine.outstanding().is_empty());
    }
}
