//! A run as recorded by the command line, for the tests and the benchmark.

use pinpoint_core::{Record, Report, RunReport, Series, Usage};

/// A run as of a real benchmark: four charts, the operating system's measurements, and a log.
pub(crate) fn run(action: u64) -> Record {
    let report = Report::Ran(report(action));
    Record::Reported { action, report }
}

pub(crate) fn report(action: u64) -> RunReport {
    let chart = |value: f64, unit: &str| Series {
        values: vec![value],
        unit: Some(unit.into()),
        ..Series::default()
    };
    let wall = 0.0512345678 + action as f64 * 1e-7;
    let mut report = RunReport::new(1_717_986_918_401 + action * 60)
        .series("wall", chart(wall, "s"))
        .series("user", chart(0.043, "s"))
        .series("system", chart(0.006, "s"))
        .series("peak_memory", chart(13_459_456.0, "B"));
    report.chart = Some("wall".into());
    report.usage = Some(Usage {
        wall,
        user: 0.043,
        system: 0.006,
        peak_memory: 13_459_456,
        ..Usage::default()
    });
    report.exit_code = Some(0);
    report.log = Some("runs/0123456789abcdef0123456789abcdef01234567/7.log".into());
    report
}
