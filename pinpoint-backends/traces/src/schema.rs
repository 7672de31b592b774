//! The tables, from one source for both databases.

use pinpoint_store::sql::{Dialect, statements_of};
use sqlx::AssertSqlSafe;

/// The version of the tables that this program reads and writes.
pub const TRACE_SCHEMA_VERSION: u32 = 2;

/// "PINT" in ASCII: the `application_id` of a file, and the number of the lock under which tables
/// are made.
pub(super) const MARK: u32 = 0x5049_4e54;

/// The tables of version 1, and the additions of each later version.
const TABLES: [(u32, &str); 2] = [
    (1, include_str!("schema/1.sql")),
    (2, include_str!("schema/2.sql")),
];

/// The statements that bring the tables of this version, 0 for none, up to date.
pub(super) fn statements(
    dialect: Dialect,
    found: u32,
) -> impl Iterator<Item = AssertSqlSafe<String>> {
    let missing = TABLES.iter().filter(move |(version, _)| *version > found);
    missing.flat_map(move |(_, source)| statements_of(dialect, source).map(AssertSqlSafe))
}
