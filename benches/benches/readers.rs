//! The readers of result formats on 100 MB: time, and memory in addition to the input.
//!
//! The peer is `serde_json::Value` of the same bytes in the same run. The bounds are those that the
//! project promises: a second, and as much additional memory as the size of the input (twice its
//! size in all).

// The purpose of this program.
#![allow(clippy::print_stdout)]

use std::fmt::Write;
use std::time::Duration;

use pinpoint_benches::memory::{Counting, measure};
use pinpoint_core::results::Format;

const SIZE: usize = 100_000_000;
const REPETITIONS: usize = 3;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A time in seconds as programs write it, with all its digits.
fn time(index: usize) -> f64 {
    0.01 + (index * 7919 % 10_007) as f64 * 1.234_567_890_123e-7
}

fn repeat(
    before: &str,
    between: &str,
    after: &str,
    mut record: impl FnMut(usize) -> String,
) -> String {
    let mut text = before.to_owned();
    let mut index = 0;
    while text.len() < SIZE {
        if index > 0 {
            text += between;
        }
        text += &record(index);
        index += 1;
    }
    text + after
}

fn times(count: usize, seed: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\n        {}", time(seed + index));
    }
    text
}

fn documents() -> Vec<(&'static str, &'static str, String)> {
    vec![
        (
            "hyperfine",
            "one command",
            repeat(
                "{\"results\": [{\"command\": \"a\", \"times\": [",
                ",",
                "]}]}",
                |index| format!("\n{}", time(index)),
            ),
        ),
        (
            "hyperfine",
            "10 times each",
            repeat("{\"results\": [", ",", "]}", |index| {
                format!(
                    "{{\"command\": \"command {index}\", \"mean\": 0.1, \"times\": [{}]}}",
                    times(10, index)
                )
            }),
        ),
        (
            "gbench",
            "",
            repeat(
                "{\"context\": {}, \"benchmarks\": [",
                ",\n",
                "]}",
                |index| {
                    format!(
                        "    {{\n      \"name\": \"Sum/{}\",\n      \"family_index\": 0,\n      \"run_name\": \"Sum/100\",\n      \"run_type\": \"iteration\",\n      \"repetitions\": 3,\n      \"repetition_index\": {index},\n      \"threads\": 1,\n      \"iterations\": 45889,\n      \"real_time\": {:e},\n      \"cpu_time\": {:e},\n      \"time_unit\": \"ns\"\n    }}",
                        index / 10,
                        time(index),
                        time(index + 1)
                    )
                },
            ),
        ),
        (
            "pytest-benchmark",
            "",
            repeat(
                "{\"machine_info\": {}, \"benchmarks\": [",
                ",\n",
                "]}",
                |index| {
                    format!(
                        "{{\"fullname\": \"test.py::test_{index}\", \"params\": null, \"stats\": {{\"min\": 1, \"data\": [{}]}}}}",
                        times(50, index)
                    )
                },
            ),
        ),
        (
            "jmh",
            "",
            repeat("[", ",\n", "]", |index| {
                format!(
                    "{{\"jmhVersion\": \"1.37\", \"benchmark\": \"a.B.c{index}\", \"mode\": \"avgt\", \"primaryMetric\": {{\"score\": 1, \"scoreUnit\": \"us/op\", \"rawData\": [[{}], [{}]]}}, \"secondaryMetrics\": {{}}}}",
                    times(10, index),
                    times(10, index + 10)
                )
            }),
        ),
        (
            "chromium",
            "histograms",
            repeat("[", ",\n", "]", |index| {
                format!(
                    "{{\"name\": \"metric{}\", \"unit\": \"ms_smallerIsBetter\", \"diagnostics\": {{\"stories\": {{\"type\": \"GenericSet\", \"values\": [\"story{}\"]}}}}, \"sampleValues\": [{}], \"running\": [20, 1, 1, 1, 1, 1, 1], \"allBins\": {{\"1\": [20]}}}}",
                    index % 1000,
                    index % 50,
                    times(20, index)
                )
            }),
        ),
    ]
}

fn main() {
    println!(
        "{:18} {:14} {:>6}  {:>9} {:>9}  {:>9} {:>9}  {:>9}",
        "format", "", "MB", "time", "memory", "auto", "Value", "memory"
    );
    for (name, what, document) in documents() {
        let bytes = document.as_bytes();
        let format: Format = name.parse().expect("there is such a format");
        let (own, memory) = measure(REPETITIONS, || format.read(bytes).expect("it is sound"));
        let (auto, _) = measure(REPETITIONS, || {
            Format::Auto.read(bytes).expect("it is recognized")
        });
        let (peer, peers_memory) = measure(REPETITIONS, || {
            serde_json::from_slice::<serde_json::Value>(bytes).expect("it is sound")
        });
        let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        let share = |memory: usize| format!("{:.2} x", memory as f64 / bytes.len() as f64);
        println!(
            "{name:18} {what:14} {:>6.0}  {:>9} {:>9}  {:>9} {:>9}  {:>9}",
            bytes.len() as f64 / 1e6,
            ms(own),
            share(memory),
            ms(auto),
            ms(peer),
            share(peers_memory)
        );
    }
    println!("memory: beside the input, as a share of its size");
}
