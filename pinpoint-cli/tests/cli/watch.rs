//! From values to a culprit: ingested, watched, bisected; and killed on the way.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[cfg(feature = "postgres")]
use crate::postgres::Database;
use crate::world::{Dice, Pinpoint, World, until};

/// The commits, and the first slow one among them.
pub(crate) const COMMITS: usize = 56;
pub(crate) const SLOW: usize = 40;

/// Kills on the way to the culprit.
const KILLS: usize = 20;

/// The longest that a watch lives, in milliseconds.
const MAX_LIFE_MS: u64 = 400;

const BENCH: &str = "sh bench.sh {test}";

/// A benchmark whose values follow from commit and run alone, and that is not quite without noise.
const SCRIPT: &str =
    "sleep 0.02; echo \"$1: $(($(cat value) * 1000 + ${PINPOINT_RUN:-0} * 37 % 101)) ms\"\n";

/// A repository of a benchmark; from one commit on it is slower.
pub(crate) fn project() -> World {
    let mut world = World::new();
    let commits: Vec<_> = (0..COMMITS)
        .map(|number| {
            let value = if number < SLOW { 10 } else { 12 };
            std::collections::BTreeMap::from([
                ("value", format!("{value}\n")),
                ("number", number.to_string()),
                ("bench.sh", SCRIPT.to_owned()),
            ])
        })
        .collect();
    world.add(&commits);
    fs::create_dir(world.path("results")).unwrap();
    world
}

/// Writes what a build machine measured of a commit: the file names it.
pub(crate) fn measure(world: &World, number: usize) {
    measure_as(world, number, "sort");
}

/// The same, with another name for the test that becomes slower.
fn measure_as(world: &World, number: usize, test: &str) {
    let noise = (number * number * 37 + number * 11) % 101;
    let value = if number < SLOW { 10_000 } else { 12_000 } + noise;
    let steady = 500 + (number * number * 53 + number * 7) % 101;
    let result = |test: &str, value: usize| {
        json!({
            "key": { "test": test, "unit": "ms", "improvement_direction": "down" },
            "measurement": value,
        })
    };
    let file = json!({
        "version": 1,
        "git_hash": world.commits[number],
        "key": { "os": "linux", "benchmark": "micro" },
        "results": [result(test, value), result("hash", steady)],
    });
    let path = world.path(&format!("results/{number:03}.json"));
    // Moved in place, as whole files come.
    let unfinished = world.path("unfinished");
    fs::write(&unfinished, file.to_string()).unwrap();
    fs::rename(unfinished, path).unwrap();
}

pub(crate) fn watch(world: &World) -> Pinpoint {
    let results = world.path("results");
    let results = results.to_str().unwrap();
    world
        .pinpoint(&["watch", results, "--format", "skia", "--quiet-time", "0s"])
        .and(&["--options", "--pairs 6 --max-runs 300"])
}

/// An alert on all traces, which is run from the first value on.
pub(crate) fn with_alert(action: &str) -> World {
    let world = project();
    measure(&world, 0);
    let results = world.path("results");
    let results = results.to_str().unwrap();
    world
        .pinpoint(&["ingest", "--format", "skia", results])
        .ends_with(0);
    world
        .pinpoint(&["alerts", "new", "--query", "os=linux", "--direction", "UP"])
        .and(&["--action", action, "--command", BENCH, "--name", "speed"])
        .ends_with(0)
        .says("alert 1 added");
    world
}

pub(crate) fn document(world: &World, words: &[&str]) -> Value {
    let asked = world.pinpoint(words).and(&["--output", "json"]);
    asked.ends_with(0).document()
}

