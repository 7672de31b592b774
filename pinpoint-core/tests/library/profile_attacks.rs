//! Profiles that are odd, of older versions, or made to do harm.

use std::fmt::Write;

use pinpoint_core::profile::{Profile, ProfileFormat, ProfileUnit, ReadProfileError};

fn read(text: &str) -> Profile {
    Profile::read(text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {}", &text[..text.len().min(500)]))
}

#[track_caller]
fn refuses(text: &str, expected: &str) {
    let error = Profile::read(text.as_bytes()).map(|profile| profile.samples);
    let error = error.expect_err("it is refused");
    assert!(error.to_string().contains(expected), "{error}");
}

/// The name of each sample's function, and its weight.
fn samples(profile: &Profile) -> Vec<(&str, f64)> {
    let leaf = |stack| profile.stacks.from_leaf(stack).next();
    let samples = profile.samples.iter();
    let row = |sample: &pinpoint_core::profile::Sample| {
        (
            leaf(sample.stack).map_or("", |frame| profile.name(frame)),
            sample.weight,
        )
    };
    samples.map(row).collect()
}

fn cpuprofile(members: &str) -> String {
    let node = |id: u32, name: &str, hits: u32, children: &str| {
        format!(
            r#"{{"id": {id}, "callFrame": {{"functionName": "{name}", "scriptId": "1", "url": "a.js", "lineNumber": {id}, "columnNumber": 0}}, "hitCount": {hits}, "children": [{children}]}}"#
        )
    };
    let nodes = [
        node(1, "(root)", 0, "2, 3"),
        node(2, "f", 3, ""),
        node(3, "g", 1, ""),
    ]
    .join(", ");
    format!(r#"{{"nodes": [{nodes}], "startTime": 1000, "endTime": 5000{members}}}"#)
}

/// In the protocol `samples` and `timeDeltas` may be missing: then the time is spread evenly, over
/// the samples or by the hits of nodes.
#[test]
fn cpuprofiles_may_lack_times_or_samples() {
    let profile = read(&cpuprofile(r#", "samples": [2, 2, 3, 2]"#));
    assert_eq!(
        samples(&profile),
        [("f", 1e6), ("f", 1e6), ("g", 1e6), ("f", 1e6)]
    );
    assert_eq!(profile.times, [0.0, 1e6, 2e6, 3e6]);
    let profile = read(&cpuprofile(""));
    assert_eq!(samples(&profile), [("f", 3e6), ("g", 1e6)]);
    assert!(profile.times.is_empty());
    refuses(
        &cpuprofile(r#", "samples": [2, 2], "timeDeltas": [5]"#),
        "2 samples and 1 times",
    );
    refuses(
        &cpuprofile("").replace("5000", "1000"),
        "there are no samples in the .cpuprofile",
    );
}

#[test]
fn weights_that_are_no_costs_are_refused() {
    for period in ["-5", "nan", "inf", "1e308"] {
        let text = format!(
            "w 1 1.0: 5 cycles:\n\t1 f+0x1 (/w)\n\nw 1 2.0: {period} cycles:\n\t1 f+0x1 (/w)\n\n"
        );
        let error = Profile::read(text.as_bytes())
            .expect_err("it is no period")
            .to_string();
        assert!(
            error.contains("line 4, column 1") || error.contains("too many units"),
            "{error}"
        );
    }
    refuses(
        &firefox("\"samples\": {\"stack\": [0, 0], \"weight\": [1, -1], \"length\": 2},"),
        "/threads/0/samples/weight/1",
    );
}

fn firefox(samples: &str) -> String {
    format!(
        r#"{{"meta": {{"interval": 1, "version": 30}}, "libs": [], "threads": [{{"name": "main", {samples}
        "stringArray": ["f"], "funcTable": {{"name": [0]}}, "frameTable": {{"func": [0]}}, "stackTable": {{"prefix": [null], "frame": [0]}}}}]}}"#
    )
}

/// Tables that all threads share are walked once, not for each thread.
#[test]
fn shared_tables_of_many_threads_are_read_once() {
    let stacks = 20_000;
    let mut prefixes = "null".to_owned();
    for stack in 1..stacks {
        write!(prefixes, ",{}", stack - 1).unwrap();
    }
    let zeros = vec!["0"; stacks].join(",");
    let thread = r#"{"name": "t", "samples": {"stack": [0], "weight": [1]}}"#;
    let threads = vec![thread; 20_000].join(",");
    let profile = read(&format!(
        r#"{{"meta": {{"interval": 1}}, "libs": [], "threads": [{threads}], "shared": {{"stringArray": ["f"],
        "funcTable": {{"name": [0]}}, "frameTable": {{"func": [0]}}, "stackTable": {{"prefix": [{prefixes}], "frame": [{zeros}]}}}}}}"#
    ));
    assert_eq!(
        (profile.format, profile.samples.len()),
        (ProfileFormat::Firefox, 20_000)
    );
    assert_eq!(profile.stacks.len(), stacks + 1);
}

