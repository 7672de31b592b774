//! The tables, from one source for every database.

mod derived;
#[cfg(feature = "postgres")]
pub(super) mod postgres;
#[cfg(feature = "sqlite")]
pub(super) mod sqlite;

use super::database::Dialect;

/// The version of the tables that this program reads and writes.
pub const SCHEMA_VERSION: u32 = 7;

/// The tables of version 2, and the additions of each later version.
const TABLES: [(u32, &str); 6] = [
    (2, include_str!("schema/2.sql")),
    (3, include_str!("schema/3.sql")),
    (4, include_str!("schema/4.sql")),
    (5, include_str!("schema/5.sql")),
    (6, include_str!("schema/6.sql")),
    (7, include_str!("schema/7.sql")),
];

/// The statements that migrate the tables of this version, 0 for none: those that come before all
/// jobs have the columns of this version, and the indices, which are made sooner after it, and
/// replaced.
fn statements(dialect: Dialect, found: u32) -> (Vec<String>, Vec<String>) {
    let missing = TABLES.iter().filter(|(version, _)| *version > found);
    let missing = missing.flat_map(|(_, source)| statements_of(dialect, source));
    let is_index = |sql: &str| {
        ["CREATE INDEX", "DROP INDEX"]
            .iter()
            .any(|it| sql.starts_with(it))
    };
    missing.partition(|sql| !is_index(sql))
}

/// The source as statements for one database.
pub fn statements_of(dialect: Dialect, source: &'static str) -> impl Iterator<Item = String> {
    let name = match dialect {
        Dialect::Sqlite => "sqlite",
        Dialect::Postgres => "postgres",
    };
    source.split(";\n\n").filter_map(move |source| {
        let only = source
            .lines()
            .find_map(|line| line.strip_prefix("-- only: "));
        if only.is_some_and(|only| only != name) {
            return None;
        }
        let lines = source.lines().map(|line| {
            // No text in the source holds two hyphens.
            line.split_once("--")
                .map_or(line, |(sql, _)| sql)
                .trim_end()
        });
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let mut sql = lines.join("\n").trim_end_matches(';').to_owned();
        if dialect == Dialect::Sqlite {
            // Only a column of this type and name is the number of the row, and only
            // strict tables hold to their types. Texts are compared by bytes anyway.
            sql = sql.replace("BIGINT", "INTEGER").replace("BYTEA", "BLOB");
            sql = sql.replace(" COLLATE \"C\"", "");
            if sql.starts_with("CREATE TABLE") {
                sql.push_str(" STRICT");
            }
        }
        Some(sql)
    })
}
