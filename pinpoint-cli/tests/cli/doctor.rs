//! Sources of noise on a machine.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use pinpoint_backends::local::CpuList;
use serde_json::Value;

use crate::world::{BENCHMARK, World, until};

/// The notes on the processes that worked on the one job.
fn sessions(world: &World) -> Vec<Value> {
    let job = world.only_job()["id"].as_str().unwrap().to_owned();
    let path = world
        .state_dir()
        .join("jobs")
        .join(job)
        .join("sessions.jsonl");
    let notes = fs::read_to_string(path).unwrap();
    let lines = notes.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_machine_is_examined_without_a_trace() {
    let world = World::new();
    let text = world.pinpoint(&["doctor"]).ends_with(0);
    text.says("the same work ").says("20 runs of such work");
    let json = world.pinpoint(&["doctor", "--output", "json"]).ends_with(0);
    let document = json.document();
    assert_eq!(document["version"], 1);
    let times = &document["times"];
    assert!(times["pieces"].as_u64().unwrap() > 3, "{json}");
    assert_eq!(times["smallest_change"], times["scatter"]);
    for finding in document["findings"].as_array().unwrap() {
        for field in ["cause", "severity", "seen", "remedy"] {
            assert!(!finding[field].as_str().unwrap().is_empty(), "{json}");
        }
    }
    assert!(!world.state_dir().exists());
}

#[test]
fn a_job_notes_the_machine_that_it_starts_on_and_reports_it() {
    let world = World::with_step(3, 1);
    let report = world.path("report.html");
    let words = [
        "--report",
        report.to_str().unwrap(),
        "--cpu",
        &a_processor().to_string(),
    ];
    let bisect = world.bisect(&words, BENCHMARK).env("PINPOINT_DOCTOR", "on");
    bisect.ends_with(0);
    let sessions = sessions(&world);
    assert_eq!(sessions.len(), 1);
    let diagnosis = &sessions[0]["diagnosis"];
    assert_eq!(diagnosis["readings"]["processors"], 1, "{diagnosis}");
    let report = fs::read_to_string(report).unwrap();
    assert!(report.contains("In a loop of "), "{report}");
    assert!(report.contains("<bdi>cpus</bdi>"), "{report}");
}

#[test]
fn a_job_that_is_not_to_look_does_not() {
    let world = World::with_step(3, 1);
    world.bisect(&[], BENCHMARK).ends_with(0);
    assert!(sessions(&world)[0]["diagnosis"].is_null());
}

/// A processor that this process may use.
fn a_processor() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list: CpuList = list.unwrap().trim().parse().unwrap();
    list.iter().next().unwrap()
}

/// Keeps a processor busy while the function runs.
fn beside_load<T>(processor: usize, function: impl FnOnce() -> T) -> T {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: an all-zero set is an empty one, and the pointer is to a live one of
            // this size.
            let pinned = unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(processor, &mut set);
                libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
            };
            assert_eq!(pinned, 0);
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let result = function();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn a_job_on_a_busy_machine_says_so_at_once() {
    let world = World::with_step(3, 1);
    let processor = a_processor();
    let bisect = |option: &str| {
        let options = ["--cpu", &processor.to_string(), option];
        let command = world
            .bisect(&options, BENCHMARK)
            .env("PINPOINT_DOCTOR", "on");
        beside_load(processor, || command.ends_with(0))
    };
    let finished = bisect("--seed=1");
    finished.tells("`pinpoint doctor` says what to do");
    let first = finished.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("warning: this machine is noisy: other processes keep"),
        "{finished}"
    );
    assert_eq!(bisect("--quiet").stderr, "");
}

#[test]
fn a_run_that_waits_for_a_quiet_machine_says_so() {
    let world = World::with_step(3, 1);
    let processor = a_processor();
    let options = ["--cpu", &processor.to_string(), "--settle", "1h"];
    beside_load(processor, || {
        let running = world.bisect(&options, BENCHMARK).start();
        let line = "waiting for a quiet machine: ";
        until("the wait", || running.stderr().contains(line));
        running.signal(libc::SIGINT);
        let finished = running.ends_with(130);
        finished.tells("of 1 processor busy; each run waits 1 h 0 min at most");
        assert_eq!(finished.stderr.matches(line).count(), 1, "{finished}");
    });
}

#[test]
fn a_processor_that_does_not_exist_is_refused_before_there_is_a_job() {
    let world = World::with_step(3, 1);
    for command in [
        world.bisect(&["--cpu", "0,1023"], BENCHMARK),
        world.pinpoint(&["doctor", "--cpu", "0,1023"]),
    ] {
        let finished = command.ends_with(2);
        finished.tells("there is no processor 1023 that runs can be pinned to");
        finished.tells("--cpu LIST");
    }
    let wrong = world.bisect(&["--cpu", "3-1"], BENCHMARK).ends_with(2);
    wrong.tells("`3-1` is neither a processor below 1024 nor a range of them");
    assert!(!world.state_dir().exists());
}
