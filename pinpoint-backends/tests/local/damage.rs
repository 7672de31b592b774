//! Builds that lost something, and builds that no one can remove.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use pinpoint_backends::local::{CleanOptions, LocalConfig, LocalExecutor, clean};
use pinpoint_core::{ExecutorError, InProcess};

use crate::world::{World, build, refusal, request, run};

/// Makes a tool, and the benchmark that calls it.
const BUILD: &str = "echo 'echo v: 1 x' > tool; echo >> $MADE";
const BENCHMARK: &str = "sh tool";

fn config(world: &World, good: &str, build: &str, script: &str) -> LocalConfig {
    let made = world.path("made");
    if !made.exists() {
        fs::write(&made, "").unwrap();
    }
    LocalConfig {
        build: Some(build.into()),
        env: [("MADE".into(), made.to_str().unwrap().into())].into(),
        ..world.config(good, script)
    }
}

/// The number of times that the build command was run.
fn made(world: &World) -> usize {
    fs::read_to_string(world.path("made"))
        .unwrap()
        .lines()
        .count()
}

/// The directories of builds, those with a work tree.
fn trees(world: &World) -> Vec<PathBuf> {
    let builds = fs::read_dir(world.path("state/builds")).unwrap();
    let mut trees: Vec<_> = builds
        .map(|entry| entry.unwrap().path().join("tree"))
        .filter(|tree| tree.is_dir())
        .collect();
    trees.sort();
    trees
}

fn only_tree(world: &World) -> PathBuf {
    let [tree] = <[PathBuf; 1]>::try_from(trees(world)).unwrap();
    tree
}

fn unavailable<T: std::fmt::Debug>(result: Result<T, ExecutorError>) -> String {
    match result {
        Err(ExecutorError::Unavailable(error)) => error.to_string(),
        other => panic!("not unavailable: {other:?}"),
    }
}

#[tokio::test]
async fn a_tree_that_was_removed_is_made_again_by_the_next_job_and_in_the_middle_of_one() {
    let world = World::new();
    let first = world.commit("file", "1");
    let commit = world.combined(&first);
    let config = config(&world, &first, BUILD, BENCHMARK);
    let executor = world.open(config.clone(), "one");
    assert_eq!(run(&executor, 1, &commit, 0).await.failure, None);
    fs::remove_dir_all(only_tree(&world)).unwrap();
    assert_eq!(run(&executor, 2, &commit, 1).await.failure, None);
    assert_eq!(made(&world), 2);
    drop(executor);

    fs::remove_dir_all(only_tree(&world)).unwrap();
    let executor = world.open(config, "two");
    let report = build(&executor, 1, &commit).await.unwrap();
    assert_eq!((report.failure, report.cached), (None, false));
    assert_eq!(run(&executor, 2, &commit, 0).await.failure, None);
    assert_eq!(made(&world), 3);
}

#[tokio::test]
async fn a_build_that_lost_a_part_is_made_again_and_one_that_gained_some_is_not() {
    let world = World::new();
    let first = world.commit("file", "1");
    let commit = world.combined(&first);
    // It writes in its work tree, as many do.
    let script = "echo >> log; sh tool";
    let config = config(&world, &first, BUILD, script);
    let executor = world.open(config.clone(), "one");
    assert_eq!(run(&executor, 1, &commit, 0).await.failure, None);
    drop(executor);
    let executor = world.open(config.clone(), "two");
    assert!(build(&executor, 1, &commit).await.unwrap().cached);
    assert_eq!(run(&executor, 2, &commit, 0).await.failure, None);

    fs::remove_file(only_tree(&world).join("tool")).unwrap();
    let lost = unavailable(executor.run(&request(3, &commit, 1)).await);
    assert!(lost.contains("tree/tool"), "{lost}");
    assert_eq!(run(&executor, 3, &commit, 1).await.failure, None);
    assert_eq!(made(&world), 2);
    drop(executor);

    fs::remove_file(only_tree(&world).join("tool")).unwrap();
    let executor = world.open(config, "three");
    assert!(!build(&executor, 1, &commit).await.unwrap().cached);
    assert_eq!(made(&world), 3);
}

#[tokio::test]
async fn a_benchmark_that_removes_its_own_build_fails_by_itself() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let script = "sh tool; rm tool; test \"$(cat file)\" = 1";
    let executor = world.open(config(&world, &first, BUILD, script), "job");
    let commit = world.combined(&second);
    unavailable(executor.run(&request(1, &commit, 0)).await);
    let report = executor.run(&request(1, &commit, 0)).await.unwrap();
    assert!(report.failure.unwrap().contains("exit code 1"));
}

#[tokio::test]
async fn a_benchmark_may_remove_its_tree_when_it_has_its_values() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "sh tool; rm -rf \"$PWD\"";
    let executor = world.open(config(&world, &first, BUILD, script), "job");
    let commit = world.combined(&first);
    for action in 1..4 {
        let report = run(&executor, action, &commit, action as u32).await;
        assert_eq!(report.charts["v"].values, [1.0]);
    }
}

