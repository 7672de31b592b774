//! Jobs on Temporal when something fails: the network, the database, a disk, a key, a
//! repository, another process of the machine.
//!
//! `PINPOINT_ATTACKS=20` runs longer, and `KILL_SEED` repeats a walk.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libc::SIGTERM;
use pinpoint_backends::store::SCHEMA_VERSION;

use crate::attack::SmallDisk;
use crate::pool::{Gate, Pool, stop};
use crate::postgres;
use crate::proxy::Proxy;
use crate::temporal::{
    IN_ANY_ORDER, Scene, finds_its_culprit, has_ended_cleanly, in_one_process_and_on_temporal,
    is_renewed_twice,
};
use crate::temporal_server::{SHARED, Server};
use crate::world::{BENCHMARK, Dice, Finished, World, attacks, processes_of, until};

/// The server through a network that can fail.
fn through(proxy: &Proxy) -> Server {
    Server {
        address: proxy.address(),
        process: None,
    }
}

#[test]
fn a_database_that_is_killed_and_whose_connections_are_reset_changes_nothing() {
    let mut dice = Dice::new();
    let database = &postgres::Server::start(false);
    let proxy = &Proxy::start(&database.socket());
    let pool = Pool::with_store(World::with_step(4, 2), proxy.url("postgres"));
    let scene = Scene::new(&pool);
    let bisect = [&["bisect"][..], &IN_ANY_ORDER].concat();
    let over = &AtomicBool::new(false);
    std::thread::scope(|threads| {
        let _over = AtEnd(|| over.store(true, Ordering::Relaxed));
        let kinds = [&bisect[..]].repeat(attacks(1));
        in_one_process_and_on_temporal(&scene, &kinds, move || {
            proxy.reset_every(Duration::from_secs(2));
            threads.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    database.kill();
                    database.restart();
                    // However slow the machine is, it is there for most of the time.
                    std::thread::sleep(3 * began.elapsed());
                    std::thread::sleep(Duration::from_millis(dice.below(3000)));
                }
            });
        });
    });
}

#[test]
fn a_network_before_the_server_that_fails_changes_nothing() {
    let mut dice = Dice::new();
    let proxy = Proxy::before_address(&SHARED.address);
    let server = through(&proxy);
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene {
        server: &server,
        ..Scene::new(&pool)
    };
    let bisect = [&["bisect"][..], &IN_ANY_ORDER].concat();
    let kinds = [&bisect[..]].repeat(attacks(1));
    in_one_process_and_on_temporal(&scene, &kinds, || {
        proxy.disturb(4000, move |bound| dice.below(bound));
    });
}

/// Runs a function at its end, however that comes.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// The lease is renewed even if the server does not say what became of the job.
#[test]
fn a_job_belongs_to_temporal_while_the_server_says_nothing() {
    let proxy = Proxy::before_address(&SHARED.address);
    let server = through(&proxy);
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene {
        server: &server,
        ..Scene::new(&pool)
    };
    let (worker, job, gate) = scene.in_a_run();
    proxy.silence(true);
    is_renewed_twice(&pool, &job);
    // So no wait for an answer has been given up yet.
    assert!(!worker.stderr().contains("error:"), "{}", worker.stderr());
    proxy.silence(false);
    gate.open();
    pool.wait(&job).ends_with(0);
    has_ended_cleanly(&pool, &job);
    stop(worker);
}

#[test]
fn a_job_that_the_server_does_not_start_is_left_failed_and_holds_up_no_other() {
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene::new(&pool);
    let refused = pool.detach(&[], BENCHMARK);
    let good = pool.detach(&[], BENCHMARK);
    // Servers take ids of 1,000 bytes at most.
    let long = format!("{refused}{}", "0".repeat(1_000));
    pool.alter(&format!(
        "UPDATE jobs SET id = '{long}' WHERE id = '{refused}'"
    ));
    let worker = scene.worker("rack-1");
    pool.wait(&good).ends_with(0);
    let failed = pool.wait(&long).ends_with(1);
    failed.says_nothing().tells("Temporal does not start job");
    assert_eq!(pool.show(&long)["state"], "failed");
    stop(worker);
}

