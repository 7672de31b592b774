//! Timelines of traces that are made up, so that the answer is known.

use std::fmt::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Category, EntryId, FunctionId, Nesting, Timeline};
use crate::ReadProfileError;

/// An event of the one thread; `more` overrides and adds.
fn event(name: &str, ph: &str, ts: f64, dur: f64, more: Value) -> Value {
    let mut event = json!({
        "name": name, "ph": ph, "cat": "test", "pid": 7, "tid": 1, "ts": ts, "dur": dur,
    });
    for (member, value) in more.as_object().unwrap() {
        event[member] = value.clone();
    }
    event
}

fn span(name: &str, ts: f64, dur: f64) -> Value {
    event(name, "X", ts, dur, json!({}))
}

/// A node of V8's call tree: its number, caller and function.
type Node = (u32, u32, &'static str);

const SYSTEM: [Node; 3] = [
    (2, 1, "(program)"),
    (3, 1, "(idle)"),
    (4, 1, "(garbage collector)"),
];

/// A profile that begins at 0: its nodes besides those of V8, and samples with their times.
fn profile(nodes: &[Node], samples: &[(f64, u32)], of_events: Value) -> Vec<Value> {
    let frame = |name: &str| match name {
        name if name.starts_with('(') => json!({"functionName": name, "scriptId": 0}),
        name => json!({
            "functionName": name, "scriptId": 3, "url": "file:///a.js",
            "lineNumber": name.len(), "columnNumber": 0,
        }),
    };
    let mut made = vec![json!({"id": 1, "callFrame": frame("(root)")})];
    for (id, parent, name) in SYSTEM.iter().chain(nodes) {
        made.push(json!({"id": id, "parent": parent, "callFrame": frame(name)}));
    }
    let mut before = 0.0;
    let deltas: Vec<f64> = samples
        .iter()
        .map(|(time, _)| time - std::mem::replace(&mut before, *time))
        .collect();
    let ids: Vec<u32> = samples.iter().map(|(_, node)| *node).collect();
    let chunk = json!({
        "cpuProfile": {"nodes": made, "samples": ids, "trace_ids": of_events},
        "timeDeltas": deltas,
    });
    vec![
        event(
            "Profile",
            "P",
            0.0,
            0.0,
            json!({"id": "0x1", "args": {"data": {"startTime": 5}}}),
        ),
        event(
            "ProfileChunk",
            "P",
            1.0,
            0.0,
            json!({"id": "0x1", "tid": 9, "args": {"data": chunk}}),
        ),
    ]
}

fn read(events: &[Value]) -> Result<Timeline, ReadProfileError> {
    Timeline::read(json!({ "traceEvents": events }).to_string().as_bytes())
}

/// The first track as text: an entry a line, indented by its depth, with its beginning and
/// duration.
fn drawn(timeline: &Timeline) -> String {
    let mut text = String::new();
    for entry in &timeline.tracks[0].entries {
        let name = timeline.names.get(timeline.kinds[entry.kind.index()].name);
        let indent = "  ".repeat(entry.depth as usize);
        let across = if entry.nesting == Nesting::Across {
            " across"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "{indent}{name} {}+{}{across}",
            entry.start, entry.duration
        );
    }
    text
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

const NODES: [Node; 4] = [
    (10, 1, "aa"),
    (11, 10, "bbb"),
    (12, 11, "cccc"),
    (13, 10, "ddddd"),
];

#[test]
fn frames_that_are_equal_go_on_and_the_first_difference_ends_all_above_it() {
    let mut events = profile(
        &NODES,
        &[(10.0, 12), (20.0, 12), (30.0, 13), (40.0, 10), (50.0, 3)],
        json!({}),
    );
    events.push(span("FunctionCall", 5.0, 100.0));
    let expected = [
        "FunctionCall 5+100",
        "  aa 10+40",
        "    bbb 10+20",
        "      cccc 10+20",
        "    ddddd 30+10",
    ];
    assert_eq!(drawn(&read(&events).unwrap()), lines(&expected));
}

#[test]
fn an_event_locks_the_stack_below_it_and_its_end_cuts_what_came_after() {
    let mut events = profile(&NODES, &[(10.0, 11), (25.0, 10), (45.0, 10)], json!({}));
    events.push(span("FunctionCall", 5.0, 100.0));
    // Within it `bbb` continues, although it is not on the stack of the sample.
    events.push(span("v8.run", 20.0, 20.0));
    let expected = [
        "FunctionCall 5+100",
        "  aa 10+95",
        "    bbb 10+35",
        "      v8.run 20+20",
    ];
    assert_eq!(drawn(&read(&events).unwrap()), lines(&expected));
}

#[test]
fn a_task_begins_with_an_empty_stack() {
    let mut events = profile(&NODES, &[(10.0, 11), (60.0, 11)], json!({}));
    events.push(span("RunTask", 50.0, 30.0));
    events.push(span("RunMicrotasks", 55.0, 20.0));
    let expected = [
        "aa 10+40",
        "  bbb 10+40",
        "RunTask 50+30",
        "  RunMicrotasks 55+20",
        "    aa 60+15",
        "      bbb 60+15",
    ];
    assert_eq!(drawn(&read(&events).unwrap()), lines(&expected));
}

#[test]
fn a_collection_stands_on_the_stack_before_it() {
    let samples = [(10.0, 11), (20.0, 4), (30.0, 11), (40.0, 2), (50.0, 2)];
    let mut events = profile(&NODES, &samples, json!({}));
    events.push(span("FunctionCall", 5.0, 100.0));
    let expected = ["FunctionCall 5+100", "  aa 10+30", "    bbb 10+30"];
    assert_eq!(drawn(&read(&events).unwrap()), lines(&expected));
}

#[test]
fn a_single_sample_of_the_program_is_a_gap() {
    let samples = [(10.0, 11), (20.0, 2), (30.0, 11), (40.0, 3)];
    let mut events = profile(&NODES, &samples, json!({}));
    events.push(span("FunctionCall", 5.0, 100.0));
    let expected = ["FunctionCall 5+100", "  aa 10+30", "    bbb 10+30"];
    assert_eq!(drawn(&read(&events).unwrap()), lines(&expected));
}

#[test]
fn an_event_uses_the_sample_that_was_taken_for_it() {
    let mut events = profile(&NODES, &[(10.0, 10), (40.0, 10)], json!({"77": 12}));
    events.push(span("FunctionCall", 5.0, 100.0));
    let taken = json!({"args": {"data": {"sampleTraceId": 77}}});
    events.push(event("Layout", "X", 20.0, 5.0, taken));
    let expected = [
        "FunctionCall 5+100",
        "  aa 10+95",
        "    bbb 20+20",
        "      cccc 20+20",
        "        Layout 20+5",
    ];
    let timeline = read(&events).unwrap();
    assert_eq!(drawn(&timeline), lines(&expected));
    let key = |entry| {
        timeline
            .key(EntryId { track: 0, entry })
            .unwrap()
            .to_string()
    };
    assert_eq!(
        (key(1), key(2), key(4)),
        ("p-7-1-0-10".into(), "p-7-1--1-11".into(), "r-3".into())
    );
}

#[test]
fn instants_change_no_call() {
    let mut events = profile(&NODES, &[(10.0, 11), (30.0, 11), (40.0, 3)], json!({}));
    events.push(span("FunctionCall", 5.0, 100.0));
    events.push(event("TimerInstall", "I", 20.0, 0.0, json!({})));
    let expected = [
        "FunctionCall 5+100",
        "  aa 10+30",
        "    bbb 10+30",
        "      TimerInstall 20+0",
    ];
    assert_eq!(drawn(&read(&events).unwrap()), lines(&expected));
}

#[test]
fn a_begin_and_an_end_are_one_entry_on_each_thread() {
    let of = |thread: u32| json!({"tid": thread});
    let events = [
        event("a", "B", 0.0, 0.0, of(1)),
        event("b", "B", 1.0, 0.0, of(2)),
        event("c", "B", 2.0, 0.0, of(1)),
        event("a", "E", 5.0, 0.0, of(2)),
        event("c", "E", 6.0, 0.0, of(1)),
        event("a", "E", 9.0, 0.0, of(1)),
        event("a", "E", 9.0, 0.0, of(1)),
    ];
    let timeline = read(&events).unwrap();
    assert_eq!(timeline.tracks.len(), 2);
    assert_eq!(drawn(&timeline), lines(&["a 0+9", "  c 2+4"]));
    // Its end has another name.
    assert_eq!(timeline.tracks[1].entries[0].duration, 0.0);
}

#[test]
fn an_entry_that_ends_after_the_one_around_it_has_no_place() {
    let events = [
        span("a", 0.0, 10.0),
        span("b", 5.0, 10.0),
        span("c", 6.0, 2.0),
    ];
    let timeline = read(&events).unwrap();
    let expected = ["a 0+10", "  b 5+10 across", "  c 6+2"];
    assert_eq!(drawn(&timeline), lines(&expected));
    assert_eq!(timeline.tracks[0].entries[0].own, 8.0);
}

#[test]
fn ids_are_of_calls_labels_and_events() {
    let mut events = profile(&NODES, &[(10.0, 10)], json!({}));
    let label = json!({"args": {"data": {"name": "ready"}}});
    events.push(event("TimeStamp", "I", 5.0, 0.0, label));
    events.push(span("MinorGC", 20.0, 1.0));
    let timeline = read(&events).unwrap();
    let entries = &timeline.tracks[0].entries;
    let ids: Vec<String> = entries
        .iter()
        .map(|entry| timeline.id(entry.kind))
        .collect();
    assert_eq!(ids, ["TimeStamp:ready", "f:aa@3:2:0", "MinorGC"]);
    assert_eq!(
        timeline.kinds[entries[2].kind.index()].category,
        Category::GarbageCollection
    );
}

#[test]
fn spans_join_the_last_begin_of_their_id() {
    let of = |id: &str| json!({"cat": "blink.user_timing", "id": id});
    let local = |process: u32| json!({"pid": process, "id2": {"local": "0x1"}});
    let events = [
        event("load", "b", 1.0, 0.0, of("0x1")),
        event("load", "b", 2.0, 0.0, of("0x1")),
        event("load", "e", 5.0, 0.0, of("0x1")),
        event("load", "e", 9.0, 0.0, of("0x2")),
        event("other", "b", 3.0, 0.0, local(7)),
        event("other", "e", 4.0, 0.0, local(8)),
    ];
    let timeline = read(&events).unwrap();
    let spans: Vec<_> = timeline.spans.iter().collect();
    assert_eq!(spans.len(), 1);
    assert_eq!((spans[0].start, spans[0].duration), (2.0, 3.0));
    assert_eq!(spans[0].key().to_string(), "s-1");
}

/// An event of the compositor on the page's layer tree.
fn of_screen(name: &str, ts: f64, frame: u32) -> Value {
    let args = json!({"layerTreeId": 3, "frameSeqId": frame, "data": {"needsBeginFrame": 1}});
    event(name, "I", ts, 0.0, json!({"tid": 2, "args": args}))
}

#[test]
fn frames_last_from_one_that_is_shown_to_the_next() {
    let page = json!({"frame": "F", "url": "https://example.com", "processId": 7});
    let said = |args: Value| json!({"args": args});
    let commit = json!({"layerTreeId": 3, "frameSeqId": 2});
    let mut other = of_screen("DrawFrame", 25.0, 1);
    other["args"]["layerTreeId"] = json!(4);
    let events = [
        event(
            "thread_name",
            "M",
            0.0,
            0.0,
            said(json!({"name": "CrRendererMain"})),
        ),
        event(
            "TracingStartedInBrowser",
            "I",
            1.0,
            0.0,
            said(json!({"data": {"frames": [page]}})),
        ),
        event(
            "SetLayerTreeId",
            "I",
            2.0,
            0.0,
            said(json!({"data": {"frame": "F", "layerTreeId": 3}})),
        ),
        of_screen("BeginFrame", 10.0, 1),
        // Events of another page do not count, and the main thread's pending frame is waited for.
        other,
        of_screen("DrawFrame", 30.0, 1),
        of_screen("BeginFrame", 40.0, 2),
        of_screen("RequestMainThreadFrame", 41.0, 2),
        of_screen("DrawFrame", 42.0, 2),
        event("BeginMainThreadFrame", "I", 43.0, 0.0, json!({})),
        event("Commit", "X", 44.0, 1.0, said(commit)),
        // One is dropped, one never drawn, one begun before a pause.
        of_screen("DroppedFrame", 50.0, 3),
        of_screen("BeginFrame", 55.0, 4),
        of_screen("DrawFrame", 60.0, 2),
        of_screen("NeedsBeginFrameChanged", 200.0, 0),
        of_screen("BeginFrame", 210.0, 5),
        of_screen("DrawFrame", 215.0, 5),
        of_screen("BeginFrame", 220.0, 6),
        of_screen("DrawFrame", 225.0, 6),
    ];
    let timeline = read(&events).unwrap();
    let found: Vec<_> = (timeline.frames.iter())
        .map(|it| (it.start, it.duration, it.is_idle, it.is_dropped))
        .collect();
    let expected = [
        (10.0, 0.0, false, false),
        (10.0, 30.0, false, false),
        (40.0, 10.0, true, false),
        (50.0, 160.0, false, true),
        (210.0, 10.0, false, false),
    ];
    assert_eq!(found, expected);
    let without = |name: &str| {
        let events: Vec<Value> = events
            .iter()
            .filter(|it| it["name"] != *name)
            .cloned()
            .collect();
        read(&events).unwrap().frames
    };
    for name in ["TracingStartedInBrowser", "SetLayerTreeId", "DrawFrame"] {
        assert_eq!(without(name), [], "{name}");
    }
}

/// Names of the functions of each part of a stack, with the task in front.
fn stack(timeline: &Timeline, entry: u32) -> Vec<String> {
    let parts = timeline.stack(EntryId { track: 0, entry });
    parts
        .iter()
        .map(|part| {
            let functions = part.functions.iter();
            let names =
                functions.map(|id| timeline.names.get(timeline.function(*id).unwrap().name));
            let names: Vec<&str> = names.collect();
            format!("{}:{}", timeline.names.get(part.task), names.join(" "))
        })
        .collect()
}

const INSPECTOR: &str = "disabled-by-default-v8.inspector";

/// A step of a flow from a schedule at `from`, or the end of one at `to`.
fn arrow(from: f64, to: f64) -> [Value; 2] {
    let step = |ph, ts| event("flow", ph, ts, 0.0, json!({"cat": INSPECTOR, "id": "0x9"}));
    [step("s", from), step("f", to)]
}

fn scheduled(ts: f64) -> Value {
    let more = json!({"cat": INSPECTOR, "args": {"taskName": "setInterval"}});
    event("v8::Debugger::AsyncTaskScheduled", "I", ts, 0.0, more)
}

fn run(ts: f64, dur: f64) -> Value {
    event(
        "v8::Debugger::AsyncTaskRun",
        "X",
        ts,
        dur,
        json!({"cat": INSPECTOR}),
    )
}

#[test]
fn what_scheduled_a_task_comes_before_what_called_it() {
    let nodes = [(10, 1, "start"), (11, 1, "tick")];
    let samples = [(10.0, 10), (15.0, 10), (105.0, 11), (205.0, 11), (400.0, 3)];
    let mut events = profile(&nodes, &samples, json!({}));
    events.extend([span("FunctionCall", 5.0, 20.0), scheduled(12.0)]);
    for at in [100.0, 200.0] {
        events.extend([run(at, 20.0), span("FunctionCall", at + 1.0, 18.0)]);
    }
    // The second run comes after the first, and belongs to the same schedule.
    events.extend(arrow(12.0, 100.0));
    events.extend(arrow(100.0, 200.0));
    let timeline = read(&events).unwrap();
    let expected = [
        "FunctionCall 5+20",
        "  start 10+15",
        "    v8::Debugger::AsyncTaskScheduled 12+0",
        "v8::Debugger::AsyncTaskRun 100+20",
        "  FunctionCall 101+18",
        "    tick 105+14",
        "v8::Debugger::AsyncTaskRun 200+20",
        "  FunctionCall 201+18",
        "    tick 205+14",
    ];
    assert_eq!(drawn(&timeline), lines(&expected));
    assert_eq!(stack(&timeline, 5), [":tick", "setInterval:start"]);
    assert_eq!(stack(&timeline, 4), [":", "setInterval:start"]);
    assert_eq!(stack(&timeline, 1), [":start"]);
}

#[test]
fn without_a_sample_the_entry_into_the_script_stands_in_and_a_cycle_ends() {
    let mut events = vec![span("EvaluateScript", 5.0, 20.0), scheduled(12.0)];
    events.extend([
        run(100.0, 20.0),
        span("FunctionCall", 101.0, 18.0),
        scheduled(110.0),
    ]);
    events.extend(arrow(12.0, 100.0));
    let timeline = read(&events).unwrap();
    assert_eq!(stack(&timeline, 3), [":", "setInterval:"]);
    let schedule = EntryId { track: 0, entry: 3 };
    assert_eq!(
        timeline.entered[&schedule].by,
        EntryId { track: 0, entry: 0 }
    );

    // A task that schedules itself.
    let mut circle = timeline.clone();
    circle.entered.get_mut(&schedule).unwrap().by = EntryId { track: 0, entry: 4 };
    assert_eq!(stack(&circle, 4), [":"]);
}

#[test]
fn the_stack_that_an_event_carries_says_where_it_was_called() {
    let mut events = profile(&NODES, &[(10.0, 11), (40.0, 11), (50.0, 3)], json!({}));
    events.push(span("FunctionCall", 5.0, 100.0));
    let frame = json!({
        "functionName": "bbb", "scriptId": "3", "url": "file:///a.js",
        "lineNumber": 41, "columnNumber": 7,
    });
    let carried = json!({"args": {"beginData": {"stackTrace": [frame]}}});
    events.push(event("Layout", "X", 20.0, 5.0, carried));
    let timeline = read(&events).unwrap();
    let layout = EntryId { track: 0, entry: 3 };
    let places = |functions: &[FunctionId]| -> Vec<(i32, i32)> {
        let functions = functions.iter().map(|id| timeline.function(*id).unwrap());
        functions.map(|it| (it.line, it.column)).collect()
    };
    // The lines of a layout are counted from 1.
    assert_eq!(places(timeline.payload_stack(layout)), [(40, 6)]);
    let parts = timeline.stack(layout);
    assert_eq!(places(&parts[0].functions), [(40, 6), (2, 0)]);
    let without = EntryId { entry: 0, ..layout };
    assert_eq!(timeline.payload_stack(without), []);
    let foreign = EntryId { track: 7, entry: 0 };
    assert_eq!(timeline.payload_stack(foreign), []);
}

#[test]
fn a_cpuprofile_has_all_calls_but_the_root() {
    let node = |id: u32, name: &str, children: &[u32]| {
        json!({"id": id, "callFrame": {"functionName": name, "scriptId": "0", "url": "",
            "lineNumber": -1, "columnNumber": -1}, "hitCount": 1, "children": children})
    };
    let profile = json!({
        "nodes": [node(1, "(root)", &[2, 3, 4]), node(2, "(program)", &[]),
            node(3, "(garbage collector)", &[]), node(4, "a", &[5]), node(5, "b", &[])],
        "startTime": 100, "endTime": 200, "samples": [2, 5, 3, 5, 4], "timeDeltas": [0, 10, 10, 10, 10],
    });
    let timeline = Timeline::read(profile.to_string().as_bytes()).unwrap();
    let expected = [
        "(program) 100+10",
        "a 110+40",
        "  b 110+30",
        "    (garbage collector) 120+10",
    ];
    assert_eq!(drawn(&timeline), lines(&expected));
    let own: Vec<f64> = timeline.tracks[0]
        .entries
        .iter()
        .map(|entry| entry.own)
        .collect();
    assert_eq!(own, [10.0, 10.0, 20.0, 10.0]);
}

#[test]
fn what_is_wrong_has_a_place() {
    let error = |events: &[Value]| read(events).unwrap_err().to_string();
    let orphan = profile(&[(10, 99, "a")], &[(1.0, 10)], json!({}));
    assert!(error(&orphan).contains("node 99 is named and does not exist"));
    let circle = profile(&[(10, 11, "a"), (11, 10, "b")], &[(1.0, 10)], json!({}));
    assert!(error(&circle).contains("is called from itself"));
    let unknown = profile(&NODES, &[(1.0, 50)], json!({}));
    assert!(
        error(&unknown).contains("/traceEvents/0"),
        "{}",
        error(&unknown)
    );
    let timeless = [json!({"name": "a", "ph": "X", "pid": 1, "tid": 1})];
    assert!(error(&timeless).contains("event 0: it has no time"));
    let nameless = [json!({"name": "a", "ph": "X", "pid": "main", "tid": 1, "ts": 1})];
    assert!(error(&nameless).contains("its pid is main, not a number"));
    let folded = Timeline::read(b"main;f 3\n").unwrap_err().to_string();
    assert!(
        folded.contains("there is no timeline in the folded stacks"),
        "{folded}"
    );
}

#[test]
fn deep_stacks_cost_what_they_change() {
    let depth = 100_000_u32;
    let frame = json!({"functionName": "f", "scriptId": 3, "url": "", "lineNumber": 1});
    let mut nodes = vec![json!({"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0}})];
    nodes.extend((2..depth).map(|id| json!({"id": id, "parent": id - 1, "callFrame": frame})));
    let mut events = profile(&[], &[], json!({}));
    let samples: Vec<u32> = (0..10_000).map(|at| depth - 1 - at % 2).collect();
    events[1]["args"]["data"]["cpuProfile"]["nodes"] = json!(nodes);
    events[1]["args"]["data"]["cpuProfile"]["samples"] = json!(samples);
    events[1]["args"]["data"]["timeDeltas"] = json!(vec![100; samples.len()]);
    let timeline = read(&events).unwrap();
    assert_eq!(timeline.tracks[0].entries.len(), depth as usize - 2 + 4_999);
}

fn any_events() -> impl Strategy<Value = Vec<Value>> {
    let names = [
        "RunTask",
        "RunMicrotasks",
        "FunctionCall",
        "Layout",
        "v8.run",
    ];
    let one = (0..5_usize, 0..200_u32, 0..60_u32, any::<bool>()).prop_map(
        move |(name, ts, dur, instant)| {
            let ph = if instant { "I" } else { "X" };
            event(names[name], ph, f64::from(ts), f64::from(dur), json!({}))
        },
    );
    proptest::collection::vec(one, 0..30)
}

fn any_samples() -> impl Strategy<Value = Vec<(f64, u32)>> {
    let nodes = [2, 3, 4, 10, 11, 12, 13];
    let one =
        (0..220_u32, 0..nodes.len()).prop_map(move |(time, node)| (f64::from(time), nodes[node]));
    proptest::collection::vec(one, 0..40)
}

proptest! {
    /// For any events and samples: an entry lies within the one around it, own times add up to
    /// those of the outermost, and equal input gives an equal timeline.
    #[test]
    fn entries_lie_in_each_other(events in any_events(), samples in any_samples()) {
        let mut trace = profile(&NODES, &samples, json!({}));
        trace.extend(events);
        let timeline = read(&trace).unwrap();
        prop_assert_eq!(drawn_all(&timeline), drawn_all(&read(&trace).unwrap()));
        for track in &timeline.tracks {
            let (mut own, mut outermost) = (0.0, 0.0);
            for (place, entry) in track.entries.iter().enumerate() {
                prop_assert!(entry.duration >= 0.0 && entry.own >= 0.0);
                if place > 0 {
                    prop_assert!(track.entries[place - 1].start <= entry.start);
                }
                match entry.nesting {
                    Nesting::Across => continue,
                    Nesting::Outermost => outermost += entry.duration,
                    Nesting::In(parent) => {
                        let parent = track.entries[parent as usize];
                        prop_assert!(parent.start <= entry.start && entry.end() <= parent.end());
                        prop_assert_eq!(parent.depth + 1, entry.depth);
                    }
                }
                own += entry.own;
            }
            prop_assert!((own - outermost).abs() < 1e-6);
        }
    }
}

fn drawn_all(timeline: &Timeline) -> String {
    if timeline.tracks.is_empty() {
        String::new()
    } else {
        drawn(timeline)
    }
}
