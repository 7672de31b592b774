//! The store, the Temporal server and the machines are each away for a while, at random moments,
//! and every job ends right.
//!
//! It waits through these times, so it is run by hand:
//!
//! ```text
//! PINPOINT_ATTACKS=10 PINPOINT_LONGEST_AWAY=300 cargo test --workspace --all-features --test cli soak:: -- --ignored --nocapture
//! ```
//!
//! `PINPOINT_ATTACKS` says how many jobs there are at once, `PINPOINT_LONGEST_AWAY` for how many
//! seconds something is away at most, and `KILL_SEED` repeats the moments.

#![expect(clippy::print_stdout, reason = "it takes long, and says how far it is")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use libc::{SIGCONT, SIGKILL, SIGSTOP};
use serde_json::Value;

use crate::pool::{Noise, Pool, comparable_document, stop};
use crate::postgres;
use crate::temporal::{IN_ANY_ORDER, has_ended_cleanly, worker_on};
use crate::temporal_server::{OWN, Server};
use crate::world::{Dice, Pinpoint, attacks};

/// The longest time between two absences, in milliseconds.
const LONGEST_PAUSE: u64 = 15_000;

/// Far more absences than each job needs.
const MOST_PER_JOB: u32 = 30;

/// A part of the system that is away for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Away {
    Store,
    Server,
    Machine,
}

#[test]
#[ignore = "a soak: takes many minutes"]
fn jobs_of_workers_of_the_store_end_right_whatever_is_away() {
    every_job_ends_right(&[Away::Store, Away::Machine]);
}

#[test]
#[ignore = "a soak: takes many minutes"]
fn jobs_of_workers_on_temporal_end_right_whatever_is_away() {
    every_job_ends_right(&[Away::Store, Away::Server, Away::Machine]);
}

/// The longest that something is away, in milliseconds. Usually it is several times the lease
/// and the limit for signs of life of these workers.
fn longest_away() -> u64 {
    let seconds = std::env::var("PINPOINT_LONGEST_AWAY").map_or(20, |it| it.parse().unwrap());
    assert!(seconds > 1, "PINPOINT_LONGEST_AWAY is more than a second");
    seconds * 1_000
}

/// The time of an absence: a second to the longest, each magnitude as likely as the others, so that
/// code that is right after two seconds and wrong after two hundred shows either way.
fn absence(dice: &mut Dice) -> Duration {
    let share = dice.below(1_000_001) as f64 / 1e6;
    let seconds = (longest_away() as f64 / 1e3).powf(share);
    Duration::from_secs_f64(seconds)
}

/// A job as the store has it. On a busy machine the store may not answer in time.
fn shown(pool: &Pool, job: &str) -> Value {
    loop {
        let show = pool.on("desk", &["jobs", "show", job, "--output", "json"]);
        let shown = show.start().wait();
        match shown.status.success() {
            true => return shown.document(),
            false => assert!(shown.stderr.contains("cannot reach"), "{shown}"),
        }
    }
}

