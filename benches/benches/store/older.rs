//! The same jobs in a file of an earlier version, and the time to bring that up to date.

use std::path::Path;
use std::time::Instant;

use pinpoint_backends::store::{JobStore, SCHEMA_VERSION};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

/// The tables of version 5, by which lists had one order.
const TABLES: [&str; 4] = [
    include_str!("../../../pinpoint-backends/store/src/schema/2.sql"),
    include_str!("../../../pinpoint-backends/store/src/schema/3.sql"),
    include_str!("../../../pinpoint-backends/store/src/schema/4.sql"),
    include_str!("../../../pinpoint-backends/store/src/schema/5.sql"),
];
const VERSION: u32 = 5;

/// Copies the jobs of a file into one of version 5 in this directory, and opens that.
pub(crate) async fn upgraded(
    filled: &Path,
    directory: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let file = directory.join("pinpoint.db");
    let mut connection = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Off)
        .synchronous(SqliteSynchronous::Off)
        .connect()
        .await?;
    let mut later = Vec::new();
    for statement in TABLES.iter().flat_map(|text| text.split(";\n\n")) {
        if statement.contains("-- only: postgres") {
            continue;
        }
        let lines = statement.lines().map(|line| match line.split_once("--") {
            Some((sql, _)) => sql,
            None => line,
        });
        let sql = lines.collect::<Vec<_>>().join("\n");
        let sql = sql.trim().trim_end_matches(';');
        let sql = sql.replace("BIGINT", "INTEGER").replace("BYTEA", "BLOB");
        let sql = sql.replace(" COLLATE \"C\"", "");
        let comes_later = ["CREATE INDEX", "CREATE UNIQUE INDEX", "CREATE TRIGGER"]
            .iter()
            .any(|beginning| sql.starts_with(beginning));
        if comes_later {
            later.push(sql);
        } else if !sql.is_empty() {
            run(&mut connection, sql).await?;
        }
    }
    let filled = filled.display();
    run(&mut connection, format!("ATTACH '{filled}' AS filled")).await?;
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info('jobs')")
        .fetch_all(&mut connection)
        .await?;
    let columns = columns.join(", ");
    for sql in [
        format!("INSERT INTO jobs ({columns}) SELECT {columns} FROM filled.jobs"),
        "INSERT INTO jobs_words (rowid, words) SELECT number, words FROM jobs".into(),
        "DETACH filled".into(),
    ] {
        run(&mut connection, sql).await?;
    }
    for sql in later {
        run(&mut connection, sql).await?;
    }
    // The file keeps the mark of the one that was made before.
    run(
        &mut connection,
        format!("PRAGMA application_id = 1346981456; PRAGMA user_version = {VERSION}"),
    )
    .await?;
    connection.close().await?;
    let began = Instant::now();
    JobStore::open(directory).await?.close().await;
    println!(
        "{:<44} {:>8.1} s",
        format!("brought from version {VERSION} to {SCHEMA_VERSION}"),
        began.elapsed().as_secs_f64()
    );
    Ok(())
}

async fn run(connection: &mut sqlx::SqliteConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await?;
    Ok(())
}
