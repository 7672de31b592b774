//! Processes that runs leave running.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use pinpoint_backends::local::{output_tails, run_warnings};

use crate::world::{World, lives, run, until};

#[tokio::test]
async fn what_leaves_the_session_is_ended_named_and_heard_by_no_later_run() {
    let world = World::new();
    let first = world.commit("file", "1");
    // The first run leaves a process that waits for the second one, to write into its output. The
    // second gives it time for that, if it lives.
    let script = "if [ \"$PINPOINT_RUN\" = 0 ]; then
          setsid sh -c 'echo $$ > ROOT/child.new; mv ROOT/child.new ROOT/child
            until [ -e ROOT/next ]; do sleep 0.01; done; echo v: 999 x; : > ROOT/wrote' &
          until [ -e ROOT/child ]; do sleep 0.01; done
        elif [ \"$PINPOINT_RUN\" = 1 ]; then
          : > ROOT/next
          while [ ! -e ROOT/wrote ] && kill -0 $(cat ROOT/child); do sleep 0.01; done
        fi
        echo v: 1 x";
    let script = script.replace("ROOT", world.path("").to_str().unwrap());
    let executor = world.open(world.config(&first, &script), "job");
    let commit = world.combined(&first);

    // A child of this process that has lost its own parent does not belong to the benchmark.
    let bystander = world.path("bystander");
    let start = format!("setsid sleep 1000 & echo $! > {}", bystander.display());
    let started = Command::new("sh").args(["-c", &start]).status().unwrap();
    assert!(started.success());

    let report = run(&executor, 1, &commit, 0).await;
    assert_eq!(report.charts["v"].values, [1.0]);
    assert!(!lives(&world.path("child")));
    let report = run(&executor, 2, &commit, 1).await;
    assert_eq!(report.charts["v"].values, [1.0]);
    assert!(!world.path("wrote").exists());

    let child = fs::read_to_string(world.path("child")).unwrap();
    let what = format!("sh (pid {})", child.trim());
    let tails = output_tails(&world.path("jobs/job")).unwrap();
    let left = tails["1"].left.as_ref().unwrap();
    assert!(
        left.contains("still running") && left.contains(&what),
        "{left}"
    );
    assert_eq!(tails["2"].left, None);
    let warnings = run_warnings(&world.path("jobs/job")).unwrap();
    assert!(
        warnings.len() == 1 && warnings[0].contains(&what),
        "{warnings:?}"
    );

    assert!(lives(&bystander));
    let process = fs::read_to_string(&bystander).unwrap();
    let killed = Command::new("kill").arg(process.trim()).status().unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn many_processes_in_many_sessions_are_all_ended() {
    let world = World::new();
    let first = world.commit("file", "1");
    // Each has a child in another session.
    let script = "test -z \"$PINPOINT_RUN\" || for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
          setsid sh -c 'setsid sleep 1000 & echo $! > ROOT/pid.'$n'; : > ROOT/ready.'$n'; wait' &
          until [ -e ROOT/ready.$n ]; do sleep 0.01; done
        done
        echo v: 1 x";
    let script = script.replace("ROOT", world.path("").to_str().unwrap());
    let executor = world.open(world.config(&first, &script), "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.failure, None);
    for n in 1..=12 {
        assert!(!lives(&world.path(&format!("pid.{n}"))), "{n}");
    }
    let tails = output_tails(&world.path("jobs/job")).unwrap();
    let left = tails["1"].left.as_ref().unwrap();
    assert!(left.contains("more"), "{left}");
}

#[tokio::test]
async fn a_script_without_an_interpreter_is_one_for_the_shell() {
    let world = World::new();
    let bench = world.repository.join("bench");
    fs::write(&bench, "echo v: $1 x\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&bench, mode).unwrap();
    let first = world.commit("file", "1");
    let mut config = world.config(&first, "");
    config.command = vec!["./bench".into(), "7".into()];
    let executor = world.open(config, "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.charts["v"].values, [7.0]);
}

#[tokio::test]
async fn output_that_a_left_process_writes_after_the_end_does_not_count() {
    let world = World::new();
    let first = world.commit("file", "1");
    // It writes when its parent is gone, and continues.
    let script =
        "parent=$$; (while kill -0 $parent; do :; done; echo v: 3 x; sleep 1000) 2>/dev/null &
        echo v: 1 x";
    let executor = world.open(world.config(&first, script), "job");
    for index in 0..3 {
        let report = run(&executor, u64::from(index), &world.combined(&first), index).await;
        assert_eq!(report.charts["v"].values, [1.0]);
    }
}

#[tokio::test]
async fn a_benchmark_that_stops_its_parent_is_waited_for_no_longer_than_it_lasts() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "kill -STOP $PPID; echo v: 1 x";
    let executor = world.open(world.config(&first, script), "job");
    let report = run(&executor, 1, &world.combined(&first), 0).await;
    assert_eq!(report.charts["v"].values, [1.0]);
}

#[tokio::test]
async fn runs_share_a_supervisor_that_ends_with_their_executor() {
    let world = World::new();
    let first = world.commit("file", "1");
    let executor = world.open(world.config(&first, "echo v: $PPID x"), "job");
    let commit = world.combined(&first);
    let supervisor = async |index| {
        let report = run(&executor, u64::from(index), &commit, index).await;
        assert_eq!(report.failure, None);
        report.charts["v"].values[0]
    };
    let stat = |process: f64| fs::read_to_string(format!("/proc/{process}/stat"));
    let one = supervisor(0).await;
    assert_eq!(supervisor(1).await, one);
    // Who finds it on record would wait for its end.
    let records = fs::read_dir(world.location("job").machine_dir).unwrap();
    let records = records.map(|entry| entry.unwrap().path());
    let records = (records.into_iter()).find(|path| path.is_dir()).unwrap();
    assert_eq!(fs::read_to_string(records.join("run")).unwrap(), "");

    let killed = Command::new("kill")
        .args(["-KILL", &one.to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    until("its death", || stat(one).unwrap().contains(") Z ")).await;
    let other = supervisor(2).await;
    assert_ne!(other, one);
    assert!(stat(other).is_ok());
    drop(executor);
    until("the end of the supervisor", || stat(other).is_err()).await;
}

#[tokio::test]
async fn a_run_begins_as_if_there_had_been_none_before_it() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "ls /proc/self/fd | wc -l > ROOT/files.$PINPOINT_RUN
        umask >> ROOT/files.$PINPOINT_RUN; pwd >> ROOT/files.$PINPOINT_RUN
        grep -E '^(Sig|Cpus_allowed)' /proc/self/status >> ROOT/files.$PINPOINT_RUN
        echo v: 1 x";
    let script = script.replace("ROOT", world.path("").to_str().unwrap());
    let executor = world.open(world.config(&first, &script), "job");
    for index in 0..3 {
        let report = run(&executor, u64::from(index), &world.combined(&first), index).await;
        assert_eq!(report.failure, None);
    }
    let state = |index: u32| fs::read_to_string(world.path(&format!("files.{index}"))).unwrap();
    assert_eq!(state(0), state(1));
    assert_eq!(state(0), state(2));
}
