//! Every format against its tool's real output; see `results/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_core::results::{
    Format, LineTool, OutputPosition, ReadError, is_criterion_result, unread_values,
};
use pinpoint_core::{Aggregate, Direction, Series};
use proptest::prelude::*;

mod any_sample;
mod consoles;
mod damaged;
mod large;
mod line_tools;
mod recognized;
mod spoiled;
mod whole;
mod whole_consoles;
mod whole_exchange;

/// The files, each with its format.
const FILES: [(&str, &str); 74] = [
    ("hyperfine.json", "hyperfine"),
    ("google-benchmark-1.7.json", "gbench"),
    ("google-benchmark-1.9.json", "gbench"),
    ("go-benchmark.txt", "gobench"),
    ("pytest-benchmark.json", "pytest-benchmark"),
    ("jmh.json", "jmh"),
    ("catch2-2.13.xml", "catch2"),
    ("catch2-3.7.xml", "catch2"),
    ("chromium-histograms.json", "chromium"),
    ("chromium-charts.json", "chromium"),
    ("perfherder.log", "talos"),
    ("talosdata.log", "talos"),
    ("graph-server.txt", "graphserver"),
    ("browser-output.txt", "browser-output"),
    ("hyperfine.txt", "hyperfine-console"),
    ("criterion.txt", "criterion-console"),
    ("google-benchmark-1.7.txt", "gbench-console"),
    ("pytest-benchmark.txt", "pytest-benchmark-console"),
    ("catch2-2.13.txt", "catch2-console"),
    ("libtest.txt", "libtest"),
    ("divan.txt", "divan"),
    ("vitest-1.txt", "vitest"),
    ("vitest-4.txt", "vitest"),
    ("pytest-durations.txt", "pytest-durations"),
    ("asv-run.txt", "asv"),
    ("asv-show.txt", "asv"),
    ("tinybench-2.txt", "tinybench"),
    ("tinybench-6.txt", "tinybench"),
    ("benchmark-ips.txt", "benchmark-ips"),
    ("benchmark-js.txt", "benchmark-js"),
    ("benchmark-dotnet.txt", "benchmark-dotnet"),
    ("nanobench-4.1.txt", "nanobench"),
    ("nanobench-4.6.txt", "nanobench"),
    ("jmh.txt", "jmh-console"),
    ("go-test.jsonl", "gotest-json"),
    ("github-action-benchmark.json", "github-action-benchmark"),
    ("bencher.json", "bencher"),
    ("iai.txt", "gungraun"),
    ("gungraun.txt", "gungraun"),
    ("benchmark-dotnet-brief.json", "benchmark-dotnet-json"),
    ("benchmark-dotnet-full.json", "benchmark-dotnet-json"),
    ("perf-stat.txt", "perf-stat"),
    ("perf-stat-x.csv", "perf-stat"),
    ("perf-stat-j.jsonl", "perf-stat"),
    ("perf-stat-I.txt", "perf-stat"),
    ("perf-stat-Ix.csv", "perf-stat"),
    ("perf-stat-Ij.jsonl", "perf-stat"),
    ("perf-stat-A.txt", "perf-stat"),
    ("perf-stat-Ax.csv", "perf-stat"),
    ("perf-stat-Aj.jsonl", "perf-stat"),
    ("perf-stat-socket.txt", "perf-stat"),
    ("google-benchmark-1.7.csv", "gbench-csv"),
    ("ycsb.txt", "ycsb"),
    ("mitata-0.1.txt", "mitata"),
    ("mitata-1.txt", "mitata"),
    ("pyperf.txt", "pyperf"),
    ("pyperf.json", "pyperf-json"),
    ("phpbench.txt", "phpbench"),
    ("k6.txt", "k6"),
    ("k6-1.txt", "k6"),
    ("wrk.txt", "wrk"),
    ("wrk-latency.txt", "wrk"),
    ("ab.txt", "ab"),
    ("sysbench.txt", "sysbench"),
    ("pgbench.txt", "pgbench"),
    ("pgbench-statements.txt", "pgbench"),
    ("fio.txt", "fio"),
    ("iperf3.txt", "iperf3"),
    ("iperf3-udp.txt", "iperf3"),
    ("gnu-time.txt", "gnu-time"),
    ("gnu-time-short.txt", "gnu-time"),
    ("shell-time.txt", "shell-time"),
    ("shell-time-posix.txt", "shell-time"),
    ("shell-time-zsh.txt", "shell-time"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("results")
}

fn file(name: &str) -> String {
    fs::read_to_string(folder().join(name)).expect("the file is there")
}

fn criterion() -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("it is text");
            let name = format!("{prefix}{name}");
            if path.is_dir() {
                walk(&path, &format!("{name}/"), files);
            } else {
                files.insert(name, fs::read(&path).expect("it can be read"));
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&folder().join("criterion"), "", &mut files);
    files
}

fn format(name: &str) -> Format {
    name.parse().expect("there is such a format")
}

fn read(name: &str, output: &str) -> Result<BTreeMap<String, Series>, ReadError> {
    format(name).read(output.as_bytes())
}

fn fault(name: &str, output: &str) -> ReadError {
    match read(name, output) {
        Ok(charts) => panic!("{name} reads {charts:?} in {output}"),
        Err(error) => error,
    }
}

/// A chart in short: name, number of values, the first of them, unit, direction.
type Line<'a> = (&'a str, usize, f64, Option<&'a str>, Direction);

/// Checks the charts of a whole file.
#[track_caller]
fn expect(name: &str, expected: &[Line]) {
    let (_, format) = FILES
        .iter()
        .find(|(file, _)| *file == name)
        .expect("it is listed");
    let charts = read(format, &file(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    check(&charts, expected);
}

#[track_caller]
fn check(charts: &BTreeMap<String, Series>, expected: &[Line]) {
    let names: Vec<&str> = charts.keys().map(String::as_str).collect();
    let expected_names: Vec<&str> = expected.iter().map(|line| line.0).collect();
    assert_eq!(names, expected_names);
    for (name, count, first, unit, direction) in expected {
        let series = &charts[*name];
        assert_eq!(series.values.len(), *count, "{name}");
        // The last bit may differ where a unit was converted.
        let difference = (series.values[0] - first).abs();
        assert!(
            difference <= first.abs() * f64::EPSILON,
            "{name}: {} instead of {first}",
            series.values[0]
        );
        assert_eq!(series.unit.as_deref(), *unit, "{name}");
        assert_eq!(series.direction, *direction, "{name}");
    }
}

use Direction::{Down, Unknown, Up};