/// The regressions and their groups, without times.
fn end(world: &World) -> Value {
    let list = document(world, &["regressions", "list", "--all"]);
    let groups = list["groups"].as_array().unwrap().iter().map(|group| {
        let members = group["members"].as_array().unwrap().iter();
        let members = members.map(|it| {
            json!({
                "id": it["id"], "range": it["range"], "hash": it["hash"], "triage": it["triage"],
                "outcome": it["outcome"]["commit"], "trace": it["change"]["trace"],
            })
        });
        json!({
            "name": group["name"], "members": members.collect::<Vec<_>>(),
            "outcome": group["outcome"]["outcome"], "commit": group["outcome"]["hash"],
        })
    });
    let counts = &list["alerts"][0];
    json!({
        "groups": groups.collect::<Vec<_>>(),
        "ungrouped": list["ungrouped"],
        "alarms": counts["alarms"],
        "values": counts["values"],
        "jobs": world.jobs().len(),
    })
}

/// Checks that the right commit is the bug.
fn is_found(world: &World, end: &Value) {
    let group = &end["groups"][0];
    assert_eq!(end["groups"].as_array().unwrap().len(), 1, "{end:#}");
    assert_eq!(group["commit"], world.commits[SLOW].as_str(), "{end:#}");
    let member = &group["members"][0];
    assert_eq!(member["triage"], "Bug", "{end:#}");
    assert_eq!(member["outcome"], SLOW, "{end:#}");
    assert_eq!(end["values"], 2 * COMMITS, "{end:#}");
    assert_eq!(end["jobs"], 1, "{end:#}");
}

#[test]
fn a_slowdown_becomes_a_bug_whatever_is_killed_on_the_way() {
    let calm = with_alert("bisect");
    for number in 1..COMMITS {
        measure(&calm, number);
    }
    // The first run tells of the regression, bisects it, and writes back the outcome.
    let seen = watch(&calm).ends_with(0);
    let events: Vec<Value> = (seen.stdout.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|it| it["event"].as_str().unwrap())
        .collect();
    for kind in ["detected", "tested", "acted_on", "bisected"] {
        assert_eq!(
            kinds.iter().filter(|it| **it == kind).count(),
            1,
            "{kinds:?}"
        );
    }
    let numbers = events.iter().map(|it| it["number"].as_u64().unwrap());
    assert!(numbers.eq(0..events.len() as u64));
    // Nothing is told twice.
    let again = watch(&calm).ends_with(0);
    assert_eq!(again.stdout, "");
    let expected = end(&calm);
    is_found(&calm, &expected);

    let killed = with_alert("bisect");
    let mut dice = Dice::new();
    let mut rest = 1..COMMITS;
    let mut kills = 0;
    let began = Instant::now();
    while kills < KILLS && began.elapsed() < Duration::from_secs(300) {
        for number in rest.by_ref().take(4) {
            measure(&killed, number);
        }
        let running = watch(&killed).start();
        let life = Duration::from_millis(dice.below(MAX_LIFE_MS));
        std::thread::sleep(life);
        // One that has ended by itself is killed, too: nothing happens.
        running.signal(libc::SIGKILL);
        let finished = running.wait();
        if finished.was_killed() {
            kills += 1;
        } else {
            assert!(finished.status.success(), "{finished}");
            // Nothing is left to be killed.
            if rest.is_empty() {
                break;
            }
        }
    }
    println!("{kills} kills");
    for number in rest {
        measure(&killed, number);
    }
    watch(&killed).ends_with(0);
    is_found(&killed, &end(&killed));
    assert_eq!(end(&killed), expected);
}

