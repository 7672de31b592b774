//! Tracked files that benchmarks change, and parts that work trees lack.

use std::fs;

use pinpoint_backends::local::run_warnings;

use crate::world::{World, build, find_metric, git, run};

fn warnings(world: &World, job: &str) -> Vec<String> {
    run_warnings(&world.path("jobs").join(job)).unwrap()
}

#[track_caller]
fn warns(world: &World, job: &str, words: &[&str]) {
    let warnings = warnings(world, job);
    assert!(
        warnings.len() == 1 && words.iter().all(|word| warnings[0].contains(word)),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn what_a_benchmark_changes_of_tracked_files_is_restored_and_told() {
    let world = World::new();
    world.commit("other", "1");
    let first = world.commit("v", "5");
    let commit = world.combined(&first);
    // The build also changes it: its change is restored.
    let script = "echo v: $(cat v) x; echo 77 > v; rm -f other";
    let mut config = world.config(&first, script);
    config.build = Some("echo 6 > v".into());
    let executor = world.open(config.clone(), "job");
    for index in 0..3 {
        let report = run(&executor, index, &commit, u32::try_from(index).unwrap()).await;
        assert_eq!(report.charts["v"].values, [6.0]);
    }
    warns(&world, "job", &["changes tracked files", ": other, v"]);

    // As a job killed during a run leaves it.
    let report = build(&executor, 9, &commit).await.unwrap();
    let Some(pinpoint_core::Artifact::Directory(tree)) = report.artifact else {
        panic!("it has a directory");
    };
    let tree = std::path::PathBuf::from(tree);
    fs::write(tree.join("v"), "88").unwrap();
    drop(executor);
    config.command[2] = "echo v: $(cat v) x".into();
    let executor = world.open(config, "later");
    let report = run(&executor, 1, &commit, 0).await;
    assert_eq!(report.charts["v"].values, [6.0]);
    assert!(build(&executor, 2, &commit).await.unwrap().cached);
    warns(&world, "later", &["was kept", ": v"]);
}

#[tokio::test]
async fn results_and_untracked_files_are_the_benchmarks_own() {
    let world = World::new();
    fs::write(world.repository.join("results"), "v: 1 x").unwrap();
    let first = world.commit("file", "1");
    let script =
        "n=$(cat count 2>/dev/null || echo 0); echo $((n + 1)) > count; echo v: $n x > results";
    let mut config = world.config(&first, script);
    config.results = Some("results".into());
    let executor = world.open(config, "job");
    for index in 0..3_u32 {
        let report = run(&executor, u64::from(index), &world.combined(&first), index).await;
        assert_eq!(report.charts["v"].values, [f64::from(index)]);
    }
    assert_eq!(warnings(&world, "job"), Vec::<String>::new());
}

#[tokio::test]
async fn another_commit_that_a_benchmark_checks_out_is_told_and_gone_before_the_next_run() {
    let world = World::new();
    let first = world.commit("v", "1");
    fs::write(world.repository.join("added"), "").unwrap();
    let second = world.commit("v", "2");
    let script = "echo v: $(cat v) x; test -e added || exit 1; git checkout -q HEAD~1";
    let executor = world.open(world.config(&second, script), "job");
    for index in 0..3_u32 {
        let report = run(&executor, u64::from(index), &world.combined(&second), index).await;
        assert_eq!(report.failure, None);
        assert_eq!(report.charts["v"].values, [2.0]);
    }
    warns(&world, "job", &["checks out another commit"]);
    let _ = first;
}

#[tokio::test]
async fn what_a_work_tree_lacks_is_told() {
    let world = World::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 5\n";
    fs::write(world.repository.join("big"), pointer).unwrap();
    fs::write(
        world.repository.join(".gitattributes"),
        "big filter=lfs diff=lfs\nsecret filter=crypt\n",
    )
    .unwrap();
    let module = world.path("module");
    fs::create_dir(&module).unwrap();
    git(&module, &["init", "-q"]);
    git(&module, &["commit", "-q", "--allow-empty", "-m", "1"]);
    let hash = git(&module, &["rev-parse", "HEAD"]);
    let entry = format!("160000,{hash},lib");
    git(
        &world.repository,
        &["update-index", "--add", "--cacheinfo", &entry],
    );
    fs::write(world.repository.join("secret"), "abc").unwrap();
    git(
        &world.repository,
        &["config", "filter.crypt.smudge", "tr a-c x-z"],
    );
    let first = {
        git(
            &world.repository,
            &["add", "big", "secret", ".gitattributes"],
        );
        git(&world.repository, &["commit", "-q", "-m", "1"]);
        git(&world.repository, &["rev-parse", "HEAD"])
    };
    let executor = world.open(world.config(&first, "echo v: 1 x"), "job");
    find_metric(&executor, &world.combined(&first))
        .await
        .unwrap();
    let found = warnings(&world, "job").join("\n");
    for words in [
        "not checked out in the work tree: lib",
        "pointers in the work tree: big",
        "the filter `crypt`",
    ] {
        assert!(found.contains(words), "{words}: {found}");
    }
    // A kept build is not more complete.
    drop(executor);
    let executor = world.open(world.config(&first, "echo v: 1 x"), "later");
    find_metric(&executor, &world.combined(&first))
        .await
        .unwrap();
    assert_eq!(warnings(&world, "later").len(), 3);
}

#[tokio::test]
async fn what_a_benchmark_lacks_at_the_good_end_is_told_with_its_failure() {
    let world = World::new();
    let first = world.commit("v", "1");
    let executor = world.open(world.config(&first, "no-such-program"), "job");
    let failed = find_metric(&executor, &world.combined(&first)).await;
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("exit code 127"), "{failed}");
    let advice = "have the build command install what the benchmark needs";
    assert!(failed.contains(advice), "{failed}");
    drop(executor);

    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 5\n";
    fs::write(world.repository.join(".gitattributes"), "big filter=lfs\n").unwrap();
    git(&world.repository, &["add", ".gitattributes"]);
    let second = world.commit("big", pointer);
    let script = "grep -q version big && { echo broken data >&2; exit 3; }; echo v: 1 x";
    let executor = world.open(world.config(&second, script), "second");
    let failed = find_metric(&executor, &world.combined(&second)).await;
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("exit code 3"), "{failed}");
    assert!(
        failed.contains("pointers in the work tree: big"),
        "{failed}"
    );
}
