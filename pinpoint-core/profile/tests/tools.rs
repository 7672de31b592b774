//! Profiles that real profilers wrote, with the totals that these tools report; and the same cut
//! and bent.

use std::fs;
use std::path::PathBuf;

use pinpoint_profile::{Profile, ProfileFormat, ProfileUnit, ProfileWarning, Timeline};
use proptest::prelude::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/profiles")
}

fn content(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn read(name: &str) -> Profile {
    Profile::read(&content(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Own and total cost of the functions of this name.
fn cost(profile: &Profile, name: &str) -> (f64, f64) {
    let costs = profile.costs();
    let named = profile.frame_ids().filter(|id| profile.name(*id) == name);
    named.fold((0.0, 0.0), |(own, total), id| {
        (own + costs.own_of(id), total + costs.total_of(id))
    })
}

/// `node --prof-process` of the same log: 444 ticks, 83 of them in `count`, and 41 in libraries.
#[test]
fn ticks_are_those_of_prof_process() {
    let profile = read("node-20.v8log.json");
    assert_eq!(profile.format, ProfileFormat::V8Log);
    assert_eq!(
        (profile.total(), &profile.unit),
        (444.0, &ProfileUnit::Samples)
    );
    assert_eq!(cost(&profile, "count").0, 83.0);
    let own = profile.costs().own;
    let in_libraries = profile.frame_ids().zip(own).filter(|(id, _)| {
        let module = profile.names.get(profile.frame(*id).module);
        !module.is_empty()
    });
    assert_eq!(in_libraries.map(|(_, own)| own).sum::<f64>(), 41.0);
}

/// `stackprof --text`: 69 samples in intervals of 5 ms, by functions their own and all.
#[test]
fn samples_are_those_of_stackprof() {
    let profile = read("stackprof-0.2.json");
    assert_eq!(profile.format, ProfileFormat::Stackprof);
    assert_eq!(profile.total(), 69.0 * 5e6);
    for (name, own, total) in [
        ("Object#hsh", 28.0, 48.0),
        ("String#each_byte", 20.0, 42.0),
        ("Object#count", 11.0, 67.0),
        ("Array#each", 1.0, 60.0),
        ("(garbage collection)", 0.0, 2.0),
    ] {
        assert_eq!(cost(&profile, name), (own * 5e6, total * 5e6), "{name}");
    }
}

/// The sum of the values at the lines' ends, in microseconds.
#[test]
fn times_are_those_of_austin() {
    let profile = read("austin-3.7.txt");
    assert_eq!(profile.format, ProfileFormat::Austin);
    assert_eq!(profile.total(), 304_762e3);
    assert!(profile.warnings.is_empty());
    let frame = profile.frame_ids().find(|id| profile.name(*id) == "count");
    let file = profile.frame(frame.unwrap()).file;
    assert_eq!(profile.names.get(file), "/bench/w.py");
}

/// clang says how long it ran in the event around all others, and lists sums by name besides.
#[test]
fn clangs_time_counts_once() {
    let profile = read("clang-14.json");
    assert_eq!(profile.warnings, [ProfileWarning::EventsOnly]);
    assert!(
        (profile.total() - 250_346e3).abs() < 1.0,
        "{}",
        profile.total()
    );
    let (_, all) = cost(&profile, "InstantiateClass F<300>");
    assert_eq!(all, 220_483e3);
}

const FILES: [&str; 12] = [
    "austin-3.7.txt",
    "callgrind-3.19.out",
    "chrome-156.json",
    "clang-14.json",
    "fxprof-0.8.json",
    "go-1.26.pprof",
    "node-20.cpuprofile",
    "node-20.v8log.json",
    "perf-6.1.txt",
    "py-spy-0.4.folded",
    "py-spy-0.4.speedscope.json",
    "stackprof-0.2.json",
];

/// Formats of tools that do not run here, after their documentation.
const DOCUMENTED: [&str; 4] = [
    "sample:\n  event_type: cpu-cycles:u\n  time: 1100\n  event_count: 5000\n  thread_id: 7\n  thread_name: words\n  vaddr_in_file: 1160\n  file: /data/libwords.so\n  symbol: hash(char const*)\n  callchain:\n    vaddr_in_file: 12fb\n    file: /data/libwords.so\n    symbol: main\n",
    "Analysis of sampling words (pid 1234) every 1 millisecond\nProcess:         words [1234]\n\nCall graph:\n    2589 Thread_1234567   DispatchQueue_1: com.apple.main-thread  (serial)\n    + 2589 main  (in words) + 40  [0x100003f00]  words.c:12\n    +   ! 1200 hash  (in words) + 4,8,...  [0x100003e10]\n\nTotal number in stack:\n\nBinary Images:\n",
    r#"{"traceEvents": [{"name": "thread_name", "ph": "M", "pid": 6052, "tid": "6105", "ts": "0", "args": {"name": "mqt_js"}}],
    "samples": [{"ts": "1000", "pid": 6052, "tid": "6105", "weight": "1", "sf": 2}, {"ts": "4000", "pid": 6052, "tid": "6105", "weight": "1", "sf": 2}],
    "stackFrames": {"1": {"name": "[root]", "category": "root"}, "2": {"name": "parse(http://127.0.0.1/index.bundle:7:3)", "parent": 1}}}"#,
    r#"{"meta": {"version": 30, "interval": 2}, "libs": [], "threads": [{"name": "GeckoMain", "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 1.5], [null, 2.5]]},
    "frameTable": {"schema": {"location": 0}, "data": [[0], [1, false]]}, "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]},
    "stringTable": ["0x7f12", "main (https://example.com/main.js:3:7)"]}], "processes": []}"#,
];

fn samples() -> Vec<Vec<u8>> {
    let documented = DOCUMENTED.iter().map(|text| text.as_bytes().to_vec());
    FILES
        .iter()
        .map(|name| content(name))
        .chain(documented)
        .collect()
}

#[test]
fn each_sample_is_whole() {
    for sample in samples() {
        let beginning = String::from_utf8_lossy(&sample[..sample.len().min(80)]).into_owned();
        let profile = Profile::read(&sample).unwrap_or_else(|error| panic!("{beginning}: {error}"));
        assert!(profile.total() > 0.0, "{beginning}");
    }
}

/// Formats of whole lines, each of which says nothing of the others.
fn is_of_lines(format: ProfileFormat) -> bool {
    matches!(
        format,
        ProfileFormat::Folded | ProfileFormat::Pprof | ProfileFormat::PerfScript
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_gives_an_error_or_a_warning(which in 0..16_usize, at in 0.0..1.0_f64) {
        let sample = samples().swap_remove(which);
        let whole = Profile::read(&sample).unwrap();
        let end = (sample.len() as f64 * at) as usize;
        // The end of a last line says nothing.
        if sample[end..].iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match Profile::read(&sample[..end]) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(part) => {
                prop_assert!(part.total() <= whole.total());
                let says = part.warnings.len() > whole.warnings.len();
                prop_assert!(says || is_of_lines(part.format) || part.total() == whole.total());
            }
        }
    }

    #[test]
    fn bent_bytes_never_panic(
        which in 0..16_usize,
        bends in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 1..4),
    ) {
        let mut sample = samples().swap_remove(which);
        let length = sample.len();
        for (at, byte) in bends {
            sample[(length as f64 * at) as usize] = byte;
        }
        match Profile::read(&sample) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(profile) => prop_assert!(profile.total().is_finite()),
        }
        if let Err(error) = Timeline::read(&sample) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
