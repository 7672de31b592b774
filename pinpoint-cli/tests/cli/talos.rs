//! Logs of Mozilla's with two suites, through `ingest`, `traces`, `compare` and `bisect`.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

/// A log of the older kind, with two suites of one build.
fn log(revision: &str, number: u32, cost: u32) -> String {
    let suite = |name: &str, pages: [&str; 2], cost: u32| {
        let value = |run: u32| f64::from(cost + run * 7 % 3);
        let runs: Vec<f64> = (0..8).map(value).collect();
        let results: Value = pages.iter().map(|page| (*page, runs.clone())).collect();
        let summary: Value = (pages.iter())
            .map(|page| (*page, json!({ "filtered": cost + 1, "min": cost })))
            .collect();
        json!({
            "talos_counters": { "RSS": { "mean": "12.50" } },
            "results": results,
            "summary": { "suite": cost + 1, "subtests": summary },
            "test_machine": { "name": "talos-1" },
            "testrun": { "date": 1_700_000_000 + number, "suite": name, "options": { "cycles": 8 } },
            "test_build": { "branch": "main", "revision": revision },
        })
    };
    let tests = json!([
        suite("tp5o", ["a.com", "b.com"], cost),
        suite("kraken", ["ai", "audio"], 50),
    ]);
    format!("10:42:17 INFO - start\n10:42:18 INFO - TALOSDATA: {tests}\n10:42:19 INFO - end\n")
}

#[test]
fn a_log_with_two_suites_becomes_history() {
    let world = World::with_step(4, 2);
    let logs = world.path("logs");
    fs::create_dir(&logs).unwrap();
    for (number, commit) in (0..).zip(&world.commits) {
        let cost = if number < 2 { 100 } else { 150 };
        let name = logs.join(format!("{number}.log"));
        fs::write(name, log(commit, number, cost)).unwrap();
    }
    let logs = logs.to_str().unwrap();
    // Each names its commit and machine.
    world
        .pinpoint(&["ingest", logs])
        .ends_with(0)
        .says("4 files taken, 32 new values");
    let rows = |query: &str| {
        let asked = world.pinpoint(&["traces", "query", query, "--output", "csv"]);
        let text = asked.ends_with(0).stdout;
        let mut rows: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        rows.sort();
        rows
    };
    let common = "machine=talos-1,option_cycles=8";
    assert_eq!(
        rows("suite=tp5o&kind=!counter"),
        ["tp5o", "tp5o_a.com", "tp5o_b.com"].map(|test| format!(
            "\",branch=main,{common},suite=tp5o,test={test},\",101.0,101.0,151.0,151.0"
        ))
    );
    let counters = rows("kind=counter&suite=kraken");
    assert_eq!(counters.len(), 1);
    assert!(
        counters[0].ends_with(",12.5,12.5,12.5,12.5"),
        "{counters:?}"
    );

    // A summary that is not stated, and a second commit that is named.
    let (first, second) = (format!("{logs}/0.log"), format!("{logs}/1.log"));
    world
        .pinpoint(&["ingest", "--talos-values", "mean", &first])
        .ends_with(2)
        .says("the subtest `a.com` of `tp5o` does not state `mean`");
    world
        .pinpoint(&["ingest", "--key", "suite=x", &first])
        .ends_with(2)
        .says("leave `suite` out of --key");
    world
        .pinpoint(&[
            "ingest",
            "--format",
            "talos:min",
            "--talos-values",
            "max",
            &first,
        ])
        .ends_with(2)
        .tells("--talos-values max");
    let later = world.path("later.log");
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&later, text.replace("1700000000", "99999999999")).unwrap();
    world
        .pinpoint(&["ingest", "--dataset", "later", later.to_str().unwrap()])
        .ends_with(0)
        .says("is in the future");
    let branches = world.path("branches.log");
    fs::write(
        &branches,
        text.replacen("\"branch\":\"main\"", "\"branch\":\"x\"", 1),
    )
    .unwrap();
    world
        .pinpoint(&["ingest", branches.to_str().unwrap()])
        .ends_with(2)
        .says("names two branches");
    let both = world.path("both.log");
    let text = |path: &str| fs::read_to_string(path).unwrap();
    fs::write(&both, text(&first) + &text(&second)).unwrap();
    let both = both.to_str().unwrap();
    world
        .pinpoint(&["ingest", both])
        .ends_with(2)
        .says("names two commits");
    let commit = &world.commits[0];
    world
        .pinpoint(&["ingest", "--dataset", "other", "--commit", commit, &second])
        .ends_with(0)
        .says("names the commit");

    let export = |query: &str| {
        let words = [
            "traces",
            "export",
            query,
            "--format",
            "graphserver",
            "--commit",
            commit,
        ];
        world.pinpoint(&words).ends_with(0).stdout
    };
    let time = crate::world::git(&world.repository, &["show", "-s", "--format=%ct", commit]);
    assert_eq!(
        export("suite=tp5o&kind=!counter"),
        format!(
            "START\nVALUES\ntalos-1,tp5o,main,{commit},,{time}\n\
             0,101.00,a.com\n1,101.00,b.com\nEND\n"
        )
    );
    assert_eq!(
        export("suite=kraken&kind=!counter"),
        format!("START\nAVERAGE\ntalos-1,kraken,main,{commit},,{time}\n51\nEND\n")
    );
}

#[test]
fn a_log_with_two_suites_is_compared_and_searched_with() {
    let world = World::with_step(6, 3);
    let file = |name: &str, cost: u32| {
        let path = world.path(name);
        fs::write(&path, log("abcdef123456", 0, cost)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (before, after) = (file("before.log", 100), file("after.log", 150));
    let compared = |options: &[&str], code: i32| {
        let words = ["compare", &before, &after, "--output", "json"];
        let compared = world.pinpoint(&words).and(options).ends_with(code);
        compared.document()
    };
    let document = compared(&[], 0);
    let samples = |document: &Value, chart: &str| {
        let charts = document["charts"].as_array().unwrap();
        let found = charts.iter().find(|it| it["chart"] == chart);
        found.unwrap()["control"]["values"].clone()
    };
    assert_eq!(samples(&document, "tp5o/a.com"), 8);
    let document = compared(&["--talos-values", "min"], 4);
    assert_eq!(samples(&document, "tp5o/a.com"), 1);
    world
        .pinpoint(&["compare", &before, &after])
        .and(&["--format", "jmh", "--talos-values", "min"])
        .ends_with(2)
        .tells("--talos-values min is for logs of Mozilla's");

    // One value of each run, and all of its replicates.
    for values in ["filtered", "replicates"] {
        let number = "$(($(cat value) * 100 + ${PINPOINT_RUN:-0} * 7 % 10))";
        let line = format!(
            r#"echo "INFO - PERFHERDER_DATA: {{\"suites\": [
            {{\"name\": \"a\", \"value\": 1, \"subtests\": [{{\"name\": \"x\", \"value\": 1}}]}},
            {{\"name\": \"b\", \"value\": 2, \"subtests\": [
            {{\"name\": \"y\", \"value\": {number}, \"replicates\": [{number}, {number}]}}]}}]}}""#
        );
        let line = line.replace("\n            ", "");
        let options = [
            "--talos-values",
            values,
            "--chart",
            "b/y",
            "--output",
            "json",
        ];
        let found = world.bisect(&options, &line).ends_with(0).document();
        assert_eq!(
            found["culprits"][0]["commit"]["main"]["git_hash"],
            world.commits[3]
        );
    }
}
