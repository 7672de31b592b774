//! Jobs on Temporal: a real server, and workers on two "machines", as in `workers.rs`. Failures
//! outside of workers and servers are in `temporal_faults.rs`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use libc::{SIGCONT, SIGKILL, SIGTERM};
use pinpoint_backends::store::{JobStore, StoreError};
use serde_json::{Value, json};

use crate::pool::{Gate, Noise, Pool, comparable, stop};
use crate::temporal_server::{OWN, SHARED, Server, free_port};
use crate::workers::{bad_jobs_are_left_failed, outputs_go_with_the_job};
use crate::world::{BENCHMARK, Dice, Pinpoint, Running, World, attacks, processes_of, until};

/// Machines that share a store, and a namespace of a server.
pub(crate) struct Scene<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) server: &'a Server,
    pub(crate) namespace: String,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(pool: &'a Pool) -> Self {
        Self {
            pool,
            server: &SHARED,
            namespace: SHARED.namespace(),
        }
    }

    pub(crate) fn worker(&self, machine: &str) -> Running {
        self.worker_on(machine).start()
    }

    pub(crate) fn worker_on(&self, machine: &str) -> Pinpoint {
        worker_on(self.pool, self.server, &self.namespace, machine)
    }

    /// A worker, and the job in one of whose runs it is until the gate is opened.
    pub(crate) fn in_a_run(&self) -> (Running, String, Gate) {
        let gate = Gate::closed(&self.pool.world);
        let worker = self.worker("rack-1");
        let job = self.pool.detach(&[], &gate.script());
        gate.wait();
        (worker, job, gate)
    }

    /// The output of Temporal's own program.
    #[track_caller]
    pub(crate) fn temporal(&self, arguments: &[&str]) -> Value {
        let namespace = ["--namespace", &self.namespace, "--output", "json"];
        let arguments = [arguments, &namespace].concat();
        let mut result = Value::Null;
        until("the server's answer", || {
            let output = self.server.output(&arguments);
            if output.status.success() {
                result = serde_json::from_slice(&output.stdout).unwrap_or_default();
                return true;
            }
            // The client gives a server ten seconds, which a busy one may exceed.
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(stderr.contains("deadline exceeded"), "{output:?}");
            false
        });
        result
    }

    pub(crate) fn progress(&self, job: &str) -> Value {
        let query = ["workflow", "query", "--type", "progress", "--workflow-id"];
        self.temporal(&[&query[..], &[job]].concat())["queryResult"][0].clone()
    }

    pub(crate) fn update(&self, job: &str, name: &str) {
        let update = ["workflow", "update", "execute", "--workflow-id", job];
        self.temporal(&[&update[..], &["--name", name]].concat());
    }

    /// `Temporal, namespace … at …`.
    pub(crate) fn owner(&self) -> String {
        let (namespace, address) = (&self.namespace, &self.server.address);
        format!("Temporal, namespace {namespace} at {address}")
    }
}

/// Other workers continue soon after one has died.
pub(crate) fn worker_on(pool: &Pool, server: &Server, namespace: &str, machine: &str) -> Pinpoint {
    let quick = ["--lease", "6s", "--heartbeat-limit", "5s"];
    let server = [
        "--temporal",
        "--temporal-address",
        &server.address,
        "--temporal-namespace",
        namespace,
    ];
    pool.on(machine, &["worker", "--bot", "lab", "--machine", machine])
        .and(&quick)
        .and(&server)
        .env("TEMPORAL_CONFIG_FILE", "/dev/null")
}

/// Neither a process nor a lease of a job is left.
#[track_caller]
pub(crate) fn has_ended_cleanly(pool: &Pool, job: &str) {
    until("the end of its processes", || processes_of(job).is_empty());
    until("the end of its lease", || lease_of(pool, job).is_none());
}

/// A job in a world with its step at commit 9 ends well.
#[track_caller]
pub(crate) fn finds_its_culprit(pool: &Pool, job: &str) {
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.wait(job).ends_with(0).says(&culprit);
    has_ended_cleanly(pool, job);
}

