//! The readers of profiles on 200 MB each, and the difference of many profiles: time, and memory in
//! addition to the input, with their limits.
//!
//! `inferno-collapse-perf` reads the same text in the same run, if it is on the PATH (`cargo
//! install inferno`); it is given one thread, as ours has, and its output is discarded. DevTools'
//! own engine makes the timeline of the same trace, if it is installed (`npm install --prefix
//! target/trace-engine @paulirish/trace_engine@0.0.65`).

// The purpose of this program.
#![allow(clippy::print_stdout)]

use std::cell::Cell;
use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pinpoint_benches::memory::{Counting, measure};
use pinpoint_core::profile::{ExplainOptions, Profile, Timeline, compare_stacks, explain};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZE: usize = 200_000_000;
const REPETITIONS: usize = 3;
const RUNS: u64 = 20;
const SAMPLES: u64 = 100_000;
const FUNCTIONS: u64 = 20_000;

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// The maximum depth of a script's stacks.
const DEPTH: u64 = 40;

/// As Chrome writes it: of 20 events one is a piece of a profile.
fn chrome_trace() -> String {
    let mut numbers = Numbers(1);
    // Of each node of the profile, the first of which is a root that counts from 1.
    let mut depths = vec![0, 0];
    let mut text = "{\"traceEvents\":[\n{\"name\":\"Profile\",\"ph\":\"P\",\"pid\":7,\"tid\":7,\"id\":\"0x1\",\"ts\":1,\"args\":{\"data\":{\"startTime\":1}}}".to_owned();
    let mut node = 0;
    let mut sampled = 1;
    let mut time = 1;
    while text.len() < SIZE {
        for _ in 0..19 {
            time += 50;
            let _ = write!(
                text,
                ",\n{{\"args\":{{\"src_file\":\"../../base/task/thread_pool.cc\",\"src_func\":\"Run\",\"data\":{{\"frame\":\"{:032X}\",\"type\":\"click\"}}}},\"cat\":\"toplevel,devtools.timeline\",\"dur\":{},\"name\":\"ThreadControllerImpl::RunTask\",\"ph\":\"X\",\"pid\":7,\"tid\":{},\"ts\":{time},\"tts\":{time}}}",
                numbers.below(1 << 30),
                numbers.below(50),
                numbers.below(9)
            );
        }
        let (mut nodes, mut samples, mut deltas) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..3 {
            node += 1;
            let parent = if node > 1 {
                let recent = node - 1 - numbers.below(5.min(node - 1));
                let parent = if depths[recent as usize] < DEPTH {
                    recent
                } else {
                    1
                };
                depths.push(depths[parent as usize] + 1);
                format!(",\"parent\":{parent}")
            } else {
                String::new()
            };
            nodes.push(format!("{{\"callFrame\":{{\"codeType\":\"JS\",\"columnNumber\":11,\"functionName\":\"function{}\",\"lineNumber\":{},\"scriptId\":3,\"url\":\"http://127.0.0.1/script.js\"}},\"id\":{node}{parent}}}", numbers.below(5000), numbers.below(900)));
        }
        for _ in 0..100 {
            // A function is mostly sampled more than once before it returns.
            if numbers.below(4) == 0 {
                sampled = node - numbers.below(node.min(50));
            }
            samples.push(sampled.to_string());
            deltas.push((100 + numbers.below(50)).to_string());
        }
        let _ = write!(
            text,
            ",\n{{\"args\":{{\"data\":{{\"cpuProfile\":{{\"nodes\":[{}],\"samples\":[{}]}},\"timeDeltas\":[{}]}}}},\"cat\":\"disabled-by-default-v8.cpu_profiler\",\"id\":\"0x1\",\"name\":\"ProfileChunk\",\"ph\":\"P\",\"pid\":7,\"tid\":9,\"ts\":{time}}}",
            nodes.join(","),
            samples.join(","),
            deltas.join(",")
        );
    }
    text + "\n]}"
}

/// Stacks of 5 to 40 functions of a call tree.
fn perf_script() -> String {
    let mut numbers = Numbers(2);
    let mut text = String::new();
    let mut sample = 0_u64;
    while text.len() < SIZE {
        sample += 1;
        let _ = writeln!(
            text,
            "words 20330 [000] {}.{:06}:    2004008 cpu-clock: ",
            sample / 500,
            sample * 2000 % 1_000_000
        );
        let depth = 5 + numbers.below(36);
        let branch = numbers.below(200);
        for level in (0..depth).rev() {
            let function = level * 40 + branch % (level + 1) * 7;
            let offset = numbers.below(12) * 4;
            let _ = writeln!(
                text,
                "\t    {:12x} namespace::module{}::function{function}+0x{offset:x} (/usr/bin/words)",
                0x5555_0000 + function * 64 + offset,
                function % 37
            );
        }
        text.push('\n');
    }
    text
}

