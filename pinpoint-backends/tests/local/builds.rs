//! Builds: made once, found again, removed when space is needed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pinpoint_backends::local::{CleanOptions, CleanReport, LocalConfig, LocalExecutor, clean};
use pinpoint_core::{ExecutorError, InProcess, ListRequest, Located, Patch};
use sha2::{Digest, Sha256};

use crate::world::{
    World, build, find_metric, git, key, lives, refusal, request, run, snapshot, until,
};

/// A build command that counts its runs.
fn counting(world: &World) -> (String, PathBuf) {
    let counter = world.path("builds-made");
    fs::write(&counter, "").unwrap();
    (
        format!("echo $PINPOINT_COMMIT >> {}", counter.display()),
        counter,
    )
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

fn with_build(world: &World, good: &str, build: &str) -> LocalConfig {
    LocalConfig {
        build: Some(build.into()),
        ..world.config(good, "true")
    }
}

#[tokio::test]
async fn the_users_repository_stays_as_it_is() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    fs::write(world.repository.join("file"), "being edited").unwrap();
    git(&world.repository, &["stash", "-q"]);
    fs::write(world.repository.join("file"), "edited again").unwrap();
    fs::write(world.repository.join("untracked"), "new").unwrap();
    let before = snapshot(&world.repository);

    // The build calls git itself, which would write to any repository that it finds.
    let build_command =
        "echo made of $(cat file) > built; git add built; git commit -qm x; git tag seen";
    let executor = world.open(with_build(&world, &first, build_command), "job");
    for (action, hash) in [&first, &second].into_iter().enumerate() {
        let action = action as u64;
        let _ = build(&executor, 10 + action, &world.combined(hash))
            .await
            .unwrap();
        run(&executor, 20 + action, &world.combined(hash), 0).await;
    }
    let request = ListRequest {
        range: 0,
        key: key(1),
        lower: world.combined(&first),
        higher: world.combined(&second),
    };
    executor.list(&request).await.unwrap();
    drop(executor);
    clean(&world.path("state"), CleanOptions::default()).unwrap();

    let after = snapshot(&world.repository);
    let changed: Vec<_> = after.iter().filter(|file| !before.contains(file)).collect();
    assert_eq!((changed, after.len()), (Vec::new(), before.len()));
}

#[tokio::test]
async fn hooks_do_not_run_and_the_callers_git_directory_does_not_matter() {
    let world = World::new();
    let first = world.commit("file", "1");
    let hook = world.repository.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(
        &hook,
        format!("#!/bin/sh\ntouch {}\n", world.path("hooked").display()),
    )
    .unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let executor = world.open(with_build(&world, &first, "test -z \"$GIT_DIR\""), "job");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!(report.failure, None);
    assert!(!world.path("hooked").exists());
}

#[tokio::test]
async fn a_build_is_made_in_the_commits_own_tree_once_for_all_jobs() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let (command, counter) = counting(&world);
    let command = format!("{command}; cp file built");
    let mut config = with_build(&world, &first, &command);
    config.command = vec![
        "sh".into(),
        "-c".into(),
        "echo \"v: $(cat built) x\"".into(),
    ];

    let executor = world.open(config.clone(), "one");
    for (action, hash) in (1..).zip([&first, &second]) {
        let commit = world.combined(hash);
        let report = build(&executor, action, &commit).await.unwrap();
        assert_eq!((report.failure, report.cached), (None, false));
        assert_eq!(report.commit.main.subject.as_deref(), Some("Change file"));
    }
    for (action, hash, value) in [(3, &second, 2.0), (4, &first, 1.0)] {
        let report = run(&executor, action, &world.combined(hash), 0).await;
        assert_eq!(report.charts["v"].values, [value]);
    }
    let again = build(&executor, 5, &world.combined(&first)).await.unwrap();
    assert_eq!(again.failure, None);

    let other = world.open(config.clone(), "two");
    let report = build(&other, 1, &world.combined(&first)).await.unwrap();
    assert!(report.cached);
    assert_eq!(lines(&counter), 2);

    // Another command or another declared environment is another build.
    config.env.insert("LEVEL".into(), "3".into());
    let third = world.open(config.clone(), "three");
    assert!(
        !build(&third, 1, &world.combined(&first))
            .await
            .unwrap()
            .cached
    );
    config.build = Some(format!("{command}; true"));
    let fourth = world.open(config, "four");
    assert!(
        !build(&fourth, 1, &world.combined(&first))
            .await
            .unwrap()
            .cached
    );
    assert_eq!(lines(&counter), 4);
}

