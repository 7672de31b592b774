use std::collections::BTreeMap;

use pinpoint_core::{Aggregate, Direction, Series};

use super::*;
use crate::commit::CommitNumber;
use crate::points::{CommitName, Try};

fn read(text: &str) -> Result<ResultFile, ResultFileError> {
    read_results(
        Source::new("nano/2024/02/29/23/x86.json", 5),
        text.as_bytes(),
    )
}

/// The points as text, one after the other.
fn points(text: &str) -> Vec<(String, f64)> {
    let file = read(text).unwrap_or_else(|error| panic!("{error}"));
    let mut points: Vec<_> = (file.points.into_iter())
        .map(|it| (it.trace.to_string(), it.value))
        .collect();
    points.sort_by(|a, b| a.0.cmp(&b.0));
    points
}

#[test]
fn a_measurement_is_named_by_its_value() {
    let text = r#"{"version": 1, "git_hash": "cd5a", "key": {"arch": "x86"}, "results": [{"key":
        {"test": "t"}, "measurements": {"stat": [{"value": "min", "measurement": 1.2}]}}]}"#;
    assert_eq!(points(text), [(",arch=x86,stat=min,test=t,".into(), 1.2)]);
}

#[test]
fn everything_of_version_1_is_read() {
    let file = read(
        r#"{"version": 1, "git_hash": "CD5A", "issue": "327697", "patchset": 2,
        "key": {"arch": "x86", "unit": "ms", "branch": "main"}, "links": {"log": "https://l"},
        "results": [
         {"key": {"test": "a b", "unit": "µs"}, "measurement": -0.0},
         {"key": {"test": "c"}, "measurements": {
           "stat": [{"value": "min", "measurement": 1e32},
                    {"value": "max", "measurement": 3, "links": {"trace": "https://t"}}],
           "unit": [{"value": "", "measurement": 0.1}]}}]}"#,
    )
    .unwrap();
    assert_eq!(file.commit, CommitName::Hash("cd5a".into()));
    let tried = Try {
        issue: "327697".into(),
        patchset: "2".into(),
    };
    assert_eq!(file.tried, Some(tried));
    assert_eq!(file.source.time(), 1_709_247_600_000);
    assert_eq!(file.links["log"], "https://l");
    assert_eq!(file.branch(), Some("main"));
    assert!(file.is_of_branches(&["main"]) && file.is_of_branches::<&str>(&[]));
    assert!(!file.is_of_branches(&["dev"]));
    let ids: Vec<&str> = file.points.iter().map(|it| it.trace.as_str()).collect();
    assert_eq!(
        ids,
        [
            ",arch=x86,branch=main,test=a_b,unit=_s,",
            // The minimum is missing.
            ",arch=x86,branch=main,stat=max,test=c,unit=ms,",
            ",arch=x86,branch=main,test=c,unit=_,",
        ]
    );
    assert_eq!(file.points[0].value.to_bits(), (-0.0_f64).to_bits());
    assert_eq!(file.points[1].links["trace"], "https://t");
}

#[test]
fn a_position_names_a_commit() {
    let text =
        r#"{"version":1,"git_hash":"CP:727901","results":[{"key":{"test":"t"},"measurement":1}]}"#;
    let file = read(text).unwrap();
    assert_eq!(file.commit, CommitName::Number(CommitNumber(727_901)));
    assert_eq!(file.tried, None);
}

