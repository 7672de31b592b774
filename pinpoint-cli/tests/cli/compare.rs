//! `pinpoint compare`: two files, or many, and the verdicts on them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::world::{Finished, World};

/// Twenty values around `level`, in lines.
fn lines(chart: &str, level: f64, unit: &str) -> String {
    let mut text = String::new();
    for index in 0..20 {
        let value = level + 0.1 * f64::from(index * 7 % 20);
        let _ = writeln!(text, "{chart}: {value} {unit}");
    }
    text
}

struct Files(World);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let world = World::new();
        for (name, content) in files {
            fs::write(world.repository.join(name), content).unwrap();
        }
        Self(world)
    }

    #[track_caller]
    fn compare(&self, arguments: &[&str], code: i32) -> Finished {
        self.0.pinpoint(&["compare"]).and(arguments).ends_with(code)
    }

    #[track_caller]
    fn document(&self, arguments: &[&str], code: i32) -> Value {
        self.compare(&[arguments, &["--output", "json"]].concat(), code)
            .document()
    }
}

/// The outputs of real tools.
fn results(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pinpoint-core/tests/results");
    folder.join(name).display().to_string()
}

#[test]
fn the_document_has_all_of_it() {
    let files = Files::new(&[
        (
            "before",
            &(lines("a", 10.0, "ms") + &lines("b", 10.0, "runs")),
        ),
        (
            "after",
            &(lines("a", 15.0, "ms") + &lines("b", 10.0, "runs") + "c: 1\n"),
        ),
    ]);
    let document = files.document(&["before", "after"], 0);
    assert_eq!(document["version"], 1);
    assert_eq!(document["status"], "different");
    assert_eq!(document["control"], serde_json::json!(["before"]));
    assert_eq!(document["only_treatment"], serde_json::json!(["c"]));
    assert_eq!(document["only_control"], serde_json::json!([]));
    let [a, b] = &document["charts"].as_array().unwrap()[..] else {
        panic!("{document}");
    };
    assert_eq!(
        (&a["chart"], &a["unit"], &a["direction"]),
        (&"a".into(), &"ms".into(), &"down".into())
    );
    assert_eq!(
        (&a["verdict"], &a["improvement"]),
        (&"different".into(), &false.into())
    );
    assert_eq!(
        a["control"],
        serde_json::json!({"values": 20, "median": 10.95})
    );
    assert_eq!(a["change"]["estimate"], 5.0);
    let interval = &a["change_percent"]["interval"];
    let low = interval["low"].as_f64().unwrap();
    let high = interval["high"].as_f64().unwrap();
    assert!(low < 45.66 && 45.66 < high && high < 60.0, "{a}");
    // The smaller of two p-values is twice itself.
    let p = a["p_value"].as_f64().unwrap();
    assert!(p < 1e-4, "{a}");
    assert_eq!(a["p_value_adjusted"].as_f64(), Some(2.0 * p));
    assert_eq!(
        (&b["verdict"], &b["improvement"]),
        (&"same".into(), &Value::Null)
    );
}

#[test]
fn the_exit_code_is_the_answer() {
    let files = Files::new(&[
        ("low", &lines("a", 10.0, "ms")),
        ("high", &lines("a", 15.0, "ms")),
        ("one", "a: 10 ms\n"),
    ]);
    assert_eq!(files.document(&["low", "high"], 0)["status"], "different");
    assert_eq!(files.document(&["high", "low"], 0)["status"], "different");
    assert_eq!(files.document(&["low", "low"], 3)["status"], "same");
    assert_eq!(files.document(&["low", "one"], 4)["status"], "unknown");
    // Too small to be worth finding, and not tested.
    for magnitude in ["60", "600%"] {
        let document = files.document(&["low", "high", "--magnitude", magnitude], 3);
        assert_eq!(document["charts"][0]["p_value"], Value::Null);
    }
    files.document(&["low", "high", "--magnitude", "5%"], 0);
}

