//! Jobs that are interrupted, canceled, and resumed.

use pinpoint_backends::local::ignores_hangup;
use pinpoint_core::Record;
use std::fs;
use std::path::PathBuf;

use libc::{SIGHUP, SIGINT, SIGTERM};

use crate::world::{Finished, Running, World, processes_of, until};

/// Sixteen commits, and a gate at which builds and runs can be held up.
struct Held {
    world: World,
    gate: PathBuf,
    pid: PathBuf,
}

/// The place where a job is held up.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The first build of all.
    FirstBuild,
    /// The build of a commit in the middle.
    LaterBuild,
    /// The run that fixes the metric.
    FirstRun,
    /// The second run of a commit.
    LaterRun,
}

/// The reaction of the process that is held up to a request to end.
#[derive(Debug, Clone, Copy)]
enum Child {
    Obedient,
    Stubborn,
}

const EVERYWHERE: [Place; 4] = [
    Place::FirstBuild,
    Place::LaterBuild,
    Place::FirstRun,
    Place::LaterRun,
];

impl Held {
    fn new() -> Self {
        let world = World::with_step(16, 9);
        Self {
            gate: world.path("gate"),
            pid: world.path("pid"),
            world,
        }
    }

    /// Starts a job, and returns when it is held up.
    fn start(&self, place: Place, child: Child) -> Running {
        fs::write(&self.gate, "").unwrap();
        let hold = |when: &str| {
            let trap = match child {
                Child::Obedient => "",
                Child::Stubborn => "trap '' TERM; ",
            };
            format!(
                "if [ -e {gate} ] && {when}; then {trap}echo $$ > {pid}.new; mv {pid}.new {pid}; \
                 sleep 600; exit 9; fi; ",
                gate = self.gate.display(),
                pid = self.pid.display(),
            )
        };
        let in_build = match place {
            Place::FirstBuild => hold("true"),
            Place::LaterBuild => hold("[ $(cat number) -gt 0 ] && [ $(cat number) -lt 15 ]"),
            Place::FirstRun | Place::LaterRun => String::new(),
        };
        let in_run = match place {
            Place::FirstRun => hold("[ \"$PINPOINT_RUN\" = 0 ]"),
            Place::LaterRun => hold("[ \"$PINPOINT_RUN\" = 1 ]"),
            Place::FirstBuild | Place::LaterBuild => String::new(),
        };
        let build = format!("{in_build}cp value built");
        let script =
            format!("{in_run}echo \"v: $(($(cat built) * 100 + ${{PINPOINT_RUN:-0}})) ms\"");
        let running = self.world.bisect(&["--build", &build], &script).start();
        until("the gate", || self.pid.exists());
        running
    }

    fn open(&self) {
        fs::remove_file(&self.gate).unwrap();
        fs::remove_file(&self.pid).unwrap();
    }

    /// Resumes the job that a message names, to its end.
    #[track_caller]
    fn resume(&self, message: &Finished) -> Finished {
        self.open();
        let command = message.command("jobs resume");
        let finished = self.world.paste(&command).ends_with(0);
        finished.says(&format!("culprit {}", self.world.commits[9]));
        let job = self.world.only_job();
        assert_eq!(job["state"], "completed");
        self.world.recorded_runs(job["id"].as_str().unwrap());
        finished
    }
}

/// Tests the cases side by side: each mostly waits, in a world of its own.
fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let test = &test;
            scope.spawn(move || test(case));
        }
    });
}

fn interrupt(place: Place, child: Child, signal: i32) {
    let held = Held::new();
    let running = held.start(place, child);
    let job = running.job();
    assert!(!processes_of(&job).is_empty() || cfg!(not(target_os = "linux")));
    running.signal(signal);
    let finished = running.ends_with(130);
    finished.says_nothing().tells("interrupted");
    assert_eq!(processes_of(&job), [] as [String; 0], "{place:?} {child:?}");
    assert_eq!(held.world.only_job()["state"], "pending");

    let before = held.world.journal(&job);
    let resumed = held.resume(&finished);
    let after = held.world.journal(&job);
    assert_eq!(after[..before.len()], before);
    if !before.is_empty() {
        resumed.tells("resumed: ");
    }
}

