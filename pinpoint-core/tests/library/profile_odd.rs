//! Profiles that lack something, or hold more than one thing.

use pinpoint_core::profile::{
    Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, Timeline,
};

use crate::profile::{by_name, content, read};

/// Text of `perf script` as an editor or another command leaves it.
#[test]
fn perf_text_may_lack_its_last_line_and_times() {
    let whole = "w 1 1.0: 5 cycles:\n\t2 leaf+0x1 (/w)\n\t1 main+0x1 (/w)\n\n";
    let cut = Profile::read(whole.trim_end().trim_end_matches(')').as_bytes());
    assert!(matches!(cut, Err(ReadProfileError::CutShort { .. })));
    for end in ["", "\n"] {
        let text = format!("{}{end}", whole.trim_end());
        let profile = Profile::read(text.as_bytes()).unwrap();
        assert_eq!(by_name(&profile)["main"], (0.0, 5.0));
        assert_eq!(profile.warnings, [ProfileWarning::NoEnd]);
    }
    assert_eq!(Profile::read(whole.as_bytes()).unwrap().warnings, []);
    for header in [
        "my prog  9210/9210  cpu-clock:",
        "my prog 9210 [003] 1 cycles:u:",
        "w 1 1 cycles:",
        ":-1 1/0 [000] sched:sched_switch:",
    ] {
        let text = format!("{header} \n\t 2 leaf (/w)\n\t 1 main (/w)\n\n").repeat(3);
        let profile = Profile::read(text.as_bytes()).expect(header);
        assert_eq!(by_name(&profile)["leaf"], (3.0, 3.0), "{header}");
        assert!(profile.times.is_empty(), "{header}");
        assert_eq!(
            profile.names.get(profile.threads[0]),
            match header {
                "my prog 9210 [003] 1 cycles:u:" => "my prog 9210",
                "my prog  9210/9210  cpu-clock:" => "my prog  9210/9210",
                "w 1 1 cycles:" => "w 1",
                _ => ":-1 1/0",
            }
        );
    }
    // Folded stacks are still recognized.
    let folded = Profile::read(b"my prog 1 cycles: 5\n").unwrap();
    assert_eq!(folded.format, ProfileFormat::Folded);
}

#[test]
fn one_of_several_events_can_be_asked_for() {
    let perf = "w 1 1.0: 5 cycles:u:\n\t1 f+0x1 (/w)\n\nw 1 2.0: 7 instructions:u:\n\t1 g+0x1 (/w)\n\n\
                w 1 3.0: 9 cycles:u:\n\t1 f+0x1 (/w)\n\n";
    let read = |event| Profile::read_event(perf.as_bytes(), Some(event));
    assert_eq!(by_name(&read("cycles").unwrap())["f"], (14.0, 14.0));
    let instructions = read("instructions:u").unwrap();
    assert_eq!(instructions.unit, ProfileUnit::Instructions);
    assert_eq!(instructions.total(), 7.0);
    let error = read("branches").expect_err("there is none").to_string();
    assert!(
        error.contains("does not count \"branches\"; it counts cycles, instructions"),
        "{error}"
    );
    let callgrind =
        "events: Ir Dr\nfn=f\n1 30 7\n2 5\ncfn=g\ncalls=1 3\n1 9 2\nfn=g\n3 9 2\ntotals: 44 9\n";
    let profile = Profile::read_event(callgrind.as_bytes(), Some("Dr")).unwrap();
    assert_eq!((profile.total(), profile.calls[0].weight), (9.0, 2.0));
    assert_eq!(profile.unit, ProfileUnit::Other("Dr".into()));
    let pprof = content("go-1.26.pprof");
    let samples = Profile::read_event(&pprof, Some("samples")).unwrap();
    assert_eq!(samples.unit, ProfileUnit::Samples);
    assert!(Profile::read_event(&pprof, Some("bytes")).is_err());
    let folded = Profile::read_event(b"main 3\n", Some("cycles"));
    assert!(matches!(folded, Err(ReadProfileError::NoEvent { .. })));
}

/// Events without data are passed over, as in DevTools.
#[test]
fn an_odd_event_is_passed_over_and_reported() {
    let sound = String::from_utf8(content("chrome-156.json")).unwrap();
    let odd = r#"{"args": {}, "cat": "disabled-by-default-v8.cpu_profiler", "id": "0x2", "name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 1, "ts": 5}, "#;
    let at = sound.find("\"traceEvents\"").map_or(0, |at| at);
    let at = at + sound[at..].find('[').unwrap() + 1;
    let text = format!("{}{odd}{odd}{}", &sound[..at], &sound[at..]);
    let profile = Profile::read(text.as_bytes()).unwrap();
    assert_eq!(profile.total(), read("chrome-156.json").total());
    assert_eq!(
        profile.warnings,
        [ProfileWarning::NoData {
            event: 0,
            name: "ProfileChunk".into()
        }]
    );
    assert!(Timeline::read(text.as_bytes()).is_ok());
}

