mod random_jobs;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::Aggregate;
use crate::results::{Format, OriginReading, ReadError, Reading};

const TRESIZE: [f64; 20] = [
    23.26174999999999,
    22.99621666666672,
    22.66563333333331,
    23.99620000000002,
    22.940849999999948,
    22.26951666666664,
    22.975350000000006,
    24.96453333333337,
    23.6878333333334,
    23.21740000000001,
    24.743699999999976,
    23.507333333333282,
    22.927800000000033,
    22.292066666666653,
    23.28364999999999,
    23.361950000000004,
    22.18191666666666,
    22.996466666666684,
    23.54029999999997,
    22.873883333333342,
];

/// The eight subtests of a run of tcanvasmark, with their filtered values.
const CANVASMARK: [(&str, [f64; 5], f64); 8] = [
    ("Plasma", [545.0, 572.0, 598.0, 662.0, 588.0], 593.0),
    (
        "Asteroids shapes",
        [748.0, 737.0, 720.0, 742.0, 743.0],
        739.5,
    ),
    (
        "Asteroids bitmaps-text",
        [1031.0, 1011.0, 913.0, 1063.0, 888.0],
        962.0,
    ),
    ("Arena5", [892.0, 738.0, 900.0, 920.0, 806.0], 853.0),
    (
        "Asteroids vectors",
        [675.0, 735.0, 659.0, 789.0, 768.0],
        751.5,
    ),
    ("3D", [306.0, 434.0, 388.0, 426.0, 389.0], 407.5),
    (
        "Pixel blur",
        [1291.0, 1435.0, 1553.0, 1461.0, 1521.0],
        1491.0,
    ),
    (
        "Asteroids bitmaps",
        [435.0, 418.0, 410.0, 403.0, 380.0],
        406.5,
    ),
];

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * expected.abs()
}

fn apply(aggregate: &str, values: &[f64]) -> f64 {
    let aggregate: Aggregate = aggregate.parse().unwrap();
    aggregate.apply(values).unwrap()
}

fn read(log: &str) -> Result<Reading, ReadError> {
    "talos"
        .parse::<Format>()
        .unwrap()
        .read_with_failures(log.as_bytes())
}

fn one(log: &str) -> Job {
    let mut jobs = Job::read_all(log).unwrap();
    assert_eq!(jobs.len(), 1);
    jobs.remove(0)
}

fn tresize_summary() -> Value {
    json!({
        "std": 0.7716690474213389,
        "min": 22.18191666666666,
        "max": 24.96453333333337,
        "median": 23.21740000000001,
        "filtered": 23.21740000000001,
        "mean": 23.254913333333334,
    })
}

fn tresize(summary: Value) -> String {
    let test = json!([{
        "talos_counters": {"Main_RSS": {"mean": "12.50", "max": "17"}, "XRes": {"mean": 3.25}},
        "results": {"tresize": TRESIZE},
        "summary": {"suite": 23.21740000000001, "subtests": {"tresize": summary}},
        "test_machine": {
            "platform": "x86_64", "osversion": "12.04", "os": "linux", "name": "talos-linux64-ix-001",
        },
        "testrun": {
            "date": 1_438_000_000,
            "suite": "tresize",
            "options": {"cycles": 20, "tpmozafterpaint": true, "extensions": [{"name": "a"}]},
        },
        "test_build": {
            "name": "Firefox", "version": "42.0a1", "id": "20150727", "branch": "Mozilla-Inbound",
            "revision": "0123456789ab",
        },
    }]);
    format!("10:42:17     INFO -  TALOSDATA: {test}\n")
}

fn canvasmark(change: impl FnOnce(&mut Job)) -> Job {
    let mut subtests = Vec::new();
    for (name, replicates, filtered) in CANVASMARK {
        subtests.push(Subtest {
            name: name.into(),
            value: Some(filtered.into()),
            replicates: Some(replicates.map(Measured::new).to_vec()),
            ..Subtest::default()
        });
    }
    let mut job = Job {
        suites: vec![Suite {
            name: "tcanvasmark".into(),
            value: Some(6204.0.into()),
            subtests,
            ..Suite::default()
        }],
        ..Job::default()
    };
    job.suites[0].subtests[0].statistics = Statistics {
        std: Some(34.19064199455752.into()),
        min: Some(572.0.into()),
        max: Some(662.0.into()),
        median: Some(593.0.into()),
        mean: Some(605.0.into()),
    };
    change(&mut job);
    job
}

