//! The time that the strategy `adaptive` takes to decide what to run next.
//!
//! A search is fed until it has made this many runs; the measurement is the answer to the
//! last run of a batch, which decides the next one. Limits: 0.5 ms at 1,000
//! commits, 50 ms at 100,000 after 1,000 runs.
//!
//! `cargo bench -p pinpoint-benches --bench adaptive_choice`

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use pinpoint_core::simulation::{Scenario, Simulation};
use pinpoint_core::{Bisection, BisectionSpec, Event, Machine, Magnitude, Task};

/// A search that waits for the last run of a batch, after at least this many runs.
fn search(commits: u64, runs: u64) -> (Bisection, Event) {
    // A change that is hardly worth finding keeps the search going.
    let scenario = Scenario {
        changes: vec![0.25],
        ..Scenario::new(commits)
    };
    let spec = BisectionSpec {
        magnitude: Some(Magnitude::Absolute(0.25)),
        ..BisectionSpec::new(scenario.range())
    };
    for seed in 0.. {
        let mut simulation =
            Simulation::new(&scenario, &spec, seed).expect("a spec that can be searched");
        while simulation.step() {
            let machine = simulation.machine();
            let open = machine.outstanding();
            if let ([action], true) = (&open[..], machine.progress().runs >= runs)
                && matches!(action.task, Task::Run { .. })
            {
                let event = Event::Ran {
                    action: action.number,
                    bot: None,
                    started: 0,
                    values: BTreeMap::from([("value".to_owned(), vec![100.0])]),
                };
                return (machine.clone(), event);
            }
        }
    }
    unreachable!("some search is long enough")
}

fn choose(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("adaptive choice");
    for (commits, runs) in [(1_000, 100), (1_000, 1_000), (100_000, 1_000)] {
        let (machine, event) = search(commits, runs);
        group.bench_function(format!("{commits} commits, {runs} runs"), |bencher| {
            bencher.iter_batched(
                || (machine.clone(), event.clone()),
                |(mut machine, event)| {
                    machine.handle(event).expect("a possible event");
                    black_box(machine)
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, choose);
criterion_main!(benches);
