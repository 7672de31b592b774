//! Jobs that are left to workers, on two "machines": each has a state directory and machine
//! locks of its own, and they share a store.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use libc::{SIGCONT, SIGINT, SIGKILL, SIGSTOP, SIGTERM};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::world::{
    BENCHMARK, Dice, Finished, Pinpoint, Running, World, attacks, git, processes_of, until,
};

const BOTS: &str = r#"
[bots.desk]
local = true

[bots.lab]
machines = ["rack-1", "rack-2"]

[bots.nightly]
alias = "lab"

[bots.phones]
browser = "release"
bucket = "try"
builder = "Android Builder"
repository = "https://example.org/src.git"
swarming_server = "https://example.org"
dimensions = [{ key = "pool", value = "phones" }]
"#;

/// Machines that share a store.
pub(crate) struct Pool {
    pub(crate) world: World,
    pub(crate) store: String,
}

impl Pool {
    pub(crate) fn new(world: World) -> Self {
        let store = format!("sqlite:{}", world.state_dir().display());
        Self::with_store(world, store)
    }

    pub(crate) fn with_store(world: World, store: String) -> Self {
        fs::write(world.path("bots.toml"), BOTS).unwrap();
        Self { world, store }
    }

    /// The command on the machine of this name.
    pub(crate) fn on(&self, machine: &str, arguments: &[&str]) -> Pinpoint {
        self.at(machine, self.world.pinpoint(arguments))
    }

    pub(crate) fn at(&self, machine: &str, pinpoint: Pinpoint) -> Pinpoint {
        pinpoint
            .env("XDG_STATE_HOME", self.world.path(machine).join("state"))
            .env("XDG_RUNTIME_DIR", self.world.path(machine).join("runtime"))
            .env("PINPOINT_STORE", &self.store)
            .env("PINPOINT_BOT_CONFIG", self.world.path("bots.toml"))
    }

    /// A worker of `lab`, whose job others may take soon after its death.
    pub(crate) fn worker(&self, machine: &str) -> Running {
        self.quick_worker(machine).start()
    }

    fn quick_worker(&self, machine: &str) -> Pinpoint {
        let options = ["worker", "--bot", "lab", "--lease", "2s", "--machine"];
        self.on(machine, &options).and(&[machine])
    }

    /// Leaves a bisection to the workers, and returns its id.
    pub(crate) fn detach(&self, options: &[&str], script: &str) -> String {
        let bisect = ["--bot", "lab", "--detach"];
        let bisect = self.world.bisect(&[&bisect[..], options].concat(), script);
        let detached = self.at("desk", bisect).ends_with(0);
        detached.stdout.trim().to_owned()
    }

    pub(crate) fn wait(&self, job: &str) -> Pinpoint {
        self.on("desk", &["jobs", "wait", job])
    }

    pub(crate) fn show(&self, job: &str) -> Value {
        let show = self.on("desk", &["jobs", "show", job, "--output", "json"]);
        show.ends_with(0).document()
    }

    /// Stalls a worker, but not while it writes to the store: a process that stalls then
    /// holds up all others until it goes on, as SQLite has one lock for all that is written.
    pub(crate) fn stall(&self, worker: &Running) {
        until("a moment at which nothing is written", || {
            worker.signal(SIGSTOP);
            worker.has_stalled();
            let free = self.can_be_written();
            if !free {
                worker.signal(SIGCONT);
            }
            free
        });
    }

    fn can_be_written(&self) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let file = SqliteConnectOptions::new()
                .filename(self.world.state_dir().join("pinpoint.db"))
                .busy_timeout(Duration::ZERO);
            let mut store = file.connect().await.unwrap();
            let begun = sqlx::raw_sql("BEGIN IMMEDIATE; ROLLBACK").execute(&mut store);
            let free = begun.await.is_ok();
            store.close().await.unwrap();
            free
        })
    }

    /// Changes the store behind its back.
    fn alter(&self, sql: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let file = self.world.state_dir().join("pinpoint.db");
            let file = SqliteConnectOptions::new().filename(file);
            let mut store = file.connect().await.unwrap();
            let sql = AssertSqlSafe(sql.to_owned());
            sqlx::raw_sql(sql).execute(&mut store).await.unwrap();
            store.close().await.unwrap();
        })
    }

    /// The number of runs whose outputs a machine gets that makes a report, and did nothing
    /// else.
    pub(crate) fn outputs(&self, job: &str) -> usize {
        let report = self.world.path("report.html");
        let make = ["jobs", "report", job, report.to_str().unwrap()];
        self.on("elsewhere", &make).ends_with(0);
        let tails = self.world.path("elsewhere/state/pinpoint/jobs").join(job);
        let tails = fs::read_to_string(tails.join("runs/tails.jsonl")).unwrap();
        let named: BTreeMap<String, Value> = tails
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        named.len()
    }

    fn list(&self) -> Vec<Value> {
        let list = self.on("desk", &["workers", "list", "--output", "json"]);
        list.ends_with(0).document()["workers"]
            .as_array()
            .unwrap()
            .clone()
    }
}

/// Ends a worker that has nothing under way.
pub(crate) fn stop(worker: Running) -> Finished {
    worker.signal(SIGTERM);
    worker.ends_with(0)
}