#[test]
fn better_lies_where_the_format_the_unit_or_the_user_says() {
    let go = |speed: u32| -> String {
        (0..12)
            .map(|run| {
                format!(
                    "BenchmarkA 1 {} ns/op {} MB/s\n",
                    10 * speed + run,
                    10 * speed + run
                )
            })
            .collect()
    };
    let files = Files::new(&[("before", &go(3)), ("after", &go(9))]);
    let improvements = |options: &[&str]| -> Vec<Value> {
        let document = files.document(&[&["before", "after"], options].concat(), 0);
        let charts = document["charts"].as_array().unwrap().clone();
        charts
            .iter()
            .map(|chart| chart["improvement"].clone())
            .collect()
    };
    assert_eq!(improvements(&[]), [Value::from(false), Value::from(true)]);
    assert_eq!(
        improvements(&["--direction", "up"]),
        [Value::from(true), Value::from(true)]
    );
    assert_eq!(
        improvements(&["--direction", "unknown"]),
        [Value::Null, Value::Null]
    );
}

#[test]
fn files_of_a_side_are_put_together() {
    let files = Files::new(&[
        ("a1", "a: 1 ms\na: 2 ms\n"),
        ("a2", "a: 3 ms\na: 30 ms\nb: 1\n"),
        ("b1", "a: 4 ms\n"),
    ]);
    let arguments = ["a1", "b1", "--control", "a2"];
    let document = files.document(&arguments, 4);
    assert_eq!(
        document["charts"][0]["control"],
        serde_json::json!({"values": 4, "median": 2.5})
    );
    let aggregated = files.document(&[&arguments[..], &["--aggregate", "max"]].concat(), 4);
    assert_eq!(
        aggregated["charts"][0]["control"],
        serde_json::json!({"values": 2, "median": 16.0})
    );
}

#[test]
fn pairs_are_compared_pair_by_pair() {
    // From pair to pair the values wander far more than the change.
    let side = |change: f64| -> String {
        (0..12)
            .map(|pair| {
                format!(
                    "a: {} ms\n",
                    10.0 * f64::from(pair + 1) * (change + 1e-4 * f64::from(pair))
                )
            })
            .collect()
    };
    let files = Files::new(&[
        ("before", &side(1.0)),
        ("after", &side(1.02)),
        ("short", "a: 1 ms\n"),
    ]);
    assert_eq!(files.document(&["before", "after"], 3)["status"], "same");
    let paired = files.document(&["before", "after", "--paired"], 0);
    assert_eq!(
        (&paired["status"], &paired["paired"]),
        (&"different".into(), &true.into())
    );
    let estimate = paired["charts"][0]["change_percent"]["estimate"]
        .as_f64()
        .unwrap();
    assert!((estimate - 2.0).abs() < 0.01, "{estimate}");
    assert_eq!(paired["charts"][0]["change"], Value::Null);
    // Five pairs can't decide, however much they differ.
    let five: Vec<String> = (0..5)
        .flat_map(|_| ["--control", "short", "--treatment", "after"])
        .map(str::to_owned)
        .collect();
    let mut arguments: Vec<&str> = vec!["short", "after", "--paired", "--aggregate", "mean"];
    arguments.extend(five[..16].iter().map(String::as_str));
    assert_eq!(
        files.document(&arguments, 4)["charts"][0]["control"]["values"],
        5
    );

    for (arguments, reason) in [
        (
            &["before", "short", "--paired"][..],
            "`a` has 12 values in control 1 and 1 in its treatment",
        ),
        (
            &["before", "after", "--paired", "--control", "short"],
            "there are 1 and 2",
        ),
        (
            &["before", "after", "--paired", "--magnitude", "5%"],
            "--magnitude",
        ),
        (
            &["before", "after", "--paired", "--confidence", "0.9"],
            "--confidence",
        ),
    ] {
        let said = files.compare(arguments, 2).stderr;
        assert!(said.contains(reason), "{reason} in {said}");
    }
}

