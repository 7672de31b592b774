//! The formats, as the author of a benchmark would check them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Format, FormatError, OutputPosition, ReadError, unread_values};
use crate::Series;

fn format(text: &str) -> Format {
    text.parse().unwrap()
}

/// Each chart with its values and unit.
fn read(format_text: &str, output: &str) -> Vec<(String, Vec<f64>, Option<String>)> {
    format(format_text)
        .read(output.as_bytes())
        .unwrap()
        .into_iter()
        .map(|(name, series)| (name, series.values, series.unit))
        .collect()
}

fn chart(name: &str, values: &[f64], unit: Option<&str>) -> (String, Vec<f64>, Option<String>) {
    (name.into(), values.into(), unit.map(str::to_owned))
}

fn error(format_text: &str, output: impl AsRef<[u8]>) -> ReadError {
    format(format_text).read(output.as_ref()).unwrap_err()
}

fn text_place(line: usize, column: usize) -> OutputPosition {
    OutputPosition::Text { line, column }
}

mod names {
    use super::*;

    #[test]
    fn a_format_is_written_as_it_was_read() {
        for text in [
            "auto",
            "time",
            "lines",
            "json:",
            "json:/results/0/mean",
            "json:/a~1b/~0c//d",
            r"regex:took: (?<value>\d+) (?P<unit>\w+)",
        ] {
            assert_eq!(format(text).to_string(), text);
            let json = serde_json::to_string(&format(text)).unwrap();
            assert_eq!(serde_json::from_str::<Format>(&json).unwrap(), format(text));
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        for text in ["", "Lines", "json", "regex", "auto:", "lines:x", "xml:/a"] {
            let error = text.parse::<Format>().unwrap_err();
            assert_eq!(error, FormatError::Unknown(text.into()));
            assert!(error.to_string().contains("regex:PATTERN"));
            for (_, name) in crate::results::format::NAMES {
                assert!(error.to_string().contains(name), "{name}");
            }
        }
    }

    #[test]
    fn a_bad_pattern_is_shown_its_place() {
        let position = |text: &str| match text.parse::<Format>().unwrap_err() {
            FormatError::Pattern { position, .. } | FormatError::Pointer { position, .. } => {
                position
            }
            other => panic!("{other}"),
        };
        assert_eq!(position("regex:µs (?<value>"), 4);
        assert_eq!(position("regex:a**(?<value>[z-a])"), 14);
        assert_eq!(position("json:a/b"), 1);
        assert_eq!(position("json:/a~2"), 3);
        assert_eq!(position("json:/a~"), 3);
    }

    #[test]
    fn a_pattern_that_cannot_give_a_value_is_refused() {
        let error = "regex:(?<time>.*)".parse::<Format>().unwrap_err();
        assert!(error.to_string().contains("(?<value>[0-9.]+)"));
        let error = "regex:(?<value>(\\w{1000}){1000})".parse::<Format>();
        assert!(matches!(error, Err(FormatError::PatternTooLarge { .. })));
    }
}

mod time {
    use super::*;

    #[test]
    fn reads_nothing_from_anything() {
        assert!(
            format("time")
                .read(b"\xff latency: nan")
                .unwrap()
                .is_empty()
        );
    }
}

mod lines {
    use super::*;

    #[test]
    fn names_values_and_units_among_prose() {
        let output = "Warming up: please wait\n\
            latency: 12.5 ms\r\n\
            \tstd::sort: 3e2 ns  \n\
            at 12:30:45 see http://localhost:80\n\
            version: 1.2.3\n\
            count: 7\n\
            three words: 1 too many\n\
            two: 1 2\n\
            : 5\n\
            latency: -0.25 ms";
        assert_eq!(
            read("lines", output),
            [
                chart("count", &[7.0], None),
                chart("latency", &[12.5, -0.25], Some("ms")),
                chart("std::sort", &[300.0], Some("ns")),
            ]
        );
        assert_eq!(read("auto", output), read("lines", output));
    }

