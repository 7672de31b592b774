//! A job from its request to its culprit: a real repository, and a worker beside the service.

use std::cell::Cell;
use std::future::Future;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use pinpoint_backends::local::{Mirrors, Provisions};
use pinpoint_backends::store::{Job, NewJob};
use pinpoint_backends::worker::{LEASE, WorkerEvent, WorkerOptions, serve};
use pinpoint_service::SignIn;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::ui;
use crate::watch::{Event, Events};
use crate::world::World;

fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(arguments);
    git.envs([
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ]);
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "Ada")
            .env(format!("GIT_{role}_EMAIL"), "ada@example.org")
            // So that the hashes are the same each time.
            .env(format!("GIT_{role}_DATE"), "2024-02-03T04:05:06+01:00");
    }
    let done = git.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A repository of this many commits, and their hashes; the benchmark takes twice as long
/// from the one of number `slow` on.
fn repository(directory: &Path, commits: usize, slow: usize) -> Vec<String> {
    let git = |arguments: &[&str]| git(directory, arguments);
    std::fs::create_dir(directory).unwrap();
    git(&["init", "--quiet", "--initial-branch=main"]);
    (0..commits)
        .map(|number| {
            let level = if number < slow { 100 } else { 200 };
            // An argument `--level=N` makes it slower by N.
            let script = format!(
                "# {number}\nlevel=${{1:---level=0}}\necho \"time: $(({level} + ${{level#--level=}} + PINPOINT_RUN % 3)) ms\"\n"
            );
            std::fs::write(directory.join("bench.sh"), script).unwrap();
            git(&["add", "bench.sh"]);
            git(&[
                "commit",
                "--quiet",
                "--message",
                &format!("change {number}\n\nChange-Id: I{number}\nCr-Commit-Position: refs/heads/main@{{#{}}}", 100 + number),
            ]);
            git(&["rev-parse", "HEAD"])
        })
        .collect()
}

/// Runs a test with a worker in it: a job is a deep future, deeper than the stack of a test where
/// it is not optimized.
fn deep<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let thread = thread::Builder::new().stack_size(8 << 20);
    let done = thread.spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
    });
    done.unwrap().join().unwrap();
}

#[test]
fn a_requested_job_finds_its_culprit_and_is_shown_in_every_form() {
    deep(a_culprit_is_found);
}

#[test]
fn a_paused_job_is_let_go_after_its_run_and_goes_on_once_it_is_resumed() {
    deep(a_job_is_paused);
}

/// A newer commit may have a position that reads like the beginning of an older one's hash.
#[tokio::test]
async fn digits_are_a_hash_until_a_commit_has_that_position() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("tool");
    let hashes = repository(&directory, 1, 1);
    let tree = format!("{}^{{tree}}", hashes[0]);
    let mut candidates = (0..).map(|number| {
        let message = format!("candidate {number}");
        let arguments = ["commit-tree", &tree, "-p", &hashes[0], "-m", &message];
        git(&directory, &arguments)
    });
    let is_of_digits = |hash: &String| {
        !hash.starts_with('0') && hash[..7].bytes().all(|digit| digit.is_ascii_digit())
    };
    let older = candidates.find(is_of_digits).unwrap();
    git(&directory, &["reset", "--quiet", "--hard", &older]);

    let url = format!("file://{}", directory.display());
    let bots = bots(&url, r#"["true"]"#);
    let world = World::looking_up(SignIn::Nobody("ada".into()), &bots, &[&url]).await;
    let digits = &older[..7];
    let path = format!("/pinpoint/v1/commit/{digits}");
    assert_eq!(world.get(&path).await.ok()["gitHash"], older);
    let page = format!("/commits/{digits}");
    let shown = world.get(&page).await.ok();
    assert!(shown.as_str().unwrap().contains("candidate"), "{shown}");

    let message = format!("newer\n\nCr-Commit-Position: refs/heads/main@{{#{digits}}}");
    let arguments = ["commit", "--quiet", "--allow-empty", "-m", &message];
    git(&directory, &arguments);
    let world = world.looking_up_again(&[&url]).await;
    let newer = git(&directory, &["rev-parse", "HEAD"]);
    assert_eq!(world.get(&path).await.ok()["gitHash"], newer);
    assert_eq!(
        world
            .get(&format!("/pinpoint/v1/commit/{older}"))
            .await
            .ok()["gitHash"],
        older
    );
    // A page is of a hash.
    let shown = world.get(&page).await.ok();
    assert!(!shown.as_str().unwrap().contains("newer"), "{shown}");
}