/// A word is walked through once, and not for each colon in it.
#[test]
fn a_long_word_with_many_colons_is_read_once() {
    let error = Profile::read("a:".repeat(500_000).as_bytes()).map(|profile| profile.samples);
    assert!(matches!(error, Err(ReadProfileError::NotRecognized)));
    let colons = "std::".repeat(200_000);
    let profile = read(&format!("{colons} 1 1.5: 5 cycles:\n\t1 f+0x1 (/w)\n\n"));
    assert_eq!(samples(&profile), [("f", 5.0)]);
    assert_eq!(profile.times, [0.0]);
}

#[test]
fn perf_has_sources_with_spaces_and_threads_with_brackets() {
    let profile =
        read("[kworker/0:1] x 7 [003] 1.5: 5 cycles:\n\t1 f+0x1 (/w)\n  my file.c:12\n\n");
    assert_eq!(samples(&profile), [("f", 5.0)]);
    assert_eq!(profile.names.get(profile.threads[0]), "[kworker/0:1] x 7");
}

/// perf ends a stack with an empty line: without it, the outermost functions may be missing. They
/// are where the last stack begins with a function that no other begins with.
#[test]
fn a_stack_of_perf_that_is_cut_between_lines_is_refused() {
    let whole = "w 1 1.0: 5 cycles:\n\t1 f+0x1 (/w)\n\t2 main+0x1 (/w)\n\nw 1 2.0: 5 cycles:\n\t1 f+0x1 (/w)\n\t2 main+0x1 (/w)\n\n";
    assert_eq!(read(whole).total(), 10.0);
    let cut = whole.strip_suffix("\t2 main+0x1 (/w)\n\n").unwrap();
    let error = Profile::read(cut.as_bytes()).expect_err("it is cut");
    assert!(
        matches!(error, ReadProfileError::CutShort { .. }),
        "{error}"
    );
    assert_eq!(read(whole.strip_suffix('\n').unwrap()).total(), 10.0);
    // Without call graphs there is no stack.
    assert_eq!(
        read("w 1 1.0: 5 cycles:u: 1 f+0x1 (/w)\n").unit,
        ProfileUnit::Other("cycles".into())
    );
}

#[test]
fn numbers_of_any_size_leave_finite_ones() {
    let trace = |ts: &str| {
        format!(
            r#"[{{"name": "m", "cat": "blink.user_timing", "ph": "X", "pid": 1, "tid": 1, "ts": {ts}, "dur": 1e308}},
            {{"name": "Profile", "ph": "P", "pid": 1, "tid": 1, "id": "1", "ts": 0, "args": {{"data": {{"startTime": 0}}}}}},
            {{"name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 1, "id": "1", "ts": {ts}, "args": {{"data": {{"cpuProfile": {{
              "nodes": [{{"id": 1, "callFrame": {{"functionName": "f", "scriptId": 1, "lineNumber": 1e308, "columnNumber": -1e308}}}}], "samples": [1, 1, 1]}}, "timeDeltas": [1, 1, 1]}}}}}}]"#
        )
    };
    for ts in ["1e308", "-1e308", "1.7e308", "0"] {
        let profile = read(&trace(ts));
        assert_eq!(profile.total(), 3e3, "{ts}");
        assert!(
            profile.begin.is_finite() && profile.times.iter().all(|time| time.is_finite()),
            "{ts} {:?}",
            profile.times
        );
        assert!(
            profile
                .marks
                .iter()
                .all(|mark| mark.begin.is_finite() && mark.end.is_finite()),
            "{ts}"
        );
    }
    let text = format!("w 1 {}.0: 5 cycles:\n\t1 f+0x1 (/w)\n\n", "9".repeat(400));
    let _ = Profile::read(text.as_bytes());
    for deltas in ["1e308, 1e308, 1e308", "-1e308, 1e308, 1e308", "1e300, 0, 0"] {
        let text = cpuprofile(&format!(
            r#", "samples": [2, 2, 2], "timeDeltas": [{deltas}]"#
        ));
        if let Ok(profile) = Profile::read(text.as_bytes()) {
            assert!(
                profile.total().is_finite() && profile.times.iter().all(|time| time.is_finite())
            );
        }
    }
}

/// Nothing recurses over nested data.
#[test]
fn deep_nesting_is_walked() {
    let (open, close) = ("[".repeat(1_000_000), "]".repeat(1_000_000));
    refuses(&open, "this is not a profile");
    refuses(&format!("{{\"a\": {open}"), "this is not a profile");
    let with = |member: &str| cpuprofile(&format!(r#", "samples": [2, 2], "x": {member}"#));
    assert_eq!(read(&with(&format!("{open}{close}"))).total(), 4e6);
    let maps = "{\"a\":".repeat(1_000_000);
    refuses(
        &with(&maps),
        "line 1, column 5000520 is not valid in the .cpuprofile",
    );
    let trace = format!(
        r#"{{"traceEvents": [{{"name": "Layout", "ph": "X", "ts": 1, "dur": 2, "args": {open}{close}}}]}}"#
    );
    assert_eq!(read(&trace).total(), 2e3);
    // The parser stops in data that it reads.
    let deep = cpuprofile(&format!(r#", "samples": {open}{close}"#));
    refuses(&deep, "line 1, column");
}
