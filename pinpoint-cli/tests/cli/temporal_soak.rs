//! The store, the Temporal server and the machines are each away for a while, at random moments,
//! and every job ends right.
//!
//! It waits through these times, so it is run by hand:
//!
//! ```text
//! PINPOINT_ATTACKS=20 cargo test -p pinpoint-cli --all-features --test cli temporal_soak:: -- --ignored --nocapture
//! ```
//!
//! `PINPOINT_ATTACKS` says how many jobs, and `KILL_SEED` repeats their moments.

use std::time::Duration;

use libc::{SIGCONT, SIGKILL, SIGSTOP};

use crate::pool::{Noise, Pool, comparable, stop};
use crate::postgres;
use crate::temporal::{IN_ANY_ORDER, has_ended_cleanly, worker_on};
use crate::temporal_server::{OWN, Server};
use crate::world::{Dice, attacks};

/// The longest that something is away, in milliseconds: several times the lease and the limit
/// for signs of life of these workers.
const LONGEST: u64 = 20_000;

/// What is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Away {
    Store,
    Server,
    Suspended,
    Killed,
}

#[test]
#[ignore = "waits for minutes"]
fn whatever_is_away_for_a_while_every_job_ends_right() {
    let mut dice = Dice::new();
    let database = postgres::Server::start(false);
    let pool = Pool::with_store(Noise::world(12, 7), database.url("postgres"));
    let file = pool.world.path("temporal.db");
    let mut server = Server::start(Some(&file));
    let build = [Noise::BUILD, IN_ANY_ORDER].concat();
    let script = &Noise::script(14);
    let reference = [&build[..], &["--output", "json"]].concat();
    let reference = pool.at("desk", pool.world.bisect(&reference, script));
    let expected = comparable(&reference.ends_with(0));

    let worker = |server: &Server, machine| worker_on(&pool, server, OWN, machine).start();
    let mut workers = ["rack-1", "rack-2"].map(|machine| (machine, worker(&server, machine)));
    let mut counts = std::collections::BTreeMap::new();
    for round in 1..=attacks(3) {
        let job = pool.detach(&build, script);
        let mut waiting = pool.wait(&job).and(&["--output", "json"]).start();
        while !waiting.has_ended() {
            std::thread::sleep(Duration::from_millis(dice.below(2_000)));
            let all = [Away::Store, Away::Server, Away::Suspended, Away::Killed];
            let away = *dice.one_of(&all);
            let time = Duration::from_millis(1_000 + dice.below(LONGEST - 1_000));
            let (machine, running) = &mut workers[dice.below(2) as usize];
            match away {
                Away::Store => {
                    database.kill();
                    std::thread::sleep(time);
                    database.restart();
                }
                Away::Server => {
                    server.kill();
                    std::thread::sleep(time);
                    server.begin(Some(&file));
                }
                Away::Suspended => {
                    running.signal(SIGSTOP);
                    std::thread::sleep(time);
                    running.signal(SIGCONT);
                }
                Away::Killed => {
                    running.signal(SIGKILL);
                    std::thread::sleep(time);
                    *running = worker(&server, machine);
                }
            }
            *counts.entry(away).or_insert(0) += 1;
        }
        let ended = waiting.ends_with(0);
        assert_eq!(comparable(&ended), expected, "{ended}");
        assert_eq!(pool.show(&job)["state"], "completed");
        server.answers();
        has_ended_cleanly(&pool, &job);
        println!("{round} jobs ended right; away were {counts:?}");
    }
    for (_, worker) in workers {
        stop(worker);
    }
}