/// The holder of a job, and the seconds until that ends.
pub(crate) fn lease_of(pool: &Pool, job: &str) -> Option<(String, i64)> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = if pool.store.starts_with("sqlite:") {
            JobStore::open(&pool.world.state_dir()).await
        } else {
            JobStore::connect(&pool.store).await
        };
        let store = store.unwrap();
        let job = store.jobs().find(&job.parse().unwrap()).await.unwrap().id;
        let shared = store.leases().share(&job, "nobody", Duration::ZERO).await;
        store.close().await;
        match shared {
            Err(StoreError::Leased { owner, seconds, .. }) => Some((owner, seconds)),
            Err(StoreError::LeaseLost { .. }) => None,
            other => panic!("{other:?}"),
        }
    })
}

/// The lease of a held job is renewed.
pub(crate) fn is_renewed_twice(pool: &Pool, job: &str) {
    let seconds_left = || lease_of(pool, job).unwrap().1;
    let mut last = seconds_left();
    for _ in 0..2 {
        until("the lease to be renewed", || {
            let before = std::mem::replace(&mut last, seconds_left());
            last > before
        });
    }
}

/// A strategy that asks for runs in batches, so that the order in which they end on two
/// machines means nothing.
pub(crate) const IN_ANY_ORDER: [&str; 2] = ["--strategy", "pinpoint"];

/// Jobs of these kinds, each in one process and left to workers. Something happens before
/// the workers get them.
pub(crate) fn in_one_process_and_on_temporal(
    scene: &Scene<'_>,
    kinds: &[&[&str]],
    happens: impl FnOnce(),
) {
    let pool = scene.pool;
    let world = &pool.world;
    let benchmark = ["--output", "json", "--", "sh", "-c", BENCHMARK];
    let start = |kind: &[&str], bot: &[&str]| {
        let job = world.pinpoint(kind).and(bot);
        let job = job.and(&[world.good(), world.bad()]).and(&benchmark);
        pool.at("desk", job).start()
    };
    let expected: Vec<_> = (kinds.iter())
        .map(|kind| comparable(&start(kind, &[]).ends_with(0)))
        .collect();
    let workers = ["rack-1", "rack-2"].map(|machine| scene.worker(machine));
    for worker in &workers {
        until("the workers", || worker.stderr().contains("carries out"));
    }
    happens();
    let on_temporal: Vec<_> = (kinds.iter())
        .map(|kind| start(kind, &["--bot", "lab"]))
        .collect();
    for (expected, running) in expected.into_iter().zip(on_temporal) {
        let job = running.job();
        let found = running.ends_with(0);
        assert_eq!(comparable(&found), expected, "{found}");
        has_ended_cleanly(pool, &job);
        assert!(pool.outputs(&job) >= expected["runs"].as_u64().unwrap() as usize);
        if pool.store.starts_with("sqlite:") {
            // Fails when one was made twice.
            pool.world.recorded_runs(&job);
        }
    }
    for worker in workers {
        stop(worker);
    }
}

#[test]
fn jobs_on_temporal_find_what_one_process_finds() {
    let pool = Pool::new(World::with_step(8, 5));
    let bisect = [&["bisect"][..], &IN_ANY_ORDER].concat();
    let culprit = [&["culprit"][..], &IN_ANY_ORDER].concat();
    let pairwise = ["pairwise", "--pairs", "6"];
    let scene = Scene::new(&pool);
    in_one_process_and_on_temporal(&scene, &[&bisect, &pairwise, &culprit], || {});
}

/// Workers, the server, or both.
#[test]
fn workers_and_servers_that_are_killed_at_any_moment_change_nothing() {
    // The longest that all of them live, in milliseconds.
    const MAX_LIFE_MS: u64 = 3000;
    let mut dice = Dice::new();
    let pool = Pool::new(Noise::world(12, 7));
    let file = pool.world.path("temporal.db");
    let mut server = Server::start(Some(&file));
    let script = &Noise::script(14);
    let build = [Noise::BUILD, IN_ANY_ORDER].concat();
    let reference = [&build[..], &["--output", "json"]].concat();
    let reference = pool.at("desk", pool.world.bisect(&reference, script));
    let expected = comparable(&reference.ends_with(0));
    assert_eq!(expected["status"], "culprit_found");

    let most = attacks(4);
    let mut kills = [0; 2];
    let worker = |server: &Server, machine| worker_on(&pool, server, OWN, machine).start();
    let mut workers = ["rack-1", "rack-2"].map(|machine| (machine, worker(&server, machine)));
    while kills[0] < most {
        let job = pool.detach(&build, script);
        let mut waiting = pool.wait(&job).and(&["--output", "json"]).start();
        while !waiting.has_ended() {
            std::thread::sleep(Duration::from_millis(dice.below(MAX_LIFE_MS)));
            if kills[0] < most {
                let (ends_worker, ends_server) =
                    *dice.one_of(&[(true, false), (true, false), (false, true), (true, true)]);
                let killed = dice.below(2) as usize;
                if ends_worker {
                    workers[killed].1.signal(SIGKILL);
                    kills[0] += 1;
                }
                if ends_server {
                    server.kill();
                    server.begin(Some(&file));
                    kills[1] += 1;
                }
            }
            for (machine, running) in &mut workers {
                // It ends when there is no server at its beginning.
                if running.has_ended() {
                    server.answers();
                    *running = worker(&server, machine);
                }
            }
        }
        let ended = waiting.ends_with(0);
        assert_eq!(comparable(&ended), expected, "{ended}");
        pool.world.recorded_runs(&job);
        has_ended_cleanly(&pool, &job);
        assert!(pool.outputs(&job) >= expected["runs"].as_u64().unwrap() as usize);
    }
    println!("killed {} workers and {} servers", kills[0], kills[1]);
    for (_, worker) in workers {
        stop(worker);
    }
}

