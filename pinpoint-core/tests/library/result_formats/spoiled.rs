//! One bad value spoils one chart, and not the output.

use super::*;
use pinpoint_core::results::Reading;

fn reading(name: &str, output: impl AsRef<[u8]>) -> Reading {
    let reading = format(name).read_with_failures(output.as_ref());
    reading.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(reading: &Reading) -> Vec<&str> {
    reading.charts.keys().map(String::as_str).collect()
}

/// The lost chart is called `a`, or begins so, and `b` is left.
#[track_caller]
fn loses_a(name: &str, output: &str, reason: &str) {
    let reading = reading(name, output);
    assert!(
        names(&reading).iter().all(|chart| chart.starts_with('b')) && !reading.charts.is_empty(),
        "{name}: {reading:?}"
    );
    let lost = reading.failed.iter().next();
    let (chart, found) = lost.unwrap_or_else(|| panic!("{name}: {reading:?}"));
    assert!(chart.starts_with('a'), "{name}: {chart}");
    assert!(found.contains(reason), "{name}: {found}");
}

#[test]
fn a_name_that_stands_twice_loses_its_chart_only() {
    let jmh = |name: &str| {
        format!(
            r#"{{"benchmark": "{name}", "mode": "avgt", "threads": 1, "primaryMetric": {{"score": 1, "scoreUnit": "ns/op", "rawData": [[1]]}}}}"#
        )
    };
    let pytest = |name: &str| format!(r#"{{"fullname": "{name}", "stats": {{"data": [1]}}}}"#);
    let hyperfine = |name: &str| format!(r#"{{"command": "{name}", "times": [1]}}"#);
    for (format, output, place) in [
        (
            "jmh",
            format!("[{}, {}, {}]", jmh("a"), jmh("a"), jmh("b")),
            "/1 holds `a [avgt]`",
        ),
        (
            "pytest-benchmark",
            format!(
                r#"{{"benchmarks": [{}, {}, {}]}}"#,
                pytest("b"),
                pytest("a"),
                pytest("a")
            ),
            "/benchmarks/2 holds `a`",
        ),
        (
            "hyperfine",
            format!(
                r#"{{"results": [{}, {}, {}]}}"#,
                hyperfine("a"),
                hyperfine("b"),
                hyperfine("a")
            ),
            "/results/2 holds `a`",
        ),
        (
            "benchmark-js",
            ["a", "b", "a"]
                .map(|name| format!("{name} x 5 ops/sec ±1% (9 runs sampled)\n"))
                .concat(),
            "line 3, column",
        ),
        (
            "asv",
            ["a", "b", "a"]
                .map(|name| format!("[50.00%] ··· {name}.time_x     12.3±0.4ms\n"))
                .concat(),
            "line 3, column",
        ),
    ] {
        loses_a(format, &output, place);
    }
}

#[test]
fn a_unit_of_another_dimension_loses_its_chart_only() {
    loses_a(
        "lines",
        "a: 1 ms\nb: 2 ms\na: 3 MB\n",
        "line 3, column 4 gives `a` in `MB`",
    );
    loses_a(
        "gbench",
        r#"{"benchmarks": [{"name": "a", "real_time": 1, "time_unit": "ns"}, {"name": "a", "real_time": 1, "time_unit": "MB"}, {"name": "b", "real_time": 1, "time_unit": "ns"}]}"#,
        "/benchmarks/1 gives `a` in `MB`",
    );
}

#[test]
fn entries_that_differ_in_their_threads_are_told_apart() {
    let entry = |name: &str, threads: u32, score: u32| {
        format!(
            r#"{{"benchmark": "{name}", "mode": "thrpt", "threads": {threads}, "params": {{"n": "5"}}, "primaryMetric": {{"score": {score}, "scoreUnit": "ops/s"}}, "secondaryMetrics": {{"gc": {{"score": {score}, "scoreUnit": "B"}}}}}}"#
        )
    };
    let output = format!(
        "[{}, {}, {}]",
        entry("a", 1, 2),
        entry("a", 4, 7),
        entry("b", 4, 3)
    );
    assert_eq!(
        names(&reading("jmh", output)),
        [
            "a [thrpt, n=5, threads=1]",
            "a [thrpt, n=5, threads=1] gc",
            "a [thrpt, n=5, threads=4]",
            "a [thrpt, n=5, threads=4] gc",
            "b [thrpt, n=5]",
            "b [thrpt, n=5] gc",
        ]
    );
}

/// Criterion gives the second benchmark of a name a folder, and the same id.
#[test]
fn a_benchmark_that_criterion_numbered_has_a_chart_of_its_own() {
    let folder = |entries: &[(&str, &str, u32)]| -> BTreeMap<String, Vec<u8>> {
        let files = entries.iter().flat_map(|(folder, id, time)| {
            [
                (
                    format!("{folder}/new/benchmark.json"),
                    format!(r#"{{"full_id": "{id}"}}"#),
                ),
                (
                    format!("{folder}/new/sample.json"),
                    format!(r#"{{"iters": [1], "times": [{time}]}}"#),
                ),
            ]
        });
        files
            .map(|(path, content)| (path, content.into_bytes()))
            .collect()
    };
    let read = |files: &BTreeMap<String, Vec<u8>>| {
        Format::Criterion
            .read_with_failures(files)
            .expect("it is sound")
    };
    let values = |reading: &Reading| -> Vec<(String, f64)> {
        let charts = reading.charts.iter();
        charts
            .map(|(name, series)| (name.clone(), series.values[0]))
            .collect()
    };
    let numbered = folder(&[
        ("g/sum", "g/sum", 5),
        ("g/sum_2", "g/sum", 6),
        ("g/sum_3", "g/sum_3", 7),
    ]);
    let expected = [("g/sum", 5.0), ("g/sum_2", 6.0), ("g/sum_3", 7.0)];
    assert_eq!(
        values(&read(&numbered)),
        expected.map(|(name, value)| (name.to_owned(), value))
    );
    // A folder that was copied is not one that Criterion numbered.
    let copied = read(&folder(&[("a", "a", 5), ("old/a", "a", 6), ("b", "b", 7)]));
    assert_eq!(values(&copied), [("b".to_owned(), 7.0)]);
    assert!(
        copied.failed["a"].contains("old/a/new/benchmark.json"),
        "{copied:?}"
    );
}

const HYPERFINE: &str = "{\"results\": [\n{\"command\": \"a\", \"times\": [1, 2]},\n{\"command\": \"b\", \"times\": [3]}]}\n";

#[test]
fn a_byte_of_latin_1_in_a_document_is_read_and_remarked_on() {
    let output = b"{\"results\": [\n{\"command\": \"caf\xe9 \xc3\xa9\", \"times\": [1]}]}";
    for name in ["hyperfine", "auto"] {
        let reading = reading(name, output);
        assert_eq!(names(&reading), ["caf\u{e9} \u{e9}"]);
        assert_eq!(
            reading.remarks,
            ["line 2, column 17 is not UTF-8: it was read as Latin-1"]
        );
    }
    let xml =
        b"<Catch><BenchmarkResults name=\"caf\xe9\"><mean value=\"1\"/></BenchmarkResults></Catch>";
    assert_eq!(reading("catch2", xml).remarks.len(), 1);
    // A byte that is not UTF-8 is named before the broken JSON.
    let error = format("hyperfine")
        .read(b"{\"results\": \xe9}")
        .expect_err("it is bent");
    assert!(matches!(error, ReadError::NotUtf8(_)), "{error}");
}

#[test]
fn lines_of_a_log_around_a_document_are_remarked_on() {
    let second = HYPERFINE.find("{\"command\": \"b\"").expect("it is there");
    for (output, remark) in [
        (
            format!("connected in: 10 ms\n{HYPERFINE}"),
            "line 1 is not part of the JSON document and was left out: `connected in: 10 ms`",
        ),
        (
            format!("{HYPERFINE}[info] done\nbye\n"),
            "2 lines are not part",
        ),
        (
            format!(
                "{}WARNING: slow disk\n{}",
                &HYPERFINE[..second],
                &HYPERFINE[second..]
            ),
            "line 3 is not part",
        ),
    ] {
        for name in ["auto", "hyperfine"] {
            let reading = reading(name, &output);
            assert_eq!(names(&reading), ["a", "b"], "{name}: {output}");
            assert!(
                reading.remarks[0].starts_with(remark),
                "{:?}",
                reading.remarks
            );
        }
    }
    let named = reading("json:/a", "start\n{\"a\": 5}\n");
    assert_eq!(named.charts["a"].values, [5.0]);
}

#[test]
fn two_documents_and_parts_of_one_are_refused() {
    for output in [
        HYPERFINE.repeat(2),
        format!("start\n{}", &HYPERFINE[..HYPERFINE.len() - 3]),
        format!("{HYPERFINE}\"times\": [4]\n"),
        HYPERFINE.replacen("[1, 2]", "[1 x 2]", 1),
    ] {
        let error = fault("hyperfine", &output);
        assert!(matches!(error, ReadError::Json { .. }), "{error}");
    }
}
