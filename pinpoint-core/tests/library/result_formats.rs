//! Every format against what its tool really wrote; see `results/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pinpoint_core::results::{Format, Place, ReadError, is_criterion_result};
use pinpoint_core::{Aggregate, Direction, Series};
use proptest::prelude::*;

/// The files, each with its format.
const FILES: [(&str, &str); 12] = [
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
        assert_eq!(series.values[0], *first, "{name}");
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
                "{\"results\": [{\"command\": \"a\", \"times\": [NaN]}]}",
                "line 1, column 41",
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
                "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"ns\"}, {\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"us\"}]}",
                "/benchmarks/1 gives `a` in `us`",
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
                "[{\"name\": \"a\", \"unit\": \"ms\", \"sampleValues\": [1]}, {\"name\": \"a\", \"unit\": \"s\", \"sampleValues\": [1]}]",
                "/1 gives `a` in `s`",
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
                "[{\"name\": \"a\", \"unit\": \"ms\", \"sampleValues\": [1]}, {\"name\": \"a\", \"unit\": \"s\", \"sampleValues\": [1]}]",
                "/1 gives `a` in `s`",
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

    /// A chart is whole or not there; the others are not touched by it.
    #[test]
    fn what_failed_is_left_out() {
        for (format, output) in [
            (
                "hyperfine",
                r#"{"results": [{"command": "a", "times": [1, null]}, {"command": "b", "times": [2]}]}"#,
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
