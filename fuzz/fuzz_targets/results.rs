//! Every reader of results, on the same output: no panic, and no value that is not finite.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pinpoint_core::results::talos::Job;
use pinpoint_core::results::{Format, LineTool, is_criterion_result, unread_values};
use pinpoint_core::{Aggregate, Method};

static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let names = [
        "lines", "json:", "json:/results/0/times", "regex:(?<name>\\w+)=(?<value>\\S+) ?(?<unit>\\w*)",
        "hyperfine", "gbench", "gobench", "pytest-benchmark", "jmh", "catch2", "chromium", "chromium-by-name", "talos", "talos:filtered", "auto",
        "hyperfine-console", "criterion-console", "gbench-console", "pytest-benchmark-console", "catch2-console",
        "vitest", "pytest-durations", "asv", "tinybench", "benchmark-ips", "benchmark-js", "benchmark-dotnet",
        "jmh-console", "gotest-json", "github-action-benchmark", "bencher", "gungraun", "benchmark-dotnet-json", "pyperf-json",
        "nanobench", "perf-stat", "gbench-csv", "ycsb", "graphserver", "browser-output",
        "libtest", "divan",
    ];
    let names = names.map(|name| name.parse::<Format>().expect("a known format"));
    names.into_iter().chain(LineTool::all().map(Format::LineTool)).collect()
});

fuzz_target!(|output: &[u8]| {
    for format in &*FORMATS {
        check(format.read(output));
    }
    // Origins part the charts, and lose none.
    let parted = Format::Auto.read_by_origin(output).map(|all| all.into_iter().flat_map(|it| it.reading.charts));
    if let (Ok(parted), Ok(whole)) = (parted, Format::Auto.read(output)) {
        let names: std::collections::BTreeSet<String> = parted.map(|(name, _)| name).collect();
        assert!(whole.keys().all(|name| names.contains(name)));
    }
    for format in FORMATS.iter().map(Some).chain([None]) {
        assert!(unread_values(output, format).len() <= 5);
    }
    // Files of a folder: each path is a line, its content goes on to the next empty line.
    let mut folder = BTreeMap::new();
    let text = String::from_utf8_lossy(output);
    for (path, content) in text.split("\n\n").filter_map(|file| file.split_once('\n')) {
        let _ = is_criterion_result(path);
        folder.insert(path.to_owned(), content.as_bytes().to_vec());
    }
    check(Format::Auto.read(&folder));
    check(Format::Criterion.read(&folder));
    check_jobs(&text);
    // The rest after a name is the user's.
    let _ = text.parse::<Format>();
    let _ = text.parse::<Aggregate>();
});

/// Jobs are read as they are written.
fn check_jobs(text: &str) {
    for job in Job::read_all(text).unwrap_or_default() {
        for suite in &job.suites {
            let _ = (suite.check_summary(), suite.origin());
        }
        if let Ok(line) = job.to_perfherder() {
            if let Ok(read) = Job::read_all(&line) {
                assert_eq!(read, [job.clone()]);
            }
        }
        let _ = job.to_talosdata();
        let _ = Job::joined([job.clone(), job]);
    }
}

type Charts = BTreeMap<String, pinpoint_core::Series>;

fn check(read: Result<Charts, pinpoint_core::results::ReadError>) {
    match read {
        Ok(charts) => {
            assert!(!charts.is_empty());
            for (name, series) in charts {
                assert!(!series.values.is_empty(), "{name:?}");
                assert!(series.values.iter().all(|value| value.is_finite()), "{name:?}");
                for method in Method::ALL {
                    let aggregate = Aggregate::from(method);
                    let _ = aggregate.apply(&series.values);
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