#[tokio::test]
async fn ends_are_branches_and_tags_and_hashes_that_exist() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("tool");
    let hashes = repository(&directory, 3, 3);
    git(
        &directory,
        &["tag", "--annotate", "v1.0", &hashes[0], "--message", "v1.0"],
    );
    git(&directory, &["branch", "release/1.x", &hashes[1]]);
    // A change under review is on no branch.
    let tree = format!("{}^{{tree}}", hashes[2]);
    let review = git(
        &directory,
        &["commit-tree", &tree, "-p", &hashes[2], "-m", "review"],
    );
    git(&directory, &["update-ref", "refs/changes/1", &review]);
    git(
        &directory,
        &["config", "uploadpack.allowAnySHA1InWant", "true"],
    );

    let url = format!("file://{}", directory.display());
    let bots = bots(&url, r#"["true"]"#);
    let world = World::looking_up(SignIn::Nobody("ada".into()), &bots, &[&url]).await;
    let make = async |good: &str, bad: &str| {
        let body = json!({
            "bot": "lab", "benchmark": "parsing", "story": "small", "chart": "time",
            "bisection": { "good": good, "bad": bad },
        });
        world.post("/api/v2/jobs", &body).await
    };
    let ends = async |good: &str, bad: &str| {
        let search = make(good, bad).await.ok()["arguments"]["bisection"].take();
        [search["good"].clone(), search["bad"].clone()]
    };
    assert_eq!(ends("v1.0", "main").await, [&*hashes[0], &*hashes[2]]);
    assert_eq!(
        ends("refs/tags/v1.0", "release/1.x").await,
        [&*hashes[0], &*hashes[1]]
    );
    assert_eq!(ends(&hashes[0], &review).await, [&*hashes[0], &*review]);
    let absent = "c".repeat(40);
    for (good, bad) in [(&*hashes[0], &*absent), ("v9", "main")] {
        let message = make(good, bad).await.fails(400, 3);
        assert!(message.contains("has no commit"), "{message}");
    }
    let body = json!({
        "configuration": "lab", "benchmark": "parsing", "story": "small", "chart": "time",
        "start_git_hash": "v1.0", "end_git_hash": absent,
    });
    let message = world
        .post("/pinpoint/v1/bisection", &body)
        .await
        .fails(400, 3);
    assert!(message.starts_with("end_git_hash: "), "{message}");
}

fn bots(url: &str, command: &str) -> String {
    format!(
        r#"
            [bots.lab]
            local = true
            repository = "{url}"

            [benchmarks.parsing]
            stories = ["small"]
            command = {command}
            format = "lines"
            allow_extra_args = ["--level=*"]
        "#
    )
}

/// A worker beside the service.
fn worker(world: &World, url: &str) -> WorkerOptions {
    let state_dir = world.directory.path().join("worker");
    let machine_dir = world.directory.path().join("machine");
    let allowed = vec![url.parse().unwrap()];
    let mirrors = Mirrors::open(&state_dir, &machine_dir, Vec::new(), allowed).unwrap();
    WorkerOptions {
        bots: vec!["lab".into()],
        trusted: None,
        machine: "rack-1".into(),
        state_dir,
        build_jobs: None,
        drain: Duration::ZERO,
        lease: LEASE,
        diagnose: false,
        provisions: Provisions {
            mirrors: Some(mirrors),
            build_store: None,
        },
    }
}