fn a_job_is_left_to_workers(pool: &Pool) {
    let job = pool.detach(&[], BENCHMARK);
    let shown = pool.on("desk", &["jobs", "show", &job]).ends_with(0);
    shown.says("waiting: no worker serves bot `lab`");
    let timeout = || pool.wait(&job).and(&["--timeout", "1ms"]);
    timeout().ends_with(124).says_nothing();
    let waited = timeout().and(&["--output", "json"]).ends_with(124);
    let waited = waited.document();
    assert_eq!(
        (&waited["job_id"], &waited["status"]),
        (&json!(job), &json!("pending"))
    );
    let waits = waited["waits_for"].as_str().unwrap();
    assert!(waits.contains("no worker serves bot `lab`"), "{waits}");
    assert_eq!((&waited["runs"], &waited["builds"]), (&json!(0), &json!(0)));

    let waiting = pool.wait(&job).start();
    until("the reason", || {
        waiting.stderr().contains("no worker serves bot")
    });
    let worker = pool.worker("rack-1");
    let culprit = format!("culprit {}", pool.world.commits[9]);
    waiting.ends_with(0).says(&culprit).tells("metric latency");
    // Once more, by one that looks at the end alone.
    let document = pool.wait(&job).and(&["--output", "json"]).ends_with(0);
    assert_eq!(document.document()["status"], "culprit_found");
    // It has nothing to resume.
    let again = pool.wait(&job).ends_with(0);
    assert_eq!(again.stderr, "", "{again}");
    let unstarted = pool.world.bisect(&["--bot", "desk", "--detach"], BENCHMARK);
    let unstarted = pool.at("desk", unstarted).ends_with(0).stdout;
    let unstarted = unstarted.trim();
    let both = pool
        .wait(&job)
        .and(&[unstarted, "--timeout", "1ms", "--output", "json"]);
    let both = both.ends_with(124).document();
    let states = [0, 1].map(|number| both["jobs"][number]["status"].clone());
    assert_eq!(states, [json!("culprit_found"), json!("pending")]);
    pool.on("desk", &["jobs", "cancel", unstarted]).ends_with(0);

    until("the end of its work", || pool.list()[0]["job"].is_null());
    let listed = &pool.list()[0];
    assert_eq!(
        (&listed["name"], &listed["bots"], &listed["gone"]),
        (&json!("rack-1"), &json!(["lab"]), &json!(false))
    );
    assert!(listed["host"]["kernel"].is_string(), "{listed}");
    let list = |options: &[&str]| {
        let list = pool.on("desk", &["workers", "list"]).and(options);
        list.ends_with(0)
    };
    list(&["--bot", "lab"]).says("rack-1  idle  lab");
    list(&["--bot", "desk"]).says_nothing().tells("no workers");

    // The journal and the files of its runs are in the store.
    let runs = pool.show(&job)["runs"].as_u64().unwrap() as usize;
    assert_eq!(pool.outputs(&job), runs);

    stop(worker).tells("culprit found");
    list(&[]).says("gone");
    let job = pool.detach(&[], BENCHMARK);
    let shown = pool.on("desk", &["jobs", "show", &job]).ends_with(0);
    shown.says("no worker serves bot `lab` (the last was seen ");
    let canceled = pool.on("desk", &["jobs", "cancel", &job]).ends_with(0);
    canceled.says("is canceled");
    pool.wait(&job).ends_with(130);
}

#[test]
fn a_job_is_left_to_workers_that_share_a_file() {
    a_job_is_left_to_workers(&Pool::new(World::with_step(16, 9)));
}

#[cfg(feature = "postgres")]
#[test]
fn a_job_is_left_to_workers_that_share_a_database() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(crate::postgres::Database::new());
    let store = database.url().to_owned();
    a_job_is_left_to_workers(&Pool::with_store(World::with_step(16, 9), store));
}

#[test]
fn bots_that_no_worker_serves_are_refused() {
    let pool = Pool::new(World::with_step(4, 2));
    for (options, told) in [
        (
            &["--bot", "labs"][..],
            "did you mean `lab`?; the bots are `desk`, `lab`, `nightly`, `phones`",
        ),
        (&["--bot", "phones"], "is one of Swarming"),
        (&["--detach"], "--bot <NAME>"),
        (
            &["--bot", "lab", "--detach", "--report", "r.html"],
            "cannot be used with",
        ),
    ] {
        let bisect = pool.at("desk", pool.world.bisect(options, BENCHMARK));
        bisect.ends_with(2).says_nothing().tells(told);
    }
    assert_eq!(pool.world.jobs(), [] as [Value; 0]);
    let worker = |options: &[&str]| pool.on("rack-1", &["worker"]).and(options).ends_with(2);
    worker(&["--bot", "lab", "--machine", "attic"]).tells("rack-1, rack-2");
    worker(&["--bot", "attic"]).tells("there is no bot `attic`");
    worker(&["--bot", "desk", "--bot", "phones"]).tells("is one of Swarming");
    let build = pool.world.path("build");
    fs::create_dir(&build).unwrap();
    let build = build.to_str().unwrap();
    let builds = [
        "pairwise",
        "--base-build",
        build,
        "--experiment-build",
        build,
        "--bot",
        "lab",
    ];
    let refused = pool.on("desk", &builds).and(&["--", "true"]).ends_with(2);
    refused.tells("leave --bot out");
}

