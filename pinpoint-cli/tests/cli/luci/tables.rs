//! Runs and values in tables.

use std::fs;

use serde_json::Value;

use super::{FAST, IN_MAIN, Scene};

#[test]
fn runs_of_a_commit_are_exported_and_collected() {
    let scene = Scene::new(&IN_MAIN, FAST);
    scene
        .luci
        .made_by_waterfall("linux-builder-perf", scene.main(5));
    let of = [
        "--bot",
        "linux-perf",
        "--benchmark",
        "speedometer3.crossbench",
        "--output",
        "json",
    ];
    let run = |more: &[&str]| {
        let words = [
            "export",
            "run",
            "--commit",
            "recent",
            "--iterations",
            "4",
            "--table",
            "p.d.runs",
        ];
        let run = scene
            .pinpoint(&[&words, &of[..], more].concat())
            .ends_with(0);
        run.document()["workflow"].as_str().unwrap().to_owned()
    };
    let workflow = run(&[]);
    assert_eq!(run(&["--workflow", &workflow]), workflow);
    assert_eq!(scene.luci.rows("p.d.runs").len(), 4);
    assert_eq!(scene.luci.calls("ScheduleBuild"), 0);
    let words = [
        "export",
        "collect",
        &workflow,
        "--table",
        "p.d.runs",
        "--into",
        "p.d.values",
    ];
    let collected = scene.pinpoint(&[&words, &of[..]].concat()).ends_with(0);
    assert_eq!(collected.document()["rows"], 4, "{collected}");
    assert_eq!(scene.luci.rows("p.d.values").len(), 4);
    let unknown = [
        "export",
        "collect",
        "other",
        "--table",
        "p.d.runs",
        "--into",
        "p.d.values",
    ];
    let refused = scene.pinpoint(&[&unknown, &of[..]].concat()).ends_with(2);
    refused.tells("no tasks of workflow other");
}

#[test]
fn results_of_the_system_before_become_files() {
    let scene = Scene::new(&IN_MAIN, FAST);
    let table = scene.world.path("v3.csv");
    let row = "Apple M3,chrome stable,137.0.7151.070,safari stable,18.5 (20621.2.5.11.8),jetstream2,300,310";
    let header = "Device,Control,Version,Treatment,Version,Benchmark,Control,Treatment";
    fs::write(&table, format!("{header}\n{row}\nshort\n")).unwrap();
    let into = scene.world.path("files");
    let words = [
        "cbb",
        "import-v3",
        table.to_str().unwrap(),
        "--into",
        into.to_str().unwrap(),
    ];
    let imported = scene.pinpoint(&words).ends_with(0);
    imported.says("2 files").says("too short: 1");
    let name = "mac-m3-pro-perf-cbb.jetstream2.safari-stable.1488562.json";
    let file: Value = serde_json::from_slice(&fs::read(into.join(name)).unwrap()).unwrap();
    assert_eq!(file["git_hash"], "CP:1488562");
    assert_eq!(
        file["results"][0]["measurements"]["stat"][0]["measurement"],
        310.0
    );
    fs::write(&table, format!("{header}\n{row}\n{row}\n")).unwrap();
    scene
        .pinpoint(&words)
        .ends_with(2)
        .tells("lines 2 and 3 are both for");
}