async fn a_job_is_paused() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("tool");
    let hashes = repository(&directory, 2, 1);
    let url = format!("file://{}", directory.display());
    // Long enough for a pause to be noticed before the last run.
    let bots = bots(&url, r#"["sh", "-c", "sleep 0.3; sh bench.sh"]"#);
    let world = World::with_bots(SignIn::Nobody("ada".into()), &bots).await;
    let request = json!({
        "bot": "lab",
        "benchmark": "parsing",
        "story": "small",
        "pairwise": { "base": hashes[0], "experiment": hashes[1], "pairs": 20 },
    });
    let made = world.post("/api/v2/jobs", &request).await.ok();
    let id = made["summary"]["jobId"].as_str().unwrap();
    let post = async |what: &str| {
        let path = format!("/api/v2/jobs/{id}/{what}");
        world.post(&path, &json!({})).await.ok()
    };
    let options = worker(&world, &url);
    let ended = Notify::new();
    let lets_go = Cell::new(0);
    let tell = |event: WorkerEvent<'_>| {
        if let WorkerEvent::Ended(..) = event {
            lets_go.set(lets_go.get() + 1);
        }
    };
    let served = serve(&world.store, &options, ended.notified(), tell);
    let watched = async {
        let mut events = Events::watch(&world, id, None).await;
        events.named("record").await.unwrap();
        assert_eq!(post("pause").await["summary"]["paused"], true);
        loop {
            let state = events.named("state").await.unwrap().data;
            if state["state"]["state"] == "PENDING" && state["state"]["paused"] == true {
                break;
            }
        }
        let before = post("resume").await;
        assert_eq!(before["summary"]["state"], "PENDING");
        let rest = events.rest().await;
        let last = &rest.last().unwrap().data["state"];
        assert_eq!(
            (&last["state"], &last["runs"]),
            (&json!("COMPLETED"), &json!("40"))
        );
        ended.notify_one();
    };
    let (served, ()) = tokio::join!(served, watched);
    served.unwrap();
    assert_eq!(lets_go.get(), 2);
}

async fn a_culprit_is_found() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("tool");
    let hashes = repository(&directory, 8, 5);
    let url = format!("file://{}", directory.display());
    let bots = bots(&url, r#"["sh", "bench.sh"]"#);
    let world = World::looking_up(SignIn::Nobody("ada".into()), &bots, &[&url]).await;
    commits_are_found_by_their_names(&world, &directory, &url, &hashes).await;
    commits_are_found_beside_a_run(&world, &url, &hashes).await;
    ui::new::look_up::commits_are_looked_up(&world, &hashes).await;
    let tried = try_job(&world, &hashes).await;
    let request = json!({
        "start_git_hash": hashes[0][..12],
        "end_git_hash": "107",
        "configuration": "lab",
        "benchmark": "parsing",
        "story": "small",
        "chart": "time",
        "comparison_magnitude": "50",
        "bug_id": "1234",
    });
    let made = world.post("/pinpoint/v1/bisection", &request).await.ok();
    let id = made["jobId"].as_str().unwrap();

    // The same by the strategy that compares neighbors.
    let Job {
        kind,
        title,
        name,
        benchmark,
        bot,
        user,
        repository,
        config,
        mut spec,
        ..
    } = world.job(id).await;
    spec["strategy"] = "pinpoint".into();
    let same = NewJob {
        kind,
        title,
        name,
        benchmark,
        bot,
        user,
        repository,
        config,
        spec,
    };
    let compared = world.store.jobs().create(&same).await.unwrap();

    let options = worker(&world, &url);
    let (ended, left) = (Notify::new(), Cell::new(3));
    let tell = |event: WorkerEvent<'_>| {
        if let WorkerEvent::Ended(_, result) = event {
            assert!(result.is_ok(), "{result:?}");
            left.set(left.get() - 1);
            if left.get() == 0 {
                ended.notify_one();
            }
        }
    };
    let served = serve(&world.store, &options, ended.notified(), tell);
    let watched = Events::watch(&world, id, None).await;
    let (served, watched) = tokio::join!(served, watched.rest());
    served.unwrap();
    shown_by_our_own_api(&world, [id, compared.as_str()], &hashes, &watched).await;
    a_try_job_is_shown_in_one_piece(&world, &tried, &hashes).await;
    let commit = world
        .get(&format!("/commits/{}", &hashes[5][..9]))
        .await
        .ok();
    for shown in [
        "change 5",
        "Ada",
        &hashes[5],
        id,
        compared.as_str(),
        ">Culprit<",
    ] {
        assert!(
            commit.as_str().unwrap().contains(shown),
            "{shown}: {commit}"
        );
    }

    let found = world
        .get(&format!("/pinpoint/v1/query?job_id={id}"))
        .await
        .ok();
    let culprit = &found["detailedCulprits"][0];
    assert_eq!(culprit["culprit"]["main"]["gitHash"], hashes[5]);
    assert_eq!(culprit["prior"]["main"]["gitHash"], hashes[4]);

    let legacy = world
        .get(&format!("/pinpoint/v1/legacy-job?job_id={id}"))
        .await
        .ok();
    assert_eq!(
        (&legacy["status"], &legacy["metric"]),
        (&json!("Completed"), &json!("time"))
    );
    assert_eq!(
        (&legacy["bugId"], &legacy["differenceCount"]),
        (&json!("1234"), &json!(1))
    );
    assert_eq!(legacy["arguments"]["startGitHash"], hashes[0]);
    let states = legacy["state"].as_array().unwrap();
    let hash = |state: &Value| {
        state["change"]["commits"][0]["gitHash"]
            .as_str()
            .map(str::to_owned)
    };
    let shown: Vec<_> = states.iter().filter_map(hash).collect();
    assert_eq!(
        (shown.first(), shown.last()),
        (Some(&hashes[0]), Some(&hashes[7]))
    );
    for state in states {
        let slow = hashes
            .iter()
            .position(|known| Some(known) == hash(state).as_ref())
            .unwrap()
            >= 5;
        let values = state["values"].as_array().unwrap();
        assert_eq!(values.len(), state["attempts"].as_array().unwrap().len());
        assert!(!values.is_empty());
        assert!(
            values
                .iter()
                .all(|value| (value.as_f64().unwrap() >= 200.0) == slow),
            "{state}"
        );
    }

    let legacy = format!("/pinpoint/v1/legacy-job?job_id={compared}");
    let legacy = world.get(&legacy).await.ok();
    let states = legacy["state"].as_array().unwrap();
    let of = |number: usize| {
        states
            .iter()
            .find(|state| hash(state).as_ref() == Some(&hashes[number]))
    };
    assert_eq!(of(4).unwrap()["comparisons"]["next"], "different");
    assert_eq!(of(5).unwrap()["comparisons"]["prev"], "different");
    assert_eq!(of(0).unwrap()["comparisons"]["prev"], "");
    ui::new::look_up::the_last_build_is_known(&world, &hashes).await;
}