#[test]
fn an_alias_is_the_same_bot_and_every_machine_serves_a_local_one() {
    let pool = Pool::new(World::with_step(4, 2));
    let worker = pool
        .on(
            "attic",
            &[
                "worker",
                "--bot",
                "desk",
                "--bot",
                "nightly",
                "--machine",
                "rack-2",
            ],
        )
        .start();
    for bot in ["desk", "nightly", "lab"] {
        let bisect = pool.world.bisect(&["--bot", bot], BENCHMARK);
        let done = pool.at("desk", bisect).ends_with(0);
        done.says(&format!("culprit {}", pool.world.commits[2]));
    }
    stop(worker);
}

/// The benchmark waits in a run until a file is gone.
pub(crate) struct Gate {
    file: PathBuf,
    pub(crate) reached: PathBuf,
}

impl Gate {
    pub(crate) fn closed(world: &World) -> Self {
        let gate = Self {
            file: world.path("gate"),
            reached: world.path("reached"),
        };
        fs::write(&gate.file, "").unwrap();
        gate
    }

    pub(crate) fn script(&self) -> String {
        format!(
            "if [ \"$PINPOINT_RUN\" = 1 ]; then : > {reached}; \
             while [ -e {gate} ]; do sleep 0.01; done; fi; {BENCHMARK}",
            gate = self.file.display(),
            reached = self.reached.display(),
        )
    }

    pub(crate) fn wait(&self) {
        until("the gate", || self.reached.exists());
    }

    pub(crate) fn open(&self) {
        fs::remove_file(&self.file).unwrap();
    }
}

#[test]
fn a_worker_that_is_stopped_ends_its_run_and_leaves_the_job() {
    let pool = Pool::new(World::with_step(16, 9));
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let worker = pool.worker("rack-1");
    gate.wait();
    // A run is recorded while the next one is made already: here the first of each end.
    let recorded = || pool.world.recorded_runs(&job);
    until("the runs before", || recorded().len() == 2);
    let before = recorded();
    worker.signal(SIGTERM);
    gate.open();
    worker.ends_with(0).tells("left to the next worker");
    let after = pool.world.recorded_runs(&job);
    assert_eq!(after.len(), before.len() + 1, "{before:?} {after:?}");
    assert_eq!(processes_of(&job), [] as [String; 0]);
    assert_eq!(pool.show(&job)["state"], "pending");

    let worker = pool.worker("rack-2");
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.wait(&job).ends_with(0).says(&culprit);
    assert!(pool.world.recorded_runs(&job).is_superset(&after));
    stop(worker);
}

#[test]
fn a_run_that_takes_too_long_is_ended_and_so_is_a_worker_that_is_stopped_twice() {
    let pool = Pool::new(World::with_step(16, 9));
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let drain = [
        "worker",
        "--bot",
        "lab",
        "--machine",
        "rack-1",
        "--drain",
        "10ms",
    ];
    let worker = pool.on("rack-1", &drain).start();
    gate.wait();
    stop(worker).tells("left to the next worker");
    assert_eq!(processes_of(&job), [] as [String; 0]);

    fs::remove_file(&gate.reached).unwrap();
    let worker = pool.worker("rack-2");
    gate.wait();
    worker.signal(SIGTERM);
    worker.signal(SIGINT);
    let mut status = None;
    let mut worker = Some(worker);
    // Of two signals that come at once one may be heard.
    until("the end of the worker", || {
        let running = worker.as_mut().unwrap();
        if running.has_ended() {
            status = worker.take().unwrap().wait().status.code();
            return true;
        }
        running.signal(SIGINT);
        false
    });
    assert_eq!(status, Some(130));
    gate.open();
    until("the end of the run", || processes_of(&job).is_empty());
}

#[test]
fn what_a_worker_says_after_its_lease_counts_for_nothing() {
    let pool = Pool::new(World::with_step(16, 9));
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let asleep = pool.worker("rack-1");
    gate.wait();
    pool.stall(&asleep);
    gate.open();
    let awake = pool.worker("rack-2");
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.wait(&job).ends_with(0).says(&culprit);
    let (shown, runs) = (pool.show(&job), pool.world.recorded_runs(&job));
    stop(awake);

    asleep.signal(SIGCONT);
    until("the loss", || {
        asleep.stderr().contains("another worker has taken over")
    });
    assert_eq!(pool.show(&job), shown);
    assert_eq!(pool.world.recorded_runs(&job), runs);
    // It takes the next one.
    let next = pool.detach(&[], BENCHMARK);
    pool.wait(&next).ends_with(0).says(&culprit);
    stop(asleep);
}

#[test]
fn a_bad_job_is_left_failed_and_holds_up_no_other() {
    let pool = Pool::new(World::with_step(4, 2));
    bad_jobs_are_left_failed(&pool, |machine| pool.quick_worker(machine), ": began");
}

