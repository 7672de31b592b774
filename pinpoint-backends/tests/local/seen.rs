//! Files of the user's checkout that a benchmark uses, or does not find in its work tree.

use std::fs;

use pinpoint_backends::local::run_warnings;

use crate::world::{World, find_metric, git, refusal};

/// A package to be measured at each commit, and its benchmark.
fn package() -> (World, String) {
    let world = World::new();
    fs::create_dir_all(world.repository.join("src/package")).unwrap();
    fs::write(
        world.repository.join("src/package/__init__.py"),
        "value = 100\n",
    )
    .unwrap();
    let script = "import package; print('v:', package.value, 'x')\n";
    fs::write(world.repository.join("bench.py"), script).unwrap();
    let hash = world.commit("file", "1");
    (world, hash)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn code_of_the_checkout_is_refused_unless_it_is_allowed() {
    let (world, hash) = package();
    let commit = world.combined(&hash);
    let source = world.repository.join("src").display().to_string();
    let mut config = world.config(&hash, "python3 bench.py");
    config.env = [("PYTHONPATH".into(), source)].into();
    // The second time Python has its compiled form, and does not open the source.
    for job in ["first", "second"] {
        let executor = world.open(config.clone(), job);
        let refused = refusal(find_metric(&executor, &commit).await);
        for words in [
            "src/package/__init__.py",
            "your own checkout",
            "PYTHONPATH leads there",
        ] {
            assert!(refused.contains(words), "{refused}");
        }
    }
    config.allow_outside_reads = true;
    let executor = world.open(config.clone(), "allowed");
    find_metric(&executor, &commit).await.unwrap();

    config.allow_outside_reads = false;
    config.env = [("PYTHONPATH".into(), "src".into())].into();
    let executor = world.open(config, "relative");
    find_metric(&executor, &commit).await.unwrap();
    for job in ["allowed", "relative"] {
        let warnings = run_warnings(&world.path("jobs").join(job)).unwrap();
        assert_eq!(warnings, Vec::<String>::new());
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_script_of_the_checkout_that_the_command_names_is_told() {
    let (world, hash) = package();
    let script = world.repository.join("bench.py").display().to_string();
    let mut config = world.config(&hash, "");
    config.command = vec!["python3".into(), script.clone()];
    config.env = [("PYTHONPATH".into(), "src".into())].into();
    let executor = world.open(config, "job");
    find_metric(&executor, &world.combined(&hash))
        .await
        .unwrap();
    let warnings = run_warnings(&world.path("jobs/job")).unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains(&script),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_file_that_is_not_committed_is_told() {
    let (world, hash) = package();
    let commit = world.combined(&hash);
    fs::write(world.repository.join("new.sh"), "echo v: 1 x\n").unwrap();
    let config = |command: &[&str]| {
        let mut config = world.config(&hash, "");
        config.command = command.iter().map(|&word| word.into()).collect();
        config
    };
    for (job, command) in [("one", &["./new.sh"] as &[_]), ("two", &["sh", "new.sh"])] {
        let executor = world.open(config(command), job);
        let refused = refusal(find_metric(&executor, &commit).await);
        assert!(
            refused.contains("new.sh is in your checkout, but in no commit"),
            "{refused}"
        );
        assert!(!refused.contains("another good commit"), "{refused}");
    }
    // A committed file, changed since.
    let script = world.repository.join("bench.py");
    fs::write(&script, "print('v: 2 x')\n").unwrap();
    let mut config = config(&["python3", "bench.py"]);
    config.env = [("PYTHONPATH".into(), "src".into())].into();
    let executor = world.open(config, "three");
    find_metric(&executor, &commit).await.unwrap();
    let warnings = run_warnings(&world.path("jobs/three")).unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains("not committed"),
        "{warnings:?}"
    );
    git(&world.repository, &["checkout", "-q", "."]);
}

#[tokio::test]
async fn the_first_error_of_a_build_is_its_reason() {
    let (world, hash) = package();
    let mut config = world.config(&hash, "echo v: 1 x");
    config.build =
        Some("echo 'a.c:3:5: error: x undeclared'; echo 'make: *** [all] Error 1'; exit 2".into());
    let executor = world.open(config, "job");
    let refused = refusal(find_metric(&executor, &world.combined(&hash)).await);
    assert!(
        refused.contains("exit code 2: a.c:3:5: error: x"),
        "{refused}"
    );
}

#[tokio::test]
async fn long_lines_of_a_benchmark_that_fails_leave_the_advice_readable() {
    let (world, hash) = package();
    let script = "echo it begins so >&2; head -c 200000 /dev/zero | tr '\\0' x >&2; exit 1";
    let executor = world.open(world.config(&hash, script), "job");
    let refused = refusal(find_metric(&executor, &world.combined(&hash)).await);
    assert!(refused.contains("make it pass there"), "{refused}");
    assert!(refused.contains("it begins so"), "{refused}");
    assert!(refused.chars().count() < 2000, "{refused}");
}