#[test]
fn the_summary_of_tresize_follows() {
    for (method, expected) in [
        ("median", 23.21740000000001),
        ("mean", 23.254913333333334),
        ("population-std", 0.7716690474213389),
        ("min", 22.18191666666666),
        ("max", 24.96453333333337),
    ] {
        let found = apply(&format!("ignore-first:5,{method}"), &TRESIZE);
        assert!(is_close(found, expected), "{method}: {found}");
    }
    let sample = apply("ignore-first:5,std", &TRESIZE);
    assert!((sample - 0.79875).abs() < 5e-6, "{sample}");
    let variance = apply("ignore-first:5,population-variance", &TRESIZE);
    assert!(is_close(variance.sqrt(), 0.7716690474213389), "{variance}");
    // Another filter gives the same median.
    assert_eq!(apply("ignore-first:3,median", &TRESIZE), 23.21740000000001);
    let mean = apply("ignore-first:3,mean", &TRESIZE);
    assert!((mean - 23.28004).abs() < 5e-6, "{mean}");

    let suite = &one(&tresize(tresize_summary())).suites[0];
    assert_eq!(suite.check_summary(), []);
}

#[test]
fn the_summary_of_canvasmark_follows() {
    for (name, replicates, filtered) in CANVASMARK {
        assert_eq!(
            apply("ignore-first:1,median", &replicates),
            filtered,
            "{name}"
        );
    }
    let filtered = CANVASMARK.map(|(name, _, filtered)| (name, filtered));
    let summary = SuiteRule::ByName.summary("tcanvasmark", filtered).unwrap();
    assert_eq!(summary.value, 6204.0);
    let filtered = CANVASMARK.map(|(_, _, filtered)| filtered);
    let mean = apply("geometric-mean", &filtered);
    assert!((mean - 712.99908).abs() < 5e-6, "{mean}");
    let mean = apply("talos-geometric-mean", &filtered);
    assert!((mean - 713.08323).abs() < 5e-6, "{mean}");
    let plasma = CANVASMARK[0].1;
    let std = apply("ignore-first:1,population-std", &plasma);
    assert!(is_close(std, 34.19064199455752), "{std}");

    assert_eq!(canvasmark(|_| ()).suites[0].check_summary(), []);
}

#[test]
fn a_summary_that_does_not_follow_is_a_warning_with_both_numbers() {
    // The smallest of all values, not of those that the filter left.
    let job = canvasmark(|job| job.suites[0].subtests[0].statistics.min = Some(545.0.into()));
    let found = job.suites[0].check_summary();
    let [found] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((found.stated, found.computed), (545.0, 572.0));
    assert_eq!(
        found.to_string(),
        "the summary of `tcanvasmark/Plasma` states min 545, but its values give 572 \
         (ignore-first:1,median)"
    );
    let job = canvasmark(|job| job.suites[0].value = Some(6205.0.into()));
    let found = job.suites[0].check_summary();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].statistic, Statistic::Suite);
    assert_eq!((found[0].stated, found[0].computed), (6205.0, 6204.0));

    // Of relative differences, 1e-9 is the limit.
    for (factor, count) in [(1.0 + 5e-10, 0), (1.0 - 5e-10, 0), (1.0 + 2e-9, 1)] {
        let mut summary = tresize_summary();
        summary["mean"] = json!(23.254913333333334 * factor);
        let remarks = read(&tresize(summary)).unwrap().remarks;
        assert_eq!(remarks.len(), count, "{remarks:?}");
    }
    // Over n - 1, and without the filter.
    for (statistic, value) in [("std", 0.79875), ("mean", 23.28004)] {
        let mut summary = tresize_summary();
        summary[statistic] = json!(value);
        let remarks = read(&tresize(summary)).unwrap().remarks;
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert!(remarks[0].contains(&value.to_string()), "{remarks:?}");
    }
}

#[test]
fn equal_values_have_no_spread_but_of_rounding() {
    let suite = |std: f64| Suite {
        name: "a".into(),
        subtests: vec![Subtest {
            name: "b".into(),
            replicates: Some(vec![0.1.into(); 3]),
            statistics: Statistics {
                std: Some(std.into()),
                ..Statistics::default()
            },
            ..Subtest::default()
        }],
        ..Suite::default()
    };
    assert_eq!(suite(0.0).check_summary(), []);
    assert_eq!(suite(1.4e-17).check_summary(), []);
    assert_eq!(suite(1e-9).check_summary().len(), 1);
}

