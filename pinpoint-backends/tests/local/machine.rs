//! One machine for all jobs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use pinpoint_backends::local::{LocalConfig, LocalExecutor, Location};
use pinpoint_core::InProcess;

use crate::world::{World, build, lives, request, run, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_run_is_beside_another_or_beside_a_build() {
    let world = World::new();
    let commits: Vec<String> = (0..6)
        .map(|n| world.commit("file", &n.to_string()))
        .collect();
    let log = world.path("log");
    let note = |what: &str| format!("echo {what} >> {}", log.display());
    let doing = |what: &str| {
        format!(
            "{}; sleep 0.02; {}",
            note(&format!("begin {what}")),
            note(&format!("end {what}"))
        )
    };
    let mut config = world.config(&commits[0], &format!("{}; echo v: 1 x", doing("run")));
    config.build = Some(doing("build"));
    let mut tasks = Vec::new();
    for job in ["one", "two"] {
        // Different state directories, but the same machine.
        let mut location = world.location(job);
        location.state_dir = world.path(job);
        let executor = LocalExecutor::open(config.clone(), location, job).unwrap();
        let executor = Arc::new(executor);
        for (number, hash) in (0..).zip(&commits) {
            let commit = world.combined(hash);
            let executor = Arc::clone(&executor);
            tasks.push(tokio::spawn(async move {
                let report = build(&executor, number, &commit).await.unwrap();
                assert_eq!(report.failure, None);
                for index in 0..3 {
                    let request = request(100 + 10 * number + u64::from(index), &commit, index);
                    assert_eq!(executor.run(&request).await.unwrap().failure, None);
                }
            }));
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    let (mut runs, mut builds, mut total) = (0, 0, 0);
    for line in fs::read_to_string(&log).unwrap().lines() {
        match line {
            "begin run" => runs += 1,
            "end run" => runs -= 1,
            "begin build" => builds += 1,
            _ => builds -= 1,
        }
        assert!(
            runs == 0 || (runs == 1 && builds == 0),
            "{runs} runs, {builds} builds"
        );
        total += 1;
    }
    // Builds and runs; each starts and ends.
    assert_eq!(total, 2 * 2 * (6 + 18));
}

/// Not a test: the other process of a test, to be killed.
#[tokio::test]
async fn other_process() {
    let Ok(job) = std::env::var("LOCAL_TEST_JOB") else {
        return;
    };
    let (config, directories, what): (LocalConfig, [std::path::PathBuf; 3], String) =
        serde_json::from_str(&job).unwrap();
    let [state_dir, job_dir, machine_dir] = directories;
    let location = Location {
        state_dir,
        job_dir,
        machine_dir,
    };
    let good = config.good.clone();
    let executor = LocalExecutor::open(config, location, "killed").unwrap();
    if what == "build" {
        build(&executor, 1, &good).await.unwrap();
    } else {
        run(&executor, 1, &good, 0).await;
    }
    if what == "idle" {
        std::future::pending::<()>().await;
    }
}

fn in_other_process(world: &World, config: &LocalConfig, what: &str) -> Child {
    let location = world.location("killed");
    let directories = [location.state_dir, location.job_dir, location.machine_dir];
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "machine::other_process", "--nocapture"])
        .env(
            "LOCAL_TEST_JOB",
            serde_json::to_string(&(config, directories, what)).unwrap(),
        )
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills the process once its child has written its number and that of a grandchild.
async fn kill_once_it_runs(mut process: Child, leader: &Path, child: &Path) {
    wait_until_it_runs(leader, child).await;
    process.kill().unwrap();
    process.wait().unwrap();
}

async fn wait_until_it_runs(leader: &Path, child: &Path) {
    let written = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n'));
    until("the other process's child", || {
        written(leader) && written(child)
    })
    .await;
}

/// A job in which a run or a build hangs. Its grandchild has left the session.
fn hanging(world: &World, what: &str) -> (LocalConfig, [std::path::PathBuf; 2]) {
    let first = world.commit("file", "1");
    let (leader, child) = (world.path("leader"), world.path("child"));
    // It ignores the request to end, so that only the last resort works.
    let hang = format!(
        "trap '' TERM; setsid sleep 1000 & echo $! > {}; echo $$ > {}; wait; sleep 1000",
        child.display(),
        leader.display()
    );
    let mut config = world.config(&first, "true");
    if what == "build" {
        config.build = Some(hang);
    } else {
        config.command = vec!["sh".into(), "-c".into(), hang];
    }
    (config, [leader, child])
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn what_a_killed_process_left_running_ends_by_itself() {
    for what in ["run", "build"] {
        let world = World::new();
        let (config, [leader, child]) = hanging(&world, what);
        kill_once_it_runs(in_other_process(&world, &config, what), &leader, &child).await;
        until("the end of what was left", || {
            !lives(&leader) && !lives(&child)
        })
        .await;
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn what_was_left_by_a_process_killed_with_its_supervisor_is_ended_by_the_next_run() {
    for what in ["run", "build"] {
        let world = World::new();
        let (config, [leader, child]) = hanging(&world, what);
        let mut process = in_other_process(&world, &config, what);
        wait_until_it_runs(&leader, &child).await;
        let number = fs::read_to_string(&leader).unwrap();
        let stat = fs::read_to_string(format!("/proc/{}/stat", number.trim())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let supervisor = fields.split(' ').nth(1).unwrap();
        // Stopped, so that neither notices the other's death.
        let main = process.id().to_string();
        for (signal, whom) in [("-STOP", &*main), ("-KILL", supervisor), ("-KILL", &*main)] {
            let sent = Command::new("kill").args([signal, whom]).status().unwrap();
            assert!(sent.success());
        }
        process.wait().unwrap();

        // A job unrelated to the one that was killed. A run of another test may be faster.
        let mut location = world.location("other");
        location.state_dir = world.path("other-state");
        let good = config.good.clone();
        let config = world.config(&good.main.git_hash, "echo v: 1 x");
        let executor = LocalExecutor::open(config, location, "other").unwrap();
        assert_eq!(run(&executor, 1, &good, 0).await.failure, None);
        assert!(!lives(&leader));
        let child = fs::read_to_string(child).unwrap();
        Command::new("kill")
            .args(["-KILL", child.trim()])
            .status()
            .unwrap();
    }
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn an_idle_supervisor_ends_with_the_process_that_was_killed() {
    let world = World::new();
    let first = world.commit("file", "1");
    let file = world.path("supervisor");
    let script = format!("echo $PPID > {}; echo v: 1 x", file.display());
    let config = world.config(&first, &script);
    let mut process = in_other_process(&world, &config, "idle");
    until("the end of its run", || {
        let number = fs::read_to_string(&file).unwrap_or_default();
        let directory = fs::read_link(format!("/proc/{}/cwd", number.trim()));
        directory.is_ok_and(|directory| directory == Path::new("/"))
    })
    .await;
    assert!(lives(&file));
    process.kill().unwrap();
    process.wait().unwrap();
    until("the end of its supervisor", || !lives(&file)).await;
}

#[tokio::test]
async fn a_build_whose_maker_was_killed_is_made_anew_and_alone() {
    let world = World::new();
    let first = world.commit("file", "1");
    let (leader, child) = (world.path("leader"), world.path("child"));
    // Hangs the first time; the second time the remains must be gone.
    let script = format!(
        "test ! -e half || exit 1; touch half; test -e {0} && exit; \
         sleep 1000 & echo $! > {1}; echo $$ > {0}; wait",
        leader.display(),
        child.display()
    );
    let mut config = world.config(&first, "true");
    config.build = Some(script);
    kill_once_it_runs(in_other_process(&world, &config, "build"), &leader, &child).await;
    let executor = world.open(config, "killed");
    let report = build(&executor, 1, &world.combined(&first)).await.unwrap();
    assert_eq!((report.failure, report.cached), (None, false));
    until("the end of what was left", || {
        !lives(&leader) && !lives(&child)
    })
    .await;
}

#[tokio::test]
async fn a_record_of_somebody_else_ends_nobody() {
    let world = World::new();
    let first = world.commit("file", "1");
    let executor = world.open(world.config(&first, "true"), "job");
    let mut bystander = Command::new("sleep").arg("1000").spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", bystander.id()));
    if let Ok(stat) = stat {
        // The same number, started at another time: a number used again.
        let (before, after) = stat.rsplit_once(") ").unwrap();
        let mut fields: Vec<&str> = after.split(' ').collect();
        fields[19] = "1";
        let registers = fs::read_dir(world.path("machine")).unwrap();
        let processes = registers
            .map(|entry| entry.unwrap().path())
            .find(|path| path.is_dir())
            .unwrap();
        for name in ["run", "build-1"] {
            let mut file = fs::File::create(processes.join(name)).unwrap();
            // As a supervisor, and as a command.
            for _ in 0..2 {
                writeln!(file, "{before}) {}", fields.join(" ").trim_end()).unwrap();
            }
        }
        run(&executor, 1, &world.combined(&first), 0).await;
        assert_eq!(bystander.try_wait().unwrap(), None);
    }
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_machine_directory_may_have_to_be_made() {
    let world = World::new();
    let first = world.commit("file", "1");
    let mut location = world.location("job");
    location.machine_dir = world.path("deep/in/machine");
    let config = world.config(&first, "true");
    LocalExecutor::open(config, location, "job").unwrap();
    assert!(world.path("deep/in/machine").is_dir());
}
