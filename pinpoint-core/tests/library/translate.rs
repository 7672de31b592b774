//! The meaning of a report to a machine: the rules for values, and journals of version 1.

#![expect(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::collections::BTreeMap;

use pinpoint_core::translate::{ReadingSettings, accept, essential, event};
use pinpoint_core::{
    Aggregate, Charts, Event, Record, RecordVersion1, Report, RunReport, Series, Task, Usage,
};

fn series(values: &[f64]) -> Series {
    Series {
        values: values.to_vec(),
        ..Series::default()
    }
}

fn reading(charts: Charts, aggregate: Option<&str>) -> ReadingSettings {
    ReadingSettings {
        charts,
        aggregate: aggregate.map(|name| name.parse::<Aggregate>().unwrap()),
        created: 1_000,
    }
}

fn time() -> Charts {
    Charts::Deciding(Some("time".into()))
}

/// The machine's view of a run: its values, or the reason for its failure.
fn heard(
    report: RunReport,
    reading: &ReadingSettings,
) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let report = accept(&reading.charts, Report::Ran(report));
    // Journaled reports can be read again, and mean the same.
    let record = Record::Reported { action: 7, report };
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    // The part that a machine reads leads to the same event, and stays unchanged.
    let part = essential(record.clone(), &reading.charts);
    assert_eq!(event(&part, None, reading), event(&record, None, reading));
    assert_eq!(essential(part.clone(), &reading.charts), part);
    match event(&record, None, reading) {
        Some(Event::Ran { values, .. }) => Ok(values),
        Some(Event::RunFailed { reason, .. }) => Err(reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_values_of_a_run_count_where_nothing_is_made_of_them() {
    let report = RunReport::new(1_000).series("time", series(&[3.0, 1.0, 2.0]));
    let all = heard(report.clone(), &reading(time(), None)).unwrap();
    assert_eq!(all["time"], [3.0, 1.0, 2.0]);
    let median = heard(report.clone(), &reading(time(), Some("median"))).unwrap();
    assert_eq!(median["time"], [2.0]);
    let sum = heard(report, &reading(Charts::All, Some("sum"))).unwrap();
    assert_eq!(sum["time"], [6.0]);
}

#[test]
fn a_sum_beyond_all_numbers_is_a_failed_run() {
    let report = RunReport::new(0).series("time", series(&[f64::MAX, f64::MAX]));
    let reason = heard(report, &reading(time(), Some("sum"))).unwrap_err();
    assert_eq!(reason, "the 2 values of \"time\" have no sum");
}

#[test]
fn values_that_are_not_finite_fail_the_run_only_where_they_count() {
    let report = RunReport::new(0)
        .value("time", 1.0)
        .value("ratio", f64::NAN);
    assert!(heard(report.clone(), &reading(time(), None)).is_ok());
    let reason = heard(report, &reading(Charts::All, None)).unwrap_err();
    assert_eq!(reason, "the run gave NaN for chart \"ratio\"");
}

#[test]
fn usage_that_is_not_finite_is_left_out() {
    let mut report = RunReport::new(0).value("time", 1.0);
    report.usage = Some(Usage {
        user: f64::INFINITY,
        ..Usage::default()
    });
    let Report::Ran(report) = accept(&time(), Report::Ran(report)) else {
        panic!("another report");
    };
    assert_eq!(report.usage, None);
}

#[test]
fn events_count_from_the_creation_of_the_job() {
    let record = |started| Record::Reported {
        action: 0,
        report: Report::Ran(RunReport::new(started).value("time", 1.0)),
    };
    let started = |record: &Record| match event(record, None, &reading(time(), None)) {
        Some(Event::Ran { started, .. }) => started,
        other => panic!("{other:?}"),
    };
    assert_eq!(started(&record(1_250)), 250);
    // A clock that was set back.
    assert_eq!(started(&record(10)), 0);
}

#[test]
fn records_of_version_1_lead_to_the_events_they_held() {
    let records = [
        r#"{"event":{"listed":{"action":0,"range":3,"count":40}}}"#,
        r#"{"event":{"listed":{"action":0,"range":3,"count":2}},"detail":{"listed":{"lower":{"main":{"repository":"r","git_hash":"a"}},"higher":{"main":{"repository":"r","git_hash":"b"}},"count":2}}}"#,
        r#"{"event":{"built":{"action":1}}}"#,
        r#"{"event":{"build_failed":{"action":1,"reason":"exit code 2"}},"detail":{"build":{"commit":{"main":{"repository":"r","git_hash":"a"}},"failure":"exit code 2","cached":false,"duration":7,"log":"x"}}}"#,
        r#"{"event":{"ran":{"action":2,"bot":"b","started":5,"values":{"time":[1.5]}}}}"#,
        r#"{"event":{"ran":{"action":2,"bot":null,"started":5,"values":{"time":[1.5]}}},"detail":{"run":{"commit":{"main":{"repository":"r","git_hash":"a"}},"index":4,"bot":null,"started":5,"chart":"time","charts":{"time":{"values":[1.5],"unit":"s"},"user":{"values":[0.2],"unit":"s"}},"exit_code":0}}}"#,
        r#"{"event":{"run_failed":{"action":2,"bot":null,"started":9,"reason":"the run gave NaN for chart \"time\""}},"detail":{"run":{"commit":{"main":{"repository":"r","git_hash":"a"}},"index":4,"started":9,"charts":{"user":{"values":[0.2]}}}}}"#,
        r#"{"event":{"gave_up":{"action":2,"reason":"bot died"}}}"#,
        r#"{"event":{"cancelled":{"action":9}}}"#,
        r#"{"event":"cancel_requested"}"#,
        r#"{"event":{"time_passed":{"elapsed":10000}}}"#,
    ];
    let list = Task::List {
        range: 3,
        lower: pinpoint_core::Position::Lower,
        higher: pinpoint_core::Position::Higher,
    };
    for charts in [time(), Charts::Deciding(None)] {
        let reading = reading(charts, None);
        for text in records {
            let old: RecordVersion1 = serde_json::from_str(text).unwrap();
            let expected = old.event.clone();
            let record = old.upgrade(1_000);
            assert_eq!(
                event(&record, Some(&list), &reading),
                Some(expected),
                "{text}"
            );
        }
    }
    let reading = reading(Charts::All, None);
    let pair = r#"{"event":{"ran_pair":{"action":2,"bot":"b","first":{"started":1,"values":{"size":[9.0],"time":[1.5]}},"second":{"started":2,"values":{},"failure":"exit code 3"}}}}"#;
    let old: RecordVersion1 = serde_json::from_str(pair).unwrap();
    let expected = old.event.clone();
    assert_eq!(event(&old.upgrade(1_000), None, &reading), Some(expected));
}