async fn commits_are_found_by_their_names(
    world: &World,
    directory: &Path,
    url: &str,
    hashes: &[String],
) {
    let commit = async |name: &str| world.get(&format!("/pinpoint/v1/commit/{name}")).await;
    let head = commit("HEAD").await.ok();
    let mut expected = json!({
        "repository": url,
        "gitHash": hashes[7],
        "url": "",
        "author": "Ada <ada@example.org>",
        "created": head["created"],
        "subject": "change 7",
        "message": "change 7\n\nChange-Id: I7\nCr-Commit-Position: refs/heads/main@{#107}",
        "commitBranch": "refs/heads/main",
        "commitPosition": "107",
        "reviewUrl": "",
        "changeId": "I7",
    });
    assert_eq!(head, expected);
    assert!(head["created"].as_str().unwrap().contains('T'));
    for name in [
        "107",
        "main",
        "refs%2Fheads%2Fmain",
        "refs%2Fheads%2Fmain@%7B%23107%7D",
        &hashes[7],
        &hashes[7][..9],
    ] {
        assert_eq!(commit(name).await.ok(), expected, "{name}");
    }
    expected = commit("103").await.ok();
    assert_eq!(expected["gitHash"], hashes[3]);
    for absent in ["1070", "no-such-branch", &"c".repeat(40), "0000000a"] {
        commit(absent).await.fails(404, 5);
    }
    // To git, these are options, files and other revisions.
    for other in ["--output=x", "HEAD~1", "HEAD:bench.sh", "-1", "%2E%2E"] {
        commit(other).await.fails(400, 3);
    }
    assert!(!directory.join("x").exists());
}

/// A mirror answers while a run has the machine, which no fetch may disturb.
async fn commits_are_found_beside_a_run(world: &World, url: &str, hashes: &[String]) {
    let world = world.looking_up_again(&[url]).await;
    let machine = world.directory.path().join("machine/machine");
    let machine = std::fs::File::options().write(true).open(machine).unwrap();
    machine.lock().unwrap();
    let commit = async |name: &str| world.get(&format!("/pinpoint/v1/commit/{name}")).await;
    for name in [&hashes[3], "103"] {
        assert_eq!(commit(name).await.ok()["gitHash"], hashes[3]);
    }
    let (head, absent) = tokio::join!(commit("HEAD"), commit("1070"));
    assert_eq!(head.ok()["gitHash"], hashes[7]);
    let reason = absent.fails(503, 14);
    assert!(
        reason.contains("had no commit main@{#1070} when it was last fetched"),
        "{reason}"
    );
    drop(machine);
    // The fetch continues.
    loop {
        let absent = commit("1070").await;
        if absent.status.as_u16() != 503 {
            absent.fails(404, 5);
            break;
        }
    }
}

