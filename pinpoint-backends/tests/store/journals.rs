//! Journals: all records come back, from one writer.

use futures_util::FutureExt;
use pinpoint_backends::store::StoreError;
use pinpoint_core::{
    Artifact, BuildReport, CombinedCommit, Commit, DependencyChange, Direction, Followed, JobKey,
    Journal, Key, Listing, Measure, Metric, ModifiedDependency, PairReport, Patch, Record, Report,
    RunReport, Series, Ticket, Usage,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::a_run::{report, run};
use crate::common::{Fixture, a_commit, append_all, built, cause, run_failed, tick, ticks};
use crate::on_both;

on_both! {
    a_second_writer_is_refused_and_overwrites_nothing,
    journals_of_different_jobs_do_not_meet,
    an_append_that_was_dropped_must_be_looked_at_first,
    a_number_that_json_cannot_hold_is_refused,
    a_journal_of_another_version_is_refused,
    a_record_that_is_not_ours_is_named,
    records_are_counted_under_their_names,
    a_journal_knows_its_job,
}

async fn a_second_writer_is_refused_and_overwrites_nothing(fixture: Fixture) {
    let id = fixture.job().await;
    let mut first = fixture.store.journals().open(&id).await.unwrap();
    let mut second = fixture.store.journals().open(&id).await.unwrap();
    append_all(&mut first, &ticks(2)).await;
    assert_eq!(second.records().await.unwrap(), ticks(2));
    append_all(&mut first, &[tick(2)]).await;

    for _ in 0..2 {
        match cause(second.append(&tick(99)).await.unwrap_err()) {
            StoreError::SecondWriter { sequence, .. } => assert_eq!(sequence, 2),
            other => panic!("{other}"),
        }
    }
    append_all(&mut first, &[tick(3)]).await;
    assert_eq!(first.records().await.unwrap(), ticks(4));
    // After reading the records that it had missed, it may continue.
    assert_eq!(second.records().await.unwrap(), ticks(4));
    append_all(&mut second, &[tick(4)]).await;
    assert_eq!(second.records().await.unwrap(), ticks(5));
}

async fn journals_of_different_jobs_do_not_meet(fixture: Fixture) {
    let (left, right) = (fixture.job().await, fixture.job().await);
    let mut left = fixture.store.journals().open(&left).await.unwrap();
    let mut right = fixture.store.journals().open(&right).await.unwrap();
    for elapsed in 0..10 {
        append_all(&mut left, &[tick(elapsed)]).await;
        append_all(&mut right, &[tick(elapsed)]).await;
    }
    assert_eq!(left.records().await.unwrap(), ticks(10));
    assert_eq!(right.records().await.unwrap(), ticks(10));
}

async fn an_append_that_was_dropped_must_be_looked_at_first(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    // Polled once, a record is on its way; then its writer is gone. A record that has arrived by
    // then was not interrupted.
    append_all(&mut journal, &[tick(0)]).await;
    let mut whole = 1;
    while journal.append(&tick(whole)).now_or_never().is_some() {
        whole += 1;
    }

    let error = cause(journal.append(&tick(99)).await.unwrap_err());
    assert!(matches!(error, StoreError::BrokenOff { .. }), "{error}");
    let seen = journal.records().await.unwrap();
    assert!(seen == ticks(whole) || seen == ticks(whole + 1));
    append_all(&mut journal, &[tick(seen.len() as u64)]).await;
    assert_eq!(
        journal.records().await.unwrap(),
        ticks(seen.len() as u64 + 1)
    );
}

async fn a_number_that_json_cannot_hold_is_refused(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    let spoilt: [fn(&mut RunReport); 4] = [
        |report| report.charts.get_mut("user").unwrap().values.push(f64::NAN),
        |report| {
            let values = vec![f64::INFINITY];
            report.charts.insert(
                "bad".into(),
                Series {
                    values,
                    ..Series::default()
                },
            );
        },
        |report| report.usage.as_mut().unwrap().user = f64::NEG_INFINITY,
        |report| report.usage.as_mut().unwrap().wall = f64::NAN,
    ];
    for (number, spoil) in spoilt.iter().enumerate() {
        let mut spoilt = report(1);
        spoil(&mut spoilt);
        let pair = |first: &RunReport, second: &RunReport| {
            Report::RanPair(Box::new(PairReport {
                first: first.clone(),
                second: second.clone(),
            }))
        };
        for report in [
            pair(&spoilt, &report(1)),
            pair(&report(1), &spoilt),
            Report::Ran(spoilt),
        ] {
            let record = Record::Reported { action: 1, report };
            let error = cause(journal.append(&record).await.unwrap_err());
            assert!(
                matches!(error, StoreError::NotFinite { .. }),
                "{number}: {error}"
            );
        }
    }
    append_all(&mut journal, &[run(1)]).await;
    assert_eq!(journal.records().await.unwrap(), [run(1)]);
}

async fn a_journal_of_another_version_is_refused(fixture: Fixture) {
    let id = fixture.job().await;
    fixture
        .behind_its_back("UPDATE jobs SET journal_version = 7, written_by = '9.8.7'")
        .await;
    let error = fixture.store.journals().open(&id).await.unwrap_err();
    assert!(matches!(error, StoreError::JournalVersion { found: 7, .. }));
    assert!(error.to_string().ends_with("use pinpoint 9.8.7"), "{error}");
    // It is still an ordinary job.
    assert_eq!(
        fixture.store.jobs().get(&id).await.unwrap().written_by,
        "9.8.7"
    );
}

async fn a_record_that_is_not_ours_is_named(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &ticks(3)).await;
    // Of either version, and the error describes the row.
    for (event, reason) in [
        (r#"{"built": "#, "EOF"),
        (r#"{"ran":{"action":1}}"#, "missing field `started`"),
        (r#"{"reported":{"action":1}}"#, "missing field `report`"),
        (
            r#"{"reported":{"action":1,"report":{"run":7}}}"#,
            "variant `run`",
        ),
        (r#"{"flown":{"action":1}}"#, "variant `flown`"),
    ] {
        let sql = format!("UPDATE records SET event = '{event}' WHERE sequence = 1");
        fixture.behind_its_back(&sql).await;
        let error = journal.records().await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("record 1 of job {id}")), "{text}");
        match error {
            StoreError::Damaged { source, .. } => {
                assert!(source.to_string().contains(reason), "{source}");
            }
            other => panic!("{other}"),
        }
    }
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![
        "[a-z/ ]{0,12}",
        any::<String>(),
        Just("\u{0}'\"\\\n".to_owned())
    ]
    .boxed()
}

fn number() -> BoxedStrategy<f64> {
    use proptest::num::f64 as kinds;
    prop_oneof![
        kinds::NORMAL | kinds::SUBNORMAL | kinds::ZERO | kinds::POSITIVE | kinds::NEGATIVE,
        Just(-0.0),
        Just(f64::MAX),
        Just(5e-324),
    ]
    .boxed()
}

fn commit() -> BoxedStrategy<CombinedCommit> {
    let single = || {
        (
            text(),
            text(),
            vec(text(), 0..2),
            option::of(text()),
            option::of(text()),
            option::of(text()),
        )
            .prop_map(
                |(repository, git_hash, merged, author, created, subject)| Commit {
                    repository,
                    git_hash,
                    merged,
                    author,
                    created,
                    subject,
                },
            )
    };
    let dependency =
        (single(), text()).prop_map(|(commit, named_by)| ModifiedDependency { commit, named_by });
    let patch = (text(), text()).prop_map(|(name, sha256)| Patch::File { name, sha256 });
    (single(), vec(dependency, 0..3), option::of(patch))
        .prop_map(|(main, modified_deps, patch)| CombinedCommit {
            main,
            modified_deps,
            patch,
        })
        .boxed()
}

fn report_of_any_kind() -> BoxedStrategy<Report> {
    let followed = prop_oneof![
        Just(Followed::Forward),
        Just(Followed::Backward),
        (text(), any::<bool>()).prop_map(|(reason, unavailable)| Followed::No {
            reason,
            unavailable
        }),
    ];
    let change = (
        text(),
        text(),
        option::of(text()),
        option::of(text()),
        followed,
    )
        .prop_map(
            |(path, repository, before, after, followed)| DependencyChange {
                path,
                repository,
                before,
                after,
                followed,
            },
        );
    let listing = (commit(), commit(), any::<u64>(), vec(change, 0..3)).prop_map(
        |(lower, higher, count, changes)| Listing {
            lower,
            higher,
            count,
            changes,
            merge_base: None,
        },
    );
    let artifact = prop_oneof![
        text().prop_map(Artifact::Directory),
        text().prop_map(Artifact::Digest),
        text().prop_map(Artifact::Handle),
    ];
    let build = (
        commit(),
        option::of(text()),
        option::of(artifact),
        any::<bool>(),
        any::<u64>(),
        option::of(text()),
    )
        .prop_map(|(commit, failure, artifact, cached, duration, log)| {
            let mut report = BuildReport::built(commit);
            report.failure = failure;
            report.artifact = artifact;
            report.cached = cached;
            report.duration = duration;
            report.log = log;
            report
        });
    let direction = prop_oneof![
        Just(Direction::Unknown),
        Just(Direction::Up),
        Just(Direction::Down)
    ]
    .boxed();
    let measure = (option::of(text()), direction.clone())
        .prop_map(|(unit, direction)| Measure { unit, direction });
    let metric = (
        text(),
        option::of(text()),
        option::of(text()),
        direction.clone(),
        btree_map(text(), measure, 0..3),
    )
        .prop_map(|(format, chart, unit, direction, charts)| Metric {
            format,
            chart,
            unit,
            direction,
            charts,
            source: None,
            remarks: Vec::new(),
        });
    let series = (vec(number(), 0..4), option::of(text()), direction).prop_map(
        |(values, unit, direction)| Series {
            values,
            unit,
            direction,
        },
    );
    let usage = (number(), number(), number(), any::<(u64, Option<u64>)>()).prop_map(
        |(wall, user, system, (peak_memory, instructions))| Usage {
            wall,
            user,
            system,
            peak_memory,
            instructions,
        },
    );
    let run = (
        (
            option::of(text()),
            option::of(text()),
            any::<u64>(),
            option::of(text()),
        ),
        (
            btree_map(text(), series, 0..3),
            option::of(usage),
            any::<Option<i32>>(),
        ),
        (option::of(text()), vec(text(), 0..2)),
    )
        .prop_map(
            |((chart, bot, started, failure), (charts, usage, exit_code), (log, warnings))| {
                let mut report = RunReport::new(started);
                report.chart = chart;
                report.bot = bot;
                report.failure = failure;
                report.charts = charts;
                report.usage = usage;
                report.exit_code = exit_code;
                report.log = log;
                report.warnings = warnings;
                report
            },
        )
        .boxed();
    let pair = (run.clone(), run.clone()).prop_map(|(first, second)| PairReport { first, second });
    prop_oneof![
        metric.prop_map(Report::Metric),
        listing.prop_map(Report::Listed),
        build.prop_map(Report::Built),
        run.prop_map(Report::Ran),
        pair.prop_map(|pair| Report::RanPair(Box::new(pair))),
    ]
    .boxed()
}

fn records() -> BoxedStrategy<Vec<Record>> {
    let ticket = (text(), any::<u64>(), option::of(text())).prop_map(|(job, action, handle)| {
        let key = Key { job, action };
        Ticket { key, handle }
    });
    let record = prop_oneof![
        1 => (any::<u64>(), ticket).prop_map(|(action, ticket)| Record::Started { action, ticket }),
        6 => (any::<u64>(), report_of_any_kind())
            .prop_map(|(action, report)| Record::Reported { action, report }),
        1 => (any::<u64>(), text()).prop_map(|(action, reason)| Record::GaveUp { action, reason }),
        1 => any::<u64>().prop_map(|action| Record::Canceled { action }),
        1 => Just(Record::CancelRequested),
        1 => any::<u64>().prop_map(|elapsed| Record::TimePassed { elapsed }),
    ];
    vec(record, 0..12).boxed()
}

#[test]
fn records_come_back_as_they_went_in() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let fixture = runtime.block_on(Fixture::new());
    let mut runner = proptest::test_runner::TestRunner::default();
    let result = runner.run(&records(), |written| {
        let read = runtime.block_on(async {
            let id = fixture.job().await;
            let mut journal = fixture.store.journals().open(&id).await.unwrap();
            append_all(&mut journal, &written).await;
            let mut anew = fixture.store.journals().open(&id).await.unwrap();
            anew.records().await.unwrap()
        });
        prop_assert_eq!(&read, &written);
        // Equality takes -0 for 0; printing does not.
        prop_assert_eq!(format!("{read:?}"), format!("{written:?}"));
        Ok(())
    });
    result.unwrap();
}

/// Version 1 used these names, and the counts of runs and builds depend on them.
async fn records_are_counted_under_their_names(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    let reported = |report| Record::Reported { action: 1, report };
    let reason = String::new();
    let ticket = Ticket::durable(
        Key {
            job: id.to_string(),
            action: 1,
        },
        "build 7",
    );
    let listing = Listing {
        lower: a_commit(),
        higher: a_commit(),
        count: 1,
        changes: Vec::new(),
        merge_base: None,
    };
    let pair = PairReport {
        first: report(1),
        second: RunReport::failed(0, "exit code 1"),
    };
    let named = [
        ("started", Record::Started { action: 1, ticket }),
        ("metric", reported(Report::Metric(Metric::default()))),
        ("listed", reported(Report::Listed(listing))),
        ("built", built(1)),
        (
            "build_failed",
            reported(Report::Built(BuildReport::failed(a_commit(), "no"))),
        ),
        ("ran", run(1)),
        ("run_failed", run_failed(1)),
        ("ran_pair", reported(Report::RanPair(Box::new(pair)))),
        ("gave_up", Record::GaveUp { action: 1, reason }),
        ("cancelled", Record::Canceled { action: 1 }),
        ("time_passed", tick(1)),
        ("cancel_requested", Record::CancelRequested),
    ];
    let (names, records): (Vec<_>, Vec<_>) = named.into_iter().unzip();
    append_all(&mut journal, &records).await;
    let rows = fixture
        .seen_behind_its_back("SELECT kind, event FROM records ORDER BY sequence")
        .await;
    let kinds: Vec<&str> = rows.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, names);
    let counts = async || {
        let job = fixture.store.jobs().get(&id).await.unwrap();
        (job.runs, job.builds)
    };
    assert_eq!(counts().await, (4, 1));
    // Counted again.
    fixture.store.cancellations().withdraw(&id).await.unwrap();
    assert_eq!(counts().await, (4, 1));
}

async fn a_journal_knows_its_job(fixture: Fixture) {
    let id = fixture.job().await;
    let job = fixture.store.jobs().get(&id).await.unwrap();
    let key = JobKey {
        id: id.to_string(),
        created: job.created as u64,
    };
    let journal = fixture.store.journals().open(&id).await.unwrap();
    assert_eq!(journal.job(), key);
    let time = std::time::Duration::from_secs(60);
    let lease = fixture
        .store
        .leases()
        .grant(&id, "ada", time)
        .await
        .unwrap();
    let journal = fixture.store.journals().open_leased(&lease).await.unwrap();
    assert_eq!(journal.job(), key);
}