/// As Lighthouse records them.
#[test]
fn a_trace_without_samples_has_the_times_of_its_events() {
    let text = r#"[
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": 2, "args": {"name": "CrRendererMain"}},
        {"name": "RunTask", "ph": "X", "pid": 1, "tid": 2, "ts": 10, "dur": 100},
        {"name": "Layout", "ph": "X", "pid": 1, "tid": 2, "ts": 20, "dur": 30},
        {"name": "FunctionCall", "ph": "B", "pid": 1, "tid": 2, "ts": 60},
        {"name": "FunctionCall", "ph": "E", "pid": 1, "tid": 2, "ts": 100},
        {"name": "RunTask", "ph": "X", "pid": 1, "tid": 3, "ts": 10, "dur": 5}]"#;
    let profile = Profile::read(text.as_bytes()).unwrap();
    let found = by_name(&profile);
    assert_eq!(found["RunTask"], (35e3, 105e3));
    assert_eq!(found["Layout"], (30e3, 30e3));
    assert_eq!(found["FunctionCall"], (40e3, 40e3));
    assert_eq!(profile.warnings, [ProfileWarning::EventsOnly]);
    assert_eq!(profile.names.get(profile.threads[0]), "CrRendererMain");
}

/// The first instruction of a function may be one that is inlined from a header.
#[test]
fn callgrind_functions_lie_in_the_programs_files() {
    let text = "events: Ir\nfl=/usr/include/c++/12/bits/stl_vector.h\nfn=record(int)\n10 5\n\
                fe=/w/src/bench.cpp\n20 30\nfi=/usr/include/c++/12/bits/stl_algo.h\n30 90\n\
                fl=/usr/include/c++/12/bits/stl_tree.h\nfn=rebalance\n1 4\n\
                fl=/w/src/a.h\nfn=own\n1 4\nfe=/w/src/b.cpp\n2 9\n";
    let profile = Profile::read(text.as_bytes()).unwrap();
    let file = |wanted: &str| {
        let mut frames = profile.frame_ids();
        let frame = frames.find(|frame| profile.name(*frame) == wanted).unwrap();
        profile.names.get(profile.frame(frame).file)
    };
    assert_eq!(file("record(int)"), "/w/src/bench.cpp");
    assert_eq!(file("rebalance"), "/usr/include/c++/12/bits/stl_tree.h");
    assert_eq!(file("own"), "/w/src/a.h");
}

/// As V8 wrote them up to Node.js 10: a tree, whose lines count from 1, and times by the clock.
fn nested(calls: &str) -> String {
    format!(
        r#"{{"typeId": "CPU", "title": "x", "head": {{"functionName": "(root)", "url": "", "lineNumber": 0, "id": 1, "hitCount": 0, "children": [{calls}]}},
        "startTime": 589, "endTime": 601, "samples": [2, 3, 3, 2], "timestamps": [589717000, 589718000, 589720000, 589721000]}}"#
    )
}

