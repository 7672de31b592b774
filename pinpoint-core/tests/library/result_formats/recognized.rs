//! The recognized format of an output, and its lines that are listed as not read.

use super::*;

#[test]
fn each_is_taken_for_itself_and_read_alike() {
    for (name, expected) in FILES {
        let output = file(name);
        let found = Format::recognize(output.as_bytes()).expect("it is recognized");
        assert_eq!(found, format(expected), "{name}");
        let read_so = read(expected, &output).expect("it is sound");
        assert_eq!(
            read("auto", &output).expect("it is sound"),
            read_so,
            "{name}"
        );
    }
    assert_eq!(
        Format::recognize(&criterion()).expect("it is recognized"),
        Format::Criterion
    );
}

/// The lines that a tool writes about itself are no reason to doubt its measurement.
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
            let found = Format::recognize(output.as_bytes()).expect("it is recognized");
            assert_eq!(found, format(expected), "{name}");
            let reading = found.read_with_failures(output.as_bytes());
            assert_eq!(reading.expect("it is sound"), plain, "{name}");
        }
    }
}

/// Lines of a log or another tool between the results, and damaged results.
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
            "nanobench",
            "| ns/op | benchmark\n|---:|:---\n| 5.00 | `a`\n| 1,2N | `b`\n".into(),
            4,
        ),
        (
            "nanobench",
            "| ns/op | benchmark\n|---:|:---\n| 5.00 | `a`\n| 6.00 | `b` 12.5 ms\n".into(),
            4,
        ),
        (
            "perf-stat",
            " Performance counter stats for 'a':\n\n 1.5 msec task-clock\n 1.2N msec cpu-clock\n".into(),
            4,
        ),
    ] {
        let found = Format::recognize(output.as_bytes()).expect("it is recognized");
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

/// A cut-off output must not count as empty, since then the wall-clock time would be taken instead.
#[test]
fn a_beginning_is_enough() {
    for (name, expected) in FILES {
        let output = file(name);
        let half = &output[..output.floor_char_boundary(output.len() * 9 / 10)];
        let found = Format::recognize(half.as_bytes()).expect("it is recognized");
        assert_eq!(found, format(expected), "{name}");
    }
}

#[test]
fn what_only_looks_alike_is_not_recognized() {
    for output in [
        r#"{"results": [1, 2]}"#,
        r#"{"results": [{"command": "ls", "status": 0}]}"#,
        r#"{"benchmarks": [{"name": "a", "value": 1}]}"#,
        r#"{"charts": {"a": 1}}"#,
        r#"[{"name": "a", "value": 3}]"#,
        r#"{"a": {"b": {"value": 3, "unit": "ms"}}}"#,
        r#"{"a": {"value": 3}}"#,
        r#"{"Action": "output", "Output": "5 ms"}"#,
        "Benchmark Mode Cnt",
        "  Instructions: 5|6 (No change)",
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
        "| ns/op | name |\n|------:|:-----|\n| 5 | `a` |",
        "| ns/op | benchmark\n| 5.00 | `a`",
        "the line PERFHERDER_DATA: is missing",
        "",
        "{",
        "[",
    ] {
        assert!(
            matches!(
                Format::recognize(output.as_bytes()),
                Err(ReadError::NothingRecognized)
            ),
            "{output}"
        );
    }
    // A log whose lines begin with a bracket is not a JSON document.
    let log = b"[info] starting\nlatency: 5 ms\n";
    assert_eq!(Format::recognize(log).expect("a line is"), Format::Lines);
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
        Format::recognize(&BTreeMap::from([("a/base/sample.json".into(), vec![])])),
        Err(ReadError::NothingRecognized)
    ));
}