#[test]
fn scores_of_talos_follow_by_their_own_filters() {
    // 35302 / (10 - 1), and the median without the largest.
    for (suite, name, values, filtered) in [
        ("v8_7", "Richards", vec![9.0; 3], 35302.0 / 9.0),
        ("a11yr", "x", vec![3.0, 90.0, 5.0], 4.0),
    ] {
        let log = |filtered: f64| {
            let test = json!([{
                "testrun": {"suite": suite},
                "results": {name: values},
                "summary": {"subtests": {name: {"filtered": filtered}}},
            }]);
            format!("TALOSDATA: {test}")
        };
        assert_eq!(
            read(&log(filtered)).unwrap().remarks,
            [] as [&str; 0],
            "{suite}"
        );
        assert_eq!(
            read(&log(filtered + 0.5)).unwrap().remarks.len(),
            1,
            "{suite}"
        );
    }
}

#[test]
fn a_subtest_with_a_summary_alone_is_read() {
    let log = "TALOSDATA: [{\"testrun\": {\"suite\": \"a\", \"date\": \"2014-05-13\"}, \
               \"results\": {\"b\": [5, 5], \"c\": []}, \"summary\": {\"suite\": 6, \
               \"subtests\": {\"b\": {\"filtered\": 5}, \"d\": {\"filtered\": 7}}}}]";
    let reading = read(log).unwrap();
    assert_eq!(reading.charts["a/d"].values, [7.0]);
    assert_eq!(reading.failed["a/c"], "it has no values");
    // The suite does not follow from some of its subtests.
    assert_eq!(reading.remarks, [] as [&str; 0]);
    let readings = "talos"
        .parse::<Format>()
        .unwrap()
        .read_by_origin(log.as_bytes());
    let readings = readings.unwrap();
    assert_eq!(readings[0].origin.date, None);
    assert!(readings[0].reading.remarks[0].contains("2014-05-13"));
}

#[test]
fn the_order_of_extra_options_is_no_part_of_the_name() {
    let log = |options: &str| {
        format!(
            "PERFHERDER_DATA: {{\"suites\": [{{\"name\": \"a\", \"extraOptions\": [{options}], \
             \"value\": 1, \"subtests\": []}}]}}\n"
        )
    };
    let both = log("\"x\", \"b\"") + &log("\"b\", \"x\"");
    let charts = read(&both).unwrap().charts;
    assert_eq!(charts["a [b, x]"].values, [1.0, 1.0]);
    assert_eq!(Job::joined(Job::read_all(&both).unwrap()).len(), 1);
}

#[test]
fn talosdata_is_read_whole() {
    let log = tresize(tresize_summary());
    let suite = &one(&log).suites[0];
    let origin = suite.origin();
    assert_eq!(origin.revision.as_deref(), Some("0123456789ab"));
    assert_eq!(origin.date, Some(1_438_000_000));
    assert_eq!(suite.machine.text("osversion").as_deref(), Some("12.04"));
    let parameters: Vec<(&str, &str)> = (origin.parameters.iter())
        .map(|(name, value)| (&**name, &**value))
        .collect();
    assert_eq!(
        parameters,
        [
            ("branch", "Mozilla-Inbound"),
            ("machine", "talos-linux64-ix-001"),
            ("option_cycles", "20"),
            ("option_tpmozafterpaint", "true"),
            ("suite", "tresize"),
            ("version", "42.0a1"),
        ]
    );
    let charts = read(&log).unwrap().charts;
    let counters: Vec<(&str, &[f64])> = (charts.iter())
        .filter(|(name, _)| name.contains('.'))
        .map(|(name, series)| (&**name, &series.values[..]))
        .collect();
    assert_eq!(
        counters,
        [
            ("tresize/Main_RSS.max", &[17.0][..]),
            ("tresize/Main_RSS.mean", &[12.5]),
            ("tresize/XRes.mean", &[3.25]),
        ]
    );
    // Digits of text stay.
    assert!(one(&log).to_talosdata().unwrap().contains("\"12.50\""));
}

