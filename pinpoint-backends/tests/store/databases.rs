//! Databases that are new, foreign, newer or missing.

use pinpoint_backends::store::{JobStore, SCHEMA_VERSION, StoreError, version_at, version_in};

use crate::common::{
    BACK_TO_2, BACK_TO_3, BACK_TO_5, BACK_TO_6, Backend, Fixture, all, is_of_this_version,
};
use crate::postgres::Database;

#[tokio::test]
async fn tables_are_made_once_however_many_begin() {
    let database = Database::new().await;
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let url = database.url().to_owned();
        opening.spawn(async move { JobStore::connect(&url).await });
    }
    while let Some(store) = opening.join_next().await {
        assert_eq!(all(&store.unwrap().unwrap()).await, []);
    }
}

#[tokio::test]
async fn a_database_of_another_program_or_a_newer_one_is_refused() {
    let fixture = Fixture::with_backend(Backend::Postgres).await;
    let refused = async |sql| {
        fixture.behind_its_back(sql).await;
        JobStore::connect(&fixture.place()).await.unwrap_err()
    };
    match refused("UPDATE pinpoint_schema SET version = 99").await {
        StoreError::Newer {
            found, supported, ..
        } => assert_eq!((found, supported), (99, SCHEMA_VERSION)),
        other => panic!("{other}"),
    }
    // A schema of our name with other contents.
    for sql in [
        "DROP TABLE pinpoint_schema",
        "DROP SCHEMA pinpoint CASCADE; CREATE SCHEMA pinpoint; \
         CREATE TYPE pinpoint.jobs AS ENUM ('a')",
    ] {
        let error = refused(sql).await;
        assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    }
    // Or a table of our name.
    for sql in [
        "DROP SCHEMA pinpoint CASCADE; CREATE TABLE public.pinpoint_schema (other TEXT)",
        "DROP TABLE public.pinpoint_schema; CREATE TABLE public.pinpoint_schema (version TEXT)",
    ] {
        let error = refused(sql).await;
        assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    }
}

/// As an earlier version left it, with a job; several processes find it so at once.
async fn is_brought_up_to_date(version: u32, back: impl Iterator<Item = &'static str>) {
    let fixture = Fixture::with_backend(Backend::Postgres).await;
    let id = fixture.job().await;
    for sql in back {
        fixture.behind_its_back(sql).await;
    }
    let mark = format!("UPDATE pinpoint_schema SET version = {version}");
    fixture.behind_its_back(&mark).await;
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = fixture.place();
        opening.spawn(async move { JobStore::connect(&url).await });
    }
    while let Some(store) = opening.join_next().await {
        is_of_this_version(&store.unwrap().unwrap(), &id).await;
    }
}

#[tokio::test]
async fn a_database_of_version_2_becomes_one_of_this_version() {
    let back = BACK_TO_6.into_iter().chain(BACK_TO_5).chain(BACK_TO_3);
    is_brought_up_to_date(2, back.chain(BACK_TO_2)).await;
}

#[tokio::test]
async fn a_database_of_version_3_becomes_one_of_this_version() {
    let back = BACK_TO_6.into_iter().chain(BACK_TO_5).chain(BACK_TO_3);
    is_brought_up_to_date(3, back).await;
}

/// A check changes nothing: an older program may still use the tables.
#[tokio::test]
async fn the_version_is_found_without_an_upgrade() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let fixture = Fixture::with_backend(backend).await;
        let version = async || match backend {
            Backend::Sqlite => version_in(fixture.directory.path()).await,
            Backend::Postgres => version_at(&fixture.place()).await,
        };
        assert_eq!(version().await.unwrap(), Some(SCHEMA_VERSION));
        assert_eq!(fixture.store.version().await.unwrap(), SCHEMA_VERSION);
        let set = async |version: u32| {
            let sql = match backend {
                Backend::Sqlite => format!("PRAGMA user_version = {version}"),
                Backend::Postgres => format!("UPDATE pinpoint_schema SET version = {version}"),
            };
            fixture.behind_its_back(&sql).await;
        };
        set(3).await;
        for _ in 0..2 {
            assert_eq!(version().await.unwrap(), Some(3));
        }
        // A newer program has been here, while this one continues.
        set(99).await;
        assert_eq!(fixture.store.version().await.unwrap(), 99);
        let newer = version().await.unwrap_err();
        assert!(matches!(newer, StoreError::Newer { .. }), "{newer}");
    }
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(version_in(empty.path()).await.unwrap(), None);
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
    let fixture = Fixture::with_backend(Backend::Postgres).await;
    fixture
        .behind_its_back("DROP SCHEMA pinpoint CASCADE")
        .await;
    assert_eq!(version_at(&fixture.place()).await.unwrap(), None);
    let schemas = "SELECT nspname::TEXT, '' FROM pg_namespace WHERE nspname = 'pinpoint'";
    assert_eq!(fixture.seen_behind_its_back(schemas).await, []);
    let wrong = version_at("mysql://a").await.unwrap_err();
    assert!(matches!(wrong, StoreError::Address { .. }), "{wrong}");
}

