//! Traces, their parameters, and queries.

use pinpoint_trace_store::{Select, TraceStoreError};
use pinpoint_traces::{CommitNumber, Query, TraceId};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::common::{Backend, Fixture, commit, file, id, open, query};

crate::on_both! {
    a_query_gives_count_parameters_and_ids,
    a_limit_is_kept,
    a_dataset_that_is_not_there_is_an_error,
    what_another_process_adds_is_seen,
    commits_have_numbers_and_hashes,
}

const POINTS: [(&str, f64); 4] = [
    (",arch=arm,os=Linux,test=a,", 1.0),
    (",arch=x86,os=Linux,test=a,", 2.0),
    (",arch=x86,os=Win7,test=b,", 3.0),
    (",arch=x86_64,test=b,", 4.0),
];

async fn a_query_gives_count_parameters_and_ids(fixture: Fixture) {
    let history = &fixture.history;
    history
        .ingest(&[file("a", 0, 1, &POINTS)], &[])
        .await
        .unwrap();
    history
        .ingest(&[file("b", 0, 200, &POINTS[..1])], &[])
        .await
        .unwrap();
    let wanted = query("arch=~^x&os=!Win7");
    let survey = history.survey(&wanted, None).await.unwrap();
    assert_eq!(survey.count, 2);
    assert_eq!(survey.unknown, []);
    let params: Vec<(String, Vec<String>)> = (survey.params.iter())
        .map(|(key, values)| (key.to_owned(), values.iter().cloned().collect()))
        .collect();
    let expected = [
        ("arch", vec!["x86", "x86_64"]),
        ("os", vec!["Linux"]),
        ("test", vec!["a", "b"]),
    ];
    let expected = expected.map(|(key, values)| {
        (
            key.to_owned(),
            values.into_iter().map(str::to_owned).collect::<Vec<_>>(),
        )
    });
    assert_eq!(params, expected);
    let ids = history.ids(Select::Query(&wanted), 10).await.unwrap();
    assert_eq!(
        ids,
        [id(",arch=x86,os=Linux,test=a,"), id(",arch=x86_64,test=b,")]
    );
    // Of the tile with commit 200 alone.
    let range = CommitNumber(129)..=CommitNumber(130);
    let survey = history
        .survey(&Query::default(), Some(range))
        .await
        .unwrap();
    assert_eq!(survey.count, 1);
    let survey = history
        .survey(&query("arhc=x86&os=Win8"), None)
        .await
        .unwrap();
    let unknown: Vec<String> = survey.unknown.iter().map(ToString::to_string).collect();
    assert_eq!(survey.count, 0);
    assert_eq!(
        unknown,
        [
            "no trace has the key `arhc`; the nearest is `arch`",
            "no trace has `Win8` as `os`; the nearest is `Win7`",
        ]
    );
}

async fn a_limit_is_kept(fixture: Fixture) {
    let history = &fixture.history;
    history
        .ingest(&[file("a", 0, 1, &POINTS)], &[])
        .await
        .unwrap();
    let everything = Query::default();
    let error = history
        .ids(Select::Query(&everything), 3)
        .await
        .unwrap_err();
    assert!(
        matches!(error, TraceStoreError::TooMany { found: 4, limit: 3 }),
        "{error}"
    );
    assert_eq!(
        history
            .ids(Select::Query(&everything), 4)
            .await
            .unwrap()
            .len(),
        4
    );
    let some = [id(",arch=arm,os=Linux,test=a,"), id(",arch=none,")];
    assert_eq!(history.ids(Select::Ids(&some), 4).await.unwrap(), some[..1]);
}

async fn a_dataset_that_is_not_there_is_an_error(fixture: Fixture) {
    let error = fixture.history.tiles().await.unwrap_err();
    assert!(matches!(error, TraceStoreError::NoDataset(_)), "{error}");
    assert_eq!(fixture.store.datasets().await.unwrap(), []);
    let other = fixture.store.history(&"android".parse().unwrap());
    fixture
        .history
        .ingest(&[file("a", 0, 1, &POINTS)], &[])
        .await
        .unwrap();
    other
        .ingest(&[file("a", 0, 1, &POINTS[..1])], &[])
        .await
        .unwrap();
    let names: Vec<String> = (fixture.store.datasets().await.unwrap().iter())
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["android", "nano"]);
    assert_eq!(
        other.survey(&Query::default(), None).await.unwrap().count,
        1
    );
    assert_eq!(
        fixture
            .history
            .survey(&Query::default(), None)
            .await
            .unwrap()
            .count,
        4
    );
}