/// The trouble of one commit, which is left out in the end, does not end the job.
#[tokio::test]
async fn a_warm_up_that_removes_its_tree_is_a_loss_of_its_commit() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let script = "sh tool; test \"$(cat file)\" = 1 || rm -rf \"$PWD\"";
    let mut config = config(&world, &first, BUILD, script);
    config.warmup = 1;
    let executor = world.open(config, "job");
    let commit = world.combined(&second);
    for _ in 0..2 {
        let lost = unavailable(executor.run(&request(1, &commit, 0)).await);
        assert!(lost.contains("lost tree"), "{lost}");
    }
    let report = run(&executor, 2, &world.combined(&first), 0).await;
    assert_eq!(report.charts["v"].values, [1.0]);
}

#[tokio::test]
async fn a_build_command_that_removes_its_tree_fails() {
    let world = World::new();
    let first = world.commit("file", "1");
    let executor = world.open(config(&world, &first, "rm -rf \"$PWD\"", "true"), "job");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    let failure = report.failure.unwrap();
    assert!(failure.contains("removed its work tree"), "{failure}");
}

#[tokio::test]
async fn a_damaged_build_that_another_job_uses_stays_and_another_is_made_beside_it() {
    let world = World::new();
    let first = world.commit("file", "1");
    let commit = world.combined(&first);
    let config = config(&world, &first, BUILD, "echo v: 1 x");
    let one = world.open(config.clone(), "one");
    assert_eq!(run(&one, 1, &commit, 0).await.failure, None);
    let damaged = only_tree(&world);
    fs::remove_file(damaged.join("tool")).unwrap();
    let two = world.open(config, "two");
    assert_eq!(run(&two, 1, &commit, 0).await.failure, None);
    let both = trees(&world);
    assert_eq!(both.len(), 2);
    assert!(both.iter().any(|tree| tree.join("tool").exists()));
    // It does not need the missing file.
    assert_eq!(run(&one, 2, &commit, 1).await.failure, None);
    assert!(!damaged.join("tool").exists());
    drop((one, two));
    clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(trees(&world), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn the_file_of_results_is_no_part_of_a_build() {
    let world = World::new();
    world.commit("results", "v: 3 x\n");
    let first = world.commit("file", "1");
    let commit = world.combined(&first);
    let mut config = config(&world, &first, BUILD, "exit 1");
    config.results = Some("results".into());
    config.good_env.insert("GOOD".into(), "1".into());
    config.command[2] = "test -n \"$GOOD\" && echo v: 1 x > results".into();
    let executor = world.open(config.clone(), "one");
    let report = run(&executor, 1, &commit, 0).await;
    assert!(report.failure.is_some());
    assert!(!only_tree(&world).join("results").exists());
    drop(executor);
    let executor = world.open(config, "two");
    assert!(build(&executor, 1, &commit).await.unwrap().cached);
}

#[tokio::test]
async fn our_repository_is_mended_when_something_removed_part_of_it() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let script = "git status > /dev/null && git log --format='v: %ct x' -1";
    let executor = world.open(config(&world, &first, BUILD, script), "job");
    assert_eq!(
        run(&executor, 1, &world.combined(&first), 0).await.failure,
        None
    );
    let mut repositories = fs::read_dir(world.path("state/repositories")).unwrap();
    let ours = repositories
        .find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir()))
        .unwrap();
    // Empty directories are the first to go.
    fs::remove_dir_all(ours.join("refs")).unwrap();
    fs::remove_file(ours.join("HEAD")).unwrap();
    fs::write(ours.join("objects/info/alternates"), "").unwrap();
    let report = build(&executor, 2, &world.combined(&second)).await.unwrap();
    assert_eq!(report.failure, None);
    for (action, commit) in [(3, &first), (4, &second)] {
        let report = run(&executor, action, &world.combined(commit), 1).await;
        assert_eq!(report.failure, None);
    }
}

/// A path that can't be removed until this is dropped.
struct Immutable(PathBuf);

impl Immutable {
    /// `None` without administrator privileges.
    fn new(path: &Path) -> Option<Self> {
        let done = ["chattr", "sudo -n chattr"].iter().any(|program| {
            let script = format!("{program} +i \"$1\"");
            let done = Command::new("sh")
                .args(["-c", &script, "sh"])
                .arg(path)
                .output();
            done.unwrap().status.success()
        });
        done.then(|| Self(path.into()))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        let script = "chattr -i \"$1\" || sudo -n chattr -i \"$1\"";
        let done = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&self.0)
            .output();
        assert!(done.unwrap().status.success());
    }
}