const TABLES: &str = "SELECT CAST(relnamespace::regnamespace AS TEXT), CAST(relname AS TEXT) \
     FROM pg_class WHERE relkind = 'r' \
     AND relnamespace::regnamespace::TEXT IN ('public', 'pinpoint') ORDER BY 1, 2";

#[tokio::test]
async fn tables_are_made_in_a_schema_of_their_own() {
    let fixture = Fixture::with_backend(Backend::Postgres).await;
    fixture
        .behind_its_back("DROP SCHEMA pinpoint CASCADE; CREATE TABLE public.jobs (other TEXT)")
        .await;
    let store = crate::common::open(&fixture.place()).await;
    store
        .jobs()
        .create(&crate::common::new_job("ours"))
        .await
        .unwrap();
    assert_eq!(all(&store).await.len(), 1);
    let tables = fixture.seen_behind_its_back(TABLES).await;
    let tables: Vec<_> = tables
        .iter()
        .map(|(at, name)| format!("{at}.{name}"))
        .collect();
    assert_eq!(
        tables,
        [
            "pinpoint.audit",
            "pinpoint.audit_head",
            "pinpoint.idempotency_keys",
            "pinpoint.job_files",
            "pinpoint.jobs",
            "pinpoint.pinpoint_schema",
            "pinpoint.preferences",
            "pinpoint.records",
            "pinpoint.run_counts",
            "pinpoint.sessions",
            "pinpoint.shared_secrets",
            "pinpoint.sign_ins",
            "pinpoint.tokens",
            "pinpoint.workers",
            "public.jobs"
        ]
    );
}

#[tokio::test]
async fn tables_that_an_earlier_version_made_elsewhere_are_used() {
    let fixture = Fixture::with_backend(Backend::Postgres).await;
    let id = fixture.job().await;
    for sql in BACK_TO_6.into_iter().chain(BACK_TO_5) {
        fixture.behind_its_back(sql).await;
    }
    fixture
        .behind_its_back(
            "ALTER TABLE jobs SET SCHEMA public; ALTER TABLE records SET SCHEMA public; \
             ALTER TABLE pinpoint_schema SET SCHEMA public; DROP SCHEMA pinpoint CASCADE; \
             DROP INDEX jobs_under_way; \
             ALTER TABLE jobs DROP COLUMN by_workers, DROP COLUMN deaths, \
             DROP COLUMN cancel_by, DROP COLUMN cancel_reason, DROP COLUMN paused; \
             UPDATE pinpoint_schema SET version = 2",
        )
        .await;
    let store = crate::common::open(&fixture.place()).await;
    assert_eq!(all(&store).await[0].id, id);
    assert_eq!(store.workers().list().await.unwrap(), []);
    let lease = store
        .leases()
        .grant(&id, "ada", std::time::Duration::from_secs(60))
        .await;
    store.leases().release(&lease.unwrap()).await.unwrap();
    let tables = fixture.seen_behind_its_back(TABLES).await;
    assert!(tables.iter().all(|(at, _)| at == "public"), "{tables:?}");
}

#[tokio::test]
async fn an_address_that_leads_nowhere_is_told() {
    for wrong in [
        "",
        "jobs.db",
        "mysql://localhost/x",
        "postgres://[",
        "postgres://a:b",
    ] {
        let error = JobStore::connect(wrong).await.unwrap_err();
        assert!(
            matches!(error, StoreError::Address { .. }),
            "{wrong}: {error}"
        );
    }
    let nobody = "postgres://ada:secret@localhost/x?host=/nowhere";
    let error = JobStore::connect(nobody).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");

    let database = Database::new().await;
    let missing = database.url().replace("pinpoint_test", "missing");
    let error = JobStore::connect(&missing).await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("does not exist"), "{error}");
}