/// Workers tell with `took` that they took a job.
pub(crate) fn bad_jobs_are_left_failed(
    pool: &Pool,
    worker_on: impl Fn(&str) -> Pinpoint,
    took: &str,
) {
    let elsewhere = World::with_step(4, 2);
    let bisect = elsewhere.bisect(&["--bot", "lab", "--detach"], BENCHMARK);
    let gone = pool.at("desk", bisect).ends_with(0).stdout;
    let gone = gone.trim();
    fs::remove_dir_all(&elsewhere.repository).unwrap();
    let without_value = ["--env", "PINPOINT_TEST_SECRET"];
    let secret = pool.detach(&without_value, BENCHMARK);
    let missing = pool.detach(&[], "exit 3");
    let good = pool.detach(&[], BENCHMARK);
    let functions = pool
        .world
        .store_like(&good, |new| new.config["runs"] = true.into());
    let unreadable = pool
        .world
        .store_like(&good, |new| new.spec = json!({ "version": 99 }));
    let worker = worker_on("rack-1").start();
    for (job, told) in [
        (gone, "is not in a git repository"),
        (&secret, "PINPOINT_TEST_SECRET"),
        (&missing, "exit code 3"),
        (&functions, "calls functions"),
        (&unreadable, "spec"),
    ] {
        let failed = pool.wait(job).ends_with(1);
        failed.says_nothing().tells(told);
        assert!(
            failed.command("jobs resume").ends_with(" --detach"),
            "{failed}"
        );
        assert_eq!(pool.show(job)["state"], "failed");
    }
    let culprit = format!("culprit {}", pool.world.commits[2]);
    pool.wait(&good).ends_with(0).says(&culprit);
    let several = pool
        .wait(&good)
        .and(&[&missing, "--output", "json"])
        .ends_with(1);
    let documents = &several.document()["jobs"];
    assert_eq!(documents[0]["status"], "culprit_found");
    assert_eq!(documents[1]["status"], "failed");

    // Once it can be carried out, it is left to them again.
    let said = stop(worker);
    assert_eq!(said.stderr.matches(took).count(), 6, "{said}");
    let resume = ["jobs", "resume", &secret, "--detach"];
    assert_eq!(pool.on("desk", &resume).ends_with(0).stdout.trim(), secret);
    let worker = worker_on("rack-2").env("PINPOINT_TEST_SECRET", "1").start();
    pool.wait(&secret).ends_with(0).says(&culprit);
    stop(worker);
}

#[test]
fn a_patch_goes_with_the_job() {
    let pool = Pool::new(World::with_values([1, 1]));
    let patch = pool.world.path("slow.diff");
    let diff = "--- a/value\n+++ b/value\n@@ -1 +1 @@\n-1\n+2\n";
    fs::write(&patch, diff).unwrap();
    let worker = pool.worker("rack-1");
    let pairwise = [
        "pairwise",
        "main",
        "--patch",
        patch.to_str().unwrap(),
        "--pairs",
        "6",
        "--bot",
        "lab",
    ];
    let compared = pool
        .on("desk", &pairwise)
        .and(&["--", "sh", "-c", BENCHMARK]);
    compared.ends_with(0).says("latency");
    stop(worker);
}

#[test]
fn a_job_that_is_followed_goes_on_without_its_follower() {
    let pool = Pool::new(World::with_step(16, 9));
    let bisect = pool.world.bisect(&["--bot", "lab"], BENCHMARK);
    let following = pool.at("desk", bisect).start();
    let job = following.job();
    following.signal(SIGINT);
    let left = following.ends_with(130);
    left.says_nothing().tells("the job goes on");
    let (wait, cancel) = (left.command("jobs wait"), left.command("jobs cancel"));
    let worker = pool.worker("rack-1");
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.at("desk", pool.world.paste(&wait))
        .ends_with(0)
        .says(&culprit);
    let canceled = pool.at("desk", pool.world.paste(&cancel)).ends_with(2);
    canceled.tells(&format!("job {job} is finished"));
    stop(worker);
}

#[test]
fn a_worker_ends_a_job_that_is_canceled() {
    let pool = Pool::new(World::with_step(16, 9));
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let worker = pool.worker("rack-1");
    gate.wait();
    until("what it is at", || pool.list()[0]["job"] == *job);
    let second = pool.detach(&[], BENCHMARK);
    let shown = pool.on("desk", &["jobs", "show", &second]).ends_with(0);
    shown.says("the only worker of its bot is busy, and it is next");
    pool.on("desk", &["jobs", "cancel", &job]).ends_with(0);
    assert_eq!(processes_of(&job), [] as [String; 0]);
    let canceled = pool.wait(&job).ends_with(130);
    assert!(
        canceled.command("jobs resume").ends_with(" --detach"),
        "{canceled}"
    );
    pool.wait(&second).ends_with(0);
    stop(worker);
}

