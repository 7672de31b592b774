//! Journals: what goes in comes out, from one writer.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use pinpoint_backends::store::StoreError;
use pinpoint_core::{
    BuildReport, CombinedCommit, Commit, DependencyChange, Detail, Direction, Event, Followed,
    Journal, Listing, ModifiedDependency, Patch, Record, RunReport, Series, Usage,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::a_run::run;
use crate::common::{Fixture, append_all, cause, tick, ticks};
use crate::on_both;

on_both! {
    a_second_writer_is_refused_and_overwrites_nothing,
    journals_of_different_jobs_do_not_meet,
    an_append_that_was_dropped_must_be_looked_at_first,
    a_number_that_json_cannot_hold_is_refused,
    a_journal_of_another_version_is_refused,
    a_record_that_is_not_ours_is_named,
    the_file_calls_events_as_the_journal_does,
}

async fn a_second_writer_is_refused_and_overwrites_nothing(fixture: Fixture) {
    let id = fixture.job().await;
    let mut first = fixture.store.journal(&id).await.unwrap();
    let mut second = fixture.store.journal(&id).await.unwrap();
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
    // Having read what it had missed, it may go on.
    assert_eq!(second.records().await.unwrap(), ticks(4));
    append_all(&mut second, &[tick(4)]).await;
    assert_eq!(second.records().await.unwrap(), ticks(5));
}

async fn journals_of_different_jobs_do_not_meet(fixture: Fixture) {
    let (left, right) = (fixture.job().await, fixture.job().await);
    let mut left = fixture.store.journal(&left).await.unwrap();
    let mut right = fixture.store.journal(&right).await.unwrap();
    for elapsed in 0..10 {
        append_all(&mut left, &[tick(elapsed)]).await;
        append_all(&mut right, &[tick(elapsed)]).await;
    }
    assert_eq!(left.records().await.unwrap(), ticks(10));
    assert_eq!(right.records().await.unwrap(), ticks(10));
}

async fn an_append_that_was_dropped_must_be_looked_at_first(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journal(&id).await.unwrap();
    // Polled once, a record is on its way; then its writer is gone. A record
    // that has arrived by then was not broken off.
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
    let mut journal = fixture.store.journal(&id).await.unwrap();
    let spoilt: [fn(&mut Event, &mut RunReport); 4] = [
        |event, _| {
            if let Event::Ran { values, .. } = event {
                values.insert("bad".into(), vec![1.0, f64::NAN]);
            }
        },
        |_, report| {
            let values = vec![f64::INFINITY];
            report.charts.insert(
                "bad".into(),
                Series {
                    values,
                    ..Series::default()
                },
            );
        },
        |_, report| report.usage.as_mut().unwrap().user = f64::NEG_INFINITY,
        |_, report| report.usage.as_mut().unwrap().wall = f64::NAN,
    ];
    for (number, spoil) in spoilt.iter().enumerate() {
        let mut record = run(1);
        if let Some(Detail::Run(report)) = &mut record.detail {
            spoil(&mut record.event, report);
        }
        let error = cause(journal.append(&record).await.unwrap_err());
        assert!(
            matches!(error, StoreError::NotFinite { .. }),
            "{number}: {error}"
        );
    }
    append_all(&mut journal, &[run(1)]).await;
    assert_eq!(journal.records().await.unwrap(), [run(1)]);
}

async fn a_journal_of_another_version_is_refused(fixture: Fixture) {
    let id = fixture.job().await;
    fixture
        .behind_its_back("UPDATE jobs SET journal_version = 7, written_by = '9.8.7'")
        .await;
    let error = fixture.store.journal(&id).await.unwrap_err();
    assert!(matches!(error, StoreError::JournalVersion { found: 7, .. }));
    assert!(error.to_string().ends_with("use pinpoint 9.8.7"), "{error}");
    // It is still a job like any other.
    assert_eq!(
        fixture.store.get(id.as_str()).await.unwrap().written_by,
        "9.8.7"
    );
}

async fn a_record_that_is_not_ours_is_named(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journal(&id).await.unwrap();
    append_all(&mut journal, &ticks(3)).await;
    fixture
        .behind_its_back("UPDATE records SET event = '{\"built\": ' WHERE sequence = 1")
        .await;
    let error = cause(journal.records().await.unwrap_err());
    assert!(matches!(error, StoreError::Damaged { .. }));
    assert!(
        error.to_string().contains(&format!("record 1 of job {id}")),
        "{error}"
    );
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

fn event() -> BoxedStrategy<Event> {
    let charts = btree_map(text(), vec(number(), 0..4), 0..3);
    prop_oneof![
        any::<(u64, u32, u64)>().prop_map(|(action, range, count)| Event::Listed {
            action,
            range,
            count
        }),
        any::<u64>().prop_map(|action| Event::Built { action }),
        (any::<u64>(), text()).prop_map(|(action, reason)| Event::BuildFailed { action, reason }),
        (any::<u64>(), option::of(text()), any::<u64>(), charts).prop_map(
            |(action, bot, started, values)| Event::Ran {
                action,
                bot,
                started,
                values
            }
        ),
        (any::<u64>(), option::of(text()), any::<u64>(), text()).prop_map(
            |(action, bot, started, reason)| Event::RunFailed {
                action,
                bot,
                started,
                reason
            }
        ),
        (any::<u64>(), text()).prop_map(|(action, reason)| Event::GaveUp { action, reason }),
        any::<u64>().prop_map(|action| Event::Cancelled { action }),
        Just(Event::CancelRequested),
        any::<u64>().prop_map(|elapsed| Event::TimePassed { elapsed }),
    ]
    .boxed()
}

fn detail() -> BoxedStrategy<Detail> {
    let followed = prop_oneof![
        Just(Followed::Forward),
        Just(Followed::Backward),
        text().prop_map(|reason| Followed::No { reason }),
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
        },
    );
    let build = (
        commit(),
        option::of(text()),
        any::<bool>(),
        any::<u64>(),
        option::of(text()),
    )
        .prop_map(|(commit, failure, cached, duration, log)| BuildReport {
            commit,
            failure,
            cached,
            duration,
            log,
        });
    let direction = prop_oneof![
        Just(Direction::Unknown),
        Just(Direction::Up),
        Just(Direction::Down)
    ];
    let series = (vec(number(), 0..4), option::of(text()), direction).prop_map(
        |(values, unit, direction)| Series {
            values,
            unit,
            direction,
        },
    );
    let usage = (number(), number(), number(), any::<u64>()).prop_map(
        |(wall, user, system, peak_memory)| Usage {
            wall,
            user,
            system,
            peak_memory,
        },
    );
    let run = (
        (
            commit(),
            any::<u32>(),
            option::of(text()),
            any::<u64>(),
            option::of(text()),
        ),
        (
            btree_map(text(), series, 0..3),
            option::of(usage),
            any::<Option<i32>>(),
        ),
        option::of(text()),
    )
        .prop_map(
            |((commit, index, bot, started, failure), (charts, usage, exit_code), log)| RunReport {
                chart: None,
                commit,
                index,
                bot,
                started,
                failure,
                charts,
                usage,
                exit_code,
                log,
            },
        );
    prop_oneof![
        listing.prop_map(Detail::Listed),
        build.prop_map(Detail::Build),
        run.prop_map(Detail::Run),
    ]
    .boxed()
}

fn records() -> BoxedStrategy<Vec<Record>> {
    let record =
        (event(), option::of(detail())).prop_map(|(event, detail)| Record { event, detail });
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
            let mut journal = fixture.store.journal(&id).await.unwrap();
            append_all(&mut journal, &written).await;
            let mut anew = fixture.store.journal(&id).await.unwrap();
            anew.records().await.unwrap()
        });
        prop_assert_eq!(&read, &written);
        // Equality takes -0 for 0; what is printed does not.
        prop_assert_eq!(format!("{read:?}"), format!("{written:?}"));
        Ok(())
    });
    result.unwrap();
}