#[test]
fn the_choice_decides_which_values_count() {
    let suite = &one(&tresize(tresize_summary())).suites[0];
    for (name, expected) in [
        ("replicates", &TRESIZE[..]),
        ("filtered", &[23.21740000000001]),
        ("mean", &[23.254913333333334]),
        ("median", &[23.21740000000001]),
        ("min", &[22.18191666666666]),
        ("max", &[24.96453333333337]),
    ] {
        let values: TalosValues = name.parse().unwrap();
        assert_eq!(values.to_string(), name);
        let found = values.of(suite, &suite.subtests[0]).unwrap();
        let expected: Vec<Measured> = expected.iter().copied().map(Measured::new).collect();
        assert_eq!(found, expected, "{name}");
    }
    let suite = &one(&tresize(json!({"min": 1}))).suites[0];
    for values in [TalosValues::Filtered, TalosValues::Mean, TalosValues::Max] {
        let error = values
            .of(suite, &suite.subtests[0])
            .unwrap_err()
            .to_string();
        assert!(error.contains("`tresize` of `tresize`"), "{error}");
    }
    // The format takes the same.
    let read = |log: &str, values: &str| {
        let format: Format = format!("talos:{values}").parse().unwrap();
        format.read_with_failures(log.as_bytes())
    };
    let log = tresize(tresize_summary());
    for (values, expected) in [("mean", 23.254913333333334), ("max", 24.96453333333337)] {
        let charts = read(&log, values).unwrap().charts;
        assert_eq!(charts["tresize/tresize"].values, [expected]);
        assert_eq!(charts["tresize"].values, [23.21740000000001]);
    }
    let error = read(&tresize(json!({"min": 1})), "filtered").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("line 1, column 33: the subtest `tresize` of `tresize`"),
        "{error}"
    );
    let log = canvasmark(|_| ()).to_perfherder().unwrap();
    assert_eq!(
        read(&log, "min")
            .unwrap_err()
            .to_string()
            .matches("Asteroids")
            .count(),
        1
    );
    let charts = read(&log, "filtered").unwrap().charts;
    assert_eq!(charts["tcanvasmark/Plasma"].values, [593.0]);
    assert!("talos:average".parse::<Format>().is_err());
    let error = "average".parse::<TalosValues>().unwrap_err().to_string();
    assert!(error.contains("replicates, filtered"), "{error}");
}

