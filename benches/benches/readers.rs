//! The readers of result formats on 100 MB: processor time, and memory in addition to the input.
//!
//! The peer is `serde_json::Value` of the same bytes in the same run; of a text, a pass over its
//! lines that reads each word as a number. The bounds are those that the project promises: 100 MB in
//! a second, and as much additional memory as the size of the input (twice its size in all).
//!
//! The time is the processor's, so that other programs on the machine do not count.

// The purpose of this program.
#![allow(clippy::print_stdout)]

use std::cell::Cell;
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
        (
            "pyperf-json",
            "",
            repeat(
                "{\"benchmarks\":[",
                ",",
                "],\"version\":\"1.0\"}",
                |index| {
                    format!(
                        "{{\"metadata\":{{\"name\":\"sum {index}\"}},\"runs\":[{{\"metadata\":{{\"duration\":0.0109}},\"values\":[{}],\"warmups\":[[64,9.9e-07]]}}]}}",
                        times(20, index)
                    )
                },
            ),
        ),
        (
            "github-action-benchmark",
            "",
            repeat("[", ",\n", "]", |index| {
                format!(
                    "  {{\"name\": \"sum {index}\", \"unit\": \"us/op\", \"value\": {}, \"range\": \"± 0.3\"}}",
                    time(index)
                )
            }),
        ),
        (
            "bencher",
            "",
            repeat("{", ",\n", "}", |index| {
                format!(
                    "  \"sum {index}\": {{\"latency\": {{\"value\": {}, \"lower_value\": 12.25, \"upper_value\": 12.75}}, \"throughput\": {{\"value\": 80.0}}}}",
                    time(index)
                )
            }),
        ),
        (
            "chromium-by-name",
            "",
            repeat("[", ",\n", "]", |index| {
                format!(
                    "{{\"name\": \"metric{}\", \"unit\": \"ms_smallerIsBetter\", \"sampleValues\": [{}], \"running\": [20, 1, 1, 1, 1, 1, 1], \"allBins\": {{\"1\": [20]}}}}",
                    index % 1000,
                    times(20, index)
                )
            }),
        ),
    ]
}

/// Outputs of lines, and documents with something in them that has to be repaired first.
fn texts() -> Vec<(&'static str, &'static str, String)> {
    let of_lines = |head: &str, line: &dyn Fn(usize) -> String| repeat(head, "\n", "\n", line);
    vec![
        (
            "lines",
            "1000 names",
            of_lines("", &|index| {
                format!("sort {}: {} ms", index % 1000, time(index))
            }),
        ),
        (
            "lines",
            "in a log",
            of_lines("", &|index| match index % 10 {
                0 => format!("2026-11-28T10:00:00Z INFO sort: {} ms", time(index)),
                _ => "2026-11-28T10:00:00Z INFO worker began to read the next block".to_owned(),
            }),
        ),
        (
            "gobench",
            "",
            of_lines("goos: linux\npkg: example.org/sums\n", &|index| {
                format!(
                    "BenchmarkSum/n={}-2 \t 1000 \t {} ns/op\t 11976.05 MB/s",
                    index % 1000,
                    time(index)
                )
            }),
        ),
        (
            "libtest",
            "",
            of_lines("running 4 tests\n", &|index| {
                format!(
                    "test tests::sum_{} ... bench: {:.2} ns/iter (+/- 264.16)",
                    index % 1000,
                    1e4 * time(index)
                )
            }),
        ),
        (
            "gbench-csv",
            "",
            of_lines(
                "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n",
                &|index| {
                    format!(
                        "\"Sum/{}\",16676,{},65.8,ns,6e+09,,,,",
                        index % 1000,
                        time(index)
                    )
                },
            ),
        ),
        (
            "gbench-console",
            "",
            of_lines(
                &format!(
                    "{0}\nBenchmark  Time  CPU  Iterations\n{0}\n",
                    "-".repeat(60)
                ),
                &|index| {
                    format!(
                        "Sum/{:<40} {:>12.3} ns {:>12.3} ns    6683 digits=2.5",
                        index % 1000,
                        1e4 * time(index),
                        9e3 * time(index)
                    )
                },
            ),
        ),
        (
            "criterion-console",
            "",
            of_lines("", &|index| {
                format!(
                    "sum {index}                time:   [729.31 ns {:.3} ns 5428.3 ns]\n                        change: [-79.263% -26.716% +152.50%] (p = 0.63 > 0.05)\n                        No change in performance detected.",
                    1e5 * time(index)
                )
            }),
        ),
        (
            "gotest-json",
            "",
            of_lines("", &|index| {
                format!(
                    "{{\"Time\":\"2026-11-28T09:11:39.814894467Z\",\"Action\":\"output\",\"Package\":\"example.org/sums\",\"Output\":\"BenchmarkSum/n={}-2 \\t 1000 \\t {} ns/op\\n\"}}",
                    index % 1000,
                    time(index)
                )
            }),
        ),
        (
            "catch2",
            "",
            "<Catch2TestRun>".to_owned()
                + &repeat("", "\n", "\n</Catch2TestRun>", |index| {
                    format!(
                        "<TestCase name=\"sums {index}\"><BenchmarkResults name=\"sum 100\" samples=\"100\" iterations=\"54\"><mean value=\"{}\" lowerBound=\"276.9\" upperBound=\"289.6\" ci=\"0.95\"/></BenchmarkResults><OverallResult success=\"true\"/></TestCase>",
                        time(index)
                    )
                }),
        ),
        (
            "perf-stat",
            "parts of the time",
            of_lines(
                "#           time             counts unit events\n",
                &|index| {
                    let end = 0.05 * (index + 1) as f64;
                    format!(
                        "     {end:.9}               0.96 msec task-clock              #    0.019 CPUs utilized\n     {end:.9}                  74      page-faults             #   76.820 K/sec"
                    )
                },
            ),
        ),
        (
            "talos",
            "in a log",
            of_lines("", &|index| match index % 10 {
                0 => format!(
                    "INFO - PERFHERDER_DATA: {{\"suites\": [{{\"name\": \"suite {index}\", \"subtests\": [{{\"name\": \"page\", \"value\": 1.5, \"replicates\": [{}]}}]}}]}}",
                    times(20, index).replace('\n', "")
                ),
                _ => "2026-11-28T10:00:00Z INFO worker began to read the next block".to_owned(),
            }),
        ),
        (
            "graphserver",
            "",
            of_lines(
                "START\nVALUES\nmachine,tp5,branch,changeset,13,1229477017\n",
                &|index| format!("{index},{:.2},page_{:02}", 1e4 * time(index), index % 100),
            ) + "END\n",
        ),
        (
            "browser-output",
            "pages",
            of_lines("__start_tp_report\n|i|pagename|runs|\n", &|index| {
                let runs: Vec<String> = (0..10)
                    .map(|run| format!("{}", 100 + (index + run * 7) % 50))
                    .collect();
                format!("|{index};page{index}.html;{}", runs.join(";"))
            }) + "__end_tp_report\n",
        ),
        (
            "lines",
            "a table",
            of_lines("name,time (ms)\n", &|index| {
                format!("sort {},{}", index % 1000, time(index))
            }),
        ),
        (
            "hyperfine",
            "behind a log",
            "loading the data\nreading 12 files\n".to_owned()
                + &repeat("{\"results\": [", ",", "]}", |index| {
                    format!(
                        "{{\"command\": \"command {index}\", \"mean\": 0.1, \"times\": [{}]}}",
                        times(10, index)
                    )
                }),
        ),
    ]
}

