//! The tables, from one source for both databases.

use pinpoint_store::sql::{Dialect, statements_of};
use sqlx::AssertSqlSafe;

/// The version of the tables that this program reads and writes.
pub const TRACE_SCHEMA_VERSION: u32 = 1;

/// "PINT" in ASCII: the `application_id` of a file, and the number of the lock under which tables
/// are made.
pub(super) const MARK: u32 = 0x5049_4e54;

const TABLES: &str = include_str!("schema/1.sql");

pub(super) fn statements(dialect: Dialect) -> impl Iterator<Item = AssertSqlSafe<String>> {
    statements_of(dialect, TABLES).map(AssertSqlSafe)
}