async fn what_another_process_adds_is_seen(fixture: Fixture) {
    let history = &fixture.history;
    history
        .ingest(&[file("a", 0, 1, &POINTS[..2])], &[])
        .await
        .unwrap();
    assert_eq!(
        history.survey(&query("test=b"), None).await.unwrap().count,
        0
    );
    // A store of its own has a memory of its own.
    let other = open(&fixture.place()).await.history(history.dataset());
    other
        .ingest(&[file("b", 0, 1, &POINTS[2..])], &[])
        .await
        .unwrap();
    let survey = history.survey(&query("test=b"), None).await.unwrap();
    assert_eq!(survey.count, 2);
    assert_eq!(
        history
            .survey(&query("os=!Win7"), None)
            .await
            .unwrap()
            .count,
        3
    );
}

async fn commits_have_numbers_and_hashes(fixture: Fixture) {
    let history = &fixture.history;
    let commits = [commit(3), commit(4), commit(5)];
    history.add_commits(&commits).await.unwrap();
    history.add_commits(&commits[1..]).await.unwrap();
    let range = CommitNumber(4)..=CommitNumber(9);
    assert_eq!(history.commits(range).await.unwrap(), commits[1..]);
    assert_eq!(
        history.newest_commit().await.unwrap().as_ref(),
        Some(&commits[2])
    );
    let found = async |name: &str| {
        let name = pinpoint_traces::CommitName::read(name).unwrap();
        history.find_commit(&name).await.unwrap().map(|it| it.0)
    };
    assert_eq!(found("00000004").await, Some(4));
    // It begins three hashes.
    assert_eq!(found("0000000").await, None);
    assert_eq!(found("abcd").await, None);
    assert_eq!(found("CP:77").await, Some(77));
    for (number, like) in [(9, 4), (4, 9)] {
        let mut other = commit(like);
        other.number = CommitNumber(number);
        let error = history.add_commits(&[commit(8), other]).await.unwrap_err();
        assert!(
            matches!(error, TraceStoreError::OtherCommit { .. }),
            "{error}"
        );
    }
    assert_eq!(
        history.newest_commit().await.unwrap().as_ref(),
        Some(&commits[2])
    );
}

/// The store's queries against those of each id alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_match_what_the_slow_way_matches() {
    let fixture = Fixture::new(Backend::Sqlite).await;
    let mut ids: Vec<TraceId> = Vec::new();
    for number in 0..700 {
        let mut text = String::from(",");
        if number % 3 > 0 {
            text += &format!("arch=a{},", number % 7);
        }
        if number % 5 > 0 {
            text += &format!("os=o{},", number % 11);
        }
        // More values than one byte can number.
        text += &format!("test=t{number},");
        ids.push(id(&text));
    }
    let points: Vec<(&str, f64)> = ids.iter().map(|it| (it.as_str(), 1.0)).collect();
    for part in points.chunks(97) {
        let path = format!("f{}", part.len());
        fixture
            .history
            .ingest(&[file(&path, 0, 1, part)], &[])
            .await
            .unwrap();
    }
    ids.sort_unstable();
    let condition = |key: &'static str, letter: &'static str| {
        let value = prop_oneof![
            (0..12_u32).prop_map(move |it| format!("{letter}{it}")),
            (0..12_u32).prop_map(move |it| format!("!{letter}{it}")),
            (0..9_u32).prop_map(|it| format!("~{it}$")),
            (0..9_u32).prop_map(|it| format!("!~{it}")),
            Just("*".to_owned()),
        ];
        value.prop_map(move |value| format!("{key}={value}"))
    };
    let conditions = prop_oneof![
        condition("arch", "a"),
        condition("os", "o"),
        condition("test", "t"),
        condition("none", "n"),
    ];
    let conditions = prop::collection::vec(conditions, 0..5);
    let mut runner = TestRunner::deterministic();
    for _ in 0..60 {
        let text = conditions
            .new_tree(&mut runner)
            .unwrap()
            .current()
            .join("&");
        let query = query(&text);
        let expected: Vec<TraceId> = (ids.iter().filter(|it| query.matches_id(it)))
            .cloned()
            .collect();
        let select = Select::Query(&query);
        let found = fixture.history.ids(select, 1000).await.unwrap();
        assert_eq!(found, expected, "{text}");
        let survey = fixture.history.survey(&query, None).await.unwrap();
        assert_eq!(survey.count, expected.len() as u64);
        assert_eq!(survey.params, expected.iter().collect(), "{text}");
    }
}