#[test]
fn a_series_that_goes_on_under_another_id_is_watched_as_one() {
    const RENAMED: usize = 38;
    const LATE: usize = 29;
    let world = with_alert("noaction");
    let trace =
        |test| format!(",benchmark=micro,improvement_direction=down,os=linux,test={test},unit=ms,");
    for number in (1..COMMITS).filter(|it| *it != LATE) {
        let test = if number < RENAMED { "sort" } else { "quick" };
        measure_as(&world, number, test);
    }
    watch(&world).ends_with(0);
    // By itself, the new one is too short for its change to show.
    let list = document(&world, &["regressions", "list"]);
    assert_eq!(list["groups"], json!([]));
    assert_eq!(list["quiet"][0]["trace"], trace("sort"));
    assert_eq!(list["quiet"][0]["successor"]["trace"], trace("quick"));
    let commit = &world.commits[RENAMED];
    let joined = ["annotate", "join", commit, &trace("sort"), &trace("quick")];
    world.pinpoint(&joined).ends_with(0);
    // A late value of the old id is one of the series.
    measure_as(&world, LATE, "sort");
    watch(&world).ends_with(0);
    let list = document(&world, &["regressions", "list"]);
    let found = &list["groups"][0]["members"][0];
    assert_eq!(found["change"]["trace"], trace("quick"), "{list:#}");
    assert_eq!(found["hash"], world.commits[SLOW].as_str());
    assert_eq!(list["quiet"], json!([]));
    assert_eq!(list["alerts"][0]["values"], 2 * COMMITS);
}