#[test]
fn an_interrupt_ends_the_children_and_loses_nothing() {
    // Under `nohup` the command ignores it, as it should.
    let hangup = if ignores_hangup() { SIGTERM } else { SIGHUP };
    let signals = [SIGINT, SIGTERM, hangup, SIGINT];
    at_once(EVERYWHERE.into_iter().zip(signals), |(place, signal)| {
        interrupt(place, Child::Obedient, signal);
    });
}

/// As under `nohup`.
#[test]
fn a_job_that_ignores_a_closed_terminal_goes_on() {
    let held = Held::new();
    fs::write(&held.gate, "").unwrap();
    let script = format!(
        ": > {pid}; while [ -e {gate} ]; do sleep 0.01; done; echo \"v: $(cat value) ms\"",
        pid = held.pid.display(),
        gate = held.gate.display(),
    );
    let ignoring = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"].map(String::from);
    let running = (held.world.bisect(&[], &script).started_by(&ignoring)).start();
    until("the gate", || held.pid.exists());
    running.signal(SIGHUP);
    held.open();
    running.ends_with(0).says("culprit ");
}

#[test]
fn an_interrupt_ends_children_that_do_not_want_to() {
    let signals = [SIGINT, SIGINT, SIGTERM, SIGTERM];
    at_once(EVERYWHERE.into_iter().zip(signals), |(place, signal)| {
        interrupt(place, Child::Stubborn, signal);
    });
}

#[test]
fn a_job_says_that_it_waits_for_another_one() {
    let held = Held::new();
    let first = held.start(Place::LaterRun, Child::Obedient);
    let second = held.world.bisect(&[], crate::world::BENCHMARK).start();
    until("the wait", || {
        second
            .stderr()
            .contains("waiting for another job of this machine")
    });
    first.signal(SIGTERM);
    first.ends_with(130);
    second.ends_with(0).says("culprit ");
}

/// As `timeout` does, which signals the process and its group.
#[test]
fn a_signal_that_comes_twice_is_one() {
    let held = Held::new();
    let running = held.start(Place::LaterRun, Child::Obedient);
    running.signal(SIGTERM);
    running.signal(SIGTERM);
    running.signal(SIGINT);
    let finished = running.ends_with(130);
    finished.tells("nothing is lost").tells("resume with");
    assert_eq!(held.world.only_job()["state"], "pending");
    held.resume(&finished);
}

#[test]
fn an_interrupt_prints_no_half_a_document() {
    let held = Held::new();
    let running = held.start(Place::LaterRun, Child::Obedient);
    running.signal(SIGINT);
    let finished = running.ends_with(130);
    held.open();
    let command = finished.command("jobs resume");
    let document = held
        .world
        .paste(&command)
        .and(&["--output", "json"])
        .ends_with(0)
        .document();
    assert_eq!(document["status"], "culprit_found");
}

fn cancel_from_elsewhere(place: Place, child: Child) {
    let held = Held::new();
    let running = held.start(place, child);
    let job = running.job();
    let canceled = held.world.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
    canceled.says("was canceled");
    assert_eq!(processes_of(&job), [] as [String; 0], "{place:?} {child:?}");
    running.ends_with(130).says("canceled");
    assert_eq!(held.world.only_job()["state"], "canceled");
    let records = held.world.journal(&job);
    assert!(records.contains(&Record::CancelRequested), "{records:?}");
    held.resume(&canceled);
}

#[test]
fn a_running_job_is_canceled_from_elsewhere_and_goes_on_later() {
    at_once(EVERYWHERE, |place| {
        cancel_from_elsewhere(place, Child::Obedient)
    });
}

#[test]
fn canceling_ends_children_that_do_not_want_to() {
    let places = [Place::FirstBuild, Place::LaterRun];
    at_once(places, |place| {
        cancel_from_elsewhere(place, Child::Stubborn)
    });
}

#[test]
fn a_canceled_job_says_how_to_go_on() {
    let held = Held::new();
    let running = held.start(Place::LaterRun, Child::Obedient);
    let job = running.job();
    held.world.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
    let finished = running.ends_with(130);
    held.resume(&finished);
}