/// Builds and runs leave a mark while they last, and say so when they see another's.
#[test]
fn workers_of_one_machine_run_one_benchmark_at_a_time_and_none_beside_a_build() {
    let pool = Pool::new(World::with_step(16, 9));
    let [runs, builds, overlap] = ["runs", "builds", "overlap"].map(|name| pool.world.path(name));
    fs::create_dir(&builds).unwrap();
    let script = format!(
        "mkdir {runs} || echo run >> {overlap}; \
         [ -z \"$(ls {builds})\" ] || echo build >> {overlap}; \
         sleep 0.01; {BENCHMARK}; rmdir {runs}",
        runs = runs.display(),
        builds = builds.display(),
        overlap = overlap.display(),
    );
    let build = format!(
        ": > {builds}/$$; [ ! -e {runs} ] || echo run >> {overlap}; sleep 0.01; \
         [ ! -e {runs} ] || echo run >> {overlap}; rm {builds}/$$",
        runs = runs.display(),
        builds = builds.display(),
        overlap = overlap.display(),
    );
    let jobs: Vec<_> = (0..4)
        .map(|_| pool.detach(&["--build", &build], &script))
        .collect();
    // State directories of their own, and the locks of one machine.
    let runtime = pool.world.path("rack-1/runtime");
    let workers: Vec<_> = ["rack-1", "beside", "above"]
        .map(|place| {
            let worker = ["worker", "--bot", "lab", "--machine", "rack-1"];
            let worker = pool.on(place, &worker).env("XDG_RUNTIME_DIR", &runtime);
            worker.start()
        })
        .into();
    let all: Vec<&str> = jobs.iter().map(String::as_str).collect();
    pool.on("desk", &["jobs", "wait"]).and(&all).ends_with(0);
    assert_eq!(fs::read_to_string(&overlap).unwrap_or_default(), "");
    for worker in workers {
        stop(worker);
    }
    assert_eq!(pool.list().len(), 3);
}

#[test]
fn a_dead_worker_that_holds_its_job_is_named() {
    let pool = Pool::new(World::with_step(16, 9));
    let gate = Gate::closed(&pool.world);
    let job = pool.detach(&[], &gate.script());
    let options = ["worker", "--bot", "lab", "--lease", "10m", "--machine"];
    let worker = pool.on("rack-1", &options).and(&["rack-1"]).start();
    gate.wait();
    until("what it is at", || pool.list()[0]["job"] == *job);
    let shown = pool.on("desk", &["jobs", "show", &job]).ends_with(0);
    shown.says("worker rack-1 has it; if that dies, another may take it in ");
    worker.signal(SIGKILL);
    assert!(worker.wait().was_killed());
    gate.open();
    // As if a minute had gone by.
    pool.alter("UPDATE workers SET seen = seen - 60000, expires = 5");
    let told = "worker rack-1 has it, and was last seen 1 min ago; in ";
    let shown = pool.on("desk", &["jobs", "show", &job]).ends_with(0);
    shown.says(told);
    let shown = pool.show(&job);
    assert_eq!(shown["held_by"], "rack-1");
    let seconds = shown["held_for_s"].as_i64().unwrap();
    assert!((1..=600).contains(&seconds), "{seconds}");
    let listed = pool.on("desk", &["workers", "list"]).ends_with(0);
    listed
        .says("gone  lab")
        .says(&format!("holds job {job} for "));
    let waiting = pool.wait(&job).start();
    until("the reason", || waiting.stderr().contains(told));
    assert_eq!(waiting.stderr().matches("last seen").count(), 1);

    let cancel = pool.on("desk", &["jobs", "cancel", &job]).start();
    until("what it waits for", || {
        cancel.stderr().contains("waiting for rack-1:")
    });
    pool.alter("UPDATE jobs SET lease_expires = 5 WHERE lease_owner IS NOT NULL");
    cancel
        .ends_with(0)
        .says("is canceled")
        .tells("if that is dead, for ");
    waiting.ends_with(130);
}

#[test]
fn a_worker_without_a_place_for_its_locks_does_not_begin() {
    let pool = Pool::new(World::with_step(4, 2));
    let file = pool.world.path("file");
    fs::write(&file, "").unwrap();
    let job = pool.detach(&[], BENCHMARK);
    for runtime in [&file, &PathBuf::from("/proc/self")] {
        let worker = pool.on("rack-1", &["worker", "--bot", "lab", "--machine", "rack-1"]);
        let refused = worker.env("XDG_RUNTIME_DIR", runtime).ends_with(1);
        refused.tells("the locks of this machine can't be kept in");
        refused.tells("set XDG_RUNTIME_DIR to a directory that is");
        assert!(!refused.stderr.contains("--state-dir"), "{refused}");
    }
    assert_eq!(pool.show(&job)["state"], "pending");
    assert_eq!(pool.list(), [] as [Value; 0]);
}

/// A key on the desk, and its public half.
fn new_key(pool: &Pool, name: &str) -> (String, String) {
    let file = pool.world.path(name).display().to_string();
    let made = pool
        .on("desk", &["workers", "key", "new", &file])
        .ends_with(0);
    let shown = pool
        .on("desk", &["workers", "key", "show", &file])
        .ends_with(0);
    assert_eq!(shown.stdout, made.stdout);
    (file, made.stdout.trim().to_owned())
}