#[tokio::test]
async fn a_build_that_was_interrupted_is_made_anew() {
    let world = World::new();
    let first = world.commit("file", "1");
    let (command, counter) = counting(&world);
    let config = with_build(
        &world,
        &first,
        &format!("{command}; test ! -e left && touch left"),
    );
    let executor = world.open(config.clone(), "one");
    build(&executor, 1, &world.combined(&first)).await.unwrap();
    drop(executor);
    // The files left by a power failure before the end: all except the marker.
    for entry in fs::read_dir(world.path("state").join("builds")).unwrap() {
        fs::remove_file(entry.unwrap().path().join("finished.json")).unwrap();
    }
    let executor = world.open(config, "one");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!((report.failure, report.cached), (None, false));
    assert_eq!(lines(&counter), 2);
}

#[tokio::test]
async fn a_failed_build_is_remembered_by_its_job_only() {
    let world = World::new();
    let first = world.commit("file", "1");
    let (command, counter) = counting(&world);
    let config = with_build(
        &world,
        &first,
        &format!("{command}; echo no compiler >&2; exit 7"),
    );
    for (job, made) in [("one", 1), ("one", 1), ("two", 2)] {
        let executor = world.open(config.clone(), job);
        for action in 1..3 {
            let report = build(&executor, action, &world.combined(&first))
                .await
                .unwrap();
            let failure = report.failure.unwrap();
            assert!(failure.contains("exit code 7: no compiler"), "{failure}");
            let log = fs::read_to_string(report.log.unwrap()).unwrap();
            assert_eq!(log, "no compiler\n");
        }
        assert_eq!(lines(&counter), made);
    }
    let left = fs::read_dir(world.path("state").join("builds"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "the tree of a failed build is removed");
}

#[tokio::test]
async fn a_good_end_that_does_not_build_is_refused() {
    let world = World::new();
    let first = world.commit("file", "1");
    let executor = world.open(with_build(&world, &first, "echo broken; exit 1"), "job");
    let message = refusal(find_metric(&executor, &world.combined(&first)).await);
    assert!(
        message.contains(&first) && message.contains("broken"),
        "{message}"
    );
}

#[tokio::test]
async fn commits_to_skip_count_as_not_building() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "true");
    config.skip.push(first.clone());
    let executor = world.open(config, "job");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!(report.failure.as_deref(), Some("skipped on request"));
}

#[tokio::test]
async fn a_patch_is_applied_or_fails_the_build() {
    let world = World::new();
    let first = world.commit("file", "1\n");
    let second = world.commit("file", "2\n");
    fs::write(world.repository.join("file"), "3\n").unwrap();
    let diff = git(&world.repository, &["diff"]) + "\n";
    let path = world.path("try.diff");
    fs::write(&path, &diff).unwrap();
    let sha256 = Sha256::digest(&diff)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let patch = Some(Patch::File {
        name: "try.diff".into(),
        sha256,
    });
    let mut config = world.config(&second, "echo \"v: $(cat file) x\"");
    config.patch = Some(path.clone());
    config.good.patch = patch.clone();
    let executor = world.open(config, "job");
    let patched = |hash: &str| {
        let mut commit = world.combined(hash);
        commit.patch = patch.clone();
        commit
    };
    let report = run(&executor, 1, &patched(&second), 0).await;
    assert_eq!(report.charts["v"].values, [3.0]);
    let report = run(&executor, 2, &world.combined(&second), 0).await;
    assert_eq!(
        report.charts["v"].values,
        [2.0],
        "without the patch: another build"
    );
    let report = build(&executor, 3, &patched(&first)).await.unwrap();
    assert!(report.failure.unwrap().contains("try.diff does not apply"));

    fs::write(&path, diff + " ").unwrap();
    let third = world.commit("other", "1");
    let message = refusal(build(&executor, 4, &patched(&third)).await);
    assert!(message.contains("try.diff"), "{message}");

    let mut reviewed = world.combined(&third);
    reviewed.patch = Some(Patch::Gerrit {
        host: "review.example.org".into(),
        project: "tool".into(),
        change: 4711,
        patchset: 2,
        hash: None,
    });
    let message = refusal(build(&executor, 5, &reviewed).await);
    assert!(
        message.contains("4711") && message.contains("patch file"),
        "{message}"
    );
}