fn every_job_ends_right(kinds: &[Away]) {
    let mut dice = Dice::new();
    let database = postgres::Server::start(false);
    let pool = Pool::with_store(Noise::world(12, 7), database.url("postgres"));
    let file = pool.world.path("temporal.db");
    let mut server = (kinds.contains(&Away::Server)).then(|| Server::start(Some(&file)));
    let build = [Noise::BUILD, IN_ANY_ORDER].concat();
    // Jobs last for several absences.
    let script = &format!("sleep 0.5; {}", Noise::script(14));
    let reference = [&build[..], &["--output", "json"]].concat();
    let reference = pool.at("desk", pool.world.bisect(&reference, script));
    let expected = comparable_document(reference.ends_with(0).document());
    assert_eq!(expected["status"], "culprit_found");

    let address = server.as_ref().map(|server| Server {
        address: server.address.clone(),
        process: None,
    });
    let worker = |machine: &str| -> Pinpoint {
        match &address {
            Some(server) => worker_on(&pool, server, OWN, machine),
            None => pool.quick_worker(machine),
        }
    };
    let mut workers = ["rack-1", "rack-2"].map(|machine| (machine, worker(machine).start()));
    let jobs: Vec<_> = (0..attacks(3))
        .map(|_| pool.detach(&build, script))
        .collect();
    let began = Instant::now();
    let mut waiting = pool.on("desk", &["jobs", "wait", "--output", "json"]);
    for job in &jobs {
        waiting = waiting.and(&[job]);
    }
    let mut waiting = waiting.start();

    // The parts that were away while a job was carried out, and while it was not ended.
    let mut seen: BTreeMap<&str, [BTreeSet<Away>; 2]> = BTreeMap::new();
    let mut counts: BTreeMap<Away, (u32, Duration)> = BTreeMap::new();
    let mut next: Vec<Away> = Vec::new();
    for number in 1.. {
        let pause = Instant::now() + Duration::from_millis(dice.below(LONGEST_PAUSE));
        while Instant::now() < pause && !waiting.has_ended() {
            std::thread::sleep(Duration::from_millis(50));
        }
        if waiting.has_ended() {
            break;
        }
        let states: Vec<_> = jobs.iter().map(|job| (job, shown(&pool, job))).collect();
        assert!(
            number < MOST_PER_JOB * jobs.len() as u32,
            "still not ended: {states:#?}"
        );
        // Each of them in turn, in any order.
        if next.is_empty() {
            next.extend(kinds);
        }
        let away = next.swap_remove(dice.below(next.len() as u64) as usize);
        let time = absence(&mut dice);
        let (mut running, mut left) = (0, 0);
        for (job, state) in &states {
            let [while_running, while_left] = seen.entry(job.as_str()).or_default();
            if state["state"] == "running" {
                running += 1;
                while_running.insert(away);
            }
            if state["state"] == "running" || state["state"] == "pending" {
                left += 1;
                while_left.insert(away);
            }
        }
        println!(
            "{:>5} s: {left} jobs are left, {running} of them running; {away:?} is away for {} ms",
            began.elapsed().as_secs(),
            time.as_millis()
        );
        let (machine, process) = &mut workers[dice.below(2) as usize];
        match (away, &mut server) {
            (Away::Store, _) => {
                database.kill();
                std::thread::sleep(time);
                database.restart();
            }
            (Away::Server, Some(server)) => {
                server.kill();
                std::thread::sleep(time);
                server.begin(Some(&file));
            }
            (Away::Server, None) => unreachable!("no Temporal server was started"),
            (Away::Machine, _) if dice.below(2) == 0 => {
                process.signal(SIGSTOP);
                std::thread::sleep(time);
                process.signal(SIGCONT);
            }
            (Away::Machine, _) => {
                process.signal(SIGKILL);
                std::thread::sleep(time);
                *process = worker(machine).start();
            }
        }
        let (count, sum) = counts.entry(away).or_default();
        *count += 1;
        *sum += time;
    }
    let ended = waiting.ends_with(0);
    let documents = ended.document()["jobs"].as_array().unwrap().clone();
    assert_eq!(documents.len(), jobs.len());
    for (job, document) in jobs.iter().zip(documents) {
        assert_eq!(document["job_id"], **job);
        assert_eq!(comparable_document(document), expected, "{ended}");
        assert_eq!(shown(&pool, job)["state"], "completed");
        has_ended_cleanly(&pool, job);
    }
    if let Some(server) = &server {
        server.answers();
    }
    let with_all = |which: usize| {
        seen.values()
            .filter(|it| it[which].len() == kinds.len())
            .count()
    };
    println!(
        "{} jobs ended right in {} s, with {:?} away while they ran for {}, and before their end for {}; \
         away were, and for: {counts:?}",
        jobs.len(),
        began.elapsed().as_secs(),
        kinds,
        with_all(0),
        with_all(1),
    );
    for (_, worker) in workers {
        stop(worker);
    }
}