#[test]
fn a_job_whose_workflow_is_terminated_is_canceled_where_its_repository_is_missing() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    let (here, away) = (&pool.world.repository, pool.world.path("away"));
    fs::rename(here, &away).unwrap();
    scene.temporal(&["workflow", "terminate", "--workflow-id", &job]);
    let wait = pool.wait(&job).in_dir(&pool.world.path(""));
    wait.ends_with(130);
    has_ended_cleanly(&pool, &job);

    fs::rename(&away, here).unwrap();
    gate.open();
    assert_eq!(pool.show(&job)["state"], "canceled");
    let resume = ["jobs", "resume", &job, "--detach"];
    pool.on("desk", &resume).ends_with(0);
    finds_its_culprit(&pool, &job);
    stop(worker);
}

/// Each has one run at a time, and the other may have the job of that.
#[test]
fn workers_that_share_a_state_directory_hold_up_no_other_job() {
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene::new(&pool);
    // Two machines: one would let one benchmark run.
    let shared = pool.world.path("rack-1").join("state");
    let workers = [
        scene.worker("rack-1"),
        (scene.worker_on("rack-2").env("XDG_STATE_HOME", &shared)).start(),
    ];
    let gate = Gate::closed(&pool.world);
    let held = pool.detach(&IN_ANY_ORDER, &gate.script());
    gate.wait();
    let other = pool.detach(&[], BENCHMARK);
    let culprit = format!("culprit {}", pool.world.commits[2]);
    pool.wait(&other).ends_with(0).says(&culprit);
    gate.open();
    // Continues quickly with one.
    let [first, second] = workers;
    stop(first);
    pool.wait(&held).ends_with(0).says(&culprit);
    stop(second);
}

/// Each build may come to the machine that runs the benchmark, which hands it to the other.
#[test]
fn builds_do_not_wait_for_the_benchmark_of_another_job() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let [first, second] = ["rack-1", "rack-2"].map(|machine| scene.worker(machine));
    let gate = Gate::closed(&pool.world);
    // A run of one end alone waits, and the other machine is free.
    let script = format!(
        "if [ $(cat number) = 0 ]; then {}; else {BENCHMARK}; fi",
        gate.script()
    );
    let held = pool.detach(&IN_ANY_ORDER, &script);
    gate.wait();
    let built = pool.detach(&["--build", "true"], BENCHMARK);
    finds_its_culprit(&pool, &built);
    gate.open();
    finds_its_culprit(&pool, &held);
    stop(first);
    stop(second);
}

/// A worker that has nothing more to do with a job still has it open for a while.
#[test]
fn a_job_that_has_ended_is_resumed_on_a_machine_that_still_has_it_open() {
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    scene.update(&job, "pause");
    gate.open();
    until("the end of the run", || processes_of(&job).is_empty());
    // It has to end, and can't yet.
    let (busy, free) = (pool.world.path("busy"), pool.world.path("free"));
    let script = format!(
        ": > {}; until [ -e {} ]; do sleep 0.01; done; {BENCHMARK}",
        busy.display(),
        free.display()
    );
    let other = pool.detach(&[], &script);
    until("the other job", || busy.exists());
    worker.signal(SIGTERM);
    let next = scene.worker("rack-2");
    scene.temporal(&["workflow", "cancel", "--workflow-id", &job]);
    pool.wait(&job).ends_with(130);
    let resume = pool.on("rack-1", &["jobs", "resume", &job]);
    // The worker has the lock of its machine.
    let resume = resume.env("XDG_RUNTIME_DIR", pool.world.path("beside"));
    let culprit = format!("culprit {}", pool.world.commits[2]);
    resume.ends_with(0).says(&culprit);
    fs::write(free, "").unwrap();
    worker.ends_with(0);
    pool.wait(&other).ends_with(0).says(&culprit);
    stop(next);
}

