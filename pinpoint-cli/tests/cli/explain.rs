//! `pinpoint explain`: profiles of real tools in, the answer, the document and exports out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::world::{Finished, World};

/// The output of a real tool.
fn profile(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pinpoint-core/tests/profiles");
    folder.join(name).display().to_string()
}

#[track_caller]
fn explain(world: &World, arguments: &[&str], code: i32) -> Finished {
    world.pinpoint(&["explain"]).and(arguments).ends_with(code)
}

/// Callgrind's file with each line of `hash` three times as expensive.
fn slower(world: &World) -> String {
    let path = world.repository.join("slower.out");
    let text = fs::read_to_string(profile("callgrind-3.19.out")).unwrap();
    // A function is named once, and then by its number.
    let number = text
        .lines()
        .find_map(|line| line.strip_suffix(" hash")?.rsplit_once('='));
    let begin = format!("fn={}", number.expect("it is named").1);
    // Without the sums, which would no longer be right.
    let mut in_hash = false;
    let lines = text.lines().filter(|line| {
        !line.starts_with("totals") && !line.starts_with("summary") && !line.starts_with("creator")
    });
    let changed: Vec<String> = lines
        .map(|line| {
            if line.starts_with("fn=") {
                in_hash = line.starts_with(&begin);
            }
            let is_cost = line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c));
            match line.split_once(' ') {
                Some((position, cost)) if in_hash && is_cost => {
                    format!("{position} {}", cost.parse::<u64>().unwrap() * 3)
                }
                _ => line.to_owned(),
            }
        })
        .collect();
    fs::write(&path, changed.join("\n") + "\n").unwrap();
    path.display().to_string()
}

#[test]
fn one_run_of_callgrind_is_enough() {
    let world = World::new();
    let (base, experiment) = (profile("callgrind-3.19.out"), slower(&world));
    let files = ["--base", &base, "--experiment", &experiment];
    let text = explain(&world, &files, 0).stdout;
    assert!(text.contains("100 % of it in hash"), "{text}");
    assert!(text.contains("hash") && text.contains("words.c"), "{text}");
    let json = explain(&world, &[&files[..], &["--output", "json"]].concat(), 0).document();
    assert_eq!(json["status"], "certain");
    assert_eq!(json["unit"], "instructions");
    assert_eq!(json["functions"][0]["function"]["name"], "hash");
    let same = explain(&world, &["--base", &base, "--experiment", &base], 3).stdout;
    assert!(same.contains("no function is certain"), "{same}");
}

#[test]
fn windows_and_exports() {
    let world = World::new();
    let chrome = profile("chrome-156.json");
    let both = ["--base", &chrome, "--experiment", &chrome];
    let first = [&both[..], &["--window", "first"]].concat();
    let json = explain(&world, &[&first[..], &["--output", "json"]].concat(), 4).document();
    let whole = json["whole"]["base"].as_f64().unwrap();
    assert!((110e6..130e6).contains(&whole), "{whole}");
    let folded = explain(
        &world,
        &[&first[..], &["--export", "folded", "--side", "base"]].concat(),
        0,
    );
    assert!(
        folded
            .stdout
            .lines()
            .all(|line| line.rsplit_once(' ').is_some())
    );
    let refused = explain(
        &world,
        &[&both[..], &["--export", "speedscope"]].concat(),
        2,
    );
    assert!(refused.stderr.contains("a difference has negative weights"));

    // pprof is binary: it is read as it was written.
    let exported = world.path("x.pprof");
    let file = fs::File::create(&exported).unwrap();
    let export = world.pinpoint(&["explain"]).and(&both);
    let export = export.and(&["--export", "pprof", "--side", "base"]);
    export.start_into(file).wait();
    let path = exported.to_str().unwrap();
    let again = [&both[..2], &["--experiment", path, "--output", "json"]].concat();
    let whole = &explain(&world, &again, 4).document()["whole"];
    assert!(
        (whole["difference"].as_f64().unwrap()).abs() < 1e-3 * whole["base"].as_f64().unwrap(),
        "{whole}"
    );
}

