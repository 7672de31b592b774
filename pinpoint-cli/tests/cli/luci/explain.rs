//! `pinpoint explain` of jobs in LUCI: by the traces that tasks leave.

use std::fs;
use std::path::PathBuf;

use libc::SIGKILL;
use serde_json::Value;

use super::{FAST, IN_MAIN, Scene, culprit, until_tasks};
use crate::world::{Finished, until};

/// The pairs of an explanation: few, and enough to be certain.
const PAIRS: [&str; 2] = ["--pairs", "6"];

impl Scene {
    /// A finished comparison of the culprit with its parent.
    fn compared(&self, benchmark: &str) -> String {
        let job = [
            "pairwise",
            "--executor",
            "luci",
            "--bot",
            "linux-perf",
            "--benchmark",
            benchmark,
            "--output",
            "json",
            "--pairs",
            "6",
            self.main(16),
            self.main(17),
        ];
        let finished = self.pinpoint(&job).ends_with(0);
        finished.document()["job_id"].as_str().unwrap().to_owned()
    }

    fn explain(&self, job: &str, more: &[&str], code: i32) -> Finished {
        let command = ["explain", job, "--output", "json"];
        let command = [&command, &PAIRS[..], more].concat();
        self.pinpoint(&command).ends_with(code)
    }

    /// The runs of a job whose profiles are kept.
    fn profiles(&self, job: &str) -> Vec<PathBuf> {
        let place = self.world.state_dir().join("jobs").join(job);
        let runs = fs::read_dir(place.join("profiles"));
        runs.map_or_else(
            |_| Vec::new(),
            |runs| runs.map(|it| it.unwrap().path()).collect(),
        )
    }

    /// The tasks that a job has asked for.
    fn tasks_of(&self, job: &str) -> usize {
        let key = format!("pinpoint_key:{job}/");
        let tasks = self.luci.all_tasks();
        let is_of_job = |tag: &String| tag.starts_with(&key);
        { tasks.iter() }
            .filter(|task| task.tags.iter().any(is_of_job))
            .count()
    }
}

/// The function that moved most is `layout`, and nothing else is certain but its callers.
#[track_caller]
fn assert_is_layout(answer: &Value) {
    let first = &answer["functions"][0];
    assert_eq!(first["function"]["name"], "layout", "{answer:#}");
    assert_eq!(first["verdict"]["kind"], "slower", "{answer:#}");
    let milliseconds = first["own"]["difference"].as_f64().unwrap() / 1e6;
    assert!((15.0..25.0).contains(&milliseconds), "{milliseconds} ms");
    assert_eq!(answer["job"]["shown"], true, "{answer:#}");
}

fn id_of(answer: &Value) -> &str {
    answer["job"]["job_id"].as_str().unwrap()
}

#[test]
fn a_culprit_is_explained_at_once_by_traces_of_crossbench() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let more = ["--explain", scene.main(0), scene.main(23)];
    let finished = scene.job("bisect", &more).ends_with(0);
    let found = culprit(&finished);
    assert_eq!(found["commit"]["main"]["git_hash"], scene.main(17));
    let document = finished.document();
    let answer = &document["explanation"];
    assert_is_layout(answer);
    assert_eq!(answer["base_runs"], 16, "{finished}");
    assert_eq!(answer["job"]["profiler"], "chrome");
    scene.nothing_is_left();

    // It is a normal job.
    let id = id_of(answer);
    // One task shows that there are traces.
    assert_eq!(scene.tasks_of(id), 33);
    let jobs = scene.world.jobs();
    let job = jobs.iter().find(|job| job["id"] == *id).unwrap();
    assert_eq!(job["bot"], "linux-perf");
    assert_eq!(job["repository"], fake_luci::MAIN);
    let report = scene.world.path("why.html");
    let written = ["explain", id, "--report", report.to_str().unwrap()];
    scene.world.pinpoint(&written).ends_with(0).says("layout");
    assert!(fs::read_to_string(report).unwrap().contains("layout"));
    assert_eq!(scene.profiles(id).len(), 32);
    scene.world.pinpoint(&["clean"]).ends_with(0);
    assert_eq!(scene.profiles(id).len(), 0);
    let shown = scene.world.pinpoint(&["jobs", "show", id]).ends_with(0);
    shown.says("layout");
}

