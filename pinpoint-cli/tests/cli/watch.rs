//! From values to a culprit: ingested, watched, bisected; and killed on the way.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[cfg(feature = "postgres")]
use crate::postgres::Database;
use crate::world::{Dice, Pinpoint, World, until};

/// The commits, and the first slow one among them.
const COMMITS: usize = 56;
const SLOW: usize = 40;

/// Kills on the way to the culprit.
const KILLS: usize = 20;

/// The longest that a watch lives, in milliseconds.
const MAX_LIFE_MS: u64 = 400;

const BENCH: &str = "sh bench.sh {test}";

/// A benchmark whose values follow from commit and run alone, and that is not quite without noise.
const SCRIPT: &str =
    "sleep 0.02; echo \"$1: $(($(cat value) * 1000 + ${PINPOINT_RUN:-0} * 37 % 101)) ms\"\n";

/// A repository of a benchmark; from one commit on it is slower.
fn project() -> World {
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
fn measure(world: &World, number: usize) {
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
        "results": [result("sort", value), result("hash", steady)],
    });
    let path = world.path(&format!("results/{number:03}.json"));
    // Moved in place, as whole files come.
    let unfinished = world.path("unfinished");
    fs::write(&unfinished, file.to_string()).unwrap();
    fs::rename(unfinished, path).unwrap();
}

fn watch(world: &World) -> Pinpoint {
    let results = world.path("results");
    let results = results.to_str().unwrap();
    world
        .pinpoint(&["watch", results, "--format", "skia", "--quiet-time", "0s"])
        .and(&["--options", "--pairs 6 --max-runs 300"])
}

/// An alert on all traces, which is run from the first value on.
fn with_alert(action: &str) -> World {
    let world = project();
    measure(&world, 0);
    let results = world.path("results");
    let results = results.to_str().unwrap();
    world
        .pinpoint(&["ingest", "--format", "skia", results])
        .ends_with(0);
    world
        .pinpoint(&["alerts", "new", "--query", "os=linux", "--direction", "UP"])
        .and(&["--action", action, "--bench", BENCH, "--name", "speed"])
        .ends_with(0)
        .says("alert 1 added");
    world
}

fn document(world: &World, words: &[&str]) -> Value {
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
fn people_and_watchers_write_to_one_log() {
    let world = with_alert("report");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    let told = world.path("told");
    let notify = format!("cat >> {}", told.display());
    // A command that fails is run again.
    watch(&world)
        .and(&["--notify", "exit 3"])
        .ends_with(1)
        .tells("--notify");
    watch(&world).and(&["--notify", &notify]).ends_with(0);
    let told = fs::read_to_string(&told).unwrap();
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("\"event\":\"acted_on\""), "{told}");

    let listed = world.pinpoint(&["regressions", "list"]).ends_with(0);
    listed
        .says("regression")
        .says("not triaged")
        .says("reported");
    let list = document(&world, &["regressions", "list"]);
    let id = list["groups"][0]["members"][0]["id"].as_str().unwrap();
    world
        .pinpoint(&[
            "regressions",
            "triage",
            &id[..6],
            "--as",
            "ignore",
            "--author",
            "ada",
        ])
        .and(&["--message", "a new compiler"])
        .ends_with(0);
    let shown = world.pinpoint(&["regressions", "show", id]).ends_with(0);
    shown.says("ada").says("triaged").says("a new compiler");
    world
        .pinpoint(&[
            "regressions",
            "triage",
            id,
            "--as",
            "new",
            "--author",
            "ada",
        ])
        .ends_with(0);
    // A person asks for the bisection that the alert does not.
    let bisected = world
        .pinpoint(&["regressions", "bisect", id, "--options", "--pairs 6"])
        .ends_with(0);
    bisected.says(&world.commits[SLOW]);
    // What ada said stays; the culprit is known beside it.
    let list = document(&world, &["regressions", "list"]);
    let member = &list["groups"][0]["members"][0];
    assert_eq!(member["triaged_by"], "ada");
    assert_eq!(member["outcome"]["hash"], world.commits[SLOW].as_str());
    world
        .pinpoint(&["regressions", "bisect", id])
        .ends_with(2)
        .tells("has a bisection already");

    // By hand: where no detector looked, moved, and taken back.
    let trace = ",benchmark=micro,improvement_direction=down,os=linux,test=hash,unit=ms,";
    let range = format!("{}..{}", &world.commits[9][..12], &world.commits[12][..12]);
    let added = world
        .pinpoint(&[
            "regressions",
            "add",
            trace,
            &range,
            "--alert",
            "1",
            "--output",
            "json",
        ])
        .ends_with(0)
        .document();
    assert_eq!(
        added["events"][0]["change"]["range"],
        json!({ "previous": 9, "commit": 12 })
    );
    let list = document(&world, &["regressions", "list"]);
    let groups = list["groups"].as_array().unwrap();
    let of_hash = |group: &&Value| group["members"][0]["change"]["trace"] == trace;
    let by_hand = groups.iter().find(of_hash).unwrap()["members"][0]["id"].clone();
    let by_hand = by_hand.as_str().unwrap();
    world
        .pinpoint(&["regressions", "move", by_hand, "11"])
        .ends_with(0);
    let list = document(&world, &["regressions", "list"]);
    let moved = list["groups"]
        .as_array()
        .unwrap()
        .iter()
        .find(of_hash)
        .unwrap()
        .clone();
    assert_eq!(
        moved["members"][0]["range"],
        json!({ "previous": 10, "commit": 11 })
    );
    world
        .pinpoint(&["regressions", "take-back", by_hand])
        .ends_with(0);
    let list = document(&world, &["regressions", "list"]);
    assert!(
        list["groups"]
            .as_array()
            .unwrap()
            .iter()
            .find(of_hash)
            .is_none(),
        "{list:#}"
    );
    // It survives the next values.
    watch(&world).ends_with(0);
    for (words, says) in [
        (&["show", "r"][..], "write more of it"),
        (&["show", "x"], "no regression and no group"),
        (&["move", by_hand, "9..9..9"], "no commit"),
        (
            &["triage", "zz", "--as", "bug"],
            "no regression and no group",
        ),
        (&["add", trace, "0"], "first commit"),
        (&["add", ",a=b,", "3..5"], "no trace"),
        (&["list", "--alert", "9"], "no alert 9"),
    ] {
        let words = [&["regressions"], words].concat();
        world.pinpoint(&words).ends_with(2).tells(says);
    }
}

