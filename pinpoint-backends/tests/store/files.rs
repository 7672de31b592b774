//! Files that are new, old, foreign, damaged or cut off.

use std::fs;
use std::path::Path;

use pinpoint_backends::store::{JobStore, ListOrder, PagePosition, SCHEMA_VERSION, StoreError};
use pinpoint_core::{JobState, Journal, Record, Report, RunReport};
use sqlx::Connection;

use crate::a_run::run;
use crate::common::{
    BACK_TO_2, BACK_TO_3, BACK_TO_5, BACK_TO_6, Fixture, all, append_all, is_of_this_version, raw,
    ticks,
};

/// Opening is rejected, and the file stays unchanged.
async fn refused(state_dir: &Path) -> StoreError {
    let file = state_dir.join("pinpoint.db");
    let before = fs::read(&file).unwrap();
    let error = JobStore::open(state_dir).await.unwrap_err();
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
    let _store = JobStore::open(&deep).await.unwrap();
    let mut connection = raw(&deep.join("pinpoint.db")).await;
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
    let error = JobStore::open(&file.join("state")).await.unwrap_err();
    assert!(matches!(error, StoreError::Directory { .. }));

    fs::create_dir_all(directory.path().join("pinpoint.db")).unwrap();
    let error = JobStore::open(directory.path()).await.unwrap_err();
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
    let store = JobStore::open(directory.path()).await.unwrap();
    assert_eq!(all(&store).await, []);
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
    let fixture = Fixture::new().await;
    let (directory, store) = (&fixture.directory, fixture.store.clone());
    let mut connection = raw(&fixture.file()).await;
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
    let fixture = Fixture::new().await;
    let (directory, store) = (&fixture.directory, fixture.store.clone());
    let id = store
        .jobs()
        .create(&crate::common::new_job("cut"))
        .await
        .unwrap();
    let mut journal = store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &(0..200).map(run).collect::<Vec<_>>()).await;
    drop(journal);
    store.close().await;
    wait_for_the_last_connection(directory.path());

    let path = directory.path().join("pinpoint.db");
    let whole = fs::read(&path).unwrap();
    for share in 1..10 {
        fs::write(&path, &whole[..whole.len() * share / 10]).unwrap();
        let read = async {
            let store = JobStore::open(directory.path()).await?;
            store.journals().open(&id).await?.records().await
        };
        let error = read.await.unwrap_err();
        assert!(
            matches!(error, StoreError::Corrupt { .. }),
            "{share}: {error}"
        );
    }
}

/// A dropped journal closes its connection in its own thread; the last one to close brings the log
/// into the file and removes it.
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
    let mut journal = fixture.store.journals().open(&id).await.unwrap();
    append_all(&mut journal, &ticks(40)).await;
    let from = fixture.directory.path();
    let log = fs::read(from.join("pinpoint.db-wal")).unwrap();

    let mut lengths = Vec::new();
    for end in (0..=log.len()).rev().step_by(log.len() / 60) {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(from.join("pinpoint.db"), copy.path().join("pinpoint.db")).unwrap();
        fs::write(copy.path().join("pinpoint.db-wal"), &log[..end]).unwrap();
        let store = JobStore::open(copy.path()).await.unwrap();
        // Cut off before the job existed, or even the tables.
        let Ok(mut journal) = store.journals().open(&id).await else {
            continue;
        };
        let records = journal.records().await.unwrap();
        assert_eq!(records, ticks(records.len() as u64));
        lengths.push(records.len());
        // And it continues from there.
        append_all(&mut journal, &[run(1)]).await;
    }
    assert_eq!(lengths[0], 40);
    assert!(lengths.is_sorted_by(|longer, shorter| longer >= shorter));
    assert!(lengths.len() > 20 && lengths.contains(&0));
}

