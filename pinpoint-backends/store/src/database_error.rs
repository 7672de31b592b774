//! The error of a database.

/// The error of a database, for people: the library that reported it may change.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DatabaseError(pub(super) sqlx::Error);

impl DatabaseError {
    /// Returns the error for a database without a free connection, for tests of retries.
    #[doc(hidden)]
    #[must_use]
    pub fn no_connection() -> Self {
        Self(sqlx::Error::PoolTimedOut)
    }
}
