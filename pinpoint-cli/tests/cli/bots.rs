//! Looking at bots.

use std::fs;

use serde_json::json;

use crate::world::World;

#[test]
fn built_in_bots() {
    let world = World::new();
    world
        .pinpoint(&["bots", "list"])
        .ends_with(0)
        .says("linux-perf ")
        .says("alias of win-10-perf")
        .says("built by Android arm64 High End Compile Perf, out of resources")
        .says("built by Mac arm Builder Perf, no culprit finders");
    let list = world.pinpoint(&["bots", "list", "--output", "json"]);
    let list = list.ends_with(0).document();
    let local = list.as_array().unwrap().iter();
    let local: Vec<_> = local.filter(|bot| bot["name"] == "local").collect();
    let expected = json!({
        "name": "local", "configured_as": "local", "set": "external",
        "out_of_resources": false, "repository": null, "workers": "local",
    });
    assert_eq!(local, [&expected]);

    world
        .pinpoint(&["bots", "show", "Win 10 Perf"])
        .ends_with(0)
        .says("Win 10 Perf: alias of win-10-perf")
        .says("Win x64 Builder Perf")
        .says("os: Windows-10");
    let show = world.pinpoint(&["bots", "show", "linux-perf", "--output", "json"]);
    let show = show.ends_with(0).document();
    assert_eq!(show["workers"]["swarming"]["bucket"], "luci.chrome.try");
    assert_eq!(show["workers"]["swarming"]["dimensions"][0]["key"], "pool");
    assert_eq!(show["benchmarks"], json!([]));
    let show = world.pinpoint(&["bots", "show", "linux-perf-pgo", "--output", "json"]);
    let show = show.ends_with(0).document();
    assert_eq!(show["benchmarks"][0]["name"], "jetstream2.crossbench");

    let target = world.pinpoint(&[
        "bots",
        "target",
        "android-pixel4_webview-perf",
        "speedometer",
    ]);
    let finished = target.ends_with(0);
    assert_eq!(finished.stdout, "performance_webview_test_suite\n");
    let target = ["bots", "target", "local", "b", "--output", "json"];
    let document = world.pinpoint(&target).ends_with(0).document();
    let expected = json!({ "bot": "local", "benchmark": "b", "target": "performance_test_suite" });
    assert_eq!(document, expected);
    assert!(!world.state_dir().exists());
}

#[test]
fn a_bot_that_is_not_there() {
    let world = World::new();
    for command in [
        &["bots", "show", "linux-pref"] as &[&str],
        &["bots", "target", "linux-pref", "speedometer"],
    ] {
        let finished = world.pinpoint(command).ends_with(2);
        finished.says_nothing();
        finished.tells("there is no bot `linux-pref`; did you mean `linux-perf`");
    }
    let json = ["bots", "show", "linux-pref", "--output", "json"];
    let document = world.pinpoint(&json).ends_with(2).document();
    assert_eq!(document["status"], "failed");
    let finished = world.pinpoint(&["bots", "show", "zzz"]).ends_with(2);
    finished.tells("`pinpoint bots list` shows all");
}

#[test]
fn bots_of_ones_own() {
    let world = World::new();
    let file = |name: &str, text: &str| {
        let path = world.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let ours = file(
        "ours.toml",
        "[bots.lab]\nmachines = ['a', 'b']\n[bots.old]\nalias = 'lab'\n\
         [benchmarks.parsing]\nstories = ['small']\nbots = ['lab']\n\
         [targets.bots]\nlab = 'lab_tests'\n",
    );
    let more = file(
        "more.json",
        r#"{ "set": "internal", "bots": { "desk": { "local": true } } }"#,
    );
    let both = ["--config", &ours, "--config", &more];
    let finished = world.pinpoint(&["bots", "list"]).and(&both).ends_with(0);
    assert_eq!(
        finished.stdout,
        "desk  this machine\nlab   2 machines\nold   alias of lab\n"
    );
    world
        .pinpoint(&["bots", "show", "old"])
        .and(&both)
        .ends_with(0)
        .says("a, b")
        .says("parsing: small");
    let target = world.pinpoint(&["bots", "target", "old", "x"]).and(&both);
    assert_eq!(target.ends_with(0).stdout, "lab_tests\n");

    let wrong = file(
        "wrong.toml",
        "[bots.lab]\nlocal = true\n\n[bots.new]\nalias = 'lba'\n",
    );
    let finished = world
        .pinpoint(&["bots", "list", "--config", &ours, "--config", &wrong])
        .ends_with(2);
    finished.says_nothing();
    finished.tells(&format!(
        "{wrong}:1: bots.lab: this was defined before, in {ours}:1"
    ));
    finished.tells(&format!("{wrong}:5: bots.new.alias: there is no bot `lba`"));
    let finished = world
        .pinpoint(&["bots", "list", "--config", "missing.toml"])
        .ends_with(2);
    finished.says_nothing().tells("missing.toml");
}
