//! Runs: their inputs, their ends, and their remains.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use pinpoint_backends::local::output_tails;
use pinpoint_core::{ExecutorError, InProcess};

use crate::world::{World, find_metric, key, lives, request, run, until};

#[tokio::test]
async fn a_run_knows_its_number_and_its_commit() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "echo \"v: $((PINPOINT_RUN * 10)) x\"; echo $PINPOINT_COMMIT $PINPOINT_JOB $LEVEL";
    let mut config = world.config(&first, script);
    config.env.insert("LEVEL".into(), "high".into());
    let executor = world.open(config, "job");
    let commit = world.combined(&first);
    for (action, index) in [(5, 0), (6, 1), (7, 2)] {
        let report = run(&executor, action, &commit, index).await;
        assert_eq!(report.charts["v"].values, [f64::from(index) * 10.0]);
        assert_eq!(report.exit_code, Some(0));
        let tails = output_tails(&world.path("jobs/job")).unwrap();
        let output = &tails[&action.to_string()].stdout;
        assert!(output.contains(&format!("{first} job high")), "{output}");
    }
}

#[tokio::test]
async fn a_run_says_its_machine_where_that_has_a_name() {
    let world = World::new();
    let first = world.commit("file", "1");
    let config = world.config(&first, "echo v: 1 x");
    let commit = world.combined(&first);
    let executor = world.open(config.clone(), "one");
    assert_eq!(run(&executor, 1, &commit, 0).await.bot, None);
    let executor = world.open(config, "other").on_machine("rack-1");
    let report = run(&executor, 1, &commit, 0).await;
    assert_eq!(report.bot.as_deref(), Some("rack-1"));
}

#[tokio::test]
async fn the_operating_system_measures_every_run() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo v: 1 x";
    let executor = world.open(world.config(&first, script), "job");
    let commit = world.combined(&first);
    let earlier = run(&executor, 1, &commit, 0).await;
    let later = run(&executor, 2, &commit, 1).await;
    let usage = earlier.usage.unwrap();
    assert!(
        usage.wall > 0.0 && usage.user + usage.system > 0.0,
        "{usage:?}"
    );
    assert!(usage.peak_memory > 100_000, "bytes, not KiB: {usage:?}");
    assert!(later.started >= earlier.started);
}

#[tokio::test]
async fn a_request_that_is_repeated_is_answered_from_the_first_time() {
    let world = World::new();
    let first = world.commit("file", "1");
    let counter = world.path("counter");
    let script = format!("echo >> {0}; echo v: $(wc -l < {0}) x", counter.display());
    let config = world.config(&first, &script);
    let commit = world.combined(&first);
    let executor = world.open(config.clone(), "job");
    let report = run(&executor, 3, &commit, 0).await;
    assert_eq!(run(&executor, 3, &commit, 0).await, report);
    drop(executor);
    let executor = world.open(config, "job");
    assert_eq!(run(&executor, 3, &commit, 0).await, report);
    assert_ne!(run(&executor, 4, &commit, 1).await.charts, report.charts);
}

