use std::path::PathBuf;

use pinpoint_core::profile::{ExplainOptions, Profile, Timeline, compare_stacks, explain};
use serde_json::{Value, json};

use super::*;

/// Text that would be a script, end one, leave an attribute, hide, or change its surroundings.
const HOSTILE: &str = "</script></title></style><img src=x onerror=alert(1)>\" autofocus onfocus='alert(2)' &lt;\u{202e}\u{1b}]0;x\u{7}";

fn page(base: impl AsRef<[u8]>, experiment: impl AsRef<[u8]>, notes: &[String]) -> String {
    let runs = |content: &[u8]| vec![Profile::read(content).unwrap(); 6];
    let (base, experiment) = (runs(base.as_ref()), runs(experiment.as_ref()));
    let options = ExplainOptions::default();
    let explanation = explain(&base, &experiment, &options).unwrap();
    let files = [PathBuf::from(format!("{HOSTILE}.txt"))];
    report(&Report {
        explanation: &explanation,
        profiles: [&base, &experiment],
        options: &options,
        timelines: [None, None],
        entry_trees: [&[], &[]],
        window: None,
        files: [&files, &files],
        job: Some(Job {
            id: "01a1",
            explains: "01a0",
            profiler: "perf",
            about: &[],
        }),
        notes,
        made: 0,
    })
    .unwrap()
}

#[test]
fn nothing_of_others_is_more_than_text() {
    let stacks = |own: u32| format!("main;{HOSTILE} {own}\nmain;calm 50\n");
    let page = page(stacks(40), stacks(60), &[HOSTILE.to_owned()]);
    let shown = page.matches("&lt;img src=x onerror=alert(1)&gt;").count();
    assert!(shown > 3, "{shown}");
    for unsafe_text in ["<img", "\" autofocus", "\u{202e}", "\u{1b}", "\u{7}"] {
        assert!(!page.contains(unsafe_text), "{unsafe_text:?}");
    }
    for (element, count) in [("</script>", 2), ("</title>", 1), ("</style>", 1)] {
        assert_eq!(page.matches(element).count(), count, "{element}");
    }
}

#[test]
fn a_page_says_why_it_has_no_flame_charts() {
    let timed: &[u8] = include_bytes!("../../../pinpoint-core/tests/profiles/node-20.cpuprofile");
    let untimed: &[u8] = include_bytes!("../../../pinpoint-core/tests/profiles/go-1.26.pprof");
    let says = |base: &[u8], experiment: &[u8]| {
        let page = page(base, experiment, &[]);
        let sentence = page.split("There are no flame charts: ").nth(1);
        sentence.map(|it| it.split('<').next().unwrap().to_owned())
    };
    let only = |side| Some(format!("only the runs {side} have times."));
    assert_eq!(says(timed, untimed), only("before"));
    assert_eq!(says(untimed, timed), only("after"));
    assert_eq!(says(timed, timed), None);
    assert_eq!(says(untimed, untimed), None);
    let sentence = "These profiles have no stacks";
    assert!(page("main 7\n", "main 7\n", &[]).contains(sentence));
    assert!(!page("main;parse 7\n", "main;parse 7\n", &[]).contains(sentence));
}

