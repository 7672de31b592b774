//! A job from its request to its culprit: a real repository, and a worker beside the service.

use std::cell::Cell;
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

use crate::world::World;

/// A repository of this many commits, and their hashes; the benchmark takes twice as long
/// from the one of number `slow` on.
fn repository(directory: &Path, commits: usize, slow: usize) -> Vec<String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(directory).args(arguments);
        git.envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ]);
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "Ada")
                .env(format!("GIT_{role}_EMAIL"), "ada@example.org");
        }
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    std::fs::create_dir(directory).unwrap();
    git(&["init", "--quiet"]);
    (0..commits)
        .map(|number| {
            let level = if number < slow { 100 } else { 200 };
            let script = format!("# {number}\necho \"time: $(({level} + PINPOINT_RUN % 3)) ms\"\n");
            std::fs::write(directory.join("bench.sh"), script).unwrap();
            git(&["add", "bench.sh"]);
            git(&[
                "commit",
                "--quiet",
                "--message",
                &format!("change {number}"),
            ]);
            git(&["rev-parse", "HEAD"])
        })
        .collect()
}

#[test]
fn a_requested_job_finds_its_culprit_and_is_shown_in_every_form() {
    // A job is a deep future, deeper than the stack of a test where it is not optimised.
    let thread = thread::Builder::new().stack_size(8 << 20);
    let found = thread.spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(a_culprit_is_found());
    });
    found.unwrap().join().unwrap();
}

async fn a_culprit_is_found() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("tool");
    let hashes = repository(&directory, 8, 5);
    let url = format!("file://{}", directory.display());
    let bots = format!(
        r#"
            [bots.lab]
            local = true
            repository = "{url}"

            [benchmarks.parsing]
            stories = ["small"]
            command = ["sh", "bench.sh"]
            format = "lines"
        "#
    );
    let world = World::of(SignIn::Nobody("ada".into()), &bots).await;
    let request = json!({
        "start_git_hash": hashes[0],
        "end_git_hash": hashes[7],
        "configuration": "lab",
        "benchmark": "parsing",
        "story": "small",
        "chart": "time",
        "comparison_magnitude": "50",
        "bug_id": "1234",
    });
    let made = world.post("/pinpoint/v1/bisection", &request).await.ok();
    let id = made["jobId"].as_str().unwrap();

    // The same by the strategy that compares neighbours.
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
    } = world.store.get(id).await.unwrap();
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
    let compared = world.store.create(&same).await.unwrap();

    let state_dir = world.directory.path().join("worker");
    let machine_dir = world.directory.path().join("machine");
    let allowed = vec![url.parse().unwrap()];
    let mirrors = Mirrors::open(&state_dir, &machine_dir, Vec::new(), allowed).unwrap();
    let options = WorkerOptions {
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
    };
    let (ended, left) = (Notify::new(), Cell::new(2));
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
    served.await.unwrap();

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
}
