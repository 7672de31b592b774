//! The report on traces of Chrome: events and calls, and annotations that the traces keep.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::explanation::{click, drag, is_drawn, text, type_into};
use crate::chromium::Chromium;
use crate::world::World;

/// A trace in which a task runs again and again: `main` calls `parse`, and that `next`, which
/// takes so many milliseconds. Another thread has events alone.
pub(super) fn trace(next: u32) -> Value {
    let event = |name: &str, ph: &str, tid: u32, ts: u32| json!({ "name": name, "cat": "toplevel", "ph": ph, "pid": 7, "tid": tid, "ts": ts, "args": {} });
    let named = |tid: u32, name: &str| {
        let mut event = event("thread_name", "M", tid, 0);
        event["args"] = json!({ "name": name });
        event
    };
    let lasting = |name: &str, tid: u32, ts: u32, duration: u32| {
        let mut event = event(name, "X", tid, ts);
        event["dur"] = json!(duration);
        event
    };
    let function = |id: u32, parent: Option<u32>, name: &str| {
        json!({ "id": id, "parent": parent, "callFrame": {
            "functionName": name, "scriptId": "3", "url": "https://example.com/app.js",
            "lineNumber": id, "columnNumber": 0 } })
    };
    let nodes = json!([
        { "id": 1, "callFrame": { "functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1 } },
        function(2, Some(1), "main"), function(3, Some(2), "parse"), function(4, Some(3), "next"),
    ]);
    let (mut events, mut samples, mut deltas) = (Vec::new(), Vec::new(), Vec::new());
    events.extend([named(1, "CrRendererMain"), named(2, "Compositor")]);
    let mut time = 1_000_000;
    for round in 0..20 {
        let begin = time;
        for (node, count) in [(2, 2), (3, 3), (4, next + round % 3), (2, 1)] {
            for _ in 0..count {
                samples.push(node);
                deltas.push(1_000);
                time += 1_000;
            }
        }
        samples.push(1);
        deltas.push(1_000);
        time += 1_000;
        events.push(lasting("RunTask", 1, begin, time - begin));
        events.push(lasting("FunctionCall", 1, begin + 10, time - begin - 20));
        events.push(lasting("DrawFrame", 2, begin + 100, 2_000));
    }
    let mut profile = event("Profile", "P", 1, 1_000_000);
    profile["id"] = json!("0x1");
    profile["args"] = json!({ "data": { "startTime": 1_000_000 } });
    let mut chunk = event("ProfileChunk", "P", 1, 1_000_001);
    chunk["id"] = json!("0x1");
    chunk["args"] = json!({ "data": { "cpuProfile": { "nodes": nodes, "samples": samples }, "timeDeltas": deltas } });
    let mut begun = event("load", "b", 1, 1_000_500);
    let mut ended = event("load", "e", 1, 1_050_000);
    for event in [&mut begun, &mut ended] {
        event["id"] = json!("0x2");
        event["cat"] = json!("blink.user_timing");
    }
    events.extend([profile, chunk, begun, ended]);
    json!(events)
}

/// Writes a file that is packed.
fn pack(file: &Path, text: &str) {
    let plain = file.with_extension("");
    fs::write(&plain, text).unwrap();
    let status = Command::new("gzip").arg("-f").arg(&plain).status().unwrap();
    assert!(status.success());
}

fn unpacked(file: &Path) -> String {
    let output = Command::new("gzip").arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The report on six traces a side. Those after are packed, and objects.
fn reported(world: &World, base: &[PathBuf], experiment: &[PathBuf]) -> PathBuf {
    reported_with(world, base, experiment, &[])
}

pub(super) fn reported_with(
    world: &World,
    base: &[PathBuf],
    experiment: &[PathBuf],
    options: &[&str],
) -> PathBuf {
    let file = world.path("traces.html");
    let report = file.display().to_string();
    let paths = |files: &[PathBuf]| -> Vec<String> {
        files
            .iter()
            .map(|file| file.display().to_string())
            .collect()
    };
    let (base, experiment) = (paths(base), paths(experiment));
    let mut arguments = vec!["explain", "--report", &report, "--base"];
    arguments.extend(base.iter().map(String::as_str));
    arguments.push("--experiment");
    arguments.extend(experiment.iter().map(String::as_str));
    arguments.extend(options);
    world.pinpoint(&arguments).ends_with(0);
    file
}

/// The traces of both sides.
fn traces(world: &World) -> [Vec<PathBuf>; 2] {
    let base = (0..6).map(|run| {
        let file = world.path(&format!("before{run}.json"));
        fs::write(&file, trace(5 + run % 2).to_string()).unwrap();
        file
    });
    let experiment = (0..6).map(|run| {
        let file = world.path(&format!("after{run}.json.gz"));
        let text =
            json!({ "traceEvents": trace(9 + run % 2), "metadata": { "source": "DevTools" } });
        pack(&file, &text.to_string());
        file
    });
    [base.collect(), experiment.collect()]
}

/// A report on traces that are annotated already.
pub(super) fn noted(world: &World) -> PathBuf {
    let [base, experiment] = traces(world);
    let window = |min: u32, max: u32| json!({ "min": min, "max": max, "range": max - min });
    let modifications = json!({
        "entriesModifications": { "hiddenEntries": [], "expandableEntries": [] },
        "initialBreadcrumb": { "window": window(1_000_000, 1_300_000), "child": null },
        "annotations": {
            "entryLabels": [{ "entry": "r-2", "label": "the first task" }, { "entry": "l-3", "label": "a frame" }],
            "labelledTimeRanges": [{ "bounds": window(1_020_000, 1_060_000), "label": "warm-up" }],
            "linksBetweenEntries": [{ "entryFrom": "r-2", "entryTo": "r-8" }],
        },
    });
    for (run, file) in (0..).zip(&base) {
        let text = json!({ "traceEvents": trace(5 + run % 2), "metadata": { "modifications": modifications } });
        fs::write(file, text.to_string()).unwrap();
    }
    reported(world, &base, &experiment)
}

/// Chooses a file in the dialog of a side.
fn choose(browser: &mut Chromium, side: usize, file: &Path) {
    let root = browser.call("DOM.getDocument", json!({}));
    let all = browser.call(
        "DOM.querySelectorAll",
        json!({ "nodeId": root["root"]["nodeId"], "selector": ".annotate input[type=file]" }),
    );
    let node = &all["nodeIds"][side];
    browser.call(
        "DOM.setFileInputFiles",
        json!({ "files": [file], "nodeId": node }),
    );
}

/// Annotations have to be shown as saved before the file is looked for.
fn saved(browser: &mut Chromium, file: &Path) -> String {
    browser.wait_for("document.querySelector('.annotate [role=status]').textContent.includes('is the same trace')");
    // The browser writes it under another name first.
    for _ in 0..500 {
        if file.exists() {
            break;
        }
        browser.evaluate("new Promise(done => setTimeout(done, 20))");
    }
    match file.extension().is_some_and(|it| it == "gz") {
        true => unpacked(file),
        false => fs::read_to_string(file).unwrap(),
    }
}

#[test]
#[ignore = "needs Chromium"]
fn annotations_are_saved_into_traces_and_shown_again() {
    let world = World::new();
    let [mut base, mut experiment] = traces(&world);
    let page = reported(&world, &base, &experiment);
    let mut browser = Chromium::start();
    browser.call(
        "Browser.setDownloadBehavior",
        json!({ "behavior": "allow", "downloadPath": world.path("") }),
    );
    browser.open(&page);
    is_drawn(&mut browser, "#timeline .chart canvas");

    // Both threads are there, the one with scripts first; events and calls in the same tree.
    let tracks = text(&mut browser, ".tracks tbody");
    assert!(
        tracks.starts_with("CrRendererMain")
            && tracks.contains("Compositor")
            && tracks.contains("Timings"),
        "{tracks}"
    );
    browser.evaluate("document.querySelector('.trees').open = true");
    browser.wait_for("document.querySelector('#timeline .tree')?.textContent.includes('RunTask')");
    let options = text(&mut browser, "#timeline .tools select");
    assert!(options.contains("at load"), "{options}");

    // A label on an entry, a window and a link.
    let canvas = "#timeline .chart canvas";
    browser.evaluate("document.querySelector('.annotate').open = true");
    browser.evaluate("document.querySelector('#timeline .chart canvas').focus()");
    for _ in 0..4 {
        browser.press("ArrowDown");
    }
    let said = text(&mut browser, "#timeline .readout");
    assert!(
        said.starts_with("Before: parse, ")
            && said.ends_with("called from main ‹ FunctionCall ‹ RunTask"),
        "{said}"
    );
    type_into(&mut browser, ".annotate input[type=text]", "why so long?");
    click(&mut browser, ".annotate", "Label the selected entry");
    drag(&mut browser, ".minimap", (0.25, 0.5), (0.5, 0.5));
    type_into(&mut browser, ".annotate input[type=text]", "second quarter");
    click(&mut browser, ".annotate", "Label the window after");
    click(&mut browser, ".annotate", "Link from the selected entry");
    browser.evaluate(&format!("document.querySelector('{canvas}').focus()"));
    browser.press("ArrowDown");
    click(&mut browser, ".annotate", "Link to the selected entry");
    let items = "document.querySelectorAll('.annotations li').length";
    assert_eq!(browser.evaluate(items), 3);
    click(&mut browser, "#timeline", "Go into this window");

    // Another run is refused; the right one is the same except for the annotations.
    let drawn = text(&mut browser, ".annotate .files label bdi");
    let (right, wrong): (Vec<_>, Vec<_>) = base.iter().partition(|file| file.ends_with(&drawn));
    choose(
        &mut browser,
        0,
        wrong
            .iter()
            .find(|file| fs::metadata(file).unwrap().len() != fs::metadata(right[0]).unwrap().len())
            .unwrap(),
    );
    browser.wait_for(
        "document.querySelector('.annotate [role=status]').textContent.includes('another run')",
    );
    choose(&mut browser, 0, right[0]);
    let file = right[0].with_extension("").display().to_string() + "-annotated.json";
    let text_of_base = saved(&mut browser, Path::new(&file));
    let original = fs::read_to_string(right[0]).unwrap();
    assert!(text_of_base.contains(original.trim_end_matches(']')));
    let saved_base: Value = serde_json::from_str(&text_of_base).unwrap();
    let notes = &saved_base["metadata"]["modifications"];
    let annotations = &notes["annotations"];
    assert_eq!(annotations["entryLabels"][0]["label"], "why so long?");
    let key = annotations["entryLabels"][0]["entry"].as_str().unwrap();
    assert!(key.starts_with("p-7-1-") && key.ends_with("-3"), "{key}");
    assert_eq!(annotations["linksBetweenEntries"][0]["entryFrom"], key);
    assert_eq!(annotations["labelledTimeRanges"], json!([]));
    let crumb = &notes["initialBreadcrumb"];
    assert_eq!(crumb["window"]["min"], 1_000_000.0);
    let [inner, outer] = [&crumb["child"], crumb].map(|it| it["window"]["max"].as_f64());
    assert!(inner < outer, "{crumb}");
    assert_eq!(crumb["child"]["child"], Value::Null);

    // The other side, which is packed.
    let drawn_after =
        browser.evaluate("document.querySelectorAll('.annotate .files label bdi')[1].textContent");
    let after = world.path(drawn_after.as_str().unwrap());
    browser.evaluate("document.querySelector('.annotate [role=status]').textContent = ''");
    choose(&mut browser, 1, &after);
    let file_after = after
        .display()
        .to_string()
        .replace(".json.gz", "-annotated.json.gz");
    let saved_after: Value =
        serde_json::from_str(&saved(&mut browser, Path::new(&file_after))).unwrap();
    assert_eq!(saved_after["metadata"]["source"], "DevTools");
    let annotations = &saved_after["metadata"]["modifications"]["annotations"];
    assert_eq!(
        annotations["labelledTimeRanges"][0]["label"],
        "second quarter"
    );
    assert_eq!(browser.console(), [] as [Value; 0]);

    // Opened again, both show the annotations.
    let place = |all: &[PathBuf], it: &Path| all.iter().position(|file| file == it).unwrap();
    let (in_base, in_experiment) = (place(&base, right[0]), place(&experiment, &after));
    base[in_base] = PathBuf::from(file);
    experiment[in_experiment] = PathBuf::from(file_after);
    let page = reported(&world, &base, &experiment);
    browser.open(&page);
    browser.wait_for(&format!("{items} === 3"));
    let listed = text(&mut browser, ".annotations");
    assert!(
        listed.contains("why so long?") && listed.contains("second quarter"),
        "{listed}"
    );
    assert_eq!(
        browser.evaluate("document.querySelectorAll('.crumbs li').length"),
        2
    );
    assert_eq!(browser.complaints(&page), [] as [Value; 0]);
}

#[test]
#[ignore = "needs Chromium"]
fn annotations_of_a_window_are_saved_with_the_keys_of_the_whole_trace() {
    let world = World::new();
    let [base, experiment] = traces(&world);
    let page = reported_with(&world, &base, &experiment, &["--window", "load"]);
    let mut browser = Chromium::start();
    browser.call(
        "Browser.setDownloadBehavior",
        json!({ "behavior": "allow", "downloadPath": world.path("") }),
    );
    browser.open(&page);
    is_drawn(&mut browser, "#timeline .chart canvas");
    // The span of 49.5 ms is seen, of a run that is to be seen whole.
    let note = text(&mut browser, "#timeline .note:nth-of-type(2)");
    assert!(note.contains("only the window load"), "{note}");
    let seen = "document.querySelector('#timeline .chart canvas').ariaLabel";
    let seen = browser.evaluate(seen);
    assert!(seen.as_str().unwrap().contains("49.50 ms"), "{seen}");
    let aligned = "document.querySelector('#timeline select').value";
    assert_eq!(browser.evaluate(aligned), "window");

    browser.evaluate("document.querySelector('.annotate').open = true");
    browser.evaluate("document.querySelector('#timeline .chart canvas').focus()");
    for key in ["ArrowDown", "d"] {
        browser.press(key);
    }
    type_into(&mut browser, ".annotate input[type=text]", "the first");
    click(&mut browser, ".annotate", "Label the selected entry");
    let drawn = text(&mut browser, ".annotate .files label bdi");
    let file = base.iter().find(|file| file.ends_with(&drawn)).unwrap();
    choose(&mut browser, 0, file);
    let annotated = file.with_extension("").display().to_string() + "-annotated.json";
    let saved: Value = serde_json::from_str(&saved(&mut browser, Path::new(&annotated))).unwrap();
    let labels = &saved["metadata"]["modifications"]["annotations"]["entryLabels"];
    assert_eq!(*labels, json!([{ "entry": "r-2", "label": "the first" }]));
    assert_eq!(browser.console(), [] as [Value; 0]);
}
