//! An explanation that is killed again and again, and comes to the same answer.

use std::time::Duration;

use serde_json::Value;

use super::{BUILD, PROGRAM, document, explain, pairwise, slower, world};
use crate::world::{Dice, until};

const OPTIONS: [&str; 4] = ["--profiler", "callgrind", "--pairs", "2"];

/// The longest that it runs on after the line of the journal at which it is to be killed, in
/// milliseconds: about as long as a run.
const MAX_LIFE_MS: u64 = 300;

/// A document without its variable parts: the job, and the place of its profiles.
fn comparable(mut document: Value) -> Value {
    let job = document["job"].as_object_mut().unwrap();
    let id = job.remove("job_id").unwrap();
    let id = id.as_str().unwrap();
    for side in ["base", "experiment"] {
        for path in document[side].as_array_mut().unwrap() {
            let after_id = path.as_str().unwrap().split_once(id).unwrap().1;
            *path = after_id.to_owned().into();
        }
    }
    document
}

/// `KILL_SEED` repeats a walk.
#[test]
fn an_explanation_that_is_killed_gives_an_equal_answer() {
    let world = world("bench.c", &[PROGRAM.into(), slower()]);
    let job = pairwise(&world, &BUILD, &["./bench"]);
    let whole = document(&world, &job, &OPTIONS);
    let lines = (world.journal(whole["job"]["job_id"].as_str().unwrap())).len();
    // Builds are made again, too.
    world.pinpoint(&["clean"]).ends_with(0);

    let mut dice = Dice::new();
    let mut running = world.pinpoint(&["explain", &job]).and(&OPTIONS).start();
    let id = running.job();
    let mut kills = 0;
    // Each line twice: at once, and during the step after it.
    for moment in 0..2 * lines {
        until("a line of the journal", || {
            running.has_ended() || world.journal(&id).len() >= moment / 2
        });
        let longest = if moment % 2 == 0 { 1 } else { MAX_LIFE_MS };
        std::thread::sleep(Duration::from_millis(dice.below(longest)));
        if running.has_ended() {
            break;
        }
        running.signal(libc::SIGKILL);
        let killed = running.wait();
        kills += usize::from(killed.was_killed());
        if kills == 1 {
            let unfinished = explain(&world, &id, &[], 2);
            let advice = "is not finished; continue it with";
            assert!(unfinished.stderr.contains(advice), "{unfinished}");
        }
        running = world
            .pinpoint(&["jobs", "resume", &id, "--output", "json"])
            .start();
    }
    let resumed = running.ends_with(0).document();
    assert!(kills > lines / 2, "{kills} kills, {lines} lines");
    assert_eq!(comparable(resumed), comparable(whole), "{kills} kills");
}
