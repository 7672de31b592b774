//! Bad input: a clear error, at once, and nothing touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pinpoint_backends::store::{JobFilter, JobStore};

use crate::world::{BENCHMARK, Finished, Pinpoint, World};

/// Refused before there is a job.
#[track_caller]
fn refused(world: &World, command: Pinpoint, words: &[&str]) -> Finished {
    let before = world.snapshot();
    let finished = command.ends_with(2);
    finished.says_nothing();
    for word in words {
        finished.tells(word);
    }
    assert_eq!(world.snapshot(), before);
    assert!(!world.state_dir().exists(), "{finished}");
    finished
}

/// Found out at the good end: the job is kept, with the problem.
#[track_caller]
fn fails(world: &World, command: Pinpoint, code: i32, words: &[&str]) -> Finished {
    let before = world.snapshot();
    let finished = command.ends_with(code);
    finished.says_nothing();
    for word in words {
        finished.tells(word);
    }
    assert_eq!(world.snapshot(), before);
    let job = world.jobs().remove(0);
    assert_eq!(job["state"], "failed", "{finished}");
    assert_eq!(job["runs"], 0);
    finished
}

fn from_to(world: &World, good: &str, bad: &str) -> Pinpoint {
    world
        .pinpoint(&["bisect", good, bad])
        .and(&["--", "sh", "-c", BENCHMARK])
}

#[test]
fn a_place_that_is_no_repository() {
    let world = World::with_step(4, 2);
    let place = world.path("elsewhere");
    fs::create_dir(&place).unwrap();
    let command = from_to(&world, "HEAD~1", "HEAD").in_dir(&place);
    let name = place.to_str().unwrap();
    refused(
        &world,
        command,
        &[name, "is not in a git repository", "--repo"],
    );
    let missing = world.path("missing");
    let missing = missing.to_str().unwrap();
    let command = world.pinpoint(&["bisect", "-C", missing, "a", "b", "--", "true"]);
    refused(&world, command, &[missing, "is not in a git repository"]);
}

#[test]
fn ends_between_which_there_is_nothing_to_search() {
    let mut world = World::with_step(4, 2);
    let files = BTreeMap::from([("value", "1".to_owned())]);
    world.add_orphan("island", &files);
    let (good, bad) = (world.good().to_owned(), world.bad().to_owned());
    for (first, second) in [("nowhere", "main"), ("main", "nowhere")] {
        let command = from_to(&world, first, second);
        refused(&world, command, &["has no commit nowhere", "spelling"]);
    }
    let command = from_to(&world, &bad, "main");
    refused(&world, command, &["the same commit", &bad]);
    let command = from_to(&world, &good, "island");
    refused(&world, command, &["no common history", &good]);
    let skip = world.bisect(&["--skip", "nowhere"], BENCHMARK);
    refused(&world, skip, &["has no commit nowhere"]);
}

#[test]
fn ends_that_are_reversed_are_swapped_in_the_command_that_is_printed() {
    let world = World::with_step(8, 5);
    let command = from_to(&world, "main", "HEAD~7");
    let finished = refused(&world, command, &["the ends are reversed", "did you mean"]);
    let command = finished.command("bisect");
    assert!(
        command.starts_with("pinpoint bisect 'HEAD~7' main -- sh -c "),
        "{command}"
    );
    world
        .paste(&command)
        .ends_with(0)
        .says(&format!("culprit {}", world.commits[5]));
}

#[test]
fn ends_without_a_common_history() {
    let world = World::with_step(4, 2);
    let tree = format!("{}^{{tree}}", world.good());
    let identity = ["-c", "user.name=Ada", "-c", "user.email=a@b"];
    let arguments = [&identity[..], &["commit-tree", "-m", "other", &tree]].concat();
    let other = crate::world::git(&world.repository, &arguments);
    let command = from_to(&world, &other, "main");
    refused(
        &world,
        command,
        &["no common history", "two commits of one line"],
    );
}

#[test]
fn a_repository_without_commits() {
    let world = World::new();
    let command = from_to(&world, "HEAD~1", "HEAD");
    refused(&world, command, &["has no commits yet"]);
}

#[test]
fn a_user_below_the_top_is_told_where_commands_begin() {
    let world = World::with_step(4, 2);
    let below = world.repository.join("bench/fast");
    fs::create_dir_all(&below).unwrap();
    let there = world.bisect(&[], BENCHMARK).in_dir(&below).ends_with(0);
    there.tells("begin at the top of the repository, and not in bench/fast/");
    let top = world.bisect(&[], BENCHMARK).ends_with(0);
    assert!(!top.stderr.contains("at the top"), "{top}");
}