#[test]
fn cpuprofiles_of_old_nodes_hold_a_tree() {
    let text = nested(
        r#"{"functionName": "f \"{[children", "url": "a.js", "lineNumber": 7, "columnNumber": 3, "id": 2, "hitCount": 2,
            "positionTicks": [{"line": 7, "ticks": [2]}],
            "children": [{"functionName": "g", "id": 3, "hitCount": 2, "children": []}], "scriptId": 12},
           {"functionName": "h", "id": 4}"#,
    );
    let profile = Profile::read(text.as_bytes()).unwrap();
    assert_eq!(profile.format, ProfileFormat::CpuProfile);
    let found = by_name(&profile);
    assert_eq!(found["g"], (3e6, 3e6));
    let f = "f \"{[children";
    // The last sample has the mean interval.
    assert_eq!(found[f].0.round(), 2_333_333.0);
    assert_eq!(profile.times, [0.0, 1e6, 3e6, 4e6]);
    let mut frames = profile.frame_ids();
    let frame = frames.find(|frame| profile.name(*frame) == f).unwrap();
    let frame = profile.frame(frame);
    assert_eq!((frame.line, frame.column), (7, 3));
    let timeline = Timeline::read(text.as_bytes()).unwrap();
    assert_eq!(timeline.tracks[0].entries.len(), 2);
    let refused = Profile::read(nested(r#"{"functionName": "f"}"#).as_bytes());
    let error = refused.expect_err("it has no id").to_string();
    assert!(
        error.contains("/head") && error.contains("node 1"),
        "{error}"
    );
}

/// No parser of JSON goes so deep by recursion.
#[test]
fn old_cpuprofiles_may_be_deep() {
    let depth = 100_000;
    let mut calls = String::new();
    for id in 2..depth {
        calls += &format!(r#"{{"functionName": "f", "id": {id}, "children": ["#);
    }
    calls += &"]}".repeat(depth - 2);
    let profile = Profile::read(nested(&calls).as_bytes()).unwrap();
    assert_eq!(profile.samples.len(), 4);
}

/// A profile of the processor as gperftools writes it: a word is 8 bytes, or 4, in either order.
fn words(numbers: &[u64], word: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    numbers.iter().flat_map(|number| word(*number)).collect()
}

const SAMPLES: [u64; 15] = [0, 3, 0, 10_000, 0, 3, 2, 16, 33, 1, 1, 32, 0, 1, 0];

#[test]
fn the_oldest_pprof_has_the_names_that_stand_before_it() {
    let maps = b"00400000-00401000 r-xp 00000000 08:01 7 /usr/bin/words\n";
    let symbols =
        b"--- symbol\nbinary=/usr/bin/words\n0x10 outer--inlined\n0x20 main\n---\n--- profile\n";
    for word in [
        |number: u64| number.to_le_bytes().to_vec(),
        |number: u64| number.to_be_bytes().to_vec(),
        |number: u64| (number as u32).to_le_bytes().to_vec(),
        |number: u64| (number as u32).to_be_bytes().to_vec(),
    ] {
        let plain = [&words(&SAMPLES, word)[..], maps].concat();
        let error = Profile::read(&plain).expect_err("it has no names");
        assert!(
            error.to_string().contains("go tool pprof -proto"),
            "{error}"
        );
        let named = [symbols, &plain[..]].concat();
        let profile = Profile::read(&named).unwrap();
        assert_eq!(profile.format, ProfileFormat::Pprof);
        assert_eq!(profile.unit, ProfileUnit::Nanoseconds);
        let found = by_name(&profile);
        assert_eq!(found["inlined"], (3e7, 3e7));
        assert_eq!(found["outer"], (0.0, 3e7));
        assert_eq!(found["main"], (1e7, 4e7));
        let samples = Profile::read_event(&named, Some("samples")).unwrap();
        assert_eq!(samples.total(), 4.0);
        for length in symbols.len() + 1..symbols.len() + words(&SAMPLES, word).len() {
            assert!(Profile::read(&named[..length]).is_err(), "{length}");
        }
    }
}

#[test]
fn a_java_profile_names_its_functions_after_its_samples() {
    let mut java = SAMPLES;
    java[2] = 1;
    let mut content = words(&java, |number| number.to_le_bytes().to_vec());
    content.extend(b"  0x10 com.a.parse (Parser.java:3)\n  0x20 GC\n");
    let profile = Profile::read(&content).unwrap();
    assert_eq!(by_name(&profile)["com.a.parse"], (3e7, 3e7));
    let text = "--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\n\
                ms since reset = 60\n    14     2 @ 0x10 0x20\n  0x10 com.a.operator=@1 (P.java:3)\n  0x20 main (M.java:1)\n";
    let found = by_name(&Profile::read(text.as_bytes()).unwrap());
    assert_eq!(found["main"], (0.0, 1_400e3));
    let counted = Profile::read_event(text.as_bytes(), Some("contentions")).unwrap();
    assert_eq!(counted.total(), 200.0);
}

/// As Go's servers write them for `?debug=1`.
#[test]
fn profiles_of_go_in_text_have_names_in_comments() {
    let heap = "heap profile: 2: 2097152 [3: 3145728] @ heap/1048576\n\
                2: 2097152 [3: 3145728] @ 0x4a1b2c 0x4380d6\n\
                #\t0x4a1b2b\tmain.alloc+0x2b\t/go/pkg/mod/a.b/c@v1.2.3/x.go:10\n\
                #\t0x4380d5\tmain.main+0x1f\t\t/src/main.go:20\n\n\
                # runtime.MemStats\n# Alloc = 1234\n";
    let profile = Profile::read(heap.as_bytes()).unwrap();
    assert_eq!(profile.unit, ProfileUnit::Bytes);
    // Of objects of 1 MB, one byte in 512 kB is sampled: 86 % of them are seen.
    let seen = 1.0 - libm::exp(-2.0);
    let all = by_name(&profile)["main.alloc"].0;
    assert!((all - 2_097_152.0 / seen).abs() < 1.0, "{all}");
    let allocated = Profile::read_event(heap.as_bytes(), Some("alloc_objects")).unwrap();
    assert!((allocated.total() - 3.0 / seen).abs() < 1e-9);
    let goroutines = "goroutine profile: total 7\n5 @ 0x43 0x44\n#\t0x43\tmain.wait+0x1\t/m.go:1\n\n2 @ 0x45\n#\t0x45\tmain.main+0x1\t/m.go:2\n";
    let profile = Profile::read(goroutines.as_bytes()).unwrap();
    assert_eq!(by_name(&profile)["main.wait"], (5.0, 5.0));
    let odd = Profile::read(b"goroutine profile: total 7\n5 @ main\n");
    let error = odd.expect_err("it is no address").to_string();
    assert!(error.contains("line 2"), "{error}");
}
