//! The whole output of each tool.

use super::*;

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
            ("tp5o/XRes.max", 1, 13.0, None, Unknown),
            ("tp5o/XRes.mean", 1, 12.5, None, Unknown),
            ("tp5o/amazon.com", 4, 181.0, None, Unknown),
            ("tp5o/bing.com", 4, 170.0, None, Unknown),
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
            "jmh.txt",
            vec![
                (
                    "Sums.once [ss, kind=N/A, n=10] gc.count",
                    "JMH prints only its power of ten; choose a smaller unit of time",
                ),
                (
                    "Sums.tiny [avgt, kind=N/A, n=10]",
                    "JMH prints only its power of ten; choose a smaller unit of time",
                ),
                ("sample.Sums.broken", "JMH says `<failure>`"),
            ],
        ),
        (
            "go-test.jsonl",
            vec![
                (
                    "example.org/sums/other.BenchmarkBroken",
                    "go test says `FAIL`",
                ),
                (
                    "example.org/sums/other.BenchmarkNothing-2",
                    "go test says `FAIL`",
                ),
            ],
        ),
        (
            "github-action-benchmark.json",
            vec![("broken", "its value is not a number")],
        ),
        (
            "benchmark-dotnet-full.json",
            vec![(
                "Example.Sums.Broken(N: 10)",
                "BenchmarkDotNet has no statistics of it",
            )],
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