#[test]
fn charts_are_read_by_their_origin() {
    let mut second = one(&tresize(tresize_summary()));
    second.suites[0].name = "other".into();
    second.suites[0]
        .build
        .0
        .insert("revision".into(), "ba9876543210".into());
    // The same suite again, later.
    let mut again = one(&tresize(tresize_summary()));
    again.suites[0]
        .run
        .0
        .insert("date".into(), 1_438_000_005.into());
    let again = again.to_talosdata().unwrap();
    let log = tresize(tresize_summary()) + &second.to_talosdata().unwrap() + "\n" + &again;
    let readings = "auto"
        .parse::<Format>()
        .unwrap()
        .read_by_origin(log.as_bytes());
    let readings = readings.unwrap();
    let found: Vec<_> = (readings.iter())
        .map(|it| {
            let charts: Vec<&str> = it.reading.charts.keys().map(|name| &**name).collect();
            (
                it.origin.revision.as_deref(),
                &*it.origin.parameters["suite"],
                charts[0],
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (Some("0123456789ab"), "tresize", "tresize"),
            (Some("0123456789ab"), "tresize", "tresize/Main_RSS.max"),
            (Some("ba9876543210"), "other", "other"),
            (Some("ba9876543210"), "other", "other/Main_RSS.max"),
        ]
    );
    let kind = |it: &OriginReading| it.origin.parameters.get("kind").cloned();
    let kinds: Vec<_> = readings.iter().filter_map(kind).collect();
    assert_eq!(kinds, ["counter", "counter"]);
    assert_eq!(readings[0].origin.date, Some(1_438_000_005));
    assert_eq!(readings[2].origin.date, Some(1_438_000_000));
    assert_eq!(
        readings[0].reading.charts["tresize/tresize"].values.len(),
        40
    );
    // Together they are what is read without origins.
    let together = readings.into_iter().flat_map(|it| it.reading.charts);
    let together: BTreeMap<_, _> = together.collect();
    assert_eq!(together, read(&log).unwrap().charts);
}

#[test]
fn counters_are_numbers() {
    let log = |value: &str| {
        format!(
            "TALOSDATA: [{{\"testrun\": {{\"suite\": \"a\"}}, \"results\": {{\"b\": [1]}}, \
             \"talos_counters\": {{\"c\": {{\"mean\": {value}}}}}}}]"
        )
    };
    let reading = read(&log("\"NaN\"")).unwrap();
    assert!(reading.failed.contains_key("a/c.mean"), "{reading:?}");
    let reading = read(&log("null")).unwrap();
    assert!(!reading.charts.contains_key("a/c.mean"), "{reading:?}");
    // Text that is no number loses its chart.
    let reading = read(&log("\"12 MB\"")).unwrap();
    assert!(reading.failed.contains_key("a/c.mean"), "{reading:?}");
    let median = log("1").replace("\"mean\"", "\"median\"");
    let remarks = read(&median).unwrap().remarks;
    assert_eq!(
        remarks,
        ["of counters mean and max are read, and not `a/c.median`"]
    );
    for value in ["[1]", "true"] {
        assert!(read(&log(value)).is_err(), "{value}");
        assert!(Job::read_all(&log(value)).is_err(), "{value}");
    }
}

const PERFHERDER: &str = r#"10:42 INFO - PERFHERDER_DATA: {"framework": {"name": "talos"}, "application": {"name": "firefox", "version": "128.0"}, "x": [1], "suites": [{"name": "tp5o", "publicName": "Pages", "extraOptions": ["e10s"], "tags": ["a-1", "B"], "unit": "ms", "value": 152.25, "lowerIsBetter": true, "shouldAlert": true, "alertThreshold": 5, "alertChangeType": "absolute", "minBackWindow": 1, "maxBackWindow": 24, "foreWindow": 255, "y": {"z": null}, "subtests": [{"name": "amazon.com", "value": 148.5, "replicates": [181.0, null, 148.5], "unit": "ms", "alertThreshold": 0.5, "base_replicates": [1]}]}]}"#;

#[test]
fn perfherder_data_is_read_whole() {
    let job = one(PERFHERDER);
    assert_eq!(job.framework.text("name").as_deref(), Some("talos"));
    assert_eq!(job.application.text("version").as_deref(), Some("128.0"));
    assert_eq!(job.other.0, BTreeMap::from([("x".into(), json!([1]))]));
    let suite = &job.suites[0];
    assert_eq!(suite.public_name.as_deref(), Some("Pages"));
    assert_eq!(suite.tags, ["a-1", "B"]);
    assert_eq!(
        suite.settings,
        Settings {
            should_alert: Some(true),
            alert_threshold: Some(5.0),
            alert_change_type: Some(AlertChangeType::Absolute),
            min_back_window: Some(1),
            max_back_window: Some(24),
            fore_window: Some(255),
        }
    );
    assert_eq!(suite.other.0.len(), 1);
    let subtest = &suite.subtests[0];
    assert_eq!(subtest.settings.alert_threshold, Some(0.5));
    let replicates = [181.0.into(), Measured::FAILED, 148.5.into()];
    assert_eq!(subtest.replicates.as_deref(), Some(&replicates[..]));
    assert!(subtest.other.0.contains_key("base_replicates"));
    assert_eq!(one(&job.to_perfherder().unwrap()), job);
    assert_eq!(one(&job.to_talosdata().unwrap()), job);
}

#[test]
fn members_out_of_bounds_are_errors_with_their_path() {
    for (from, to, path) in [
        (
            "\"alertThreshold\": 5,",
            "\"alertThreshold\": 1000.5,",
            "/suites/0/alertThreshold",
        ),
        (
            "\"alertThreshold\": 5,",
            "\"alertThreshold\": -1,",
            "/suites/0/alertThreshold",
        ),
        (
            "\"alertThreshold\": 0.5",
            "\"alertThreshold\": 1001",
            "/suites/0/subtests/0/alertThreshold",
        ),
        (
            "\"minBackWindow\": 1,",
            "\"minBackWindow\": 0,",
            "/suites/0/minBackWindow",
        ),
        (
            "\"maxBackWindow\": 24",
            "\"maxBackWindow\": -24",
            "/suites/0/maxBackWindow",
        ),
        (
            "\"foreWindow\": 255",
            "\"foreWindow\": 256",
            "/suites/0/foreWindow",
        ),
        ("\"B\"", "\"a_b\"", "/suites/0/tags/1"),
        ("\"B\"", "\"\"", "/suites/0/tags/1"),
        ("\"B\"", "\"abcdefghijklmnopqrstuvwxy\"", "/suites/0/tags/1"),
        ("\"B\"", "1,1,1,1,1,1,1,1,1,1,1,1,1,1", "/suites/0/tags "),
        ("\"e10s\"", "1,1,1,1,1,1,1,1,1", "/suites/0/extraOptions "),
        ("152.25", "1.1e12", "/suites/0/value"),
        (
            "\"value\": 148.5",
            "\"value\": -1.1e12",
            "/suites/0/subtests/0/value",
        ),
        (
            "[181.0, null",
            "[181.0, 1e13",
            "/suites/0/subtests/0/replicates/1",
        ),
    ] {
        let to = to.replace("1,1", "\"a\",\"a\"").replace(",1", ",\"a\"");
        assert!(PERFHERDER.contains(from));
        let log = PERFHERDER.replacen(from, &to, 1);
        for error in [read(&log).unwrap_err(), Job::read_all(&log).unwrap_err()] {
            let ReadError::OutOfBounds { .. } = error else {
                panic!("{error:?}");
            };
            let error = error.to_string();
            assert!(error.contains(path), "{error}");
            assert!(error.contains("line 1, column 31"), "{error}");
        }
    }
    // The bounds themselves are allowed.
    let log = PERFHERDER
        .replace("\"alertThreshold\": 5,", "\"alertThreshold\": 1000,")
        .replace("152.25", "-1e12")
        .replace("\"B\"", "\"abcdefghijklmnopqrstuvwx\"");
    assert!(read(&log).is_ok());
    assert!(Job::read_all(&log).is_ok());
    let log = PERFHERDER.replace("\"absolute\"", "\"relative\"");
    let error = Job::read_all(&log).unwrap_err().to_string();
    assert!(error.contains("`percentage`"), "{error}");
    assert!(read(&log).is_err());
}

#[test]
fn a_suite_that_stands_twice_adds_replicates() {
    let log = |options: &str, values: &str| {
        format!(
            "PERFHERDER_DATA: {{\"suites\": [{{\"name\": \"a\", \"extraOptions\": [{options}], \"value\": 1, \
             \"subtests\": [{{\"name\": \"b\", \"value\": 7, \"replicates\": [{values}]}}]}}]}}\n"
        )
    };
    let log = [
        log("\"x\"", "1, 2"),
        log("\"y\"", "3"),
        log("\"x\"", "4"),
        log("\"x\"", ""),
    ]
    .concat();
    let suites = Job::joined(Job::read_all(&log).unwrap());
    assert_eq!(suites.len(), 2);
    assert_eq!(suites[0].value, None);
    let replicates = suites[0].subtests[0].replicates.clone().unwrap();
    // Without replicates, the value is one.
    assert_eq!(replicates, [1.0, 2.0, 4.0, 7.0].map(Measured::new));
    assert_eq!(suites[1].value, Some(1.0.into()));
    let charts = read(&log).unwrap().charts;
    assert_eq!(charts["a/b [x]"].values, [1.0, 2.0, 4.0, 7.0]);
    assert_eq!(charts["a/b [y]"].values, [3.0]);
}

#[test]
fn what_a_format_can_not_hold_is_an_error() {
    let suite = |subtests: Vec<Subtest>| Job {
        suites: vec![Suite {
            name: "a".into(),
            subtests,
            ..Suite::default()
        }],
        ..Job::default()
    };
    let subtest = Subtest {
        name: "b".into(),
        replicates: Some(vec![1.0.into()]),
        ..Subtest::default()
    };
    let job = suite(vec![subtest.clone()]);
    assert!(matches!(
        job.to_perfherder(),
        Err(WriteJobError::NoValue { .. })
    ));
    assert_eq!(one(&job.to_talosdata().unwrap()), job);
    let job = suite(vec![subtest.clone(), subtest]);
    assert!(matches!(
        job.to_talosdata(),
        Err(WriteJobError::Twice { .. })
    ));
    let job = Job {
        framework: Details(BTreeMap::from([("name".into(), json!("talos"))])),
        ..Job::default()
    };
    assert!(matches!(job.to_talosdata(), Err(WriteJobError::NoSuite)));
}

#[test]
fn damaged_lines_are_errors_with_their_place() {
    let line = PERFHERDER;
    let json = line.find('{').unwrap();
    for end in (json..line.len()).filter(|end| line.is_char_boundary(*end)) {
        assert!(Job::read_all(&line[..end]).is_err(), "{end}");
    }
    let log = tresize(tresize_summary());
    let log = log.trim_end();
    let json = log.find('[').unwrap();
    for end in json..log.len() {
        assert!(Job::read_all(&log[..end]).is_err(), "{end}");
    }
    let error = Job::read_all(&format!("x\n{line} y"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 2, column"), "{error}");
    let twice = line.replace("\"x\": [1]", "\"x\": [1], \"x\": 2");
    let error = Job::read_all(&twice).unwrap_err().to_string();
    assert!(error.contains("twice"), "{error}");
}
