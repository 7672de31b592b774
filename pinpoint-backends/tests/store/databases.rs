//! Databases that are new, foreign, newer or not there, and the tables for Spanner.

use pinpoint_backends::store::{JobStore, SCHEMA_VERSION, StoreError, spanner_ddl};

use crate::common::{Backend, Fixture, all};
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
    let fixture = Fixture::of(Backend::Postgres).await;
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
    let error = refused("DROP TABLE pinpoint_schema").await;
    assert!(matches!(error, StoreError::NotOurs { .. }), "{error}");
    assert!(error.to_string().contains("--store"), "{error}");
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

/// What a change of the source does to Spanner is seen when it is made. To accept it:
/// `PINPOINT_ACCEPT=1 cargo test -p pinpoint-backends --all-features --test store spanner`
#[test]
fn the_tables_for_spanner_are_these() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/store/spanner.sql");
    let tables = spanner_ddl();
    if std::env::var_os("PINPOINT_ACCEPT").is_some() {
        std::fs::write(path, &tables).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), tables);
}