#[tokio::test]
async fn a_build_that_takes_too_long_is_ended_with_all_it_started() {
    let world = World::new();
    let first = world.commit("file", "1");
    let child = world.path("child");
    let script = format!("sleep 1000 & echo $! > {}; wait", child.display());
    let mut config = with_build(&world, &first, &script);
    config.timeout = Some(Duration::from_millis(500));
    let executor = world.open(config, "job");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    let failure = report.failure.unwrap();
    assert!(failure.contains("timed out after 500ms"), "{failure}");
    if child.exists() {
        until("the child's end", || !lives(&child)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_jobs_that_want_the_same_builds_at_once_make_each_once() {
    let world = World::new();
    let commits: Vec<String> = (0..4)
        .map(|n| world.commit("file", &n.to_string()))
        .collect();
    let (command, counter) = counting(&world);
    let config = with_build(&world, &commits[0], &command);
    let mut tasks = Vec::new();
    for job in ["one", "two", "three"] {
        let executor = std::sync::Arc::new(world.open(config.clone(), job));
        for (action, hash) in (0..).zip(&commits) {
            let commit = world.combined(hash);
            let executor = std::sync::Arc::clone(&executor);
            tasks.push(tokio::spawn(async move {
                build(&executor, action, &commit).await.unwrap()
            }));
        }
    }
    for task in tasks {
        assert_eq!(task.await.unwrap().failure, None);
    }
    assert_eq!(lines(&counter), 4);
}

fn directories(paths: &[PathBuf]) -> usize {
    paths
        .iter()
        .filter(|path| path.join("finished.json").is_file())
        .count()
}

fn builds(world: &World) -> Vec<PathBuf> {
    let builds = fs::read_dir(world.path("state").join("builds")).unwrap();
    builds.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn the_cache_is_bounded_and_spares_what_is_in_use() {
    let world = World::new();
    let commits: Vec<String> = (0..4)
        .map(|n| world.commit("file", &n.to_string()))
        .collect();
    let mut config = with_build(&world, &commits[0], "head -c 1000000 /dev/urandom > big");
    // One of these builds fits, two do not.
    config.cache_size = 1_500_000;
    let first = world.open(config.clone(), "one");
    for (action, hash) in (0..).zip(&commits[..2]) {
        build(&first, action, &world.combined(hash)).await.unwrap();
    }
    assert_eq!(directories(&builds(&world)), 2, "a live job uses both");
    run(&first, 9, &world.combined(&commits[0]), 0).await;
    drop(first);

    let second = world.open(config, "two");
    build(&second, 0, &world.combined(&commits[2]))
        .await
        .unwrap();
    assert_eq!(
        directories(&builds(&world)),
        1,
        "what nobody uses made room"
    );
    let report = build(&second, 1, &world.combined(&commits[2]))
        .await
        .unwrap();
    assert_eq!(report.failure, None);
    let report = run(&second, 2, &world.combined(&commits[2]), 0).await;
    assert_eq!(report.failure, None);
}

#[tokio::test]
async fn cleaning_spares_what_is_in_use_and_says_so() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    // Some tools write-protect what they fetch.
    let command = "mkdir -p kept && touch kept/file && chmod -R a-w kept";
    let config = with_build(&world, &first, command);
    let executor = world.open(config.clone(), "one");
    build(&executor, 1, &world.combined(&first)).await.unwrap();
    let other = world.open(config, "two");
    build(&other, 1, &world.combined(&second)).await.unwrap();
    drop(other);
    let half_made = format!("state/builds/{}/tree", "0f".repeat(32));
    fs::create_dir_all(world.path(&half_made)).unwrap();
    // With a name that none of ours has.
    let foreign = world.path("state/builds/foreign");
    fs::create_dir(&foreign).unwrap();

    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert!(foreign.exists());
    fs::remove_dir(&foreign).unwrap();
    assert_eq!(report.removed.len(), 2, "{report:?}");
    assert_eq!(report.in_use.len(), 1, "{report:?}");
    assert!(report.freed > 0);
    assert_eq!(
        run(&executor, 2, &world.combined(&first), 0).await.failure,
        None
    );
    drop(executor);
    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    // The last build, and the repository that no build needs now.
    assert_eq!(report.removed.len(), 2, "{report:?}");
    assert!(report.in_use.is_empty(), "{report:?}");
    let nothing = clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(nothing, CleanReport::default());
}

#[tokio::test]
async fn cleaning_spares_the_repository_of_a_build_that_waits_for_its_turn() {
    let world = World::new();
    let commit = world.commit("file", "1");
    let (started, end) = (world.path("started"), world.path("end"));
    let script = format!(
        "touch {}; while ! test -e {}; do sleep 0.01; done",
        started.display(),
        end.display()
    );
    let measuring = world.open(world.config(&commit, &script), "measuring");
    let other = World::new();
    let (first, second) = (other.commit("file", "1"), other.commit("file", "2"));
    let open = |job: &str| {
        let config = with_build(&other, &first, "true");
        LocalExecutor::open(config, world.location(job), job).unwrap()
    };
    // Makes the repository, which no build needs afterwards.
    build(&open("one"), 1, &other.combined(&first))
        .await
        .unwrap();
    for build in builds(&world) {
        fs::remove_dir_all(build).unwrap();
    }
    let repositories = || directories_in(&world.path("state/repositories"));
    assert_eq!(repositories(), 1);

    let waiting = open("two");
    let commits = (world.combined(&commit), other.combined(&second));
    let ((), report, report_of_waiting) = tokio::join!(
        async {
            run(&measuring, 1, &commits.0, 0).await;
        },
        async {
            until("the run's start", || started.exists()).await;
            build(&waiting, 1, &commits.1).await.unwrap()
        },
        async {
            let turnstile = world.path("machine/turnstile");
            until("the build's waiting", || {
                started.exists() && File::open(&turnstile).unwrap().try_lock().is_err()
            })
            .await;
            let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
            let left = repositories();
            fs::write(&end, "").unwrap();
            (report, left)
        }
    );
    assert_eq!(report.failure, None);
    let (report, left) = report_of_waiting;
    assert_eq!(left, 2, "{report:?}");
    drop((measuring, waiting));
    clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(repositories(), 0);
}

fn directories_in(path: &Path) -> usize {
    let entries = fs::read_dir(path).unwrap();
    entries
        .filter(|it| it.as_ref().unwrap().path().is_dir())
        .count()
}

#[tokio::test]
async fn a_build_that_was_removed_between_two_processes_is_made_again() {
    let world = World::new();
    let first = world.commit("file", "1");
    let (command, counter) = counting(&world);
    let config = with_build(&world, &first, &command);
    let executor = world.open(config.clone(), "job");
    build(&executor, 1, &world.combined(&first)).await.unwrap();
    run(&executor, 2, &world.combined(&first), 0).await;
    drop(executor);
    clean(&world.path("state"), CleanOptions::default()).unwrap();
    let executor = world.open(config, "job");
    assert_eq!(
        run(&executor, 3, &world.combined(&first), 1).await.failure,
        None
    );
    assert_eq!(lines(&counter), 2);
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_written_is_named() {
    let world = World::new();
    let first = world.commit("file", "1");
    fs::write(world.path("occupied"), "a file").unwrap();
    let mut location = world.location("job");
    location.state_dir = world.path("occupied").join("state");
    let config = world.config(&first, "true");
    let opened = pinpoint_backends::local::LocalExecutor::open(config, location, "job");
    let message = opened.err().unwrap().to_string();
    assert!(message.contains("occupied/state"), "{message}");
}

#[tokio::test]
async fn a_full_disk_stops_the_job_and_can_be_mended() {
    let world = World::new();
    let first = world.commit("file", "1");
    let config = world.config(&first, "echo v: 1 x");
    let commit = world.combined(&first);
    // Every write to this device fails for lack of space.
    let full = world.path("jobs/job/runs/tails.jsonl");
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let executor = world.open(config.clone(), "job");
    let message = refusal(executor.run(&request(7, &commit, 0)).await);
    assert!(message.contains("tails.jsonl"), "{message}");
    assert!(
        message.contains("make room") && message.contains("resume"),
        "{message}"
    );
    drop(executor);
    fs::remove_file(full).unwrap();
    let executor = world.open(config, "job");
    let report = run(&executor, 7, &commit, 0).await;
    assert_eq!(report.charts["v"].values, [1.0]);
}

#[tokio::test]
async fn a_canceled_build_leaves_no_process_and_can_be_asked_for_again() {
    let world = World::new();
    let first = world.commit("file", "1");
    let child = world.path("child");
    let script = format!(
        "test -e {0} || {{ sleep 1000 & echo $! > {0}; wait; }}",
        child.display()
    );
    let executor = world.open(with_build(&world, &first, &script), "job");
    let commit = world.combined(&first);
    let (built, ()) = tokio::join!(build(&executor, 1, &commit), async {
        until("the build's start", || child.exists() && lines(&child) == 1).await;
        executor.ended(&key(1)).await.unwrap();
        until("the child's end", || !lives(&child)).await;
    });
    assert!(
        matches!(built, Err(ExecutorError::Unavailable(_))),
        "{built:?}"
    );
    let located = Located::Commit(commit);
    let request = pinpoint_core::BuildRequest {
        key: key(2),
        commit: located,
    };
    assert_eq!(executor.build(&request).await.unwrap().failure, None);
}
