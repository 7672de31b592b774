//! The history of values: files of results of four tools by commit, every question, and kills.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[cfg(feature = "postgres")]
use crate::postgres::Database;
use crate::world::{Dice, Finished, World, git};

const COMMITS: usize = 8;

/// The outputs of four tools for a commit. From the fifth commit on, sorting takes twice as long.
fn results(number: usize) -> [(&'static str, &'static str, String); 4] {
    let step = if number < 4 { 1.0 } else { 2.0 };
    let time = step + number as f64 / 100.0;
    let hyperfine = json!({ "results": [{
        "command": "sort", "mean": time, "stddev": 0.1, "median": time, "user": 0.1,
        "system": 0.1, "min": time, "max": time, "times": [time, time, time], "exit_codes": [0, 0, 0],
    }] });
    let gbench = json!({
        "context": { "date": "2026-11-28", "num_cpus": 2, "library_build_type": "release" },
        "benchmarks": [{
            "name": "BM_parse", "run_name": "BM_parse", "run_type": "iteration",
            "iterations": 100, "real_time": 50.0 + number as f64, "cpu_time": 50.0, "time_unit": "ns",
        }],
    });
    let gobench = format!(
        "goos: linux\ngoarch: amd64\npkg: example.org/x\nBenchmarkHash-2 \t 1000 \t {} ns/op\nPASS\n",
        100 + number
    );
    let pytest = json!({
        "machine_info": {}, "commit_info": {}, "version": "4.0.0", "datetime": "2026-11-28",
        "benchmarks": [{
            "group": null, "name": "test_load", "fullname": "tests/x.py::test_load", "params": null,
            "stats": { "min": time, "max": time, "mean": time, "stddev": 0.0, "rounds": 1,
                "median": time, "data": [time], "iterations": 1 },
        }],
    });
    [
        ("hyperfine.json", "hyperfine", hyperfine.to_string()),
        ("gbench.json", "gbench", gbench.to_string()),
        ("go.txt", "go", gobench),
        ("pytest.json", "pytest", pytest.to_string()),
    ]
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A repository with results of each commit, all of them ingested.
fn filled() -> World {
    let mut world = World::with_step(COMMITS, 4);
    let all = world.commits.clone();
    for (number, commit) in all.iter().enumerate() {
        for os in ["linux", "mac"] {
            let folder = world.path(&format!("results/{number}/{os}"));
            for (name, _, content) in results(number) {
                write(&folder.join(name), &content);
            }
            let key = format!("os={os}");
            let folder = folder.to_str().unwrap();
            world
                .pinpoint(&["ingest", "--commit", commit, "--key", &key, folder])
                .ends_with(0)
                .says("4 files taken");
        }
    }
    world.commits = all;
    world
}

fn document(world: &World, words: &[&str]) -> Value {
    let asked = world.pinpoint(words).and(&["--output", "json"]);
    asked.ends_with(0).document()
}

const SORT: &str = ",improvement_direction=down,os=linux,test=sort,unit=s,";

#[test]
fn results_of_four_tools_answer_every_question() {
    let world = filled();
    let params = document(&world, &["traces", "params", "os=linux"]);
    assert_eq!(params["params"]["os"], json!({ "linux": params["traces"] }));
    let tests: Vec<&String> = params["params"]["test"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    for test in ["sort", "BM_parse", "Hash"] {
        assert!(
            tests.iter().any(|it| it.contains(test)),
            "{test}: {tests:?}"
        );
    }

    let values = document(
        &world,
        &[
            "traces",
            "query",
            "test=sort&os=linux",
            "--commits",
            "2..HEAD",
        ],
    );
    assert_eq!(
        values["traces"][SORT],
        json!([1.02, 1.03, 2.04, 2.05, 2.06, 2.07])
    );
    assert_eq!(values["commits"][0]["subject"], "Change number 2");
    assert_eq!(values["commits"][5]["hash"], world.commits[7].as_str());
    let csv = world.pinpoint(&[
        "traces",
        "query",
        "test=sort&os=linux",
        "--last",
        "2",
        "--output",
        "csv",
    ]);
    csv.ends_with(0)
        .says(&format!("trace,6,7\n\"{SORT}\",2.06,2.07\n"));
    let text = world
        .pinpoint(&["traces", "query", "test=sort", "--last", "3"])
        .ends_with(0);
    text.says("2 traces")
        .says("os=linux")
        .says("Change number 7");

    let formula = "ratio(ave(filter(\"test=sort&os=linux\")), ave(filter(\"test=sort&os=mac\")))";
    let ratio = document(
        &world,
        &["traces", "query", "--formula", formula, "--last", "2"],
    );
    assert_eq!(ratio["traces"][format!("@{formula}")], json!([1.0, 1.0]));
    let pivot = document(
        &world,
        &[
            "traces",
            "pivot",
            "test=sort",
            "--by",
            "test",
            "--operation",
            "sum",
            "--summary",
            "max",
            "--last",
            "2",
        ],
    );
    assert_eq!(pivot["rows"][0]["values"], json!([4.12, 4.14]));
    assert_eq!(pivot["rows"][0]["summary"], json!([4.14]));

    let source = document(&world, &["traces", "source", SORT, "HEAD~1"]);
    assert_eq!(source["value"], 2.06);
    assert!(
        source["file"]
            .as_str()
            .unwrap()
            .ends_with("results/6/linux/hyperfine.json")
    );
    let shortcut = world
        .pinpoint(&["traces", "shortcut", "--query", "test=sort"])
        .ends_with(0);
    let id = shortcut.stdout.trim();
    let through = format!("count(shortcut(\"{id}\"))");
    let found = document(
        &world,
        &["traces", "query", "--formula", &through, "--last", "1"],
    );
    assert_eq!(found["traces"][format!("@{through}")], json!([2.0]));

    let misspelled = world
        .pinpoint(&["traces", "query", "tset=sort"])
        .ends_with(0);
    misspelled.tells("no trace has the key `tset`; the nearest is `test`");
    world
        .pinpoint(&["traces", "query", "--limit", "1"])
        .ends_with(2)
        .tells("--limit N");
    world
        .pinpoint(&["traces", "query", "--commits", "4711"])
        .ends_with(2)
        .tells("commit `4711`");
    world
        .pinpoint(&["traces", "query", "--formula", "ave(filter(\"a=b\")) x"])
        .ends_with(2)
        .tells("column 20");
    world
        .pinpoint(&["traces", "query", "--dataset", "other"])
        .ends_with(2)
        .tells("no dataset `other`");
}

#[test]
fn two_values_of_a_key_two_commits_and_a_try_are_compared() {
    let world = filled();
    let tried = json!({
        "version": 1, "git_hash": world.commits[7], "issue": "4711", "patchset": "3",
        "results": [{ "key": { "improvement_direction": "down", "os": "linux", "test": "sort", "unit": "s" }, "measurement": 4.14 }],
    });
    write(&world.path("try.json"), &tried.to_string());
    let path = world.path("try.json");
    let ingested = world
        .pinpoint(&["ingest", path.to_str().unwrap()])
        .ends_with(0);
    ingested.says("1 of tries");
    world
        .pinpoint(&["traces", "tries"])
        .ends_with(0)
        .says("4711/3");
    let report = document(&world, &["traces", "tries", "4711/3"]);
    assert_eq!(report["traces"][0]["trace"], SORT);
    assert!(
        report["traces"][0]["deviation"].as_f64().unwrap() > 3.0,
        "{report:#}"
    );

    let table = document(&world, &["verticals", "os", "linux", "mac"]);
    assert_eq!(table["rows"][0]["mean"], 1.0);
    let between = document(
        &world,
        &["verticals", "--between", "2..6", "test=sort&os=linux"],
    );
    assert_eq!(between["rows"][0]["cells"][0]["ratio"], 1.02 / 2.06);
    assert_eq!(between["direction"], "down");
    let file = world.path("map.html");
    let words = [
        "verticals",
        "--try",
        "4711/3",
        "--report",
        file.to_str().unwrap(),
    ];
    world
        .pinpoint(&words)
        .ends_with(0)
        .says("sort")
        .says("2.000 -");
    let page = fs::read_to_string(&file).unwrap();
    assert!(
        page.contains("2.000 ▲") && !page.contains("http:"),
        "{page}"
    );
    world
        .pinpoint(&["verticals", "os", "linux"])
        .ends_with(2)
        .tells("two of its values");
    world
        .pinpoint(&["verticals", "os", "linux", "mca"])
        .ends_with(0)
        .tells("the nearest is `mac`");
}

#[test]
fn annotations_are_shown_and_joined_series_are_one_row() {
    let world = filled();
    let add = world.pinpoint(&[
        "annotate",
        "HEAD~1",
        "new compiler",
        "--query",
        "os=linux",
        "--author",
        "Ada",
    ]);
    add.ends_with(0).says("note 1 added");
    let text = world
        .pinpoint(&["traces", "query", "test=sort&os=linux"])
        .ends_with(0);
    text.says("note 1 at commit 6: new compiler");
    world
        .pinpoint(&["annotate", "edit", "1", "gcc 15"])
        .ends_with(0);
    world
        .pinpoint(&["annotate", "list", "--commits", "6.."])
        .ends_with(0)
        .says("gcc 15");
    let mac = SORT.replace("linux", "mac");
    world
        .pinpoint(&["annotate", "join", "4", &mac, SORT])
        .ends_with(0);
    let path = world.path("more.json");
    let new = json!({ "version": 1, "git_hash": world.commits[7], "results": [
        { "key": { "test": "new" }, "measurement": 7.5 }] });
    write(&path, &new.to_string());
    world
        .pinpoint(&["ingest", path.to_str().unwrap()])
        .ends_with(0);
    world
        .pinpoint(&["annotate", "join", "7", SORT, ",test=new,"])
        .ends_with(0);
    let joined = document(
        &world,
        &["traces", "query", "test=new", "--commits", "5..7"],
    );
    assert_eq!(joined["traces"], json!({ ",test=new,": [2.05, 2.06, 7.5] }));
    world.pinpoint(&["annotate", "delete", "1"]).ends_with(0);
    world
        .pinpoint(&["annotate", "delete", "1"])
        .ends_with(2)
        .tells("annotate list");
    let list = document(&world, &["annotate", "list"]);
    assert_eq!(list["annotations"].as_array().unwrap().len(), 2);
}

/// Runs git in the repository with somebody who commits.
fn as_ada(world: &World, words: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=a@b.c"];
    git(&world.repository, &[&identity[..], words].concat())
}

#[test]
fn a_file_waits_until_its_commit_is_on_the_line() {
    let mut world = World::with_step(3, 2);
    git(&world.repository, &["checkout", "-q", "--detach", "main"]);
    as_ada(&world, &["commit", "-q", "--allow-empty", "-m", "later"]);
    let later = git(&world.repository, &["rev-parse", "HEAD"]);
    git(&world.repository, &["checkout", "-q", "main"]);
    let file = |hash: &str| json!({ "version": 1, "git_hash": hash, "results": [{ "key": { "t": "u" }, "measurement": 1.5 }] });
    write(&world.path("in/a.json"), &file(&later).to_string());
    write(
        &world.path("in/b.json"),
        &file(&world.commits[0]).to_string(),
    );
    write(
        &world.path("in/damaged.json"),
        &file(&later).to_string()[..60],
    );
    write(&world.path("in/empty.json"), "");
    let folder = world.path("in");
    let folder = folder.to_str().unwrap();
    let found = world
        .pinpoint(&["ingest", folder, "--output", "json"])
        .ends_with(2)
        .document();
    assert_eq!(found["files"]["taken"], 1, "{found:#}");
    assert_eq!(found["waiting"][0]["commit"], later.as_str());
    let refused: Vec<&str> = { found["refused"].as_array().unwrap().iter() }
        .map(|it| it["path"].as_str().unwrap().rsplit('/').next().unwrap())
        .collect();
    assert_eq!(refused, ["damaged.json", "empty.json"]);
    let again = world.pinpoint(&["ingest", folder]).ends_with(2);
    again
        .says("0 files taken")
        .says("2 known already")
        .says("damaged.json: ");

    git(&world.repository, &["merge", "-q", "--ff-only", &later]);
    world.commits.push(later);
    world
        .pinpoint(&["ingest"])
        .ends_with(0)
        .says("1 new value")
        .says("1 new commit");
    let values = document(&world, &["traces", "query", "t=u", "--commits", "HEAD"]);
    assert_eq!(values["traces"][",t=u,"], json!([1.5]));

    // Commits of a merged branch have no number.
    git(
        &world.repository,
        &["checkout", "-q", "-b", "side", "HEAD~1"],
    );
    as_ada(&world, &["commit", "-q", "--allow-empty", "-m", "side"]);
    let side = git(&world.repository, &["rev-parse", "HEAD"]);
    git(&world.repository, &["checkout", "-q", "main"]);
    as_ada(&world, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    write(&world.path("side.json"), &file(&side).to_string());
    let path = world.path("side.json");
    let waits = world
        .pinpoint(&["ingest", path.to_str().unwrap()])
        .ends_with(0);
    waits
        .says("1 new commit")
        .says("1 waiting")
        .says(&side[..10]);
    let shallow = world.path("shallow");
    let url = format!("file://{}", world.repository.display());
    git(
        &world.repository,
        &[
            "clone",
            "-q",
            "--depth",
            "1",
            &url,
            shallow.to_str().unwrap(),
        ],
    );
    let words = [
        "ingest",
        "--dataset",
        "shallow",
        "--repo",
        shallow.to_str().unwrap(),
    ];
    world
        .pinpoint(&words)
        .ends_with(2)
        .tells("git fetch --unshallow");

    // Another repository has other commits.
    let other = World::with_values([7, 8, 9, 10, 11]);
    let words = ["ingest", "--repo", other.repository.to_str().unwrap()];
    world
        .pinpoint(&words)
        .ends_with(2)
        .tells("another repository")
        .tells("--dataset NAME");
    let nowhere = world.path("nowhere");
    fs::create_dir(&nowhere).unwrap();
    world
        .pinpoint(&["ingest"])
        .in_dir(&nowhere)
        .ends_with(2)
        .tells("--repo");
    world
        .pinpoint(&["ingest", "missing.json"])
        .ends_with(2)
        .tells("missing.json");
}

#[test]
fn commits_of_another_branch_get_no_number_of_the_main_one() {
    let world = World::with_step(3, 2);
    git(&world.repository, &["checkout", "-q", "-b", "work"]);
    as_ada(&world, &["commit", "-q", "--allow-empty", "-m", "work"]);
    write(&world.path("out.txt"), "sort: 3 ms\n");
    let path = world.path("out.txt");
    let words = ["ingest", "--commit", "HEAD", path.to_str().unwrap()];
    let waits = world.pinpoint(&words).ends_with(0);
    waits
        .says("0 files taken, 0 new values, 1 waiting, 3 new commits")
        .says("commits of main")
        .says("1 file waits: its commit is not on that line yet");
    git(&world.repository, &["checkout", "-q", "main"]);
    git(&world.repository, &["merge", "-q", "--ff-only", "work"]);
    world
        .pinpoint(&["ingest"])
        .ends_with(0)
        .says("1 new value, 1 new commit");
    // Asked for, another line is numbered.
    git(&world.repository, &["checkout", "-q", "-b", "other"]);
    as_ada(&world, &["commit", "-q", "--allow-empty", "-m", "other"]);
    let words = ["ingest", "--dataset", "other", "--main", "HEAD"];
    world
        .pinpoint(&words)
        .ends_with(0)
        .says("5 new commits; dataset other, commits of HEAD");
}

#[test]
fn old_tiles_are_removed_and_the_rest_stays() {
    let world = World::with_step(130, 4);
    for number in [0, 129] {
        let file = json!({ "version": 1, "git_hash": format!("CP:{number}"), "results": [
            { "key": { "t": "u" }, "measurement": number }] });
        write(&world.path(&format!("in/{number}.json")), &file.to_string());
    }
    let folder = world.path("in");
    world
        .pinpoint(&["ingest", folder.to_str().unwrap()])
        .ends_with(0);
    let last = || document(&world, &["traces", "query", "--last", "9"])["traces"][",t=u,"].clone();
    assert_eq!(last(), json!([0.0, 129.0]));
    let purged = world.pinpoint(&["traces", "purge", "--before", "HEAD"]);
    purged.ends_with(0).says("1 tile removed; commit 128");
    assert_eq!(last(), json!([129.0]));
    world
        .pinpoint(&["traces", "list"])
        .ends_with(0)
        .says("default");
}

/// Files of Skia's format, 500 values each.
fn many(world: &World, files: usize) -> String {
    for number in 0..files {
        let mut results = String::new();
        for test in 0..500 {
            let comma = if test == 0 { "" } else { "," };
            let value = number * 1000 + test;
            let _ = write!(
                results,
                "{comma}{{\"key\":{{\"test\":\"t{test}\",\"bot\":\"b{}\"}},\"measurement\":{value}.5}}",
                number % 3
            );
        }
        let hash = &world.commits[number % world.commits.len()];
        let content = format!("{{\"version\":1,\"git_hash\":\"{hash}\",\"results\":[{results}]}}");
        write(
            &world.path(&format!("many/2026/11/28/{:02}/{number}.json", number % 24)),
            &content,
        );
    }
    world.path("many").to_str().unwrap().to_owned()
}

#[test]
fn a_killed_ingest_leaves_nothing_half_written_and_the_same_store_when_it_is_done_again() {
    let world = World::with_step(6, 3);
    let folder = many(&world, 250);
    let all = |finished: Finished| {
        assert_eq!(finished.stdout.lines().count(), 1501, "{finished}");
        finished.stdout
    };
    let ask = |state: &str| {
        let asked = world.pinpoint(&["traces", "query", "--commits", "0..5", "--limit", "9999"]);
        all(asked
            .and(&["--output", "csv", "--state-dir", state])
            .ends_with(0))
    };
    let began = Instant::now();
    world
        .pinpoint(&["ingest", &folder, "--state-dir", "whole"])
        .ends_with(0)
        .says("250 files taken");
    let whole = began.elapsed();
    let mut dice = Dice::new();
    let mut killed = 0;
    for _ in 0..3 {
        let running = world
            .pinpoint(&["ingest", &folder, "--state-dir", "killed"])
            .start();
        std::thread::sleep(Duration::from_millis(dice.below(whole.as_millis() as u64)));
        running.signal(*dice.one_of(&[libc::SIGKILL, libc::SIGINT]));
        killed += usize::from(running.wait().was_stopped());
    }
    world
        .pinpoint(&["ingest", &folder, "--state-dir", "killed"])
        .ends_with(0);
    assert_eq!(ask("killed"), ask("whole"), "after {killed} kills");
}

#[cfg(feature = "postgres")]
#[test]
fn a_history_in_postgresql_answers_the_same() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(Database::new());
    let world = World::with_step(3, 2);
    write(&world.path("go.txt"), &results(1)[2].2);
    let path = world.path("go.txt");
    let of = |store: bool, words: &[&str]| {
        let asked = world.pinpoint(words);
        let asked = if store {
            asked.env("PINPOINT_STORE", database.url())
        } else {
            asked
        };
        asked.ends_with(0).stdout
    };
    let words = [
        "ingest",
        "--commit",
        "HEAD",
        "--key",
        "os=linux",
        path.to_str().unwrap(),
    ];
    assert_eq!(of(true, &words), of(false, &words));
    let words = ["traces", "query", "os=linux", "--output", "json"];
    assert_eq!(of(true, &words), of(false, &words));
}