#[test]
fn the_older_form_has_numbers_by_test_and_config() {
    let text = r#"{"gitHash": "fe4a4029", "issue": "", "patchset": "",
        "key": {"arch": "x86", "os": "Ubuntu12"}, "options": {"system": "UNIX"},
        "swarming": {"bot": ["x"]},
        "results": {"draw": {"8888": {"min_ms": 1.5, "median_ms": 2, "ok": true, "note": "x",
            "samples": [1.5, 2, 3], "options": {"source_type": "skp", "GL_VENDOR": "n", "n": 1}}},
         "none": null, "quad": {"gpu": null}}}"#;
    let expected = |it: &str| {
        format!(
            ",arch=x86,config=8888,os=Ubuntu12,source_type=skp,sub_result={it},system=UNIX,test=draw,"
        )
    };
    assert_eq!(
        points(text),
        [(expected("median_ms"), 2.0), (expected("min_ms"), 1.5)]
    );
    let file = read(text).unwrap();
    assert_eq!(file.tried, None);
    let samples: Vec<_> = file.samples.into_iter().collect();
    assert_eq!(
        samples,
        [(expected("min_ms").parse().unwrap(), vec![1.5, 2.0, 3.0])]
    );
    // Another version is read the same way.
    assert_eq!(
        points(&text.replacen('{', r#"{"version": 7, "#, 1)).len(),
        2
    );
}

/// The message of a file's fault, without the path.
fn fault(text: &str) -> String {
    let error = read(text).expect_err(text).to_string();
    let found = error.strip_prefix("nano/2024/02/29/23/x86.json").unwrap();
    found.trim_start_matches([',', ':', ' ']).to_owned()
}

#[test]
fn faults_name_the_file_the_member_and_the_place_in_the_text() {
    let v1 = |results: &str| {
        format!("{{\"version\":1,\"git_hash\":\"cd5a\",\n\"results\":[{results}]}}")
    };
    let mut wrong = Vec::new();
    for (text, message) in [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("[", "line 1, column 1: EOF while parsing a list"),
        (
            "{\"version\": 2}",
            "version 2 of the format is unknown: version 1 is read, and the older form with `gitHash`",
        ),
        ("{}", "line 1, column 2: missing field `gitHash`"),
        (
            &v1(""),
            "line 2, column 11 (`results`): the file has no results",
        ),
        (
            &v1(r#"{"key":{"test":"t"}}"#),
            "line 2, column 12 (`results[0]`): a result has one of `measurement` and `measurements`",
        ),
        (
            &v1(r#"{"key":{"test":"t"},"measurement":1,"measurements":{}}"#),
            "line 2, column 12 (`results[0]`): a result has one of `measurement` and `measurements`",
        ),
        (
            &v1(r#"{"key":{"test":"t"},"measurement":null}"#),
            "line 2, column 12 (`results[0]`): a result has one of `measurement` and `measurements`",
        ),
        (
            &v1(r#"{"key":{"a b":"t","a_b":"t"},"measurement":1}"#),
            "line 2, column 19 (`results[0].key`): the keys `a b` and `a_b` are both written `a_b`",
        ),
        (
            &v1(r#"{"key":{"a b":"t"},"measurements":{"a_b":[{"value":"é","measurement":1}]}}"#),
            "line 2, column 54 (`results[0].measurements.a_b[0]`): the keys `a b` and `a_b` are both written `a_b`",
        ),
        (
            &v1(r#"{"key":{"a":"t"},"measurement":1},{"key":{"a":"t"},"measurement":1}"#),
            "line 2, column 77 (`results[1].measurement`): the trace `,a=t,` has a value already",
        ),
        (
            &v1(r#"{"key":{},"measurement":1}"#),
            "line 2, column 36 (`results[0].measurement`): a trace needs at least one key",
        ),
        (
            &v1(r#"{"key":{"a":"t","a":"t"},"measurement":1}"#),
            "line 2, column 30 (`results[0].key`): `a` occurs twice",
        ),
        (
            &v1(r#"{"key":{"a":"t"},"measurement":NaN}"#),
            "line 2, column 43 (`results`): expected value",
        ),
        (
            &v1(r#"{"key":{"a":"t"},"measurement":1e999}"#),
            "line 2, column 47 (`results[0].measurement`): number out of range",
        ),
        (
            &v1(r#"{"key":{"a":7},"measurement":1}"#),
            "line 2, column 24 (`results[0].key.a`): invalid type: integer `7`, expected a string",
        ),
        (
            &v1(r#"{"key":{"a":"t"},"measurement":1,"more":1}"#),
            "line 2, column 50 (`results[0].more`): unknown field `more`, expected one of `key`, `measurement`, `measurements`",
        ),
        (
            &v1(r#"{"key":{"a":"t"},"measurement":1}"#).replace("\"cd5a\"", "\"main\""),
            "line 1, column 25 (`git_hash`): `main` does not name a commit: expected 4 to 64 hexadecimal digits, or `CP:` and a number",
        ),
        (
            &format!("{} x", v1("")),
            "line 2, column 15: trailing characters",
        ),
        (
            r#"{"gitHash":"cd5a","results":{"t":{"c":{"ms":1,"ms":2}}}}"#,
            "line 1, column 53 (`results.t.c`): `ms` occurs twice",
        ),
        (
            r#"{"gitHash":"cd5a","results":{"t":{"c":{"ms":1}},"t":{}}}"#,
            "line 1, column 51 (`results`): `t` occurs twice",
        ),
        (
            r#"{"gitHash":"cd5a","key":{"test_":"a"},"options":{"test ":"a"},"results":{"t":{"c":{"ms":1}}}}"#,
            "line 1, column 83 (`results.t.c`): the keys `test ` and `test_` are both written `test_`",
        ),
    ] {
        let found = fault(text);
        if found != message {
            wrong.push(format!("{text}\n    gives: {found}\n not like: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let source = || Source::new("a.json", 0);
    let error = read_results(source(), b"{\"version\": \xff").unwrap_err();
    assert_eq!(error.to_string(), "a.json: byte 12 is not UTF-8");
    let deep = "[".repeat(100_000);
    assert!(read_results(source(), deep.as_bytes()).is_err());
}

#[test]
fn charts_become_traces_with_unit_and_direction() {
    let series = |values: &[f64], unit: Option<&str>, direction| Series {
        values: values.to_vec(),
        unit: unit.map(str::to_owned),
        direction,
    };
    let charts = BTreeMap::from([
        (
            "parse/large file".to_owned(),
            series(&[3.0, 1.0, 2.0], Some("ms"), Direction::Unknown),
        ),
        (
            "speed".to_owned(),
            series(&[7.0], Some("MB/s"), Direction::Up),
        ),
        ("count".to_owned(), series(&[5.0], None, Direction::Unknown)),
    ]);
    let key = BTreeMap::from([("os".to_owned(), "linux".to_owned())]);
    let read = |key: &BTreeMap<String, String>, charts, aggregate: &str| {
        let source = Source::new("run.txt", 0);
        let commit = CommitName::Number(CommitNumber(3));
        points_of_charts(source, commit, key, charts, aggregate.parse().unwrap())
    };
    let found = read(&key, &charts, "median").unwrap();
    let points: Vec<_> = (found.file.points.iter())
        .map(|it| (it.trace.as_str(), it.value))
        .collect();
    assert_eq!(
        points,
        [
            (",os=linux,test=count,", 5.0),
            (
                ",improvement_direction=down,os=linux,test=parse_large_file,unit=ms,",
                2.0
            ),
            (
                ",improvement_direction=up,os=linux,test=speed,unit=MB_s,",
                7.0
            ),
        ]
    );
    assert_eq!(found.file.samples.len(), 1);
    assert!(found.left_out.is_empty());
    assert_eq!(
        read(&key, &charts, "std").unwrap().left_out,
        ["count", "speed"]
    );
    assert_eq!(Aggregate::default().apply(&[1.0]), Some(1.0));

    let reserved = BTreeMap::from([("test".to_owned(), "x".to_owned())]);
    assert_eq!(
        read(&reserved, &charts, "median"),
        Err(ChartsError::Reserved("test"))
    );
    let alike = BTreeMap::from([
        ("a b".to_owned(), series(&[1.0], None, Direction::Unknown)),
        ("a_b".to_owned(), series(&[1.0], None, Direction::Unknown)),
    ]);
    let error = read(&key, &alike, "median").unwrap_err().to_string();
    assert_eq!(
        error,
        "the charts `a b` and `a_b` are both written as the trace `,os=linux,test=a_b,`"
    );
}
