//! Files that are new, old, foreign, damaged or cut off.

use std::fs;
use std::path::Path;

use pinpoint_backends::sqlite::{SCHEMA_VERSION, Store, StoreError};
use pinpoint_core::Journal;
use sqlx::Connection;

use crate::common::{Fixture, append_all, cause, raw, run, ticks};

/// Opening is refused, and the file stays as it is.
async fn refused(state_dir: &Path) -> StoreError {
    let file = state_dir.join("pinpoint.db");
    let before = fs::read(&file).unwrap();
    let error = Store::open(state_dir).await.unwrap_err();
    assert!(fs::read(&file).unwrap() == before, "the file was changed");
    assert!(!state_dir.join("pinpoint.db-wal").exists());
    assert!(
        error.to_string().contains(&file.display().to_string()),
        "{error}"
    );
    error
}

#[tokio::test]
async fn the_directory_is_created_and_the_log_is_on() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("a/b");
    let store = Store::open(&deep).await.unwrap();
    let mut connection = raw(store.path()).await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn a_directory_that_cannot_be_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file.join("state")).await.unwrap_err();
    assert!(matches!(error, StoreError::Directory { .. }));
    assert!(error.to_string().contains("--state-dir"), "{error}");

    fs::create_dir_all(directory.path().join("pinpoint.db")).unwrap();
    let error = Store::open(directory.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::CannotOpen { .. }), "{error}");
}

#[tokio::test]
async fn garbage_is_refused_and_left_alone() {
    for garbage in [
        vec![0x5a; 10_000],
        b"SQLite format 3\0 and then nothing".to_vec(),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("pinpoint.db"), &garbage).unwrap();
        let error = refused(directory.path()).await;
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }
}

#[tokio::test]
async fn an_empty_file_is_a_creation_that_was_broken_off() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("pinpoint.db"), "").unwrap();
    let store = Store::open(directory.path()).await.unwrap();
    assert_eq!(store.list(None, 1).await.unwrap(), []);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    for statement in ["CREATE TABLE jobs (id)", "PRAGMA user_version = 1"] {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = raw(&directory.path().join("pinpoint.db")).await;
        sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        let error = refused(directory.path()).await;
        assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let Fixture { directory, store } = Fixture::new().await;
    let mut connection = raw(store.path()).await;
    store.close().await;
    sqlx::query("PRAGMA user_version = 99")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    match refused(directory.path()).await {
        StoreError::Newer {
            found, supported, ..
        } => {
            assert_eq!((found, supported), (99, SCHEMA_VERSION));
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_file_that_is_cut_off_is_an_error() {
    let Fixture { directory, store } = Fixture::new().await;
    let id = store.create(&crate::common::new_job("cut")).await.unwrap();
    let mut journal = store.journal(&id).await.unwrap();
    append_all(&mut journal, &(0..200).map(run).collect::<Vec<_>>()).await;
    drop(journal);
    store.close().await;
    wait_for_the_last_connection(directory.path());

    let path = directory.path().join("pinpoint.db");
    let whole = fs::read(&path).unwrap();
    for share in 1..10 {
        fs::write(&path, &whole[..whole.len() * share / 10]).unwrap();
        let read = async {
            let store = Store::open(directory.path()).await?;
            store.journal(&id).await?.records().await.map_err(cause)
        };
        let error = read.await.unwrap_err();
        assert!(
            matches!(error, StoreError::Corrupt { .. }),
            "{share}: {error}"
        );
    }
}

/// A dropped journal closes its connection in a thread of its own; the last
/// one to close brings the log into the file and removes it.
fn wait_for_the_last_connection(state_dir: &Path) {
    for _ in 0..1000 {
        if !state_dir.join("pinpoint.db-wal").exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("a connection was left open");
}

/// A loss of power leaves any part of the log.
#[tokio::test]
async fn a_log_that_is_cut_off_costs_only_its_end() {
    let fixture = Fixture::new().await;
    let id = fixture.job().await;
    let mut journal = fixture.store.journal(&id).await.unwrap();
    append_all(&mut journal, &ticks(40)).await;
    let from = fixture.directory.path();
    let log = fs::read(from.join("pinpoint.db-wal")).unwrap();

    let mut lengths = Vec::new();
    for end in (0..=log.len()).rev().step_by(log.len() / 60) {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(from.join("pinpoint.db"), copy.path().join("pinpoint.db")).unwrap();
        fs::write(copy.path().join("pinpoint.db-wal"), &log[..end]).unwrap();
        let store = Store::open(copy.path()).await.unwrap();
        // Cut off before the job was there at all, or even the tables.
        let Ok(mut journal) = store.journal(&id).await else {
            continue;
        };
        let records = journal.records().await.unwrap();
        assert_eq!(records, ticks(records.len() as u64));
        lengths.push(records.len());
        // And it goes on from there.
        append_all(&mut journal, &[run(1)]).await;
    }
    assert_eq!(lengths[0], 40);
    assert!(lengths.is_sorted_by(|longer, shorter| longer >= shorter));
    assert!(lengths.len() > 20 && lengths.contains(&0));
}
