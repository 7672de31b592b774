//! Each kind of benchmark and of bot, from a commit to its values.

use std::future::pending;

use fake_luci::Faults;
use pinpoint_core::bots::{Bots, Workers};
use pinpoint_core::{MemoryJournal, drive};

use super::fixture::{CLOCK, Fixture, IN_MAIN, benchmark};

async fn finds_the_culprit(bot: &str, name: &str) {
    let fixture = Fixture::new(&IN_MAIN, 1, Faults::default());
    let bots = Bots::builtin();
    let Workers::Swarming(machines) = bots.get(bot).unwrap().workers else {
        panic!("{bot} is of Swarming");
    };
    let target = bots.target(bot, name).unwrap();
    let executor = fixture.executor_with(machines.clone(), benchmark(name, target));
    let mut journal = MemoryJournal::new("job");
    let driven = drive(fixture.search(), &executor, &mut journal, &CLOCK, pending());
    let driven = driven.await.unwrap();
    let [culprit] = &driven.outcome.culprits[..] else {
        panic!("one culprit: {:?}", driven.outcome);
    };
    let commit = driven.engine.names().commit(culprit.commit).unwrap();
    assert!(fixture.is_culprit(commit), "{commit:?}");
}

#[tokio::test(start_paused = true)]
async fn a_culprit_is_found_on_phones() {
    finds_the_culprit("android-pixel6-perf", "rendering.mobile").await;
}

#[tokio::test(start_paused = true)]
async fn a_culprit_is_found_in_a_program_of_google_test() {
    finds_the_culprit("linux-perf", "base_perftests").await;
}

#[tokio::test(start_paused = true)]
async fn a_culprit_is_found_by_telemetry_on_a_bot_with_arguments_of_its_own() {
    finds_the_culprit("linux-perf-cq", "rendering.desktop").await;
}
