//! Outputs that are cut off, bent, or hold something other than values.

use super::*;

/// A shorter document is not a document.
#[test]
fn a_document_cut_anywhere_gives_nothing() {
    for (name, format) in FILES {
        let output = file(name);
        let output = output.trim_end();
        // Of lines of JSON, fewer are read.
        if !output.starts_with(['{', '[', '<']) || name.ends_with(".jsonl") {
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

/// In text a line is the least that can be recognized as whole.
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

/// Cut anywhere, a table gives some of its values, and no others.
#[test]
fn a_table_cut_anywhere_gives_whole_values_only() {
    for (name, format) in FILES.iter().filter(|(name, _)| name.ends_with(".txt")) {
        // Parts of the time are added up, and nothing marks the last one.
        if *name == "perf-stat-I.txt" {
            continue;
        }
        let output = file(name);
        let whole = super::format(format).read_with_failures(output.as_bytes());
        let whole = whole.expect("it is sound");
        for end in (0..output.len()).filter(|end| output.is_char_boundary(*end)) {
            let Ok(part) = read(format, &output[..end]) else {
                continue;
            };
            for (chart, series) in part {
                let is_whole = match whole.charts.get(&chart) {
                    Some(all) => all.values.starts_with(&series.values) && all.unit == series.unit,
                    // Its failure at the end is cut off.
                    None => whole.failed.contains_key(&chart),
                };
                assert!(is_whole, "{name} cut at {end} gives {chart}: {series:?}");
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
            place: OutputPosition::File(_),
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
        let recognized = Format::recognize(output).expect("it is recognized");
        assert_eq!(recognized.to_string(), format);
        let charts = recognized.read(output).expect("it is sound");
        assert_eq!(charts.values().next().map(|series| series.values[0]), Some(12.5));
    }
}

/// A chart is whole or missing; the others are not affected.
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

fn sound(charts: &BTreeMap<String, Series>) -> bool {
    !charts.is_empty()
        && charts.values().all(|series| {
            !series.values.is_empty() && series.values.iter().all(|value| value.is_finite())
        })
}

/// A replacement for a piece of an output.
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

    /// No change of an output leads to a panic or an invalid amount.
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

    /// Values come through to the bit, in any number and order.
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
