//! Timelines and trees, compared with those of DevTools' own engine, on output of real programs.
//! Ignored by default, since Chromium, Node.js and the engine are not always installed:
//!
//!     npm install --prefix target/trace-engine @paulirish/trace_engine@0.0.65
//!     cargo test -p pinpoint-cli --test cli trace_engine:: -- --ignored
//!
//! `trace_engine.mjs` compares: both get the same file, and the engine's answer decides.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pinpoint_core::profile::{EntryId, EventKey, FunctionId, Nesting, Span, Timeline, Track};
use serde_json::{Value, json};

use crate::chromium::Chromium;

/// Nested calls, timers, promises, garbage, layout and user timing.
const PROGRAM: &str = r#"
function spin(milliseconds) {
  const end = performance.now() + milliseconds;
  let sum = 0;
  while (performance.now() < end) sum += inner(sum);
  return sum;
}
function inner(value) { return Math.sqrt(value + 1) % 7; }
function recurse(depth) { return depth === 0 ? spin(2) : recurse(depth - 1); }
function garbage() {
  const kept = [];
  for (let at = 0; at < 200000; at += 1) kept.push({ at, text: `${at}` });
  return kept.length;
}
const named = { method() { spin(3); (() => spin(2))(); } };
async function chain(depth) {
  spin(1);
  if (depth > 0) { await null; await chain(depth - 1); }
}
function work(done) {
  performance.mark("begin");
  recurse(5); named.method(); garbage();
  performance.measure("measured", "begin");
  console.time("timed");
  let left = 6;
  const ticking = setInterval(() => {
    spin(2); left -= 1;
    if (left > 0) return;
    clearInterval(ticking);
    console.timeEnd("timed");
    console.timeStamp?.("finished");
    done();
  }, 3);
  setTimeout(function later() { spin(3); setTimeout(() => garbage(), 1); }, 2);
  chain(4).then(() => spin(2));
  Promise.resolve(1).then(function first() { spin(1); }).then(function second() { spin(2); });
}
"#;

const PAGE: &str = r#"
<body><p id="text">text</p><script>
function layout() {
  const text = document.getElementById("text");
  for (let at = 0; at < 50; at += 1) { text.style.width = `${100 + at}px`; text.offsetHeight; }
}
function start() {
  return new Promise((done) => {
    document.body.addEventListener("click", function clicked() { layout(); work(done); });
    requestAnimationFrame(function frame() { layout(); document.body.click(); });
  });
}
// Frames, some of which take long, and one after a pause.
function animate() {
  const text = document.getElementById("text");
  return new Promise((done) => {
    let left = 12;
    const asked = [];
    requestAnimationFrame(function step() {
      text.style.marginLeft = `${left}px`;
      spin(left % 4 === 0 ? 60 : 3);
      left -= 1;
      if (left % 4 === 0) asked.push(fetch(location.href).catch(() => 0));
      if (left === 0) Promise.all(asked).then(() => done(0));
      else if (left === 2) setTimeout(() => requestAnimationFrame(step), 100);
      else requestAnimationFrame(step);
    });
  });
}
</script>
"#;

#[test]
#[ignore = "needs Node.js and the engine of DevTools"]
fn a_cpuprofile_of_node_is_drawn_as_in_devtools() {
    let folder = tempfile::tempdir().unwrap();
    node(
        folder.path(),
        &[
            "--cpu-prof",
            "--cpu-prof-interval=200",
            "--cpu-prof-name=made",
        ],
    );
    let compared = compare(&folder.path().join("made"));
    at_least(
        &compared,
        &[
            ("calls of the profile", 50),
            ("call tree", 50),
            ("bottom-up", 50),
        ],
    );
}

#[test]
#[ignore = "needs Node.js and the engine of DevTools"]
fn a_trace_of_node_is_drawn_as_in_devtools() {
    let folder = tempfile::tempdir().unwrap();
    let categories = "v8,node,disabled-by-default-v8.cpu_profiler,disabled-by-default-v8.inspector";
    let file = folder.path().join("trace.json");
    node(
        folder.path(),
        &[
            "--trace-event-categories",
            categories,
            "--trace-event-file-pattern",
            &file.display().to_string(),
        ],
    );
    let compared = compare(&file);
    at_least(
        &compared,
        &[("threads", 1), ("events", 40), ("keys of events", 5)],
    );
}