#[test]
fn errors_name_the_file_and_what_to_do() {
    let world = World::new();
    let path = world.repository.join("x.txt");
    fs::write(&path, "Hello, world.\n").unwrap();
    let (wrong, sound) = (path.display().to_string(), profile("perf-6.1.txt"));
    let error = |arguments: &[&str]| explain(&world, arguments, 2).stderr;
    let text = error(&["--base", &wrong, "--experiment", &sound]);
    assert!(
        text.contains("x.txt: this is not a profile that can be read; give"),
        "{text}"
    );
    let text = error(&["--base", &sound, "--experiment", "absent"]);
    assert!(text.contains("can't read absent"), "{text}");
    let counted = profile("callgrind-3.19.out");
    let text = error(&["--base", &sound, "--experiment", &counted]);
    assert!(
        text.contains("counts instructions, and the first of the base nanoseconds"),
        "{text}"
    );
    let copy = world.repository.join("copy.txt");
    fs::copy(&sound, &copy).unwrap();
    let copy = copy.display().to_string();
    let text = error(&["--base", &sound, &copy, "--experiment", &sound, "--paired"]);
    assert!(text.contains("pairs need as many profiles"), "{text}");
    let again = copy.replace("copy.txt", "./copy.txt");
    let text = error(&["--base", &sound, "--experiment", &copy, &again]);
    assert!(
        text.contains("copy.txt is given twice for the experiment"),
        "{text}"
    );
    let text = explain(&world, &["--base", &copy, "--experiment", &again], 4).stderr;
    assert!(text.contains("copy.txt is on both sides"), "{text}");
    let link = world.repository.join("link.txt");
    fs::hard_link(&copy, &link).unwrap();
    let link = link.display().to_string();
    let text = error(&["--base", &copy, &link, "--experiment", &sound]);
    let one = format!("{copy} and {link} are one file, which is");
    assert!(
        text.contains(&format!("{one} given twice for the base")),
        "{text}"
    );
    let text = explain(&world, &["--base", &copy, "--experiment", &link], 4).stderr;
    assert!(text.contains(&format!("{one} on both sides")), "{text}");
    let text = error(&[]);
    assert!(
        text.contains("pinpoint explain --base FILES --experiment FILES"),
        "{text}"
    );
    let text = error(&[
        "--base",
        &sound,
        "--experiment",
        &copy,
        "--window",
        "-100..50",
    ]);
    assert!(
        text.contains("\"-100..50\" is not a window; give"),
        "{text}"
    );
    let text = error(&[
        "--base",
        &sound,
        "--experiment",
        &sound,
        "--same",
        "hash=hush",
    ]);
    assert!(
        text.contains("no function of the experiment is called \"hush\""),
        "{text}"
    );
    let text = error(&[
        "--base",
        &sound,
        "--experiment",
        &copy,
        "--report",
        "absent/why.html",
    ]);
    assert!(text.contains("absent/why.html: "), "{text}");
    assert!(!text.contains(".pinpoint-"), "{text}");
    let text = error(&["--base", &sound, "--experiment", &sound, "--window", "load"]);
    assert!(text.contains("there is no mark \"load\""), "{text}");
}

/// A `perf` that writes this where it is asked for the text of a file.
fn perf_that(world: &World, script: &str) -> String {
    let folder = world.repository.join("tools");
    fs::create_dir_all(&folder).unwrap();
    let perf = folder.join("perf");
    fs::write(&perf, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&perf, fs::Permissions::from_mode(0o755)).unwrap();
    folder.display().to_string()
}

#[test]
fn files_of_perf_are_read_by_perf() {
    let world = World::new();
    let path = world.repository.join("perf.data");
    fs::write(&path, b"PERFILE2\0\x01").unwrap();
    let (data, text) = (path.display().to_string(), profile("perf-6.1.txt"));
    let with = |tools: &str, code| {
        let files = ["--base", &data, "--experiment", &text, "--output", "json"];
        let explain = world.pinpoint(&["explain"]).and(&files);
        explain.env("PATH", tools).ends_with(code)
    };
    let script = format!(
        "[ \"$1\" = script ] && for last; do :; done && [ \"$last\" = '{data}' ] && while IFS= read -r line; do printf '%s\\n' \"$line\"; done < '{text}'"
    );
    let whole = &with(&perf_that(&world, &script), 4).document()["whole"];
    assert!(whole["base"].as_f64().unwrap() > 0.0, "{whole}");
    assert_eq!(whole["base"], whole["experiment"]);
    let broken = perf_that(&world, "echo 'the file is cut off' >&2; exit 1");
    let error = with(&broken, 2).stderr;
    assert!(
        error.contains("perf script failed: the file is cut off; see what"),
        "{error}"
    );
    let without = with("/nonexistent", 2).stderr;
    assert!(
        without.contains("perf is not installed here; install it"),
        "{without}"
    );
}

#[test]
fn sides_of_two_profilers_are_compared_with_a_warning() {
    let world = World::new();
    let (perf, node) = (profile("perf-6.1.txt"), profile("node-20.cpuprofile"));
    let files = ["--base", &perf, "--experiment", &node];
    let warning = "the formats of the two sides differ (perf-script of the base, cpu-profile of";
    let text = explain(&world, &files, 4);
    text.tells(warning);
    let json = explain(&world, &[&files[..], &["--output", "json"]].concat(), 4).document();
    assert!(
        json["warnings"][0].as_str().unwrap().starts_with(warning),
        "{json}"
    );
    let copy = world.path("copy.txt");
    fs::copy(&perf, &copy).unwrap();
    let copy = copy.display().to_string();
    let one = ["--base", &perf, "--experiment", &copy, "--output", "json"];
    assert_eq!(
        explain(&world, &one, 4).document()["warnings"],
        serde_json::json!([])
    );
}

