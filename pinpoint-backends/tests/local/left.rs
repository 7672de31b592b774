//! Processes that runs leave running.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use pinpoint_backends::local::{LocalExecutor, output_tails, run_warnings};
use pinpoint_core::InProcess;

use crate::world::{World, lives, request, run, until};

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
        grep -E '^(Sig[^Q]|Cpus_allowed)' /proc/self/status >> ROOT/files.$PINPOINT_RUN
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

/// The open files of a process beyond the standard streams that programs inherit from it.
fn passed_on(process: u32) -> Vec<u32> {
    let numbers = fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap();
    let numbers = numbers.map(|entry| entry.unwrap().file_name());
    let numbers = numbers.map(|name| name.to_str().unwrap().parse().unwrap());
    let is_passed_on = |number: &u32| {
        let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{number}"));
        // A descriptor closed in the meantime is not one that the program inherited.
        let info = info.unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.map(|flags| u32::from_str_radix(flags.trim(), 8).unwrap());
        *number > 2 && flags.is_some_and(|flags| flags & 0o2_000_000 == 0)
    };
    let mut numbers: Vec<u32> = numbers.filter(is_passed_on).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn runs_side_by_side_inherit_no_file_of_each_other_or_of_their_executors() {
    let world = World::new();
    let first = world.commit("file", "1");
    // The shell has the directory open while it lists it.
    let script = "cd /proc/$$/fd; for n in *; do test ! -e $n || files=\"$files $n\"; done
        echo $files > ROOT/files.$NAME.$PINPOINT_RUN
        readlink 1 2 > ROOT/outputs.$NAME.$PINPOINT_RUN; echo v: 1 x";
    let script = script.replace("ROOT", world.path("").to_str().unwrap());
    let open = |name: &str| {
        let config = world.config(&first, &script.replace("$NAME", name));
        let mut location = world.location(name);
        // Of machines that know nothing of each other, so that both run at a time.
        location.machine_dir = world.path(&format!("machine.{name}"));
        LocalExecutor::open(config, location, name).unwrap()
    };
    let (one, other) = (open("one"), open("other"));
    let commit = world.combined(&first);
    for index in 0..10 {
        let action = u64::from(index);
        let reports = tokio::join!(
            run(&one, action, &commit, index),
            run(&other, action, &commit, index),
        );
        assert_eq!((reports.0.failure, reports.1.failure), (None, None));
    }
    let passed_on = passed_on(std::process::id());
    for name in ["one", "other"] {
        for index in 0..10 {
            let read = |what: &str| {
                fs::read_to_string(world.path(&format!("{what}.{name}.{index}"))).unwrap()
            };
            let mut files: Vec<u32> = (read("files").split_whitespace())
                .map(|number| number.parse().unwrap())
                .collect();
            files.retain(|number| *number > 2);
            files.sort_unstable();
            assert_eq!(files, passed_on, "{name} {index}");
            assert!(
                read("outputs").contains(&format!("jobs/{name}/")),
                "{}",
                read("outputs")
            );
        }
    }
}

/// The number of a supervisor's open files, its memory in KiB, and its children.
fn held(supervisor: u32) -> (usize, u64, String) {
    let files = fs::read_dir(format!("/proc/{supervisor}/fd"))
        .unwrap()
        .count();
    let status = fs::read_to_string(format!("/proc/{supervisor}/status")).unwrap();
    let kibibytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.unwrap().split_whitespace().next().unwrap();
        number.parse::<u64>().unwrap()
    };
    let children = format!("/proc/{supervisor}/task/{supervisor}/children");
    let memory = kibibytes("VmRSS:");
    (
        files,
        memory,
        fs::read_to_string(children).unwrap_or_default(),
    )
}

#[tokio::test]
async fn three_hundred_runs_leave_no_process_file_or_memory_to_their_supervisor() {
    let world = World::new();
    let first = world.commit("file", "1");
    // Every third one leaves a process in its group, every fifth one in another session.
    let script = "echo v: $PPID x; test $((PINPOINT_RUN % 3)) != 0 || sleep 1000 &
        test $((PINPOINT_RUN % 5)) != 0 || setsid sleep 1000 &";
    let executor = world.open(world.config(&first, script), "job");
    let commit = world.combined(&first);
    let mut after_ten = None;
    let mut supervisor = None;
    for index in 0..300 {
        let report = run(&executor, u64::from(index), &commit, index).await;
        assert_eq!(report.failure, None);
        let process = report.charts["v"].values[0] as u32;
        assert_eq!(*supervisor.get_or_insert(process), process);
        if index == 10 {
            after_ten = Some(held(process));
        }
    }
    let process = supervisor.unwrap();
    let (files, memory, children) = held(process);
    let (files_before, memory_before, _) = after_ten.unwrap();
    assert_eq!((files, &*children), (files_before, ""));
    assert!(
        memory <= memory_before + 512,
        "{memory_before} KiB, then {memory} KiB"
    );
    // The socket, three times nothing, and what every program inherits here.
    assert_eq!(files, 4 + passed_on(std::process::id()).len());
    drop(executor);
    let gone = || !std::path::Path::new(&format!("/proc/{process}")).exists();
    until("the end of the supervisor", gone).await;
}

#[tokio::test]
async fn a_supervisor_killed_at_any_time_costs_a_run_at_most() {
    let world = World::new();
    let first = world.commit("file", "1");
    let script = "echo $$ > ROOT/leader.$PINPOINT_RUN; sleep 0.005; echo v: $PPID x";
    let script = script.replace("ROOT", world.path("").to_str().unwrap());
    let executor = world.open(world.config(&first, &script), "job");
    let commit = world.combined(&first);
    let mut lost = 0;
    for round in 0..40 {
        let report = run(&executor, u64::from(2 * round), &commit, 2 * round).await;
        let supervisor = report.charts["v"].values[0].to_string();
        let request = request(u64::from(2 * round + 1), &commit, 2 * round + 1);
        let kill = async {
            tokio::time::sleep(std::time::Duration::from_micros(300 * u64::from(round))).await;
            let kill = Command::new("kill").args(["-KILL", &supervisor]).spawn();
            tokio::task::spawn_blocking(move || kill.unwrap().wait().unwrap())
                .await
                .unwrap()
        };
        let (ran, _) = tokio::join!(executor.run(&request), kill);
        match ran {
            Ok(report) => assert_eq!(report.failure, None),
            Err(error) => {
                let error = format!("{error:?}");
                assert!(
                    error.contains("its supervising process was killed"),
                    "{error}"
                );
                lost += 1;
            }
        }
        let leader = world.path(&format!("leader.{}", 2 * round + 1));
        // Empty if the shell was killed before it wrote.
        let is_known = fs::read_to_string(&leader).is_ok_and(|number| !number.is_empty());
        assert!(!is_known || !lives(&leader));
    }
    println!("{lost} of 40 runs were lost");
}
