//! The commands around a watch: alerts, what people say of regressions, and changes in the store.

use std::fs;

use serde_json::{Value, json};

use crate::watch::{COMMITS, SLOW, document, measure, project, watch, with_alert};

#[test]
fn people_and_watchers_write_to_one_log() {
    let world = with_alert("report");
    for number in 1..COMMITS {
        measure(&world, number);
    }
    let told = world.path("told");
    let notify = format!("cat >> {}", told.display());
    // A command that fails is run once in a look, and again in the next one.
    let tried = world.path("tried");
    let fails = format!("echo >> {}; exit 3", tried.display());
    for looks in 1..=2 {
        let failed = watch(&world).and(&["--notify", &fails]).ends_with(1);
        failed.tells("--notify");
        assert_eq!(fs::read(&tried).unwrap().len(), looks);
        let acted = failed.stdout.matches("\"acted_on\"").count();
        assert_eq!(acted, 1, "{failed}");
    }
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
        .and(&[
            "--message",
            &format!("a new\ncompiler{}", " and more".repeat(300)),
        ])
        .ends_with(0);
    let shown = world.pinpoint(&["regressions", "show", id]).ends_with(0);
    shown.says("ada").says("triaged").says("a new compiler");
    let listed = world.pinpoint(&["regressions", "list"]).ends_with(0);
    listed.says("no open regressions (1 ignored: --all)");
    let listed = world
        .pinpoint(&["regressions", "list", "--all"])
        .ends_with(0);
    listed.says("a new compiler").says("characters left out");
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
    // A group that all have left says where they are.
    let old = list["groups"][0]["name"].as_str().unwrap();
    let split = world.pinpoint(&["regressions", "split", id]).ends_with(0);
    split.says(&format!("in group {old}-2"));
    for words in [
        &["show", old][..],
        &["triage", old, "--as", "bug"],
        &["bisect", old],
    ] {
        let ghost = world.pinpoint(&[&["regressions"], words].concat());
        let told = format!("no members any more: {id} is in group {old}-2");
        ghost.ends_with(2).tells(&told).says_nothing();
    }

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
    let shown = world.pinpoint(&["regressions", "show", by_hand]);
    shown.ends_with(0).says("begins with commit 11");
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
    // What was taken back by mistake is added again.
    world
        .pinpoint(&["regressions", "take-back", id])
        .ends_with(0);
    let sort = trace.replace("hash", "sort");
    let again = ["regressions", "add", &sort, &SLOW.to_string()];
    world.pinpoint(&again).ends_with(0).says(id);
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
    // What is printed can be read again.
    let printed = world.path("printed.json");
    let file = printed.to_str().unwrap();
    fs::write(&printed, shown.to_string()).unwrap();
    let again = ["alerts", "update", "2", file];
    world.pinpoint(&again).ends_with(0);
    assert_eq!(document(&world, &["alerts", "show", "2"]), shown);
    let newer = shown
        .to_string()
        .replace(r#""version":1"#, r#""version":2"#);
    fs::write(&printed, newer).unwrap();
    world.pinpoint(&again).ends_with(2).tells("version 2");
    fs::write(&printed, r#"["-1", "name", "test=sort"]"#).unwrap();
    world.pinpoint(&again).ends_with(2).tells("is an object");
    world
        .pinpoint(&["alerts", "update", "2", "--action", "report"])
        .ends_with(0);
    world.pinpoint(&["alerts", "delete", "2"]).ends_with(0);
    let grouped = [
        "alerts",
        "new",
        "--query",
        "test=sort",
        "--group-by",
        "nokey",
    ];
    let grouped = world.pinpoint(&grouped).ends_with(0);
    grouped.tells("the key `nokey` of group_by");
    world.pinpoint(&["alerts", "delete", "3"]).ends_with(0);
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
        (&["new", "--query", "", "--command", "./b {"], "brace"),
        (
            &["new", "--query", "", "--command", "./b 'c"],
            "a quote that is not closed",
        ),
        (&["update", "1", "--command", ""], "is empty"),
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
    for search in [&["detect"][..], &["alerts", "try"]] {
        let typo = world.pinpoint(&[search, &["--query", "test=sotr"]].concat());
        typo.ends_with(2).tells("matches test=sotr");
    }
    world
        .pinpoint(&["detect", "nothing.csv"])
        .ends_with(2)
        .tells("no file nothing.csv");
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
    let first = world.pinpoint(&kmeans).ends_with(0);
    assert_eq!(first.stdout, "alert 2 added\n");
    watch(&world).ends_with(0);
    // Now values were seen, which a later alert does not see again.
    let late = ["alerts", "new", "--query", "test=sort"];
    let late = world.pinpoint(&late).ends_with(0);
    late.says("from now on").says("pinpoint alerts try 3");
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
