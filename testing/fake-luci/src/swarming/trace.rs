//! The traces that a benchmark writes when it is asked for them.

use serde_json::{Value, json};

/// The category by which V8's samples are in a trace.
const SAMPLES: &str = "disabled-by-default-v8.cpu_profiler";

/// The samples of each function.
const COUNT: usize = 60;

/// Where the runner of a benchmark writes a trace, by its command; none where it is not asked for
/// one with samples, in JSON.
pub(super) fn path(command: &[String], benchmark: &str) -> Option<String> {
    let value = |option: &str| { command.iter() }.find_map(|word| word.strip_prefix(option));
    if let Some(probe) = value("--probe=tracing:") {
        let probe: Value = serde_json::from_str(probe).ok()?;
        let has_samples = { probe["categories"].as_array()?.iter() }.any(|it| it == SAMPLES);
        let is_json = probe["record_format"] == "json";
        let path = format!("{benchmark}/output/chrome/stories/default/0/trace.json");
        return (has_samples && is_json).then_some(path);
    }
    let has_samples = value("--extra-chrome-categories=")?.contains(SAMPLES);
    let is_json = command
        .iter()
        .any(|word| word == "--legacy-json-trace-format");
    let directory = value("--intermediate-dir=${ISOLATED_OUTDIR}/")?;
    (has_samples && is_json).then(|| format!("{directory}/story_0/trace/traceEvents/tmp1.json"))
}

/// The trace of a run that took so many milliseconds: 50 of them in `parse`, the rest in `layout`.
pub(super) fn content(milliseconds: f64) -> Vec<u8> {
    let frame = |name: &str, line: u32| {
        json!({
            "functionName": name, "scriptId": 1, "url": "https://bench.example.org/bench.js",
            "lineNumber": line, "columnNumber": 9, "codeType": "JS",
        })
    };
    let root = json!({"functionName": "(root)", "scriptId": 0, "codeType": "other"});
    let nodes = [
        json!({"id": 1, "callFrame": root}),
        json!({"id": 2, "parent": 1, "callFrame": frame("run", 40)}),
        json!({"id": 3, "parent": 2, "callFrame": frame("parse", 2)}),
        json!({"id": 4, "parent": 2, "callFrame": frame("layout", 12)}),
    ];
    // A sample counts until the next one.
    let each = |milliseconds: f64| (milliseconds * 1000.0 / COUNT as f64) as u64;
    let deltas = [
        vec![0],
        vec![each(50.0); COUNT],
        vec![each(milliseconds - 50.0); COUNT],
    ]
    .concat();
    let samples = [vec![3; COUNT], vec![4; COUNT], vec![1]].concat();
    let began = 1_000_000;
    let event = |name: &str, data: Value| {
        json!({
            "name": name, "cat": SAMPLES, "ph": "P", "id": "0x1", "pid": 7, "tid": 9,
            "ts": began, "args": {"data": data},
        })
    };
    let chunk = json!({
        "cpuProfile": {"nodes": nodes, "samples": samples},
        "timeDeltas": deltas,
    });
    let name = |what: &str, name: &str| {
        json!({
            "name": what, "cat": "__metadata", "ph": "M", "pid": 7, "tid": 9, "ts": 0,
            "args": {"name": name},
        })
    };
    let events = [
        name("process_name", "Renderer"),
        name("thread_name", "CrRendererMain"),
        event("Profile", json!({"startTime": began})),
        event("ProfileChunk", chunk),
    ];
    json!({"traceEvents": events}).to_string().into_bytes()
}
