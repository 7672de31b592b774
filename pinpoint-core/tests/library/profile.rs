//! Profiles of real tools, read and compared with the tools' own reports; and the same profiles
//! cut, bent and exaggerated.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use pinpoint_core::profile::{
    FrameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError, Window,
};

pub(crate) fn content(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("profiles");
    fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn text(name: &str) -> String {
    String::from_utf8(content(name)).expect("it is text")
}

pub(crate) fn read(name: &str) -> Profile {
    Profile::read(&content(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Own and total cost by the function's name.
pub(crate) fn by_name(profile: &Profile) -> BTreeMap<String, (f64, f64)> {
    let costs = profile.costs();
    let mut by_name: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for frame in profile.frame_ids() {
        let entry = by_name.entry(profile.name(frame).to_owned()).or_default();
        entry.0 += costs.own_of(frame);
        entry.1 += costs.total_of(frame);
    }
    by_name
}

const FILES: [(&str, ProfileFormat); 8] = [
    ("chrome-156.json", ProfileFormat::ChromeTrace),
    ("node-20.cpuprofile", ProfileFormat::CpuProfile),
    ("perf-6.1.txt", ProfileFormat::PerfScript),
    ("py-spy-0.4.folded", ProfileFormat::Folded),
    ("go-1.26.pprof", ProfileFormat::Pprof),
    ("fxprof-0.8.json", ProfileFormat::Firefox),
    ("py-spy-0.4.speedscope.json", ProfileFormat::Speedscope),
    ("callgrind-3.19.out", ProfileFormat::Callgrind),
];

#[test]
fn each_is_recognized_plain_and_compressed() {
    for (name, format) in FILES {
        let plain = read(name);
        assert_eq!(plain.format, format, "{name}");
        let own: f64 = plain.costs().own.iter().sum();
        assert!(
            (own - plain.total()).abs() <= plain.total() * 1e-9,
            "{name}"
        );
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&content(name)).unwrap();
        let compressed = encoder.finish().unwrap();
        if format == ProfileFormat::Pprof {
            // It is compressed already.
            continue;
        }
        let again = Profile::read(&compressed).unwrap();
        assert_eq!(again.samples, plain.samples, "{name}");
        // As an editor may save it.
        let marked = [b"\xef\xbb\xbf", content(name).as_slice()].concat();
        assert_eq!(
            Profile::read(&marked).unwrap().samples,
            plain.samples,
            "{name}"
        );
        let cut = &compressed[..compressed.len() / 2];
        let error = Profile::read(cut).expect_err("it is cut short");
        assert!(
            matches!(error, ReadProfileError::Compressed { .. }),
            "{name}: {error}"
        );
    }
}

/// `go tool pprof -top -unit=nanoseconds`: flat, its share, the sum, cum, its share, name.
#[test]
fn pprof_is_what_go_says() {
    let found = by_name(&read("go-1.26.pprof"));
    let mut seen = 0;
    for line in text("go-1.26.top.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [flat, _, _, total, _, name, ..] = words.as_slice() else {
            continue;
        };
        let number = |text: &str| text.strip_suffix("ns").unwrap_or(text).parse::<f64>();
        let (Ok(flat), Ok(total)) = (number(flat), number(total)) else {
            continue;
        };
        assert_eq!(found.get(*name), Some(&(flat, total)), "{name}");
        seen += 1;
    }
    assert!(seen > 20, "{seen} functions");
}

/// `callgrind_annotate`: costs, their share, `file:function [object]`. One function may be
/// listed for several files, where parts of it were inlined from others.
#[test]
fn callgrind_is_what_its_annotation_says() {
    let profile = read("callgrind-3.19.out");
    assert_eq!(profile.unit, ProfileUnit::Instructions);
    assert_eq!(profile.total(), 3_856_890.0);
    let found = by_name(&profile);
    let listed = |name: &str, join: fn(f64, f64) -> f64| {
        let mut listed: BTreeMap<String, f64> = BTreeMap::new();
        for line in text(name).lines() {
            let (cost, rest) = line.split_once(" (").expect("a cost and its share");
            let (_, place) = rest.split_once(")  ").expect("a share and a place");
            let function = place.split(" [").next().unwrap_or_default();
            let function = function.rsplit_once(':').map_or(function, |(_, name)| name);
            let cost: f64 = cost.replace(',', "").parse().expect("a number");
            let listed = listed.entry(function.to_owned()).or_default();
            *listed = join(*listed, cost);
        }
        listed
    };
    let own = listed("callgrind-3.19.annotate.txt", |sum, cost| sum + cost);
    // The whole of a function is that of the file it begins in.
    let total = listed("callgrind-3.19.inclusive.txt", f64::max);
    for name in ["hash", "next_word", "count", "main"] {
        assert_eq!(found.get(name), Some(&(own[name], total[name])), "{name}");
    }
    // A recursion is one function here and two levels there.
    let both = own["depth"] + own["depth'2"];
    assert_eq!(found["depth"], (both, total["depth"]));
    let calls = profile.costs().calls.expect("they are counted");
    let hash = profile
        .frame_ids()
        .find(|frame| profile.name(*frame) == "hash");
    // 586 words in 4,095 characters, 50 times.
    assert_eq!(
        calls[profile.frame_ids().position(|f| Some(f) == hash).unwrap()],
        29_300.0
    );
}

/// `perf report`, which rounds to hundredths of a percent, and `inferno-collapse-perf`.
#[test]
fn perf_is_what_its_report_and_inferno_say() {
    let profile = read("perf-6.1.txt");
    assert_eq!(profile.unit, ProfileUnit::Nanoseconds);
    let found = by_name(&profile);
    let share = |text: &str| text.trim_end_matches('%').parse::<f64>().expect("a share");
    let close = |found: f64, share: f64| (found / profile.total() * 100.0 - share).abs() < 0.006;
    for line in text("perf-6.1.children.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (own, total) = found[words[5]];
        assert!(
            close(own, share(words[1])) && close(total, share(words[0])),
            "{line}"
        );
    }
    let mut folded: BTreeMap<String, f64> = BTreeMap::new();
    for sample in &profile.samples {
        let mut names: Vec<&str> = profile
            .stacks
            .from_leaf(sample.stack)
            .map(|frame| profile.name(frame))
            .collect();
        names.push("words");
        names.reverse();
        *folded.entry(names.join(";")).or_default() += sample.weight;
    }
    let expected = text("perf-6.1.collapsed.txt");
    assert_eq!(folded.len(), expected.lines().count());
    for line in expected.lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        assert_eq!(folded[stack], weight.parse::<f64>().unwrap(), "{stack}");
    }
}

/// The forms that a line of `perf script` has with other options.
#[test]
fn perf_events_have_many_forms() {
    let total = |text: &str| by_name(&Profile::read(text.as_bytes()).unwrap());
    // Without call graphs, and with the processor.
    let text = "   w 1/2 [001] 1.000001:   7 cycles:u:   12 f+0x1 (/w)\n my cmd 1/3 [000] 1.2: 5 cycles:u:   14 g+0x1 (/w)\n";
    assert_eq!(total(text)["f"], (7.0, 7.0));
    assert_eq!(total(text)["g"], (5.0, 5.0));
    // Without periods, with inlined functions and sources.
    let text = "w 1 1.0: cpu-clock:pppH: \n\t 12 inner+0x1a (inlined)\n  w.c:7\n\t 12 outer(int, char const*)+0x1 (/w (deleted))\n  w.c:9\n\n";
    let profile = Profile::read(text.as_bytes()).unwrap();
    assert_eq!(profile.unit, ProfileUnit::Samples);
    for frame in profile.frame_ids() {
        assert_eq!(profile.names.get(profile.frame(frame).module), "/w");
    }
    assert_eq!(by_name(&profile)["inner"], (1.0, 1.0));
    assert_eq!(by_name(&profile)["outer(int, char const*)"], (0.0, 1.0));
}

/// The two files of py-spy are of two runs: the shape is the same, not the counts.
#[test]
fn python_functions_have_names_and_files() {
    for name in ["py-spy-0.4.folded", "py-spy-0.4.speedscope.json"] {
        let profile = read(name);
        let found = by_name(&profile);
        let (own, total) = found["hash_word"];
        assert!(own == total && own > profile.total() / 2.0, "{name}");
        assert_eq!(found["main"].1, profile.total(), "{name}");
        for frame in profile.frame_ids() {
            let file = profile.names.get(profile.frame(frame).file);
            assert!(file.ends_with("words.py"), "{name}: {file}");
        }
    }
}

#[test]
fn v8_profiles_have_times_and_marks() {
    let node = read("node-20.cpuprofile");
    let found = by_name(&node);
    assert_eq!(node.unit, ProfileUnit::Nanoseconds);
    // As in DevTools: the time from the first sample to the last, and the mean interval for the
    // last one.
    assert_eq!(node.samples.len(), 51);
    let span = node.times.last().unwrap() - node.times[0];
    assert!((node.total() - span * 51.0 / 50.0).abs() < 1.0);
    assert!(found["hash"].0 > 0.0 && found["count"].1 > found["count"].0);

    let chrome = read("chrome-156.json");
    let found = by_name(&chrome);
    assert!(found["hash"].0 > 0.0 && found["work"].1 > 100e6);
    let mark = chrome.marks[0];
    assert_eq!(chrome.names.get(mark.name), "first");
    let first = chrome.clone().window(&"first".parse().unwrap()).unwrap();
    assert!(
        (first.total() - (mark.end - mark.begin)).abs() < 2e6,
        "{}",
        first.total()
    );
    let from = mark.begin / 1e6;
    let window = format!("{from}..{}", from + 10.0).parse().unwrap();
    let part = chrome.clone().window(&window).unwrap();
    assert!((part.total() - 10e6).abs() < 1e6, "{}", part.total());
    let error = chrome
        .window(&"third".parse().unwrap())
        .expect_err("there is none");
    assert!(error.to_string().contains("the marks are first"), "{error}");
    let error = read("go-1.26.pprof").window(&"0..5".parse().unwrap());
    assert!(matches!(error, Err(ReadProfileError::NoTimes { .. })));
}

/// Written with samply's library: main → work for 3 samples of 1 ms, and a leaf without
/// a symbol below it for 2.
#[test]
fn firefox_profiles_have_modules() {
    let profile = read("fxprof-0.8.json");
    let found = by_name(&profile);
    assert_eq!(found["main"], (0.0, 5e6));
    assert_eq!(found["work"], (3e6, 5e6));
    assert_eq!(found[""], (2e6, 2e6));
    let nameless = profile
        .frame_ids()
        .find(|frame| profile.name(*frame).is_empty());
    let module = profile.frame(nameless.unwrap()).module;
    assert_eq!(profile.names.get(module), "words");
}

/// Every cut is an error, except where the rest is whole.
#[test]
fn what_is_cut_short_is_refused() {
    for (name, format) in FILES {
        let content = content(name);
        let content = match format {
            ProfileFormat::Pprof => {
                let mut plain = Vec::new();
                std::io::Read::read_to_end(
                    &mut flate2::read::GzDecoder::new(content.as_slice()),
                    &mut plain,
                )
                .unwrap();
                plain
            }
            _ => content,
        };
        let whole = Profile::read(&content).unwrap().total();
        let step = (content.len() / 97).max(1);
        for end in (1..content.len().saturating_sub(2)).step_by(step) {
            match Profile::read(&content[..end]) {
                Err(error) => assert!(!error.to_string().is_empty()),
                // Lines and fields are whole in themselves.
                Ok(part) => {
                    let lines = matches!(
                        format,
                        ProfileFormat::Folded | ProfileFormat::PerfScript | ProfileFormat::Pprof
                    );
                    assert!(lines && part.total() <= whole, "{name} cut at {end}");
                }
            }
        }
    }
}

#[test]
fn bent_bytes_never_panic() {
    for (name, _) in FILES {
        let sound = content(name);
        for seed in 0..60_usize {
            let mut bent = sound.clone();
            for k in 0..3 {
                let at = (seed * 7919 + k * 104_729) % bent.len();
                bent[at] = [b'"', b'9', 0xff, b'\n', b'-', b'}'][(seed + k) % 6];
            }
            if let Err(error) = Profile::read(&bent) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[track_caller]
fn refuses(content: impl AsRef<[u8]>, expected: &str) {
    let error = Profile::read(content.as_ref()).expect_err("it is refused");
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn errors_name_the_place_and_what_to_do() {
    refuses("", "the profile is empty");
    refuses("Hello, world.\n", "this is not a profile that can be read");
    refuses("{\"results\": []}", "this is not a profile");
    refuses("PERFILE2\0\0", "perf script -i perf.data");
    for text in [b"\xff\xfea\0 \x001\0", b"\xfe\xff\0a\0 \x001"] {
        refuses(text, "the profile is text in UTF-16; save it as UTF-8");
    }
    refuses(
        "a;b 3\nc\n",
        "line 2, column 1 is not valid in the folded stacks (a stack without a count)",
    );
    refuses(
        "a;b 3\na;c 1O\na;d 7\n",
        "line 2, column 6 is not valid in the folded stacks (the count is not a number)",
    );
    refuses("a;b 3\nc\nd\n", "this is not a profile that can be read");
    refuses(
        "a;b 0\n",
        "there are no samples in the folded stacks; check that the program ran long enough",
    );
    refuses(
        "main;parse 10 7\nmain 2 2\n",
        "these folded stacks are of two sides: each line ends in two counts; export one side alone",
    );
    refuses(
        "[unknown];0x12 3\n",
        "there are no symbols in the folded stacks: not one function of the program has a name; build with debug information",
    );
    for trace in ["[]", "[{}]", "{\"traceEvents\": []}"] {
        refuses(
            trace,
            "there are no samples in the Chrome trace; record it with the category disabled-by-default-v8.cpu_profiler",
        );
    }
    refuses("[{\"name\": \"f\"}]", "this is not a profile");
    refuses(
        "{\"traceEvents\": [{\"ph\": \"P\"",
        "the profile is cut short: it ends at line 1, column 27 of the Chrome trace",
    );
    let perf = "w 1 1.0: 5 cycles:\n\t1 f+0x1 (/w)\n\nw 1 2.0: 5 instructions:\n\t1 f+0x1 (/w)\n\n";
    refuses(
        perf,
        "line 4, column 1 counts instructions, but cycles was counted before; record one event",
    );
    refuses(
        "w 1 1.0: 5 cycles:\n\t1 f+0x1 (/w",
        " of the output of perf script; let the profiler end",
    );
    refuses(
        "w 1 1.0: 5 cycles:\n\t1 [unknown] (/bin/w)\n\n",
        "not one function of /bin/w has a name",
    );
    refuses(
        "events: Ir\nfn=f\n1 5\ntotals: 7\n",
        " of the callgrind profile; let the profiler end",
    );
    refuses(
        "events: Ir\nfn=f\n1 x\n",
        "line 3, column 1 is not valid in the callgrind profile (a cost is not a number)",
    );
    refuses([0x1f, 0x8b, 8, 0], "damaged or cut short");
    let speedscope = |profiles: &str| {
        format!("{{\"shared\": {{\"frames\": [{{\"name\": \"f\"}}]}}, \"profiles\": [{profiles}]}}")
    };
    let sampled = |unit: &str, frame: u32| {
        format!(
            "{{\"type\": \"sampled\", \"unit\": \"{unit}\", \"samples\": [[{frame}]], \"weights\": [1]}}"
        )
    };
    let two = format!("{}, {}", sampled("seconds", 0), sampled("bytes", 0));
    refuses(
        speedscope(&two),
        "/profiles/1/unit counts bytes, but nanoseconds was counted before",
    );
    refuses(
        speedscope(&sampled("none", 7)),
        "/profiles/0/samples/0 is not valid in the speedscope profile (frame 7",
    );
}

/// A name may end in a number, as those of workers do.
#[test]
fn folded_stacks_with_numbers_in_names_are_of_one_side() {
    let profile = Profile::read(b"main;worker 1 30\nmain;worker 2 20\nmain 5\n").unwrap();
    let found = by_name(&profile);
    assert_eq!((found["worker 1"].0, found["worker 2"].0), (30.0, 20.0));
}

#[test]
fn a_window_without_samples_says_how_long_the_profile_is() {
    let refused = |name: &str, window: &str| {
        let error = read(name).window(&window.parse().unwrap());
        error.expect_err("there is nothing").to_string()
    };
    let error = refused("node-20.cpuprofile", "5000..6000");
    assert!(
        error.starts_with(
            "there are no samples in the window 5000..6000 of the .cpuprofile; the profile lasts 476.2 ms: give"
        ),
        "{error}"
    );
    let error = refused("node-20.cpuprofile", "load");
    assert!(
        error.contains("only a Chrome trace can have marks"),
        "{error}"
    );
    let error = refused("py-spy-0.4.folded", "0..5");
    assert!(
        error.starts_with("nothing in the folded stacks says when samples were taken"),
        "{error}"
    );
    for window in ["-100..50", "-100..", "5..3"] {
        let error = window.parse::<Window>().unwrap_err().to_string();
        assert!(
            error.contains("FROM..TO in milliseconds since the profile began"),
            "{error}"
        );
    }
}

fn cpuprofile(nodes: &str, samples: &str, deltas: &str) -> String {
    format!(
        "{{\"nodes\": [{nodes}], \"startTime\": 0, \"samples\": [{samples}], \"timeDeltas\": [{deltas}]}}"
    )
}

fn node(id: u32, name: &str, children: &str) -> String {
    format!(
        "{{\"id\": {id}, \"callFrame\": {{\"functionName\": \"{name}\", \"url\": \"a.js\"}}, \"children\": [{children}]}}"
    )
}

#[test]
fn impossible_trees_are_refused_and_times_put_in_order() {
    let circle = format!("{}, {}", node(1, "a", "2"), node(2, "b", "1"));
    refuses(cpuprofile(&circle, "1", "1"), "is called from itself");
    refuses(
        cpuprofile(&node(1, "a", "9"), "1", "1"),
        "node 9 is named and does not exist",
    );
    refuses(
        cpuprofile(&node(1, "a", ""), "2", "1"),
        "sample 0 is of node 2, which does not exist",
    );
    let twice = format!("{}, {}", node(1, "a", ""), node(1, "b", ""));
    refuses(cpuprofile(&twice, "1", "1"), "node 1 appears twice");
    refuses(
        cpuprofile(&node(1, "a", ""), "1, 1", ""),
        "2 samples and 0 times",
    );
    for (samples, deltas) in [("", ""), ("1", ""), ("1", "5")] {
        refuses(
            cpuprofile(&node(1, "a", ""), samples, deltas),
            "there are no samples in the .cpuprofile; a sample lasts until the next one: let",
        );
    }
    let backwards = cpuprofile(&node(1, "a", ""), "1, 1, 1", "5, 10, -5");
    let profile = Profile::read(backwards.as_bytes()).unwrap();
    assert_eq!(profile.times, [0.0, 5e3, 10e3]);
    assert_eq!(profile.total(), 15e3);
}

#[test]
fn a_chrome_trace_may_be_an_array_that_was_never_closed() {
    let whole = text("chrome-156.json");
    let (_, events) = whole.split_once('[').unwrap();
    let (events, _) = events.rsplit_once(']').unwrap();
    let expected = read("chrome-156.json").total();
    for text in [
        format!("[{events}]"),
        format!("[{events}"),
        format!("[{events},\n"),
    ] {
        assert_eq!(Profile::read(text.as_bytes()).unwrap().total(), expected);
    }
}

#[test]
fn stacks_of_a_hundred_thousand_functions_are_read() {
    let names: Vec<String> = (0..100_000)
        .map(|depth| format!("f{}", depth % 1000))
        .collect();
    let folded = Profile::read(format!("{} 1\n", names.join(";")).as_bytes()).unwrap();
    assert_eq!(folded.stacks.len(), 100_001);
    assert!(folded.costs().total.iter().all(|total| *total == 1.0));
    let lines: Vec<String> = names
        .iter()
        .map(|name| format!("\t1 {name}+0x1 (/w)\n"))
        .collect();
    let perf = format!("w 1 1.0: 5 cycles:\n{}\n", lines.concat());
    assert_eq!(
        Profile::read(perf.as_bytes()).unwrap().stacks.len(),
        100_001
    );
    let nodes: Vec<String> = (1..=100_000_u32)
        .map(|id| {
            node(
                id,
                "f",
                &if id < 100_000 {
                    (id + 1).to_string()
                } else {
                    String::new()
                },
            )
        })
        .collect();
    let profile = Profile::read(cpuprofile(&nodes.join(","), "100000", "1").as_bytes());
    // One sample has no interval.
    assert!(matches!(profile, Err(ReadProfileError::NoSamples { .. })));
    let profile = cpuprofile(&nodes.join(","), "100000, 100000", "1, 1");
    assert_eq!(
        Profile::read(profile.as_bytes()).unwrap().stacks.len(),
        100_001
    );
}

/// A name of any length is one name, and does not grow with its uses.
#[test]
fn long_names_are_cut() {
    let long = "x".repeat(50 << 20);
    let profile = Profile::read(format!("{long};a 1\n{long};b 2\n").as_bytes()).unwrap();
    let name = profile
        .frame_ids()
        .map(|frame| profile.name(frame).len())
        .max();
    assert!(name.is_some_and(|length| length < 1 << 20));
    let outer: FrameId = profile
        .stacks
        .from_leaf(profile.samples[0].stack)
        .last()
        .unwrap();
    assert_eq!(profile.costs().total_of(outer), 3.0);
}

/// A trace of one function of a script, `l` at line 1, column 17, with this list of maps.
fn mapped(maps: &str) -> Profile {
    let text = format!(
        r#"{{"metadata": {{"sourceMaps": {maps}}}, "traceEvents": [
        {{"name": "CpuProfile", "ph": "I", "cat": "x", "pid": 7, "tid": 7, "ts": 0, "args": {{"data": {{"cpuProfile": {{
            "nodes": [{{"id": 1, "callFrame": {{"functionName": "l", "scriptId": 3, "url": "https://example.com/dist/a.js", "lineNumber": 0, "columnNumber": 16}}}}],
            "startTime": 0, "samples": [1, 1], "timeDeltas": [10, 10]}}}}}}}}]}}"#
    );
    Profile::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn functions_of_a_trace_are_named_as_its_source_maps_have_it() {
    let map = r#"{"version": 3, "sources": ["../src/lexer.ts"], "names": ["nextToken"], "mappings": "MAAO,SAASA"}"#;
    let url = "https://example.com/dist/a.js";
    let profile = mapped(&format!(
        r#"[{{"url": "{url}", "sourceMapUrl": "{url}.map", "sourceMap": {map}}}]"#
    ));
    let frame = profile.frames[0];
    let text = |name| profile.names.get(name);
    assert_eq!(
        (text(frame.name), text(frame.file), frame.line),
        ("nextToken", "https://example.com/src/lexer.ts", 1)
    );
    let [(ran, resolved)] = profile.source_mapped[..] else {
        panic!("{:?}", profile.source_mapped);
    };
    assert_eq!((text(ran.name), text(ran.file)), ("l", url));
    assert_eq!((ran.line, ran.column), (1, 17));
    assert_eq!(resolved, frame);
    assert!(profile.warnings.is_empty());
    // It is one function in two builds whose bundles differ.
    let other = mapped(&format!(
        r#"[{{"url": "{url}", "sourceMap": {}}}]"#,
        map.replace("MAAO", "MAEO")
    ));
    let found = pinpoint_core::profile::explain(&[profile], &[other], &Default::default()).unwrap();
    assert_eq!(found.functions.len(), 1);
    assert_eq!(found.functions[0].own.difference, 0.0);
}

#[test]
fn source_maps_that_cannot_be_read_are_reported_and_passed_over() {
    let entry =
        |map: &str| format!(r#"[{{"url": "https://example.com/dist/a.js", "sourceMap": {map}}}]"#);
    for (maps, problem) in [
        (
            entry(r#"{"mappings": "A!"}"#),
            "of https://example.com/dist/a.js cannot be read",
        ),
        (entry("7"), "invalid type"),
        ("7".to_owned(), "of any script cannot be read"),
    ] {
        let profile = mapped(&maps);
        assert_eq!(profile.names.get(profile.frames[0].name), "l", "{maps}");
        let [warning] = profile.warnings.as_slice() else {
            panic!("{maps}: {:?}", profile.warnings);
        };
        assert!(warning.to_string().contains(problem), "{maps}: {warning}");
    }
    for maps in [
        entry("null"),
        "[]".to_owned(),
        r#"[{"url": "https://example.org/b.js", "sourceMap": 7}]"#.to_owned(),
    ] {
        assert!(mapped(&maps).warnings.is_empty(), "{maps}");
    }
}