#[test]
fn traces_of_telemetry_are_read_and_killed_processes_resumed() {
    let scene = Scene::new(&IN_MAIN, 3_000);
    let job = scene.compared("rendering.desktop");
    let command = ["explain", &job, "--pairs", "6"];
    let running = scene.pinpoint(&command).start();
    let id = running.job();
    until("profiles", || scene.profiles(&id).len() >= 2);
    running.signal(SIGKILL);
    assert!(running.wait().was_stopped());
    let resumed = scene.pinpoint(&["jobs", "resume", &id, "--output", "json"]);
    let answer = resumed.ends_with(0).document();
    assert_is_layout(&answer);
    assert_eq!(answer["base_runs"], 6, "{answer:#}");
    assert_eq!(scene.profiles(&id).len(), 12);
    assert_eq!(scene.tasks_of(&id), 13);
    scene.nothing_is_left();
}

#[test]
fn a_benchmark_without_traces_costs_one_task() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let job = scene.compared("speedometer3.crossbench");
    let before = scene.luci.all_tasks().len();
    scene.luci.lose_traces(true);
    scene
        .explain(&job, &[], 1)
        .tells("the benchmark leaves no profile")
        .tells("matches speedometer3.crossbench/output/**/trace*.json*")
        .tells("there is speedometer3.crossbench/perf_results.json")
        .tells("--profiler files:GLOB");
    assert_eq!(scene.luci.all_tasks().len(), before + 1);
    scene.luci.lose_traces(false);
    let other = scene.explain(&job, &["--profiler", "files:none/*"], 1);
    other.tells("matches none/*");
    for (more, expected) in [
        (&["--profiler", "perf"][..], "take chrome or files:GLOB"),
        (&["--profiler", "files:../*"], "inside the work tree"),
    ] {
        scene.explain(&job, more, 2).tells(expected);
    }
    scene.nothing_is_left();
}

#[test]
fn a_trace_that_is_cut_or_missing_leaves_its_pair_out() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let job = scene.compared("speedometer3.crossbench");
    // That of the task that checks for traces, and that of a pair.
    scene.luci.cut_traces(2);
    let named = [
        "--profiler",
        "files:*/output/**/trace.json",
        "--pairs",
        "8",
        "--",
        "--probe=tracing:{\"categories\":[\"disabled-by-default-v8.cpu_profiler\"],\"record_format\":\"json\"}",
    ];
    let command = ["explain", &job, "--output", "json"];
    let explained = scene
        .pinpoint(&[&command, &named[..]].concat())
        .ends_with(0);
    let answer = explained.document();
    assert_is_layout(&answer);
    assert_eq!(answer["base_runs"], 7);
    assert_eq!(answer["job"]["pairs_without_profiles"], 1);
    let reason = answer["job"]["missing"].as_str().unwrap();
    assert!(reason.contains("the profile is cut short"), "{reason}");
    let shown = scene.world.pinpoint(&["jobs", "show", id_of(&answer)]);
    shown.ends_with(0).says("without profiles: 1 pair");

    // Without a complete one there is nothing to compare.
    scene.luci.cut_traces(usize::MAX);
    let cut = scene.explain(&job, &[], 1);
    assert!(cut.stderr.contains("the profile is cut short"), "{cut}");
}

#[test]
fn an_explanation_in_luci_is_canceled() {
    let scene = Scene::new(&IN_MAIN, 3_000);
    let job = scene.compared("speedometer3.crossbench");
    let before = scene.luci.all_tasks().len();
    let running = scene.pinpoint(&["explain", &job]).start();
    let id = running.job();
    until_tasks(&scene, before + 2);
    scene.pinpoint(&["jobs", "cancel", &id]).ends_with(0);
    running.ends_with(130);
    scene.nothing_is_left();
}
