//! Every format against what its tool really wrote; see `results/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_core::results::{Format, Place, ReadError, is_criterion_result, unread_values};
use pinpoint_core::{Aggregate, Direction, Series};
use proptest::prelude::*;

/// The files, each with its format.
const FILES: [(&str, &str); 32] = [
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
    ("perf-stat.txt", "perf-stat"),
    ("google-benchmark-1.7.csv", "gbench-csv"),
    ("ycsb.txt", "ycsb"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results")
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

mod whole {
    use super::*;

    fn expect(name: &str, expected: &[Line]) {
        let (_, format) = FILES
            .iter()
            .find(|(file, _)| *file == name)
            .expect("it is listed");
        let charts = read(format, &file(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&charts, expected);
    }

    #[test]
    fn hyperfine() {
        expect(
            "hyperfine.json",
            &[
                ("seq 1000", 6, 0.0009842750000000002, Some("s"), Down),
                ("seq 20000", 6, 0.000989153, Some("s"), Down),
            ],
        );
    }

    #[test]
    fn google_benchmark() {
        expect(
            "google-benchmark-1.7.json",
            &[
                ("Micro/real_time", 1, 0.27650998420974154, Some("us"), Down),
                (
                    "Micro/real_time cpu_time",
                    1,
                    0.276535630383712,
                    Some("us"),
                    Down,
                ),
                ("Sum/100", 1, 33.99753753336484, Some("ns"), Down),
                ("Sum/100 bytes_per_second", 1, 24341795107.266823, None, Up),
                ("Sum/100 cpu_time", 1, 32.865283619168, Some("ns"), Down),
                ("Sum/100 digits", 1, 2.5, None, Unknown),
                ("Sum/1000", 1, 331.3377359483879, Some("ns"), Down),
                ("Sum/1000 bytes_per_second", 1, 24144720264.33912, None, Up),
                ("Sum/1000 cpu_time", 1, 331.33537735849075, Some("ns"), Down),
                ("Sum/1000 digits", 1, 2.5, None, Unknown),
            ],
        );
        expect(
            "google-benchmark-1.9.json",
            &[
                ("sum_million", 2, 9972.528116592508, Some("ns"), Down),
                (
                    "sum_million cpu_time",
                    2,
                    9976.913907284772,
                    Some("ns"),
                    Down,
                ),
                ("sum_million digits", 2, 6.0, None, Unknown),
            ],
        );
    }

    #[test]
    fn go() {
        expect(
            "go-benchmark.txt",
            &[
                (
                    "example.org/sums.BenchmarkItoa-2",
                    2,
                    13.47,
                    Some("ns/op"),
                    Down,
                ),
                (
                    "example.org/sums.BenchmarkItoa-2 B/op",
                    2,
                    8.0,
                    Some("B/op"),
                    Down,
                ),
                (
                    "example.org/sums.BenchmarkItoa-2 allocs/op",
                    2,
                    1.0,
                    Some("allocs/op"),
                    Down,
                ),
                (
                    "example.org/sums.BenchmarkItoa-2 digits/op",
                    2,
                    10.5,
                    Some("digits/op"),
                    Unknown,
                ),
                (
                    "example.org/sums.BenchmarkSum/n=10-2",
                    2,
                    6.68,
                    Some("ns/op"),
                    Down,
                ),
                (
                    "example.org/sums.BenchmarkSum/n=10-2 MB/s",
                    2,
                    11976.05,
                    Some("MB/s"),
                    Up,
                ),
                (
                    "example.org/sums.BenchmarkSum/n=1000-2",
                    2,
                    873.7,
                    Some("ns/op"),
                    Down,
                ),
                (
                    "example.org/sums.BenchmarkSum/n=1000-2 MB/s",
                    2,
                    9156.56,
                    Some("MB/s"),
                    Up,
                ),
            ],
        );
    }

    #[test]
    fn pytest_benchmark() {
        expect(
            "pytest-benchmark.json",
            &[
                (
                    "test_sums.py::test_join",
                    5,
                    7.896999704826158e-7,
                    Some("s"),
                    Down,
                ),
                (
                    "test_sums.py::test_sum[1000]",
                    8,
                    2.7619200045592153e-5,
                    Some("s"),
                    Down,
                ),
                (
                    "test_sums.py::test_sum[10]",
                    8,
                    1.0635998478392138e-6,
                    Some("s"),
                    Down,
                ),
            ],
        );
    }

    #[test]
    fn jmh() {
        let charts = read("jmh", &file("jmh.json")).expect("it is sound");
        let main: BTreeMap<_, _> = charts
            .iter()
            .filter(|(name, _)| name.ends_with(']'))
            .map(|(name, series)| (name.clone(), series.clone()))
            .collect();
        check(
            &main,
            &[
                (
                    "sample.Sums.average [avgt, n=1000]",
                    4,
                    0.6733394524587321,
                    Some("us/op"),
                    Down,
                ),
                (
                    "sample.Sums.average [avgt, n=10]",
                    4,
                    0.07777897303577955,
                    Some("us/op"),
                    Down,
                ),
                ("sample.Sums.once [ss, n=10]", 2, 4.146, Some("us/op"), Down),
                // The weighted mean of a fork's 15 and 41 samples.
                (
                    "sample.Sums.sampled [sample, n=1000]",
                    2,
                    474.26666666666665,
                    Some("ns/op"),
                    Down,
                ),
                (
                    "sample.Sums.throughput [thrpt, n=10]",
                    2,
                    53141.326339372805,
                    Some("ops/ms"),
                    Up,
                ),
            ],
        );
        let secondary = &charts["sample.Sums.once [ss, n=10] gc.alloc.rate.norm"];
        assert_eq!(secondary.values, [5728.0, 5680.0]);
        assert_eq!(secondary.direction, Unknown);
    }

    #[test]
    fn catch2() {
        for (file, values) in [
            ("catch2-2.13.xml", [35.3054, 3200.07, 31.0415]),
            ("catch2-3.7.xml", [31.2463, 3198.65, 32.3275]),
        ] {
            expect(
                file,
                &[
                    ("other/sum 100", 1, values[0], Some("ns"), Down),
                    (
                        "sums/large/sum <10000> & more",
                        1,
                        values[1],
                        Some("ns"),
                        Down,
                    ),
                    ("sums/sum 100", 1, values[2], Some("ns"), Down),
                ],
            );
        }
    }

    #[test]
    fn chromium() {
        expect(
            "chromium-histograms.json",
            &[
                ("frames_per_second", 2, 59.5, Some("unitless"), Up),
                ("timeToFirstPaint", 4, 610.25, Some("ms"), Down),
                (
                    "timeToFirstPaint/browse_news/browse:news:cnn",
                    4,
                    610.25,
                    Some("ms"),
                    Down,
                ),
                (
                    "timeToFirstPaint/browse_news/browse:news:cnn_ref",
                    1,
                    640.0,
                    Some("ms"),
                    Down,
                ),
            ],
        );
        expect(
            "chromium-charts.json",
            &[
                ("throughput", 1, 152.5, Some("runs/s"), Up),
                ("warm_times", 4, 13.0, Some("ms"), Down),
                (
                    "warm_times/http://www.google.com/",
                    4,
                    9.0,
                    Some("ms"),
                    Down,
                ),
            ],
        );
    }

    /// All stories, builds and summaries of a name are one chart.
    #[test]
    fn chromium_by_name() {
        let charts = read("chromium-by-name", &file("chromium-histograms.json")).expect("sound");
        check(
            &charts,
            &[
                ("frames_per_second", 2, 59.5, Some("unitless"), Up),
                ("timeToFirstPaint", 9, 610.25, Some("ms"), Down),
            ],
        );
        assert_eq!(
            charts["timeToFirstPaint"].values,
            [
                610.25, 598.5, 603.0, 605.75, 640.0, 610.25, 598.5, 603.0, 605.75
            ]
        );
        let aggregates = ["sum", "mean", "min", "max", "count", "std"].map(|name| {
            let aggregate: Aggregate = name.parse().expect("there is such a method");
            aggregate.apply(&[3.0, 1.0, 5.0, 7.0])
        });
        let std = 6.666666666666667_f64.sqrt();
        assert_eq!(
            aggregates,
            [16.0, 4.0, 1.0, 7.0, 4.0, std].map(Some),
            "those of Chromium's Pinpoint"
        );
    }

    #[test]
    fn talos() {
        expect(
            "perfherder.log",
            &[
                ("dromaeo_dom", 1, 3021.5, None, Up),
                ("dromaeo_dom/attr.html", 1, 9021.25, Some("runs/s"), Up),
                ("dromaeo_dom/query.html", 1, 1011.75, Some("runs/s"), Up),
                ("tp5o [e10s, stylo]", 1, 152.25, None, Down),
                ("tp5o/amazon.com [e10s, stylo]", 4, 181.0, Some("ms"), Down),
                ("tp5o/bing.com [e10s, stylo]", 1, 156.0, Some("ms"), Down),
            ],
        );
        expect(
            "talosdata.log",
            &[
                ("tp5o", 1, 152.25, None, Unknown),
                ("tp5o/amazon.com", 4, 181.0, None, Unknown),
                ("tp5o/bing.com", 4, 170.0, None, Unknown),
            ],
        );
    }

    #[test]
    fn consoles() {
        expect(
            "hyperfine.txt",
            &[
                ("sleep 0.01", 1, 0.0186, Some("s"), Down),
                ("sleep 0.02", 1, 0.0223, Some("s"), Down),
            ],
        );
        expect(
            "criterion.txt",
            &[
                (
                    "a name that is longer than its column",
                    1,
                    191.65,
                    Some("ns"),
                    Down,
                ),
                ("sum 1000", 1, 3374.9, Some("ns"), Down),
                ("sums/fold/100", 1, 506.06, Some("ns"), Down),
                ("sums/fold/1000000", 1, 4_743_400.0, Some("ns"), Down),
            ],
        );
        expect(
            "divan.txt",
            &[
                ("dv/deep/bytes", 1, 26.79, Some("ns"), Down),
                ("dv/deep/sleep", 1, 1_074_000.0, Some("ns"), Down),
                ("dv/fold/100", 1, 70.63, Some("ns"), Down),
                ("dv/fold/1000", 1, 528.5, Some("ns"), Down),
                ("dv/parse", 1, 26.79, Some("ns"), Down),
            ],
        );
        let long = "a_benchmark_with_a_rather_long_name_that_needs_room";
        let long_cpu = format!("{long} cpu_time");
        expect(
            "google-benchmark-1.7.txt",
            &[
                ("Micro/real_time", 1, 0.048, Some("us"), Down),
                ("Micro/real_time cpu_time", 1, 0.048, Some("us"), Down),
                ("Sum/100", 1, 214.0, Some("ns"), Down),
                ("Sum/100 cpu_time", 1, 214.0, Some("ns"), Down),
                ("Sum/100000", 1, 20810062.0, Some("ns"), Down),
                ("Sum/100000 cpu_time", 1, 775605.0, Some("ns"), Down),
                (long, 1, 963.0, Some("ns"), Down),
                (&long_cpu, 1, 49.3, Some("ns"), Down),
            ],
        );
        expect(
            "catch2-2.13.txt",
            &[
                ("other/sum 100", 1, 240.173, Some("ns"), Down),
                (
                    "sums/a name that is longer than its column in the table of Catch2 is",
                    1,
                    139.602,
                    Some("ns"),
                    Down,
                ),
                (
                    "sums/large/sum <10000> & more",
                    1,
                    22665.8,
                    Some("ns"),
                    Down,
                ),
                ("sums/sum 100", 1, 280.25, Some("ns"), Down),
            ],
        );
        expect(
            "libtest.txt",
            &[
                ("tests::sum_100", 1, 323.79, Some("ns/iter"), Down),
                ("tests::sum_100000", 1, 207_781.12, Some("ns/iter"), Down),
            ],
        );
        expect(
            "pytest-benchmark.txt",
            &[
                ("test_join", 1, 282.05e-9, Some("s"), Down),
                ("test_sum[1000]", 1, 10.93e-6, Some("s"), Down),
                ("test_sum[10]", 1, 339.6e-9, Some("s"), Down),
            ],
        );
    }

    #[test]
    fn consoles_of_javascript() {
        let rate = Some("ops/s");
        expect(
            "vitest-4.txt",
            &[
                ("src/sort.bench.js > alone", 1, 12_837_023.32, rate, Up),
                (
                    "src/sort.bench.js > sort > nested > tiny",
                    1,
                    3_303_886.30,
                    rate,
                    Up,
                ),
                ("src/sort.bench.js > sort > normal", 1, 5739.63, rate, Up),
                (
                    "src/sort.bench.js > sort > reverse then",
                    1,
                    5212.65,
                    rate,
                    Up,
                ),
            ],
        );
        expect(
            "vitest-1.txt",
            &[
                (
                    "src/other.bench.js > sort > normal",
                    1,
                    1_037_947.51,
                    rate,
                    Up,
                ),
                ("src/sort.bench.js > alone", 1, 8_483_637.62, rate, Up),
                (
                    "src/sort.bench.js > sort > nested > tiny",
                    1,
                    3_243_647.66,
                    rate,
                    Up,
                ),
                ("src/sort.bench.js > sort > normal", 1, 1358.64, rate, Up),
                (
                    "src/sort.bench.js > sort > reverse then",
                    1,
                    3059.08,
                    rate,
                    Up,
                ),
            ],
        );
        let time = Some("ns");
        expect(
            "tinybench-2.txt",
            &[
                ("sort 1000", 1, 293_367.96187683346, time, Down),
                ("tiny", 1, 312.9994021722936, time, Down),
            ],
        );
        expect(
            "tinybench-6.txt",
            &[
                ("sort 1000", 1, 152_424.0, time, Down),
                ("tiny", 1, 220.0, time, Down),
            ],
        );
        let rate = Some("ops/sec");
        expect(
            "benchmark-js.txt",
            &[
                ("RegExp#test", 1, 29_894_041.0, rate, Up),
                ("String#indexOf x 2", 1, 826_463_020.0, rate, Up),
                ("sort", 1, 11.84, rate, Up),
            ],
        );
    }

    #[test]
    fn consoles_of_python() {
        let time = Some("s");
        expect(
            "pytest-durations.txt",
            &[
                (
                    "test_other.py::TestDeep::test_name call",
                    1,
                    0.01,
                    time,
                    Down,
                ),
                ("test_other.py::test_join[1000] call", 1, 0.05, time, Down),
                ("test_other.py::test_sum call", 1, 0.05, time, Down),
                ("test_other.py::test_sum setup", 1, 0.03, time, Down),
                ("test_other.py::test_sum teardown", 1, 0.02, time, Down),
                (
                    "test_sums.py::TestDeep::test_name call",
                    1,
                    0.01,
                    time,
                    Down,
                ),
                ("test_sums.py::test_join[1000] call", 1, 0.05, time, Down),
                ("test_sums.py::test_sum call", 1, 0.05, time, Down),
                ("test_sums.py::test_sum setup", 1, 0.03, time, Down),
                ("test_sums.py::test_sum teardown", 1, 0.02, time, Down),
            ],
        );
        let memory = Some("bytes");
        for name in ["asv-run.txt", "asv-show.txt"] {
            expect(
                name,
                &[
                    ("sums.One.time_one(1)", 1, 590e-9, time, Down),
                    ("sums.One.time_one(2)", 1, 332e-9, time, Down),
                    ("sums.Plain.mem_list", 1, 2100.0, memory, Down),
                    ("sums.Plain.time_join", 1, 13.7e-6, time, Down),
                    ("sums.Plain.track_size", 1, 4200.0, None, Unknown),
                    ("sums.Suite.peakmem_sum(10, list)", 1, 24.7e6, memory, Down),
                    ("sums.Suite.peakmem_sum(10, tuple)", 1, 24.6e6, memory, Down),
                    (
                        "sums.Suite.peakmem_sum(1000, list)",
                        1,
                        24.6e6,
                        memory,
                        Down,
                    ),
                    (
                        "sums.Suite.peakmem_sum(1000, tuple)",
                        1,
                        24.7e6,
                        memory,
                        Down,
                    ),
                    ("sums.Suite.time_sum(10, list)", 1, 882e-9, time, Down),
                    ("sums.Suite.time_sum(10, tuple)", 1, 671e-9, time, Down),
                    ("sums.Suite.time_sum(1000, list)", 1, 11e-6, time, Down),
                ],
            );
        }
    }

    #[test]
    fn other_consoles() {
        let rate = Some("i/s");
        expect(
            "benchmark-ips.txt",
            &[
                (
                    "a name that is longer than its column",
                    1,
                    13_725_000.0,
                    rate,
                    Up,
                ),
                ("join", 1, 24_203.0, rate, Up),
                ("slow", 1, 11.362, rate, Up),
            ],
        );
        expect(
            "benchmark-dotnet.txt",
            &[
                ("Join [N=1000]", 1, 51_224.1, Some("ns"), Down),
                ("Join [N=1000] Allocated", 1, 82_176.0, Some("B"), Down),
                ("Join [N=10]", 1, 512.24, Some("ns"), Down),
                ("Join [N=10] Allocated", 1, 992.0, Some("B"), Down),
                ("Sum [N=1000]", 1, 1234.56, Some("ns"), Down),
                ("Sum [N=1000] Allocated", 1, 0.0, Some("B"), Down),
                ("Sum [N=10]", 1, 12.35, Some("ns"), Down),
                ("Sum [N=10] Allocated", 1, 0.0, Some("B"), Down),
            ],
        );
        expect(
            "perf-stat.txt",
            &[
                ("context-switches", 1, 1.0, None, Down),
                ("cpu-migrations", 1, 0.0, None, Down),
                ("elapsed", 1, 0.052257335, Some("s"), Down),
                ("page-faults", 1, 71.0, None, Down),
                ("sys", 1, 0.0, Some("s"), Down),
                ("task-clock", 1, 1.13, Some("ms"), Down),
                ("user", 1, 0.002256, Some("s"), Down),
            ],
        );
        expect(
            "google-benchmark-1.7.csv",
            &[
                ("Micro/real_time", 1, 0.00397488, Some("us"), Down),
                ("Micro/real_time cpu_time", 1, 0.000391271, Some("us"), Down),
                ("Sum/100", 1, 338.423, Some("ns"), Down),
                ("Sum/100 bytes_per_second", 1, 6.07544e9, None, Up),
                ("Sum/100 cpu_time", 1, 65.8389, Some("ns"), Down),
                ("Sum/100 digits", 1, 2.5, None, Unknown),
                ("Sum/1000", 1, 1632.87, Some("ns"), Down),
                ("Sum/1000 bytes_per_second", 1, 8.64771e9, None, Up),
                ("Sum/1000 cpu_time", 1, 462.55, Some("ns"), Down),
                ("Sum/1000 digits", 1, 2.5, None, Unknown),
            ],
        );
        expect(
            "ycsb.txt",
            &[
                ("OVERALL RunTime", 1, 20_961.0, Some("ms"), Down),
                (
                    "OVERALL Throughput",
                    1,
                    477.0764753590955,
                    Some("ops/sec"),
                    Up,
                ),
                ("READ 95thPercentileLatency", 1, 1665.0, Some("us"), Down),
                ("READ 99thPercentileLatency", 1, 1796.0, Some("us"), Down),
                (
                    "READ AverageLatency",
                    1,
                    995.1311154598826,
                    Some("us"),
                    Down,
                ),
                ("READ MaxLatency", 1, 19_471.0, Some("us"), Down),
                ("READ MinLatency", 1, 196.0, Some("us"), Down),
                (
                    "UPDATE AverageLatency",
                    1,
                    4261.576687116564,
                    Some("us"),
                    Down,
                ),
            ],
        );
    }

    /// Each tool says in its own way what failed.
    #[test]
    fn failures_are_named() {
        for (file_name, expected) in [
            (
                "google-benchmark-1.7.txt",
                vec![
                    ("Broken", "Google Benchmark says `no data`"),
                    ("Broken cpu_time", "Google Benchmark says `no data`"),
                ],
            ),
            (
                "catch2-2.13.txt",
                vec![
                    ("failing/sum 7", "Catch2 says that its test case failed"),
                    ("other/broken", "Catch2 says `no data`"),
                ],
            ),
            (
                "libtest.txt",
                vec![("tests::broken", "the test harness says `FAILED`")],
            ),
            (
                "pytest-benchmark.txt",
                vec![("test_bad", "pytest says that it failed")],
            ),
            (
                "pytest-durations.txt",
                ["other", "sums"]
                    .into_iter()
                    .flat_map(|file| {
                        ["call", "setup", "teardown"]
                            .map(|part| format!("test_{file}.py::test_bad {part}"))
                    })
                    .map(|chart| (&*chart.leak(), "pytest says that it failed"))
                    .collect(),
            ),
            (
                "vitest-1.txt",
                vec![(
                    "src/other.bench.js > sort > broken",
                    "Vitest has no samples of it",
                )],
            ),
            (
                "tinybench-6.txt",
                vec![("broken", "tinybench says `no data`")],
            ),
            (
                "asv-run.txt",
                vec![
                    ("sums.Plain.time_bad", "asv says `failed`"),
                    ("sums.Plain.track_nan", "asv says `n/a`"),
                    ("sums.Suite.time_sum(1000, tuple)", "asv says `failed`"),
                ],
            ),
            (
                "asv-show.txt",
                vec![
                    ("sums.Plain.time_bad", "asv says `failed`"),
                    ("sums.Plain.track_nan", "asv says `n/a`"),
                    ("sums.Suite.time_sum(1000, tuple)", "asv says `failed`"),
                ],
            ),
            (
                "benchmark-dotnet.txt",
                vec![
                    ("Broken [N=1000]", "BenchmarkDotNet says `NA`"),
                    ("Broken [N=1000] Allocated", "BenchmarkDotNet says `NA`"),
                    ("Broken [N=10]", "BenchmarkDotNet says `NA`"),
                    ("Broken [N=10] Allocated", "BenchmarkDotNet says `NA`"),
                ],
            ),
            (
                "perf-stat.txt",
                vec![
                    ("branch-misses", "perf says `<not supported>`"),
                    ("branches", "perf says `<not supported>`"),
                    ("cycles", "perf says `<not supported>`"),
                    ("instructions", "perf says `<not supported>`"),
                ],
            ),
            (
                "google-benchmark-1.7.csv",
                vec![
                    ("Broken", "Google Benchmark says `no data`"),
                    ("Broken cpu_time", "Google Benchmark says `no data`"),
                ],
            ),
            (
                "ycsb.txt",
                vec![("CLEANUP AverageLatency", "its value is not a number")],
            ),
        ] {
            let reading = Format::Auto.read_with_failures(file(file_name).as_bytes());
            let failed = reading.expect("it is sound").failed;
            let failed: Vec<(&str, &str)> = (failed.iter())
                .map(|(name, reason)| (name.as_str(), reason.as_str()))
                .collect();
            assert_eq!(failed, expected, "{file_name}");
        }
    }

    #[test]
    fn criterion_folder() {
        let files = criterion();
        let charts = Format::Criterion.read(&files).expect("it is sound");
        // Nanoseconds for this many iterations.
        check(
            &charts,
            &[
                ("sum 1000", 10, 5454102.0 / 10015.0, Some("ns"), Down),
                ("sums/fold/100", 10, 4159614.0 / 102365.0, Some("ns"), Down),
                ("sums/fold/10000", 10, 3273094.0 / 582.0, Some("ns"), Down),
            ],
        );
        // The run before is there, and not read.
        assert!(files.keys().any(|path| path.contains("/base/")));
        assert_eq!(Format::Auto.read(&files).expect("it is sound"), charts);
    }
}

mod recognised {
    use super::*;

    #[test]
    fn each_is_taken_for_itself_and_read_alike() {
        for (name, expected) in FILES {
            let output = file(name);
            let found = Format::recognise(output.as_bytes()).expect("it is recognised");
            assert_eq!(found, format(expected), "{name}");
            let read_so = read(expected, &output).expect("it is sound");
            assert_eq!(
                read("auto", &output).expect("it is sound"),
                read_so,
                "{name}"
            );
        }
        assert_eq!(
            Format::recognise(&criterion()).expect("it is recognised"),
            Format::Criterion
        );
    }

    /// The lines that a tool writes about itself are no reason to doubt what it measured.
    #[test]
    fn nothing_of_a_tool_is_left_unread() {
        for (name, expected) in FILES {
            let unread = unread_values(file(name).as_bytes(), Some(&format(expected)));
            assert_eq!(unread, [], "{name}");
        }
    }

    #[test]
    fn colors_and_ends_of_lines_do_not_matter() {
        for (name, expected) in FILES.iter().filter(|(name, _)| name.ends_with(".txt")) {
            let output = file(name);
            let plain = format(expected).read_with_failures(output.as_bytes());
            let plain = plain.expect("it is sound");
            let colored = output.replace('\n', "\u{1b}[0m\n\u{1b}[32m");
            for output in [output.replace('\n', "\r\n"), colored] {
                let found = Format::recognise(output.as_bytes()).expect("it is recognised");
                assert_eq!(found, format(expected), "{name}");
                let reading = found.read_with_failures(output.as_bytes());
                assert_eq!(reading.expect("it is sound"), plain, "{name}");
            }
        }
    }

    /// What a log or another tool has between the results, and results that are damaged.
    #[test]
    fn what_is_not_read_beside_results_is_listed() {
        const CRITERION: &str = "sort                    time:   [1.5 ms 2.5 ms 3.5 ms]\n";
        for (format_name, output, line) in [
            (
                "criterion-console",
                format!("{CRITERION}test x ... bench:   1,23N ns/iter (+/- 3)\n"),
                2,
            ),
            (
                "criterion-console",
                format!("{CRITERION}test x ... bench:   1,2"),
                2,
            ),
            (
                "criterion-console",
                format!("{CRITERION}a    time:   [1.5 ms 2.5 m\n"),
                2,
            ),
            (
                "criterion-console",
                format!("loaded in 12.5 ms\n{CRITERION}"),
                1,
            ),
            (
                "libtest",
                "test a ... bench: 1,234 ns/iter (+/- 3)\ntest b ... bench: 1,23 ns/iter (+/- 3)\n".into(),
                2,
            ),
            (
                "gobench",
                "BenchmarkA-2 10 3 ns/op\n    a_test.go:5: loaded 5 MB\nok  \tsums\t1.2s\n".into(),
                2,
            ),
            (
                "pytest-benchmark-console",
                "Name (time in ms)      Mean\n----\ntest_a     1,500.5 (1.0)\ntest_b     1,5N0.5 (1.0)\n----\n".into(),
                4,
            ),
            (
                "vitest",
                format!("{}   · x  1.0  2.0\n", file("vitest-1.txt")),
                32,
            ),
            (
                "asv",
                "[50.00%] ··· a.time_b    1.5±0.1ms\n[75.00%] ··· a.time_c    ok\n[75.00%] ··· === ====\n             n\n             --- ----\n             1   1.x\n             === ====\n".into(),
                6,
            ),
            (
                "benchmark-js",
                "a x 5 ops/sec ±1% (9 runs sampled)\nb x 1,23 ops/sec ±1% (9 runs sampled)\n".into(),
                2,
            ),
            (
                "tinybench",
                "│ Task name │ Latency avg (ns) │\n│ 'a' │ '5 ± 1%' │\n│ 'b' │ '5 ± 1\n".into(),
                3,
            ),
            (
                "perf-stat",
                " Performance counter stats for 'a':\n\n 1.5 msec task-clock\n 1.2N msec cpu-clock\n".into(),
                4,
            ),
        ] {
            let found = Format::recognise(output.as_bytes()).expect("it is recognised");
            assert_eq!(found, format(format_name), "{output}");
            let unread = unread_values(output.as_bytes(), Some(&found));
            let lines: Vec<usize> = unread.iter().map(|unread| unread.line).collect();
            assert_eq!(lines, [line], "{output}: {unread:?}");
        }
    }

    #[test]
    fn no_reader_takes_what_is_another_formats() {
        for (name, own) in FILES {
            for (_, other) in FILES.iter().filter(|(_, other)| *other != own) {
                fault(other, &file(name));
            }
        }
    }

    /// An output that is cut off must not pass for none, since then the wall-clock
    /// time would be taken instead.
    #[test]
    fn a_beginning_is_enough() {
        for (name, expected) in FILES {
            let output = file(name);
            let half = &output[..output.floor_char_boundary(output.len() * 9 / 10)];
            let found = Format::recognise(half.as_bytes()).expect("it is recognised");
            assert_eq!(found, format(expected), "{name}");
        }
    }

    #[test]
    fn what_only_looks_alike_is_not_recognised() {
        for output in [
            r#"{"results": [1, 2]}"#,
            r#"{"results": [{"command": "ls", "status": 0}]}"#,
            r#"{"benchmarks": [{"name": "a", "value": 1}]}"#,
            r#"{"charts": {"a": 1}}"#,
            r#"[{"name": "a", "unit": "ms", "value": 3}]"#,
            r#"[[{"guid": "a", "type": "b"}]]"#,
            "<html><Catch/></html>",
            "<Catch",
            "Benchmarking 100 3 ns",
            "BenchmarkSort-2",
            "BenchmarkSort-2 passed 3 times",
            "Benchmark 1: sleep 1\nTime of day: now",
            "  time:   [-0.3% +0.1% +0.5%]",
            "test a ... bench: 1,234 ns",
            "test a ... FAILED",
            "a 5 ns 5 ns",
            "the line PERFHERDER_DATA: is missing",
            "",
            "{",
            "[",
        ] {
            assert!(
                matches!(
                    Format::recognise(output.as_bytes()),
                    Err(ReadError::NothingRecognised)
                ),
                "{output}"
            );
        }
        // A log whose lines begin with a bracket is not a JSON document.
        let log = b"[info] starting\nlatency: 5 ms\n";
        assert_eq!(Format::recognise(log).expect("a line is"), Format::Lines);
    }

    #[test]
    fn a_folder_and_a_file_are_not_mixed_up() {
        let files = criterion();
        for (name, output) in FILES {
            let error = format(output).read(&files).expect_err("it is no folder's");
            assert!(matches!(error, ReadError::FileNeeded(_)), "{name}: {error}");
        }
        assert!(matches!(
            fault("criterion", "{}"),
            ReadError::FolderNeeded(_)
        ));
        assert!(matches!(
            Format::recognise(&BTreeMap::from([("a/base/sample.json".into(), vec![])])),
            Err(ReadError::NothingRecognised)
        ));
    }
}

mod damaged {
    use super::*;

    /// A document ends where it ends: nothing that is shorter is one.
    #[test]
    fn a_document_cut_anywhere_gives_nothing() {
        for (name, format) in FILES {
            let output = file(name);
            let output = output.trim_end();
            if !output.starts_with(['{', '[', '<']) {
                continue;
            }
            for end in (0..output.len()).filter(|end| output.is_char_boundary(*end)) {
                let error = fault(format, &output[..end]);
                assert!(
                    matches!(error, ReadError::Json { .. } | ReadError::Xml { .. }),
                    "{name} cut at {end}: {error}"
                );
            }
            // Nor is anything that is longer.
            fault(format, &format!("{output} x"));
        }
    }

    /// In text a line is the least that can be recognised as whole.
    #[test]
    fn text_cut_within_a_result_gives_nothing() {
        for (name, format, marker) in [
            ("go-benchmark.txt", "gobench", "ns/op"),
            ("perfherder.log", "talos", "PERFHERDER_DATA: "),
            ("talosdata.log", "talos", "TALOSDATA: "),
        ] {
            let output = file(name);
            let whole = read(format, &output).expect("it is sound");
            let mut start = 0;
            for line in output.split_inclusive('\n') {
                let from = line.find(marker).map_or(line.len(), |at| at + marker.len());
                // The end of a log's line may be missing, its document is whole.
                let to = line.trim_end().len();
                for end in (start + from..start + to).filter(|end| output.is_char_boundary(*end)) {
                    fault(format, &output[..end]);
                }
                start += line.len();
            }
            // Between lines there are only fewer values.
            for (end, _) in output.match_indices('\n') {
                if let Ok(part) = read(format, &output[..=end]) {
                    for (chart, series) in part {
                        assert!(whole[&chart].values.starts_with(&series.values));
                    }
                }
            }
        }
    }

    /// Cut anywhere, a table gives some of its values, and none that is not in the whole.
    #[test]
    fn a_table_cut_anywhere_gives_whole_values_only() {
        for (name, format) in FILES.iter().filter(|(name, _)| name.ends_with(".txt")) {
            let output = file(name);
            let whole = super::format(format).read_with_failures(output.as_bytes());
            let whole = whole.expect("it is sound");
            for end in (0..output.len()).filter(|end| output.is_char_boundary(*end)) {
                let Ok(part) = read(format, &output[..end]) else {
                    continue;
                };
                for (chart, series) in part {
                    let is_whole = match whole.charts.get(&chart) {
                        Some(all) => {
                            all.values.starts_with(&series.values) && all.unit == series.unit
                        }
                        // What is said of it at the end is cut off.
                        None => whole.failed.contains_key(&chart),
                    };
                    assert!(is_whole, "{name} cut at {end} gives {chart}: {series:?}");
                }
            }
        }
    }

    #[test]
    fn parts_of_consoles_that_are_no_results_are_skipped() {
        for (format, output, expected) in [
            (
                "gbench-console",
                "Sum_mean 4 ns 4 ns 2\nSum_median 4 ns 4 ns 2\nSum_stddev 1 ns 1 ns 2\nSum_cv 14.38 % 13.51 % 2\nother_mean 5 ns 5 ns 9\nBig_BigO 1.2 N 1.2 N\n",
                vec![("other_mean", 5.0), ("other_mean cpu_time", 5.0)],
            ),
            (
                "gbench-console",
                "a b/1 4 ns 4 ns 2\na b/1_mean 4 ns 4 ns 2\n  c 4 ns 4 ns 2\n",
                vec![("a b/1", 4.0), ("a b/1 cpu_time", 4.0)],
            ),
            (
                "criterion-console",
                "a                       time:   [1.5 ms 2.5 ms 3.5 ms]\n   change:\n   time:   [-0.3% +0.1% +0.5%] (p = 0.1 > 0.05)\n   thrpt:  [1 B/s 1 B/s 1 B/s]\nBenchmarking a/long: Analyzing\na/long\n                        time:   [1 cycles 2 cycles 3 cycles]\n",
                vec![("a", 2_500_000.0), ("a/long", 2.0)],
            ),
            (
                "hyperfine-console",
                "Benchmark #1: a: b\n  Time (mean ± σ):     1.500 s ±  0.002 s    [User: 0.4 ms, System: 0.4 ms]\nBenchmark 2: c\n  Time (abs ≡):        2.0 ms               [User: 0.4 ms, System: 0.4 ms]\nBenchmark 3: d\n  Time (mean ± σ):     1.0 ms ±  0.0 ms    [User: 0.4 ms, System: 0.4 ms]\n  Warning: Ignoring non-zero exit code.\n",
                vec![("a: b", 1.5), ("c", 0.002)],
            ),
            (
                "libtest",
                "test a ... ok\ntest b - should panic ... bench:   1,234,567 ns/iter (+/- 3)\n",
                vec![("b - should panic", 1_234_567.0)],
            ),
            (
                "vitest",
                " ✓ a.ts (2) 5.1s\n   · b c  NaN  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±NaN% 0\n   · d  1,234.5  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±1% 9 [1.02x] ⇑\n     d  1,000.5  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±1% 9 (baseline)\n",
                vec![("a.ts > d", 1234.5)],
            ),
            (
                "pytest-durations",
                "========== slowest 2 durations ==========\n12.50s call     a.py::b[1 2]\n0.10s teardown a.py::b[1 2]\n0.10s of it\n",
                vec![("a.py::b[1 2] call", 12.5), ("a.py::b[1 2] teardown", 0.1)],
            ),
            (
                "asv",
                "[50.00%] ··· b.time_x     12.3±0.4ms\n[50.00%] ··· b.time_y(1)     5ms\n[50.00%] ··· Running (b.time_x--).\n[60.00%] ··· three.time_three    ok\n[60.00%] ··· === ======= =====\n             --  kind / flag \n             --- -------------\n              n  a / 1   b / 2\n             === ======= =====\n              1   2.00μs 3.5m \n             === ======= =====\n\n[70.00%] ··· b.track_count     1.5k\n",
                vec![
                    ("b.time_x", 0.0123),
                    ("b.track_count", 1500.0),
                    ("three.time_three(1, a, 1)", 2e-6),
                    ("three.time_three(1, b, 2)", 210.0),
                ],
            ),
            (
                "benchmark-ips",
                "Calculating ---\n  a  1.5k (± 1.1%) i/s  (666.7 μs/i) -  15.0k in   5.000000s\n  b  NaN (± NaN%) i/s -  15.0k in   5.000000s\n",
                vec![("a", 1500.0)],
            ),
            (
                "benchmark-js",
                "  a x 1,234 ops/sec ±1.2% (90 runs sampled)\nb x NaN ops/sec ±NaN% (0 runs sampled)\nc x 0 ops/sec ±0.00% (0 runs sampled)\n",
                vec![("a", 1234.0)],
            ),
            (
                "benchmark-dotnet",
                " Method | Mean |\n------- |-----:|\n **A** | **1,234.5 us** |\n B | NA |\n",
                vec![("A", 1_234_500.0)],
            ),
            (
                "perf-stat",
                " Performance counter stats for 'a':\n\n     1,234,567      cycles:u     #    3.1 GHz   ( +- 0.1% )  (79.9%)\n   <not counted>      branches\n  12.34 Joules power/energy-pkg/\n\n    0.5 +- 0.1 seconds time elapsed  ( +- 4.04% )\n",
                vec![
                    ("cycles:u", 1_234_567.0),
                    ("elapsed", 0.5),
                    ("power/energy-pkg/", 12.34),
                ],
            ),
            (
                "gbench-csv",
                "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\"a/8\",5,2.5,2.5,ns,,,,,\n\"a_BigO\",,1.2,1.3,N,,,,,\n\"a_RMS\",,0.1,0.1,,,,,,\n",
                vec![("a/8", 2.5), ("a/8 cpu_time", 2.5)],
            ),
            (
                "gbench-csv",
                "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,error_occurred,error_message\n\"a\",1,2.5,nan,us,,3,,,\n\"a\",1,3.5,nan,us,,3,,,\n\"a_mean\",2,3,3,us,,3,,,\n\"a_cv\",2,3,3,us,,3,,,\n",
                vec![("a", 2.5), ("a items_per_second", 3.0)],
            ),
            (
                "divan",
                "Timer precision: 20 ns\nexample     fastest       │ slowest       │ median        │ mean          │ samples │ iters\n├─ deep                  │               │               │               │         │\n│  ├─ a  b  1 ns          │ 3 ns          │ 2 µs          │ 2 ns          │ 100     │ 51200\n│  │       5 GB/s        │ 5 GB/s       │ 5 GB/s       │ 5 GB/s       │         │\n╰─ c        (ignored)     │               │               │               │         │\n",
                vec![("example/deep/a  b", 2000.0)],
            ),
            (
                "pytest-benchmark-console",
                "Name (time in ms)      Mean       OPS (Kops/s)\n----\ntest a (NOW)     1,500.5 (1.0)     2.5 (>1000.0)\n----\n\ntest_b  1.0  2.0\n",
                vec![("test a (NOW)", 1.5005)],
            ),
        ] {
            let charts = read(format, output).unwrap_or_else(|error| panic!("{format}: {error}"));
            let charts: Vec<(&str, f64)> = (charts.iter())
                .map(|(name, series)| (name.as_str(), series.values[0]))
                .collect();
            assert_eq!(charts, expected, "{format}");
        }
    }

    /// Two benchmarks of one name are no two values of one.
    #[test]
    fn a_name_that_stands_twice_is_an_error() {
        let vitest = " ✓ a.ts\n   · b  2.0  0.1 0.1 0.1 0.1 0.1 0.1 0.1 ±1% 9\n";
        for (format, output) in [
            (
                "vitest",
                format!("{vitest}{}", vitest.replace("2.0", "3.0")),
            ),
            (
                "tinybench",
                "│ Task name │ Latency avg (ns) │\n│ 'a' │ '5 ± 1%' │\n│ 'a' │ '6 ± 1%' │\n".into(),
            ),
            (
                "benchmark-js",
                "a x 5 ops/sec ±1% (9 runs sampled)\n".repeat(2),
            ),
            (
                "benchmark-ips",
                "  a  1.5k (± 1.1%) i/s -  15.0k in   5.0s\n".repeat(2),
            ),
            ("asv", "[50.00%] ··· b.time_x     12.3±0.4ms\n".repeat(2)),
            ("ycsb", "[READ], AverageLatency(us), 5\n".repeat(2)),
            (
                "benchmark-dotnet",
                "| Method | Mean |\n| A | 5 ns |\n| A | 6 ns |\n".into(),
            ),
            (
                "perf-stat",
                "Performance counter stats for 'a':\n 5 cycles\n 5 cycles\n".into(),
            ),
        ] {
            let error = fault(format, &output);
            assert!(
                matches!(error, ReadError::DuplicateChart { .. }),
                "{format}: {error}"
            );
        }
        // That of another file or suite is another one, and the same table twice is one.
        let output = format!("{vitest}{vitest}{}", vitest.replace("a.ts", "a.ts > c"));
        let charts = read("vitest", &output).expect("it is sound");
        let names: Vec<&str> = charts.keys().map(String::as_str).collect();
        assert_eq!(names, ["a.ts > b", "a.ts > c > b"]);
    }

    /// Of a load and a run in one log, of several commits, or of suites that share a name.
    #[test]
    fn what_to_do_about_a_name_that_stands_twice_is_told() {
        for (format, output) in [
            ("ycsb", "[OVERALL], RunTime(ms), 5\n".repeat(2)),
            ("asv", "[50.00%] ··· b.time_x     12.3±0.4ms\n".repeat(2)),
            (
                "benchmark-js",
                "a x 5 ops/sec ±1% (9 runs sampled)\n".repeat(2),
            ),
        ] {
            let message = fault(format, &output).to_string();
            for wanted in [
                "if the output holds two runs, have the benchmark print one",
                "run each suite by itself",
            ] {
                assert!(message.contains(wanted), "{format}: {message}");
            }
        }
    }

    #[test]
    fn names_of_several_parts_of_an_output_begin_with_their_part() {
        let perf = |command: &str, count: usize| {
            format!(
                " Performance counter stats for '{command}' (3 runs):\n\n {count} page-faults\n\n 0.5 seconds time elapsed\n\n 0.1 seconds user\n\nwrote 2 files\n"
            )
        };
        let table = |mean: &str| format!("| Method | Mean |\n|--- |---:|\n| A | {mean} |\n");
        let class = |class: &str, mean: &str| {
            format!(
                "// Benchmark: {class}.A: DefaultJob\n// * Detailed results *\n{class}.A: DefaultJob\n\n{}\n",
                table(mean)
            )
        };
        for (format, output, expected) in [
            (
                "perf-stat",
                perf("./sums 5", 7) + &perf("./joins", 8),
                vec![
                    ("./joins elapsed", 0.5),
                    ("./joins page-faults", 8.0),
                    ("./joins user", 0.1),
                    ("./sums 5 elapsed", 0.5),
                    ("./sums 5 page-faults", 7.0),
                    ("./sums 5 user", 0.1),
                ],
            ),
            (
                "perf-stat",
                perf("./sums 5", 7),
                vec![("elapsed", 0.5), ("page-faults", 7.0), ("user", 0.1)],
            ),
            (
                "benchmark-dotnet",
                class("Sums", "5 ns") + &class("Joins", "6 ns"),
                vec![("Joins.A", 6.0), ("Sums.A", 5.0)],
            ),
            (
                "benchmark-dotnet",
                class("Sums", "5 ns") + &class("Joins", "6 ns").replace("| A", "| B"),
                vec![("A", 5.0), ("B", 6.0)],
            ),
        ] {
            let charts = read(format, &output).unwrap_or_else(|error| panic!("{format}: {error}"));
            let charts: Vec<(&str, f64)> = (charts.iter())
                .map(|(name, series)| (name.as_str(), series.values[0]))
                .collect();
            assert_eq!(charts, expected, "{output}");
        }
        for (format, output) in [
            ("perf-stat", perf("a", 1).repeat(2)),
            ("benchmark-dotnet", class("Sums", "5 ns").repeat(2)),
            ("benchmark-dotnet", format!("{}\n", table("5 ns")).repeat(2)),
        ] {
            let error = fault(format, &output);
            assert!(
                matches!(error, ReadError::DuplicateChart { .. }),
                "{format}: {error}"
            );
        }
    }

    /// `1.234` is a thousand times as much where the point separates thousands.
    #[test]
    fn numbers_of_perf_in_another_locale_are_not_read() {
        const BEGIN: &str = " Performance counter stats for 'a':\n\n";
        for lines in [
            "  1.234      context-switches\n",
            "  1.234.567      instructions\n",
            "  1\u{202f}234\u{202f}567      instructions\n",
            "  1\u{a0}234      instructions\n",
            "  1 234 567      instructions\n",
            "  1’234      instructions\n",
            "  12,34,567      instructions\n",
            "  1,00 msec task-clock\n",
            "  1.234,00 msec task-clock\n",
            "  0,011362235 seconds time elapsed\n",
            "  0,011 +- 0,001 seconds time elapsed\n",
            "  1 +- 0,001 seconds time elapsed\n",
            "  71      page-faults     #  885,806 /sec\n",
            "  71      page-faults     ( +-  2,32% )\n",
            "  <not supported>      cycles     (0,00%)\n",
        ] {
            for lines in [
                lines.to_owned(),
                format!("  55      page-faults:u\n{lines}"),
                format!("{lines}\n       0.5 seconds user\n"),
            ] {
                let error = fault("perf-stat", &format!("{BEGIN}{lines}"));
                assert!(
                    matches!(error, ReadError::NoValue { .. }),
                    "{lines}: {error}"
                );
                let is_said = error.to_string().contains("run perf with LC_ALL=C");
                assert!(is_said || lines.starts_with("  <not"), "{lines}: {error}");
            }
        }
        // Those of another command do not matter, nor does what follows the block.
        let output = format!(
            "{BEGIN}  1,234 cycles\n  1,234.56 msec task-clock # 0.088 CPUs utilized\n  0.5 seconds time elapsed\n\n12.5 points\n# 1,5 of them\n{}  1.234 cycles\n",
            BEGIN.replace("'a'", "'b'")
        );
        let reading = Format::PerfStat.read_with_failures(output.as_bytes());
        let reading = reading.expect("it has values");
        check(
            &reading.charts,
            &[
                ("a cycles", 1, 1234.0, None, Down),
                ("a elapsed", 1, 0.5, Some("s"), Down),
                ("a task-clock", 1, 1234.56, Some("ms"), Down),
            ],
        );
        let failed: Vec<&String> = reading.failed.keys().collect();
        assert_eq!(failed, ["b cycles"]);
    }

    /// Early versions of BenchmarkDotNet write the decimal comma of the machine's language.
    #[test]
    fn a_comma_in_a_table_is_of_thousands_if_another_value_shows_it() {
        let table = |means: &[&str]| {
            let rows = means.iter().enumerate();
            let rows: String = rows
                .map(|(at, mean)| format!("| {at} | {mean} |\n"))
                .collect();
            format!("| Method | Mean |\n|--- |---:|\n{rows}")
        };
        for (means, expected) in [
            (vec!["20,425 ns", "12.5 ns"], vec![("1", 12.5)]),
            (
                vec!["20,425 ns", "1,234.5 ns"],
                vec![("0", 20_425.0), ("1", 1234.5)],
            ),
            (
                vec!["20,425 ns", "1,234,567 ns"],
                vec![("0", 20_425.0), ("1", 1_234_567.0)],
            ),
            (
                vec!["20,425 ns", "0,5 ns", "1.234 ns", "7 ns"],
                vec![("3", 7.0)],
            ),
        ] {
            let output = table(&means);
            let charts = read("benchmark-dotnet", &output).expect("it has values");
            let charts: Vec<(&str, f64)> = (charts.iter())
                .map(|(name, series)| (name.as_str(), series.values[0]))
                .collect();
            assert_eq!(charts, expected, "{output}");
            let unread = unread_values(output.as_bytes(), Some(&Format::BenchmarkDotNet));
            assert_eq!(unread.len(), means.len() - expected.len(), "{unread:?}");
        }
        fault("benchmark-dotnet", &table(&["20,425 ns"]));
    }

    /// `$(…)` takes the end of the last line away.
    #[test]
    fn a_last_line_without_an_end_is_read_or_listed() {
        const CSV: &str =
            "name,iterations,real_time,cpu_time,time_unit,label,error_occurred,error_message";
        const PERF: &str = " Performance counter stats for 'a':\n\n  5 page-faults\n";
        const PYTEST: &str = "0.51s call     a.py::b\n";
        let csv = format!("{CSV}\n\"b\",5,2.5,2.5,ns,,,\n");
        let counted = format!("{CSV},\"digits\"\n\"b\",5,2.5,2.5,ns,,,,7\n");
        let asv = "[10.00%] ··· a.time_b     5±1ms\n[20.00%] ··· a.track_b     5\n";
        let table = format!(
            "{asv}[30.00%] ··· a.time_c     ok\n[30.00%] ··· ==== =====\n              n\n             ---- -----\n"
        );
        for (format_name, output, added, is_listed) in [
            (
                "gbench-csv",
                format!("{csv}\"a\",5,1.5,1.25,ns,,,"),
                vec!["a", "a cpu_time"],
                false,
            ),
            ("gbench-csv", format!("{csv}\"a\",5,1.5,1.2"), vec![], true),
            ("gbench-csv", format!("{csv}\"a"), vec![], true),
            (
                "gbench-csv",
                format!("{counted}\"a\",5,1.5,1.2,ns,,,,1"),
                vec!["a", "a cpu_time"],
                false,
            ),
            (
                "ycsb",
                "[READ], AverageLatency(us), 5\n[READ], MaxLatency(us), 1".into(),
                vec![],
                true,
            ),
            (
                "ycsb",
                "[READ], AverageLatency(us), 5\n[READ], MaxLat".into(),
                vec![],
                true,
            ),
            (
                "ycsb",
                "[READ], AverageLatency(us), 5\n[READ], Return=OK, 4".into(),
                vec![],
                false,
            ),
            (
                "asv",
                format!("{asv}[30.00%] ··· a.time_c     13.7±3μs"),
                vec!["a.time_c"],
                false,
            ),
            (
                "asv",
                format!("{asv}[30.00%] ··· a.mem_c     2.1k"),
                vec!["a.mem_c"],
                false,
            ),
            (
                "asv",
                format!("{asv}[30.00%] ··· a.mem_c     2"),
                vec![],
                true,
            ),
            (
                "asv",
                format!("{asv}[30.00%] ··· a.time_c     13.7±3m"),
                vec![],
                true,
            ),
            (
                "asv",
                format!("{asv}[30.00%] ··· a.time_c     13.7±"),
                vec![],
                true,
            ),
            (
                "asv",
                format!("{table}               1  1.5ms"),
                vec!["a.time_c(1)"],
                false,
            ),
            (
                "asv",
                format!("{table}               1  1.5m"),
                vec![],
                true,
            ),
            (
                "asv",
                format!("{table}               1  1.5m "),
                vec!["a.time_c(1)"],
                false,
            ),
            (
                "perf-stat",
                format!("{PERF}  0.5 seconds time elapsed"),
                vec!["elapsed"],
                false,
            ),
            (
                "perf-stat",
                format!("{PERF}  0.5 seconds time"),
                vec![],
                true,
            ),
            (
                "perf-stat",
                format!("{PERF}  0.5 seconds user"),
                vec!["user"],
                false,
            ),
            (
                "perf-stat",
                format!("{PERF}  7 cpu-migrations #  0.1"),
                vec!["cpu-migrations"],
                false,
            ),
            ("perf-stat", format!("{PERF}  7 cpu-mig"), vec![], true),
            (
                "pytest-durations",
                format!("{PYTEST}0.51s call     a.py::c"),
                vec![],
                true,
            ),
            (
                "pytest-durations",
                format!("{PYTEST}FAILED a.py::bc"),
                vec![],
                true,
            ),
        ] {
            let format = format(format_name);
            let (before, _) = output.rsplit_once('\n').expect("it has lines");
            let names = |output: &str| -> Vec<String> {
                let charts = format.read(output.as_bytes());
                let charts = charts.unwrap_or_else(|error| panic!("{output}: {error}"));
                charts.into_keys().collect()
            };
            let mut expected = names(&format!("{before}\n"));
            expected.extend(added.into_iter().map(str::to_owned));
            expected.sort_unstable();
            assert_eq!(names(&output), expected, "{output}");
            let unread = unread_values(output.as_bytes(), Some(&format));
            let lines: Vec<usize> = unread.iter().map(|unread| unread.line).collect();
            let last = output.lines().count();
            assert_eq!(lines, vec![last; usize::from(is_listed)], "{output}");
        }
        let reading = Format::GoogleBenchmarkCsv
            .read_with_failures(format!("{counted}\"a\",5,1.5,1.2,ns,,,,1").as_bytes())
            .expect("it has values");
        assert!(reading.failed["a digits"].contains("its line has no end"));
    }

    /// The name of a test may have the dash that stands before the reason.
    #[test]
    fn a_test_that_failed_is_found_by_its_whole_name() {
        let names = [
            ("a.py::test_sum[a - b]", true),
            ("a.py::test_sum[a - c]", false),
            ("a.py::test_plain", true),
            ("a.py::test_plain_too", false),
            ("a.py::test_setup", true),
            ("a.py::test_bare", true),
        ];
        let durations: String = (names.iter())
            .flat_map(|(name, _)| {
                ["call", "setup"].map(|part| format!("0.51s {part}     {name}\n"))
            })
            .collect();
        let output = format!(
            "{durations}FAILED a.py::test_sum[a - b] - assert 0 - 1\nFAILED a.py::test_plain - assert 0\nERROR a.py::test_setup - x\nFAILED a.py::test_bare\n"
        );
        let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
        let reading = reading.expect("some passed");
        for (name, has_failed) in names {
            for part in ["call", "setup"] {
                let chart = format!("{name} {part}");
                assert_eq!(reading.failed.contains_key(&chart), has_failed, "{chart}");
                assert_eq!(reading.charts.contains_key(&chart), !has_failed, "{chart}");
            }
        }
        // Many are one walk.
        let lines = |line: fn(usize) -> String| (0..5000).map(line).collect::<String>();
        let output = lines(|test| format!("0.51s call     a.py::test_{test}\n"))
            + "0.51s call     a.py::passed\n"
            + &lines(|test| format!("FAILED a.py::test_{test} - assert 0\n"));
        let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
        assert_eq!(reading.expect("one passed").failed.len(), 5000);
    }

    /// A test that is not among the slowest has no value, and why is said.
    #[test]
    fn a_list_of_the_slowest_tests_says_that_it_is_one() {
        let row = "0.10s call     a.py::b\n";
        for (title, count) in [
            ("===== slowest 2 durations =====\n", 1),
            ("===== slowest durations =====\n", 0),
        ] {
            let output = format!("{title}{row}");
            let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
            assert_eq!(reading.expect("it is sound").remarks.len(), count);
        }
        let output =
            format!("{row}\n(4 durations < 0.005s hidden.  Use -vv to show these durations.)\n");
        let reading = Format::PytestDurations.read_with_failures(output.as_bytes());
        assert!(reading.expect("it is sound").remarks[0].contains("slowest tests only"));
    }

    #[test]
    fn a_folder_with_a_file_cut_or_missing_gives_nothing() {
        let whole = criterion();
        for (path, content) in &whole {
            if !is_criterion_result(path) {
                continue;
            }
            for end in 0..content.len() {
                let mut files = whole.clone();
                files.insert(path.clone(), content[..end].to_vec());
                match Format::Criterion.read(&files).expect_err("it is cut") {
                    ReadError::InFile { file, source } => {
                        assert_eq!(&file, path);
                        assert!(matches!(*source, ReadError::Json { .. }), "{source}");
                    }
                    other => panic!("{path} cut at {end}: {other}"),
                }
            }
            let mut files = whole.clone();
            files.remove(path);
            let error = Format::Criterion.read(&files).expect_err("it is missing");
            assert!(matches!(&error, ReadError::FileMissing { missing } if missing == path));
        }
    }

    /// The fault and its place, or its name.
    #[test]
    fn the_place_is_told() {
        for (format, output, wanted) in [
            (
                "hyperfine",
                "{\"results\": [\n{\"command\": \"a\", \"times\": [1, true]}]}",
                "line 2, column 34",
            ),
            (
                "hyperfine",
                "{\"results\": [{\"times\": [1]}]}",
                "missing field `command`",
            ),
            (
                "hyperfine",
                "{\"results\": [{\"command\": \"a\", \"times\": [nan]}]}",
                "line 1, column 42",
            ),
            (
                "hyperfine",
                "{\"results\": [{\"command\": \"a\", \"times\": [1e999]}]}",
                "line 1, column 4",
            ),
            ("hyperfine", "{\"a\": 1}", "missing field `results`"),
            (
                "hyperfine",
                "{\"results\": [], \"results\": []}",
                "duplicate field `results`",
            ),
            ("hyperfine", "[]", "an object with `results`"),
            (
                "hyperfine",
                "{\"results\": [{\"command\": \"a\", \"times\": [1]}, {\"command\": \"a\", \"times\": [1]}]}",
                "/results/1 holds `a` a second time",
            ),
            (
                "gbench",
                "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": \"fast\"}]}",
                "line 1, column 4",
            ),
            (
                "gbench",
                "{\"benchmarks\": [{\"name\": \"a\", \"cpu_time\": 1}]}",
                "missing field `real_time`",
            ),
            (
                "gbench",
                "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": 1, \"real_time\": 2}]}",
                "duplicate field `real_time`",
            ),
            (
                "gbench",
                "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": 1, \"c\": 1, \"c\": 2}]}",
                "the counter \"c\" stands there twice",
            ),
            (
                "gbench",
                "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"ns\"}, {\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"MB\"}]}",
                "/benchmarks/1 gives `a` in `MB`",
            ),
            (
                "gbench",
                "{\"benchmarks\": [{\"name\": \"a_mean\", \"run_type\": \"aggregate\", \"real_time\": 1}]}",
                "--benchmark_report_aggregates_only",
            ),
            (
                "pytest-benchmark",
                "{\"benchmarks\": [{\"fullname\": \"t.py::a\", \"stats\": {\"mean\": 1}}]}",
                "--benchmark-save-data",
            ),
            (
                "pytest-benchmark",
                "{\"benchmarks\": [{\"fullname\": \"a\", \"stats\": {\"data\": [1]}}, {\"fullname\": \"a\", \"stats\": {\"data\": [1]}}]}",
                "/benchmarks/1 holds `a` a second time",
            ),
            (
                "jmh",
                "[{\"benchmark\": \"a\", \"mode\": \"avgt\"}]",
                "missing field `primaryMetric`",
            ),
            (
                "jmh",
                "[{\"benchmark\": \"a\", \"mode\": \"avgt\", \"params\": {\"n\": \"1\", \"n\": \"2\"}}]",
                "the member \"n\" stands there twice",
            ),
            ("gobench", "BenchmarkA 10 µ ns/op\n", "line 1, column 15"),
            ("gobench", "BenchmarkA 10 3 ns/op 4\n", "line 1, column 23"),
            (
                "gobench",
                "\nBenchmarkA 10 +Inf ns/op\n",
                "line 2, column 15 holds `+Inf`",
            ),
            ("gobench", "BenchmarkA 10 3 ns/op", "the line has no end"),
            (
                "catch2",
                "<Catch><TestCase name=\"a\">\n<BenchmarkResults name=\"b\"><mean value=\"x\"/></BenchmarkResults></TestCase></Catch>",
                "line 2, column 28",
            ),
            (
                "catch2",
                "<Catch><TestCase/><mean value=\"1\"></Catch>",
                "</mean>",
            ),
            (
                "catch2",
                "<Catch><BenchmarkResults name=\"a\"><mean/></BenchmarkResults></Catch>",
                "the attribute value is missing",
            ),
            (
                "catch2",
                "<Catch><BenchmarkResults name=\"a\"><mean value=\"nan\"/></BenchmarkResults></Catch>",
                "holds `nan`",
            ),
            (
                "catch2",
                "<Catch></Catch>\n<Catch></Catch>",
                "line 2, column 1",
            ),
            ("catch2", "<Catch></Catch>", "BenchmarkResults"),
            (
                "chromium",
                "[{\"name\": \"a\"}]",
                "/0: it is neither a histogram",
            ),
            (
                "chromium",
                "[{\"name\": \"a\", \"unit\": \"ms\", \"sampleValues\": [1], \"diagnostics\": {\"stories\": \"x\"}}]",
                "the diagnostic x",
            ),
            (
                "chromium",
                "[{\"name\": \"a\", \"unit\": \"ms\", \"sampleValues\": [1]}, {\"name\": \"a\", \"unit\": \"MB\", \"sampleValues\": [1]}]",
                "/1 gives `a` in `MB`",
            ),
            (
                "chromium",
                "{\"charts\": {\"a\": {\"b\": 1}}}",
                "line 1, column 2",
            ),
            (
                "chromium",
                "{\"charts\": {\"a\": {}, \"a\": {}}}",
                "the member \"a\" stands there twice",
            ),
            (
                "chromium",
                "{\"charts\": {\"a\": {\"b\": {\"type\": \"scalar\", \"value\": 1}}, \"a/b\": {\"summary\": {\"type\": \"scalar\", \"value\": 1}}}}",
                "/charts/a~1b/summary holds `a/b` a second time",
            ),
            (
                "chromium-by-name",
                "[{\"name\": \"a\", \"unit\": \"ms\", \"sampleValues\": [1]}, {\"name\": \"a\", \"unit\": \"MB\", \"sampleValues\": [1]}]",
                "/1 gives `a` in `MB`",
            ),
            ("chromium-by-name", "{\"charts\": {}}", "line 1, column 0"),
            (
                "talos",
                "x\nINFO PERFHERDER_DATA: {\"suites\": [{\"name\": 1}]}",
                "line 2, column 44",
            ),
            (
                "talos",
                "PERFHERDER_DATA: {\"suites\": []} and more",
                "line 1, column 33",
            ),
            ("talos", "PERFHERDER_DATA: {\"suites\": []}", "a suite"),
            (
                "talos",
                "TALOSDATA: [{\"testrun\": {\"suite\": \"a\"}, \"results\": {\"p\": [1, \"2\"]}}]",
                "line 1, column 6",
            ),
        ] {
            let message = fault(format, output).to_string();
            assert!(message.contains(wanted), "{format}: {output}\n{message}");
        }
    }

    #[test]
    fn a_bad_sample_of_criterions_is_found() {
        let files = |sample: &str| {
            BTreeMap::from([
                (
                    "a/new/benchmark.json".to_owned(),
                    b"{\"full_id\": \"a\"}".to_vec(),
                ),
                ("a/new/sample.json".to_owned(), sample.as_bytes().to_vec()),
            ])
        };
        for (sample, wanted) in [
            (r#"{"iters": [1, 2], "times": [5]}"#, "a/new/sample.json: "),
            (
                r#"{"iters": [1, 0], "times": [5, 6]}"#,
                "/times/1 holds 6 ns for 0 iterations",
            ),
            (r#"{"iters": [1], "times": [null]}"#, "line 1, column 2"),
            (r#"{"iters": []}"#, "missing field `times`"),
            (r#"{"iters": [], "times": []}"#, "a benchmark"),
        ] {
            let error = Format::Criterion
                .read(&files(sample))
                .expect_err("it is bad");
            assert!(error.to_string().contains(wanted), "{sample}: {error}");
        }
        let mut twice = files(r#"{"iters": [1], "times": [5]}"#);
        for (path, content) in twice.clone() {
            twice.insert(format!("b/{path}"), content);
        }
        let error = Format::Criterion
            .read(&twice)
            .expect_err("the name is there twice");
        assert!(matches!(
            error,
            ReadError::DuplicateChart {
                place: Place::File(_),
                ..
            }
        ));
    }

    /// Lines in another encoding than the results are skipped.
    #[test]
    fn lines_in_latin_1_are_no_damage() {
        for (format, output) in [
            ("gobench", &b"caf\xe9\nBenchmarkA-2 100 12.5 ns/op\n"[..]),
            ("talos", b"caf\xe9\nPERFHERDER_DATA: {\"suites\": [{\"name\": \"s\", \"value\": 12.5, \"subtests\": []}]}\n"),
        ] {
            let recognised = Format::recognise(output).expect("it is recognised");
            assert_eq!(recognised.to_string(), format);
            let charts = recognised.read(output).expect("it is sound");
            assert_eq!(charts.values().next().map(|series| series.values[0]), Some(12.5));
        }
    }

    /// A chart is whole or not there; the others are not touched by it.
    #[test]
    fn what_failed_is_left_out() {
        for (format, output) in [
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": [1, null]}, {"command": "b", "times": [2]}]}"#,
            ),
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": [1, 2], "exit_codes": [0, 139]}, {"command": "b", "times": [2], "exit_codes": [0]}]}"#,
            ),
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": [1], "exit_codes": [null]}, {"command": "b", "times": [2], "exit_codes": []}]}"#,
            ),
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": [1, NaN]}, {"command": "b", "times": [2], "mean": Infinity}]}"#,
            ),
            (
                "gbench",
                r#"{"benchmarks": [{"name": "a", "real_time": NaN}, {"name": "b", "real_time": 2}]}"#,
            ),
            (
                "gobench",
                "pkg: a\nBenchmarkX-2 1 3 ns/op\nFAIL\nFAIL\ta\t0.1s\npkg: b\nBenchmarkX-2 1 3 ns/op\nPASS\nFAIL\tother [build failed]\n",
            ),
            (
                "catch2",
                r#"<Catch><TestCase name="a"><BenchmarkResults name="c"><mean value="1"/></BenchmarkResults><OverallResult success="false"/></TestCase><TestCase name="b"><BenchmarkResults name="c"><mean value="2"/></BenchmarkResults><OverallResult success="true"/></TestCase></Catch>"#,
            ),
            (
                "gbench",
                r#"{"benchmarks": [{"name": "a", "real_time": 1}, {"name": "a", "real_time": 0, "error_occurred": true}, {"name": "b", "real_time": 2, "time_unit": "ns", "cpu_time": null}]}"#,
            ),
            (
                "gbench",
                r#"{"benchmarks": [{"name": "a", "real_time": 0, "skipped": true}, {"name": "b", "real_time": 2}]}"#,
            ),
            (
                "pytest-benchmark",
                r#"{"benchmarks": [{"fullname": "a", "stats": {"data": [null]}}, {"fullname": "b", "stats": {"data": [2]}}]}"#,
            ),
            (
                "jmh",
                r#"[{"benchmark": "a", "mode": "ss", "primaryMetric": {"score": "NaN", "scoreUnit": "s/op", "rawData": [["NaN"]]}},
                        {"benchmark": "b", "mode": "ss", "primaryMetric": {"score": 2, "scoreUnit": "s/op"}}]"#,
            ),
            (
                "catch2",
                r#"<Catch><BenchmarkResults name="a"><failed message="m"/></BenchmarkResults><BenchmarkResults name="a"><mean value="1"/></BenchmarkResults><BenchmarkResults name="b"><mean value="2"/></BenchmarkResults></Catch>"#,
            ),
            (
                "chromium",
                r#"[{"name": "a", "unit": "ms", "sampleValues": [1], "numNans": 1}, {"name": "b", "unit": "ms", "sampleValues": [2]}]"#,
            ),
            (
                "chromium",
                r#"{"charts": {"a": {"summary": {"type": "scalar", "value": null}}, "b": {"summary": {"type": "scalar", "value": 2}}}}"#,
            ),
            (
                "chromium-by-name",
                r#"[{"name": "a", "unit": "ms", "sampleValues": [1]}, {"name": "a", "unit": "ms", "numNans": 1}, {"name": "b", "unit": "ms", "sampleValues": [2]}]"#,
            ),
            (
                "talos",
                r#"PERFHERDER_DATA: {"suites": [{"name": "a", "value": null, "subtests": []}, {"name": "b", "value": 2, "subtests": []}]}"#,
            ),
            (
                "talos",
                r#"TALOSDATA: [{"testrun": {"suite": "a"}, "results": {}, "summary": {"suite": null}}, {"testrun": {"suite": "b"}, "results": {}, "summary": {"suite": 2}}]"#,
            ),
        ] {
            let charts = read(format, output).unwrap_or_else(|error| panic!("{format}: {error}"));
            let names: Vec<&str> = charts.keys().map(|name| &name[..1]).collect();
            assert_eq!(names, ["b"], "{format}: {output}");
        }
        for (format, output, wanted) in [
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": [1, 2], "exit_codes": [0, 139]}]}"#,
                "`a`, which failed: its command exited with 139; json:/results/0/times takes",
            ),
            (
                "gbench",
                r#"{"benchmarks": [{"name": "a", "real_time": 0, "error_occurred": true, "error_message": "no data"}]}"#,
                "`a`, which failed: Google Benchmark says `no data`",
            ),
            (
                "gobench",
                "BenchmarkX-2 1 3 ns/op\n--- FAIL: BenchmarkY\nFAIL\n",
                "`BenchmarkX-2`, which failed: go test says `FAIL`, `BenchmarkY`, which failed",
            ),
            (
                "catch2",
                r#"<Catch><BenchmarkResults name="a"><failed message="no data"/></BenchmarkResults></Catch>"#,
                "`a`, which failed: Catch2 says `no data`",
            ),
        ] {
            let message = fault(format, output).to_string();
            assert!(message.contains(wanted), "{message}");
        }
        let error = fault(
            "hyperfine",
            r#"{"results": [{"command": "a", "times": [null]}]}"#,
        );
        assert!(
            error.to_string().contains("there is `a`, which failed"),
            "{error}"
        );
    }

    #[test]
    fn nothing_measured_is_no_value() {
        for (format, output) in [
            ("hyperfine", r#"{"results": []}"#),
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": []}]}"#,
            ),
            ("gbench", r#"{"context": {}, "benchmarks": []}"#),
            ("gobench", "goos: linux\nPASS\n"),
            ("pytest-benchmark", r#"{"benchmarks": []}"#),
            ("jmh", "[]"),
            ("chromium", "[]"),
            ("chromium", r#"[{"name": "a", "unit": "count"}]"#),
            ("chromium", r#"{"charts": {}}"#),
            ("chromium-by-name", "[]"),
            ("talos", "all is well"),
        ] {
            let error = fault(format, output);
            assert!(
                matches!(error, ReadError::NoValue { .. }),
                "{format} {output}: {error}"
            );
        }
        let none = BTreeMap::new();
        assert!(matches!(
            Format::Criterion.read(&none),
            Err(ReadError::NoValue { .. })
        ));
    }

    #[test]
    fn nesting_without_end_is_an_error() {
        let deep = "[".repeat(1_000_000);
        for (format, output) in [
            ("hyperfine", format!("{{\"results\": {deep}")),
            (
                "gbench",
                format!("{{\"benchmarks\": [{{\"name\": \"a\", \"counter\": {deep}"),
            ),
            ("pytest-benchmark", format!("{{\"benchmarks\": {deep}")),
            ("jmh", format!("[{{\"params\": {{\"n\": {deep}")),
            ("chromium", deep.clone()),
            ("chromium", format!("[{{\"values\": {deep}")),
            ("chromium", format!("{{\"charts\": {{\"a\": {deep}")),
            ("talos", format!("PERFHERDER_DATA: {{\"suites\": {deep}")),
            ("catch2", "<Catch>".repeat(1_000_000)),
        ] {
            fault(format, &output);
            let _ = Format::Auto.read(output.as_bytes());
        }
    }

    /// A value that is not in its place measures nothing.
    #[test]
    fn only_the_mean_of_a_benchmark_counts() {
        let output = r#"<Catch><mean value="1"/><failed/><BenchmarkResults name="a"><mean value="2"/><x><mean value="3"/></x></BenchmarkResults></Catch>"#;
        let charts = read("catch2", output).expect("it is sound");
        check(&charts, &[("a", 1, 2.0, Some("ns"), Down)]);
    }

    /// Python and Google Benchmark write it; where it is not a value, it does not matter.
    #[test]
    fn nan_in_json_is_a_value_that_failed() {
        let output = r#"{"context": {"load": NaN}, "benchmarks": [
            {"name": "A", "run_type": "iteration", "real_time": 1.5, "time_unit": "ns", "c": 0.0, "d": -Infinity},
            {"name": "A_cv", "run_type": "aggregate", "real_time": 0.1, "time_unit": "ns", "c": NaN}]}"#;
        let reading = Format::Auto
            .read_with_failures(output.as_bytes())
            .expect("it is sound");
        check(
            &reading.charts,
            &[
                ("A", 1, 1.5, Some("ns"), Down),
                ("A c", 1, 0.0, None, Unknown),
            ],
        );
        assert_eq!(reading.failed["A d"], "its value is not a number");
        let error = fault("json:/a/b", r#"{"a": {"b": NaN}}"#);
        assert!(
            error
                .to_string()
                .contains("/a/b holds null or NaN, not a number"),
            "{error}"
        );
        let charts = read("json:/a", r#"{"a": 1, "b": NaN}"#).expect("it is sound");
        assert_eq!(charts["a"].values, [1.0]);
    }

    #[test]
    fn commands_of_one_name_are_told_apart_by_their_parameters() {
        let output = r#"{"results": [
            {"command": "nap", "times": [1], "parameters": {"n": "1"}},
            {"command": "nap", "times": [2], "parameters": {"n": "2"}},
            {"command": "seq 3", "times": [3], "parameters": {"n": "3"}}]}"#;
        let charts = read("hyperfine", output).expect("it is sound");
        let names: Vec<&str> = charts.keys().map(String::as_str).collect();
        assert_eq!(names, ["nap [n=1]", "nap [n=2]", "seq 3"]);
    }

    #[test]
    fn names_of_other_programs_in_gos_format_may_be_in_lower_case() {
        let output = "goos: linux\nBenchmarkuber_zap_total 1 10149055 total-bytes\nBenchmarking 5 runs\nBenchmarked 5 3 ns\n";
        let charts = read("auto", output).expect("it is recognised");
        check(
            &charts,
            &[(
                "Benchmarkuber_zap_total total-bytes",
                1,
                10149055.0,
                Some("total-bytes"),
                Unknown,
            )],
        );
    }

    /// What a benchmark prints stands between its name and its result.
    #[test]
    fn a_benchmark_of_go_that_prints_has_its_result_on_a_later_line() {
        let output = "BenchmarkA-8   \tloading 5 files\nloaded\n    1000\t   100 ns/op\nBenchmarkB-8   \t  10\t 7 ns/op\n 20 8 ns/op\n";
        let charts = read("auto", output).expect("the format is Go's");
        check(
            &charts,
            &[
                ("BenchmarkA-8", 1, 100.0, Some("ns/op"), Down),
                ("BenchmarkB-8", 1, 7.0, Some("ns/op"), Down),
            ],
        );
    }

    #[test]
    fn one_name_of_two_packages_is_two_charts() {
        let output = "pkg: a\nBenchmarkX 1 3 ns/op\npkg: b\nBenchmarkX 1 4 ns/op\nUnit q better=higher\nBenchmarkX 1 5 q\n";
        let charts = read("gobench", output).expect("it is sound");
        check(
            &charts,
            &[
                ("a.BenchmarkX", 1, 3.0, Some("ns/op"), Down),
                ("b.BenchmarkX", 1, 4.0, Some("ns/op"), Down),
                ("b.BenchmarkX q", 1, 5.0, Some("q"), Up),
            ],
        );
    }

    fn sound(charts: &BTreeMap<String, Series>) -> bool {
        !charts.is_empty()
            && charts.values().all(|series| {
                !series.values.is_empty() && series.values.iter().all(|value| value.is_finite())
            })
    }

    /// Something to put in the place of something else.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let words = vec![
            "",
            "null",
            "NaN",
            "\"NaN\"",
            "1e999",
            "-1",
            "0",
            "1.5",
            "{}",
            "[]",
            "\"\"",
            "true",
            "{",
            "}",
            "[",
            "]",
            "\"",
            ",",
            ":",
            "\n",
            " ",
            "<",
            ">",
            "/>",
            "</mean>",
            "&",
            "&#0;",
            "µ",
            "\u{2028}",
            "ns/op",
            "ms",
            "│",
            "1,234",
            "Benchmark",
            "PERFHERDER_DATA: ",
            "TALOSDATA: ",
            "\"name\":",
        ];
        prop_oneof![
            4 => proptest::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
            1 => proptest::collection::vec(any::<u8>(), 0..4),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Whatever is done to an output: no panic, and no invalid amount.
        #[test]
        fn bent_outputs_give_errors_or_amounts(
            which in 0..FILES.len(),
            reader in 0..FILES.len(),
            own in proptest::bool::weighted(0.9),
            bends in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..8, piece()), 1..4),
        ) {
            let (name, own_format) = FILES[which];
            let format = format(if own { own_format } else { FILES[reader].1 });
            let mut output = file(name).into_bytes();
            for (at, length, piece) in bends {
                let at = at.index(output.len().max(1)).min(output.len());
                let end = (at + length).min(output.len());
                output.splice(at..end, piece);
            }
            match format.read(&output) {
                Ok(charts) => prop_assert!(sound(&charts)),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
            let _ = Format::Auto.read(&output);
            for format in [None, Some(&format)] {
                prop_assert!(unread_values(&output, format).len() <= 5);
            }
        }

        #[test]
        fn bent_folders_give_errors_or_amounts(
            which in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            length in 0_usize..8,
            piece in piece(),
        ) {
            let mut files = criterion();
            let count = files.len();
            let (_, content) = files.iter_mut().nth(which.index(count)).expect("it is there");
            let at = at.index(content.len());
            let end = (at + length).min(content.len());
            content.splice(at..end, piece);
            match Format::Criterion.read(&files) {
                Ok(charts) => prop_assert!(sound(&charts)),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        /// Values come through to the bit, however many and in whatever order.
        #[test]
        fn every_finite_time_is_read_to_the_bit(
            values in proptest::collection::vec(proptest::num::f64::ANY, 1..9)
        ) {
            let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
            prop_assume!(!values.is_empty());
            let array = serde_json::to_string(&values).expect("they are finite");
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            for (format, output) in [
                ("hyperfine", format!(r#"{{"results": [{{"command": "a", "times": {array}}}]}}"#)),
                ("pytest-benchmark", format!(r#"{{"benchmarks": [{{"fullname": "a", "stats": {{"data": {array}}}}}]}}"#)),
                ("chromium", format!(r#"[{{"name": "a", "unit": "ms", "sampleValues": {array}}}]"#)),
                ("gobench", values.iter().map(|value| format!("BenchmarkA 1 {value:e} ns/op\n")).collect()),
            ] {
                let charts = read(format, &output).expect("it is sound");
                let series = charts.values().next().expect("there is one");
                prop_assert_eq!(bits(&series.values), bits(&values), "{}", format);
            }
        }
    }
}
