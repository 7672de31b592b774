//! A run as the command line records it, for the tests and the benchmark.

use std::collections::BTreeMap;

use pinpoint_core::{CombinedCommit, Commit, Detail, Event, Record, RunReport, Series, Usage};

/// A run as a real benchmark gives it: four charts, what the operating system
/// says, a full hash and a log.
pub(crate) fn run(action: u64) -> Record {
    let chart = |value: f64, unit: &str| Series {
        values: vec![value],
        unit: Some(unit.into()),
        ..Series::default()
    };
    let commit = Commit {
        author: Some("Ada Example <ada@example.org>".into()),
        created: Some("2024-05-06T07:08:09Z".into()),
        subject: Some("Sort with fewer comparisons".into()),
        ..Commit::new(
            "/home/ada/src/tool",
            "0123456789abcdef0123456789abcdef01234567",
        )
    };
    let wall = 0.0512345678 + action as f64 * 1e-7;
    Record {
        event: Event::Ran {
            action,
            bot: None,
            started: action * 60,
            values: BTreeMap::from([("wall".into(), vec![wall])]),
        },
        detail: Some(Detail::Run(RunReport {
            chart: Some("wall".into()),
            commit: CombinedCommit::from(commit),
            index: 7,
            bot: None,
            started: action * 60,
            failure: None,
            charts: BTreeMap::from([
                ("wall".into(), chart(wall, "s")),
                ("user".into(), chart(0.043, "s")),
                ("system".into(), chart(0.006, "s")),
                ("peak_memory".into(), chart(13_459_456.0, "B")),
            ]),
            usage: Some(Usage {
                wall,
                user: 0.043,
                system: 0.006,
                peak_memory: 13_459_456,
            }),
            exit_code: Some(0),
            log: Some("runs/0123456789abcdef/7.log".into()),
        })),
    }
}
