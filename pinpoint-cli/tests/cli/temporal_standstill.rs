//! Jobs on Temporal that stand still say why, and machines that can't carry one out, or whose
//! store is another one, leave it to others.

use std::fs;

use libc::SIGKILL;
use pinpoint_backends::store::JobStore;

use crate::pool::{Pool, stop};
use crate::temporal::{
    Scene, finds_its_culprit, has_ended_cleanly, in_a_run_on_own_server, worker_on,
};
use crate::temporal_server::{OWN, SHARED, Server};
use crate::world::{BENCHMARK, Pinpoint, World, until};

/// The reason why a job waits, in words; empty if it does not.
fn waits_for(pool: &Pool, job: &str) -> String {
    let shown = pool.show(job);
    shown["waits_for"].as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn waits_until_told(pool: &Pool, job: &str, words: &str) {
    until(words, || waits_for(pool, job).contains(words));
}

fn set_up(scene: &Scene<'_>, pool: &Pool) -> Pinpoint {
    let address = ["--temporal-address", &scene.server.address];
    let namespace = ["--temporal-namespace", &scene.namespace];
    let set_up = pool.on("desk", &["temporal", "setup"]);
    set_up
        .and(&address)
        .and(&namespace)
        .env("TEMPORAL_CONFIG_FILE", "/dev/null")
}

#[test]
fn a_paused_workflow_and_missing_workers_are_told() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    let show = || pool.on("desk", &["jobs", "show", &job]).ends_with(0);
    scene.update(&job, "pause");
    waits_until_told(&pool, &job, "its workflow is paused");
    show().says("waiting: its workflow is paused");
    gate.open();
    stop(worker);
    waits_until_told(&pool, &job, "no worker serves bot `lab`");
    // As when the job was taken anew while the server was away: the next worker starts another
    // workflow, which is paused, too.
    pool.alter("UPDATE jobs SET state = 'pending', lease_owner = NULL, lease_expires = 0");
    let worker = scene.worker("rack-1");
    let started = format!("job {job}: workflow started");
    until("another workflow", || worker.stderr().contains(&started));
    until("the job to run", || pool.show(&job)["state"] == "running");
    waits_until_told(&pool, &job, "its workflow is paused");
    assert_eq!(scene.progress(&job)["paused"], true);
    scene.update(&job, "resume");
    finds_its_culprit(&pool, &job);
    assert_eq!(pool.show(&job)["error"], serde_json::Value::Null);
    let stderr = stop(worker).stderr;
    // The outcome of the job.
    assert!(stderr.contains(&format!("job {job}: culprit")), "{stderr}");
}

#[test]
fn a_server_that_is_away_is_told_in_plain_words() {
    let pool = Pool::new(World::with_step(16, 9));
    let file = pool.world.path("temporal.db");
    let mut server = Server::start(Some(&file));
    let gate = crate::pool::Gate::closed(&pool.world);
    let worker = worker_on(&pool, &server, OWN, "rack-1").start();
    let job = pool.detach(&[], &gate.script());
    gate.wait();
    let away = format!("Temporal at {} does not answer", server.address);
    server.kill();
    until("the worker to say so", || worker.stderr().contains(&away));
    waits_until_told(&pool, &job, &away);
    // A job made in the meantime, too.
    let next = pool.detach(&[], BENCHMARK);
    waits_until_told(&pool, &next, &away);
    server.begin(Some(&file));
    until("the worker to say so", || {
        worker.stderr().contains("answers again")
    });
    gate.open();
    finds_its_culprit(&pool, &job);
    finds_its_culprit(&pool, &next);
    let stderr = stop(worker).stderr;
    assert!(!stderr.contains("tonic"), "{stderr}");
    assert!(!stderr.contains("transport error"), "{stderr}");
}

#[test]
fn a_deployment_without_a_current_version_is_told() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let worker = scene.worker_on("rack-1");
    let worker = worker.and(&["--temporal-deployment", "pinpoint"]).start();
    until("the worker", || worker.stderr().contains("carries out"));
    let job = pool.detach(&[], BENCHMARK);
    waits_until_told(&pool, &job, "no version of deployment pinpoint is current");
    let version = env!("CARGO_PKG_VERSION");
    let set = ["worker", "deployment", "set-current-version", "--yes"];
    let which = ["--deployment-name", "pinpoint", "--build-id", version];
    scene.temporal(&[&set[..], &which].concat());
    finds_its_culprit(&pool, &job);
    stop(worker);
}