#[test]
fn a_worker_that_trusts_a_key_takes_what_is_signed_with_it() {
    let pool = Pool::new(World::with_step(16, 9));
    let (ada, public) = new_key(&pool, "ada.key");
    let (eve, of_eve) = new_key(&pool, "eve.key");
    let unsigned = pool.detach(&[], BENCHMARK);
    let by_eve = pool.detach(&["--sign-with", &eve], BENCHMARK);
    let altered = pool.detach(&["--sign-with", &ada], BENCHMARK);
    let signed = pool.detach(&["--sign-with", &ada], BENCHMARK);
    pool.alter(&format!(
        "UPDATE jobs SET title = 'harmless' WHERE id = '{altered}'"
    ));
    let keys = pool.world.path("keys");
    fs::write(&keys, format!("# who may\n{public} ada@desk\n")).unwrap();
    let options = ["worker", "--bot", "lab", "--machine", "rack-1", "--trust"];
    let worker = pool.on("rack-1", &options).and(&[&keys]).start();
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.wait(&signed).ends_with(0).says(&culprit);
    until("the end of its work", || pool.list()[0]["job"].is_null());
    let listed = pool.on("desk", &["workers", "list"]).ends_with(0);
    listed.says("takes signed jobs only");
    assert_eq!(pool.list()[0]["trusted"], json!([public]));

    let show = |job: &str| pool.on("desk", &["jobs", "show", job]).ends_with(0);
    let only = "workers of bot `lab` take only jobs that are signed with a key they trust, and ";
    show(&unsigned).says(&format!("{only}it is not signed"));
    show(&by_eve).says(&format!("{only}none of them trusts {of_eve}"));
    show(&by_eve).says(&format!("signed with {of_eve}"));
    let changed = format!("not as it was when it was signed with {public}");
    show(&altered).says(&changed).says(only);
    assert_eq!(
        pool.show(&signed)["signatures"],
        json!([{ "key": public, "fits": true }])
    );
    for job in [&unsigned, &by_eve, &altered] {
        assert_eq!(pool.show(job)["state"], "pending");
    }

    // Somebody who is trusted answers for it after all.
    let resume = |job: &str| pool.on("desk", &["jobs", "resume", job, "--detach"]);
    let ask = resume(&unsigned).and(&["--sign-with", &ada]).ends_with(2);
    ask.tells("It runs on workers:")
        .tells("latency")
        .tells("--yes");
    let yes = resume(&unsigned).and(&["--yes"]);
    yes.env("PINPOINT_SIGNING_KEY", &ada).ends_with(0);
    pool.wait(&unsigned).ends_with(0).says(&culprit);
    // It is signed, so there is nothing to ask.
    pool.alter(&format!(
        "UPDATE jobs SET state = 'failed' WHERE id = '{unsigned}'"
    ));
    resume(&unsigned).and(&["--sign-with", &ada]).ends_with(0);
    pool.wait(&unsigned).ends_with(0).says(&culprit);
    stop(worker);
}

#[test]
fn keys_that_are_none_are_refused() {
    let pool = Pool::new(World::with_step(4, 2));
    let (ada, public) = new_key(&pool, "ada.key");
    pool.on("desk", &["workers", "key", "new", &ada])
        .ends_with(2)
        .tells("File exists");
    let [garbage, none] = ["garbage", "none"].map(|name| pool.world.path(name));
    fs::write(&garbage, "garbage").unwrap();
    fs::write(&none, "# nobody yet\n").unwrap();
    let [garbage, none] = [&garbage, &none].map(|path| path.to_str().unwrap());
    for (trust, told) in [
        ("ed25519:AAAA", "is not a public key"),
        (garbage, "garbage, line 1: \"garbage\" is not a public key"),
        (none, "holds no public key"),
        (&*ada, "is not a public key"),
        ("missing", "cannot use the key file missing"),
        ("", "cannot use the key file"),
    ] {
        let options = [
            "worker",
            "--bot",
            "lab",
            "--machine",
            "rack-1",
            "--trust",
            trust,
        ];
        pool.on("rack-1", &options).ends_with(2).tells(told);
    }
    let options = ["worker", "--bot", "lab", "--temporal", "--trust", &public];
    pool.on("rack-1", &options)
        .ends_with(2)
        .tells("cannot be used with");
    for (key, told) in [
        (garbage, "holds no signing key"),
        (&public, "cannot use the key file"),
    ] {
        let bisect = ["--bot", "lab", "--detach", "--sign-with", key];
        let bisect = pool.at("desk", pool.world.bisect(&bisect, BENCHMARK));
        bisect.ends_with(2).says_nothing().tells(told);
    }
    fs::set_permissions(&ada, fs::Permissions::from_mode(0o644)).unwrap();
    let bisect = ["--bot", "lab", "--detach", "--sign-with", &ada];
    let bisect = pool.at("desk", pool.world.bisect(&bisect, BENCHMARK));
    bisect.ends_with(2).says_nothing().tells("chmod 600");
    assert_eq!(pool.world.jobs(), [] as [Value; 0]);
}