#[test]
fn options_that_make_no_sense() {
    let world = World::with_step(4, 2);
    let patch = world.path("missing.patch");
    let patch = patch.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--frobnicate"], "--frobnicate"),
        (&["--format", "xml"], "there is no result format `xml`"),
        (
            &["--format", "regex:["],
            "is not a valid regular expression",
        ),
        (&["--format", "regex:x"], "no group named `value`"),
        (&["--format", "json:a"], "is not a JSON pointer"),
        (&["--direction", "left"], "left"),
        (&["--magnitude", "much"], "a number is needed"),
        (&["--magnitude", "-5%"], "say 5%"),
        (&["--magnitude", "0%"], "a change has a size"),
        (&["--timeout", "soon"], "--timeout"),
        (&["--build-jobs", "0"], "--build-jobs"),
        (&["--max-runs", "-1"], "-1"),
        (&["--env", "=VALUE"], "NAME=VALUE or NAME is needed"),
        (
            &["--env", "PINPOINT_TEST_UNSET"],
            "the environment has no variable of this name",
        ),
        (&["--cache-size", "big"], "--cache-size"),
        (&["--confidence", "2"], "confidence"),
        (&["--strategy", "luck"], "luck"),
        (&["--patch", patch], patch),
        (&["--aggregate", "mode"], "mode"),
    ];
    for (options, words) in cases {
        refused(&world, world.bisect(options, BENCHMARK), &[words]);
    }
    for arguments in [
        &["bisect"] as &[&str],
        &["bisect", "HEAD~1", "HEAD"],
        &["bisect", "HEAD~1", "HEAD", "--"],
        &["jobs"],
        &["bots"],
        &["bots", "target", "local"],
        &["jobs", "list", "--state", "happy"],
        &["completions", "tcl"],
        &["explain"],
        &[],
    ] {
        refused(&world, world.pinpoint(arguments), &["--help"]);
    }
    world.pinpoint(&["--help"]).ends_with(0).says("Exit codes");
    world
        .pinpoint(&["--version"])
        .ends_with(0)
        .says("pinpoint ");
}

#[test]
fn a_command_that_can_not_be_run() {
    let mut world = World::new();
    let commit = |number: &str| {
        BTreeMap::from([
            ("value", number.to_owned()),
            ("bench", "#!/bin/sh\necho v: 1\n".to_owned()),
            ("lost.sh", "#!/no/such/interpreter\n".to_owned()),
        ])
    };
    world.add(&["1", "2", "3"].map(commit));
    let ends = [world.good(), world.bad()];
    let bench = |program| world.pinpoint(&["bisect"]).and(&ends).and(&["--", program]);
    let missing = ["does not exist at the good end", world.good()];
    fails(&world, bench("no-such-program"), 2, &missing);
    fails(&world, bench("./missing.sh"), 2, &missing);
    fails(
        &world,
        bench("./bench"),
        2,
        &["can't be executed", "chmod +x"],
    );
    fails(&world, bench("./lost.sh"), 2, &["interpreter"]);
    let finished = world.pinpoint(&["bisect"]).and(&ends).and(&["--", ""]);
    finished.ends_with(2).tells("no benchmark command is given");
}

#[test]
fn a_command_whose_output_is_no_measurement() {
    let world = World::with_step(4, 2);
    let lines = ["--format", "lines"];
    let bench = |script: &str| world.bisect(&lines, script);
    fails(
        &world,
        bench("echo hello"),
        1,
        &["the benchmark fails at the good end", "name: "],
    );
    fails(&world, bench("exit 4"), 1, &["exit code 4"]);
    fails(
        &world,
        bench("echo broken >&2; exit 4"),
        1,
        &["exit code 4", "broken"],
    );
    for value in ["NaN", "inf", "-inf", "1e999"] {
        let script = format!("echo \"v: {value} ms\"");
        fails(&world, bench(&script), 2, &["not a finite number", value]);
        let auto = world.bisect(&[], &script);
        fails(&world, auto, 2, &["not a finite number", value]);
    }
    let json = world.bisect(&["--format", "json:/mean"], "echo '{\"mean\": null}'");
    fails(&world, json, 1, &["/mean"]);
}

#[test]
fn charts_that_do_not_exist_or_are_not_named() {
    let world = World::with_step(4, 2);
    let script = "echo parse: 1 ms; echo link: 2 ms";
    let wrong = world.bisect(&["--chart", "prase"], script);
    fails(
        &world,
        wrong,
        2,
        &["no chart `prase`", "`link`, `parse`", "--chart"],
    );
    let none = world.bisect(&[], script);
    fails(&world, none, 2, &["2 charts", "`link`, `parse`", "--chart"]);
}