#[test]
fn the_answer_is_that_of_the_terminal_and_the_table_needs_no_script() {
    let page = page(
        "main;parse 40\nmain;print 50\n",
        "main;parse 60\nmain;print 50\n",
        &[],
    );
    assert!(page.contains("+20.00 samples (+22.2 %), 6 runs a side, perf: 100 % of it in parse"));
    // On the screen of a telephone, too.
    let head = "Function</th><th class=\"number\" scope=\"col\">Difference";
    assert!(page.contains(head));
    let rows = page.matches("<tr class=\"certain\"").count();
    let equal = page.matches("<tr class=\"uncertain\"").count();
    assert_eq!((rows, equal), (1, 0));
    assert!(page.contains(" without a difference, with or without callees."));
    assert!(page.contains("<strong>more</strong>"));
    assert!(page.contains("Content-Security-Policy"));
    for outside in [
        "<img",
        "<iframe",
        "<script src",
        "<link rel=\"stylesheet",
        "url(",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn counted_calls_have_no_flame_graph_and_say_so() {
    let counted = |inside: u32| {
        format!(
            "events: Ir\nfl=a.c\nfn=main\n1 10\ncfn=hash\ncalls=2 5\n1 {inside}\nfn=hash\n5 {inside}\ntotals: {}\n",
            10 + inside
        )
    };
    let page = page(counted(100), counted(120), &[]);
    assert!(page.contains("keeps no stacks"));
    assert!(!page.contains("<canvas"));
}

/// A task in which `parse` is called for two milliseconds; another thread schedules an animation
/// that ends after the task. Annotations are of existing entries, and of others.
const TRACE: &str = r#"{"traceEvents": [
    {"name": "thread_name", "ph": "M", "pid": 7, "tid": 1, "args": {"name": "Main </script>"}},
    {"name": "Draw", "ph": "X", "cat": "cc", "pid": 7, "tid": 2, "ts": 1000, "dur": 500, "args": {"data": {"stackTrace": [
      {"functionName": "show", "scriptId": "5", "url": "https://example.com/js/a.js", "lineNumber": 40, "columnNumber": 6}]}}},
    {"name": "RunTask", "ph": "X", "cat": "toplevel", "pid": 7, "tid": 1, "ts": 1000, "dur": 9000, "args": {}},
    {"name": "FunctionCall", "ph": "X", "cat": "v8", "pid": 7, "tid": 1, "ts": 1100, "dur": 8000, "args": {}},
    {"name": "Across", "ph": "X", "cat": "cc", "pid": 7, "tid": 1, "ts": 9900, "dur": 300, "args": {}},
    {"name": "load", "ph": "b", "cat": "blink.user_timing", "id": "0x2", "pid": 7, "tid": 1, "ts": 1200, "args": {}},
    {"name": "load", "ph": "e", "cat": "blink.user_timing", "id": "0x2", "pid": 7, "tid": 1, "ts": 5200, "args": {}},
    {"name": "Profile", "ph": "P", "id": "0x1", "pid": 7, "tid": 1, "ts": 1000, "args": {"data": {"startTime": 1000}}},
    {"name": "ProfileChunk", "ph": "P", "id": "0x1", "pid": 7, "tid": 1, "ts": 1001, "args": {"data": {"cpuProfile": {
      "nodes": [
        {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0, "url": "", "lineNumber": -1, "columnNumber": -1}},
        {"id": 2, "parent": 1, "callFrame": {"functionName": "parse", "scriptId": 5, "url": "https://example.com/a.js", "lineNumber": 3, "columnNumber": 1}}],
      "samples": [1, 2, 2, 1]}, "timeDeltas": [1000, 1000, 1000, 1000]}}}],
  "metadata": {"modifications": {"annotations": {"entryLabels": [{"entry": "r-2", "label": "</script>"}]}}}}"#;

/// The data of a page on six runs a side of one trace.
fn data_of(trace: &str) -> Value {
    let runs = vec![Profile::read(trace.as_bytes()).unwrap(); 6];
    let timeline = Timeline::read(trace.as_bytes()).unwrap();
    let options = ExplainOptions::default();
    let explanation = explain(&runs, &runs, &options).unwrap();
    let stacks = compare_stacks(&runs, &runs, &options).unwrap();
    let drawn = chart::Drawn {
        timeline: &timeline,
        file: "a.json",
        window: Some([3_000.0, f64::INFINITY]),
        all_runs: None,
    };
    let data = data::Data::from_comparison(
        &explanation,
        &stacks,
        [&runs, &runs],
        [Some(drawn); 2],
        None,
    );
    serde_json::to_value(&data).unwrap()
}

