//! Files: branches, commits that are not known yet, tries, links.

use std::collections::BTreeMap;

use pinpoint_trace_store::{Ingested, TraceStoreError};
use pinpoint_traces::{CommitName, CommitNumber, Links, Params, Query, ResultFile, Try};

use crate::common::{Fixture, all_values, commit, file, id, same};

crate::on_both! {
    a_file_that_is_there_changes_nothing,
    a_file_waits_for_its_commit,
    branches_that_are_not_listed_are_skipped,
    tries_are_apart_from_the_history,
    each_value_knows_its_file_and_links,
    a_value_that_is_no_number_is_refused,
}

const A: &str = ",arch=arm,";
const B: &str = ",arch=x86,";

async fn a_file_that_is_there_changes_nothing(fixture: Fixture) {
    let history = &fixture.history;
    let files = [file("a", 5, 1, &[(A, 1.0)]), file("b", 6, 1, &[(B, 2.0)])];
    let first = history.ingest(&files, &[]).await.unwrap();
    assert_eq!((first.taken, first.values), (2, 2));
    let twice = [files[1].clone(), files[0].clone(), files[0].clone()];
    let again = history.ingest(&twice, &[]).await.unwrap();
    assert_eq!((again.taken, again.values, again.known), (0, 0, 3));
    assert_eq!(
        all_values(history, 1, 1).await,
        [(A.into(), vec![1.0]), (B.into(), vec![2.0])]
    );
    assert_eq!(history.ingest(&[], &[]).await.unwrap(), Ingested::default());
}

fn of_hash(mut file: ResultFile, hash: &str) -> ResultFile {
    file.commit = CommitName::Hash(hash.into());
    file
}

async fn a_file_waits_for_its_commit(fixture: Fixture) {
    let history = &fixture.history;
    history.add_commits(&[commit(1)]).await.unwrap();
    let full = commit(2).hash;
    let files = [
        of_hash(file("a", 5, 0, &[(A, 1.0)]), &commit(1).hash),
        of_hash(file("b", 6, 0, &[(A, 2.0)]), &full),
        of_hash(file("c", 7, 0, &[(B, 3.0)]), &full[..8]),
        of_hash(file("d", 7, 0, &[(B, 4.0)]), "feed"),
    ];
    let ingested = history.ingest(&files, &[]).await.unwrap();
    assert_eq!(
        (ingested.taken, ingested.waiting, ingested.values),
        (1, 3, 1)
    );
    let waiting = history.waiting().await.unwrap();
    let waiting: Vec<&str> = waiting.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(waiting, ["b", "c", "d"]);
    // It is not taken twice.
    assert_eq!(history.ingest(&files, &[]).await.unwrap().known, 4);
    assert_eq!(history.add_commits(&[commit(2)]).await.unwrap(), 2);
    assert_eq!(
        history.waiting().await.unwrap(),
        [("d".into(), "feed".into())]
    );
    let values = all_values(history, 1, 2).await;
    assert!(same(&values[0].1, &[1.0, 2.0]), "{values:?}");
    assert!(same(&values[1].1, &[f64::NAN, 3.0]), "{values:?}");
}

async fn branches_that_are_not_listed_are_skipped(fixture: Fixture) {
    let history = &fixture.history;
    let of_branch = |name: &str, branch: &str| {
        let mut file = file(name, 5, 1, &[(A, 1.0)]);
        file.key = Params::new([("branch", branch)]).unwrap();
        file
    };
    let files = [
        of_branch("a", "main"),
        of_branch("b", "beta"),
        file("c", 5, 1, &[(B, 1.0)]),
    ];
    let ingested = history.ingest(&files, &["main".into()]).await.unwrap();
    assert_eq!((ingested.taken, ingested.other_branches), (2, 1));
    let ingested = history.ingest(&files, &[]).await.unwrap();
    assert_eq!((ingested.taken, ingested.known), (1, 2));
}

async fn tries_are_apart_from_the_history(fixture: Fixture) {
    let history = &fixture.history;
    let tried = |issue: &str, patchset: &str| Try {
        issue: issue.into(),
        patchset: patchset.into(),
    };
    let of_try = |name: &str, time, value, tried: Try| ResultFile {
        tried: Some(tried),
        ..file(name, time, 1, &[(A, value)])
    };
    let files = [
        of_try("late", 9, 3.0, tried("12", "2")),
        of_try("early", 5, 2.0, tried("12", "2")),
        of_try("other", 5, 1.0, tried("12", "1")),
    ];
    let ingested = history.ingest(&files, &[]).await.unwrap();
    assert_eq!((ingested.tries, ingested.values), (3, 0));
    assert_eq!(
        history.survey(&Query::default(), None).await.unwrap().count,
        0
    );
    assert_eq!(
        history.tries().await.unwrap(),
        [tried("12", "1"), tried("12", "2")]
    );
    let files = history.try_files(&tried("12", "2")).await.unwrap();
    let seen: Vec<(&str, f64)> = (files.iter())
        .map(|it| (it.file.source.path.as_str(), it.points[0].value))
        .collect();
    assert_eq!(seen, [("early", 2.0), ("late", 3.0)]);
    assert_eq!(history.try_files(&tried("13", "1")).await.unwrap(), []);
}

async fn each_value_knows_its_file_and_links(fixture: Fixture) {
    let history = &fixture.history;
    let links = |text: &str| -> Links { BTreeMap::from([("log".into(), text.into())]) };
    let mut first = file("first", 5, 1, &[(A, 1.0), (B, 2.0)]);
    first.links = links("of the file");
    first.points[0].links = links("of the value");
    let second = file("second", 6, 2, &[(A, 3.0)]);
    history.ingest(&[first, second], &[]).await.unwrap();
    for sealed in [false, true] {
        if sealed {
            assert_eq!(history.seal(0).await.unwrap(), 3);
        }
        let range = CommitNumber(0)..=CommitNumber(500);
        let values = history.sourced_values(&id(A), range.clone()).await.unwrap();
        assert_eq!(values.len(), 2);
        assert_eq!((values[0].commit, values[0].value), (CommitNumber(1), 1.0));
        assert_eq!(values[0].file.source.path, "first");
        assert_eq!(values[0].file.links, links("of the file"));
        assert_eq!(values[0].links, links("of the value"));
        assert_eq!(values[1].file.source.path, "second");
        assert_eq!(values[1].links, Links::new());
        let values = history.sourced_values(&id(B), range.clone()).await.unwrap();
        assert_eq!(values[0].links, Links::new());
        let none = history
            .sourced_values(&id(",arch=none,"), range)
            .await
            .unwrap();
        assert_eq!(none, []);
    }
}

async fn a_value_that_is_no_number_is_refused(fixture: Fixture) {
    let history = &fixture.history;
    for value in [f64::NAN, f64::INFINITY] {
        let files = [file("a", 5, 1, &[(A, 1.0)]), file("b", 5, 1, &[(B, value)])];
        let error = history.ingest(&files, &[]).await.unwrap_err();
        assert!(
            matches!(error, TraceStoreError::NotFinite { .. }),
            "{error}"
        );
    }
    assert_eq!(fixture.store.datasets().await.unwrap(), []);
}