#[test]
fn a_metric_in_doubt() {
    let world = World::with_step(4, 2);
    let script = "echo latency 12.5 ms";
    let line = "standard output, line 1: latency 12.5 ms";
    let words = [line, "--format 'regex:latency", "--format time"];
    fails(&world, world.bisect(&[], script), 2, &words);
    let script = "echo score: 7; echo sorted in 12.5 ms";
    let words = [
        "only `score` was read",
        "sorted in 12.5 ms",
        "--chart score",
    ];
    fails(&world, world.bisect(&[], script), 2, &words);
}

#[test]
fn ends_that_do_not_build() {
    let world = World::with_values([-1, 1, 1, 1]);
    let build = [
        "--build",
        "[ $(cat value) -gt 0 ] || { echo no value; exit 5; }",
    ];
    let good = world.bisect(&build, BENCHMARK);
    let words = ["does not build", "exit code 5: no value", world.good()];
    fails(&world, good, 1, &words);

    let world = World::with_values([1, 1, 1, -1]);
    let before = world.snapshot();
    let bad = world.bisect(&build, BENCHMARK).ends_with(1);
    bad.says("failed: the bad end can't be measured")
        .says("exit code 5: no value");
    assert_eq!(world.only_job()["state"], "failed");
    let json = [&build as &[&str], &["--output", "json"]].concat();
    let document = world.bisect(&json, BENCHMARK).ends_with(1).document();
    assert_eq!(document["status"], "failed");
    assert_eq!(world.snapshot(), before);
}

#[test]
fn a_store_that_can_not_be_used() {
    let world = World::with_values([1, 1]);
    world.bisect(&[], BENCHMARK).ends_with(3);
    let database = world.state_dir().join("pinpoint.db");
    settle(&world.state_dir());
    let whole = fs::read(&database).unwrap();
    let before = world.snapshot();

    let mut newer = whole.clone();
    // The user_version of an SQLite file is at byte 60, the highest byte first.
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    let mut foreign = whole.clone();
    foreign[68..72].copy_from_slice(&7_u32.to_be_bytes());
    let mut damaged = whole;
    damaged[..16].copy_from_slice(b"This is no store");
    for (bytes, words) in [
        (
            newer,
            &["has version 99", "newer pinpoint", "--state-dir"] as &[&str],
        ),
        (foreign, &["belongs to another program", "--state-dir"]),
        (damaged, &["damaged or not a database", "not modified"]),
        (b"too short".to_vec(), &["damaged or not a database"]),
    ] {
        fs::write(&database, &bytes).unwrap();
        for command in [
            world.bisect(&[], BENCHMARK),
            world.pinpoint(&["jobs", "list"]),
        ] {
            let finished = command.ends_with(1);
            finished.says_nothing().tells(database.to_str().unwrap());
            for word in words {
                finished.tells(word);
            }
        }
        assert_eq!(fs::read(&database).unwrap(), bytes, "left as it was");
    }
    assert_eq!(world.snapshot(), before);
}

/// Has the store write everything to its one file.
fn settle(state_dir: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = JobStore::open(state_dir).await.unwrap();
        store.jobs().count(&JobFilter::default()).await.unwrap();
        store.close().await;
    });
    let log = state_dir.join("pinpoint.db-wal");
    assert!(fs::metadata(log).map_or(0, |log| log.len()) == 0);
}

