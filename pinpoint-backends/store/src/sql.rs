//! Databases, statements and rows: shared with the store of the history of values.

pub use super::database::{Access, Database, Dialect, Pool, Row, Transaction, Tries, Value};
#[cfg(feature = "postgres")]
pub use super::postgres::connect_database;
pub use super::schema::statements_of;
#[cfg(feature = "postgres")]
pub use super::server::{Server, ServerConnection};
#[cfg(feature = "sqlite")]
pub use super::sqlite::{SqliteFile, Upgrade, open_database};