#[tokio::test]
async fn warm_up_runs_come_before_the_first_that_counts() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let log = world.path("log");
    let script = format!(
        "echo $(cat file):${{PINPOINT_WARMUP-no}}:${{PINPOINT_RUN-none}} >> {}; echo v: 1 x",
        log.display()
    );
    let mut config = world.config(&first, &script);
    config.warmup = 2;
    let executor = world.open(config, "job");
    find_metric(&executor, &world.combined(&first))
        .await
        .unwrap();
    for (action, hash, index) in [(1, &second, 0), (2, &first, 0), (3, &second, 1)] {
        run(&executor, action, &world.combined(hash), index).await;
    }
    let expected = [
        // The metric is found at the good end, which warms it up once, by a run like those
        // that count.
        "1:no:0", "2:1:none", "2:1:none", "2:no:0", "1:1:none", "1:no:0", "2:no:1",
    ];
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn runs_start_in_the_order_in_which_they_were_asked_for() {
    let world = World::new();
    let first = world.commit("file", "1");
    let second = world.commit("file", "2");
    let log = world.path("log");
    let script = format!("echo $PINPOINT_RUN >> {}; echo v: 1 x", log.display());
    let executor = Arc::new(world.open(world.config(&first, &script), "job"));
    let commits = [world.combined(&first), world.combined(&second)];
    let mut tasks = Vec::new();
    for index in 0..20 {
        let executor = Arc::clone(&executor);
        // One of the two has no build yet, but must not be overtaken.
        let request = request(index, &commits[(index % 2) as usize], index as u32);
        // The runtime has one thread: tasks begin in the order of spawning.
        tasks.push(tokio::spawn(async move { executor.run(&request).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let order: Vec<u32> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| line.parse().unwrap())
        .collect();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
}

/// A good end that passes, and a second commit at which `script` is run.
async fn at_second(script: &str, timeout: Option<Duration>) -> (World, pinpoint_core::RunReport) {
    let world = World::new();
    let first = world.commit("bench", "echo v: 1 x");
    let second = world.commit(
        "bench",
        &script.replace("ROOT", world.path("").to_str().unwrap()),
    );
    let mut config = world.config(&first, ". ./bench");
    config.timeout = timeout;
    let executor = world.open(config, "job");
    let mut request = request(1, &world.combined(&second), 0);
    request.metric = Some(
        find_metric(&executor, &world.combined(&first))
            .await
            .unwrap(),
    );
    let report = executor.run(&request).await.unwrap();
    assert!(report.charts.is_empty() || report.failure.is_none());
    (world, report)
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_ended_with_all_it_started() {
    // It ignores the request to end, so that only the last resort works.
    let script = "trap '' TERM; sleep 1000 & echo $! > ROOT/child; wait; sleep 1000";
    let (world, report) = at_second(script, Some(Duration::from_secs(10))).await;
    assert_eq!(report.failure.as_deref(), Some("timed out after 10s"));
    if world.path("child").exists() {
        until("the child's end", || !lives(&world.path("child"))).await;
    }
}

#[tokio::test]
async fn a_run_that_stops_what_sees_to_its_end_is_ended_too() {
    let script = "kill -STOP $PPID; sleep 1000";
    let (_world, report) = at_second(script, Some(Duration::from_secs(10))).await;
    assert_eq!(report.failure.as_deref(), Some("timed out after 10s"));
}

#[tokio::test]
async fn a_run_that_left_its_process_group_is_ended_too() {
    let script = "exec python3 -c 'import os, time; os.setpgid(0, os.getppid()); time.sleep(1000)'";
    let (_world, report) = at_second(script, Some(Duration::from_secs(10))).await;
    assert_eq!(report.failure.as_deref(), Some("timed out after 10s"));
}

#[tokio::test]
async fn what_a_run_leaves_behind_is_ended_and_not_waited_for() {
    let script = "sleep 1000 & echo $! > ROOT/child; echo v: 2 x";
    let (world, report) = at_second(script, None).await;
    assert_eq!(report.charts["v"].values, [2.0]);
    until("the child's end", || !lives(&world.path("child"))).await;
}

#[tokio::test]
async fn failures_of_a_run_are_samples_that_say_why() {
    for (script, why) in [
        (
            "echo disk on fire >&2; exit 3",
            "failed with exit code 3: disk on fire",
        ),
        ("kill -SEGV $$", "was ended by a signal: 11 (SIGSEGV)"),
        ("echo v: nan x", "finite"),
        ("echo v: -inf x", "finite"),
        ("echo nothing to see", "name: 12.5 ms"),
        ("echo w: 1 x", "gave no value for `v`"),
        ("echo v: 1 y", "gave `v` in `y` instead of `x`"),
    ] {
        let (_world, report) = at_second(script, None).await;
        let failure = report.failure.unwrap();
        assert!(failure.contains(why), "{script}: {failure}");
        assert!(report.usage.is_some());
        let output = fs::read_to_string(report.log.unwrap()).unwrap();
        assert_eq!(
            output.is_empty(),
            !script.contains("echo") || script.contains("exit")
        );
    }
}

#[tokio::test]
async fn a_commit_without_the_benchmark_fails_its_runs() {
    let world = World::new();
    let script = world.repository.join("bench");
    fs::write(&script, "#!/bin/sh\necho v: 1 x\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let first = world.commit("file", "1");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let second = world.commit("file", "2");
    fs::remove_file(&script).unwrap();
    let third = world.commit("file", "3");
    let mut config = world.config(&first, "");
    config.command = vec!["./bench".into()];
    let executor = world.open(config, "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.charts["v"].values, [1.0]);
    for (action, hash, why) in [(2, second, "chmod"), (3, third, "does not exist")] {
        let report = run(&executor, action, &world.combined(&hash), 0).await;
        let failure = report.failure.unwrap();
        assert!(failure.contains(why), "{failure}");
    }
}

#[tokio::test]
async fn a_canceled_run_is_ended_whether_or_not_it_is_waited_for() {
    let world = World::new();
    let first = world.commit("file", "1");
    let child = world.path("child");
    let script = format!(
        "echo v: 1 x; test -z $PINPOINT_RUN || {{ sleep 1000 & echo $! > {}; wait; }}",
        child.display()
    );
    let executor = world.open(world.config(&first, &script), "job");
    let commit = world.combined(&first);
    let started = || fs::read_to_string(&child).is_ok_and(|text| text.ends_with('\n'));

    let first_request = request(1, &commit, 0);
    let mut waited_for = Box::pin(executor.run(&first_request));
    let ended = tokio::select! {
        ended = &mut waited_for => ended,
        () = async {
            until("the run's start", started).await;
            // Not polled in the meantime: canceling must not depend on it.
            executor.ended(&key(1)).await.unwrap();
        } => waited_for.await,
    };
    assert!(
        matches!(ended, Err(ExecutorError::Unavailable(_))),
        "{ended:?}"
    );
    until("the child's end", || !lives(&child)).await;
    fs::remove_file(&child).unwrap();

    let second_request = request(2, &commit, 0);
    tokio::select! {
        ended = executor.run(&second_request) => panic!("{ended:?}"),
        () = until("the run's start", started) => {}
    }
    // The run's future was dropped; the next run begins after its end.
    until("the child's end", || !lives(&child)).await;
    executor.ended(&key(2)).await.unwrap();
    executor.ended(&key(3)).await.unwrap();
}

#[tokio::test]
async fn ending_waits_for_processes_that_do_not_want_to_end() {
    let world = World::new();
    let first = world.commit("file", "1");
    let pid = world.path("pid");
    let script = format!(
        "trap '' TERM; echo $$ > {0}.new; mv {0}.new {0}; sleep 600",
        pid.display()
    );
    let executor = Arc::new(world.open(world.config(&first, &script), "job"));
    let preparing = tokio::spawn({
        let executor = Arc::clone(&executor);
        let commit = world.combined(&first);
        async move { find_metric(&executor, &commit).await }
    });
    until("the benchmark", || pid.exists()).await;
    // The task that waited for it has stopped.
    preparing.abort();
    executor.end().await;
    assert!(!lives(&pid));
    executor.end().await;
}

#[tokio::test]
async fn the_end_of_every_output_is_kept() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "echo run $PINPOINT_RUN >&2; echo v: 1 x; test \"$PINPOINT_RUN\" != 1";
    let executor = world.open(world.config(&first, script), "job");
    let commit = world.combined(&first);
    for (action, index) in [(5, 0), (6, 1)] {
        run(&executor, action, &commit, index).await;
    }
    let tails = output_tails(&world.path("jobs/job")).unwrap();
    let names: Vec<_> = tails.keys().map(String::as_str).collect();
    assert_eq!(names, ["5", "6"]);
    assert_eq!(
        (&*tails["5"].stdout, &*tails["5"].stderr),
        ("v: 1 x", "run 0")
    );
    assert_eq!(tails["6"].stderr, "run 1");
}