#[tokio::test]
async fn what_cannot_be_removed_stops_neither_a_job_nor_cleaning() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let mut config = config(&world, &first, BUILD, BENCHMARK);
    config.cache_size = 0;
    let executor = world.open(config.clone(), "one");
    build(&executor, 1, &world.combined(&first)).await.unwrap();
    drop(executor);
    let tree = only_tree(&world);
    let Some(immutable) = Immutable::new(&tree.join("tool")) else {
        return;
    };
    // It would have to free space.
    let executor = world.open(config.clone(), "two");
    let report = build(&executor, 1, &world.combined(&second)).await.unwrap();
    assert_eq!(report.failure, None);
    let log = fs::read_to_string(report.log.unwrap()).unwrap();
    assert!(log.contains("can't remove"), "{log}");
    drop(executor);
    // Its own place has the remains.
    let executor = world.open(config, "three");
    assert_eq!(
        run(&executor, 1, &world.combined(&first), 0).await.failure,
        None
    );
    drop(executor);

    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    let failed: Vec<_> = report
        .failed
        .iter()
        .map(|(path, _)| path.as_path())
        .collect();
    assert_eq!(failed, [tree.parent().unwrap()], "{report:?}");
    assert!(!report.removed.is_empty());
    drop(immutable);
    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(report.failed, []);
    assert_eq!(trees(&world), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_place_of_another_kind_stops_neither_a_job_nor_cleaning() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut config = config(&world, &first, BUILD, BENCHMARK);
    config.cache_size = 0;
    let executor = world.open(config, "one");
    let builds = world.path("state/builds");
    fs::write(builds.join("0f".repeat(32)), "").unwrap();
    fs::create_dir_all(builds.join("1e".repeat(32)).join("finished.json")).unwrap();
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!(report.failure, None);
    drop(executor);
    let report = clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(report.failed, [], "{report:?}");
    assert_eq!(fs::read_dir(builds).unwrap().count(), 0);
}

#[tokio::test]
async fn cleaning_leaves_no_locks_of_what_is_gone() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let config = config(&world, &first, BUILD, BENCHMARK);
    let executor = world.open(config.clone(), "one");
    build(&executor, 1, &world.combined(&first)).await.unwrap();
    let other = world.open(config, "two");
    build(&other, 1, &world.combined(&second)).await.unwrap();
    drop(other);
    let names = |directory: &str| {
        let entries = fs::read_dir(world.path("state").join(directory)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    clean(&world.path("state"), CleanOptions::default()).unwrap();
    let mut kept = names("builds");
    kept.push("making".into());
    assert_eq!(names("locks"), kept);
    assert_eq!(
        run(&executor, 2, &world.combined(&first), 0).await.failure,
        None
    );
    drop(executor);
    clean(&world.path("state"), CleanOptions::default()).unwrap();
    assert_eq!(names("locks"), ["making"]);
    assert_eq!(names("repositories"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cleaning_disturbs_no_build_that_begins() {
    let world = World::new();
    let commits: Vec<String> = (0..3)
        .map(|number| world.commit("file", &number.to_string()))
        .collect();
    let config = config(&world, &commits[0], "git rev-parse HEAD", BENCHMARK);
    let state = world.path("state");
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let cleaning = std::thread::spawn({
        let done = std::sync::Arc::clone(&done);
        let _ = world.open(config.clone(), "first");
        move || {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                clean(&state, CleanOptions::default()).unwrap();
            }
        }
    });
    for round in 0..10 {
        let executor = world.open(config.clone(), &format!("job{round}"));
        for (action, commit) in (1..).zip(&commits) {
            let report = build(&executor, action, &world.combined(commit))
                .await
                .unwrap();
            assert_eq!(report.failure, None);
        }
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    cleaning.join().unwrap();
}

#[tokio::test]
async fn only_the_owner_reads_the_state_directory() {
    let world = World::new();
    let first = world.commit("file", "1");
    let _executor = world.open(config(&world, &first, BUILD, BENCHMARK), "job");
    let mode = fs::metadata(world.path("state"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_state_directory_whose_name_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;

    let world = World::new();
    let first = world.commit("file", "1");
    let mut location = world.location("job");
    let name = std::ffi::OsStr::from_bytes(b"st\xffate");
    location.state_dir = world.path("").join(name);
    let opened = LocalExecutor::open(world.config(&first, "true"), location, "job");
    let message = opened.err().unwrap().to_string();
    assert!(message.contains("UTF-8"), "{message}");
}

#[tokio::test]
async fn a_build_made_already_that_is_gone_ends_the_job() {
    let world = World::new();
    let first = world.commit("file", "1");
    let made = world.path("by-hand");
    fs::create_dir(&made).unwrap();
    let mut config = world.config(
        &first,
        "echo v: 1 x; test -z \"$PINPOINT_RUN\" || { rm -rf \"$PWD\"; exit 1; }",
    );
    config.made = true;
    config.good.main.repository = made.to_str().unwrap().into();
    config.good.main.git_hash = String::new();
    let commit = config.good.clone();
    let executor = world.open(config, "job");
    let message = refusal(executor.run(&request(1, &commit, 0)).await);
    assert!(message.contains("by-hand"), "{message}");
}