#[test]
fn what_a_worker_says_that_was_stalled_counts_for_nothing() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let asleep = scene.worker("rack-1");
    gate.wait();
    pool.stall(&asleep);
    gate.open();
    let awake = scene.worker("rack-2");
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.wait(&job).ends_with(0).says(&culprit);
    let (shown, runs) = (pool.show(&job), pool.world.recorded_runs(&job));
    stop(awake);

    asleep.signal(SIGCONT);
    // It takes the next one.
    let next = pool.detach(&[], BENCHMARK);
    pool.wait(&next).ends_with(0).says(&culprit);
    assert_eq!(pool.show(&job), shown);
    assert_eq!(pool.world.recorded_runs(&job), runs);
    has_ended_cleanly(&pool, &job);
    stop(asleep);
}

/// A job whose run waits, which is ended in some way. Returns it as it is shown then.
fn a_job_is_ended(end: impl FnOnce(&Scene<'_>, &str)) -> Value {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, _gate) = scene.in_a_run();
    end(&scene, &job);
    let ended = pool.wait(&job).and(&["--output", "json"]).ends_with(130);
    assert_eq!(ended.document()["status"], "canceled", "{ended}");
    has_ended_cleanly(&pool, &job);
    let runs = pool.world.recorded_runs(&job).len() as u64;
    assert_eq!(ended.document()["runs"], json!(runs), "{ended}");
    let shown = pool.show(&job);
    assert_eq!(shown["state"], "canceled");
    // The worker no longer has any part of it.
    let next = pool.detach(&[], BENCHMARK);
    pool.wait(&next).ends_with(0);
    stop(worker);
    shown
}

#[test]
fn a_job_that_is_canceled_ends_with_what_is_known() {
    let shown = a_job_is_ended(|scene, job| {
        let cancel = ["jobs", "cancel", job];
        scene.pool.on("desk", &cancel).ends_with(0);
    });
    assert_eq!(shown["cancel"]["by"], shown["user"]);
}

#[test]
fn so_does_one_whose_workflow_is_canceled() {
    a_job_is_ended(|scene, job| {
        scene.temporal(&["workflow", "cancel", "--workflow-id", job]);
    });
}

#[test]
fn so_does_one_whose_workflow_is_terminated() {
    a_job_is_ended(|scene, job| {
        scene.temporal(&["workflow", "terminate", "--workflow-id", job]);
    });
}

#[test]
fn so_does_one_that_is_canceled_by_an_update() {
    let shown = a_job_is_ended(|scene, job| {
        let cancel = ["workflow", "update", "execute", "--workflow-id", job];
        let input = r#"{"reason": "no longer needed", "by": "ada"}"#;
        let input = ["--name", "cancel", "--input", input];
        scene.temporal(&[&cancel[..], &input].concat());
    });
    let request = json!({ "reason": "no longer needed", "by": "ada" });
    assert_eq!(shown["cancel"], request);
}

#[test]
fn what_waits_and_who_is_free_can_be_scraped() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let gate = Gate::closed(&pool.world);
    let address = format!("127.0.0.1:{}", free_port());
    let worker = scene.worker_on("rack-1").and(&["--metrics", &address]);
    let worker = worker.start();
    let job = pool.detach(&[], &gate.script());
    gate.wait();
    let shows = |line: &str| {
        until(line, || {
            scraped(&address).is_some_and(|text| text.contains(line))
        });
    };
    shows(r#"pinpoint_machines{bot="lab",state="busy"} 1"#);
    shows(r#"pinpoint_machines{bot="lab",state="free"} 0"#);
    // Another run waits for the machine, and no job for a worker.
    shows(r#"pinpoint_queue_length{bot="lab",of="runs"} 1"#);
    shows(r#"pinpoint_queue_length{bot="lab",of="builds"} 0"#);
    shows(r#"pinpoint_queue_length{bot="lab",of="jobs"} 0"#);
    until("what the worker is at", || {
        let workers = pool.list();
        let at_work = workers.iter().find(|it| it["job"] == job.as_str());
        at_work.is_some_and(|worker| worker["activity"] == "runs")
    });
    gate.open();
    finds_its_culprit(&pool, &job);
    stop(worker);
}

/// The metrics of a worker, once it serves them.
fn scraped(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = "GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(feature = "otlp")]
#[test]
fn a_job_that_moves_between_workers_is_one_trace() {
    let pool = Pool::new(World::with_step(8, 5));
    let scene = Scene::new(&pool);
    crate::traces::a_job_that_moves_is_one_trace(&pool, |collector, machine| {
        collector.of(scene.worker_on(machine)).start()
    });
}

#[test]
fn outputs_of_builds_and_of_failed_runs_go_with_the_job() {
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene::new(&pool);
    outputs_go_with_the_job(&pool, scene.worker("rack-1"));
}

/// A server that can be killed, a worker, and the job in one of whose runs it is until the gate is
/// opened.
pub(crate) fn in_a_run_on_own_server(
    pool: &Pool,
    file: Option<&Path>,
) -> (Server, Running, String, Gate) {
    let server = Server::start(file);
    let gate = Gate::closed(&pool.world);
    let worker = worker_on(pool, &server, OWN, "rack-1").start();
    let job = pool.detach(&[], &gate.script());
    gate.wait();
    (server, worker, job, gate)
}

#[test]
fn a_job_goes_on_on_a_server_that_has_lost_everything() {
    let pool = Pool::new(World::with_step(16, 9));
    let (mut server, worker, job, gate) = in_a_run_on_own_server(&pool, None);
    let before = pool.world.recorded_runs(&job);
    server.kill();
    server.begin(None);
    gate.open();
    finds_its_culprit(&pool, &job);
    assert!(pool.world.recorded_runs(&job).is_superset(&before));
    stop(worker);
}

#[test]
fn a_job_goes_on_once_its_server_is_there_again() {
    let pool = Pool::new(World::with_step(16, 9));
    let file = pool.world.path("temporal.db");
    let (mut server, worker, job, gate) = in_a_run_on_own_server(&pool, Some(&file));
    server.kill();
    // It is Temporal's for as long as there is a worker.
    is_renewed_twice(&pool, &job);
    assert_eq!(pool.show(&job)["state"], "running");
    gate.open();
    until("the end of the run", || processes_of(&job).is_empty());
    server.begin(Some(&file));
    finds_its_culprit(&pool, &job);
    stop(worker);
}

#[test]
fn a_job_on_temporal_is_resumed_here_once_its_workflow_is_gone() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    let resume = || pool.on("desk", &["jobs", "resume", &job]);
    resume().ends_with(1).says_nothing().tells(&scene.owner());
    worker.signal(SIGKILL);
    worker.wait();
    gate.open();
    scene.temporal(&["workflow", "terminate", "--workflow-id", &job]);
    let culprit = format!("culprit {}", pool.world.commits[9]);
    let mut ended = None;
    until("the end of the lease", || {
        let resumed = resume().start().wait();
        let is_held = resumed.stderr.contains(&scene.owner());
        ended = Some(resumed);
        !is_held
    });
    ended.unwrap().says(&culprit);
    has_ended_cleanly(&pool, &job);
}

#[test]
fn a_job_goes_on_without_temporal_when_its_workers_there_are_gone() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    worker.signal(SIGKILL);
    worker.wait();
    gate.open();
    let other = pool.worker("rack-2");
    finds_its_culprit(&pool, &job);
    stop(other);
    // The workflow finds out, and changes nothing.
    let shown = pool.show(&job);
    let worker = scene.worker("rack-1");
    until("the end of the workflow", || {
        let described = scene.temporal(&["workflow", "describe", "--workflow-id", &job]);
        described["workflowExecutionInfo"]["status"] == "WORKFLOW_EXECUTION_STATUS_FAILED"
    });
    assert_eq!(pool.show(&job), shown);
    stop(worker);
}

/// The existing workflow knows another journal, and may never do anything again.
#[test]
fn a_job_that_was_ended_and_resumed_elsewhere_gets_a_workflow_of_its_own() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    scene.update(&job, "pause");
    worker.signal(SIGKILL);
    worker.wait();
    gate.open();
    let cancel = pool.on("desk", &["jobs", "cancel", &job]);
    cancel.ends_with(0);
    let resume = ["jobs", "resume", &job, "--detach"];
    pool.on("desk", &resume).ends_with(0);
    let worker = scene.worker("rack-1");
    finds_its_culprit(&pool, &job);
    stop(worker);
}

#[test]
fn a_run_that_never_ends_is_tried_again_and_given_up() {
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene::new(&pool);
    let limits = ["--build-limit", "1s", "--run-limit", "1s"];
    let worker = scene.worker_on("rack-1").and(&limits).start();
    let job = pool.detach(&[], "sleep 600");
    let failed = pool.wait(&job).ends_with(1);
    failed.says("the good end can't be measured: no answer after 2 s");
    has_ended_cleanly(&pool, &job);
    stop(worker);
}

#[test]
fn a_bad_job_on_temporal_is_left_failed_and_holds_up_no_other() {
    let pool = Pool::new(World::with_step(4, 2));
    let scene = Scene::new(&pool);
    bad_jobs_are_left_failed(
        &pool,
        |machine| scene.worker_on(machine),
        ": workflow started",
    );
}

#[test]
fn a_worker_without_a_server_or_a_namespace_says_so() {
    let pool = Pool::new(World::with_step(4, 2));
    let closed = Server {
        // The port is closed.
        address: "127.0.0.1:9".into(),
        process: None,
    };
    // It waits for the server.
    let waiting = worker_on(&pool, &closed, "default", "rack-1").start();
    until("an attempt", || waiting.stderr().contains("trying again"));
    waiting.signal(SIGTERM);
    let refused = waiting.ends_with(0);
    refused
        .says_nothing()
        .tells("cannot reach Temporal at 127.0.0.1:9")
        .tells("--temporal-address");
    let refused = worker_on(&pool, &SHARED, "pinpoint-test-nowhere", "rack-1").ends_with(1);
    refused
        .says_nothing()
        .tells("pinpoint-test-nowhere")
        .tells("`pinpoint temporal setup`");
}

#[test]
fn a_worker_that_is_stopped_ends_its_run_and_another_goes_on() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let worker = scene.worker("rack-1");
    gate.wait();
    let before = pool.world.recorded_runs(&job).len();
    worker.signal(SIGTERM);
    gate.open();
    worker.ends_with(0);
    assert_eq!(pool.world.recorded_runs(&job).len(), before + 1);
    assert_eq!(processes_of(&job), [] as [String; 0]);

    let gate = Gate::closed(&pool.world);
    fs::remove_file(&gate.reached).unwrap();
    // One whose time is over before its run is.
    let hasty = scene.worker_on("rack-1").and(&["--drain", "10ms"]).start();
    gate.wait();
    stop(hasty);
    assert_eq!(processes_of(&job), [] as [String; 0]);
    gate.open();
    let worker = scene.worker("rack-2");
    finds_its_culprit(&pool, &job);
    stop(worker);
}

#[test]
fn a_job_that_is_paused_begins_nothing_until_it_is_resumed() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    let progress = scene.progress(&job);
    assert_eq!(
        progress["under_way"][0]["queue"], "pinpoint.bot.lab",
        "{progress}"
    );
    scene.update(&job, "pause");
    gate.open();
    until("the end of what was under way", || {
        // An empty list is null to this program.
        scene.progress(&job)["under_way"].is_null()
    });
    let paused = scene.progress(&job);
    assert_eq!(paused["paused"], true);
    let runs = pool.world.recorded_runs(&job).len();
    assert_eq!(paused["runs"], json!(runs), "{paused}");
    scene.update(&job, "resume");
    finds_its_culprit(&pool, &job);
    assert_eq!(scene.progress(&job)["ended"], true);
    stop(worker);
}