    #[test]
    fn a_value_that_is_no_amount_is_an_error_with_its_place() {
        for value in ["nan", "-NaN", "inf", "-Infinity", "1e999", "-1e999"] {
            for format in ["lines", "auto"] {
                match error(format, format!("hello\nµ b:  {value} ms\n")) {
                    ReadError::NotFinite { place, found } => {
                        assert_eq!(place, text_place(2, 7));
                        assert_eq!(found, format!("`{value}`"));
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }

    #[test]
    fn two_units_for_the_only_name_are_an_error() {
        let message = error("lines", "a: 1 ms\nA\na: 3 MB").to_string();
        assert!(
            message.starts_with("line 3, column 4 gives `a` in `MB`"),
            "{message}"
        );
        assert!(matches!(
            error("lines", "a: 1\na: 1 s"),
            ReadError::UnitChanged { .. }
        ));
    }

    #[test]
    fn no_line_is_no_value() {
        assert!(matches!(
            error("lines", "all: good"),
            ReadError::NoValue { .. }
        ));
        assert!(matches!(
            error("auto", "all: good"),
            ReadError::NothingRecognized
        ));
        assert!(matches!(error("auto", ""), ReadError::NothingRecognized));
        assert!(matches!(
            error("auto", b"\xff\xfe"),
            ReadError::NothingRecognized
        ));
    }

    #[test]
    fn the_last_member_of_a_json_document_is_not_taken_for_the_result() {
        assert!(matches!(
            error("auto", "{\n  \"mean\": 1.5,\n  \"max\": 2.5\n}"),
            ReadError::NothingRecognized
        ));
    }

    #[test]
    fn bytes_that_are_no_text_are_named_in_documents_and_skipped_in_lines() {
        let output = b"a: 1\n\xc3\xa9 \xff\n";
        match error("json:/a", output) {
            ReadError::NotUtf8(place) => assert_eq!(place, text_place(2, 3)),
            other => panic!("{other}"),
        }
        for text in ["lines", "auto", "regex:(?<name>a): (?<value>1)"] {
            let charts = format(text).read(output).unwrap();
            assert_eq!(charts["a"].values, [1.0], "{text}");
        }
        let charts = Format::Auto
            .read(b"caf\xe9 warming up\ntime: 12.5 \xb5s\n")
            .unwrap();
        assert_eq!(charts["time"].unit.as_deref(), Some("\u{b5}s"));
    }

    #[test]
    fn what_people_print_is_read() {
        for (output, value, unit) in [
            ("time: 12.5ms", 12.5, Some("ms")),
            ("time: \u{1b}[32m12.5 ms\u{1b}[0m", 12.5, Some("ms")),
            ("time: 12,5 ms", 12.5, Some("ms")),
            ("time: 100,0 ms", 100.0, Some("ms")),
            ("time: 10,052.10 ms", 10052.1, Some("ms")),
            ("time: 1,234,567 ns", 1_234_567.0, Some("ns")),
            ("time = 12.5 ms", 12.5, Some("ms")),
            ("time: 12.5 ms \u{b1} 0.2 ms", 12.5, Some("ms")),
            ("time: 12.5 \u{b1} 0.2 ms", 12.5, Some("ms")),
            ("time: 12.5 ms (+/- 0.2)", 12.5, Some("ms")),
            ("2026-11-26 10:00:00,123 INFO time: 5 ms", 5.0, Some("ms")),
            ("[12:00:01] [info] time: 5 ms", 5.0, Some("ms")),
            ("10 %\r100 %\rtime: 5 ms\r", 5.0, Some("ms")),
            ("time: 0:00:10.05", 10.05, Some("s")),
            ("time: 1.3x", 1.3, Some("x")),
            ("time: 99.5%", 99.5, Some("%")),
            ("time: 99.5 MB/s", 99.5, Some("MB/s")),
            ("time: 99.5req/s", 99.5, Some("req/s")),
            ("time: 5e3ops/sec", 5000.0, Some("ops/sec")),
            ("\u{feff}time: 5", 5.0, None),
        ] {
            assert_eq!(
                read("auto", output),
                [chart("time", &[value], unit)],
                "{output}"
            );
        }
        let utf_16: Vec<u8> = "\u{feff}time: 5 \u{b5}s\r\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let charts = Format::Auto.read(&utf_16).unwrap();
        assert_eq!(charts["time"].values, [5.0]);
    }

    #[test]
    fn tables_with_units_in_their_header_are_read() {
        for output in [
            "start\nname,n,time (ms)\nsort,5,12.5\nsort,5,13\n",
            "| name | n | time [ms] |\n|---|---|---|\n| sort | 5 | 12.5 |\n| sort | 5 | 13 |\n",
        ] {
            let expected = [chart("sort", &[12.5, 13.0], Some("ms"))];
            assert_eq!(read("auto", output), expected, "{output}");
            assert_eq!(unread_values(output.as_bytes(), Some(&Format::Auto)), []);
        }
        let output = "name,time (ms)\nsort,12.5\njoin,nan\n";
        let reading = Format::Auto.read_with_failures(output.as_bytes()).unwrap();
        assert_eq!(reading.charts.keys().collect::<Vec<_>>(), ["sort"]);
        assert_eq!(reading.failed["join"], "line 3, column 1 holds `nan`");
    }

    #[test]
    fn several_values_of_a_line_are_charts_of_their_own() {
        let output = "latency: p50=1.2ms p99=3.4ms\nlatency: p50=1300us p99=3.5ms\nn=5 a=2 b\n";
        let expected = [
            chart("latency p50", &[1.2, 1.3], Some("ms")),
            chart("latency p99", &[3.4, 3.5], Some("ms")),
        ];
        assert_eq!(read("auto", output), expected);
        assert_eq!(read("lines", output), expected);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not() {
        for output in [
            "time: 1,234 ms",
            "cpu: 2,3",
            "commit: 7b",
            "hash: 5d3a",
            "speedup: 3x",
            "iterations: 30",
            "test_a.py: 1000",
            "Timer precision: 20 ns",
        ] {
            let recognized = Format::Auto.read(output.as_bytes());
            assert!(
                matches!(recognized, Err(ReadError::NothingRecognized)),
                "{output}"
            );
        }
        // Next to clear values of its chart, it removes all of them.
        let output = "lat: 9,012.3 ms\nlat: 9,012 ms\ntime: 5 ms\nitems: 1,000\n";
        let reading = Format::Auto.read_with_failures(output.as_bytes()).unwrap();
        assert_eq!(reading.charts.keys().collect::<Vec<_>>(), ["time"]);
        assert_eq!(
            reading.failed["lat"],
            "line 2, column 6 gives it as `9,012`, which can be read in two ways"
        );
        assert!(!reading.failed.contains_key("items"));
        let message = error("lines", "lat: 9,012 ms").to_string();
        assert!(
            message.contains("`lat`, which failed: line 1, column 6"),
            "{message}"
        );
    }

    #[test]
    fn values_in_units_of_one_dimension_are_converted_to_the_first() {
        assert_eq!(
            read("lines", "a: 950 ms\na: 1.2 s\na: 5 us"),
            [chart("a", &[950.0, 1200.0, 0.005], Some("ms"))]
        );
    }
}

mod json {
    use super::*;

    const DOCUMENT: &str = r#"{
        "times": [1, 2.5, -3e-3],
        "nested": {"a/b": {"~": 4}, "list": [{"mean": 5}, {"mean": 6}]},
        "charts": {"wall": 1.5, "user": [2, 3]},
        "bad": {"null": null, "text": "fast", "deep": [[1]], "empty": [], "some": [1, null]},
        "huge": 18446744073709551615
    }"#;

    #[test]
    fn a_number_an_array_and_an_object() {
        assert_eq!(
            read("json:/times", DOCUMENT),
            [chart("times", &[1.0, 2.5, -0.003], None)]
        );
        assert_eq!(
            read("json:/nested/list/1/mean", DOCUMENT),
            [chart("mean", &[6.0], None)]
        );
        assert_eq!(
            read("json:/nested/a~1b/~0", DOCUMENT),
            [chart("~", &[4.0], None)]
        );
        assert_eq!(
            read("json:/charts", DOCUMENT),
            [
                chart("user", &[2.0, 3.0], None),
                chart("wall", &[1.5], None)
            ]
        );
        assert_eq!(
            read("json:/huge", DOCUMENT),
            [chart("huge", &[18446744073709551615.0], None)]
        );
        assert_eq!(read("json:", " 1.5\n"), [chart("value", &[1.5], None)]);
    }

    #[test]
    fn what_is_no_number_is_named_with_its_place() {
        for (pointer, at, what) in [
            ("/bad/null", "/bad/null", "null or NaN"),
            ("/bad/text", "/bad/text", "the text \"fast\""),
            ("/bad/deep", "/bad/deep/0", "an array"),
            ("/bad/some", "/bad/some/1", "null or NaN"),
            ("/nested", "/nested/a~1b", "an object"),
        ] {
            match error(&format!("json:{pointer}"), DOCUMENT) {
                ReadError::NotANumber { place, found } => {
                    assert_eq!(
                        (place, found.as_str()),
                        (OutputPosition::Json(at.into()), what)
                    );
                }
                other => panic!("{pointer}: {other}"),
            }
        }
    }

    #[test]
    fn what_is_missing_is_answered_with_what_there_is() {
        for (pointer, present) in [
            ("/charts/cpu", vec!["/charts/wall", "/charts/user"]),
            ("/times/3", vec!["/times/0", "/times/2"]),
            ("/times/-", vec!["/times/0", "/times/2"]),
            ("/times/00", vec!["/times/0", "/times/2"]),
            ("/times/+1", vec!["/times/0", "/times/2"]),
            ("/times/0/a", vec![]),
            ("/bad/text/a", vec![]),
            ("/bad/null/a", vec![]),
            ("/bad/empty/0", vec![]),
            ("/bad/empty", vec!["an empty array or object"]),
        ] {
            match error(&format!("json:{pointer}"), DOCUMENT) {
                ReadError::NoValue {
                    wanted,
                    present: found,
                } => {
                    assert_eq!(wanted, format!("json:{pointer}"));
                    assert_eq!(found, present, "{pointer}");
                }
                other => panic!("{pointer}: {other}"),
            }
        }
        assert!(matches!(error("json:", "{}"), ReadError::NoValue { .. }));
    }

    #[test]
    fn a_document_that_is_cut_off_gives_nothing() {
        let whole = DOCUMENT.trim_end();
        for end in 0..whole.len() {
            let found = error("json:/times", &whole[..end]);
            assert!(matches!(found, ReadError::Json { .. }), "{end}: {found}");
        }
    }

    #[test]
    fn a_fault_after_the_value_counts() {
        for (document, place) in [
            ("{\"a\": 1}\n2", text_place(2, 1)),
            ("{\"a\": 1,\n\"µ\": nan}", text_place(2, 7)),
            ("{\"a\": 1e999}", text_place(1, 11)),
        ] {
            match error("json:/a", document) {
                ReadError::Json { place: found, .. } => assert_eq!(found, place, "{document}"),
                other => panic!("{document}: {other}"),
            }
        }
    }

    #[test]
    fn a_member_that_stands_twice_has_no_value() {
        for (pointer, document, at) in [
            ("/a", r#"{"a": 1, "a": 2}"#, "/a"),
            ("/a/b", r#"{"a": {"b": 1}, "a": {}}"#, "/a"),
            ("", r#"{"a": 1, "a": 1}"#, "/a"),
        ] {
            match error(&format!("json:{pointer}"), document) {
                ReadError::Duplicate(place) => assert_eq!(place, OutputPosition::Json(at.into())),
                other => panic!("{document}: {other}"),
            }
        }
        // Elsewhere in the document it does not matter.
        assert_eq!(
            read("json:/a", r#"{"b": 1, "b": 2, "a": 3}"#),
            [chart("a", &[3.0], None)]
        );
    }

    #[test]
    fn nesting_without_end_is_an_error() {
        for pointer in ["", "/0", "/0/0/0"] {
            let found = error(&format!("json:{pointer}"), "[".repeat(1_000_000));
            assert!(matches!(found, ReadError::Json { .. }));
        }
    }
}

mod regex {
    use super::*;

    #[test]
    fn every_match_of_every_line() {
        let output = "sort took 1.5 ms, then 2 ms\nhash took 7 us\r\nnothing\n";
        assert_eq!(
            read(r"regex:(?<value>[\d.]+) (?<unit>ms)", output),
            [chart("value", &[1.5, 2.0], Some("ms"))]
        );
        assert_eq!(
            read(
                r"regex:(?<name>\w+) took (?<value>[\d.]+) (?<unit>\w+)",
                output
            ),
            [
                chart("hash", &[7.0], Some("us")),
                chart("sort", &[1.5], Some("ms")),
            ]
        );
    }

    #[test]
    fn a_match_without_a_number_is_an_error() {
        match error("regex:took (?<value>[0-9]+)?", "µs\nit took long") {
            ReadError::NotANumber { place, .. } => assert_eq!(place, text_place(2, 4)),
            other => panic!("{other}"),
        }
        match error(r"regex:took (?<value>\w+)", "it took long") {
            ReadError::NotANumber { place, found } => {
                assert_eq!(place, text_place(1, 9));
                assert_eq!(found, "`long` in group `value`");
            }
            other => panic!("{other}"),
        }
        let found = error(r"regex:took (?<value>\S+)", "took 1,234 ms");
        assert!(matches!(found, ReadError::Ambiguous { .. }));
        assert_eq!(
            read(r"regex:took (?<value>\S+)", "took 1,5 ms"),
            [chart("value", &[1.5], None)]
        );
        let found = error(r"regex:took (?<value>\w+)", "took inf");
        assert!(matches!(found, ReadError::NotFinite { .. }));
    }

    #[test]
    fn no_match_is_no_value() {
        let message = error("regex:took (?<value>.*)", "nothing").to_string();
        assert!(message.contains("regex:took"), "{message}");
    }
}

mod anything {
    use super::*;

    fn sound(charts: &BTreeMap<String, Series>) -> bool {
        charts.values().all(|series| {
            !series.values.is_empty() && series.values.iter().all(|value| value.is_finite())
        })
    }

    fn formats() -> impl Strategy<Value = Format> {
        prop_oneof![
            Just("auto".to_owned()),
            Just("time".to_owned()),
            Just("lines".to_owned()),
            Just("json:".to_owned()),
            Just("json:/a".to_owned()),
            Just("json:/0/a".to_owned()),
            Just(r"regex:(?<value>[-+.\w]+)".to_owned()),
            Just(r"regex:(?<name>.*?):?(?<value>\d*)(?<unit>.*)".to_owned()),
        ]
        .prop_map(|text| text.parse().unwrap())
    }

    /// Outputs composed of pieces, valid and damaged.
    fn outputs() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => proptest::sample::select(vec![
                "a", ": ", "1.5", "ms", "\n", "\r", "{", "}", "[", "]", "\"a\":", ",", "null",
                "1e999", "nan", "-inf", "0", "-", " ", "µ", "\"", "e", "\u{2028}",
                "\u{1b}[", "12:00:01 ", "[info] ", " = ", "1,234", "│", "±", "%", "NaN", "took ",
            ])
            .prop_map(|text| text.as_bytes().to_vec()),
            1 => any::<Vec<u8>>(),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn never_panics_and_gives_finite_values_only(format in formats(), output in outputs()) {
            match format.read(&output) {
                Ok(charts) => {
                    prop_assert!(sound(&charts));
                    prop_assert_eq!(charts.is_empty(), format == Format::Time);
                }
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }

        #[test]
        fn what_is_not_read_is_found_without_a_panic(output in outputs()) {
            for format in [None, Some(&Format::Lines), Some(&Format::Auto)] {
                let unread = unread_values(&output, format);
                prop_assert!(unread.len() <= 5);
                prop_assert!(unread.iter().all(|unread| !unread.hint.to_string().is_empty()));
            }
        }

        #[test]
        fn never_panics_on_a_format(text in "(json:|regex:)?\\PC{0,20}") {
            if let Ok(format) = text.parse::<Format>() {
                prop_assert_eq!(format.to_string(), text);
            }
        }

        #[test]
        fn every_finite_number_is_read_to_the_bit(
            values in proptest::collection::vec(proptest::num::f64::ANY, 1..9)
        ) {
            let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
            prop_assume!(!values.is_empty());
            let bits = |charts: BTreeMap<String, Series>| -> Vec<u64> {
                charts["a"].values.iter().map(|value| value.to_bits()).collect()
            };
            let expected: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();

            let lines: String = values.iter().map(|value| format!("a: {value:e} ms\n")).collect();
            prop_assert_eq!(bits(Format::Lines.read(lines.as_bytes()).unwrap()), expected.clone());

            let json = serde_json::json!({ "a": values }).to_string();
            prop_assert_eq!(bits(format("json:/a").read(json.as_bytes()).unwrap()), expected.clone());

            let pattern = format(r"regex:(?<name>a): (?<value>\S+)");
            prop_assert_eq!(bits(pattern.read(lines.as_bytes()).unwrap()), expected);
        }
    }
}