/// Nobody who can write to the store has a commit built that the signed job does not lead
/// to.
#[test]
fn the_journal_of_a_signed_job_leads_nowhere_else() {
    let world = World::with_step(16, 9);
    // A commit that was proposed, and is on no branch that anybody asked about.
    let git = |arguments: &[&str]| git(&world.repository, arguments);
    git(&["checkout", "-q", "-b", "proposed", &world.commits[8]]);
    fs::write(world.repository.join("evil"), "").unwrap();
    git(&["add", "evil"]);
    let author = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"];
    git(&[&author[..], &["commit", "-q", "-m", "Nothing bad"]].concat());
    let evil = git(&["rev-parse", "HEAD"]);
    git(&["checkout", "-q", "main"]);
    let pool = Pool::new(world);
    let (ada, public) = new_key(&pool, "ada.key");
    let (gate, reached, reached_evil) = (
        pool.world.path("gate"),
        pool.world.path("reached"),
        pool.world.path("reached-evil"),
    );
    fs::write(&gate, "").unwrap();
    // It waits in the first run between the ends.
    let script = format!(
        "[ ! -e evil ] || : > {evil}; case $(cat number) in 0|15) ;; *) : > {reached}; \
         while [ -e {gate} ]; do sleep 0.01; done;; esac; {BENCHMARK}",
        evil = reached_evil.display(),
        reached = reached.display(),
        gate = gate.display(),
    );
    let job = pool.detach(&["--sign-with", &ada], &script);
    let worker = |machine: &str| {
        let options = [
            "worker", "--bot", "lab", "--lease", "2s", "--trust", &public,
        ];
        pool.on(machine, &options)
            .and(&["--machine", machine])
            .start()
    };
    let first = worker("rack-1");
    until("a run between the ends", || reached.exists());
    first.signal(SIGKILL);
    first.wait();
    fs::remove_file(&gate).unwrap();

    let replace = |from: &str, to: &str| {
        pool.alter(&format!(
            "UPDATE records SET event = replace(event, '{from}', '{to}'), \
             detail = replace(detail, '{from}', '{to}')"
        ));
    };
    let commits = &pool.world.commits;
    let between: Vec<&str> = commits[1..15].iter().map(String::as_str).collect();
    for named in [&between[..], &[&*commits[15]], &[&*commits[0]]] {
        pool.alter("CREATE TABLE saved AS SELECT * FROM records");
        for commit in named {
            replace(commit, &evil);
        }
        let second = worker("rack-2");
        let ended = pool.wait(&job).start().wait();
        stop(second);
        assert!(!reached_evil.exists(), "{ended}");
        ended.tells("which this signed job does not lead to");
        pool.alter(
            "DELETE FROM records; INSERT INTO records SELECT * FROM saved; DROP TABLE saved",
        );
        pool.on("desk", &["jobs", "resume", &job, "--detach"])
            .ends_with(0);
    }
    // As it was, it leads to its end.
    let third = worker("rack-2");
    let culprit = format!("culprit {}", commits[9]);
    pool.wait(&job).ends_with(0).says(&culprit);
    stop(third);
}

#[test]
fn the_patch_of_a_signed_job_is_the_one_that_was_signed() {
    let pool = Pool::new(World::with_values([1, 1]));
    let (ada, public) = new_key(&pool, "ada.key");
    let compare = |name: &str, value: u32, options: &[&str]| {
        let patch = pool.world.path(name);
        let diff = format!("--- a/value\n+++ b/value\n@@ -1 +1 @@\n-1\n+{value}\n");
        fs::write(&patch, diff).unwrap();
        let pairwise = [
            "pairwise", "main", "--bot", "lab", "--detach", "--pairs", "6",
        ];
        let compared = pool.on("desk", &pairwise).and(options);
        let compared = compared.and(&["--patch", patch.to_str().unwrap()]);
        let compared = compared.and(&["--", "sh", "-c", BENCHMARK]).ends_with(0);
        compared.stdout.trim().to_owned()
    };
    let signed = compare("slow.diff", 2, &["--sign-with", &ada]);
    let other = compare("slower.diff", 3, &[]);
    let of = |job: &str| format!("job = (SELECT number FROM jobs WHERE id = '{job}')");
    pool.alter(&format!(
        "UPDATE job_files SET content = (SELECT content FROM job_files WHERE {} AND \
         name = 'patch') WHERE {} AND name = 'patch'",
        of(&other),
        of(&signed)
    ));
    let options = [
        "worker",
        "--bot",
        "lab",
        "--machine",
        "rack-1",
        "--trust",
        &public,
    ];
    let worker = pool.on("rack-1", &options).start();
    let failed = pool.wait(&signed).ends_with(1);
    failed.tells("slow.diff is not as it was when the job was created");
    stop(worker);
}

