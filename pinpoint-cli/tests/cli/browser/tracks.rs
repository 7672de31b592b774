//! The tracks of traces in the report, and the trees of one of them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::annotations::{reported_with, trace};
use super::explanation::{click, is_drawn, text};
use crate::chromium::Chromium;
use crate::world::World;

/// The events of a compositor for so many frames, 20 ms each.
fn frames(count: u32) -> Vec<Value> {
    let event = |name: &str, ts: u32, args: Value| {
        json!({ "name": name, "cat": "disabled-by-default-devtools.timeline.frame", "ph": "I",
            "pid": 7, "tid": 2, "ts": ts, "args": args })
    };
    let page = json!({ "frame": "F", "url": "https://example.com", "processId": 7 });
    let tree = json!({ "frame": "F", "layerTreeId": 1 });
    let mut events = vec![
        event(
            "TracingStartedInBrowser",
            1_000_000,
            json!({ "data": { "frames": [page] } }),
        ),
        event("SetLayerTreeId", 1_000_001, json!({ "data": tree })),
    ];
    for frame in 0..count {
        let args = json!({ "layerTreeId": 1, "frameSeqId": frame });
        let begin = 1_000_100 + frame * 20_000;
        events.push(event("BeginFrame", begin, args.clone()));
        events.push(event("DrawFrame", begin + 15_000, args));
    }
    events
}

/// A thread that is busier than the compositor, which has its place then.
fn busy() -> Vec<Value> {
    let name = json!({ "name": "thread_name", "ph": "M", "pid": 7, "tid": 3, "ts": 0,
        "args": { "name": "Busy" } });
    let task = json!({ "name": "Work", "cat": "toplevel", "ph": "X", "pid": 7, "tid": 3,
        "ts": 1_000_500, "dur": 90_000, "args": {} });
    vec![name, task]
}

/// The report on six traces a side. A frame before has a label; the thread that is busy is there
/// after alone.
fn reported(world: &World) -> PathBuf {
    let write = |name: &str, run: u32, next: u32, more: Vec<Value>, notes: Value| {
        let mut events = trace(next + run % 2);
        events.as_array_mut().unwrap().extend(more);
        let file = world.path(&format!("{name}{run}.json"));
        let text = json!({ "traceEvents": events, "metadata": { "modifications": notes } });
        fs::write(&file, text.to_string()).unwrap();
        file
    };
    let labels =
        json!([{ "entry": "l-3", "label": "a late frame" }, { "entry": "l-99", "label": "none" }]);
    let notes = json!({ "annotations": { "entryLabels": labels } });
    let base: Vec<PathBuf> = (0..6)
        .map(|run| write("before", run, 5, frames(12), notes.clone()))
        .collect();
    let experiment: Vec<PathBuf> = (0..6)
        .map(|run| write("after", run, 9, busy(), json!({})))
        .collect();
    reported_with(world, &base, &experiment, &[])
}

/// The rows of the tree, cells parted by `|`, and its caption first.
fn tree(browser: &mut Chromium) -> Vec<String> {
    let rows = "[document.querySelector('#timeline .tree caption')?.textContent ?? '', \
        ...[...document.querySelectorAll('#timeline .tree tbody tr')].map(row => [...row.cells].map(it => it.textContent).join('|'))]";
    serde_json::from_value(browser.evaluate(rows)).unwrap()
}

#[test]
#[ignore = "needs Chromium"]
fn a_frame_has_a_label_and_trees_are_of_the_same_track_on_both_sides() {
    let world = World::new();
    let page = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&page);
    is_drawn(&mut browser, "#timeline .chart canvas");
    browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");

    // The label of a frame is found, one of an absent frame is named.
    let notes = text(&mut browser, ".annotate");
    assert!(notes.contains("label before: a late frame"), "{notes}");
    assert!(notes.contains("l-99") && !notes.contains("l-3"), "{notes}");
    click(&mut browser, ".annotations", "Show");
    // 20 ms, and a tenth of them on both sides.
    browser.wait_for("document.querySelector('#timeline .chart canvas').ariaLabel.includes(' 24.00 ms are seen')");
    click(&mut browser, "#timeline .tools", "Show all");

    // The compositor stands at another place after: its trees are compared all the same.
    click(&mut browser, ".tracks", "Compositor");
    browser.wait_for(
        "document.querySelector('#timeline .tree caption')?.textContent.startsWith('Compositor')",
    );
    let rows = tree(&mut browser);
    assert!(rows[1].contains("DrawFrame|40.00 ms|40.00 ms|"), "{rows:?}");

    // By the keyboard, to a track that one side has.
    browser.evaluate("[...document.querySelectorAll('.tracks button')].find(it => it.textContent === 'Busy').focus()");
    browser.press("Enter");
    browser.wait_for(
        "document.querySelector('#timeline .tree caption')?.textContent.includes('only the run after has')",
    );
    let rows = tree(&mut browser);
    assert!(rows[1].contains("Work|0 ns|90.00 ms|"), "{rows:?}");
    let focused = browser.evaluate("document.activeElement.textContent");
    assert_eq!(focused, "Busy");

    // Tracks hidden on one side stay hidden, whatever happens on the other.
    let hidden = "document.querySelector('[aria-label=\"shown: Frames\"]')";
    browser.evaluate(&format!("{hidden}.click()"));
    browser.evaluate(
        "[...document.querySelectorAll('[aria-label=\"unfolded: Compositor\"]')].at(-1).click()",
    );
    assert_eq!(browser.evaluate(&format!("{hidden}.checked")), false);
    assert_eq!(browser.complaints(&page), [] as [Value; 0]);
    // Another report has the tracks as they were left, until they are reset.
    let next = world.path("next.html");
    fs::copy(&page, &next).unwrap();
    browser.open(&next);
    is_drawn(&mut browser, "#timeline .chart canvas");
    assert_eq!(browser.evaluate(&format!("{hidden}.checked")), false);
    click(&mut browser, ".tracks", "Reset");
    assert_eq!(browser.evaluate(&format!("{hidden}.checked")), true);
    browser.open(&page);
    is_drawn(&mut browser, "#timeline .chart canvas");
    assert_eq!(browser.evaluate(&format!("{hidden}.checked")), true);
}