#[test]
fn clusters_are_listed_and_triaged() {
    let world = with_alert("noaction");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    let kmeans = [
        "alerts",
        "new",
        "--query",
        "test=sort",
        "--algo",
        "kmeans",
        "--interesting",
        "20",
    ];
    world.pinpoint(&kmeans).ends_with(0).says("alert 2");
    watch(&world).ends_with(0);
    let listed = world.pinpoint(&["regressions", "clusters"]).ends_with(0);
    listed
        .says("of alert 2, test=sort: 1 trace rise")
        .says("not triaged");
    let clusters = document(&world, &["regressions", "clusters", "--alert", "2"]);
    let number = clusters["clusters"][0]["id"].as_u64().unwrap().to_string();
    let triage = [
        "regressions",
        "triage-cluster",
        "2",
        &number,
        "--as",
        "bug",
        "--message",
        "m7",
    ];
    world.pinpoint(&triage).ends_with(0).says("is triaged");
    world
        .pinpoint(&["regressions", "clusters"])
        .ends_with(0)
        .says("a bug")
        .says("m7");
    world
        .pinpoint(&["regressions", "triage-cluster", "2", "999", "--as", "bug"])
        .ends_with(2)
        .tells("no cluster 999");
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
    on(world.pinpoint(&alert).and(&["--bench", BENCH])).ends_with(0);
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
    let bench = ["alerts", "update", "1", "--bench", "sh 'bench.sh"];
    world.pinpoint(&bench).ends_with(0);
    let second = [
        "alerts", "new", "--query", "", "--action", "bisect", "--bench", BENCH,
    ];
    world.pinpoint(&second).ends_with(0);
    let watched = watch(&world).and(&["--max-jobs", "1"]).ends_with(0);
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

#[test]
fn alerts_are_made_tried_and_changed() {
    let world = with_alert("noaction");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    world
        .pinpoint(&[
            "ingest",
            "--format",
            "skia",
            world.path("results").to_str().unwrap(),
        ])
        .ends_with(0);
    let tried = world.pinpoint(&["alerts", "try", "1"]).ends_with(0);
    tried
        .says("1 regression in 1 group")
        .says("112 values of 2 traces")
        .says("by chance");
    world
        .pinpoint(&["alerts", "try", "1", "--direction", "DOWN"])
        .ends_with(3);
    let tried = document(
        &world,
        &["alerts", "try", "--query", "test=sort", "--last", "50"],
    );
    assert_eq!(tried["trial"]["values"], 50);
    let toml = world.path("alert.toml");
    fs::write(
        &toml,
        "query = \"test=sort\"\ndirection = \"UP\"\nrate = 0.001\n",
    )
    .unwrap();
    let toml = toml.to_str().unwrap();
    world
        .pinpoint(&["alerts", "new", toml, "--owner", "ada"])
        .ends_with(0)
        .says("alert 2 added");
    let shown = document(&world, &["alerts", "show", "2"]);
    assert_eq!(
        (&shown["alert"]["owner"], &shown["alert"]["rate"]),
        (&json!("ada"), &json!(0.001))
    );
    world
        .pinpoint(&["alerts", "update", "2", "--action", "report"])
        .ends_with(0);
    world.pinpoint(&["alerts", "delete", "2"]).ends_with(0);
    let listed = world.pinpoint(&["alerts", "list"]).ends_with(0);
    listed.says("speed").says("0 alarms in 30 days");
    assert!(!listed.stdout.contains("test=sort"));
    let all = document(&world, &["alerts", "list", "--all"]);
    let second = &all["alerts"][1];
    assert_eq!(
        (&second["state"], &second["action"]),
        (&json!("DELETED"), &json!("report"))
    );
    for (words, says) in [
        (&["new", "--query", "a"][..], "--query"),
        (
            &["new", "--query", "os=linux", "--group-by", "os"],
            "group_by",
        ),
        (
            &["new", "--query", "", "--algo", "stepfit", "--step", "cohen"],
            "interesting",
        ),
        (
            &[
                "new",
                "--query",
                "",
                "--step",
                "mannwhitneyu",
                "--interesting",
                "2",
            ],
            "interesting",
        ),
        (&["new", "--query", "", "--algo", "magic"], "magic"),
        (&["new", "--query", "", "--bench", "./b {"], "brace"),
        (&["new"], "FILE"),
        (&["show", "9"], "no alert 9"),
        (&["list", "--dataset", "other"], "no dataset"),
    ] {
        let words = [&["alerts"], words].concat();
        world.pinpoint(&words).ends_with(2).tells(says);
    }
}

#[test]
fn changes_are_found_in_the_store_as_in_a_table() {
    let world = project();
    for number in 0..COMMITS {
        measure(&world, number);
    }
    let results = world.path("results");
    let results = results.to_str().unwrap();
    world
        .pinpoint(&["ingest", "--format", "skia", results])
        .ends_with(0);
    let page = world.path("changes.html");
    let found = world
        .pinpoint(&["detect", "test=sort", "--report", page.to_str().unwrap()])
        .ends_with(0);
    found.says("regression: ").says(&world.commits[SLOW][..10]);
    assert!(fs::read_to_string(page).unwrap().contains("test=sort"));
    let all = document(&world, &["detect"]);
    assert_eq!(all["series"].as_array().unwrap().len(), 2);
    assert_eq!(all["series"][0]["direction"], "down");
    world.pinpoint(&["detect", "test=hash"]).ends_with(3);
    let machine = [
        "annotate",
        "machine",
        &world.commits[SLOW],
        "os",
        "old",
        "linux",
    ];
    world.pinpoint(&machine).ends_with(0);
    let found = world.pinpoint(&["detect", "test=sort"]).ends_with(0);
    found.tells("that of its machine, from old to linux");
    world
        .pinpoint(&["detect", "test=sort", "--last", "10"])
        .ends_with(4);
    let before = format!("..{}", world.commits[SLOW - 1]);
    world
        .pinpoint(&["detect", "test=sort", "--commits", &before])
        .ends_with(3);
    fs::write(world.repository.join("test=sort"), "a\n1\n").unwrap();
    world
        .pinpoint(&["detect", "test=sort"])
        .ends_with(2)
        .tells("--query test=sort");
    world
        .pinpoint(&["detect", "--query", "test=sort"])
        .ends_with(0);
    world.pinpoint(&["detect", "./test=sort"]).ends_with(4);
    world
        .pinpoint(&["detect", "nothing.csv"])
        .ends_with(2)
        .tells("no file nothing.csv");
}