#[test]
fn real_outputs_of_every_tool_are_read() {
    let files = Files::new(&[]);
    for (name, charts) in [
        ("hyperfine.json", 2),
        ("criterion", 3),
        ("google-benchmark-1.7.json", 10),
        ("go-benchmark.txt", 8),
        ("pytest-benchmark.json", 3),
        ("jmh.json", 16),
        ("catch2-3.7.xml", 3),
        ("chromium-histograms.json", 4),
        ("chromium-charts.json", 3),
        ("perfherder.log", 6),
        ("talosdata.log", 5),
    ] {
        let file = results(name);
        let output = files
            .0
            .pinpoint(&["compare", &file, &file, "--output", "json"])
            .start()
            .wait();
        // The same values twice do not differ; few of them leave it open.
        assert!(
            matches!(output.status.code(), Some(3 | 4)),
            "{name}: {output}"
        );
        assert_eq!(
            output.document()["charts"].as_array().unwrap().len(),
            charts,
            "{name}"
        );
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason() {
    let files = Files::new(&[
        ("ms", "a: 1 ms\n"),
        ("megabytes", "a: 1 MB\n"),
        ("other", "b: 1 ms\n"),
        ("prose", "all is well\n"),
        (
            "cut",
            "{\"results\": [{\"command\": \"a\", \"times\": [1, 2",
        ),
    ]);
    let criterion = results("criterion");
    for (arguments, reason) in [
        (&["ms", "missing"][..], "can't read missing"),
        (&["ms", "megabytes"], "`a` is in `ms` and in `MB`"),
        (&["ms", "other"], "the control has `a`, the treatment `b`"),
        (
            &["ms", "ms", "--chart", "b"],
            "of those asked for (--chart b)",
        ),
        (
            &["ms", "prose"],
            "prose: nothing in the output is recognized",
        ),
        (
            &["cut", "ms"],
            "cut: the output is not one whole JSON document: line 1, column 4",
        ),
        (&["ms", "ms", "--format", "time"], "no file has it"),
        (
            &["ms", "ms", "--format", "jmh"],
            "ms: the output is not one whole JSON document",
        ),
        (
            &["ms", &criterion, "--format", "lines"],
            "a folder, which the format lines does not read",
        ),
        (
            &["ms", "ms", "--format", "criterion"],
            "name the folder (target/criterion)",
        ),
        (&["ms", "ms", "--format", "junit"], "pytest-benchmark"),
        (
            &["ms", "ms", "--aggregate", "std"],
            "the 1 values of `a` have no std",
        ),
        (
            &["ms", "ms", "--aggregate", "v8-subtest"],
            "V8 has no subtest `a`",
        ),
        (&["ms", "ms", "--aggregate", "average"], "ignore-first:N,"),
        (&["ms", "ms", "--confidence", "1"], "`confidence` is 1"),
        (&["ms"], "TREATMENT FILE"),
    ] {
        let finished = files.compare(arguments, 2);
        assert!(finished.stderr.contains(reason), "{reason} in {finished}");
        assert_eq!(finished.stdout, "", "{arguments:?}");
    }
}

#[test]
fn charts_that_failed_and_lines_that_were_not_read_are_warnings() {
    let good = "test a ... bench:   1,230 ns/iter (+/- 3)\n";
    let gbench = |name: &str, real_time: &str| {
        format!(
            "{{\"name\": {name:?}, \"real_time\": {real_time}, \"cpu_time\": 1, \"time_unit\": \"ns\""
        )
    };
    let document = |second: &str| {
        format!(
            "{{\"context\": {{}}, \"benchmarks\": [{}}}, {second}}}]}}",
            gbench("a", "12.5")
        )
    };
    let failed =
        gbench("b", "1") + ", \"error_occurred\": true, \"error_message\": \"out of luck\"";
    let files = Files::new(&[
        ("good", &document(&gbench("b", "1"))),
        ("bad", &document(&failed)),
        ("lines", "a: 10 ms\n"),
        ("unread", "a: 10 ms\nsorted 5 items in 12.5 ms\n"),
        ("libtest", good),
    ]);
    let failed = files.document(&["good", "bad"], 4);
    assert_ne!(failed["status"], "same", "{failed}");
    assert_eq!(
        failed["warnings"],
        serde_json::json!([
            "bad has no value for `b`: Google Benchmark says `out of luck`",
            "bad has no value for `b cpu_time`: Google Benchmark says `out of luck`",
        ]),
    );
    let text = files.compare(&["lines", "unread"], 4).stdout;
    assert!(
        text.contains("unread, line 2, not read: `sorted 5 items in 12.5 ms` ("),
        "{text}"
    );
    let refused = files.compare(&["good", "bad", "--chart", "b"], 2);
    assert!(refused.stderr.contains("says `out of luck`"), "{refused}");
    let document = files.document(&["libtest", "libtest"], 4);
    assert_eq!(document.get("warnings"), None);
}

#[test]
fn benchmarks_that_came_or_went_are_named_and_leave_the_answer_open() {
    let [a, b, c] = ["a", "b", "c"].map(|chart| lines(chart, 10.0, "ms"));
    let files = Files::new(&[
        ("one", &a),
        ("two", &(a.clone() + &b)),
        ("other", &(a.clone() + &c)),
        ("kilobytes", &(a.clone() + &lines("b", 10.0, "kB"))),
    ]);
    assert_eq!(files.document(&["two", "two"], 3)["status"], "same");
    let removed = files.document(&["two", "one"], 4);
    assert_eq!(removed["only_control"], serde_json::json!(["b"]));
    let added = files.document(&["one", "two"], 4);
    assert_eq!(added["only_treatment"], serde_json::json!(["b"]));
    let text = files.compare(&["two", "other"], 4).stdout;
    assert!(
        text.contains("not compared: 1 only in the control, 1 only in the treatment"),
        "{text}"
    );
    files.document(&["two", "kilobytes"], 4);
    // The one that is left out on purpose does not count.
    files.document(&["two", "one", "--chart", "a"], 3);
    let refused = files.compare(&["two", "two", "--chart", "a", "--chart", "d"], 2);
    assert!(
        refused.stderr.contains("no file has a chart `d`"),
        "{refused}"
    );
}

#[test]
fn a_chart_that_failed_is_not_one_that_was_removed() {
    let gbench = |failed: &str| {
        format!(
            "{{\"context\": {{}}, \"benchmarks\": [{{\"name\": \"a\", \"real_time\": 1, \
             \"cpu_time\": 1, \"time_unit\": \"ns\"}}, {{\"name\": \"b\", \"real_time\": 1, \
             \"cpu_time\": 1, \"time_unit\": \"ns\"{failed}}}]}}"
        )
    };
    let failed = ", \"error_occurred\": true, \"error_message\": \"out of luck\"";
    let files = Files::new(&[("good", &gbench("")), ("bad", &gbench(failed))]);
    let document = files.document(&["good", "bad"], 4);
    assert_eq!(document["only_control"], serde_json::json!([]));
    assert_eq!(
        document["failed"][0],
        serde_json::json!({
            "file": "bad",
            "chart": "b",
            "reason": "Google Benchmark says `out of luck`",
        })
    );
}

#[test]
fn each_format_has_its_own_output_and_the_same_exit_code() {
    let files = Files::new(&[
        (
            "before",
            &(lines("a", 10.0, "ms") + &lines("b", 10.0, "ms")),
        ),
        ("after", &lines("a", 15.0, "ms")),
    ]);
    let of = |format| {
        files
            .compare(&["before", "after", "--output", format], 0)
            .stdout
    };
    assert!(of("markdown").starts_with("### 1 of 1 metric moved: 1 worse\n"));
    assert!(of("github").starts_with("::warning title=a is worse::"));
    let csv = of("csv");
    assert!(csv.starts_with("metric,verdict,unit,"), "{csv}");
    assert_eq!(csv.matches("\r\n").count(), 3, "{csv}");
    let other = files.0.pinpoint(&["clean", "--output", "csv"]).ends_with(2);
    assert!(
        other.stderr.contains("possible values: text, json"),
        "{other}"
    );
}

/// Reads and compares 5,000 charts; nothing in it takes longer for each chart if there are more.
#[test]
fn thousands_of_charts_are_compared() {
    let side = |slow: f64| -> String {
        let mut text = String::new();
        for chart in 0..5000 {
            for run in 0..12 {
                let factor = if chart % 1000 == 7 { slow } else { 1.0 };
                let value = factor * (100.0 + f64::from((run * 7 + chart) % 12));
                let _ = writeln!(text, "chart/{chart}: {value} us");
            }
        }
        text
    };
    let files = Files::new(&[("before", &side(1.0)), ("after", &side(2.0))]);
    let document = files.document(&["before", "after"], 0);
    let charts = document["charts"].as_array().unwrap();
    let worse = charts
        .iter()
        .filter(|chart| chart["improvement"] == false)
        .count();
    assert_eq!((charts.len(), worse), (5000, 5));
    let comment = files
        .compare(&["before", "after", "--output", "markdown"], 0)
        .stdout;
    assert!(comment.len() < 65_536 && comment.matches("**worse**").count() == 5);
}