#[test]
fn what_a_machine_cannot_do_is_done_by_another_and_pauses_the_job_where_none_can() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    // As where the disk is full: nothing of a job can be kept there.
    let jobs = pool.world.path("rack-1/state/pinpoint/jobs");
    fs::create_dir_all(jobs.parent().unwrap()).unwrap();
    fs::write(&jobs, "").unwrap();
    let broken = scene.worker("rack-1");
    let job = pool.detach(&[], BENCHMARK);
    waits_until_told(&pool, &job, "it is paused");
    let shown = pool.show(&job);
    assert_eq!(shown["state"], "pending", "{shown}");
    let error = shown["error"].as_str().unwrap();
    assert!(
        error.contains("no machine can carry it out: on rack-1: "),
        "{error}"
    );
    assert!(broken.stderr().contains("left to another machine"));

    // The broken machine takes its share, and fails none of the job.
    let sound = scene.worker("rack-2");
    let resume = ["jobs", "resume", &job, "--detach"];
    pool.on("desk", &resume).ends_with(0);
    finds_its_culprit(&pool, &job);
    stop(broken);
    stop(sound);
}

#[test]
fn a_job_that_is_taken_again_and_again_while_the_server_is_away_does_not_fail() {
    let pool = Pool::new(World::with_step(16, 9));
    let file = pool.world.path("temporal.db");
    let (mut server, worker, job, gate) = in_a_run_on_own_server(&pool, Some(&file));
    server.kill();
    // As when the store was away, too.
    let taken = || pool.number("SELECT lease FROM jobs");
    let before = taken();
    pool.alter("UPDATE jobs SET deaths = 3");
    until("the job to be taken", || {
        // Again and again: a worker that has the lease may renew it just then.
        pool.alter("UPDATE jobs SET lease_expires = 0");
        taken() >= before + 4
    });
    assert_ne!(pool.show(&job)["state"], "failed");
    server.begin(Some(&file));
    gate.open();
    finds_its_culprit(&pool, &job);
    stop(worker);
}

/// As the service does it.
fn pause(pool: &Pool, job: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = JobStore::open(&pool.world.state_dir()).await.unwrap();
        let job = store.jobs().find(&job.parse().unwrap()).await.unwrap().id;
        store.jobs().pause(&job, None).await.unwrap();
        store.close().await;
    });
}

#[test]
fn a_job_that_is_paused_in_the_store_is_let_go_after_the_run_under_way() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let (worker, job, gate) = scene.in_a_run();
    let before = pool.world.recorded_runs(&job);
    pause(&pool, &job);
    until("the worker to hear of it", || {
        let events = ["workflow", "show", "--workflow-id", &job];
        scene.temporal(&events).to_string().contains("let_go")
    });
    assert_eq!(pool.show(&job)["state"], "running");
    gate.open();
    until("the job to be let go", || {
        pool.show(&job)["state"] == "pending"
    });
    has_ended_cleanly(&pool, &job);
    waits_until_told(&pool, &job, "it is paused");
    // Completed work counts.
    assert!(pool.world.recorded_runs(&job).is_superset(&before));
    assert!(pool.world.recorded_runs(&job).len() > before.len());
    let resume = ["jobs", "resume", &job, "--detach"];
    pool.on("desk", &resume).ends_with(0);
    finds_its_culprit(&pool, &job);
    stop(worker);
}

#[test]
fn a_worker_of_another_store_leaves_the_work_to_others() {
    let pool = Pool::new(World::with_step(16, 9));
    let scene = Scene::new(&pool);
    let elsewhere = Pool::new(World::with_step(4, 2));
    let stranger = || worker_on(&elsewhere, &SHARED, &scene.namespace, "rack-2");
    let (worker, job, gate) = scene.in_a_run();
    let other = stranger().start();
    until("the worker", || other.stderr().contains("carries out"));
    // The run is left to the other one.
    worker.signal(SIGKILL);
    worker.wait();
    gate.open();
    until("the worker to refuse it", || {
        other
            .stderr()
            .contains("the worker on rack-2 uses the store")
    });
    assert_eq!(pool.show(&job)["state"], "running");
    let worker = scene.worker("rack-1");
    finds_its_culprit(&pool, &job);
    stop(other);

    set_up(&scene, &pool).ends_with(0).says("store whose jobs");
    let is_refused = |refused: crate::world::Finished| {
        refused.tells("has the jobs of the store");
    };
    is_refused(stranger().ends_with(1));
    is_refused(set_up(&scene, &elsewhere).ends_with(1));
    set_up(&scene, &pool).ends_with(0);
    stop(worker);
}
