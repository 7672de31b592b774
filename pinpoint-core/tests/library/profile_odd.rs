//! Profiles that lack something, or hold more than one thing.

use pinpoint_core::profile::{
    Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, Timeline,
};

use crate::profile::{by_name, content, read};

/// What an editor, or another command, leaves of the text of `perf script`.
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
    // Folded stacks stay what they are.
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

/// DevTools passes over what lacks its data, and so does this.
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