/// The names of events in the file are those that `serde` writes.
async fn the_file_calls_events_as_the_journal_does(fixture: Fixture) {
    let id = fixture.job().await;
    let mut journal = fixture.store.journal(&id).await.unwrap();
    let (bot, reason) = (None, String::new());
    let events = [
        Event::Listed {
            action: 1,
            range: 1,
            count: 1,
        },
        Event::Built { action: 1 },
        Event::BuildFailed {
            action: 1,
            reason: reason.clone(),
        },
        Event::Ran {
            action: 1,
            bot: bot.clone(),
            started: 0,
            values: BTreeMap::new(),
        },
        Event::RunFailed {
            action: 1,
            bot,
            started: 0,
            reason: reason.clone(),
        },
        Event::GaveUp { action: 1, reason },
        Event::Cancelled { action: 1 },
        Event::CancelRequested,
        Event::TimePassed { elapsed: 1 },
    ];
    append_all(&mut journal, &events.map(Record::from)).await;
    let rows = fixture
        .seen_behind_its_back("SELECT kind, event FROM records")
        .await;
    assert_eq!(rows.len(), 9);
    for (kind, event) in rows {
        let tag = match serde_json::from_str(&event).unwrap() {
            serde_json::Value::String(tag) => tag,
            serde_json::Value::Object(members) => members.keys().next().unwrap().clone(),
            other => panic!("{other}"),
        };
        assert_eq!(kind, tag);
    }
}