#[test]
fn an_interrupted_job_is_canceled_and_goes_on_later() {
    at_once(EVERYWHERE, |place| {
        let held = Held::new();
        let running = held.start(place, Child::Obedient);
        let job = running.job();
        running.signal(SIGINT);
        running.ends_with(130);
        let cancel = || held.world.pinpoint(&["jobs", "cancel", &job]);
        let canceled = cancel().and(&["--output", "json"]).ends_with(0).document();
        assert_eq!(canceled["status"], "canceled");
        assert_eq!(canceled["job_id"], *job);
        assert_eq!(held.world.only_job()["state"], "canceled");
        cancel().ends_with(2).tells("is canceled already");
        let show = held.world.pinpoint(&["jobs", "show", &job]).ends_with(0);
        held.resume(&show);
        cancel().ends_with(2).tells("is finished");
    });
}

#[test]
fn a_job_whose_repository_is_gone_is_canceled_all_the_same() {
    let held = Held::new();
    let running = held.start(Place::LaterRun, Child::Obedient);
    let job = running.job();
    running.signal(SIGINT);
    running.ends_with(130);
    let (git, elsewhere) = (
        held.world.repository.join(".git"),
        held.world.path("elsewhere"),
    );
    fs::rename(&git, &elsewhere).unwrap();
    let cancel = || held.world.pinpoint(&["jobs", "cancel", &job]);
    cancel().ends_with(0).says("was canceled");
    assert_eq!(held.world.only_job()["state"], "canceled");
    cancel().ends_with(2).tells("is canceled already");
    fs::rename(&elsewhere, &git).unwrap();
    held.open();
    let resumed = held.world.pinpoint(&["jobs", "resume", &job]);
    resumed
        .ends_with(0)
        .says(&format!("culprit {}", held.world.commits[9]));
}

#[test]
fn a_killed_job_is_canceled() {
    let held = Held::new();
    let running = held.start(Place::LaterRun, Child::Obedient);
    let job = running.job();
    drop(running);
    assert_eq!(held.world.only_job()["state"], "running", "so it was left");
    let canceled = held.world.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
    held.resume(&canceled);
}

#[test]
fn nobody_takes_a_job_that_is_worked_on() {
    let held = Held::new();
    let running = held.start(Place::FirstRun, Child::Obedient);
    let job = running.job();
    held.world
        .pinpoint(&["jobs", "resume", &job])
        .ends_with(1)
        .says_nothing()
        .tells("another process")
        .tells("works on this job");
    held.open_and_finish(running);
}

impl Held {
    /// Lets a held-up job continue.
    fn open_and_finish(&self, running: Running) {
        let process: i32 = fs::read_to_string(&self.pid)
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        self.open();
        // SAFETY: no memory is involved. The shell leads a group of its own; its
        // try has failed then, and the next one passes the gate.
        unsafe { libc::kill(-process, SIGTERM) };
        running
            .ends_with(0)
            .says(&format!("culprit {}", self.world.commits[9]));
    }
}

#[test]
fn jobs_are_listed_and_shown() {
    let world = World::with_step(4, 2);
    let benchmark = "echo \"v: $(cat value) ms\"";
    let strategy = ["--strategy", "pinpoint"];
    world.bisect(&strategy, benchmark).ends_with(0);
    world.bisect(&[], "exit 3").ends_with(1);
    let of_state = |state: &str| {
        let list = world.pinpoint(&["jobs", "list", "--output", "json", "--state", state]);
        list.ends_with(0).document()["jobs"]
            .as_array()
            .unwrap()
            .clone()
    };
    let (failed, completed) = (of_state("failed"), of_state("completed"));
    assert_eq!((failed.len(), completed.len()), (1, 1));
    assert_eq!(of_state("running"), Vec::<serde_json::Value>::new());
    assert_eq!(completed[0]["runs"], 40);
    assert!(failed[0]["error"].as_str().unwrap().contains("exit code 3"));

    let job = completed[0]["id"].as_str().unwrap();
    let show = world.pinpoint(&["jobs", "show", job, "--output", "json"]);
    let shown = show.ends_with(0).document();
    assert_eq!(shown["id"], job);
    assert_eq!(shown["outcome"]["status"], "culprit_found");
    assert_eq!(
        shown["outcome"]["culprits"][0]["commit"]["main"]["git_hash"],
        world.commits[2]
    );
    // A run under way, and another that follows without a pause.
    assert_eq!(shown["spec"]["limits"]["runs"], 2);
    // Finished work is reported again, and not done again.
    let again = world.pinpoint(&["jobs", "resume", job]).ends_with(0);
    assert!(show_ends_with(&world, job, &again.stdout));

    let job = failed[0]["id"].as_str().unwrap();
    let show = world.pinpoint(&["jobs", "show", job]).ends_with(0);
    show.says("failed").says("exit code 3").says("jobs resume");
}