#[test]
#[ignore = "needs Chromium"]
fn trees_say_what_is_certain_in_all_runs_and_leave_categories_out() {
    let world = World::new();
    let page = reported(&world);
    let mut browser = Chromium::start();
    browser.open(&page);
    is_drawn(&mut browser, "#timeline .chart canvas");
    browser.evaluate("document.querySelector('.trees').open = true");
    browser.evaluate("document.querySelector('#timeline input[value=bottom-up]').click()");
    browser.wait_for("document.querySelector('#timeline .tree tbody') !== null");
    let of = |rows: &[String], name: &str| -> String {
        let row = rows.iter().find(|row| row.contains(name));
        row.unwrap_or_else(|| panic!("{name}: {rows:?}")).clone()
    };
    // A function, and the statistics of all its runs.
    let next = of(&tree(&mut browser), "next|");
    let cells: Vec<&str> = next.split('|').collect();
    assert!(cells[7].contains('[') && cells[8] != "–", "{next}");
    // A group of functions, too.
    browser.evaluate("(it => { it.value = 'domain'; it.dispatchEvent(new Event('change')); })(document.querySelector('.tree-tools select'))");
    let group = of(&tree(&mut browser), "example.com|");
    let cells: Vec<&str> = group.split('|').collect();
    assert!(cells[7].contains('[') && cells[8] != "–", "{group}");
    // Filtered, the functions alone.
    let filter = |browser: &mut Chromium, text: &str| {
        let input = "document.querySelector('.tree-tools input[type=search]')";
        browser.evaluate(&format!(
            "(it => {{ it.value = '{text}'; it.dispatchEvent(new Event('input')); }})({input})"
        ));
    };
    filter(&mut browser, "next");
    let group = of(&tree(&mut browser), "example.com|");
    assert!(group.ends_with("|–|–"), "{group}");
    filter(&mut browser, "");
    browser.evaluate("document.querySelector('#timeline input[value=\"third party\"]').click()");
    let owner = of(&tree(&mut browser), "example.com|");
    assert!(owner.split('|').nth(7).unwrap().contains('['), "{owner}");

    browser.evaluate("(it => { it.value = ''; it.dispatchEvent(new Event('change')); })(document.querySelector('.tree-tools select'))");
    // An event, on its path.
    browser.evaluate("document.querySelector('#timeline input[value=\"call tree\"]').click()");
    let task = of(&tree(&mut browser), "RunTask|");
    let cells: Vec<&str> = task.split('|').collect();
    assert!(
        cells[7].starts_with("total ") && cells[7].contains('['),
        "{task}"
    );
    assert_ne!(cells[8], "–", "{task}");

    // Without scripts, the tasks are left.
    browser.evaluate("document.querySelector('#timeline input[value=bottom-up]').click()");
    assert!(tree(&mut browser).concat().contains("FunctionCall"));
    browser.evaluate("[...document.querySelectorAll('.tree-tools label')].find(it => it.textContent.trim() === 'scripting').control.click()");
    let rows = tree(&mut browser).concat();
    assert!(
        rows.contains("RunTask") && !rows.contains("FunctionCall"),
        "{rows}"
    );
    // The own times of tasks now contain the scripts.
    assert!(!rows.contains('['), "{rows}");
    assert_eq!(browser.complaints(&page), [] as [Value; 0]);
}

#[test]
#[ignore = "needs Chromium"]
fn a_run_in_which_nothing_ran_is_no_trouble() {
    let world = World::new();
    let frame = |name: &str, id: u32| {
        json!({ "id": id, "callFrame": { "functionName": name, "scriptId": "0", "url": "",
            "lineNumber": -1, "columnNumber": -1 }, "children": if id == 1 { vec![2] } else { vec![] } })
    };
    let profile = json!({ "nodes": [frame("(root)", 1), frame("(idle)", 2)], "startTime": 0,
        "endTime": 300, "samples": [2, 2, 2], "timeDeltas": [0, 100, 100] });
    let file = world.path("idle.cpuprofile");
    fs::write(&file, profile.to_string()).unwrap();
    let page = world.path("idle.html");
    let [file, report] = [&file, &page].map(|path| path.display().to_string());
    world
        .pinpoint(&[
            "explain",
            "--report",
            &report,
            "--base",
            &file,
            "--experiment",
            &file,
        ])
        .ends_with(4);
    let mut browser = Chromium::start();
    browser.open(&page);
    browser.wait_for("!document.querySelector('#timeline').hidden");
    browser.evaluate("document.querySelectorAll('details').forEach(it => it.open = true)");
    browser.evaluate("document.querySelector('#timeline .chart canvas').focus()");
    for key in ["ArrowDown", "Enter", "d", "Escape"] {
        browser.press(key);
    }
    browser.wait_for("document.querySelector('#timeline .tree').textContent !== ''");
    assert_eq!(browser.complaints(&page), [] as [Value; 0]);
}