/// A file as version 1 left it, with jobs of every state.
async fn of_version_1(state_dir: &Path) {
    let mut connection = raw(&state_dir.join("pinpoint.db")).await;
    sqlx::raw_sql("PRAGMA journal_mode = WAL")
        .execute(&mut connection)
        .await
        .unwrap();
    for sql in [
        include_str!("version-1.sql"),
        include_str!("version-1-jobs.sql"),
    ] {
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_file_of_version_1_becomes_one_of_this_version() {
    let directory = tempfile::tempdir().unwrap();
    of_version_1(directory.path()).await;
    let store = JobStore::open(directory.path()).await.unwrap();
    let jobs = all(&store).await;
    let told: Vec<_> = jobs
        .iter()
        .map(|job| {
            (
                &*job.title,
                job.state,
                &*job.benchmark,
                job.runs,
                job.builds,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                "pinpoint pairwise v1 v2 -- true",
                JobState::Running,
                "",
                2,
                0
            ),
            (
                "pinpoint bisect v1 v2 -- ./b/bench.sh",
                JobState::Failed,
                "bench.sh",
                1,
                0
            ),
            (
                "pinpoint bisect v1 v2 -- make",
                JobState::Completed,
                "make",
                2,
                1
            ),
        ]
    );
    let job = store
        .jobs()
        .find(&"0190000000017".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(
        job.spec,
        serde_json::json!({ "seed": 18446744073709551615_u64 })
    );
    assert_eq!(
        job.outcome,
        Some(serde_json::json!({ "status": "culprit_found" }))
    );
    assert_eq!(
        (job.created, job.updated, job.duration),
        (1717986918401, 1717986918500, None)
    );
    assert_eq!(
        store
            .jobs()
            .find(&"01900000000270008000000000000002".parse().unwrap())
            .await
            .unwrap()
            .error
            .as_deref(),
        Some("exit code 3")
    );
    let mut journal = store.journals().open(&job.id).await.unwrap();
    let records = journal.records().await.unwrap();
    // Its counts started at the beginning of the job.
    let began = 1717986918401;
    let ran = |action, report| Record::Reported {
        action,
        report: Report::Ran(report),
    };
    assert_eq!(records.len(), 3);
    assert_eq!(records[1], ran(2, RunReport::failed(began, "x")));
    assert_eq!(records[2], ran(3, RunReport::new(began).value("v", 0.1)));
    append_all(&mut journal, &[run(9)]).await;
    let words = pinpoint_backends::store::JobFilter {
        text: Some("bench exit".into()),
        ..Default::default()
    };
    assert_eq!(crate::common::found(&store, words).await, jobs[1..2]);
    // New jobs come before the old ones, and pages go through all of them.
    let new = store
        .jobs()
        .create(&crate::common::new_job("new"))
        .await
        .unwrap();
    let list = all(&store).await;
    assert_eq!((&list[0].id, &list[1].id), (&new, &jobs[0].id));
    for (newer, older) in list.iter().zip(&list[1..]) {
        let after = PagePosition::After(newer.id.clone().into());
        let page = (store
            .jobs()
            .list(&Default::default(), ListOrder::default(), &after, 1))
        .await
        .unwrap();
        assert_eq!(page.jobs[0].id, older.id);
    }
    store.close().await;

    // The same tables as in a new file.
    let new = Fixture::new().await;
    let schema = "SELECT name, coalesce(sql, '') FROM sqlite_schema \
                  WHERE name NOT LIKE 'jobs_words_%' ORDER BY name";
    let mut migrated = raw(&directory.path().join("pinpoint.db")).await;
    let migrated: Vec<(String, String)> = sqlx::query_as(schema)
        .fetch_all(&mut migrated)
        .await
        .unwrap();
    assert_eq!(migrated, new.seen_behind_its_back(schema).await);
}

#[tokio::test]
async fn a_file_of_version_2_becomes_one_of_this_version() {
    let fixture = Fixture::new().await;
    let id = fixture.job().await;
    let schema = "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
    let before = fixture.seen_behind_its_back(schema).await;
    let back = BACK_TO_6.into_iter().chain(BACK_TO_5).chain(BACK_TO_3);
    for sql in back.chain(BACK_TO_2) {
        fixture.behind_its_back(sql).await;
    }
    fixture.behind_its_back("PRAGMA user_version = 2").await;
    let store = JobStore::open(fixture.directory.path()).await.unwrap();
    assert_eq!(all(&store).await[0].id, id);
    assert_eq!(store.workers().list().await.unwrap(), []);
    assert_eq!(fixture.seen_behind_its_back(schema).await, before);
}

#[tokio::test]
async fn a_file_of_version_3_becomes_one_of_this_version() {
    let fixture = Fixture::new().await;
    let id = fixture.job().await;
    let schema = "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
    let before = fixture.seen_behind_its_back(schema).await;
    for sql in BACK_TO_6.into_iter().chain(BACK_TO_5).chain(BACK_TO_3) {
        fixture.behind_its_back(sql).await;
    }
    fixture
        .behind_its_back("UPDATE jobs SET cancel_requested = 1")
        .await;
    fixture.behind_its_back("PRAGMA user_version = 3").await;
    let store = JobStore::open(fixture.directory.path()).await.unwrap();
    is_of_this_version(&store, &id).await;
    assert!(store.cancellations().is_requested(&id).await.unwrap());
    assert_eq!(fixture.seen_behind_its_back(schema).await, before);
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    of_version_1(directory.path()).await;
    let mut connection = raw(&directory.path().join("pinpoint.db")).await;
    // In the way of a table of version 2.
    sqlx::query("CREATE TABLE jobs_words (x)")
        .execute(&mut connection)
        .await
        .unwrap();
    let kept = "SELECT name FROM sqlite_schema ORDER BY name";
    let before: Vec<String> = sqlx::query_scalar(kept)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    JobStore::open(directory.path()).await.unwrap_err();
    let after: Vec<String> = sqlx::query_scalar(kept)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(before, after);
    sqlx::query("DROP TABLE jobs_words")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let store = JobStore::open(directory.path()).await.unwrap();
    assert_eq!(all(&store).await.len(), 3);
}

/// The same numbers at every run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        // Knuth's linear congruential generator; the high bits are the good ones.
        self.0 = (self.0.wrapping_mul(6_364_136_223_846_793_005))
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Every operation of a command on a store, as far as it succeeds.
async fn use_everything(state_dir: &Path) -> Result<(), StoreError> {
    let store = JobStore::open(state_dir).await?;
    let time = std::time::Duration::from_secs(60);
    let page = store
        .jobs()
        .list(
            &Default::default(),
            ListOrder::default(),
            &PagePosition::First,
            10,
        )
        .await?;
    let words = pinpoint_backends::store::JobFilter {
        text: Some("job".into()),
        ..Default::default()
    };
    let _ = store
        .jobs()
        .list(&words, ListOrder::default(), &PagePosition::First, 10)
        .await;
    let _ = store.jobs().count(&words).await;
    let _ = store
        .exchange()
        .export(&Default::default(), &mut std::io::sink())
        .await;
    for job in page.jobs {
        let _ = store.jobs().get(&job.id).await;
        if let Ok(lease) = store.leases().grant(&job.id, "ada", time).await {
            if let Ok(mut journal) = store.journals().open_leased(&lease).await {
                let _ = journal.records().await;
                let _ = journal.append(&run(1)).await;
            }
            let _ = store
                .leases()
                .set_state(&lease, JobState::Running, None, None)
                .await;
            let _ = store.leases().release(&lease).await;
        }
    }
    let _ = store.jobs().purge(i64::MAX, 10).await;
    store.close().await;
    Ok(())
}

/// `PINPOINT_TEST_LONG=1` makes twenty times as many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_an_error_at_worst() {
    let fixture = Fixture::new().await;
    let (directory, store) = (&fixture.directory, fixture.store.clone());
    for number in 0..20 {
        let id = fixture.job().await;
        let mut journal = store.journals().open(&id).await.unwrap();
        append_all(&mut journal, &(0..number).map(run).collect::<Vec<_>>()).await;
    }
    store.close().await;
    wait_for_the_last_connection(directory.path());
    let whole = fs::read(directory.path().join("pinpoint.db")).unwrap();
    let files = match std::env::var_os("PINPOINT_TEST_LONG") {
        Some(_) => 2000,
        None => 100,
    };
    let mut refused = 0;
    for seed in 0..files {
        let mut seeded = Seeded(seed);
        let mut file = whole.clone();
        match seed % 4 {
            0 => file.truncate(seeded.below(whole.len())),
            // A few bytes, and in half of the files in the first page: the schema.
            1 | 2 => {
                let end = if seed % 4 == 1 { 4096 } else { whole.len() };
                for _ in 0..=seeded.below(20) {
                    let at = seeded.below(end);
                    file[at] = seeded.below(256) as u8;
                }
            }
            // A part that belongs elsewhere.
            _ => {
                let length = 1 + seeded.below(5000);
                let (from, to) = (
                    seeded.below(whole.len() - length),
                    seeded.below(whole.len() - length),
                );
                file.copy_within(from..from + length, to);
            }
        }
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("pinpoint.db"), &file).unwrap();
        let path = copy.path().to_owned();
        // In its own task, so that any panic in it is noticed.
        let used = tokio::spawn(async move { use_everything(&path).await });
        let used = tokio::time::timeout(std::time::Duration::from_secs(300), used).await;
        let used = used.unwrap_or_else(|_| panic!("file {seed} hangs"));
        match used.unwrap_or_else(|panic| panic!("file {seed}: {panic}")) {
            Ok(()) => {}
            Err(error) => {
                refused += 1;
                assert!(error.to_string().len() < 2000, "{error}");
            }
        }
    }
    assert!(refused > files / 10, "hardly a file was damaged: {refused}");
}