/// The numbers among the words of a text.
fn numbers(text: &str) -> usize {
    let words = text.lines().flat_map(str::split_whitespace);
    words.filter(|word| word.parse::<f64>().is_ok()).count()
}

/// The time that the processor has spent on this program.
#[expect(unsafe_code, reason = "the standard library does not tell it")]
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the time is a place for what is written.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The least processor time of a few repetitions, and the most memory.
fn cost<T>(work: impl Fn() -> T) -> (Duration, usize) {
    let least = Cell::new(Duration::MAX);
    let (_, memory) = measure(REPETITIONS, || {
        let before = processor_time();
        let result = work();
        least.set(least.get().min(processor_time() - before));
        result
    });
    (least.get(), memory)
}

fn main() {
    println!(
        "{:23} {:17} {:>6}  {:>9} {:>7} {:>9}  {:>9}  {:>9} {:>9}",
        "format", "", "MB", "time", "ratio", "memory", "auto", "peer", "memory"
    );
    let of_json = documents().into_iter().map(|it| (it, true));
    let of_text = texts().into_iter().map(|it| (it, false));
    for ((name, what, document), is_json) in of_json.chain(of_text) {
        let bytes = document.as_bytes();
        let format: Format = name.parse().expect("there is such a format");
        let (own, memory) = cost(|| format.read(bytes).expect("it is sound"));
        let (auto, _) = cost(|| Format::Auto.read(bytes).expect("it is recognized"));
        let (peer, peers_memory) = match is_json {
            true => {
                cost(|| serde_json::from_slice::<serde_json::Value>(bytes).expect("it is sound"))
            }
            false => cost(|| numbers(&document)),
        };
        let ms = |time: Duration| format!("{:.0} ms", time.as_secs_f64() * 1e3);
        let share = |memory: usize| format!("{:.2} x", memory as f64 / bytes.len() as f64);
        println!(
            "{name:23} {what:17} {:>6.0}  {:>9} {:>7.2} {:>9}  {:>9}  {:>9} {:>9}",
            bytes.len() as f64 / 1e6,
            ms(own),
            own.as_secs_f64() / peer.as_secs_f64(),
            share(memory),
            ms(auto),
            ms(peer),
            share(peers_memory)
        );
    }
    println!("ratio: of the time to the peer's; memory: beside the input, as a share of its size");
}