#[test]
#[ignore = "needs Chromium and the engine of DevTools"]
fn a_trace_of_chromium_is_drawn_as_in_devtools() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, format!("<script>{PROGRAM}</script>{PAGE}")).unwrap();
    let mut browser = Chromium::start();
    browser.open(&page);
    // Promises are tasks only for a debugger that asks for their stacks.
    browser.call("Debugger.enable", json!({}));
    let depth = json!({ "maxDepth": 32 });
    browser.call("Debugger.setAsyncCallStackDepth", depth);
    let events = traced(&mut browser, "start()", "disabled-by-default-v8.inspector");
    for (name, trace) in [
        ("object", json!({ "traceEvents": events })),
        ("array", json!(events)),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, trace.to_string()).unwrap();
        let compared = compare_with(&file, Some(&page_on(&file)));
        at_least(
            &compared,
            &[
                ("saved labels of calls", 5),
                ("saved labels of events", 50),
                ("saved links", 50),
                ("calls", 20),
                ("events", 1000),
                ("keys of calls", 5),
                ("keys of events", 300),
                ("call tree", 50),
                ("bottom-up", 50),
                ("callers", 20),
                ("event log", 50),
                ("in groups", 10),
                ("asynchronous stacks", 20),
                ("payload stacks", 20),
                ("spans", 4),
            ],
        );
    }
}

#[test]
#[ignore = "needs Chromium and the engine of DevTools"]
fn frames_and_requests_of_chromium_are_those_of_devtools() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, format!("<script>{PROGRAM}</script>{PAGE}")).unwrap();
    let mut browser = Chromium::start();
    browser.open(&page);
    let events = traced(
        &mut browser,
        "animate()",
        "disabled-by-default-devtools.timeline.frame",
    );
    let file = folder.path().join("frames");
    fs::write(&file, json!({ "traceEvents": events }).to_string()).unwrap();
    let compared = compare_with(&file, Some(&page_on(&file)));
    at_least(
        &compared,
        &[
            ("frames", 19),
            ("saved labels of frames", 3),
            ("requests", 13),
            ("saved labels of requests", 3),
            ("saved links", 50),
        ],
    );
}

/// The events of a trace, recorded while an expression is evaluated, with one more category.
fn traced(browser: &mut Chromium, expression: &str, category: &str) -> Vec<Value> {
    let categories = [
        "devtools.timeline",
        "disabled-by-default-devtools.timeline",
        "disabled-by-default-devtools.timeline.stack",
        "disabled-by-default-v8.cpu_profiler",
        "v8",
        "v8.execute",
        "toplevel",
        "blink.console",
        "blink.user_timing",
        category,
    ];
    let config = json!({ "includedCategories": categories, "excludedCategories": ["*"] });
    browser.call(
        "Tracing.start",
        json!({ "traceConfig": config, "transferMode": "ReportEvents" }),
    );
    browser.evaluate(expression);
    browser.call("Tracing.end", json!({}));
    browser.wait_to_hear("Tracing.tracingComplete");
    let pieces = browser.heard("Tracing.dataCollected");
    let events = pieces.flat_map(|piece| piece["value"].as_array().unwrap().clone());
    events.collect()
}

/// Runs the program in Node.js.
fn node(folder: &Path, options: &[&str]) {
    let program = folder.join("program.js");
    fs::write(&program, format!("{PROGRAM}\nwork(() => {{}});\n")).unwrap();
    let status = Command::new("node")
        .args(options)
        .arg(&program)
        .current_dir(folder)
        .status()
        .expect("there is no Node.js: `apt-get install nodejs`");
    assert!(status.success());
}

/// A report on a trace, compared with itself.
fn page_on(file: &Path) -> PathBuf {
    let page = file.with_extension("html");
    let output = Command::new(env!("CARGO_BIN_EXE_pinpoint"))
        .args(["explain", "--report"])
        .arg(&page)
        .arg("--base")
        .arg(file)
        .arg("--experiment")
        .arg(file)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(page.exists(), "{complaint}");
    page
}

/// The counts of compared items, all of them equal.
fn compare(file: &Path) -> BTreeMap<String, u64> {
    compare_with(file, None)
}

fn compare_with(file: &Path, page: Option<&Path>) -> BTreeMap<String, u64> {
    let timeline = Timeline::read(&fs::read(file).unwrap()).unwrap();
    let ours = file.with_extension("ours");
    fs::write(&ours, written(&timeline).to_string()).unwrap();
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("node")
        .arg(here.join("tests/cli/trace_engine.mjs"))
        .arg(engine())
        .arg(here.join("../pinpoint-report/src/profile/trees.js"))
        .args([file, &ours])
        .args(page)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The folder of the engine, as npm installs it.
fn engine() -> PathBuf {
    let installed = std::env::var_os("PINPOINT_TEST_TRACE_ENGINE").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/trace-engine"),
        PathBuf::from,
    );
    let folder = installed.join("node_modules/@paulirish/trace_engine");
    assert!(
        folder.exists(),
        "there is no engine in {0}: npm install --prefix {0} @paulirish/trace_engine@0.0.65",
        installed.display()
    );
    folder
}