/// A comparison of a commit with itself, with another argument.
async fn try_job(world: &World, hashes: &[String]) -> String {
    let request = json!({
        "benchmark": "parsing",
        "configuration": "lab",
        "story": "small",
        "base": { "commit": "104" },
        "experiment": {
            "commit": "refs/heads/main@{#104}",
            "extraArgs": { "benchmarkRunnerArgs": "--level=50" },
        },
        "attemptCount": 10,
    });
    let mut others = [
        ("base", "commit", json!({ "commit": "999" })),
        ("experiment", "commit", json!({ "commit": "never-was" })),
        (
            "base",
            "extra_args",
            json!({ "commit": "HEAD", "extraArgs": { "jsFlags": "--x" } }),
        ),
    ]
    .map(|(side, field, value)| {
        let mut request = request.clone();
        request[side] = value;
        (format!("{side}.{field}"), request)
    });
    for (field, request) in &mut others {
        let refused = world.post("/pinpoint/v1/new", request).await;
        let violations = &refused.body["details"][0]["fieldViolations"];
        assert_eq!(violations[0]["field"], **field, "{violations}");
        assert!(refused.fails(400, 3).contains(&**field));
    }
    // The request as sent counts, since HEAD is another commit later.
    let keyed = [
        ("idempotency-key", "k"),
        ("content-type", "application/json"),
    ];
    let post = async || {
        world
            .send_with("POST", "/pinpoint/v1/new", &keyed, &request)
            .await
            .ok()
    };
    let made = post().await;
    assert_eq!(post().await, made);
    let mut same = request.clone();
    same["base"]["commit"] = json!(hashes[4]);
    let reused = world.send_with("POST", "/pinpoint/v1/new", &keyed, &same);
    reused.await.fails(409, 6);
    let id = made["jobId"].as_str().unwrap();
    let job = world.get(&format!("/json/job/{id}")).await.ok();
    let parameters = &job["AdditionalRequestParameters"];
    for name in ["start_commit_githash", "end_commit_githash"] {
        assert_eq!(parameters[name], hashes[4]);
    }
    id.to_owned()
}

async fn a_try_job_is_shown_in_one_piece(world: &World, id: &str, hashes: &[String]) {
    let job = world.get(&format!("/json/job/{id}")).await.ok();
    assert_eq!(
        (&job["JobStatus"], &job["JobType"]),
        (&json!("Completed"), &json!("Pairwise"))
    );
    let summary = &job["MetricSummary"]["time"];
    assert_eq!(summary["significant"], true);
    assert!(summary["p_value"].as_f64().unwrap() < 0.05);
    let median = |name: &str| summary[name].as_f64().unwrap();
    assert!(
        (99.0..=103.0).contains(&median("control_median")),
        "{summary}"
    );
    assert!(
        (149.0..=153.0).contains(&median("treatment_median")),
        "{summary}"
    );
    let lower = median("confidence_interval_lower");
    assert!(lower > 40.0 && lower <= median("confidence_interval_higher"));
    let parameters = &job["AdditionalRequestParameters"];
    assert_eq!(parameters["duration"], "0");
    for (side, level) in [("left", 100.0), ("right", 150.0)] {
        let side = &parameters["commit_runs"][side];
        let build = &side["Build"];
        assert_eq!(build["Commit"]["main"]["git_hash"], hashes[4], "{build}");
        assert_eq!(
            (&build["Status"], &build["Device"]),
            (&json!(12), &json!("lab"))
        );
        let runs = side["Runs"].as_array().unwrap();
        assert_eq!(runs.len(), 10);
        for run in runs {
            assert_eq!(run["Status"], "COMPLETED");
            let value = run["Values"]["time"][0].as_f64().unwrap();
            assert!((level..level + 3.0).contains(&value), "{run}");
        }
    }
    let builds = world.get("/pinpoint/v1/recent-builds/lab").await.ok();
    let builds = builds["builds"].as_array().unwrap();
    let mut built: Vec<_> = builds
        .iter()
        .map(|build| build["gitHash"].as_str())
        .collect();
    assert!(built.contains(&Some(&*hashes[4])));
    let all = built.len();
    built.sort_unstable();
    built.dedup();
    assert_eq!(built.len(), all);
    world
        .get("/pinpoint/v1/recent-builds/unheard")
        .await
        .fails(404, 5);
}

