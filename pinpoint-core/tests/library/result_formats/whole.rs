//! The whole output of each tool.

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
        "nanobench-4.1.txt",
        &[
            (
                "Sums/a|`b`",
                1,
                1e9 / 1_441_129_845.80,
                Some("ns/number"),
                Down,
            ),
            (
                "Sums/sum 100",
                1,
                1e9 / 1_302_430_817.43,
                Some("ns/number"),
                Down,
            ),
            (
                "growing [complexityN=1,000]",
                1,
                1e9 / 1_397_391.54,
                Some("ns/op"),
                Down,
            ),
            (
                "growing [complexityN=10]",
                1,
                1e9 / 130_859_434.80,
                Some("ns/op"),
                Down,
            ),
            ("nap", 1, 5_120_070.0, Some("ns/op"), Down),
            ("rising", 1, 1e9 / 1_299_738.49, Some("ns/op"), Down),
            ("sum 1000", 1, 1e9 / 1_456_664.24, Some("ns/op"), Down),
            ("x += x", 1, 1e9 / 1_450_222_057.74, Some("ns/op"), Down),
        ],
    );
    expect(
        "nanobench-4.6.txt",
        &[
            (
                "Sums/a|`b`",
                1,
                1e9 / 1_519_576_375.68,
                Some("ns/number"),
                Down,
            ),
            (
                "Sums/sum 100",
                1,
                1e9 / 1_451_019_146.09,
                Some("ns/number"),
                Down,
            ),
            ("down", 1, 1e9 / 7_471_751.18, Some("ns/op"), Down),
            (
                "growing [complexityN=1,000]",
                1,
                1e9 / 1_520_034.21,
                Some("ns/op"),
                Down,
            ),
            (
                "growing [complexityN=10]",
                1,
                1e9 / 152_670_340.67,
                Some("ns/op"),
                Down,
            ),
            ("nap", 1, 5_115_751.0, Some("ns/op"), Down),
            ("one", 1, 1e9 / 14_221_663.18, Some("ns/op"), Down),
            ("rising", 1, 1e9 / 252_367.16, Some("ns/op"), Down),
            (
                "sum 10 [threads=2]",
                1,
                1e9 / 158_557_847.86,
                Some("ns/op"),
                Down,
            ),
            ("sum 1000", 1, 1e9 / 1_516_453.48, Some("ns/op"), Down),
            ("three", 1, 1e9 / 5_047_691.55, Some("ns/op"), Down),
            ("two", 1, 1e9 / 7_536_028.49, Some("ns/op"), Down),
            ("up", 1, 1e9 / 15_260_731.47, Some("ns/op"), Down),
            ("x += x", 1, 1e9 / 1_533_533_000.90, Some("ns/op"), Down),
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

/// Each tool reports failures in its own way.
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
            "nanobench-4.6.txt",
            vec![(
                "broken",
                "nanobench says `iterations overflow. Maybe your code got optimized away?`",
            )],
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
    // The earlier run is there, but not read.
    assert!(files.keys().any(|path| path.contains("/base/")));
    assert_eq!(Format::Auto.read(&files).expect("it is sound"), charts);
}
