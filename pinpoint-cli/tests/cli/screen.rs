//! The screen: full disks, closed pipes, hostile text, and hidden values.

use std::fs::{self, File};

use serde_json::Value;

use crate::world::{BENCHMARK, Finished, Pinpoint, World};

fn full_disk() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

fn closed_pipe() -> std::io::PipeWriter {
    let (_, writer) = std::io::pipe().unwrap();
    writer
}

#[test]
#[cfg(target_os = "linux")]
fn standard_output_on_a_full_disk_is_a_failure_that_is_said() {
    let world = World::with_step(4, 2);
    world.bisect(&[], BENCHMARK).ends_with(0);
    let job = world.only_job()["id"].as_str().unwrap().to_owned();
    let values = world.path("values");
    fs::write(&values, "v: 1 ms\n").unwrap();
    let values = values.to_str().unwrap();
    let commands: [&[&str]; 14] = [
        &["--help"],
        &["--version"],
        &["completions", "bash"],
        &["jobs", "list"],
        &["jobs", "list", "--count"],
        &["jobs", "show", &job],
        &["jobs", "show", &job, "--output", "json"],
        &["jobs", "resume", &job],
        &["jobs", "export"],
        &["compare", values, values],
        &["midpoint", "HEAD~1", "HEAD"],
        &["plan", "--commits", "2", "--noise", "1", "--magnitude", "9"],
        &["bots", "list"],
        &["clean"],
    ];
    for command in commands {
        let finished = world.pinpoint(command).start_into(full_disk()).ends_with(1);
        finished.tells("No space left on device");
        // Without any place for a message.
        let both = world.pinpoint(command).start_onto(full_disk(), full_disk());
        both.ends_with(1);
    }
}