/// The first of these jobs was watched to its end.
async fn shown_by_our_own_api(
    world: &World,
    [id, other]: [&str; 2],
    hashes: &[String],
    watched: &[Event],
) {
    let get = async |path: &str| world.get(&format!("/api/v2/jobs/{path}")).await.ok();
    let job = get(id).await;
    assert_eq!(job["result"]["status"], "culprit_found");
    let culprit = &job["result"]["culprits"][0];
    assert_eq!(culprit["commit"]["gitHash"], hashes[5]);
    assert!(culprit["probability"].as_f64().unwrap() > 0.9);
    // The list says it in short.
    let list = world.get("/api/v2/jobs?order=NAME").await.ok();
    let mut list = list["jobs"].as_array().unwrap().iter();
    let listed = list.find(|listed| listed["jobId"] == id).unwrap();
    let answer = &listed["answer"];
    assert_eq!(*answer, job["summary"]["answer"]);
    assert_eq!(
        (&answer["status"], &answer["gitHash"], &answer["culprits"]),
        (
            &json!("culprit_found"),
            &culprit["blamed"]["gitHash"],
            &json!("1")
        )
    );
    assert_eq!(
        (&answer["effect"]["before"], &answer["effect"]["estimate"]),
        (&culprit["before"], &culprit["estimate"])
    );
    assert_eq!(
        (&culprit["before"], &culprit["after"]),
        (&json!(101.0), &json!(201.0))
    );

    // Each record was sent once, in order, and the newest of everything else.
    let ids: Vec<_> = watched.iter().filter_map(|event| event.id).collect();
    assert!(ids.is_sorted_by(|one, other| one < other), "{ids:?}");
    let of = |name: &str| -> Vec<&Value> {
        let events = watched.iter().filter(|event| event.name == name);
        events.map(|event| &event.data[name]).collect()
    };
    let records = of("record");
    let runs: Vec<_> = records
        .iter()
        .flat_map(|record| record["runs"].as_array().unwrap())
        .collect();
    let count = runs.len().to_string();
    assert_eq!(job["summary"]["runs"], count);
    let last = watched.last().unwrap();
    assert_eq!(
        (&*last.name, &last.data["state"]["state"]),
        ("state", &json!("COMPLETED"))
    );
    let progress = of("progress").last().copied().unwrap();
    assert_eq!(progress["runs"], count);
    let measured = progress["measured"].as_array().unwrap();
    let ends = [measured.first(), measured.last()].map(|it| &it.unwrap()["commit"]["gitHash"]);
    assert_eq!(ends, [&hashes[0], &hashes[7]]);
    let posteriors = of("posterior");
    assert!(!posteriors.is_empty());
    for posterior in posteriors {
        let spans = posterior["spans"].as_array().unwrap().iter();
        let spans = spans.map(|span| span["probability"].as_f64().unwrap());
        let sum = spans.sum::<f64>() + posterior["noChange"].as_f64().unwrap();
        assert!((sum - 1.0).abs() < 1e-6, "{posterior}");
    }
    assert_eq!(of("estimate").last().unwrap()["runsToCome"], "0");

    let mut listed = Vec::new();
    let mut token = String::new();
    loop {
        let page = get(&format!("{id}/runs?page_size=7&page_token={token}")).await;
        listed.extend(page["runs"].as_array().unwrap().clone());
        token = page["nextPageToken"].as_str().unwrap().to_owned();
        if token.is_empty() {
            break;
        }
        let elsewhere = format!("/api/v2/jobs/{other}/runs?page_token={token}");
        world.get(&elsewhere).await.fails(400, 3);
    }
    assert!(listed.iter().eq(runs));
    assert_eq!(listed[0]["charts"]["time"]["unit"], "ms");
    let builds = get(&format!("{id}/builds")).await;
    let builds = builds["builds"].as_array().unwrap().len().to_string();
    assert_eq!(job["summary"]["builds"], builds);

    let compared = get(&format!("{id}/compare/{other}")).await;
    assert_eq!(compared["both"][0]["gitHash"], hashes[5]);
    assert_eq!(compared["onlyJob"], json!([]));

    // The noise of a job that was made is that of the next one.
    let plan = json!({ "commits": 8, "jobId": other, "magnitude": { "percent": 50 } });
    let planned = world.post("/api/v2/plans", &plan).await.ok();
    assert_eq!(planned["unit"], "ms");
    assert!(planned["estimates"][0]["right"].as_f64().unwrap() > 0.9);
}
