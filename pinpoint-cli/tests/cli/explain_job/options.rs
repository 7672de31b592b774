//! Options of explanations that do not fit, runs whose profiles can't be read, and the messages
//! about both.

use libc::SIGINT;
use serde_json::Value;

use super::{document, explain, of_script, pairwise, world};
use crate::world::{World, until};

/// The profile of a run is a file of the commit.
const STACKS: &str = "command:{command}; cat stacks >{profile}";

/// Two commits with a profile each, and a comparison of them.
fn profiled() -> (World, String) {
    let world = world(
        "stacks",
        &["main;parse 10\n".into(), "main;parse 20\n".into()],
    );
    let job = of_script(&world, &["true"]);
    (world, job)
}

/// The id of the job made last.
fn newest(world: &World) -> String {
    world.jobs()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn options_that_do_not_fit_cost_no_second_run() {
    let (world, job) = profiled();
    let made = ["--profiler", STACKS, "--pairs", "1"];
    for (option, reason) in [
        (
            ["--same", "nosuch=parse"],
            "no function of the base is called \"nosuch\"",
        ),
        (["--window", "1..2"], "so no window can be cut out"),
    ] {
        let wrong = explain(&world, &job, &[&made[..], &option].concat(), 2);
        assert!(wrong.stderr.contains(reason), "{wrong}");
        let id = newest(&world);
        let advice = format!("the profiles of job {id} are kept");
        assert!(wrong.stderr.contains(&advice), "{wrong}");
        let command = wrong.stderr.split_once("options:  ").unwrap().1.trim();

        // Other options count in the place of the first ones.
        let fit = world.paste(&format!("{command} --same parse=parse"));
        let fit = fit.ends_with(4);
        assert_eq!(fit.stderr.contains(reason), option[0] == "--window");
        // Without new options, the answer leaves out those of the job, and stays.
        let first = world.pinpoint(&["jobs", "show", &id]).ends_with(0);
        first.says("parse");
        let warned = [
            reason,
            "leaves out the --same, --map and --window of the job",
        ];
        assert!(warned.iter().all(|it| first.stderr.contains(it)), "{first}");
        let second = world.paste(command).ends_with(4);
        second.says("parse");
        assert!(!second.stderr.contains(reason), "{second}");
        // New options must fit.
        let again = world.paste(command).and(&option).ends_with(2);
        assert!(again.stderr.contains(&advice), "{again}");
    }
    assert_eq!(world.jobs().len(), 3);
}

#[test]
fn a_window_of_what_has_no_times_is_refused_before_anything_runs() {
    let (world, job) = profiled();
    let options = ["--profiler", "callgrind", "--window", "parse"];
    let refused = explain(&world, &job, &options, 2);
    let advice = "leave out --window, or take --profiler perf";
    assert!(refused.stderr.contains(advice), "{refused}");
    assert_eq!(world.jobs().len(), 1);
}

#[test]
fn a_profile_that_can_not_be_read_costs_its_pair() {
    let (world, job) = profiled();
    let broken = |runs: &str| {
        format!("{STACKS}; case $PINPOINT_RUN in {runs}) echo no profile >{{profile}};; esac")
    };
    let options = |profiler: &str| -> Vec<String> {
        ["--profiler", profiler, "--pairs", "3"]
            .map(String::from)
            .into()
    };
    let some = world
        .pinpoint(&["explain", &job])
        .and(&options(&broken("1")));
    let some = some.ends_with(4);
    some.says("without profiles: 1 pair, the base's run of pair 2 under the profiler's command");
    some.says("it is of no known format");
    let id = newest(&world);
    let shown = world.pinpoint(&["jobs", "show", &id, "--output", "json"]);
    let shown = shown.ends_with(0).document();
    assert_eq!(shown["explanation"]["base_runs"], 2, "{shown:#}");

    let none = world
        .pinpoint(&["explain", &job])
        .and(&options(&broken("*")));
    let none = none.ends_with(1);
    for said in [
        "the base's run of pair 1 under the profiler's command left no profile that can be read",
        &format!("try another profiler:  pinpoint explain {job}"),
    ] {
        assert!(none.stderr.contains(said), "{none}");
    }
    let nothing = explain(&world, &job, &["--profiler", "command:true {profile}"], 1);
    let advice = "the profiler's command wrote no profile; check that the template writes one";
    assert!(nothing.stderr.contains(advice), "{nothing}");
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    let (world, job) = profiled();
    let made = ["--profiler", STACKS, "--pairs", "1"];
    explain(&world, &job, &made, 4);
    let id = newest(&world);
    let options = ["--profiler", "callgrind", "--pairs", "3", "--culprit", "zz"];
    let refused = explain(&world, &id, &options, 2);
    for said in [
        "--profiler and --pairs and --culprit can't change them",
        &format!("explain job {job} once more:  pinpoint explain {job}"),
        "--profiler callgrind --pairs 3 --culprit zz",
    ] {
        assert!(refused.stderr.contains(said), "{refused}");
    }
    let refused = explain(&world, &job, &["--culprit", "abc"], 2);
    let advice = "compares two builds and has no culprits to choose from";
    assert!(refused.stderr.contains(advice), "{refused}");
    assert_eq!(world.jobs().len(), 2);
}

#[test]
fn the_command_is_kept_as_it_was_given() {
    let (world, job) = profiled();
    let options = [
        "--profiler",
        STACKS,
        "--pairs",
        "1",
        "--same",
        "parse=parse",
        "--keep-profiles",
        "1MiB",
    ];
    explain(&world, &job[..12], &options, 4);
    let listed = world.jobs()[0]["title"].as_str().unwrap().to_owned();
    let words = shlex::split(&listed).unwrap();
    let given = [&["pinpoint", "explain", &job][..], &options].concat();
    assert_eq!(words, given);
}

#[test]
fn an_interruption_names_the_report_that_is_still_to_be_written() {
    let (world, job) = profiled();
    let started = world.path("started");
    let profiler = format!("command:touch {}; sleep 60; {{profile}}", started.display());
    let running = world.pinpoint(&["explain", &job, "--report", "why.html"]);
    let running = running.and(&["--profiler", &profiler]).start();
    until("a run", || started.exists());
    let id = running.job();
    running.signal(SIGINT);
    let stopped = running.ends_with(130);
    let then = stopped.stderr.split_once("then:  ").unwrap().1.trim();
    assert!(
        then.starts_with(&format!("pinpoint explain {id}")),
        "{then}"
    );
    assert!(then.ends_with("--report why.html"), "{then}");
}

#[test]
fn a_profiler_that_can_not_be_used_is_known_before_the_search() {
    let (world, _) = profiled();
    for kind in ["bisect", "culprit"] {
        let options = ["--explain", "--profiler", "go", world.good(), world.bad()];
        let search = world.pinpoint(&[kind]).and(&options).and(&["--", "true"]);
        search
            .ends_with(2)
            .tells("the profiler go needs a benchmark");
    }
    assert_eq!(world.jobs().len(), 1);
}

#[test]
fn an_interrupted_search_says_how_its_culprit_is_explained() {
    let (world, _) = profiled();
    let started = world.path("started");
    let script = format!("touch {}; sleep 60", started.display());
    let options = ["--explain", "--profiler", "callgrind"];
    let running = world.bisect(&options, &script).start();
    until("a run", || started.exists());
    let id = running.job();
    running.signal(SIGINT);
    let stopped = running.ends_with(130);
    let then = stopped.stderr.split_once("then:  ").unwrap().1.trim();
    assert!(
        then.starts_with(&format!("pinpoint explain {id}")),
        "{then}"
    );
    assert!(then.ends_with("--profiler callgrind"), "{then}");
    world.pinpoint(&["jobs", "cancel", &id]).ends_with(0);
    let canceled = explain(&world, &id, &[], 2);
    canceled.tells(&format!(
        "job {id} was canceled before it found a culprit (pinpoint jobs resume {id})"
    ));
}

#[test]
fn values_that_say_nothing_are_refused() {
    let (world, job) = profiled();
    explain(&world, &job, &["--keep-profiles", "0"], 2).tells("has no room for a profile");
    explain(&world, &job, &["--culprit", ""], 2).tells("a value is required for '--culprit");
    explain(&world, &job, &["--profiler", "gprof"], 2).tells("files:GLOB or auto");
    assert_eq!(world.jobs().len(), 1);
}

/// The change measured by a job with this unit, as the explanation has it, and whether it is in the
/// profiles. The second commit measures twice as much as the first.
fn measured(unit: &str) -> (Option<f64>, Option<bool>) {
    let world = world("value", &["10".into(), "20".into()]);
    let script = format!("echo v: $(cat value) {unit}");
    let options = ["--format", "lines", "--chart", "v"];
    let job = pairwise(&world, &options, &["sh", "-c", &script]);
    let profiler = "command:{command}; echo main 10 >{profile}";
    let answer = document(&world, &job, &["--profiler", profiler, "--pairs", "1"]);
    let job = &answer["job"];
    let rounded = job["measured"].as_f64().map(f64::round);
    (rounded, job["shown"].as_bool())
}

#[test]
fn memory_is_not_looked_for_in_profiles_of_time() {
    assert_eq!(measured("ms"), (Some(1.0), Some(false)));
    assert_eq!(measured("KiB"), (None, None));
}

#[test]
fn a_difference_that_is_none_is_not_looked_for() {
    let (world, job) = profiled();
    let answer = document(&world, &job, &["--profiler", STACKS, "--pairs", "1"]);
    assert_eq!(answer["job"]["measured"], Value::Null, "{answer:#}");
}

#[test]
fn an_explanation_that_is_interrupted_ends_the_command() {
    let world = world("value", &["10".into(), "20".into()]);
    let started = world.path("started");
    let profiler = format!("command:touch {}; sleep 60; {{profile}}", started.display());
    let options = ["--format", "lines", "--explain", "--profiler", &profiler];
    let search = world.bisect(&options, "echo v: $(cat value) ms").start();
    until("a run under the profiler", || started.exists());
    search.signal(SIGINT);
    let stopped = search.ends_with(130);
    stopped
        .says("culprit ")
        .tells("resume with:  pinpoint jobs resume ");
}

#[test]
fn profiles_that_were_removed_before_the_answer_are_missed() {
    let (world, job) = profiled();
    explain(&world, &job, &["--profiler", STACKS, "--pairs", "2"], 4);
    let id = newest(&world);
    let directory = world.state_dir().join("jobs").join(&id);
    std::fs::remove_file(directory.join("explanation.json")).unwrap();
    let profiles = directory.join("profiles");
    let mut runs = std::fs::read_dir(&profiles).unwrap();
    std::fs::remove_dir_all(runs.next().unwrap().unwrap().path()).unwrap();
    let shown = world.pinpoint(&["jobs", "show", &id]).ends_with(0);
    shown.says("without profiles: 1 pair, whose profiles are not on this machine, or were removed");
}