/// A run of a program of 20,000 functions: stacks of a call tree that all runs share.
fn run(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let mut text = String::new();
    for _ in 0..SAMPLES {
        let leaf = numbers.below(FUNCTIONS);
        // Each function is called by one whose number is about half of its own.
        let mut stack = Vec::new();
        let mut function = leaf;
        while function > 0 {
            stack.push(function);
            function = function * 9 / 16;
        }
        text += "main";
        for function in stack.iter().rev() {
            let _ = write!(text, ";module{}::function{function}", function % 97);
        }
        text += " 1\n";
    }
    text
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

fn read(name: &str, text: &str, limit: &str) {
    let bytes = text.as_bytes();
    let (time, memory) = measure(REPETITIONS, || Profile::read(bytes).expect("it is sound"));
    println!(
        "{name:34} {:>9}  memory {:.2} x  {limit}",
        milliseconds(time),
        memory as f64 / bytes.len() as f64
    );
}

/// The timeline of a trace, compared with DevTools' own engine. Its memory depends on the entries,
/// of which samples make many, and not on the text.
fn timeline(text: &str) {
    let bytes = text.as_bytes();
    let entries = Cell::new(0);
    let (time, memory) = measure(REPETITIONS, || {
        let timeline = Timeline::read(bytes).expect("it is sound");
        entries.set(timeline.tracks.iter().map(|it| it.entries.len()).sum());
        timeline
    });
    println!(
        "{:34} {:>9}  memory {:.0} MB, {:.0} bytes an entry  limit 2000 ms",
        "timeline of it",
        milliseconds(time),
        memory as f64 / 1e6,
        memory as f64 / entries.get() as f64
    );
    match engine(text) {
        Some((peer, held)) => println!(
            "{:34} {:>9}  memory {:.0} MB  {:.1} x the time, limit 5 x; {:.1} x the memory",
            "the same by DevTools' engine",
            milliseconds(peer),
            held / 1e6,
            peer.as_secs_f64() / time.as_secs_f64(),
            held / memory as f64
        ),
        None => println!("DevTools' engine is not installed"),
    }
}

/// The time of the engine, which it takes itself, without the start of Node.js; and the bytes
/// that its process held at most.
fn engine(text: &str) -> Option<(Duration, f64)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = std::env::var_os("PINPOINT_TEST_TRACE_ENGINE")
        .map_or_else(|| here.join("../target/trace-engine"), PathBuf::from);
    let folder = installed.join("node_modules/@paulirish/trace_engine");
    if !folder.exists() {
        return None;
    }
    let file = std::env::temp_dir().join(format!("pinpoint-trace-{}.json", std::process::id()));
    std::fs::write(&file, text).ok()?;
    // Nothing else happens here at the same time.
    #[allow(clippy::disallowed_methods)]
    let output = Command::new("node")
        .arg("--max-old-space-size=8192")
        .arg(here.join("benches/trace_engine.mjs"))
        .args([&folder, &file])
        .output();
    let _ = std::fs::remove_file(&file);
    let said = String::from_utf8(output.ok()?.stdout).ok()?;
    let (took, held) = said.trim().split_once(' ')?;
    let took = Duration::from_secs_f64(took.parse::<f64>().ok()? / 1e3);
    Some((took, held.parse().ok()?))
}

/// The best time of the peer, if there is one.
fn peer(text: &str) -> Option<Duration> {
    let mut best = None;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        let mut child = Command::new("inferno-collapse-perf")
            .args(["--nthreads", "1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        child.stdin.take()?.write_all(text.as_bytes()).ok()?;
        // Nothing else happens here at the same time.
        #[allow(clippy::disallowed_methods)]
        child.wait().ok()?;
        let time = start.elapsed();
        best = Some(best.map_or(time, |best: Duration| best.min(time)));
    }
    best
}

fn main() {
    let trace = chrome_trace();
    read("Chrome trace, 200 MB", &trace, "limits 2000 ms, 1 x");
    timeline(&trace);
    drop(trace);
    let perf = perf_script();
    let limit = match peer(&perf) {
        Some(time) => format!("inferno-collapse-perf {}", milliseconds(time)),
        None => "inferno-collapse-perf is not installed".to_owned(),
    };
    read("perf script, 200 MB", &perf, &limit);
    drop(perf);

    let side = |first: u64| -> Vec<Profile> {
        let runs = (first..first + RUNS).map(run);
        runs.map(|text| Profile::read(text.as_bytes()).expect("it is sound"))
            .collect()
    };
    let (base, experiment) = (side(100), side(200));
    for paired in [true, false] {
        let options = ExplainOptions {
            paired,
            ..ExplainOptions::default()
        };
        let design = if paired { "in pairs" } else { "in groups" };
        let say = |what: &str, (time, memory): (Duration, usize)| {
            println!(
                "{what} of 2 x 20, {design:12} {:>9}  memory {:.0} MB  limit 1000 ms",
                milliseconds(time),
                memory as f64 / 1e6
            );
        };
        let functions = measure(REPETITIONS, || {
            explain(&base, &experiment, &options).expect("they can be compared")
        });
        say("difference", functions);
        let paths = measure(REPETITIONS, || {
            compare_stacks(&base, &experiment, &options).expect("they can be compared")
        });
        say("paths     ", paths);
    }
}