#[test]
fn a_first_look_may_leave_old_changes_out() {
    let world = with_alert("bisect");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    let since = &world.commits[52];
    watch(&world).and(&["--since", since]).ends_with(0);
    let list = document(&world, &["regressions", "list", "--all"]);
    assert_eq!(
        (&list["groups"], &list["ungrouped"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(list["alerts"][0]["values"], 2 * (COMMITS - 52));
}

#[test]
fn a_watch_looks_again_until_it_is_interrupted() {
    let world = with_alert("noaction");
    let running = watch(&world).and(&["--forever", "--every", "20ms"]).start();
    let looks = |count| {
        until("a look", || {
            running.stdout().matches("\"tested\"").count() >= count
        });
    };
    looks(1);
    measure(&world, 1);
    looks(2);
    running.signal(libc::SIGINT);
    let finished = running.ends_with(130);
    finished.tells("the same command continues");
    assert_eq!(end(&world)["values"], 4);
}

/// Two watches of one dataset at once, in the store of this URL or in a file.
fn two_watch_at_once(store: Option<&str>) {
    let on = |asked: Pinpoint| match store {
        Some(url) => asked.env("PINPOINT_STORE", url),
        None => asked,
    };
    let world = project();
    for number in 0..COMMITS {
        measure(&world, number);
    }
    let results = world.path("results");
    let results = results.to_str().unwrap();
    on(world.pinpoint(&["ingest", "--format", "skia", results])).ends_with(0);
    let alert = ["alerts", "new", "--query", "os=linux", "--action", "bisect"];
    on(world.pinpoint(&alert).and(&["--command", BENCH])).ends_with(0);
    let both = [on(watch(&world)).start(), on(watch(&world)).start()];
    for watch in both {
        watch.ends_with(0);
    }
    // What one of them left to the other.
    on(watch(&world)).ends_with(0);
    let asked = on(world.pinpoint(&["regressions", "list", "--output", "json"]));
    let list = asked.ends_with(0).document();
    let group = &list["groups"][0];
    assert_eq!(
        group["outcome"]["hash"],
        world.commits[SLOW].as_str(),
        "{list:#}"
    );
    assert_eq!(list["alerts"][0]["values"], 2 * COMMITS, "{list:#}");
    let id = group["members"][0]["id"].as_str().unwrap();
    let shown = on(world.pinpoint(&["regressions", "show", id, "--output", "json"]));
    let shown = shown.ends_with(0).document();
    let events = shown["regressions"][0]["events"].as_array().unwrap();
    for kind in ["detected", "acted_on", "bisected"] {
        let times = events.iter().filter(|it| it["event"] == kind).count();
        assert_eq!(times, 1, "{kind}: {shown:#}");
    }
    let jobs = on(world.pinpoint(&["jobs", "list", "--output", "json"]));
    let jobs = jobs.ends_with(0).document()["jobs"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(jobs, 1);
}

#[test]
fn a_bisection_that_cannot_be_started_holds_up_no_other() {
    let world = with_alert("bisect");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    // Without a command of its own, it has the one of the watch.
    let bare = world.path("bare.json");
    let text = r#"{"query": "os=linux", "direction": "UP", "action": "bisect"}"#;
    fs::write(&bare, text).unwrap();
    let bare = ["alerts", "update", "1", bare.to_str().unwrap()];
    world.pinpoint(&bare).ends_with(0).tells("needs --command");
    let second = [
        "alerts",
        "new",
        "--query",
        "",
        "--action",
        "bisect",
        "--command",
        BENCH,
    ];
    world.pinpoint(&second).ends_with(0);
    let watched = watch(&world).and(&["--max-jobs", "1", "--command", "sh 'bench.sh"]);
    let watched = watched.ends_with(1);
    watched.tells("a quote that is not closed");
    let list = document(&world, &["regressions", "list"]);
    let groups = list["groups"].as_array().unwrap();
    let of_second = groups.iter().find(|it| it["alert"] == "2").unwrap();
    assert_eq!(
        of_second["outcome"]["hash"],
        world.commits[SLOW].as_str(),
        "{list:#}"
    );
    // What the second one found is the first one's, too: the regression is one.
    let of_first = groups.iter().find(|it| it["alert"] == "1").unwrap();
    assert_eq!(of_first["members"][0]["triage"], "Bug");
    assert_eq!(world.jobs().len(), 1);
}

#[test]
fn what_cannot_be_bisected_yet_is_an_error_and_a_full_day_is_none() {
    let world = with_alert("bisect");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    let full = watch(&world).and(&["--max-jobs", "0"]).ends_with(0);
    full.tells("--max-jobs");
    let unknown = ["alerts", "update", "1", "--command", "./bench {nokey}"];
    world.pinpoint(&unknown).ends_with(0);
    // Each look says it by its exit code, also where nothing is new.
    for _ in 0..2 {
        watch(&world).ends_with(1).tells("is not bisected yet");
    }
    let bisect = ["alerts", "update", "1", "--command", BENCH];
    world.pinpoint(&bisect).ends_with(0);
    watch(&world).ends_with(0);
    assert_eq!(world.jobs().len(), 1);
}

#[test]
fn a_bisection_that_failed_is_told_once_and_started_again_by_hand() {
    let world = with_alert("bisect");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    let bench = ["alerts", "update", "1", "--command", "sh bnech.sh {test}"];
    world.pinpoint(&bench).ends_with(0);
    let failed = watch(&world).ends_with(1);
    failed.tells("the bisection failed");
    let again = failed.command("regressions bisect ");
    // Nothing is due.
    watch(&world).ends_with(0);
    assert_eq!(world.jobs().len(), 1);
    let bench = ["alerts", "update", "1", "--command", BENCH];
    world.pinpoint(&bench).ends_with(0);
    let again = world.paste(&again).and(&["--options", "--pairs 6"]);
    again.ends_with(0).says(&world.commits[SLOW]);
    assert_eq!(world.jobs().len(), 2);
    let list = document(&world, &["regressions", "list"]);
    let id = list["groups"][0]["members"][0]["id"].as_str().unwrap();
    let shown = document(&world, &["regressions", "show", id]);
    let events = shown["regressions"][0]["events"].as_array().unwrap();
    let outcomes: Vec<_> = (events.iter())
        .filter(|it| it["event"] == "bisected")
        .map(|it| &it["outcome"])
        .collect();
    assert_eq!(outcomes, ["failed", "culprit"]);
}

#[cfg(target_os = "linux")]
#[test]
fn events_that_cannot_be_written_are_an_error_and_come_again() {
    let world = with_alert("noaction");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let failed = watch(&world).start_into(full).ends_with(1);
    failed.tells("can't write to standard output");
    let told = watch(&world).ends_with(0);
    assert_eq!(told.stdout.matches("\"tested\"").count(), 1, "{told}");
}

#[test]
fn of_two_watchers_one_acts() {
    two_watch_at_once(None);
}

#[cfg(feature = "postgres")]
#[test]
fn of_two_watchers_in_postgresql_one_acts() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(Database::new());
    two_watch_at_once(Some(database.url()));
}