#[test]
fn a_reader_may_leave_early_without_a_word() {
    let world = World::with_step(4, 2);
    world.bisect(&[], BENCHMARK).ends_with(0);
    for command in [
        &["completions", "bash"] as &[&str],
        &["jobs", "list"],
        &["jobs", "list", "--output", "json"],
        &["jobs", "export"],
        &["bots", "list"],
        &["--help"],
    ] {
        let left = world.pinpoint(command).start_into(closed_pipe());
        assert_eq!(left.ends_with(0).stderr, "", "{command:?}");
    }
    let closed = world.bisect(&[], BENCHMARK);
    closed.start_onto(closed_pipe(), closed_pipe()).ends_with(0);
    let states: Vec<Value> = world
        .jobs()
        .iter()
        .map(|job| job["state"].clone())
        .collect();
    assert_eq!(states, ["completed", "completed"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_job_whose_screen_fails_goes_on_and_keeps_its_result() {
    let world = World::with_step(8, 5);
    let running = world.bisect(&[], BENCHMARK);
    let stdout = File::create(world.path("stdout")).unwrap();
    running.start_onto(stdout, full_disk()).ends_with(0);
    let said = fs::read_to_string(world.path("stdout")).unwrap();
    assert!(said.contains(&world.commits[5]), "{said}");
    assert_eq!(world.only_job()["state"], "completed");
    // A job that fails, too, and without a place for its result.
    world
        .bisect(&[], "exit 3")
        .start_onto(full_disk(), full_disk())
        .ends_with(1);
    let states: Vec<Value> = world
        .jobs()
        .iter()
        .map(|job| job["state"].clone())
        .collect();
    assert_eq!(states, ["failed", "completed"]);
}

#[test]
fn names_of_any_length_are_compared() {
    let world = World::new();
    let (one, other) = (world.path("one"), world.path("other"));
    let name = "x".repeat(65_536);
    for file in [&one, &other] {
        fs::write(file, format!("{name}: 1 {name}\nshort: 2 ms\n")).unwrap();
    }
    let compare = ["compare", one.to_str().unwrap(), other.to_str().unwrap()];
    let finished = world.pinpoint(&compare).ends_with(4);
    assert!(finished.stdout.len() < 10_000);
    let json = world.pinpoint(&compare).and(&["--output", "json"]);
    assert_eq!(json.ends_with(4).document()["charts"][1]["chart"], name);
    // So is a bot's.
    let bots = world.path("bots.json");
    let text = format!("{{ \"bots\": {{ \"{name}\": {{ \"local\": true }} }} }}");
    fs::write(&bots, text).unwrap();
    let list = world.pinpoint(&["bots", "list", "--config", bots.to_str().unwrap()]);
    list.ends_with(0).says("xxx").says("this machine");
}

/// A title of the window, a cleared screen in C0 and C1, a color, a turned text.
const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{1b}[31mb\u{202e}c";

/// Nothing but our styles commands the terminal.
#[track_caller]
fn assert_harmless(finished: &Finished) {
    let both = format!("{}{}", finished.stdout, finished.stderr);
    let mut rest = both.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        rest = &rest[at..];
        let ours = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m"];
        let style = ours.iter().find(|style| rest[1..].starts_with(**style));
        let style = style.unwrap_or_else(|| panic!("{:?}\n{both:?}", &rest[..10]));
        rest = &rest[1 + style.len()..];
    }
    for command in ["owned\u{7}", "\u{7}", "\u{9b}", "\u{202e}", "\u{1b}[31mb"] {
        assert!(!both.contains(command), "{command:?} in {both:?}");
    }
}

#[test]
fn foreign_text_commands_no_terminal() {
    let world = World::with_step(4, 2);
    let script = format!("printf '%s: %s {HOSTILE}\\n' '{HOSTILE}' $(cat value)00");
    let name = ["--name", HOSTILE, "--benchmark", HOSTILE];
    let run = |color: &str, options: &[&str]| {
        let color = ["--color", color, "--format", "lines"];
        world.bisect(&[&name, &color[..], options].concat(), &script)
    };
    let both = |command: &dyn Fn(&str) -> Pinpoint, code: i32| {
        for color in ["always", "auto"] {
            assert_harmless(&command(color).ends_with(code));
        }
    };
    both(&|color| run(color, &["--strategy", "pinpoint"]), 0);
    both(&|color| run(color, &["--output", "json"]), 0);
    // In messages of errors, and in later displays of the job.
    let absent = format!("not {HOSTILE}");
    both(&|color| run(color, &["--chart", &absent]), 2);
    both(
        &|color| run(color, &["--chart", "x", "--output", "json"]),
        2,
    );
    let failing = format!("printf '{HOSTILE}' >&2; exit 3");
    both(&|color| world.bisect(&["--color", color], &failing), 1);
    let ends = [world.good(), world.bad()];
    let pairs = |color: &str| {
        let pairwise = ["pairwise", "--pairs", "6", "--color", color];
        let command = world.pinpoint(&pairwise).and(&ends);
        command.and(&["--", "sh", "-c", &script])
    };
    both(&pairs, 0);
    for job in world.jobs() {
        let id = job["id"].as_str().unwrap();
        for output in ["text", "json"] {
            let show = ["jobs", "show", id, "--output", output, "--color"];
            both(&|color| world.pinpoint(&show).and(&[color]), 0);
        }
    }
    for output in ["text", "json"] {
        let list = ["jobs", "list", "--output", output, "--color"];
        both(&|color| world.pinpoint(&list).and(&[color]), 0);
    }
    assert_harmless(&world.pinpoint(&["jobs", "export"]).ends_with(0));
    // JSON says the same with escapes.
    let list = world.pinpoint(&["jobs", "list", "--output", "json"]);
    assert_eq!(list.ends_with(0).document()["jobs"][0]["name"], "");
    let named = (world.jobs().iter()).any(|job| job["name"] == HOSTILE);
    assert!(named);
    assert_harmless(&world.pinpoint(&["jobs", "show", HOSTILE]).ends_with(2));
    assert_harmless(&world.pinpoint(&[HOSTILE]).ends_with(2));
}

#[test]
fn values_of_variables_are_not_shown() {
    let world = World::with_step(4, 2);
    let file = world.path("report.html");
    let report = ["--report", file.to_str().unwrap(), "--strategy", "pinpoint"];
    let env = [
        "--env",
        "GIVEN=hunter2",
        "--env=ALSO=hunter3",
        "--env",
        "TAKEN",
    ];
    let script = format!(
        "[ $GIVEN$ALSO$TAKEN = hunter2hunter3hunter4 ] && {BENCHMARK} && ! [ -e {} ]",
        world.path("gate").display()
    );
    let run = |options: &[&str]| {
        let options = [&report[..], &env, options].concat();
        world.bisect(&options, &script).env("TAKEN", "hunter4")
    };
    let shows_nothing = |text: &str| {
        let shown = ["hunter2'", "hunter2 ", "=hunter", "\"hunter", ">hunter"]
            .into_iter()
            .find(|value| text.contains(value));
        assert!(shown.is_none(), "{shown:?} in {text}");
    };
    let finished = run(&[]).ends_with(0);
    shows_nothing(&finished.stdout);
    shows_nothing(&finished.stderr);
    shows_nothing(&fs::read_to_string(&file).unwrap());
    // The command that compares the two again takes the values from the environment.
    let again = finished.command("bisect");
    assert!(
        again.contains("--env GIVEN '--env=ALSO' --env TAKEN"),
        "{again}"
    );
    let again = world.paste(&again).env("TAKEN", "hunter4");
    let again = again.env("GIVEN", "hunter2").env("ALSO", "hunter3");
    again.ends_with(0).says(&world.commits[2]);

    for output in ["text", "json"] {
        for job in world.jobs() {
            let id = job["id"].as_str().unwrap();
            let show = ["jobs", "show", id, "--output", output];
            shows_nothing(&world.pinpoint(&show).ends_with(0).stdout);
        }
        let list = ["jobs", "list", "--output", output];
        shows_nothing(&world.pinpoint(&list).ends_with(0).stdout);
    }

    // Inherited settings are not kept, and are needed again.
    fs::write(world.path("gate"), "").unwrap();
    run(&["--name", "later"]).ends_with(1);
    fs::remove_file(world.path("gate")).unwrap();
    let job = world.jobs()[0].clone();
    assert_eq!(job["name"], "later");
    let resume = || world.pinpoint(&["jobs", "resume", job["id"].as_str().unwrap()]);
    resume()
        .ends_with(2)
        .tells("--env TAKEN")
        .tells("no variable of this name");
    assert_eq!(world.jobs()[0]["state"], "failed");
    resume().env("TAKEN", "hunter4").ends_with(0);
    let export = world.pinpoint(&["jobs", "export"]).ends_with(0);
    assert!(export.stdout.contains("\"hunter2\""), "to go on elsewhere");
    assert!(!export.stdout.contains("\"hunter4\""), "{export}");
}

#[test]
fn an_error_before_there_is_a_job_gives_a_document() {
    let world = World::with_step(4, 2);
    let json = ["--output", "json"];
    for command in [
        world.bisect(&["--output", "json", "--frobnicate"], BENCHMARK),
        world.bisect(&["--output", "json", "--skip", "nowhere"], BENCHMARK),
        world.pinpoint(&["jobs", "show", "ffff"]).and(&json),
        world
            .pinpoint(&["plan", "--commits", "0", "--noise", "1"])
            .and(&json),
        world.pinpoint(&["compare", "none", "none"]).and(&json),
        world.pinpoint(&["jobs", "--output=json"]),
    ] {
        let finished = command.ends_with(2);
        let document = finished.document();
        assert_eq!(document["version"], 1);
        assert_eq!(document["status"], "failed");
        assert_eq!(document["job_id"], Value::Null);
        assert!(!document["error"].as_str().unwrap().is_empty());
        assert_ne!(finished.stderr, "");
    }
}