#[test]
fn a_state_directory_that_is_a_file() {
    let world = World::with_values([1, 1]);
    let file = world.path("file");
    fs::write(&file, "mine").unwrap();
    for place in [file.clone(), file.join("below")] {
        let place = place.to_str().unwrap();
        let finished = world
            .bisect(&["--state-dir", place], BENCHMARK)
            .ends_with(1);
        finished.says_nothing().tells(place).tells("--state-dir");
    }
    let finished = world
        .bisect(&[], BENCHMARK)
        .env("PINPOINT_STATE_DIR", &file)
        .ends_with(1);
    finished.tells(file.to_str().unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_home_that_does_not_exist() {
    let world = World::with_values([1, 1]);
    let finished = world
        .bisect(&[], BENCHMARK)
        .env("XDG_STATE_HOME", "relative")
        .env("HOME", "")
        .ends_with(2);
    finished.says_nothing().tells("--state-dir");
}

#[test]
fn jobs_that_do_not_exist_or_are_several() {
    let world = World::with_values([1, 1]);
    for _ in 0..2 {
        world.bisect(&[], BENCHMARK).ends_with(3);
    }
    let jobs = world.jobs();
    let names: Vec<&str> = jobs.iter().map(|job| job["id"].as_str().unwrap()).collect();
    for verb in ["show", "resume", "cancel"] {
        for unknown in ["ffffffff", "what", "", "../x"] {
            let finished = world.pinpoint(&["jobs", verb, unknown]).ends_with(2);
            finished
                .says_nothing()
                .tells("there is no job")
                .tells("jobs list");
        }
        let finished = world.pinpoint(&["jobs", verb, &names[0][..4]]).ends_with(2);
        finished.says_nothing().tells("may be any of");
        finished.tells(names[0]).tells(names[1]);
    }
    assert_eq!(world.jobs(), jobs);
}

#[test]
fn results_outside_the_work_tree_are_refused_and_nothing_is_removed() {
    let world = World::with_step(4, 2);
    let precious = world.path("precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("file"), "kept").unwrap();
    for outside in [precious.to_str().unwrap(), "../../..", "."] {
        world
            .bisect(&["--results", outside], "echo 1")
            .ends_with(2)
            .tells("not inside the work tree");
    }
    assert_eq!(
        std::fs::read_to_string(precious.join("file")).unwrap(),
        "kept"
    );
}

#[test]
fn cleaning_a_directory_of_others_removes_nothing() {
    let world = World::with_step(4, 2);
    let theirs = world.path("theirs");
    std::fs::create_dir_all(theirs.join("builds/mine")).unwrap();
    std::fs::create_dir_all(theirs.join("repositories/alpha")).unwrap();
    world
        .pinpoint(&["clean", "--state-dir", theirs.to_str().unwrap()])
        .ends_with(0);
    assert!(theirs.join("builds/mine").exists());
    assert!(theirs.join("repositories/alpha").exists());
}

#[test]
fn paths_that_no_commit_touches_are_refused() {
    let world = World::with_step(4, 2);
    world
        .bisect(&["--path", "nosuch"], "echo 1")
        .ends_with(2)
        .tells("touches nosuch");
}

#[test]
fn a_clone_of_a_dependency_that_is_none() {
    let world = World::with_step(4, 2);
    let place = world.path("elsewhere");
    fs::create_dir(&place).unwrap();
    let place = place.to_str().unwrap();
    let url = "https://host.example/skia.git";
    let refusal = |option: &str, words: &[&str]| {
        let options = ["--repository", option];
        refused(&world, world.bisect(&options, BENCHMARK), words);
    };
    refusal(
        &format!("{url}={place}"),
        &["--repository", place, "is not in a git repository", url],
    );
    refusal(
        &format!("{url}={place}/missing"),
        &["--repository", "missing", "is not in a git repository", url],
    );
    for wrong in [url, "=dir", "url="] {
        refusal(wrong, &["--repository", "URL=DIR is needed"]);
    }
}

#[test]
#[cfg(feature = "temporal")]
fn a_temporal_server_that_is_not_there() {
    let world = World::with_step(4, 2);
    // The port is closed again.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let config = world.path("bots.toml");
    fs::write(&config, "[bots.any]\nlocal = true\n").unwrap();
    let config = config.to_str().unwrap();
    let worker = [
        "worker",
        "--bot",
        "any",
        "--bot-config",
        config,
        "--temporal",
    ];
    for (command, is_worker) in [(&worker[..], true), (&["temporal", "setup"][..], false)] {
        for tls in ["false", "true"] {
            let command = world.pinpoint(command).env("TEMPORAL_TLS", tls);
            let command = command.and(&["--temporal-address", &address]);
            let told = match is_worker {
                // It waits for the server.
                true => {
                    let running = command.start();
                    crate::world::until("a second attempt", || {
                        running.stderr().contains("trying again in 2 s")
                    });
                    running.signal(libc::SIGTERM);
                    running.ends_with(0)
                }
                false => command.ends_with(1),
            };
            let how = if tls == "true" { "with" } else { "without" };
            told.says_nothing()
                .tells(&format!("cannot reach Temporal at {address} {how} TLS"))
                .tells("refused")
                .tells("--temporal-address HOST:PORT");
        }
    }
    let options = ["temporal", "setup", "--temporal-address"];
    let plain = world.pinpoint(&options).and(&[format!("http://{address}")]);
    let plain = plain.env("TEMPORAL_API_KEY", "secret").ends_with(1);
    plain.says_nothing().tells("is without TLS");
}