#[test]
fn exports_go_where_they_can_be_read() {
    let world = World::new();
    let counted = profile("callgrind-3.19.out");
    let both = ["--base", &counted, "--experiment", &counted];
    let export = |format: &str, options: &[&str], code: i32| {
        let arguments = [&both[..], &["--export", format], options].concat();
        explain(&world, &arguments, code)
    };
    export("folded", &["--output", "json"], 2).tells("leave out one of them");
    export("cpuprofile", &[], 2).tells("one side as speedscope (--side base or --side experiment)");
    export("speedscope", &["--side", "base"], 0).says("\"profiles\"");
    // The difference is not a profile of a run.
    let difference = world.path("difference.folded");
    fs::write(&difference, export("folded", &[], 0).stdout).unwrap();
    let path = difference.to_str().unwrap();
    let refused = explain(&world, &["--base", path, "--experiment", &counted], 2);
    refused.tells("difference.folded: these folded stacks are of two sides");
    refused.tells("--side base or --side experiment with --export");
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_no_pprof() {
    let world = World::new();
    let counted = profile("callgrind-3.19.out");
    let explain = world.pinpoint(&["explain", "--export", "pprof", "--base"]);
    let explain = explain.and(&[&counted, "--experiment", &counted]);
    let terminal = fs::File::options().read(true).write(true).open("/dev/ptmx");
    let refused = explain.start_into(terminal.unwrap()).ends_with(2);
    refused.tells("send it to a file: > FILE");
}

#[test]
fn a_terminal_shows_how_far_the_reading_is() {
    let world = World::new();
    let trace = profile("node-20.cpuprofile");
    let report = world.path("report.html").display().to_string();
    let run = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let terminal = ["python3", "-c", run].map(String::from);
    let on_terminal = |options: &[&str]| {
        let explain = world.pinpoint(&["explain", "--base", &trace, "--experiment", &trace]);
        let explain = explain.and(&["--report", &report]).and(options);
        let explain = explain.env("TERM", "xterm");
        explain.started_by(&terminal).ends_with(4).stdout
    };
    let shown = on_terminal(&[]);
    for what in ["profiles", "timelines"] {
        let last = format!("reading {what}: 2 of 2");
        assert!(shown.contains(&last), "{shown}");
    }
    assert!(!on_terminal(&["--quiet"]).contains("reading"));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let world = World::new();
    let sound = profile("perf-6.1.txt");
    let pipe = world.repository.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let folder = world.repository.display().to_string();
    for (file, problem) in [
        (pipe.to_str().unwrap(), "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        (&folder, "it is a directory; name the files in it"),
    ] {
        let refused = explain(&world, &["--base", file, "--experiment", &sound], 2);
        refused.tells(&format!("can't read {file}: {problem}"));
    }
    // A pipe of the shell ends.
    let script = format!("exec \"$@\" --base <(cat '{sound}') --experiment <(cat '{sound}')");
    let shell = ["bash", "-c", &script, "bash"].map(String::from);
    let read = world.pinpoint(&["explain"]).started_by(&shell);
    read.ends_with(4).says("1 run a side is too few");
}

#[test]
fn a_timeline_that_cannot_be_read_leaves_what_is_drawn() {
    let world = World::new();
    let node = |id: u32, name: &str, children: &[u32]| {
        json!({ "id": id, "children": children, "callFrame": { "functionName": name,
            "scriptId": "1", "url": "a.js", "lineNumber": id, "columnNumber": 1 } })
    };
    let file = |name: &str, lasted: u64, deltas: &[u64]| {
        let profile = json!({ "nodes": [node(1, "(root)", &[2]), node(2, "parse", &[])],
            "startTime": 0, "endTime": lasted, "samples": [2, 2], "timeDeltas": deltas });
        let path = world.path(name);
        fs::write(&path, profile.to_string()).unwrap();
        path.display().to_string()
    };
    // The shortest run is not drawn. Without times, its samples count, and no timeline is made.
    let untimed = file("untimed.cpuprofile", 10, &[]);
    let timed = ["a", "b", "c"].map(|name| file(name, 9_000, &[0, 4_000]));
    let page = world.path("page.html");
    let report = page.display().to_string();
    let base = [
        "explain", "--report", &report, "--base", &untimed, &timed[0], &timed[1],
    ];
    let arguments = [base.as_slice(), &["--experiment", &timed[2]]].concat();
    world.pinpoint(&arguments).ends_with(4);
    let page = fs::read_to_string(&page).unwrap();
    let lost = "Events in the trees have no differences over all runs, since a timeline can";
    assert!(page.contains(lost), "{page}");
    assert!(!page.contains("made from samples only"), "{page}");
}