/// Checks that the comparison was not empty.
#[track_caller]
fn at_least(compared: &BTreeMap<String, u64>, expected: &[(&str, u64)]) {
    for (what, least) in expected {
        let count = compared.get(*what).copied().unwrap_or(0);
        assert!(count >= *least, "{what}: {count} of {least}: {compared:?}");
    }
}

/// The timeline as `trace_engine.mjs` reads it, tracks as `trees.js` has them.
fn written(timeline: &Timeline) -> Value {
    let kinds = timeline
        .kinds
        .iter()
        .zip(kind_ids(timeline))
        .map(|(kind, id)| {
            let name = |id| timeline.names.get(id);
            json!({
                "id": id, "name": name(kind.name), "url": name(kind.url),
                "category": kind.category.as_str(),
            })
        });
    let tracks = timeline.tracks.iter().enumerate();
    let span = |span: &Span| {
        json!({
            "key": span.key().to_string(), "name": timeline.names.get(span.name),
            "start": span.start, "duration": span.duration,
        })
    };
    let spans = timeline.spans.iter().map(span);
    let requests = timeline.requests.iter().map(span);
    let frames = (0..).zip(&timeline.frames).map(|(place, frame)| {
        json!({
            "key": EventKey::Frame(place).to_string(), "start": frame.start,
            "duration": frame.duration, "isIdle": frame.is_idle,
            "isDropped": frame.is_dropped, "isPartial": frame.is_partial,
        })
    });
    json!({
        "kinds": kinds.collect::<Vec<_>>(),
        "tracks": tracks.map(|(place, track)| of_track(timeline, place, track)).collect::<Vec<_>>(),
        "spans": spans.collect::<Vec<_>>(),
        "frames": frames.collect::<Vec<_>>(),
        "requests": requests.collect::<Vec<_>>(),
    })
}

/// The ids of all kinds, in their order.
fn kind_ids(timeline: &Timeline) -> Vec<String> {
    let mut ids = vec![String::new(); timeline.kinds.len()];
    for entry in timeline.tracks.iter().flat_map(|track| &track.entries) {
        let id = &mut ids[entry.kind.index()];
        if id.is_empty() {
            *id = timeline.id(entry.kind);
        }
    }
    ids
}

fn of_track(timeline: &Timeline, place: usize, track: &Track) -> Value {
    let column =
        |of: &dyn Fn(usize) -> Value| -> Value { (0..track.entries.len()).map(of).collect() };
    let entry = |at: usize| &track.entries[at];
    let id = |at: usize| EntryId {
        track: place as u32,
        entry: at as u32,
    };
    json!({
        "process": track.process,
        "thread": track.thread,
        "starts": column(&|at| json!(entry(at).start)),
        "durations": column(&|at| json!(entry(at).duration)),
        "owns": column(&|at| json!(entry(at).own)),
        "depths": column(&|at| json!(entry(at).depth)),
        "kinds": column(&|at| json!(entry(at).kind.index())),
        "parents": column(&|at| match entry(at).nesting {
            Nesting::Outermost => json!(-1),
            Nesting::In(parent) => json!(parent),
            Nesting::Across => json!(-2),
        }),
        "keys": column(&|at| json!(timeline.key(id(at)).unwrap().to_string())),
        "stacks": column(&|at| json!(stack(timeline, id(at)))),
        "payloads": column(&|at| json!(frames(timeline, timeline.payload_stack(id(at))))),
    })
}

/// A stack on one line, each part with the task that it scheduled.
fn stack(timeline: &Timeline, id: EntryId) -> String {
    let parts = timeline.stack(id);
    let parts = parts.iter().map(|part| {
        let task = timeline.names.get(part.task);
        format!("{task}[{}]", frames(timeline, &part.functions))
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn frames(timeline: &Timeline, functions: &[FunctionId]) -> String {
    let functions = functions.iter().map(|id| {
        let function = timeline.function(*id).unwrap();
        let name = |id| timeline.names.get(id);
        let (name, script) = (name(function.name), name(function.script));
        format!("{name}@{script}:{}:{}", function.line, function.column)
    });
    functions.collect::<Vec<_>>().join(" ")
}
