//! Jobs that are left to workers, on two "machines": each has a separate state directory and
//! machine locks, and they share a store.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use libc::{SIGCONT, SIGINT, SIGKILL, SIGTERM};
use serde_json::{Value, json};

use crate::pool::{Gate, Noise, Pool, stop};
use crate::world::{
    BENCHMARK, Dice, Finished, Pinpoint, Running, World, attacks, git, processes_of, until,
};

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
    canceled.says("was canceled");
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
        (&["--bot", "phones"], "runs on Swarming"),
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
    worker(&["--bot", "desk", "--bot", "phones"]).tells("runs on Swarming");
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
    // On a busy machine, another run begins before the signal is seen.
    assert!(
        after.is_superset(&before) && after.len() > before.len(),
        "{before:?} {after:?}"
    );
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

/// Workers report with `took` that they took a job.
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
    left.says_nothing().tells("the job continues");
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
    // Separate state directories, and the locks of one machine.
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
    // As if a minute had passed.
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
        .says("was canceled")
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

#[test]
fn outputs_of_builds_and_of_failed_runs_go_with_the_job() {
    let pool = Pool::new(World::with_step(4, 2));
    outputs_go_with_the_job(&pool, pool.worker("rack-1"));
}

/// The outputs of a job that this worker of `rack-1` carries out are in its report elsewhere.
pub(crate) fn outputs_go_with_the_job(pool: &Pool, worker: Running) {
    let script = format!("[ $(cat number) != 3 ] || {{ echo no luck; exit 3; }}; {BENCHMARK}");
    let build = ["--build", "echo compiling $(cat number)"];
    let job = pool.detach(&build, &script);
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

#[test]
fn workers_that_are_killed_at_any_moment_find_what_one_process_finds() {
    // The longest that a worker lives, in milliseconds.
    const MAX_LIFE_MS: u64 = 3000;
    let mut dice = Dice::new();
    // Any way to the answer leads to the same commit: which machine makes which run depends
    // on the kills.
    let (build, script) = (Noise::BUILD, &Noise::script(140));
    let pool = Pool::new(Noise::world(32, 19));
    let reference = pool
        .world
        .bisect(&[&build[..], &["--output", "json"]].concat(), script);
    let reference = pool.at("desk", reference).ends_with(0);
    let found = |finished: &Finished| {
        let document = finished.document();
        let culprits = document["culprits"].as_array().unwrap();
        let blamed = culprits.iter().map(|it| it["blamed"]["git_hash"].clone());
        (document["status"].clone(), blamed.collect::<Vec<_>>())
    };
    let expected = found(&reference);

    let most = attacks(8);
    let (mut kills, mut took) = (0, 0);
    let mut workers: Vec<_> = ["rack-1", "rack-2"]
        .map(|machine| (machine, pool.worker(machine)))
        .into();
    while kills < most {
        let job = pool.detach(&build, script);
        let mut waiting = pool.wait(&job).and(&["--output", "json"]).start();
        while kills < most && !waiting.has_ended() {
            std::thread::sleep(std::time::Duration::from_millis(dice.below(MAX_LIFE_MS)));
            let killed = dice.below(workers.len() as u64) as usize;
            let (machine, worker) = workers.swap_remove(killed);
            worker.signal(SIGKILL);
            took += worker.wait().stderr.matches(": began").count();
            workers.push((machine, pool.worker(machine)));
            kills += 1;
        }
        let ended = waiting.ends_with(0);
        assert_eq!(found(&ended), expected, "{ended}");
        // None was made twice, as far as the journal knows.
        pool.world.recorded_runs(&job);
        assert_eq!(processes_of(&job), [] as [String; 0]);
        let runs = ended.document()["runs"].as_u64().unwrap();
        assert!(pool.outputs(&job) >= runs as usize);
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