/// V8 has functions begin where their names end.
#[test]
fn calls_that_a_source_map_names_are_those_of_the_tables() {
    let map = r#"{"version": 3, "sources": ["lexer.ts"], "names": ["nextToken"], "mappings": ";;;AAAAA"}"#;
    let maps = format!(
        r#""metadata": {{"sourceMaps": [{{"url": "https://example.com/a.js", "sourceMap": {map}}}], "#
    );
    let trace = TRACE
        .replace(r#""metadata": {"#, &maps)
        .replace(r#""functionName": "parse""#, r#""functionName": "p""#);
    let data = data_of(&trace);
    let chart = &data["charts"][0];
    let kind = &chart["kinds"][chart["tracks"][0]["kinds"][2].as_u64().unwrap() as usize];
    assert_eq!(kind["name"], "nextToken");
    let function = kind["function"].as_u64().unwrap() as usize;
    assert_eq!(data["functions"]["name"][function], "nextToken");
    assert_eq!(data["functions"]["row"][function], 0);
    // Its key is that of the call as it ran.
    assert_eq!(chart["tracks"][0]["nodes"][2], 2);
}

#[test]
fn a_trace_is_drawn_with_its_events_and_the_keys_of_devtools() {
    let data = data_of(TRACE);
    let chart = &data["charts"][0];
    let kind_of = |track: usize| -> Vec<&Value> {
        let kinds = chart["tracks"][track]["kinds"].as_array().unwrap();
        let kind = |place: &Value| &chart["kinds"][place.as_u64().unwrap() as usize];
        kinds.iter().map(kind).collect()
    };
    let names: Vec<_> = kind_of(0).iter().map(|kind| &kind["name"]).collect();
    assert_eq!(names, ["RunTask", "FunctionCall", "parse", "Across"]);
    // The thread with scripts stands first, spans last.
    let names: Vec<_> = (0..3)
        .map(|track| &chart["tracks"][track]["name"])
        .collect();
    assert_eq!(names, ["Main </script>", "", "Timings"]);
    let main = &chart["tracks"][0];
    assert_eq!(main["starts"], json!([0, 1_000, 19_000, 69_000]));
    assert_eq!(main["durations"], json!([90_000, 80_000, 20_000, 3_000]));
    assert_eq!(main["depths"], json!([0, 1, 2, -1]));
    assert_eq!(main["sources"], json!([2, 1, 1, 1]));
    assert_eq!(main["nodes"], json!([-1, -1, 2, -1]));
    assert_eq!(chart["tracks"][2]["nodes"], json!([-2]));
    // A call is that of the function in the tables, an event of none.
    let functions: Vec<_> = kind_of(0).iter().map(|kind| &kind["function"]).collect();
    let parse = data["functions"]["name"].as_array().unwrap();
    let parse = parse.iter().position(|name| name == "parse").unwrap();
    assert_eq!(functions, [-1, -1, parse as i64, -1]);
    // The place of the call to an event, counted from 1.
    assert_eq!(chart["stacks"], json!([["show (a.js:41:7)"]]));
    let called = json!({"entry": [0], "stack": [0]});
    assert_eq!(chart["tracks"][1]["called"], called);
    assert_eq!(chart["marks"][0]["name"], "load");
    assert_eq!(chart["window"][0], 20_000);
    assert_eq!(chart["trace"]["begin"], 1_000.0);
    let notes = &chart["trace"]["modifications"]["annotations"]["entryLabels"];
    assert_eq!(notes[0]["entry"], "r-2");
}

/// Events within and across each other on three threads, calls on the first, timings: never the
/// same for two seeds.
fn random_trace(seed: u64) -> String {
    let mut state = seed;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut events = vec![
        json!({"name": "thread_name", "ph": "M", "pid": 7, "tid": 1, "args": {"name": "Main"}}),
        json!({"name": "thread_name", "ph": "M", "pid": 7, "tid": 2, "args": {"name": "Worker 1"}}),
        json!({"name": "thread_name", "ph": "M", "pid": 7, "tid": 3, "args": {"name": "Other"}}),
        json!({"name": "Profile", "ph": "P", "id": "0x1", "pid": 7, "tid": 1, "ts": 1000,
            "args": {"data": {"startTime": 1000}}}),
    ];
    let names = [
        "RunTask",
        "FunctionCall",
        "Layout",
        "TimerFire",
        "v8.parseOnBackgroundWaiting",
        "Paint",
    ];
    let urls = ["https://a.example/x.js", "https://b.example/y.js", ""];
    for thread in 1..4 {
        let mut inside = vec![(1000, 10_000)];
        while let Some((mut time, end)) = inside.pop() {
            while end - time > 20 {
                let start = time + random((end - time) / 4);
                // On the last one a few end after the one around them.
                let late = if thread == 3 && random(20) == 0 {
                    random(30)
                } else {
                    0
                };
                time = start + random(end - start);
                let (name, url) = (names[random(6) as usize], urls[random(3) as usize]);
                events.push(
                    json!({"name": name, "ph": "X", "cat": "devtools.timeline", "pid": 7,
                    "tid": thread, "ts": start, "dur": time - start + late,
                    "args": {"data": {"url": url}}}),
                );
                if time - start > 400 {
                    inside.push((start, time));
                }
            }
        }
    }
    for number in 0..8 {
        let (start, id) = (1000 + random(5000), format!("0x{number}"));
        for (phase, time) in [("b", start), ("e", start + random(4000))] {
            // It has the name of an event of another category.
            let name = ["step 0", "step 1", "Paint"][number % 3];
            events.push(json!({"name": name, "ph": phase,
                "cat": "blink.user_timing", "id": id, "pid": 7, "tid": 1, "ts": time, "args": {}}));
        }
    }
    let nodes = (2..9).map(|id| {
        let (name, url) = (format!("f{}", id % 4), urls[id as usize % 2]);
        json!({"id": id, "parent": 1 + random(id - 1), "callFrame": {"functionName": name,
            "scriptId": id % 2, "url": url, "lineNumber": id % 4, "columnNumber": 1}})
    });
    let mut nodes: Vec<Value> = nodes.collect();
    nodes.insert(
        0,
        json!({"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0,
        "url": "", "lineNumber": -1, "columnNumber": -1}}),
    );
    let samples: Vec<u64> = (0..90).map(|_| 1 + random(8)).collect();
    events.push(
        json!({"name": "ProfileChunk", "ph": "P", "id": "0x1", "pid": 7, "tid": 1,
        "ts": 1001, "args": {"data": {"cpuProfile": {"nodes": nodes, "samples": samples},
        "timeDeltas": vec![100; 90]}}}),
    );
    json!({ "traceEvents": events }).to_string()
}

/// With one run a side, the comparison of all runs matches its own rows.
#[test]
fn rows_of_all_runs_are_those_of_the_trees_that_are_drawn() {
    let texts = [random_trace(1), random_trace(2)];
    let runs = texts
        .each_ref()
        .map(|text| Profile::read(text.as_bytes()).unwrap());
    let timelines = texts
        .each_ref()
        .map(|text| Timeline::read(text.as_bytes()).unwrap());
    let options = ExplainOptions::default();
    let sides = runs.each_ref().map(std::slice::from_ref);
    let explanation = explain(sides[0], sides[1], &options).unwrap();
    let stacks = compare_stacks(sides[0], sides[1], &options).unwrap();
    let trees = [0, 1].map(|side| EntryTree::of(&timelines[side], &runs[side], None).unwrap());
    let [before, after] = trees.each_ref().map(std::slice::from_ref);
    let all_runs = compare_entries(before, after, &stacks, &options).unwrap();
    let drawn = timelines.each_ref().map(|timeline| {
        Some(chart::Drawn {
            timeline,
            file: "a.json",
            window: None,
            all_runs: Some(&all_runs),
        })
    });
    let data = data::Data::from_comparison(&explanation, &stacks, sides, drawn, Some(&all_runs));
    let data = serde_json::to_string(&data).unwrap();
    let check = include_str!("tests/rows.mjs").replace("DATA", &data);
    scripts::tests::node_with(&["--input-type=module", "-"], &check);
}