#[test]
fn outputs_of_builds_and_of_failed_runs_go_with_the_job() {
    let pool = Pool::new(World::with_step(4, 2));
    let script = format!("[ $(cat number) != 3 ] || {{ echo no luck; exit 3; }}; {BENCHMARK}");
    let build = ["--build", "echo compiling $(cat number)"];
    let job = pool.detach(&build, &script);
    let worker = pool.worker("rack-1");
    pool.wait(&job).start().wait();
    stop(worker);
    let report = pool.world.path("report.html");
    let make = ["jobs", "report", &job, report.to_str().unwrap()];
    pool.on("elsewhere", &make).ends_with(0);
    let outputs = |machine: &str| {
        let place = pool
            .world
            .path(machine)
            .join("state/pinpoint/jobs")
            .join(&job);
        let mut outputs = BTreeMap::new();
        for folder in ["builds", "runs"] {
            for entry in fs::read_dir(place.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                let end = path.extension().unwrap_or_default().to_str().unwrap();
                if ["log", "out", "err"].contains(&end) {
                    let name = path.strip_prefix(&place).unwrap().to_owned();
                    outputs.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
        outputs
    };
    let (there, here) = (outputs("rack-1"), outputs("elsewhere"));
    assert_eq!(here, there);
    let with = |text: &str| here.values().filter(|output| output.contains(text)).count();
    assert!(with("compiling 3") == 1 && with("no luck") > 0, "{here:?}");
}

/// A document without what is never the same twice.
#[track_caller]
pub(crate) fn comparable(finished: &Finished) -> Value {
    let mut document = finished.document();
    let fields = document.as_object_mut().unwrap();
    for field in ["job_id", "duration_s"] {
        assert!(fields.remove(field).is_some(), "{field}\n{finished}");
    }
    // The commands of jobs that were left to workers have other words.
    for culprit in fields
        .get_mut("culprits")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        culprit.as_object_mut().unwrap().remove("reproduce");
    }
    document
}

/// A step in noise that depends on commit and run alone.
pub(crate) struct Noise;

impl Noise {
    pub(crate) const BUILD: [&'static str; 2] = ["--build", "cp value built"];
    pub(crate) const SCRIPT: &'static str = "sleep 0.02; n=$(cat built); r=${PINPOINT_RUN:-0}; \
         echo \"v: $((n / 100 * 14 + (n * 31 + r * 37) % 41)) ms\"";

    /// So many commits, with the step at this one.
    pub(crate) fn world(count: usize, at: usize) -> World {
        // Distinct numbers, so that each commit has noise of its own.
        World::with_values((0..count).map(|number| number + if number < at { 100 } else { 200 }))
    }
}

#[test]
fn workers_that_are_killed_at_any_moment_find_what_one_process_finds() {
    // The longest that a worker is let live, in milliseconds.
    const LONGEST: u64 = 3000;
    let mut dice = Dice::new();
    let (build, script) = (Noise::BUILD, Noise::SCRIPT);
    let pool = Pool::new(Noise::world(32, 19));
    let reference = pool
        .world
        .bisect(&[&build[..], &["--output", "json"]].concat(), script);
    let reference = pool.at("desk", reference).ends_with(0);
    let expected = comparable(&reference);

    let most = attacks(12);
    let (mut kills, mut took) = (0, 0);
    let mut workers: Vec<_> = ["rack-1", "rack-2"]
        .map(|machine| (machine, pool.worker(machine)))
        .into();
    while kills < most {
        let job = pool.detach(&build, script);
        let mut waiting = pool.wait(&job).and(&["--output", "json"]).start();
        while kills < most && !waiting.has_ended() {
            std::thread::sleep(std::time::Duration::from_millis(dice.below(LONGEST)));
            let killed = dice.below(workers.len() as u64) as usize;
            let (machine, worker) = workers.swap_remove(killed);
            worker.signal(SIGKILL);
            took += worker.wait().stderr.matches(": began").count();
            workers.push((machine, pool.worker(machine)));
            kills += 1;
        }
        let ended = waiting.ends_with(0);
        assert_eq!(comparable(&ended), expected, "{ended}");
        // None was made twice, as far as the journal knows.
        pool.world.recorded_runs(&job);
        assert_eq!(processes_of(&job), [] as [String; 0]);
        assert!(pool.outputs(&job) >= expected["runs"].as_u64().unwrap() as usize);
    }
    for (_, worker) in workers {
        took += stop(worker).stderr.matches(": began").count();
    }
    println!("{took} times a worker took a job, in spite of {kills} kills");
    let leases = pool.list();
    assert!(
        leases.iter().all(|worker| worker["gone"] == true),
        "{leases:?}"
    );
}

#[test]
fn a_worker_without_its_creators_clone_fetches_what_it_may() {
    let pool = Pool::new(World::with_step(16, 9));
    let upstream = pool.world.path("upstream").display().to_string();
    let clone = ["clone", "-q", "--bare", "repository", "upstream"];
    git(&pool.world.path(""), &clone);
    let detach = || {
        let bisect = ["--bot", "lab", "--detach", "--build", "cp value built"];
        pool.at("desk", pool.world.bisect(&bisect, BENCHMARK))
            .ends_with(0)
    };
    detach().tells("has no remote");
    let remote = ["remote", "add", "origin", &upstream];
    git(&pool.world.repository, &remote);
    detach().tells("push it");
    git(&pool.world.repository, &["fetch", "-q", "origin"]);
    let detached = detach();
    assert!(!detached.stderr.contains("warning"), "{detached}");
    let job = detached.stdout.trim();
    fs::rename(&pool.world.repository, pool.world.path("away")).unwrap();

    let store = pool.world.path("store").display().to_string();
    let worker = |machine: &str, permitted: &str| {
        let options = ["worker", "--bot", "lab", "--machine", machine];
        let worker = pool.on(machine, &options).in_dir(&pool.world.path(""));
        let provisions = ["--allow-repository", permitted, "--build-store", &store];
        worker.and(&provisions).start()
    };
    let wait = || pool.wait(job).in_dir(&pool.world.path(""));
    let refusing = worker("rack-1", "https://host.example/**");
    wait().ends_with(1).tells("may not fetch");
    stop(refusing).tells("--allow-repository");
    let elsewhere = ["--yes", "--allow-repository", "https://host.example/**"];
    let resume = pool.on("desk", &["jobs", "resume", job]).and(&elsewhere);
    let refused = resume.in_dir(&pool.world.path("")).ends_with(1);
    let advised = refused.command("jobs resume");
    assert!(
        advised.ends_with(" --allow-repository 'https://host.example/**'"),
        "{refused}"
    );
    let resume = pool.on("desk", &["jobs", "resume", job, "--yes", "--detach"]);
    resume.in_dir(&pool.world.path("")).ends_with(0);
    let permitted = worker("rack-2", &upstream);
    wait()
        .ends_with(0)
        .says(&format!("culprit {}", pool.world.commits[9]));
    stop(permitted);
    assert!(pool.world.path("store").read_dir().unwrap().count() > 0);
}