#[test]
fn a_worker_with_another_key_says_so_and_leaves_the_jobs_alone() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let key = |name: &str, bytes: &str| {
        let file = pool.world.path(name);
        fs::write(&file, bytes).unwrap();
        file.display().to_string()
    };
    // 32 bytes each.
    let key_1 = key("key-1", &format!("{}=", "A".repeat(43)));
    let key_2 = key("key-2", &format!("{}=", "B".repeat(42) + "A"));
    let with = |machine: &str, key: &str| scene.worker_on(machine).and(&["--temporal-key", key]);
    let gate = Gate::closed(&pool.world);
    let worker = with("rack-1", &key_1).start();
    let job = pool.detach(&[], &gate.script());
    gate.wait();
    let before = pool.world.recorded_runs(&job);
    for (other, told) in [
        (with("rack-2", &key_2), "the worker has another key"),
        (scene.worker_on("rack-2"), "needs the key"),
    ] {
        let refused = other.ends_with(1);
        refused.says_nothing().tells(told).tells("--temporal-key");
        refused.tells(&job);
    }
    assert_eq!(pool.world.recorded_runs(&job), before);
    gate.open();
    finds_its_culprit(&pool, &job);
    // At first it can read everything, and then one of the two can't.
    let other = with("rack-2", &key_2).start();
    until("the worker", || other.stderr().contains("carries out"));
    pool.detach(&[], BENCHMARK);
    until("somebody to say so", || {
        let said = [&worker, &other].map(|it| it.stderr());
        let why = ["another key", "--temporal-key"];
        said.iter()
            .any(|said| why.iter().all(|words| said.contains(words)))
    });
    stop(other);
    stop(worker);
}

#[test]
fn a_disk_of_a_worker_that_is_full_loses_nothing() {
    let mut dice = Dice::new();
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let state = pool.world.path("rack-1/state");
    let mut ends = BTreeMap::new();
    for _ in 0..attacks(1) {
        let size = 16 + dice.below(400);
        let Some(mut disk) = SmallDisk::mount(&pool.world, &state, size) else {
            eprintln!("NOT TESTED: this machine lets nobody mount a file system");
            return;
        };
        let worker = |disk: &SmallDisk| disk.seen_by(scene.worker_on("rack-1")).start();
        let mut small = worker(&disk);
        let job = pool.detach(&["--build", "cp value built"], BENCHMARK);
        let mut waiting = pool.wait(&job).start();
        let is_paused = || {
            let shown = pool.show(&job);
            shown["waits_for"]
                .as_str()
                .is_some_and(|it| it.contains("it is paused"))
        };
        until("an end", || {
            small.has_ended() || waiting.has_ended() || is_paused()
        });
        let ended = match (small.has_ended(), is_paused()) {
            (true, _) => {
                says_why(&small.ends_with(1));
                "the worker"
            }
            (false, true) => {
                let error = pool.show(&job)["error"].to_string();
                let reasons = ["on rack-1: ", "No space left"];
                assert!(reasons.iter().all(|it| error.contains(it)), "{error}");
                let resume = ["jobs", "resume", &job, "--detach"];
                pool.on("desk", &resume).ends_with(0);
                stop(small);
                "the job"
            }
            (false, false) => {
                stop(small);
                "nothing"
            }
        };
        *ends.entry(ended).or_insert(0) += 1;
        disk.resize(256 << 10);
        let large = worker(&disk);
        finds_its_culprit(&pool, &job);
        stop(large);
    }
    println!("full disks ended {ends:?}");
}

#[track_caller]
fn says_why(ended: &Finished) {
    let said = ["No space left", "disk is full"].map(|words| ended.stderr.contains(words));
    assert!(said.contains(&true), "{ended}");
}

#[test]
fn a_newer_store_is_refused() {
    let pool = Pool::new(World::with_step(4, 2));
    let job = pool.detach(&[], BENCHMARK);
    pool.alter("PRAGMA user_version = 99");
    let refused = Scene::new(&pool).worker_on("rack-1").ends_with(1);
    refused.says_nothing().tells("newer pinpoint");
    pool.alter(&format!("PRAGMA user_version = {SCHEMA_VERSION}"));
    assert_eq!(pool.show(&job)["state"], "pending");
}