fn show_ends_with(world: &World, job: &str, text: &str) -> bool {
    let show = world.pinpoint(&["jobs", "show", job]).ends_with(0);
    show.stdout.ends_with(text)
}

#[test]
fn shells_get_their_completions() {
    let world = World::new();
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef pinpoint"),
        ("fish", "complete -c pinpoint"),
    ] {
        let finished = world.pinpoint(&["completions", shell]).ends_with(0);
        finished.says(word).says("bisect").says("max-runs");
        assert_eq!(finished.stderr, "");
    }
    assert!(!world.state_dir().exists());
}

#[test]
fn a_job_without_a_result_gives_one_document_all_the_same() {
    let world = World::with_step(4, 2);
    let refused = world
        .bisect(
            &["--output", "json", "--chart", "absent"],
            "echo \"time: 1 ms\"",
        )
        .ends_with(2);
    let document = refused.document();
    assert_eq!(document["status"], "failed");
    assert!(document["error"].as_str().unwrap().contains("`time`"));
    assert_eq!(document["runs"], 0);
    assert_eq!(document["culprits"], serde_json::json!([]));
}

#[test]
fn the_command_to_go_on_names_the_state_directory() {
    let world = World::with_step(4, 2);
    let elsewhere = world.path("else where");
    let elsewhere = elsewhere.to_str().unwrap();
    let refused = world
        .bisect(&["--state-dir", elsewhere], "exit 1")
        .ends_with(1);
    let command = refused.command("jobs resume");
    assert!(command.contains("--state-dir"), "{command}");
    world
        .paste(&command)
        .ends_with(1)
        .tells("fails at the good end");
}

#[test]
#[cfg(target_os = "linux")]
fn a_second_interrupt_leaves_no_process_to_the_next_job() {
    at_once([Place::FirstRun, Place::LaterBuild], |place| {
        let held = Held::new();
        let running = held.start(place, Child::Stubborn);
        let job = running.job();
        running.signal(SIGINT);
        running.signal(SIGTERM);
        running.ends_with(130);
        until("the end of the children", || processes_of(&job).is_empty());
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_command_leaves_no_process() {
    at_once([Place::FirstBuild, Place::LaterRun], |place| {
        let held = Held::new();
        let running = held.start(place, Child::Stubborn);
        let job = running.job();
        drop(running);
        until("the end of the children", || processes_of(&job).is_empty());
    });
}

#[test]
fn a_budget_of_time_holds_for_the_preparation() {
    at_once([Place::FirstBuild, Place::FirstRun], |place| {
        let held = Held::new();
        fs::write(&held.gate, "").unwrap();
        let (build, script) = match place {
            Place::FirstBuild => ("sleep 600", "echo v: 1 ms"),
            _ => ("true", "sleep 600"),
        };
        let options = ["--build", build, "--max-time", "1s", "--output", "json"];
        let finished = held.world.bisect(&options, script).ends_with(4);
        let document = finished.document();
        assert_eq!(document["stopped"], "time_budget", "{document:#}");
        assert_eq!(document["runs"], 0);
        let job = held.world.only_job();
        assert_eq!(processes_of(job["id"].as_str().unwrap()), [] as [String; 0]);
    });
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_benchmark_leaves_running_is_said_once() {
    let world = World::with_step(4, 2);
    let script = "setsid sleep 1000 & echo \"v: $(cat value) ms\"";
    let report = world.path("report.html");
    let options = ["--report", report.to_str().unwrap()];
    let finished = world.bisect(&options, script).ends_with(0);
    finished.says("still running").says("sleep (pid ");
    assert_eq!(finished.stdout.matches("warning").count(), 1, "{finished}");
    let page = fs::read_to_string(report).unwrap();
    assert!(page.contains("Warning: ") && page.contains("sleep (pid "));
    let job = world.only_job();
    let show = world.pinpoint(&["jobs", "show", job["id"].as_str().unwrap()]);
    let shown = show.and(&["--output", "json"]).ends_with(0).document();
    let warnings = shown["outcome"]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{shown:#}");
}
